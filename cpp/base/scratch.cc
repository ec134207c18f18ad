#include "base/scratch.h"

#include <memory>

#include "base/piece_heap.h"
#include "base/sanitized.h"

namespace grammask::internal {
namespace {

// What a thread keeps while nothing is in use.
constexpr size_t kKept = size_t{1} << 19;

// A plain pointer: a variable with a destructor asks with each use whether it was made.
constinit thread_local PieceHeap* heap_of_thread = nullptr;

struct AtThreadEnd {
  ~AtThreadEnd() {
    // Pieces in use then are of variables of the thread that go later.
    if (heap_of_thread->pieces() == 0) delete heap_of_thread;
    heap_of_thread = nullptr;
  }
};

PieceHeap* MakeHeap() {
  auto heap = std::make_unique<PieceHeap>(kKept);
  thread_local AtThreadEnd at_end;
  static_cast<void>(at_end);
  return heap_of_thread = heap.release();
}

// Whether a piece is of a thread's heap, or of the process's.
constexpr bool IsPooled(size_t bytes) { return !kSanitized && bytes <= PieceHeap::kLargest; }
// Most are, and small.
constexpr bool IsSmall(size_t bytes) { return IsPooled(bytes) && bytes <= PieceHeap::kMostFine; }

// Larger pieces, and a thread's first. Out of line: most are small.
[[gnu::noinline]] void* AllocateOther(size_t bytes) {
  if (!IsPooled(bytes)) return ::operator new(bytes);
  PieceHeap* heap = heap_of_thread;
  if (heap == nullptr) heap = MakeHeap();
  return heap->Allocate(PieceHeap::ClassOf(bytes));
}
[[gnu::noinline]] void FreeOther(void* memory, size_t bytes) {
  if (!IsPooled(bytes)) {
    ::operator delete(memory);
    return;
  }
  // Without a heap the thread is ending.
  if (PieceHeap* heap = heap_of_thread) heap->Free(memory, PieceHeap::ClassOf(bytes));
}

}  // namespace

void* AllocateScratch(size_t bytes) {
  if (IsSmall(bytes)) [[likely]] {
    if (PieceHeap* heap = heap_of_thread) [[likely]]
      return heap->Allocate(PieceHeap::FineClassOf(bytes));
  }
  return AllocateOther(bytes);
}

void FreeScratch(void* memory, size_t bytes) {
  if (IsSmall(bytes)) [[likely]] {
    if (PieceHeap* heap = heap_of_thread) [[likely]] {
      heap->Free(memory, PieceHeap::FineClassOf(bytes));
      return;
    }
  }
  FreeOther(memory, bytes);
}

ScratchUse ScratchOfThread() {
  if (heap_of_thread == nullptr) return {};
  return {heap_of_thread->pieces(), heap_of_thread->block_bytes()};
}

}  // namespace grammask::internal
