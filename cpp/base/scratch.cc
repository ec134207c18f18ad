#include "base/scratch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/block_reserve.h"
#include "base/check.h"
#include "base/sanitized.h"

namespace grammask::internal {
namespace {

constexpr size_t kUnit = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
constexpr size_t kLogFine = 10;  // up to here a class for each multiple of kUnit
constexpr size_t kFine = (size_t{1} << kLogFine) / kUnit;
constexpr size_t kLogParts = 2;     // beyond, so many to each doubling
constexpr size_t kLogLargest = 15;  // larger pieces are the process's heap's
constexpr size_t kClasses = 1 + kFine + ((kLogLargest - kLogFine) << kLogParts);
constexpr size_t kFirstBlock = size_t{1} << 16, kLastBlock = size_t{1} << 20;
// What a thread keeps while nothing is in use.
constexpr size_t kKept = size_t{1} << 19;
// A heap of which no more was taken than this need not begin again.
constexpr size_t kLittle = size_t{1} << 12;

// Up to 2^kLogFine bytes. An empty piece is in a class by itself, of a unit like the next.
size_t FineClassOf(size_t bytes) { return (bytes + kUnit - 1) / kUnit; }
size_t ClassOf(size_t bytes) {
  if (bytes <= size_t{1} << kLogFine) return FineClassOf(bytes);
  const auto log =
      static_cast<size_t>(std::bit_width(bytes - 1)) - 1;  // 2^log < bytes <= 2^(log+1)
  const size_t part = ((bytes - 1) >> (log - kLogParts)) & ((size_t{1} << kLogParts) - 1);
  return 1 + kFine + ((log - kLogFine) << kLogParts) + part;
}

size_t BytesOf(size_t size_class) {
  if (size_class <= kFine) return std::max(size_class, size_t{1}) * kUnit;
  const size_t coarse = size_class - 1 - kFine;
  const size_t log = kLogFine + (coarse >> kLogParts);
  const size_t part = coarse & ((size_t{1} << kLogParts) - 1);
  return (size_t{1} << log) + ((part + 1) << (log - kLogParts));
}
static_assert(kFirstBlock >= size_t{1} << kLogLargest);

class Heap {
 public:
  void* Allocate(size_t size_class) {
    ++pieces_;
    if (Piece* piece = free_[size_class]) {
      free_[size_class] = piece->next;
      return piece;
    }
    const size_t size = BytesOf(size_class);
    if (size > static_cast<size_t>(end_ - next_)) [[unlikely]]
      return FromNextBlock(size);
    return std::exchange(next_, next_ + size);
  }
  void Free(void* memory, size_t size_class) {
    GM_DCHECK(pieces_ > 0 && Owns(memory));
    free_[size_class] = new (memory) Piece{free_[size_class]};
    if (--pieces_ == 0) [[unlikely]]
      BeginAgain();
  }
  ScratchUse use() const { return {pieces_, bytes_}; }

 private:
  struct Piece {
    Piece* next;
  };
  // Of memory that is touched already, where the first compiler has reserved some: a page of a
  // block that is used for the first time is a fault in the midst of a mask otherwise.
  struct GiveBack {
    size_t bytes;
    void operator()(std::byte* block) const { GiveBlock(block, bytes); }
  };
  struct Block {
    explicit Block(size_t bytes)
        : memory(static_cast<std::byte*>(TakeBlock(bytes)), GiveBack{bytes}) {}
    size_t bytes() const { return memory.get_deleter().bytes; }
    std::unique_ptr<std::byte, GiveBack> memory;
  };

  [[maybe_unused]] bool Owns(const void* memory) const {
    return std::ranges::any_of(blocks_, [&](const Block& block) {
      const auto offset = static_cast<const std::byte*>(memory) - block.memory.get();
      return offset >= 0 && static_cast<size_t>(offset) < block.bytes();
    });
  }

  [[gnu::noinline]] void* FromNextBlock(size_t size) {
    if (block_ + 1 >= blocks_.size()) {
      const size_t bytes = std::clamp(std::bit_floor(bytes_), kFirstBlock, kLastBlock);
      try {
        blocks_.emplace_back(bytes);
      } catch (...) {
        --pieces_;
        throw;
      }
      bytes_ += bytes;
    }
    TakeFrom(block_ + 1);
    return std::exchange(next_, next_ + size);
  }
  [[gnu::noinline]] void BeginAgain() {
    if (block_ == 0 && static_cast<size_t>(next_ - blocks_[0].memory.get()) <= kLittle) return;
    while (bytes_ > kKept) {
      bytes_ -= blocks_.back().bytes();
      blocks_.pop_back();
    }
    free_.fill(nullptr);
    TakeFrom(0);
  }
  void TakeFrom(size_t block) {
    block_ = block;
    next_ = blocks_[block].memory.get();
    end_ = next_ + blocks_[block].bytes();
  }

  std::array<Piece*, kClasses> free_ = {};
  std::byte *next_ = nullptr, *end_ = nullptr;
  size_t pieces_ = 0;
  size_t block_ = static_cast<size_t>(-1);  // that is taken from
  size_t bytes_ = 0;
  std::vector<Block> blocks_;
};

// A plain pointer: a variable with a destructor asks with each use whether it was made.
constinit thread_local Heap* heap_of_thread = nullptr;

struct AtThreadEnd {
  ~AtThreadEnd() {
    // Pieces in use then are of variables of the thread that go later.
    if (heap_of_thread->use().pieces == 0) delete heap_of_thread;
    heap_of_thread = nullptr;
  }
};

Heap* MakeHeap() {
  auto heap = std::make_unique<Heap>();
  thread_local AtThreadEnd at_end;
  static_cast<void>(at_end);
  return heap_of_thread = heap.release();
}

// Whether a piece is of a thread's heap, or of the process's.
constexpr bool IsPooled(size_t bytes) { return !kSanitized && bytes <= size_t{1} << kLogLargest; }
// Most are, and small.
constexpr bool IsSmall(size_t bytes) { return IsPooled(bytes) && bytes <= size_t{1} << kLogFine; }

// Larger pieces, and a thread's first. Out of line: most are small.
[[gnu::noinline]] void* AllocateOther(size_t bytes) {
  if (!IsPooled(bytes)) return ::operator new(bytes);
  Heap* heap = heap_of_thread;
  if (heap == nullptr) heap = MakeHeap();
  return heap->Allocate(ClassOf(bytes));
}
[[gnu::noinline]] void FreeOther(void* memory, size_t bytes) {
  if (!IsPooled(bytes)) {
    ::operator delete(memory);
    return;
  }
  // Without a heap the thread is ending.
  if (Heap* heap = heap_of_thread) heap->Free(memory, ClassOf(bytes));
}

}  // namespace

void* AllocateScratch(size_t bytes) {
  if (IsSmall(bytes)) [[likely]] {
    if (Heap* heap = heap_of_thread) [[likely]]
      return heap->Allocate(FineClassOf(bytes));
  }
  return AllocateOther(bytes);
}

void FreeScratch(void* memory, size_t bytes) {
  if (IsSmall(bytes)) [[likely]] {
    if (Heap* heap = heap_of_thread) [[likely]] {
      heap->Free(memory, FineClassOf(bytes));
      return;
    }
  }
  FreeOther(memory, bytes);
}

ScratchUse ScratchOfThread() {
  return heap_of_thread == nullptr ? ScratchUse{} : heap_of_thread->use();
}

}  // namespace grammask::internal
