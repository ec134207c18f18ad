// The kernel that applies masks: one row for each row of the grid, a chunk of it for each warp.
//
// A chunk is the columns of kWords words of the mask, as slots of 16 bytes, neighbouring threads
// neighbouring slots. Each thread reads the bits of 32 columns, all learn at once whether the chunk
// is allowed whole, and the bits of a slot come from the thread that has them. In place a slot that
// the mask allows whole is not touched, one that it refuses whole is only written, and the others
// are read, changed and written, up to four at a time; a row that allows everything costs its mask.
// Out of place every slot is written and those that are refused whole are not read. Columns before
// the row's first and after its last whole slot are done one by one, by the first warp.
// A warp has one chunk and no loop over more: many short warps hide what each waits for. What a
// thread does before it reads the mask is most of what a short launch costs, so that a launch of
// few rows for which there is nothing to find out has a kernel of its own (measured,
// docs/performance.md). There is no barrier and no shared memory.
// Cost: memory-bound. Bytes of a row of V float32: V/8 of mask, and 16 written for each refused
// slot, 32 for each mixed one. Tested by tests/kernels/cuda_apply_test.cc on the host against the
// CPU kernel.
#ifndef GRAMMASK_KERNELS_CUDA_APPLY_BODY_H_
#define GRAMMASK_KERNELS_CUDA_APPLY_BODY_H_

#include "kernels/cuda/row.h"

namespace grammask::internal::cuda {

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

// Which of the 32 columns at the places [place, place + 32) the mask refuses (AllowedAt); those at
// places outside [begin, end) count as not refused.
GM_DEVICE uint32_t RefusedAt(const int32_t* mask, int32_t place, int32_t bit, int32_t begin,
                             int32_t end) {
  const int32_t low = place < begin ? begin : place;
  const int32_t high = place + 32 > end ? end : place + 32;
  if (low >= high) return 0;
  const uint32_t own = (0xFFFFFFFFu >> (32 - (high - low))) << (low - place);
  return own & ~AllowedAt(mask, place, bit, begin, end);
}

// One column of a row that is in no whole slot.
template <int kBytes, bool kCopy>
GM_DEVICE void ApplyToColumn(const ApplyParams& p, const void* from, void* row, const int32_t* mask,
                             int32_t column) {
  auto* logit = static_cast<Stored<kBytes>*>(row) + column;
  if (column < p.in.columns && !device::IsAllowed(mask, p.in.vocab_offset + column)) {
    *logit = LaneOf<kBytes>({{p.minus_infinity[0], p.minus_infinity[1], 0, 0}}, 0);
  } else if (kCopy) {
    *logit = static_cast<const Stored<kBytes>*>(from)[column];
  }
}

// kPlain: in place, to all rows, where each begins at a multiple of 16 bytes and at a word of its
// mask and has as many columns as whole words have.
enum class ApplyKind { kInPlace, kPlain, kCopy };

// kWords: of a chunk. The grid has warps for all chunks of a row, and a row for each item.
template <int kBytes, int kWords, ApplyKind kKind>
GM_DEVICE void ApplyBody(const ApplyParams& p) {
  constexpr bool kCopy = kKind == ApplyKind::kCopy, kPlain = kKind == ApplyKind::kPlain;
  constexpr int kLanes = 16 / kBytes;
  constexpr uint32_t kAllLanes = (1u << kLanes) - 1;
  constexpr int kRounds = kWords / kLanes;  // slots of a thread
  constexpr int kAtOnce = kRounds < 4 ? kRounds : 4;
  static_assert(kWords <= kWarp && kRounds > 0 && kRounds % kAtOnce == 0);

  const int64_t item = kPlain ? p.rows.first + GridRow() : RowOf(p.rows, GridRow());
  if (!kPlain && item < 0) return;
  const int32_t* mask = p.in.mask + item * p.in.mask_stride;
  const auto* from = static_cast<const Stored<kBytes>*>(p.in.logits) + item * p.in.logits_stride;
  auto* row = static_cast<Stored<kBytes>*>(p.out) + item * p.out_stride;
  const int32_t columns = kCopy ? p.out_columns : p.in.columns;  // to be written
  const auto lane = static_cast<int32_t>(ThreadIndex() % kWarp);
  const auto chunk =
      static_cast<int32_t>(BlockIndex() * (BlockThreads() / kWarp) + ThreadIndex() / kWarp);
  const auto shift =
      kPlain ? 0 : static_cast<int32_t>((reinterpret_cast<uintptr_t>(row) & 15) / kBytes);
  const int32_t begin = shift == 0 ? 0 : kLanes;  // of the whole slots, as places
  const int32_t end = (shift + columns) & -kLanes;

  const int32_t place = chunk * (kWords * 32);
  const int32_t bit = p.in.vocab_offset - shift;
  const int32_t masked = kCopy && shift + p.in.columns < end ? shift + p.in.columns : end;
  uint32_t word = 0;
  if (kPlain) {
    const bool has_word = lane < kWords && place + lane * 32 < masked;
    if (has_word) word = ~static_cast<uint32_t>(mask[(place + bit) / 32 + lane]);
  } else if (bit % 32 == 0 && place >= begin && place + kWords * 32 <= masked) {  // mostly
    if (lane < kWords) word = ~static_cast<uint32_t>(mask[(place + bit) / 32 + lane]);
  } else if (lane < kWords) {
    word = RefusedAt(mask, place + lane * 32, bit, begin, masked);
  }
  if (kCopy || WarpOr(word) != 0) {
    auto* slots = reinterpret_cast<Vector*>(row - shift) + place / kLanes + lane;
    const auto* sources = from - shift + place + lane * kLanes;
    const bool alike = !kCopy || (reinterpret_cast<uintptr_t>(from - shift) & 15) == 0;
    for (int round = 0; round < kRounds; round += kAtOnce) {
      uint32_t refused[kAtOnce];
      bool whole[kAtOnce];
      Vector vectors[kAtOnce];
      for (int i = 0; i < kAtOnce; ++i) {
        const int32_t first = ((round + i) * kWarp + lane) * kLanes;  // of the chunk's columns
        const auto column = static_cast<uint32_t>(first);
        refused[i] = (ShuffleFrom(word, column / 32) >> (column % 32)) & kAllLanes;
        whole[i] = !kCopy || (place + first >= begin && place + first < end);
        vectors[i] = {{0, 0, 0, 0}};
        if (!whole[i] || refused[i] == kAllLanes) continue;
        if constexpr (kCopy) {
          const auto* source = sources + (round + i) * (kWarp * kLanes);
          vectors[i] = alike ? *reinterpret_cast<const Vector*>(source)
                             : LoadLanes<kBytes>(source, kAllLanes & ~refused[i]);
        } else if (refused[i] != 0) {
          vectors[i] = slots[(round + i) * kWarp];
        }
      }
      for (int i = 0; i < kAtOnce; ++i) {
        if (kCopy ? !whole[i] : refused[i] == 0) continue;
        const Vector v = Overwrite<kBytes>(vectors[i], refused[i], p.minus_infinity);
        Store16(slots + (round + i) * kWarp, v.words[0], v.words[1], v.words[2], v.words[3]);
      }
    }
  }
  if (kPlain || chunk != 0 || lane >= kLanes || (shift == 0 && end == columns)) return;
  const int32_t head = begin - shift;
  const int32_t tail = (end < begin ? begin : end) - shift + lane;
  if (lane < head && lane < columns) ApplyToColumn<kBytes, kCopy>(p, from, row, mask, lane);
  if (tail < columns) ApplyToColumn<kBytes, kCopy>(p, from, row, mask, tail);
}

}  // namespace grammask::internal::cuda

#endif  // GRAMMASK_KERNELS_CUDA_APPLY_BODY_H_
