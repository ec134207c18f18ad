#include "base/tables.h"

#include <mutex>

#include "base/block_reserve.h"
#include "base/fork_safe.h"
#include "base/huge_pages.h"
#include "base/piece_heap.h"
#include "base/sanitized.h"

namespace grammask::internal {
namespace {

static_assert(kSmallTable == PieceHeap::kMostFine);
static_assert(kLargestPiece == PieceHeap::kLargest);
static_assert(kBlockAlign % kTableAlign == 0);

// What is left over of a block that has pieces of all sizes would be aligned as the smallest of
// them: so the larger ones, whose sizes are multiples of kTableAlign, have a heap to themselves.
struct TableHeap {
  ForkSafeMutex mutex;
  PieceHeap small = PieceHeap(kSmallestKept), large = PieceHeap(kSmallestKept);

  PieceHeap& Of(size_t size) { return size <= kSmallTable ? small : large; }
};

// Never destroyed: tables may be freed while the process ends.
TableHeap& TheTableHeap() {
  static TableHeap& heap = []() -> TableHeap& {
    ReserveBlocks(0);  // its mutex comes first: pieces are cut of blocks
    return *new TableHeap;
  }();
  return heap;
}

// Made when the library is loaded: a process forked while another thread makes it would wait for
// that thread.
[[maybe_unused]] const TableHeap& made_at_load = TheTableHeap();

enum class Source { kHeap, kPieces, kBlocks, kPages };
Source SourceOf(size_t size, bool from_reserve) {
  if (kHasHugePages && size >= kHugePage) return Source::kPages;
  if (kSanitized || !from_reserve || BlockFor(size) > kLargestKept) return Source::kHeap;
  return size <= kLargestPiece ? Source::kPieces : Source::kBlocks;
}

}  // namespace

void* AllocateTable(size_t size, bool from_reserve) {
  switch (SourceOf(size, from_reserve)) {
    case Source::kPages:
      return AllocatePages(size, from_reserve);
    case Source::kBlocks:
      return TakeBlock(BlockFor(size));
    case Source::kPieces: {
      TableHeap& heap = TheTableHeap();
      const std::lock_guard lock(heap.mutex);
      return heap.Of(size).Allocate(PieceHeap::ClassOf(size));
    }
    case Source::kHeap:
      break;
  }
  return ::operator new(size, std::align_val_t(kTableAlign));
}

void FreeTable(void* memory, size_t size, bool from_reserve) {
  switch (SourceOf(size, from_reserve)) {
    case Source::kPages:
      FreePages(memory, size);
      return;
    case Source::kBlocks:
      GiveBlock(memory, BlockFor(size));
      return;
    case Source::kPieces: {
      TableHeap& heap = TheTableHeap();
      const std::lock_guard lock(heap.mutex);
      heap.Of(size).Free(memory, PieceHeap::ClassOf(size));
      return;
    }
    case Source::kHeap:
      break;
  }
  ::operator delete(memory, std::align_val_t(kTableAlign));
}

TablePieces PiecesOfTables() {
  TableHeap& heap = TheTableHeap();
  const std::lock_guard lock(heap.mutex);
  return {heap.small.pieces() + heap.large.pieces(),
          heap.small.block_bytes() + heap.large.block_bytes()};
}

}  // namespace grammask::internal
