// Pairs of byte string and token to a preorder trie.
//
// Sorted strings come in preorder, so each string adds the nodes past what it shares with the one
// before. From ("a",1), ("ab",2), ("ac",3) come the nodes "", a, ab, ac. Cost: the sort, in which
// the first eight bytes of a string are mostly all that is compared.
// Tests: tests/mask/token_trie_test.cc.
#include "mask/token_trie.h"

#include <algorithm>
#include <array>
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

void Sort(std::vector<Entry>* entries) {
  constexpr size_t kWorthBuckets = 256;
  std::vector<Keyed> keyed(entries->size());
  for (uint32_t i = 0; i < keyed.size(); ++i) keyed[i] = {FirstEight((*entries)[i].first), i};
  if (keyed.size() >= kWorthBuckets) {
    SortByBuckets(&keyed);
  } else {
    std::ranges::sort(keyed, {}, &Keyed::head);
  }
  // What begins alike is compared in full.
  auto less = [entries](const Keyed& x, const Keyed& y) {
    return (*entries)[x.entry] < (*entries)[y.entry];
  };
  for (size_t i = 0, end = 0; i < keyed.size(); i = end) {
    while (end < keyed.size() && keyed[end].head == keyed[i].head) ++end;
    if (end - i > 1) std::ranges::sort(std::span(keyed).subspan(i, end - i), less);
  }
  std::vector<Entry> sorted(keyed.size());
  std::ranges::transform(keyed, sorted.begin(),
                         [&](const Keyed& k) { return (*entries)[k.entry]; });
  *entries = std::move(sorted);
}

}  // namespace

TokenTrie BuildTokenTrie(std::vector<std::pair<std::string_view, TokenId>> entries) {
  TokenTrie trie;
  if (entries.empty()) return trie;
  if (!std::ranges::is_sorted(entries)) Sort(&entries);
  trie.nodes.reserve(entries.size() + 2);
  trie.tokens.reserve(entries.size());
  trie.nodes.push_back({0, 0, 0, 0, 0});
  std::vector<uint32_t> path = {0};  // nodes from the root to the latest
  auto close_to = [&](size_t depth) {
    while (path.size() > depth + 1) {
      TrieNode& node = trie.nodes[path.back()];
      node.end = static_cast<uint32_t>(trie.nodes.size());
      node.leaf = node.end == path.back() + 1;
      path.pop_back();
    }
  };
  std::string_view last;
  for (const auto& [text, token] : entries) {
    size_t shared = 0;
    const size_t shorter = std::min(text.size(), last.size());
    while (shared < shorter && text[shared] == last[shared]) ++shared;
    if (shared == text.size() && shared == last.size() && token == trie.tokens.back()) continue;
    close_to(shared);
    for (size_t i = shared; i < text.size(); ++i) {
      path.push_back(static_cast<uint32_t>(trie.nodes.size()));
      trie.nodes.push_back({0, static_cast<uint32_t>(trie.tokens.size()),
                            static_cast<uint16_t>(i + 1), static_cast<uint8_t>(text[i]), 0});
    }
    trie.tokens.push_back(token);
    last = text;
  }
  close_to(0);
  const auto count = static_cast<uint32_t>(trie.nodes.size());
  trie.nodes[0].end = count;
  trie.nodes.push_back({count, static_cast<uint32_t>(trie.tokens.size()), 0, 0, 1});
  return trie;
}

}  // namespace grammask::internal
