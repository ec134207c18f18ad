#include "base/mix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids.h"

namespace grammask::internal {
namespace {

TEST(MixBytes, EveryByteCounts) {
  for (size_t size = 0; size < 140; ++size) {
    const std::string text(size, 'x');
    std::set<uint64_t> hashes = {MixBytes(MixSeed(), text)};
    for (size_t i = 0; i < size; ++i) {
      std::string other = text;
      other[i] = 'y';
      hashes.insert(MixBytes(MixSeed(), other));
    }
    EXPECT_EQ(hashes.size(), size + 1) << size;
    EXPECT_EQ(MixBytes(MixSeed(), std::string(text)), MixBytes(MixSeed(), text));
  }
}

// Of long texts eights go on in chains side by side, and each counts where it stands.
TEST(MixBytes, OrderCounts) {
  for (size_t size : {64, 72, 96, 100, 128, 300}) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += static_cast<char>('A' + i % 50);
    std::set<uint64_t> hashes = {MixBytes(MixSeed(), text)};
    size_t swaps = 0;
    for (size_t i = 0; i + 8 <= size; i += 8) {
      for (size_t k = i + 8; k + 8 <= size; k += 8) {
        std::string other = text;
        std::swap_ranges(&other[i], &other[i] + 8, &other[k]);
        if (other == text) continue;
        hashes.insert(MixBytes(MixSeed(), other));
        ++swaps;
      }
    }
    EXPECT_EQ(hashes.size(), swaps + 1) << size;
  }
}

// A text is found whichever way it is given; the number beside it counts.
TEST(TextHash, TextsAndNumberedTexts) {
  const TextHash hash;
  EXPECT_EQ(hash(std::string("a text of some length")), hash("a text of some length"));
  EXPECT_NE(hash("a"), hash(std::string_view("a\0", 2)));
  using Number = Id<struct NumberTag>;
  std::set<size_t> hashes;
  for (uint32_t n = 0; n < 100; ++n) {
    for (std::string_view text : {"", "a", "b"}) hashes.insert(hash(std::pair(Number(n), text)));
  }
  EXPECT_EQ(hashes.size(), 300u);
}

}  // namespace
}  // namespace grammask::internal
