// An interval of numbers >= 0 to the regular language of their decimal notations, by comparing
// digit by digit.
//
// A text is below a bound when at the first digit that differs it has the smaller one; so along the
// digits of the bound run two ways: still equal (the chain), or decided (any digits follow). For
// "at least 25": `[3-9]\d` or `2[5-9]` or three digits and more, each with any fraction. Between
// two bounds of one length the chain runs along their common digits and then forks into one chain
// for each bound. Zeros before the first digit and after the last one of a bound are repeats, never
// written out, so 1e-1000000 is as cheap as 0.1.
//
// Cost: a few nodes for each digit of the bounds. Tested by tests/grammar/numbers_test.cc,
// against comparison of numbers.
#include "grammar/json_schema/number_range.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/scratch.h"

namespace grammask::internal {
namespace {

using Bound = NumberSet::Bound;

// Digits before the point, the single zero of 0.5 included.
int64_t IntegerLength(const Decimal& value) {
  return value.is_zero() ? 1 : std::max<int64_t>(0, value.magnitude()) + 1;
}

// Place of the first digit that is not zero; far below all others for zero.
int64_t FirstPlace(const Decimal& value) {
  return value.is_zero() ? INT64_MIN / 2 : value.magnitude();
}

}  // namespace

bool Range::IsEmpty() const {
  if (!upper) return false;
  auto order = lower.value <=> upper->value;
  return order > 0 || (order == 0 && (lower.open || upper->open));
}

RangeWriter::RangeWriter(GrammarBuilder* builder, Style style) : b_(builder), style_(style) {
  digit_ = DigitClass(0, 9);
  point_ = b_->Bytes(".");
  if (style == Style::kDigits) {
    any_fraction_ = fraction_zeros_ = b_->Empty();
  } else {
    any_fraction_ = b_->Optional(b_->Sequence({point_, Digits(1, kUnbounded)}));
    fraction_zeros_ = FractionZeros();
  }
}

NodeId RangeWriter::Digits(int64_t min, int64_t max) { return b_->Repeat(digit_, min, max); }

NodeId RangeWriter::DigitClass(int low, int high) {
  if (low > high) return b_->Nothing();
  return b_->ByteClass(
      ByteSet::Range(static_cast<uint8_t>('0' + low), static_cast<uint8_t>('0' + high)));
}

NodeId RangeWriter::Zeros(int64_t min, int64_t max) { return b_->Repeat(b_->Bytes("0"), min, max); }

NodeId RangeWriter::NonzeroDigits() {
  return b_->Sequence({Zeros(0, kUnbounded), DigitClass(1, 9), Digits(0, kUnbounded)});
}

NodeId RangeWriter::FractionZeros() {
  return b_->Optional(b_->Sequence({point_, Zeros(1, kUnbounded)}));
}

// The rest of a number of which `digits` integer digits are still to come, whatever they are.
NodeId RangeWriter::AnyTail(int64_t digits) {
  return b_->Sequence({Digits(digits, digits), any_fraction_});
}

// Numbers of min_digits to max_digits integer digits; min_digits >= 2.
NodeId RangeWriter::AnyLonger(int64_t min_digits, int64_t max_digits) {
  if (min_digits > max_digits) return b_->Nothing();
  int64_t max = max_digits == kUnbounded ? kUnbounded : max_digits - 1;
  return b_->Sequence({DigitClass(1, 9), Digits(min_digits - 1, max), any_fraction_});
}

// Like AnyTail, but not all zeros.
NodeId RangeWriter::NonzeroTail(int64_t digits) {
  if (digits > Decimal::kMaxDigits) {
    ok_ = false;
    return b_->Nothing();
  }
  NodeId rest = b_->Sequence({point_, NonzeroDigits()});
  for (int64_t i = 0; i < digits; ++i) {
    rest = b_->Choice(
        {b_->Sequence({DigitClass(1, 9), AnyTail(i)}), b_->Sequence({b_->Bytes("0"), rest})});
  }
  return rest;
}

// What may follow in the fraction, from the digit at `place` < 0 on, where all before was equal to
// v and what follows must not be below v (or equal, when open). Right after the point (place -1)
// one digit is needed.
NodeId RangeWriter::FractionLow(const Bound& v, int64_t place) {
  NodeId equal = v.open ? NonzeroDigits() : Digits(place == -1 ? 1 : 0, kUnbounded);
  if (v.value.exponent() > place || v.value.is_zero()) return equal;  // only zeros are left of v
  NodeId rest = v.open ? NonzeroDigits() : Digits(0, kUnbounded);
  int64_t first = std::min(place, v.value.magnitude());
  for (int64_t p = v.value.exponent(); p <= first; ++p) {
    int d = v.value.DigitAt(p);
    rest = b_->Choice({b_->Sequence({DigitClass(d + 1, 9), Digits(0, kUnbounded)}),
                       b_->Sequence({DigitClass(d, d), rest})});
  }
  int64_t zeros = place - first;
  if (zeros == 0) return rest;
  return b_->Choice({b_->Sequence({Zeros(0, zeros - 1), DigitClass(1, 9), Digits(0, kUnbounded)}),
                     b_->Sequence({Zeros(zeros, zeros), rest})});
}

// The same for "not above v (or equal, when open)". The text may end wherever digits of v remain:
// it is then the smaller number.
NodeId RangeWriter::FractionHigh(const Bound& v, int64_t place) {
  if (v.value.exponent() > place || v.value.is_zero()) {
    return v.open ? b_->Nothing() : Zeros(place == -1 ? 1 : 0, kUnbounded);
  }
  NodeId rest = v.open ? b_->Nothing() : Zeros(0, kUnbounded);
  int64_t first = std::min(place, v.value.magnitude());
  for (int64_t p = v.value.exponent(); p <= first; ++p) {
    int d = v.value.DigitAt(p);
    rest = b_->Choice({b_->Sequence({DigitClass(0, d - 1), Digits(0, kUnbounded)}),
                       b_->Sequence({DigitClass(d, d), rest})});
    if (p != -1) rest = b_->Optional(rest);
  }
  int64_t zeros = place - first;
  if (zeros == 0) return rest;
  NodeId whole = b_->Sequence({Zeros(zeros, zeros), rest});
  int64_t least = place == -1 ? 1 : 0;
  if (least > zeros - 1) return whole;
  return b_->Choice({Zeros(least, zeros - 1), whole});
}

// What may follow from the integer digit at `place` on (-1: after the integer part), as above.
NodeId RangeWriter::IntegerLow(const Bound& v, int64_t place) {
  if (v.value.exponent() > place || v.value.is_zero()) {
    return v.open ? NonzeroTail(place + 1) : AnyTail(place + 1);
  }
  int64_t p = std::max<int64_t>(v.value.exponent(), 0);
  NodeId rest = v.value.exponent() < 0 ? b_->Sequence({point_, FractionLow(v, -1)})
                : v.open               ? NonzeroTail(p)
                                       : AnyTail(p);
  for (; p <= place; ++p) {
    int d = v.value.DigitAt(p);
    rest = b_->Choice(
        {b_->Sequence({DigitClass(d + 1, 9), AnyTail(p)}), b_->Sequence({DigitClass(d, d), rest})});
  }
  return rest;
}

NodeId RangeWriter::IntegerHigh(const Bound& v, int64_t place) {
  auto zeros = [&](int64_t count) {
    return v.open ? b_->Nothing() : b_->Sequence({Zeros(count, count), fraction_zeros_});
  };
  if (v.value.exponent() > place || v.value.is_zero()) return zeros(place + 1);
  int64_t p = std::max<int64_t>(v.value.exponent(), 0);
  NodeId rest =
      v.value.exponent() < 0 ? b_->Optional(b_->Sequence({point_, FractionHigh(v, -1)})) : zeros(p);
  for (; p <= place; ++p) {
    int d = v.value.DigitAt(p);
    rest = b_->Choice(
        {b_->Sequence({DigitClass(0, d - 1), AnyTail(p)}), b_->Sequence({DigitClass(d, d), rest})});
  }
  return rest;
}

// Numbers with as many integer digits as v, which has `length`, that are not above it.
NodeId RangeWriter::LongestHigh(const Bound& v, int64_t length) {
  if (length == 1) return IntegerHigh(v, 0);
  int d = v.value.DigitAt(length - 1);
  return b_->Choice({b_->Sequence({DigitClass(1, d - 1), AnyTail(length - 1)}),
                     b_->Sequence({DigitClass(d, d), IntegerHigh(v, length - 2)})});
}

// The digits of `value` from one place down to another, both included.
NodeId RangeWriter::StoredDigits(const Decimal& value, int64_t from, int64_t to) {
  if (from < to) return b_->Empty();
  int64_t first = std::clamp(FirstPlace(value), to - 1, from);
  std::string digits;
  for (int64_t p = first; p >= to; --p) {
    digits.push_back(static_cast<char>('0' + value.DigitAt(p)));
  }
  return b_->Sequence({Zeros(from - first, from - first), b_->Bytes(digits)});
}

// Both bounds have the same `length`, and low < high.
NodeId RangeWriter::SameLength(const Bound& low, const Bound& high, int64_t length) {
  int64_t place = std::min(length - 1, std::max(FirstPlace(low.value), FirstPlace(high.value)));
  while (low.value.DigitAt(place) == high.value.DigitAt(place)) --place;
  if (place < 0) {
    return b_->Sequence({StoredDigits(low.value, length - 1, 0), SplitFraction(low, high, place)});
  }
  int from = low.value.DigitAt(place), to = high.value.DigitAt(place);
  NodeId fork = b_->Choice({b_->Sequence({DigitClass(from + 1, to - 1), AnyTail(place)}),
                            b_->Sequence({DigitClass(from, from), IntegerLow(low, place - 1)}),
                            b_->Sequence({DigitClass(to, to), IntegerHigh(high, place - 1)})});
  return b_->Sequence({StoredDigits(low.value, length - 1, place + 1), fork});
}

// What may follow an integer part that both bounds share, when they differ first at `place` < 0.
NodeId RangeWriter::SplitFraction(const Bound& low, const Bound& high, int64_t place) {
  int from = low.value.DigitAt(place), to = high.value.DigitAt(place);
  NodeId fork = b_->Choice({b_->Sequence({DigitClass(from + 1, to - 1), Digits(0, kUnbounded)}),
                            b_->Sequence({DigitClass(from, from), FractionLow(low, place - 1)}),
                            b_->Sequence({DigitClass(to, to), FractionHigh(high, place - 1)})});
  // `after`: the first place from which `low` has only zeros left. Where that is above the fork,
  // the text may end from there on: it is then equal to `low`.
  int64_t after = std::min<int64_t>(low.value.is_zero() ? -1 : low.value.exponent() - 1, -1);
  if (after < place || low.open) {
    return b_->Sequence({point_, StoredDigits(low.value, -1, place + 1), fork});
  }
  int64_t zeros = after - place;
  NodeId through = b_->Sequence({Zeros(zeros, zeros), fork});
  if (after < -1) {
    return b_->Sequence(
        {point_, StoredDigits(low.value, -1, after + 1), b_->Choice({Zeros(0, zeros), through})});
  }
  NodeId fraction = zeros == 0 ? through : b_->Choice({Zeros(1, zeros), through});
  return b_->Optional(b_->Sequence({point_, fraction}));
}

NodeId RangeWriter::Plain(const Range& range) {
  if (range.IsEmpty()) return b_->Nothing();
  const Bound& low = range.lower;
  int64_t low_length = IntegerLength(low.value);
  if (!range.upper) {
    if (range.FromZero()) {
      NodeId longer = b_->Sequence({DigitClass(1, 9), Digits(0, kUnbounded)});
      return b_->Sequence({b_->Choice({b_->Bytes("0"), longer}), any_fraction_});
    }
    return b_->Choice({IntegerLow(low, low_length - 1), AnyLonger(low_length + 1, kUnbounded)});
  }
  const Bound& high = *range.upper;
  int64_t high_length = IntegerLength(high.value);
  if (low.value == high.value) {
    NodeId zeros = low.value.IsInteger() ? fraction_zeros_ : Zeros(0, kUnbounded);
    NodeId point = low.value.IsInteger() ? b_->Empty() : point_;
    int64_t last = std::min<int64_t>(low.value.exponent(), 0);
    // Trailing zeros of the integer part are not stored; they are a repeat.
    int64_t stored = std::max<int64_t>(low.value.exponent(), 0);
    return b_->Sequence({StoredDigits(low.value, low_length - 1, stored), Zeros(stored, stored),
                         point, StoredDigits(low.value, -1, last), zeros});
  }
  if (range.FromZero()) {
    if (high_length == 1) return IntegerHigh(high, 0);
    return b_->Choice({b_->Sequence({digit_, any_fraction_}), AnyLonger(2, high_length - 1),
                       LongestHigh(high, high_length)});
  }
  if (low_length == high_length) return SameLength(low, high, low_length);
  return b_->Choice({IntegerLow(low, low_length - 1), AnyLonger(low_length + 1, high_length - 1),
                     LongestHigh(high, high_length)});
}

NodeId RangeWriter::Scientific(const Range& range) {
  if (range.IsEmpty() || (range.upper && range.upper->value.is_zero())) return b_->Nothing();
  const Bound one{Decimal(1)}, ten{Decimal(10), true};
  const Bound& low = range.lower;
  auto mantissa = [](const Bound& v) {
    return Bound{v.value.Scaled(-v.value.magnitude()), v.open};
  };
  std::optional<int64_t> first, last;  // exponents with which any mantissa goes
  ScratchVector<NodeId> parts;
  if (!low.value.is_zero()) {
    first = low.value.magnitude() + 1;
    if (range.upper && range.upper->value.magnitude() == low.value.magnitude()) {
      return b_->Sequence({Plain({mantissa(low), mantissa(*range.upper)}),
                           Exponent(low.value.magnitude(), low.value.magnitude())});
    }
    parts.push_back(b_->Sequence(
        {Plain({mantissa(low), ten}), Exponent(low.value.magnitude(), low.value.magnitude())}));
  }
  if (range.upper) {
    int64_t magnitude = range.upper->value.magnitude();
    last = magnitude - 1;
    parts.push_back(
        b_->Sequence({Plain({one, mantissa(*range.upper)}), Exponent(magnitude, magnitude)}));
  }
  parts.push_back(b_->Sequence({DigitClass(1, 9), any_fraction_, Exponent(first, last)}));
  return b_->Choice(parts);
}

// The digits of exponents low <= e <= high, 1 <= low, zeros before them included.
NodeId RangeWriter::ExponentDigits(int64_t low, std::optional<int64_t> high) {
  if (high && *high < low) return b_->Nothing();
  if (low == 1 && !high) return NonzeroDigits();
  RangeWriter digits(b_, Style::kDigits);
  Range range{{Decimal(low)}, {}};
  if (high) range.upper = {Decimal(*high)};
  return b_->Sequence({Zeros(0, kUnbounded), digits.Plain(range)});
}

NodeId RangeWriter::Exponent(std::optional<int64_t> low, std::optional<int64_t> high) {
  ByteSet e = ByteSet::Of('e'), signs = ByteSet::Of('+');
  e.Add('E');
  signs.Add('-');
  ScratchVector<NodeId> parts;
  if ((!low || *low <= 0) && (!high || *high >= 0)) {
    if (!low && !high) {
      return b_->Sequence(
          {b_->ByteClass(e), b_->Optional(b_->ByteClass(signs)), Digits(1, kUnbounded)});
    }
    parts.push_back(b_->Sequence({b_->Optional(b_->ByteClass(signs)), Zeros(1, kUnbounded)}));
  }
  if (!high || *high > 0) {
    int64_t from = low ? std::max<int64_t>(*low, 1) : 1;
    parts.push_back(b_->Sequence({b_->Optional(b_->Bytes("+")), ExponentDigits(from, high)}));
  }
  if (!low || *low < 0) {
    int64_t from = high ? std::max<int64_t>(-*high, 1) : 1;
    std::optional<int64_t> to;
    if (low) to = -*low;
    parts.push_back(b_->Sequence({b_->Bytes("-"), ExponentDigits(from, to)}));
  }
  return b_->Sequence({b_->ByteClass(e), b_->Choice(parts)});
}

}  // namespace grammask::internal
