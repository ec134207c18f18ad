// A set of numbers to the regular language of its members' JSON spellings.
//
// A set is emitted as the simplest exact shape that it has: plain and scientific notation of a
// range (number_range.h), or a shape for multiples. A number with f fraction digits, all its digits
// being D, is a multiple of c*10^-s exactly when D*10^(s-f) is divisible by c and, for f > s, the
// digits past s are zeros; so multiples of 0.01 are just numbers with two significant places, and
// multiples of 2.5 (c = 25, s = 1) are integers divisible by 5, or numbers with one place whose
// digits are divisible by 25. Only where two such conditions meet is there an intersection node.
//
// Cost: a few microseconds, and nodes linear in the digits of the schema's numbers. Tested by
// tests/grammar/numbers_test.cc, by spelling numbers in many ways.
#include <algorithm>
#include <numeric>

#include "absl/container/inlined_vector.h"
#include "base/scratch.h"
#include "grammar/json_schema/number_range.h"
#include "grammar/json_schema/numbers.h"

namespace grammask::internal {
namespace {

using NumberKind = NumberSet::Kind;
using Parts = absl::InlinedVector<NodeId, 8>;

// Sets of multiples with at most so many members are written out.
constexpr size_t kEnumerate = 128;
// Scientific notation of multiples of 10^-s is supported for s up to this.
constexpr int64_t kMaxScientificPlaces = 40;
// Python and JavaScript write floats in scientific notation from 1e16 (1e21) on and below 1e-4
// (1e-6), with at most 16 digits after the point.
constexpr int64_t kScientificFrom = 16;
constexpr int64_t kScientificBelow = -5;

[[gnu::cold]] Status ModulusTooLarge(const Decimal& multiple) {
  return Status(StatusCode::kUnsupported,
                "multipleOf " + multiple.ToString() +
                    " has more digits or places than can be counted (17 digits, 400 places); round "
                    "it, or bound the range so that few multiples are left");
}

// Languages of unsigned multiples of one number.
class MultipleWriter {
 public:
  MultipleWriter(RangeWriter* range, const Decimal& multiple)
      : range_(*range), b_(range->b()), multiple_(multiple) {}

  // Integers that are multiples, as digits. The multiple must be an integer.
  StatusOr<NodeId> Integers() {
    if (!multiple_.IsInteger()) return ModulusTooLarge(multiple_);
    GM_ASSIGN_OR_RETURN(uint64_t c, Coefficient());
    int64_t zeros = multiple_.exponent();
    if (zeros == 0) return IntegersOf(c);
    NodeId positive = c == 1 ? PositiveIntegers() : PositiveIntegersOf(c);
    return b_.Choice({b_.Bytes("0"), b_.Sequence({positive, range_.Zeros(zeros, zeros)})});
  }

  // Numbers with any fraction, the multiple being no integer: plain and some scientific notation.
  StatusOr<NodeId> Numbers() {
    GM_ASSIGN_OR_RETURN(uint64_t c, Coefficient());
    int64_t places = -multiple_.exponent();
    Parts parts = {WithPlaces(Leading::kInteger, c, places)};
    if (places > kMaxScientificPlaces) return b_.Choice(parts);
    for (int64_t e = kScientificBelow; e >= -places; --e) {
      NodeId mantissa = WithPlaces(Leading::kOneDigit, c, places + e);
      parts.push_back(b_.Sequence({mantissa, range_.Exponent(e, e)}));
    }
    if (c == 1) parts.push_back(LargeScientific(range_));
    return b_.Choice(parts);
  }

  // d.ddd with at most 16 places and an exponent of at least 16: always an integer.
  static NodeId LargeScientific(RangeWriter& range) {
    GrammarBuilder& b = range.b();
    NodeId fraction = b.Optional(b.Sequence({b.Bytes("."), range.Digits(1, kScientificFrom)}));
    return b.Sequence(
        {range.DigitClass(1, 9), fraction, range.Exponent(kScientificFrom, std::nullopt)});
  }

 private:
  // What stands before the point: an integer, or one digit that is not zero.
  enum class Leading : uint8_t { kInteger, kOneDigit };

  StatusOr<uint64_t> Coefficient() const {
    constexpr size_t kMaxDigits = 17;  // ten times the modulus is below 2^63
    constexpr int64_t kMaxPlaces = 400;
    bool power_of_ten = multiple_.digits() == "1";
    if (multiple_.digits().size() > kMaxDigits ||
        (!power_of_ten && multiple_.exponent() < -kMaxPlaces)) {
      return ModulusTooLarge(multiple_);
    }
    uint64_t c = 0;
    for (char digit : multiple_.digits()) c = c * 10 + static_cast<uint64_t>(digit - '0');
    return c;
  }

  NodeId PositiveIntegers() {
    return b_.Sequence({range_.DigitClass(1, 9), range_.Digits(0, kUnbounded)});
  }

  // The digits that are multiples of c < 10; of a divisor of ten, the last digits of all multiples.
  NodeId LastDigits(uint64_t c, bool zero) {
    ByteSet set;
    for (uint64_t d = zero ? 0 : c; d < 10; d += c) set.Add(static_cast<uint8_t>('0' + d));
    return b_.ByteClass(set);
  }

  NodeId PositiveIntegersOf(uint64_t c) {
    if (c == 2 || c == 5) {
      NodeId longer = b_.Sequence({PositiveIntegers(), LastDigits(c, true)});
      return b_.Choice({LastDigits(c, false), longer});
    }
    return b_.And({PositiveIntegers(), b_.MultipleOf({c, 0})});
  }

  NodeId IntegersOf(uint64_t c) {
    if (c == 2 || c == 5) {
      NodeId last = LastDigits(c, true);
      return b_.Choice({last, b_.Sequence({PositiveIntegers(), last})});
    }
    NodeId integer = Before(Leading::kInteger);
    return c == 1 ? integer : b_.And({integer, b_.MultipleOf({c, 0})});
  }

  NodeId Before(Leading leading) {
    if (leading == Leading::kOneDigit) return range_.DigitClass(1, 9);
    return b_.Choice({b_.Bytes("0"), PositiveIntegers()});
  }

  // Multiples of c * 10^-places with any fraction; c is no multiple of ten.
  NodeId WithPlaces(Leading leading, uint64_t c, int64_t places) {
    if (places == 0) return b_.Sequence({Group(leading, c, 0, 0), range_.FractionZeros()});
    NodeId zeros = range_.Zeros(0, kUnbounded);
    if (c == 1) {
      NodeId fraction = b_.Sequence({b_.Bytes("."), range_.Digits(1, places), zeros});
      return b_.Sequence({Before(leading), b_.Optional(fraction)});
    }
    Parts parts = {b_.Sequence({Group(leading, c, places, places), zeros})};
    // Fewer places; those that leave the same divisor of c are taken together.
    for (int64_t first = 0, last; first < places; first = last + 1) {
      uint64_t divisor = Left(c, places - first);
      for (last = first; last + 1 < places && Left(c, places - last - 1) == divisor;) ++last;
      parts.push_back(Group(leading, divisor, first, last));
    }
    return b_.Choice(parts);
  }

  // c without the factors that 10^power holds.
  static uint64_t Left(uint64_t c, int64_t power) {
    for (; power > 0 && (c % 2 == 0 || c % 5 == 0); --power) {
      if (c % 2 == 0) c /= 2;
      if (c % 5 == 0) c /= 5;
    }
    return c;
  }

  // Numbers with first to last places, all digits together divisible by `divisor`.
  NodeId Group(Leading leading, uint64_t divisor, int64_t first, int64_t last) {
    if (last == 0) {
      if (leading == Leading::kInteger) return IntegersOf(divisor);
      return divisor < 10 ? LastDigits(divisor, false) : b_.Nothing();
    }
    bool by_last_digit = divisor == 2 || divisor == 5;
    if (first == 0 && by_last_digit) {
      return b_.Choice({Group(leading, divisor, 0, 0), Group(leading, divisor, 1, last)});
    }
    NodeId point = b_.Bytes(".");
    if (by_last_digit) {
      return b_.Sequence(
          {Before(leading), point, range_.Digits(first - 1, last - 1), LastDigits(divisor, true)});
    }
    NodeId fraction = b_.Sequence({point, range_.Digits(std::max<int64_t>(first, 1), last)});
    NodeId shape = b_.Sequence({Before(leading), first == 0 ? b_.Optional(fraction) : fraction});
    return divisor == 1 ? shape : b_.And({shape, b_.MultipleOf({divisor, 0})});
  }

  RangeWriter& range_;
  GrammarBuilder& b_;
  const Decimal& multiple_;
};

// The parts of `set` above and below zero, as ranges of absolute values.
struct Halves {
  std::optional<Range> positive, negative;
};

Halves SplitAtZero(const NumberSet& set) {
  auto half = [](const std::optional<NumberSet::Bound>& low,
                 const std::optional<NumberSet::Bound>& high) {
    Range range{{Decimal()}, high};
    if (low && (low->value.sign() > 0 || (low->value.is_zero() && low->open))) range.lower = *low;
    bool any = !high || high->value.sign() >= 0;
    return any && !range.IsEmpty() ? std::optional(range) : std::nullopt;
  };
  auto negated = [](const std::optional<NumberSet::Bound>& bound) {
    return bound ? std::optional(NumberSet::Bound{bound->value.Negated(), bound->open})
                 : std::nullopt;
  };
  return {half(set.lower, set.upper), half(negated(set.upper), negated(set.lower))};
}

class SetWriter {
 public:
  SetWriter(GrammarBuilder* builder, const NumberSet& set, const NumberSpelling& spelling)
      : set_(set),
        spelling_(spelling),
        halves_(SplitAtZero(set)),
        b_(*builder),
        decimal_(builder, RangeWriter::Style::kDecimal),
        digits_(builder, RangeWriter::Style::kDigits) {}

  StatusOr<NodeId> Write() {
    StatusOr<NodeId> node = set_.kind == NumberKind::kIntegers ? Integers() : Numbers();
    if (node.ok() && (!decimal_.ok() || !digits_.ok())) {
      return Status(StatusCode::kUnsupported,
                    "an exclusive bound with more than " + std::to_string(Decimal::kMaxDigits) +
                        " zeros cannot be written out; use a smaller bound, or an inclusive one");
    }
    return node;
  }

 private:
  bool Unbounded() const { return !set_.lower && !set_.upper; }
  bool Plainly() const {  // bounds and kind say it all
    return set_.multiples_of.empty() && set_.not_multiples_of.empty() && set_.excluded.empty();
  }
  bool BoundedBySignOnly() const {
    auto sign_only = [&](const std::optional<NumberSet::Bound>& bound, int one) {
      return !bound || bound->value.is_zero() ||
             (set_.kind == NumberKind::kIntegers && bound->value == Decimal(one));
    };
    return sign_only(set_.lower, 1) && sign_only(set_.upper, -1);
  }

  // At least zero, or at most zero, and no more.
  bool BoundedByZero() const {
    auto is_zero = [](const std::optional<NumberSet::Bound>& bound) {
      return bound && bound->value.is_zero() && !bound->open;
    };
    return (is_zero(set_.lower) && !set_.upper) || (is_zero(set_.upper) && !set_.lower);
  }

  // For sets bounded by zero: `absolute` on the one side, zero alone on the other.
  NodeId ZeroOr(NodeId absolute) {
    NodeId zero = b_.Bytes("0");
    if (set_.kind != NumberKind::kIntegers) zero = b_.Sequence({zero, decimal_.FractionZeros()});
    return Signed([&](const Range& r) { return r.upper ? zero : absolute; });
  }

  // Either sign before what `write` makes of the absolute values.
  template <class F>
  NodeId Signed(F&& write) {
    NodeId positive = halves_.positive ? write(*halves_.positive) : b_.Nothing();
    NodeId negative = halves_.negative ? write(*halves_.negative) : b_.Nothing();
    if (positive == negative) return AnySign(positive);
    return b_.Choice({positive, b_.Sequence({b_.Bytes("-"), negative})});
  }
  NodeId AnySign(NodeId node) { return b_.Sequence({b_.Optional(b_.Bytes("-")), node}); }

  StatusOr<NodeId> Integers() {
    if (Plainly() && BoundedBySignOnly() && spelling_.integers_with_fraction) {
      return IntegersWithExponent();
    }
    Parts parts;
    bool bounds = !Unbounded();
    for (const Decimal& m : set_.multiples_of) {
      MultipleWriter writer(&digits_, m);
      GM_ASSIGN_OR_RETURN(NodeId multiples, writer.Integers());
      parts.push_back(BoundedByZero() ? ZeroOr(multiples) : AnySign(multiples));
      bounds = bounds && !BoundedByZero();
    }
    if (bounds || parts.empty()) {
      parts.push_back(Signed([&](const Range& r) { return digits_.Plain(r); }));
    }
    for (const Decimal& n : set_.not_multiples_of) {
      GM_ASSIGN_OR_RETURN(NodeId multiples, PlainMultiples(n));
      parts.push_back(b_.Not(multiples));
    }
    NodeId body = parts.size() == 1 ? parts[0] : b_.And(parts);
    if (spelling_.integers_with_fraction) {
      body = b_.Sequence({body, decimal_.FractionZeros()});
    }
    return WithoutExcluded(body);
  }

  // Digits, zeros after the point, and exponents of zero or more; and large floats.
  NodeId IntegersWithExponent() {
    ByteSet e = ByteSet::Of('e');
    e.Add('E');
    NodeId exponent =
        b_.Sequence({b_.ByteClass(e), b_.Optional(b_.Bytes("+")), decimal_.Digits(1, kUnbounded)});
    NodeId suffix = b_.Sequence({decimal_.FractionZeros(), b_.Optional(exponent)});
    return Signed([&](const Range& r) {
      NodeId spelled = b_.Sequence({digits_.Plain(r), suffix});
      if (r.upper) return spelled;  // zero alone
      return b_.Choice({spelled, MultipleWriter::LargeScientific(decimal_)});
    });
  }

  StatusOr<NodeId> Numbers() {
    if (set_.kind == NumberKind::kAny && Plainly() && BoundedBySignOnly()) {
      NodeId exponent = b_.Optional(decimal_.Exponent(std::nullopt, std::nullopt));
      return Signed([&](const Range& r) { return b_.Sequence({decimal_.Plain(r), exponent}); });
    }
    // The complement of a language of multiples speaks of plain notation only.
    bool scientific = set_.not_multiples_of.empty();
    Parts parts;
    if (set_.kind == NumberKind::kNonIntegers) parts.push_back(NonIntegers());
    bool bounds = !Unbounded() || !scientific;
    for (const Decimal& m : set_.multiples_of) {
      MultipleWriter writer(&decimal_, m);
      GM_ASSIGN_OR_RETURN(NodeId multiples, writer.Numbers());
      parts.push_back(BoundedByZero() ? ZeroOr(multiples) : AnySign(multiples));
      bounds = bounds && !(BoundedByZero() && scientific);
    }
    if (bounds || parts.empty()) {
      parts.push_back(Signed([&](const Range& r) {
        NodeId plain = decimal_.Plain(r);
        return scientific ? b_.Choice({plain, decimal_.Scientific(r)}) : plain;
      }));
    }
    for (const Decimal& n : set_.not_multiples_of) {
      GM_ASSIGN_OR_RETURN(NodeId multiples, PlainMultiples(n));
      parts.push_back(b_.Not(multiples));
    }
    return WithoutExcluded(parts.size() == 1 ? parts[0] : b_.And(parts));
  }

  // Every plain notation of the multiples of n, and maybe others of their spellings.
  StatusOr<NodeId> PlainMultiples(const Decimal& n) {
    MultipleWriter writer(&decimal_, n);
    if (!n.IsInteger()) {
      GM_ASSIGN_OR_RETURN(NodeId multiples, writer.Numbers());
      return AnySign(multiples);
    }
    GM_ASSIGN_OR_RETURN(NodeId multiples, writer.Integers());
    return AnySign(b_.Sequence({multiples, decimal_.FractionZeros()}));
  }

  NodeId NonIntegers() {
    NodeId integer = b_.Choice(
        {b_.Bytes("0"), b_.Sequence({decimal_.DigitClass(1, 9), decimal_.Digits(0, kUnbounded)})});
    NodeId plain = b_.Sequence({integer, b_.Bytes("."), decimal_.NonzeroDigits()});
    Range from_one{{Decimal(1)}, NumberSet::Bound{Decimal(10), true}};
    NodeId below_one = b_.Sequence({decimal_.Plain(from_one), decimal_.Exponent(std::nullopt, -1)});
    return AnySign(b_.Choice({plain, below_one}));
  }

  NodeId WithoutExcluded(NodeId body) {
    if (set_.excluded.empty()) return body;
    ScratchVector<NodeId> values;
    values.reserve(set_.excluded.size());
    for (const Decimal& v : set_.excluded) values.push_back(EmitNumberValue(&b_, v));
    return b_.And({body, b_.Not(b_.Choice(values))});
  }

  const NumberSet& set_;
  const NumberSpelling& spelling_;
  Halves halves_;
  GrammarBuilder& b_;
  RangeWriter decimal_, digits_;
};

// Whether EmitNumberValue accepts `source`, a JSON number, without being told of it.
bool IsUsualSpelling(std::string_view source) {
  size_t e = source.find_first_of("eE");
  if (e == std::string_view::npos) return true;
  std::string_view mantissa = source.substr(0, e);
  if (mantissa.starts_with('-')) mantissa.remove_prefix(1);
  return mantissa[0] != '0' && (mantissa.size() == 1 || mantissa[1] == '.');
}

// The sets that most schemas ask for, all numbers and all integers, made once.
const Grammar& AllOf(NumberKind kind, bool with_fraction) {
  auto make = [](NumberKind of, bool integers_with_fraction) {
    NumberSet set;
    set.kind = of;
    GrammarBuilder builder;
    RuleId rule = builder.AddRule(of == NumberKind::kIntegers ? "integer" : "number");
    NumberSpelling spelling;
    spelling.integers_with_fraction = integers_with_fraction;
    builder.SetBody(rule, SetWriter(&builder, set, spelling).Write().value());
    return new Grammar(builder.Finish(rule).value());
  };
  static const Grammar& numbers = *make(NumberKind::kAny, true);
  static const Grammar& integers = *make(NumberKind::kIntegers, false);
  static const Grammar& with_zeros = *make(NumberKind::kIntegers, true);
  if (kind == NumberKind::kAny) return numbers;
  return with_fraction ? with_zeros : integers;
}

}  // namespace

const Grammar* StandardNumbers(const NumberSet& set, const NumberSpelling& spelling) {
  if (set != NumberSet{} && set != NumberSet::Integers()) return nullptr;
  return &AllOf(set.kind, spelling.integers_with_fraction);
}

StatusOr<NodeId> EmitNumbers(GrammarBuilder* builder, const NumberSet& original,
                             const Limits& limits, const NumberSpelling& spelling) {
  static_cast<void>(limits);
  if (const Grammar* all = StandardNumbers(original, spelling)) return builder->ImportBody(*all);
  NumberSet set = original;
  set.Normalise();
  if (set.IsEmpty()) return builder->Nothing();
  bool simple = set.multiples_of.empty() && set.not_multiples_of.empty() && set.excluded.empty();
  bool one = set.lower && set.upper && set.lower->value == set.upper->value;
  bool digits_only = original.kind == NumberKind::kIntegers && !spelling.integers_with_fraction;
  if (digits_only) set.kind = NumberKind::kIntegers;  // a single value is otherwise of any kind
  if ((one || !simple) && !digits_only) {
    if (std::optional<ScratchVector<Decimal>> members = set.Members(kEnumerate)) {
      ScratchVector<NodeId> values;
      values.reserve(members->size());
      for (const Decimal& v : *members) values.push_back(EmitNumberValue(builder, v));
      return builder->Choice(values);
    }
  }
  return SetWriter(builder, set, spelling).Write();
}

NodeId EmitNumberValue(GrammarBuilder* builder, const Decimal& value, std::string_view source) {
  GrammarBuilder& b = *builder;
  RangeWriter writer(builder, RangeWriter::Style::kDecimal);
  if (value.is_zero()) {
    NodeId exponent = b.Optional(writer.Exponent(std::nullopt, std::nullopt));
    return b.Sequence({b.Optional(b.Bytes("-")), b.Bytes("0"), writer.FractionZeros(), exponent});
  }
  NumberSet::Bound bound{value.Abs()};
  Range only{bound, bound};
  NodeId spelled = b.Choice({writer.Plain(only), writer.Scientific(only)});
  if (value.negative()) spelled = b.Sequence({b.Bytes("-"), spelled});
  if (source.empty() || IsUsualSpelling(source)) return spelled;
  return b.Choice({spelled, b.Bytes(source)});
}

}  // namespace grammask::internal
