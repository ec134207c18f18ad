// A state of the automaton along texts in ascending order.
#ifndef GRAMMASK_MASK_ALONG_H_
#define GRAMMASK_MASK_ALONG_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
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
// nothing.
class Along {
 public:
  Along(TermStore* terms, TermId start) : terms_(*terms), states_{start} {}

  // The state after `text`, Nothing() for none. The bytes of the last text have to be there still.
  TermId Read(std::string_view text) {
    const size_t both = std::min(text.size(), last_.size());
    size_t same = 0;
    while (same < both && text[same] == last_[same]) ++same;
    last_ = text;
    states_.resize(std::min(same + 1, states_.size()));
    while (states_.size() <= text.size() && states_.back() != TermStore::Nothing()) {
      const auto byte = static_cast<uint8_t>(text[states_.size() - 1]);
      const Expansion& from = terms_.Expand(states_.back());
      left_ |= terms_.term(states_.back()).nullable || !from.calls.empty();
      states_.push_back(TargetOf(from.bytes, byte));
    }
    return states_.back();
  }
  // Whether in any text so far the procedure might have ended, or called another, before its end.
  bool left() const { return left_; }

 private:
  TermStore& terms_;
  std::string_view last_;
  bool left_ = false;
  std::vector<TermId> states_;  // by the bytes before them, up to where there is none
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_ALONG_H_
