// Which bytes of a JSON string do not stand for themselves: control characters, quotes and
// backslashes; found of many bytes at once, as mostly there are none. Source: RFC 8259 section 7.
#ifndef GRAMMASK_BASE_JSON_BYTES_H_
#define GRAMMASK_BASE_JSON_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string_view>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace grammask::internal {

// Whether a byte, or a code point, is one of these.
constexpr bool IsSpecialByte(uint32_t c) { return c < 0x20 || c == '"' || c == '\\'; }

// Of eight bytes in one number: 0 where none of them is such a byte; otherwise the lowest bit that
// is set is the highest one of the lowest such byte. A byte below n borrows when n is taken from
// it, and what is over 0x7F is none of them.
constexpr uint64_t SpecialBytes(uint64_t bytes) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
  auto below = [](uint64_t x, uint64_t n) { return (x - kOnes * n) & ~x & kHigh; };
  return below(bytes, 0x20) | below(bytes ^ (kOnes * '"'), 1) | below(bytes ^ (kOnes * '\\'), 1);
}

#ifdef __SSE2__
// Of sixteen bytes at `sixteen`, a bit for each that is such a byte.
inline uint32_t SpecialMask(const char* sixteen) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(sixteen));
  const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i escape = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes);
  return static_cast<uint32_t>(
      _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, escape), control)));
}
#endif

// Whether there is such a byte. What is left over of the sixteens or eights is read once more with
// bytes before it, or of few bytes some twice.
inline bool HasSpecialByte(std::string_view text) {
  const char* const data = text.data();
  const size_t size = text.size();
#ifdef __SSE2__
  if (size >= 16) {
    uint32_t any = SpecialMask(data + size - 16);
    for (size_t i = 0; i + 16 < size; i += 16) any |= SpecialMask(data + i);
    return any != 0;
  }
#endif
  auto eight = [](const char* at) {
    uint64_t bytes;
    std::memcpy(&bytes, at, 8);
    return SpecialBytes(bytes);
  };
  if (size >= 8) {
    uint64_t any = eight(data + size - 8);
    for (size_t i = 0; i + 8 < size; i += 8) any |= eight(data + i);
    return any != 0;
  }
  auto one = [&](size_t at) { return uint64_t{static_cast<unsigned char>(data[at])}; };
  if (size >= 4) {
    uint32_t first, last;
    std::memcpy(&first, data, 4);
    std::memcpy(&last, data + size - 4, 4);
    return SpecialBytes(uint64_t{first} << 32 | last) != 0;
  }
  constexpr uint64_t kPlain = 0x2020202020202020;
  return size > 0 &&
         SpecialBytes((kPlain << 24) | one(0) << 16 | one(size / 2) << 8 | one(size - 1)) != 0;
}

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_JSON_BYTES_H_
