// Keys to numbers 1, 2, ... as they first come up.
#ifndef GRAMMASK_BASE_NUMBERING_H_
#define GRAMMASK_BASE_NUMBERING_H_

#include <absl/container/inlined_vector.h>
#include <absl/hash/hash.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace grammask::internal {

// By search while there are few, else by hash; neither needs the heap up to some hundred keys.
template <class Key>
class Numbering {
 public:
  size_t size() const { return keys_.size(); }

  // The number of a key; size() + 1 where it is new.
  size_t Of(const Key& key) {
    if (keys_.size() > kLinearSearch) return ByHash(key);
    const auto known = std::ranges::find(keys_, key);
    const auto number = static_cast<size_t>(known - keys_.begin()) + 1;
    if (known != keys_.end()) return number;
    keys_.push_back(key);
    if (keys_.size() > kLinearSearch) Spread();
    return number;
  }

 private:
  static constexpr size_t kLinearSearch = 16;  // keys up to which that beats hashing
  static constexpr size_t kSlotsFor = 4;       // slots for a key where they are laid down anew

  size_t ByHash(const Key& key) {
    size_t at = SlotOf(key);
    for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
      if (keys_[slots_[at] - 1] == key) return slots_[at];
    }
    keys_.push_back(key);
    slots_[at] = static_cast<uint32_t>(keys_.size());
    const size_t number = keys_.size();
    if (2 * number > slots_.size()) Spread();
    return number;
  }
  size_t SlotOf(const Key& key) const { return absl::HashOf(key) & (slots_.size() - 1); }
  void Spread() {
    slots_.assign(std::bit_ceil(kSlotsFor * keys_.size()), 0);
    for (size_t i = 0; i < keys_.size(); ++i) {
      size_t at = SlotOf(keys_[i]);
      while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = static_cast<uint32_t>(i + 1);
    }
  }

  absl::InlinedVector<Key, 32> keys_;
  absl::InlinedVector<uint32_t, 128> slots_;  // numbers by hash, 0 for none; a power of two of them
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_NUMBERING_H_
