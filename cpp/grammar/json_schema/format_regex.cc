// Format `regex`: regular expressions that ECMA-262 reads, as a regular language.
//
// Groups nest, so the whole language is not regular. This one holds the expressions whose groups
// nest at most four deep, and of these the ones on whose meaning the dialects agree: literal
// characters, classes, escapes, anchors, lookahead, groups with or without capture, and quantifiers
// of which {n,m} has n <= m. For instance ^\s*(it|describe)\(['"]([^'"]+)['"]. It leaves out
// backreferences, named groups, lookbehind, \u{..}, \p{..}, control escapes, and brackets or braces
// that stand for themselves without a backslash.
//
// Cost: some hundred nodes. Source: ECMA-262, 22.2.1. Tested by tests/grammar/formats_test.cc.
#include <vector>

#include "grammar/json_schema/format_writer.h"

namespace grammask::internal {
namespace {

constexpr int kMaxGroupDepth = 4;

// What may follow a backslash inside and outside of brackets.
NodeId Escape(FormatWriter& w) {
  NodeId hex = w.In("0-9a-fA-F");
  NodeId itself = w.In("^$\\.*+?()[]{}|/-");
  return w.Seq(
      {w.Text("\\"), w.Or({w.In("dDsSwWnrtfv"), itself, w.Seq({w.Text("x"), w.Times(hex, 2)}),
                           w.Seq({w.Text("u"), w.Times(hex, 4)})})});
}

// Ranges within the digits, the upper-case and the lower-case letters.
NodeId ClassRange(FormatWriter& w) {
  std::vector<NodeId> ranges;
  for (std::string_view set :
       {"0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"}) {
    for (size_t i = 0; i < set.size(); ++i) {
      ranges.push_back(w.Seq({w.Text(set.substr(i, 1)), w.Text("-"), w.In(set.substr(i))}));
    }
  }
  return w.b().Choice(ranges);
}

// Brackets with at least one member; a hyphen stands for itself only at either end.
NodeId Class(FormatWriter& w) {
  NodeId first = w.In(FormatWriter::Set("]\\^-").Complement());
  NodeId later = w.In(FormatWriter::Set("]\\-").Complement());
  NodeId any = w.Or({Escape(w), ClassRange(w)});
  NodeId dash = w.Text("-");
  NodeId members = w.Or({w.Seq({dash, w.Star(w.Or({later, any}))}),
                         w.Seq({w.Or({first, any}), w.Star(w.Or({later, any})), w.Opt(dash)})});
  return w.Seq({w.Text("["), w.Opt(w.Text("^")), members, w.Text("]")});
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

}  // namespace

NodeId WriteRegex(FormatWriter& w) {
  NodeId character = w.In(FormatWriter::Set("\\^$.*+?()[]{}|").Complement());
  NodeId simple = w.Or({character, w.Text("."), Escape(w), Class(w)});
  NodeId anchor = w.Or({w.In("^$"), w.Seq({w.Text("\\"), w.In("bB")})});
  NodeId quantifier = w.Opt(Quantifier(w));
  // From the innermost groups outwards.
  NodeId terms = w.Star(w.Or({w.Seq({simple, quantifier}), anchor, w.Text("|")}));
  for (int depth = 0; depth < kMaxGroupDepth; ++depth) {
    NodeId group = w.Seq({w.Text("("), w.Opt(w.Text("?:")), terms, w.Text(")")});
    NodeId lookahead = w.Seq({w.Text("(?"), w.In("=!"), terms, w.Text(")")});
    terms =
        w.Star(w.Or({w.Seq({w.Or({simple, group}), quantifier}), lookahead, anchor, w.Text("|")}));
  }
  return terms;
}

}  // namespace grammask::internal
