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

namespace grammask::internal {

Status SchemaCombiner::At(Keyword keyword, const Status& status) const {
  // What already names its place is passed on.
  if (document_.BeginsWithPointer(status.message())) return status;
  return Error(status.code(), keyword, status.message());
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
    GM_ASSIGN_OR_RETURN(ArraySet arrays, Arrays());
    if (algebra_.Simplify(&arrays)) set_.arrays.push_back(std::move(arrays));
  }
  if (types & kTypeObject) {
    GM_ASSIGN_OR_RETURN(ObjectSet objects, Objects());
    if (algebra_.Simplify(&objects)) set_.objects.push_back(std::move(objects));
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
    switch (k) {
      case Keyword::kEnum:
      case Keyword::kConst:
        GM_RETURN_IF_ERROR(ApplyFinite(k));
        break;
      case Keyword::kRef:
      case Keyword::kDynamicRef:
      case Keyword::kRecursiveRef: {
        GM_ASSIGN_OR_RETURN(JsonId target, n_.tree_.Resolve(schema_, k, pool_.scope(expr_)));
        GM_ASSIGN_OR_RETURN(ExprId expr, Sub(target));
        GM_RETURN_IF_ERROR(ApplyExpr(k, expr));
        break;
      }
      case Keyword::kAllOf:
        GM_RETURN_IF_ERROR(ApplyList(k));
        break;
      case Keyword::kAnyOf:
        GM_RETURN_IF_ERROR(ApplyAnyOf());
        break;
      case Keyword::kOneOf:
        GM_RETURN_IF_ERROR(ApplyOneOf());
        break;
      case Keyword::kNot:
        GM_RETURN_IF_ERROR(ApplyNot());
        break;
      case Keyword::kIf:
        GM_RETURN_IF_ERROR(ApplyIf());
        break;
      case Keyword::kUnevaluatedItems:
        GM_RETURN_IF_ERROR(ApplyUnevaluated(k, &n_.evaluated_elements_, &set_.arrays));
        break;
      case Keyword::kUnevaluatedProperties:
        GM_RETURN_IF_ERROR(ApplyUnevaluated(k, &n_.evaluated_keys_, &set_.objects));
        break;
      default:
        GM_RETURN_IF_ERROR(ApplyDependencies(k));
        break;
    }
    if (Nothing(k)) break;
  }
  return std::move(set_);
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
    }
  }
  if (!values.strings.empty()) values.strings[0].Normalise();
  // Values first: their keys keep the order in which the schema writes them.
  StatusOr<ValueSet> both = algebra_.Intersect(values, set_);
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
    GM_RETURN_IF_ERROR(ApplyExpr(keyword, expr));
  }
  return {};
}

Status SchemaCombiner::ApplyAnyOf() {
  ValueSet out;
  for (JsonId e : document_.elements(*schema_.Get(Keyword::kAnyOf))) {
    GM_ASSIGN_OR_RETURN(ExprId expr, Sub(e));
    StatusOr<ValueSet> both = n_.Intersect(set_, n_.Known(expr));
    if (!both.ok()) return At(Keyword::kAnyOf, both.status());
    if (Status s = algebra_.Unite(&out, *both); !s.ok()) return At(Keyword::kAnyOf, s);
  }
  set_ = std::move(out);
  return {};
}

// Of each branch, within `base`, what no other branch holds. Branches that are provably apart need
// no complement.
template <class T>
StatusOr<std::vector<T>> SchemaCombiner::ExactlyOne(const std::vector<T>& base,
                                                    std::vector<const std::vector<T>*> branches) {
  std::vector<std::vector<T>> inside(branches.size());
  std::vector<size_t> alive;
  for (size_t i = 0; i < branches.size(); ++i) {
    GM_ASSIGN_OR_RETURN(inside[i], algebra_.MeetAll(base, *branches[i]));
    if (!inside[i].empty()) alive.push_back(i);
  }
  std::vector<std::vector<size_t>> overlaps(branches.size());
  for (size_t a = 0; a < alive.size(); ++a) {
    for (size_t b = a + 1; b < alive.size(); ++b) {
      bool apart = true;
      for (const T& x : inside[alive[a]]) {
        for (const T& y : inside[alive[b]]) {
          GM_RETURN_IF_ERROR(algebra_.Step());
          GM_ASSIGN_OR_RETURN(bool disjoint, n_.Disjoint(x, y));
          if (!disjoint) apart = false;
          if (!apart) break;
        }
        if (!apart) break;
      }
      if (apart) continue;
      overlaps[alive[a]].push_back(alive[b]);
      overlaps[alive[b]].push_back(alive[a]);
    }
  }
  std::vector<T> out;
  for (size_t i : alive) {
    std::vector<T> rest = std::move(inside[i]);
    for (size_t j : overlaps[i]) {
      GM_ASSIGN_OR_RETURN(rest, n_.SubtractCases(std::move(rest), *branches[j]));
    }
    for (T& c : rest) out.push_back(std::move(c));
  }
  return out;
}

Status SchemaCombiner::ApplyOneOf() {
  std::vector<const ValueSet*> branches;
  for (JsonId e : document_.elements(*schema_.Get(Keyword::kOneOf))) {
    GM_ASSIGN_OR_RETURN(ExprId expr, Sub(e));
    branches.push_back(&n_.Known(expr));
  }
  auto once = [&](bool ValueSet::*member) {
    return std::count_if(branches.begin(), branches.end(),
                         [&](const ValueSet* b) { return b->*member; }) == 1;
  };
  set_.null &= once(&ValueSet::null);
  set_.false_value &= once(&ValueSet::false_value);
  set_.true_value &= once(&ValueSet::true_value);
  auto cases = [&](auto member) -> Status {
    auto& mine = set_.*member;
    if (mine.empty()) return {};
    std::vector<std::remove_reference_t<decltype(mine)> const*> lists;
    lists.reserve(branches.size());
    for (const ValueSet* b : branches) lists.push_back(&(b->*member));
    auto result = ExactlyOne(mine, std::move(lists));
    if (!result.ok()) return At(Keyword::kOneOf, result.status());
    mine = *std::move(result);
    return {};
  };
  GM_RETURN_IF_ERROR(cases(&ValueSet::numbers));
  GM_RETURN_IF_ERROR(cases(&ValueSet::strings));
  GM_RETURN_IF_ERROR(cases(&ValueSet::arrays));
  return cases(&ValueSet::objects);
}

Status SchemaCombiner::ApplyNot() {
  GM_ASSIGN_OR_RETURN(ExprId expr, Sub(*schema_.Get(Keyword::kNot)));
  StatusOr<ValueSet> rest = n_.Subtract(set_, n_.Known(expr));
  if (!rest.ok()) return At(Keyword::kNot, rest.status());
  set_ = *std::move(rest);
  return {};
}

Status SchemaCombiner::ApplyIf() {
  if (!schema_.Has(Keyword::kThen) && !schema_.Has(Keyword::kElse)) return {};
  GM_ASSIGN_OR_RETURN(ExprId condition, Sub(*schema_.Get(Keyword::kIf)));
  StatusOr<ValueSet> yes = n_.Intersect(set_, n_.Known(condition));
  if (!yes.ok()) return At(Keyword::kIf, yes.status());
  StatusOr<ValueSet> no = n_.Subtract(set_, n_.Known(condition));
  if (!no.ok()) return At(Keyword::kIf, no.status());
  for (auto [keyword, branch] : {std::pair(Keyword::kThen, &yes), std::pair(Keyword::kElse, &no)}) {
    if (!schema_.Has(keyword)) continue;
    GM_ASSIGN_OR_RETURN(ExprId expr, Sub(*schema_.Get(keyword)));
    *branch = n_.Intersect(**branch, n_.Known(expr));
    if (!branch->ok()) return At(keyword, branch->status());
  }
  set_ = *std::move(yes);
  if (Status s = algebra_.Unite(&set_, *no); !s.ok()) return At(Keyword::kIf, s);
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
  GM_ASSIGN_OR_RETURN(std::vector<ObjectSet> without,
                      algebra_.MeetAll(set_.objects, std::vector<ObjectSet>{std::move(absent)}));
  GM_ASSIGN_OR_RETURN(std::vector<ObjectSet> with,
                      algebra_.MeetAll(set_.objects, std::vector<ObjectSet>{std::move(present)}));
  if (document_.IsObject(member.value) || document_.IsBool(member.value)) {
    StatusOr<ExprId> expr = Sub(member.value);
    if (!expr.ok()) return expr.status();
    GM_ASSIGN_OR_RETURN(with, algebra_.MeetAll(with, n_.Known(*expr).objects));
  }
  ValueSet both;
  both.objects = std::move(without);
  ValueSet more;
  more.objects = std::move(with);
  GM_RETURN_IF_ERROR(algebra_.Unite(&both, more));
  set_.objects = std::move(both.objects);
  return {};
}

Status SchemaCombiner::ApplyDependencies(Keyword keyword) {
  for (const JsonMember& m : document_.members(*schema_.Get(keyword))) {
    if (set_.objects.empty()) break;
    Status status = ApplyDependency(m);
    if (!status.ok()) return At(keyword, status);
  }
  return {};
}

// Splits the values by what is evaluated of them; in each case the keyword speaks of the others.
template <class T>
Status SchemaCombiner::ApplyUnevaluated(Keyword keyword, EvaluatedCases<T>* evaluated,
                                        std::vector<T>* sets) {
  if (sets->empty() || UnevaluatedIsAdditional(keyword)) return {};
  GM_ASSIGN_OR_RETURN(ExprId value, Sub(*schema_.Get(keyword)));
  auto cases = evaluated->Of(schema_, pool_.scope(expr_), *sets);
  if (!cases.ok()) return At(keyword, cases.status());
  bool single = cases->size() == 1;
  std::vector<T> out;
  for (auto& c : *cases) {
    StatusOr<std::vector<T>> rest =
        evaluated->Restrict(std::move(single ? *sets : c.sets), c.seen, value);
    if (!rest.ok()) return At(keyword, rest.status());
    for (T& set : *rest) {
      if (Status s = algebra_.Add(&out, std::move(set)); !s.ok()) return At(keyword, s);
    }
  }
  *sets = std::move(out);
  return {};
}

}  // namespace grammask::internal
