// Languages by definition: every text of up to some length over a small alphabet, in or out.
//
// A test writes an expression as a tree of these and as nodes of a grammar, and compares. Exact,
// since whether a text matches depends only on its own factors, which are no longer than it is.
#ifndef GRAMMASK_TESTS_GRAMMAR_SMALL_LANGUAGE_H_
#define GRAMMASK_TESTS_GRAMMAR_SMALL_LANGUAGE_H_

#include <cstddef>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/ast.h"

namespace grammask::internal {

// All texts over an alphabet up to a length.
class Universe {
 public:
  Universe(std::string_view alphabet, size_t length) {
    texts_ = {""};
    for (size_t from = 0; from < texts_.size() && texts_[from].size() < length; ++from) {
      for (char c : alphabet) texts_.push_back(texts_[from] + c);
    }
    for (size_t i = 0; i < texts_.size(); ++i) index_[texts_[i]] = i;
  }
  const std::vector<std::string>& texts() const { return texts_; }
  size_t size() const { return texts_.size(); }
  size_t index(const std::string& text) const { return index_.at(text); }
  bool has(const std::string& text) const { return index_.contains(text); }

 private:
  std::vector<std::string> texts_;
  std::map<std::string, size_t> index_;
};

// The texts of a universe that match, by index.
using Language = std::vector<bool>;

inline Language None(const Universe& u) { return Language(u.size()); }

inline Language Only(const Universe& u, const std::string& text) {
  Language out = None(u);
  if (u.has(text)) out[u.index(text)] = true;
  return out;
}

inline Language Either(const Language& a, const Language& b) {
  Language out = a;
  for (size_t i = 0; i < a.size(); ++i) out[i] = a[i] || b[i];
  return out;
}

inline Language Both(const Language& a, const Language& b) {
  Language out = a;
  for (size_t i = 0; i < a.size(); ++i) out[i] = a[i] && b[i];
  return out;
}

inline Language Complement(Language a) {
  a.flip();
  return a;
}

inline Language Concat(const Universe& u, const Language& a, const Language& b) {
  Language out = None(u);
  for (size_t i = 0; i < u.size(); ++i) {
    const std::string& text = u.texts()[i];
    for (size_t cut = 0; cut <= text.size() && !out[i]; ++cut) {
      out[i] = a[u.index(text.substr(0, cut))] && b[u.index(text.substr(cut))];
    }
  }
  return out;
}

// Between min and max times; a text of n bytes needs no more than n rounds that take something.
inline Language Power(const Universe& u, const Language& a, int64_t min, int64_t max) {
  Language rounds = Only(u, ""), out = None(u);
  int64_t longest = static_cast<int64_t>(u.texts().back().size());
  for (int64_t k = 0; k <= max; ++k) {
    if (k >= min) out = Either(out, rounds);
    Language next = Concat(u, rounds, a);
    // Beyond the longest text, rounds differ only when all of them may be empty.
    if (k > longest && k >= min && next == rounds) break;
    rounds = std::move(next);
    if (k > longest + min) break;
  }
  return out;
}

// A random grammar, built as nodes and kept as a tree of its own.
class RandomWorld {
 public:
  struct Options {
    int rules = 1;  // rule 0 is the root
    int depth = 4;
    bool booleans = false;  // And and Not over regular parts
    bool json = false;      // also JsonText and JsonClass
  };

  RandomWorld(uint32_t seed, const Options& options) : random_(seed), options_(options) {
    for (int r = 0; r < options.rules; ++r) rules_.push_back(builder_.AddRule("rule"));
    for (int r = 0; r < options.rules; ++r) {
      bodies_.push_back(Make(options.depth, false));
      builder_.SetBody(rules_[static_cast<size_t>(r)], trees_[bodies_.back()].node);
    }
  }

  StatusOr<Grammar> Finish() { return builder_.Finish(rules_[0]); }

  // The least solution of the rules' equations.
  Language RootLanguage(const Universe& u) const {
    std::vector<Language> known(bodies_.size(), None(u));
    for (;;) {
      std::vector<Language> next;
      for (size_t body : bodies_) next.push_back(Of(u, body, known));
      if (next == known) return known[0];
      known = std::move(next);
    }
  }

 private:
  enum class Kind { kText, kClass, kSequence, kChoice, kRepeat, kRule, kAnd, kNot, kNothing };
  struct Tree {
    Kind kind;
    std::string text;  // of kText; the members of kClass
    std::vector<size_t> children;
    int64_t min = 0, max = 0;
    size_t rule = 0;
    NodeId node;
  };

  size_t Below(size_t n) { return random_() % n; }

  size_t Add(Tree tree, NodeId node) {
    tree.node = node;
    trees_.push_back(std::move(tree));
    return trees_.size() - 1;
  }

  size_t Make(int depth, bool regular) {
    if (depth == 0 || Below(5) == 0) return MakeLeaf(regular);
    switch (Below(options_.booleans ? 6 : 4)) {
      case 0: {
        size_t child = Make(depth - 1, regular);
        int64_t min = static_cast<int64_t>(Below(4));
        int64_t max = Below(3) == 0 ? kUnbounded : min + static_cast<int64_t>(Below(3));
        return Add({Kind::kRepeat, "", {child}, min, max},
                   builder_.Repeat(trees_[child].node, min, max));
      }
      case 1:
      case 2: {
        auto [children, nodes] = MakeList(depth, regular);
        return Add({Kind::kSequence, "", children}, builder_.Sequence(nodes));
      }
      case 4: {
        auto [children, nodes] = MakeList(depth, true);
        return Add({Kind::kAnd, "", children}, builder_.And(nodes));
      }
      case 5: {
        size_t child = Make(depth - 1, true);
        return Add({Kind::kNot, "", {child}}, builder_.Not(trees_[child].node));
      }
      default: {
        auto [children, nodes] = MakeList(depth, regular);
        return Add({Kind::kChoice, "", children}, builder_.Choice(nodes));
      }
    }
  }

  std::pair<std::vector<size_t>, std::vector<NodeId>> MakeList(int depth, bool regular) {
    std::vector<size_t> children;
    std::vector<NodeId> nodes;
    for (size_t n = Below(4); n > 0; --n) {
      // Now and then something that exists already, so that sharing is common.
      size_t child =
          !trees_.empty() && Below(6) == 0 ? Below(trees_.size()) : Make(depth - 1, regular);
      if (regular && !builder_.node(trees_[child].node).regular) continue;
      if (regular && HasRule(child)) continue;
      children.push_back(child);
      nodes.push_back(trees_[child].node);
    }
    return {children, nodes};
  }

  bool HasRule(size_t tree) const {
    if (trees_[tree].kind == Kind::kRule) return true;
    for (size_t child : trees_[tree].children) {
      if (HasRule(child)) return true;
    }
    return false;
  }

  size_t MakeLeaf(bool regular) {
    const char* kTexts[] = {"", "a", "b", "ab", "ba", "aab"};
    const char* kMembers[] = {"", "a", "b", "ab"};
    size_t which = Below(regular ? 8 : 11);
    if (which >= 8) {
      size_t rule = Below(rules_.size());
      return Add({Kind::kRule, "", {}, 0, 0, rule}, builder_.Rule(rules_[rule]));
    }
    if (which == 0) return Add({Kind::kNothing}, builder_.Nothing());
    bool json = options_.json && Below(2) == 0;
    if (which < 5) {
      std::string text = kTexts[Below(6)];
      return Add({Kind::kText, text}, json ? builder_.JsonText(text) : builder_.Bytes(text));
    }
    std::string members = kMembers[Below(4)];
    ByteSet bytes;
    std::vector<CodePointRange> ranges;
    for (char c : members) {
      bytes.Add(static_cast<uint8_t>(c));
      ranges.push_back({static_cast<uint8_t>(c), static_cast<uint8_t>(c)});
    }
    NodeId node = json            ? builder_.JsonClass(CodePointSet(ranges))
                  : Below(2) == 0 ? builder_.ByteClass(bytes)
                                  : builder_.Class(CodePointSet(ranges));
    return Add({Kind::kClass, members}, node);
  }

  Language Of(const Universe& u, size_t index, const std::vector<Language>& known) const {
    const Tree& tree = trees_[index];
    Language out = None(u);
    switch (tree.kind) {
      case Kind::kNothing:
        break;
      case Kind::kText:
        return Only(u, tree.text);
      case Kind::kClass:
        for (char c : tree.text) out = Either(out, Only(u, std::string(1, c)));
        break;
      case Kind::kSequence:
        out = Only(u, "");
        for (size_t child : tree.children) out = Concat(u, out, Of(u, child, known));
        break;
      case Kind::kChoice:
        for (size_t child : tree.children) out = Either(out, Of(u, child, known));
        break;
      case Kind::kRepeat:
        return Power(u, Of(u, tree.children[0], known), tree.min, tree.max);
      case Kind::kRule:
        return known[tree.rule];
      case Kind::kAnd:
        out = Complement(out);
        for (size_t child : tree.children) out = Both(out, Of(u, child, known));
        break;
      case Kind::kNot:
        return Complement(Of(u, tree.children[0], known));
    }
    return out;
  }

  std::mt19937 random_;
  Options options_;
  GrammarBuilder builder_;
  std::vector<RuleId> rules_;
  std::vector<size_t> bodies_;
  std::vector<Tree> trees_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_TESTS_GRAMMAR_SMALL_LANGUAGE_H_
