// Passes over a row of masked logits, 16 at a time: the part of the sampler that all instruction
// sets share. It is written in the vector types that GCC and clang have for every processor, and
// compiled once for each set with vectors of GRAMMASK_VECTOR_BYTES; what belongs to one logit is
// always in lane (column & 15), and nothing is contracted to multiply-add, so that all sets give
// the same bits.
//
// As in apply_rows.h everything has internal linkage, and nothing of the standard library is
// called.
#ifndef GRAMMASK_KERNELS_SAMPLE_LANES_H_
#define GRAMMASK_KERNELS_SAMPLE_LANES_H_

#include <cstdint>

#include "kernels/sample_kernels.h"

namespace grammask::internal {
namespace {  // NOLINT(google-build-namespaces): see above

constexpr int kBytes = GRAMMASK_VECTOR_BYTES;
constexpr int64_t kLanes = 16;  // logits looked at together
constexpr int kBlockWords = 8;  // mask words of a block
constexpr int kParts = kSampleBlock / kLanes;

#define GM_VECTOR(T, bytes) T __attribute__((vector_size(bytes)))
#define GM_MEMORY(T, bytes) T __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias))
#define GM_INLINE inline __attribute__((always_inline))

using FloatVector = GM_VECTOR(float, kBytes);
using IntVector = GM_VECTOR(int32_t, kBytes);
using DoubleVector = GM_VECTOR(double, kBytes);
using UnsignedVector = GM_VECTOR(uint32_t, kBytes);
using LongVector = GM_VECTOR(int64_t, kBytes);
using FloatMemory = GM_MEMORY(float, kBytes);
using IntMemory = GM_MEMORY(int32_t, kBytes);
using DoubleMemory = GM_MEMORY(double, kBytes);
using HalfMemory = GM_MEMORY(uint16_t, kBytes / 2);
using FloatHalf = GM_VECTOR(float, kBytes / 2);
constexpr int64_t kFloats = kBytes / 4, kDoubles = kBytes / 8;

// 16 lanes in vectors of the processor's width.
struct FloatLanes {
  using Vector = FloatVector;
  using Mask = IntVector;
  static constexpr int kCount = kLanes / kFloats;
  FloatVector v[kCount];
};
struct DoubleLanes {
  using Vector = DoubleVector;
  using Mask = LongVector;
  static constexpr int kCount = kLanes / kDoubles;
  DoubleVector v[kCount];
};

alignas(64) constexpr int32_t kIntBits[kLanes] = {
    1 << 0, 1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,
    1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};
alignas(64) constexpr int64_t kLongBits[kLanes] = {
    1 << 0, 1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,
    1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};

// Which lanes of vector `i` the 16 bits of `part` allow.
GM_INLINE IntVector Allowed(uint32_t part, int i, const FloatLanes&) {
  const IntVector bits = *reinterpret_cast<const IntMemory*>(kIntBits + i * kFloats);
  return ((static_cast<int32_t>(part) & bits) != 0);
}
GM_INLINE LongVector Allowed(uint32_t part, int i, const DoubleLanes&) {
  const LongVector bits =
      *reinterpret_cast<const GM_MEMORY(int64_t, kBytes)*>(kLongBits + i * kDoubles);
  return ((static_cast<int64_t>(part) & bits) != 0);
}

// --- formats: stored logits to lanes ------------------------------------------------------------

struct LoadFloat32 {
  using Bits = uint32_t __attribute__((may_alias));
  using Lanes = FloatLanes;
  using Value = float;
  static GM_INLINE void Load(const void* p, int at, FloatLanes* x) {
    for (int i = 0; i < FloatLanes::kCount; ++i) {
      x->v[i] =
          *reinterpret_cast<const FloatMemory*>(static_cast<const float*>(p) + at + i * kFloats);
    }
  }
};

struct LoadBFloat16 {
  using Bits = uint16_t __attribute__((may_alias));
  using Lanes = FloatLanes;
  using Value = float;
  static GM_INLINE void Load(const void* p, int at, FloatLanes* x) {
    for (int i = 0; i < FloatLanes::kCount; ++i) {
      const HalfMemory* const half =
          reinterpret_cast<const HalfMemory*>(static_cast<const uint16_t*>(p) + at + i * kFloats);
      const IntVector wide = __builtin_convertvector(*half, IntVector) << 16;
      x->v[i] = reinterpret_cast<FloatVector>(wide);
    }
  }
};

// The exponent is moved by integer arithmetic. What is subnormal in 16 bits gets the exponent of 1
// of a normal number and loses that 1 again by a subtraction, which is exact.
struct LoadFloat16 {
  using Bits = uint16_t __attribute__((may_alias));
  using Lanes = FloatLanes;
  using Value = float;
  static GM_INLINE void Load(const void* p, int at, FloatLanes* x) {
    for (int i = 0; i < FloatLanes::kCount; ++i) {
      const HalfMemory* const half =
          reinterpret_cast<const HalfMemory*>(static_cast<const uint16_t*>(p) + at + i * kFloats);
      const IntVector wide = __builtin_convertvector(*half, IntVector);
      const IntVector magnitude = (wide & 0x7FFF) << 13;
      const IntVector sign = (wide & 0x8000) << 16;
      const IntVector special = magnitude + ((255 - 31) << 23);
      const FloatVector subnormal =
          reinterpret_cast<FloatVector>(magnitude + ((127 - 14) << 23)) - 0x1p-14f;
      IntVector bits = magnitude + ((127 - 15) << 23);
      bits = ((wide & 0x7C00) == 0x7C00) ? special : bits;
      bits = ((wide & 0x7C00) == 0) ? reinterpret_cast<IntVector>(subnormal) : bits;
      x->v[i] = reinterpret_cast<FloatVector>(bits | sign);
    }
  }
};

struct LoadFloat64 {
  using Bits = uint64_t __attribute__((may_alias));
  using Lanes = DoubleLanes;
  using Value = double;
  static GM_INLINE void Load(const void* p, int at, DoubleLanes* x) {
    for (int i = 0; i < DoubleLanes::kCount; ++i) {
      x->v[i] =
          *reinterpret_cast<const DoubleMemory*>(static_cast<const double*>(p) + at + i * kDoubles);
    }
  }
};

// --- blocks --------------------------------------------------------------------------------------

// The logits and the mask bits of one block. Past the row's end bits are clear, and the logits are
// those of a copy.
template <class Format>
struct Block {
  const void* logits;
  uint32_t words[kBlockWords];
  typename Format::Bits copy[kSampleBlock];

  // Whether anything in the block is allowed.
  GM_INLINE bool Open(const SampleRow& row, int64_t block) {
    const int64_t begin = block * kSampleBlock;
    const int64_t left = row.columns - begin;
    const int64_t first = row.offset + begin;
    const int32_t* const mask = row.mask + (first >> 5);
    const int shift = static_cast<int>(first & 31);
    const auto* const stored = static_cast<const typename Format::Bits*>(row.logits) + begin;
    uint32_t any = 0;
    if (left >= kSampleBlock) {
      for (int i = 0; i < kBlockWords; ++i) {
        words[i] = static_cast<uint32_t>(mask[i]) >> shift;
        if (shift != 0) words[i] |= static_cast<uint32_t>(mask[i + 1]) << (32 - shift);
        any |= words[i];
      }
      logits = stored;
      return any != 0;
    }
    for (int i = 0; i < kBlockWords; ++i) words[i] = 0;
    for (int i = 0; i < kSampleBlock; ++i) copy[i] = 0;
    for (int64_t c = 0; c < left; ++c) {
      const int64_t bit = c + shift;
      const uint32_t allowed = (static_cast<uint32_t>(mask[bit >> 5]) >> (bit & 31)) & 1;
      words[c >> 5] |= allowed << (c & 31);
      any |= allowed;
      copy[c] = stored[c];
    }
    logits = copy;
    return any != 0;
  }
  GM_INLINE uint32_t Part(int part) const {
    return (words[part >> 1] >> ((part & 1) * kLanes)) & 0xFFFF;
  }
};

template <class Format>
int64_t BlocksOf(const SampleRow& row) {
  return (row.columns + kSampleBlock - 1) / kSampleBlock;
}

template <class Format>
typename Format::Value BlockMaxima(const SampleRow& row, typename Format::Value* maxima) {
  using Lanes = typename Format::Lanes;
  using Value = typename Format::Value;
  constexpr Value kNone = -static_cast<Value>(__builtin_inff());
  const typename Lanes::Vector none = kNone - typename Lanes::Vector{};
  Value best = kNone;
  Block<Format> block;
  const int64_t blocks = BlocksOf<Format>(row);
  for (int64_t b = 0; b < blocks; ++b) {
    Value largest = kNone;
    if (block.Open(row, b)) {
      Lanes top[2];  // two chains, to hide the latency of the maximum
      for (int i = 0; i < Lanes::kCount; ++i) top[0].v[i] = top[1].v[i] = none;
      for (int part = 0; part < kParts; part += 2) {
        if (block.words[part >> 1] == 0) continue;
        for (int half = 0; half < 2; ++half) {
          Lanes x;
          Format::Load(block.logits, (part + half) * kLanes, &x);
          const uint32_t bits = block.Part(part + half);
          for (int i = 0; i < Lanes::kCount; ++i) {
            const typename Lanes::Vector masked = Allowed(bits, i, x) ? x.v[i] : none;
            top[half].v[i] = (masked > top[half].v[i]) ? masked : top[half].v[i];
          }
        }
      }
      Value values[2 * kLanes];
      __builtin_memcpy(values, top, sizeof(values));
      for (int width = kLanes; width > 0; width /= 2) {
        for (int i = 0; i < width; ++i) {
          values[i] = values[i + width] > values[i] ? values[i + width] : values[i];
        }
      }
      largest = values[0];
    }
    maxima[b] = largest;
    best = largest > best ? largest : best;
  }
  return best;
}

// --- weights -------------------------------------------------------------------------------------

constexpr float kExp2 = 0.49999994f, kExp3 = 0.16666521f, kExp4 = 0.04166839f, kExp5 = 0.008368745f,
                kExp6 = 0.001381454f;

// exp(d) for d <= 0, to about 1e-7; 0 below -86 and for NaN. e^d = 2^n e^r with |r| <= ln(2)/2: n
// is read off the low bits of a sum with a large number, and e^r is a polynomial of degree 6 fitted
// to the least relative error (3e-9, below that of the roundings).
GM_INLINE FloatVector Exp(FloatVector d) {
  constexpr float kLow = -86.0f, kRound = 12582912.0f;  // 1.5 * 2^23
  const IntVector live = d >= kLow;
  d = live ? d : kLow - FloatVector{};
  const FloatVector shifted = d * 1.44269504f + kRound;
  const FloatVector n = shifted - kRound;
  FloatVector r = d - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  const FloatVector r2 = r * r;
  const FloatVector high = kExp6 * r2 + (kExp5 * r + kExp4);
  const FloatVector tail = high * r2 + (kExp3 * r + kExp2);
  const FloatVector e = tail * r2 + (r + 1.0f);
  // Wraps where d is positive: a refused logit, whose weight is not used.
  const UnsignedVector scaled =
      reinterpret_cast<UnsignedVector>(e) + (reinterpret_cast<UnsignedVector>(shifted) << 23);
  return live ? reinterpret_cast<FloatVector>(scaled) : FloatVector{};
}

// The weights of 16 logits, exp((x - largest) * scale); 0 for what `bits` or `floor` excludes.
GM_INLINE void Weights(const FloatLanes& x, uint32_t bits, const SampleScale<float>& s,
                       FloatLanes* w) {
  for (int i = 0; i < FloatLanes::kCount; ++i) {
    const FloatVector e = Exp((x.v[i] - s.largest) * s.scale);
    const IntVector kept = Allowed(bits, i, x) & (x.v[i] >= s.floor);
    w->v[i] = kept ? e : FloatVector{};
  }
}
GM_INLINE void Weights(const DoubleLanes& x, uint32_t bits, const SampleScale<double>& s,
                       FloatLanes* w) {
  alignas(64) float exponents[kLanes];
  for (int i = 0; i < DoubleLanes::kCount; ++i) {
    const DoubleVector d = (x.v[i] - s.largest) * s.scale;
    const LongVector kept = Allowed(bits, i, x) & (x.v[i] >= s.floor) & (d >= -100.0);
    const DoubleVector safe = kept ? d : -100.0 - DoubleVector{};
    const FloatHalf narrow = __builtin_convertvector(safe, FloatHalf);
    __builtin_memcpy(exponents + i * kDoubles, &narrow, sizeof(narrow));
  }
  for (int i = 0; i < FloatLanes::kCount; ++i) {
    w->v[i] = Exp(*reinterpret_cast<const FloatMemory*>(exponents + i * kFloats));
  }
}

template <class Format>
double BlockSums(const SampleRow& row, const SampleScale<typename Format::Value>& scale,
                 double* sums) {
  using Half = GM_VECTOR(float, kBytes / 2);
  double total = 0;
  Block<Format> block;
  const int64_t blocks = BlocksOf<Format>(row);
  for (int64_t b = 0; b < blocks; ++b) {
    double sum = 0;
    if (block.Open(row, b)) {
      DoubleLanes acc{};
      for (int part = 0; part < kParts; ++part) {
        const uint32_t bits = block.Part(part);
        if (bits == 0) continue;
        typename Format::Lanes x;
        FloatLanes w;
        Format::Load(block.logits, part * kLanes, &x);
        Weights(x, bits, scale, &w);
        Half halves[DoubleLanes::kCount];
        __builtin_memcpy(halves, &w, sizeof(w));
        for (int i = 0; i < DoubleLanes::kCount; ++i) {
          acc.v[i] += __builtin_convertvector(halves[i], DoubleVector);
        }
      }
      double lanes[kLanes];
      __builtin_memcpy(lanes, &acc, sizeof(lanes));
      for (int width = kLanes / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
      }
      sum = lanes[0];
    }
    sums[b] = sum;
    total += sum;
  }
  return total;
}

template <class Format>
void BlockWeights(const SampleRow& row, int64_t b, const SampleScale<typename Format::Value>& scale,
                  float* weights) {
  Block<Format> block;
  block.Open(row, b);
  for (int part = 0; part < kParts; ++part) {
    typename Format::Lanes x;
    FloatLanes w;
    Format::Load(block.logits, part * kLanes, &x);
    Weights(x, block.Part(part), scale, &w);
    __builtin_memcpy(weights + part * kLanes, &w, sizeof(w));
  }
}

template <class Format>
int Collect(const SampleRow& row, int64_t b, typename Format::Value floor, int32_t* columns,
            typename Format::Value* values) {
  using Lanes = typename Format::Lanes;
  using Value = typename Format::Value;
  Block<Format> block;
  if (!block.Open(row, b)) return 0;
  const auto begin = static_cast<int32_t>(b * kSampleBlock);
  int count = 0;
  for (int part = 0; part < kParts; ++part) {
    const uint32_t bits = block.Part(part);
    if (bits == 0) continue;
    Lanes x;
    Format::Load(block.logits, part * kLanes, &x);
    typename Lanes::Mask kept[Lanes::kCount], any{};
    for (int i = 0; i < Lanes::kCount; ++i) {
      kept[i] = Allowed(bits, i, x) & (x.v[i] >= floor);
      any |= kept[i];
    }
    using Flag = decltype(any[0] + any[0]);
    Flag flags[kLanes], some[kBytes / sizeof(Flag)], found = 0;
    __builtin_memcpy(some, &any, sizeof(some));
    for (const Flag flag : some) found |= flag;
    if (found == 0) continue;
    Value lanes[kLanes];
    __builtin_memcpy(flags, kept, sizeof(flags));
    __builtin_memcpy(lanes, &x, sizeof(lanes));
    for (int i = 0; i < kLanes; ++i) {
      columns[count] = begin + static_cast<int32_t>(part * kLanes + i);
      values[count] = lanes[i];
      count += static_cast<int>(flags[i] & 1);
    }
  }
  return count;
}

// Weights of values that lie next to each other.
template <class Format>
void DenseWeights(const typename Format::Value* x, int64_t count,
                  const SampleScale<typename Format::Value>& scale, float* weights) {
  using Value = typename Format::Value;
  for (int64_t begin = 0; begin < count; begin += kLanes) {
    Value values[kLanes];
    const int lanes = count - begin < kLanes ? static_cast<int>(count - begin) : kLanes;
    for (int i = 0; i < kLanes; ++i) values[i] = i < lanes ? x[begin + i] : scale.largest;
    typename Format::Lanes in;
    FloatLanes w;
    __builtin_memcpy(&in, values, sizeof(values));
    Weights(in, 0xFFFF, scale, &w);
    float out[kLanes];
    __builtin_memcpy(out, &w, sizeof(out));
    for (int i = 0; i < lanes; ++i) weights[begin + i] = out[i];
  }
}

template <class Format, class DenseFormat>
constexpr SampleKernels<typename Format::Value> kKernelsOf = {
    BlockMaxima<Format>, BlockSums<Format>, BlockWeights<Format>, Collect<Format>,
    DenseWeights<DenseFormat>};

constexpr SampleTable kSampleTable = {
    &kKernelsOf<LoadFloat32, LoadFloat32>, &kKernelsOf<LoadFloat16, LoadFloat32>,
    &kKernelsOf<LoadBFloat16, LoadFloat32>, &kKernelsOf<LoadFloat64, LoadFloat64>};

#undef GM_VECTOR
#undef GM_MEMORY
#undef GM_INLINE

}  // namespace
}  // namespace grammask::internal

#endif  // GRAMMASK_KERNELS_SAMPLE_LANES_H_
