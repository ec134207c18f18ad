// What occurs below a node of a trie, and where.
#ifndef GRAMMASK_VOCAB_TRIE_ALPHABETS_H_
#define GRAMMASK_VOCAB_TRIE_ALPHABETS_H_

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/tables.h"
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
  bool HasLead(uint8_t byte) const { return (leads >> (byte - kFirstLead) & 1) != 0; }
  void AddLead(uint8_t byte) { leads |= uint64_t{1} << (byte - kFirstLead); }
  bool empty() const { return (low | high | leads) == 0; }
  bool IsWithin(const Alphabet& all) const {
    return ((low & ~all.low) | (high & ~all.high) | (leads & ~all.leads)) == 0 && !other;
  }
  friend bool operator==(const Alphabet&, const Alphabet&) = default;
};

class NodeSet;

// For every node of a trie, what occurs in the texts below it. A state that loops on a superset
// takes all of these texts, without a look at them. Immutable; safe to read from many threads.
class TrieAlphabets {
 public:
  TrieAlphabets() = default;
  // `nodes` as in Vocab::nodes(), the sentinel included. Time: linear.
  explicit TrieAlphabets(std::span<const TrieNode> nodes);

  // Without the sentinel.
  size_t node_count() const { return below_.empty() ? 0 : below_.size() - 1; }
  // Of the bytes below `node`, its own not among them.
  const Alphabet& below(uint32_t node) const { return alphabets_[below_[node].alphabet]; }
  // The greatest length of a text below `node`, counted from the root.
  uint32_t deepest(uint32_t node) const { return below_[node].deepest; }
  // How many nodes there are below or at which a text is longer than so many bytes.
  uint32_t count_deeper(uint64_t bytes) const {
    return bytes < deeper_.size() ? deeper_[bytes] : 0;
  }
  // The length of each text in the trie, by its place in the order of the trie (Trie::tokens), and
  // how many of its bytes begin a character: all but 0x80..0xBF.
  std::span<const uint16_t> lengths() const { return lengths_; }
  std::span<const uint16_t> characters() const { return characters_; }
  // The greatest of these among the kBlock texts, from a multiple of it on, that `place` is one of.
  struct Lengths {
    uint16_t bytes = 0, characters = 0;
  };
  static constexpr uint32_t kBlock = 64;
  const Lengths& block(uint32_t place) const { return blocks_[place / kBlock]; }
  // The greatest length among the texts [first, end), first <= end; 0 for none.
  uint16_t longest(uint32_t first, uint32_t end) const {
    uint16_t longest = 0;
    auto look = [&](uint32_t from, uint32_t to) {
      for (uint32_t t = from; t < to; ++t) longest = std::max(longest, lengths_[t]);
    };
    if (end - first < 2 * kBlock) {
      look(first, end);
      return longest;
    }
    const uint32_t whole = (first + kBlock - 1) / kBlock * kBlock, rest = end / kBlock * kBlock;
    look(first, whole);
    for (uint32_t t = whole; t < rest; t += kBlock) longest = std::max(longest, block(t).bytes);
    look(rest, end);
    return longest;
  }
  // How many characters the text of a node begins.
  uint32_t characters(uint32_t node) const { return node_characters_[node]; }
  // The nodes that add `byte`, which begins a character, to a text of whole characters: ascending.
  std::span<const uint32_t> adding(uint8_t byte) const {
    return std::span(adding_).subspan(first_adding_[byte],
                                      first_adding_[byte + size_t{1}] - first_adding_[byte]);
  }
  // The nodes whose text is no UTF-8 and their parents' is, the last character maybe cut off. What
  // is below these is in no list, and neither are the other bytes of characters.
  std::span<const uint32_t> broken() const { return adding(kNoLead); }
  // Of the nodes that add a first byte of a character beyond ASCII, those with ASCII alone before
  // it: ascending.
  std::span<const uint32_t> first_leads() const { return first_leads_; }
  // The nodes at which a text of whole characters of an alphabet goes on with another one, or is no
  // UTF-8 any more; where the alphabet has none beyond ASCII, all but some that are below others.
  // `some_leads`: where it has, first bytes that count as its own as well. The count is of nodes
  // that add a byte which the alphabet lacks.
  void AddLeaving(const Alphabet& all, uint64_t some_leads, NodeSet* nodes) const;
  size_t CountLeaving(const Alphabet& all, uint64_t some_leads) const;
  // The nodes at which tokens end inside a character, of which the rest could follow: ascending.
  std::span<const uint32_t> cut_off() const { return cut_off_; }
  // Whether the text of a node is UTF-8, and does not end inside a character.
  bool is_whole(uint32_t node) const { return (whole_[node / 64] >> (node % 64) & 1) != 0; }
  // Has the processor fetch what is known of a node.
  void Prefetch(uint32_t node) const { __builtin_prefetch(&below_[node]); }
  // The children of a node that has many, by their bytes (0: none); null for others.
  const uint32_t* children(uint32_t node) const {
    const auto it = wide_.find(node);
    return it == wide_.end() ? nullptr : children_.data() + it->second;
  }
  static constexpr uint32_t kManyChildren = 24;
  size_t memory_bytes() const {
    return alphabets_.capacity() * sizeof(Alphabet) +
           (lengths_.capacity() + characters_.capacity() + node_characters_.capacity()) * 2 +
           (below_.capacity() + blocks_.capacity() + deeper_.capacity() + children_.capacity() +
            adding_.capacity() + first_adding_.capacity() + first_leads_.capacity() +
            cut_off_.capacity()) *
               4 +
           whole_.capacity() * 8 + wide_.capacity() * 12;
  }

 private:
  static constexpr uint8_t kNoLead = 0xFF;  // a byte that begins no character

  void List(std::span<const uint16_t> places);
  template <class F>
  void ForEachLeaving(const Alphabet& all, uint64_t some_leads, const F& f) const;

  std::vector<Alphabet> alphabets_;
  // By node; both are asked for at once, at nodes that lie all over.
  struct Below {
    uint16_t alphabet = 0;  // an index of alphabets_
    uint16_t deepest = 0;
  };
  std::vector<Below> below_;
  std::vector<uint32_t> deeper_;   // by length
  std::vector<uint16_t> lengths_;  // by token
  std::vector<uint16_t> characters_;
  std::vector<Lengths> blocks_;
  std::vector<uint16_t> node_characters_;
  std::vector<uint32_t> adding_;        // nodes by byte
  std::vector<uint32_t> first_adding_;  // by byte: where its nodes begin, or would
  std::vector<uint32_t> first_leads_;
  std::vector<uint32_t> cut_off_;
  std::vector<uint64_t> whole_;  // a bit for each node
  std::vector<uint32_t> children_;
  absl::flat_hash_map<uint32_t, uint32_t> wide_;  // indexes of children_
};

// Some nodes of a trie.
class NodeSet {
 public:
  explicit NodeSet(size_t node_count) : count_(node_count), words_(node_count / 64 + 1) {}
  void Add(std::span<const uint32_t> nodes) {
    for (uint32_t i : nodes) words_[i / 64] |= uint64_t{1} << (i % 64);
  }
  size_t memory_bytes() const { return words_.capacity() * sizeof(words_[0]); }
  bool Has(uint32_t node) const { return (words_[node / 64] >> (node % 64) & 1) != 0; }
  // The first one from `from` on; the number of nodes where there is none.
  uint32_t Next(uint32_t from) const { return Next(from, static_cast<uint32_t>(count_)); }
  // The same as far as `end`, which is no greater than that: that or more where there is none
  // before.
  uint32_t Next(uint32_t from, uint32_t end) const {
    if (from >= end) return end;
    size_t w = from / 64;
    const uint64_t left = words_[w] >> (from % 64);
    if (left != 0) return from + static_cast<uint32_t>(std::countr_zero(left));
    for (const size_t words = (size_t{end} + 63) / 64; ++w < words;) {
      if (words_[w] == 0) continue;
      return static_cast<uint32_t>(w * 64) + static_cast<uint32_t>(std::countr_zero(words_[w]));
    }
    return end;
  }

 private:
  size_t count_;
  TableVector<uint64_t> words_;
};

// Goes through a set of nodes, and has the processor fetch those that come next: they lie all over,
// and each would be waited for.
class NodeCursor {
 public:
  NodeCursor(const NodeSet& set, std::span<const TrieNode> nodes, const TrieAlphabets& alphabets)
      : set_(&set), nodes_(nodes.data()), alphabets_(&alphabets) {}
  // NodeSet::Next, of the same `end` each time; `end` where there is none before.
  uint32_t Next(uint32_t from, uint32_t end) {
    const uint32_t next = std::min(set_->Next(from, end), end);
    if (ahead_ < next) ahead_ = next;
    for (int k = 0; k < 2 && ahead_ < next + kAhead; ++k) {
      ahead_ = set_->Next(ahead_ + 1, end);
      if (ahead_ >= end) break;
      __builtin_prefetch(&nodes_[ahead_]);
      alphabets_->Prefetch(ahead_);
    }
    return next;
  }

 private:
  static constexpr uint32_t kAhead = 512;  // nodes

  const NodeSet* set_;
  const TrieNode* nodes_;
  const TrieAlphabets* alphabets_;
  uint32_t ahead_ = 0;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_VOCAB_TRIE_ALPHABETS_H_
