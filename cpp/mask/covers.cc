// A set of which always some item can go on, as long as characters of a loop come, to its mask.
//
// A key is of one of the classes that patterns make, and each of these is an item with a mask of
// its own. But of the tokens inside a key none is refused (TermStore::FindCover), so these are a
// slice. All others are walked once, from the set itself: what follows the key is known here, so
// nothing is left over.
//
// Cost: a walk of the slice's other tokens, some 80 us, where the items' own masks may take 1 ms.
// So where these are known already, they serve. Tests: tests/mask/covers_test.cc.
#include <absl/container/inlined_vector.h>

#include <algorithm>

#include "mask/draft.h"
#include "mask/mask_cache.h"

namespace grammask::internal {

// Null where it is not seen to be such a set, or where the masks of its items serve as well.
const TokenMask* MaskCache::FromCover(SetId set) {
  const SetBody& body = sets_.Body(set);
  if (body.items.size() < 2 || !body.tokens.empty() || !body.at_risk.empty() ||
      sets_.set(set).captures) {
    return nullptr;
  }
  const bool known = std::ranges::all_of(body.items, [&](const Item& item) {
    return terms_.attachment(item.term).load(std::memory_order_acquire) != nullptr;
  });
  if (known) return nullptr;
  absl::InlinedVector<TermId, 8> states;
  for (const Item& item : body.items) {
    if (sets_.Captures(item.ret) != nullptr) return nullptr;
    states.push_back(item.term);
  }
  const auto x = terms_.FindCover(states);
  if (!x.has_value()) return nullptr;
  Slice* slice = SliceFor(*x);
  if (slice == nullptr) return nullptr;
  const TokenTrie& others = slice->others();
  const DraftLease draft(&drafts_);
  if (!others.empty()) {
    Gatherer(others.nodes, others.tokens, nullptr, &*draft).WalkBelow(&sets_, 0, set);
  }
  const uint32_t* const inside[] = {slice->UpTo(UINT64_MAX)};
  return KeepMask(Compact(draft->accepted, inside));
}

}  // namespace grammask::internal
