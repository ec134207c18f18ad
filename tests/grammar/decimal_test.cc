// Decimal against 128-bit integers scaled by powers of ten, and tables for what those cannot hold.
#include "grammar/json_schema/decimal.h"

#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace grammask::internal {

void PrintTo(const Decimal& value, std::ostream* out) { *out << value.ToString(); }

namespace {

__extension__ typedef __int128 Int128;

Decimal D(std::string_view text) {
  StatusOr<Decimal> value = Decimal::Parse(text);
  EXPECT_TRUE(value.ok()) << text << ": " << value.status().message();
  return value.ok() ? *value : Decimal();
}

TEST(DecimalTest, EqualNumbersAreEqualObjects) {
  const std::vector<std::vector<std::string>> groups = {
      {"0", "-0", "0.0", "-0.00", "0e5", "0E-7", "0e99999999999999999999"},
      {"1", "1.0", "1e0", "10e-1", "0.1e1", "1.000E+00", "100e-2"},
      {"-12.5", "-125e-1", "-0.0125e3", "-12.50"},
      {"1200", "1.2e3", "12E2", "0.0012e6"},
      {"1e1000000", "10e999999", "0.1e1000001"},
      {"123456789012345678901234567890.5", "1234567890123456789012345678905e-1"}};
  for (size_t i = 0; i < groups.size(); ++i) {
    for (size_t j = 0; j < groups.size(); ++j) {
      for (const auto& a : groups[i]) {
        for (const auto& b : groups[j]) EXPECT_EQ(D(a) == D(b), i == j) << a << " " << b;
      }
    }
  }
}

TEST(DecimalTest, RefusesWhatIsNoJsonNumber) {
  for (const char* text : {"", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "1.e3", "0x1", " 1",
                           "1 ", "1,5", "NaN", "Infinity", "--1", "1e5.5", "1_000"}) {
    StatusOr<Decimal> value = Decimal::Parse(text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.status().code(), StatusCode::kInvalidArgument) << text;
  }
  for (const char* text : {"1e1000000001", "1e-1000000001", "12e1000000000", "0.1e-1000000000",
                           "1e99999999999999999999999999", "-1e-99999999999999999999999999"}) {
    StatusOr<Decimal> value = Decimal::Parse(text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.status().code(), StatusCode::kUnsupported) << text;
  }
  EXPECT_TRUE(Decimal::Parse("1e1000000000").ok());
  EXPECT_TRUE(Decimal::Parse("1e-1000000000").ok());
}

TEST(DecimalTest, Text) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"0", "0"},
      {"-0.0", "0"},
      {"1200", "1200"},
      {"12.50", "12.5"},
      {"-0.00125", "-0.00125"},
      {"1e39", "1" + std::string(39, '0')},
      {"1e40", "1e40"},
      {"-1.25e300", "-1.25e300"},
      {"1e-400", "1e-400"},
      {"1e-38", "0." + std::string(37, '0') + "1"}};
  for (const auto& [in, out] : cases) {
    EXPECT_EQ(D(in).ToString(), out);
    EXPECT_EQ(D(D(in).ToString()), D(in));
  }
}

TEST(DecimalTest, Int64) {
  for (int64_t v : {int64_t{0}, int64_t{1}, int64_t{-10}, INT64_MAX, INT64_MIN, INT64_MAX - 7}) {
    EXPECT_EQ(Decimal(v).ToInt64(), v);
    EXPECT_EQ(D(std::to_string(v)), Decimal(v));
  }
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "1e19", "0.5", "1e900"}) {
    EXPECT_EQ(D(text).ToInt64(), std::nullopt) << text;
  }
}

// A random number as an integer times 10^-6, and as a Decimal.
struct Sample {
  Int128 scaled;
  Decimal value;
};

Sample RandomSample(std::mt19937_64& random) {
  int digits = static_cast<int>(random() % 13);
  int64_t mantissa = 0;
  for (int i = 0; i < digits; ++i) {
    int64_t d = random() % 3 == 0 ? 0 : static_cast<int64_t>(random() % 10);
    mantissa = mantissa * 10 + d;
  }
  if (random() % 2 == 0) mantissa = -mantissa;
  auto exponent = static_cast<int>(random() % 10) - 6;
  Int128 scaled = mantissa;
  for (int e = exponent; e > -6; --e) scaled *= 10;
  std::string text = std::to_string(mantissa) + "e" + std::to_string(exponent);
  return {scaled, D(text)};
}

constexpr Int128 kOne = 1'000'000;

Int128 FloorDiv(Int128 a, Int128 b) {
  Int128 q = a / b;
  return q * b > a ? q - 1 : q;
}

// The Decimal of scaled * 10^-6.
Decimal FromScaled(Int128 scaled) {
  bool negative = scaled < 0;
  if (negative) scaled = -scaled;
  std::string digits;
  for (; scaled != 0; scaled /= 10) digits.insert(digits.begin(), "0123456789"[int(scaled % 10)]);
  if (digits.empty()) return Decimal();
  return D((negative ? "-" : "") + digits + "e-6");
}

TEST(DecimalTest, AgreesWithWideIntegers) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    auto [x, a] = RandomSample(random);
    auto [y, b] = RandomSample(random);
    ASSERT_EQ(a < b, x < y) << a.ToString() << " " << b.ToString();
    ASSERT_EQ(a == b, x == y);
    ASSERT_EQ(a.sign(), x < 0 ? -1 : x > 0);
    ASSERT_EQ(a.IsInteger(), x % kOne == 0);
    ASSERT_EQ(*a.Floor(), FromScaled(FloorDiv(x, kOne) * kOne)) << a.ToString();
    ASSERT_EQ(*a.Ceil(), FromScaled(-FloorDiv(-x, kOne) * kOne)) << a.ToString();
    ASSERT_EQ(*a.PlusOne(), FromScaled(x + kOne));
    ASSERT_EQ(*a.MinusOne(), FromScaled(x - kOne));
    ASSERT_EQ(*Decimal::Add(a, b), FromScaled(x + y));
    ASSERT_EQ(a.Negated(), FromScaled(-x));
    if (FloorDiv(x, kOne * kOne * kOne) == 0 && FloorDiv(y, kOne * kOne * kOne) == 0) {
      ASSERT_EQ(*Decimal::Multiply(a, b), FromScaled(x * y).Scaled(-6));
    }
    if (y == 0) continue;
    ASSERT_EQ(a.IsMultipleOf(b), x % y == 0) << a.ToString() << " " << b.ToString();
    if (y < 0) continue;
    Int128 q = FloorDiv(x, y);
    ASSERT_EQ(*Decimal::FloorDivide(a, b), FromScaled(q).Scaled(6))
        << a.ToString() << " " << b.ToString();
  }
}

TEST(DecimalTest, LeastCommonMultiple) {
  const std::vector<std::array<const char*, 3>> cases = {
      {"1", "0.4", "2"},      {"2.5", "1", "5"},
      {"4", "6", "12"},       {"0.01", "0.015", "0.03"},
      {"0.5", "0.25", "0.5"}, {"1e300", "1", "1e300"},
      {"1", "1e-300", "1"},   {"12345678901", "98765432109", "1219326311336229232209"}};
  for (const auto& [a, b, c] : cases) {
    EXPECT_EQ(Decimal::LeastCommonMultiple(D(a), D(b)), D(c)) << a << " " << b;
    EXPECT_EQ(Decimal::LeastCommonMultiple(D(b), D(a)), D(c)) << a << " " << b;
  }
  EXPECT_EQ(Decimal::LeastCommonMultiple(D("3e30"), D("7")), std::nullopt);
}

TEST(DecimalTest, MultiplesOfLongNumbers) {
  std::mt19937_64 random(11);
  auto digits = [&](int n) {
    std::string s(1, static_cast<char>('1' + random() % 9));
    while (static_cast<int>(s.size()) < n) s.push_back(static_cast<char>('0' + random() % 10));
    return s;
  };
  for (int i = 0; i < 300; ++i) {
    Decimal b = D(digits(19 + i % 60)), k = D(digits(1 + i % 40));
    Decimal product = *Decimal::Multiply(b, k);
    EXPECT_TRUE(product.IsMultipleOf(b));
    EXPECT_TRUE(product.Scaled(5).IsMultipleOf(b));
    EXPECT_FALSE(product.PlusOne()->IsMultipleOf(b));
    EXPECT_EQ(Decimal::FloorDivide(product, b), k);
    EXPECT_EQ(Decimal::FloorDivide(*product.MinusOne(), b), k.MinusOne());
    EXPECT_EQ(Decimal::FloorDivide(product.Negated(), b), k.Negated());
  }
  EXPECT_TRUE(D("1e1000000").IsMultipleOf(D("1024")));
  EXPECT_FALSE(D("1e1000000").IsMultipleOf(D("1025")));
  EXPECT_TRUE(D("1e1000000").IsMultipleOf(D("1e-1000000")));
}

// Numbers far apart in magnitude must not be written out.
TEST(DecimalTest, HugeExponentsCostNothing) {
  Decimal big = D("1e1000000000"), small = D("1e-1000000000");
  EXPECT_LT(small, big);
  EXPECT_LT(D("-1e1000000000"), small);
  EXPECT_EQ(small.Floor(), Decimal(0));
  EXPECT_EQ(small.Ceil(), Decimal(1));
  EXPECT_EQ(small.Negated().Floor(), Decimal(-1));
  EXPECT_EQ(big.Floor(), big);
  EXPECT_EQ(big.PlusOne(), std::nullopt);
  EXPECT_EQ(Decimal::FloorDivide(small, big), Decimal(0));
  EXPECT_EQ(Decimal::FloorDivide(big, small), std::nullopt);
  EXPECT_FALSE(small.IsMultipleOf(big));
  EXPECT_EQ(big.DigitAt(1'000'000'000), 1);
  EXPECT_EQ(big.DigitAt(5), 0);
}

}  // namespace
}  // namespace grammask::internal
