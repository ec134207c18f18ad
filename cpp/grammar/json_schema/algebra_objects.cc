// Sets of objects: intersection and complement.
//
// Two objects meet key by key: a key that either names is named in both, with the value that the
// other asks of it, be it as a named or as an extra key. An object outside a set is told by what it
// violates: a required key is missing or has a wrong value, an optional one has, some extra key
// has a wrong name or value, there are too few or too many members; each is a case. The complement
// of {a: integer} required is "no a" and "a that is no integer". Cost: linear in the keys for each
// case.
//
// Tests: tests/grammar/json_schema_test.cc.
#include <algorithm>
#include <optional>

#include "base/hash_slots.h"
#include "base/mix.h"
#include "base/scratch.h"
#include "grammar/json_schema/algebra.h"

namespace grammask::internal {
namespace {

// Finds named keys. Looks behind the key found last, where sets with the same keys in the same
// order have the next one; an index is built where there are many and that fails often.
class KeyIndex {
 public:
  explicit KeyIndex(const ObjectSet& set) : set_(set) {}
  const ObjectSet::Named* Find(std::string_view key) {
    const ScratchVector<ObjectSet::Named>& named = set_.named;
    if (next_ < named.size() && SameKey(named[next_].key, key)) return &named[next_++];
    if (named.size() <= kScanned || ++scans_ <= kScans) {
      for (const ObjectSet::Named& n : named) {
        if (SameKey(n.key, key)) return Found(&n);
      }
      return nullptr;
    }
    if (!places_.has_value()) Build();
    const auto place =
        places_->Find(HashText(key), [&](uint32_t i) { return named[i].key == key; });
    if (place.has_value()) return Found(&named[*place]);
    return nullptr;
  }

 private:
  static constexpr size_t kScanned = 12;  // keys
  static constexpr size_t kScans = 4;     // through more than that

  void Build() {
    places_.emplace(set_.named.size());
    for (size_t i = 0; i < set_.named.size(); ++i) {
      const uint32_t hash = HashText(set_.named[i].key);
      size_t place = 0;
      places_->Find(hash, [](uint32_t) { return false; }, &place);  // keys differ
      places_->Put(place, hash, static_cast<uint32_t>(i));
    }
  }

  const ObjectSet::Named* Found(const ObjectSet::Named* n) {
    next_ = static_cast<size_t>(n - set_.named.data()) + 1;
    return n;
  }

  const ObjectSet& set_;
  size_t next_ = 0, scans_ = 0;
  std::optional<HashSlots> places_;
};

}  // namespace

StatusOr<ExprId> Algebra::ExtraValue(const ObjectSet& set, std::string_view key) {
  absl::InlinedVector<ExprId, 4> parts = {set.rest};
  for (const ObjectSet::Group& group : set.groups) {
    bool any = false;
    for (const ObjectSet::Pattern& p : group.patterns) {
      GM_ASSIGN_OR_RETURN(bool matches, patterns_.Matches(p.pattern, key));
      if (!matches) continue;
      any = true;
      parts.push_back(p.value);
    }
    if (!any) parts.push_back(group.rest);
  }
  for (const ObjectSet::Some& none : set.none) {
    GM_ASSIGN_OR_RETURN(bool satisfies, KeySatisfies(none, key));
    if (satisfies) parts.push_back(pool_.Not(none.value));
  }
  return parts.size() == 1 ? parts[0] : pool_.And(parts);
}

bool Algebra::Simplify(ObjectSet* set) {
  int64_t required = 0;
  for (const ObjectSet::Named& n : set->named) {
    if (!n.required) continue;
    if (n.value == kNone) return false;
    ++required;
  }
  set->min = std::max(set->min, required);
  std::erase_if(set->none, [&](const ObjectSet::Some& s) {
    return s.key == kNone || pool_.And(s.value, set->rest) == kNone;
  });
  if (set->rest == kNone) {
    set->groups.clear();
    if (!set->some.empty()) return false;
    // Keys that may not occur need no mention where no extra key may occur either.
    std::erase_if(set->named, [](const ObjectSet::Named& n) { return n.value == kNone; });
    set->max = std::min(set->max, static_cast<int64_t>(set->named.size()));
  }
  if (set->min > set->max) return false;
  for (const ObjectSet::Some& s : set->some) {
    if (s.value == kNone || s.key == kNone || pool_.And(s.value, set->rest) == kNone) return false;
  }
  return true;
}

StatusOr<bool> Algebra::KeySatisfies(const ObjectSet::Some& some, std::string_view key) {
  for (PatternId p : some.match) {
    GM_ASSIGN_OR_RETURN(bool matches, patterns_.Matches(p, key));
    if (!matches) return false;
  }
  for (PatternId p : some.no_match) {
    GM_ASSIGN_OR_RETURN(bool matches, patterns_.Matches(p, key));
    if (matches) return false;
  }
  if (some.key == kAnything) return true;
  return key_in_(some.key, key);
}

// `cases` name all keys that `owner` names, and more. What `owner` says of some extra key may be
// true of one of the keys that are now named, or of one that is still extra.
Status Algebra::ExpandSome(const ObjectSet& owner, ScratchVector<ObjectSet>* cases) {
  KeyIndex index(owner);
  for (const ObjectSet::Some& some : owner.some) {
    ScratchVector<ObjectSet> next;
    for (ObjectSet& c : *cases) {
      GM_RETURN_IF_ERROR(Step(c.named.size() + 1));
      // The keys that satisfy it, and their values then.
      absl::InlinedVector<std::pair<size_t, ExprId>, 16> satisfying;
      // Whether it is true of c as it is, and whether of each member that may come or not.
      bool met = false, of_all = !c.HasExtras();
      int64_t others = 0;  // members that do not satisfy it
      for (size_t i = 0; i < c.named.size() && !met; ++i) {
        const ObjectSet::Named& n = c.named[i];
        if (n.value == kNone) continue;
        ExprId value = kNone;
        if (index.Find(n.key) == nullptr) {
          value = pool_.And(n.value, some.value);
          if (value != kNone) {
            GM_ASSIGN_OR_RETURN(bool satisfies, KeySatisfies(some, n.key));
            if (!satisfies) value = kNone;
          }
        }
        if (value != kNone) satisfying.emplace_back(i, value);
        if (value == n.value) {
          met = n.required;
        } else if (value == kNone && n.required) {
          ++others;
        } else {
          of_all = false;
        }
      }
      if (met) {
        next.push_back(std::move(c));
        continue;
      }
      // One member besides those that do not satisfy it: one case instead of one a key.
      if (of_all) {
        c.min = std::max(c.min, others + 1);
        next.push_back(std::move(c));
        continue;
      }
      for (const auto& [i, value] : satisfying) {
        ObjectSet with = c;
        with.named[i].value = value;
        with.named[i].required = true;
        next.push_back(std::move(with));
      }
      if (std::find(c.some.begin(), c.some.end(), some) == c.some.end()) c.some.push_back(some);
      next.push_back(std::move(c));
    }
    *cases = std::move(next);
  }
  return {};
}

// The named keys of both: those that either declares, a's before b's, then the others.
Status Algebra::MeetNamed(const ObjectSet& a, const ObjectSet& b,
                          ScratchVector<ObjectSet::Named>* named) {
  named->reserve(a.named.size() + b.named.size());
  // The same key in the other set, or nullptr.
  absl::InlinedVector<const ObjectSet::Named*, 32> in_b, in_a;
  in_b.reserve(a.named.size());
  in_a.assign(b.named.size(), nullptr);
  KeyIndex index(b);
  for (const ObjectSet::Named& x : a.named) {
    in_b.push_back(index.Find(x.key));
    if (in_b.back() != nullptr) in_a[static_cast<size_t>(in_b.back() - b.named.data())] = &x;
  }
  for (bool declared : {true, false}) {
    for (size_t i = 0; i < a.named.size(); ++i) {
      const ObjectSet::Named &x = a.named[i], *y = in_b[i];
      // A key that only b declares stands where b has it.
      if (x.declared != declared) continue;
      if (!declared && y != nullptr && y->declared) continue;
      ObjectSet::Named n = x;
      if (y != nullptr) {
        n.value = pool_.And(x.value, y->value);
        n.required |= y->required;
      } else {
        GM_ASSIGN_OR_RETURN(ExprId other, ExtraValue(b, x.key));
        n.value = pool_.And(x.value, other);
      }
      named->push_back(n);
    }
    for (size_t i = 0; i < b.named.size(); ++i) {
      const ObjectSet::Named &y = b.named[i], *x = in_a[i];
      if (y.declared != declared) continue;
      if (x != nullptr && (x->declared || !declared)) continue;
      ObjectSet::Named n = y;
      if (x != nullptr) {
        n.value = pool_.And(x->value, y.value);
        n.required |= x->required;
      } else {
        GM_ASSIGN_OR_RETURN(ExprId other, ExtraValue(a, y.key));
        n.value = pool_.And(y.value, other);
      }
      named->push_back(n);
    }
  }
  return {};
}

Status Algebra::Meet(const ObjectSet& a, const ObjectSet& b, ScratchVector<ObjectSet>* out) {
  GM_RETURN_IF_ERROR(Step(4 + a.named.size() + b.named.size()));
  ObjectSet both;
  GM_RETURN_IF_ERROR(MeetNamed(a, b, &both.named));
  both.rest = pool_.And(a.rest, b.rest);
  both.groups = a.groups;
  for (const ObjectSet::Group& g : b.groups) {
    if (std::find(both.groups.begin(), both.groups.end(), g) == both.groups.end()) {
      both.groups.push_back(g);
    }
  }
  both.none = a.none;
  for (const ObjectSet::Some& n : b.none) {
    if (std::find(both.none.begin(), both.none.end(), n) == both.none.end()) {
      both.none.push_back(n);
    }
  }
  both.names = pool_.And(a.names, b.names);
  both.min = std::max(a.min, b.min);
  both.max = std::min(a.max, b.max);
  both.closed = a.closed || b.closed;
  both.unordered = a.unordered || b.unordered;
  if (a.some.empty() && b.some.empty()) {
    if (Simplify(&both)) out->push_back(std::move(both));
    return {};
  }
  ScratchVector<ObjectSet> cases = {std::move(both)};
  GM_RETURN_IF_ERROR(ExpandSome(a, &cases));
  GM_RETURN_IF_ERROR(ExpandSome(b, &cases));
  for (ObjectSet& c : cases) {
    if (Simplify(&c)) out->push_back(std::move(c));
  }
  return {};
}

// `set` without any extra key of which `some` is true, and nothing else asked of the extra keys.
ObjectSet Algebra::WithoutExtra(const ObjectSet& set, const ObjectSet::Some& some) {
  ObjectSet out = set;
  ExprId wrong = pool_.Not(some.value);
  const bool any_key = some.key == kAnything;
  if (any_key && some.match.empty() && some.no_match.empty()) {
    out.rest = wrong;
  } else if (any_key && some.no_match.empty() && some.match.size() == 1) {
    out.groups.push_back({{{some.match[0], wrong}}, kAnything});
  } else if (any_key && some.match.empty()) {
    ObjectSet::Group group{{}, wrong};
    for (PatternId p : some.no_match) group.patterns.push_back({p, kAnything});
    out.groups.push_back(std::move(group));
  } else {
    out.none.push_back(some);
  }
  return out;
}

// What an object outside `set` may do wrong with keys that `set` does not name.
Status Algebra::OutsideExtras(const ObjectSet& set, ScratchVector<ObjectSet>* out) {
  // Named without condition, so that they are not extra.
  ObjectSet free;
  for (const ObjectSet::Named& n : set.named) free.named.push_back({n.key, kAnything});
  auto add = [&](ObjectSet::Some some) {
    ObjectSet c = free;
    c.some.push_back(std::move(some));
    if (Simplify(&c)) out->push_back(std::move(c));
  };
  if (set.rest != kAnything) add({.value = pool_.Not(set.rest)});
  for (const ObjectSet::Group& g : set.groups) {
    ObjectSet::Some unmatched{.value = pool_.Not(g.rest)};
    for (const ObjectSet::Pattern& p : g.patterns) {
      if (p.value != kAnything) add({.match = {p.pattern}, .value = pool_.Not(p.value)});
      unmatched.no_match.push_back(p.pattern);
    }
    if (g.rest != kAnything) add(std::move(unmatched));
  }
  if (set.names != kAnything) add({.key = pool_.Not(set.names)});
  for (const ObjectSet::Some& some : set.some) {
    ObjectSet none = WithoutExtra(free, some);
    if (Simplify(&none)) out->push_back(std::move(none));
  }
  for (const ObjectSet::Some& none : set.none) add(none);
  return Step(free.named.size() + 1);
}

Status Algebra::Outside(const ObjectSet& set, ScratchVector<ObjectSet>* out) {
  auto add = [&](ObjectSet c) {
    if (Simplify(&c)) out->push_back(std::move(c));
  };
  int64_t required = 0;
  for (const ObjectSet::Named& n : set.named) {
    if (n.required) {
      ++required;
      // Missing, or there with a wrong value: one case.
      add({.named = {{n.key, pool_.Not(n.value)}}});
    } else if (n.value != kAnything) {
      add({.named = {{n.key, pool_.Not(n.value), true}}});
    }
    if (set.names != kAnything && n.value != kNone) {
      GM_ASSIGN_OR_RETURN(bool named_well, key_in_(set.names, n.key));
      if (!named_well) add({.named = {{n.key, kAnything, true}}});
    }
    GM_RETURN_IF_ERROR(Step());
  }
  // A count that the required keys imply is no condition of its own.
  if (set.min > required) add({.max = set.min - 1});
  bool implied = set.rest == kNone && set.max >= static_cast<int64_t>(set.named.size());
  if (set.max != kUnbounded && !implied) add({.min = set.max + 1});
  return OutsideExtras(set, out);
}

}  // namespace grammask::internal
