// The kernel that applies masks: blocks_per_row blocks of kThreads threads for each row.
//
// Every thread takes slots of 16 bytes, neighbouring threads neighbouring slots. In place, where
// slots and words of the mask begin together and rows are many, a warp takes 1,024 columns at a
// time: each thread reads one word of their mask, all learn at once whether everything there is
// allowed or refused, and the bits of a slot come from the thread that has them. Elsewhere (few
// rows, odd alignment, ends of rows) each thread reads the bits of its slots itself, four slots at
// a time. In place a slot that the mask allows whole is not touched, one that it refuses whole is
// only written, and the others are read, changed and written. A row that allows everything costs
// its mask. Out of place refused slots are written without being read. There is no barrier and no
// shared memory. Cost: memory-bound. Bytes of a row of V float32: V/8 of mask, and 16 written for
// each refused slot, 32 for each mixed one. Tested by tests/kernels/cuda_apply_test.cc on the host
// against the CPU kernel.
#ifndef GRAMMASK_KERNELS_CUDA_APPLY_BODY_H_
#define GRAMMASK_KERNELS_CUDA_APPLY_BODY_H_

#include "kernels/cuda/row.h"

namespace grammask::internal::cuda {

inline constexpr int kSlotsAtOnce = 4;

// All bits of the lanes `refused`, in the words of a slot.
template <int kBytes>
GM_DEVICE uint32_t RefusedBits(uint32_t refused, int word) {
  if constexpr (kBytes == 2) {
    return (((refused >> (word * 2)) & 1) * 0xFFFFu) |
           (((refused >> (word * 2 + 1)) & 1) * 0xFFFF0000u);
  } else if constexpr (kBytes == 4) {
    return 0u - ((refused >> word) & 1);
  } else {
    return 0u - ((refused >> (word / 2)) & 1);
  }
}

template <int kBytes>
GM_DEVICE Vector Overwrite(const Vector& vector, uint32_t refused, const uint32_t* minus_infinity) {
  Vector result;
  for (int i = 0; i < 4; ++i) {
    const uint32_t bits = RefusedBits<kBytes>(refused, i);
    result.words[i] = (vector.words[i] & ~bits) | (minus_infinity[i & 1] & bits);
  }
  return result;
}

template <int kBytes>
GM_DEVICE void StoreSlot(void* row, const Slots<kBytes>& slots, int32_t slot, const Vector& vector,
                         uint32_t lanes) {
  auto* logits = static_cast<Stored<kBytes>*>(row);
  const int32_t first = slots.FirstColumn(slot);
  if (slots.IsWhole(slot)) {
    Store16(logits + first, vector.words[0], vector.words[1], vector.words[2], vector.words[3]);
    return;
  }
  for (int lane = 0; lane < slots.kLanes; ++lane) {
    if (((lanes >> lane) & 1) != 0) logits[first + lane] = LaneOf<kBytes>(vector, lane);
  }
}

// In place, to kSlotsAtOnce slots from `base` on, `step` apart: the lanes refused[i] of the i-th.
template <int kBytes>
GM_DEVICE void Refuse(const ApplyParams& p, void* row, const Slots<kBytes>& slots, int32_t base,
                      int32_t step, const uint32_t (&refused)[kSlotsAtOnce]) {
  Vector vectors[kSlotsAtOnce];
  for (int i = 0; i < kSlotsAtOnce; ++i) {
    const int32_t slot = base + step * i;
    vectors[i] = {{0, 0, 0, 0}};
    if (refused[i] != 0 && refused[i] != slots.kAllLanes && slots.IsWhole(slot)) {
      vectors[i] = LoadSlot<kBytes>(row, slots, slot);
    }
  }
  for (int i = 0; i < kSlotsAtOnce; ++i) {
    if (refused[i] == 0) continue;
    StoreSlot<kBytes>(row, slots, base + step * i,
                      Overwrite<kBytes>(vectors[i], refused[i], p.minus_infinity), refused[i]);
  }
}

// What one thread does to the slots [first, count) step `step` of one row, in place.
template <int kBytes>
GM_DEVICE void ApplyInPlace(const ApplyParams& p, void* row, const int32_t* mask, int32_t first,
                            int32_t step) {
  const Slots<kBytes> slots(row, p.in.columns);
  for (int32_t base = first; base < slots.count; base += step * kSlotsAtOnce) {
    uint32_t refused[kSlotsAtOnce];
    for (int i = 0; i < kSlotsAtOnce; ++i) {
      const int32_t slot = base + step * i;
      refused[i] = 0;
      if (slot < slots.count) {
        refused[i] = slots.Own(slot) & ~slots.Allowed(slot, mask, p.in.vocab_offset);
      }
    }
    Refuse<kBytes>(p, row, slots, base, step, refused);
  }
}

// The columns that whole runs of kWarp words of the mask are about, in place; how many slots
// that is from the row's first on. 0 where slots and words do not begin together, and where warps
// are too many for the row's runs: few rows are done sooner a slot a thread. All threads of a block
// call.
template <int kBytes>
GM_DEVICE int32_t ApplyWholeWords(const ApplyParams& p, void* row, const int32_t* mask,
                                  int32_t block, int32_t blocks) {
  const Slots<kBytes> slots(row, p.in.columns);
  constexpr auto kLanes = static_cast<uint32_t>(Slots<kBytes>::kLanes);
  if (slots.shift != 0 || p.in.vocab_offset % 32 != 0) return 0;
  constexpr int kRounds = 32 / Slots<kBytes>::kLanes;  // slots of a thread
  static_assert(kRounds % kSlotsAtOnce == 0);
  const int32_t runs = p.in.columns / (kWarp * 32);
  const auto lane = static_cast<int32_t>(ThreadIndex() % kWarp);
  const auto warp = static_cast<int32_t>(ThreadIndex() / kWarp);
  const uint32_t from = static_cast<uint32_t>(lane) * kLanes / 32;  // of round 0, the thread
  const uint32_t shift = static_cast<uint32_t>(lane) * kLanes % 32;
  const int32_t step = blocks * static_cast<int32_t>(BlockThreads() / kWarp);
  if (step > 2 * runs) return 0;
  const int32_t* words = mask + p.in.vocab_offset / 32 + lane;
  for (int32_t run = warp * blocks + block; run < runs; run += step) {  // first one a block
    const auto word = static_cast<uint32_t>(words[int64_t{run} * kWarp]);
    if (WarpAnd(word) == 0xFFFFFFFFu) continue;
    const bool refuses_all = WarpOr(word) == 0;
    for (int round = 0; round < kRounds; round += kSlotsAtOnce) {
      uint32_t refused[kSlotsAtOnce];
      for (int i = 0; i < kSlotsAtOnce; ++i) {
        refused[i] = slots.kAllLanes;
        if (!refuses_all) {
          const auto before = static_cast<uint32_t>(round + i) * kLanes;
          refused[i] &= ~(ShuffleFrom(word, before + from) >> shift);
        }
      }
      Refuse<kBytes>(p, row, slots, (run * kRounds + round) * kWarp + lane, kWarp, refused);
    }
  }
  return runs * kRounds * kWarp;
}

// The same from one array to another, whose rows may lie differently in their slots.
template <int kBytes>
GM_DEVICE void ApplyToCopy(const ApplyParams& p, const void* from, void* row, const int32_t* mask,
                           int32_t first, int32_t step) {
  const Slots<kBytes> masked(row, p.in.columns), slots(row, p.out_columns);
  const auto* logits = static_cast<const Stored<kBytes>*>(from);
  const bool alike =
      (reinterpret_cast<uintptr_t>(from) & 15) == (reinterpret_cast<uintptr_t>(row) & 15);
  for (int32_t slot = first; slot < slots.count; slot += step) {
    const uint32_t own = slots.Own(slot);
    uint32_t refused = 0;
    if (slot < masked.count) {
      refused = masked.Own(slot) & ~masked.Allowed(slot, mask, p.in.vocab_offset);
    }
    Vector vector = {{0, 0, 0, 0}};
    if (refused != own) {
      vector = alike ? LoadSlot<kBytes>(from, slots, slot)
                     : LoadLanes<kBytes>(logits + slots.FirstColumn(slot), own & ~refused);
    }
    StoreSlot<kBytes>(row, slots, slot, Overwrite<kBytes>(vector, refused, p.minus_infinity), own);
  }
}

template <int kBytes, bool kInPlace>
GM_DEVICE void ApplyBody(const ApplyParams& p) {
  const int32_t blocks = p.blocks_per_row;
  const int64_t row = RowOf(p.rows, BlockIndex() / static_cast<uint32_t>(blocks));
  if (row < 0) return;
  const auto block = static_cast<int32_t>(BlockIndex() % static_cast<uint32_t>(blocks));
  const auto threads = static_cast<int32_t>(BlockThreads());
  const int32_t first = block * threads + static_cast<int32_t>(ThreadIndex());
  const int32_t step = blocks * threads;
  const int32_t* mask = p.in.mask + row * p.in.mask_stride;
  void* out = static_cast<Stored<kBytes>*>(p.out) + row * p.out_stride;
  if constexpr (kInPlace) {
    const int32_t done = ApplyWholeWords<kBytes>(p, out, mask, block, blocks);
    ApplyInPlace<kBytes>(p, out, mask, done + first, step);
  } else {
    const void* from = static_cast<const Stored<kBytes>*>(p.in.logits) + row * p.in.logits_stride;
    ApplyToCopy<kBytes>(p, from, out, mask, first, step);
  }
}

}  // namespace grammask::internal::cuda

#endif  // GRAMMASK_KERNELS_CUDA_APPLY_BODY_H_
