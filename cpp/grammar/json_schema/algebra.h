// Intersection, union and complement of sets of JSON values.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_ALGEBRA_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_ALGEBRA_H_

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/scratch.h"
#include "base/status.h"
#include "grammar/json_schema/key_patterns.h"
#include "grammar/json_schema/value_set.h"

namespace grammask::internal {

// All results are exact, and free of cases that are plainly empty. Sets of elements and members
// stay symbolic, so nothing here recurses. Errors carry no place: kResourceExhausted over
// limits.max_schema_steps, kUnsupported for a complement that has no exact form. Not thread-safe.
class Algebra {
 public:
  // `key_in` tells whether a key, as a string, is in the set of an expression.
  using KeyIn = std::function<StatusOr<bool>(ExprId, std::string_view)>;

  Algebra(ExprPool* pool, KeyPatterns* patterns, const Limits& limits, KeyIn key_in)
      : pool_(*pool),
        patterns_(*patterns),
        limits_(limits),
        key_in_(std::move(key_in)),
        steps_end_(limits.max_schema_steps) {}

  StatusOr<ValueSet> Intersect(const ValueSet& a, const ValueSet& b);
  // The same without objects.
  StatusOr<ValueSet> IntersectOthers(const ValueSet& a, const ValueSet& b);
  // The same as Intersect, of a set that is needed no more.
  StatusOr<ValueSet> Narrow(ValueSet a, const ValueSet& b);
  Status Unite(ValueSet* into, const ValueSet& other);
  StatusOr<ValueSet> Complement(const ValueSet& set);

  // One case of a type with another: their intersection, as no, one or several cases.
  Status Meet(const NumberSet& a, const NumberSet& b, ScratchVector<NumberSet>* out);
  Status Meet(const StringSet& a, const StringSet& b, ScratchVector<StringSet>* out);
  Status Meet(const ArraySet& a, const ArraySet& b, ScratchVector<ArraySet>* out);
  Status Meet(const ObjectSet& a, const ObjectSet& b, ScratchVector<ObjectSet>* out);

  // Unions of cases of one type.
  template <class T>
  StatusOr<ScratchVector<T>> MeetAll(const ScratchVector<T>& a, const ScratchVector<T>& b);
  template <class T>
  Status NarrowAll(ScratchVector<T>* a, const ScratchVector<T>& b);
  template <class T>
  StatusOr<ScratchVector<T>> ComplementAll(const ScratchVector<T>& cases);
  // Adds one case, leaving out what another plainly contains.
  template <class T>
  Status Add(ScratchVector<T>* list, T item);

  // The values that an extra key may take in `set`, by the patterns that `key` matches.
  StatusOr<ExprId> ExtraValue(const ObjectSet& set, std::string_view key);
  // Brings a case to its simplest form; false when it is plainly empty.
  bool Simplify(ArraySet* set);
  bool Simplify(ObjectSet* set);
  bool SimplifyCount(ArraySet::Count* count, ArraySet* set);
  // Counts against limits.max_schema_steps.
  Status Step(size_t amount = 1);
  // While it lives, so many steps may be taken, besides those of budgets inside it; 0: no bound of
  // its own.
  class Budget {
   public:
    Budget(Algebra* algebra, size_t steps);
    ~Budget();
    Budget(const Budget&) = delete;
    Budget& operator=(const Budget&) = delete;

   private:
    Algebra& algebra_;
    size_t start_, outer_end_;
  };

 private:
  Status Outside(const NumberSet& set, ScratchVector<NumberSet>* out);
  Status Outside(const StringSet& set, ScratchVector<StringSet>* out);
  Status Outside(const ArraySet& set, ScratchVector<ArraySet>* out);
  Status Outside(const ObjectSet& set, ScratchVector<ObjectSet>* out);
  Status OutsideExtras(const ObjectSet& set, ScratchVector<ObjectSet>* out);
  ObjectSet WithoutExtra(const ObjectSet& set, const ObjectSet::Some& some);
  Status MeetNamed(const ObjectSet& a, const ObjectSet& b, ScratchVector<ObjectSet::Named>* named);
  Status ExpandSome(const ObjectSet& owner, ScratchVector<ObjectSet>* cases);
  StatusOr<bool> KeySatisfies(const ObjectSet::Some& some, std::string_view key);
  ExprPool& pool_;
  KeyPatterns& patterns_;
  const Limits& limits_;
  KeyIn key_in_;
  size_t steps_ = 0, steps_end_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_ALGEBRA_H_
