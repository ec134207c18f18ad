// Two sets of JSON values to their intersection, union or complement.
//
// Types never overlap, so each operation goes type by type over unions of cases: an intersection
// meets every case of one side with every case of the other, a complement meets the complements of
// all cases. {minLength:2} has the cases any-number, string 2.., any-array...; its complement is
// string ..1. Cost: the product of the numbers of cases, counted against max_schema_steps; arrays
// and objects: algebra_arrays.cc, algebra_objects.cc.
//
// Tests: tests/grammar/json_schema_test.cc.
#include "grammar/json_schema/algebra.h"

#include <algorithm>

#include "base/scratch.h"

namespace grammask::internal {
namespace {

// Lists up to this long are searched for cases that others contain.
constexpr size_t kSearched = 24;
// Lists of strings are one case up to so many of them: no more than are ever tested one by one.
constexpr size_t kMerged = 64;

// True only where it is plain.
bool Within(const NumberSet& a, const NumberSet& b) { return IsSubset(a, b); }
bool Within(const StringSet& a, const StringSet& b) { return PlainlyWithin(a, b); }
template <class T>
bool Within(const T& a, const T& b) {
  return b.IsAll() || a == b;
}

}  // namespace

Status Algebra::Step(size_t amount) {
  steps_ += amount;
  if (steps_ <= steps_end_) return {};
  return ResourceExhausted("combining its parts takes more than limits.max_schema_steps, " +
                           std::to_string(limits_.max_schema_steps) +
                           " steps; use fewer alternatives inside one another");
}

Algebra::Budget::Budget(Algebra* algebra, size_t steps)
    : algebra_(*algebra), start_(algebra->steps_), outer_end_(algebra->steps_end_) {
  if (steps == 0) return;
  algebra_.steps_end_ = std::min(algebra_.limits_.max_schema_steps, start_ + steps);
}

Algebra::Budget::~Budget() {
  algebra_.steps_end_ =
      std::min(algebra_.limits_.max_schema_steps, outer_end_ + (algebra_.steps_ - start_));
}

// Adds one case to a union, leaving out what another case contains.
template <class T>
Status Algebra::Add(ScratchVector<T>* list, T item) {
  if (list->size() <= kSearched) {
    for (T& other : *list) {
      if (Within(item, other)) return {};
      if constexpr (std::is_same_v<T, StringSet>) {
        if (MergeValues(item, &other, kMerged)) return Step();
      }
    }
    std::erase_if(*list, [&](const T& other) { return Within(other, item); });
  }
  list->push_back(std::move(item));
  return Step();
}

template <class T>
StatusOr<ScratchVector<T>> Algebra::MeetAll(const ScratchVector<T>& a, const ScratchVector<T>& b) {
  if (a.empty() || b.empty()) return ScratchVector<T>();
  if (HoldsAll(a)) return ScratchVector<T>(b);
  if (HoldsAll(b)) return ScratchVector<T>(a);
  ScratchVector<T> out;
  ScratchVector<T> met;
  for (const T& x : a) {
    for (const T& y : b) {
      met.clear();
      GM_RETURN_IF_ERROR(Step());
      GM_RETURN_IF_ERROR(Meet(x, y, &met));
      for (T& m : met) GM_RETURN_IF_ERROR(Add(&out, std::move(m)));
    }
  }
  return out;
}

template <class T>
StatusOr<ScratchVector<T>> Algebra::ComplementAll(const ScratchVector<T>& cases) {
  ScratchVector<T> out(1);
  for (const T& c : cases) {
    ScratchVector<T> outside;
    GM_RETURN_IF_ERROR(Outside(c, &outside));
    GM_ASSIGN_OR_RETURN(out, MeetAll(out, outside));
    if (out.empty()) break;
  }
  return out;
}

template StatusOr<ScratchVector<NumberSet>> Algebra::MeetAll(const ScratchVector<NumberSet>&,
                                                             const ScratchVector<NumberSet>&);
template StatusOr<ScratchVector<StringSet>> Algebra::MeetAll(const ScratchVector<StringSet>&,
                                                             const ScratchVector<StringSet>&);
template StatusOr<ScratchVector<ArraySet>> Algebra::MeetAll(const ScratchVector<ArraySet>&,
                                                            const ScratchVector<ArraySet>&);
template StatusOr<ScratchVector<ObjectSet>> Algebra::MeetAll(const ScratchVector<ObjectSet>&,
                                                             const ScratchVector<ObjectSet>&);
template StatusOr<ScratchVector<NumberSet>> Algebra::ComplementAll(const ScratchVector<NumberSet>&);
template StatusOr<ScratchVector<StringSet>> Algebra::ComplementAll(const ScratchVector<StringSet>&);
template StatusOr<ScratchVector<ArraySet>> Algebra::ComplementAll(const ScratchVector<ArraySet>&);
template StatusOr<ScratchVector<ObjectSet>> Algebra::ComplementAll(const ScratchVector<ObjectSet>&);
template Status Algebra::Add(ScratchVector<ArraySet>*, ArraySet);
template Status Algebra::Add(ScratchVector<ObjectSet>*, ObjectSet);

StatusOr<ValueSet> Algebra::IntersectOthers(const ValueSet& a, const ValueSet& b) {
  ValueSet out;
  out.null = a.null && b.null;
  out.false_value = a.false_value && b.false_value;
  out.true_value = a.true_value && b.true_value;
  GM_ASSIGN_OR_RETURN(out.numbers, MeetAll(a.numbers, b.numbers));
  GM_ASSIGN_OR_RETURN(out.strings, MeetAll(a.strings, b.strings));
  GM_ASSIGN_OR_RETURN(out.arrays, MeetAll(a.arrays, b.arrays));
  out.widened = a.widened | b.widened;
  return out;
}

StatusOr<ValueSet> Algebra::Intersect(const ValueSet& a, const ValueSet& b) {
  StatusOr<ValueSet> out = IntersectOthers(a, b);
  GM_RETURN_IF_ERROR(out.status());
  GM_ASSIGN_OR_RETURN(out->objects, MeetAll(a.objects, b.objects));
  return out;
}

template <class T>
Status Algebra::NarrowAll(ScratchVector<T>* a, const ScratchVector<T>& b) {
  if (HoldsAll(b)) return {};
  GM_ASSIGN_OR_RETURN(*a, MeetAll(*a, b));
  return {};
}

StatusOr<ValueSet> Algebra::Narrow(ValueSet a, const ValueSet& b) {
  a.null &= b.null;
  a.false_value &= b.false_value;
  a.true_value &= b.true_value;
  GM_RETURN_IF_ERROR(NarrowAll(&a.numbers, b.numbers));
  GM_RETURN_IF_ERROR(NarrowAll(&a.strings, b.strings));
  GM_RETURN_IF_ERROR(NarrowAll(&a.arrays, b.arrays));
  GM_RETURN_IF_ERROR(NarrowAll(&a.objects, b.objects));
  a.widened |= b.widened;
  return a;
}

Status Algebra::Unite(ValueSet* into, const ValueSet& other) {
  into->widened |= other.widened;
  into->null |= other.null;
  into->false_value |= other.false_value;
  into->true_value |= other.true_value;
  for (const NumberSet& s : other.numbers) GM_RETURN_IF_ERROR(Add(&into->numbers, s));
  for (const StringSet& s : other.strings) GM_RETURN_IF_ERROR(Add(&into->strings, s));
  for (const ArraySet& s : other.arrays) GM_RETURN_IF_ERROR(Add(&into->arrays, s));
  for (const ObjectSet& s : other.objects) GM_RETURN_IF_ERROR(Add(&into->objects, s));
  return {};
}

StatusOr<ValueSet> Algebra::Complement(const ValueSet& set) {
  ValueSet out;
  out.null = !set.null;
  out.false_value = !set.false_value;
  out.true_value = !set.true_value;
  GM_ASSIGN_OR_RETURN(out.numbers, ComplementAll(set.numbers));
  GM_ASSIGN_OR_RETURN(out.strings, ComplementAll(set.strings));
  GM_ASSIGN_OR_RETURN(out.arrays, ComplementAll(set.arrays));
  GM_ASSIGN_OR_RETURN(out.objects, ComplementAll(set.objects));
  return out;
}

Status Algebra::Meet(const NumberSet& a, const NumberSet& b, ScratchVector<NumberSet>* out) {
  NumberSet both = internal::Intersect(a, b);
  if (!both.IsEmpty()) out->push_back(std::move(both));
  return {};
}

Status Algebra::Meet(const StringSet& a, const StringSet& b, ScratchVector<StringSet>* out) {
  // Large enumerations cost what they hold.
  GM_RETURN_IF_ERROR(Step((a.values ? a.values->size() : 0) + (b.values ? b.values->size() : 0)));
  if (ListsApart(a, b)) return {};
  StringSet both = internal::Intersect(a, b);
  if (!both.IsEmpty()) out->push_back(std::move(both));
  return {};
}

Status Algebra::Outside(const NumberSet& set, ScratchVector<NumberSet>* out) {
  *out = internal::Complement(set);
  return {};
}

Status Algebra::Outside(const StringSet& set, ScratchVector<StringSet>* out) {
  *out = internal::Complement(set);
  return {};
}

}  // namespace grammask::internal
