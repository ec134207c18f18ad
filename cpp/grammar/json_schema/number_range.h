// Ranges of unsigned decimal numbers as regular languages of digits.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_NUMBER_RANGE_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_NUMBER_RANGE_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "grammar/ast.h"
#include "grammar/json_schema/numbers.h"

namespace grammask::internal {

// An interval of numbers >= 0.
struct Range {
  NumberSet::Bound lower;                 // value >= 0
  std::optional<NumberSet::Bound> upper;  // value >= 0

  bool IsEmpty() const;
  bool FromZero() const { return lower.value.is_zero() && !lower.open; }
};

// Writes digit languages into a builder. Cheap to make; nodes are made on first use.
class RangeWriter {
 public:
  // kDecimal: integer part, and any number of fraction digits. kDigits: integers as digits alone;
  // bounds must then be closed integers.
  enum class Style : uint8_t { kDecimal, kDigits };

  RangeWriter(GrammarBuilder* builder, Style style);

  // The plain notations of the members, without superfluous leading zeros, with any trailing zeros
  // after the point. Nodes: linear in the digits of the bounds.
  NodeId Plain(const Range& range);
  // Scientific notation with one digit from 1 to 9 before the point, any number of digits after
  // it: the members above zero. kDecimal only.
  NodeId Scientific(const Range& range);
  // "e" or "E" and all spellings of the exponents from `low` to `high` (nullopt: no bound).
  NodeId Exponent(std::optional<int64_t> low, std::optional<int64_t> high);

  // False after a range whose open bound would have to be written out to more than
  // Decimal::kMaxDigits zeros; nodes are then worthless.
  bool ok() const { return ok_; }

  GrammarBuilder& b() { return *b_; }
  NodeId Digits(int64_t min, int64_t max);  // \d{min,max}
  NodeId DigitClass(int low, int high);     // Nothing() when low > high
  NodeId Zeros(int64_t min, int64_t max);
  NodeId NonzeroDigits();  // \d*[1-9]\d*: not all zero
  NodeId FractionZeros();  // (\.0+)?

 private:
  NodeId AnyTail(int64_t digits);
  NodeId AnyLonger(int64_t min_digits, int64_t max_digits);
  NodeId NonzeroTail(int64_t digits);
  NodeId FractionLow(const NumberSet::Bound& v, int64_t place);
  NodeId FractionHigh(const NumberSet::Bound& v, int64_t place);
  NodeId IntegerLow(const NumberSet::Bound& v, int64_t place);
  NodeId IntegerHigh(const NumberSet::Bound& v, int64_t place);
  NodeId LongestHigh(const NumberSet::Bound& v, int64_t length);
  NodeId SameLength(const NumberSet::Bound& low, const NumberSet::Bound& high, int64_t length);
  NodeId SplitFraction(const NumberSet::Bound& low, const NumberSet::Bound& high, int64_t place);
  NodeId StoredDigits(const Decimal& value, int64_t from, int64_t to);
  NodeId ExponentDigits(int64_t low, std::optional<int64_t> high);

  GrammarBuilder* b_;
  Style style_;
  bool ok_ = true;
  NodeId digit_, point_, any_fraction_, fraction_zeros_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_NUMBER_RANGE_H_
