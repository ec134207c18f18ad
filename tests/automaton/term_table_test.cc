// The table of ids by hash: what was put in is found again however its shards grew and moved.
#include "automaton/term_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace grammask::internal {
namespace {

uint32_t HashOfId(uint32_t id) { return static_cast<uint32_t>(id * 0x9E3779B97F4A7C15u >> 32); }

// As TermStore::Intern does it.
void Put(TermTable* table, uint32_t hash, uint32_t id) {
  TermTable::Shard& shard = table->ShardFor(hash);
  size_t slot = hash & (shard.size - 1);
  while (shard.slots[slot] != 0) slot = (slot + 1) & (shard.size - 1);
  shard.slots[slot] = uint64_t{hash} << 32 | id;
  ++shard.used;
}

std::optional<uint32_t> Find(TermTable* table, uint32_t hash, uint32_t id) {
  const TermTable::Shard& shard = table->ShardFor(hash);
  for (size_t slot = hash & (shard.size - 1); shard.slots[slot] != 0;
       slot = (slot + 1) & (shard.size - 1)) {
    if (shard.slots[slot] == (uint64_t{hash} << 32 | id)) return id;
  }
  return std::nullopt;
}

TEST(TermTable, FindsAllAfterGrowing) {
  TermTable table;
  constexpr uint32_t kIds = 300'000;
  for (uint32_t id = 1; id <= kIds; ++id) {
    table.Prefetch(HashOfId(id));
    Put(&table, HashOfId(id), id);
    if (id % 1000 != 0) continue;
    for (uint32_t known = 1; known <= id; known += 997) {
      ASSERT_EQ(Find(&table, HashOfId(known), known), known) << "after " << id;
    }
  }
  for (uint32_t id = 1; id <= kIds; ++id) ASSERT_EQ(Find(&table, HashOfId(id), id), id);
  EXPECT_EQ(Find(&table, HashOfId(kIds + 1), kIds + 1), std::nullopt);
  EXPECT_GE(table.bytes(), kIds * sizeof(uint64_t) * 10 / 7);
  EXPECT_LE(table.bytes(), kIds * sizeof(uint64_t) * 4);
}

// Hashes of one shard only, so many that it gets memory of its own, while the others stay small.
TEST(TermTable, OneShardMayOutgrowTheOthers) {
  TermTable table;
  Put(&table, 0xFFFFFFFF, 1);
  constexpr uint32_t kIds = 400'000;
  for (uint32_t id = 1; id <= kIds; ++id) Put(&table, HashOfId(id) >> 6, id);
  for (uint32_t id = 1; id <= kIds; ++id) {
    ASSERT_EQ(Find(&table, HashOfId(id) >> 6, id), id);
  }
  EXPECT_EQ(Find(&table, 0xFFFFFFFF, 1), 1u);
  EXPECT_LE(table.bytes(), kIds * sizeof(uint64_t) * 8);
}

}  // namespace
}  // namespace grammask::internal
