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
// Cost: some hundred nodes. Source: ECMA-262, 22.2.1. Tested by tests/grammar/formats_test.cc.
#include <string>
#include <vector>

#include "grammar/json_schema/format_writer.h"

namespace grammask::internal {
namespace {

constexpr int kMaxGroupDepth = 4;
constexpr std::string_view kSyntax = "\\^$.*+?()[]{}|";
constexpr std::string_view kNameStart = "a-zA-Z_$";

// What may follow a backslash inside and outside of brackets.
NodeId Escape(FormatWriter& w) {
  NodeId hex = w.In("0-9a-fA-F");
  NodeId itself = w.In(CodePointSet{{' ', '/'}, {':', '@'}, {'[', '^'}, {'`', '`'}, {'{', '~'}});
  return w.Seq(
      {w.Text("\\"),
       w.Or({w.In("dDsSwWnrtfv"), itself, w.Seq({w.Text("x"), w.Times(hex, 2)}),
             w.Seq({w.Text("u"), w.Times(hex, 4)}), w.Seq({w.Text("c"), w.In("a-zA-Z")})})});
}

// A character, or a range from one of ASCII to any greater or equal one. Which one a range begins
// with decides what it may end with, so each is an alternative of its own.
NodeId Character(FormatWriter& w) {
  const CodePointSet all = FormatWriter::Set("]\\-").Complement();
  std::vector<NodeId> alternatives;
  CodePointSet alone = all;
  for (uint32_t c = ' '; c <= '~'; ++c) {
    if (!all.Has(c)) continue;
    const CodePointSet begin = CodePointSet::Of(c);
    alone = alone.Minus(begin);
    NodeId end = w.In(all.Intersect(CodePointSet{{c, 0x10FFFF}}));
    alternatives.push_back(w.Seq({w.In(begin), w.Opt(w.Seq({w.Text("-"), end}))}));
  }
  alternatives.push_back(w.In(alone));
  return w.b().Choice(alternatives);
}

// Between two \x or \u escapes of which the second has a greater first digit.
NodeId EscapeRange(FormatWriter& w) {
  std::vector<NodeId> ranges;
  NodeId hex = w.In("0-9a-fA-F");
  constexpr std::string_view kLower = "0123456789abcdef", kUpper = "0123456789ABCDEF";
  for (size_t i = 0; i + 1 < kLower.size(); ++i) {
    std::string first = {kLower[i], kUpper[i]};
    std::string greater = std::string(kLower.substr(i + 1)) + std::string(kUpper.substr(i + 1));
    auto range = [&](std::string_view letter, int more) {
      NodeId begin = w.Text("\\" + std::string(letter)), rest = w.Times(hex, more);
      return w.Seq({begin, w.In(first), rest, w.Text("-"), begin, w.In(greater), rest});
    };
    ranges.push_back(range("x", 1));
    ranges.push_back(range("u", 3));
  }
  return w.b().Choice(ranges);
}

// A hyphen stands for itself only at either end. (After [^ it may look like that of a range which
// the circumflex begins; then it is one at the beginning, and what a range ends with is a member.)
NodeId Class(FormatWriter& w) {
  NodeId member = w.Or({Character(w), Escape(w), w.Text("\\b"), EscapeRange(w)});
  NodeId dash = w.Text("-");
  NodeId members = w.Seq({w.Or({dash, member}), w.Star(member), w.Opt(dash)});
  return w.Seq({w.Text("["), w.Opt(w.Text("^")), w.Opt(members), w.Text("]")});
}

NodeId Quantifier(FormatWriter& w) {
  NodeId digit = w.In("0-9"), nonzero = w.In("1-9");
  NodeId number = w.Or({w.Text("0"), w.Seq({nonzero, w.Rep(digit, 0, 2)})});
  // n,m with n <= m: one digit each, or more digits in m than in n.
  std::vector<NodeId> pairs;
  constexpr std::string_view kDigits = "0123456789";
  for (size_t i = 0; i < kDigits.size(); ++i) {
    pairs.push_back(w.Seq({w.Text(kDigits.substr(i, 1)), w.Text(","), w.In(kDigits.substr(i))}));
  }
  NodeId longer = w.Or({w.Seq({digit, w.Text(","), nonzero, w.Rep(digit, 1, 2)}),
                        w.Seq({nonzero, digit, w.Text(","), nonzero, w.Times(digit, 2)})});
  NodeId counts = w.Or({number, w.Seq({number, w.Text(",")}), longer, w.b().Choice(pairs)});
  NodeId braces = w.Seq({w.Text("{"), counts, w.Text("}")});
  return w.Seq({w.Or({w.In("*+?"), braces}), w.Opt(w.Text("?"))});
}

class RegexWriter {
 public:
  explicit RegexWriter(FormatWriter& w)
      : w_(w),
        escape_or_class_(w.Or({w.Text("."), Escape(w), Class(w)})),
        simple_(w.Or({w.In(FormatWriter::Set(kSyntax).Complement()), escape_or_class_})),
        no_digit_(
            w.Or({w.In(FormatWriter::Set(kSyntax).Union(FormatWriter::Set("0-9")).Complement()),
                  escape_or_class_})),
        anchor_(w.Or({w.In("^$|"), w.Seq({w.Text("\\"), w.In("bB")})})),
        quantifier_(Quantifier(w)),
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
  RegexWriter writer(w);
  NodeId content = writer.Flat();
  for (int depth = 1; depth < kMaxGroupDepth; ++depth) content = writer.Content(content);
  return writer.Whole(content);
}

NodeId WriteNestedRegex(FormatWriter& w) {
  RegexWriter writer(w);
  RuleId content = w.b().AddRule("regex");
  w.b().SetBody(content, writer.Content(w.b().Rule(content)));
  return writer.Whole(w.b().Rule(content));
}

}  // namespace grammask::internal
