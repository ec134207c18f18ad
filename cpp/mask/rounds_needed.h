// How many rounds of a counted loop a place in it still needs.
#ifndef GRAMMASK_MASK_ROUNDS_NEEDED_H_
#define GRAMMASK_MASK_ROUNDS_NEEDED_H_

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "automaton/term_store.h"
#include "base/ids.h"
#include "mask/slice.h"

namespace grammask::internal {

// In the loop of a counted state without its bounds: a state, and one of X's automaton
// (Slice::Tabulate).
struct LoopPlace {
  TermId state;
  uint32_t x = 0;

  uint64_t key() const { return uint64_t{state.value} << 32 | x; }
  friend bool operator==(const LoopPlace&, const LoopPlace&) = default;
};

// Adds one of a few places that is not among them.
inline void AddNew(const LoopPlace& place, std::vector<LoopPlace>* places) {
  if (std::ranges::find(*places, place) == places->end()) places->push_back(place);
}

// Answers for the places of one loop, and keeps what it has found. Not thread-safe.
class RoundsNeeded {
 public:
  // The fewest X's to end until the loop can end, and whether any greater number does as well:
  // false, too, where that was not asked for.
  struct Needed {
    uint32_t rounds;
    bool any_number;
    uint32_t bytes;  // of some text that ends so, with what follows the loop
  };

  // Loops `X* rest` and `(X* & P) rest`. `any_number`: whether that is asked for.
  RoundsNeeded(TermStore* terms, TermId x, TermId rest, const RoundTable& table, bool any_number);

  // None where that would take a search over many states.
  std::optional<Needed> Find(const LoopPlace& from);
  // Whether the loop may end here, be it that an X was begun.
  bool CanEnd(const LoopPlace& p);

  uint32_t XAfter(uint32_t x, int byte) const {
    return table_[size_t{x} * 256 + static_cast<size_t>(byte)];
  }

 private:
  // Whether some byte of the edge leads X's automaton from `x` where `is` says.
  template <class Is>
  bool AnyLeads(const ByteEdge& edge, uint32_t x, Is&& is) const {
    const auto row = table_.begin() + static_cast<ptrdiff_t>(x) * 256;
    return std::any_of(row + edge.lo, row + edge.hi + 1, is);
  }
  // Calls f for the places that the next byte leads to without leaving the loop, some of them more
  // than once, until it returns false. Whether it never did.
  template <class F>
  bool ForEachNext(const LoopPlace& p, F&& f);
  bool CanGoOn(const LoopPlace& p);
  bool EndsFurther(const LoopPlace& p);
  uint32_t BytesFromEnd(const LoopPlace& p);
  std::optional<Needed> Follow(const LoopPlace& from);
  std::optional<Needed> Inside(const LoopPlace& from, int depth);
  std::optional<Needed> Search(const LoopPlace& from);

  TermStore& terms_;
  const TermId rest_;
  const RoundTable& table_;
  const bool any_number_;
  const bool characters_;  // an X is a character as in a JSON string
  absl::flat_hash_map<uint64_t, Needed> known_;
  size_t explored_ = 0;
  size_t inside_ = 0;   // places inside an X that were asked
  size_t in_vain_ = 0;  // texts followed that may not be the ones of fewest X's
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_ROUNDS_NEEDED_H_
