// Keys to numbers 1, 2, ... as they first come up.
#ifndef GRAMMASK_BASE_NUMBERING_H_
#define GRAMMASK_BASE_NUMBERING_H_

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <cstddef>

namespace grammask::internal {

// By search while there are few, which then needs no heap; else by hash.
template <class Key>
class Numbering {
 public:
  size_t size() const { return by_hash_.empty() ? keys_.size() : by_hash_.size(); }

  // The number of a key; size() + 1 where it is new.
  size_t Of(const Key& key) {
    if (!by_hash_.empty()) return by_hash_.try_emplace(key, by_hash_.size() + 1).first->second;
    const auto known = std::ranges::find(keys_, key);
    const auto number = static_cast<size_t>(known - keys_.begin()) + 1;
    if (known != keys_.end()) return number;
    keys_.push_back(key);
    if (keys_.size() > kLinearSearch) {
      for (size_t i = 0; i < keys_.size(); ++i) by_hash_.emplace(keys_[i], i + 1);
    }
    return number;
  }

 private:
  static constexpr size_t kLinearSearch = 32;  // keys up to which that beats a hash map

  absl::InlinedVector<Key, 32> keys_;
  absl::flat_hash_map<Key, size_t> by_hash_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_NUMBERING_H_
