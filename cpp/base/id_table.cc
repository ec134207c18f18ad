// Near lines, and where the shards lie.
//
// A look into a large table by hash alone is at memory that is in no cache, and most are for what
// is new, so that nothing but the look itself brings it there. What is new is mostly made of
// something that has just been made. So ids go first into lines of the cache that belong to a
// stretch of time: whoever makes things one after another finds the same few lines, and a line with
// a free slot tells that the rest need not be asked. What finds its line full, or has no time, is
// in the rest: open addressing, in shards by a hash's highest bits, as one table of a million ids
// takes milliseconds to grow. Of the new states of real schemas that are made of others four fifths
// are made of one of the last 64, and the first look, in no cache, was a seventh of the time of
// compiling and of masks.
//
// The rest is read all over, so that the way through the page tables counts, unless pages are
// large. A shard alone is too small for a large page, so all shards of one size lie in one block,
// each at its index. A shard that doubles moves to the block of the next size, and the last one to
// leave a block frees it; as shards double one after another, hardly more than two blocks are there
// at a time. Shards that are as large as such a page have memory of their own. What no shard has
// come to is never touched.
//
// Cost: moving an entry 2 ns. Tests: tests/base/id_table_test.cc.
#include "base/id_table.h"

#include <cstring>

#include "base/huge_pages.h"
#include "base/tables.h"

namespace grammask::internal {
namespace {

bool Shared(size_t size) { return size * sizeof(uint64_t) < kHugePage; }

}  // namespace

IdTable::~IdTable() {
  for (const Shard& shard : shards_) Release(shard);
}

uint64_t* IdTable::Take(uint32_t index, size_t size) {
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

void IdTable::Release(const Shard& shard) {
  if (shard.size == 0) return;
  bytes_ -= shard.size * sizeof(uint64_t);
  if (!Shared(shard.size)) {
    FreeTable(shard.slots, shard.size * sizeof(uint64_t));
    return;
  }
  Level& level = levels_[static_cast<size_t>(LevelOf(shard.size))];
  if (--level.users == 0) FreeTable(level.block, shard.size * sizeof(uint64_t) * kShards);
}

void IdTable::Grow(uint32_t index) {
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
