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

// Blocks for a row of apply. A thread works on 16 slots where there are rows enough, so that blocks
// are many and short and the last wave of them costs little; with few rows on fewer, down to one,
// so that a single row is spread over the whole GPU.
inline int64_t ApplyBlocksPerRow(int64_t rows, int64_t slots, int processors) {
  if (rows == 0 || slots == 0) return 1;
  const int64_t most = (slots + kThreads - 1) / kThreads;
  constexpr int64_t kMany = int64_t{kThreads} * 16;
  const int64_t least = (slots + kMany - 1) / kMany;
  const int64_t wave = int64_t{processors} * (2048 / kThreads);
  return std::clamp((wave + rows - 1) / rows, least, most);
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
