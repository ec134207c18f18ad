// The shortest texts of states by how many rounds of X they are.
#ifndef GRAMMASK_AUTOMATON_COUNT_LENGTHS_H_
#define GRAMMASK_AUTOMATON_COUNT_LENGTHS_H_

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "automaton/term_store.h"

namespace grammask::internal {

// All states that rounds of X lead to from one state, for questions about `P & X{n,m}`. Needs the
// lock of the TermStore.
class CountLengths {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Of `x` and all that it leads to from `start`. Counts the pairs of states met in `*pairs`; null
  // where they are too many, or where a text of X may begin another.
  static std::unique_ptr<CountLengths> Create(TermStore* store, TermId x, TermId start,
                                              size_t* pairs);

  std::optional<uint32_t> Find(TermId state) const;
  // The length in bytes of the shortest text of a state that is `least` to `most` rounds of X;
  // kNone where there is no such text, nullopt where finding it would take too much.
  std::optional<uint32_t> Shortest(uint32_t state, int64_t least, int64_t most);
  size_t memory_bytes() const;

 private:
  struct Move {  // a round of X, the shortest that leads there
    uint32_t to, bytes;
  };

  bool Explore(TermStore* store, TermId x, uint32_t from, size_t* pairs);
  uint32_t NumberOf(TermId state);
  void AddRow();

  std::vector<TermId> states_;
  absl::flat_hash_map<uint32_t, uint32_t> numbers_;  // of states
  std::vector<uint32_t> first_move_;                 // of moves_, by state; and the end
  std::vector<Move> moves_;
  // For 0, 1, 2, ... rounds: the bytes of the shortest text of each state.
  std::vector<uint32_t> rows_;
  size_t row_count_ = 0;
  bool dead_ = false;  // no state has a text of so many rounds as the last row or more
};

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_COUNT_LENGTHS_H_
