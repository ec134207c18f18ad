// The second step: schemas to sets of values in normal form.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_NORMALISE_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_NORMALISE_H_

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/scratch.h"
#include "base/status.h"
#include "grammar/json_schema/algebra.h"
#include "grammar/json_schema/evaluated.h"
#include "grammar/json_schema/key_patterns.h"
#include "grammar/json_schema/schema_tree.h"
#include "grammar/json_schema/value_set.h"
#include "grammask/schema_warning.h"

namespace grammask::internal {

struct NormaliserOptions {
  bool strict = false;  // sets are closed where their schema does not speak of others
  // What has no exact form is left out, so that sets may be too large, and noted.
  bool widen = false;
  // JsonSchemaOptions::formats, or none. Must outlive the normaliser.
  const std::map<std::string, std::string>* formats = nullptr;
};

// Evaluates expressions over the schemas of one tree, each once. Not thread-safe.
class Normaliser {
 public:
  Normaliser(SchemaTree* tree, KeyPatterns* patterns, const Limits& limits,
             const NormaliserOptions& options);

  ExprPool& pool() { return pool_; }
  const SchemaTree& tree() const { return tree_; }
  KeyPatterns& patterns() { return patterns_; }

  // The expression of the schema at `node`, applied from within `scope` (kNoScope for the root):
  // references followed, equal schemas equal.
  StatusOr<ExprId> SchemaExpr(JsonId node, ScopeId scope);
  // The set of values of `expr`, in normal form: no references and no combinations are left but
  // inside elements and members. The pointer stays valid. Errors name the schema and the keyword.
  StatusOr<const ValueSet*> Evaluate(ExprId expr);

  // True only when no value can be in the set: also looks at what required members and elements
  // hold, to a bounded depth.
  StatusOr<bool> ProvablyEmpty(ExprId expr) { return Empty(expr, kEmptinessDepth); }
  // True only when no value is in both.
  StatusOr<bool> Disjoint(const NumberSet& a, const NumberSet& b);
  StatusOr<bool> Disjoint(const StringSet& a, const StringSet& b);
  StatusOr<bool> Disjoint(const ArraySet& a, const ArraySet& b);
  StatusOr<bool> Disjoint(const ObjectSet& a, const ObjectSet& b);

  // Whether `key`, as a string, is in the set of `expr`.
  StatusOr<bool> KeyIn(ExprId expr, std::string_view key);

  // Why the set of the root is empty: "#/allOf/1/type leaves nothing of ...". For messages.
  std::string ExplainEmpty(ExprId expr);
  // How the document wrote a number of enum or const that is not in plain notation; "" otherwise.
  std::string_view SourceOf(const Decimal& number) const;
  // Every set so far, for people and tests.
  std::string ToString() const;

  // ---- Widening: widening.cc ----
  bool widens() const { return options_.widen; }
  // Whether the answer to an error is to leave out what asked for it.
  bool MayLeaveOut(const Status& status) const {
    return options_.widen && (status.code() == StatusCode::kUnsupported ||
                              status.code() == StatusCode::kResourceExhausted);
  }
  // Notes that `keyword` of `schema` was left out of the set of `expr`, wholly or in part.
  void Note(ExprId expr, JsonId schema, std::string_view keyword, const Status& why);
  // The same for something in the grammar of `expr`.
  void NoteEmitted(ExprId expr, std::string_view keyword, const Status& why);
  void NoteEmitted(JsonId schema, std::string_view keyword, const Status& why);
  // `expr` is in the grammar: what was left out of it, and of what it is made of, is now.
  void MarkEmitted(ExprId expr);
  // Whether something that `expr` applies to the same value was widened, at any depth.
  bool DependsOnWidened(ExprId expr);
  // What was left out of the grammar, each place once, in the order in which the document ends
  // them.
  std::vector<SchemaWarning> Warnings() const;

 private:
  friend class SchemaCombiner;
  template <class T>
  friend class EvaluatedCases;
  // How far into required members and elements emptiness is looked for, and how deep one
  // evaluation may ask for another on the way.
  static constexpr int kEmptinessDepth = 4;
  static constexpr int kMaxLevel = 12;
  // How many schemas within one another are combined with what is known of the value, and how many
  // branches they may have in all.
  static constexpr int kMaxWithin = 3;
  static constexpr int kMaxBranches = 128;
  struct Slot {
    const ValueSet* set = nullptr;
    int busy = 0;  // the level of the evaluation that is at work on it; 0: none
  };
  struct Frame {
    ExprId expr;
    ScratchVector<ExprId> parts;
    size_t next = 0;
  };

  Slot& SlotOf(ExprId expr);
  StatusOr<ScratchVector<ExprId>> PartsOf(ExprId expr);
  Status PartsOfSchema(const Schema& schema, ScopeId scope, ScratchVector<ExprId>* parts,
                       int depth = 0);
  ExprId& ExprOfNode(JsonId node, ScopeId scope);
  // The first schema of the document that says the same of a value, whatever else is written in it.
  const Schema& FirstAlike(const Schema& schema);
  // The schema that `expr` is, applied in `scope`; nullptr where it is anything else.
  StatusOr<const Schema*> SchemaIn(ScopeId scope, ExprId expr);
  // The schema of `expr`, which the allOf or oneOf (`list`) of `schema` applies in `scope`, where
  // it is better combined with what is known of the value already than for itself: it tells cases
  // apart. nullptr otherwise. `depth`: how many such schemas `schema` is in.
  StatusOr<const Schema*> Inline(const Schema& schema, Keyword list, ScopeId scope, ExprId expr,
                                 int depth);
  // Takes from `left` what there is of branches of oneOf in `schema`, and in those of them that are
  // combined within it. False where that is more.
  StatusOr<bool> TakeBranches(const Schema& schema, ScopeId scope, int depth, int* left);
  StatusOr<ValueSet> Combine(ExprId expr);
  StatusOr<ValueSet> CombineAnd(ExprId expr);
  StatusOr<ValueSet> ValueOf(JsonId node);
  Status AddScalar(JsonId node, ValueSet* set);
  // a without b: exact. In widening at least that: `left_out` gets the reason where it is more.
  StatusOr<ValueSet> Subtract(const ValueSet& a, const ValueSet& b, Status* left_out = nullptr);
  // SubtractCases, or in widening at least what that gives. `loose`: b may be too large.
  template <class T>
  StatusOr<ScratchVector<T>> SubtractLoosely(ScratchVector<T> a, const ScratchVector<T>& b,
                                             bool loose, Status* left_out);
  StatusOr<ValueSet> CombineExactly(ExprId expr);
  // A set that holds all that is meant, for an expression that cannot be combined.
  ValueSet Widened(ExprId expr, const Status& why);
  std::optional<JsonId> NearestSchema(ExprId expr) const;
  // In widening, each combination has a share of limits.max_schema_steps.
  size_t Share() const { return options_.widen ? limits_.max_schema_steps / 32 + 1 : 0; }
  template <class T>
  StatusOr<ScratchVector<T>> SubtractCases(ScratchVector<T> a, const ScratchVector<T>& b);
  StatusOr<ValueSet> Complement(const ValueSet& set);

  // Keeping unions of objects small: normalise_cases.cc.
  // What tells most cases apart: bits of the keys that are required, and of those that may not have
  // any value.
  struct Outline {
    uint64_t required = 0, limited = 0;
    bool extras = false;
  };
  struct Union {
    ScratchVector<ObjectSet> cases;
    ScratchVector<Outline> outlines;  // of the first cases
  };
  static Outline OutlineOf(const ObjectSet& set);
  // Whether Within() has to be asked about a case of outline a in one of outline b.
  static bool MayBeWithin(const Outline& a, const Outline& b) {
    return (b.required & ~a.required) == 0 && (!a.extras || (b.limited & ~a.limited) == 0);
  }
  // As Algebra::Intersect, without cases that are seen to be empty or within others.
  StatusOr<ValueSet> Intersect(const ValueSet& a, const ValueSet& b);
  StatusOr<ScratchVector<ObjectSet>> MeetObjects(const ScratchVector<ObjectSet>& a,
                                                 const ScratchVector<ObjectSet>& b);
  StatusOr<ScratchVector<ObjectSet>> SubtractObjects(ScratchVector<ObjectSet> a,
                                                     const ScratchVector<ObjectSet>& b);
  Status SubtractObject(const ObjectSet& from, const ObjectSet& minus,
                        const ScratchVector<ObjectSet>& outside, Union* rest);
  // The types that values of `expr` may have, at most.
  StatusOr<uint8_t> TypesOf(ExprId expr, int depth = kEmptinessDepth);
  // An expression for the same set: one and the same for equal sets without arrays and objects, as
  // far as can be seen cheaply.
  StatusOr<ExprId> Settle(ExprId expr);
  StatusOr<ExprId> SettleScalar(ExprId expr, const ValueSet& set);
  // Settles what the case holds; false when it is empty.
  StatusOr<bool> Settle(ObjectSet* set);
  // True only where every value of a is in b.
  StatusOr<bool> Within(ExprId a, ExprId b, int depth = kEmptinessDepth);
  StatusOr<bool> FindWithin(ExprId a, ExprId b, int depth);
  StatusOr<bool> Within(const ValueSet& a, const ValueSet& b, int depth);
  StatusOr<bool> Within(const ObjectSet& a, const ObjectSet& b, int depth = kEmptinessDepth);
  static bool KeepsOrder(const ObjectSet& a, const ObjectSet& b);
  // True only where a member that one requires has no value in both.
  StatusOr<bool> Apart(const ObjectSet& a, const ObjectSet& b);
  StatusOr<const ObjectSet::Named*> TagOf(const ObjectSet& outside, const ObjectSet& minus);
  // Adds a case to a union, leaving out what another contains.
  Status AddCase(ObjectSet set, Union* all);
  [[gnu::cold]] Status AtNearestSchema(ExprId expr, const Status& status) const;

  StatusOr<bool> Clash(ExprId a, ExprId b);
  StatusOr<bool> Empty(ExprId expr, int depth);
  StatusOr<bool> Empty(const ArraySet& set, int depth);
  StatusOr<bool> Misses(const ArraySet& set, const ArraySet::Count& count, int depth);
  Status LeaveOutMetCounts(ArraySet* set);
  static void LeaveOutRepeats(ScratchVector<ArraySet>* cases);
  StatusOr<bool> Empty(const ObjectSet& set, int depth);
  StatusOr<bool> EmptyCase(const ObjectSet& set);
  StatusOr<bool> Empty(const StringSet& set);
  bool PatternsClash(const StringSet& set);
  const ValueSet& Known(ExprId expr) {
    const ValueSet* set = SlotOf(expr).set;
    return set != nullptr ? *set : unknown_;
  }
  // As Evaluate, for what is only worth knowing: nullptr when it depends on something that is
  // being evaluated, has no exact form, or lies too deep.
  StatusOr<const ValueSet*> TryEvaluate(ExprId expr);

  SchemaTree& tree_;
  KeyPatterns& patterns_;
  const Limits& limits_;
  NormaliserOptions options_;
  ExprPool pool_;
  Algebra algebra_;
  ScratchVector<Slot> slots_;
  std::deque<ValueSet> sets_;
  ScratchVector<ExprId> expr_of_node_;  // outside any scope; kUnknown where not known
  absl::flat_hash_map<std::pair<JsonId, ScopeId>, ExprId> expr_in_scope_;
  struct SchemaHash {
    const JsonDocument* document;
    size_t operator()(const Schema* schema) const;
  };
  struct SchemaEqual {
    const JsonDocument* document;
    bool operator()(const Schema* a, const Schema* b) const;
  };
  absl::flat_hash_set<const Schema*, SchemaHash, SchemaEqual> alike_;
  std::array<const Schema*, kTypeAll + 1> of_types_{};  // those that name types and nothing else
  int level_ = 0;                                       // nesting of evaluations
  // Emptiness as far as known: proved, or not proved with so much depth.
  struct Emptiness {
    bool proved = false;
    int depth = 0;
  };
  absl::flat_hash_map<ExprId, Emptiness> empty_;
  ScratchVector<std::optional<ExprId>> settled_;  // by expression
  // Sets without arrays and objects, by what they hold.
  struct Scalars {
    bool null, false_value, true_value;
    ScratchVector<NumberSet> numbers;
    ScratchVector<StringSet> strings;
    friend bool operator==(const Scalars&, const Scalars&) = default;
    template <class H>
    friend H AbslHashValue(H h, const Scalars& s) {
      for (const NumberSet& n : s.numbers) {
        h = H::combine(std::move(h), n.kind, n.excluded.size());
        if (n.lower) h = H::combine(std::move(h), n.lower->value);
      }
      for (const StringSet& t : s.strings) {
        h = H::combine(std::move(h), t.min_length, t.max_length, t.patterns, t.formats, t.excluded);
        if (t.values) h = H::combine(std::move(h), *t.values);
      }
      return H::combine(std::move(h), s.null, s.false_value, s.true_value);
    }
  };
  absl::flat_hash_map<Scalars, ExprId> scalars_;
  // What Within found: it is, or it was not seen with so much depth.
  absl::flat_hash_map<std::pair<ExprId, ExprId>, Emptiness> within_;
  absl::flat_hash_map<Decimal, std::string_view> sources_;
  absl::flat_hash_map<ExprId, std::string> clashes_;
  EvaluatedCases<ObjectSet> evaluated_keys_{this};
  EvaluatedCases<ArraySet> evaluated_elements_{this};
  // In widening: what could not be evaluated, and what was left out.
  ValueSet unknown_;
  struct LeftOut {
    JsonId schema;
    std::string keyword, reason;
  };
  LeftOut Describe(JsonId schema, std::string_view keyword, const Status& why) const;
  absl::flat_hash_map<ExprId, ScratchVector<LeftOut>> left_out_;
  ScratchVector<bool> emitted_;  // by expression
  std::map<std::pair<JsonId, std::string>, std::string> warnings_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_NORMALISE_H_
