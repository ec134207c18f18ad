// Values that take much memory and can be made again: those used last.
#ifndef GRAMMASK_BASE_LATELY_USED_H_
#define GRAMMASK_BASE_LATELY_USED_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace grammask::internal {

// Shared values by their keys, up to a number of bytes in all; in a row, as there are a few dozen.
// Keys are compared by what each call gives for it, so that none need be made to find a value.
// Whoever has a value keeps it. Thread-safe.
template <class Key, class T>
class LatelyUsed {
 public:
  explicit LatelyUsed(size_t most_bytes) : most_bytes_(most_bytes) {}

  // The value for whose key `is` holds, used now; null where there is none.
  template <class Is>
  std::shared_ptr<const T> Find(Is&& is) {
    std::lock_guard lock(mutex_);
    return FindLocked(is);
  }
  // Adds a value, which with its key takes so many bytes, and gives it back; where another thread
  // was there before, that one's. It does not stay where it is more than all may take.
  template <class Is>
  std::shared_ptr<const T> Add(Is&& is, Key key, std::shared_ptr<const T> value, size_t bytes) {
    std::lock_guard lock(mutex_);
    if (auto known = FindLocked(is)) return known;
    entries_.push_back({std::move(key), value, bytes, ++uses_});
    bytes_ += bytes;
    Evict();
    return value;
  }
  // Keeps no more than so many bytes from now on.
  void SetMost(size_t bytes) {
    std::lock_guard lock(mutex_);
    most_bytes_ = bytes;
    Evict();
  }
  size_t bytes() {
    std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const T> value;
    size_t bytes;
    uint64_t used;  // when
  };

  template <class Is>
  std::shared_ptr<const T> FindLocked(Is& is) {
    const auto it = std::ranges::find_if(entries_, [&](const Entry& e) { return is(e.key); });
    if (it == entries_.end()) return nullptr;
    it->used = ++uses_;
    return it->value;
  }
  // Locked.
  void Evict() {
    while (bytes_ > most_bytes_) {
      const auto oldest = std::ranges::min_element(entries_, {}, &Entry::used);
      bytes_ -= oldest->bytes;
      entries_.erase(oldest);
    }
  }

  std::mutex mutex_;
  size_t most_bytes_, bytes_ = 0;
  std::vector<Entry> entries_;
  uint64_t uses_ = 0;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_LATELY_USED_H_
