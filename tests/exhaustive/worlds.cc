// Numbers of nodes to all expressions of that size, and expressions to grammars.
//
// Expressions of n nodes are made from smaller ones: a unary operator over one of n - 1 nodes, a
// binary one over two that have n - 1 nodes together. For example over the atoms a and b, with star
// as the only operator beside sequence and choice, there are 2 expressions of one node, 2 of two
// nodes (a*, b*) and 7 of three (a**, b**, aa, ab, ba, bb, a|b; a choice of equals is left out).
// Cost: the tables grow about tenfold with each node; four nodes are a few thousand expressions.
#include "worlds.h"

#include <gtest/gtest.h>

#include "base/byte_set.h"
#include "base/code_point_set.h"

namespace grammask::internal {
namespace {

using Kind = Expression::Kind;

ExpressionPtr Make(Kind kind, int index, ExpressionPtr left = nullptr,
                   ExpressionPtr right = nullptr) {
  auto made = std::make_shared<Expression>();
  made->kind = kind;
  made->index = index;
  made->regular = kind != Kind::kRule && (!left || left->regular) && (!right || right->regular);
  made->left = std::move(left);
  made->right = std::move(right);
  return made;
}

NodeId Build(const Alphabet& alphabet, const Expression& e, std::span<const RuleId> rules,
             GrammarBuilder* builder) {
  const auto part = [&](const ExpressionPtr& p) { return Build(alphabet, *p, rules, builder); };
  switch (e.kind) {
    case Kind::kAtom:
      return alphabet.atoms[static_cast<size_t>(e.index)](builder);
    case Kind::kRule:
      return builder->Rule(rules[static_cast<size_t>(e.index)]);
    case Kind::kRepeat: {
      const auto [min, max] = alphabet.repeats[static_cast<size_t>(e.index)];
      return builder->Repeat(part(e.left), min, max);
    }
    case Kind::kSequence:
      return builder->Sequence({part(e.left), part(e.right)});
    case Kind::kChoice:
      return builder->Choice({part(e.left), part(e.right)});
    case Kind::kAnd:
      return builder->And({part(e.left), part(e.right)});
    case Kind::kWithout:
      return builder->And({part(e.left), builder->Not(part(e.right))});
    case Kind::kNot:
      return builder->Not(part(e.left));
  }
  return builder->Nothing();
}

}  // namespace

Alphabet LetterAlphabet() {
  using B = GrammarBuilder;
  return {.atoms = {[](B* b) { return b->Empty(); }, [](B* b) { return b->Bytes("a"); },
                    [](B* b) { return b->Bytes("b"); },
                    [](B* b) { return b->ByteClass(ByteSet::Range('a', 'b')); },
                    [](B* b) { return b->Bytes("ab"); }, [](B* b) { return b->Bytes("ba"); }},
          .repeats = {{0, 1}, {0, kUnbounded}, {2, 2}, {2, 4}, {0, 3}}};
}

Alphabet Utf8Alphabet() {
  using B = GrammarBuilder;
  return {.atoms = {[](B* b) { return b->Bytes("a"); }, [](B* b) { return b->Bytes("\xC3\xA9"); },
                    [](B* b) { return b->Class(CodePointSet{{0xE9, 0xE9}, {0x20AC, 0x20AC}}); },
                    [](B* b) { return b->Class(CodePointSet::All()); },
                    [](B* b) { return b->Class(CodePointSet{{0x0, 0xE8}, {0xEA, 0x10FFFF}}); },
                    [](B* b) { return b->Bytes("\xE2\x82"); },
                    [](B* b) { return b->ByteClass(ByteSet::Range(0x80, 0xBF)); }},
          .repeats = {{0, kUnbounded}, {2, 2}, {1, 3}}};
}

Alphabet JsonAlphabet() {
  using B = GrammarBuilder;
  return {.atoms = {[](B* b) { return b->Bytes("\""); }, [](B* b) { return b->JsonText("a"); },
                    [](B* b) { return b->JsonText("\n"); }, [](B* b) { return b->JsonText("aa"); },
                    [](B* b) { return b->JsonClass(CodePointSet::All()); },
                    [](B* b) {
                      return b->JsonClass(CodePointSet{{'a', 'a'}, {'n', 'n'}, {'\\', '\\'}});
                    }},
          .repeats = {{0, kUnbounded}, {1, 2}}};
}

Alphabet DigitAlphabet() {
  using B = GrammarBuilder;
  return {.atoms = {[](B* b) { return b->Bytes("1"); }, [](B* b) { return b->Bytes("."); },
                    [](B* b) { return b->ByteClass(ByteSet::Range('0', '9')); },
                    [](B* b) { return b->MultipleOf({.modulus = 3, .scale = 0}); },
                    [](B* b) { return b->MultipleOf({.modulus = 4, .scale = 0}); },
                    [](B* b) { return b->MultipleOf({.modulus = 25, .scale = 1}); }},
          .repeats = {{0, kUnbounded}, {1, 2}}};
}

Alphabet TokenAlphabet(bool as_markers) {
  const auto tokens = [as_markers](std::vector<TokenId> ids, bool excluded) {
    return [as_markers, ids = std::move(ids), excluded](GrammarBuilder* b) {
      if (!as_markers) return b->Tokens({.ids = ids, .excluded = excluded});
      ByteSet markers;
      for (TokenId id = 0; id < kTextTokens; ++id) {
        if (excluded) markers.Add(TokenMarker(id));
      }
      for (const TokenId id : ids) {
        if (excluded) {
          markers = markers & ~ByteSet::Of(TokenMarker(id));
        } else {
          markers.Add(TokenMarker(id));
        }
      }
      return b->ByteClass(markers);
    };
  };
  using B = GrammarBuilder;
  return {.atoms = {[](B* b) { return b->Bytes("a"); }, [](B* b) { return b->Bytes("b"); },
                    [](B* b) { return b->Bytes("ab"); }, [](B* b) { return b->Empty(); },
                    tokens({0}, false), tokens({kSpecialToken}, false),
                    tokens({1, kSpecialToken}, false), tokens({0, 2}, true)},
          .repeats = {{0, 1}, {0, kUnbounded}, {2, 3}},
          .boolean = false};
}

ExpressionTable::ExpressionTable(const Alphabet& alphabet, int rules)
    : alphabet_(alphabet), rules_(rules) {}

void ExpressionTable::AddUnary(const ExpressionPtr& part, std::vector<ExpressionPtr>* out) const {
  for (size_t i = 0; i < alphabet_.repeats.size(); ++i) {
    out->push_back(Make(Kind::kRepeat, static_cast<int>(i), part));
  }
  if (alphabet_.boolean && part->regular) out->push_back(Make(Kind::kNot, 0, part));
}

void ExpressionTable::AddBinary(const ExpressionPtr& left, const ExpressionPtr& right, bool ordered,
                                std::vector<ExpressionPtr>* out) const {
  out->push_back(Make(Kind::kSequence, 0, left, right));
  const bool both_regular = alphabet_.boolean && left->regular && right->regular;
  if (both_regular) out->push_back(Make(Kind::kWithout, 0, left, right));
  if (!ordered) return;
  out->push_back(Make(Kind::kChoice, 0, left, right));
  if (both_regular) out->push_back(Make(Kind::kAnd, 0, left, right));
}

std::span<const ExpressionPtr> ExpressionTable::OfSize(size_t nodes) {
  while (by_size_.size() < nodes) {
    const size_t n = by_size_.size() + 1;
    std::vector<ExpressionPtr> made;
    if (n == 1) {
      for (size_t i = 0; i < alphabet_.atoms.size(); ++i) {
        made.push_back(Make(Kind::kAtom, static_cast<int>(i)));
      }
      for (int i = 0; i < rules_; ++i) made.push_back(Make(Kind::kRule, i));
    } else {
      for (const ExpressionPtr& part : by_size_[n - 2]) AddUnary(part, &made);
    }
    for (size_t left = 1; left + 1 < n; ++left) {
      const size_t right = n - 1 - left;
      const auto& lefts = by_size_[left - 1];
      const auto& rights = by_size_[right - 1];
      for (size_t i = 0; i < lefts.size(); ++i) {
        for (size_t j = 0; j < rights.size(); ++j) {
          const bool ordered = left < right || (left == right && i < j);
          AddBinary(lefts[i], rights[j], ordered, &made);
        }
      }
    }
    by_size_.push_back(std::move(made));
  }
  return by_size_[nodes - 1];
}

ExpressionPtr ExpressionTable::Random(size_t nodes, std::mt19937_64* random) {
  if (nodes <= 2) {
    const auto all = OfSize(nodes);
    return all[(*random)() % all.size()];
  }
  std::vector<ExpressionPtr> made;
  if ((*random)() % 3 == 0) {
    AddUnary(Random(nodes - 1, random), &made);
  } else {
    const size_t left = 1 + (*random)() % (nodes - 2);
    AddBinary(Random(left, random), Random(nodes - 1 - left, random), true, &made);
  }
  return made[(*random)() % made.size()];
}

Grammar BuildGrammar(const Alphabet& alphabet, std::span<const ExpressionPtr> bodies) {
  GrammarBuilder builder;
  std::vector<RuleId> rules;
  for (size_t i = 0; i < bodies.size(); ++i) {
    rules.push_back(builder.AddRule(i == 0 ? "root" : "r" + std::to_string(i)));
  }
  for (size_t i = 0; i < bodies.size(); ++i) {
    builder.SetBody(rules[i], Build(alphabet, *bodies[i], rules, &builder));
  }
  StatusOr<Grammar> grammar = builder.Finish(rules[0]);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  return *grammar;
}

std::vector<std::string> AllStrings(std::string_view letters, size_t max_length) {
  std::vector<std::string> strings = {""};
  size_t begin = 0;
  for (size_t length = 1; length <= max_length; ++length) {
    const size_t end = strings.size();
    for (size_t i = begin; i < end; ++i) {
      for (const char letter : letters) strings.push_back(strings[i] + letter);
    }
    begin = end;
  }
  strings.erase(strings.begin());
  return strings;
}

}  // namespace grammask::internal
