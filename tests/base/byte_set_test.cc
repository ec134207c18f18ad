// Ranges of bytes in sets, against one byte after the other.
#include "base/byte_set.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace grammask::internal {
namespace {

TEST(ByteSet, RangesHoldTheirBytes) {
  for (int lo = 0; lo < 256; ++lo) {
    for (int hi = 0; hi < lo; ++hi) {
      ASSERT_TRUE(ByteSet::Range(static_cast<uint8_t>(lo), static_cast<uint8_t>(hi)).empty());
    }
    ByteSet expected;
    for (int hi = lo; hi < 256; ++hi) {
      expected.Add(static_cast<uint8_t>(hi));
      ASSERT_EQ(ByteSet::Range(static_cast<uint8_t>(lo), static_cast<uint8_t>(hi)), expected)
          << lo << ".." << hi;
    }
  }
}

TEST(ByteSet, RunsAreFoundWholeAndInOrder) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    ByteSet set;
    for (uint64_t& word : set.words) {
      // Sparse, dense, empty and full words.
      word = random();
      if (round % 3 == 0) word &= random() & random();
      if (round % 3 == 1) word |= random() | random();
      if (random() % 4 == 0) word = random() % 2 == 0 ? 0 : ~uint64_t{0};
    }
    std::vector<std::pair<int, int>> expected, found;
    for (int b = 0; b < 256; ++b) {
      if (!set.Has(static_cast<uint8_t>(b))) continue;
      if (expected.empty() || expected.back().second != b - 1) expected.push_back({b, b});
      expected.back().second = b;
    }
    set.ForEachRange([&](uint8_t lo, uint8_t hi) { found.push_back({lo, hi}); });
    ASSERT_EQ(found, expected) << round;
  }
}

}  // namespace
}  // namespace grammask::internal
