// Matchers: what one output may do next, its history, and how it ends.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/code_point_set.h"
#include "matcher_world.h"
#include "parser/random_grammar.h"

namespace grammask {
namespace {

using internal::CodePointSet;
using internal::kUnbounded;
using internal::RandomGrammar;

// "a"+ over a, b and the stop token.
Grammar Letters() {
  return MakeGrammar(
      [](GrammarBuilder& b, NodeId) { return b.Repeat(b.Bytes("a"), 1, kUnbounded); });
}

// ---- laws ----

// A random walk of accepts, rollbacks, forks and resets; the mask is what forks accept, and what it
// was when the same history was there before.
TEST(Matcher, LawsOnRandomWalks) {
  std::vector<std::string> tokens = {"", "a", "b", "ab", "ba", "aa", "bb", "aab", "abb", "c", "a"};
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer(tokens, {9}));
  std::mt19937_64 random(6);
  int walks = 0;
  for (uint64_t seed = 5000; walks < 150; ++seed) {
    const RandomGrammar source(seed);
    if (!source.language().productive) continue;
    ++walks;
    const Grammar grammar = Wrap(source.Build());
    GrammarMatcher m = MakeMatcher(&compiler, grammar);
    std::vector<Ids> masks = {Allowed(&m)};
    for (int step = 0; step < 25; ++step) {
      const std::string what = grammar.ToString() + "step " + std::to_string(step);
      ASSERT_EQ(static_cast<size_t>(m.history_size()) + 1, masks.size()) << what;
      if (!m.HasStopped()) {
        ASSERT_EQ(masks.back(), AcceptedOnForks(m)) << what;
        for (int32_t id = 0; id < m.vocab_size(); ++id) {
          GrammarMatcher fork = m.Fork();
          const bool accepted = fork.AcceptToken(id);
          const auto after = m.ShortestCompletionAfter(id);
          ASSERT_EQ(after.has_value(), accepted) << what;
          if (accepted) {
            ASSERT_EQ(*after, fork.ShortestCompletionBytes()) << what;
          }
        }
        ASSERT_EQ(m.IsCompleted(), m.ShortestCompletionBytes() == 0) << what;
      }
      const unsigned action = random() % 10;
      if (action < 6 && !m.HasStopped() && !masks.back().empty()) {
        const int32_t id = masks.back()[random() % masks.back().size()];
        ASSERT_TRUE(m.AcceptToken(id)) << what;
        masks.push_back(m.HasStopped() ? Ids{} : Allowed(&m));
      } else if (action < 8) {
        const size_t back = random() % masks.size();
        ASSERT_TRUE(m.Rollback(static_cast<int>(back)).ok()) << what;
        masks.resize(masks.size() - back);
        if (!m.HasStopped()) {
          ASSERT_EQ(Allowed(&m), masks.back()) << what;
        }
      } else if (action < 9) {
        GrammarMatcher fork = m.Fork();
        static_cast<void>(fork.AcceptString("ab"));
        fork.Reset();
        ASSERT_EQ(Allowed(&fork), masks.front()) << what;
        if (!m.HasStopped()) {
          ASSERT_EQ(Allowed(&m), masks.back()) << what << ": a fork changed it";
        }
      } else {
        // A refused step changes nothing.
        const int before = m.history_size();
        for (int32_t id : {-1, 0, 9, 12, 1 << 30}) ASSERT_FALSE(m.AcceptToken(id)) << what;
        ASSERT_FALSE(m.AcceptString("abz")) << what;
        ASSERT_EQ(m.history_size(), before) << what;
        if (!m.HasStopped()) {
          ASSERT_EQ(Allowed(&m), masks.back()) << what;
        }
      }
    }
    m.Reset();
    ASSERT_EQ(m.history_size(), 0);
    ASSERT_EQ(Allowed(&m), masks.front());
  }
}

TEST(Matcher, BytesAndTokensLeadToTheSameState) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"a", "b", "ab", "ba"}));
  const Grammar grammar = MakeGrammar([](GrammarBuilder& b, NodeId self) {
    return b.Choice({b.Bytes("ab"), b.Sequence({b.Bytes("a"), self, b.Bytes("b")})});
  });
  GrammarMatcher by_tokens = MakeMatcher(&compiler, grammar),
                 by_bytes = MakeMatcher(&compiler, grammar);
  EXPECT_TRUE(by_tokens.AcceptToken(0));
  EXPECT_TRUE(by_tokens.AcceptToken(2));
  EXPECT_TRUE(by_bytes.AcceptString("aab"));
  EXPECT_EQ(by_bytes.history_size(), 1);
  EXPECT_EQ(Allowed(&by_tokens), Allowed(&by_bytes));
  EXPECT_TRUE(by_bytes.AcceptString(""));
  EXPECT_EQ(by_bytes.history_size(), 2);
  EXPECT_EQ(Allowed(&by_tokens), Allowed(&by_bytes));
  EXPECT_TRUE(by_bytes.Rollback(2).ok());
  EXPECT_EQ(Allowed(&by_bytes), (Ids{0, 2}));
}

TEST(Matcher, MatchingPrefixChangesNothing) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"a", "b"}));
  GrammarMatcher m = MakeMatcher(&compiler, MakeGrammar([](GrammarBuilder& b, NodeId) {
    return b.Sequence({b.Star(b.Bytes("a")), b.Bytes("bc")});
  }));
  EXPECT_EQ(m.MatchingPrefix(""), 0u);
  EXPECT_EQ(m.MatchingPrefix("aab"), 3u);
  EXPECT_EQ(m.MatchingPrefix("aabx"), 3u);
  EXPECT_EQ(m.MatchingPrefix("x"), 0u);
  EXPECT_EQ(m.MatchingPrefix("abcc"), 3u);
  EXPECT_EQ(m.history_size(), 0);
  EXPECT_TRUE(m.AcceptString("abc"));
  EXPECT_TRUE(m.AcceptToken(2));
  EXPECT_EQ(m.MatchingPrefix("a"), 0u);
}

// ---- history ----

TEST(Matcher, RollbackHasBounds) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"a", "b"}));
  GrammarMatcher m = MakeMatcher(&compiler, Letters());
  EXPECT_TRUE(m.Rollback(0).ok());
  EXPECT_EQ(m.Rollback(1).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(m.Rollback(-1).code(), StatusCode::kOutOfRange);
  EXPECT_TRUE(m.AcceptToken(0));
  EXPECT_TRUE(m.AcceptString("aa"));
  EXPECT_EQ(m.Rollback(3).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(m.history_size(), 2);
  EXPECT_TRUE(m.Rollback(2).ok());
  EXPECT_EQ(Allowed(&m), Ids{0});
}

TEST(Matcher, ALongHistory) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"(", ")", "x"}));
  GrammarMatcher m = MakeMatcher(&compiler, MakeGrammar([](GrammarBuilder& b, NodeId self) {
    return b.Choice({b.Bytes("x"), b.Sequence({b.Bytes("("), self, b.Bytes(")")})});
  }));
  constexpr int kDepth = 50'000;
  for (int i = 0; i < kDepth; ++i) ASSERT_TRUE(m.AcceptToken(0));
  EXPECT_EQ(m.ShortestCompletionBytes(), kDepth + 1u);
  ASSERT_TRUE(m.AcceptToken(2));
  for (int i = 0; i < kDepth; ++i) ASSERT_TRUE(m.AcceptToken(1));
  EXPECT_EQ(Allowed(&m), Ids{3});
  EXPECT_TRUE(m.Rollback(kDepth + 1).ok());
  EXPECT_EQ(Allowed(&m), (Ids{0, 2}));
  EXPECT_TRUE(m.Rollback(kDepth).ok());
  EXPECT_EQ(m.history_size(), 0);
}

// ---- the end ----

TEST(Matcher, AfterTheStopTokenNothingComesUntilRolledBack) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"a", "b"}));
  GrammarMatcher m = MakeMatcher(&compiler, Letters());
  EXPECT_FALSE(m.IsCompleted());
  EXPECT_FALSE(m.AcceptToken(2));
  EXPECT_TRUE(m.AcceptToken(0));
  EXPECT_TRUE(m.IsCompleted());
  EXPECT_FALSE(m.IsTerminated());
  EXPECT_FALSE(m.HasStopped());
  EXPECT_EQ(m.ShortestCompletionAfter(2), 0u);
  EXPECT_TRUE(m.AcceptToken(2));
  EXPECT_TRUE(m.HasStopped() && m.IsTerminated() && m.IsCompleted());
  EXPECT_EQ(m.ShortestCompletionBytes(), 0u);
  EXPECT_EQ(m.ShortestCompletionAfter(0), std::nullopt);
  std::vector<int32_t> row = {77};
  EXPECT_EQ(m.FillNextTokenBitmask(row.data()).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(row[0], 77) << "a failed call writes nothing";
  EXPECT_EQ(m.FindJumpForwardString().status().code(), StatusCode::kFailedPrecondition);
  for (int32_t id : {0, 1, 2}) EXPECT_FALSE(m.AcceptToken(id));
  EXPECT_FALSE(m.AcceptString("a"));
  EXPECT_FALSE(m.AcceptString(""));
  GrammarMatcher fork = m.Fork();
  EXPECT_TRUE(fork.HasStopped());
  EXPECT_TRUE(m.Rollback(0).ok());
  EXPECT_TRUE(m.HasStopped());
  EXPECT_TRUE(m.Rollback(1).ok());
  EXPECT_FALSE(m.HasStopped());
  EXPECT_EQ(Allowed(&m), (Ids{0, 2}));
  EXPECT_TRUE(m.AcceptToken(0));
  fork.Reset();
  EXPECT_FALSE(fork.HasStopped());
  EXPECT_EQ(Allowed(&fork), Ids{0});
}

TEST(Matcher, OverriddenStopTokensMayBeText) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"a", "b", "ab"}));
  MatcherOptions options;
  options.override_stop_tokens = {{1, 0, 1}};
  const CompiledGrammar compiled = Compile(&compiler, MakeGrammar([](GrammarBuilder& b, NodeId) {
    return b.Repeat(b.Bytes("ab"), 1, kUnbounded);
  }));
  GrammarMatcher m = MakeMatcher(compiled, options);
  EXPECT_EQ(m.stop_token_ids(), (Ids{0, 1}));
  // As text, 0 could come; as a stop token it may not yet. The tokenizer's own stop token is none.
  EXPECT_EQ(Allowed(&m), Ids{2});
  EXPECT_FALSE(m.AcceptToken(0));
  EXPECT_FALSE(m.AcceptToken(3));
  EXPECT_TRUE(m.AcceptToken(2));
  EXPECT_EQ(Allowed(&m), (Ids{0, 1, 2}));
  EXPECT_TRUE(m.AcceptToken(0));
  EXPECT_TRUE(m.IsTerminated());
  EXPECT_TRUE(m.Rollback(1).ok());
  EXPECT_TRUE(m.AcceptString("a"));
  EXPECT_EQ(Allowed(&m), Ids{});
  EXPECT_FALSE(m.AcceptToken(1));
  EXPECT_TRUE(m.AcceptString("b"));
  EXPECT_TRUE(m.AcceptToken(1));
}

TEST(Matcher, OverriddenStopTokensAreChecked) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"a"}));
  const CompiledGrammar compiled = Compile(&compiler, Letters());
  for (const Ids& bad : {Ids{}, Ids{-1}, Ids{2}, Ids{0, 1 << 30}}) {
    MatcherOptions options;
    options.override_stop_tokens = bad;
    EXPECT_EQ(GrammarMatcher::Create(compiled, options).status().code(),
              StatusCode::kInvalidArgument);
  }
}

TEST(Matcher, TerminatingWithoutAStopToken) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"a", "b"}));
  MatcherOptions options;
  options.terminate_without_stop_token = true;
  GrammarMatcher m = MakeMatcher(
      &compiler, MakeGrammar([](GrammarBuilder& b, NodeId) { return b.Bytes("ab"); }), options);
  EXPECT_FALSE(m.IsTerminated());
  EXPECT_TRUE(m.AcceptToken(0));
  EXPECT_EQ(Allowed(&m), Ids{1});
  EXPECT_TRUE(m.AcceptToken(1));
  EXPECT_TRUE(m.IsTerminated());
  EXPECT_FALSE(m.HasStopped());
  EXPECT_EQ(Allowed(&m), Ids{});
  EXPECT_FALSE(m.AcceptToken(2));
  EXPECT_EQ(m.ShortestCompletionAfter(2), std::nullopt);
  EXPECT_TRUE(m.Rollback(1).ok());
  EXPECT_FALSE(m.IsTerminated());
}

// ---- jump-forward ----

std::string Jump(GrammarMatcher* m) {
  StatusOr<std::string> forced = m->FindJumpForwardString();
  EXPECT_TRUE(forced.ok()) << forced.status().message();
  return *forced;
}

TEST(Matcher, JumpForwardGoesThroughJsonKeysInPlainSpelling) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"a", "b"}));
  GrammarMatcher m = MakeMatcher(&compiler, MakeGrammar([](GrammarBuilder& b, NodeId) {
    return b.Sequence({b.Bytes("{\""), b.JsonText("name"), b.Bytes("\": "),
                       b.Choice({b.Bytes("true"), b.Bytes("null")}), b.Bytes(", \""),
                       b.JsonText("na\xC3\xAFve key"), b.Bytes("\"}")});
  }));
  EXPECT_EQ(Jump(&m), "{\"name\": ");
  EXPECT_EQ(m.history_size(), 0);
  ASSERT_TRUE(m.AcceptString("{\"n\\u0061me\": "));
  EXPECT_EQ(Jump(&m), "");
  ASSERT_TRUE(m.AcceptString("n"));
  EXPECT_EQ(Jump(&m), "ull, \"na\xC3\xAFve key\"}");
  ASSERT_TRUE(m.AcceptString(Jump(&m)));
  EXPECT_TRUE(m.IsCompleted());
  EXPECT_EQ(Jump(&m), "");
}

TEST(Matcher, JumpForwardStopsWhereKeysPart) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"a", "b"}));
  GrammarMatcher m = MakeMatcher(&compiler, MakeGrammar([](GrammarBuilder& b, NodeId) {
    return b.Sequence(
        {b.Bytes("\""), b.Choice({b.JsonText("first"), b.JsonText("final")}), b.Bytes("\"")});
  }));
  EXPECT_EQ(Jump(&m), "\"fi");
  ASSERT_TRUE(m.AcceptString("\"fi"));
  EXPECT_EQ(Jump(&m), "");
  ASSERT_TRUE(m.AcceptString("n"));
  EXPECT_EQ(Jump(&m), "al\"");
}

TEST(Matcher, JumpForwardNeverCutsACharacter) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"a", "b"}));
  // U+00E9 and U+00E8 share a first byte, U+20AC and U+20AD two.
  GrammarMatcher m = MakeMatcher(&compiler, MakeGrammar([](GrammarBuilder& b, NodeId) {
    return b.Sequence({b.Bytes("x"), b.Class(CodePointSet{{0xE8, 0xE9}}), b.Bytes("\xE2\x82\xAC-"),
                       b.Class(CodePointSet{{0x20AC, 0x20AD}}), b.Bytes("!")});
  }));
  EXPECT_EQ(Jump(&m), "x");
  ASSERT_TRUE(m.AcceptString("x"));
  EXPECT_EQ(Jump(&m), "");
  ASSERT_TRUE(m.AcceptString("\xC3"));
  EXPECT_EQ(Jump(&m), "");
  ASSERT_TRUE(m.AcceptString("\xA9"));
  EXPECT_EQ(Jump(&m), "\xE2\x82\xAC-");
  ASSERT_TRUE(m.AcceptString("\xE2"));
  EXPECT_EQ(Jump(&m), "") << "the rest of a character is none";
  ASSERT_TRUE(m.AcceptString("\x82\xAC-\xE2\x82\xAD"));
  EXPECT_EQ(Jump(&m), "!");
}

TEST(Matcher, JumpForwardOfRepeatsAndRules) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"a", "b"}));
  GrammarMatcher m = MakeMatcher(&compiler, MakeGrammar([](GrammarBuilder& b, NodeId) {
    return b.Sequence({b.Repeat(b.JsonText("ab"), 3, 3), b.Optional(b.Bytes("c"))});
  }));
  EXPECT_EQ(Jump(&m), "ababab");
  GrammarMatcher endless = MakeMatcher(&compiler, MakeGrammar([](GrammarBuilder& b, NodeId) {
    return b.Repeat(b.Bytes("ab"), 1 << 30, 1 << 30);
  }));
  const std::string forced = Jump(&endless);
  EXPECT_GT(forced.size(), 1000u);
  EXPECT_LT(forced.size(), 1u << 20);
}

// ---- vocabularies ----

TEST(Matcher, AnEmptyVocabulary) {
  TokenizerOptions options;
  options.stop_token_ids = Ids{};
  const StatusOr<TokenizerInfo> tokenizer = TokenizerInfo::Create({}, options);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  GrammarCompiler compiler = MakeCompiler(*tokenizer);
  GrammarMatcher m = MakeMatcher(&compiler, Letters());
  EXPECT_EQ(m.mask_words(), 0);
  EXPECT_EQ(Allowed(&m), Ids{});
  EXPECT_FALSE(m.AcceptToken(0));
  EXPECT_TRUE(m.AcceptString("aa"));
  EXPECT_TRUE(m.IsCompleted());
}

TEST(Matcher, WhenAllTokensAreAllowedTheMaskSaysSo) {
  for (size_t size : {1, 30, 31, 32, 63}) {
    std::vector<std::string> tokens(size, "a");
    GrammarCompiler compiler = MakeCompiler(MakeTokenizer(tokens));
    GrammarMatcher m = MakeMatcher(
        &compiler, MakeGrammar([](GrammarBuilder& b, NodeId) { return b.Star(b.Bytes("a")); }));
    std::vector<int32_t> row(static_cast<size_t>(m.mask_words()));
    const StatusOr<bool> refuses = m.FillNextTokenBitmask(row.data());
    ASSERT_TRUE(refuses.ok());
    EXPECT_FALSE(*refuses) << size;
    EXPECT_EQ(Allowed(&m).size(), size + 1);
  }
}

TEST(Matcher, TokensByIdAndStopTokensInTheGrammar) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"a", "<t>", "b"}, {1}));
  GrammarMatcher m = MakeMatcher(&compiler, MakeGrammar([](GrammarBuilder& b, NodeId) {
    return b.Sequence(
        {b.Tokens({{1}, false}), b.Choice({b.Bytes("a"), b.Tokens({{3}, false})}), b.Bytes("b")});
  }));
  EXPECT_EQ(Allowed(&m), Ids{1});
  EXPECT_FALSE(m.AcceptString("<t>"));
  EXPECT_TRUE(m.AcceptToken(1));
  // The grammar names the stop token where the text is not complete: it stays refused.
  EXPECT_EQ(Allowed(&m), Ids{0});
  EXPECT_FALSE(m.AcceptToken(3));
  EXPECT_TRUE(m.AcceptToken(0));
  EXPECT_TRUE(m.AcceptToken(2));
  EXPECT_EQ(Allowed(&m), Ids{3});
}

TEST(Matcher, MovesLeaveNothingBehind) {
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer({"a", "b"}));
  GrammarMatcher m = MakeMatcher(&compiler, Letters());
  ASSERT_TRUE(m.AcceptToken(0));
  GrammarMatcher moved = std::move(m);
  EXPECT_EQ(Allowed(&moved), (Ids{0, 2}));
  GrammarMatcher other = MakeMatcher(&compiler, Letters());
  other = std::move(moved);
  EXPECT_EQ(other.history_size(), 1);
  EXPECT_EQ(GetBitmaskSize(0), 0);
  EXPECT_EQ(GetBitmaskSize(32), 1);
  EXPECT_EQ(GetBitmaskSize(33), 2);
}

// What a text still needs under a bound on its length is searched for only where that is near: the
// states of all times with a leap second are 25,000.
TEST(Matcher, FormatsWithinALengthTakeFewStates) {
  std::vector<std::string> tokens;
  for (int b = 0; b < 128; ++b) tokens.push_back(std::string(1, static_cast<char>(b)));
  for (int n = 0; n < 100; ++n) tokens.push_back(std::to_string(n / 10) + std::to_string(n % 10));
  const TokenizerInfo tokenizer = MakeTokenizer(tokens);
  for (const char* schema : {R"({"type": "string", "format": "date-time", "maxLength": 24})",
                             R"({"type": "string", "format": "date-time", "maxLength": 20})",
                             R"({"type": "string", "format": "time", "maxLength": 12})"}) {
    GrammarCompiler compiler = MakeCompiler(tokenizer);
    const StatusOr<CompiledGrammar> compiled = compiler.CompileJsonSchema(schema);
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    StatusOr<GrammarMatcher> matcher = GrammarMatcher::Create(*compiled);
    ASSERT_TRUE(matcher.ok()) << matcher.status().message();
    std::vector<int32_t> row(static_cast<size_t>(matcher->mask_words()));
    ASSERT_TRUE(matcher->FillNextTokenBitmask(row.data()).ok());
    ASSERT_TRUE(matcher->AcceptString("\""));
    ASSERT_TRUE(matcher->FillNextTokenBitmask(row.data()).ok());
    EXPECT_LT(compiled->stats().states, 10'000u) << schema;
  }
}

}  // namespace
}  // namespace grammask
