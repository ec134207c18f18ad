// Regexes with assertions, to nodes of exactly their language.
//
// The graph of the regex is walked together with what the assertions can see. Of the past, a state
// knows the kind of the previous character and what remains of each lookbehind's language, so a
// lookbehind is simply true or false there. A lookahead becomes a condition on the text to come: on
// leaving a loop it is intersected with the rest of the match, and inside a loop it is carried
// along and split by what remains of it. The states' languages are then linear equations, solved
// loop by loop from the end. For example `(?:(?!foo).)*` has at the head of its loop three states:
// "all", "not oo.." and "not o..". And `\bx` has before `x` the states "at the start", "after a
// word character" (no way on) and "after another".
// Cost: the states and their steps; for each loop at worst the cube of its states.
// Source: for the splitting, V. Antimirov, "Partial derivatives of regular expressions" (1996); the
// equations are Arden's. Tests: tests/grammar/regex_test.cc, regex_data_test.cc.
#include "grammar/regex_assertions.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "grammar/regex_equations.h"

namespace grammask::internal {
namespace {

constexpr size_t kMaxLoopStates = 128;    // of one loop of the graph
constexpr size_t kMaxLabels = 100'000;    // made in solving it
constexpr size_t kMaxPreviousKinds = 32;  // kinds of previous character
constexpr size_t kMaxTrackers = 60;       // lookbehinds longer than a character
constexpr size_t kMaxOutcomes = 64;       // conditions that one lookbehind leaves ahead

}  // namespace

// ---- The past ----

RegexAssertions::PastId RegexAssertions::InternPast(Past past) {
  language_.Charge(past.remaining.size());
  auto [it, is_new] = past_ids_.try_emplace(std::move(past), static_cast<PastId>(pasts_.size()));
  if (is_new) pasts_.push_back(it->first);
  return it->second;
}

RegexAssertions::PastId RegexAssertions::StartPast() { return InternPast({kTextStart, trackers_}); }

// The past without what does not matter.
RegexAssertions::PastId RegexAssertions::Mask(PastId past, Needs needs) {
  Past masked = pasts_[past];
  if ((needs.now & kPreviousBit) == 0) masked.previous = kUnknown;
  for (size_t i = 0; i < masked.remaining.size(); ++i) {
    NodeId& remaining = masked.remaining[i];
    if ((needs.later >> i & 1) != 0) continue;
    bool in = (needs.now >> i & 1) == 0 || language_.Nullable(remaining);
    remaining = in ? builder_.Empty() : builder_.Nothing();
  }
  return InternPast(std::move(masked));
}

// Finds the atoms, and what each tree node needs to know; compiles the lookbehinds.
bool RegexAssertions::Prepare() {
  prepared_ = true;
  atoms_ = {CodePointSet(), CodePointSet::All()};
  for (const RegexNode& n : tree_.nodes) {
    if (n.kind != RegexKind::kBeside || !n.behind) continue;
    const CodePointSet& set = tree_.sets[n.first];
    for (size_t i = 1, count = atoms_.size(); i < count; ++i) {
      CodePointSet in = atoms_[i].Intersect(set);
      if (in.empty() || in == atoms_[i]) continue;
      atoms_.push_back(atoms_[i].Minus(set));
      atoms_[i] = std::move(in);
    }
    if (atoms_.size() > kMaxPreviousKinds) return false;
  }
  needs_.assign(tree_.nodes.size(), 0);
  for (uint32_t id = 0; id < tree_.nodes.size(); ++id) {
    const RegexNode& n = tree_.nodes[id];
    if (!n.has_look) continue;
    if (n.kind == RegexKind::kBeside) {
      if (n.behind) needs_[id] = kPreviousBit;
      continue;
    }
    if (n.kind == RegexKind::kLook && n.behind) {
      if (!PrepareLookbehind(id)) return false;
      for (const BehindCase& c : behind_cases_[id]) needs_[id] |= PastBits{1} << c.tracker;
      continue;
    }
    for (uint32_t child : tree_.ChildrenOf(n)) needs_[id] |= needs_[child];
  }
  return true;
}

bool RegexAssertions::PrepareLookbehind(uint32_t look) {
  uint32_t child = tree_.ChildrenOf(tree_.nodes[look])[0];
  ScratchVector<Outcome> outcomes;
  if (!tree_.nodes[child].has_look) {
    outcomes.push_back({builder_.Sequence({language_.All(), plain_[child]}), language_.All()});
  } else {
    std::optional<RegexGraph> graph =
        BuildRegexGraph(tree_, plain_, {&child, 1}, language_.All(), builder_.Empty(), &builder_);
    if (!graph.has_value()) return false;
    std::optional<ScratchVector<Outcome>> run = Run(*graph, StartPast(), /*keep_ahead=*/true);
    if (!run.has_value()) return false;
    outcomes = *std::move(run);
  }
  ScratchVector<BehindCase>& cases = behind_cases_[look];
  for (const Outcome& o : outcomes) {
    auto tracker = static_cast<uint32_t>(trackers_.size());
    if (tracker == kMaxTrackers) return false;
    trackers_.push_back(o.text);
    cases.push_back({tracker, o.ahead});
  }
  return true;
}

// ---- Assertions at a place ----

// What the text to come must be in for the assertion to hold after this past.
std::optional<NodeId> RegexAssertions::LookCondition(uint32_t look, PastId past) {
  const RegexNode& n = tree_.nodes[look];
  NodeId condition = builder_.Nothing();
  if (n.kind == RegexKind::kBeside) {
    const CodePointSet& set = tree_.sets[n.first];
    if (n.behind) {
      uint32_t previous = pasts_[past].previous;
      bool holds = previous == kTextStart ? n.at_edge : set.Has(atoms_[previous].ranges()[0].lo);
      return holds ? language_.All() : builder_.Nothing();
    }
    if (set == CodePointSet::All() && n.at_edge) return language_.All();
    NodeId begins = builder_.Sequence({language_.Chars(set), language_.All()});
    return n.at_edge ? builder_.Choice({builder_.Empty(), begins}) : begins;
  }
  if (n.behind) {
    ScratchVector<NodeId> aheads;
    for (const BehindCase& c : behind_cases_.at(look)) {
      if (language_.Nullable(pasts_[past].remaining[c.tracker])) aheads.push_back(c.ahead);
    }
    condition = language_.ChoiceOf(aheads);
  } else {
    PastBits previous = needs_[look] & kPreviousBit;
    PastId seen = Mask(past, {.now = previous, .later = needs_[look] & ~kPreviousBit});
    std::optional<NodeId> ahead = Lookahead(look, seen);
    if (!ahead.has_value()) return std::nullopt;
    condition = *ahead;
  }
  return n.negated ? language_.Not(condition) : condition;
}

// The texts that begin with a match of a lookahead's child. It may hold lookbehinds, so it is
// compiled for each past; lookarounds nest no deeper than max_boolean_nesting, which bounds the
// recursion.
std::optional<NodeId> RegexAssertions::Lookahead(uint32_t look, PastId past) {
  if (auto it = lookaheads_.find({look, past}); it != lookaheads_.end()) return it->second;
  uint32_t child = tree_.ChildrenOf(tree_.nodes[look])[0];
  NodeId result = builder_.Nothing();
  if (!tree_.nodes[child].has_look) {
    result = language_.ThenAll(plain_[child]);
  } else {
    std::optional<RegexGraph> graph =
        BuildRegexGraph(tree_, plain_, {&child, 1}, builder_.Empty(), language_.All(), &builder_);
    if (!graph.has_value()) return std::nullopt;
    std::optional<ScratchVector<Outcome>> run = Run(*graph, past, /*keep_ahead=*/false);
    if (!run.has_value()) return std::nullopt;
    result = (*run)[0].text;
  }
  lookaheads_.emplace(std::pair(look, past), result);
  return result;
}

// ---- The product ----

// Adds a step by `edge` from state `from`. `ahead`: the condition on what follows the step's label.
void RegexAssertions::AddStep(uint32_t from, const RegexGraph::Edge& edge, NodeId label,
                              PastId past, NodeId ahead, Product* product) {
  if (ahead == builder_.Nothing()) return;
  NodeId all = language_.All();
  bool stays = product->Stays(from, edge);
  State s{edge.to, Mask(past, product->needs[edge.to]), stays ? ahead : all};
  auto [it, is_new] = product->index.try_emplace(s, static_cast<uint32_t>(product->states.size()));
  if (is_new) {
    product->states.push_back(s);
    product->steps.emplace_back();
    // The states of one component are the unknowns of one system of equations.
    size_t& size = product->component_sizes[product->graph.component[s.vertex]];
    if (++size > kMaxLoopStates) product->too_large = true;
  }
  if (!language_.Charge(1)) product->too_large = true;
  product->steps[from].push_back({it->second, label, stays ? all : ahead});
}

// Splits `label` by what is then known of the text so far, where that matters after it.
std::optional<ScratchVector<RegexAssertions::Part>> RegexAssertions::SplitByPast(NodeId label,
                                                                                 const Past& past,
                                                                                 Needs needs) {
  ScratchVector<Part> parts;
  if ((needs.now & kPreviousBit) == 0) {
    parts.push_back({label, past});
  } else {
    if (language_.Nullable(label)) parts.push_back({builder_.Empty(), past});
    for (uint32_t atom = 1; atom < atoms_.size(); ++atom) {
      NodeId text = language_.EndingIn(label, atoms_[atom]);
      if (text == builder_.Nothing()) continue;
      parts.push_back({text, past});
      parts.back().past.previous = atom;
    }
  }
  for (size_t i = 0; i < past.remaining.size(); ++i) {
    bool later = (needs.later >> i & 1) != 0;
    if (!later && (needs.now >> i & 1) == 0) continue;
    ScratchVector<Part> split;
    auto add = [&](const Part& part, NodeId text, NodeId remaining) {
      if (text == builder_.Nothing()) return;
      split.push_back({text, part.past});
      split.back().past.remaining[i] = remaining;
    };
    for (const Part& part : parts) {
      if (later) {
        for (const CharLanguage::Piece& piece : language_.Split(part.text, past.remaining[i])) {
          add(part, piece.text, piece.rest);
        }
      } else {
        auto [in, out] = language_.SplitByMembership(part.text, past.remaining[i]);
        add(part, in, builder_.Empty());
        add(part, out, builder_.Nothing());
      }
    }
    parts = std::move(split);
    // Each part leads to a state of its own, so these are too many already.
    if (parts.size() > kMaxLoopStates) return std::nullopt;
  }
  return parts;
}

bool RegexAssertions::AddLabelSteps(uint32_t from, const RegexGraph::Edge& edge, Product* product) {
  const State s = product->states[from];
  const Past past = pasts_[s.past];
  std::optional<ScratchVector<Part>> parts = SplitByPast(edge.label, past, product->needs[edge.to]);
  if (!parts.has_value()) return false;
  for (Part& part : *parts) {
    PastId to_past = InternPast(std::move(part.past));
    if (!product->Stays(from, edge)) {
      // The condition is on this step's label too.
      AddStep(from, edge, part.text, to_past, s.ahead, product);
      continue;
    }
    for (const CharLanguage::Piece& piece : language_.Split(part.text, s.ahead)) {
      AddStep(from, edge, piece.text, to_past, piece.rest, product);
    }
  }
  return true;
}

bool RegexAssertions::AddLookStep(uint32_t from, const RegexGraph::Edge& edge, Product* product) {
  const State s = product->states[from];
  std::optional<NodeId> condition = LookCondition(edge.look, s.past);
  if (!condition.has_value()) return false;
  AddStep(from, edge, builder_.Empty(), s.past, language_.And(s.ahead, *condition), product);
  return true;
}

// What must be known before the edge, given what must be known after it.
RegexAssertions::Needs RegexAssertions::NeedsOfEdge(const RegexGraph::Edge& edge, Needs after) {
  if (edge.is_look) {
    PastBits asked = needs_[edge.look];
    const RegexNode& n = tree_.nodes[edge.look];
    bool here = n.kind == RegexKind::kBeside || n.behind;
    PastBits now = here ? asked : asked & kPreviousBit;
    return {.now = after.now | now, .later = after.later | (asked & ~now)};
  }
  if (edge.label == builder_.Empty()) return after;
  PastBits previous = language_.Nullable(edge.label) ? after.now & kPreviousBit : 0;
  return {.now = previous, .later = after.later | (after.now & ~kPreviousBit)};
}

// By vertex: what the assertions on the way from it need to know.
ScratchVector<RegexAssertions::Needs> RegexAssertions::NeedsByVertex(const RegexGraph& graph) {
  ScratchVector<Needs> needs(graph.out.size());
  // Successors first, so that only loops take more than one pass.
  ScratchVector<uint32_t> order(graph.out.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return graph.component[a] < graph.component[b]; });
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t v : order) {
      Needs sum = needs[v];
      for (const RegexGraph::Edge& edge : graph.out[v]) {
        Needs n = NeedsOfEdge(edge, needs[edge.to]);
        sum.now |= n.now;
        sum.later |= n.later;
      }
      changed |= !(sum == needs[v]);
      needs[v] = sum;
    }
  }
  return needs;
}

bool RegexAssertions::Explore(PastId start, Product* product) {
  const RegexGraph& graph = product->graph;
  product->needs = NeedsByVertex(graph);
  product->component_sizes.resize(graph.components);
  PastId masked = Mask(start, product->needs[RegexGraph::kStart]);
  product->states.push_back({RegexGraph::kStart, masked, language_.All()});
  product->steps.emplace_back();
  product->index.emplace(product->states[0], 0);
  for (uint32_t i = 0; i < product->states.size(); ++i) {
    for (const RegexGraph::Edge& edge : graph.out[product->states[i].vertex]) {
      bool added = edge.is_look ? AddLookStep(i, edge, product) : AddLabelSteps(i, edge, product);
      if (!added) return false;
    }
    if (product->too_large) return false;
  }
  return language_.Charge(1);
}

// The texts from the start to the final states with the condition `final_ahead`.
std::optional<NodeId> RegexAssertions::Solve(const Product& product, NodeId final_ahead) {
  const RegexGraph& graph = product.graph;
  size_t count = product.states.size();
  auto component = [&](uint32_t state) { return graph.component[product.states[state].vertex]; };
  ScratchVector<ScratchVector<uint32_t>> members(graph.components);
  ScratchVector<bool> entered(count);  // from another component, or as the start
  entered[0] = true;
  for (uint32_t i = 0; i < count; ++i) {
    members[component(i)].push_back(i);
    for (const Step& step : product.steps[i]) {
      if (component(step.to) != component(i)) entered[step.to] = true;
    }
  }
  ScratchVector<NodeId> solution(count, builder_.Nothing());
  ScratchVector<uint32_t> row(count);
  for (const ScratchVector<uint32_t>& group : members) {
    LanguageEquations equations(&builder_, group.size(), /*reversed=*/false);
    for (uint32_t r = 0; r < group.size(); ++r) row[group[r]] = r;
    ScratchVector<uint32_t> wanted;
    for (uint32_t r = 0; r < group.size(); ++r) {
      uint32_t i = group[r];
      if (entered[i]) wanted.push_back(r);
      const State& s = product.states[i];
      if (s.vertex == RegexGraph::kFinal && s.ahead == final_ahead) {
        equations.AddConstant(r, builder_.Empty());
      }
      for (const Step& step : product.steps[i]) {
        if (component(step.to) == component(i)) {
          equations.AddLabel(r, row[step.to], step.label);
        } else {
          NodeId rest = builder_.Sequence({step.label, solution[step.to]});
          equations.AddConstant(r, language_.Constrain(rest, step.condition));
        }
      }
    }
    size_t max_labels = kMaxLabels;
    std::optional<ScratchVector<NodeId>> values = equations.Solve(wanted, &max_labels);
    if (!values.has_value() || !language_.Charge(kMaxLabels - max_labels)) return std::nullopt;
    for (size_t w = 0; w < wanted.size(); ++w) solution[group[wanted[w]]] = (*values)[w];
  }
  if (!language_.Charge(count)) return std::nullopt;
  return solution[0];
}

// The texts of all matches, by the condition that they leave on the text behind them: with
// keep_ahead one outcome for each, otherwise one outcome without a condition.
std::optional<ScratchVector<RegexAssertions::Outcome>> RegexAssertions::Run(const RegexGraph& graph,
                                                                            PastId start,
                                                                            bool keep_ahead) {
  Product product{.graph = graph, .keep_ahead = keep_ahead};
  if (!Explore(start, &product)) return std::nullopt;
  ScratchVector<NodeId> aheads;
  if (!keep_ahead) aheads.push_back(language_.All());
  for (const State& s : product.states) {
    bool is_new = std::find(aheads.begin(), aheads.end(), s.ahead) == aheads.end();
    if (keep_ahead && s.vertex == RegexGraph::kFinal && is_new) aheads.push_back(s.ahead);
  }
  if (aheads.size() > kMaxOutcomes) return std::nullopt;
  ScratchVector<Outcome> outcomes;
  for (NodeId ahead : aheads) {
    std::optional<NodeId> text = Solve(product, ahead);
    if (!text.has_value()) return std::nullopt;
    outcomes.push_back({*text, ahead});
  }
  return outcomes;
}

std::optional<NodeId> RegexAssertions::Compile(std::span<const uint32_t> parts, bool pad_left,
                                               bool pad_right) {
  if (!prepared_ && !Prepare()) return std::nullopt;
  NodeId all = language_.All(), none = builder_.Empty();
  std::optional<RegexGraph> graph = BuildRegexGraph(tree_, plain_, parts, pad_left ? all : none,
                                                    pad_right ? all : none, &builder_);
  if (!graph.has_value()) return std::nullopt;
  std::optional<ScratchVector<Outcome>> run = Run(*graph, StartPast(), /*keep_ahead=*/false);
  if (!run.has_value()) return std::nullopt;
  return (*run)[0].text;
}

}  // namespace grammask::internal
