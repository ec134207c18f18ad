// Faults that engines of this kind have had: each must stay out.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammask/grammask.h"

namespace grammask {
namespace {

TokenizerInfo MakeTokenizer(std::vector<std::string> tokens,
                            std::vector<int32_t> special_token_ids = {}) {
  TokenizerOptions options;
  tokens.emplace_back("</s>");
  options.stop_token_ids = {{static_cast<int32_t>(tokens.size()) - 1}};
  options.special_token_ids = std::move(special_token_ids);
  StatusOr<TokenizerInfo> tokenizer = TokenizerInfo::Create(std::move(tokens), options);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return *tokenizer;
}

GrammarCompiler MakeCompiler(const TokenizerInfo& tokenizer) {
  StatusOr<GrammarCompiler> compiler = GrammarCompiler::Create(tokenizer);
  EXPECT_TRUE(compiler.ok()) << compiler.status().message();
  return *compiler;
}

GrammarMatcher MakeMatcher(GrammarCompiler* compiler, const std::string& ebnf) {
  const StatusOr<CompiledGrammar> compiled = compiler->CompileEbnf(ebnf);
  EXPECT_TRUE(compiled.ok()) << compiled.status().message();
  StatusOr<GrammarMatcher> matcher = GrammarMatcher::Create(*compiled);
  EXPECT_TRUE(matcher.ok()) << matcher.status().message();
  return std::move(matcher).value();
}

// The ids that the mask allows, in order.
std::vector<int32_t> Allowed(GrammarMatcher* matcher) {
  std::vector<int32_t> words(static_cast<size_t>(matcher->mask_words()));
  EXPECT_TRUE(matcher->FillNextTokenBitmask(words.data()).ok());
  std::vector<int32_t> allowed;
  for (int32_t id = 0; id < matcher->vocab_size(); ++id) {
    const auto word = static_cast<uint32_t>(words[static_cast<size_t>(id / 32)]);
    if (((word >> (id % 32)) & 1) != 0) allowed.push_back(id);
  }
  return allowed;
}

using Ids = std::vector<int32_t>;

// "ab" is refused at the start; "bab", which holds it, is not.
TEST(KnownFaults, ATokenThatContainsARefusedOneIsNotRefusedWithIt) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"ab", "bab"}));
  GrammarMatcher matcher = MakeMatcher(&compiler, R"(root ::= "ac" | "bab")");
  EXPECT_EQ(Allowed(&matcher), Ids{1});
  EXPECT_FALSE(matcher.AcceptToken(0));
  EXPECT_TRUE(matcher.AcceptToken(1));
}

// Two grammars that differ in nothing but the token they name, in one compiler and its caches.
TEST(KnownFaults, AMaskOfOneTokenGrammarNeverServesAnother) {
  const TokenizerInfo tokenizer = MakeTokenizer({"a", "<t1>", "<t2>", "b"}, {1, 2});
  GrammarCompiler compiler = MakeCompiler(tokenizer);
  for (int round = 0; round < 2; ++round) {
    GrammarMatcher one = MakeMatcher(&compiler, "root ::= Token(1)");
    GrammarMatcher two = MakeMatcher(&compiler, "root ::= Token(2)");
    EXPECT_EQ(Allowed(&one), Ids{1});
    EXPECT_EQ(Allowed(&two), Ids{2});
    EXPECT_FALSE(one.AcceptToken(2));
    EXPECT_FALSE(two.AcceptToken(1));
    EXPECT_TRUE(one.AcceptToken(1));
    EXPECT_TRUE(two.AcceptToken(2));
    EXPECT_EQ(Allowed(&one), Ids{4});
  }
}

TEST(KnownFaults, TokensAndTextsMix) {
  const TokenizerInfo tokenizer = MakeTokenizer({"a", "<t1>", "<t2>", "b", "ab"}, {1, 2});
  GrammarCompiler compiler = MakeCompiler(tokenizer);
  GrammarMatcher matcher = MakeMatcher(&compiler, R"(root ::= (Token(1, 2) | "a")+ "b")");
  EXPECT_EQ(Allowed(&matcher), (Ids{0, 1, 2, 4}));
  EXPECT_TRUE(matcher.AcceptToken(1));
  EXPECT_EQ(Allowed(&matcher), (Ids{0, 1, 2, 3, 4}));
  EXPECT_TRUE(matcher.AcceptToken(4));
  EXPECT_EQ(Allowed(&matcher), Ids{5});

  GrammarMatcher excluded = MakeMatcher(&compiler, R"(root ::= ExcludeToken(0, 2) "b")");
  EXPECT_EQ(Allowed(&excluded), (Ids{3, 4}));
  EXPECT_TRUE(excluded.AcceptToken(4));
  EXPECT_EQ(Allowed(&excluded), Ids{3});
}

// A special token's text must not pass as text, whatever the grammar says about that text.
TEST(KnownFaults, ASpecialTokenIsNeverText) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"<t>", "<", "t>"}, {0}));
  GrammarMatcher matcher = MakeMatcher(&compiler, R"(root ::= [^x]* )");
  EXPECT_EQ(Allowed(&matcher), (Ids{1, 2, 3}));
  EXPECT_FALSE(matcher.AcceptToken(0));
  EXPECT_TRUE(matcher.AcceptString("<t>"));
}

// The stop token before the text is complete, twice, and after other tokens.
TEST(KnownFaults, TheStopTokenEndsOnlyWhatIsComplete) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"a", "b"}));
  GrammarMatcher matcher = MakeMatcher(&compiler, R"(root ::= "a"+)");
  EXPECT_FALSE(matcher.AcceptToken(2));
  EXPECT_TRUE(matcher.AcceptToken(0));
  EXPECT_EQ(Allowed(&matcher), (Ids{0, 2}));
  EXPECT_TRUE(matcher.AcceptToken(2));
  EXPECT_TRUE(matcher.IsTerminated());
  EXPECT_FALSE(matcher.AcceptToken(2));
  EXPECT_FALSE(matcher.AcceptToken(0));
  int32_t row = 0;
  EXPECT_EQ(matcher.FillNextTokenBitmask(&row).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(matcher.Rollback(1).ok());
  EXPECT_FALSE(matcher.IsTerminated());
  EXPECT_EQ(Allowed(&matcher), (Ids{0, 2}));
}

// An empty token neither matches everywhere nor keeps a matcher in place for ever.
TEST(KnownFaults, AnEmptyTokenNeverMatches) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"", "a", ""}));
  GrammarMatcher matcher = MakeMatcher(&compiler, R"(root ::= "a"*)");
  EXPECT_EQ(Allowed(&matcher), (Ids{1, 3}));
  EXPECT_FALSE(matcher.AcceptToken(0));
  EXPECT_FALSE(matcher.AcceptToken(2));
}

// A count beyond what a token can reach must still be counted.
TEST(KnownFaults, CountersAreExactAtTheirBounds) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"a", "aaa", "b"}));
  GrammarMatcher matcher = MakeMatcher(&compiler, R"(root ::= "a"{3,100} "b")");
  for (int i = 0; i < 33; ++i) {
    EXPECT_EQ(Allowed(&matcher), i == 0 ? (Ids{0, 1}) : (Ids{0, 1, 2})) << i;
    ASSERT_TRUE(matcher.AcceptToken(1));
  }
  EXPECT_EQ(Allowed(&matcher), (Ids{0, 2}));
  ASSERT_TRUE(matcher.AcceptToken(0));
  EXPECT_EQ(Allowed(&matcher), Ids{2});
}

// Left recursion and nullable cycles end, and are exact.
TEST(KnownFaults, CyclesOfEmptyRulesEnd) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"a", "b", "ab"}));
  GrammarMatcher matcher = MakeMatcher(&compiler,
                                       "root ::= x y\n"
                                       "x ::= x x | y | \"\"\n"
                                       "y ::= x | y \"a\" x | \"b\"\n");
  EXPECT_EQ(Allowed(&matcher), (Ids{0, 1, 2, 3}));
  ASSERT_TRUE(matcher.AcceptToken(2));
  EXPECT_EQ(Allowed(&matcher), (Ids{0, 1, 2, 3}));
}

}  // namespace
}  // namespace grammask
