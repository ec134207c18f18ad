// Random context-free grammars over {a, b}, with their language computed from the definition.
#ifndef GRAMMASK_TESTS_PARSER_RANDOM_GRAMMAR_H_
#define GRAMMASK_TESTS_PARSER_RANDOM_GRAMMAR_H_

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "grammar/ast.h"

namespace grammask::internal {

// Sets of texts of up to kMaxText letters, by index.
class TextSets {
 public:
  static constexpr size_t kMaxText = 7;
  static constexpr size_t kCount = (size_t{2} << kMaxText) - 1;
  using Set = std::bitset<kCount>;

  static size_t IndexOf(std::string_view text) {
    size_t index = 0;
    for (char c : text) index = index * 2 + 1 + static_cast<size_t>(c - 'a');
    return index;
  }
  static const std::vector<std::string>& Texts() {
    static const std::vector<std::string> texts = [] {
      std::vector<std::string> all = {""};
      for (size_t i = 0; all.size() < kCount; ++i) {
        for (char c : {'a', 'b'}) all.push_back(all[i] + c);
      }
      return all;
    }();
    return texts;
  }
  static Set Concatenate(const Set& x, const Set& y) {
    Set out;
    for (size_t i = x._Find_first(); i < kCount; i = x._Find_next(i)) {
      const size_t room = kMaxText - Texts()[i].size();
      for (size_t j = y._Find_first(); j < kCount && Texts()[j].size() <= room;
           j = y._Find_next(j)) {
        // Indices are binary numbers behind a leading one, less one.
        out.set(((i + 1) << Texts()[j].size()) + (j + 1) - (size_t{1} << Texts()[j].size()) - 1);
      }
    }
    return out;
  }
};

// The texts of a node, and the texts that begin one of its texts, up to kMaxText letters.
struct Language {
  TextSets::Set words, prefixes;
  bool productive = false;  // some text matches, of whatever length
  friend bool operator==(const Language&, const Language&) = default;
};

class RandomGrammar {
 public:
  explicit RandomGrammar(uint64_t seed) : random_(seed) {
    const size_t rules = 1 + random_() % 3;
    for (size_t i = 0; i < rules; ++i) bodies_.push_back(Random(3, rules));
    languages_.resize(rules);
    // The least solution: from nothing up, until nothing is added.
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < rules; ++i) {
        const Language now = Of(bodies_[i]);
        changed |= !(now == languages_[i]);
        languages_[i] = now;
      }
    }
  }

  const Language& language() const { return languages_[0]; }

  Grammar Build() const {
    GrammarBuilder b;
    std::vector<RuleId> rules;
    for (size_t i = 0; i < bodies_.size(); ++i) rules.push_back(b.AddRule(i == 0 ? "root" : "r"));
    for (size_t i = 0; i < bodies_.size(); ++i) b.SetBody(rules[i], Node(&b, rules, bodies_[i]));
    return *b.Finish(rules[0]);
  }

 private:
  enum class Kind { kText, kClass, kRule, kSequence, kChoice, kRepeat };
  struct Expression {
    Kind kind;
    std::string text;
    size_t rule = 0;
    int64_t min = 0, max = 0;
    std::vector<Expression> parts;
  };

  Expression Random(int depth, size_t rules) {
    const unsigned kind = random_() % 20;
    if (depth == 0 || kind < 6) {
      constexpr const char* kTexts[] = {"a", "b", "ab", "", "ba", "bb"};
      const unsigned leaf = random_() % 10;
      if (leaf < 6) return {.kind = Kind::kText, .text = kTexts[leaf]};
      if (leaf < 7) return {.kind = Kind::kClass};
      return {.kind = Kind::kRule, .rule = random_() % rules};
    }
    Expression e{.kind = kind < 12 ? Kind::kSequence : kind < 17 ? Kind::kChoice : Kind::kRepeat};
    const size_t parts = e.kind == Kind::kRepeat ? 1 : 1 + random_() % 3;
    for (size_t i = 0; i < parts; ++i) e.parts.push_back(Random(depth - 1, rules));
    constexpr int64_t kBounds[][2] = {{0, kUnbounded}, {1, kUnbounded}, {0, 1},
                                      {2, 3},          {0, 3},          {1, 5}};
    const auto& bounds = kBounds[random_() % std::size(kBounds)];
    e.min = bounds[0];
    e.max = bounds[1];
    return e;
  }

  static Language Then(const Language& x, const Language& y) {
    Language out;
    out.words = TextSets::Concatenate(x.words, y.words);
    out.productive = x.productive && y.productive;
    if (y.productive) out.prefixes = x.prefixes;
    out.prefixes |= TextSets::Concatenate(x.words, y.prefixes);
    return out;
  }

  static Language Text(std::string_view text) {
    Language out;
    out.productive = true;
    out.words.set(TextSets::IndexOf(text));
    for (size_t n = 0; n <= text.size(); ++n)
      out.prefixes.set(TextSets::IndexOf(text.substr(0, n)));
    return out;
  }

  static Language Or(Language x, const Language& y) {
    x.words |= y.words;
    x.prefixes |= y.prefixes;
    x.productive |= y.productive;
    return x;
  }

  Language Of(const Expression& e) const {
    switch (e.kind) {
      case Kind::kText:
        return Text(e.text);
      case Kind::kClass:
        return Or(Text("a"), Text("b"));
      case Kind::kRule:
        return languages_[e.rule];
      case Kind::kSequence:
      case Kind::kChoice: {
        Language out = Of(e.parts[0]);
        for (size_t i = 1; i < e.parts.size(); ++i) {
          out = e.kind == Kind::kSequence ? Then(out, Of(e.parts[i])) : Or(out, Of(e.parts[i]));
        }
        return out;
      }
      case Kind::kRepeat: {
        const Language part = Of(e.parts[0]);
        Language out, power = Text("");
        // More rounds than letters add nothing.
        const int64_t most = std::min<int64_t>(e.max, TextSets::kMaxText + 1);
        for (int64_t k = 0; k <= most; ++k) {
          if (k >= e.min) out = Or(out, power);
          power = Then(power, part);
        }
        return out;
      }
    }
    return {};
  }

  static NodeId Node(GrammarBuilder* b, const std::vector<RuleId>& rules, const Expression& e) {
    std::vector<NodeId> parts;
    for (const Expression& p : e.parts) parts.push_back(Node(b, rules, p));
    switch (e.kind) {
      case Kind::kText:
        return b->Bytes(e.text);
      case Kind::kClass:
        return b->ByteClass(ByteSet::Range('a', 'b'));
      case Kind::kRule:
        return b->Rule(rules[e.rule]);
      case Kind::kSequence:
        return b->Sequence(parts);
      case Kind::kChoice:
        return b->Choice(parts);
      case Kind::kRepeat:
        return b->Repeat(parts[0], e.min, e.max);
    }
    return b->Nothing();
  }

  std::mt19937_64 random_;
  std::vector<Expression> bodies_;
  std::vector<Language> languages_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_TESTS_PARSER_RANDOM_GRAMMAR_H_
