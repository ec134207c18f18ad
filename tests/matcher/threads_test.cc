// Many threads on one compiler: the same masks as alone, while tables fill and are thrown away.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/code_point_set.h"
#include "matcher/engine.h"
#include "matcher_world.h"

namespace grammask {
namespace {

using internal::CodePointSet;

TokenizerInfo Tokenizer() {
  std::vector<std::string> tokens = {"\"",  "a",   "b",     "ab", "[", "]", ",", "\",",
                                     "\"]", "\\n", "\\u00", "x",  "(", ")", "!"};
  for (int i = 0; i < 80; ++i) tokens.push_back("w" + std::to_string(i));
  return MakeTokenizer(tokens);
}

Grammar Nested(int kind) {
  return MakeGrammar([&](GrammarBuilder& b, NodeId self) {
    const NodeId text = b.Sequence(
        {b.Bytes("\""), b.Repeat(b.JsonClass(CodePointSet::All()), 0, 10 + kind), b.Bytes("\"")});
    const NodeId word =
        b.And({b.Repeat(b.Class(CodePointSet{{'a', 'z'}}), 1, 30), b.Not(b.Bytes("ab"))});
    return b.Choice(
        {text, b.Sequence({word, b.Bytes("!")}), b.Sequence({b.Bytes("("), self, b.Bytes(")")}),
         b.Sequence({b.Bytes("["), self, b.Star(b.Sequence({b.Bytes(","), self})), b.Bytes("]")})});
  });
}

// A walk that depends on nothing but its seed, as the masks on its way.
std::vector<Ids> Walk(const CompiledGrammar& compiled, uint32_t seed, int steps) {
  std::mt19937 random(seed);
  GrammarMatcher m = MakeMatcher(compiled);
  std::vector<Ids> masks;
  for (int i = 0; i < steps; ++i) {
    masks.push_back(Allowed(&m));
    if (masks.back().empty() || random() % 9 == 0) {
      EXPECT_TRUE(m.Rollback(m.history_size() / 2).ok());
      continue;
    }
    EXPECT_TRUE(m.AcceptToken(masks.back()[random() % masks.back().size()]));
    if (m.HasStopped()) m.Reset();
    if (random() % 16 == 0) {
      GrammarMatcher fork = m.Fork();
      static_cast<void>(fork.FindJumpForwardString());
      static_cast<void>(fork.ShortestCompletionBytes());
    }
  }
  return masks;
}

void WalksAgree(const CompilerOptions& options, int rounds, int steps) {
  constexpr uint32_t kWalks = 6;
  const TokenizerInfo tokenizer = Tokenizer();
  std::vector<std::vector<Ids>> expected;
  {
    GrammarCompiler alone = MakeCompiler(tokenizer);
    for (uint32_t w = 0; w < kWalks; ++w) {
      expected.push_back(Walk(Compile(&alone, Nested(static_cast<int>(w % 3))), w, steps));
    }
  }
  for (int round = 0; round < rounds; ++round) {
    GrammarCompiler shared = MakeCompiler(tokenizer, options);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (uint32_t k = 0; k < kWalks; ++k) {
          const uint32_t w = (k + t) % kWalks;
          const CompiledGrammar compiled = Compile(&shared, Nested(static_cast<int>(w % 3)));
          if (k == t) compiled.Precompute(2, 50);
          if (k == 3) static_cast<void>(compiled.stats());
          wrong += Walk(compiled, w, steps) != expected[w];
        }
      });
    }
    for (std::thread& t : threads) t.join();
    ASSERT_EQ(wrong, 0) << "round " << round;
    if (options.limits.arena_bytes == 1) {
      const CompiledGrammar last = Compile(&shared, Nested(0));
      EXPECT_GT(last.impl()->hub->generation(), 3u) << "no tables were thrown away";
    }
  }
}

TEST(Threads, SharedTablesGiveTheMasksOfOwnTables) { WalksAgree({}, 6, 200); }

TEST(Threads, AlsoWhileTablesAreThrownAway) {
  CompilerOptions options;
  options.limits.arena_bytes = 1;  // any growth is too much
  options.cache_limit_bytes = 2000;
  WalksAgree(options, 2, 100);
}

// Forks of one matcher on several threads, as in the search for the best draft.
TEST(Threads, ForksRunAtOnce) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer());
  const CompiledGrammar compiled = Compile(&compiler, Nested(0));
  GrammarMatcher root = MakeMatcher(compiled);
  ASSERT_TRUE(root.AcceptString("[(\"a"));
  const Ids expected = Allowed(&root);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, fork = root.Fork(), t]() mutable {
      for (int i = 0; i < 200; ++i) {
        const int32_t token = expected[static_cast<size_t>(i * 5 + t) % expected.size()];
        wrong += !fork.AcceptToken(token);
        static_cast<void>(Allowed(&fork));
        wrong += !fork.Rollback(1).ok() || Allowed(&fork) != expected;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace grammask
