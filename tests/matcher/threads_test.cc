// Many threads on one compiler: the same masks as alone, while tables fill and are thrown away.
#include <gtest/gtest.h>

#include <atomic>
#include <iterator>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
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
      // How often depends on which thread comes first, and on what the tables take.
      EXPECT_GT(last.impl()->hub->generation(), 1u) << "no tables were thrown away";
    }
  }
}

TEST(Threads, SharedTablesGiveTheMasksOfOwnTables) { WalksAgree({}, 6, 200); }

TEST(Threads, AlsoWhileTablesAreThrownAway) {
  CompilerOptions options;
  options.limits.arena_bytes = 1;  // any growth is too much
  options.cache_limit_bytes = 2000;
  WalksAgree(options, 2, 200);
}

// All matchers of a batch move to new tables while it is filled, each on the thread that fills it.
TEST(Threads, BatchesWhileTablesAreThrownAway) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer());
  std::vector<GrammarMatcher> matchers;
  std::vector<GrammarMatcher*> batch;
  for (int i = 0; i < 300; ++i) {
    matchers.push_back(MakeMatcher(Compile(&compiler, Nested(i % 3))));
    ASSERT_TRUE(matchers.back().AcceptString(std::string(static_cast<size_t>(i % 7), '[') + "\"a"));
  }
  for (GrammarMatcher& m : matchers) batch.push_back(&m);
  internal::EngineHub& hub = *matchers[0].compiled_grammar().impl()->hub;
  const int words = matchers[0].mask_words();
  std::vector<int32_t> expected, masks(batch.size() * static_cast<size_t>(words));
  for (const int threads : {1, 2, 4}) {
    BatchGrammarMatcher pool(threads);
    for (int round = 0; round < 8; ++round) {
      const std::shared_ptr<internal::Engine> current = hub.Current();
      hub.Replace(*current);
      ASSERT_TRUE(current->retired());
      ASSERT_TRUE(pool.FillNextTokenBitmask(batch, masks.data(), static_cast<int64_t>(batch.size()),
                                            words, words, {})
                      .ok());
      if (expected.empty()) expected = masks;
      ASSERT_EQ(masks, expected) << "round " << round << " of " << threads << " threads";
    }
  }
}

// Compilers of one tokenizer share its slices, the first of which several may want at once.
TEST(Threads, CompilersOfOneTokenizer) {
  std::vector<std::vector<Ids>> expected;
  for (uint32_t w = 0; w < 4; ++w) {
    GrammarCompiler alone = MakeCompiler(Tokenizer());
    expected.push_back(Walk(Compile(&alone, Nested(static_cast<int>(w))), w, 40));
  }
  for (int round = 0; round < 10; ++round) {
    const TokenizerInfo tokenizer = Tokenizer();
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 3; ++i) {
          CompilerOptions options;
          options.limits.arena_bytes = t % 2 == 0 ? options.limits.arena_bytes : 1;
          GrammarCompiler compiler = MakeCompiler(tokenizer, options);
          wrong += Walk(Compile(&compiler, Nested(static_cast<int>(t))), t, 40) != expected[t];
        }
      });
    }
    for (std::thread& t : threads) t.join();
    ASSERT_EQ(wrong, 0) << "round " << round;
  }
}

// Forks of one matcher on several threads, as in the search for the best draft.
// Rules that refer to one another, many enough to be read node by node, and others.
std::string ManyRules() {
  std::string text = "root ::= t0\n";
  for (int i = 0; i < 24; ++i) {
    auto name = [&](const char* kind, int step) { return kind + std::to_string((i + step) % 24); };
    text += name("t", 0) + " ::= \"[\" " + name("t", 1) + " (\",\" " + name("t", 5) +
            ")* \"]\" | \"" + name("w", 0) + "\" | \"(\" " + name("m", 0) + " \")\"\n";
    text += name("m", 0) + " ::= \"a\" [^!]{2,} \"!\" (\"" + name("w", 3) + "\" | \"" +
            name("w", 4) + "x\")* \"b\" [^x]{3,} \"x\"\n";
  }
  return text;
}

TEST(Threads, TrustedFilesAreReadAsTheyAreAskedFor) {
  constexpr uint32_t kWalks = 6;
  const TokenizerInfo tokenizer = Tokenizer();
  GrammarCompiler alone = MakeCompiler(tokenizer);
  const CompiledGrammar compiled = *alone.CompileEbnf(ManyRules());
  std::vector<std::vector<Ids>> expected;
  for (uint32_t w = 0; w < kWalks; ++w) expected.push_back(Walk(compiled, w, 100));
  const std::string saved = *compiled.Serialize();
  CompilerOptions tiny;
  tiny.limits.arena_bytes = 1 << 16;
  for (const CompilerOptions& options : {CompilerOptions{}, tiny}) {
    for (int round = 0; round < 4; ++round) {
      GrammarCompiler shared = MakeCompiler(tokenizer, options);
      std::vector<std::vector<Ids>> found(kWalks);
      std::vector<std::thread> threads;
      for (uint32_t w = 0; w < kWalks; ++w) {
        threads.emplace_back([&, w] {
          const auto loaded = shared.Load(saved, true);
          if (loaded.ok()) found[w] = Walk(*loaded, w, 100);
        });
      }
      for (std::thread& t : threads) t.join();
      EXPECT_EQ(found, expected);
    }
  }
}

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

// Requests as a server has them: compiled from a small cache, forked on one thread and followed on
// another, filled in batches, rolled back far, while tables are thrown away again and again.
class Server {
 public:
  Server() : compiler_(MakeCompiler(Tokenizer(), Options())) {
    GrammarCompiler alone = MakeCompiler(Tokenizer());
    for (int kind = 0; kind < kKinds; ++kind) {
      GrammarMatcher m = MakeMatcher(Compile(&alone, Nested(kind)));
      for (const char* text : kTexts) {
        EXPECT_TRUE(m.AcceptString(text)) << text;
        expected_.push_back(Allowed(&m));
      }
    }
  }
  size_t wrong() const { return wrong_; }

  // `kBatch` requests, step by step; what another thread has left is followed too.
  void Work(uint32_t seed) {
    std::mt19937 random(seed);
    BatchGrammarMatcher batch(2);
    for (int round = 0; round < 12; ++round) {
      const int kind = static_cast<int>(random() % kKinds);
      const CompiledGrammar compiled = Compile(&compiler_, Nested(kind));
      std::vector<GrammarMatcher> matchers;
      for (int i = 0; i < kBatch; ++i) matchers.push_back(MakeMatcher(compiled));
      for (size_t step = 0; step < std::size(kTexts); ++step) {
        for (GrammarMatcher& m : matchers) wrong_ += !m.AcceptString(kTexts[step]);
        Fill(&batch, &matchers, kind, step);
        if (step == 3) Exchange(&matchers[0], kind);
      }
      for (GrammarMatcher& m : matchers) wrong_ += !m.Rollback(m.history_size() - 1).ok();
      // Longer than a history's window.
      for (int i = 0; i < 600 && round % 4 == 0; ++i) wrong_ += !matchers[1].AcceptToken(12);
      wrong_ += !matchers[1].Rollback(matchers[1].history_size() - 1).ok();
      Fill(&batch, &matchers, kind, 0);
    }
  }

 private:
  static constexpr int kKinds = 3, kBatch = 5;
  static constexpr const char* kTexts[] = {"[(", "\"a", "b\"),", "[\"x", "\\n"};

  static CompilerOptions Options() {
    CompilerOptions options;
    options.limits.arena_bytes = 1;
    options.cache_limit_bytes = 2000;
    return options;
  }
  void Check(const Ids& mask, int kind, size_t step) {
    wrong_ += mask != expected_[static_cast<size_t>(kind) * std::size(kTexts) + step];
  }
  void Fill(BatchGrammarMatcher* batch, std::vector<GrammarMatcher>* matchers, int kind,
            size_t step) {
    std::vector<GrammarMatcher*> pointers;
    for (GrammarMatcher& m : *matchers) pointers.push_back(&m);
    const auto words = static_cast<size_t>(pointers[0]->mask_words());
    std::vector<int32_t> rows(words * pointers.size());
    const auto n = static_cast<int64_t>(words);
    wrong_ += !batch->FillNextTokenBitmask(pointers, rows.data(), kBatch, n, n).ok();
    for (size_t i = 0; i < pointers.size(); ++i) {
      const Ids mask = Allowed(pointers[i]);
      Check(mask, kind, step);
      Ids row;
      for (size_t t = 0; t < words * 32; ++t) {
        if (((static_cast<uint32_t>(rows[i * words + t / 32]) >> (t % 32)) & 1) != 0) {
          row.push_back(static_cast<int32_t>(t));
        }
      }
      wrong_ += row != mask;
    }
  }
  // Leaves a fork for another thread, and follows the one that was left here.
  void Exchange(GrammarMatcher* matcher, int kind) {
    std::optional<std::pair<int, GrammarMatcher>> other(std::in_place, kind, matcher->Fork());
    {
      std::lock_guard lock(mutex_);
      std::swap(left_, other);
    }
    if (!other.has_value()) return;
    auto& [other_kind, fork] = *other;
    Check(Allowed(&fork), other_kind, 3);
    wrong_ += !fork.AcceptString(kTexts[4]);
    Check(Allowed(&fork), other_kind, 4);
    wrong_ += !fork.Rollback(3).ok();
    Check(Allowed(&fork), other_kind, 1);
  }

  GrammarCompiler compiler_;
  std::vector<Ids> expected_;
  std::mutex mutex_;
  std::optional<std::pair<int, GrammarMatcher>> left_;
  std::atomic<size_t> wrong_ = 0;
};

TEST(Threads, AServersRequests) {
  Server server;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) threads.emplace_back([&server, t] { server.Work(t); });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(server.wrong(), 0u);
}

}  // namespace
}  // namespace grammask
