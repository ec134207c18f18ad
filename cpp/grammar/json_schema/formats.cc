// The name of a format to the regular language of its strings.
//
// Each format is written with builder calls, close to the grammar of its RFC, over characters in
// any JSON spelling. Dates are exact: a month has its own last day, and February 29 goes with the
// leap years of the Gregorian calendar only (years divisible by 4, and those by 100 only when by
// 400), which are regular in the four digits of the year. A leap second is 23:59:60 in UTC, which
// ties the local hour and minute to those of the offset.
//
// Cost: a few microseconds. Sources: RFC 3339 (dates, times, durations of its appendix A), RFC 4122
// (uuid), RFC 6901 (json-pointer) and its relative form. Tested by tests/grammar/formats_test.cc.
#include "grammar/json_schema/formats.h"

#include <array>
#include <mutex>
#include <string>
#include <vector>

#include "grammar/json_schema/format_writer.h"
#include "grammar/regex.h"

namespace grammask::internal {
namespace {

NodeId Digit(FormatWriter& w) { return w.In("0-9"); }

// 0001 to 9999.
NodeId Year(FormatWriter& w) {
  NodeId nonzero = w.In("1-9"), digit = Digit(w), zero = w.Text("0");
  return w.Or(
      {w.Seq({nonzero, w.Times(digit, 3)}),
       w.Seq({zero,
              w.Or({w.Seq({nonzero, w.Times(digit, 2)}),
                    w.Seq({zero, w.Or({w.Seq({nonzero, digit}), w.Seq({zero, nonzero})})})})})});
}

NodeId LeapYear(FormatWriter& w) {
  // 04, 08, 12 ... 96: two digits that are a multiple of four, but not 00.
  NodeId four = w.Or({w.Seq({w.Text("0"), w.In("48")}), w.Seq({w.In("2468"), w.In("048")}),
                      w.Seq({w.In("13579"), w.In("26")})});
  return w.Or({w.Seq({w.Times(Digit(w), 2), four}), w.Seq({four, w.Text("00")})});
}

NodeId Date(FormatWriter& w) {
  NodeId digit = Digit(w), dash = w.Text("-");
  NodeId to_28 = w.Or({w.Seq({w.Text("0"), w.In("1-9")}), w.Seq({w.Text("1"), digit}),
                       w.Seq({w.Text("2"), w.In("0-8")})});
  NodeId to_30 = w.Or({to_28, w.Text("29"), w.Text("30")});
  NodeId month_31 = w.Or({w.Seq({w.Text("0"), w.In("13578")}), w.Seq({w.Text("1"), w.In("02")})});
  NodeId month_30 = w.Or({w.Seq({w.Text("0"), w.In("469")}), w.Text("11")});
  NodeId usual = w.Or({w.Seq({month_31, dash, w.Or({to_30, w.Text("31")})}),
                       w.Seq({month_30, dash, to_30}), w.Seq({w.Text("02-"), to_28})});
  return w.Or({w.Seq({Year(w), dash, usual}), w.Seq({LeapYear(w), w.Text("-02-29")})});
}

// 00:00 to 23:59.
NodeId HourMinute(FormatWriter& w) {
  NodeId hour = w.Or({w.Seq({w.In("01"), Digit(w)}), w.Seq({w.Text("2"), w.In("0-3")})});
  return w.Seq({hour, w.Text(":"), w.In("0-5"), Digit(w)});
}

NodeId Fraction(FormatWriter& w) { return w.Opt(w.Seq({w.Text("."), w.Plus(Digit(w))})); }

// No leap second.
NodeId PlainTime(FormatWriter& w) {
  NodeId offset = w.Or({w.In("Zz"), w.Seq({w.In("+-"), HourMinute(w)})});
  return w.Seq({HourMinute(w), w.Text(":"), w.In("0-5"), Digit(w), Fraction(w), offset});
}

std::string TwoDigits(int number) {
  return {static_cast<char>('0' + number / 10), static_cast<char>('0' + number % 10)};
}

// Local times that are 23:59:60 in UTC: hh:mm:60 and the offset. To the west the two add up to
// 23:59; Z and +00:00 go with 23:59 alone. To the east (`east`), where the local date is the next
// one, the offset is a minute more than the local time. Both are told digit by digit: a few
// choices, each about two digits with any others around them, met with each other.
class LeapSeconds {
 public:
  explicit LeapSeconds(FormatWriter& w)
      : w_(w),
        digit_(Digit(w)),
        two_(w.Times(digit_, 2)),
        colon_(w.Text(":")),
        second_(w.Seq({w.Text(":60"), Fraction(w)})) {}

  NodeId West() {
    std::vector<NodeId> hours, tens, units;
    for (int h = 0; h < 24; ++h) hours.push_back(Hours("-", TwoDigits(h), TwoDigits(23 - h)));
    for (int d = 0; d < 6; ++d) tens.push_back(Tens("-", d, 5 - d));
    for (int d = 0; d < 10; ++d) units.push_back(Units("-", d, 9 - d));
    NodeId here = w_.Seq({w_.Text("23:59"), second_, w_.Or({w_.In("Zz"), w_.Text("+00:00")})});
    return w_.Or({here, w_.b().And({Any(hours), Any(tens), Any(units)})});
  }

  NodeId East() {
    std::vector<NodeId> hour_tens, hour_units, same_tens, next_tens, next_units, next_hour;
    for (int d = 0; d < 3; ++d) hour_tens.push_back(HourTens(d));
    for (int d = 0; d < 10; ++d) hour_units.push_back(HourUnits(d));
    for (int d = 0; d < 6; ++d) same_tens.push_back(Tens("+", d, d));
    for (int d = 0; d < 9; ++d) next_units.push_back(Units("+", d, d + 1));
    for (int d = 0; d < 5; ++d) {
      next_tens.push_back(w_.Seq({two_, colon_, Text(d), w_.Text("9"), second_, w_.Text("+"), two_,
                                  colon_, Text(d + 1), w_.Text("0")}));
    }
    for (int h = 0; h < 23; ++h) {
      next_hour.push_back(w_.Seq(
          {w_.Text(TwoDigits(h) + ":59"), second_, w_.Text("+" + TwoDigits(h + 1) + ":00")}));
    }
    NodeId hour = w_.Seq({HourMinute(w_), second_, w_.Text("+"), two_, colon_, two_});
    NodeId tens = Any(hour_tens), units = Any(hour_units);
    return w_.Or({w_.b().And({hour, tens, units, Any(same_tens), Any(next_units)}),
                  w_.b().And({hour, tens, units, Any(next_tens)}), Any(next_hour)});
  }

 private:
  NodeId Any(const std::vector<NodeId>& alternatives) { return w_.b().Choice(alternatives); }
  NodeId Text(int digit) { return w_.Text(std::string(1, static_cast<char>('0' + digit))); }
  // Times with these hours, or tens or units of the minutes; locally and in the offset.
  NodeId Hours(std::string_view sign, const std::string& local, const std::string& offset) {
    return w_.Seq(
        {w_.Text(local + ":"), two_, second_, w_.Text(std::string(sign) + offset + ":"), two_});
  }
  NodeId Tens(std::string_view sign, int local, int offset) {
    return w_.Seq({two_, colon_, Text(local), digit_, second_, w_.Text(sign), two_, colon_,
                   Text(offset), digit_});
  }
  NodeId Units(std::string_view sign, int local, int offset) {
    return w_.Seq({two_, colon_, digit_, Text(local), second_, w_.Text(sign), two_, colon_, digit_,
                   Text(offset)});
  }
  // To the east, the same tens or units of the hours in both.
  NodeId HourTens(int d) {
    return w_.Seq(
        {Text(d), digit_, colon_, two_, second_, w_.Text("+"), Text(d), digit_, colon_, two_});
  }
  NodeId HourUnits(int d) {
    return w_.Seq(
        {digit_, Text(d), colon_, two_, second_, w_.Text("+"), digit_, Text(d), colon_, two_});
  }

  FormatWriter& w_;
  NodeId digit_, two_, colon_, second_;
};

NodeId Time(FormatWriter& w) {
  LeapSeconds leap(w);
  return w.Or({PlainTime(w), leap.West(), leap.East()});
}

// Leap seconds are put at the end of June or December.
NodeId DateTime(FormatWriter& w) {
  NodeId last = w.Or({w.Text("-06-30"), w.Text("-12-31")});
  NodeId next = w.Or({w.Text("-07-01"), w.Text("-01-01")});
  NodeId t = w.In("Tt");
  LeapSeconds leap(w);
  return w.Or({w.Seq({Date(w), t, PlainTime(w)}), w.Seq({Year(w), last, t, leap.West()}),
               w.Seq({Year(w), next, t, leap.East()})});
}

NodeId Duration(FormatWriter& w) {
  NodeId number = w.Plus(Digit(w));
  auto unit = [&](const char* letter) { return w.Seq({number, w.Text(letter)}); };
  NodeId second = unit("S");
  NodeId minute = w.Seq({unit("M"), w.Opt(second)});
  NodeId hour = w.Seq({unit("H"), w.Opt(minute)});
  NodeId time = w.Seq({w.Text("T"), w.Or({hour, minute, second})});
  NodeId day = unit("D");
  NodeId month = w.Seq({unit("M"), w.Opt(day)});
  NodeId year = w.Seq({unit("Y"), w.Opt(month)});
  NodeId date = w.Seq({w.Or({day, month, year}), w.Opt(time)});
  return w.Seq({w.Text("P"), w.Or({date, time, unit("W")})});
}

NodeId Uuid(FormatWriter& w) {
  NodeId hex = w.In("0-9a-fA-F"), dash = w.Text("-");
  NodeId four = w.Seq({w.Times(hex, 4), dash});
  return w.Seq({w.Times(hex, 8), dash, four, four, four, w.Times(hex, 12)});
}

NodeId JsonPointer(FormatWriter& w) {
  NodeId plain = w.In(FormatWriter::Set("/~").Complement());
  NodeId escaped = w.Seq({w.Text("~"), w.In("01")});
  return w.Star(w.Seq({w.Text("/"), w.Star(w.Or({plain, escaped}))}));
}

NodeId RelativeJsonPointer(FormatWriter& w) {
  NodeId count = w.Or({w.Text("0"), w.Seq({w.In("1-9"), w.Star(Digit(w))})});
  return w.Seq({count, w.Or({w.Text("#"), JsonPointer(w)})});
}

struct Format {
  std::string_view name;
  NodeId (*write)(FormatWriter& w);
};

constexpr Format kFormats[] = {
    {"date", Date},
    {"time", Time},
    {"date-time", DateTime},
    {"duration", Duration},
    {"email", [](FormatWriter& w) { return WriteEmail(w, false); }},
    {"idn-email", [](FormatWriter& w) { return WriteEmail(w, true); }},
    {"hostname", WriteHostname},
    {"idn-hostname", WriteIdnHostname},
    {"ipv4", WriteIpv4},
    {"ipv6", WriteIpv6},
    {"uri", [](FormatWriter& w) { return WriteUri(w, false, false); }},
    {"uri-reference", [](FormatWriter& w) { return WriteUri(w, true, false); }},
    {"iri", [](FormatWriter& w) { return WriteUri(w, false, true); }},
    {"iri-reference", [](FormatWriter& w) { return WriteUri(w, true, true); }},
    {"uri-template", WriteUriTemplate},
    {"uuid", Uuid},
    {"json-pointer", JsonPointer},
    {"relative-json-pointer", RelativeJsonPointer},
    {"regex", WriteRegex},
};

const Format* Find(std::string_view name) {
  for (const Format& format : kFormats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

// Grammars of formats, of one rule each, made when they are first asked for: there are few, and
// some take half a millisecond.
class WrittenFormats {
 public:
  template <class Write>
  const Grammar& Get(const Format& format, const Write& write) {
    const auto index = static_cast<size_t>(&format - kFormats);
    std::call_once(once_[index], [&] {
      GrammarBuilder builder;
      write(&builder);
      written_[index] = builder.Finish(RuleId(0)).value();
    });
    return written_[index];
  }

 private:
  std::array<std::once_flag, std::size(kFormats)> once_;
  std::array<Grammar, std::size(kFormats)> written_;
};

const Grammar& Written(const Format& format) {
  static WrittenFormats& formats = *new WrittenFormats;
  return formats.Get(format, [&](GrammarBuilder* builder) {
    const RuleId rule = builder->AddRule(format.name);
    FormatWriter writer(builder);
    builder->SetBody(rule, format.write(writer));
  });
}

}  // namespace

CodePointSet FormatWriter::Set(std::string_view set) {
  CodePointRanges ranges;
  for (size_t i = 0; i < set.size(); ++i) {
    auto lo = static_cast<uint8_t>(set[i]);
    bool is_range = i + 2 < set.size() && set[i + 1] == '-';
    ranges.push_back({lo, is_range ? static_cast<uint8_t>(set[i + 2]) : lo});
    if (is_range) i += 2;
  }
  return CodePointSet(std::move(ranges));
}

bool IsKnownFormat(std::string_view name) { return Find(name) != nullptr; }

StatusOr<NodeId> EmitFormat(GrammarBuilder* builder, std::string_view name, const Limits& limits) {
  static_cast<void>(limits);
  const Format* format = Find(name);
  if (format == nullptr) {
    return Status(StatusCode::kUnsupported,
                  "format '" + std::string(name) + "' is not one that JSON Schema defines");
  }
  return builder->ImportBody(Written(*format));
}

NodeId EmitNestedRegex(GrammarBuilder* builder) {
  FormatWriter writer(builder);
  return WriteNestedRegex(writer);
}

const Grammar* StandardFormat(std::string_view name) {
  static WrittenFormats& strings = *new WrittenFormats;
  const Format* format = Find(name);
  if (format == nullptr) return nullptr;
  return &strings.Get(*format, [&](GrammarBuilder* builder) {
    const RuleId rule = builder->AddRule("string");
    const NodeId quote = builder->Bytes("\"");
    const NodeId body =
        name == "regex" ? EmitNestedRegex(builder) : builder->ImportBody(Written(*format));
    builder->SetBody(rule, builder->Sequence({quote, body, quote}));
  });
}

std::string PatternOfFormat(std::string_view regex) { return "^(?:" + std::string(regex) + ")$"; }

Status CheckFormats(const std::map<std::string, std::string>& formats, const Limits& limits) {
  for (const auto& [name, regex] : formats) {
    GrammarBuilder builder(limits);
    RegexOptions options;
    options.encoding = RegexOptions::Encoding::kJsonString;
    options.anchoring = RegexOptions::Anchoring::kWhole;
    Status status = ParseRegex(regex, options, limits, &builder).status();
    if (!status.ok()) {
      return Status(status.code(), "formats: '" + name + "': " + status.message());
    }
  }
  return Status();
}

}  // namespace grammask::internal
