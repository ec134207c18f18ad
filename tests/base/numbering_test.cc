// Keys to numbers: by search and, of many, by hash.
#include "base/numbering.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace grammask::internal {
namespace {

TEST(Numbering, AsTheyFirstComeUp) {
  Numbering<uint32_t> numbers;
  EXPECT_EQ(numbers.size(), 0u);
  for (uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(numbers.Of(i * 7919 % 1009), i + 1);
    EXPECT_EQ(numbers.size(), i + 1);
    for (uint32_t known : {i, i / 2, 0u}) EXPECT_EQ(numbers.Of(known * 7919 % 1009), known + 1);
    EXPECT_EQ(numbers.size(), i + 1);
  }
}

}  // namespace
}  // namespace grammask::internal
