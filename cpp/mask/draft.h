// What a level-1 mask is gathered in before it is stored.
#ifndef GRAMMASK_MASK_DRAFT_H_
#define GRAMMASK_MASK_DRAFT_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/scratch.h"
#include "base/sorted.h"
#include "base/tables.h"
#include "mask/bitmap_store.h"
#include "mask/mask_cache.h"
#include "mask/trie_walk.h"

namespace grammask::internal {

struct MaskCache::Draft {
  TableVector<TokenId> accepted;
  TableVector<TokenRun> runs;  // accepted as well; ascending
  const uint32_t* slice = nullptr;
  const uint32_t* base = nullptr;   // a bitmap of others that are accepted
  TableVector<uint32_t> escapes;    // nodes of the vocabulary's trie
  TableVector<uint64_t> residues;   // of slices' other tokens: Residual::entries
  TableVector<uint64_t> left_over;  // of all tokens
  TableVector<uint32_t> listed;     // a bitmap, all zero but while tokens are looked up in it
  uint64_t reach = UINT64_MAX;      // see Level1
  uint64_t completion = UINT64_MAX;
  uint64_t others_reach = UINT64_MAX;
  uint64_t deepest = 0;          // node visited at which a token ends or escapes
  const Level1* made = nullptr;  // instead of all this
  WalkScratch scratch;

  explicit Draft(LeavingStore* leaving) { scratch.leaving.ShareWith(leaving); }

  static void* operator new(size_t size) { return AllocateTable(size); }
  static void operator delete(void* memory, size_t size) { FreeTable(memory, size); }

  // Puts `accepted` in order, each token once: many by the bits of a bitmap of so many words.
  void SortAccepted(size_t words) {
    constexpr size_t kWordsASort = 32;  // read in the time in which one token is sorted
    if (accepted.size() < words / kWordsASort) {
      SortUnique(&accepted);
      return;
    }
    listed.resize(words);
    for (TokenId t : accepted) SetBit(listed.data(), t);
    accepted.clear();
    for (size_t w = 0; w < words; ++w) {
      for (uint32_t left = std::exchange(listed[w], 0); left != 0; left &= left - 1) {
        accepted.push_back(static_cast<TokenId>(w * 32 + std::countr_zero(left)));
      }
    }
  }

  // Takes memory for what most masks gather, for a vocabulary of so many words of bits: 70 KB.
  // Vectors that grow from nothing within the first mask cost it thirty allocations.
  void MakeReady(size_t words) {
    constexpr size_t kReady = 2048;
    accepted.reserve(kReady);
    runs.reserve(kReady);
    residues.reserve(kReady);
    left_over.reserve(kReady);
    escapes.reserve(kReady / 4);
    listed.resize(words);
    scratch.by_state.levels.reserve(kReady / 32);
    scratch.by_set.levels.reserve(kReady / 32);
  }

  // As new, but for what was allocated and for what is known of sets.
  void Clear() {
    accepted.clear();
    runs.clear();
    slice = base = nullptr;
    escapes.clear();
    residues.clear();
    reach = completion = others_reach = UINT64_MAX;
    deepest = 0;
    made = nullptr;
    scratch.in_vain = 0;
    scratch.regions.BeginMask();
  }
};

// Gathers in a draft what walks of a trie meet, see WalkCalls.
class MaskCache::Gatherer {
 public:
  // Of the trie; `alphabets`: null where there are none.
  Gatherer(std::span<const TrieNode> nodes, std::span<const TokenId> tokens,
           const TrieAlphabets* alphabets, Draft* draft)
      : nodes_(nodes), tokens_(tokens), alphabets_(alphabets), draft_(*draft) {}

  // What a walk by sets calls.
  auto Calls() {
    return WalkCalls{
        [this](uint32_t k, const WalkPlace& at) { Visit(k, at); },
        [this](uint32_t k, const WalkWhole& from) { Whole(k, from); },
        [this](uint32_t k, uint64_t rest) { Inside(k, rest); },
        NoOpen(),
        [this](uint32_t k, uint32_t end, const WalkWhole& from) { Stretch(k, end, from); },
        [this](uint32_t k, uint32_t end, const WalkMet& met_there) { Few(k, end, met_there); }};
  }
  void Visit(uint32_t i, const WalkPlace& at) {
    const TrieNode& node = nodes_[i];
    const uint32_t tokens_end = nodes_[i + 1].tokens;
    const bool escapes = at.escaping && !node.leaf;
    if (escapes) draft_.escapes.push_back(i);
    if (escapes || node.tokens < tokens_end) met.Add(node.depth, at.completion);
    Accept(node.tokens, tokens_end);
  }
  // All below is accepted inside, so that it does not matter where else it might end.
  void Whole(uint32_t i, const WalkWhole& from) {
    met.AddWhole(*alphabets_, i, from.after);
    Take(i, nodes_[i].end);
  }
  void Inside(uint32_t i, uint64_t rest) {
    const uint32_t first = nodes_[i].tokens, end = nodes_[i + 1].tokens;
    if (first < end) met.Add(nodes_[i].depth, rest);
    Accept(first, end);
  }
  void Stretch(uint32_t i, uint32_t end_node, const WalkWhole& from) {
    const uint32_t first = nodes_[i].tokens, end = nodes_[end_node].tokens;
    if (first == end) return;
    AppendRun(first, end, &draft_.runs);
    met.reach = std::max(met.reach, alphabets_->longest(first, end) + from.after);
    met.completion = std::max(met.completion, from.after);
  }
  void Few(uint32_t i, uint32_t end_node, const WalkMet& met_there) {
    met.Add(met_there);
    Take(i, end_node);
  }
  // Walks what lies at and below node i, which leads to `state`; below only, where not `at_node`.
  void WalkFrom(SetTable* sets, uint32_t i, TermId state, bool at_node = true) {
    WalkFromState(sets, &draft_.scratch, nodes_, alphabets_, i, state, Calls(), at_node);
  }
  // Walks the nodes [first, end), children of the root one after another and what lies below them,
  // which lead where they would lead from `state`. False, and nothing is done, where that would not
  // be a leap.
  bool LeapFrom(SetTable* sets, uint32_t first, uint32_t end, TermId state) {
    return LeapFromState(sets, &draft_.scratch, nodes_, alphabets_, 0, first, end, state, Calls());
  }
  // Walks what lies below node i, which leads to `set`, from node to node: sets of a known context
  // have many items, and to leap from them would take many steps first.
  void WalkBelow(SetTable* sets, uint32_t i, SetId set) {
    const auto calls = Calls();
    WalkTrie(SetWalker(sets, &draft_.scratch), nodes_, alphabets_, i + 1, nodes_[i].end,
             nodes_[i].depth, set,
             WalkCalls{calls.visit, calls.whole, calls.inside, NoOpen(), NoStretch(), calls.few});
  }

  WalkMet met;

 private:
  static constexpr uint32_t kMinRun = 8;  // tokens one after another that are a run

  // The tokens of nodes [i, end_node).
  void Take(uint32_t i, uint32_t end_node) {
    const uint32_t first = nodes_[i].tokens, end = nodes_[end_node].tokens;
    if (end - first < kMinRun || alphabets_ == nullptr) {  // runs are of the vocabulary's trie
      Accept(first, end);
    } else {
      AppendRun(first, end, &draft_.runs);
    }
  }
  void Accept(uint32_t first, uint32_t end) {
    // Mostly none or one.
    for (uint32_t t = first; t < end; ++t) draft_.accepted.push_back(tokens_[t]);
  }

  const std::span<const TrieNode> nodes_;
  const std::span<const TokenId> tokens_;
  const TrieAlphabets* const alphabets_;
  Draft& draft_;
};

// Appends, as Residual::entries, what the tokens below a node of a trie have after that node. Told
// by the trie, whose nodes lie in order; the texts lie all over.
inline void AddLeftOver(std::span<const TrieNode> nodes, std::span<const TokenId> tokens,
                        uint32_t node, TableVector<uint64_t>* entries) {
  const uint32_t end = nodes[node].end;
  const auto depth = nodes[node].depth;
  uint8_t first = 0;
  uint32_t t = nodes[node + 1].tokens;
  for (uint32_t i = node + 1; i < end; ++i) {
    const auto bytes = static_cast<size_t>(nodes[i].depth - depth);
    if (bytes == 1) first = nodes[i].byte;
    for (const uint32_t last = nodes[i + 1].tokens; t < last; ++t) {
      entries->push_back(Residual::Entry(tokens[t], bytes, first));
    }
  }
}

// What is left over less some tokens; null for nothing.
template <class IsRefused>
const Residual* MaskCache::Without(const Residual& any, IsRefused&& is_refused) {
  const Residual& residual = Spelled(any);
  ScratchVector<uint64_t> kept;
  for (const uint64_t entry : residual.entries) {
    if (!is_refused(Residual::Token(entry))) kept.push_back(entry);
  }
  if (kept.size() == residual.entries.size()) return &residual;
  return kept.empty() ? nullptr : ResidualOf(kept);
}

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
      draft_ = new Draft(pool_.leaving);
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
