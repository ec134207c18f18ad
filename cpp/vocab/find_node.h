// Looking a text up in a vocabulary's trie.
#ifndef GRAMMASK_VOCAB_FIND_NODE_H_
#define GRAMMASK_VOCAB_FIND_NODE_H_

#include <cstdint>
#include <string_view>

#include "vocab/vocab.h"

namespace grammask::internal {

// The node below `from` by `text`, `from` itself for none; 0 where there is no such node. Time: a
// look-up a byte, or a search of fewer than TrieAlphabets::kManyChildren children.
inline uint32_t FindNode(const Vocab& vocab, uint32_t from, std::string_view text) {
  const auto nodes = vocab.nodes();
  for (const char c : text) {
    from = FindChild(nodes, vocab.alphabets().children(from), from, static_cast<uint8_t>(c));
    if (from == 0) return 0;
  }
  return from;
}

}  // namespace grammask::internal

#endif  // GRAMMASK_VOCAB_FIND_NODE_H_
