// Ids by hash, near those of the same time: what was put in is found again wherever it went.
#include "base/id_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace grammask::internal {
namespace {

uint32_t HashOfId(uint32_t id) { return static_cast<uint32_t>(id * 0x9E3779B97F4A7C15u >> 32); }

std::optional<uint32_t> Find(IdTable* table, uint32_t time, uint32_t hash, uint32_t id) {
  IdTable::Place place;
  return table->Find(time, hash, [&](uint32_t other) { return other == id; }, &place);
}

void Put(IdTable* table, uint32_t time, uint32_t hash, uint32_t id) {
  IdTable::Place place;
  ASSERT_EQ(
      table->Find(time, hash, [&](uint32_t other) { return other == id; }, &place), std::nullopt);
  table->Put(place, hash, id);
}

TEST(IdTable, FindsAllAfterGrowing) {
  IdTable table;
  constexpr uint32_t kIds = 300'000;
  for (uint32_t id = 1; id <= kIds; ++id) {
    Put(&table, IdTable::kTimeless, HashOfId(id), id);
    if (id % 1000 != 0) continue;
    for (uint32_t known = 1; known <= id; known += 997) {
      ASSERT_EQ(Find(&table, IdTable::kTimeless, HashOfId(known), known), known) << "after " << id;
    }
  }
  for (uint32_t id = 1; id <= kIds; ++id) {
    ASSERT_EQ(Find(&table, IdTable::kTimeless, HashOfId(id), id), id);
  }
  EXPECT_EQ(Find(&table, IdTable::kTimeless, HashOfId(kIds + 1), kIds + 1), std::nullopt);
  EXPECT_GE(table.bytes(), kIds * sizeof(uint64_t) * 10 / 7);
  EXPECT_LE(table.bytes(), kIds * sizeof(uint64_t) * 4);
}

// Hashes of one shard only, so many that it gets memory of its own, while the others stay small.
TEST(IdTable, OneShardMayOutgrowTheOthers) {
  IdTable table;
  Put(&table, IdTable::kTimeless, 0xFFFFFFFF, 1);
  constexpr uint32_t kIds = 400'000;
  for (uint32_t id = 1; id <= kIds; ++id) {
    Put(&table, IdTable::kTimeless, HashOfId(id) >> 6, id);
  }
  for (uint32_t id = 1; id <= kIds; ++id) {
    ASSERT_EQ(Find(&table, IdTable::kTimeless, HashOfId(id) >> 6, id), id);
  }
  EXPECT_EQ(Find(&table, IdTable::kTimeless, 0xFFFFFFFF, 1), 1u);
  EXPECT_LE(table.bytes(), kIds * sizeof(uint64_t) * 8);
}

// One id for each time, as states made one of another: they need no shard, and few bytes.
TEST(IdTable, WhatIsMadeInARowStaysNear) {
  IdTable table;
  constexpr uint32_t kIds = 100'000;
  for (uint32_t id = 1; id <= kIds; ++id) Put(&table, id - 1, HashOfId(id), id);
  for (uint32_t id = 1; id <= kIds; ++id) {
    ASSERT_EQ(Find(&table, id - 1, HashOfId(id), id), id);
    ASSERT_EQ(Find(&table, id - 1, HashOfId(id), id + kIds), std::nullopt);
  }
  EXPECT_LE(table.bytes(), kIds * size_t{18});
}

// Far more ids of one time than its lines hold, between others of that time and of later ones.
TEST(IdTable, ManyOfOneTime) {
  IdTable table;
  constexpr uint32_t kIds = 200'000;
  std::vector<uint32_t> times(kIds + 1);
  for (uint32_t id = 1; id <= kIds; ++id) {
    times[id] = id % 3 != 0 ? 77 : id;
    Put(&table, times[id], HashOfId(id), id);
  }
  for (uint32_t id = 1; id <= kIds; ++id) {
    ASSERT_EQ(Find(&table, times[id], HashOfId(id), id), id);
    ASSERT_EQ(Find(&table, times[id], HashOfId(id) ^ 16, id), std::nullopt);
  }
}

// Long stretches of time in which nothing is put take next to no memory.
TEST(IdTable, TimesMayBeFarApart) {
  IdTable table;
  constexpr uint32_t kFar = 40'000'000;
  for (uint32_t id = 1; id <= 100; ++id) Put(&table, id * (kFar / 100), HashOfId(id), id);
  for (uint32_t id = 1; id <= 100; ++id) {
    ASSERT_EQ(Find(&table, id * (kFar / 100), HashOfId(id), id), id);
  }
  EXPECT_LE(table.bytes(), size_t{8'000'000});
}

// Equal hashes are told apart by what the ids stand for, in a line and beyond it.
TEST(IdTable, EqualHashes) {
  IdTable table;
  for (uint32_t id = 1; id <= 100; ++id) Put(&table, 5, 42, id);
  for (uint32_t id = 1; id <= 100; ++id) ASSERT_EQ(Find(&table, 5, 42, id), id);
  EXPECT_EQ(Find(&table, 5, 42, 101), std::nullopt);
  EXPECT_EQ(Find(&table, 500, 42, 1), std::nullopt);  // of another time: other content
}

}  // namespace
}  // namespace grammask::internal
