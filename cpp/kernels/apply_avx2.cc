// Masks to logits with AVX2: a mask word is spread over lanes, compared, and blended.
//
// Each lane keeps its own bit of the broadcast word; lanes in which nothing is left are refused. A
// masked store exists too, but not for 16 bits, and is slow on some processors. Example: of the
// word 0b...0101 the first eight lanes keep 1, 0, 4, 0, ...: lanes 1 and 3 to 7 become minus
// infinity. Cost: for 32 float32 four times broadcast, and, compare, blend; memory-bound. Tested by
// tests/kernels/apply_cpu_test.cc.
#if defined(__AVX2__)
#include <immintrin.h>

#include "kernels/apply_rows.h"

namespace grammask::internal {
namespace {

template <class Format>
inline __m256i MinusInfinity() {
  if constexpr (sizeof(Format::kMinusInfinity) == 4) {
    return _mm256_set1_epi32(static_cast<int>(Format::kMinusInfinity));
  } else if constexpr (sizeof(Format::kMinusInfinity) == 2) {
    return _mm256_set1_epi16(static_cast<int16_t>(Format::kMinusInfinity));
  } else {
    return _mm256_set1_epi64x(static_cast<int64_t>(Format::kMinusInfinity));
  }
}

struct Avx2Lanes {
  static constexpr bool kStoresByMask = false;
  template <class Format>
  static void Select(uint32_t word, typename Format::Bits* logits) {
    const __m256i fill = MinusInfinity<Format>();
    constexpr int kLanes = static_cast<int>(32 / sizeof(*logits));
    for (int begin = 0; begin < 32; begin += kLanes) {
      const uint32_t part = word >> begin;
      auto* const lanes = reinterpret_cast<__m256i*>(logits + begin);
      __m256i allowed;
      if constexpr (sizeof(*logits) == 4) {
        const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        allowed = _mm256_cmpeq_epi32(
            _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(part)), bits), bits);
      } else if constexpr (sizeof(*logits) == 2) {
        const __m256i bits = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048,
                                               4096, 8192, 16384, static_cast<int16_t>(0x8000));
        allowed = _mm256_cmpeq_epi16(
            _mm256_and_si256(_mm256_set1_epi16(static_cast<int16_t>(part)), bits), bits);
      } else {
        const __m256i bits = _mm256_setr_epi64x(1, 2, 4, 8);
        allowed = _mm256_cmpeq_epi64(
            _mm256_and_si256(_mm256_set1_epi64x(static_cast<int64_t>(part)), bits), bits);
      }
      _mm256_storeu_si256(lanes, _mm256_blendv_epi8(fill, _mm256_loadu_si256(lanes), allowed));
    }
  }
  template <class Format>
  static void Fill(typename Format::Bits* logits) {
    const __m256i fill = MinusInfinity<Format>();
    constexpr int kLanes = static_cast<int>(32 / sizeof(*logits));
    for (int i = 0; i < 32; i += kLanes) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(logits + i), fill);
    }
  }
};

}  // namespace

void ApplyRowAvx2(LogitFormat format, void* logits, const int32_t* mask, int64_t offset,
                  int64_t columns) {
  ApplyRowOf<Avx2Lanes>(format, logits, mask, offset, columns);
}

}  // namespace grammask::internal
#endif  // AVX2
