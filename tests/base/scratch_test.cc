#include "base/scratch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/block_reserve.h"

namespace grammask::internal {
namespace {

struct Piece {
  unsigned char* memory;
  size_t bytes;
  unsigned char mark;
};

// Pieces of all sizes, in any order, each with bytes of its own: none lies in another.
TEST(ScratchTest, PiecesAreApart) {
  std::mt19937_64 random(1);
  const size_t before = ScratchOfThread().pieces;
  std::vector<Piece> pieces;
  for (int i = 0; i < 40000; ++i) {
    if (pieces.size() < 300 && random() % 5 != 0) {
      size_t bytes = random() % (size_t{1} << (random() % 18));
      auto* memory = static_cast<unsigned char*>(AllocateScratch(bytes));
      ASSERT_EQ(reinterpret_cast<uintptr_t>(memory) % __STDCPP_DEFAULT_NEW_ALIGNMENT__, 0u);
      const auto mark = static_cast<unsigned char>(random());
      if (bytes > 0) std::memset(memory, mark, bytes);
      pieces.push_back({memory, bytes, mark});
    } else if (!pieces.empty()) {
      std::swap(pieces[random() % pieces.size()], pieces.back());
      const Piece piece = pieces.back();
      pieces.pop_back();
      for (size_t k = 0; k < piece.bytes; ++k) ASSERT_EQ(piece.memory[k], piece.mark);
      FreeScratch(piece.memory, piece.bytes);
    }
  }
  for (const Piece& piece : pieces) {
    for (size_t k = 0; k < piece.bytes; ++k) ASSERT_EQ(piece.memory[k], piece.mark);
    FreeScratch(piece.memory, piece.bytes);
  }
  EXPECT_EQ(ScratchOfThread().pieces, before);
}

// Each size up to where the process's heap begins, with one byte more on each side.
TEST(ScratchTest, EachSizeHasRoom) {
  for (size_t bytes = 0; bytes <= (size_t{1} << 15) + 64; bytes += bytes < 5000 ? 1 : 61) {
    auto* a = static_cast<unsigned char*>(AllocateScratch(bytes));
    auto* b = static_cast<unsigned char*>(AllocateScratch(bytes));
    if (bytes > 0) {
      std::memset(a, 1, bytes);
      std::memset(b, 2, bytes);
      ASSERT_EQ(a[0], 1);
      ASSERT_EQ(a[bytes - 1], 1) << bytes;
    }
    FreeScratch(a, bytes);
    FreeScratch(b, bytes);
  }
}

TEST(ScratchTest, BeginsAgainAndKeepsLittle) {
  if (ScratchOfThread().pieces != 0) GTEST_SKIP() << "another test's pieces are in use";
  {
    ScratchVector<ScratchVector<int64_t>> many;
    for (int i = 0; i < 20000; ++i) many.emplace_back(20, i);
    for (int i = 0; i < 20000; ++i) ASSERT_EQ(many[static_cast<size_t>(i)].back(), i);
    if (ScratchOfThread().pieces == 0) GTEST_SKIP() << "each piece is the process's heap's";
    EXPECT_GE(ScratchOfThread().block_bytes, 20000u * 160);
    EXPECT_GE(ScratchOfThread().pieces, 20000u);
  }
  EXPECT_EQ(ScratchOfThread().pieces, 0u);
  EXPECT_LE(ScratchOfThread().block_bytes, size_t{1} << 19);
  EXPECT_GT(ScratchOfThread().block_bytes, 0u);
  // The next piece of work has the memory of the first.
  void* first = AllocateScratch(5000);
  FreeScratch(first, 5000);
  void* next = AllocateScratch(6000);
  EXPECT_EQ(first, next);
  FreeScratch(next, 6000);
}

TEST(ScratchTest, EachThreadHasItsOwn) {
  const ScratchUse before = ScratchOfThread();
  std::vector<std::thread> threads;
  std::vector<uint64_t> sums(4);
  for (size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&sums, t] {
      for (int round = 0; round < 200; ++round) {
        ScratchVector<ScratchString> texts;
        for (size_t i = 0; i < 100; ++i) texts.emplace_back(i, static_cast<char>('a' + t));
        for (const ScratchString& text : texts) {
          for (char c : text) sums[t] += static_cast<uint64_t>(c - 'a');
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < sums.size(); ++t) EXPECT_EQ(sums[t], 200u * 4950 * t);
  EXPECT_EQ(ScratchOfThread().pieces, before.pieces);
}

// So the first mask of a thread touches no page for the first time.
TEST(ScratchTest, BlocksAreOfTheReserve) {
  ReserveBlocks(kMostKept);
  const size_t kept = KeptBlockBytes();
  if (kept == 0) GTEST_SKIP() << "no reserve, or each piece is the process's heap's";
  std::thread([kept] {
    const ScratchVector<char> piece(100);
    EXPECT_EQ(ScratchOfThread().block_bytes, kSmallestKept);
    EXPECT_EQ(KeptBlockBytes() + kSmallestKept, kept);
  }).join();
  EXPECT_EQ(KeptBlockBytes(), kept);
}

// A thread's variable that holds pieces may go after the heap.
TEST(ScratchTest, OutlivedByAVariableOfTheThread) {
  std::thread([] {
    thread_local ScratchVector<int> late;
    late.assign(100, 7);
    ScratchVector<int> other(100, 1);
    EXPECT_EQ(late[99] + other[99], 8);
  }).join();
}

TEST(ScratchTest, TooManyElements) {
  ScratchAllocator<int64_t> allocator;
  EXPECT_THROW(static_cast<void>(allocator.allocate(static_cast<size_t>(-1) / 4)),
               std::bad_array_new_length);
}

}  // namespace
}  // namespace grammask::internal
