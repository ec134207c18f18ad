// Where the shards of a table lie.
//
// Nearly every look into the table is at memory that is in no cache, so what it costs is the way
// there: also through the page tables, unless pages are large. A shard alone is too small for a
// large page, so all shards of one size lie in one block, each at its index. A shard that doubles
// moves to the block of the next size, and the last one to leave a block frees it; as shards double
// one after another, hardly more than two blocks are there at a time. Shards that are as large as
// such a page have memory of their own. What no shard has come to is never touched.
//
// Cost: moving an entry 2 ns. Tests: tests/automaton/term_table_test.cc.
#include "automaton/term_table.h"

#include <cstring>

#include "base/huge_pages.h"

namespace grammask::internal {
namespace {

bool Shared(size_t size) { return size * sizeof(uint64_t) < kHugePage; }

}  // namespace

TermTable::~TermTable() {
  for (const Shard& shard : shards_) Release(shard);
}

uint64_t* TermTable::Take(uint32_t index, size_t size) {
  const size_t bytes = size * sizeof(uint64_t);
  uint64_t* slots = nullptr;
  if (Shared(size)) {
    Level& level = levels_[static_cast<size_t>(LevelOf(size))];
    if (level.users++ == 0) level.block = static_cast<uint64_t*>(AllocateTable(bytes * kShards));
    slots = level.block + index * size;
  } else {
    slots = static_cast<uint64_t*>(AllocateTable(bytes));
  }
  std::memset(slots, 0, bytes);
  bytes_ += bytes;
  return slots;
}

void TermTable::Release(const Shard& shard) {
  if (shard.size == 0) return;
  bytes_ -= shard.size * sizeof(uint64_t);
  if (!Shared(shard.size)) {
    FreeTable(shard.slots, shard.size * sizeof(uint64_t));
    return;
  }
  Level& level = levels_[static_cast<size_t>(LevelOf(shard.size))];
  if (--level.users == 0) FreeTable(level.block, shard.size * sizeof(uint64_t) * kShards);
}

void TermTable::Grow(uint32_t index) {
  Shard& shard = shards_[index];
  const size_t size = shard.size == 0 ? kFirstSlots : 2 * shard.size;
  uint64_t* const slots = Take(index, size);
  for (size_t i = 0; i < shard.size; ++i) {
    const uint64_t entry = shard.slots[i];
    if (entry == 0) continue;
    size_t to = (entry >> 32) & (size - 1);
    while (slots[to] != 0) to = (to + 1) & (size - 1);
    slots[to] = entry;
  }
  Release(shard);
  shard.slots = slots;
  shard.size = size;
}

}  // namespace grammask::internal
