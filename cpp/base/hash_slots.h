// Numbers by hash: what several tables of the engine are made of.
#ifndef GRAMMASK_BASE_HASH_SLOTS_H_
#define GRAMMASK_BASE_HASH_SLOTS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/tables.h"

namespace grammask::internal {

// Open addressing. A slot is hash << 32 | number + 1, or 0 where it is free: the hash is kept, so
// that growing hashes nothing anew, and what a number stands for is compared only where the whole
// hash agrees. What that is, is the caller's matter. Numbers are below 2^32 - 1.
class HashSlots {
 public:
  // Holds `numbers` of them before it grows.
  explicit HashSlots(size_t numbers) : slots_(std::bit_ceil(2 * numbers)) {}

  // The number put with `hash` for which same(number) holds. Where there is none, `place` is for
  // Put().
  template <class Same>
  std::optional<uint32_t> Find(uint32_t hash, Same&& same, size_t* place) const {
    const size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    for (; slots_[at] != 0; at = (at + 1) & mask) {
      if (slots_[at] >> 32 != hash) continue;
      const uint32_t number = static_cast<uint32_t>(slots_[at]) - 1;
      if (same(number)) return number;
    }
    *place = at;
    return std::nullopt;
  }
  template <class Same>
  std::optional<uint32_t> Find(uint32_t hash, Same&& same) const {
    size_t place = 0;
    return Find(hash, same, &place);
  }

  // Nothing may have been put since Find() gave `place`.
  void Put(size_t place, uint32_t hash, uint32_t number) {
    slots_[place] = uint64_t{hash} << 32 | (number + 1);
    if (2 * ++used_ > slots_.size()) Grow();
  }

  size_t memory_bytes() const { return slots_.capacity() * sizeof(uint64_t); }

 private:
  using Slots = TableVector<uint64_t>;

  void Grow() {
    Slots bigger(2 * slots_.size());
    const size_t mask = bigger.size() - 1;
    for (uint64_t slot : slots_) {
      if (slot == 0) continue;
      size_t at = (slot >> 32) & mask;
      while (bigger[at] != 0) at = (at + 1) & mask;
      bigger[at] = slot;
    }
    slots_ = std::move(bigger);
  }

  Slots slots_;
  size_t used_ = 0;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_HASH_SLOTS_H_
