// The memory budget: tables are thrown away under running matchers, and nothing but memory changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/code_point_set.h"
#include "matcher/engine.h"
#include "matcher_world.h"
#include "parser/random_grammar.h"

namespace grammask {
namespace {

using internal::CodePointSet;
using internal::Engine;
using internal::EngineHub;

constexpr size_t kTiny = 200'000;
// What tables may take over their budget before anyone looks: the steps between two looks, and the
// chunks in which tables grow.
constexpr size_t kSlack = 4'000'000;

CompilerOptions Tiny() {
  CompilerOptions options;
  options.limits.arena_bytes = kTiny;
  return options;
}

TokenizerInfo Tokenizer() {
  std::vector<std::string> tokens = {"a", "b", "ab", "ba",  "bab", "\"", "\",", "[",
                                     "]", ",", "\\", "\\n", "x",   "{",  "}"};
  for (int i = 0; i < 200; ++i) tokens.push_back("w" + std::to_string(i));
  return MakeTokenizer(tokens);
}

Grammar Lists() {
  return MakeGrammar([](GrammarBuilder& b, NodeId self) {
    const NodeId text = b.Sequence(
        {b.Bytes("\""), b.Repeat(b.JsonClass(CodePointSet::All()), 0, 500), b.Bytes("\"")});
    return b.Choice({text, b.Sequence({b.Bytes("["), self, b.Star(b.Sequence({b.Bytes(","), self})),
                                       b.Bytes("]")})});
  });
}

const std::shared_ptr<EngineHub>& HubOf(const CompiledGrammar& compiled) {
  return compiled.impl()->hub;
}

// A matcher of an engine that is always over its budget beside one of an engine with plenty.
TEST(Budget, MasksStayEqualWhileTablesAreThrownAway) {
  const TokenizerInfo tokenizer = Tokenizer();
  CompilerOptions none = Tiny();
  none.limits.arena_bytes = 1;  // any growth is too much
  GrammarCompiler tiny = MakeCompiler(tokenizer, none), large = MakeCompiler(tokenizer);
  std::mt19937 random(3);
  for (const Grammar& grammar : {Palindromes("x"), Lists()}) {
    const CompiledGrammar compiled = Compile(&tiny, grammar);
    const uint64_t first = HubOf(compiled)->generation();
    for (int walk = 0; walk < 40; ++walk) {
      GrammarMatcher x = MakeMatcher(compiled), y = MakeMatcher(&large, grammar);
      for (int step = 0; step < 250; ++step) {
        const Ids allowed = Allowed(&y);
        ASSERT_EQ(Allowed(&x), allowed) << "walk " << walk << " step " << step;
        if (allowed.empty()) break;
        const unsigned action = random() % 12;
        if (action == 0) {
          const int back =
              static_cast<int>(random() % static_cast<unsigned>(x.history_size() / 4 + 1));
          ASSERT_TRUE(x.Rollback(back).ok() && y.Rollback(back).ok());
        } else if (action == 1 && x.AcceptString("a")) {
          ASSERT_TRUE(y.AcceptString("a"));
        } else if (action > 1) {
          const int32_t token = allowed[random() % allowed.size()];
          ASSERT_TRUE(x.AcceptToken(token) && y.AcceptToken(token));
          if (x.HasStopped()) {
            ASSERT_TRUE(x.Rollback(1).ok() && y.Rollback(1).ok());
          }
        }
        ASSERT_EQ(x.ShortestCompletionBytes(), y.ShortestCompletionBytes());
        ASSERT_EQ(x.IsCompleted(), y.IsCompleted());
      }
    }
    EXPECT_GT(HubOf(compiled)->generation(), first) << "the budget was never used up";
  }
}

TEST(Budget, AStoppedMatcherMovesWithItsHistory) {
  const TokenizerInfo tokenizer = Tokenizer();
  GrammarCompiler compiler = MakeCompiler(tokenizer, Tiny());
  const CompiledGrammar compiled = Compile(&compiler, Palindromes("x"));
  GrammarMatcher sleeper = MakeMatcher(compiled);
  ASSERT_TRUE(sleeper.AcceptToken(2));
  ASSERT_TRUE(sleeper.AcceptString("x"));
  ASSERT_TRUE(sleeper.AcceptToken(3));
  ASSERT_TRUE(sleeper.AcceptToken(tokenizer.vocab_size() - 1));
  const uint64_t before = HubOf(compiled)->generation();
  for (int i = 0; HubOf(compiled)->generation() < before + 3; ++i) {
    ASSERT_LT(i, 100'000);
    GrammarMatcher other = MakeMatcher(compiled);
    std::mt19937 random(static_cast<uint32_t>(i));
    for (int k = 0; k < 200; ++k)
      ASSERT_TRUE(other.AcceptToken(static_cast<int32_t>(random() % 2)));
  }
  EXPECT_TRUE(sleeper.HasStopped());
  ASSERT_TRUE(sleeper.Rollback(1).ok());
  EXPECT_EQ(Allowed(&sleeper), Ids{tokenizer.vocab_size() - 1});
  ASSERT_TRUE(sleeper.Rollback(1).ok());
  EXPECT_EQ(Allowed(&sleeper), (Ids{1, 3}));
  EXPECT_EQ(sleeper.history_size(), 2);
}

// The engines that are alive, of all that were ever current.
class Census {
 public:
  void Look(EngineHub& hub) {
    std::shared_ptr<Engine> engine = hub.Current();
    if (seen_.empty() || seen_.back().lock() != engine) seen_.push_back(engine);
  }
  size_t generations() const { return seen_.size(); }
  size_t alive() const {
    return static_cast<size_t>(
        std::ranges::count_if(seen_, [](const auto& e) { return !e.expired(); }));
  }

 private:
  std::vector<std::weak_ptr<Engine>> seen_;
};

TEST(Budget, ThousandsOfGrammarsTakeNoMoreThanTheBudget) {
  for (const bool cached : {false, true}) {
    CompilerOptions options = Tiny();
    options.cache_enabled = cached;
    GrammarCompiler compiler = MakeCompiler(Tokenizer(), options);
    Census census;
    std::vector<CompiledGrammar> kept;
    size_t empty = 0;
    for (int i = 0; i < 3000; ++i) {
      const Grammar grammar = MakeGrammar([&](GrammarBuilder& b, NodeId) {
        return b.Sequence(
            {b.Bytes("{" + std::to_string(i * 7919)),
             b.Repeat(b.Class(CodePointSet{{'a', 'b' + static_cast<uint32_t>(i % 20)}}), 1, i + 1),
             b.Bytes("}")});
      });
      const CompiledGrammar compiled = Compile(&compiler, grammar);
      EngineHub& hub = *HubOf(compiled);
      if (i == 0) empty = hub.Current()->memory_bytes();
      census.Look(hub);
      GrammarMatcher m = MakeMatcher(compiled);
      ASSERT_TRUE(m.AcceptString("{" + std::to_string(i * 7919)));
      ASSERT_EQ(Allowed(&m).front(), 0);
      ASSERT_LT(hub.Current()->memory_bytes(), empty + kTiny + kSlack) << i;
      if (i % 100 == 0) kept.push_back(compiled);
    }
    EXPECT_GT(census.generations(), 3u);
    EXPECT_LE(census.alive(), 2u) << "grammars that wait must not keep old tables";
    // They are placed again when they are used again.
    for (size_t k = 0; k < kept.size(); ++k) {
      GrammarMatcher m = MakeMatcher(kept[k]);
      EXPECT_TRUE(m.AcceptString("{" + std::to_string(k * 100 * 7919) + "a}"));
    }
  }
}

// Outputs too short for a periodic look, and forks of one matcher, count too.
// cache_limit_bytes bounds the tables beside the grammars.
TEST(Budget, TheCacheAndTheTablesShareALimit) {
  CompilerOptions options;
  options.cache_limit_bytes = 20'000'000;
  auto compiler = GrammarCompiler::Create(Tokenizer(), options);
  ASSERT_TRUE(compiler.ok());
  size_t most_tables = 0;
  int64_t most_grammars = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string ebnf = "root ::= \"" + std::to_string(i) + "\"";
    for (int k = 0; k < 40; ++k) {
      ebnf += " | \"w" + std::to_string(i * 41 + k) + "\" [a-f]{1," + std::to_string(k + 2) + "}";
    }
    auto compiled = compiler->CompileEbnf(ebnf);
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    if (i % 20 == 0) most_tables = std::max(most_tables, compiled->stats().memory_bytes);
    most_grammars = std::max(most_grammars, compiler->cache_size_bytes());
  }
  EXPECT_GT(most_tables, 4'000'000u);
  EXPECT_LE(most_tables, 8'000'000u + kSlack);
  EXPECT_GT(most_grammars, 8'000'000);
  EXPECT_LE(most_grammars, 10'000'000);
}

TEST(Budget, ManyShortOutputsTakeNoMoreThanTheBudget) {
  for (const bool forks : {false, true}) {
    GrammarCompiler compiler = MakeCompiler(Tokenizer(), Tiny());
    const CompiledGrammar compiled = Compile(&compiler, Palindromes("x"));
    EngineHub& hub = *HubOf(compiled);
    const size_t empty = hub.Current()->memory_bytes();
    GrammarMatcher root = MakeMatcher(compiled);
    std::mt19937 random(9);
    Census census;
    for (int i = 0; i < 6000; ++i) {
      GrammarMatcher m = forks ? root.Fork() : MakeMatcher(compiled);
      for (int k = 0; k < 20; ++k) ASSERT_TRUE(m.AcceptToken(static_cast<int32_t>(random() % 2)));
      census.Look(hub);
      ASSERT_LT(hub.Current()->memory_bytes(), empty + kTiny + kSlack) << i;
    }
    EXPECT_GT(census.generations(), 2u);
    EXPECT_LE(census.alive(), 3u);
  }
}

// Matchers that wake up one after the other must not raise the budget without end.
TEST(Budget, ManySleepersDoNotRaiseTheBudget) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer(), Tiny());
  const CompiledGrammar compiled = Compile(&compiler, Palindromes("x"));
  EngineHub& hub = *HubOf(compiled);
  const size_t empty = hub.Current()->memory_bytes();
  std::vector<GrammarMatcher> sleepers;
  for (int i = 0; i < 30; ++i) {
    sleepers.push_back(MakeMatcher(compiled));
    ASSERT_TRUE(sleepers.back().AcceptString("abab"));
  }
  std::mt19937 random(10);
  size_t most = 0;
  for (int i = 0; i < 6000; ++i) {
    GrammarMatcher m = MakeMatcher(compiled);
    for (int k = 0; k < 20; ++k) ASSERT_TRUE(m.AcceptToken(static_cast<int32_t>(random() % 2)));
    if (i % 200 == 199) {
      ASSERT_EQ(Allowed(&sleepers[static_cast<size_t>(i / 200)]), (Ids{0, 1, 2, 3, 4, 12}));
    }
    most = std::max(most, hub.Current()->memory_bytes());
  }
  EXPECT_LT(most, empty + 2 * kTiny + kSlack);
}

// Where a grammar is compiled tables over the budget are left; an output goes on in them a while.
TEST(Budget, AnOutputMovesLaterThanWhatIsCompiled) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer());
  GrammarMatcher m = MakeMatcher(&compiler, Palindromes("x"));
  EngineHub& hub = *HubOf(m.compiled_grammar());
  const std::shared_ptr<Engine> first = hub.Current();
  std::mt19937 random(13);
  auto accept = [&](int letters) {
    for (int i = 0; i < letters; ++i) {
      ASSERT_TRUE(m.AcceptToken(static_cast<int32_t>(random() % 2)));
    }
  };
  while (first->memory_bytes() <= first->budget) accept(64);
  accept(128);
  EXPECT_EQ(hub.generation(), 0u);
  while (first->memory_bytes() <= first->budget + first->budget / 8) accept(64);
  accept(128);
  EXPECT_EQ(hub.generation(), 1u);
}

TEST(Budget, ACompilationMovesOn) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer());
  GrammarMatcher m = MakeMatcher(&compiler, Palindromes("x"));
  EngineHub& hub = *HubOf(m.compiled_grammar());
  std::mt19937 random(13);
  while (hub.Current()->memory_bytes() <= hub.Current()->budget) {
    for (int i = 0; i < 64; ++i) ASSERT_TRUE(m.AcceptToken(static_cast<int32_t>(random() % 2)));
  }
  EXPECT_EQ(hub.generation(), 0u);
  Compile(&compiler, Lists());
  EXPECT_EQ(hub.generation(), 1u);
}

// Reads letters by chance.
class Reader {
 public:
  explicit Reader(GrammarMatcher* m) : m_(*m) {}
  void Read(int letters) {
    for (int i = 0; i < letters; ++i) {
      ASSERT_TRUE(m_.AcceptToken(static_cast<int32_t>(random_() % 2)));
    }
  }

 private:
  GrammarMatcher& m_;
  std::mt19937 random_{13};
};

// With an output until the tables are over their budget, which alone moves nobody.
void FillTables(GrammarMatcher* m, const std::shared_ptr<Engine>& tables) {
  Reader reader(m);
  while (tables->memory_bytes() <= tables->budget) reader.Read(64);
}

TEST(Budget, AnOutputEndsInTheTablesInWhichItBegan) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer());
  GrammarMatcher m = MakeMatcher(&compiler, Palindromes("x"));
  EngineHub& hub = *HubOf(m.compiled_grammar());
  const std::weak_ptr<Engine> first = hub.Current();
  FillTables(&m, hub.Current());
  const CompiledGrammar lists = Compile(&compiler, Lists());
  ASSERT_EQ(hub.generation(), 1u);
  GrammarMatcher fork = m.Fork();
  Reader(&m).Read(200);
  Reader(&fork).Read(200);
  EXPECT_FALSE(first.expired()) << "read again for nothing";
  // What begins now does so in the new ones.
  const long users = hub.Current().use_count();
  GrammarMatcher begun = MakeMatcher(lists);
  EXPECT_EQ(hub.Current().use_count(), users + 1);
  m.Reset();
  EXPECT_EQ(hub.Current().use_count(), users + 2);
  EXPECT_EQ(Allowed(&m), Allowed(&fork));
  EXPECT_FALSE(first.expired());
  fork.Reset();
  EXPECT_TRUE(first.expired());
}

// One that goes on moves when it next looks, one that waits with its first step after a while.
TEST(Budget, AnOutputMovesWhereTwoGenerationsTakeTooMuch) {
  for (const bool waits : {false, true}) {
    GrammarCompiler compiler = MakeCompiler(Tokenizer());
    GrammarMatcher m = MakeMatcher(&compiler, Palindromes("x"));
    EngineHub& hub = *HubOf(m.compiled_grammar());
    const std::shared_ptr<Engine> first = hub.Current();
    FillTables(&m, first);
    GrammarMatcher other = MakeMatcher(&compiler, Palindromes("y"));
    ASSERT_EQ(hub.generation(), 1u);
    const std::shared_ptr<Engine> second = hub.Current();
    auto both = [&] {
      return first->memory_bytes() + second->memory_bytes() - second->empty_bytes;
    };
    const size_t budget = second->budget;
    const size_t until = budget + budget / 16 * (waits ? 4 : 2);
    Reader reader(&other), reader_of_m(&m);
    const long users = first.use_count();
    while (both() <= until) {
      reader.Read(64);
      if (!waits) reader_of_m.Read(1);
      ASSERT_EQ(first.use_count(), users);
    }
    reader.Read(64);
    EXPECT_LT(both(), until + kSlack);
    EXPECT_EQ(first->retired(), waits);
    reader_of_m.Read(waits ? 1 : 64);
    EXPECT_LT(first.use_count(), users);
    EXPECT_EQ(hub.generation(), 1u);
    EXPECT_EQ(Allowed(&m), (Ids{0, 1, 2, 3, 4, 12}));
  }
}

TEST(Budget, NoOutputStaysBehindTwoGenerations) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer());
  GrammarMatcher m = MakeMatcher(&compiler, Palindromes("x"));
  EngineHub& hub = *HubOf(m.compiled_grammar());
  const std::weak_ptr<Engine> first = hub.Current();
  auto end_generation = [&] {
    hub.Current()->budget = 0;
    hub.CheckBudget();
  };
  end_generation();
  ASSERT_TRUE(m.AcceptString("ab"));
  EXPECT_FALSE(first.expired());
  end_generation();
  EXPECT_EQ(hub.generation(), 2u);
  ASSERT_TRUE(m.AcceptToken(0));
  EXPECT_TRUE(first.expired());
  EXPECT_EQ(Allowed(&m), (Ids{0, 1, 2, 3, 4, 12}));
}

// One output that needs more than the budget all by itself goes on all the same.
TEST(Budget, AnOutputLargerThanTheBudget) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer(), Tiny());
  GrammarMatcher m = MakeMatcher(&compiler, Palindromes("x"));
  std::mt19937 random(12);
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += static_cast<char>('a' + random() % 2);
    ASSERT_TRUE(m.AcceptToken(text.back() - 'a'));
  }
  const uint64_t generations = HubOf(m.compiled_grammar())->generation();
  EXPECT_LT(generations, 100u) << "each move replays the whole output";
  ASSERT_TRUE(m.AcceptString("x"));
  for (size_t i = text.size(); i-- > 0;) ASSERT_TRUE(m.AcceptToken(text[i] - 'a')) << i;
  EXPECT_TRUE(m.IsCompleted());
}

// Nor is a grammar that does by itself built anew at every look: its outputs stay where they begin,
// also those that come after another grammar.
TEST(Budget, AGrammarLargerThanTheBudget) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer(), Tiny());
  const CompiledGrammar large = Compile(&compiler, MakeGrammar([](GrammarBuilder& b, NodeId) {
    std::vector<NodeId> texts;
    for (int i = 0; i < 20'000; ++i) {
      texts.push_back(b.Sequence({b.Bytes("w" + std::to_string(i)), b.Star(b.Bytes("a"))}));
    }
    return b.Star(b.Choice(texts));
  }));
  EngineHub& hub = *HubOf(large);
  ASSERT_GT(hub.Current()->memory_bytes(), kTiny + 2 * internal::kLargeGrammar);
  const CompiledGrammar small = Compile(&compiler, Palindromes("x"));
  for (int output = 0; output < 4; ++output) {
    GrammarMatcher other = MakeMatcher(small);
    ASSERT_TRUE(other.AcceptToken(0));
    GrammarMatcher m = MakeMatcher(large);
    const uint64_t before = hub.generation();
    for (int i = 0; i < 1'000; ++i) {
      ASSERT_FALSE(Allowed(&m).empty());
      ASSERT_TRUE(m.AcceptToken(i % 4 == 0 ? 15 + i % 200 : 0));
    }
    EXPECT_LE(hub.generation(), before + 1) << output;
  }
}

// The first mask is made with the grammar: where it takes more than the budget by itself, it is
// there for all outputs, and not thrown away when the first one comes.
TEST(Budget, AFirstMaskLargerThanTheBudget) {
  std::vector<std::string> tokens = {"{", "{\"", "\"", ":", ",", "}", "1"};
  for (int i = 0; i < 200; ++i) tokens.push_back("{\"p" + std::to_string(i));
  GrammarCompiler compiler = MakeCompiler(MakeTokenizer(tokens), Tiny());
  std::string schema = R"({"type": "object", "properties": {)";
  for (int i = 0; i < 5'000; ++i) {
    schema += (i > 0 ? ", \"p" : "\"p") + std::to_string(i) + R"(": {"type": "integer"})";
  }
  const StatusOr<CompiledGrammar> grammar = compiler.CompileJsonSchema(schema + "}}", {});
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  EngineHub& hub = *HubOf(*grammar);
  const uint64_t generation = hub.generation();
  const size_t bytes = hub.Current()->memory_bytes();
  ASSERT_GT(bytes, kTiny + 2 * internal::kLargeGrammar);
  for (int output = 0; output < 4; ++output) {
    GrammarMatcher m = MakeMatcher(*grammar);
    EXPECT_EQ(Allowed(&m).size(), 202u);
    ASSERT_TRUE(m.AcceptToken(1));
    EXPECT_EQ(hub.generation(), generation) << output;
  }
  EXPECT_EQ(hub.Current()->generation, generation);
}

}  // namespace
}  // namespace grammask
