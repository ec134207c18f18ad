// One schema's keywords to the set of values that it admits.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_SCHEMA_COMBINER_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_SCHEMA_COMBINER_H_

#include <optional>
#include <string>
#include <vector>

#include "base/scratch.h"
#include "base/status.h"
#include "grammar/json_schema/normalise.h"

namespace grammask::internal {

// Used once for one schema, when the expressions that PartsOfSchema lists are evaluated.
class SchemaCombiner {
 public:
  SchemaCombiner(Normaliser* normaliser, const Schema& schema, ExprId expr)
      : n_(*normaliser),
        algebra_(normaliser->algebra_),
        pool_(normaliser->pool_),
        document_(normaliser->tree_.document()),
        schema_(schema),
        expr_(expr) {}

  StatusOr<ValueSet> Run();
  // The same within `base`, for a schema in the allOf or oneOf of another; `depth`: of how many.
  StatusOr<ValueSet> RunWithin(ValueSet base, int depth);

 private:
  // What the keywords of one type say.
  StatusOr<NumberSet> Numbers();
  StatusOr<StringSet> Strings();
  StatusOr<ArraySet> Arrays();
  StatusOr<ObjectSet> Objects();
  Status Items(ArraySet* set);
  Status Contains(ArraySet* set);
  Status Properties(ObjectSet* set);
  Status Required(ObjectSet* set);
  bool UnevaluatedIsAdditional(Keyword keyword) const;

  // Each makes `set_` smaller.
  Status ApplyFinite(Keyword keyword);
  Status ApplyExpr(Keyword keyword, ExprId expr);
  Status ApplyList(Keyword keyword);
  Status ApplyAnyOf();
  Status ApplyOneOf();
  Status ApplyNot();
  Status ApplyIf();
  Status ApplyDependencies(Keyword keyword);
  Status ApplyDependency(const JsonMember& member);
  Status ApplyAsChoice(const JsonMember& member);
  template <class T>
  Status ApplyUnevaluated(Keyword keyword, EvaluatedCases<T>* evaluated, ScratchVector<T>* sets);
  // What is known of a branch of oneOf.
  enum class Branch : uint8_t {
    kExact,
    kLoose,   // too large, maybe
    kWithin,  // met with `set_`
  };
  template <class T>
  StatusOr<ScratchVector<T>> ExactlyOne(const ScratchVector<T>& base,
                                        ScratchVector<const ScratchVector<T>*> branches,
                                        const ScratchVector<Branch>& kinds, Status* left_out);

  StatusOr<int64_t> Count(Keyword keyword);
  StatusOr<Decimal> Number(Keyword keyword);
  StatusOr<ExprId> Sub(JsonId node) { return n_.SchemaExpr(node, pool_.scope(expr_)); }
  // In widening, notes that `keyword` is left out, so that values of `types` are too many, instead
  // of an error that this answers.
  Status Tolerate(Keyword keyword, const Status& status, uint8_t types = kTypeAll);
  // In widening, whether the expression of `pattern` has a form; it is noted where it has none.
  StatusOr<bool> Tolerable(Keyword keyword, std::string_view pattern, uint8_t types);
  [[gnu::cold]] Status Error(StatusCode code, Keyword keyword, std::string_view what) const {
    return n_.tree_.Error(code, schema_.node, keyword, what);
  }
  // The same, around an error of the algebra.
  [[gnu::cold]] Status At(Keyword keyword, const Status& status) const;
  // Notes that `keyword` left nothing, where it did.
  bool Nothing(Keyword keyword);
  std::string KeywordsBefore(Keyword keyword) const;

  Normaliser& n_;
  Algebra& algebra_;
  ExprPool& pool_;
  const JsonDocument& document_;
  const Schema& schema_;
  ExprId expr_;
  ValueSet set_;
  std::optional<ValueSet> base_;
  int depth_ = 0;  // of schemas combined within others
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_SCHEMA_COMBINER_H_
