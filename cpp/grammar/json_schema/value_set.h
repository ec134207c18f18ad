// The algebra's values: sets of JSON values as unions of typed cases, with symbolic sets for what
// arrays and objects hold.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_VALUE_SET_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_VALUE_SET_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "base/hash_slots.h"
#include "base/ids.h"
#include "base/scratch.h"
#include "grammar/json_schema/dynamic_scope.h"
#include "grammar/json_schema/json_document.h"
#include "grammar/json_schema/numbers.h"
#include "grammar/json_schema/schema_tree.h"
#include "grammar/json_schema/strings.h"

namespace grammask::internal {

using ExprId = Id<struct ExprTag>;        // a symbolic set of JSON values
using PatternId = Id<struct PatternTag>;  // a regular expression for keys

enum class ExprKind : uint8_t { kTrue, kFalse, kSchema, kValue, kAnd, kOr, kNot };

inline constexpr ExprId kAnything{0};
inline constexpr ExprId kNone{1};

// Hash-consed expressions over the schemas and values of one document. Equal expressions have
// equal ids; And and Or are flat, sorted and without repetition; x and not x cancel.
class ExprPool {
 public:
  ExprPool();
  ExprId Schema(JsonId node, ScopeId scope);  // what the schema at `node` admits, inside `scope`
  ExprId Value(JsonId node);                  // the one value at `node`
  ExprId And(std::span<const ExprId> parts);
  ExprId And(ExprId a, ExprId b) {
    if (a == b || b == kAnything) return a;
    if (a == kAnything) return b;
    ExprId parts[] = {a, b};
    return And(parts);
  }
  ExprId Or(std::span<const ExprId> parts);
  ExprId Not(ExprId part);
  // `id` is a set of one value, and no other expression so marked is the same value: two that are
  // marked have nothing in common.
  void MarkSingle(ExprId id);
  bool IsSingle(ExprId id) const { return id.value < single_.size() && single_[id.value]; }

  ExprKind kind(ExprId id) const { return exprs_[id.value].kind; }
  JsonId node(ExprId id) const { return JsonId(exprs_[id.value].first); }     // kSchema kValue
  ScopeId scope(ExprId id) const { return ScopeId(exprs_[id.value].count); }  // kSchema
  std::span<const ExprId> parts(ExprId id) const {                            // kAnd kOr kNot
    const Expr& e = exprs_[id.value];
    return {parts_.data() + e.first, e.count};
  }
  size_t size() const { return exprs_.size(); }
  // "And(#/a, Not(#/b))"; cut where it nests deeper than a few levels.
  std::string ToString(ExprId id, const JsonDocument& document) const;

 private:
  struct Expr {
    ExprKind kind;
    uint32_t first;  // into parts_, or the node
    uint32_t count;  // of parts, or the scope
  };
  // The expression like this one for which same(number) holds, added where there is none.
  template <class Same>
  ExprId Find(uint64_t hash, Expr expr, std::span<const ExprId> parts, Same&& same);
  ExprId Intern(ExprKind kind, std::span<const ExprId> parts);
  ExprId Leaf(ExprKind kind, JsonId node, ScopeId scope);
  ExprId Combine(ExprKind kind, std::span<const ExprId> parts);

  ScratchVector<Expr> exprs_;
  ScratchVector<ExprId> parts_;
  ScratchVector<bool> single_;
  HashSlots ids_{64};
};

// Arrays whose first elements are in `prefix`, all others in `rest`.
struct ArraySet {
  ScratchVector<ExprId> prefix;
  ExprId rest = kAnything;
  int64_t min = 0, max = kUnbounded;  // elements
  // Of the elements from `from` on, at least `min` and at most `max` are in `expr`.
  struct Count {
    ExprId expr;
    int64_t from = 0;
    int64_t min = 1, max = kUnbounded;
    friend bool operator==(const Count&, const Count&) = default;
  };
  ScratchVector<Count> some;
  std::optional<JsonId> unique;   // the schema whose uniqueItems asks that no two elements be equal
  std::optional<JsonId> repeats;  // the schema outside of whose uniqueItems it is: two are equal
  // In strict mode: no elements after the prefix, because the schema speaks of none.
  bool closed = false;

  ExprId at(size_t index) const { return index < prefix.size() ? prefix[index] : rest; }
  bool IsAll() const {
    return prefix.empty() && rest == kAnything && min == 0 && max == kUnbounded && some.empty() &&
           !unique && !repeats && !closed;
  }
  friend bool operator==(const ArraySet&, const ArraySet&) = default;
};

// Whether two keys are equal. Most that are lie in the same place of the document, most that are
// not differ in their lengths or ends.
inline bool SameKey(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  if (a.data() == b.data() || a.empty()) return true;
  return a.front() == b.front() && a.back() == b.back() && a == b;
}

// Objects. A key is either named (listed in `named`) or extra.
struct ObjectSet {
  struct Named {
    std::string_view key;
    ExprId value;  // kNone: the key may not occur
    bool required = false;
    bool declared = false;  // by `properties`
    friend bool operator==(const Named&, const Named&) = default;
  };
  struct Pattern {
    PatternId pattern;
    ExprId value;
    friend bool operator==(const Pattern&, const Pattern&) = default;
  };
  // For each extra key: the values of all matching patterns, or `rest` where none matches.
  struct Group {
    ScratchVector<Pattern> patterns;
    ExprId rest = kAnything;
    friend bool operator==(const Group&, const Group&) = default;
  };
  // Some extra key matches all of `match` and none of `no_match`, is (as a string) in `key`, and
  // has a value in `value`.
  struct Some {
    ScratchVector<PatternId> match, no_match;
    ExprId key = kAnything;
    ExprId value = kAnything;
    friend bool operator==(const Some&, const Some&) = default;
  };

  // Each key once, in the order of the text: the declared ones first.
  ScratchVector<Named> named;
  ExprId rest = kAnything;  // for the value of each extra key
  ScratchVector<Group> groups;
  ExprId names = kAnything;           // for each key, as a string
  int64_t min = 0, max = kUnbounded;  // members
  ScratchVector<Some> some;
  ScratchVector<Some> none;  // each is true of no extra key
  // In strict mode: no extra keys but those that a pattern matches, as the schema speaks of none.
  bool closed = false;
  // The members may come in any order, whatever the options say: a value of enum or const.
  bool unordered = false;

  bool IsAll() const {
    return named.empty() && rest == kAnything && groups.empty() && names == kAnything && min == 0 &&
           max == kUnbounded && some.empty() && none.empty() && !closed;
  }
  // Where `key` is in `named`; `hint` is where it may be, and mostly near it is. named.size() where
  // it is not.
  size_t PlaceOf(std::string_view key, size_t hint) const {
    const size_t count = named.size();
    size_t below = std::min(hint, count), above = below;
    while (below > 0 || above < count) {
      if (above < count) {
        if (SameKey(named[above].key, key)) return above;
        ++above;
      }
      if (below == 0) continue;
      --below;
      if (SameKey(named[below].key, key)) return below;
    }
    return count;
  }
  // Whether any key may occur that is not named.
  bool HasExtras() const { return rest != kNone && max > 0; }
  friend bool operator==(const ObjectSet&, const ObjectSet&) = default;
};

// Whether the cases are one that holds every value of its type.
template <class T>
bool HoldsAll(const ScratchVector<T>& cases) {
  return cases.size() == 1 && cases[0].IsAll();
}

// A set of JSON values: a union of cases in each type.
struct ValueSet {
  bool null = false, false_value = false, true_value = false;
  ScratchVector<NumberSet> numbers;
  ScratchVector<StringSet> strings;
  ScratchVector<ArraySet> arrays;
  ScratchVector<ObjectSet> objects;
  // In widening: the types (TypeBit; kTypeNumber for all numbers) of which there may be more values
  // here than are meant. What is subtracted from another set must not be such.
  uint8_t widened = 0;

  static ValueSet All();
  uint8_t types() const {
    return (null ? kTypeNull : 0) | (false_value || true_value ? kTypeBoolean : 0) |
           (numbers.empty() ? 0 : kTypeNumber) | (strings.empty() ? 0 : kTypeString) |
           (arrays.empty() ? 0 : kTypeArray) | (objects.empty() ? 0 : kTypeObject);
  }
  bool IsEmpty() const {
    return !null && !false_value && !true_value && numbers.empty() && strings.empty() &&
           arrays.empty() && objects.empty();
  }
  // Conditions, for people and tests: one line a case.
  std::string ToString(const ExprPool& pool, const JsonDocument& document,
                       std::span<const std::string_view> patterns) const;
};

// True only where the sets plainly have no value in common: there is no type of which both have
// some, but for a few strings, and numbers within other bounds.
bool PlainlyApart(const ValueSet& a, const ValueSet& b);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_VALUE_SET_H_
