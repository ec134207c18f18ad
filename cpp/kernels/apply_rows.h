// The loop over a row's mask words that all apply kernels share. It is compiled once for each
// instruction set, with flags of its own; so everything here has internal linkage, and no function
// of the standard library is called that the linker might keep in the version of the wrong set.
#ifndef GRAMMASK_KERNELS_APPLY_ROWS_H_
#define GRAMMASK_KERNELS_APPLY_ROWS_H_

#include <cstdint>

#include "kernels/apply_cpu.h"

#if defined(__GNUC__) || defined(__clang__)
#define GM_MAY_ALIAS __attribute__((__may_alias__))  // the caller's array holds floats
#else
#define GM_MAY_ALIAS
#endif

namespace grammask::internal {

// One row: `logits` is its first logit, `mask` its mask's first word, and column c is governed by
// bit `offset` + c. Reads no mask word that holds none of these bits.
using ApplyRowFunction = void (*)(LogitFormat format, void* logits, const int32_t* mask,
                                  int64_t offset, int64_t columns);
void ApplyRowScalar(LogitFormat, void*, const int32_t*, int64_t, int64_t);
void ApplyRowAvx2(LogitFormat, void*, const int32_t*, int64_t, int64_t);
void ApplyRowAvx512(LogitFormat, void*, const int32_t*, int64_t, int64_t);
void ApplyRowNeon(LogitFormat, void*, const int32_t*, int64_t, int64_t);

namespace {  // NOLINT(google-build-namespaces): see above

using Bits16 = uint16_t GM_MAY_ALIAS;
using Bits32 = uint32_t GM_MAY_ALIAS;
using Bits64 = uint64_t GM_MAY_ALIAS;

struct Float32 {
  using Bits = Bits32;
  static constexpr uint32_t kMinusInfinity = 0xFF800000u;
};
struct Float16 {
  using Bits = Bits16;
  static constexpr uint16_t kMinusInfinity = 0xFC00;
};
struct BFloat16 {
  using Bits = Bits16;
  static constexpr uint16_t kMinusInfinity = 0xFF80;
};
struct Float64 {
  using Bits = Bits64;
  static constexpr uint64_t kMinusInfinity = 0xFFF0000000000000u;
};

// The word that governs 32 columns, which begins `shift` bits into *mask. Reads mask[1] only where
// the columns need it.
template <bool kShifted>
inline uint32_t WordAt(const int32_t* mask, int shift) {
  const auto low = static_cast<uint32_t>(mask[0]);
  if constexpr (!kShifted) return low;
  return (low >> shift) | (static_cast<uint32_t>(mask[1]) << (32 - shift));
}

// Overwrites the refused ones of 32 logits where they are one or two, and touches no other: an
// almost open mask would else cost as much as a closed one. Returns whether they are.
template <class Format>
inline bool RefuseFew(uint32_t word, typename Format::Bits* logits) {
  uint32_t refused = ~word;
  const uint32_t second = refused & (refused - 1);
  if ((second & (second - 1)) != 0) return false;
  for (; refused != 0; refused &= refused - 1) {
    logits[__builtin_ctz(refused)] = Format::kMinusInfinity;
  }
  return true;
}

// Lanes::Select(word, p) and Lanes::Fill(p) overwrite the refused ones of 32 logits, and all;
// Lanes::kStoresByMask says whether Select stores under a mask register.
template <class Lanes, class Format, bool kShifted>
inline void ApplyWords(typename Format::Bits* logits, const int32_t* mask, int shift,
                       int64_t columns) {
  constexpr int kBlock = 16;  // words that are looked at at once, to skip those that allow all
  const int64_t words = columns / 32;
  int64_t w = 0;
  for (; w + kBlock <= words; w += kBlock) {
    uint32_t block[kBlock];
    uint32_t all = ~0u;
    for (int i = 0; i < kBlock; ++i) {
      block[i] = WordAt<kShifted>(mask + w + i, shift);
      all &= block[i];
    }
    if (all == ~0u) continue;
    typename Format::Bits* lanes = logits + w * 32;
    for (int i = 0; i < kBlock; ++i, lanes += 32) {
      if (block[i] == ~0u) continue;
      if (block[i] == 0) {
        Lanes::template Fill<Format>(lanes);
      } else if (Lanes::kStoresByMask || !RefuseFew<Format>(block[i], lanes)) {
        Lanes::template Select<Format>(block[i], lanes);
      }
    }
  }
  for (; w < words; ++w) {
    const uint32_t word = WordAt<kShifted>(mask + w, shift);
    if (word != ~0u) Lanes::template Select<Format>(word, logits + w * 32);
  }
  for (int64_t c = words * 32; c < columns; ++c) {
    const int64_t bit = c + shift;
    if (((static_cast<uint32_t>(mask[bit >> 5]) >> (bit & 31)) & 1) == 0) {
      logits[c] = Format::kMinusInfinity;
    }
  }
}

template <class Lanes, class Format>
inline void ApplyRow(void* logits, const int32_t* mask, int64_t offset, int64_t columns) {
  auto* const row = static_cast<typename Format::Bits*>(logits);
  mask += offset >> 5;
  const int shift = static_cast<int>(offset & 31);
  if (shift == 0) {
    ApplyWords<Lanes, Format, false>(row, mask, 0, columns);
  } else {
    ApplyWords<Lanes, Format, true>(row, mask, shift, columns);
  }
}

template <class Lanes>
inline void ApplyRowOf(LogitFormat format, void* logits, const int32_t* mask, int64_t offset,
                       int64_t columns) {
  switch (format) {
    case LogitFormat::kFloat32:
      return ApplyRow<Lanes, Float32>(logits, mask, offset, columns);
    case LogitFormat::kFloat16:
      return ApplyRow<Lanes, Float16>(logits, mask, offset, columns);
    case LogitFormat::kBFloat16:
      return ApplyRow<Lanes, BFloat16>(logits, mask, offset, columns);
    case LogitFormat::kFloat64:
      return ApplyRow<Lanes, Float64>(logits, mask, offset, columns);
  }
}

}  // namespace
}  // namespace grammask::internal

#undef GM_MAY_ALIAS

#endif  // GRAMMASK_KERNELS_APPLY_ROWS_H_
