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

// Time for one document; items are tokens, each one mask and one accept.
void WalkDocument(benchmark::State& state, bool warm) {
  const std::vector<int32_t> tokens = CutIntoTokens(Tokenizer(), kSmallDocument);
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

// One step of a warm output at a time, by what it is.
class WarmOutput {
 public:
  WarmOutput()
      : compiler_(MakeCompiler(/*cache=*/true)),
        tokens_(CutIntoTokens(Tokenizer(), kSmallDocument)) {
    mask_.resize(static_cast<size_t>(GetBitmaskSize(Tokenizer().vocab_size())));
    grammar_ = OrDie(compiler_.CompileJsonSchema(kSmallSchema));
    matcher_ = OrDie(GrammarMatcher::Create(*grammar_));
    for (const int32_t token : tokens_) {
      static_cast<void>(OrDie(matcher_->FillNextTokenBitmask(mask_.data())));
      matcher_->AcceptToken(token);
    }
  }
  GrammarCompiler& compiler() { return compiler_; }
  const CompiledGrammar& grammar() const { return *grammar_; }
  GrammarMatcher& matcher() { return *matcher_; }  // at the document's end
  const std::vector<int32_t>& tokens() const { return tokens_; }
  int steps() const { return static_cast<int>(tokens_.size()); }
  int32_t* mask() { return mask_.data(); }

 private:
  GrammarCompiler compiler_;
  std::vector<int32_t> tokens_, mask_;
  std::optional<CompiledGrammar> grammar_;
  std::optional<GrammarMatcher> matcher_;
};

void WarmMask(benchmark::State& state) {
  WarmOutput warm;
  if (!warm.matcher().Rollback(warm.steps() / 2).ok()) std::abort();
  for (auto _ : state) {
    benchmark::DoNotOptimize(OrDie(warm.matcher().FillNextTokenBitmask(warm.mask())));
  }
}
BENCHMARK(WarmMask);

// Each item is one token of the document; taking them back is timed too, and is next to nothing.
void AcceptToken(benchmark::State& state) {
  WarmOutput warm;
  for (auto _ : state) {
    warm.matcher().Reset();
    for (const int32_t token : warm.tokens()) {
      benchmark::DoNotOptimize(warm.matcher().AcceptToken(token));
    }
  }
  state.SetItemsProcessed(state.iterations() * warm.steps());
}
BENCHMARK(AcceptToken);

// A token accepted and taken back, as in speculative decoding.
void AcceptAndRollback(benchmark::State& state) {
  WarmOutput warm;
  const int32_t last = warm.tokens().back();
  for (auto _ : state) {
    benchmark::DoNotOptimize(warm.matcher().Rollback(1).ok());
    benchmark::DoNotOptimize(warm.matcher().AcceptToken(last));
  }
}
BENCHMARK(AcceptAndRollback);

// Made and destroyed.
void Fork(benchmark::State& state) {
  WarmOutput warm;
  for (auto _ : state) benchmark::DoNotOptimize(warm.matcher().Fork());
}
BENCHMARK(Fork);

void CreateMatcher(benchmark::State& state) {
  WarmOutput warm;
  for (auto _ : state) benchmark::DoNotOptimize(OrDie(GrammarMatcher::Create(warm.grammar())));
}
BENCHMARK(CreateMatcher);

// A schema that the compiler has seen.
void CompileAgain(benchmark::State& state, const std::string& schema) {
  GrammarCompiler compiler = MakeCompiler(/*cache=*/true);
  for (auto _ : state) benchmark::DoNotOptimize(OrDie(compiler.CompileJsonSchema(schema)));
}
BENCHMARK_CAPTURE(CompileAgain, small, std::string(kSmallSchema));
BENCHMARK_CAPTURE(CompileAgain, order, OrderSchema());

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
