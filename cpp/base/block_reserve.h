// Blocks of arenas that have gone, for the arenas that come after them.
//
// Where a generation of tables goes, tens of megabytes are freed at once, and the next generation
// fills as many again. Given back to the heap, what lies at its end goes to the system: up to 1 ms
// in the midst of one call for giving it back, and a fault for each page when it is filled again.
//
// The first generation has the same faults, each of 0.2 us, or 2 to 20 us on a virtual machine, in
// the midst of some mask. So ReserveBlocks() has large pages touched ahead, of which blocks are
// cut. Once there is nothing left of these, others come, of small pages that are not touched.
//
// Cost: 100 ns to take a block. At most kMostKept bytes stay until the process ends. Thread-safe.
// Tests: tests/base/block_reserve_test.cc.
#ifndef GRAMMASK_BASE_BLOCK_RESERVE_H_
#define GRAMMASK_BASE_BLOCK_RESERVE_H_

#include <cstddef>
#include <memory>

namespace grammask::internal {

// Blocks of each multiple of the smallest size up to the largest are kept; all others, and what is
// beyond kMostKept, come from the heap and go there.
inline constexpr size_t kSmallestKept = size_t{1} << 16, kLargestKept = size_t{1} << 21;
inline constexpr size_t kMostKept = size_t{1} << 26;
inline constexpr size_t kBlockAlign = 64;  // a line of the cache

// The size of the smallest block that is kept and holds so much.
constexpr size_t BlockFor(size_t bytes) {
  return (bytes + kSmallestKept - 1) / kSmallestKept * kSmallestKept;
}

// Sees to it that `bytes`, or kMostKept, are there for blocks in large pages, as far as these are
// whole and the system grants them. Those in use count.
void ReserveBlocks(size_t bytes);

// At a multiple of kBlockAlign; the content is arbitrary. Throws std::bad_alloc.
void* TakeBlock(size_t bytes);
// With the size it was taken with.
void GiveBlock(void* block, size_t bytes);

// A block that gives itself back; get_deleter().bytes is its size.
struct BlockGiver {
  size_t bytes;
  void operator()(std::byte* block) const { GiveBlock(block, bytes); }
};
using OwnedBlock = std::unique_ptr<std::byte, BlockGiver>;
inline OwnedBlock TakeOwnedBlock(size_t bytes) {
  return {static_cast<std::byte*>(TakeBlock(bytes)), BlockGiver{bytes}};
}

// What is kept and not in use, touched or not.
size_t KeptBlockBytes();

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_BLOCK_RESERVE_H_
