// The public API with a made-up vocabulary of 128,000 tokens: schema text to first mask, and masks
// and accepted tokens along documents, cold and warm.
#include <benchmark/benchmark.h>

#include <optional>
#include <string>
#include <vector>

#include "common.h"
#include "grammask/grammask.h"

namespace grammask::bench {
namespace {

const TokenizerInfo& Tokenizer() {
  static const TokenizerInfo tokenizer = MadeUpTokenizer();
  return tokenizer;
}

const std::string& OrderSchema() {
  static const std::string schema = ReadFile(GRAMMASK_EXAMPLES "/schemas/order.json");
  return schema;
}

constexpr char kSmallSchema[] =
    R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},)"
    R"("tags":{"type":"array","items":{"type":"string"}}},"required":["name","age"],)"
    R"("additionalProperties":false})";
constexpr char kSmallDocument[] =
    R"({"name": "Ada Lovelace, countess of the engines", "age": 36, "tags": ["the first", "x"]})";

GrammarCompiler MakeCompiler(bool cache) {
  CompilerOptions options;
  options.cache_enabled = cache;
  return OrDie(GrammarCompiler::Create(Tokenizer(), options));
}

void SetUpTokenizer(benchmark::State& state) {
  const std::vector<std::string> tokens = MadeUpTokens(128'000);
  for (auto _ : state) benchmark::DoNotOptimize(OrDie(TokenizerInfo::Create(tokens)));
}
BENCHMARK(SetUpTokenizer)->Unit(benchmark::kMillisecond);

// A schema compiled anew each round, in a compiler whose shared masks are warm.
void SchemaToFirstMask(benchmark::State& state, const std::string& schema) {
  GrammarCompiler compiler = MakeCompiler(/*cache=*/false);
  std::vector<int32_t> mask(static_cast<size_t>(GetBitmaskSize(Tokenizer().vocab_size())));
  for (auto _ : state) {
    const CompiledGrammar grammar = OrDie(compiler.CompileJsonSchema(schema));
    GrammarMatcher matcher = OrDie(GrammarMatcher::Create(grammar));
    benchmark::DoNotOptimize(OrDie(matcher.FillNextTokenBitmask(mask.data())));
  }
}
BENCHMARK_CAPTURE(SchemaToFirstMask, small, std::string(kSmallSchema));
BENCHMARK_CAPTURE(SchemaToFirstMask, order, OrderSchema());

// The greedy cut of a document into tokens: the longest token at each place.
std::vector<int32_t> CutIntoTokens(const std::string& text) {
  std::vector<int32_t> tokens;
  for (size_t at = 0; at < text.size();) {
    for (size_t length = std::min<size_t>(16, text.size() - at); length > 0; --length) {
      const std::optional<int32_t> token = Tokenizer().FindToken(text.substr(at, length));
      if (!token.has_value()) continue;
      tokens.push_back(*token);
      at += length;
      break;
    }
  }
  return tokens;
}

// Time for one document; items are tokens, each one mask and one accept.
void WalkDocument(benchmark::State& state, bool warm) {
  const std::vector<int32_t> tokens = CutIntoTokens(kSmallDocument);
  std::optional<GrammarCompiler> compiler = MakeCompiler(/*cache=*/false);
  std::optional<CompiledGrammar> grammar = OrDie(compiler->CompileJsonSchema(kSmallSchema));
  std::vector<int32_t> mask(static_cast<size_t>(GetBitmaskSize(Tokenizer().vocab_size())));
  for (auto _ : state) {
    if (!warm) {
      state.PauseTiming();
      compiler = MakeCompiler(/*cache=*/false);
      grammar = OrDie(compiler->CompileJsonSchema(kSmallSchema));
      state.ResumeTiming();
    }
    GrammarMatcher matcher = OrDie(GrammarMatcher::Create(*grammar));
    for (const int32_t token : tokens) {
      benchmark::DoNotOptimize(OrDie(matcher.FillNextTokenBitmask(mask.data())));
      if (!matcher.AcceptToken(token)) {
        state.SkipWithError("the document was refused");
        return;
      }
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(tokens.size()));
}
BENCHMARK_CAPTURE(WalkDocument, warm, true);
BENCHMARK_CAPTURE(WalkDocument, cold, false);

// A regex that loops on most of the vocabulary, in a compiler that never saw it.
void UnseenRegexFirstMask(benchmark::State& state) {
  std::vector<int32_t> mask(static_cast<size_t>(GetBitmaskSize(Tokenizer().vocab_size())));
  for (auto _ : state) {
    state.PauseTiming();
    GrammarCompiler compiler = MakeCompiler(/*cache=*/false);
    state.ResumeTiming();
    const CompiledGrammar grammar = OrDie(compiler.CompileRegex("[a-z .,]+[0-9]{2,300}x"));
    GrammarMatcher matcher = OrDie(GrammarMatcher::Create(grammar));
    benchmark::DoNotOptimize(OrDie(matcher.FillNextTokenBitmask(mask.data())));
  }
}
BENCHMARK(UnseenRegexFirstMask)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace grammask::bench
