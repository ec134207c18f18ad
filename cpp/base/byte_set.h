// A set of byte values, as 256 bits.
#ifndef GRAMMASK_BASE_BYTE_SET_H_
#define GRAMMASK_BASE_BYTE_SET_H_

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

namespace grammask::internal {

// Value type; all operations are constant time over four words.
struct ByteSet {
  std::array<uint64_t, 4> words{};

  static constexpr ByteSet Of(uint8_t b) {
    ByteSet s;
    s.Add(b);
    return s;
  }
  // All bytes from lo to hi, both included; none where lo is over hi.
  static constexpr ByteSet Range(uint8_t lo, uint8_t hi) {
    ByteSet s;
    s.AddRange(lo, hi);
    return s;
  }
  static constexpr ByteSet All() { return Range(0, 255); }

  constexpr void Add(uint8_t b) { words[b >> 6] |= uint64_t{1} << (b & 63); }
  constexpr void AddRange(uint8_t lo, uint8_t hi) {
    if (lo > hi) return;
    for (int w = lo >> 6; w <= hi >> 6; ++w) {
      const int from = w == lo >> 6 ? lo & 63 : 0, to = w == hi >> 6 ? hi & 63 : 63;
      words[w] |= ~uint64_t{0} >> (63 - (to - from)) << from;
    }
  }
  constexpr bool Has(uint8_t b) const { return (words[b >> 6] >> (b & 63)) & 1; }
  constexpr bool empty() const { return (words[0] | words[1] | words[2] | words[3]) == 0; }
  constexpr int size() const {
    int n = 0;
    for (uint64_t w : words) n += std::popcount(w);
    return n;
  }
  constexpr ByteSet operator~() const {
    return ByteSet{{~words[0], ~words[1], ~words[2], ~words[3]}};
  }
  constexpr ByteSet operator&(const ByteSet& o) const {
    ByteSet r;
    for (int i = 0; i < 4; ++i) r.words[i] = words[i] & o.words[i];
    return r;
  }
  constexpr ByteSet operator|(const ByteSet& o) const {
    ByteSet r;
    for (int i = 0; i < 4; ++i) r.words[i] = words[i] | o.words[i];
    return r;
  }
  constexpr ByteSet& operator|=(const ByteSet& o) { return *this = *this | o; }
  friend constexpr bool operator==(const ByteSet&, const ByteSet&) = default;

  // Calls f(lo, hi) for each maximal run of members, in ascending order.
  template <class F>
  void ForEachRange(F&& f) const {
    int b = 0;
    while (b < 256) {
      if (!Has(static_cast<uint8_t>(b))) {
        // Skip to the next member of this word, or to the next word.
        uint64_t rest = words[b >> 6] >> (b & 63);
        b = rest == 0 ? ((b >> 6) + 1) << 6 : b + std::countr_zero(rest);
        continue;
      }
      const int lo = b;
      for (;;) {  // to the end of this word's run, and on where it reaches the word's end
        b += std::countr_one(words[b >> 6] >> (b & 63));
        if ((b & 63) != 0 || b == 256 || !Has(static_cast<uint8_t>(b))) break;
      }
      f(static_cast<uint8_t>(lo), static_cast<uint8_t>(b - 1));
    }
  }

  template <class H>
  friend H AbslHashValue(H h, const ByteSet& s) {
    return H::combine(std::move(h), s.words);
  }
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_BYTE_SET_H_
