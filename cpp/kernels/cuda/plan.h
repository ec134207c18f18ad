// How many blocks a launch gets. Pure arithmetic, apart from the launch so that it can be tested.
#ifndef GRAMMASK_KERNELS_CUDA_PLAN_H_
#define GRAMMASK_KERNELS_CUDA_PLAN_H_

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/params.h"

namespace grammask::internal::cuda {

// Slots of 16 bytes of a row, whatever its alignment.
inline int64_t MostSlots(int64_t columns, int bytes) {
  return columns == 0 ? 0 : columns * bytes / 16 + 2;
}

// How a launch of apply is spread: words of the mask for a warp, kFewWords or kManyWords, and
// blocks for a row, of which each warp has one chunk of so many words. Few words while all rows
// together are few slots; the bound is where both take as long on an H200 (docs/performance.md).
struct ApplyPlan {
  int words;
  int64_t blocks;
};
inline ApplyPlan PlanApply(int64_t rows, int64_t columns, int bytes, int processors) {
  const int64_t lanes = 16 / bytes;
  auto pieces = [](int64_t all, int64_t of) { return (all + of - 1) / of; };
  auto chunks = [&](int words) { return pieces(columns + lanes - 1, int64_t{words} * 32); };
  const bool few = rows * chunks(kFewWords) * lanes <= int64_t{processors} * 192;
  const int words = few ? kFewWords : kManyWords;
  return {words, std::max<int64_t>(pieces(chunks(words), kThreads / 32), 1)};
}

// Blocks that choose a row's token together: a cluster of up to 8 (the most that every GPU with
// clusters takes) while all of them run at once, two blocks a processor.
inline int TeamBlocksPerRow(int64_t rows, int64_t slots, int processors, bool has_clusters) {
  int blocks = 1;
  while (has_clusters && blocks < 8 && rows * blocks * 2 <= int64_t{processors} * 2 &&
         slots >= int64_t{kSampleThreads} * blocks * 2) {
    blocks *= 2;
  }
  return blocks;
}

}  // namespace grammask::internal::cuda

#endif  // GRAMMASK_KERNELS_CUDA_PLAN_H_
