// One case of arrays, of which some elements are counted, to a node.
//
// A state is how many elements are written, as far as that still matters, and for each count how
// many of its elements there have been. A count without a bound from above says of an element that
// it is one of those, or nothing; once it is met it is not asked any more. A count with one needs
// to know of every element whether it is in the set, so elements are split into those in it and
// those not; at the bound only those not in it are left. With {"contains": X, "minContains": 1} the
// states are 0 and 1: s0 ::= X end-of-list | any "," s0. Where nothing is left to count, the rest
// repeats. Cost: the states, which are bounded, times the ways in which one element may count.
//
// Tests: tests/grammar/json_schema_test.cc, tests/grammar/json_schema_random_test.cc.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "base/scratch.h"
#include "grammar/json_schema/emit_containers.h"

namespace grammask::internal {
namespace {

// The most alternatives of all states of one array.
constexpr size_t kMaxAlternatives = 100'000;

// Elements written, then how often each count was met.
using State = absl::InlinedVector<int64_t, 4>;

bool Settled(const ArraySet::Count& count, int64_t met) {
  return count.max == kUnbounded ? met >= count.min : met == count.max;
}

}  // namespace

StatusOr<NodeId> ArrayEmitter::Counted() {
  const ScratchVector<ArraySet::Count>& counts = set_.some;
  if (counts.size() > SchemaEmitter::kMaxConditions) {
    return Unsupported(std::to_string(counts.size()) +
                       " kinds of elements to be counted in one array, which is what contains and "
                       "the complement of items ask for, are not supported; the most is " +
                       std::to_string(SchemaEmitter::kMaxConditions));
  }
  ExprPool& pool = e_.normaliser_.pool();
  int64_t length = static_cast<int64_t>(set_.prefix.size());
  // From how many elements on all positions are alike, and may hold whatever a count asks.
  int64_t alike = length;
  // A least number of elements that a count implies is not counted again.
  int64_t least = min_;
  for (const ArraySet::Count& c : counts) {
    alike = std::max(alike, c.from);
    if (c.min > 0 && c.from + c.min >= min_) least = 0;
  }
  int64_t cap = std::max<int64_t>({alike, max_ != kUnbounded ? max_ : least, 1});
  absl::flat_hash_map<State, RuleId> rules;
  ScratchVector<State> waiting;
  auto may_end = [&](const State& s) {
    if (s[0] < least) return false;
    for (size_t k = 0; k < counts.size(); ++k) {
      if (s[k + 1] < counts[k].min) return false;
    }
    return true;
  };
  // What remains after `s`, which is not the beginning.
  auto go_on = [&](const State& s) -> StatusOr<NodeId> {
    bool settled = s[0] >= alike;
    ScratchVector<ExprId> parts = {set_.rest};
    for (size_t k = 0; k < counts.size(); ++k) {
      if (max_ != kUnbounded && counts[k].min - s[k + 1] > max_ - s[0]) return builder_.Nothing();
      settled = settled && Settled(counts[k], s[k + 1]);
      if (counts[k].max != kUnbounded) parts.push_back(pool.Not(counts[k].expr));
    }
    if (settled) {
      GM_ASSIGN_OR_RETURN(NodeId element, Element(pool.And(parts)));
      NodeId further = builder_.Sequence({comma_, element});
      int64_t max = max_ == kUnbounded ? kUnbounded : max_ - s[0];
      return builder_.Sequence(
          {builder_.Repeat(further, std::max<int64_t>(0, least - s[0]), max), end_});
    }
    auto [it, fresh] = rules.try_emplace(s);
    if (fresh) {
      it->second = builder_.AddRule("list");
      waiting.push_back(s);
    }
    return builder_.Rule(it->second);
  };
  size_t total = 0;
  auto body = [&](const State& s, NodeId comma) -> StatusOr<NodeId> {
    ScratchVector<NodeId> alternatives;
    if (s[0] > 0 && may_end(s)) alternatives.push_back(end_);
    for (uint32_t mask = 0; s[0] < max_ && mask < uint32_t{1} << counts.size(); ++mask) {
      State next = s;
      next[0] = std::min(s[0] + 1, cap);
      ScratchVector<ExprId> parts = {set_.at(static_cast<size_t>(s[0]))};
      bool possible = true;
      for (size_t k = 0; k < counts.size() && possible; ++k) {
        const ArraySet::Count& c = counts[k];
        bool bounded = c.max != kUnbounded;
        if (mask >> k & 1) {
          possible = s[0] >= c.from && !Settled(c, s[k + 1]);
          parts.push_back(c.expr);
          ++next[k + 1];
        } else if (bounded && s[0] >= c.from) {
          parts.push_back(pool.Not(c.expr));
        }
      }
      ExprId expr = possible ? pool.And(parts) : kNone;
      if (expr == kNone) continue;
      if (++total > kMaxAlternatives) {
        return Unsupported(
            "counting elements (minContains and maxContains, with minItems, maxItems and "
            "prefixItems) takes too many states; use smaller numbers");
      }
      GM_ASSIGN_OR_RETURN(NodeId element, Element(expr));
      if (element == builder_.Nothing()) continue;
      GM_ASSIGN_OR_RETURN(NodeId tail, go_on(next));
      alternatives.push_back(builder_.Sequence({comma, element, tail}));
    }
    return builder_.Choice(alternatives);
  };
  GM_ASSIGN_OR_RETURN(NodeId first, body(State(counts.size() + 1, 0), builder_.Empty()));
  while (!waiting.empty()) {
    State s = std::move(waiting.back());
    waiting.pop_back();
    GM_ASSIGN_OR_RETURN(NodeId node, body(s, comma_));
    builder_.SetBody(rules.find(s)->second, node);
  }
  return first;
}

}  // namespace grammask::internal
