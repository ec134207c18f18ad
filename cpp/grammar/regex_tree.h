// A parsed regular expression: what the parser hands to the compiler of regexes.
#ifndef GRAMMASK_GRAMMAR_REGEX_TREE_H_
#define GRAMMASK_GRAMMAR_REGEX_TREE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/code_point_set.h"
#include "base/scratch.h"

namespace grammask::internal {

enum class RegexKind : uint8_t {
  kEmpty,
  kText,      // a literal, not empty
  kChars,     // one character of a set
  kSequence,  // two or more children
  kChoice,    // two or more children
  kRepeat,    // one child
  kBeside,    // takes no text: the next (or previous) character is in a set, or there is none
  kLook,      // takes no text: the child matches what follows (or what ends here)
};

struct RegexNode {
  RegexKind kind;
  bool has_look = false;     // a kBeside or kLook is here or below
  bool behind = false;       // kBeside, kLook: looks at what comes before
  bool negated = false;      // kLook
  bool at_edge = false;      // kBeside: holds where there is no such character
  uint32_t first = 0;        // kText: offset into `text`; kChars, kBeside: index into `sets`;
                             // others: offset into `children`
  uint32_t count = 0;        // kText: bytes; with children: how many
  int64_t min = 0, max = 0;  // kRepeat
  size_t offset = 0;         // where in the pattern it begins, for messages
};

// Nodes come after their children, so a pass over all of them is a loop. Groups leave no node.
struct RegexTree {
  ScratchVector<RegexNode> nodes;
  ScratchVector<uint32_t> children;
  ScratchVector<CodePointSet> sets;
  std::string text;
  uint32_t root = 0;

  std::span<const uint32_t> ChildrenOf(const RegexNode& n) const {
    return std::span(children).subspan(n.first, n.count);
  }
  std::string_view TextOf(const RegexNode& n) const {
    return std::string_view(text).substr(n.first, n.count);
  }

  // These add a node and return its index. `offset`: where in the pattern it begins.
  uint32_t Add(RegexNode node);
  // A kSequence or kChoice; of one child that child, of none kEmpty.
  uint32_t AddList(RegexKind kind, std::span<const uint32_t> list, size_t offset);
  // A kChars, or a kBeside that looks ahead.
  uint32_t AddSet(RegexKind kind, CodePointSet set, size_t offset);
  uint32_t AddBeside(CodePointSet set, bool at_edge, bool behind, size_t offset);
  // A place with a character of `word` on exactly one side; where `inverted`, any other place.
  uint32_t AddWordBoundary(const CodePointSet& word, bool inverted, size_t offset);
  // A lookaround: a kBeside where it asks of one character only, else a kLook.
  uint32_t AddLook(bool behind, bool negated, uint32_t child, size_t offset);
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_REGEX_TREE_H_
