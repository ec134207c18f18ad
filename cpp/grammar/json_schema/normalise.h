// The second step: schemas to sets of values in normal form.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_NORMALISE_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_NORMALISE_H_

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "grammar/json_schema/algebra.h"
#include "grammar/json_schema/key_patterns.h"
#include "grammar/json_schema/schema_tree.h"
#include "grammar/json_schema/value_set.h"

namespace grammask::internal {

struct NormaliserOptions {
  bool strict = false;  // sets are closed where their schema does not speak of others
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

  // The expression of the schema at `node`: references followed, equal schemas equal.
  StatusOr<ExprId> SchemaExpr(JsonId node);
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

 private:
  friend class SchemaCombiner;
  // How far into required members and elements emptiness is looked for, and how deep one
  // evaluation may ask for another on the way.
  static constexpr int kEmptinessDepth = 4;
  static constexpr int kMaxLevel = 12;
  struct Slot {
    const ValueSet* set = nullptr;
    int busy = 0;  // the level of the evaluation that is at work on it; 0: none
  };
  struct Frame {
    ExprId expr;
    std::vector<ExprId> parts;
    size_t next = 0;
  };

  Slot& SlotOf(ExprId expr);
  StatusOr<std::vector<ExprId>> PartsOf(ExprId expr);
  Status PartsOfSchema(const Schema& schema, std::vector<ExprId>* parts);
  StatusOr<ValueSet> Combine(ExprId expr);
  StatusOr<ValueSet> CombineAnd(ExprId expr);
  StatusOr<ValueSet> ValueOf(JsonId node);
  Status AddScalar(JsonId node, ValueSet* set);
  // a without b: exact.
  StatusOr<ValueSet> Subtract(const ValueSet& a, const ValueSet& b);
  template <class T>
  StatusOr<std::vector<T>> SubtractCases(std::vector<T> a, const std::vector<T>& b);
  Status AtNearestSchema(ExprId expr, const Status& status) const;

  StatusOr<bool> Empty(ExprId expr, int depth);
  StatusOr<bool> Empty(const ArraySet& set, int depth);
  StatusOr<bool> Empty(const ObjectSet& set, int depth);
  StatusOr<bool> Empty(const StringSet& set);
  const ValueSet& Known(ExprId expr) { return *SlotOf(expr).set; }
  // As Evaluate, for what is only worth knowing: nullptr when it depends on something that is
  // being evaluated, has no exact form, or lies too deep.
  StatusOr<const ValueSet*> TryEvaluate(ExprId expr);

  SchemaTree& tree_;
  KeyPatterns& patterns_;
  const Limits& limits_;
  NormaliserOptions options_;
  ExprPool pool_;
  Algebra algebra_;
  std::vector<Slot> slots_;
  std::deque<ValueSet> sets_;
  std::vector<ExprId> expr_of_node_;  // kNoExpr where not known
  int level_ = 0;                     // nesting of evaluations
  // Emptiness as far as known: proved, or not proved with so much depth.
  struct Emptiness {
    bool proved = false;
    int depth = 0;
  };
  absl::flat_hash_map<ExprId, Emptiness> empty_;
  absl::flat_hash_map<Decimal, std::string_view> sources_;
  absl::flat_hash_map<ExprId, std::string> clashes_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_NORMALISE_H_
