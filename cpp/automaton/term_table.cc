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

#include <cstdlib>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "base/huge_pages.h"

namespace grammask::internal {
namespace {

bool Shared(size_t size) { return size * sizeof(uint64_t) < kHugePage; }

// Zeros. What is large goes straight back to the system when it is freed: blocks of ever larger
// sizes would leave gaps in the heap that nothing else fills.
uint64_t* AllocateZeros(size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (bytes >= kHugePage) {
    void* const mapped = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    char* const begin = static_cast<char*>(mapped);
    const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
    if (before > 0) (void)munmap(begin, before);
    (void)munmap(begin + before + bytes, kHugePage - before);
    (void)madvise(begin + before, bytes, MADV_HUGEPAGE);
    return reinterpret_cast<uint64_t*>(begin + before);
  }
#endif
  void* const memory = std::calloc(bytes, 1);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<uint64_t*>(memory);
}

void Free(uint64_t* memory, size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (bytes >= kHugePage) {
    (void)munmap(memory, bytes);
    return;
  }
#endif
  (void)bytes;
  std::free(memory);
}

}  // namespace

TermTable::~TermTable() {
  for (const Shard& shard : shards_) Release(shard);
}

uint64_t* TermTable::Take(uint32_t index, size_t size) {
  const size_t bytes = size * sizeof(uint64_t);
  uint64_t* slots = nullptr;
  if (Shared(size)) {
    Level& level = levels_[static_cast<size_t>(LevelOf(size))];
    // A shard comes to each size once, so its place is still zero.
    if (level.users++ == 0) level.block = AllocateZeros(bytes * kShards);
    slots = level.block + index * size;
  } else {
    slots = AllocateZeros(bytes);
  }
  bytes_ += bytes;
  return slots;
}

void TermTable::Release(const Shard& shard) {
  if (shard.size == 0) return;
  bytes_ -= shard.size * sizeof(uint64_t);
  if (!Shared(shard.size)) {
    Free(shard.slots, shard.size * sizeof(uint64_t));
    return;
  }
  Level& level = levels_[static_cast<size_t>(LevelOf(shard.size))];
  if (--level.users == 0) Free(level.block, shard.size * sizeof(uint64_t) * kShards);
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
