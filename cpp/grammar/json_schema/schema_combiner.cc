// The keywords of one schema to a union of typed cases.
//
// The keywords that speak of one type give one case of that type; enum and const replace the lot by
// their values, met with those cases. Then the keywords that apply other schemas make the set
// smaller one after another: $ref and allOf intersect, anyOf unites the intersections with its
// branches, oneOf keeps of each branch what the others do not hold, not subtracts, if splits in
// two, and dependencies split by whether the key is there. {"type":["string","null"],"minLength":1}
// is null and string 1... . Whatever is known of the set by then keeps the later steps small. Cost:
// the number of cases times what they hold.
//
// Keywords of one type: schema_cases.cc. Tests: tests/grammar/json_schema_test.cc.
#include "grammar/json_schema/schema_combiner.h"

#include <algorithm>
#include <bit>

#include "base/scratch.h"

namespace grammask::internal {

Status SchemaCombiner::At(Keyword keyword, const Status& status) const {
  // What already names its place is passed on.
  if (document_.BeginsWithPointer(status.message())) return status;
  return Error(status.code(), keyword, status.message());
}

Status SchemaCombiner::Tolerate(Keyword keyword, const Status& status, uint8_t types) {
  if (status.ok() || !n_.MayLeaveOut(status)) return status;
  n_.Note(expr_, schema_.node, KeywordName(keyword), status);
  set_.widened |= types;
  return {};
}

StatusOr<bool> SchemaCombiner::Tolerable(Keyword keyword, std::string_view pattern, uint8_t types) {
  if (!n_.widens()) return true;
  Status status = n_.patterns_.Matches(n_.patterns_.Intern(pattern), "").status();
  if (status.ok()) return true;
  GM_RETURN_IF_ERROR(Tolerate(keyword, status, types));
  return false;
}

std::string SchemaCombiner::KeywordsBefore(Keyword keyword) const {
  std::string out;
  for (uint64_t rest = schema_.present; rest != 0; rest &= rest - 1) {
    Keyword k = static_cast<Keyword>(std::countr_zero(rest));
    if (k >= keyword) break;
    out.append(out.empty() ? "" : ", ").append(KeywordName(k));
  }
  return out;
}

bool SchemaCombiner::Nothing(Keyword keyword) {
  if (!set_.IsEmpty()) return false;
  std::string note = document_.Pointer(schema_.node) + "/" + std::string(KeywordName(keyword));
  std::string before = KeywordsBefore(keyword);
  note += before.empty() ? " admits no value"
                         : " leaves no value of those that " + before + " beside it admit";
  n_.clashes_.try_emplace(expr_, std::move(note));
  return true;
}

StatusOr<ValueSet> SchemaCombiner::Run() {
  uint8_t types = schema_.types;
  set_.null = types & kTypeNull;
  set_.false_value = set_.true_value = types & kTypeBoolean;
  if (types & (kTypeInteger | kTypeNumber)) {
    GM_ASSIGN_OR_RETURN(NumberSet numbers, Numbers());
    if (!numbers.IsEmpty()) set_.numbers.push_back(std::move(numbers));
  }
  if (types & kTypeString) {
    GM_ASSIGN_OR_RETURN(StringSet strings, Strings());
    if (!strings.IsEmpty()) set_.strings.push_back(std::move(strings));
  }
  if (types & kTypeArray) {
    StatusOr<ArraySet> made = Arrays();
    GM_RETURN_IF_ERROR(Tolerate(Keyword::kItems, made.status(), kTypeArray));
    ArraySet arrays = made.ok() ? *std::move(made) : ArraySet{};
    if (algebra_.Simplify(&arrays)) set_.arrays.push_back(std::move(arrays));
  }
  if (types & kTypeObject) {
    StatusOr<ObjectSet> made = Objects();
    GM_RETURN_IF_ERROR(Tolerate(Keyword::kProperties, made.status(), kTypeObject));
    ObjectSet objects = made.ok() ? *std::move(made) : ObjectSet{};
    if (algebra_.Simplify(&objects)) set_.objects.push_back(std::move(objects));
  }
  for (Keyword k : {Keyword::kDisallow, Keyword::kDivisibleBy, Keyword::kExtends}) {
    if (!schema_.Has(k)) continue;
    GM_RETURN_IF_ERROR(Tolerate(
        k, Error(StatusCode::kUnsupported, k, "this keyword of draft 3 is not supported")));
  }
  if (base_) {
    GM_ASSIGN_OR_RETURN(set_, n_.Intersect(*base_, set_));
  }
  if (schema_.present != 0 &&
      Nothing(static_cast<Keyword>(63 - std::countl_zero(schema_.present)))) {
    return std::move(set_);
  }
  for (Keyword k :
       {Keyword::kEnum, Keyword::kConst, Keyword::kRef, Keyword::kDynamicRef,
        Keyword::kRecursiveRef, Keyword::kAllOf, Keyword::kAnyOf, Keyword::kOneOf, Keyword::kNot,
        Keyword::kIf, Keyword::kDependentRequired, Keyword::kDependentSchemas,
        Keyword::kDependencies, Keyword::kUnevaluatedItems, Keyword::kUnevaluatedProperties}) {
    if (!schema_.Has(k)) continue;
    Algebra::Budget budget(&algebra_, n_.Share());
    switch (k) {
      case Keyword::kEnum:
      case Keyword::kConst:
        GM_RETURN_IF_ERROR(Tolerate(k, ApplyFinite(k)));
        break;
      case Keyword::kRef:
      case Keyword::kDynamicRef:
      case Keyword::kRecursiveRef: {
        StatusOr<JsonId> target = n_.tree_.Resolve(schema_, k, pool_.scope(expr_));
        GM_RETURN_IF_ERROR(Tolerate(k, target.status()));
        if (!target.ok()) break;
        GM_ASSIGN_OR_RETURN(ExprId expr, Sub(*target));
        GM_RETURN_IF_ERROR(Tolerate(k, ApplyExpr(k, expr)));
        break;
      }
      case Keyword::kAllOf:
        GM_RETURN_IF_ERROR(ApplyList(k));
        break;
      case Keyword::kAnyOf:
        GM_RETURN_IF_ERROR(Tolerate(k, ApplyAnyOf()));
        break;
      case Keyword::kOneOf:
        GM_RETURN_IF_ERROR(Tolerate(k, ApplyOneOf()));
        break;
      case Keyword::kNot:
        GM_RETURN_IF_ERROR(Tolerate(k, ApplyNot()));
        break;
      case Keyword::kIf:
        GM_RETURN_IF_ERROR(Tolerate(k, ApplyIf()));
        break;
      case Keyword::kUnevaluatedItems:
        GM_RETURN_IF_ERROR(
            Tolerate(k, ApplyUnevaluated(k, &n_.evaluated_elements_, &set_.arrays), kTypeArray));
        break;
      case Keyword::kUnevaluatedProperties:
        GM_RETURN_IF_ERROR(
            Tolerate(k, ApplyUnevaluated(k, &n_.evaluated_keys_, &set_.objects), kTypeObject));
        break;
      default:
        GM_RETURN_IF_ERROR(ApplyDependencies(k));
        break;
    }
    if (Nothing(k)) break;
  }
  return std::move(set_);
}

StatusOr<ValueSet> SchemaCombiner::RunWithin(ValueSet base, int depth) {
  base_ = std::move(base);
  depth_ = depth;
  return Run();
}

Status SchemaCombiner::ApplyFinite(Keyword keyword) {
  JsonId value = *schema_.Get(keyword);
  ValueSet values;
  JsonId single[] = {value};
  std::span<const JsonId> list(single);
  if (keyword == Keyword::kEnum) list = document_.elements(value);
  for (JsonId element : list) {
    if (document_.IsArray(element) || document_.IsObject(element)) {
      GM_ASSIGN_OR_RETURN(ValueSet one, n_.ValueOf(element));
      for (ArraySet& a : one.arrays) values.arrays.push_back(std::move(a));
      for (ObjectSet& o : one.objects) values.objects.push_back(std::move(o));
    } else {
      GM_RETURN_IF_ERROR(n_.AddScalar(element, &values));
      if (!values.strings.empty()) values.strings[0].values->reserve(list.size());
    }
  }
  if (!values.strings.empty()) values.strings[0].Normalise();
  // Values first: their keys keep the order in which the schema writes them.
  auto meet = [&]() -> StatusOr<ValueSet> {
    if (!n_.widens()) return algebra_.Narrow(std::move(values), set_);
    StatusOr<ValueSet> both = algebra_.Intersect(values, set_);
    if (!n_.MayLeaveOut(both.status())) return both;
    // The values alone, without what the other keywords say of them.
    GM_RETURN_IF_ERROR(Tolerate(keyword, both.status()));
    values.widened = kTypeAll;
    return std::move(values);
  };
  StatusOr<ValueSet> both = meet();
  if (!both.ok()) return At(keyword, both.status());
  set_ = *std::move(both);
  return {};
}

Status SchemaCombiner::ApplyExpr(Keyword keyword, ExprId expr) {
  StatusOr<ValueSet> both = n_.Intersect(set_, n_.Known(expr));
  if (!both.ok()) return At(keyword, both.status());
  set_ = *std::move(both);
  return {};
}

Status SchemaCombiner::ApplyList(Keyword keyword) {
  for (JsonId e : document_.elements(*schema_.Get(keyword))) {
    GM_ASSIGN_OR_RETURN(ExprId expr, Sub(e));
    GM_ASSIGN_OR_RETURN(const Schema* within,
                        n_.Inline(schema_, keyword, pool_.scope(expr_), expr, depth_));
    if (within == nullptr) {
      GM_RETURN_IF_ERROR(Tolerate(keyword, ApplyExpr(keyword, expr)));
      continue;
    }
    GM_ASSIGN_OR_RETURN(
        set_, SchemaCombiner(&n_, *within, expr_).RunWithin(std::exchange(set_, {}), depth_ + 1));
  }
  return {};
}

Status SchemaCombiner::ApplyAnyOf() {
  ValueSet out;
  for (JsonId e : document_.elements(*schema_.Get(Keyword::kAnyOf))) {
    GM_ASSIGN_OR_RETURN(ExprId expr, Sub(e));
    StatusOr<ValueSet> both = n_.Intersect(set_, n_.Known(expr));
    if (n_.MayLeaveOut(both.status())) {
      // The branch alone, without what the other keywords say.
      GM_RETURN_IF_ERROR(Tolerate(Keyword::kAnyOf, both.status()));
      both = n_.Known(expr);
      both->widened = kTypeAll;
    }
    if (!both.ok()) return At(Keyword::kAnyOf, both.status());
    if (Status s = algebra_.Unite(&out, *both); !s.ok()) return At(Keyword::kAnyOf, s);
  }
  set_ = std::move(out);
  return {};
}

// Of each branch, within `base`, what no other branch holds. Branches that are provably apart need
// no complement. What is in the base and in a branch needs no other of which only that is known.
template <class T>
StatusOr<ScratchVector<T>> SchemaCombiner::ExactlyOne(
    const ScratchVector<T>& base, ScratchVector<const ScratchVector<T>*> branches,
    const ScratchVector<Branch>& kinds, Status* left_out) {
  // Where two branches hold everything, none holds a value alone.
  size_t all = 0;
  for (size_t i = 0; i < branches.size(); ++i) {
    all += kinds[i] != Branch::kLoose && HoldsAll(*branches[i]);
  }
  if (all > 1) return ScratchVector<T>();
  ScratchVector<ScratchVector<T>> inside(branches.size());
  ScratchVector<size_t> alive;
  for (size_t i = 0; i < branches.size(); ++i) {
    if (kinds[i] == Branch::kWithin) {
      inside[i] = *branches[i];
    } else {
      GM_ASSIGN_OR_RETURN(inside[i], algebra_.MeetAll(base, *branches[i]));
    }
    if (!inside[i].empty()) alive.push_back(i);
  }
  ScratchVector<ScratchVector<size_t>> overlaps(branches.size());
  for (size_t a = 0; a < alive.size(); ++a) {
    for (size_t b = a + 1; b < alive.size(); ++b) {
      bool apart = true;
      for (const T& x : inside[alive[a]]) {
        for (const T& y : inside[alive[b]]) {
          GM_RETURN_IF_ERROR(algebra_.Step());
          StatusOr<bool> disjoint = n_.Disjoint(x, y);
          if (!disjoint.ok() && !n_.MayLeaveOut(disjoint.status())) return disjoint.status();
          if (!disjoint.ok() || !*disjoint) apart = false;
          if (!apart) break;
        }
        if (!apart) break;
      }
      if (apart) continue;
      overlaps[alive[a]].push_back(alive[b]);
      overlaps[alive[b]].push_back(alive[a]);
    }
  }
  ScratchVector<T> out;
  for (size_t i : alive) {
    ScratchVector<T> rest = std::move(inside[i]);
    for (size_t j : overlaps[i]) {
      GM_ASSIGN_OR_RETURN(rest, n_.SubtractLoosely(std::move(rest), *branches[j],
                                                   kinds[j] == Branch::kLoose, left_out));
    }
    for (T& c : rest) out.push_back(std::move(c));
  }
  return out;
}

Status SchemaCombiner::ApplyOneOf() {
  const std::span<const JsonId> list = document_.elements(*schema_.Get(Keyword::kOneOf));
  ScratchVector<const ValueSet*> branches;
  ScratchVector<ValueSet> within;  // those that are combined within `set_`
  within.reserve(list.size());
  ScratchVector<bool> met;
  for (JsonId e : list) {
    GM_ASSIGN_OR_RETURN(ExprId expr, Sub(e));
    GM_ASSIGN_OR_RETURN(const Schema* inner,
                        n_.Inline(schema_, Keyword::kOneOf, pool_.scope(expr_), expr, depth_));
    met.push_back(inner != nullptr);
    if (inner == nullptr) {
      branches.push_back(&n_.Known(expr));
      continue;
    }
    // That one of the branches has no value is no reason for all of them to have none.
    const bool clashes = n_.clashes_.contains(expr_);
    GM_ASSIGN_OR_RETURN(ValueSet both,
                        SchemaCombiner(&n_, *inner, expr_).RunWithin(set_, depth_ + 1));
    if (!clashes) n_.clashes_.erase(expr_);
    within.push_back(std::move(both));
    branches.push_back(&within.back());
  }
  // Of branches that may be too large, several may hold a value that only one is meant to hold.
  Status left_out;
  auto once = [&](bool ValueSet::*member, TypeBit type) {
    int sure = 0, maybe = 0;
    for (const ValueSet* b : branches) (b->widened & type ? maybe : sure) += b->*member;
    return sure <= 1 && sure + maybe >= 1;
  };
  set_.null &= once(&ValueSet::null, kTypeNull);
  set_.false_value &= once(&ValueSet::false_value, kTypeBoolean);
  set_.true_value &= once(&ValueSet::true_value, kTypeBoolean);
  for (const ValueSet* b : branches) set_.widened |= b->widened;
  auto cases = [&](auto member, TypeBit type) -> Status {
    auto& mine = set_.*member;
    if (mine.empty()) return {};
    ScratchVector<std::remove_reference_t<decltype(mine)> const*> lists;
    lists.reserve(branches.size());
    ScratchVector<Branch> kinds;
    for (size_t i = 0; i < branches.size(); ++i) {
      lists.push_back(&(branches[i]->*member));
      kinds.push_back(met[i]                        ? Branch::kWithin
                      : branches[i]->widened & type ? Branch::kLoose
                                                    : Branch::kExact);
    }
    Status more;
    auto result = ExactlyOne(mine, std::move(lists), kinds, &more);
    if (!result.ok()) {
      return Tolerate(Keyword::kOneOf, At(Keyword::kOneOf, result.status()), type);
    }
    mine = *std::move(result);
    if (more.ok()) return {};
    set_.widened |= type;
    left_out = std::move(more);
    return {};
  };
  GM_RETURN_IF_ERROR(cases(&ValueSet::numbers, kTypeNumber));
  GM_RETURN_IF_ERROR(cases(&ValueSet::strings, kTypeString));
  GM_RETURN_IF_ERROR(cases(&ValueSet::arrays, kTypeArray));
  GM_RETURN_IF_ERROR(cases(&ValueSet::objects, kTypeObject));
  return Tolerate(Keyword::kOneOf, left_out, 0);
}

Status SchemaCombiner::ApplyNot() {
  GM_ASSIGN_OR_RETURN(ExprId expr, Sub(*schema_.Get(Keyword::kNot)));
  Status left_out;
  StatusOr<ValueSet> rest = n_.Subtract(set_, n_.Known(expr), &left_out);
  if (!rest.ok()) return At(Keyword::kNot, rest.status());
  set_ = *std::move(rest);
  return Tolerate(Keyword::kNot, left_out, 0);
}

Status SchemaCombiner::ApplyIf() {
  if (!schema_.Has(Keyword::kThen) && !schema_.Has(Keyword::kElse)) return {};
  GM_ASSIGN_OR_RETURN(ExprId condition, Sub(*schema_.Get(Keyword::kIf)));
  StatusOr<ValueSet> yes = n_.Intersect(set_, n_.Known(condition));
  if (!yes.ok()) return At(Keyword::kIf, yes.status());
  Status left_out;
  StatusOr<ValueSet> no = n_.Subtract(set_, n_.Known(condition), &left_out);
  if (!no.ok()) return At(Keyword::kIf, no.status());
  for (auto [keyword, branch] : {std::pair(Keyword::kThen, &yes), std::pair(Keyword::kElse, &no)}) {
    if (!schema_.Has(keyword)) continue;
    GM_ASSIGN_OR_RETURN(ExprId expr, Sub(*schema_.Get(keyword)));
    *branch = n_.Intersect(**branch, n_.Known(expr));
    if (!branch->ok()) return At(keyword, branch->status());
  }
  GM_RETURN_IF_ERROR(Tolerate(Keyword::kIf, left_out, 0));
  if (Status s = algebra_.Unite(&*yes, *no); !s.ok()) return At(Keyword::kIf, s);
  set_ = *std::move(yes);
  return {};
}

Status SchemaCombiner::ApplyDependency(const JsonMember& member) {
  ObjectSet absent, present;
  absent.named.push_back({member.key, kNone});
  present.named.push_back({member.key, kAnything, true});
  auto require = [&](JsonId name) {
    if (document_.text(name) != member.key) {
      present.named.push_back({document_.text(name), kAnything, true});
    }
  };
  if (document_.IsString(member.value)) require(member.value);
  if (document_.IsArray(member.value)) {
    for (JsonId name : document_.elements(member.value)) {
      bool seen = std::any_of(present.named.begin(), present.named.end(),
                              [&](const auto& n) { return n.key == document_.text(name); });
      if (!seen) require(name);
    }
  }
  algebra_.Simplify(&present);  // it counts what is required
  GM_ASSIGN_OR_RETURN(ScratchVector<ObjectSet> without,
                      algebra_.MeetAll(set_.objects, ScratchVector<ObjectSet>{std::move(absent)}));
  GM_ASSIGN_OR_RETURN(ScratchVector<ObjectSet> with,
                      algebra_.MeetAll(set_.objects, ScratchVector<ObjectSet>{std::move(present)}));
  if (document_.IsObject(member.value) || document_.IsBool(member.value)) {
    StatusOr<ExprId> expr = Sub(member.value);
    if (!expr.ok()) return expr.status();
    GM_ASSIGN_OR_RETURN(with, algebra_.MeetAll(with, n_.Known(*expr).objects));
    set_.widened |= n_.Known(*expr).widened & kTypeObject;
  }
  ValueSet both;
  both.objects = std::move(without);
  ValueSet more;
  more.objects = std::move(with);
  GM_RETURN_IF_ERROR(algebra_.Unite(&both, more));
  set_.objects = std::move(both.objects);
  return {};
}

// The same with cases that overlap: without the key, or what it asks for, with or without it. Cases
// of several such keys then lie within one another, where they would else multiply.
Status SchemaCombiner::ApplyAsChoice(const JsonMember& member) {
  ScratchVector<ObjectSet> choice(2);
  choice[0].named.push_back({member.key, kNone});
  // The key has its place among the names, whether it is there or not.
  choice[1].named.push_back({member.key, kAnything});
  if (document_.IsObject(member.value) || document_.IsBool(member.value)) {
    GM_ASSIGN_OR_RETURN(ExprId expr, Sub(member.value));
    ScratchVector<ObjectSet> with = {std::move(choice[1])};
    choice.pop_back();
    GM_ASSIGN_OR_RETURN(with, algebra_.MeetAll(with, n_.Known(expr).objects));
    for (ObjectSet& o : with) choice.push_back(std::move(o));
    set_.widened |= n_.Known(expr).widened & kTypeObject;
  } else {
    JsonId single[] = {member.value};
    std::span<const JsonId> list(single);
    if (document_.IsArray(member.value)) list = document_.elements(member.value);
    ScratchVector<ObjectSet::Named>& names = choice[1].named;
    for (JsonId name : list) {
      if (document_.text(name) == member.key) continue;
      bool seen = std::any_of(names.begin(), names.end(),
                              [&](const auto& n) { return n.key == document_.text(name); });
      if (!seen) names.push_back({document_.text(name), kAnything, true});
    }
  }
  GM_ASSIGN_OR_RETURN(set_.objects, n_.MeetObjects(set_.objects, choice));
  return {};
}

Status SchemaCombiner::ApplyDependencies(Keyword keyword) {
  constexpr size_t kFew = 4;
  bool few = document_.members(*schema_.Get(keyword)).size() <= kFew ||
             schema_.Has(Keyword::kUnevaluatedProperties);
  for (const JsonMember& m : document_.members(*schema_.Get(keyword))) {
    if (set_.objects.empty()) break;
    Status status = few ? ApplyDependency(m) : ApplyAsChoice(m);
    if (!status.ok()) GM_RETURN_IF_ERROR(Tolerate(keyword, At(keyword, status), kTypeObject));
  }
  return {};
}

// Splits the values by what is evaluated of them; in each case the keyword speaks of the others.
template <class T>
Status SchemaCombiner::ApplyUnevaluated(Keyword keyword, EvaluatedCases<T>* evaluated,
                                        ScratchVector<T>* sets) {
  if (sets->empty() || UnevaluatedIsAdditional(keyword)) return {};
  if (n_.DependsOnWidened(expr_)) {
    return Error(StatusCode::kUnsupported, keyword,
                 "what is evaluated is not known, as a schema that decides it was widened");
  }
  GM_ASSIGN_OR_RETURN(ExprId value, Sub(*schema_.Get(keyword)));
  auto cases = evaluated->Of(schema_, pool_.scope(expr_), *sets);
  if (!cases.ok()) return At(keyword, cases.status());
  bool single = cases->size() == 1;
  ScratchVector<T> kept;
  if (n_.widens()) kept = *sets;
  ScratchVector<T> out;
  for (auto& c : *cases) {
    StatusOr<ScratchVector<T>> rest =
        evaluated->Restrict(std::move(single ? *sets : c.sets), c.seen, value);
    Status status = rest.status();
    for (size_t i = 0; status.ok() && i < rest->size(); ++i) {
      status = algebra_.Add(&out, std::move((*rest)[i]));
    }
    if (!status.ok()) {
      *sets = std::move(kept);
      return At(keyword, status);
    }
  }
  *sets = std::move(out);
  return {};
}

}  // namespace grammask::internal
