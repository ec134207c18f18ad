// Keys to numbers 1, 2, ... as they first come up.
#ifndef GRAMMASK_BASE_NUMBERING_H_
#define GRAMMASK_BASE_NUMBERING_H_

#include <absl/container/inlined_vector.h>
#include <absl/hash/hash.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/index_slots.h"

namespace grammask::internal {

// By search while there are few, else by hash; up to 32 keys need no heap.
template <class Key>
class Numbering {
 public:
  size_t size() const { return keys_.size(); }

  // The number of a key; size() + 1 where it is new.
  size_t Of(const Key& key) {
    if (keys_.size() < kLinearSearch) {
      const auto known = std::ranges::find(keys_, key);
      const auto number = static_cast<size_t>(known - keys_.begin()) + 1;
      if (known == keys_.end()) keys_.push_back(key);
      return number;
    }
    uint32_t& number = slots_.Find(
        absl::HashOf(key), keys_.size(), [&](size_t i) { return absl::HashOf(keys_[i]); },
        [&](size_t i) { return keys_[i] == key; });
    if (number == 0) {
      keys_.push_back(key);
      number = static_cast<uint32_t>(keys_.size());
    }
    return number;
  }

 private:
  static constexpr size_t kLinearSearch = 16;  // keys up to which that beats hashing

  absl::InlinedVector<Key, 32> keys_;
  IndexSlots slots_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_NUMBERING_H_
