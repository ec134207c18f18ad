// A decode loop that never leaves the GPU: one launch for all steps of all outputs, with the
// grammar's masks coming from the host while it runs. What a megakernel, or a captured graph, would
// do with masks; the model here is a stand-in that makes logits out of a hash.
//
// For each step, block `row` first computes its logits (the forward pass), and only then waits for
// the row's mask, so that the host has the length of the forward pass to fill it. It takes the
// allowed token with the largest logit, writes it where the host sees it, and raises the row's
// `chosen` flag; the host accepts the token, fills the next mask and raises `ready`:
//
//     GPU   | logits 1 | wait | choose |   logits 2   | choose | ...
//     host  |   fill 1   |             accept, fill 2 |         accept, fill 3 ...
//
// The file compiles for the host too, where a block is one thread: tests/kernels/
// device_header_test.cc runs both sides as two threads.
#ifndef GRAMMASK_EXAMPLES_CUDA_PERSISTENT_DECODE_CUH_
#define GRAMMASK_EXAMPLES_CUDA_PERSISTENT_DECODE_CUH_

#include <cstdint>

#include "grammask/device.cuh"

namespace example {

namespace gm = grammask::device;

// What host and GPU share about one output; in mapped host memory.
struct Slot {
  gm::StepFlag ready;   // raised by the host: the mask of that step is there
  gm::StepFlag chosen;  // raised by the GPU: the token of that step is there
  int32_t token;        // the last one chosen; -1: nothing was allowed, or nobody raised `ready`
  int32_t stop;         // set by the host before it raises `ready`: no further step
};

struct DecodeParams {
  Slot* slots;           // one for each row
  const int32_t* masks;  // words_per_row words for each row; written by the host
  int32_t words_per_row, vocab_size;
  uint32_t max_steps;
  uint64_t max_looks;  // for a mask, before a row gives up; 0: no bound
};

constexpr int kTile = 8;          // logits that a thread holds in registers
constexpr int kMaxThreads = 256;  // of a block

// The stand-in for a model: a logit for each (row, step, token before, token).
GRAMMASK_HOST_DEVICE inline float Logit(uint32_t row, uint32_t step, int32_t before,
                                        int32_t token) {
  uint32_t hash =
      row * 0x9E3779B9u + step * 0x85EBCA6Bu + static_cast<uint32_t>(before) * 0xC2B2AE35u;
  hash ^= static_cast<uint32_t>(token) * 0x27D4EB2Fu;
  hash ^= hash >> 15;
  hash *= 0x2C1B3C6Du;
  hash ^= hash >> 13;
  return static_cast<float>(hash >> 8);
}

// A block's threads: as they are on the GPU, and one on the host.
struct Block {
#if defined(__CUDA_ARCH__)
  static __device__ int Thread() { return static_cast<int>(threadIdx.x); }
  static __device__ int Threads() { return static_cast<int>(blockDim.x); }
  static __device__ void Barrier() { __syncthreads(); }
#else
  static int Thread() { return 0; }
  static int Threads() { return 1; }
  static void Barrier() {}
#endif
};

// In a block's shared memory.
struct BlockMemory {
  float best[kMaxThreads];
  int32_t token[kMaxThreads];
  int32_t go_on;
};

// All steps of one row.
GRAMMASK_HOST_DEVICE inline void DecodeRow(const DecodeParams& p, uint32_t row,
                                           BlockMemory* memory) {
  Slot* slot = &p.slots[row];
  const int32_t* mask = p.masks + int64_t{row} * p.words_per_row;
  const float minus_infinity = -3.402823466e+38f;
  int32_t before = -1;
  for (uint32_t step = 1; step <= p.max_steps; ++step) {
    float best = minus_infinity;
    int32_t token = -1;
    bool waited = false;
    for (int32_t first = Block::Thread() * kTile; first < p.vocab_size || !waited;
         first += Block::Threads() * kTile) {
      float tile[kTile];
      for (int i = 0; i < kTile; ++i) tile[i] = Logit(row, step, before, first + i);
      if (!waited) {  // with the first tile in registers; all threads come here once a step
        if (Block::Thread() == 0) {
          memory->go_on = gm::WaitForStep(&slot->ready, step, p.max_looks) && slot->stop == 0;
        }
        Block::Barrier();
        waited = true;
        if (memory->go_on == 0) return;
      }
      const uint32_t bits = gm::MaskBits<kTile>(mask, first, 0, p.vocab_size);
      gm::ApplyToTile(tile, bits, minus_infinity);
      for (int i = 0; i < kTile; ++i) {
        if (tile[i] > best) {
          best = tile[i];
          token = first + i;
        }
      }
    }
    memory->best[Block::Thread()] = best;
    memory->token[Block::Thread()] = token;
    Block::Barrier();
    for (int i = 0; i < Block::Threads(); ++i) {  // ties: the lowest token
      const bool better =
          memory->best[i] > best || (memory->best[i] == best && memory->token[i] >= 0 &&
                                     (token < 0 || memory->token[i] < token));
      if (better) {
        best = memory->best[i];
        token = memory->token[i];
      }
    }
    Block::Barrier();
    before = token;
    if (Block::Thread() == 0) {
      slot->token = token;
      gm::RaiseStep(&slot->chosen, step);
    }
    if (token < 0) return;
  }
}

}  // namespace example

#endif  // GRAMMASK_EXAMPLES_CUDA_PERSISTENT_DECODE_CUH_
