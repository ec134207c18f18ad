// A regex with assertions, as a graph: what the assertions are checked against path by path.
#ifndef GRAMMASK_GRAMMAR_REGEX_GRAPH_H_
#define GRAMMASK_GRAMMAR_REGEX_GRAPH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "grammar/ast.h"
#include "grammar/regex_tree.h"

namespace grammask::internal {

// A match is a path from kStart to kFinal: the texts of its labels one after another, every
// assertion on the way holding where it stands. No edge enters kStart or leaves kFinal.
struct RegexGraph {
  struct Edge {
    uint32_t to;
    bool is_look;
    NodeId label;   // texts without assertions, unless is_look
    uint32_t look;  // a kBeside or kLook node of the tree, where is_look
  };
  static constexpr uint32_t kStart = 0, kFinal = 1;

  ScratchVector<ScratchVector<Edge>> out;  // by vertex
  ScratchVector<uint32_t> component;  // by vertex: strongly connected ones; edges lead from higher
                                      // to lower numbers, or stay
  uint32_t components = 0;
};

// The graph of `parts` of the tree in a row, with the label `before` in front and `after` behind.
// `plain` holds the language of each tree node without assertions. nullopt where repeats of
// assertions unfold to too many vertices.
std::optional<RegexGraph> BuildRegexGraph(const RegexTree& tree, std::span<const NodeId> plain,
                                          std::span<const uint32_t> parts, NodeId before,
                                          NodeId after, GrammarBuilder* builder);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_REGEX_GRAPH_H_
