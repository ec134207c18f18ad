// Memory that only grows: arrays at stable addresses, freed all at once.
#ifndef GRAMMASK_BASE_ARENA_H_
#define GRAMMASK_BASE_ARENA_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/block_reserve.h"
#include "base/tables.h"

namespace grammask::internal {

// A bump allocator for trivially destructible values. Not thread-safe.
class BumpArena {
 public:
  BumpArena() = default;
  BumpArena(const BumpArena&) = delete;
  BumpArena& operator=(const BumpArena&) = delete;

  template <class T>
  T* Allocate(size_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    static_assert(alignof(T) <= alignof(std::max_align_t));  // as far as blocks are aligned
    return static_cast<T*>(AllocateBytes(n * sizeof(T), alignof(T)));
  }
  template <class T>
  std::span<const T> Copy(std::span<const T> values) {
    if (values.empty()) return {};
    T* p = Allocate<T>(values.size());
    std::memcpy(reinterpret_cast<std::byte*>(p), std::as_bytes(values).data(), values.size_bytes());
    return {p, values.size()};
  }
  size_t bytes() const { return bytes_; }

 private:
  // The first blocks' size. Later ones are an eighth of what there is, up to kLastBlock. They are
  // cut of large pages as long as there are such that were touched before: to touch one in the
  // midst of a mask would take up to 10 ms, and to touch a small one a microsecond or two.
  static constexpr size_t kBlock = kSmallestKept, kLastBlock = kLargestKept;

  void* AllocateBytes(size_t size, size_t align) {
    size_t start = (used_ + align - 1) & ~(align - 1);
    if (blocks_.empty() || start + size > capacity_) {
      const size_t bytes =
          std::max(std::clamp(std::bit_floor(bytes_ / 8 + 1), kBlock, kLastBlock), size);
      blocks_.push_back(TakeOwnedBlock(bytes));
      capacity_ = bytes;
      bytes_ += bytes;
      start = 0;
    }
    used_ = start + size;
    return blocks_.back().get() + start;
  }

  std::vector<OwnedBlock> blocks_;
  size_t used_ = 0, capacity_ = 0, bytes_ = 0;
};

// A table of T that grows at its end and never moves an element: blocks of 2^kLogFirst elements, as
// many again, twice as many, and so on, so that one table of 32 addresses finds any element. One
// thread at a time may append; any thread may read an element whose index reached it through a
// release/acquire pair.
template <class T, int kLogFirst = 10>
class StableVector {
 public:
  StableVector() = default;
  StableVector(const StableVector&) = delete;
  StableVector& operator=(const StableVector&) = delete;
  ~StableVector() {
    static_assert(std::is_trivially_destructible_v<T>);
    for (int b = 0; b < kBlocks && FirstOf(b) < size_; ++b) {
      // NOLINTNEXTLINE(bugprone-multi-level-implicit-pointer-conversion): T may be a pointer
      FreeTable(&(*this)[FirstOf(b)], BlockBytes(b));
    }
  }

  size_t size() const { return size_; }
  // Of what is in use: the rest of the last block was never touched.
  size_t bytes() const { return size_ * sizeof(T); }

  // A default-constructed element at index size() - 1 afterwards.
  T& Append() {
    const int b = BlockOf(size_);
    if (size_ == FirstOf(b)) {
      const auto block = reinterpret_cast<uintptr_t>(AllocateTable(BlockBytes(b)));
      origins_[b].store(block - FirstOf(b) * kBytes, std::memory_order_release);
    }
    T* const element = &(*this)[size_];
    ++size_;
    return *new (reinterpret_cast<void*>(element)) T();
  }
  T& operator[](size_t i) const {
    const uintptr_t origin = origins_[BlockOf(i)].load(std::memory_order_acquire);
    return *reinterpret_cast<T*>(origin + i * kBytes);  // NOLINT(performance-no-int-to-ptr)
  }

 private:
  static constexpr int kBlocks = 33;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer
  static constexpr size_t kBytes = sizeof(T);
  static_assert(kLogFirst > 0);
  // As far as the first block is aligned.
  static_assert(alignof(T) <= (kBytes << kLogFirst > kSmallTable
                                   ? kTableAlign
                                   : __STDCPP_DEFAULT_NEW_ALIGNMENT__));

  // The block of an element, and the first element of a block.
  static int BlockOf(size_t i) {
    return static_cast<int>(std::bit_width(i | ((size_t{1} << kLogFirst) - 1))) - kLogFirst;
  }
  static size_t FirstOf(int b) { return b == 0 ? 0 : size_t{1} << (kLogFirst + b - 1); }
  static size_t BlockBytes(int b) { return kBytes << (kLogFirst + std::max(b - 1, 0)); }

  // By block: where element 0 would be, if what is before the block were there, too.
  std::atomic<uintptr_t> origins_[kBlocks] = {};
  size_t size_ = 0;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_ARENA_H_
