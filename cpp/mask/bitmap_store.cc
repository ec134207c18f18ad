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
constexpr size_t kWordsAToken = 4;  // of a bitmap, added in the time in which two tokens are

}  // namespace

// Begins with all tokens or none, whichever is closer. Where a block is closer to the other, that
// is what it begins with. Then what tokens are missing are added or taken out one by one.
std::vector<uint32_t> BitmapStore::BitsOfRuns(std::span<const TokenRun> runs) const {
  size_t total = 0;
  for (const TokenRun& run : runs) total += run.last - run.first;
  const bool most = 2 * total > tokens_.size();
  std::vector<uint32_t> bits(words_);
  if (most) std::ranges::copy(all_, bits.begin());
  const size_t size = blocks_.empty() ? tokens_.size() : blocks_.block_size();
  for (size_t from = 0, next = 0; from < tokens_.size(); from += size) {
    const size_t to = std::min(from + size, tokens_.size());
    while (next < runs.size() && runs[next].last <= from) ++next;
    size_t end = next, count = 0;  // of runs that have tokens of the block
    for (; end < runs.size() && runs[end].first < to; ++end) {
      count += std::min<size_t>(runs[end].last, to) - std::max<size_t>(runs[end].first, from);
    }
    bool begun = most;  // with all of the block
    const size_t one_by_one = most ? to - from - count : count;
    if (!blocks_.empty() && 2 * one_by_one > to - from + words_ / kWordsAToken) {
      const std::span<const uint32_t> block = blocks_.block(from / size);
      for (size_t w = 0; w < words_; ++w) bits[w] ^= block[w];
      begun = !most;
    }
    size_t i = from;
    for (const TokenRun& run : runs.subspan(next, end - next)) {
      const size_t first = std::max<size_t>(run.first, from), last = std::min<size_t>(run.last, to);
      if (begun) {
        for (; i < first; ++i) ClearBit(bits.data(), tokens_[i]);
      } else {
        for (i = first; i < last; ++i) SetBit(bits.data(), tokens_[i]);
      }
      i = last;
    }
    for (; begun && i < to; ++i) ClearBit(bits.data(), tokens_[i]);
  }
  return bits;
}

const uint32_t* BitmapStore::OfRuns(std::span<const TokenRun> runs) {
  const bool few = runs.size() <= kMaxKeyRuns;
  if (few) {
    std::lock_guard lock(mutex_);
    if (const auto* known = by_runs_.Find(BytesOf(runs))) return *known;
  }
  const std::vector<uint32_t> bits = BitsOfRuns(runs);
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
  std::vector<uint32_t> bits = BitsOfRuns(runs);
  for (TokenId t : others) SetBit(bits.data(), t);
  return Intern(bits);
}

const uint32_t* BitmapStore::Union(std::span<const uint32_t* const> bitmaps) {
  std::vector<const uint32_t*> key(bitmaps.begin(), bitmaps.end());
  std::ranges::sort(key);
  const std::span<const uint32_t* const> parts(key);
  std::lock_guard lock(mutex_);
  if (const auto* known = unions_.Find(BytesOf(parts))) return *known;
  std::vector<uint32_t> bits(words_);
  for (const uint32_t* bitmap : key) {
    for (size_t w = 0; w < words_; ++w) bits[w] |= bitmap[w];
  }
  const uint32_t* found = InternLocked(bits);
  bytes_ += key.size() * 8 + kKeyOverhead;
  unions_[BytesOf(memory_.Copy(parts))] = found;
  return found;
}

const uint32_t* BitmapStore::Intern(const std::vector<uint32_t>& bitmap) {
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

const uint32_t* BitmapStore::InternLocked(const std::vector<uint32_t>& bitmap) {
  auto& same = by_hash_[MixBytes(MixSeed(), BytesOf(std::span<const uint32_t>(bitmap)))];
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
