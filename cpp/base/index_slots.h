// Where the things of a list are, by hash.
#ifndef GRAMMASK_BASE_INDEX_SLOTS_H_
#define GRAMMASK_BASE_INDEX_SLOTS_H_

#include <absl/container/inlined_vector.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace grammask::internal {

// For lists that live for one call, of dozens of things that are compared where they lie: needs no
// heap up to some sixty of them.
class IndexSlots {
 public:
  // The slot of a thing with this hash: its place in the list and one, `is(place)` being true of
  // it, or 0, to be set to that. The list has `size` things, whose hashes `hash_of(place)` tells.
  template <class HashOf, class Is>
  uint32_t& Find(size_t hash, size_t size, HashOf&& hash_of, Is&& is) {
    if (slots_.size() < 2 * (size + 1)) {
      slots_.assign(std::bit_ceil(kSlotsFor * (size + 1)), 0);
      for (size_t i = 0; i < size; ++i) {
        Slot(hash_of(i), [](size_t) { return false; }) = static_cast<uint32_t>(i + 1);
      }
    }
    return Slot(hash, is);
  }

 private:
  static constexpr size_t kSlotsFor = 4;  // slots for a thing where they are laid down anew

  template <class Is>
  uint32_t& Slot(size_t hash, Is&& is) {
    const size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    while (slots_[at] != 0 && !is(size_t{slots_[at]} - 1)) at = (at + 1) & mask;
    return slots_[at];
  }

  absl::InlinedVector<uint32_t, 128> slots_;  // a power of two of them
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_INDEX_SLOTS_H_
