// Bitmaps over the vocabulary, one of each content.
#ifndef GRAMMASK_MASK_BITMAP_STORE_H_
#define GRAMMASK_MASK_BITMAP_STORE_H_

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "base/ids.h"
#include "base/mix.h"
#include "base/scratch.h"
#include "base/sharded_map.h"
#include "base/tables.h"
#include "vocab/token_blocks.h"

namespace grammask::internal {

// A run of tokens in trie order: [first, last) of Vocab::trie_tokens().
struct TokenRun {
  uint32_t first, last;
  friend bool operator==(const TokenRun&, const TokenRun&) = default;
};

// Adds [first, last), which is not empty, behind ascending runs.
inline void AppendRun(uint32_t first, uint32_t last, TableVector<TokenRun>* runs) {
  if (!runs->empty() && runs->back().last == first) {
    runs->back().last = last;
  } else {
    runs->push_back({first, last});
  }
}

// Puts runs in order, and makes one of those that overlap or touch.
inline void JoinRuns(TableVector<TokenRun>* runs) {
  std::ranges::sort(*runs, {}, &TokenRun::first);
  size_t kept = 0;
  for (const TokenRun& run : *runs) {
    if (kept != 0 && run.first <= (*runs)[kept - 1].last) {
      (*runs)[kept - 1].last = std::max((*runs)[kept - 1].last, run.last);
    } else {
      (*runs)[kept++] = run;
    }
  }
  runs->resize(kept);
}

inline void SetBit(uint32_t* bitmap, TokenId t) {
  bitmap[static_cast<uint32_t>(t) >> 5] |= uint32_t{1} << (static_cast<uint32_t>(t) & 31);
}
inline void ClearBit(uint32_t* bitmap, TokenId t) {
  bitmap[static_cast<uint32_t>(t) >> 5] &= ~(uint32_t{1} << (static_cast<uint32_t>(t) & 31));
}
inline bool TestBit(const uint32_t* bitmap, TokenId t) {
  return ((bitmap[static_cast<uint32_t>(t) >> 5] >> (static_cast<uint32_t>(t) & 31)) & 1) != 0;
}

// A bitmap that is being made. Of the thread's own memory: the heap of the process may have given
// its end back to the system since the last one, and each page of it has a fault then.
using Bits = ScratchVector<uint32_t>;

// Thousands of states take the same tokens but for a few: those that loop on whitespace, on digits,
// on the characters of a name. Their bitmaps are kept once. Thread-safe; bitmaps live as long as
// the store and never change.
class BitmapStore {
 public:
  // `tokens`: the vocabulary's, in trie order; `all`: the same as a bitmap; `blocks`: likewise.
  // Alive as long as this.
  BitmapStore(std::span<const TokenId> tokens, std::span<const uint32_t> all,
              const TokenBlocks& blocks)
      : words_(all.size()), tokens_(tokens), all_(all), blocks_(blocks) {}

  // The bitmap of the tokens of some runs, ascending. The same runs give the same bitmap.
  const uint32_t* OfRuns(std::span<const TokenRun> runs);
  // The same with other tokens, which is found by its content alone.
  const uint32_t* OfRunsAnd(std::span<const TokenRun> runs, std::span<const TokenId> others);
  // The union of two or more.
  const uint32_t* Union(std::span<const uint32_t* const> bitmaps);
  // The one with this content.
  const uint32_t* Intern(std::span<const uint32_t> bitmap);
  // A list of tokens, likewise one of each content.
  std::span<const TokenId> List(std::span<const TokenId> tokens);

  size_t memory_bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  Bits BitsOfRuns(std::span<const TokenRun> runs) const;
  const uint32_t* InternLocked(std::span<const uint32_t> bitmap);

  const size_t words_;
  const std::span<const TokenId> tokens_;
  const std::span<const uint32_t> all_;
  const TokenBlocks& blocks_;
  std::mutex mutex_;
  BumpArena memory_;
  absl::flat_hash_map<uint64_t, absl::InlinedVector<const uint32_t*, 1>> by_hash_;
  // By the bytes of what they are made of, which are in memory_.
  ShardedMap<std::string_view, const uint32_t*, TextHash> by_runs_, unions_;
  ShardedMap<std::string_view, const TokenId*, TextHash> lists_;  // by their own bytes
  std::atomic<size_t> bytes_ = 0;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_BITMAP_STORE_H_
