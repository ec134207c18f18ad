// include/grammask/device.cuh on the host, and the example kernel with both sides as threads.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "../examples/cuda/persistent_decode.cuh"
#include "grammask/device.cuh"

namespace grammask::device {
namespace {

std::vector<int32_t> RandomMask(size_t words, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int32_t> mask(words);
  for (int32_t& word : mask) word = static_cast<int32_t>(random());
  return mask;
}

template <int kCount>
void CheckBits(const std::vector<int32_t>& mask) {
  const auto tokens = static_cast<int32_t>(mask.size()) * 32;
  for (int32_t first = 0; first + kCount <= tokens; ++first) {
    uint32_t want = 0;
    for (int i = 0; i < kCount; ++i) {
      want |= static_cast<uint32_t>(IsAllowed(mask.data(), first + i)) << i;
    }
    ASSERT_EQ(WholeMaskBits<kCount>(mask.data(), first), want) << kCount << " from " << first;
    ASSERT_EQ(WholeMaskBits<kCount>(mask.data(), int64_t{first}), want);
  }
  for (int32_t first = -40; first < tokens + 40; ++first) {
    for (const int32_t begin : {0, 1, 37}) {
      for (const int32_t end : {begin, begin + 1, begin + 31, begin + 32, tokens - 3, tokens}) {
        uint32_t want = 0;
        for (int i = 0; i < kCount; ++i) {
          const int32_t token = first + i;
          if (token >= begin && token < end && IsAllowed(mask.data(), token)) want |= 1u << i;
        }
        ASSERT_EQ(MaskBits<kCount>(mask.data(), first, begin, end), want)
            << kCount << " from " << first << " in " << begin << ", " << end;
      }
    }
  }
}

TEST(DeviceHeaderTest, BitsOfEveryAlignmentAndWidth) {
  const auto mask = RandomMask(4, 1);
  CheckBits<1>(mask);
  CheckBits<2>(mask);
  CheckBits<7>(mask);
  CheckBits<8>(mask);
  CheckBits<31>(mask);
  CheckBits<32>(mask);
}

TEST(DeviceHeaderTest, BitsReadNoWordOutside) {
  const std::vector<int32_t> mask = {-1};  // under sanitizers a read beyond shows
  EXPECT_EQ((WholeMaskBits<32>(mask.data(), 0)), 0xFFFFFFFFu);
  EXPECT_EQ((WholeMaskBits<8>(mask.data(), 24)), 0xFFu);
  EXPECT_EQ((MaskBits<32>(mask.data(), 31, 0, 32)), 1u);
  EXPECT_EQ((MaskBits<32>(mask.data(), -31, 0, 32)), 0x80000000u);
  EXPECT_EQ((MaskBits<8>(mask.data(), 32, 0, 32)), 0u);
}

TEST(DeviceHeaderTest, Tiles) {
  double tile[5] = {1, 2, 3, 4, 5};
  ApplyToTile(tile, 0b01101, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(tile[0], 1);
  EXPECT_EQ(tile[1], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(tile[2], 3);
  EXPECT_EQ(tile[3], 4);
  EXPECT_EQ(tile[4], -std::numeric_limits<double>::infinity());
}

TEST(DeviceHeaderTest, StepsWrapAround) {
  EXPECT_TRUE(HasReached(1, 1));
  EXPECT_TRUE(HasReached(2, 1));
  EXPECT_FALSE(HasReached(0, 1));
  EXPECT_TRUE(HasReached(2, 0xFFFFFFFFu));
  EXPECT_FALSE(HasReached(0xFFFFFFFFu, 2));
  StepFlag flag{5};
  EXPECT_TRUE(WaitForStep(&flag, 5, 1));
  EXPECT_FALSE(WaitForStep(&flag, 6, 3));
  static_assert(sizeof(StepFlag) == 128);
}

// The host's side of a decode: masks that depend on what was chosen, as a grammar's do.
TEST(PersistentDecodeTest, EveryTokenIsTheBestThatItsMaskAllows) {
  constexpr uint32_t kSteps = 1000;
  constexpr int32_t kVocab = 100, kWords = 4;
  example::Slot slot{};
  std::vector<int32_t> mask(kWords);
  example::DecodeParams params{&slot, mask.data(), kWords, kVocab, kSteps + 1, 0};
  example::BlockMemory memory;
  std::thread gpu([&] { example::DecodeRow(params, 0, &memory); });
  int32_t before = -1;
  std::mt19937 random(3);
  for (uint32_t step = 1; step <= kSteps; ++step) {
    for (int32_t& word : mask) word = static_cast<int32_t>(random() & random() & random());
    mask[static_cast<size_t>((before + 1) % kWords)] |= 2;  // never nothing
    RaiseStep(&slot.ready, step);
    ASSERT_TRUE(WaitForStep(&slot.chosen, step, uint64_t{1} << 30));
    int32_t want = -1;
    for (int32_t token = 0; token < kVocab; ++token) {
      if (IsAllowed(mask.data(), token) &&
          (want < 0 ||
           example::Logit(0, step, before, token) > example::Logit(0, step, before, want))) {
        want = token;
      }
    }
    ASSERT_EQ(slot.token, want) << step;
    before = want;
  }
  slot.stop = 1;
  RaiseStep(&slot.ready, kSteps + 1);
  gpu.join();
  EXPECT_EQ(LoadStep(&slot.chosen), kSteps);
}

TEST(PersistentDecodeTest, GivesUpWhereNoMaskComesAndStopsWhereNothingIsAllowed) {
  example::Slot slot{};
  const int32_t mask[4] = {0, 0, 0, 0};
  example::BlockMemory memory;
  example::DecodeRow({&slot, mask, 4, 100, 5, 10}, 0, &memory);
  EXPECT_EQ(LoadStep(&slot.chosen), 0u);
  RaiseStep(&slot.ready, 1);
  example::DecodeRow({&slot, mask, 4, 100, 5, 10}, 0, &memory);
  EXPECT_EQ(slot.token, -1);
  EXPECT_EQ(LoadStep(&slot.chosen), 1u);
}

}  // namespace
}  // namespace grammask::device
