// Applying masks to one row of 128,000 logits: masks that allow all, none, one in two, and words of
// all kinds.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "kernels/apply_cpu.h"

namespace grammask::internal {
namespace {

constexpr int64_t kColumns = 128'000;

std::vector<int32_t> MakeMask(int kind) {
  std::vector<int32_t> mask(kColumns / 32);
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
      default:
        word = random() % 10 < 8 ? -1 : bits;
    }
  }
  return mask;
}

void ApplyOneRow(benchmark::State& state) {
  const auto format = static_cast<LogitFormat>(state.range(0));
  const std::vector<int32_t> mask = MakeMask(static_cast<int>(state.range(1)));
  std::vector<double> logits(kColumns);  // room for the widest format
  for (auto _ : state) {
    ApplyMaskToRows({format, logits.data(), kColumns, mask.data(), kColumns / 32, kColumns}, 1,
                    *ChosenCpuIsa());
    benchmark::ClobberMemory();
  }
  static const char* const kFormats[] = {"f32", "f16", "bf16", "f64"};
  static const char* const kKinds[] = {"all allowed", "none allowed", "half allowed",
                                       "most words allowed"};
  state.SetLabel(std::string(kFormats[state.range(0)]) + ", " + kKinds[state.range(1)]);
}
BENCHMARK(ApplyOneRow)->ArgsProduct({{0, 1, 2, 3}, {0, 1, 2, 3}});

}  // namespace
}  // namespace grammask::internal
