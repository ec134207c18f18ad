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

// The best logit so far, by its slot: the largest; of equal ones the one in the lowest slot. Slot
// kNoSlot: none, with the value minus infinity, so that any other is better.
inline constexpr uint32_t kNoSlot = 0xFFFFFFFFu;
template <class F>
struct BestSlot {
  typename F::Value value;
  uint32_t slot;
  GM_DEVICE void Take(typename F::Value other_value, uint32_t other_slot) {
    if (other_value > value || (other_value == value && other_slot < slot)) {
      value = other_value;
      slot = other_slot;
    }
  }
  GM_DEVICE void TakeWarp() {
    for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
      const auto other_value = ShuffleXor(value, lanes);
      const auto other_slot = ShuffleXor(slot, lanes);
      Take(other_value, other_slot);
    }
  }
};

template <class F>
struct BestShared {
  BestSlot<F> of_warp[kMaxWarps];
  BestSlot<F> of_block;
};

// The best of this thread's slots. Warps take chunks of 1,024 columns in turn, as the kernel that
// applies masks does (apply_body.h): a chunk that allows nothing costs one read. Of a slot only its
// largest logit is compared with the best; which lane that is, is asked of the winner alone.
template <class F>
GM_DEVICE BestSlot<F> BestOfThread(const MaskedRow<F>& row) {
  using Value = typename F::Value;
  constexpr int kLanes = Slots<F::kBytes>::kLanes, kAtOnce = F::kBytes == 8 ? 2 : 4;
  constexpr uint32_t kAllLanes = Slots<F::kBytes>::kAllLanes;
  const Value lowest = F::Decode(F::kInfinity | F::kSign);
  const Slots<F::kBytes>& slots = row.slots;
  const auto lane = static_cast<int32_t>(ThreadIndex() % kWarp);
  const auto warps = static_cast<int32_t>(BlockThreads() / kWarp);
  const auto step = static_cast<int32_t>(TeamBlocks()) * warps;
  const int32_t end = slots.shift + slots.columns;
  const auto word_of = [&](int32_t chunk) {
    return AllowedAt(row.mask, (chunk * kWarp + lane) * 32, row.vocab_offset - slots.shift,
                     slots.shift, end);
  };
  BestSlot<F> best = {lowest, kNoSlot};
  auto chunk =
      static_cast<int32_t>(TeamRank()) * warps + static_cast<int32_t>(ThreadIndex() / kWarp);
  uint32_t next = word_of(chunk);
  for (; chunk * (kWarp * 32) < end; chunk += step) {
    const uint32_t word = next;
    next = word_of(chunk + step);
    if (WarpOr(word) == 0) continue;
    const int32_t first = chunk * (kWarp * 32 / kLanes) + lane;
    for (int round = 0; round < 32 / kLanes; round += kAtOnce) {
      uint32_t allowed[kAtOnce];
      Vector vectors[kAtOnce];
      for (int i = 0; i < kAtOnce; ++i) {
        const auto column = static_cast<uint32_t>(((round + i) * kWarp + lane) * kLanes);
        allowed[i] = (ShuffleFrom(word, column / 32) >> (column % 32)) & kAllLanes;
        vectors[i] = row.Load(first + (round + i) * kWarp, allowed[i]);
      }
      for (int i = 0; i < kAtOnce; ++i) {
        Value largest = lowest;
        for (int j = 0; j < kLanes; ++j) {
          const Value value = F::Decode(LaneOf<F::kBytes>(vectors[i], j));
          if (((allowed[i] >> j) & 1) != 0) largest = Larger(largest, value);
        }
        const auto slot = static_cast<uint32_t>(first + (round + i) * kWarp);
        if (largest > best.value) {
          best = {largest, slot};
        } else if (best.slot == kNoSlot && allowed[i] != 0) {  // NaN or minus infinity so far
          for (int j = 0; j < kLanes; ++j) {
            const Value value = F::Decode(LaneOf<F::kBytes>(vectors[i], j));
            if (((allowed[i] >> j) & 1) != 0 && value == lowest) best.slot = slot;
          }
        }
      }
    }
  }
  return best;
}

// The largest logit: its key, 0 where there is none, and its column, the lowest of equal ones.
template <class F>
struct Best {
  typename F::Key key;
  uint32_t column;
};

// The best of all allowed logits of the row, known to all threads of the team. A block must not end
// before a further TeamBarrier: others read its shared memory until then.
template <class F>
GM_DEVICE Best<F> BestOfRow(const MaskedRow<F>& row, BestShared<F>* shared) {
  BestSlot<F> best = BestOfThread(row);
  best.TakeWarp();
  const BestSlot<F> none = {F::Decode(F::kInfinity | F::kSign), kNoSlot};
  const uint32_t thread = ThreadIndex(), warps = BlockThreads() / kWarp;
  if (thread % kWarp == 0) shared->of_warp[thread / kWarp] = best;
  BlockBarrier();
  if (thread < kWarp) {
    best = none;
    if (thread < warps) best = shared->of_warp[thread];
    best.TakeWarp();
    if (thread == 0) shared->of_block = best;
  }
  TeamBarrier();
  best = none;
  for (uint32_t rank = 0; rank < TeamBlocks(); ++rank) {
    const BestSlot<F> other = *InBlock(&shared->of_block, rank);
    best.Take(other.value, other.slot);
  }
  if (best.slot == kNoSlot) return {0, 0};
  const auto slot = static_cast<int32_t>(best.slot);
  const uint32_t allowed = row.slots.Allowed(slot, row.mask, row.vocab_offset);
  const Vector vector = row.Load(slot, allowed);
  Best<F> found = {0, 0};
  for (int lane = row.slots.kLanes - 1; lane >= 0; --lane) {
    const typename F::Key bits = LaneOf<F::kBytes>(vector, lane);
    if (((allowed >> lane) & 1) == 0 || F::Decode(bits) != best.value) continue;
    found = {F::KeyOfBits(bits, F::kInfinity),
             static_cast<uint32_t>(row.slots.FirstColumn(slot) + lane)};
  }
  return found;
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
