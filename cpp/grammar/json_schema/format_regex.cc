// Format `regex`: regular expressions that ECMA-262 reads, as a language.
//
// Characters, classes, escapes, anchors, groups, lookahead and lookbehind, and quantifiers of which
// {n,m} has n <= m: what the grammar of ECMA-262 reads without the laxity of its annex B and
// without flags. For instance ^\s*(it|describe)\(['"]([^'"]+)['"]. Groups nest, so the whole is not
// regular: `content` stands for what is in a group, a rule of its own where a grammar may recurse,
// or the same language with one level less.
//
// A reference has to have its group, which no grammar can say of arbitrary names and numbers. So
// \1 to \9 come after as many groups that are in no other, and \k<n> after the group n, whose name
// is then one character, and which is the only named one; neither is inside of a group.
//
// Cost: some thousand nodes. Source: ECMA-262, 22.2.1. Tested by tests/grammar/formats_test.cc.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/json_schema/format_writer.h"

namespace grammask::internal {
namespace {

constexpr int kMaxGroupDepth = 4;
constexpr std::string_view kSyntax = "\\^$.*+?()[]{}|";
constexpr std::string_view kNameStart = "a-zA-Z_$";

// Punctuation that stands for itself after a backslash.
const CodePointSet& Escapable() {
  static const CodePointSet* const set =
      new CodePointSet{{' ', '/'}, {':', '@'}, {'[', '^'}, {'`', '`'}, {'{', '~'}};
  return *set;
}

// Behind a backslash.
NodeId ControlLetter(FormatWriter& w) { return w.Seq({w.Text("c"), w.In("a-zA-Z")}); }

// Outside of brackets.
NodeId Escape(FormatWriter& w) {
  NodeId hex = w.In("0-9a-fA-F");
  return w.Seq({w.Text("\\"),
                w.Or({w.In("dDsSwWnrtfv"), w.In(Escapable()), w.Seq({w.Text("x"), w.Times(hex, 2)}),
                      w.Seq({w.Text("u"), w.Times(hex, 4)}), ControlLetter(w)})});
}

// Members of a class that may begin a range.
class RangeWriter {
 public:
  explicit RangeWriter(FormatWriter& w)
      : w_(w), hex_(w.In("0-9a-fA-F")), all_(FormatWriter::Set("]\\-").Complement()) {
    for (size_t d = 0; d < kDigits; ++d) {
      digits_[d] = w.In(std::string{kLower[d], kUpper[d]});
      above_[d] = w.In(std::string(kLower.substr(d + 1)) + std::string(kUpper.substr(d + 1)));
      from_[d] = w.In(std::string(kLower.substr(d)) + std::string(kUpper.substr(d)));
    }
    for (size_t d = 0; d <= kBeyondAscii; ++d) escapes_from_[d] = EscapesFrom(d);
  }

  // A character, as it is or behind a backslash, or a range from one of ASCII to any greater or
  // equal one. Which one a range begins with decides what it may end with, so each is an
  // alternative of its own.
  NodeId Characters() {
    std::vector<NodeId> alternatives;
    CodePointSet alone = all_;
    for (uint32_t c = ' '; c <= '~'; ++c) {
      const CodePointSet begin = CodePointSet::Of(c);
      std::vector<NodeId> spellings;
      if (all_.Has(c)) spellings.push_back(w_.In(begin));
      if (Escapable().Has(c)) spellings.push_back(w_.Seq({w_.Text("\\"), w_.In(begin)}));
      alone = alone.Minus(begin);
      NodeId end = w_.Or({CharactersFrom(c), escapes_from_[c / 16 + 1]});
      alternatives.push_back(w_.Seq({w_.b().Choice(spellings), To(end)}));
    }
    alternatives.push_back(w_.In(alone));
    return w_.b().Choice(alternatives);
  }

  // What has a letter of its own, or a range from a control character to no smaller one. No digit
  // comes after \0: rather a character that begins no range.
  NodeId Letters() {
    NodeId printable = w_.Or({CharactersFrom(' '), escapes_from_[2]});
    NodeId any = w_.Or({printable, escapes_from_[0]});
    return w_.Or({w_.Seq({w_.Text("\\"), w_.Or({w_.In("bdDsSwW"), ControlLetter(w_)})}),
                  w_.Seq({w_.Text("\\"), w_.In("nrtfv"), To(printable)}),
                  w_.Seq({w_.Text("\\0-"), any}),
                  w_.Seq({w_.Text("\\0"), w_.In(all_.Minus(FormatWriter::Set("0-9")))})});
  }

  // \xHH, or a range from it to a greater one, also one of \u; control characters to the digit,
  // others by their first digits.
  NodeId ByTwoDigits() {
    std::vector<NodeId> first;
    NodeId longer = w_.Seq({w_.Text("u"), BeyondLatin()});
    for (size_t d = 0; d < kDigits; ++d) {
      std::vector<NodeId> ends = {longer};
      if (d + 1 < kDigits) ends.push_back(w_.Seq({w_.Text("x"), above_[d], hex_}));
      NodeId plain = w_.In(PlainFrom(static_cast<uint32_t>(16 * (d + 1))));
      auto to = [&] { return To(w_.Or({w_.Seq({w_.Text("\\"), w_.b().Choice(ends)}), plain})); };
      if (d > 1) {
        first.push_back(w_.Seq({digits_[d], hex_, to()}));
        continue;
      }
      std::vector<NodeId> second;
      for (size_t e = 0; e < kDigits; ++e) {
        ends.push_back(w_.Seq({w_.Text("x"), digits_[d], from_[e]}));
        second.push_back(w_.Seq({digits_[e], to()}));
        ends.pop_back();
      }
      first.push_back(w_.Seq({digits_[d], w_.b().Choice(second)}));
    }
    return w_.Seq({w_.Text("\\x"), w_.b().Choice(first)});
  }

  // \uHHHH, or a range from it to a greater one, which is told by its first digit; where scripts
  // are that take less than what has one first digit, by two or three.
  NodeId ByFourDigits() {
    std::vector<NodeId> ends;  // that are known to be greater
    auto to = [&] {
      return ends.empty() ? w_.Empty() : To(w_.Seq({w_.Text("\\u"), w_.b().Choice(ends)}));
    };
    auto above = [&](size_t digit, std::initializer_list<NodeId> before, int more) {
      if (digit + 1 == kDigits) return;
      std::vector<NodeId> parts = before;
      parts.insert(parts.end(), {above_[digit], w_.Times(hex_, more)});
      ends.push_back(w_.b().Sequence(parts));
    };
    std::vector<NodeId> first, second, third;
    for (size_t d = 0; d < kDigits; ++d) {
      ends.clear();
      above(d, {}, 3);
      if (kByTwoDigits.find(kLower[d]) == std::string_view::npos) {
        first.push_back(w_.Seq({digits_[d], w_.Times(hex_, 3), to()}));
        continue;
      }
      second.clear();
      for (size_t e = 0; e < kDigits; ++e) {
        const size_t before = ends.size();
        above(e, {digits_[d]}, 2);
        const std::string prefix = {kLower[d], kLower[e]};
        if (std::ranges::find(kByThreeDigits, prefix) == std::end(kByThreeDigits)) {
          second.push_back(w_.Seq({digits_[e], w_.Times(hex_, 2), to()}));
        } else {
          third.clear();
          for (size_t f = 0; f < kDigits; ++f) {
            const size_t before_third = ends.size();
            above(f, {digits_[d], digits_[e]}, 1);
            third.push_back(w_.Seq({digits_[f], hex_, to()}));
            ends.resize(before_third);
          }
          second.push_back(w_.Seq({digits_[e], w_.b().Choice(third)}));
        }
        ends.resize(before);
      }
      first.push_back(w_.Seq({digits_[d], w_.b().Choice(second)}));
    }
    return w_.Seq({w_.Text("\\u"), w_.b().Choice(first)});
  }

 private:
  static constexpr size_t kDigits = 16, kBeyondAscii = 8;
  static constexpr std::string_view kLower = "0123456789abcdef", kUpper = "0123456789ABCDEF";
  static constexpr std::string_view kByTwoDigits = "023f";
  // Latin, Cyrillic, Arabic, punctuation, kana. Each takes a compile some 15 us.
  static constexpr std::string_view kByThreeDigits[] = {"00", "04", "06", "20", "30"};

  NodeId To(NodeId end) { return w_.Opt(w_.Seq({w_.Text("-"), end})); }
  CodePointSet PlainFrom(uint32_t c) const { return all_.Intersect(CodePointSet{{c, 0x10FFFF}}); }
  // Characters from `c` on, as they are or behind a backslash.
  NodeId CharactersFrom(uint32_t c) {
    const CodePointSet escapable = Escapable().Intersect(CodePointSet{{c, 0x10FFFF}});
    return w_.Or({w_.In(PlainFrom(c)), w_.Seq({w_.Text("\\"), w_.In(escapable)})});
  }
  // The digits of a number over 0xFF.
  NodeId BeyondLatin() {
    return w_.Or({w_.Seq({above_[0], w_.Times(hex_, 3)}),
                  w_.Seq({w_.Text("0"), above_[0], w_.Times(hex_, 2)})});
  }
  // \x and \u escapes of characters whose number is no less than 16 times `digit`.
  NodeId EscapesFrom(size_t digit) {
    NodeId low = w_.Seq({from_[digit], hex_});
    return w_.Seq(
        {w_.Text("\\"),
         w_.Or({w_.Seq({w_.Text("x"), low}),
                w_.Seq({w_.Text("u"), w_.Or({BeyondLatin(), w_.Seq({w_.Text("00"), low})})})})});
  }

  FormatWriter& w_;
  const NodeId hex_;
  const CodePointSet all_;  // what stands for itself
  std::array<NodeId, kDigits> digits_, above_, from_;
  std::array<NodeId, kBeyondAscii + 1> escapes_from_;
};

// A hyphen stands for itself only at either end. (After [^ it may look like that of a range which
// the circumflex begins; then it is one at the beginning, and what a range ends with is a member.)
NodeId Class(FormatWriter& w) {
  RangeWriter ranges(w);
  NodeId member =
      w.Or({ranges.Characters(), ranges.Letters(), ranges.ByTwoDigits(), ranges.ByFourDigits()});
  NodeId dash = w.Opt(w.Text("-"));
  // No digit comes after \0: it may be the last one.
  return w.Seq({w.Text("["), w.Opt(w.Text("^")), dash, w.Star(member), w.Opt(w.Text("\\0")), dash,
                w.Text("]")});
}

NodeId Quantifier(FormatWriter& w) {
  NodeId digit = w.In("0-9"), nonzero = w.In("1-9");
  NodeId number = w.Or({w.Text("0"), w.Seq({nonzero, w.Rep(digit, 0, 2)})});
  // n,m with n <= m: one or two digits each, three of which the first tell, or more digits in m
  // than in n.
  std::vector<NodeId> pairs;
  constexpr std::string_view kDigits = "0123456789";
  auto from = [&](size_t d) { return w.In(kDigits.substr(d)); };
  NodeId comma = w.Text(",");
  for (size_t d = 0; d < kDigits.size(); ++d) {
    NodeId first = w.Text(kDigits.substr(d, 1));
    pairs.push_back(w.Seq({first, comma, from(d)}));
    if (d == 0) continue;
    std::vector<NodeId> later;
    if (d < 9) {
      later.push_back(w.Seq({digit, comma, from(d + 1), digit}));
      later.push_back(w.Seq({w.Times(digit, 2), comma, from(d + 1), w.Times(digit, 2)}));
    }
    for (size_t e = 0; e < kDigits.size(); ++e) {
      later.push_back(w.Seq({w.Text(kDigits.substr(e, 1)), comma, first, from(e)}));
    }
    pairs.push_back(w.Seq({first, w.b().Choice(later)}));
  }
  NodeId longer = w.Or({w.Seq({digit, w.Text(","), nonzero, w.Rep(digit, 1, 2)}),
                        w.Seq({nonzero, digit, w.Text(","), nonzero, w.Times(digit, 2)})});
  NodeId counts = w.Or({number, w.Seq({number, w.Text(",")}), longer, w.b().Choice(pairs)});
  NodeId braces = w.Seq({w.Text("{"), counts, w.Text("}")});
  return w.Seq({w.Or({w.In("*+?"), braces}), w.Opt(w.Text("?"))});
}

class RegexWriter {
 public:
  // `rules`: where a grammar may recurse, classes and quantifiers, most of it, are rules of their
  // own.
  RegexWriter(FormatWriter& w, bool rules)
      : w_(w),
        escape_or_class_(w.Or({w.Text("."), Escape(w), Part("regex_class", Class(w), rules)})),
        simple_(w.Or({w.In(FormatWriter::Set(kSyntax).Complement()), escape_or_class_})),
        no_digit_(
            w.Or({w.In(FormatWriter::Set(kSyntax).Union(FormatWriter::Set("0-9")).Complement()),
                  escape_or_class_})),
        anchor_(w.Or({w.In("^$|"), w.Seq({w.Text("\\"), w.In("bB")})})),
        quantifier_(Part("regex_quantifier", Quantifier(w), rules)),
        quantified_(w.Opt(quantifier_)) {}

  // What a group may hold that holds no group itself.
  NodeId Flat() { return w_.Star(w_.Or({w_.Seq({simple_, quantified_}), anchor_})); }

  // What a group may hold, with `content` in the groups that it holds.
  NodeId Content(NodeId content) {
    return w_.Star(
        w_.Or({w_.Seq({simple_, quantified_}), anchor_, Inert(content), Capture("(", content)}));
  }

  // All of these languages begin with the same texts, those without references, so they are one
  // until a reference comes or a group with a name: else each state would be one of both.
  NodeId Whole(NodeId content) {
    const NodeId capture = Capture("(", content), nothing = w_.b().Nothing();
    constexpr std::string_view kNumbers = "123456789";
    const NodeId name = Named(content, capture);
    // After that many groups: `whole`, and what follows a reference. Of the last there may be more.
    NodeId whole = nothing, numbered = nothing;
    for (size_t groups = kNumbers.size() + 1; groups-- > 0;) {
      const bool last = groups == kNumbers.size();
      const NodeId captures = last ? capture : nothing;
      const NodeId reference = w_.Seq({w_.Text("\\"), w_.In(kNumbers.substr(0, groups))});
      const NodeId more = last ? nothing : w_.Seq({capture, numbered});
      const NodeId next = last ? nothing : w_.Seq({capture, whole});
      numbered = w_.Seq({Terms(content, captures, reference), w_.Opt(more)});
      const NodeId rest = w_.Opt(w_.Or({w_.Seq({After(content, captures), numbered}), more}));
      whole = w_.Seq({Terms(content, captures, nothing),
                      w_.Opt(w_.Or({w_.Seq({w_.Plus(reference), rest}), next, name}))});
    }
    return whole;
  }

 private:
  NodeId Part(std::string_view name, NodeId body, bool rule) {
    if (!rule) return body;
    const RuleId part = w_.b().AddRule(name);
    w_.b().SetBody(part, body);
    return w_.b().Rule(part);
  }
  NodeId Capture(std::string_view open, NodeId content) {
    return w_.Seq({w_.Text(open), content, w_.Text(")"), quantified_});
  }
  // Groups that no number counts.
  NodeId Inert(NodeId content) {
    NodeId look = w_.Seq({w_.Text("(?"), w_.Opt(w_.Text("<")), w_.In("=!"), content, w_.Text(")")});
    return w_.Or({Capture("(?:", content), look});
  }
  // Terms outside of groups, with some groups and references. No digit comes after a reference.
  NodeId Terms(NodeId content, NodeId capture, NodeId reference) {
    NodeId references = w_.Plus(reference);
    return w_.Seq({w_.Star(w_.Or({w_.Seq({simple_, quantified_}), anchor_, Inert(content), capture,
                                  w_.Seq({references, After(content, capture)})})),
                   w_.Opt(references)});
  }
  // The term after references.
  NodeId After(NodeId content, NodeId capture) {
    return w_.Or({quantifier_, w_.Seq({no_digit_, quantified_}), anchor_, Inert(content), capture});
  }
  // A group with a name, and all that comes after it.
  NodeId Named(NodeId content, NodeId capture) {
    NodeId long_name = w_.Seq({w_.In(kNameStart), w_.Plus(w_.In("a-zA-Z0-9_$"))});
    std::vector<NodeId> named = {
        w_.Seq({long_name, Capture(">", content), Terms(content, capture, w_.b().Nothing())})};
    const CodePointSet one_character = FormatWriter::Set(kNameStart);
    for (CodePointRange range : one_character.ranges()) {
      for (uint32_t c = range.lo; c <= range.hi; ++c) {
        std::string name(1, static_cast<char>(c));
        NodeId reference = w_.Or({w_.Text("\\k<" + name + ">"), w_.Text("\\1")});
        named.push_back(
            w_.Seq({w_.Text(name), Capture(">", content), Terms(content, capture, reference)}));
      }
    }
    return w_.Seq({w_.Text("(?<"), w_.b().Choice(named)});
  }

  FormatWriter& w_;
  NodeId escape_or_class_, simple_, no_digit_, anchor_, quantifier_, quantified_;
};

}  // namespace

NodeId WriteRegex(FormatWriter& w) {
  RegexWriter writer(w, false);
  NodeId content = writer.Flat();
  for (int depth = 1; depth < kMaxGroupDepth; ++depth) content = writer.Content(content);
  return writer.Whole(content);
}

NodeId WriteNestedRegex(FormatWriter& w) {
  RegexWriter writer(w, true);
  RuleId content = w.b().AddRule("regex");
  w.b().SetBody(content, writer.Content(w.b().Rule(content)));
  return writer.Whole(w.b().Rule(content));
}

}  // namespace grammask::internal
