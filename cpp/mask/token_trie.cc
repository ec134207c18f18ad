// Pairs of byte string and token to a preorder trie.
//
// Sorted strings come in preorder, so each string adds the nodes past what it shares with the one
// before. From ("a",1), ("ab",2), ("ac",3) come the nodes "", a, ab, ac. Cost: the sort, in which
// the first eight bytes of a string are mostly all that is compared.
// Tests: tests/mask/token_trie_test.cc.
#include "mask/token_trie.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "base/sorted.h"

namespace grammask::internal {
namespace {

using Entry = std::pair<std::string_view, TokenId>;

uint8_t FirstByte(std::string_view text) {
  return text.empty() ? 0 : static_cast<uint8_t>(text[0]);
}

// First into buckets by the first byte: a comparison is guessed wrong half of the time.
void Sort(std::vector<Entry>* entries) {
  struct Keyed {
    uint64_t head;
    Entry entry;
  };
  std::array<uint32_t, 257> begins{};  // of buckets
  for (const Entry& entry : *entries) ++begins[FirstByte(entry.first) + 1u];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::array<uint32_t, 256> next;
  std::copy_n(begins.begin(), next.size(), next.begin());
  std::vector<Keyed> keyed(entries->size());
  for (const Entry& entry : *entries) {
    keyed[next[FirstByte(entry.first)]++] = {FirstEight(entry.first), entry};
  }
  for (size_t b = 0; b < next.size(); ++b) {
    std::ranges::sort(std::span(keyed).subspan(begins[b], next[b] - begins[b]),
                      [](const Keyed& x, const Keyed& y) {
                        return x.head != y.head ? x.head < y.head : x.entry < y.entry;
                      });
  }
  std::ranges::transform(keyed, entries->begin(), &Keyed::entry);
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
