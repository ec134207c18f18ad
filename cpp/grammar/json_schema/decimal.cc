// The text of a JSON number to an exact decimal, and arithmetic on decimals of any size.
//
// A number is a sign, a string of digits without zeros at either end, and the power of ten of its
// last digit: "-1200.50" is {-, "12005", -1}. So equality is equality of fields, and comparison is
// first by the power of ten of the first digit, then by the digits as text. Nothing is written out
// to the length of the exponent: 1e1000000 takes one digit.
//
// Cost: linear in the digits, division and big remainders quadratic (divisors of up to 18 digits:
// linear). Tested by tests/grammar/decimal_test.cc, against 128-bit integers.
#include "grammar/json_schema/decimal.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "base/ascii.h"
#include "base/utf8.h"

namespace grammask::internal {
namespace {

__extension__ typedef unsigned __int128 Uint128;

// Digits that always fit in 64 bits, with one to spare.
constexpr size_t kSmallDigits = 18;

uint64_t SmallValue(std::string_view digits) {
  uint64_t value = 0;
  for (char c : digits) value = value * 10 + static_cast<uint64_t>(c - '0');
  return value;
}

std::string DigitsOf(Uint128 value) {
  std::string out;
  for (; value != 0; value /= 10) out.push_back("0123456789"[static_cast<int>(value % 10)]);
  std::reverse(out.begin(), out.end());
  return out;
}

// a + b and a - b of digit strings of one length; the difference needs a >= b.
std::string AddDigits(std::string a, std::string_view b) {
  int carry = 0;
  for (size_t i = a.size(); i-- > 0;) {
    int sum = (a[i] - '0') + (b[i] - '0') + carry;
    carry = sum >= 10 ? 1 : 0;
    a[i] = static_cast<char>('0' + sum - 10 * carry);
  }
  if (carry != 0) a.insert(a.begin(), '1');
  return a;
}

std::string SubtractDigits(std::string a, std::string_view b) {
  int borrow = 0;
  for (size_t i = a.size(); i-- > 0;) {
    int difference = (a[i] - '0') - (b[i] - '0') - borrow;
    borrow = difference < 0 ? 1 : 0;
    a[i] = static_cast<char>('0' + difference + 10 * borrow);
  }
  return a;
}

// Long division, a digit at a time. Divisors of up to 18 digits keep the remainder in one word;
// longer ones in words of nine digits, least significant first.
class LongDivision {
 public:
  explicit LongDivision(std::string_view divisor) {
    if (divisor.size() <= kSmallDigits) {
      small_divisor_ = SmallValue(divisor);
      return;
    }
    for (size_t end = divisor.size(); end > 0; end -= std::min<size_t>(end, 9)) {
      size_t begin = end > 9 ? end - 9 : 0;
      divisor_.push_back(static_cast<uint32_t>(SmallValue(divisor.substr(begin, end - begin))));
    }
    divisor_.push_back(0);  // room for the remainder before it is reduced
    remainder_.assign(divisor_.size(), 0);
  }

  // Appends `digit` to the dividend; returns the digit of the quotient.
  int Push(int digit) {
    if (small_divisor_ != 0) {
      Uint128 value = static_cast<Uint128>(small_remainder_) * 10 + static_cast<unsigned>(digit);
      small_remainder_ = static_cast<uint64_t>(value % small_divisor_);
      return static_cast<int>(value / small_divisor_);
    }
    uint64_t carry = static_cast<uint64_t>(digit);
    for (uint32_t& word : remainder_) {
      carry += uint64_t{word} * 10;
      word = static_cast<uint32_t>(carry % kWord);
      carry /= kWord;
    }
    int quotient = 0;
    while (!Less()) {
      SubtractDivisor();
      ++quotient;
    }
    return quotient;
  }

  bool exact() const {
    return small_remainder_ == 0 &&
           std::all_of(remainder_.begin(), remainder_.end(), [](uint32_t w) { return w == 0; });
  }

 private:
  static constexpr uint64_t kWord = 1'000'000'000;

  bool Less() const {
    return std::lexicographical_compare(remainder_.rbegin(), remainder_.rend(), divisor_.rbegin(),
                                        divisor_.rend());
  }
  void SubtractDivisor() {
    int64_t borrow = 0;
    for (size_t i = 0; i < remainder_.size(); ++i) {
      int64_t word = int64_t{remainder_[i]} - divisor_[i] - borrow;
      borrow = word < 0 ? 1 : 0;
      remainder_[i] = static_cast<uint32_t>(word + borrow * static_cast<int64_t>(kWord));
    }
  }

  uint64_t small_divisor_ = 0, small_remainder_ = 0;
  std::vector<uint32_t> divisor_, remainder_;
};

[[gnu::cold]] Status NotANumber(std::string_view text) {
  return InvalidArgument("'" + Printable(text.substr(0, 40)) +
                         "' is not a JSON number; write digits such as -12.5e3, without a leading "
                         "plus or zeros");
}

}  // namespace

Decimal::Decimal(int64_t value) : negative_(value < 0) {
  uint64_t magnitude =
      negative_ ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  digits_ = DigitsOf(magnitude);
  while (!digits_.empty() && digits_.back() == '0') {
    digits_.pop_back();
    ++exponent_;
  }
}

Decimal::Decimal(bool negative, std::string digits, int64_t exponent) {
  size_t first = digits.find_first_not_of('0');
  if (first == std::string::npos) return;
  size_t last = digits.find_last_not_of('0');
  negative_ = negative;
  exponent_ = exponent + static_cast<int64_t>(digits.size() - 1 - last);
  digits.resize(last + 1);
  digits.erase(0, first);
  digits_ = std::move(digits);
}

StatusOr<Decimal> Decimal::Parse(std::string_view text) {
  size_t pos = 0;
  auto digits_from = [&](size_t at) {
    while (at < text.size() && IsDigit(text[at])) ++at;
    return at;
  };
  bool negative = !text.empty() && text[0] == '-';
  if (negative) ++pos;
  size_t integer_end = digits_from(pos);
  if (integer_end == pos || (text[pos] == '0' && integer_end > pos + 1)) return NotANumber(text);
  std::string digits(text.substr(pos, integer_end - pos));
  pos = integer_end;
  int64_t exponent = 0;
  if (pos < text.size() && text[pos] == '.') {
    size_t end = digits_from(pos + 1);
    if (end == pos + 1) return NotANumber(text);
    digits.append(text.substr(pos + 1, end - pos - 1));
    exponent = -static_cast<int64_t>(end - pos - 1);
    pos = end;
  }
  if (pos < text.size() && (text[pos] == 'e' || text[pos] == 'E')) {
    ++pos;
    bool down = pos < text.size() && text[pos] == '-';
    if (pos < text.size() && (text[pos] == '-' || text[pos] == '+')) ++pos;
    size_t end = digits_from(pos);
    if (end == pos) return NotANumber(text);
    int64_t power = 0;
    for (; pos < end; ++pos) power = std::min(power * 10 + (text[pos] - '0'), int64_t{1} << 50);
    exponent += down ? -power : power;
  }
  if (pos != text.size()) return NotANumber(text);
  Decimal value(negative, std::move(digits), exponent);
  if (!value.is_zero() && (value.magnitude() > kMaxExponent || value.exponent_ < -kMaxExponent)) {
    return Status(StatusCode::kUnsupported,
                  "the number '" + std::string(text.substr(0, 40)) +
                      "' is beyond 10^1000000000 or has more than 1000000000 decimal places; "
                      "write a number of ordinary size");
  }
  return value;
}

Decimal Decimal::PowerOfTen(int64_t exponent) { return Decimal(false, "1", exponent); }

int Decimal::DigitAt(int64_t place) const {
  int64_t index = magnitude() - place;
  if (index < 0 || index >= static_cast<int64_t>(digits_.size())) return 0;
  return digits_[static_cast<size_t>(index)] - '0';
}

std::optional<int64_t> Decimal::ToInt64() const {
  if (is_zero()) return 0;
  if (exponent_ < 0 || magnitude() > 18) return std::nullopt;
  Uint128 value = 0;
  for (int64_t place = magnitude(); place >= 0; --place) {
    value = value * 10 + static_cast<unsigned>(DigitAt(place));
  }
  constexpr Uint128 kLimit = static_cast<Uint128>(INT64_MAX);
  if (value > kLimit + (negative_ ? 1 : 0)) return std::nullopt;
  auto bits = static_cast<uint64_t>(value);
  return static_cast<int64_t>(negative_ ? uint64_t{0} - bits : bits);
}

Decimal Decimal::Negated() const {
  Decimal result = *this;
  result.negative_ = !is_zero() && !negative_;
  return result;
}

Decimal Decimal::Abs() const {
  Decimal result = *this;
  result.negative_ = false;
  return result;
}

Decimal Decimal::Scaled(int64_t power) const {
  Decimal result = *this;
  if (!is_zero()) result.exponent_ += power;
  return result;
}

std::optional<Decimal> Decimal::Floor() const {
  if (IsInteger()) return *this;
  Decimal truncated;
  if (magnitude() >= 0) {
    truncated = Decimal(negative_, digits_.substr(0, static_cast<size_t>(magnitude() + 1)), 0);
  }
  return negative_ ? truncated.MinusOne() : truncated;
}

std::optional<Decimal> Decimal::Ceil() const {
  std::optional<Decimal> down = Negated().Floor();
  if (!down) return std::nullopt;
  return down->Negated();
}

std::optional<Decimal> Decimal::Add(const Decimal& a, const Decimal& b) {
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  int64_t low = std::min(a.exponent_, b.exponent_);
  int64_t length = std::max(a.magnitude(), b.magnitude()) - low + 1;
  if (length > kMaxDigits) return std::nullopt;
  auto spread = [&](const Decimal& d) {
    std::string out(static_cast<size_t>(length), '0');
    size_t end = out.size() - static_cast<size_t>(d.exponent_ - low);
    std::copy(d.digits_.begin(), d.digits_.end(),
              out.begin() + static_cast<ptrdiff_t>(end - d.digits_.size()));
    return out;
  };
  std::string x = spread(a), y = spread(b);
  if (a.negative_ == b.negative_) return Decimal(a.negative_, AddDigits(std::move(x), y), low);
  if (x < y) return Decimal(b.negative_, SubtractDigits(std::move(y), x), low);
  return Decimal(a.negative_, SubtractDigits(std::move(x), y), low);
}

std::optional<Decimal> Decimal::Multiply(const Decimal& a, const Decimal& b) {
  if (a.digits_.size() + b.digits_.size() > static_cast<size_t>(kMaxDigits)) return std::nullopt;
  std::vector<uint32_t> product(a.digits_.size() + b.digits_.size(), 0);
  for (size_t i = a.digits_.size(); i-- > 0;) {
    uint32_t carry = 0;
    for (size_t j = b.digits_.size(); j-- > 0;) {
      carry +=
          product[i + j + 1] + static_cast<uint32_t>((a.digits_[i] - '0') * (b.digits_[j] - '0'));
      product[i + j + 1] = carry % 10;
      carry /= 10;
    }
    product[i] += carry;
  }
  std::string digits;
  digits.reserve(product.size());
  for (uint32_t d : product) digits.push_back(static_cast<char>('0' + d));
  return Decimal(a.negative_ != b.negative_, std::move(digits), a.exponent_ + b.exponent_);
}

std::optional<Decimal> Decimal::FloorDivide(const Decimal& a, const Decimal& b) {
  if (a.is_zero()) return Decimal();
  if (a.Abs() < b) return Decimal(a.negative_ ? -1 : 0);
  // |a| / b = A * 10^shift / B with integers A and B. A negative shift drops digits of A: they only
  // say whether the division is exact.
  int64_t shift = a.exponent_ - b.exponent_;
  if (static_cast<int64_t>(a.digits_.size()) + shift > kMaxDigits ||
      static_cast<int64_t>(b.digits_.size()) > kMaxDigits) {
    return std::nullopt;
  }
  LongDivision division(b.digits_);
  std::string quotient;
  size_t used = a.digits_.size() - static_cast<size_t>(std::max<int64_t>(0, -shift));
  for (size_t i = 0; i < used; ++i) {
    quotient.push_back(static_cast<char>('0' + division.Push(a.digits_[i] - '0')));
  }
  for (int64_t i = 0; i < shift; ++i) {
    quotient.push_back(static_cast<char>('0' + division.Push(0)));
  }
  bool exact = division.exact() && shift >= 0;  // the last digit of A is never zero
  Decimal result(a.negative_, std::move(quotient), 0);
  return a.negative_ && !exact ? result.MinusOne() : result;
}

std::optional<Decimal> Decimal::LeastCommonMultiple(const Decimal& a, const Decimal& b) {
  if (a.IsMultipleOf(b)) return a;
  if (b.IsMultipleOf(a)) return b;
  int64_t low = std::min(a.exponent_, b.exponent_);
  auto whole = [&](const Decimal& d) -> std::optional<uint64_t> {
    if (d.magnitude() - low >= static_cast<int64_t>(kSmallDigits)) return std::nullopt;
    uint64_t value = SmallValue(d.digits_);
    for (int64_t e = low; e < d.exponent_; ++e) value *= 10;
    return value;
  };
  std::optional<uint64_t> x = whole(a), y = whole(b);
  if (!x || !y) return std::nullopt;
  return Decimal(false, DigitsOf(static_cast<Uint128>(*x / std::gcd(*x, *y)) * *y), low);
}

bool Decimal::IsMultipleOf(const Decimal& divisor) const {
  if (is_zero()) return true;
  int64_t shift = exponent_ - divisor.exponent_;
  // With more decimal places than the divisor, the last digit, which is not zero, is too small.
  if (shift < 0) return false;
  // Powers of ten beyond the twos and fives that the divisor can hold change nothing.
  shift = std::min(shift, static_cast<int64_t>(divisor.digits_.size()) * 4);
  LongDivision division(divisor.digits_);
  for (char c : digits_) division.Push(c - '0');
  for (int64_t i = 0; i < shift; ++i) division.Push(0);
  return division.exact();
}

std::string Decimal::ToString() const {
  if (is_zero()) return "0";
  constexpr int64_t kPlainLength = 40;
  std::string out = negative_ ? "-" : "";
  auto size = static_cast<int64_t>(digits_.size());
  if (exponent_ >= 0 && magnitude() < kPlainLength) {
    return out + digits_ + std::string(static_cast<size_t>(exponent_), '0');
  }
  if (exponent_ < 0 && magnitude() >= 0 && size < kPlainLength) {
    auto point = static_cast<size_t>(magnitude() + 1);
    return out + digits_.substr(0, point) + "." + digits_.substr(point);
  }
  if (magnitude() < 0 && -exponent_ < kPlainLength - 1) {
    return out + "0." + std::string(static_cast<size_t>(-magnitude() - 1), '0') + digits_;
  }
  out += digits_[0];
  if (size > 1) out += "." + digits_.substr(1);
  return out + "e" + std::to_string(magnitude());
}

std::strong_ordering operator<=>(const Decimal& a, const Decimal& b) {
  if (a.sign() != b.sign()) return a.sign() <=> b.sign();
  if (a.is_zero()) return std::strong_ordering::equal;
  const Decimal& x = a.negative_ ? b : a;  // the order of negative numbers is that of the others'
  const Decimal& y = a.negative_ ? a : b;  // absolute values, turned around
  if (x.magnitude() != y.magnitude()) return x.magnitude() <=> y.magnitude();
  return x.digits_.compare(y.digits_) <=> 0;
}

}  // namespace grammask::internal
