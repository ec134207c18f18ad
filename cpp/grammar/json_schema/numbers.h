// Sets of numbers, as JSON Schema's keywords describe them, and their JSON spellings.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_NUMBERS_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/scratch.h"
#include "base/status.h"
#include "grammar/ast.h"
#include "grammar/json_schema/decimal.h"

namespace grammask::internal {

// A conjunction of conditions on a number; by default every number. Fields may be set in any
// order; Normalise() brings equal sets nearer to equal objects (it need not succeed wholly), and
// the operations below accept sets normalised or not and return normalised ones.
struct NumberSet {
  enum class Kind : uint8_t { kAny, kIntegers, kNonIntegers };
  struct Bound {
    Decimal value;
    bool open = false;  // the value itself is outside
    friend bool operator==(const Bound&, const Bound&) = default;
    template <class H>
    friend H AbslHashValue(H h, const Bound& b) {
      return H::combine(std::move(h), b.value, b.open);
    }
  };

  Kind kind = Kind::kAny;
  std::optional<Bound> lower, upper;
  ScratchVector<Decimal> multiples_of;      // each > 0, at most Decimal::kMaxDigits digits
  ScratchVector<Decimal> not_multiples_of;  // the same
  ScratchVector<Decimal> excluded;          // any values

  static NumberSet Integers();
  static NumberSet Only(const Decimal& value);
  // Each adds one condition to those already there.
  void AtLeast(const Decimal& value, bool open = false);  // minimum, exclusiveMinimum
  void AtMost(const Decimal& value, bool open = false);   // maximum, exclusiveMaximum

  // Folds multiples into one where their common multiple is small enough to write, snaps the bounds
  // of integers and of multiples to members, drops conditions without effect, sorts the lists.
  void Normalise();

  // Every number: no condition at all.
  bool IsAll() const { return *this == NumberSet{}; }
  bool Contains(const Decimal& value) const;
  // True only when there is no member. Exact, but for sets of multiples whose bounds or common
  // multiple have more than Decimal::kMaxDigits digits, or that exclude more than ten multiples.
  bool IsEmpty() const;
  // All members, ascending, when there are at most `max_count`; nullopt when more or not known.
  std::optional<ScratchVector<Decimal>> Members(size_t max_count) const;
  // How many members there are: exact up to `most`, which stands for as many or more, up to
  // infinitely many; nullopt where that is not plain.
  std::optional<int64_t> Count(int64_t most) const;
  // Conditions, for people and tests: "integer >= 1 < 10 multiple of 2 not 4"; "any number".
  std::string ToString() const;

  friend bool operator==(const NumberSet&, const NumberSet&) = default;
  template <class H>
  friend H AbslHashValue(H h, const NumberSet& s) {
    return H::combine(std::move(h), s.kind, s.lower, s.upper, s.multiples_of, s.not_multiples_of,
                      s.excluded);
  }
};

NumberSet Intersect(const NumberSet& a, const NumberSet& b);
// Disjoint sets whose union is every number outside `set`; {} when it holds every number.
ScratchVector<NumberSet> Complement(const NumberSet& set);
// True only when it is proved; false may also mean "not known" (see IsEmpty).
bool Disjoint(const NumberSet& a, const NumberSet& b);
bool IsSubset(const NumberSet& a, const NumberSet& b);

struct NumberSpelling {
  // Integers may also be written 1.0 and 1e2. Off: digits only, as draft 4 defines an integer
  // ("a JSON number without a fraction or exponent part"). Has no effect on other sets.
  bool integers_with_fraction = true;
};

// The regular language of JSON spellings of the members of `set`: every text in it spells a member,
// and docs/json_schema_values.md says which spellings of each member are in it (always plain
// notation with any number of fraction digits). Nothing() when the set is empty. kUnsupported when
// a multipleOf has more digits than kMultiple can count.
StatusOr<NodeId> EmitNumbers(GrammarBuilder* builder, const NumberSet& set, const Limits& limits,
                             const NumberSpelling& spelling = {});

// The grammar of `set` where that is all numbers or all integers, else null. It never goes away.
const Grammar* StandardNumbers(const NumberSet& set, const NumberSpelling& spelling);

// The spellings of one number, for enum and const: plain notation with any trailing zeros, "-0" for
// zero, scientific notation with one digit before the point (e or E, exponent signed and padded as
// one likes), and `source`, a JSON number of this value, as it stands where it is not empty.
NodeId EmitNumberValue(GrammarBuilder* builder, const Decimal& value, std::string_view source = {});

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_NUMBERS_H_
