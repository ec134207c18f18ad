// Regexes with assertions: ^ $ \b \B, lookahead and lookbehind.
#ifndef GRAMMASK_GRAMMAR_REGEX_ASSERTIONS_H_
#define GRAMMASK_GRAMMAR_REGEX_ASSERTIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "grammar/regex_graph.h"
#include "grammar/regex_language.h"
#include "grammar/regex_tree.h"

namespace grammask::internal {

// Turns parts of one tree into nodes. Every result is exact; where it would take too many states
// there is none.
class RegexAssertions {
 public:
  // `plain`: the language of each tree node without assertions. All arguments outlive this.
  RegexAssertions(const RegexTree& tree, std::span<const NodeId> plain, CharLanguage* language)
      : tree_(tree), plain_(plain), language_(*language), builder_(language->builder()) {}

  // The whole texts that `parts` of the tree match in a row, after any text where `pad_left`, and
  // before any text where `pad_right`.
  std::optional<NodeId> Compile(std::span<const uint32_t> parts, bool pad_left, bool pad_right);

 private:
  // What is known of the text so far, as far as later assertions ask: the atom of the character
  // before (see atoms_), and what remains of each language of trackers_.
  struct Past {
    uint32_t previous;
    ScratchVector<NodeId> remaining;
    friend bool operator==(const Past&, const Past&) = default;
    template <class H>
    friend H AbslHashValue(H h, const Past& p) {
      return H::combine(std::move(h), p.previous, p.remaining);
    }
  };
  using PastId = uint32_t;
  // Sets of trackers, by bit, and kPreviousBit for the previous character.
  using PastBits = uint64_t;
  static constexpr PastBits kPreviousBit = PastBits{1} << 63;
  // What of a Past matters at a place: `now`, only whether the text so far is in the tracker's
  // language; `later`, also whether it will be after some more text.
  struct Needs {
    PastBits now = 0, later = 0;
    friend bool operator==(const Needs&, const Needs&) = default;
  };
  static constexpr uint32_t kTextStart = 0, kUnknown = UINT32_MAX;

  // A lookbehind holds where, for one of these, the tracker's language has the text so far and
  // `ahead` has the text to come.
  struct BehindCase {
    uint32_t tracker;
    NodeId ahead;
  };
  // A vertex of the graph and what holds there: the text to come must also be in `ahead`.
  struct State {
    uint32_t vertex;
    PastId past;
    NodeId ahead;
    friend bool operator==(const State&, const State&) = default;
    template <class H>
    friend H AbslHashValue(H h, const State& s) {
      return H::combine(std::move(h), s.vertex, s.past, s.ahead);
    }
  };
  struct Step {
    uint32_t to;
    NodeId label;
    NodeId condition;  // on all the text to come, label included
  };
  struct Product {
    const RegexGraph& graph;
    bool keep_ahead;                   // conditions stay with the states, also between loops
    ScratchVector<Needs> needs = {};   // by vertex
    ScratchVector<State> states = {};  // the first is the start
    ScratchVector<ScratchVector<Step>> steps = {};
    absl::flat_hash_map<State, uint32_t> index = {};
    ScratchVector<size_t> component_sizes = {};  // states by component of the graph
    bool too_large = false;

    // Whether a condition on the text to come is carried over the edge, not imposed on the rest.
    bool Stays(uint32_t from, const RegexGraph::Edge& edge) const {
      return keep_ahead || graph.component[states[from].vertex] == graph.component[edge.to];
    }
  };
  // Some of a label's texts, and the past after them.
  struct Part {
    NodeId text;
    Past past;
  };
  struct Outcome {
    NodeId text;
    NodeId ahead;
  };

  bool Prepare();
  bool PrepareLookbehind(uint32_t look);
  PastId InternPast(Past past);
  PastId StartPast();
  PastId Mask(PastId past, Needs needs);
  Needs NeedsOfEdge(const RegexGraph::Edge& edge, Needs after);
  ScratchVector<Needs> NeedsByVertex(const RegexGraph& graph);

  std::optional<ScratchVector<Outcome>> Run(const RegexGraph& graph, PastId start, bool keep_ahead);
  bool Explore(PastId start, Product* product);
  void AddStep(uint32_t from, const RegexGraph::Edge& edge, NodeId label, PastId past, NodeId ahead,
               Product* product);
  std::optional<ScratchVector<Part>> SplitByPast(NodeId label, const Past& past, Needs needs);
  bool AddLabelSteps(uint32_t from, const RegexGraph::Edge& edge, Product* product);
  bool AddLookStep(uint32_t from, const RegexGraph::Edge& edge, Product* product);
  std::optional<NodeId> Solve(const Product& product, NodeId final_ahead);

  std::optional<NodeId> LookCondition(uint32_t look, PastId past);
  std::optional<NodeId> Lookahead(uint32_t look, PastId past);

  const RegexTree& tree_;
  std::span<const NodeId> plain_;
  CharLanguage& language_;
  GrammarBuilder& builder_;
  bool prepared_ = false;
  ScratchVector<CodePointSet>
      atoms_;                       // previous characters that lookbehinds tell apart; [0] unused
  ScratchVector<NodeId> trackers_;  // languages of whole texts so far
  ScratchVector<PastBits> needs_;   // by tree node: what it and all below it ask
  absl::flat_hash_map<uint32_t, ScratchVector<BehindCase>> behind_cases_;  // by lookbehind
  ScratchVector<Past> pasts_;
  absl::flat_hash_map<Past, PastId> past_ids_;
  absl::flat_hash_map<std::pair<uint32_t, PastId>, NodeId> lookaheads_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_REGEX_ASSERTIONS_H_
