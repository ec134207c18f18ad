// What a small trie holds, for tests.
#ifndef GRAMMASK_TESTS_MASK_TRIE_CONTENT_H_
#define GRAMMASK_TESTS_MASK_TRIE_CONTENT_H_

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "mask/token_trie.h"

namespace grammask::internal {

// The tokens by their strings.
using TrieContent = std::map<std::string, std::set<TokenId>>;

// What the trie holds, read by its layout; checks the layout on the way.
inline TrieContent ContentOf(const TokenTrie& trie) {
  TrieContent content;
  std::string prefix;
  for (uint32_t i = 0; i < trie.node_count(); ++i) {
    const TrieNode& node = trie.nodes[i];
    if (i > 0) {
      EXPECT_GE(node.depth, 1);
      EXPECT_LE(node.depth, prefix.size() + 1);
      prefix.resize(node.depth - 1u);
      prefix += static_cast<char>(node.byte);
    }
    EXPECT_EQ(node.leaf != 0, node.end == i + 1);
    EXPECT_LE(node.end, trie.node_count());
    EXPECT_TRUE(node.end == trie.node_count() || trie.nodes[node.end].depth <= node.depth);
    // Siblings ascend.
    if (node.end < trie.node_count() && i > 0 && trie.nodes[node.end].depth == node.depth) {
      EXPECT_LT(node.byte, trie.nodes[node.end].byte);
    }
    for (uint32_t t = node.tokens; t < trie.nodes[i + 1].tokens; ++t) {
      EXPECT_TRUE(content[prefix].insert(trie.tokens[t]).second) << "twice in one node";
    }
  }
  return content;
}

}  // namespace grammask::internal

#endif  // GRAMMASK_TESTS_MASK_TRIE_CONTENT_H_
