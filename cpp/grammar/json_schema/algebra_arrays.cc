// Sets of arrays: intersection and complement.
//
// Two arrays meet position by position: prefix with prefix, what is beyond with the other's rest.
// An element outside a set of arrays is told by what it violates: it is too short, too long, or
// some element is outside its schema; each is a case. The complement of [integer; string...] has
// "element 0 is no integer" and "some element from 1 on is no string". Cost: linear in the prefix
// for each case.
//
// Tests: tests/grammar/json_schema_test.cc.
#include <algorithm>

#include "grammar/json_schema/algebra.h"

namespace grammask::internal {

bool Algebra::Simplify(ArraySet* set) {
  for (size_t i = 0; i < set->prefix.size(); ++i) {
    if (set->prefix[i] == kNone) set->max = std::min(set->max, static_cast<int64_t>(i));
  }
  int64_t known = static_cast<int64_t>(set->prefix.size());
  if (set->rest == kNone) set->max = std::min(set->max, known);
  if (set->max < set->min) return false;
  if (set->max <= known && !set->some.empty()) return false;
  if (set->max < known) set->prefix.resize(static_cast<size_t>(set->max));
  if (set->max <= static_cast<int64_t>(set->prefix.size())) set->rest = kNone;
  for (ExprId e : set->some) {
    if (e == kNone || pool_.And(e, set->rest) == kNone) return false;
  }
  if (set->max <= 1) set->unique.reset();
  if (set->some.empty() && !set->closed) {
    while (!set->prefix.empty() && set->prefix.back() == set->rest) set->prefix.pop_back();
  }
  return true;
}

Status Algebra::Meet(const ArraySet& a, const ArraySet& b, std::vector<ArraySet>* out) {
  ArraySet both;
  size_t length = std::max(a.prefix.size(), b.prefix.size());
  GM_RETURN_IF_ERROR(Step(length / 8));
  both.prefix.reserve(length);
  for (size_t i = 0; i < length; ++i) both.prefix.push_back(pool_.And(a.at(i), b.at(i)));
  both.rest = pool_.And(a.rest, b.rest);
  both.min = std::max(a.min, b.min);
  both.max = std::min(a.max, b.max);
  both.unique = a.unique ? a.unique : b.unique;
  both.closed = a.closed || b.closed;
  // "Some element after the prefix" of one side may lie within the prefix of the other.
  std::vector<ArraySet> cases = {std::move(both)};
  for (const ArraySet* side : {&a, &b}) {
    for (ExprId some : side->some) {
      std::vector<ArraySet> next;
      for (const ArraySet& c : cases) {
        for (size_t i = side->prefix.size(); i < length; ++i) {
          ArraySet at = c;
          at.prefix[i] = pool_.And(at.prefix[i], some);
          at.min = std::max(at.min, static_cast<int64_t>(i) + 1);
          next.push_back(std::move(at));
        }
        ArraySet beyond = c;
        if (std::find(beyond.some.begin(), beyond.some.end(), some) == beyond.some.end()) {
          beyond.some.push_back(some);
        }
        beyond.min = std::max(beyond.min, static_cast<int64_t>(length) + 1);
        next.push_back(std::move(beyond));
        GM_RETURN_IF_ERROR(Step(length + 1));
      }
      cases = std::move(next);
    }
  }
  for (ArraySet& c : cases) {
    if (Simplify(&c)) out->push_back(std::move(c));
  }
  return {};
}

Status Algebra::Outside(const ArraySet& set, std::vector<ArraySet>* out) {
  if (set.unique) {
    return Unsupported(
        "an array with equal elements, which is what the complement of uniqueItems "
        "asks for, is not supported");
  }
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
  std::vector<ExprId> free(length, kAnything);
  if (set.rest != kAnything && set.max > static_cast<int64_t>(length)) {
    add({.prefix = free, .min = static_cast<int64_t>(length) + 1, .some = {pool_.Not(set.rest)}});
  }
  for (ExprId some : set.some) add({.prefix = free, .rest = pool_.Not(some)});
  return {};
}

}  // namespace grammask::internal
