// Memory that only grows: arrays at stable addresses, freed all at once.
#ifndef GRAMMASK_BASE_ARENA_H_
#define GRAMMASK_BASE_ARENA_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

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
    return static_cast<T*>(AllocateBytes(n * sizeof(T), alignof(T)));
  }
  template <class T>
  std::span<const T> Copy(std::span<const T> values) {
    if (values.empty()) return {};
    T* p = Allocate<T>(values.size());
    std::memcpy(static_cast<void*>(p), values.data(), values.size_bytes());
    return {p, values.size()};
  }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kBlock = size_t{1} << 16;

  void* AllocateBytes(size_t size, size_t align) {
    size_t start = (used_ + align - 1) & ~(align - 1);
    if (blocks_.empty() || start + size > capacity_) {
      capacity_ = std::max(kBlock, size);
      blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(capacity_));
      bytes_ += capacity_;
      start = 0;
    }
    used_ = start + size;
    return blocks_.back().get() + start;
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  size_t used_ = 0, capacity_ = 0, bytes_ = 0;
};

// A table of T that grows at its end and never moves an element. One thread at a time may append;
// any thread may read an element whose index reached it through a release/acquire pair.
template <class T, int kLogChunk = 10>
class StableVector {
 public:
  StableVector() = default;
  StableVector(const StableVector&) = delete;
  StableVector& operator=(const StableVector&) = delete;
  ~StableVector() {
    for (auto& level : top_) {
      auto* chunks = level.load(std::memory_order_relaxed);
      if (chunks == nullptr) continue;
      for (size_t i = 0; i < kTop; ++i) delete[] chunks[i].load(std::memory_order_relaxed);
      delete[] chunks;
    }
  }

  size_t size() const { return size_; }
  size_t bytes() const { return chunks_ * sizeof(T) << kLogChunk; }
  static constexpr size_t max_size() { return kTop * kTop << kLogChunk; }

  // A default-constructed element at index size() - 1 afterwards.
  T& Append() {
    const size_t chunk = size_ >> kLogChunk;
    auto& level = top_[chunk / kTop];
    auto* chunks = level.load(std::memory_order_relaxed);
    if (chunks == nullptr) {
      chunks = new std::atomic<T*>[kTop]();
      level.store(chunks, std::memory_order_release);
    }
    if ((size_ & kMask) == 0) {
      chunks[chunk % kTop].store(new T[size_t{1} << kLogChunk](), std::memory_order_release);
      ++chunks_;
    }
    return (*this)[size_++];
  }
  T& operator[](size_t i) const {
    const size_t chunk = i >> kLogChunk;
    auto* chunks = top_[chunk / kTop].load(std::memory_order_acquire);
    return chunks[chunk % kTop].load(std::memory_order_acquire)[i & kMask];
  }

 private:
  static constexpr size_t kTop = 2048;
  static constexpr size_t kMask = (size_t{1} << kLogChunk) - 1;
  std::atomic<std::atomic<T*>*> top_[kTop] = {};
  size_t size_ = 0, chunks_ = 0;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_ARENA_H_
