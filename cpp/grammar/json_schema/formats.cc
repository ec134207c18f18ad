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

// Local times that are 23:59:60 in UTC. Hours and minutes each go with those of the offset, so two
// lists are met with each other: minute m goes with +(m+1) or -(59-m), hour h with +h or -(23-h),
// but +0 minutes with minute 59 and with +(h+1). `east` are offsets above zero, where the local
// date is the next one; the others are Z, zero and below.
NodeId LeapSecond(FormatWriter& w, bool east) {
  constexpr int kHours = 24, kMinutes = 60;
  NodeId second = w.Seq({w.Text(":60"), Fraction(w)}), two = w.Times(Digit(w), 2);
  NodeId not_zero = w.Or({w.Seq({w.In("1-9"), Digit(w)}), w.Seq({w.Text("0"), w.In("1-9")})});
  NodeId colon = w.Text(":");
  std::vector<NodeId> hours, minutes;
  for (int h = 0; h < kHours; ++h) {
    NodeId after;
    if (east) {
      NodeId whole = w.Text("+" + TwoDigits((h + 1) % kHours) + ":00");
      NodeId other = w.Seq({w.Text("+" + TwoDigits(h) + ":"), not_zero});
      after = h == kHours - 1 ? other : w.Or({whole, other});
    } else {
      after = w.Seq({w.Text("-" + TwoDigits(kHours - 1 - h) + ":"), two});
      if (h == kHours - 1) after = w.Or({after, w.In("Zz"), w.Text("+00:00")});
    }
    hours.push_back(w.Seq({w.Text(TwoDigits(h) + ":"), two, second, after}));
  }
  for (int m = 0; m < kMinutes; ++m) {
    NodeId after = east ? w.Seq({w.Text("+"), two, w.Text(":" + TwoDigits((m + 1) % kMinutes))})
                        : w.Seq({w.Text("-"), two, w.Text(":" + TwoDigits(kMinutes - 1 - m))});
    if (!east && m == kMinutes - 1) after = w.Or({after, w.In("Zz"), w.Text("+00:00")});
    minutes.push_back(w.Seq({two, colon, w.Text(TwoDigits(m)), second, after}));
  }
  return w.b().And({w.b().Choice(hours), w.b().Choice(minutes)});
}

NodeId Time(FormatWriter& w) {
  return w.Or({PlainTime(w), LeapSecond(w, false), LeapSecond(w, true)});
}

// Leap seconds are put at the end of June or December.
NodeId DateTime(FormatWriter& w) {
  NodeId last = w.Or({w.Text("-06-30"), w.Text("-12-31")});
  NodeId next = w.Or({w.Text("-07-01"), w.Text("-01-01")});
  NodeId t = w.In("Tt");
  return w.Or({w.Seq({Date(w), t, PlainTime(w)}), w.Seq({Year(w), last, t, LeapSecond(w, false)}),
               w.Seq({Year(w), next, t, LeapSecond(w, true)})});
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

}  // namespace

CodePointSet FormatWriter::Set(std::string_view set) {
  std::vector<CodePointRange> ranges;
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
  FormatWriter writer(builder);
  return format->write(writer);
}

NodeId EmitNestedRegex(GrammarBuilder* builder) {
  FormatWriter writer(builder);
  return WriteNestedRegex(writer);
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
