// Pairs of byte string and token to a preorder trie.
//
// Sorted strings come in preorder, so each string adds the nodes past what it shares with the one
// before. From ("a",1), ("ab",2), ("ac",3) come the nodes "", a, ab, ac. Cost: the sort, in which
// the first eight bytes of a string are mostly all that is compared.
// Tests: tests/mask/token_trie_test.cc.
#include "mask/token_trie.h"

#include <algorithm>

namespace grammask::internal {
namespace {

using Entry = std::pair<std::string_view, TokenId>;

// The first eight bytes, as a number that orders as they do.
uint64_t Head(std::string_view text) {
  uint64_t head = 0;
  for (size_t i = 0; i < 8; ++i)
    head = head << 8 | (i < text.size() ? static_cast<uint8_t>(text[i]) : 0);
  return head;
}

void Sort(std::vector<Entry>* entries) {
  struct Keyed {
    uint64_t head;
    Entry entry;
  };
  std::vector<Keyed> keyed;
  keyed.reserve(entries->size());
  for (const Entry& entry : *entries) keyed.push_back({Head(entry.first), entry});
  std::ranges::sort(keyed, [](const Keyed& x, const Keyed& y) {
    return x.head != y.head ? x.head < y.head : x.entry < y.entry;
  });
  std::ranges::transform(keyed, entries->begin(), &Keyed::entry);
}

}  // namespace

TokenTrie BuildTokenTrie(std::vector<std::pair<std::string_view, TokenId>> entries) {
  TokenTrie trie;
  if (entries.empty()) return trie;
  if (!std::ranges::is_sorted(entries)) Sort(&entries);
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
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
    while (shared < std::min(text.size(), last.size()) && text[shared] == last[shared]) ++shared;
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
