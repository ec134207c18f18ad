// Exact decimal numbers of any size, as JSON writes them.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_DECIMAL_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_DECIMAL_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace grammask::internal {

// sign * digits * 10^exponent. Canonical: `digits` has neither leading nor trailing zeros and zero
// is {+, "", 0}, so equal numbers are equal objects (1, 1.0, 1e0, 10e-1). A value type. Nothing
// here allocates in proportion to the exponent; the operations that would have to write out digits
// return nullopt once that takes more than kMaxDigits of them.
class Decimal {
 public:
  static constexpr int64_t kMaxExponent = 1'000'000'000;
  static constexpr int64_t kMaxDigits = 10'000;

  Decimal() = default;  // 0
  explicit Decimal(int64_t value);

  // `text` by the number grammar of JSON (RFC 8259), nothing before or after it: kInvalidArgument
  // when it is not one, kUnsupported when its power of ten is beyond kMaxExponent.
  static StatusOr<Decimal> Parse(std::string_view text);
  // 10^exponent.
  static Decimal PowerOfTen(int64_t exponent);

  bool is_zero() const { return digits_.empty(); }
  bool negative() const { return negative_; }
  int sign() const { return is_zero() ? 0 : negative_ ? -1 : 1; }
  const std::string& digits() const { return digits_; }  // '0'..'9', "" for zero
  int64_t exponent() const { return exponent_; }         // of the last digit
  // The power of ten of the first digit: 2 for 250, -1 for 0.25. Meaningless for zero.
  int64_t magnitude() const { return exponent_ + static_cast<int64_t>(digits_.size()) - 1; }
  // The digit at 10^place: 0 outside the stored ones.
  int DigitAt(int64_t place) const;

  bool IsInteger() const { return exponent_ >= 0; }
  // The value when it is an integer that fits.
  std::optional<int64_t> ToInt64() const;

  Decimal Negated() const;
  Decimal Abs() const;
  // times 10^power.
  Decimal Scaled(int64_t power) const;
  // Towards minus and plus infinity. nullopt only over kMaxDigits.
  std::optional<Decimal> Floor() const;
  std::optional<Decimal> Ceil() const;
  std::optional<Decimal> PlusOne() const { return Add(*this, Decimal(1)); }
  std::optional<Decimal> MinusOne() const { return Add(*this, Decimal(-1)); }

  static std::optional<Decimal> Add(const Decimal& a, const Decimal& b);
  static std::optional<Decimal> Multiply(const Decimal& a, const Decimal& b);
  // The greatest integer q with q * b <= a. b > 0.
  static std::optional<Decimal> FloorDivide(const Decimal& a, const Decimal& b);
  // The least number that is a multiple of both a and b. a, b > 0.
  static std::optional<Decimal> LeastCommonMultiple(const Decimal& a, const Decimal& b);

  // Whether *this = k * divisor for an integer k; exact. divisor != 0, with at most kMaxDigits
  // digits. Linear in the digits of *this for divisors of up to 18 digits.
  bool IsMultipleOf(const Decimal& divisor) const;

  // Plain notation ("-0.25", "1200") where that takes at most 40 characters, otherwise scientific
  // ("1.5e400"). Parse reads either back.
  std::string ToString() const;

  friend bool operator==(const Decimal&, const Decimal&) = default;
  friend std::strong_ordering operator<=>(const Decimal& a, const Decimal& b);
  template <class H>
  friend H AbslHashValue(H h, const Decimal& d) {
    return H::combine(std::move(h), d.negative_, d.digits_, d.exponent_);
  }

 private:
  // Takes any digits (leading and trailing zeros allowed) and makes them canonical.
  Decimal(bool negative, std::string digits, int64_t exponent);

  bool negative_ = false;
  std::string digits_;
  int64_t exponent_ = 0;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_DECIMAL_H_
