// Grammars: union and concatenation, and reading back what was printed.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "matcher_world.h"

namespace grammask {
namespace {

bool Accepts(GrammarCompiler* compiler, const Grammar& grammar, std::string_view text) {
  GrammarMatcher m = MakeMatcher(compiler, grammar);
  return m.AcceptString(text) && m.IsCompleted();
}

Grammar Nested(std::string open, std::string close) {
  return MakeGrammar([&](GrammarBuilder& b, NodeId self) {
    return b.Choice({b.Bytes("x"), b.Sequence({b.Bytes(open), self, b.Bytes(close)})});
  });
}

// The parts' rules all have one name; they must not be mixed up.
TEST(Grammar, UnionAndConcatenation) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"x", "(", ")"}));
  const Grammar parts[] = {Nested("(", ")"), Nested("[", "]"), Nested("<", ">")};
  const StatusOr<Grammar> any = Grammar::Union(parts), all = Grammar::Concat(parts);
  ASSERT_TRUE(any.ok() && all.ok());
  for (const char* text : {"((x))", "[x]", "<<<x>>>", "x"})
    EXPECT_TRUE(Accepts(&compiler, *any, text)) << text;
  for (const char* text : {"([x])", "(x]", "xx", "(x)[x]"})
    EXPECT_FALSE(Accepts(&compiler, *any, text)) << text;
  for (const char* text : {"xxx", "(x)[x]<x>", "x[[x]]x"})
    EXPECT_TRUE(Accepts(&compiler, *all, text)) << text;
  for (const char* text : {"", "xx", "[x](x)<x>", "(x)[x]<x>x"})
    EXPECT_FALSE(Accepts(&compiler, *all, text)) << text;
}

TEST(Grammar, UnionAndConcatenationOfOneAndNone) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"x"}));
  const Grammar one[] = {Nested("(", ")")};
  EXPECT_TRUE(Accepts(&compiler, *Grammar::Union(one), "(x)"));
  EXPECT_TRUE(Accepts(&compiler, *Grammar::Concat(one), "(x)"));
  EXPECT_EQ(Grammar::Union({}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Grammar::Concat({}).status().code(), StatusCode::kInvalidArgument);
}

TEST(Grammar, PrintedGrammarsReadBack) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"x"}));
  const Grammar parts[] = {Nested("(\"\\", ")\n"), Nested("[", "]")};
  const Grammar combined = *Grammar::Concat(parts);
  const StatusOr<Grammar> again = Grammar::FromEbnf(combined.ToString());
  ASSERT_TRUE(again.ok()) << again.status().message() << combined.ToString();
  EXPECT_EQ(again->ToString(), combined.ToString());
  for (const char* text : {"(\"\\x)\n[x]", "xx", "(\"\\x)\n"}) {
    EXPECT_EQ(Accepts(&compiler, combined, text), Accepts(&compiler, *again, text)) << text;
  }
}

TEST(Grammar, TheFrontEndsGiveGrammars) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"x"}));
  const auto ebnf = Grammar::FromEbnf("start ::= \"a\" [0-9]+", "start");
  ASSERT_TRUE(ebnf.ok()) << ebnf.status().message();
  EXPECT_TRUE(Accepts(&compiler, *ebnf, "a12"));
  const auto regex = Grammar::FromRegex("[ab]{2}c?");
  ASSERT_TRUE(regex.ok()) << regex.status().message();
  EXPECT_TRUE(Accepts(&compiler, *regex, "abc"));
  EXPECT_FALSE(Accepts(&compiler, *regex, "a"));
  const auto schema = Grammar::FromJsonSchema(R"({"type": "array", "items": {"type": "boolean"}})");
  ASSERT_TRUE(schema.ok()) << schema.status().message();
  EXPECT_TRUE(Accepts(&compiler, *schema, "[true, false]"));
  EXPECT_FALSE(Accepts(&compiler, *schema, "[1]"));
  const Grammar json = Grammar::BuiltinJson();
  EXPECT_TRUE(Accepts(&compiler, json, R"({"a": [1, 2.5e3, "x\n", null]})"));
  EXPECT_FALSE(Accepts(&compiler, json, R"({"a": [1,]})"));
  const Grammar mixed[] = {*ebnf, *regex, json};
  EXPECT_TRUE(Accepts(&compiler, *Grammar::Concat(mixed), "a7abc[]"));
}

}  // namespace
}  // namespace grammask
