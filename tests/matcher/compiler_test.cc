// The compiler and its cache: hits, eviction, one compilation for concurrent requests, errors.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "matcher_world.h"

namespace grammask {
namespace {

TokenizerInfo Tokenizer() {
  return MakeTokenizer({"a", "b", "c", "ab", "\"", "{", "}", "x0", "x1"});
}

std::string Ebnf(int i) { return "root ::= \"x" + std::to_string(i) + "\" [a-z]*\n"; }

const CompiledGrammar::Impl* Identity(const StatusOr<CompiledGrammar>& compiled) {
  EXPECT_TRUE(compiled.ok()) << compiled.status().message();
  return compiled.ok() ? compiled->impl().get() : nullptr;
}

TEST(Compiler, OptionsAreChecked) {
  CompilerOptions options;
  options.cache_limit_bytes = -2;
  EXPECT_EQ(GrammarCompiler::Create(Tokenizer(), options).status().code(),
            StatusCode::kInvalidArgument);
  options = {};
  options.max_threads = 0;
  EXPECT_EQ(GrammarCompiler::Create(Tokenizer(), options).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(Compiler, TheSameSourceIsCompiledOnce) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer());
  EXPECT_EQ(compiler.cache_size_bytes(), 0);
  const auto first = compiler.CompileEbnf(Ebnf(0));
  EXPECT_EQ(Identity(compiler.CompileEbnf(Ebnf(0))), Identity(first));
  EXPECT_NE(Identity(compiler.CompileEbnf(Ebnf(1))), Identity(first));
  EXPECT_EQ(Identity(compiler.CompileRegex("a*")), Identity(compiler.CompileRegex("a*")));
  EXPECT_EQ(Identity(compiler.CompileGrammar(first->grammar())),
            Identity(compiler.CompileGrammar(first->grammar())));
  EXPECT_GT(compiler.cache_size_bytes(), 0);
}

// What differs in kind, root rule or options is another grammar, whatever the texts run together
// to.
TEST(Compiler, KeysKeepSourcesApart) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer());
  EXPECT_NE(Identity(compiler.CompileRegex("a")), Identity(compiler.CompileRegex("b")));
  const std::string two = "root ::= \"a\"\nother ::= \"b\" root\n";
  const auto root = compiler.CompileEbnf(two, "root"), other = compiler.CompileEbnf(two, "other");
  EXPECT_NE(Identity(root), Identity(other));
  GrammarMatcher m = MakeMatcher(*other);
  EXPECT_TRUE(m.AcceptString("ba"));
  SchemaOptions spaced, tight, indented, loose;
  tight.any_whitespace = false;
  indented.any_whitespace = false;
  indented.indent = 2;
  loose.strict_mode = false;
  const std::string schema = R"({"type": "object", "properties": {"a": {"type": "integer"}}})";
  std::vector<const CompiledGrammar::Impl*> seen;
  for (const SchemaOptions& o : {spaced, tight, indented, loose}) {
    seen.push_back(Identity(compiler.CompileJsonSchema(schema, o)));
    for (size_t i = 0; i + 1 < seen.size(); ++i) EXPECT_NE(seen[i], seen.back());
  }
  EXPECT_EQ(Identity(compiler.CompileJsonSchema(schema, tight)), seen[1]);
}

// Each option alone, and texts that run together to the same, are keys of their own.
TEST(Compiler, EveryOptionOfASchemaIsInItsKey) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer());
  const std::string schema = R"({"type": "integer"})";
  std::vector<SchemaOptions> all(1);
  auto add = [&](auto&& set) { set(all.emplace_back()); };
  add([](SchemaOptions& o) { o.any_whitespace = false; });
  add([](SchemaOptions& o) { o.strict_mode = false; });
  add([](SchemaOptions& o) { o.indent = 1; });
  add([](SchemaOptions& o) { o.max_whitespace_cnt = 1; });
  add([](SchemaOptions& o) { o.root_whitespace = true; });
  add([](SchemaOptions& o) { o.widen = true; });
  add([](SchemaOptions& o) { o.separators = {"", ""}; });
  add([](SchemaOptions& o) { o.separators = {"a", "bc"}; });
  add([](SchemaOptions& o) { o.separators = {"ab", "c"}; });
  add([](SchemaOptions& o) { o.registry = {{"x:a", "true"}}; });
  add([](SchemaOptions& o) { o.registry = {{"x:a", "false"}}; });
  add([](SchemaOptions& o) { o.registry = {{"x:", "true"}, {"x:a", "true"}}; });
  add([](SchemaOptions& o) { o.formats = {{"x:a", "true"}}; });
  add([](SchemaOptions& o) { o.formats = {{"x:", "atrue"}}; });
  std::vector<const CompiledGrammar::Impl*> seen;
  for (size_t i = 0; i < all.size(); ++i) {
    seen.push_back(Identity(compiler.CompileJsonSchema(schema, all[i])));
    for (size_t j = 0; j < i; ++j) EXPECT_NE(seen[i], seen[j]) << i << " " << j;
    EXPECT_EQ(Identity(compiler.CompileJsonSchema(schema, all[i])), seen[i]);
  }
}

// Grammars of the same texts are told apart where one has warnings.
TEST(Compiler, WarningsStayWithTheirGrammar) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer());
  const Grammar plain = *Grammar::FromRegex("a");
  const Grammar warned(plain.grammar(), {{"#/x", "not", "why"}});
  const auto first = compiler.CompileGrammar(plain), second = compiler.CompileGrammar(warned);
  EXPECT_NE(Identity(first), Identity(second));
  EXPECT_TRUE(first->warnings().empty());
  ASSERT_EQ(second->warnings().size(), 1u);
  EXPECT_EQ(second->warnings()[0], (SchemaWarning{"#/x", "not", "why"}));
  const Grammar parts[] = {warned, plain, warned};
  EXPECT_EQ(Grammar::Union(parts)->warnings().size(), 2u);
  EXPECT_EQ(Grammar::Concat(parts)->warnings().size(), 2u);
}

TEST(Compiler, WithoutACacheNothingIsKept) {
  CompilerOptions options;
  options.cache_enabled = false;
  GrammarCompiler compiler = MakeCompiler(Tokenizer(), options);
  const auto first = compiler.CompileEbnf(Ebnf(0));
  EXPECT_NE(Identity(compiler.CompileEbnf(Ebnf(0))), Identity(first));
  EXPECT_EQ(compiler.cache_size_bytes(), 0);
}

TEST(Compiler, ClearingForgets) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer());
  const auto first = compiler.CompileEbnf(Ebnf(0));
  compiler.ClearCache();
  EXPECT_EQ(compiler.cache_size_bytes(), 0);
  EXPECT_NE(Identity(compiler.CompileEbnf(Ebnf(0))), Identity(first));
  // What was given out goes on.
  GrammarMatcher m = MakeMatcher(*first);
  EXPECT_TRUE(m.AcceptString("x0abc"));
}

TEST(Compiler, TheLeastRecentlyUsedGoesFirst) {
  GrammarCompiler measure = MakeCompiler(Tokenizer());
  std::vector<int64_t> sizes;
  for (int i = 0; i < 4; ++i) {
    const int64_t before = measure.cache_size_bytes();
    static_cast<void>(Identity(measure.CompileEbnf(Ebnf(i))));
    sizes.push_back(measure.cache_size_bytes() - before);
  }
  CompilerOptions options;
  // Room for three, with some slack as sizes depend on what was compiled before.
  options.cache_limit_bytes = sizes[0] + sizes[1] + sizes[2] + sizes[3] / 2;
  GrammarCompiler compiler = MakeCompiler(Tokenizer(), options);
  EXPECT_EQ(compiler.cache_limit_bytes(), options.cache_limit_bytes);
  std::vector<StatusOr<CompiledGrammar>> kept;
  for (int i = 0; i < 3; ++i) kept.push_back(compiler.CompileEbnf(Ebnf(i)));
  EXPECT_EQ(Identity(compiler.CompileEbnf(Ebnf(0))), Identity(kept[0]));  // now 1 is the oldest
  static_cast<void>(Identity(compiler.CompileEbnf(Ebnf(3))));
  EXPECT_LE(compiler.cache_size_bytes(), options.cache_limit_bytes);
  EXPECT_EQ(Identity(compiler.CompileEbnf(Ebnf(0))), Identity(kept[0]));
  EXPECT_EQ(Identity(compiler.CompileEbnf(Ebnf(2))), Identity(kept[2]));
  EXPECT_NE(Identity(compiler.CompileEbnf(Ebnf(1))), Identity(kept[1]));
}

TEST(Compiler, ALimitOfNothingStillCompiles) {
  CompilerOptions options;
  options.cache_limit_bytes = 0;
  GrammarCompiler compiler = MakeCompiler(Tokenizer(), options);
  for (int i = 0; i < 5; ++i) {
    const auto compiled = compiler.CompileEbnf(Ebnf(i % 2));
    ASSERT_TRUE(compiled.ok());
    EXPECT_EQ(compiler.cache_size_bytes(), 0);
    GrammarMatcher m = MakeMatcher(*compiled);
    EXPECT_TRUE(m.AcceptString("x" + std::to_string(i % 2)));
  }
}

TEST(Compiler, ErrorsAreNotKept) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer());
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(compiler.CompileEbnf("root ::= (").status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(compiler.CompileEbnf("root ::= \"a\" root").status().code(),
              StatusCode::kUnsatisfiable);
    EXPECT_EQ(compiler.CompileRegex("(").status().code(), StatusCode::kInvalidArgument);
    EXPECT_FALSE(compiler.CompileJsonSchema("{").ok());
    EXPECT_EQ(compiler.cache_size_bytes(), 0);
  }
  EXPECT_TRUE(compiler.CompileEbnf("root ::= \"a\"").ok());
}

TEST(Compiler, ConcurrentRequestsForOneKeyShareACompilation) {
  for (int round = 0; round < 20; ++round) {
    GrammarCompiler compiler = MakeCompiler(Tokenizer());
    std::string large = "root ::= \"" + std::to_string(round) + "\"";
    for (int i = 0; i < 300; ++i) large += " | \"w" + std::to_string(i * round) + "\" [a-z]{0,9}";
    std::vector<const CompiledGrammar::Impl*> made(4);
    std::vector<std::thread> threads;
    std::atomic<int> ready = 0;
    for (size_t t = 0; t < made.size(); ++t) {
      threads.emplace_back([&, t] {
        for (++ready; ready < 4;) std::this_thread::yield();
        const auto compiled = compiler.CompileEbnf(large);
        made[t] = compiled.ok() ? compiled->impl().get() : nullptr;
      });
    }
    for (std::thread& t : threads) t.join();
    ASSERT_NE(made[0], nullptr);
    for (const auto* other : made) EXPECT_EQ(other, made[0]);
  }
}

TEST(Compiler, ConcurrentRequestsWithEvictionAndErrors) {
  CompilerOptions options;
  options.cache_limit_bytes = 4000;
  GrammarCompiler compiler = MakeCompiler(Tokenizer(), options);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const int k = (i * 7 + t) % 12;
        if (k == 11) {
          wrong += compiler.CompileEbnf("root ::= missing").ok();
          continue;
        }
        if (k == 10) compiler.ClearCache();
        const auto compiled = compiler.CompileEbnf(Ebnf(k));
        if (!compiled.ok()) {
          ++wrong;
          continue;
        }
        auto m = GrammarMatcher::Create(*compiled);
        wrong += !m.ok() || !m->AcceptString("x" + std::to_string(k) + "q");
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(compiler.cache_size_bytes(), options.cache_limit_bytes);
}

TEST(Compiler, Statistics) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer());
  const auto compiled = compiler.CompileEbnf("root ::= \"a\" item{3,}\nitem ::= \"bb\" | \"c\"\n");
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  const CompileStats stats = compiled->stats();
  EXPECT_EQ(stats.shortest_bytes, 4u);
  EXPECT_GE(stats.rules, 1u);
  EXPECT_GT(stats.nodes, 0u);
  EXPECT_GT(stats.states, 0u);
  EXPECT_GT(stats.sets, 0u);
  EXPECT_EQ(stats.masks, 1u) << "the first one is made with the grammar";
  EXPECT_GT(stats.memory_bytes, 0u);
  EXPECT_GE(stats.seconds, 0);
  EXPECT_LT(stats.seconds, 5);
  GrammarMatcher m = MakeMatcher(*compiled);
  static_cast<void>(Allowed(&m));
  EXPECT_EQ(compiled->stats().masks, 1u);
  ASSERT_TRUE(m.AcceptString("a"));
  static_cast<void>(Allowed(&m));
  EXPECT_GT(compiled->stats().masks, 1u);
  EXPECT_EQ(compiled->tokenizer_info().vocab_size(), 10);
  EXPECT_GT(compiled->memory_size_bytes(), 0u);
}

}  // namespace
}  // namespace grammask
