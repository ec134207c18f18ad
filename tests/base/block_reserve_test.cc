#include "base/block_reserve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/sanitized.h"

namespace grammask::internal {
namespace {

TEST(BlockReserve, WhatComesBackIsTakenAgain) {
  if (kSanitized) GTEST_SKIP() << "each block is the heap's";
  for (size_t bytes = kSmallestKept; bytes <= kLargestKept; bytes += kSmallestKept) {
    void* const block = TakeBlock(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kBlockAlign, 0u);
    std::memset(block, 1, bytes);
    const size_t before = KeptBlockBytes();
    GiveBlock(block, bytes);
    EXPECT_EQ(KeptBlockBytes(), before + bytes);
    EXPECT_EQ(TakeBlock(bytes), block);
    EXPECT_EQ(KeptBlockBytes(), before);
    GiveBlock(block, bytes);
  }
}

// Other sizes, and nothing, are the heap's.
TEST(BlockReserve, OtherSizes) {
  const size_t before = KeptBlockBytes();
  for (size_t bytes :
       {size_t{1}, kSmallestKept - 1, kSmallestKept / 2, kSmallestKept + 1, 2 * kLargestKept}) {
    void* const block = TakeBlock(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kBlockAlign, 0u);
    std::memset(block, 1, bytes);
    GiveBlock(block, bytes);
  }
  GiveBlock(nullptr, 0);
  EXPECT_EQ(KeptBlockBytes(), before);
}

TEST(BlockReserve, KeepsSoMuchAndNoMore) {
  std::vector<void*> blocks;
  for (size_t i = 0; i < 2 * kMostKept / kLargestKept; ++i) {
    blocks.push_back(TakeBlock(kLargestKept));
  }
  EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
  for (void* block : blocks) GiveBlock(block, kLargestKept);
  EXPECT_LE(KeptBlockBytes(), kMostKept);
}

// Blocks are cut of large pages; what comes back beside each other is one block again.
TEST(BlockReserve, BlocksOfLargePages) {
  if (kSanitized) GTEST_SKIP() << "each block is the heap's";
  // All pages there can be are taken, whole ones first, and two of these given back.
  std::vector<std::pair<void*, size_t>> taken;
  for (size_t bytes = kLargestKept; bytes >= kSmallestKept; bytes /= 2) {
    while (true) {
      const size_t before = KeptBlockBytes();
      void* const block = TakeBlock(bytes);
      if (KeptBlockBytes() == before && bytes < kLargestKept) {  // the heap's
        GiveBlock(block, bytes);
        break;
      }
      taken.push_back({block, bytes});
      if (taken.size() >= kMostKept / kLargestKept && bytes == kLargestKept) break;
    }
  }
  ASSERT_EQ(KeptBlockBytes(), 0u);
  for (size_t given = 0; given < 2 && !taken.empty(); taken.erase(taken.begin())) {
    GiveBlock(taken[0].first, taken[0].second);
    given += KeptBlockBytes() > given * kLargestKept;
  }
  if (KeptBlockBytes() == 0) GTEST_SKIP() << "no large pages on this system";
  ASSERT_EQ(KeptBlockBytes(), 2 * kLargestKept);
  ReserveBlocks(kMostKept);  // there are no more
  EXPECT_EQ(KeptBlockBytes(), 2 * kLargestKept);
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    // Of one page all is taken in blocks of many sizes, none of which share a byte.
    std::vector<std::pair<uint8_t*, size_t>> blocks;
    while (KeptBlockBytes() > kLargestKept) {
      const size_t bytes =
          std::min(kSmallestKept * (1 + random() % 17), KeptBlockBytes() - kLargestKept);
      const size_t size = bytes / kSmallestKept * kSmallestKept;
      const size_t before = KeptBlockBytes();
      auto* block = static_cast<uint8_t*>(TakeBlock(size));
      if (KeptBlockBytes() == before) {  // nowhere in one piece: the heap's
        GiveBlock(block, size);
        break;
      }
      std::memset(block, static_cast<int>(blocks.size()), size);
      blocks.push_back({block, size});
    }
    for (size_t i = 0; i < blocks.size(); ++i) {
      const auto [block, size] = blocks[i];
      EXPECT_EQ(std::count(block, block + size, static_cast<uint8_t>(i)),
                static_cast<ptrdiff_t>(size));
    }
    std::shuffle(blocks.begin(), blocks.end(), random);
    for (const auto& [block, size] : blocks) GiveBlock(block, size);
    ASSERT_EQ(KeptBlockBytes(), 2 * kLargestKept);
    void* const whole[] = {TakeBlock(kLargestKept), TakeBlock(kLargestKept)};
    ASSERT_EQ(KeptBlockBytes(), 0u);
    for (void* block : whole) GiveBlock(block, kLargestKept);
  }
  // Fifteen small blocks leave the other page whole.
  std::vector<void*> small;
  for (int i = 0; i < 15; ++i) small.push_back(TakeBlock(kSmallestKept));
  void* const whole = TakeBlock(kLargestKept);
  EXPECT_EQ(KeptBlockBytes(), 17 * kSmallestKept);
  GiveBlock(whole, kLargestKept);
  for (void* block : small) GiveBlock(block, kSmallestKept);
  for (const auto& [block, bytes] : taken) GiveBlock(block, bytes);
  EXPECT_LE(KeptBlockBytes(), kMostKept);
}

// An arena's memory serves the next one, whatever stands in it.
TEST(BlockReserve, ArenasOneAfterAnother) {
  for (int round = 0; round < 3; ++round) {
    BumpArena arena;
    std::vector<std::pair<uint64_t*, uint64_t>> values;
    for (uint64_t i = 0; i < 5000; ++i) {
      const size_t count = 1 + i % 97;
      auto* value = arena.Allocate<uint64_t>(count);
      for (size_t k = 0; k < count; ++k) value[k] = i;
      values.push_back({value, i});
    }
    for (const auto& [value, i] : values) {
      for (size_t k = 0; k < 1 + i % 97; ++k) ASSERT_EQ(value[k], i);
    }
  }
}

TEST(BlockReserve, ManyThreads) {
  std::vector<std::thread> threads;
  for (uint8_t t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (size_t i = 0; i < 500; ++i) {
        const size_t bytes = kSmallestKept << (i % 4);
        auto* block = static_cast<uint8_t*>(TakeBlock(bytes));
        std::memset(block, t, 4096);
        for (size_t k = 0; k < 4096; ++k) ASSERT_EQ(block[k], t);
        GiveBlock(block, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace grammask::internal
