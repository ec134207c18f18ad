// Masks and samplers on one row of 128,256 logits (one thread): masks that allow all, none, one in
// two, nearly all, and few; by format and instruction set. Beside them what the memory gives: a
// fill and a copy of the row.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/apply_cpu.h"
#include "kernels/sample_cpu.h"

namespace grammask::internal {
namespace {

constexpr int64_t kColumns = 128'256;
constexpr int64_t kWords = kColumns / 32;
const char* const kFormats[] = {"f32", "f16", "bf16", "f64"};
const char* const kKinds[] = {"all allowed", "none allowed", "half allowed", "one in 320 refused",
                              "one in 48 allowed"};

struct alignas(64) Line {  // as tensors lie in memory
  char bytes[64];
};

std::vector<int32_t> MakeMask(int64_t kind) {
  std::vector<int32_t> mask(kWords);
  std::mt19937_64 random(1);
  for (int32_t& word : mask) {
    const auto bits = static_cast<int32_t>(random());
    switch (kind) {
      case 0:
        word = -1;
        break;
      case 1:
        word = 0;
        break;
      case 2:
        word = bits;
        break;
      case 3:
        word = random() % 10 == 0 ? ~static_cast<int32_t>(1u << (random() % 32)) : -1;
        break;
      default:
        word = random() % 3 < 2 ? static_cast<int32_t>(1u << (random() % 32)) : 0;
    }
  }
  return mask;
}

std::vector<float> MakeLogits() {
  std::vector<float> logits(kColumns);
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal(0, 4);
  for (float& logit : logits) logit = normal(random);
  return logits;
}

void Apply(benchmark::State& state) {
  const auto isa = static_cast<CpuIsa>(state.range(0));
  const auto format = static_cast<LogitFormat>(state.range(1));
  if (!CpuIsaSupported(isa)) {
    state.SkipWithError("not supported here");
    return;
  }
  const std::vector<int32_t> mask = MakeMask(state.range(2));
  std::vector<double> logits(kColumns);  // room for the widest format
  for (auto _ : state) {
    ApplyMaskToRows(
        {format, logits.data(), kColumns, mask.data(), kWords, kColumns, state.range(3)}, 1, isa);
    benchmark::ClobberMemory();
  }
  state.SetLabel(std::string(CpuIsaName(isa)) + ", " + kFormats[state.range(1)] + ", " +
                 kKinds[state.range(2)] + (state.range(3) != 0 ? ", shifted" : ""));
}
BENCHMARK(Apply)->ArgsProduct({{0, 1, 2}, {0, 1, 3}, {0, 1, 2, 3, 4}, {0}});
BENCHMARK(Apply)->ArgsProduct({{0, 1, 2}, {0}, {0, 1, 2}, {5}});

void Fill(benchmark::State& state) {
  std::vector<Line> row(static_cast<size_t>(kColumns * state.range(0) / 64));
  for (auto _ : state) {
    std::memset(row.data(), 1, row.size() * sizeof(Line));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(Fill)->Arg(2)->Arg(4)->Arg(8);

void Copy(benchmark::State& state) {
  std::vector<Line> from(static_cast<size_t>(kColumns * state.range(0) / 64)), to = from;
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), to.size() * sizeof(Line));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(Copy)->Arg(2)->Arg(4)->Arg(8);

MaskedRows RowOf(std::vector<float>* logits, const std::vector<int32_t>& mask) {
  return {LogitFormat::kFloat32, logits->data(), kColumns, mask.data(), kWords, kColumns};
}

void Argmax(benchmark::State& state) {
  const auto isa = static_cast<CpuIsa>(state.range(0));
  std::vector<float> logits = MakeLogits();
  const std::vector<int32_t> mask = MakeMask(state.range(1));
  const std::vector<int32_t> rows = {0};
  int64_t token = 0;
  float value = 0;
  for (auto _ : state) MaskedArgmaxRows(RowOf(&logits, mask), rows, isa, &token, &value);
  state.SetLabel(std::string(CpuIsaName(isa)) + ", " + kKinds[state.range(1)]);
}
BENCHMARK(Argmax)->ArgsProduct({{0, 1, 2}, {0, 2, 4}});

void Sample(benchmark::State& state) {
  const auto isa = static_cast<CpuIsa>(state.range(0));
  constexpr SampleParameters kCases[] = {
      {}, {.top_k = 50}, {.top_p = 0.9}, {.top_k = 50, .top_p = 0.9}, {.min_p = 0.05}};
  const char* const names[] = {"plain", "top-k 50", "top-p 0.9", "top-k 50, top-p 0.9", "min-p"};
  std::vector<float> logits = MakeLogits();
  const std::vector<int32_t> mask = MakeMask(state.range(1));
  const std::vector<int32_t> rows = {0};
  SampleParameters parameters = kCases[state.range(2)];
  int64_t token = 0;
  for (auto _ : state) {
    ++parameters.offset;
    MaskedSampleRows(RowOf(&logits, mask), rows, std::span(&parameters, 1), isa, &token);
  }
  state.SetLabel(std::string(CpuIsaName(isa)) + ", " + kKinds[state.range(1)] + ", " +
                 names[state.range(2)]);
}
BENCHMARK(Sample)->ArgsProduct({{0, 1, 2}, {0, 4}, {0, 1, 2, 3, 4}});

}  // namespace
}  // namespace grammask::internal
