// Decodes several outputs under a grammar in one launch; see persistent_decode.cuh. With grammask
// installed at $PREFIX (and Abseil where it was built with it):
//
//   nvcc -std=c++20 -arch=native -I$PREFIX/include examples/cuda/persistent_decode.cu
//     -L$PREFIX/lib -lgrammask $(pkg-config --libs absl_synchronization absl_hash
//     absl_raw_hash_set) -o persistent_decode && ./persistent_decode
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "grammask/grammask.h"
#include "persistent_decode.cuh"

namespace {

__global__ void __launch_bounds__(example::kMaxThreads) DecodeKernel(example::DecodeParams p) {
  __shared__ example::BlockMemory memory;
  example::DecodeRow(p, blockIdx.x, &memory);
}

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::exit(1);
}
template <class T>
T OrDie(grammask::StatusOr<T> result) {
  if (!result.ok()) Die(result.status().message());
  return std::move(result).value();
}
void OrDie(cudaError_t error) {
  if (error != cudaSuccess) Die(cudaGetErrorString(error));
}

// Host memory that the GPU sees at the same address.
template <class T>
T* Mapped(size_t count) {
  void* memory = nullptr;
  OrDie(cudaHostAlloc(&memory, count * sizeof(T), cudaHostAllocMapped));
  return new (memory) T[count]{};
}

}  // namespace

int main() {
  constexpr uint32_t kRows = 4, kSteps = 60;
  std::vector<std::string> tokens;
  for (char c = ' '; c <= '~'; ++c) tokens.emplace_back(1, c);
  for (const char* text : {"true", "false", "null", "\":", ", ", "</s>"}) tokens.emplace_back(text);
  const auto stop = static_cast<int32_t>(tokens.size()) - 1;
  const std::vector<std::string> texts = tokens;
  grammask::TokenizerOptions options;
  options.stop_token_ids = {{stop}};
  const auto tokenizer = OrDie(grammask::TokenizerInfo::Create(std::move(tokens), options));
  auto compiler = OrDie(grammask::GrammarCompiler::Create(tokenizer));
  const auto compiled = OrDie(compiler.CompileRegex("[a-z]{3,9}( [0-9]{1,4}){2,4}"));
  std::vector<grammask::GrammarMatcher> matchers;
  for (uint32_t row = 0; row < kRows; ++row) {
    matchers.push_back(OrDie(grammask::GrammarMatcher::Create(compiled)));
  }

  const auto vocab_size = static_cast<int32_t>(texts.size());
  const int32_t words = (vocab_size + 31) / 32;
  auto* slots = Mapped<example::Slot>(kRows);
  auto* masks = Mapped<int32_t>(kRows * static_cast<size_t>(words));
  DecodeKernel<<<kRows, example::kMaxThreads>>>(
      {slots, masks, words, vocab_size, kSteps, uint64_t{1} << 24});
  OrDie(cudaGetLastError());

  std::vector<std::string> outputs(kRows);
  std::vector<bool> done(kRows);
  for (uint32_t step = 1; step <= kSteps; ++step) {
    for (uint32_t row = 0; row < kRows; ++row) {
      if (done[row]) continue;
      slots[row].stop = matchers[row].IsTerminated() || step == kSteps;
      done[row] = slots[row].stop != 0;
      if (!done[row]) {
        OrDie(matchers[row].FillNextTokenBitmask(masks + row * static_cast<size_t>(words)));
      }
      example::gm::RaiseStep(&slots[row].ready, step);
    }
    for (uint32_t row = 0; row < kRows; ++row) {
      if (done[row]) continue;
      if (!example::gm::WaitForStep(&slots[row].chosen, step, uint64_t{1} << 22)) {
        Die("no token from the GPU");
      }
      const int32_t token = slots[row].token;
      if (!matchers[row].AcceptToken(token)) Die("a token that the grammar refuses");
      if (token != stop) outputs[row] += texts[static_cast<size_t>(token)];
    }
  }
  OrDie(cudaDeviceSynchronize());
  for (const std::string& output : outputs) std::printf("%s\n", output.c_str());
  return 0;
}
