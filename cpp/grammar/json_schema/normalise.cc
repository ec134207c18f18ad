// Expressions over schemas to sets of values.
//
// An expression is evaluated after the expressions that it applies to the same value: those that a
// schema names in $ref, allOf, anyOf, oneOf, not, if and the like, or the parts of an And, Or or
// Not. A stack of frames does it in post order; results are kept for good. What a schema says of
// elements and members stays an expression, so that {"properties":{"a":{"$ref":"#"}}} is the object
// case {a?: #} and evaluation ends. To see that cases are disjoint it may help to evaluate what
// members hold: such questions nest to a bounded depth, and "not known" is an answer. Cost: one
// Combine for each expression, linear in its keywords and in the cases it makes.
//
// One schema's keywords: schema_combiner.cc. Tests: tests/grammar/json_schema_test.cc.
#include "grammar/json_schema/normalise.h"

#include <algorithm>
#include <bit>

#include "absl/container/inlined_vector.h"
#include "base/mix.h"
#include "base/scratch.h"
#include "grammar/json_schema/schema_combiner.h"

namespace grammask::internal {
namespace {

constexpr ExprId kUnknown{UINT32_MAX};
constexpr ExprId kFollowing{UINT32_MAX - 1};  // its reference is being followed
constexpr uint64_t kTypeKeyword = uint64_t{1} << static_cast<int>(Keyword::kType);

// What a schema in one more scope counts against limits.max_schema_steps: scopes multiply what
// there is to evaluate.
constexpr size_t kScopedSteps = 16;

// Values up to this many are tested one by one to see that a set of strings is empty.
constexpr size_t kTestedValues = 64;

// Of the patterns of one set, so many are compared with each other.
constexpr size_t kComparedPatterns = 8;
// Elements up to this many are tested one by one to see that a count cannot be met.
constexpr int64_t kTestedElements = 32;

// Whether every choice of members that holds the required ones has as many as there must be.
bool NamedSayAll(const ObjectSet& set) {
  if (!set.some.empty() || !set.none.empty() || !set.groups.empty()) return false;
  const auto named = static_cast<int64_t>(set.named.size());
  if (set.max != kUnbounded && (set.rest != kNone || set.max < named)) return false;
  return set.min <= std::ranges::count_if(set.named, &ObjectSet::Named::required);
}

}  // namespace

Normaliser::Normaliser(SchemaTree* tree, KeyPatterns* patterns, const Limits& limits,
                       const NormaliserOptions& options)
    : tree_(*tree),
      patterns_(*patterns),
      limits_(limits),
      options_(options),
      algebra_(&pool_, patterns, limits,
               [this](ExprId expr, std::string_view key) { return KeyIn(expr, key); }),
      expr_of_node_(tree->document().size(), kUnknown),
      alike_(0, SchemaHash{&tree->document()}, SchemaEqual{&tree->document()}),
      unknown_(ValueSet::All()) {
  unknown_.widened = kTypeAll;
}

ExprId& Normaliser::ExprOfNode(JsonId node, ScopeId scope) {
  if (scope != kNoScope) {
    return expr_in_scope_.try_emplace(std::pair(node, scope), kUnknown).first->second;
  }
  if (node.value >= expr_of_node_.size()) expr_of_node_.resize(tree_.document().size(), kUnknown);
  return expr_of_node_[node.value];
}

size_t Normaliser::SchemaHash::operator()(const Schema* schema) const {
  const JsonDocument& d = *document;
  uint64_t h = Mix(MixSeed(), schema->present);
  h = Mix(h, uint64_t{d.text_of(schema->node)} << 8 | schema->types);
  for (uint64_t rest = schema->present & ~kTypeKeyword; rest != 0; rest &= rest - 1) {
    const JsonId value = schema->values[static_cast<size_t>(std::countr_zero(rest))];
    const std::string_view text = d.text(value);  // none where it is an array or object
    h = Mix(h, text.size() << 8 | static_cast<uint64_t>(d.kind(value)));
    h = d.IsArray(value) || d.IsObject(value) ? Mix(h, d.representative(value).value)
                                              : MixBytes(h, text);
  }
  return h;
}

bool Normaliser::SchemaEqual::operator()(const Schema* a, const Schema* b) const {
  const JsonDocument& d = *document;
  if (a->present != b->present || a->types != b->types) return false;
  if (d.text_of(a->node) != d.text_of(b->node)) return false;
  for (uint64_t rest = a->present & ~kTypeKeyword; rest != 0; rest &= rest - 1) {
    const auto keyword = static_cast<size_t>(std::countr_zero(rest));
    const JsonId x = a->values[keyword], y = b->values[keyword];
    if (d.kind(x) != d.kind(y)) return false;
    const bool scalar = !d.IsArray(x) && !d.IsObject(x);
    if (scalar ? d.text(x) != d.text(y) : d.representative(x) != d.representative(y)) return false;
  }
  return true;
}

// Titles, descriptions and the like make schemas differ that are one and the same to all that
// follows: of a hundred properties most are {"type":"string"} and a description.
const Schema& Normaliser::FirstAlike(const Schema& schema) {
  if (schema.present != kTypeKeyword) return **alike_.insert(&schema).first;
  const Schema*& first = of_types_[schema.types];
  if (first == nullptr) first = &schema;
  return *first;
}

StatusOr<ExprId> Normaliser::SchemaExpr(JsonId node, ScopeId scope) {
  scope = tree_.Enter(scope, node);
  const ScopeId outer = scope;
  if (ExprId known = ExprOfNode(node, scope); known.value < kFollowing.value) return known;
  absl::InlinedVector<std::pair<JsonId, ScopeId>, 4> path;
  ExprId found = kUnknown;
  Status error;
  for (JsonId at = node;; scope = tree_.Enter(scope, at)) {
    ExprId& slot = ExprOfNode(at, scope);
    if (slot.value < kFollowing.value) {
      found = slot;
      break;
    }
    if (slot == kFollowing) {
      error = tree_.Error(StatusCode::kInvalidArgument, at, Keyword::kRef,
                          "this reference leads back to itself");
      break;
    }
    slot = kFollowing;
    path.emplace_back(at, scope);
    if (scope != kNoScope) {
      if (error = algebra_.Step(kScopedSteps); !error.ok()) break;
    }
    JsonId same = tree_.meaning_is_local(at) ? tree_.document().representative(at) : at;
    StatusOr<const Schema*> schema = tree_.Read(same);
    if (!schema.ok()) {
      error = schema.status();
      break;
    }
    if ((*schema)->boolean) {
      found = *(*schema)->boolean ? kAnything : kNone;
      break;
    }
    if ((*schema)->present == 0) {
      found = kAnything;
      break;
    }
    if ((*schema)->present != uint64_t{1} << static_cast<int>(Keyword::kRef)) {
      const bool local = scope == kNoScope && tree_.meaning_is_local(at) && !options_.widen;
      found = pool_.Schema(local ? FirstAlike(**schema).node : same, scope);
      break;
    }
    StatusOr<JsonId> next = tree_.Resolve(**schema, Keyword::kRef, scope);
    if (!next.ok()) {
      error = next.status();
      break;
    }
    at = *next;
  }
  for (auto [at, in] : path) ExprOfNode(at, in) = error.ok() ? found : kUnknown;
  // In widening the schema is left as it is, and found to have no form when it is evaluated.
  if (MayLeaveOut(error)) return pool_.Schema(node, outer);
  if (!error.ok()) return error;
  return found;
}

Normaliser::Slot& Normaliser::SlotOf(ExprId expr) {
  if (expr.value >= slots_.size()) slots_.resize(std::max<size_t>(pool_.size(), expr.value + 1));
  return slots_[expr.value];
}

StatusOr<ScratchVector<ExprId>> Normaliser::PartsOf(ExprId expr) {
  ScratchVector<ExprId> parts;
  switch (pool_.kind(expr)) {
    case ExprKind::kTrue:
    case ExprKind::kFalse:
    case ExprKind::kValue:
      break;
    case ExprKind::kSchema: {
      GM_ASSIGN_OR_RETURN(const Schema* schema, tree_.Read(pool_.node(expr)));
      GM_RETURN_IF_ERROR(PartsOfSchema(*schema, pool_.scope(expr), &parts));
      break;
    }
    case ExprKind::kAnd:
      // What is negated is subtracted from the rest: no complement of its own is needed.
      for (ExprId p : pool_.parts(expr)) {
        parts.push_back(pool_.kind(p) == ExprKind::kNot ? pool_.parts(p)[0] : p);
      }
      break;
    case ExprKind::kOr:
    case ExprKind::kNot: {
      std::span<const ExprId> list = pool_.parts(expr);
      parts.assign(list.begin(), list.end());
      break;
    }
  }
  return parts;
}

Status Normaliser::PartsOfSchema(const Schema& schema, ScopeId scope, ScratchVector<ExprId>* parts,
                                 int depth) {
  const JsonDocument& d = tree_.document();
  auto add = [&](JsonId node) -> Status {
    GM_ASSIGN_OR_RETURN(ExprId expr, SchemaExpr(node, scope));
    parts->push_back(expr);
    return {};
  };
  for (Keyword k : {Keyword::kRef, Keyword::kDynamicRef, Keyword::kRecursiveRef}) {
    if (!schema.Has(k)) continue;
    StatusOr<JsonId> target = tree_.Resolve(schema, k, scope);
    if (MayLeaveOut(target.status())) continue;
    GM_RETURN_IF_ERROR(target.status());
    GM_RETURN_IF_ERROR(add(*target));
  }
  for (Keyword k : {Keyword::kAllOf, Keyword::kAnyOf, Keyword::kOneOf}) {
    if (!schema.Has(k)) continue;
    for (JsonId e : d.elements(*schema.Get(k))) {
      GM_RETURN_IF_ERROR(add(e));
      GM_ASSIGN_OR_RETURN(const Schema* within, Inline(schema, k, scope, parts->back(), depth));
      if (within == nullptr) continue;
      parts->pop_back();
      GM_RETURN_IF_ERROR(PartsOfSchema(*within, scope, parts, depth + 1));
    }
  }
  if (schema.Has(Keyword::kNot)) GM_RETURN_IF_ERROR(add(*schema.Get(Keyword::kNot)));
  // An `if` alone says nothing but what it evaluates.
  bool says = schema.Has(Keyword::kThen) || schema.Has(Keyword::kElse) || tree_.has_unevaluated();
  if (schema.Has(Keyword::kIf) && says) {
    for (Keyword k : {Keyword::kIf, Keyword::kThen, Keyword::kElse}) {
      if (schema.Has(k)) GM_RETURN_IF_ERROR(add(*schema.Get(k)));
    }
  }
  for (Keyword k : {Keyword::kDependentSchemas, Keyword::kDependencies}) {
    if (!schema.Has(k)) continue;
    for (const JsonMember& m : d.members(*schema.Get(k))) {
      if (d.IsObject(m.value) || d.IsBool(m.value)) GM_RETURN_IF_ERROR(add(m.value));
    }
  }
  return {};
}

StatusOr<const Schema*> Normaliser::SchemaIn(ScopeId scope, ExprId expr) {
  if (pool_.kind(expr) != ExprKind::kSchema || pool_.scope(expr) != scope) {
    return static_cast<const Schema*>(nullptr);
  }
  return tree_.Read(pool_.node(expr));
}

// Branches of oneOf that have an oneOf themselves may be told apart only by what stands beside the
// outer one, as by a `type` that they name but do not require; each for itself is then a union of
// what any two of its own branches leave of one another.
StatusOr<const Schema*> Normaliser::Inline(const Schema& schema, Keyword list, ScopeId scope,
                                           ExprId expr, int depth) {
  const Schema* none = nullptr;
  if (options_.widen || tree_.has_unevaluated()) return none;  // both ask about it for itself
  if (list == Keyword::kAnyOf || depth >= (list == Keyword::kAllOf ? 1 : kMaxWithin)) return none;
  GM_ASSIGN_OR_RETURN(const Schema* inner, SchemaIn(scope, expr));
  if (inner == nullptr) return none;
  if (list == Keyword::kAllOf) {
    for (Keyword k : {Keyword::kOneOf, Keyword::kNot, Keyword::kIf, Keyword::kDependentRequired,
                      Keyword::kDependentSchemas, Keyword::kDependencies}) {
      if (inner->Has(k)) return inner;
    }
    return none;
  }
  // Nothing is known of the value that the branches do not say.
  constexpr uint64_t kBefore = (uint64_t{1} << static_cast<int>(Keyword::kOneOf)) - 2;
  if (!inner->Has(Keyword::kOneOf) || (depth == 0 && (schema.present & kBefore) == 0)) return none;
  int left = kMaxBranches;
  GM_ASSIGN_OR_RETURN(bool few, TakeBranches(*inner, scope, depth + 1, &left));
  return few ? inner : none;
}

StatusOr<bool> Normaliser::TakeBranches(const Schema& schema, ScopeId scope, int depth, int* left) {
  if (depth > kMaxWithin || !schema.Has(Keyword::kOneOf)) return true;
  for (JsonId e : tree_.document().elements(*schema.Get(Keyword::kOneOf))) {
    if (--*left < 0) return false;
    GM_ASSIGN_OR_RETURN(ExprId expr, SchemaExpr(e, scope));
    GM_ASSIGN_OR_RETURN(const Schema* inner, SchemaIn(scope, expr));
    if (inner == nullptr) continue;
    GM_ASSIGN_OR_RETURN(bool few, TakeBranches(*inner, scope, depth + 1, left));
    if (!few) return false;
  }
  return true;
}

StatusOr<const ValueSet*> Normaliser::Evaluate(ExprId root) {
  if (const ValueSet* known = SlotOf(root).set) return known;
  ++level_;
  ScratchVector<Frame> stack;
  auto fail = [&](Status status) {
    for (const Frame& f : stack) SlotOf(f.expr).busy = 0;
    --level_;
    return status;
  };
  auto push = [&](ExprId expr) -> Status {
    StatusOr<ScratchVector<ExprId>> parts = PartsOf(expr);
    if (MayLeaveOut(parts.status())) parts = ScratchVector<ExprId>();
    GM_RETURN_IF_ERROR(parts.status());
    SlotOf(expr).busy = level_;
    stack.push_back({expr, *std::move(parts)});
    return {};
  };
  if (Status s = push(root); !s.ok()) return fail(std::move(s));
  while (!stack.empty()) {
    Frame& f = stack.back();
    if (f.next < f.parts.size()) {
      ExprId part = f.parts[f.next++];
      const Slot& slot = SlotOf(part);
      if (slot.set != nullptr) continue;
      if (slot.busy != 0) {
        return fail(AtNearestSchema(
            part, InvalidArgument("the schema applies itself to the same value again, without an "
                                  "element or a member between; no value can be checked so")));
      }
      if (Status s = push(part); !s.ok()) return fail(std::move(s));
      continue;
    }
    StatusOr<ValueSet> set = Combine(f.expr);
    if (!set.ok()) return fail(set.status());
    set->widened &= set->types();
    sets_.push_back(*std::move(set));
    Slot& slot = SlotOf(f.expr);
    slot.set = &sets_.back();
    slot.busy = 0;
    stack.pop_back();
  }
  --level_;
  return SlotOf(root).set;
}

StatusOr<const ValueSet*> Normaliser::TryEvaluate(ExprId expr) {
  const Slot& slot = SlotOf(expr);
  if (slot.set != nullptr) return slot.set;
  if (slot.busy != 0 || level_ >= kMaxLevel) return static_cast<const ValueSet*>(nullptr);
  StatusOr<const ValueSet*> set = Evaluate(expr);
  if (set.ok() || set.status().code() == StatusCode::kResourceExhausted) return set;
  return static_cast<const ValueSet*>(nullptr);
}

// Puts a place before the message of the algebra.
Status Normaliser::AtNearestSchema(ExprId expr, const Status& status) const {
  while (pool_.kind(expr) >= ExprKind::kAnd) expr = pool_.parts(expr)[0];
  if (expr == kAnything || expr == kNone) return status;
  return tree_.Error(status.code(), pool_.node(expr), Keyword::kCount, status.message());
}

StatusOr<ValueSet> Normaliser::Combine(ExprId expr) {
  StatusOr<ValueSet> set = CombineExactly(expr);
  if (MayLeaveOut(set.status())) return Widened(expr, set.status());
  return set;
}

StatusOr<ValueSet> Normaliser::CombineExactly(ExprId expr) {
  // A schema's keywords have budgets of their own.
  Algebra::Budget budget(&algebra_, pool_.kind(expr) == ExprKind::kSchema ? 0 : Share());
  switch (pool_.kind(expr)) {
    case ExprKind::kTrue:
      return ValueSet::All();
    case ExprKind::kFalse:
      return ValueSet();
    case ExprKind::kValue:
      return ValueOf(pool_.node(expr));
    case ExprKind::kSchema: {
      GM_ASSIGN_OR_RETURN(const Schema* schema, tree_.Read(pool_.node(expr)));
      return SchemaCombiner(this, *schema, expr).Run();
    }
    case ExprKind::kAnd: {
      StatusOr<ValueSet> set = CombineAnd(expr);
      if (!set.ok()) return AtNearestSchema(expr, set.status());
      return set;
    }
    case ExprKind::kOr: {
      ValueSet set;
      for (ExprId p : pool_.parts(expr)) {
        Status s = algebra_.Unite(&set, Known(p));
        if (!s.ok()) return AtNearestSchema(p, s);
      }
      return set;
    }
    case ExprKind::kNot: {
      if (options_.widen) return CombineAnd(expr);
      StatusOr<ValueSet> set = Complement(Known(pool_.parts(expr)[0]));
      if (!set.ok()) return AtNearestSchema(expr, set.status());
      return set;
    }
  }
  return ValueSet();
}

StatusOr<ValueSet> Normaliser::CombineAnd(ExprId expr) {
  std::optional<ValueSet> set;
  // `set`, or one that is not copied, as it is only met with others.
  const ValueSet* so_far = nullptr;
  ScratchVector<ExprId> parts(pool_.parts(expr).begin(), pool_.parts(expr).end());
  if (pool_.kind(expr) == ExprKind::kNot) parts = {expr};
  if (parts.size() > 2 && !options_.widen) {
    // One condition more than on a set that is known.
    ExprId last = parts.back();
    ExprId before = pool_.And(std::span(parts).first(parts.size() - 1));
    if (const ValueSet* known = SlotOf(before).set) {
      if (pool_.kind(last) == ExprKind::kNot) return Subtract(*known, Known(pool_.parts(last)[0]));
      return Intersect(*known, Known(last));
    }
  }
  for (ExprId p : parts) {
    if (pool_.kind(p) == ExprKind::kNot) continue;
    if (so_far == nullptr) {
      so_far = &Known(p);
      continue;
    }
    StatusOr<ValueSet> both = Intersect(*so_far, Known(p));
    if (MayLeaveOut(both.status())) {
      if (!set) set = *so_far;
      Note(expr, NearestSchema(p).value_or(tree_.document().root()), "allOf", both.status());
      set->widened = kTypeAll;
    } else {
      GM_ASSIGN_OR_RETURN(set, std::move(both));
    }
    so_far = &*set;
  }
  if (so_far == nullptr) so_far = &set.emplace(ValueSet::All());
  for (ExprId p : parts) {
    if (pool_.kind(p) != ExprKind::kNot) continue;
    Status left_out;
    GM_ASSIGN_OR_RETURN(set, Subtract(*so_far, Known(pool_.parts(p)[0]), &left_out));
    so_far = &*set;
    if (!left_out.ok()) {
      Note(expr, NearestSchema(p).value_or(tree_.document().root()), "not", left_out);
    }
  }
  if (!set) set = *so_far;
  return *std::move(set);
}

// Adds one scalar of enum or const to a union; arrays and objects become cases of fixed elements.
StatusOr<ValueSet> Normaliser::ValueOf(JsonId node) {
  ValueSet set;
  GM_RETURN_IF_ERROR(AddScalar(node, &set));
  const JsonDocument& d = tree_.document();
  if (d.IsArray(node)) {
    ArraySet a;
    for (JsonId e : d.elements(node)) a.prefix.push_back(pool_.Value(d.representative(e)));
    a.min = a.max = static_cast<int64_t>(a.prefix.size());
    a.rest = kNone;
    set.arrays.push_back(std::move(a));
  } else if (d.IsObject(node)) {
    ObjectSet o;
    for (const JsonMember& m : d.members(node)) {
      o.named.push_back({m.key, pool_.Value(d.representative(m.value)), true, true});
    }
    o.min = o.max = static_cast<int64_t>(o.named.size());
    o.rest = kNone;
    o.unordered = true;
    set.objects.push_back(std::move(o));
  }
  return set;
}

Status Normaliser::AddScalar(JsonId node, ValueSet* set) {
  const JsonDocument& d = tree_.document();
  switch (d.kind(node)) {
    case JsonKind::kNull:
      set->null = true;
      break;
    case JsonKind::kFalse:
      set->false_value = true;
      break;
    case JsonKind::kTrue:
      set->true_value = true;
      break;
    case JsonKind::kString: {
      if (set->strings.empty()) {
        set->strings.emplace_back();
        set->strings[0].values.emplace();
      }
      set->strings[0].values->emplace_back(d.text(node));
      break;
    }
    case JsonKind::kNumber: {
      StatusOr<Decimal> value = Decimal::Parse(d.text(node));
      if (!value.ok()) {
        return Status(value.status().code(), d.Pointer(node) + ": " + value.status().message());
      }
      if (d.text(node).find_first_of("eE") != std::string_view::npos) {
        sources_.try_emplace(*value, d.text(node));
      }
      set->numbers.push_back(NumberSet::Only(*std::move(value)));
      break;
    }
    case JsonKind::kArray:
    case JsonKind::kObject:
      break;
  }
  return {};
}

std::string_view Normaliser::SourceOf(const Decimal& number) const {
  if (sources_.empty()) return {};
  auto it = sources_.find(number);
  return it == sources_.end() ? std::string_view() : it->second;
}

StatusOr<bool> Normaliser::KeyIn(ExprId expr, std::string_view key) {
  GM_ASSIGN_OR_RETURN(const ValueSet* set, TryEvaluate(expr));
  if (set == nullptr) {
    return Unsupported(
        "propertyNames leads back to the schema that it belongs to, or has no exact "
        "form");
  }
  for (const StringSet& s : set->strings) {
    GM_ASSIGN_OR_RETURN(bool holds, patterns_.Contains(s, key));
    if (holds && (set->widened & kTypeString)) {
      return Unsupported("whether a name is admitted is not known, as propertyNames was widened");
    }
    if (holds) return true;
  }
  return false;
}

// Leaves out counts that all elements meet: what the elements are says so.
Status Normaliser::LeaveOutMetCounts(ArraySet* set) {
  for (size_t k = set->some.size(); k-- > 0;) {
    const ArraySet::Count& count = set->some[k];
    const auto length = static_cast<int64_t>(set->prefix.size());
    if (count.max != kUnbounded || length > count.from + kTestedElements) continue;
    const ExprId outside = pool_.Not(count.expr);
    GM_ASSIGN_OR_RETURN(bool met, Empty(pool_.And(set->rest, outside), kEmptinessDepth));
    for (int64_t i = count.from; met && i < length; ++i) {
      const ExprId element = set->prefix[static_cast<size_t>(i)];
      GM_ASSIGN_OR_RETURN(met, Empty(pool_.And(element, outside), kEmptinessDepth));
    }
    if (!met) continue;
    set->min = std::max(set->min, count.from + count.min);
    set->some.erase(set->some.begin() + static_cast<ptrdiff_t>(k));
  }
  return {};
}

// Leaves out cases of arrays with equal elements, which have no form to be written in, where
// another case plainly holds them all.
void Normaliser::LeaveOutRepeats(ScratchVector<ArraySet>* cases) {
  auto repeats = [](const ArraySet& set) { return set.repeats.has_value(); };
  if (std::ranges::none_of(*cases, repeats)) return;  // mostly
  auto holds = [](const ArraySet& all, const ArraySet& set) {
    if (all.repeats || all.unique || all.min > set.min || all.max < set.max) return false;
    if (all.closed && !set.closed) return false;
    for (size_t i = 0; i <= std::max(all.prefix.size(), set.prefix.size()); ++i) {
      if (all.at(i) != kAnything && all.at(i) != set.at(i)) return false;
    }
    return std::ranges::all_of(all.some, [&](const ArraySet::Count& count) {
      return std::ranges::find(set.some, count) != set.some.end();
    });
  };
  ScratchVector<ArraySet> kept;
  for (const ArraySet& set : *cases) {
    auto holds_it = [&](const ArraySet& all) { return holds(all, set); };
    if (repeats(set) && std::ranges::any_of(*cases, holds_it)) continue;
    kept.push_back(set);
  }
  *cases = std::move(kept);
}

template <class T>
StatusOr<ScratchVector<T>> Normaliser::SubtractCases(ScratchVector<T> a,
                                                     const ScratchVector<T>& b) {
  if constexpr (std::is_same_v<T, ObjectSet>) return SubtractObjects(std::move(a), b);
  for (const T& minus : b) {
    if (a.empty()) break;
    ScratchVector<T> rest, touched;
    for (T& x : a) {
      GM_RETURN_IF_ERROR(algebra_.Step());
      GM_ASSIGN_OR_RETURN(bool disjoint, Disjoint(x, minus));
      (disjoint ? rest : touched).push_back(std::move(x));
    }
    if (!touched.empty()) {
      GM_ASSIGN_OR_RETURN(ScratchVector<T> outside,
                          algebra_.ComplementAll(ScratchVector<T>{minus}));
      for (const T& x : touched) {
        GM_ASSIGN_OR_RETURN(ScratchVector<T> pieces,
                            algebra_.MeetAll(ScratchVector<T>{x}, outside));
        for (T& piece : pieces) {
          // Disjoint from itself: empty.
          GM_ASSIGN_OR_RETURN(bool empty, Disjoint(piece, piece));
          if constexpr (std::is_same_v<T, ArraySet>) {
            if (!empty) GM_RETURN_IF_ERROR(LeaveOutMetCounts(&piece));
          }
          if (!empty && std::find(rest.begin(), rest.end(), piece) == rest.end()) {
            rest.push_back(std::move(piece));
          }
        }
      }
      if constexpr (std::is_same_v<T, ArraySet>) LeaveOutRepeats(&rest);
    }
    a = std::move(rest);
  }
  return a;
}

template StatusOr<ScratchVector<NumberSet>> Normaliser::SubtractCases(
    ScratchVector<NumberSet>, const ScratchVector<NumberSet>&);
template StatusOr<ScratchVector<StringSet>> Normaliser::SubtractCases(
    ScratchVector<StringSet>, const ScratchVector<StringSet>&);
template StatusOr<ScratchVector<ArraySet>> Normaliser::SubtractCases(
    ScratchVector<ArraySet>, const ScratchVector<ArraySet>&);
template StatusOr<ScratchVector<ObjectSet>> Normaliser::SubtractCases(
    ScratchVector<ObjectSet>, const ScratchVector<ObjectSet>&);

StatusOr<ValueSet> Normaliser::Subtract(const ValueSet& a, const ValueSet& b, Status* left_out) {
  ValueSet out;
  out.widened = a.widened;
  auto scalar = [&](bool ValueSet::*value, TypeBit type) {
    bool loose = (b.widened & type) && a.*value && b.*value;
    if (loose) {
      out.widened |= type;
      if (left_out != nullptr) *left_out = Unsupported("what was widened cannot be subtracted");
    }
    out.*value = a.*value && (loose || !(b.*value));
  };
  scalar(&ValueSet::null, kTypeNull);
  scalar(&ValueSet::false_value, kTypeBoolean);
  scalar(&ValueSet::true_value, kTypeBoolean);
  auto cases = [&](auto member, TypeBit type) -> Status {
    Status why;
    GM_ASSIGN_OR_RETURN(out.*member, SubtractLoosely(a.*member, b.*member, b.widened & type, &why));
    if (why.ok()) return {};
    out.widened |= type;
    if (left_out != nullptr) *left_out = std::move(why);
    return {};
  };
  GM_RETURN_IF_ERROR(cases(&ValueSet::numbers, kTypeNumber));
  GM_RETURN_IF_ERROR(cases(&ValueSet::strings, kTypeString));
  GM_RETURN_IF_ERROR(cases(&ValueSet::arrays, kTypeArray));
  GM_RETURN_IF_ERROR(cases(&ValueSet::objects, kTypeObject));
  return out;
}

template <class T>
StatusOr<ScratchVector<T>> Normaliser::SubtractLoosely(ScratchVector<T> a,
                                                       const ScratchVector<T>& b, bool loose,
                                                       Status* left_out) {
  if (!options_.widen) return SubtractCases(std::move(a), b);
  for (const T& minus : b) {
    bool touched = false;
    for (const T& x : a) {
      StatusOr<bool> disjoint = Disjoint(x, minus);
      if (!disjoint.ok() && !MayLeaveOut(disjoint.status())) return disjoint.status();
      touched = touched || !disjoint.ok() || !*disjoint;
    }
    if (!touched) continue;
    if (loose) {
      *left_out = Unsupported("what was widened cannot be subtracted");
      continue;
    }
    StatusOr<ScratchVector<T>> rest = SubtractCases(a, ScratchVector<T>{minus});
    if (rest.ok()) {
      a = *std::move(rest);
    } else if (MayLeaveOut(rest.status())) {
      *left_out = rest.status();
    } else {
      return rest.status();
    }
  }
  return a;
}

template StatusOr<ScratchVector<NumberSet>> Normaliser::SubtractLoosely(
    ScratchVector<NumberSet>, const ScratchVector<NumberSet>&, bool, Status*);
template StatusOr<ScratchVector<StringSet>> Normaliser::SubtractLoosely(
    ScratchVector<StringSet>, const ScratchVector<StringSet>&, bool, Status*);
template StatusOr<ScratchVector<ArraySet>> Normaliser::SubtractLoosely(
    ScratchVector<ArraySet>, const ScratchVector<ArraySet>&, bool, Status*);
template StatusOr<ScratchVector<ObjectSet>> Normaliser::SubtractLoosely(
    ScratchVector<ObjectSet>, const ScratchVector<ObjectSet>&, bool, Status*);

StatusOr<bool> Normaliser::Disjoint(const NumberSet& a, const NumberSet& b) {
  return internal::Disjoint(a, b);
}

StatusOr<bool> Normaliser::Disjoint(const StringSet& a, const StringSet& b) {
  return Empty(internal::Intersect(a, b));
}

StatusOr<bool> Normaliser::Disjoint(const ArraySet& a, const ArraySet& b) {
  ScratchVector<ArraySet> both;
  GM_RETURN_IF_ERROR(algebra_.Meet(a, b, &both));
  for (const ArraySet& set : both) {
    GM_ASSIGN_OR_RETURN(bool empty, Empty(set, kEmptinessDepth));
    if (!empty) return false;
  }
  return true;
}

// Whether the two are seen to have no value in common: as mostly where a tag tells a hundred
// branches apart, of which each is compared with each. Their intersection is no expression then.
StatusOr<bool> Normaliser::Clash(ExprId a, ExprId b) {
  if (a != b && a != kAnything && b != kAnything) {
    GM_ASSIGN_OR_RETURN(const ValueSet* set, TryEvaluate(a));
    GM_ASSIGN_OR_RETURN(const ValueSet* other, TryEvaluate(b));
    if (set != nullptr && other != nullptr && PlainlyApart(*set, *other)) return true;
  }
  return Empty(pool_.And(a, b), kEmptinessDepth);
}

StatusOr<bool> Normaliser::Disjoint(const ObjectSet& a, const ObjectSet& b) {
  if (a.min > b.max || b.min > a.max) return true;
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (size_t i = 0; i < one->named.size(); ++i) {
      const ObjectSet::Named& n = one->named[i];
      if (!n.required) continue;
      const size_t place = other->PlaceOf(n.key, i);
      ExprId value;
      if (place < other->named.size()) {
        value = other->named[place].value;
      } else {
        GM_ASSIGN_OR_RETURN(value, algebra_.ExtraValue(*other, n.key));
      }
      GM_ASSIGN_OR_RETURN(bool clash, Clash(n.value, value));
      if (clash) return true;
    }
  }
  if (a.some.empty() && b.some.empty() && a.min == 0 && b.min == 0) return false;
  // Where bounds on the members and what is asked of extra ones say no more than the named keys do,
  // as mostly, nothing else can clash. That they were met is counted all the same.
  if (NamedSayAll(a) && NamedSayAll(b)) {
    GM_RETURN_IF_ERROR(algebra_.Step(4 + a.named.size() + b.named.size()));
    return false;
  }
  ScratchVector<ObjectSet> both;
  GM_RETURN_IF_ERROR(algebra_.Meet(a, b, &both));
  for (const ObjectSet& set : both) {
    GM_ASSIGN_OR_RETURN(bool empty, Empty(set, kEmptinessDepth));
    if (!empty) return false;
  }
  return true;
}

StatusOr<bool> Normaliser::Empty(ExprId expr, int depth) {
  if (expr == kNone) return true;
  if (expr == kAnything || depth == 0) return false;
  Emptiness& known = empty_[expr];
  if (known.proved) return true;
  if (known.depth >= depth) return false;
  known.depth = depth;
  GM_ASSIGN_OR_RETURN(const ValueSet* set, TryEvaluate(expr));
  if (set == nullptr || set->null || set->false_value || set->true_value || !set->numbers.empty()) {
    return false;
  }
  for (const StringSet& s : set->strings) {
    GM_ASSIGN_OR_RETURN(bool empty, Empty(s));
    if (!empty) return false;
  }
  for (const ArraySet& s : set->arrays) {
    GM_ASSIGN_OR_RETURN(bool empty, Empty(s, depth));
    if (!empty) return false;
  }
  for (const ObjectSet& s : set->objects) {
    GM_ASSIGN_OR_RETURN(bool empty, Empty(s, depth));
    if (!empty) return false;
  }
  empty_[expr].proved = true;
  return true;
}

// Whether two of its patterns are seen to have no text in common.
bool Normaliser::PatternsClash(const StringSet& set) {
  const size_t count = std::min(set.patterns.size(), kComparedPatterns);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = i + 1; j < count; ++j) {
      if (patterns_.ValuesDisjoint(set.patterns[i], set.patterns[j])) return true;
    }
  }
  return false;
}

StatusOr<bool> Normaliser::Empty(const StringSet& set) {
  if (set.IsEmpty()) return true;
  if (!set.values) return PatternsClash(set);
  if (set.values->size() > kTestedValues) return false;
  for (const ScratchString& value : *set.values) {
    GM_ASSIGN_OR_RETURN(bool holds, patterns_.Contains(set, value));
    if (holds) return false;
  }
  return true;
}

StatusOr<bool> Normaliser::Empty(const ArraySet& set, int depth) {
  for (size_t i = 0; i < set.prefix.size() && static_cast<int64_t>(i) < set.min; ++i) {
    GM_ASSIGN_OR_RETURN(bool empty, Empty(set.prefix[i], depth - 1));
    if (empty) return true;
  }
  if (set.min > static_cast<int64_t>(set.prefix.size())) {
    GM_ASSIGN_OR_RETURN(bool empty, Empty(set.rest, depth - 1));
    if (empty) return true;
  }
  for (const ArraySet::Count& c : set.some) {
    GM_ASSIGN_OR_RETURN(bool misses, Misses(set, c, depth - 1));
    if (misses) return true;
  }
  return false;
}

// Whether the elements of `set`, each by itself, leave no way to meet a count.
StatusOr<bool> Normaliser::Misses(const ArraySet& set, const ArraySet::Count& count, int depth) {
  int64_t length = static_cast<int64_t>(set.prefix.size());
  if (length > count.from + kTestedElements) return false;
  GM_ASSIGN_OR_RETURN(bool few, Empty(pool_.And(set.rest, count.expr), depth));
  int64_t may = 0, must = 0;
  for (int64_t i = count.from; i < length; ++i) {
    ExprId element = set.prefix[static_cast<size_t>(i)];
    GM_ASSIGN_OR_RETURN(bool never, Empty(pool_.And(element, count.expr), depth));
    may += never ? 0 : 1;
    if (never || i >= set.min || count.max == kUnbounded) continue;
    GM_ASSIGN_OR_RETURN(bool always, Empty(pool_.And(element, pool_.Not(count.expr)), depth));
    must += always ? 1 : 0;
  }
  return (few && may < count.min) || must > count.max;
}

StatusOr<bool> Normaliser::Empty(const ObjectSet& set, int depth) {
  for (const ObjectSet::Named& n : set.named) {
    if (!n.required) continue;
    GM_ASSIGN_OR_RETURN(bool empty, Empty(n.value, depth - 1));
    if (empty) return true;
  }
  return false;
}

std::string Normaliser::ExplainEmpty(ExprId expr) {
  auto clash = clashes_.find(expr);
  if (clash != clashes_.end()) return clash->second;
  std::string where = pool_.ToString(expr, tree_.document());
  const ValueSet* set = SlotOf(expr).set;
  if (set == nullptr || set->IsEmpty()) return "no value meets " + where;
  for (const ObjectSet& o : set->objects) {
    for (const ObjectSet::Named& n : o.named) {
      if (!n.required) continue;
      StatusOr<bool> empty = ProvablyEmpty(n.value);
      if (!empty.ok() || !*empty) continue;
      auto inner = clashes_.find(n.value);
      return "the required property \"" + std::string(n.key) + "\" can have no value: " +
             (inner != clashes_.end()
                  ? inner->second
                  : "no value meets " + pool_.ToString(n.value, tree_.document()));
    }
  }
  return "no value meets " + where;
}

std::string Normaliser::ToString() const {
  std::string out;
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].set == nullptr) continue;
    out += pool_.ToString(ExprId(i), tree_.document()) + ":\n";
    std::string lines = slots_[i].set->ToString(pool_, tree_.document(), patterns_.texts());
    for (size_t at = 0; at < lines.size();) {
      size_t end = lines.find('\n', at);
      out += "  " + lines.substr(at, end + 1 - at);
      at = end + 1;
    }
  }
  return out;
}

}  // namespace grammask::internal
