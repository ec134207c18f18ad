// Sets of arrays: intersection and complement.
//
// Two arrays meet position by position: prefix with prefix, what is beyond with the other's rest.
// An element outside a set of arrays is told by what it violates: it is too short, too long, or
// some element is outside its schema; each is a case. The complement of [integer; string...] has
// "element 0 is no integer" and "some element from 1 on is no string". A count of elements
// (contains) is violated by too few or too many; counts of two arrays stand side by side. That two
// elements are equal (outside of uniqueItems) has no form to be written in, but mostly another case
// holds all such arrays (Normaliser::LeaveOutRepeats). Cost: linear in the prefix for each case.
//
// Tests: tests/grammar/json_schema_test.cc.
#include <algorithm>

#include "base/scratch.h"
#include "grammar/json_schema/algebra.h"

namespace grammask::internal {

// Moves what a count says of the length, or of each element, there; false when it cannot be met. A
// count that is left with nothing to say has min 0 and no max.
bool Algebra::SimplifyCount(ArraySet::Count* count, ArraySet* set) {
  if (count->min > count->max) return false;
  if (count->min > 0) set->min = std::max(set->min, count->from + count->min);
  if (count->max != kUnbounded) {
    if (count->expr == kAnything) set->max = std::min(set->max, count->from + count->max);
    // More elements than that there cannot be.
    if (set->max <= count->from + count->max) count->max = kUnbounded;
  }
  size_t length = set->prefix.size();
  size_t from = static_cast<size_t>(count->from);
  if (count->max == 0 && (from <= length || !set->closed)) {
    ExprId none = pool_.Not(count->expr);
    if (from > length) set->prefix.resize(from, set->rest);
    for (size_t i = from; i < length; ++i) set->prefix[i] = pool_.And(set->prefix[i], none);
    set->rest = pool_.And(set->rest, none);
    count->max = kUnbounded;
  }
  if (count->expr == kAnything) count->min = 0;
  if (pool_.And(count->expr, set->rest) != kNone) return true;
  // Only the prefix may hold such elements: no more than its length.
  int64_t places = std::max<int64_t>(0, static_cast<int64_t>(length) - count->from);
  if (count->expr == kNone) places = 0;
  if (count->min > places) return false;
  if (count->max >= places) count->max = kUnbounded;
  return true;
}

bool Algebra::Simplify(ArraySet* set) {
  if (set->repeats) {
    if (set->unique) return false;
    set->min = std::max<int64_t>(set->min, 2);
  }
  for (ArraySet::Count& c : set->some) {
    if (!SimplifyCount(&c, set)) return false;
  }
  std::erase_if(set->some,
                [](const ArraySet::Count& c) { return c.min == 0 && c.max == kUnbounded; });
  for (size_t i = 0; i < set->prefix.size(); ++i) {
    if (set->prefix[i] == kNone) set->max = std::min(set->max, static_cast<int64_t>(i));
  }
  int64_t known = static_cast<int64_t>(set->prefix.size());
  if (set->rest == kNone) set->max = std::min(set->max, known);
  if (set->max < set->min) return false;
  if (set->max < known) set->prefix.resize(static_cast<size_t>(set->max));
  if (set->max <= static_cast<int64_t>(set->prefix.size())) set->rest = kNone;
  if (set->max <= 1) set->unique.reset();
  if (!set->closed) {
    while (!set->prefix.empty() && set->prefix.back() == set->rest) set->prefix.pop_back();
  }
  return true;
}

Status Algebra::Meet(const ArraySet& a, const ArraySet& b, ScratchVector<ArraySet>* out) {
  ArraySet both;
  size_t length = std::max(a.prefix.size(), b.prefix.size());
  GM_RETURN_IF_ERROR(Step(length / 8 + a.some.size() + b.some.size()));
  both.prefix.reserve(length);
  for (size_t i = 0; i < length; ++i) both.prefix.push_back(pool_.And(a.at(i), b.at(i)));
  both.rest = pool_.And(a.rest, b.rest);
  both.min = std::max(a.min, b.min);
  both.max = std::min(a.max, b.max);
  both.unique = a.unique ? a.unique : b.unique;
  both.repeats = a.repeats ? a.repeats : b.repeats;
  both.closed = a.closed || b.closed;
  both.some = a.some;
  for (const ArraySet::Count& c : b.some) {
    auto same = std::find_if(both.some.begin(), both.some.end(), [&](const ArraySet::Count& x) {
      return x.expr == c.expr && x.from == c.from;
    });
    if (same == both.some.end()) {
      both.some.push_back(c);
    } else {
      same->min = std::max(same->min, c.min);
      same->max = std::min(same->max, c.max);
    }
  }
  if (Simplify(&both)) out->push_back(std::move(both));
  return {};
}

Status Algebra::Outside(const ArraySet& set, ScratchVector<ArraySet>* out) {
  auto add = [&](ArraySet c) {
    if (Simplify(&c)) out->push_back(std::move(c));
  };
  size_t length = set.prefix.size();
  GM_RETURN_IF_ERROR(Step(length + 1));
  if (set.min > 0) add({.max = set.min - 1});
  if (set.max != kUnbounded) add({.min = set.max + 1});
  for (size_t i = 0; i < length; ++i) {
    if (set.prefix[i] == kAnything) continue;
    ArraySet c{.min = static_cast<int64_t>(i) + 1};
    c.prefix.assign(i, kAnything);
    c.prefix.push_back(pool_.Not(set.prefix[i]));
    GM_RETURN_IF_ERROR(Step(i / 8));
    add(std::move(c));
  }
  int64_t known = static_cast<int64_t>(length);
  if (set.rest != kAnything && set.max > known) {
    add({.min = known + 1, .some = {{.expr = pool_.Not(set.rest), .from = known}}});
  }
  if (set.unique) add({.repeats = set.unique});
  if (set.repeats) add({.unique = set.repeats});
  for (const ArraySet::Count& c : set.some) {
    if (c.min > 0) add({.some = {{c.expr, c.from, 0, c.min - 1}}});
    if (c.max != kUnbounded) add({.some = {{c.expr, c.from, c.max + 1}}});
  }
  return {};
}

}  // namespace grammask::internal
