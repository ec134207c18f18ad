// A state of the automaton along texts in ascending order.
#ifndef GRAMMASK_MASK_ALONG_H_
#define GRAMMASK_MASK_ALONG_H_

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "automaton/term_store.h"
#include "base/ids.h"

namespace grammask::internal {

// Where a byte leads, by a state's edges: Nothing() for nowhere.
inline TermId TargetOf(std::span<const ByteEdge> edges, uint8_t byte) {
  const ByteEdge* e = FindEdge(edges, byte);
  return e != nullptr ? e->to : TermStore::Nothing();
}

// Reads one text after another, each from where it differs from the last one. Of states that call
// nothing. Texts come in thousands and mostly lead through a few states, so of the first ones it is
// kept where bytes have led from them.
class Along {
 public:
  Along(TermStore* terms, TermId start) : terms_(*terms) { path_.push_back(Find(start)); }

  // The state after `text`, Nothing() for none. The bytes of the last text have to be there still.
  TermId Read(std::string_view text) {
    path_.resize(std::min(CommonPrefix(text, last_) + 1, path_.size()));
    last_ = text;
    Place at = path_.back();
    while (path_.size() <= text.size() && at.state != TermStore::Nothing()) {
      const auto byte = static_cast<uint8_t>(text[path_.size() - 1]);
      if (at.kept == kNotKept) {
        left_ |= Leaves(at.state);
        at = Step(at.state, byte);
      } else {
        Moves& moves = *moves_[at.kept];
        if (moves.kept[byte] == kUnknown) {
          const Place to = Step(at.state, byte);
          moves.to[byte] = to.state.value;
          moves.kept[byte] = to.kept;
          moves.leaves = Leaves(at.state);
        }
        left_ |= moves.leaves;
        at = {TermId(moves.to[byte]), moves.kept[byte]};
      }
      path_.push_back(at);
    }
    return at.state;
  }
  // Whether in any text so far the procedure might have ended, or called another, before its end.
  bool left() const { return left_; }

 private:
  static constexpr size_t kMostKept = 128;  // states
  static constexpr uint8_t kNotKept = 254, kUnknown = 255;
  struct Place {
    TermId state;
    uint8_t kept = kNotKept;  // which of moves_ is its own
  };
  // Where bytes lead, and what those states have in moves_; kUnknown where it was not asked for.
  struct Moves {
    bool leaves;  // Leaves(), once some byte was asked for
    std::array<uint8_t, 256> kept;
    std::array<uint32_t, 256> to;
  };

  static size_t CommonPrefix(std::string_view x, std::string_view y) {
    const size_t both = std::min(x.size(), y.size());
    size_t same = 0;
    while (same + 8 <= both && std::memcmp(x.data() + same, y.data() + same, 8) == 0) same += 8;
    while (same < both && x[same] == y[same]) ++same;
    return same;
  }
  // Of a state that is left by a byte: one at which texts end has no edges yet, and may need none.
  bool Leaves(TermId state) const {
    return terms_.term(state).nullable || !terms_.Expand(state).calls.empty();
  }
  Place Step(TermId from, uint8_t byte) { return Find(TargetOf(terms_.Expand(from).bytes, byte)); }
  Place Find(TermId state) {
    if (state == TermStore::Nothing()) return {state};
    const auto known = numbers_.find(state.value);
    if (known != numbers_.end()) return {state, known->second};
    if (moves_.size() == kMostKept) return {state};
    const auto number = static_cast<uint8_t>(moves_.size());
    moves_.push_back(std::make_unique_for_overwrite<Moves>());
    moves_.back()->kept.fill(kUnknown);
    moves_.back()->leaves = false;
    numbers_.emplace(state.value, number);
    return {state, number};
  }

  TermStore& terms_;
  std::string_view last_;
  bool left_ = false;
  std::vector<Place> path_;  // by the bytes before them, up to where there is none
  std::vector<std::unique_ptr<Moves>> moves_;
  absl::flat_hash_map<uint32_t, uint8_t> numbers_;  // of moves_, by state
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_ALONG_H_
