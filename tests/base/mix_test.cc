#include "base/mix.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace grammask::internal {
namespace {

TEST(MixBytes, EveryByteCounts) {
  for (size_t size = 0; size < 40; ++size) {
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

}  // namespace
}  // namespace grammask::internal
