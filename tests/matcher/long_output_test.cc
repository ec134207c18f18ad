// Long outputs: the last token costs what the first did, in time and in memory; deep nesting.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/cpu_seconds.h"
#include "matcher_world.h"

namespace grammask {
namespace {

constexpr int32_t kQuote = '"', kOpen = '[', kClose = ']', kComma = ',';

// All bytes, and words of letters and digits.
TokenizerInfo Tokenizer() {
  std::vector<std::string> tokens;
  for (int b = 0; b < 256; ++b) tokens.emplace_back(1, static_cast<char>(b));
  for (int i = 0; i < 3000; ++i) {
    tokens.push_back("w" + std::to_string(i));
    tokens.push_back("\"," + std::to_string(i));
  }
  return MakeTokenizer(tokens);
}

CompiledGrammar CompileSchema(const char* schema) {
  GrammarCompiler compiler = MakeCompiler(Tokenizer());
  SchemaOptions options;
  options.strict_mode = false;
  StatusOr<CompiledGrammar> compiled = compiler.CompileJsonSchema(schema, options);
  EXPECT_TRUE(compiled.ok()) << compiled.status().message();
  return *compiled;
}

// The tokens of a list of about `size` tokens: strings, numbers, lists and objects.
Ids Document(size_t size) {
  std::mt19937 random(1);
  Ids ids = {kOpen};
  auto text = [&](const std::string& bytes) {
    for (char b : bytes) ids.push_back(static_cast<uint8_t>(b));
  };
  while (ids.size() < size) {
    if (ids.size() > 1) text(", ");
    text(R"({"name": ")");
    for (int i = 0; i < 12; ++i) ids.push_back(256 + 2 * static_cast<int32_t>(random() % 3000));
    text(R"(\n\u00e9", "n": )" + std::to_string(random()) + R"(, "l": [1, [2.5e3, {"b": null}]]})");
  }
  ids.push_back(kClose);
  return ids;
}

struct Quarter {
  double seconds;
  size_t memory, sets;
};

// Accepts `ids` with a mask before each; what each quarter took, and tables and sets after it.
std::vector<Quarter> Walk(const CompiledGrammar& compiled, const Ids& ids, GrammarMatcher* m) {
  std::vector<int32_t> mask(static_cast<size_t>(m->mask_words()));
  std::vector<Quarter> quarters;
  for (size_t q = 0; q < 4; ++q) {
    const double began = CpuSeconds();
    for (size_t i = ids.size() * q / 4; i < ids.size() * (q + 1) / 4; ++i) {
      EXPECT_TRUE(m->FillNextTokenBitmask(mask.data()).ok());
      if (!m->AcceptToken(ids[i])) {
        ADD_FAILURE() << "token " << i << " was refused";
        return quarters;
      }
    }
    const CompileStats stats = compiled.stats();
    quarters.push_back({CpuSeconds() - began, stats.memory_bytes, stats.sets});
  }
  return quarters;
}

TEST(LongOutput, AMegabyteAtConstantCost) {
  const Ids ids = Document(350'000);
  for (const char* schema :
       {"{}",
        R"({"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}}}})"}) {
    const CompiledGrammar compiled = CompileSchema(schema);
    GrammarMatcher m = MakeMatcher(compiled);
    const std::vector<Quarter> q = Walk(compiled, ids, &m);
    ASSERT_EQ(q.size(), 4u);
    EXPECT_TRUE(m.IsCompleted());
    EXPECT_EQ(q[2].sets, q[0].sets) << "no new states after the first quarter";
    EXPECT_EQ(q[2].memory, q[0].memory);
    EXPECT_LT(q[3].seconds, 4 * q[0].seconds + 0.05);
    // Far back and on again: the same states.
    ASSERT_TRUE(m.Rollback(static_cast<int>(ids.size()) - 10).ok());
    GrammarMatcher fresh = MakeMatcher(compiled);
    for (size_t i = 0; i < 10; ++i) ASSERT_TRUE(fresh.AcceptToken(ids[i]));
    EXPECT_EQ(Allowed(&m), Allowed(&fresh));
    EXPECT_TRUE(m.AcceptToken(ids[10]));
    EXPECT_EQ(compiled.stats().sets, q[3].sets);
  }
}

// Where elements are counted, each byte leads to a set of its own; what sets have in common is kept
// once.
TEST(LongOutput, CountedElementsTakeLittleMemory) {
  const Ids ids = Document(40'000);
  const CompiledGrammar compiled = CompileSchema(R"({"type":"array","maxItems":1000000})");
  GrammarMatcher m = MakeMatcher(compiled);
  const std::vector<Quarter> q = Walk(compiled, ids, &m);
  ASSERT_EQ(q.size(), 4u);
  EXPECT_TRUE(m.IsCompleted());
  const size_t sets = q[3].sets - q[0].sets;
  ASSERT_GT(sets, 10'000u);
  EXPECT_LT((q[3].memory - q[0].memory) / sets, 450u) << "bytes a set";
}

TEST(LongOutput, NestingOfAnyDepth) {
  for (int depth : {10'000, 100'000}) {
    GrammarCompiler compiler = MakeCompiler(Tokenizer());
    const CompiledGrammar compiled = *compiler.CompileBuiltinJson();
    GrammarMatcher m = MakeMatcher(compiled);
    const auto levels = static_cast<uint64_t>(depth);
    for (int i = 0; i < depth; ++i) ASSERT_TRUE(m.AcceptToken(kOpen)) << i;
    EXPECT_EQ(m.ShortestCompletionBytes(), levels);
    const Ids deep = Allowed(&m);
    ASSERT_TRUE(m.AcceptToken(kQuote) && m.AcceptToken(kQuote));
    EXPECT_TRUE(m.AcceptToken(kComma));
    ASSERT_TRUE(m.Rollback(depth / 2 + 3).ok());
    EXPECT_EQ(m.ShortestCompletionBytes(), levels / 2);
    EXPECT_EQ(Allowed(&m), deep);
    for (int i = 0; i < depth / 2; ++i) ASSERT_TRUE(m.AcceptToken(kClose)) << i;
    EXPECT_TRUE(m.IsCompleted());
    EXPECT_FALSE(m.AcceptToken(kClose));
    m.Reset();
    EXPECT_TRUE(m.AcceptToken(kOpen));
  }
}

}  // namespace
}  // namespace grammask
