// Values that take much memory and can be made again: those used last.
#ifndef GRAMMASK_BASE_LATELY_USED_H_
#define GRAMMASK_BASE_LATELY_USED_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace grammask::internal {

// Up to a number of bytes in all; in a row, as there are a few dozen. Not thread-safe.
template <class T>
class LatelyUsed {
 public:
  explicit LatelyUsed(size_t most_bytes) : most_bytes_(most_bytes) {}

  // The value for which `is` holds, used now; null where there is none. Until the next call.
  template <class Is>
  T* Find(Is&& is) {
    const auto it = std::ranges::find_if(entries_, [&](const Entry& e) { return is(e.value); });
    if (it == entries_.end()) return nullptr;
    it->used = ++uses_;
    return &it->value;
  }
  // Adds a value of so many bytes; it does not stay where that is more than all may take.
  void Add(T value, size_t bytes) {
    entries_.push_back({std::move(value), bytes, ++uses_});
    bytes_ += bytes;
    Evict();
  }
  void SetMost(size_t bytes) {
    most_bytes_ = bytes;
    Evict();
  }
  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    T value;
    size_t bytes;
    uint64_t used;  // when
  };

  void Evict() {
    while (bytes_ > most_bytes_) {
      const auto oldest = std::ranges::min_element(entries_, {}, &Entry::used);
      bytes_ -= oldest->bytes;
      entries_.erase(oldest);
    }
  }

  size_t most_bytes_, bytes_ = 0;
  std::vector<Entry> entries_;
  uint64_t uses_ = 0;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_LATELY_USED_H_
