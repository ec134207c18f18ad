// What the kernels that choose tokens share: logits as ordered keys, reductions over a team, sums
// in the order of threads.
#ifndef GRAMMASK_KERNELS_CUDA_CHOOSE_H_
#define GRAMMASK_KERNELS_CUDA_CHOOSE_H_

#include <cstdint>

#include "kernels/cuda/row.h"

namespace grammask::internal::cuda {

// Formats of logits. Value: what they are computed in. Key: an unsigned integer ordered as the
// logits are; 0 for NaN; both zeros have one key.
template <int kLogitBytes, class KeyType, class ValueType>
struct FormatBase {
  static constexpr int kBytes = kLogitBytes;
  static constexpr int kKeyBits = kLogitBytes * 8;
  using Key = KeyType;
  using Value = ValueType;
  static constexpr Key kSign = Key{1} << (kKeyBits - 1);
  static constexpr Key kAllBits = (kSign - 1) | kSign;

  GM_DEVICE static Key KeyOfBits(Key bits, Key infinity) {
    if ((bits & ~kSign) > infinity) return 0;
    if (bits == kSign) bits = 0;
    return (bits & kSign) != 0 ? bits ^ kAllBits : bits | kSign;
  }
  GM_DEVICE static Key BitsOfKey(Key key) {
    return (key & kSign) != 0 ? key ^ kSign : key ^ kAllBits;
  }
};
struct Float32 : FormatBase<4, uint32_t, float> {
  static constexpr Key kInfinity = 0x7F800000u;
  GM_DEVICE static Value Decode(Key bits) { return FloatOf(bits); }
};
struct Float16 : FormatBase<2, uint32_t, float> {
  static constexpr Key kInfinity = 0x7C00u;
  GM_DEVICE static Value Decode(Key bits) { return HalfToFloat(static_cast<uint16_t>(bits)); }
};
struct BFloat16 : FormatBase<2, uint32_t, float> {
  static constexpr Key kInfinity = 0x7F80u;
  GM_DEVICE static Value Decode(Key bits) { return FloatOf(bits << 16); }
};
struct Float64 : FormatBase<8, uint64_t, double> {
  static constexpr Key kInfinity = 0x7FF0000000000000u;
  GM_DEVICE static Value Decode(Key bits) { return DoubleOf(bits); }
};
// The keys of minus and plus infinity.
template <class F>
inline constexpr typename F::Key kLowestKey = (F::kInfinity | F::kSign) ^ F::kAllBits;
template <class F>
inline constexpr typename F::Key kHighestKey = F::kInfinity | F::kSign;

// The share of a row's slots that one block of the team reads, in the order of ranks.
struct Part {
  int32_t begin, end;
};
GM_DEVICE Part PartOf(int32_t slots) {
  const auto blocks = static_cast<int32_t>(TeamBlocks());
  const int32_t size = (slots + blocks - 1) / blocks;
  const auto begin = size * static_cast<int32_t>(TeamRank());
  const int32_t end = begin + size;
  return {begin < slots ? begin : slots, end < slots ? end : slots};
}

// A row of logits and its mask, as one block reads it.
template <class F>
struct MaskedRow {
  GM_DEVICE MaskedRow(const MaskedLogits& in, int64_t row)
      : logits(static_cast<const Stored<F::kBytes>*>(in.logits) + row * in.logits_stride),
        mask(in.mask + row * in.mask_stride),
        vocab_offset(in.vocab_offset),
        slots(logits, in.columns),
        part(PartOf(slots.count)) {}

  GM_DEVICE uint32_t Allowed(int32_t slot) const {
    return slot < part.end ? slots.Allowed(slot, mask, vocab_offset) : 0;
  }
  GM_DEVICE Vector Load(int32_t slot, uint32_t allowed) const {
    if (allowed == 0) return {{0, 0, 0, 0}};
    return LoadSlot<F::kBytes>(logits, slots, slot);
  }

  // Slots that are read before the first of them is looked at.
  static constexpr int kAtOnce = F::kBytes == 2 ? 2 : 4;

  // visit(column, key, stored bits) for each allowed logit of this thread that is no NaN, in
  // ascending order.
  template <class Visit>
  GM_DEVICE void ForEach(const Visit& visit) const {
    const auto threads = static_cast<int32_t>(BlockThreads());
    for (int32_t base = part.begin + static_cast<int32_t>(ThreadIndex()); base < part.end;
         base += threads * kAtOnce) {
      uint32_t allowed[kAtOnce];
      Vector vectors[kAtOnce];
      for (int i = 0; i < kAtOnce; ++i) allowed[i] = Allowed(base + threads * i);
      for (int i = 0; i < kAtOnce; ++i) vectors[i] = Load(base + threads * i, allowed[i]);
      for (int i = 0; i < kAtOnce; ++i) {
        if (allowed[i] == 0) continue;
        const int32_t first = slots.FirstColumn(base + threads * i);
        for (int lane = 0; lane < slots.kLanes; ++lane) {
          if (((allowed[i] >> lane) & 1) == 0) continue;
          const typename F::Key bits = LaneOf<F::kBytes>(vectors[i], lane);
          const typename F::Key key = F::KeyOfBits(bits, F::kInfinity);
          if (key != 0) visit(first + lane, key, bits);
        }
      }
    }
  }

  const void* logits;
  const int32_t* mask;
  int32_t vocab_offset;
  Slots<F::kBytes> slots;
  Part part;
};

inline constexpr int kMaxWarps = 32;

// The best logit so far: the largest key; of equal ones the lowest column. Key 0: none.
template <class F>
struct Best {
  typename F::Key key;
  uint32_t column;
  GM_DEVICE void Take(typename F::Key other_key, uint32_t other_column) {
    if (other_key > key || (other_key == key && other_column < column)) {
      key = other_key;
      column = other_column;
    }
  }
  GM_DEVICE void TakeWarp() {
    for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
      const auto other_key = ShuffleXor(key, lanes);
      const auto other_column = ShuffleXor(column, lanes);
      Take(other_key, other_column);
    }
  }
};

template <class F>
struct BestShared {
  Best<F> of_warp[kMaxWarps];
  Best<F> of_block;
};

// The best of all allowed logits of the row, known to all threads of the team. A block must not end
// before a further TeamBarrier: others read its shared memory until then.
template <class F>
GM_DEVICE Best<F> BestOfRow(const MaskedRow<F>& row, BestShared<F>* shared) {
  Best<F> best = {0, 0xFFFFFFFFu};
  row.ForEach([&](int32_t column, typename F::Key key, typename F::Key) {
    if (key > best.key) best = {key, static_cast<uint32_t>(column)};  // columns ascend
  });
  best.TakeWarp();
  const uint32_t thread = ThreadIndex(), warps = BlockThreads() / kWarp;
  if (thread % kWarp == 0) shared->of_warp[thread / kWarp] = best;
  BlockBarrier();
  if (thread < kWarp) {
    best = {0, 0xFFFFFFFFu};
    if (thread < warps) best = shared->of_warp[thread];
    best.TakeWarp();
    if (thread == 0) shared->of_block = best;
  }
  TeamBarrier();
  best = {0, 0xFFFFFFFFu};
  for (uint32_t rank = 0; rank < TeamBlocks(); ++rank) {
    const Best<F> other = *InBlock(&shared->of_block, rank);
    best.Take(other.key, other.column);
  }
  return best;
}

// The sum of `value` over the block's threads before this one; `total`: over all. All threads call.
GM_DEVICE uint64_t SumBefore(uint64_t value, uint64_t* warp_sums, uint64_t* total) {
  const uint32_t thread = ThreadIndex(), warps = BlockThreads() / kWarp;
  const uint32_t lane = thread % kWarp;
  uint64_t sum = value;
  for (int lanes = 1; lanes < kWarp; lanes *= 2) {
    const uint64_t before = ShuffleUp(sum, lanes);
    if (lane >= static_cast<uint32_t>(lanes)) sum += before;
  }
  if (lane == kWarp - 1) warp_sums[thread / kWarp] = sum;
  BlockBarrier();
  if (thread < kWarp) {
    uint64_t warp_sum = lane < warps ? warp_sums[lane] : 0;
    for (int lanes = 1; lanes < kWarp; lanes *= 2) {
      const uint64_t before = ShuffleUp(warp_sum, lanes);
      if (lane >= static_cast<uint32_t>(lanes)) warp_sum += before;
    }
    if (lane < warps) warp_sums[lane] = warp_sum;
  }
  BlockBarrier();
  *total = warp_sums[warps - 1];
  const uint64_t result = sum - value + (thread < kWarp ? 0 : warp_sums[thread / kWarp - 1]);
  BlockBarrier();
  return result;
}

}  // namespace grammask::internal::cuda

#endif  // GRAMMASK_KERNELS_CUDA_CHOOSE_H_
