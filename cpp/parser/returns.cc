// Where a set waits for procedures to returns, one for all sets that wait alike.
//
// Where an item goes on once its procedure is finished is told by what waits for that procedure:
// pairs of a term and a return. Sets that wait for it alike, whatever else is in them, get one
// return, so items, and then sets, that differ only in where they began fall together. In
// `list ::= name alias?`, `alias ::= name` every letter of `abc` may be the first of an alias, and
// all of these aliases return to the same: `abc` and `ab` lead to one set. Without that the sets
// after n letters would have n items.
//
// Waiting items of one set may return to places of the same set, in a cycle where rules are left
// recursive. The places are taken by strongly connected components, those that others return to
// first. A cycle is first compared with the places of the sets that it returns to itself: are the
// two equal if they are taken for equal? Then they are bisimilar, and so equal. In `S ::= S S |
// "a"` that makes all sets after the first one set. Otherwise a cycle is described with its own
// places by position, and found again by the description. Not all that is equal is found: that
// costs only sets.
//
// Cost: 100 to 300 ns for a place, once for a set. Texts that are captured need returns by set:
// there, nothing is merged. Tests: tests/parser/set_table_test.cc, and the exhaustive worlds.
#include <algorithm>

#include "base/numbering.h"
#include "base/sorted.h"
#include "parser/set_table.h"

namespace grammask::internal {
namespace {

// Sets that a cycle is compared with.
constexpr size_t kMaxCompared = 4;

}  // namespace

std::span<const Waiter> SetTable::WaitersOf(SetId set, ProcId proc) {
  return WaitersFor(MakeBodyLocked(set).waiters, proc);
}

// What waits in `set` for `proc`, as (term, return) pairs. `own(p)` stands for the place of `p` in
// the same set where it is known, else kSelf and something.
template <class Own>
void SetTable::AppendPlace(SetId set, ProcId proc, Own&& own, PlaceKey* out) {
  absl::InlinedVector<uint64_t, 8> pairs;
  for (const Waiter& w : WaitersOf(set, proc)) {
    const bool self = (w.ret.value & kSelf) != 0;
    const uint32_t ret = self ? own(ProcId(w.ret.value & ~kSelf)) : w.ret.value;
    pairs.push_back(uint64_t{w.to.value} << 32 | ret);
  }
  SortUnique(&pairs);
  out->push_back(pairs.size());
  out->insert(out->end(), pairs.begin(), pairs.end());
}

// The places of `cycle` in `set` are those of `other`, if that can be taken for true.
bool SetTable::SamePlaces(SetId set, SetId other, std::span<const ProcId> cycle) {
  auto place_of = [&](SetId s, ProcId p) {
    const RetId* known = ret_ids_.Find(WaitKey(s, p));
    return known != nullptr ? known->value : kSelf | p.value;
  };
  // Those of the cycle have no return of this set yet.
  auto here = [&](ProcId p) {
    return place_of(std::ranges::find(cycle, p) != cycle.end() ? other : set, p);
  };
  auto there = [&](ProcId p) { return place_of(other, p); };
  PlaceKey a, b;
  for (ProcId p : cycle) {
    if ((there(p) & kSelf) != 0) return false;
    a.clear();
    b.clear();
    AppendPlace(set, p, here, &a);
    AppendPlace(other, p, there, &b);
    if (a != b) return false;
  }
  return true;
}

// Gives the places of a strongly connected component their returns; those that it returns to have
// theirs.
void SetTable::NamePlaces(SetId set, std::span<const ProcId> component, bool cyclic) {
  if (cyclic) {
    absl::InlinedVector<SetId, kMaxCompared> others;
    for (ProcId p : component) {
      for (const Waiter& w : WaitersOf(set, p)) {
        if ((w.ret.value & kSelf) != 0 || w.ret.value <= kUnknown.value) continue;
        const SetId other = rets_[w.ret.value].set;
        if (others.size() == kMaxCompared || std::ranges::find(others, other) != others.end()) {
          continue;
        }
        others.push_back(other);
        if (!SamePlaces(set, other, component)) continue;
        for (ProcId q : component) {
          const RetId same = ret_ids_[WaitKey(other, q)];
          ret_ids_[WaitKey(set, q)] = same;
        }
        return;
      }
    }
  }
  PlaceKey key;
  for (ProcId p : component) {
    AppendPlace(
        set, p,
        [&](ProcId q) {
          const RetId* known = ret_ids_.Find(WaitKey(set, q));
          if (known != nullptr) return known->value;
          const auto at = std::ranges::find(component, q) - component.begin();
          return kSelf | static_cast<uint32_t>(at);
        },
        &key);
  }
  if (component.size() == 1 && key.size() == 2 && (key[1] & kSelf) == 0) {
    NameSingle(set, component[0], key[1]);
    return;
  }
  const size_t end = key.size();
  for (size_t i = 0; i < component.size(); ++i) {
    key.resize(end);
    key.push_back(i);
    const RetId next(static_cast<uint32_t>(rets_.size()));
    const auto [ret, added] = place_ids_.TryEmplace(key, next);
    if (added) {
      AddRet(set, component[i], 0, next);
      place_bytes_ += key.size() * 8 + 32;
    }
    ret_ids_[WaitKey(set, component[i])] = *ret;
  }
}

// The place where one item waits, a term and a return.
RetId SetTable::NameSingle(SetId set, ProcId proc, uint64_t pair) {
  const RetId next(static_cast<uint32_t>(rets_.size()));
  const auto [ret, added] = single_place_ids_.TryEmplace(pair, next);
  if (added) AddRet(set, proc, 0, next);
  return ret_ids_[WaitKey(set, proc)] = *ret;
}

// Tarjan's algorithm over the places of one set that `proc`'s leads to, on an explicit stack.
RetId SetTable::NamePlace(SetId set, ProcId proc) {
  auto is_own = [](const Waiter& w) { return (w.ret.value & kSelf) != 0; };
  const std::span<const Waiter> waiters = WaitersOf(set, proc);
  if (waiters.size() == 1 && !is_own(waiters[0])) {  // mostly
    return NameSingle(set, proc, uint64_t{waiters[0].to.value} << 32 | waiters[0].ret.value);
  }
  if (std::ranges::none_of(waiters, is_own)) {
    NamePlaces(set, {&proc, 1}, false);
    return ret_ids_[WaitKey(set, proc)];
  }
  struct Visit {
    ProcId proc;
    uint32_t index, low;
    std::span<const Waiter> left;
    bool cyclic = false;
  };
  absl::InlinedVector<Visit, 16> path;
  absl::InlinedVector<ProcId, 16> stack, component;
  Numbering<uint32_t> visited;
  auto enter = [&](ProcId p, uint32_t index) {
    stack.push_back(p);
    path.push_back({p, index, index, WaitersOf(set, p)});
  };
  enter(proc, static_cast<uint32_t>(visited.Of(proc.value)));
  while (!path.empty()) {
    Visit& v = path.back();
    if (!v.left.empty()) {
      const Waiter w = v.left[0];
      v.left = v.left.subspan(1);
      if (!is_own(w)) continue;
      const ProcId to(w.ret.value & ~kSelf);
      if (ret_ids_.Contains(WaitKey(set, to))) continue;
      const size_t before = visited.size();
      const auto index = static_cast<uint32_t>(visited.Of(to.value));
      if (index > before) {
        enter(to, index);
      } else {
        v.low = std::min(v.low, index);
        v.cyclic = true;
      }
      continue;
    }
    const Visit done = v;
    path.pop_back();
    if (done.low != done.index) {
      path.back().low = std::min(path.back().low, done.low);
      path.back().cyclic = true;
      continue;
    }
    const auto first = std::ranges::find(stack, done.proc);
    component.assign(first, stack.end());
    stack.erase(first, stack.end());
    std::ranges::sort(component);
    NamePlaces(set, component, done.cyclic);
  }
  return ret_ids_[WaitKey(set, proc)];
}

}  // namespace grammask::internal
