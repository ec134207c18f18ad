// A schema to cases of (values, what is evaluated of them).
//
// A key is evaluated when properties, patternProperties or additionalProperties of a schema that
// holds for the object speaks of it, so what is evaluated depends on which branches hold. The
// schema's values are split into cases by that: $ref and allOf give the products of cases, anyOf
// one for each set of branches that may hold together, oneOf those of each branch, if those of
// both ways, dependentSchemas of the key there or not. {"anyOf":[{"properties":{"a":..}},
// {"properties":{"b":..}}]} has the cases {a}, {b} and {a, b}. A value may be in several cases:
// more is only ever allowed where more is evaluated, so a case may say too little of some of its
// values, as long as another says all. Hence branches that do not hold are never subtracted, but
// for `if` with an `else`. Cases that evaluate the same are merged. Then unevaluatedProperties is
// additionalProperties beside the keys of each case. Cost: the number of cases, counted against
// max_schema_steps; nothing for schemas that no unevaluated keyword can see.
//
// Source: the core specifications of drafts 2019-09 and 2020-12, section 11. Tests:
// tests/grammar/json_schema_random_test.cc, tests/grammar/json_schema_test.cc.
#include "grammar/json_schema/evaluated.h"

#include <algorithm>

#include "base/scratch.h"
#include "base/sorted.h"
#include "grammar/json_schema/normalise.h"

namespace grammask::internal {
namespace {

template <class T>
ScratchVector<T> Union(const ScratchVector<T>& a, const ScratchVector<T>& b) {
  ScratchVector<T> out = a;
  out.insert(out.end(), b.begin(), b.end());
  SortUnique(&out);
  return out;
}

template <class T>
bool Holds(const ScratchVector<T>& big, const ScratchVector<T>& small) {
  return std::includes(big.begin(), big.end(), small.begin(), small.end());
}

EvaluatedKeys Join(const EvaluatedKeys& a, const EvaluatedKeys& b) {
  if (a.all || b.all) return {.all = true};
  return {false, Union(a.names, b.names), Union(a.patterns, b.patterns)};
}

EvaluatedElements Join(const EvaluatedElements& a, const EvaluatedElements& b) {
  if (a.all || b.all) return {.all = true};
  return {false, std::max(a.prefix, b.prefix), Union(a.matching, b.matching)};
}

bool Covers(const EvaluatedKeys& big, const EvaluatedKeys& small) {
  return big.all ||
         (!small.all && Holds(big.names, small.names) && Holds(big.patterns, small.patterns));
}

bool Covers(const EvaluatedElements& big, const EvaluatedElements& small) {
  return big.all ||
         (!small.all && big.prefix >= small.prefix && Holds(big.matching, small.matching));
}

size_t SizeOf(const EvaluatedKeys& seen) { return seen.names.size() + seen.patterns.size(); }
size_t SizeOf(const EvaluatedElements& seen) { return seen.matching.size(); }

// What the keywords of `schema` itself evaluate, but for unevaluatedProperties or unevaluatedItems.
Status Own(const Schema& schema, Normaliser* n, ScopeId, EvaluatedKeys* own) {
  const JsonDocument& d = n->tree().document();
  own->all = schema.Has(Keyword::kAdditionalProperties);
  if (own->all) return {};
  if (std::optional<JsonId> properties = schema.Get(Keyword::kProperties)) {
    for (const JsonMember& m : d.members(*properties)) own->names.push_back(m.key);
  }
  if (std::optional<JsonId> patterns = schema.Get(Keyword::kPatternProperties)) {
    for (const JsonMember& m : d.members(*patterns)) {
      own->patterns.push_back(n->patterns().Intern(m.key));
    }
  }
  SortUnique(&own->names);
  SortUnique(&own->patterns);
  return {};
}

Status Own(const Schema& schema, Normaliser* n, ScopeId scope, EvaluatedElements* own) {
  const JsonDocument& d = n->tree().document();
  std::optional<JsonId> prefix = schema.Get(Keyword::kPrefixItems);
  if (std::optional<JsonId> items = schema.Get(Keyword::kItems)) {
    own->all = !d.IsArray(*items) || schema.Has(Keyword::kAdditionalItems);
    if (d.IsArray(*items)) prefix = items;
  }
  if (own->all) return {};
  if (prefix) own->prefix = static_cast<int64_t>(d.elements(*prefix).size());
  // Under 2019-09 `contains` evaluates nothing.
  if (schema.Has(Keyword::kContains) && n->tree().draft(schema.node) != Draft::k2019) {
    GM_ASSIGN_OR_RETURN(ExprId expr, n->SchemaExpr(*schema.Get(Keyword::kContains), scope));
    own->all = expr == kAnything;
    if (expr != kNone) own->matching.push_back(expr);
  }
  return {};
}

// Sets in which all that `seen` does not hold is in `value`.
ObjectSet Others(const EvaluatedKeys& seen, ExprId value, ExprPool*) {
  ObjectSet others;
  for (std::string_view name : seen.names) others.named.push_back({name, kAnything});
  ObjectSet::Group group{{}, value};
  for (PatternId p : seen.patterns) group.patterns.push_back({p, kAnything});
  if (group.patterns.empty()) {
    others.rest = value;
  } else {
    others.groups.push_back(std::move(group));
  }
  return others;
}

ArraySet Others(const EvaluatedElements& seen, ExprId value, ExprPool* pool) {
  ArraySet others;
  others.prefix.assign(static_cast<size_t>(seen.prefix), kAnything);
  ScratchVector<ExprId> allowed = seen.matching;
  allowed.push_back(value);
  others.rest = pool->Or(allowed);
  return others;
}

const ScratchVector<ObjectSet>& SetsOf(const ValueSet& set, const ObjectSet*) {
  return set.objects;
}
const ScratchVector<ArraySet>& SetsOf(const ValueSet& set, const ArraySet*) { return set.arrays; }

}  // namespace

template <class T>
bool EvaluatedCases<T>::Part::AddsTo(const Seen& seen) const {
  return !std::all_of(cases->begin(), cases->end(),
                      [&](const Case& c) { return Covers(seen, c.seen); });
}

template <class T>
StatusOr<typename EvaluatedCases<T>::Part> EvaluatedCases<T>::PartOf(JsonId node) const {
  GM_ASSIGN_OR_RETURN(ExprId expr, n_.SchemaExpr(node, scope_));
  return Part{expr, known_.at(expr)};
}

template <class T>
StatusOr<ScratchVector<typename EvaluatedCases<T>::Part>> EvaluatedCases<T>::List(
    const Schema& schema, Keyword keyword) const {
  ScratchVector<Part> parts;
  for (JsonId e : n_.tree_.document().elements(*schema.Get(keyword))) {
    GM_ASSIGN_OR_RETURN(Part part, PartOf(e));
    parts.push_back(part);
  }
  return parts;
}

template <class T>
const ScratchVector<T>& EvaluatedCases<T>::Sets(const Part& part, size_t i) const {
  if (part.cases->size() > 1) return (*part.cases)[i].sets;
  return SetsOf(n_.Known(part.expr), static_cast<const T*>(nullptr));
}

template <class T>
StatusOr<ScratchVector<T>> EvaluatedCases<T>::Meet(const ScratchVector<T>& a,
                                                   const ScratchVector<T>& b) {
  GM_ASSIGN_OR_RETURN(ScratchVector<T> both, n_.algebra_.MeetAll(a, b));
  ScratchVector<T> out;
  for (T& set : both) {
    // Disjoint from itself: empty.
    GM_ASSIGN_OR_RETURN(bool empty, n_.Disjoint(set, set));
    if (!empty) out.push_back(std::move(set));
  }
  return out;
}

template <class T>
Status EvaluatedCases<T>::Add(Case item, Cases* out) {
  if (item.sets.empty()) return {};
  GM_RETURN_IF_ERROR(n_.algebra_.Step(1 + out->size() + SizeOf(item.seen)));
  for (Case& c : *out) {
    if (c.seen != item.seen) continue;
    for (T& set : item.sets) GM_RETURN_IF_ERROR(n_.algebra_.Add(&c.sets, std::move(set)));
    return {};
  }
  out->push_back(std::move(item));
  return {};
}

template <class T>
Status EvaluatedCases<T>::AddEach(const Case& base, const Part& part, Cases* out) {
  for (size_t i = 0; i < part.cases->size(); ++i) {
    GM_ASSIGN_OR_RETURN(ScratchVector<T> both, Meet(base.sets, Sets(part, i)));
    GM_RETURN_IF_ERROR(Add({std::move(both), Join(base.seen, (*part.cases)[i].seen)}, out));
  }
  return {};
}

// A part that holds for all values of the schema.
template <class T>
Status EvaluatedCases<T>::ApplyAll(const Part& part, Cases* cases) {
  Cases out;
  for (Case& c : *cases) {
    if (!part.AddsTo(c.seen)) {
      GM_RETURN_IF_ERROR(Add(std::move(c), &out));
    } else if (part.cases->size() == 1) {
      c.seen = Join(c.seen, part.cases->front().seen);
      GM_RETURN_IF_ERROR(Add(std::move(c), &out));
    } else {
      GM_RETURN_IF_ERROR(AddEach(c, part, &out));
    }
  }
  *cases = std::move(out);
  return {};
}

// Every value is in some of the parts. A branch after the first that a value is in needs a case of
// its own only where it evaluates more.
template <class T>
Status EvaluatedCases<T>::ApplyAny(const ScratchVector<Part>& parts, Cases* cases) {
  Cases none, some;
  for (Case& c : *cases) {
    bool adds =
        std::any_of(parts.begin(), parts.end(), [&](const Part& p) { return p.AddsTo(c.seen); });
    GM_RETURN_IF_ERROR(Add(std::move(c), adds ? &none : &some));
  }
  for (const Part& part : parts) {
    if (none.empty()) break;
    Cases next;
    for (Case& c : some) {
      for (size_t i = 0; i < part.cases->size(); ++i) {
        const Seen& more = (*part.cases)[i].seen;
        if (Covers(c.seen, more)) continue;
        GM_ASSIGN_OR_RETURN(ScratchVector<T> both, Meet(c.sets, Sets(part, i)));
        GM_RETURN_IF_ERROR(Add({std::move(both), Join(c.seen, more)}, &next));
      }
      GM_RETURN_IF_ERROR(Add(std::move(c), &next));
    }
    for (const Case& c : none) GM_RETURN_IF_ERROR(AddEach(c, part, &next));
    some = std::move(next);
  }
  *cases = std::move(some);
  return {};
}

// Every value is in just one of the parts.
template <class T>
Status EvaluatedCases<T>::ApplyOne(const ScratchVector<Part>& parts, Cases* cases) {
  Cases out;
  for (Case& c : *cases) {
    bool adds =
        std::any_of(parts.begin(), parts.end(), [&](const Part& p) { return p.AddsTo(c.seen); });
    if (!adds) {
      GM_RETURN_IF_ERROR(Add(std::move(c), &out));
      continue;
    }
    for (const Part& part : parts) GM_RETURN_IF_ERROR(AddEach(c, part, &out));
  }
  *cases = std::move(out);
  return {};
}

template <class T>
Status EvaluatedCases<T>::ApplyIf(const Schema& schema, Cases* cases) {
  GM_ASSIGN_OR_RETURN(Part condition, PartOf(*schema.Get(Keyword::kIf)));
  Part then{kAnything, known_.at(kAnything)}, otherwise = then;
  if (schema.Has(Keyword::kThen)) {
    GM_ASSIGN_OR_RETURN(then, PartOf(*schema.Get(Keyword::kThen)));
  }
  if (schema.Has(Keyword::kElse)) {
    GM_ASSIGN_OR_RETURN(otherwise, PartOf(*schema.Get(Keyword::kElse)));
  }
  Cases out;
  for (Case& c : *cases) {
    if (condition.AddsTo(c.seen) || then.AddsTo(c.seen) || otherwise.AddsTo(c.seen)) {
      Cases yes;
      GM_RETURN_IF_ERROR(AddEach(c, condition, &yes));
      GM_RETURN_IF_ERROR(ApplyAll(then, &yes));
      for (Case& y : yes) GM_RETURN_IF_ERROR(Add(std::move(y), &out));
    }
    if (!otherwise.AddsTo(c.seen)) {
      GM_RETURN_IF_ERROR(Add(std::move(c), &out));
      continue;
    }
    Cases no(1, Case{{}, c.seen});
    const ScratchVector<T>& minus =
        SetsOf(n_.Known(condition.expr), static_cast<const T*>(nullptr));
    GM_ASSIGN_OR_RETURN(no[0].sets, n_.SubtractCases(c.sets, minus));
    GM_RETURN_IF_ERROR(ApplyAll(otherwise, &no));
    for (Case& x : no) GM_RETURN_IF_ERROR(Add(std::move(x), &out));
  }
  *cases = std::move(out);
  return {};
}

// Splits by whether a key is there. Arrays have none.
template <class T>
Status EvaluatedCases<T>::ApplyDependency(const JsonMember& member, Cases* cases) {
  if constexpr (kObjects) {
    GM_ASSIGN_OR_RETURN(Part part, PartOf(member.value));
    ObjectSet absent, present;
    absent.named.push_back({member.key, kNone});
    present.named.push_back({member.key, kAnything, true});
    present.min = 1;
    Cases out;
    for (Case& c : *cases) {
      if (!part.AddsTo(c.seen)) {
        GM_RETURN_IF_ERROR(Add(std::move(c), &out));
        continue;
      }
      GM_ASSIGN_OR_RETURN(ScratchVector<T> without, Meet(c.sets, {absent}));
      GM_RETURN_IF_ERROR(Add({std::move(without), c.seen}, &out));
      GM_ASSIGN_OR_RETURN(c.sets, Meet(c.sets, {present}));
      Cases with(1, std::move(c));
      GM_RETURN_IF_ERROR(ApplyAll(part, &with));
      for (Case& w : with) GM_RETURN_IF_ERROR(Add(std::move(w), &out));
    }
    *cases = std::move(out);
  }
  return {};
}

// The schemas that `schema` applies to the same value and whose annotations it keeps.
template <class T>
StatusOr<ScratchVector<ExprId>> EvaluatedCases<T>::PartsOf(const Schema& schema) const {
  ScratchVector<ExprId> parts;
  const JsonDocument& d = n_.tree_.document();
  auto add = [&](JsonId node) -> Status {
    GM_ASSIGN_OR_RETURN(ExprId expr, n_.SchemaExpr(node, scope_));
    parts.push_back(expr);
    return {};
  };
  for (Keyword k : {Keyword::kRef, Keyword::kDynamicRef, Keyword::kRecursiveRef}) {
    if (!schema.Has(k)) continue;
    GM_ASSIGN_OR_RETURN(JsonId target, n_.tree_.Resolve(schema, k, scope_));
    GM_RETURN_IF_ERROR(add(target));
  }
  for (Keyword k : {Keyword::kAllOf, Keyword::kAnyOf, Keyword::kOneOf}) {
    if (!schema.Has(k)) continue;
    for (JsonId e : d.elements(*schema.Get(k))) GM_RETURN_IF_ERROR(add(e));
  }
  if (schema.Has(Keyword::kIf)) {
    for (Keyword k : {Keyword::kIf, Keyword::kThen, Keyword::kElse}) {
      if (schema.Has(k)) GM_RETURN_IF_ERROR(add(*schema.Get(k)));
    }
  }
  for (Keyword k : {Keyword::kDependentSchemas, Keyword::kDependencies}) {
    if (!kObjects || !schema.Has(k)) continue;
    for (const JsonMember& m : d.members(*schema.Get(k))) {
      if (d.IsObject(m.value) || d.IsBool(m.value)) GM_RETURN_IF_ERROR(add(m.value));
    }
  }
  return parts;
}

template <class T>
StatusOr<ScratchVector<typename EvaluatedCases<T>::Case>> EvaluatedCases<T>::Split(
    const Schema& schema, const ScratchVector<T>& whole) {
  const JsonDocument& d = n_.tree_.document();
  Cases cases(1);
  GM_RETURN_IF_ERROR(Own(schema, &n_, scope_, &cases[0].seen));
  if (cases[0].seen.all) return cases;
  cases[0].sets = whole;
  GM_RETURN_IF_ERROR(n_.algebra_.Step(whole.size()));
  for (Keyword k : {Keyword::kRef, Keyword::kDynamicRef, Keyword::kRecursiveRef}) {
    if (!schema.Has(k)) continue;
    GM_ASSIGN_OR_RETURN(JsonId target, n_.tree_.Resolve(schema, k, scope_));
    GM_ASSIGN_OR_RETURN(Part part, PartOf(target));
    GM_RETURN_IF_ERROR(ApplyAll(part, &cases));
  }
  if (schema.Has(Keyword::kAllOf)) {
    GM_ASSIGN_OR_RETURN(ScratchVector<Part> parts, List(schema, Keyword::kAllOf));
    for (const Part& part : parts) GM_RETURN_IF_ERROR(ApplyAll(part, &cases));
  }
  if (schema.Has(Keyword::kAnyOf)) {
    GM_ASSIGN_OR_RETURN(ScratchVector<Part> parts, List(schema, Keyword::kAnyOf));
    GM_RETURN_IF_ERROR(ApplyAny(parts, &cases));
  }
  if (schema.Has(Keyword::kOneOf)) {
    GM_ASSIGN_OR_RETURN(ScratchVector<Part> parts, List(schema, Keyword::kOneOf));
    GM_RETURN_IF_ERROR(ApplyOne(parts, &cases));
  }
  if (schema.Has(Keyword::kIf)) GM_RETURN_IF_ERROR(ApplyIf(schema, &cases));
  for (Keyword k : {Keyword::kDependentSchemas, Keyword::kDependencies}) {
    if (!kObjects || !schema.Has(k)) continue;
    for (const JsonMember& m : d.members(*schema.Get(k))) {
      if (!d.IsObject(m.value) && !d.IsBool(m.value)) continue;
      GM_RETURN_IF_ERROR(ApplyDependency(m, &cases));
    }
  }
  return cases;
}

// Makes the cases of all that `schema` applies known, in post order.
template <class T>
Status EvaluatedCases<T>::EvaluateParts(const Schema& schema) {
  if (known_.empty()) {
    kept_.emplace_back(1);
    known_ = {{kAnything, &kept_.back()}, {kNone, &kept_.back()}};
  }
  GM_ASSIGN_OR_RETURN(ScratchVector<ExprId> stack, PartsOf(schema));
  while (!stack.empty()) {
    ExprId expr = stack.back();
    if (known_.contains(expr)) {
      stack.pop_back();
      continue;
    }
    GM_ASSIGN_OR_RETURN(const Schema* part, n_.tree_.Read(n_.pool_.node(expr)));
    scope_ = n_.pool_.scope(expr);
    Cases cases(1);
    cases[0].seen.all =
        part->Has(kObjects ? Keyword::kUnevaluatedProperties : Keyword::kUnevaluatedItems);
    if (!cases[0].seen.all) {
      GM_ASSIGN_OR_RETURN(ScratchVector<ExprId> below, PartsOf(*part));
      std::erase_if(below, [&](ExprId e) { return known_.contains(e); });
      if (!below.empty()) {
        stack.insert(stack.end(), below.begin(), below.end());
        continue;
      }
      GM_ASSIGN_OR_RETURN(cases,
                          Split(*part, SetsOf(n_.Known(expr), static_cast<const T*>(nullptr))));
    }
    if (cases.size() == 1) cases[0].sets.clear();
    kept_.push_back(std::move(cases));
    known_[expr] = &kept_.back();
    stack.pop_back();
  }
  return {};
}

template <class T>
StatusOr<ScratchVector<typename EvaluatedCases<T>::Case>> EvaluatedCases<T>::Of(
    const Schema& schema, ScopeId scope, const ScratchVector<T>& whole) {
  // To see that cases are empty, other schemas may be evaluated, which come here too.
  ScopeId outer = scope_;
  scope_ = scope;
  Status parts = EvaluateParts(schema);
  scope_ = scope;
  StatusOr<Cases> cases = parts.ok() ? Split(schema, whole) : StatusOr<Cases>(std::move(parts));
  scope_ = outer;
  return cases;
}

template <class T>
StatusOr<ScratchVector<T>> EvaluatedCases<T>::Restrict(ScratchVector<T> whole, const Seen& seen,
                                                       ExprId value) {
  // What is said of all others takes the place of strict mode's closing.
  for (T& set : whole) set.closed = false;
  if (seen.all || value == kAnything) return whole;
  return n_.algebra_.MeetAll(whole, {Others(seen, value, &n_.pool_)});
}

template class EvaluatedCases<ObjectSet>;
template class EvaluatedCases<ArraySet>;

}  // namespace grammask::internal
