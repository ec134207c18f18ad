// The keywords that speak of one type to one case of that type.
//
// {"minimum":0,"properties":{"a":{"type":"null"}},"required":["a","b"]} says number >= 0 and the
// object {a: null; b: any; any...}. A name under `properties` that patterns match as well gets the
// intersection; a name that is only required comes after those that `properties` lists. Linear in
// the keywords, and in names times patterns.
//
// Source: the validation specifications of drafts 4 to 2020-12. Tests:
// tests/grammar/json_schema_test.cc.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "base/scratch.h"
#include "grammar/json_schema/formats.h"
#include "grammar/json_schema/pattern_values.h"
#include "grammar/json_schema/schema_combiner.h"

namespace grammask::internal {

StatusOr<Decimal> SchemaCombiner::Number(Keyword keyword) {
  StatusOr<Decimal> value = Decimal::Parse(document_.text(*schema_.Get(keyword)));
  if (!value.ok()) return At(keyword, value.status());
  return value;
}

// A count. An upper bound beyond limits.max_repeat stands for "no bound": no text that is short
// enough to be written can tell them apart.
StatusOr<int64_t> SchemaCombiner::Count(Keyword keyword) {
  StatusOr<Decimal> number = Number(keyword);
  bool least = KeywordName(keyword).starts_with("min");
  uint8_t type = keyword <= Keyword::kMaxLength     ? kTypeString
                 : keyword <= Keyword::kMaxContains ? kTypeArray
                                                    : kTypeObject;
  if (!number.ok()) {
    GM_RETURN_IF_ERROR(Tolerate(keyword, number.status(), type));
    return least ? 0 : int64_t{kUnbounded};
  }
  const Decimal& value = *number;
  if (!value.IsInteger()) {
    return Error(
        StatusCode::kInvalidArgument, keyword,
        "must be a whole number from 0 up, not " + document_.Excerpt(*schema_.Get(keyword)));
  }
  std::optional<int64_t> count = value.ToInt64();
  if (count && *count <= n_.limits_.max_repeat) return int64_t{*count};
  if (!least) return int64_t{kUnbounded};
  Status over = Error(StatusCode::kResourceExhausted, keyword,
                      document_.Excerpt(*schema_.Get(keyword)) + " is over limits.max_repeat, " +
                          std::to_string(n_.limits_.max_repeat));
  GM_RETURN_IF_ERROR(Tolerate(keyword, over, type));
  return int64_t{0};
}

StatusOr<NumberSet> SchemaCombiner::Numbers() {
  NumberSet set;
  if (!(schema_.types & kTypeNumber)) set.kind = NumberSet::Kind::kIntegers;
  bool conditions = false;
  for (auto both : {std::pair(Keyword::kMinimum, Keyword::kExclusiveMinimum),
                    std::pair(Keyword::kMaximum, Keyword::kExclusiveMaximum)}) {
    const Keyword inclusive = both.first, exclusive = both.second;
    auto bound = [&](Keyword k, bool open) -> Status {
      GM_ASSIGN_OR_RETURN(Decimal value, Number(k));
      conditions = true;
      if (inclusive == Keyword::kMinimum) {
        set.AtLeast(value, open);
      } else {
        set.AtMost(value, open);
      }
      return {};
    };
    // Draft 4's boolean makes the other bound exclusive.
    bool open =
        schema_.Has(exclusive) && document_.kind(*schema_.Get(exclusive)) == JsonKind::kTrue;
    if (schema_.Has(inclusive)) {
      GM_RETURN_IF_ERROR(Tolerate(inclusive, bound(inclusive, open), kTypeNumber));
    }
    if (schema_.Has(exclusive) && document_.IsNumber(*schema_.Get(exclusive))) {
      GM_RETURN_IF_ERROR(Tolerate(exclusive, bound(exclusive, true), kTypeNumber));
    }
  }
  auto multiple = [&]() -> Status {
    GM_ASSIGN_OR_RETURN(Decimal divisor, Number(Keyword::kMultipleOf));
    if (divisor.is_zero()) {
      return Error(StatusCode::kInvalidArgument, Keyword::kMultipleOf,
                   "must be a number greater than 0");
    }
    if (static_cast<int64_t>(divisor.digits().size()) > Decimal::kMaxDigits) {
      return Error(StatusCode::kUnsupported, Keyword::kMultipleOf,
                   "has more than " + std::to_string(Decimal::kMaxDigits) + " digits");
    }
    conditions = true;
    set.multiples_of.push_back(std::move(divisor));
    return {};
  };
  if (schema_.Has(Keyword::kMultipleOf)) {
    GM_RETURN_IF_ERROR(Tolerate(Keyword::kMultipleOf, multiple(), kTypeNumber));
  }
  if (conditions) set.Normalise();
  return set;
}

StatusOr<StringSet> SchemaCombiner::Strings() {
  StringSet set;
  if (schema_.Has(Keyword::kMinLength)) {
    GM_ASSIGN_OR_RETURN(set.min_length, Count(Keyword::kMinLength));
  }
  if (schema_.Has(Keyword::kMaxLength)) {
    GM_ASSIGN_OR_RETURN(set.max_length, Count(Keyword::kMaxLength));
  }
  if (schema_.Has(Keyword::kPattern)) {
    std::string_view pattern = document_.text(*schema_.Get(Keyword::kPattern));
    GM_ASSIGN_OR_RETURN(bool tolerable, Tolerable(Keyword::kPattern, pattern, kTypeString));
    if (tolerable) set.values = PatternValues(pattern);
    if (tolerable && !set.values) set.patterns.emplace_back(pattern);
  }
  if (std::optional<JsonId> format = schema_.Get(Keyword::kFormat)) {
    // A format that neither the caller nor any draft defines is an annotation.
    if (document_.IsString(*format)) {
      std::string name(document_.text(*format));
      const auto* own = n_.options_.formats;
      if (own != nullptr && own->contains(name)) {
        set.patterns.emplace_back(PatternOfFormat(own->at(name)));
      } else if (IsKnownFormat(name)) {
        set.formats.emplace_back(name);
      }
    }
  }
  if (set.values) set.Normalise();
  return set;
}

// Whether `keyword`, unevaluatedItems or unevaluatedProperties, means what additionalItems or
// additionalProperties would: no other keyword of this schema evaluates anything.
bool SchemaCombiner::UnevaluatedIsAdditional(Keyword keyword) const {
  for (Keyword k : {Keyword::kRef, Keyword::kDynamicRef, Keyword::kRecursiveRef, Keyword::kAllOf,
                    Keyword::kAnyOf, Keyword::kOneOf, Keyword::kIf, Keyword::kDependentSchemas,
                    Keyword::kDependencies}) {
    if (schema_.Has(k)) return false;
  }
  return keyword == Keyword::kUnevaluatedProperties || !schema_.Has(Keyword::kContains);
}

Status SchemaCombiner::Items(ArraySet* set) {
  std::optional<JsonId> prefix = schema_.Get(Keyword::kPrefixItems);
  std::optional<JsonId> rest = schema_.Get(Keyword::kItems);
  if (rest && document_.IsArray(*rest)) {
    if (prefix) {
      return Error(StatusCode::kInvalidArgument, Keyword::kItems,
                   "must be a schema where prefixItems lists the first elements");
    }
    prefix = rest;
    rest = schema_.Get(Keyword::kAdditionalItems);
  }
  if (prefix) {
    for (JsonId e : document_.elements(*prefix)) {
      GM_ASSIGN_OR_RETURN(ExprId expr, Sub(e));
      set->prefix.push_back(expr);
    }
  }
  if (!rest && schema_.Has(Keyword::kUnevaluatedItems)) {
    if (!UnevaluatedIsAdditional(Keyword::kUnevaluatedItems)) return {};
    rest = schema_.Get(Keyword::kUnevaluatedItems);
  }
  if (rest) {
    GM_ASSIGN_OR_RETURN(set->rest, Sub(*rest));
  } else {
    set->closed = n_.options_.strict && !set->prefix.empty();
  }
  return {};
}

Status SchemaCombiner::Contains(ArraySet* set) {
  if (!schema_.Has(Keyword::kContains)) return {};
  ArraySet::Count count;
  GM_ASSIGN_OR_RETURN(count.expr, Sub(*schema_.Get(Keyword::kContains)));
  if (schema_.Has(Keyword::kMinContains)) {
    GM_ASSIGN_OR_RETURN(count.min, Count(Keyword::kMinContains));
  }
  if (schema_.Has(Keyword::kMaxContains)) {
    GM_ASSIGN_OR_RETURN(count.max, Count(Keyword::kMaxContains));
  }
  set->some.push_back(count);
  return {};
}

StatusOr<ArraySet> SchemaCombiner::Arrays() {
  ArraySet set;
  GM_RETURN_IF_ERROR(Items(&set));
  if (schema_.Has(Keyword::kMinItems)) {
    GM_ASSIGN_OR_RETURN(set.min, Count(Keyword::kMinItems));
  }
  if (schema_.Has(Keyword::kMaxItems)) {
    GM_ASSIGN_OR_RETURN(set.max, Count(Keyword::kMaxItems));
  }
  if (schema_.Has(Keyword::kUniqueItems) &&
      document_.kind(*schema_.Get(Keyword::kUniqueItems)) == JsonKind::kTrue) {
    set.unique = schema_.node;
  }
  GM_RETURN_IF_ERROR(Tolerate(Keyword::kContains, Contains(&set), kTypeArray));
  return set;
}

Status SchemaCombiner::Properties(ObjectSet* set) {
  std::optional<JsonId> rest = schema_.Get(Keyword::kAdditionalProperties);
  if (!rest && schema_.Has(Keyword::kUnevaluatedProperties) &&
      UnevaluatedIsAdditional(Keyword::kUnevaluatedProperties)) {
    rest = schema_.Get(Keyword::kUnevaluatedProperties);
  }
  ExprId rest_value = kAnything;
  if (rest) {
    GM_ASSIGN_OR_RETURN(rest_value, Sub(*rest));
  } else {
    set->closed = n_.options_.strict && !schema_.Has(Keyword::kUnevaluatedProperties) &&
                  (schema_.Has(Keyword::kProperties) || schema_.Has(Keyword::kPatternProperties));
  }
  ObjectSet::Group group;
  if (std::optional<JsonId> patterns = schema_.Get(Keyword::kPatternProperties)) {
    for (const JsonMember& m : document_.members(*patterns)) {
      GM_ASSIGN_OR_RETURN(ExprId value, Sub(m.value));
      GM_ASSIGN_OR_RETURN(bool tolerable,
                          Tolerable(Keyword::kPatternProperties, m.key, kTypeObject));
      if (!tolerable) {
        // Any key that matches no other pattern may match this one.
        rest_value = set->closed ? value : pool_.Or(ScratchVector<ExprId>{rest_value, value});
        set->closed = false;
        continue;
      }
      group.patterns.push_back({n_.patterns_.Intern(m.key), value});
    }
  }
  if (std::optional<JsonId> properties = schema_.Get(Keyword::kProperties)) {
    set->named.reserve(document_.members(*properties).size());
    for (const JsonMember& m : document_.members(*properties)) {
      GM_ASSIGN_OR_RETURN(ExprId value, Sub(m.value));
      for (const ObjectSet::Pattern& p : group.patterns) {
        StatusOr<bool> matches = n_.patterns_.Matches(p.pattern, m.key);
        if (!matches.ok()) return At(Keyword::kPatternProperties, matches.status());
        if (*matches) value = pool_.And(value, p.value);
      }
      set->named.push_back({m.key, value, false, true});
    }
  }
  if (group.patterns.empty()) {
    set->rest = rest_value;
  } else {
    group.rest = rest_value;
    set->groups.push_back(std::move(group));
  }
  return {};
}

Status SchemaCombiner::Required(ObjectSet* set) {
  if (!schema_.Has(Keyword::kRequired)) return {};
  std::span<const JsonId> names = document_.elements(*schema_.Get(Keyword::kRequired));
  absl::flat_hash_map<std::string_view, size_t, TextHash> index;
  bool indexed = set->named.size() + names.size() > 16;
  if (indexed) {
    for (size_t i = 0; i < set->named.size(); ++i) index[set->named[i].key] = i;
  }
  auto find = [&](std::string_view key) -> size_t {
    if (indexed) {
      auto it = index.find(key);
      return it == index.end() ? set->named.size() : it->second;
    }
    size_t i = 0;
    while (i < set->named.size() && set->named[i].key != key) ++i;
    return i;
  };
  for (JsonId name : names) {
    std::string_view key = document_.text(name);
    size_t i = find(key);
    if (i == set->named.size()) {
      StatusOr<ExprId> value = algebra_.ExtraValue(*set, key);
      if (!value.ok()) return At(Keyword::kPatternProperties, value.status());
      if (indexed) index[key] = i;
      set->named.push_back({key, *value, true});
    }
    set->named[i].required = true;
  }
  return {};
}

StatusOr<ObjectSet> SchemaCombiner::Objects() {
  ObjectSet set;
  GM_RETURN_IF_ERROR(Properties(&set));
  GM_RETURN_IF_ERROR(Required(&set));
  if (schema_.Has(Keyword::kPropertyNames)) {
    GM_ASSIGN_OR_RETURN(set.names, Sub(*schema_.Get(Keyword::kPropertyNames)));
  }
  if (schema_.Has(Keyword::kMinProperties)) {
    GM_ASSIGN_OR_RETURN(set.min, Count(Keyword::kMinProperties));
  }
  if (schema_.Has(Keyword::kMaxProperties)) {
    GM_ASSIGN_OR_RETURN(set.max, Count(Keyword::kMaxProperties));
  }
  return set;
}

}  // namespace grammask::internal
