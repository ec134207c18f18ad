// Which bytes occur below a node of a trie.
#ifndef GRAMMASK_VOCAB_TRIE_ALPHABETS_H_
#define GRAMMASK_VOCAB_TRIE_ALPHABETS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "vocab/trie.h"

namespace grammask::internal {

// A set of ASCII bytes and of what else there is in texts.
struct Alphabet {
  uint64_t low = 0, high = 0;  // bytes 0..63, 64..127
  // Of a subtree: there are other characters, in well-formed UTF-8, the last maybe cut off. Of a
  // loop: it takes all of these.
  bool characters = false;
  // Of a subtree only: bytes that are no UTF-8, or the subtree begins inside a character.
  bool other = false;

  bool Contains(uint8_t ascii) const {
    return ((ascii < 64 ? low >> ascii : high >> (ascii - 64)) & 1) != 0;
  }
  void Add(uint8_t ascii) { (ascii < 64 ? low : high) |= uint64_t{1} << (ascii & 63); }
  bool IsWithin(const Alphabet& all) const {
    return ((low & ~all.low) | (high & ~all.high)) == 0 && (!characters || all.characters) &&
           !other;
  }
  friend bool operator==(const Alphabet&, const Alphabet&) = default;
};

// For every node of a trie, what occurs in the texts below it. A state that loops on a superset
// takes all of these texts, without a look at them. Immutable; safe to read from many threads.
class TrieAlphabets {
 public:
  TrieAlphabets() = default;
  // `nodes` as in Vocab::nodes(), the sentinel included. Time: linear.
  explicit TrieAlphabets(std::span<const TrieNode> nodes);

  // Of the bytes below `node`, its own not among them.
  const Alphabet& below(uint32_t node) const { return alphabets_[id_[node]]; }
  // The greatest length of a text below `node`, counted from the root.
  uint32_t deepest(uint32_t node) const { return deepest_[node]; }
  size_t memory_bytes() const {
    return alphabets_.capacity() * sizeof(Alphabet) + (id_.capacity() + deepest_.capacity()) * 2;
  }

 private:
  std::vector<Alphabet> alphabets_;
  std::vector<uint16_t> id_;       // by node, an index of alphabets_
  std::vector<uint16_t> deepest_;  // by node
};

}  // namespace grammask::internal

#endif  // GRAMMASK_VOCAB_TRIE_ALPHABETS_H_
