// Pieces of memory cut from blocks, which come back one by one in any order.
//
// Pieces are taken from the start of a block to its end; those that come back are kept in lists by
// size, and once none is in use the heap begins again at its first block's start. Blocks are of
// memory that is touched already, where the first compiler has reserved some (block_reserve.h): a
// page of a block that is used for the first time is a fault in the midst of a mask otherwise.
//
// Cost: 4 ns to take and give back a piece. Not thread-safe. Tests: tests/base/scratch_test.cc,
// tests/base/tables_test.cc.
#ifndef GRAMMASK_BASE_PIECE_HEAP_H_
#define GRAMMASK_BASE_PIECE_HEAP_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "base/block_reserve.h"
#include "base/check.h"

namespace grammask::internal {

class PieceHeap {
 public:
  static constexpr size_t kLogFine = 10, kLogLargest = 15;
  static constexpr size_t kMostFine = size_t{1} << kLogFine;  // a class for each multiple of kUnit
  static constexpr size_t kLargest = size_t{1} << kLogLargest;  // of a piece

  // Up to kMostFine bytes. An empty piece is in a class by itself, of a unit like the next.
  static constexpr size_t FineClassOf(size_t bytes) { return (bytes + kUnit - 1) / kUnit; }
  static constexpr size_t ClassOf(size_t bytes) {
    if (bytes <= kMostFine) return FineClassOf(bytes);
    const auto log =
        static_cast<size_t>(std::bit_width(bytes - 1)) - 1;  // 2^log < bytes <= 2^(log+1)
    const size_t part = ((bytes - 1) >> (log - kLogParts)) & ((size_t{1} << kLogParts) - 1);
    return 1 + kFine + ((log - kLogFine) << kLogParts) + part;
  }

  // Keeps up to `kept` bytes of blocks while no piece is in use.
  explicit PieceHeap(size_t kept) : kept_(kept) {}
  PieceHeap(const PieceHeap&) = delete;
  PieceHeap& operator=(const PieceHeap&) = delete;

  // Aligned as operator new aligns. Throws std::bad_alloc.
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

  size_t pieces() const { return pieces_; }  // in use
  size_t block_bytes() const { return bytes_; }

 private:
  static constexpr size_t kUnit = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  static constexpr size_t kFine = kMostFine / kUnit;
  static constexpr size_t kLogParts = 2;  // beyond, so many to each doubling
  static constexpr size_t kClasses = 1 + kFine + ((kLogLargest - kLogFine) << kLogParts);
  static constexpr size_t kFirstBlock = size_t{1} << 16, kLastBlock = size_t{1} << 20;
  static_assert(kFirstBlock >= kLargest);
  // A heap of which no more was taken than this need not begin again.
  static constexpr size_t kLittle = size_t{1} << 12;

  struct Piece {
    Piece* next;
  };

  static constexpr size_t BytesOf(size_t size_class) {
    if (size_class <= kFine) return std::max(size_class, size_t{1}) * kUnit;
    const size_t coarse = size_class - 1 - kFine;
    const size_t log = kLogFine + (coarse >> kLogParts);
    const size_t part = coarse & ((size_t{1} << kLogParts) - 1);
    return (size_t{1} << log) + ((part + 1) << (log - kLogParts));
  }

  [[maybe_unused]] bool Owns(const void* memory) const {
    return std::ranges::any_of(blocks_, [&](const OwnedBlock& block) {
      const auto offset = static_cast<const std::byte*>(memory) - block.get();
      return offset >= 0 && static_cast<size_t>(offset) < block.get_deleter().bytes;
    });
  }

  [[gnu::noinline]] void* FromNextBlock(size_t size) {
    if (block_ + 1 >= blocks_.size()) {
      const size_t bytes = std::clamp(std::bit_floor(bytes_), kFirstBlock, kLastBlock);
      try {
        blocks_.push_back(TakeOwnedBlock(bytes));
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
    if (block_ == 0 && static_cast<size_t>(next_ - blocks_[0].get()) <= kLittle) return;
    while (bytes_ > kept_) {
      bytes_ -= blocks_.back().get_deleter().bytes;
      blocks_.pop_back();
    }
    free_.fill(nullptr);
    TakeFrom(0);
  }
  void TakeFrom(size_t block) {
    block_ = block;
    next_ = blocks_[block].get();
    end_ = next_ + blocks_[block].get_deleter().bytes;
  }

  const size_t kept_;
  std::array<Piece*, kClasses> free_ = {};
  std::byte *next_ = nullptr, *end_ = nullptr;
  size_t pieces_ = 0;
  size_t block_ = static_cast<size_t>(-1);  // that is taken from
  size_t bytes_ = 0;
  std::vector<OwnedBlock> blocks_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_PIECE_HEAP_H_
