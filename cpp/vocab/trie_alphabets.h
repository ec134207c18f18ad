// What occurs below a node of a trie, and where.
#ifndef GRAMMASK_VOCAB_TRIE_ALPHABETS_H_
#define GRAMMASK_VOCAB_TRIE_ALPHABETS_H_

#include <absl/container/flat_hash_map.h>

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "vocab/trie.h"

namespace grammask::internal {

// A set of ASCII characters and of first bytes of others in UTF-8.
struct Alphabet {
  static constexpr uint8_t kFirstLead = 0xC0;
  uint64_t low = 0, high = 0;  // bytes 0..63, 64..127
  // By first byte less kFirstLead. Of a subtree: there are such characters, the last maybe cut off.
  // Of a loop: it takes all characters that begin so.
  uint64_t leads = 0;
  // Of a subtree only: bytes that are no UTF-8, or the subtree begins inside a character.
  bool other = false;

  bool Contains(uint8_t ascii) const {
    return ((ascii < 64 ? low >> ascii : high >> (ascii - 64)) & 1) != 0;
  }
  int AsciiSize() const { return std::popcount(low) + std::popcount(high); }
  void Add(uint8_t ascii) { (ascii < 64 ? low : high) |= uint64_t{1} << (ascii & 63); }
  void AddLead(uint8_t byte) { leads |= uint64_t{1} << (byte - kFirstLead); }
  bool empty() const { return (low | high | leads) == 0; }
  bool IsWithin(const Alphabet& all) const {
    return ((low & ~all.low) | (high & ~all.high) | (leads & ~all.leads)) == 0 && !other;
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
  // The length of each text in the trie, by its place in the order of the trie (Trie::tokens).
  std::span<const uint16_t> lengths() const { return lengths_; }
  // The children of a node that has many, by their bytes (0: none); null for others.
  const uint32_t* children(uint32_t node) const {
    const auto it = wide_.find(node);
    return it == wide_.end() ? nullptr : children_.data() + it->second;
  }
  static constexpr uint32_t kManyChildren = 24;
  size_t memory_bytes() const {
    return alphabets_.capacity() * sizeof(Alphabet) +
           (id_.capacity() + deepest_.capacity() + lengths_.capacity()) * 2 +
           children_.capacity() * 4 + wide_.capacity() * 12;
  }

 private:
  std::vector<Alphabet> alphabets_;
  std::vector<uint16_t> id_;       // by node, an index of alphabets_
  std::vector<uint16_t> deepest_;  // by node
  std::vector<uint16_t> lengths_;  // by token
  std::vector<uint32_t> children_;
  absl::flat_hash_map<uint32_t, uint32_t> wide_;  // indexes of children_
};

}  // namespace grammask::internal

#endif  // GRAMMASK_VOCAB_TRIE_ALPHABETS_H_
