// Objects with 1,000 optional members in any order: the first mask, and each step on the way.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common.h"
#include "grammask/grammask.h"

namespace grammask::bench {
namespace {

constexpr int kMembers = 1000;

const std::string& Schema() {
  static const std::string schema = [] {
    std::string text = R"({"type":"object","additionalProperties":false,"properties":{)";
    for (int i = 0; i < kMembers; ++i) {
      text += (i > 0 ? ",\"" : "\"") + std::string("member_") + std::to_string(i) +
              R"(":{"type":"integer"})";
    }
    return text + "}}";
  }();
  return schema;
}

// Members in an order in which each is far from the one before.
std::vector<std::string> Pieces(int count) {
  std::vector<std::string> pieces = {"{"};
  for (int i = 0; i < count; ++i) {
    const std::string comma = i > 0 ? "," : "";
    pieces.push_back(comma + "\"member_" + std::to_string(i * 617 % kMembers) + "\":");
    pieces.push_back(std::to_string(i));
  }
  return pieces;
}

CompiledGrammar Compiled(bool any_order) {
  static const TokenizerInfo tokenizer = MadeUpTokenizer();
  GrammarCompiler compiler = OrDie(GrammarCompiler::Create(tokenizer));
  SchemaOptions options;
  options.any_order = any_order;
  return OrDie(compiler.CompileJsonSchema(Schema(), options));
}

void Compile(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Compiled(state.range(0) != 0));
}
BENCHMARK(Compile)->ArgName("any_order")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// Two masks of a new compiler: where a member is due, and within the first key.
void FirstMasks(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    GrammarMatcher matcher = OrDie(GrammarMatcher::Create(Compiled(state.range(0) != 0)));
    std::vector<int32_t> mask(static_cast<size_t>(matcher.mask_words()));
    state.ResumeTiming();
    matcher.AcceptString("{");
    benchmark::DoNotOptimize(matcher.FillNextTokenBitmask(mask.data()));
    matcher.AcceptString("\"member_");
    benchmark::DoNotOptimize(matcher.FillNextTokenBitmask(mask.data()));
  }
}
BENCHMARK(FirstMasks)->ArgName("any_order")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// 100 members, never written before, with a mask after each key and each value: the time of one
// such step, and the longest.
void NewOrder(benchmark::State& state) {
  const std::vector<std::string> pieces = Pieces(100);
  double longest = 0;
  for (auto _ : state) {
    state.PauseTiming();
    GrammarMatcher matcher = OrDie(GrammarMatcher::Create(Compiled(true)));
    std::vector<int32_t> mask(static_cast<size_t>(matcher.mask_words()));
    state.ResumeTiming();
    for (const std::string& piece : pieces) {
      const auto start = std::chrono::steady_clock::now();
      if (!matcher.AcceptString(piece)) state.SkipWithError("refused");
      benchmark::DoNotOptimize(matcher.FillNextTokenBitmask(mask.data()));
      const std::chrono::duration<double, std::micro> took =
          std::chrono::steady_clock::now() - start;
      longest = std::max(longest, took.count());
    }
  }
  state.counters["longest_us"] = longest;
  state.counters["step"] = benchmark::Counter(
      static_cast<double>(pieces.size()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(NewOrder)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace grammask::bench
