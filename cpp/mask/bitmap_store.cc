// Sets of tokens to shared bitmaps.
//
// A bitmap is found by what it was made from where that is short (some runs of tokens, bitmaps to
// be joined), else by its content, which is compared in full. Cost: found by runs 0.1 us, made
// and found by content 3 us at 128,000 tokens. Tests: tests/mask/bitmap_store_test.cc.
#include "mask/bitmap_store.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/mix.h"

namespace grammask::internal {
namespace {

constexpr size_t kMaxKeyRuns = 64;  // over which the key would not be short
constexpr size_t kKeyOverhead = 64;
constexpr size_t kListOverhead = 32;
constexpr size_t kMostBlocks = 32;  // of a vocabulary, mostly
constexpr size_t kWordsAToken = 4;  // of a bitmap, added in the time in which two tokens are

}  // namespace

// Each block begins with all of its tokens or none, and those that are too many or missing are
// taken out or added one by one. Where neighbours begin alike nothing more is to be done, else
// there is a bitmap to be added: so what is best for all of them is found block by block, as a
// shortest path.
Bits BitmapStore::BitsOfRuns(std::span<const TokenRun> runs) const {
  const size_t size = blocks_.empty() ? tokens_.size() : blocks_.block_size();
  struct Block {
    size_t from, to;     // of the trie's order
    size_t first, last;  // of runs that have tokens of it
    bool from_full[2];   // by whether it begins with all: whether the best way there did before
    bool full = false;
  };
  absl::InlinedVector<Block, kMostBlocks> blocks;
  // Of a way on which the last block began with none, or all: in tokens that are added by
  // themselves.
  size_t costs[2] = {0, 0};
  const size_t change = words_ / kWordsAToken;
  for (size_t from = 0, next = 0; from < tokens_.size(); from += size) {
    const size_t to = std::min(from + size, tokens_.size());
    while (next < runs.size() && runs[next].last <= from) ++next;
    size_t end = next, count = 0;
    for (; end < runs.size() && runs[end].first < to; ++end) {
      count += std::min<size_t>(runs[end].last, to) - std::max<size_t>(runs[end].first, from);
    }
    Block& block = blocks.emplace_back(Block{from, to, next, end, {}});
    if (from > 0) {
      const size_t none = costs[0], all = costs[1];
      block.from_full[0] = all + change < none;
      block.from_full[1] = all <= none + change;
      costs[0] = std::min(none, all + change);
      costs[1] = std::min(all, none + change);
    }
    costs[0] += count;
    costs[1] += to - from - count;
  }
  Bits bits(words_);
  // Backwards: of each stretch of blocks that begin with all, the bitmaps at both ends.
  bool full = costs[1] + change < costs[0];
  if (full) std::ranges::copy(all_, bits.begin());
  for (size_t k = blocks.size(); k-- > 0;) {
    blocks[k].full = full;
    const bool before = k > 0 && blocks[k].from_full[full ? 1 : 0];
    if (k > 0 && before != full) {
      const std::span<const uint32_t> up_to = blocks_.up_to(k - 1);
      for (size_t w = 0; w < words_; ++w) bits[w] ^= up_to[w];
    }
    full = before;
  }
  for (const Block& block : blocks) {
    size_t i = block.from;
    for (const TokenRun& run : runs.subspan(block.first, block.last - block.first)) {
      const size_t first = std::max<size_t>(run.first, block.from);
      const size_t last = std::min<size_t>(run.last, block.to);
      if (block.full) {
        for (; i < first; ++i) ClearBit(bits.data(), tokens_[i]);
      } else {
        for (i = first; i < last; ++i) SetBit(bits.data(), tokens_[i]);
      }
      i = last;
    }
    for (; block.full && i < block.to; ++i) ClearBit(bits.data(), tokens_[i]);
  }
  return bits;
}

const uint32_t* BitmapStore::OfRuns(std::span<const TokenRun> runs) {
  const bool few = runs.size() <= kMaxKeyRuns;
  if (few) {
    std::lock_guard lock(mutex_);
    if (const auto* known = by_runs_.Find(BytesOf(runs))) return *known;
  }
  const Bits bits = BitsOfRuns(runs);
  std::lock_guard lock(mutex_);
  const uint32_t* found = InternLocked(bits);
  if (few) {
    const auto kept = KeepIn(&memory_, runs, &by_runs_);
    if (kept.added) {  // or another thread was first
      *kept.value = found;
      bytes_ += runs.size_bytes() + kKeyOverhead;
    }
  }
  return found;
}

const uint32_t* BitmapStore::OfRunsAnd(std::span<const TokenRun> runs,
                                       std::span<const TokenId> others) {
  Bits bits = BitsOfRuns(runs);
  for (TokenId t : others) SetBit(bits.data(), t);
  return Intern(bits);
}

const uint32_t* BitmapStore::Union(std::span<const uint32_t* const> bitmaps) {
  ScratchVector<const uint32_t*> key(bitmaps.begin(), bitmaps.end());
  std::ranges::sort(key);
  const std::span<const uint32_t* const> parts(key);
  std::lock_guard lock(mutex_);
  if (const auto* known = unions_.Find(BytesOf(parts))) return *known;
  Bits bits(words_);
  for (const uint32_t* bitmap : key) {
    for (size_t w = 0; w < words_; ++w) bits[w] |= bitmap[w];
  }
  const uint32_t* found = InternLocked(bits);
  bytes_ += key.size() * 8 + kKeyOverhead;
  unions_[BytesOf(memory_.Copy(parts))] = found;
  return found;
}

const uint32_t* BitmapStore::Intern(std::span<const uint32_t> bitmap) {
  std::lock_guard lock(mutex_);
  return InternLocked(bitmap);
}

std::span<const TokenId> BitmapStore::List(std::span<const TokenId> tokens) {
  std::lock_guard lock(mutex_);
  const auto [stored, list, added] = KeepIn(&memory_, tokens, &lists_);
  if (added) {
    *list = stored.data();
    bytes_ += tokens.size_bytes() + kListOverhead;
  }
  return {*list, tokens.size()};
}

const uint32_t* BitmapStore::InternLocked(std::span<const uint32_t> bitmap) {
  auto& same = by_hash_[MixBytes(MixSeed(), BytesOf(bitmap))];
  for (const uint32_t* known : same) {
    if (std::memcmp(known, bitmap.data(), words_ * 4) == 0) return known;
  }
  auto* stored = memory_.Allocate<uint32_t>(words_);
  std::memcpy(stored, bitmap.data(), words_ * 4);
  same.push_back(stored);
  bytes_ += words_ * 4 + kKeyOverhead;
  return stored;
}

}  // namespace grammask::internal
