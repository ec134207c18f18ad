// Masks to logits with AVX-512: a mask word is the mask register of a store.
//
// A masked store writes the refused lanes only, so logits are never read into registers: the word
// 0b...0101 is one store of minus infinity to lanes 1 and 3 to 15, and one to 16 to 31.
// Cost: two stores for 32 float32, one for 32 of 16 bits, four for 32 float64.
// Tested by tests/kernels/apply_cpu_test.cc.
#if defined(__AVX512F__) && defined(__AVX512BW__)
#include <immintrin.h>

#include "kernels/apply_rows.h"

namespace grammask::internal {
namespace {

struct Avx512Lanes {
  static constexpr bool kStoresByMask = true;
  template <class Format>
  static void Select(uint32_t word, typename Format::Bits* logits) {
    const uint32_t refused = ~word;
    if constexpr (sizeof(*logits) == 4) {
      const __m512i fill = _mm512_set1_epi32(static_cast<int>(Format::kMinusInfinity));
      _mm512_mask_storeu_epi32(logits, static_cast<__mmask16>(refused), fill);
      _mm512_mask_storeu_epi32(logits + 16, static_cast<__mmask16>(refused >> 16), fill);
    } else if constexpr (sizeof(*logits) == 2) {
      const __m512i fill = _mm512_set1_epi16(static_cast<int16_t>(Format::kMinusInfinity));
      _mm512_mask_storeu_epi16(logits, refused, fill);
    } else {
      const __m512i fill = _mm512_set1_epi64(static_cast<int64_t>(Format::kMinusInfinity));
      for (int i = 0; i < 4; ++i) {
        _mm512_mask_storeu_epi64(logits + 8 * i, static_cast<__mmask8>(refused >> (8 * i)), fill);
      }
    }
  }
  template <class Format>
  static void Fill(typename Format::Bits* logits) {
    __m512i fill;
    if constexpr (sizeof(*logits) == 4) {
      fill = _mm512_set1_epi32(static_cast<int>(Format::kMinusInfinity));
    } else if constexpr (sizeof(*logits) == 2) {
      fill = _mm512_set1_epi16(static_cast<int16_t>(Format::kMinusInfinity));
    } else {
      fill = _mm512_set1_epi64(static_cast<int64_t>(Format::kMinusInfinity));
    }
    constexpr int kPerStore = static_cast<int>(64 / sizeof(*logits));
    for (int i = 0; i < 32; i += kPerStore) _mm512_storeu_si512(logits + i, fill);
  }
};

}  // namespace

void ApplyRowAvx512(LogitFormat format, void* logits, const int32_t* mask, int64_t offset,
                    int64_t columns) {
  ApplyRowOf<Avx512Lanes>(format, logits, mask, offset, columns);
}

}  // namespace grammask::internal
#endif  // AVX-512
