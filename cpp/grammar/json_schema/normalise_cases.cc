// Unions of objects, kept small.
//
// Intersections, differences and complements of unions of cases multiply the cases. Most of the
// products are empty or lie within another, which shows once it is known what their members hold:
// with {kind: "a"} and {kind: "b"}, that "a" and "b" are two values. So members whose values are
// scalars are settled: evaluated, and replaced by one expression for all equal sets. Then empty
// cases are dropped, and cases within others. What is outside a case with a tag, a required member
// with few values, is told by the tag first and by other members only where the tag is right:
// without {kind: "a", x: integer} everything is {kind: not "a"} and {kind: "a", x: not integer}. So
// the complement of a hundred tagged cases has a hundred cases, not a product. Cost: for each
// piece, the cases that it is compared with, times what they name.
//
// Tests: tests/grammar/json_schema_test.cc, json_schema_random_test.cc.
#include <algorithm>

#include "base/scratch.h"
#include "grammar/json_schema/normalise.h"

namespace grammask::internal {
namespace {

constexpr uint8_t kAllTypes =
    kTypeNull | kTypeBoolean | kTypeNumber | kTypeString | kTypeArray | kTypeObject;

// An intersection of more parts than this is not evaluated only to compare it.
constexpr size_t kSettledParts = 16;

// Cases are compared with up to so many others.
constexpr size_t kCompared = 128;

// The most values of a member that tells cases apart.
constexpr size_t kTagValues = 64;

uint8_t TypesIn(const ValueSet& set) {
  uint8_t types = 0;
  if (set.null) types |= kTypeNull;
  if (set.false_value || set.true_value) types |= kTypeBoolean;
  if (!set.numbers.empty()) types |= kTypeNumber;
  if (!set.strings.empty()) types |= kTypeString;
  if (!set.arrays.empty()) types |= kTypeArray;
  if (!set.objects.empty()) types |= kTypeObject;
  return types;
}

// The types of which some value is outside the set.
uint8_t TypesOutside(const ValueSet& set) {
  uint8_t types = 0;
  if (!set.null) types |= kTypeNull;
  if (!set.false_value || !set.true_value) types |= kTypeBoolean;
  if (!HoldsAll(set.numbers)) types |= kTypeNumber;
  if (!HoldsAll(set.strings)) types |= kTypeString;
  if (!HoldsAll(set.arrays)) types |= kTypeArray;
  if (!HoldsAll(set.objects)) types |= kTypeObject;
  return types;
}

// Whether the set is one value, in the form that every set of just this value has.
bool IsSingle(const ValueSet& set) {
  size_t values = size_t{set.null} + size_t{set.false_value} + size_t{set.true_value} +
                  set.numbers.size() + set.strings.size() + set.arrays.size() + set.objects.size();
  if (values != 1 || !set.arrays.empty() || !set.objects.empty()) return false;
  if (!set.strings.empty()) {
    const StringSet& s = set.strings[0];
    if (!s.values || s.values->size() != 1) return false;
    return s == StringSet{.values = s.values};
  }
  if (set.numbers.empty()) return true;
  const NumberSet& n = set.numbers[0];
  return n.lower && n == NumberSet::Only(n.lower->value);
}

// Whether the set is a short list of values.
bool IsShortList(const ValueSet& set) {
  if (!set.arrays.empty() || !set.objects.empty()) return false;
  size_t count = set.numbers.size();
  for (const NumberSet& n : set.numbers) {
    if (!n.lower || n != NumberSet::Only(n.lower->value)) return false;
  }
  for (const StringSet& s : set.strings) {
    if (!s.values) return false;
    count += s.values->size();
  }
  return count <= kTagValues;
}

uint64_t Byte(char c) { return static_cast<uint8_t>(c); }

}  // namespace

StatusOr<uint8_t> Normaliser::TypesOf(ExprId expr, int depth) {
  switch (pool_.kind(expr)) {
    case ExprKind::kTrue:
      return uint8_t{kAllTypes};
    case ExprKind::kFalse:
      return uint8_t{0};
    case ExprKind::kSchema:
    case ExprKind::kValue: {
      GM_ASSIGN_OR_RETURN(const ValueSet* set, TryEvaluate(expr));
      return set == nullptr ? kAllTypes : TypesIn(*set);
    }
    case ExprKind::kNot: {
      ExprId part = pool_.parts(expr)[0];
      if (pool_.kind(part) >= ExprKind::kAnd && SlotOf(part).set == nullptr) {
        return uint8_t{kAllTypes};
      }
      GM_ASSIGN_OR_RETURN(const ValueSet* set, TryEvaluate(part));
      return set == nullptr ? kAllTypes : static_cast<uint8_t>(TypesOutside(*set) | set->widened);
    }
    case ExprKind::kAnd:
    case ExprKind::kOr: {
      if (depth == 0) return uint8_t{kAllTypes};
      bool both = pool_.kind(expr) == ExprKind::kAnd;
      uint8_t types = both ? kAllTypes : 0;
      ScratchVector<ExprId> parts(pool_.parts(expr).begin(), pool_.parts(expr).end());
      for (ExprId p : parts) {
        GM_ASSIGN_OR_RETURN(uint8_t of_part, TypesOf(p, depth - 1));
        types = both ? types & of_part : types | of_part;
      }
      return uint8_t{types};
    }
  }
  return uint8_t{kAllTypes};
}

StatusOr<ExprId> Normaliser::Settle(ExprId expr) {
  if (expr == kAnything || expr == kNone) return expr;
  if (expr.value < settled_.size() && settled_[expr.value].has_value()) {
    return ExprId{*settled_[expr.value]};
  }
  ExprId settled = expr;
  bool large = pool_.kind(expr) >= ExprKind::kAnd && pool_.parts(expr).size() > kSettledParts;
  if (!large) {
    GM_ASSIGN_OR_RETURN(uint8_t types, TypesOf(expr));
    if (types == 0) {
      settled = kNone;
    } else if ((types & (kTypeArray | kTypeObject)) == 0) {
      GM_ASSIGN_OR_RETURN(const ValueSet* set, TryEvaluate(expr));
      if (set == nullptr) return expr;
      GM_ASSIGN_OR_RETURN(settled, SettleScalar(expr, *set));
    } else if (types == kAllTypes) {
      return expr;  // more may be known later
    }
  }
  if (expr.value >= settled_.size()) settled_.resize(pool_.size());
  settled_[expr.value] = settled;
  return settled;
}

StatusOr<ExprId> Normaliser::SettleScalar(ExprId expr, const ValueSet& set) {
  if (!set.arrays.empty() || !set.objects.empty()) return expr;
  Scalars scalars{set.null, set.false_value, set.true_value, set.numbers, {}};
  for (const StringSet& s : set.strings) {
    GM_ASSIGN_OR_RETURN(bool empty, Empty(s));
    if (!empty) scalars.strings.push_back(s);
  }
  if (!set.null && !set.false_value && !set.true_value && set.numbers.empty() &&
      scalars.strings.empty()) {
    return ExprId{kNone};
  }
  if (set.widened != 0) return expr;
  bool single = IsSingle(set);
  auto [it, fresh] = scalars_.try_emplace(std::move(scalars), expr);
  if (fresh && single) pool_.MarkSingle(expr);
  return ExprId{it->second};
}

StatusOr<bool> Normaliser::Settle(ObjectSet* set) {
  for (ObjectSet::Named& n : set->named) {
    GM_ASSIGN_OR_RETURN(n.value, Settle(n.value));
    if (n.required && n.value == kNone) return false;
  }
  GM_ASSIGN_OR_RETURN(set->rest, Settle(set->rest));
  return algebra_.Simplify(set);
}

StatusOr<bool> Normaliser::Within(ExprId a, ExprId b, int depth) {
  if (a == b || b == kAnything || a == kNone) return true;
  if (a == kAnything || b == kNone || depth == 0 || pool_.IsSingle(b)) return false;
  if (pool_.IsSingle(a)) {
    ExprId other = pool_.Not(a);
    if (b == other) return false;
    if (pool_.kind(b) == ExprKind::kNot && pool_.IsSingle(pool_.parts(b)[0])) return true;
    if (pool_.kind(b) == ExprKind::kAnd) {
      std::span<const ExprId> parts = pool_.parts(b);
      if (std::binary_search(parts.begin(), parts.end(), other)) return false;
    }
  }
  Emptiness known = within_[std::pair(a, b)];
  if (known.proved) return true;
  if (known.depth >= depth) return false;
  within_[std::pair(a, b)].depth = depth;
  GM_ASSIGN_OR_RETURN(bool within, FindWithin(a, b, depth));
  if (within) within_[std::pair(a, b)].proved = true;
  return bool{within};
}

StatusOr<bool> Normaliser::FindWithin(ExprId a, ExprId b, int depth) {
  auto parts_of = [&](ExprId e) {
    return ScratchVector<ExprId>(pool_.parts(e).begin(), pool_.parts(e).end());
  };
  if (pool_.kind(b) == ExprKind::kAnd) {
    for (ExprId p : parts_of(b)) {
      GM_ASSIGN_OR_RETURN(bool within, Within(a, p, depth - 1));
      if (!within) return false;
    }
    return true;
  }
  if (pool_.kind(a) == ExprKind::kAnd) {
    for (ExprId p : parts_of(a)) {
      GM_ASSIGN_OR_RETURN(bool within, Within(p, b, depth - 1));
      if (within) return true;
    }
  }
  if (pool_.kind(a) == ExprKind::kNot && pool_.kind(b) == ExprKind::kNot) {
    return Within(pool_.parts(b)[0], pool_.parts(a)[0], depth - 1);
  }
  GM_ASSIGN_OR_RETURN(uint8_t types_a, TypesOf(a));
  if (pool_.kind(b) == ExprKind::kNot) {
    GM_ASSIGN_OR_RETURN(uint8_t types_b, TypesOf(pool_.parts(b)[0]));
    if ((types_a & types_b) == 0) return true;
  }
  bool known = SlotOf(a).set != nullptr && SlotOf(b).set != nullptr;
  if (!known && (types_a & (kTypeArray | kTypeObject)) != 0) return false;
  GM_ASSIGN_OR_RETURN(const ValueSet* in_a, TryEvaluate(a));
  if (in_a == nullptr) return false;
  GM_ASSIGN_OR_RETURN(const ValueSet* in_b, TryEvaluate(b));
  return in_b == nullptr ? StatusOr<bool>(false) : Within(*in_a, *in_b, depth - 1);
}

StatusOr<bool> Normaliser::Within(const ValueSet& a, const ValueSet& b, int depth) {
  if (b.widened != 0) return false;
  if (a.null > b.null || a.false_value > b.false_value || a.true_value > b.true_value) return false;
  GM_ASSIGN_OR_RETURN(ScratchVector<NumberSet> numbers, SubtractCases(a.numbers, b.numbers));
  if (!numbers.empty()) return false;
  GM_ASSIGN_OR_RETURN(ScratchVector<StringSet> strings, SubtractCases(a.strings, b.strings));
  if (!strings.empty()) return false;
  for (const ArraySet& x : a.arrays) {
    if (std::none_of(b.arrays.begin(), b.arrays.end(),
                     [&](const ArraySet& y) { return y.IsAll() || x == y; })) {
      return false;
    }
  }
  for (const ObjectSet& x : a.objects) {
    bool found = false;
    for (const ObjectSet& y : b.objects) {
      GM_ASSIGN_OR_RETURN(found, Within(x, y, depth));
      if (found) break;
    }
    if (!found) return false;
  }
  return true;
}

// Whether every order of members that `a` has is one that `b` has, too.
bool Normaliser::KeepsOrder(const ObjectSet& a, const ObjectSet& b) {
  if (b.unordered || a.unordered) return b.unordered;
  size_t next = 0;
  bool beyond = false;  // a member that b does not name came
  for (size_t i = 0; i < a.named.size(); ++i) {
    if (a.named[i].value == kNone) continue;
    size_t place = b.PlaceOf(a.named[i].key, i);
    if (place == b.named.size()) {
      beyond = true;
      continue;
    }
    if (beyond || place < next) return false;
    next = place + 1;
  }
  return true;
}

StatusOr<bool> Normaliser::Within(const ObjectSet& a, const ObjectSet& b, int depth) {
  if (a.min < b.min || a.max > b.max) return false;
  // An extra member of a would have a place of its own in b.
  if (a.HasExtras() && b.named.size() > a.named.size()) return false;
  // What is plain comes first: mostly some member has values that are seen not to be within.
  bool aligned = a.named.size() == b.named.size();  // the same keys in the same places
  for (size_t i = 0, n = std::min(a.named.size(), b.named.size()); i < n; ++i) {
    const ObjectSet::Named &in_a = a.named[i], &in_b = b.named[i];
    if (!SameKey(in_a.key, in_b.key)) {
      aligned = false;
      continue;
    }
    if (in_b.required && !in_a.required) return false;
    const ExprId x = in_a.value, y = in_b.value;
    if (x == y || x == kNone || y == kAnything) continue;
    if (x == kAnything || y == kNone || pool_.IsSingle(y)) return false;
  }
  for (size_t i = b.named.size(); i-- > 0;) {  // the last ones are those that few sets name
    size_t place = aligned ? i : a.PlaceOf(b.named[i].key, i);
    if (place == a.named.size()) {
      if (a.HasExtras() || b.named[i].required) return false;
      continue;
    }
    const ObjectSet::Named &in_a = a.named[place], &in_b = b.named[i];
    if (in_b.required && !in_a.required) return false;
    if (b.closed && in_a.declared && !in_b.declared && !in_b.required) return false;
  }
  if (b.closed && (!a.closed || a.groups != b.groups)) return false;
  auto holds = [](const auto& list, const auto& item) {
    return std::find(list.begin(), list.end(), item) != list.end();
  };
  bool extras = a.HasExtras();
  for (const ObjectSet::Group& g : b.groups) {
    if (extras && !holds(a.groups, g)) return false;
  }
  for (const ObjectSet::Some& s : b.some) {
    if (a.named.size() != b.named.size() || !holds(a.some, s)) return false;
  }
  for (const ObjectSet::Some& s : b.none) {
    if (a.named.size() != b.named.size() || !holds(a.none, s)) return false;
  }
  const bool orders = aligned && !a.unordered ? true : KeepsOrder(a, b);
  if (!orders) return false;
  if (extras) {
    GM_ASSIGN_OR_RETURN(bool rest, Within(a.rest, b.rest, depth));
    if (!rest) return false;
  }
  GM_ASSIGN_OR_RETURN(bool names, Within(a.names, b.names, depth));
  if (!names) return false;
  for (size_t i = 0; i < a.named.size(); ++i) {
    const ObjectSet::Named& n = a.named[i];
    size_t place = aligned ? i : b.PlaceOf(n.key, i);
    ExprId value;
    if (place < b.named.size()) {
      value = b.named[place].value;
    } else {
      // A key that only a names might be one of which b.some speaks.
      if (b.closed || !b.some.empty()) return false;
      GM_ASSIGN_OR_RETURN(value, algebra_.ExtraValue(b, n.key));
    }
    GM_ASSIGN_OR_RETURN(bool within, Within(n.value, value, depth));
    if (!within) return false;
  }
  return true;
}

Normaliser::Outline Normaliser::OutlineOf(const ObjectSet& set) {
  Outline outline{.extras = set.HasExtras()};
  for (const ObjectSet::Named& n : set.named) {
    if (!n.required && n.value == kAnything) continue;
    // Any few bits of a key do; keys that share theirs are seen as one.
    const size_t size = n.key.size();
    uint64_t h = size;
    if (size > 0) {
      h = h << 24 ^ Byte(n.key[0]) << 16 ^ Byte(n.key[size / 2]) << 8 ^ Byte(n.key[size - 1]);
    }
    const uint64_t bit = uint64_t{1} << (h * 0x9E3779B97F4A7C15 >> 58);
    if (n.required) outline.required |= bit;
    if (n.value != kAnything) outline.limited |= bit;
  }
  return outline;
}

Status Normaliser::AddCase(ObjectSet set, Union* all) {
  ScratchVector<ObjectSet>& cases = all->cases;
  ScratchVector<Outline>& outlines = all->outlines;
  const size_t compared = cases.size() <= kCompared ? cases.size() : 0;
  GM_RETURN_IF_ERROR(algebra_.Step(1 + 4 * compared));
  const Outline outline = OutlineOf(set);
  for (size_t i = outlines.size(); i < cases.size(); ++i) outlines.push_back(OutlineOf(cases[i]));
  size_t kept = 0;
  for (size_t i = 0; i < compared; ++i) {
    ObjectSet& other = cases[i];
    // Where both hold, they are equal, and the first stays.
    if (kept == i && MayBeWithin(outline, outlines[i])) {
      GM_ASSIGN_OR_RETURN(bool within, Within(set, other));
      if (within) return {};
    }
    if (MayBeWithin(outlines[i], outline)) {
      GM_ASSIGN_OR_RETURN(bool covered, Within(other, set));
      if (covered) continue;
    }
    if (kept != i) {
      cases[kept] = std::move(other);
      outlines[kept] = outlines[i];
    }
    ++kept;
  }
  if (compared > 0) {
    cases.resize(kept);
    outlines.resize(kept);
  }
  cases.push_back(std::move(set));
  outlines.push_back(outline);
  return {};
}

// What Disjoint finds of a set and itself, and counted as that.
StatusOr<bool> Normaliser::EmptyCase(const ObjectSet& set) {
  GM_ASSIGN_OR_RETURN(bool empty, Empty(set, kEmptinessDepth + 1));
  if (empty) return true;
  const size_t keys = set.named.size();
  if (set.min > 0 || !set.some.empty()) {
    GM_RETURN_IF_ERROR(algebra_.Step(4 + 2 * keys + 2 * set.some.size() * (keys + 1)));
  }
  return false;
}

StatusOr<bool> Normaliser::Apart(const ObjectSet& a, const ObjectSet& b) {
  if (a.min > b.max || b.min > a.max) return true;
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (size_t i = 0; i < one->named.size(); ++i) {
      const ObjectSet::Named& n = one->named[i];
      if (!n.required) continue;
      size_t place = other->PlaceOf(n.key, i);
      ExprId value;
      if (place < other->named.size()) {
        value = other->named[place].value;
      } else {
        GM_ASSIGN_OR_RETURN(value, algebra_.ExtraValue(*other, n.key));
      }
      if (value == n.value) continue;
      const ValueSet *set = SlotOf(n.value).set, *in_other = SlotOf(value).set;
      if (set != nullptr && in_other != nullptr && PlainlyApart(*set, *in_other)) return true;
      GM_ASSIGN_OR_RETURN(value, Settle(pool_.And(n.value, value)));
      if (value == kNone) return true;
    }
  }
  return false;
}

StatusOr<ScratchVector<ObjectSet>> Normaliser::MeetObjects(const ScratchVector<ObjectSet>& a,
                                                           const ScratchVector<ObjectSet>& b) {
  if ((a.size() <= 1 && b.size() <= 1) || HoldsAll(a) || HoldsAll(b)) return algebra_.MeetAll(a, b);
  Union out;
  ScratchVector<ObjectSet> met, settled = b;
  for (ObjectSet& y : settled) GM_RETURN_IF_ERROR(Settle(&y).status());
  for (const ObjectSet& x : a) {
    for (const ObjectSet& y : settled) {
      GM_RETURN_IF_ERROR(algebra_.Step());
      GM_ASSIGN_OR_RETURN(bool apart, Apart(x, y));
      if (apart) continue;
      met.clear();
      GM_RETURN_IF_ERROR(algebra_.Meet(x, y, &met));
      for (ObjectSet& m : met) {
        GM_ASSIGN_OR_RETURN(bool possible, Settle(&m));
        if (!possible) continue;
        if (b.size() > 1) {
          GM_RETURN_IF_ERROR(AddCase(std::move(m), &out));
        } else {
          out.cases.push_back(std::move(m));
        }
      }
    }
  }
  return std::move(out.cases);
}

StatusOr<ValueSet> Normaliser::Intersect(const ValueSet& a, const ValueSet& b) {
  if (a.objects.size() <= 1 && b.objects.size() <= 1) return algebra_.Intersect(a, b);
  GM_ASSIGN_OR_RETURN(ValueSet both, algebra_.IntersectOthers(a, b));
  GM_ASSIGN_OR_RETURN(both.objects, MeetObjects(a.objects, b.objects));
  return both;
}

// Where `outside` is one way not to be in `minus`, by a member that has few values in it: that.
StatusOr<const ObjectSet::Named*> Normaliser::TagOf(const ObjectSet& outside,
                                                    const ObjectSet& minus) {
  const ObjectSet::Named* none = nullptr;
  if (outside.named.size() != 1 || !outside.some.empty() || outside.named[0].required) return none;
  size_t place = minus.PlaceOf(outside.named[0].key, 0);
  if (place == minus.named.size()) return none;
  const ObjectSet::Named& n = minus.named[place];
  if (!n.required || outside.named[0].value != pool_.Not(n.value)) return none;
  GM_ASSIGN_OR_RETURN(uint8_t types, TypesOf(n.value));
  if ((types & (kTypeArray | kTypeObject)) != 0) return none;
  GM_ASSIGN_OR_RETURN(const ValueSet* set, TryEvaluate(n.value));
  return set != nullptr && IsShortList(*set) ? &n : none;
}

Status Normaliser::SubtractObject(const ObjectSet& from, const ObjectSet& minus,
                                  const ScratchVector<ObjectSet>& outside, Union* rest) {
  ScratchVector<ObjectSet> met;
  auto add = [&](const ObjectSet& x, const ObjectSet& y) -> Status {
    // Most ways to be outside ask one member for what the other set does not give it.
    if (y.named.size() == 1) {
      size_t place = x.PlaceOf(y.named[0].key, static_cast<size_t>(&y - outside.data()));
      if (place < x.named.size() && (x.named[place].required || y.named[0].required) &&
          pool_.And(x.named[place].value, y.named[0].value) == kNone) {
        return algebra_.Step();
      }
    }
    met.clear();
    GM_RETURN_IF_ERROR(algebra_.Meet(x, y, &met));
    for (ObjectSet& m : met) {
      GM_ASSIGN_OR_RETURN(bool possible, Settle(&m));
      if (!possible) continue;
      GM_ASSIGN_OR_RETURN(bool empty, EmptyCase(m));
      if (!empty) GM_RETURN_IF_ERROR(AddCase(std::move(m), rest));
    }
    return {};
  };
  ObjectSet base = from;
  ScratchVector<const ObjectSet*> others;
  for (const ObjectSet& o : outside) {
    GM_ASSIGN_OR_RETURN(const ObjectSet::Named* tag, TagOf(o, minus));
    if (tag == nullptr || !base.some.empty()) {
      others.push_back(&o);
      continue;
    }
    GM_RETURN_IF_ERROR(add(base, o));
    ObjectSet right;
    right.named.push_back({tag->key, tag->value, true});
    met.clear();
    GM_RETURN_IF_ERROR(algebra_.Meet(base, right, &met));
    if (met.empty()) return {};
    GM_ASSIGN_OR_RETURN(bool possible, Settle(&met[0]));
    if (!possible) return {};
    base = std::move(met[0]);
  }
  for (const ObjectSet* o : others) GM_RETURN_IF_ERROR(add(base, *o));
  return {};
}

StatusOr<ScratchVector<ObjectSet>> Normaliser::SubtractObjects(ScratchVector<ObjectSet> a,
                                                               const ScratchVector<ObjectSet>& b) {
  for (const ObjectSet& unsettled : b) {
    if (a.empty()) break;
    ObjectSet minus = unsettled;
    GM_ASSIGN_OR_RETURN(bool possible, Settle(&minus));
    if (!possible) continue;
    Union rest;
    ScratchVector<ObjectSet> touched;
    for (ObjectSet& x : a) {
      GM_RETURN_IF_ERROR(algebra_.Step());
      GM_ASSIGN_OR_RETURN(bool disjoint, Disjoint(x, minus));
      (disjoint ? rest.cases : touched).push_back(std::move(x));
    }
    if (!touched.empty()) {
      GM_ASSIGN_OR_RETURN(ScratchVector<ObjectSet> outside,
                          algebra_.ComplementAll(ScratchVector<ObjectSet>{minus}));
      for (const ObjectSet& x : touched) {
        GM_RETURN_IF_ERROR(SubtractObject(x, minus, outside, &rest));
      }
    }
    a = std::move(rest.cases);
  }
  return a;
}

StatusOr<ValueSet> Normaliser::Complement(const ValueSet& set) {
  ValueSet others = set;
  others.objects.clear();
  GM_ASSIGN_OR_RETURN(ValueSet outside, algebra_.Complement(others));
  GM_ASSIGN_OR_RETURN(outside.objects, SubtractObjects(ScratchVector<ObjectSet>(1), set.objects));
  return outside;
}

}  // namespace grammask::internal
