// Large tables, on large pages, and the reserve of these.
#include "base/huge_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/tables.h"

namespace grammask::internal {
namespace {

constexpr size_t kReserved = 8 * kHugePage;

bool Holds(const char* memory, size_t size, char value) {
  for (size_t i = 0; i < size; i += 511) {
    if (memory[i] != value) return false;
  }
  return memory[size - 1] == value;
}

// Tables of many sizes at once, each filled with a value of its own: none lies on another.
TEST(HugePages, TablesAreApart) {
  ReserveTables(kReserved);
  const std::vector<size_t> sizes = {1,
                                     4096,
                                     kHugePage - 1,
                                     kHugePage,
                                     kHugePage + 1,
                                     3 * kHugePage,
                                     2 * kHugePage - 8,
                                     5 * kHugePage,
                                     kHugePage,
                                     kMostReserved + 8};
  for (int round = 0; round < 3; ++round) {
    std::vector<char*> tables;
    for (size_t i = 0; i < sizes.size(); ++i) {
      // The largest is touched at its ends only.
      tables.push_back(static_cast<char*>(AllocateTable(sizes[i], i % 4 != 3)));
      std::memset(tables[i], static_cast<int>(i), std::min(sizes[i], kReserved));
      tables[i][sizes[i] - 1] = static_cast<char>(i);
    }
    for (size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_TRUE(Holds(tables[i], std::min(sizes[i], kReserved), static_cast<char>(i))) << i;
    }
    // In another order each time, so that gaps of many sizes are filled.
    for (size_t i = 0; i < sizes.size(); ++i) {
      const size_t at = (i * 7 + static_cast<size_t>(round)) % sizes.size();
      FreeTable(tables[at], sizes[at], at % 4 != 3);
    }
  }
}

#ifdef __linux__
TEST(HugePages, LargeTablesAreAligned) {
  ReserveTables(kReserved);
  for (const bool from_reserve : {false, true}) {
    void* const table = AllocateTable(kHugePage + 1, from_reserve);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(table) % kHugePage, 0U);
    FreeTable(table, kHugePage + 1, from_reserve);
  }
}

// What was freed is handed out again, and only once.
TEST(HugePages, TheReserveIsUsedAgain) {
  ReserveTables(kReserved);
  std::set<void*> first;
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> tables;
    for (size_t i = 0; i < kReserved / kHugePage; ++i) tables.push_back(AllocateTable(kHugePage));
    const std::set<void*> now(tables.begin(), tables.end());
    EXPECT_EQ(now.size(), tables.size());
    if (round == 0) first = now;
    EXPECT_EQ(now, first);
    for (void* table : tables) FreeTable(table, kHugePage);
  }
  // A run of all pages, which there is only if none was lost.
  void* const whole = AllocateTable(kReserved);
  EXPECT_TRUE(first.contains(whole));
  FreeTable(whole, kReserved);
}

// The flags of the mapping that an address lies in, as the system tells them.
std::string MappingFlags(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool in = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) {
      const auto at = reinterpret_cast<uintptr_t>(address);
      in = begin <= at && at < end;
    }
    if (in && line.starts_with("VmFlags:")) return line + " ";
  }
  return "";
}

// What goes beyond the reserve may be in the midst of a mask, where touching a large page for the
// first time takes too long.
TEST(HugePages, BeyondTheReserveAreSmallPages) {
  ReserveTables(kReserved);
  void* const lasting = AllocateTable(kHugePage, /*from_reserve=*/false);
  void* const whole = AllocateTable(kReserved);
  void* const beyond = AllocateTable(kHugePage);
  if (MappingFlags(lasting).find(" hg ") != std::string::npos) {
    EXPECT_NE(MappingFlags(whole).find(" hg "), std::string::npos);
    EXPECT_NE(MappingFlags(beyond).find(" nh "), std::string::npos);
  }
  std::memset(beyond, 1, kHugePage);
  FreeTable(beyond, kHugePage);
  FreeTable(whole, kReserved);
  FreeTable(lasting, kHugePage, /*from_reserve=*/false);
}

TEST(HugePages, WithoutTheReserve) {
  ReserveTables(kReserved);
  void* const inside = AllocateTable(kHugePage);
  FreeTable(inside, kHugePage);
  void* const outside = AllocateTable(kHugePage, /*from_reserve=*/false);
  EXPECT_NE(inside, outside);
  FreeTable(outside, kHugePage, /*from_reserve=*/false);
}
#endif

TEST(HugePages, Threads) {
  ReserveTables(kReserved);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  threads.reserve(wrong.size());
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([t, &wrong] {
      for (size_t i = 0; i < 200; ++i) {
        const size_t size = (1 + (i + t) % 4) * kHugePage;
        char* const table = static_cast<char*>(AllocateTable(size));
        // One byte a page: enough to see two tables on one.
        for (size_t at = 0; at < size; at += kHugePage) table[at] = static_cast<char>(t);
        std::this_thread::yield();
        for (size_t at = 0; at < size; at += kHugePage)
          wrong[t] += table[at] != static_cast<char>(t);
        FreeTable(table, size);
        if (i % 50 == 0) ReserveTables(kReserved + (i / 50) * kHugePage);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(wrong.size(), 0));
}

// A table that grows over many pages keeps what is in it, and gives all of it back.
TEST(HugePages, GrowingTables) {
  ReserveTables(kReserved);
  const auto all = [] {
    void* const table = AllocateTable(kReserved);
    FreeTable(table, kReserved);
    return table;
  };
  void* const before = all();
  {
    StableVector<std::pair<uint64_t, uint64_t>> table;
    for (uint64_t i = 0; i < 600'000; ++i) table.Append() = {i, ~i};
    for (uint64_t i = 0; i < 600'000; ++i) {
      ASSERT_EQ(table[i], (std::pair<uint64_t, uint64_t>(i, ~i)));
    }
  }
#ifdef __linux__
  EXPECT_EQ(all(), before);  // the reserve is whole again
#else
  (void)before;
#endif
}

}  // namespace
}  // namespace grammask::internal
