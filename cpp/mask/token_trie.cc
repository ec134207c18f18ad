// Pairs of byte string and token to a preorder trie.
//
// Sorted strings come in preorder, so each string adds the nodes past what it shares with the one
// before. From ("a",1), ("ab",2), ("ac",3) come the nodes "", a, ab, ac. Cost: 50 ns a string, half
// of it the sort, in which the first eight bytes are mostly all that is compared, and strings that
// come in a few runs in order are merged.
// Tests: tests/mask/token_trie_test.cc.
#include "mask/token_trie.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>
#include <vector>

#include "base/sorted.h"

namespace grammask::internal {
namespace {

using Entry = std::pair<std::string_view, TokenId>;

struct Keyed {
  uint64_t head;
  uint32_t entry;
  uint32_t shared = 0;  // bytes that it begins with as the one before it does
};

// By their heads: byte by byte from the last one on, each time into buckets, as comparisons are
// guessed wrong half of the time.
void SortByBuckets(std::vector<Keyed>* all) {
  constexpr int kBytes = 8;
  std::array<std::array<uint32_t, 256>, kBytes> counts{};
  for (const Keyed& k : *all) {
    for (int b = 0; b < kBytes; ++b) ++counts[b][k.head >> (8 * b) & 0xFF];
  }
  std::vector<Keyed> other(all->size());
  for (int b = 0; b < kBytes; ++b) {
    std::array<uint32_t, 256>& next = counts[b];
    if (next[all->front().head >> (8 * b) & 0xFF] == all->size()) continue;
    uint32_t begin = 0;
    for (uint32_t& n : next) begin += std::exchange(n, begin);
    for (const Keyed& k : *all) other[next[k.head >> (8 * b) & 0xFF]++] = k;
    all->swap(other);
  }
}

// By their heads, where that is so already of each of some runs of them: two at a time become one.
// `ends`: where runs end.
void MergeRuns(std::vector<size_t> ends, std::vector<Keyed>* all) {
  std::vector<Keyed> other(all->size());
  while (ends.size() > 1) {
    std::vector<size_t> merged;
    size_t begin = 0;
    for (size_t r = 0; r < ends.size(); r += 2) {
      const size_t end = ends[std::min(r + 1, ends.size() - 1)];
      const Keyed *a = all->data() + begin, *b = all->data() + ends[r];
      const Keyed *const a_end = b, *const b_end = all->data() + end;
      Keyed* out = other.data() + begin;
      while (a < a_end && b < b_end) {
        const bool second = b->head < a->head;
        *out++ = second ? *b : *a;
        b += static_cast<int>(second);
        a += static_cast<int>(!second);
      }
      std::copy(b, b_end, std::copy(a, a_end, out));
      merged.push_back(end);
      begin = end;
    }
    all->swap(other);
    ends = std::move(merged);
  }
}

// In the order of the entries.
std::vector<Keyed> Sorted(const std::vector<Entry>& entries) {
  constexpr size_t kWorthBuckets = 256, kFewRuns = 32;
  std::vector<Keyed> keyed(entries.size());
  std::vector<size_t> ends;  // of runs that are in order: the tokens below one node after another
  for (uint32_t i = 0; i < keyed.size(); ++i) {
    keyed[i] = {FirstEight(entries[i].first), i};
    if (i > 0 && keyed[i].head < keyed[i - 1].head) ends.push_back(i);
  }
  ends.push_back(keyed.size());
  if (keyed.size() < kWorthBuckets) {
    if (ends.size() > 1) std::ranges::sort(keyed, {}, &Keyed::head);
  } else if (ends.size() <= kFewRuns) {
    MergeRuns(std::move(ends), &keyed);
  } else {
    SortByBuckets(&keyed);
  }
  // What begins alike is compared in full.
  auto less = [&](const Keyed& x, const Keyed& y) { return entries[x.entry] < entries[y.entry]; };
  for (size_t i = 0, end = 0; i < keyed.size(); i = end) {
    while (end < keyed.size() && keyed[end].head == keyed[i].head) ++end;
    if (end - i > 1) std::ranges::sort(std::span(keyed).subspan(i, end - i), less);
  }
  return keyed;
}

uint32_t Shared(const Entry& x, const Entry& y, uint64_t x_head, uint64_t y_head) {
  const size_t shorter = std::min(x.first.size(), y.first.size());
  // Heads of short texts end in zeros, as texts may.
  const size_t shared = x_head == y_head
                            ? CommonPrefix(x.first, y.first)
                            : static_cast<size_t>(std::countl_zero(x_head ^ y_head)) / 8;
  return static_cast<uint32_t>(std::min(shared, shorter));
}

}  // namespace

TokenTrie BuildTokenTrie(const std::vector<std::pair<std::string_view, TokenId>>& entries) {
  TokenTrie trie;
  if (entries.empty()) return trie;
  std::vector<Keyed> keyed = Sorted(entries);
  size_t node_count = 1, longest = 0, kept = 0;
  for (size_t i = 0; i < keyed.size(); ++i) {
    Keyed k = keyed[i];
    const Entry& entry = entries[k.entry];
    if (kept > 0) {
      const Keyed& last = keyed[kept - 1];
      const Entry& before = entries[last.entry];
      k.shared = Shared(before, entry, last.head, k.head);
      const bool alike = k.shared == before.first.size() && k.shared == entry.first.size();
      if (alike && before.second == entry.second) continue;
    }
    node_count += entry.first.size() - k.shared;
    longest = std::max(longest, entry.first.size());
    keyed[kept++] = k;
  }
  keyed.resize(kept);
  trie.nodes.resize(node_count + 1);
  trie.tokens.resize(kept);
  TrieNode* const nodes = trie.nodes.data();
  nodes[0] = {0, 0, 0, 0, 0};
  std::vector<uint32_t> path(longest + 1);  // nodes from the root to the latest
  size_t depth = 0;
  uint32_t size = 1;
  auto close_to = [&](size_t shared) {
    for (; depth > shared; --depth) {
      TrieNode& node = nodes[path[depth]];
      node.end = size;
      node.leaf = size == path[depth] + 1;
    }
  };
  for (uint32_t t = 0; t < kept; ++t) {
    const auto& [text, token] = entries[keyed[t].entry];
    close_to(keyed[t].shared);
    while (depth < text.size()) {
      const auto byte = static_cast<uint8_t>(text[depth]);
      path[++depth] = size;
      nodes[size++] = {0, t, static_cast<uint16_t>(depth), byte, 0};
    }
    trie.tokens[t] = token;
  }
  close_to(0);
  nodes[0].end = size;
  nodes[size] = {size, static_cast<uint32_t>(kept), 0, 0, 1};
  return trie;
}

}  // namespace grammask::internal
