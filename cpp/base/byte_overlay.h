// Ranges of bytes laid over one another: 0..255 cut where any of them begins or ends.
#ifndef GRAMMASK_BASE_BYTE_OVERLAY_H_
#define GRAMMASK_BASE_BYTE_OVERLAY_H_

#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>

#include "absl/container/inlined_vector.h"

namespace grammask::internal {

// Of `a-z` with value 1 and `x-|` with value 2 there come the pieces a-w {1}, x-z {1, 2}, {-| {2}.
// Cost: some 10 ns a range and a piece that it covers.
template <class T>
class ByteOverlay {
 public:
  void Add(uint8_t lo, uint8_t hi, T value) {
    ranges_.push_back({lo, hi, value});
    Mark(lo);
    if (hi < 255) Mark(static_cast<uint8_t>(hi + 1));
  }

  // Calls f(lo, hi, values) for each piece that a range covers, in ascending order; values in the
  // order in which they were added. The spans stay until the overlay goes. To be called once.
  template <class F>
  void ForEach(F&& f) {
    absl::InlinedVector<uint16_t, 64> starts;  // of pieces, ascending, and the end of the last
    uint8_t piece_at[256];                     // by start
    for (size_t w = 0; w < marks_.size(); ++w) {
      for (uint64_t left = marks_[w]; left != 0; left &= left - 1) {
        const size_t start = w * 64 + static_cast<size_t>(std::countr_zero(left));
        piece_at[start] = static_cast<uint8_t>(starts.size());
        starts.push_back(static_cast<uint16_t>(start));
      }
    }
    const size_t pieces = starts.size();
    starts.push_back(256);
    auto end_of = [&](const Range& r) { return r.hi == 255 ? pieces : piece_at[r.hi + 1]; };
    // Places of each piece's values in one list.
    absl::InlinedVector<uint32_t, 64> places(pieces + 1, 0);
    for (const Range& r : ranges_) {
      for (size_t p = piece_at[r.lo], end = end_of(r); p < end; ++p) ++places[p];
    }
    std::exclusive_scan(places.begin(), places.end(), places.begin(), 0u);
    values_.resize(places[pieces]);
    for (const Range& r : ranges_) {
      for (size_t p = piece_at[r.lo], end = end_of(r); p < end; ++p) values_[places[p]++] = r.value;
    }
    // Now places[p] is where the values of piece p end.
    const std::span<const T> all = values_;
    for (size_t p = 0, first = 0; p < pieces; first = places[p++]) {
      if (first == places[p]) continue;
      f(static_cast<uint8_t>(starts[p]), static_cast<uint8_t>(starts[p + 1] - 1),
        all.subspan(first, places[p] - first));
    }
  }

 private:
  struct Range {
    uint8_t lo, hi;
    T value;
  };
  void Mark(uint8_t b) { marks_[b >> 6] |= uint64_t{1} << (b & 63); }

  absl::InlinedVector<Range, 32> ranges_;
  absl::InlinedVector<T, 64> values_;
  std::array<uint64_t, 4> marks_{};  // where a piece begins
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_BYTE_OVERLAY_H_
