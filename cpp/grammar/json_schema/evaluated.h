// Which keys and elements a schema's ways of being valid evaluate, for unevaluatedProperties and
// unevaluatedItems.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_EVALUATED_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_EVALUATED_H_

#include <cstdint>
#include <deque>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/scratch.h"
#include "base/status.h"
#include "grammar/json_schema/schema_tree.h"
#include "grammar/json_schema/value_set.h"

namespace grammask::internal {

class Normaliser;

// Keys of an object. The lists are sorted, without repetition.
struct EvaluatedKeys {
  bool all = false;
  ScratchVector<std::string_view> names;
  ScratchVector<PatternId> patterns;
  friend bool operator==(const EvaluatedKeys&, const EvaluatedKeys&) = default;
};

// Elements of an array: the first `prefix`, and those that are in one of `matching`.
struct EvaluatedElements {
  bool all = false;
  int64_t prefix = 0;
  ScratchVector<ExprId> matching;
  friend bool operator==(const EvaluatedElements&, const EvaluatedElements&) = default;
};

// T: ObjectSet or ArraySet. Each case is a set of values of which at least `seen` is evaluated; for
// each value of the schema there is a case with all that is evaluated of it. Not thread-safe.
template <class T>
class EvaluatedCases {
 public:
  static constexpr bool kObjects = std::is_same_v<T, ObjectSet>;
  using Seen = std::conditional_t<kObjects, EvaluatedKeys, EvaluatedElements>;
  struct Case {
    ScratchVector<T> sets;  // left empty where the case is the only one
    Seen seen;
  };

  explicit EvaluatedCases(Normaliser* normaliser) : n_(*normaliser) {}

  // The cases of `schema` inside `scope`, whose values are `whole` so far, without regard to its
  // own unevaluatedProperties or unevaluatedItems. What it applies has been evaluated. Errors carry
  // no place.
  StatusOr<ScratchVector<Case>> Of(const Schema& schema, ScopeId scope,
                                   const ScratchVector<T>& whole);
  // The values of `whole` whose keys or elements that `seen` does not hold are all in `value`.
  StatusOr<ScratchVector<T>> Restrict(ScratchVector<T> whole, const Seen& seen, ExprId value);

 private:
  using Cases = ScratchVector<Case>;
  // One part of a schema: its expression and its cases.
  struct Part {
    ExprId expr;
    const Cases* cases;
    bool AddsTo(const Seen& seen) const;
  };
  StatusOr<ScratchVector<ExprId>> PartsOf(const Schema& schema) const;
  Status EvaluateParts(const Schema& schema);
  StatusOr<Cases> Split(const Schema& schema, const ScratchVector<T>& whole);
  StatusOr<Part> PartOf(JsonId node) const;
  StatusOr<ScratchVector<Part>> List(const Schema& schema, Keyword keyword) const;
  const ScratchVector<T>& Sets(const Part& part, size_t i) const;

  // Each makes `cases` finer.
  Status ApplyAll(const Part& part, Cases* cases);
  Status ApplyAny(const ScratchVector<Part>& parts, Cases* cases);
  Status ApplyOne(const ScratchVector<Part>& parts, Cases* cases);
  Status ApplyIf(const Schema& schema, Cases* cases);
  Status ApplyDependency(const JsonMember& member, Cases* cases);
  // Adds what `base` and the values of each case of `part` have in common.
  Status AddEach(const Case& base, const Part& part, Cases* out);
  Status Add(Case item, Cases* out);
  StatusOr<ScratchVector<T>> Meet(const ScratchVector<T>& a, const ScratchVector<T>& b);

  Normaliser& n_;
  ScopeId scope_ = kNoScope;  // inside the schema at work
  absl::flat_hash_map<ExprId, const Cases*> known_;
  std::deque<Cases> kept_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_EVALUATED_H_
