// Conditions on numbers, as a set: intersection, complement, emptiness.
//
// A NumberSet is a conjunction of a kind, two bounds, multiples, non-multiples and excluded values,
// so an intersection only collects conditions, and a complement is a union with one term for each
// condition. Multiples are folded into one step (integer and multipleOf 0.4: step 2), which turns
// the question "is it empty?" into a walk over the few members between the bounds: an integer in
// (1, 2) has none.
//
// Cost: linear in the conditions, with arithmetic on the decimals that stand in the schema.
// Tested by tests/grammar/numbers_test.cc, against sets of numbers written out.
#include "grammar/json_schema/numbers.h"

#include <algorithm>

#include "base/scratch.h"
#include "base/sorted.h"

namespace grammask::internal {
namespace {

NumberSet NoNumbers() {
  NumberSet set;
  set.lower = {Decimal(1)};
  set.upper = {Decimal(0)};
  return set;
}

bool BoundsCross(const NumberSet& set) {
  if (!set.lower || !set.upper) return false;
  auto order = set.lower->value <=> set.upper->value;
  return order > 0 || (order == 0 && (set.lower->open || set.upper->open));
}

// The distance between neighbours when all members are multiples of one number.
std::optional<Decimal> StepOf(const NumberSet& set) {
  if (set.multiples_of.size() > 1) return std::nullopt;
  if (set.multiples_of.size() == 1) return set.multiples_of[0];
  if (set.kind == NumberSet::Kind::kIntegers) return Decimal(1);
  return std::nullopt;
}

void FoldMultiples(NumberSet* set) {
  using Kind = NumberSet::Kind;
  SortUnique(&set->multiples_of);
  if (set->multiples_of.empty()) return;
  std::optional<Decimal> step = set->multiples_of[0];
  if (set->kind == Kind::kIntegers) step = Decimal::LeastCommonMultiple(*step, Decimal(1));
  for (const Decimal& m : set->multiples_of) {
    if (step) step = Decimal::LeastCommonMultiple(*step, m);
  }
  if (!step) return;
  set->multiples_of = {*step};
  if (!step->IsInteger()) return;
  if (set->kind == Kind::kNonIntegers) {
    *set = NoNumbers();
    return;
  }
  set->kind = Kind::kIntegers;
  if (*step == Decimal(1)) set->multiples_of.clear();
}

// The least multiple of `step` that is not below the bound (above it, when open).
std::optional<Decimal> SnapUp(const NumberSet::Bound& bound, const Decimal& step) {
  std::optional<Decimal> below = Decimal::FloorDivide(bound.value.Negated(), step);
  if (!below) return std::nullopt;
  std::optional<Decimal> snapped = Decimal::Multiply(below->Negated(), step);
  if (snapped && bound.open && *snapped == bound.value) return Decimal::Add(*snapped, step);
  return snapped;
}

std::optional<Decimal> SnapDown(const NumberSet::Bound& bound, const Decimal& step) {
  std::optional<Decimal> up = SnapUp({bound.value.Negated(), bound.open}, step);
  if (!up) return std::nullopt;
  return up->Negated();
}

// Moves closed bounds that are excluded inwards. `excluded` is sorted.
void TightenBounds(NumberSet* set, const std::optional<Decimal>& step) {
  if (step) {
    if (set->lower) {
      if (auto up = SnapUp(*set->lower, *step)) set->lower = {*std::move(up)};
    }
    if (set->upper) {
      if (auto down = SnapDown(*set->upper, *step)) set->upper = {*std::move(down)};
    }
  }
  auto is_excluded = [&](const Decimal& v) {
    return std::binary_search(set->excluded.begin(), set->excluded.end(), v);
  };
  auto tighten = [&](std::optional<NumberSet::Bound>* bound, const Decimal& direction) {
    while (*bound && !(*bound)->open && is_excluded((*bound)->value)) {
      if (!step) {
        (*bound)->open = true;
        return;
      }
      std::optional<Decimal> next = Decimal::Add((*bound)->value, direction);
      if (!next) return;
      (*bound)->value = *std::move(next);
    }
  };
  tighten(&set->lower, step.value_or(Decimal()));
  tighten(&set->upper, step.value_or(Decimal()).Negated());
}

// Drops conditions that others imply. Leaves contradictions for IsEmpty.
void SimplifyNotMultiples(NumberSet* set) {
  auto& list = set->not_multiples_of;
  if (list.empty()) return;
  SortUnique(&list);
  if (set->kind == NumberSet::Kind::kAny &&
      std::binary_search(list.begin(), list.end(), Decimal(1))) {
    set->kind = NumberSet::Kind::kNonIntegers;
  }
  ScratchVector<Decimal> kept;
  for (const Decimal& n : list) {
    bool implied = set->kind == NumberSet::Kind::kNonIntegers && n.IsInteger();
    for (const Decimal& k : kept) implied = implied || n.IsMultipleOf(k);
    if (!implied) kept.push_back(n);
  }
  list = std::move(kept);
}

// For a set whose conditions are folded and whose bounds are snapped.
bool IsEmptyNormalised(const NumberSet& set) {
  if (BoundsCross(set)) return true;
  if (set.lower && set.upper && set.lower->value == set.upper->value) {
    return !set.Contains(set.lower->value);
  }
  std::optional<Decimal> step = StepOf(set);
  // Without a step there is an interval, of which only separate points are taken away.
  if (!step) return false;
  for (const Decimal& n : set.not_multiples_of) {
    if (step->IsMultipleOf(n)) return true;
  }
  // A set open to one side: the non-multiples leave out multiples of some k_i >= 2 steps, so every
  // index that is 1 modulo all of them stays, and only finitely many values are excluded.
  if (!set.lower || !set.upper || !set.lower->value.IsMultipleOf(*step)) return false;
  // Among 2^r successive indexes there is one that none of r primes divides (Kanold), so a longer
  // walk than this one must meet a member.
  size_t r = set.not_multiples_of.size() + (set.kind == NumberSet::Kind::kNonIntegers ? 1 : 0);
  size_t walk = (size_t{1} << std::min<size_t>(r, 10)) * (set.excluded.size() + 1);
  Decimal value = set.lower->value;
  for (size_t i = 0; i < walk; ++i) {
    if (value > set.upper->value) return true;
    if (set.Contains(value)) return false;
    std::optional<Decimal> next = Decimal::Add(value, *step);
    if (!next) return false;
    value = *std::move(next);
  }
  return false;
}

void AppendList(const char* label, const ScratchVector<Decimal>& list, std::string* out) {
  for (const Decimal& d : list) *out += label + d.ToString();
}

}  // namespace

NumberSet NumberSet::Integers() {
  NumberSet set;
  set.kind = Kind::kIntegers;
  return set;
}

NumberSet NumberSet::Only(const Decimal& value) {
  NumberSet set;
  set.lower = {value};
  set.upper = {value};
  return set;
}

void NumberSet::AtLeast(const Decimal& value, bool open) {
  if (!lower || lower->value < value) {
    lower = {value, open};
  } else if (lower->value == value) {
    lower->open = lower->open || open;
  }
}

void NumberSet::AtMost(const Decimal& value, bool open) {
  if (!upper || upper->value > value) {
    upper = {value, open};
  } else if (upper->value == value) {
    upper->open = upper->open || open;
  }
}

void NumberSet::Normalise() {
  FoldMultiples(this);
  SimplifyNotMultiples(this);
  SortUnique(&excluded);
  if (lower || upper) TightenBounds(this, StepOf(*this));
  if (!excluded.empty()) {
    ScratchVector<Decimal> values = std::move(excluded);
    excluded.clear();
    std::erase_if(values, [&](const Decimal& v) { return !Contains(v); });
    excluded = std::move(values);
  }
  if (IsEmptyNormalised(*this)) {
    *this = NoNumbers();
  } else if (lower && upper && lower->value == upper->value) {
    *this = Only(lower->value);
  }
}

bool NumberSet::Contains(const Decimal& value) const {
  if (kind != Kind::kAny && value.IsInteger() != (kind == Kind::kIntegers)) return false;
  if (lower && (value < lower->value || (lower->open && value == lower->value))) return false;
  if (upper && (value > upper->value || (upper->open && value == upper->value))) return false;
  for (const Decimal& m : multiples_of) {
    if (!value.IsMultipleOf(m)) return false;
  }
  for (const Decimal& n : not_multiples_of) {
    if (value.IsMultipleOf(n)) return false;
  }
  return std::find(excluded.begin(), excluded.end(), value) == excluded.end();
}

bool NumberSet::IsEmpty() const {
  if (!lower && !upper && multiples_of.empty() && not_multiples_of.empty()) return false;
  NumberSet set = *this;
  set.Normalise();
  return BoundsCross(set);
}

std::optional<ScratchVector<Decimal>> NumberSet::Members(size_t max_count) const {
  NumberSet set = *this;
  set.Normalise();
  if (!set.lower || !set.upper) return std::nullopt;
  ScratchVector<Decimal> members;
  if (BoundsCross(set)) return members;
  std::optional<Decimal> step = StepOf(set);
  if (set.lower->value == set.upper->value) {
    members.push_back(set.lower->value);
    return members.size() <= max_count ? std::optional(std::move(members)) : std::nullopt;
  }
  if (!step || !set.lower->value.IsMultipleOf(*step)) return std::nullopt;
  // Sets of which most multiples are left out are not worth a long walk.
  size_t walk = 4 * max_count + set.excluded.size() + 1;
  Decimal value = set.lower->value;
  for (size_t i = 0; i < walk; ++i) {
    if (value > set.upper->value) return members;
    if (set.Contains(value)) members.push_back(value);
    if (members.size() > max_count) return std::nullopt;
    std::optional<Decimal> next = Decimal::Add(value, *step);
    if (!next) return std::nullopt;
    value = *std::move(next);
  }
  return std::nullopt;
}

std::optional<int64_t> NumberSet::Count(int64_t most) const {
  NumberSet set = *this;
  set.Normalise();
  if (set.IsEmpty()) return 0;
  if (set.multiples_of.size() > 1) return std::nullopt;
  const std::optional<Decimal> step = StepOf(set);
  // Of an interval only separate points are taken away; see IsEmptyNormalised for one that is open
  // to one side.
  if (!set.lower || !set.upper) return most;
  if (set.lower->value == set.upper->value) return 1;
  if (!step) return most;
  const bool even = set.kind != Kind::kNonIntegers && set.not_multiples_of.empty();
  if (!even || set.lower->open || set.upper->open || !set.lower->value.IsMultipleOf(*step)) {
    return std::nullopt;
  }
  const std::optional<Decimal> width = Decimal::Add(set.upper->value, set.lower->value.Negated());
  const std::optional<Decimal> steps = width ? Decimal::FloorDivide(*width, *step) : std::nullopt;
  if (!steps) return std::nullopt;
  const auto excluded_members = static_cast<int64_t>(set.excluded.size());
  const std::optional<int64_t> n = steps->ToInt64();
  if (!n || *n >= most + excluded_members) return most;
  return std::min(most, *n + 1 - excluded_members);
}

std::string NumberSet::ToString() const {
  if (BoundsCross(*this)) return "no number";
  std::string out = kind == Kind::kIntegers      ? "integer"
                    : kind == Kind::kNonIntegers ? "non-integer"
                                                 : "number";
  if (lower) out += (lower->open ? " > " : " >= ") + lower->value.ToString();
  if (upper) out += (upper->open ? " < " : " <= ") + upper->value.ToString();
  AppendList(" multiple of ", multiples_of, &out);
  AppendList(" not multiple of ", not_multiples_of, &out);
  AppendList(" except ", excluded, &out);
  return out;
}

NumberSet Intersect(const NumberSet& a, const NumberSet& b) {
  using Kind = NumberSet::Kind;
  if (a.kind != Kind::kAny && b.kind != Kind::kAny && a.kind != b.kind) return NoNumbers();
  NumberSet set = a;
  if (b.kind != Kind::kAny) set.kind = b.kind;
  if (b.lower) set.AtLeast(b.lower->value, b.lower->open);
  if (b.upper) set.AtMost(b.upper->value, b.upper->open);
  auto append = [](ScratchVector<Decimal>* to, const ScratchVector<Decimal>& from) {
    to->insert(to->end(), from.begin(), from.end());
  };
  append(&set.multiples_of, b.multiples_of);
  append(&set.not_multiples_of, b.not_multiples_of);
  append(&set.excluded, b.excluded);
  set.Normalise();
  return set;
}

ScratchVector<NumberSet> Complement(const NumberSet& original) {
  using Kind = NumberSet::Kind;
  NumberSet set = original;
  set.Normalise();
  ScratchVector<NumberSet> result;
  if (BoundsCross(set)) return {NumberSet()};
  // Terms are disjoint: each negates one condition and keeps those before it. Normalise has left
  // only such excluded values as meet all other conditions, so they overlap with no term.
  NumberSet before;
  auto add = [&](const NumberSet& negated, const NumberSet& condition) {
    NumberSet term = Intersect(before, negated);
    if (!BoundsCross(term)) result.push_back(std::move(term));
    before = Intersect(before, condition);
  };
  if (set.kind != Kind::kAny) {
    NumberSet is, is_not;
    is.kind = set.kind;
    is_not.kind = set.kind == Kind::kIntegers ? Kind::kNonIntegers : Kind::kIntegers;
    add(is_not, is);
  }
  if (set.lower) {
    NumberSet is, is_not;
    is.lower = set.lower;
    is_not.upper = {set.lower->value, !set.lower->open};
    add(is_not, is);
  }
  if (set.upper) {
    NumberSet is, is_not;
    is.upper = set.upper;
    is_not.lower = {set.upper->value, !set.upper->open};
    add(is_not, is);
  }
  for (const Decimal& m : set.multiples_of) {
    NumberSet is, is_not;
    is.multiples_of = {m};
    is_not.not_multiples_of = {m};
    add(is_not, is);
  }
  for (const Decimal& n : set.not_multiples_of) {
    NumberSet is, is_not;
    is.not_multiples_of = {n};
    is_not.multiples_of = {n};
    add(is_not, is);
  }
  for (const Decimal& v : set.excluded) result.push_back(NumberSet::Only(v));
  return result;
}

bool Disjoint(const NumberSet& a, const NumberSet& b) { return Intersect(a, b).IsEmpty(); }

bool IsSubset(const NumberSet& a, const NumberSet& b) {
  if (a.lower && a.upper && a.lower->value == a.upper->value) {  // one number at most
    return !a.Contains(a.lower->value) || b.Contains(a.lower->value);
  }
  for (const NumberSet& outside : Complement(b)) {
    if (!Disjoint(a, outside)) return false;
  }
  return true;
}

}  // namespace grammask::internal
