// The kernel of masked_sample: temperature, top-k, top-p, min-p and one draw for each row, in one
// launch, from logits and mask where they lie.
//
// Weights are exp((logit - largest) / temperature) as integers, multiples of 2^-44. Sums of
// integers do not depend on their order, so the token is the same however many threads and blocks
// make it, and on every GPU. Nothing is sorted: a threshold is found from the top digit of the
// logits' ordered bits down, by a histogram in shared memory over 11 bits at a time: of counts for
// top-k, of weights for top-p. What is kept is then summed by tiles; the draw picks a part, a tile,
// a slot, a lane.
//
// Passes over the row: one for the largest logit; for top-k and top-p three each (two for 16-bit
// logits, six for float64); one for the sums. Passes that a row has no use for are left out. Only
// the first comes from memory where rows in flight fit into the L2 cache. Passes read the mask
// again, and of the logits only slots in which something is allowed. Example: logits 2 1 0, all
// allowed, top_p 0.6: weights 1, 0.37, 0.14, sum 1.5; the histogram says that 0.9 is reached within
// the bin of logit 2, so only token 0 is kept.
//
// A token drawn has a weight above 0, so it is allowed whatever rounding does.
// Tested by tests/kernels/cuda_choose_test.cc on the host.
#ifndef GRAMMASK_KERNELS_CUDA_SAMPLE_BODY_H_
#define GRAMMASK_KERNELS_CUDA_SAMPLE_BODY_H_

#include "kernels/cuda/choose.h"
#include "kernels/philox.h"

namespace grammask::internal::cuda {

inline constexpr int kDigitBits = 11;
inline constexpr int kBins = 1 << kDigitBits;
inline constexpr int kTiles = 64;  // a block has at least as many threads

template <class F>
struct SampleShared {
  BestShared<F> best;
  uint64_t warp_sums[kMaxWarps];
  SharedSum bins[kBins];
  SharedSum tiles[kTiles];
  uint64_t part_total;
  struct {
    uint64_t left;
    uint32_t index;
  } picked;
};

// 2^(x * log2(e)) for x <= 0, to about one part in 2^23; 0 below 2^-62 and for NaN. Made of single
// operations that are exactly rounded everywhere, so that it is the same number on every machine.
GM_DEVICE float ExpOfNegative(float x) {
  constexpr float kLog2E = 1.44269502f, kLog2ERest = 1.92596303e-8f;
  const float guess = x * kLog2E;
  if (!(guess > -62.0f)) return 0.0f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float whole = (guess + kRound) - kRound;
  float rest = MultiplyAdd(x, kLog2E, -whole);
  rest = MultiplyAdd(x, kLog2ERest, rest);
  float power = 1.52527338e-5f;  // the Taylor series of 2^rest, |rest| <= 1/2
  power = MultiplyAdd(power, rest, 1.54035304e-4f);
  power = MultiplyAdd(power, rest, 1.33335581e-3f);
  power = MultiplyAdd(power, rest, 9.61812911e-3f);
  power = MultiplyAdd(power, rest, 5.55041087e-2f);
  power = MultiplyAdd(power, rest, 2.40226507e-1f);
  power = MultiplyAdd(power, rest, 6.93147181e-1f);
  power = MultiplyAdd(power, rest, 1.0f);
  return power * FloatOf(static_cast<uint32_t>(static_cast<int32_t>(whole) + 127) << 23);
}

// The weights of a row's logits. Everything about one row that does not change between passes.
template <class F>
struct Weigher {
  typename F::Value largest;
  float inverse_temperature;
  float scale;  // of integer weights: their sum stays below 2^63
  typename F::Key threshold;
  float min_weight;

  GM_DEVICE float Plain(typename F::Key bits) const {
    const auto below = static_cast<float>(F::Decode(bits) - largest);
    const float weight = ExpOfNegative(below * inverse_temperature);
    return weight > 1.0f ? 1.0f : weight;
  }
  // For histograms: whatever the thresholds are.
  GM_DEVICE uint64_t Weight(typename F::Key bits) const {
    return static_cast<uint64_t>(Plain(bits) * scale);
  }
  // 0 for what is not kept.
  GM_DEVICE uint64_t Kept(typename F::Key key, typename F::Key bits) const {
    if (key <= kLowestKey<F> || key < threshold) return 0;
    const float weight = Plain(bits);
    return weight < min_weight ? 0 : static_cast<uint64_t>(weight * scale);
  }
  // Of the allowed lanes of a slot, together.
  GM_DEVICE uint64_t KeptOfSlot(const Vector& vector, uint32_t allowed) const {
    uint64_t sum = 0;
    for (int lane = 0; lane < 16 / F::kBytes; ++lane) {
      if (((allowed >> lane) & 1) == 0) continue;
      const typename F::Key bits = LaneOf<F::kBytes>(vector, lane);
      sum += Kept(F::KeyOfBits(bits, F::kInfinity), bits);
    }
    return sum;
  }
};

GM_DEVICE float ScaleFor(int32_t columns) {
  int bits = 44;
  while (columns > (int64_t{1} << (62 - bits))) --bits;
  return FloatOf(static_cast<uint32_t>(bits + 127) << 23);
}

template <class T>
GM_DEVICE T ValueFor(const PerItem<T>& parameter, int64_t item) {
  return parameter.device == nullptr ? parameter.same : parameter.device[item];
}

// How far down a threshold lies: at the top_k-th largest logit, or, with top_k 0, where the weights
// sum to the share top_p of all.
struct Depth {
  int64_t top_k;
  double top_p;

  // In units of what is summed, of which `total` are there; 0: keep all.
  GM_DEVICE uint64_t Of(uint64_t total) const {
    if (top_k > 0) return static_cast<uint64_t>(top_k) >= total ? 0 : static_cast<uint64_t>(top_k);
    const double share = top_p * static_cast<double>(total);
    auto need = static_cast<uint64_t>(share);
    if (static_cast<double>(need) < share) ++need;
    return need < 1 ? 1 : need > total ? total : need;
  }
};

// The key at that depth, from the largest down; weigher.threshold where all are to be kept. Keys
// below weigher.threshold, and those of -inf, do not count. Known to all threads of the team.
template <class F>
GM_DEVICE typename F::Key FindThreshold(const MaskedRow<F>& row, SampleShared<F>* shared,
                                        const Weigher<F>& weigher, const Depth& depth) {
  using Key = typename F::Key;
  const uint32_t thread = ThreadIndex(), threads = BlockThreads();
  const uint32_t bins_each = (kBins + threads - 1) / threads;
  auto bin_of = [&](uint32_t i) {  // bins from the top, some neighbouring ones for each thread
    return kBins - 1 - static_cast<int32_t>(thread * bins_each + i);
  };
  auto bin_sum = [&](int32_t bin) {
    uint64_t sum = 0;
    if (bin < 0) return sum;
    for (uint32_t rank = 0; rank < TeamBlocks(); ++rank) {
      sum += ValueOf(*InBlock(&shared->bins[bin], rank));
    }
    return sum;
  };
  Key prefix = 0;
  uint64_t wanted = 0;
  for (int left = F::kKeyBits; left > 0;) {
    const bool is_first = left == F::kKeyBits;
    const int digit_bits = left < kDigitBits ? left : kDigitBits;
    const int above = left;
    left -= digit_bits;
    for (uint32_t bin = thread; bin < kBins; bin += threads) shared->bins[bin] = {0, 0};
    BlockBarrier();
    row.ForEach([&](int32_t, Key key, Key bits) {
      if (key <= kLowestKey<F> || key < weigher.threshold) return;
      if (!is_first && (key >> above) != prefix) return;
      const auto bin = static_cast<uint32_t>(key >> left) & ((1u << digit_bits) - 1);
      Add(&shared->bins[bin], depth.top_k > 0 ? 1 : weigher.Weight(bits));
    });
    TeamBarrier();
    uint64_t sum = 0, total = 0;
    for (uint32_t i = 0; i < bins_each; ++i) sum += bin_sum(bin_of(i));
    uint64_t before = SumBefore(sum, shared->warp_sums, &total);
    if (is_first) wanted = depth.Of(total);
    if (wanted != 0 && before < wanted && wanted - before <= sum) {
      for (uint32_t i = 0; i < bins_each; ++i) {
        const uint64_t here = bin_sum(bin_of(i));
        if (wanted - before <= here) {
          shared->picked.index = static_cast<uint32_t>(bin_of(i));
          shared->picked.left = wanted - before;
          break;
        }
        before += here;
      }
    }
    TeamBarrier();  // and no bin is read any more
    if (wanted == 0) return weigher.threshold;
    prefix = (prefix << digit_bits) | shared->picked.index;
    wanted = shared->picked.left;
  }
  return prefix;
}

// Draws by the kept weights: the first token at which their sum exceeds the share `uniform` / 2^64
// of all of them. -1 where all are 0.
template <class F>
GM_DEVICE void Draw(const MaskedRow<F>& row, const Weigher<F>& weigher, uint64_t uniform,
                    SampleShared<F>* shared, int64_t* token) {
  const auto thread = static_cast<int32_t>(ThreadIndex());
  const auto threads = static_cast<int32_t>(BlockThreads());
  const int32_t rounds = (row.part.end - row.part.begin + threads - 1) / threads;
  const int32_t rounds_each = rounds == 0 ? 1 : (rounds + kTiles - 1) / kTiles;
  auto slot_of = [&](int32_t round) { return row.part.begin + threads * round + thread; };

  if (thread < kTiles) shared->tiles[thread] = {0, 0};
  BlockBarrier();
  constexpr int kAtOnce = MaskedRow<F>::kAtOnce;
  for (int32_t base = 0; base < rounds; base += kAtOnce) {
    uint32_t allowed[kAtOnce];
    Vector vectors[kAtOnce];
    for (int i = 0; i < kAtOnce; ++i) allowed[i] = row.Allowed(slot_of(base + i));
    for (int i = 0; i < kAtOnce; ++i) vectors[i] = row.Load(slot_of(base + i), allowed[i]);
    for (int i = 0; i < kAtOnce; ++i) {
      if (base + i >= rounds) break;
      uint64_t sum = allowed[i] == 0 ? 0 : weigher.KeptOfSlot(vectors[i], allowed[i]);
      for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) sum += ShuffleXor(sum, lanes);
      if (thread % kWarp == 0) Add(&shared->tiles[(base + i) / rounds_each], sum);
    }
  }
  BlockBarrier();
  const uint64_t tile = thread < kTiles ? ValueOf(shared->tiles[thread]) : 0;
  uint64_t part_total = 0;
  const uint64_t tile_begin = SumBefore(tile, shared->warp_sums, &part_total);
  if (thread == 0) shared->part_total = part_total;
  TeamBarrier();
  uint64_t part_begin = 0, total = 0;
  for (uint32_t rank = 0; rank < TeamBlocks(); ++rank) {
    const uint64_t other = *InBlock(&shared->part_total, rank);
    if (rank < TeamRank()) part_begin += other;
    total += other;
  }
  TeamBarrier();  // from here on no block looks into another's memory

  uint64_t target = MultiplyHigh(uniform, total);
  if (total == 0) {
    if (TeamRank() == 0 && thread == 0) *token = -1;
    return;
  }
  if (target < part_begin || target - part_begin >= part_total) return;
  target -= part_begin;
  if (tile_begin <= target && target - tile_begin < tile) {
    shared->picked.index = static_cast<uint32_t>(thread);
    shared->picked.left = target - tile_begin;
  }
  BlockBarrier();
  target = shared->picked.left;
  const auto first_round = static_cast<int32_t>(shared->picked.index) * rounds_each;
  for (int32_t round = first_round; round < first_round + rounds_each; ++round) {
    const int32_t slot = slot_of(round);
    const uint32_t allowed = row.Allowed(slot);
    const Vector vector = row.Load(slot, allowed);
    const uint64_t sum = allowed == 0 ? 0 : weigher.KeptOfSlot(vector, allowed);
    uint64_t round_total = 0;
    uint64_t before = SumBefore(sum, shared->warp_sums, &round_total);
    if (before <= target && target - before < sum) {
      for (int lane = 0; lane < row.slots.kLanes; ++lane) {
        if (((allowed >> lane) & 1) == 0) continue;
        const typename F::Key bits = LaneOf<F::kBytes>(vector, lane);
        const uint64_t weight = weigher.Kept(F::KeyOfBits(bits, F::kInfinity), bits);
        if (target - before < weight) {
          *token = int64_t{row.vocab_offset} + row.slots.FirstColumn(slot) + lane;
          break;
        }
        before += weight;
      }
    }
    if (target < round_total) return;
    target -= round_total;
  }
}

template <class F>
GM_DEVICE void SampleBody(const SampleParams& p, SampleShared<F>* shared) {
  const int64_t item = BlockIndex() / TeamBlocks();
  const int64_t row_index = RowOf(p.rows, item);
  const bool writes = TeamRank() == 0 && ThreadIndex() == 0;
  if (row_index < 0) {
    if (writes) p.tokens[item] = -1;
    return;
  }
  const MaskedRow<F> row(p.in, row_index);
  const Best<F> best = BestOfRow(row, &shared->best);
  TeamBarrier();
  const float temperature = ValueFor(p.temperature, item);
  const int64_t top_k = ValueFor(p.top_k, item);
  if (best.key == 0 || !(temperature > 0.0f) || top_k == 1 || best.key == kHighestKey<F>) {
    if (writes) p.tokens[item] = best.key == 0 ? -1 : p.in.vocab_offset + int64_t{best.column};
    return;
  }
  if (best.key == kLowestKey<F>) {
    if (writes) p.tokens[item] = -1;
    return;
  }
  constexpr float kMost = 3.40282347e38f;
  const float inverse = 1.0f / temperature;
  Weigher<F> weigher = {F::Decode(F::BitsOfKey(best.key)), inverse > kMost ? kMost : inverse,
                        ScaleFor(p.in.columns), 0, static_cast<float>(ValueFor(p.min_p, item))};
  const double top_p = ValueFor(p.top_p, item);
  for (int filter = 0; filter < 2; ++filter) {  // top-k, then top-p of what is left
    const bool is_on = filter == 0 ? top_k > 1 : top_p < 1.0;
    if (!is_on) continue;
    weigher.threshold = FindThreshold<F>(row, shared, weigher, {filter == 0 ? top_k : 0, top_p});
  }
  const double uniform = SampleUniform(ValueFor(p.seed, item), ValueFor(p.offset, item),
                                       static_cast<uint32_t>(row_index));
  Draw(row, weigher, static_cast<uint64_t>(uniform * 0x1p53) << 11, shared, &p.tokens[item]);
}

}  // namespace grammask::internal::cuda

#endif  // GRAMMASK_KERNELS_CUDA_SAMPLE_BODY_H_
