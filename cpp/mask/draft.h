// What a level-1 mask is gathered in before it is stored.
#ifndef GRAMMASK_MASK_DRAFT_H_
#define GRAMMASK_MASK_DRAFT_H_

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "mask/mask_cache.h"
#include "mask/trie_walk.h"

namespace grammask::internal {

struct MaskCache::Draft {
  std::vector<TokenId> accepted;
  std::vector<TokenRun> runs;  // accepted as well; ascending
  const uint32_t* slice = nullptr;
  std::vector<uint32_t> escapes;                               // nodes of the vocabulary's trie
  std::vector<std::pair<std::string_view, TokenId>> residues;  // of slices' other tokens
  uint64_t reach = UINT64_MAX;                                 // see Level1
  uint64_t completion = UINT64_MAX;
  uint64_t others_reach = UINT64_MAX;
  uint64_t deepest = 0;          // node visited at which a token ends or escapes
  const Level1* made = nullptr;  // instead of all this
  WalkScratch scratch;

  // As new, but for what was allocated and for what is known of sets.
  void Clear() {
    accepted.clear();
    runs.clear();
    slice = nullptr;
    escapes.clear();
    residues.clear();
    reach = completion = others_reach = UINT64_MAX;
    deepest = 0;
    made = nullptr;
    scratch.in_vain = 0;
  }
};

// A draft for as long as this lives: one that is kept, or else a new one. To make one takes longer
// than most masks.
class MaskCache::DraftLease {
 public:
  explicit DraftLease(DraftPool* pool) : pool_(*pool) {
    for (auto& slot : pool_.slots) {
      if (slot.load(std::memory_order_relaxed) == nullptr) continue;
      draft_ = slot.exchange(nullptr, std::memory_order_acquire);
      if (draft_ != nullptr) break;
    }
    if (draft_ == nullptr) {
      draft_ = new Draft;
    } else {
      draft_->Clear();
    }
  }
  ~DraftLease() {
    for (auto& slot : pool_.slots) {
      Draft* none = nullptr;
      if (slot.compare_exchange_strong(none, draft_, std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return;  // the slot owns it now
      }
    }
    delete draft_;
  }
  DraftLease(const DraftLease&) = delete;
  DraftLease& operator=(const DraftLease&) = delete;
  Draft& operator*() const { return *draft_; }
  Draft* operator->() const { return draft_; }

 private:
  DraftPool& pool_;
  Draft* draft_ = nullptr;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_DRAFT_H_
