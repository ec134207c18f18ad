// The trie over a vocabulary's text tokens, as one flat array in preorder.
#ifndef GRAMMASK_VOCAB_TRIE_H_
#define GRAMMASK_VOCAB_TRIE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace grammask::internal {

// One node of the trie, in preorder: the nodes of a subtree are contiguous, so to refuse a prefix
// is to jump to `end`. Children stand in ascending order of their bytes; the first child of a node
// that has any is the next node, and the one after child c is nodes[c].end. 12 bytes.
struct TrieNode {
  uint32_t end;     // index one past the last node of this node's subtree
  uint32_t tokens;  // first index into Vocab::trie_tokens() of the tokens that end here; they end
                    // where those of the next node (index + 1) begin. Hence the tokens of the
                    // subtree of node i are [nodes[i].tokens, nodes[nodes[i].end].tokens)
  uint16_t depth;   // length of the prefix; 0 only for the root, node 0, and the sentinel
  uint8_t byte;     // last byte of the prefix; 0 for the root
  uint8_t leaf;     // 1 when the node has no children
};
static_assert(sizeof(TrieNode) == 12);

// The longest token that a trie can hold.
constexpr size_t kMaxTokenBytes = std::numeric_limits<decltype(TrieNode::depth)>::max();

struct Trie {
  // nodes[0] is the root; one sentinel follows the last node (its `end` is its own index and its
  // `tokens` is tokens.size()).
  std::vector<TrieNode> nodes;
  std::vector<TokenId> tokens;  // in trie order; ascending within a node
};

// With how many bytes both begin.
inline size_t CommonPrefix(std::string_view a, std::string_view b) {
  const size_t n = std::min(a.size(), b.size());
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + n, b.begin()).first - a.begin());
}

// The child of node `from` by a byte, or 0. `children`: the children by byte where they are known
// (TrieAlphabets::children), else null.
inline uint32_t FindChild(std::span<const TrieNode> nodes, const uint32_t* children, uint32_t from,
                          uint8_t byte) {
  if (children != nullptr) return children[byte];
  for (uint32_t c = from + 1; c < nodes[from].end && nodes[c].byte <= byte; c = nodes[c].end) {
    if (nodes[c].byte == byte) return c;
  }
  return 0;
}

// The trie of the tokens `ids`, where token i stands for the bytes decoded[i]: at least one and at
// most 65,535 bytes each, under 2^32 - 2 in all. `ids` ascend. Tokens of equal bytes share a node.
// Time: a sort of the tokens, then linear in their bytes.
Trie BuildTrie(std::span<const std::string> decoded, std::span<const TokenId> ids);

}  // namespace grammask::internal

#endif  // GRAMMASK_VOCAB_TRIE_H_
