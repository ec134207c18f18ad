// Pieces of laid-over ranges against a table of all bytes.
#include "base/byte_overlay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace grammask::internal {
namespace {

struct Piece {
  int lo, hi;
  std::vector<int> values;
  friend bool operator==(const Piece&, const Piece&) = default;
};

struct Range {
  uint8_t lo, hi;
  int value;
};

std::vector<Piece> Pieces(const std::vector<Range>& ranges) {
  ByteOverlay<int> overlay;
  for (const Range& r : ranges) overlay.Add(r.lo, r.hi, r.value);
  std::vector<Piece> out;
  overlay.ForEach([&](uint8_t lo, uint8_t hi, std::span<const int> values) {
    out.push_back({lo, hi, {values.begin(), values.end()}});
  });
  return out;
}

TEST(ByteOverlay, NothingLaidOver) { EXPECT_TRUE(Pieces({}).empty()); }

TEST(ByteOverlay, CutsWhereRangesBeginAndEnd) {
  EXPECT_EQ(Pieces({{'a', 'z', 1}, {'x', '|', 2}}),
            (std::vector<Piece>{{'a', 'w', {1}}, {'x', 'z', {1, 2}}, {'{', '|', {2}}}));
  EXPECT_EQ(Pieces({{0, 255, 1}, {255, 255, 2}, {0, 0, 3}}),
            (std::vector<Piece>{{0, 0, {1, 3}}, {1, 254, {1}}, {255, 255, {1, 2}}}));
}

TEST(ByteOverlay, AgreesWithATableOfBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Range> ranges(random() % 60);
    for (size_t i = 0; i < ranges.size(); ++i) {
      uint8_t lo = static_cast<uint8_t>(random()), hi = static_cast<uint8_t>(random());
      if (random() % 3 == 0) hi = lo;
      ranges[i] = {std::min(lo, hi), std::max(lo, hi), static_cast<int>(i)};
    }
    std::vector<std::vector<int>> over(256);
    std::vector<bool> begins(257);
    for (const Range& r : ranges) {
      begins[r.lo] = begins[r.hi + 1u] = true;
      for (int b = r.lo; b <= r.hi; ++b) over[static_cast<size_t>(b)].push_back(r.value);
    }
    std::vector<Piece> want;
    for (size_t b = 0; b < 256; ++b) {
      if (over[b].empty()) continue;
      if (begins[b]) {
        want.push_back({static_cast<int>(b), static_cast<int>(b), over[b]});
      } else {
        want.back().hi = static_cast<int>(b);
      }
    }
    ASSERT_EQ(Pieces(ranges), want) << "round " << round;
  }
}

}  // namespace
}  // namespace grammask::internal
