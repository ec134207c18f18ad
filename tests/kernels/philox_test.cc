// Philox4x32-10 against the known answers published with it (Random123, kat_vectors).
#include "kernels/philox.h"

#include <gtest/gtest.h>

namespace grammask::internal {
namespace {

void Expect(PhiloxWords counter, uint32_t key0, uint32_t key1, PhiloxWords want) {
  const PhiloxWords got = Philox4x32(counter, key0, key1);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(got.v[i], want.v[i]) << i;
}

TEST(Philox, KnownAnswers) {
  Expect({{0, 0, 0, 0}}, 0, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  Expect({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, 0xffffffff, 0xffffffff,
         {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  Expect({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0,
         {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST(Philox, UniformTakes53BitsOfTheFirstTwoWords) {
  const PhiloxWords words = Philox4x32({{7, 1, 3, 0}}, 5, 2);
  const double want =
      (static_cast<double>(words.v[0] >> 5) * 67108864.0 + static_cast<double>(words.v[1] >> 6)) /
      9007199254740992.0;
  EXPECT_EQ(SampleUniform((uint64_t{2} << 32) | 5, (uint64_t{1} << 32) | 7, 3), want);
  EXPECT_NE(SampleUniform(1, 0, 0), SampleUniform(1, 0, 1));
  EXPECT_NE(SampleUniform(1, 0, 0), SampleUniform(1, 1, 0));
}

}  // namespace
}  // namespace grammask::internal
