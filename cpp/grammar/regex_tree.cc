// Nodes of a regex tree, as they are added.
//
// Lookarounds that ask only of one neighbouring character are recognised here, since those are
// solved without intersections: `(?![a-z]|$)` is a kBeside whose next character is in [^a-z], and
// `\b` is a choice of two pairs of such. Cost: constant, apart from unions of character sets.
// Tests: tests/grammar/regex_test.cc.
#include "grammar/regex_tree.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/utf8.h"

namespace grammask::internal {
namespace {

// Whether a lookaround at `node` asks of one neighbour only: that it is in *set, which grows, or
// where *at_edge becomes true, missing.
bool AsksOfNeighbour(const RegexTree& tree, const RegexNode& node, bool behind, CodePointSet* set,
                     bool* at_edge) {
  switch (node.kind) {
    case RegexKind::kChars:
      *set = set->Union(tree.sets[node.first]);
      return true;
    case RegexKind::kText: {
      std::string_view text = tree.TextOf(node);
      std::optional<DecodedChar> c = DecodeUtf8(text, 0);
      if (static_cast<size_t>(c->length) != text.size()) return false;
      *set = set->Union(CodePointSet::Of(c->code_point));
      return true;
    }
    case RegexKind::kBeside:
      if (node.behind != behind) return false;
      *set = set->Union(tree.sets[node.first]);
      *at_edge |= node.at_edge;
      return true;
    case RegexKind::kEmpty:
      *set = CodePointSet::All();
      *at_edge = true;
      return true;
    default:
      return false;
  }
}

}  // namespace

uint32_t RegexTree::Add(RegexNode node) {
  node.has_look = node.kind == RegexKind::kBeside || node.kind == RegexKind::kLook;
  if (node.kind >= RegexKind::kSequence && node.kind != RegexKind::kBeside) {
    for (uint32_t child : ChildrenOf(node)) node.has_look |= nodes[child].has_look;
  }
  nodes.push_back(node);
  return static_cast<uint32_t>(nodes.size() - 1);
}

uint32_t RegexTree::AddList(RegexKind kind, std::span<const uint32_t> list, size_t offset) {
  if (list.empty()) return Add({.kind = RegexKind::kEmpty, .offset = offset});
  if (list.size() == 1) return list[0];
  auto first = static_cast<uint32_t>(children.size());
  children.insert(children.end(), list.begin(), list.end());
  return Add({.kind = kind,
              .first = first,
              .count = static_cast<uint32_t>(list.size()),
              .offset = offset});
}

uint32_t RegexTree::AddSet(RegexKind kind, CodePointSet set, size_t offset) {
  sets.push_back(std::move(set));
  return Add({.kind = kind, .first = static_cast<uint32_t>(sets.size() - 1), .offset = offset});
}

uint32_t RegexTree::AddBeside(CodePointSet set, bool at_edge, bool behind, size_t offset) {
  uint32_t id = AddSet(RegexKind::kBeside, std::move(set), offset);
  nodes[id].behind = behind;
  nodes[id].at_edge = at_edge;
  return id;
}

uint32_t RegexTree::AddWordBoundary(const CodePointSet& word, bool inverted, size_t offset) {
  CodePointSet other = word.Complement();
  auto side = [&](bool is_word, bool behind) {
    return AddBeside(is_word ? word : other, !is_word, behind, offset);
  };
  uint32_t after_word[] = {side(true, true), side(inverted, false)};
  uint32_t after_other[] = {side(false, true), side(!inverted, false)};
  uint32_t choice[] = {AddList(RegexKind::kSequence, after_word, offset),
                       AddList(RegexKind::kSequence, after_other, offset)};
  return AddList(RegexKind::kChoice, choice, offset);
}

uint32_t RegexTree::AddLook(bool behind, bool negated, uint32_t child, size_t offset) {
  CodePointSet set;
  bool at_edge = false;
  const RegexNode& c = nodes[child];
  std::span<const uint32_t> cases =
      c.kind == RegexKind::kChoice ? ChildrenOf(c) : std::span(&child, 1);
  if (std::all_of(cases.begin(), cases.end(), [&](uint32_t id) {
        return AsksOfNeighbour(*this, nodes[id], behind, &set, &at_edge);
      })) {
    if (negated) set = set.Complement();
    return AddBeside(std::move(set), at_edge != negated, behind, offset);
  }
  children.push_back(child);
  return Add({.kind = RegexKind::kLook,
              .behind = behind,
              .negated = negated,
              .first = static_cast<uint32_t>(children.size() - 1),
              .count = 1,
              .offset = offset});
}

}  // namespace grammask::internal
