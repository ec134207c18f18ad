// Memory for tables of all sizes: pieces, blocks, pages.
#include "base/tables.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/block_reserve.h"
#include "base/sanitized.h"

namespace grammask::internal {
namespace {

struct Table {
  unsigned char* memory;
  size_t bytes;
  bool from_reserve;
  unsigned char mark;
};

size_t AnySize(std::mt19937_64* random) { return (*random)() % (size_t{1} << (*random)() % 19); }

Table Make(size_t bytes, bool from_reserve, unsigned char mark) {
  const Table table = {static_cast<unsigned char*>(AllocateTable(bytes, from_reserve)), bytes,
                       from_reserve, mark};
  if (bytes > 0) std::memset(table.memory, mark, bytes);
  return table;
}

bool IsWhole(const Table& table) {
  for (size_t k = 0; k < table.bytes; ++k) {
    if (table.memory[k] != table.mark) return false;
  }
  return true;
}

void Free(const Table& table) { FreeTable(table.memory, table.bytes, table.from_reserve); }

// Of all sizes, in any order, each with bytes of its own: none lies in another.
TEST(Tables, AreApart) {
  std::mt19937_64 random(1);
  const size_t before = PiecesOfTables().pieces;
  std::vector<Table> tables;
  for (int i = 0; i < 20'000; ++i) {
    if (tables.size() < 200 && random() % 5 != 0) {
      const auto mark = static_cast<unsigned char>(random());
      tables.push_back(Make(AnySize(&random), random() % 8 != 0, mark));
    } else if (!tables.empty()) {
      std::swap(tables[random() % tables.size()], tables.back());
      ASSERT_TRUE(IsWhole(tables.back()));
      Free(tables.back());
      tables.pop_back();
    }
  }
  for (const Table& table : tables) {
    ASSERT_TRUE(IsWhole(table));
    Free(table);
  }
  EXPECT_EQ(PiecesOfTables().pieces, before);
}

TEST(Tables, AreAligned) {
  std::vector<Table> tables;
  for (size_t bytes : {size_t{1}, size_t{24}, kSmallTable, kSmallTable + 1, size_t{1500},
                       size_t{4097}, kLargestPiece, kLargestPiece + 1, size_t{1} << 20}) {
    for (const bool from_reserve : {true, false, true}) {
      tables.push_back(Make(bytes, from_reserve, 1));
      const size_t align = bytes > kSmallTable ? kTableAlign : __STDCPP_DEFAULT_NEW_ALIGNMENT__;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(tables.back().memory) % align, 0u) << bytes;
    }
  }
  for (const Table& table : tables) Free(table);
}

// What one table gives back, the next of its size takes, and the heap does not grow.
TEST(Tables, AreUsedAgain) {
  if (kSanitized) GTEST_SKIP() << "each table is the heap's";
  void* const stays[] = {AllocateTable(8), AllocateTable(8192)};
  for (const size_t bytes : {size_t{100}, size_t{3000}, kLargestPiece}) {
    void* const first = AllocateTable(bytes);
    FreeTable(first, bytes);
    const size_t before = PiecesOfTables().block_bytes;
    for (int i = 0; i < 10'000; ++i) {
      void* const table = AllocateTable(bytes);
      EXPECT_EQ(table, first);
      FreeTable(table, bytes);
    }
    EXPECT_EQ(PiecesOfTables().block_bytes, before);
  }
  FreeTable(stays[0], 8);
  FreeTable(stays[1], 8192);
}

// Blocks go back to the others once no table is in them.
TEST(Tables, GiveTheirBlocksBack) {
  if (kSanitized) GTEST_SKIP() << "each table is the heap's";
  if (PiecesOfTables().pieces > 0) GTEST_SKIP() << "others are in use";
  std::vector<Table> tables;
  for (int i = 0; i < 2'000; ++i) tables.push_back(Make(2'000, true, 3));
  EXPECT_GE(PiecesOfTables().block_bytes, 4'000'000u);
  for (const Table& table : tables) Free(table);
  EXPECT_LE(PiecesOfTables().block_bytes, 2 * kSmallestKept);
}

// Made on one thread, given back on another.
TEST(Tables, ManyThreads) {
  constexpr size_t kThreads = 4;
  std::vector<std::vector<Table>> made(kThreads);
  auto all = [](auto&& work) {
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
    for (std::thread& thread : threads) thread.join();
  };
  const size_t before = PiecesOfTables().pieces;
  for (int round = 0; round < 3; ++round) {
    all([&](size_t t) {
      std::mt19937_64 random(t);
      for (int i = 0; i < 300; ++i) {
        made[t].push_back(Make(AnySize(&random), true, static_cast<unsigned char>(t)));
      }
    });
    all([&](size_t t) {
      for (const Table& table : made[(t + 1) % kThreads]) {
        EXPECT_TRUE(IsWhole(table));
        Free(table);
      }
      made[(t + 1) % kThreads].clear();
    });
  }
  EXPECT_EQ(PiecesOfTables().pieces, before);
}

TEST(Tables, ContainersOfThem) {
  TableVector<uint64_t> numbers;
  for (uint64_t i = 0; i < 100'000; ++i) numbers.push_back(i * i);
  for (uint64_t i = 0; i < 100'000; ++i) ASSERT_EQ(numbers[i], i * i);
  const TableVector<uint64_t> copy = numbers;
  EXPECT_EQ(copy, numbers);
  EXPECT_THROW(TableAllocator<uint64_t>().allocate(SIZE_MAX / 4), std::bad_alloc);
}

}  // namespace
}  // namespace grammask::internal
