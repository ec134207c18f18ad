// The nodes of a vocabulary's trie at which a text leaves an alphabet.
#ifndef GRAMMASK_MASK_LEAVING_NODES_H_
#define GRAMMASK_MASK_LEAVING_NODES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/lately_used.h"
#include "vocab/trie_alphabets.h"

namespace grammask::internal {

// Characters of two and three bytes, some of those with certain first bytes.
struct SomeCharacters {
  uint64_t leads = 0;  // these first bytes, less Alphabet::kFirstLead
  // By first byte, ascending: of a last byte in 0x80..0xBF one word; of two, a word for the last
  // one by each byte before it.
  std::vector<uint64_t> last;
  friend bool operator==(const SomeCharacters&, const SomeCharacters&) = default;
};

// Nodes at which texts leave an alphabet.
class LeavingSet : public NodeSet {
 public:
  using NodeSet::NodeSet;
  // One of the nodes that is inside a character: the character's bytes before it, the second one 0
  // where there is none.
  struct Inside {
    uint32_t node;
    uint8_t lead, second;
    friend auto operator<=>(const Inside&, const Inside&) = default;
  };
  std::vector<Inside> inside;  // ascending
  size_t memory_bytes() const {
    return NodeSet::memory_bytes() + inside.capacity() * sizeof(Inside);
  }
  // The one that is `node`; null where there is none.
  const Inside* FindInside(uint32_t node) const {
    const auto it = std::ranges::lower_bound(inside, node, {}, &Inside::node);
    return it != inside.end() && it->node == node ? &*it : nullptr;
  }
};

// The sets of one vocabulary, for all walks of all compilers: those used last, up to a number of
// bytes, 34 KB each at 128,000 tokens. Thread-safe.
class LeavingStore {
 public:
  explicit LeavingStore(size_t most_bytes) : kept_(most_bytes) {}

  // That of an alphabet and `some` beside it (null for none); null where there is none.
  std::shared_ptr<const LeavingSet> Find(const Alphabet& stays, const SomeCharacters* some);
  // Keeps it and gives it back; where another thread was there before, that one's.
  std::shared_ptr<const LeavingSet> Keep(const Alphabet& stays, const SomeCharacters* some,
                                         std::shared_ptr<const LeavingSet> nodes);
  void SetMost(size_t bytes) { kept_.SetMost(bytes); }
  size_t memory_bytes() { return kept_.bytes(); }

 private:
  struct Key {
    Alphabet stays;
    SomeCharacters some;
    bool Is(const Alphabet& other, const SomeCharacters* beside) const {
      return stays == other && (beside != nullptr ? some == *beside : some.leads == 0);
    }
  };
  LatelyUsed<Key, LeavingSet> kept_;
};

// For a walk that stays in one place as long as the characters of an alphabet come: it goes from
// one node that adds another byte to the next, and never looks at what lies between. Has the sets
// of nodes of the alphabets asked for lately at hand. Not thread-safe.
class LeavingNodes {
 public:
  // Sets of nodes come from there, and go there, from now on; it must outlive this.
  void ShareWith(LeavingStore* store) { store_ = store; }
  // The nodes that leave `stays`, among those behind whole characters; where `stays` has characters
  // beyond ASCII, also the ones that make a text no UTF-8. All that is not behind whole characters
  // lies below one of the nodes, or is inside a character of the alphabet. Null where these nodes
  // are so many that a walk of all is as short, or where too little is to be walked for them to be
  // made, if they are not there: each call adds `nodes`, those below the node that it is for.
  std::shared_ptr<const LeavingSet> Of(const TrieAlphabets& alphabets, const Alphabet& stays,
                                       uint32_t nodes) {
    return Of({}, alphabets, stays, nullptr, nodes);
  }
  // The same where `some` (which Keep() gave; or null) stay as well, where `stays` has characters
  // beyond ASCII: nodes inside of characters that begin like one of these and are none are among
  // those that leave. `trie`: its nodes.
  std::shared_ptr<const LeavingSet> Of(std::span<const TrieNode> trie,
                                       const TrieAlphabets& alphabets, const Alphabet& stays,
                                       const SomeCharacters* some, uint32_t nodes);
  // The one object of this content, as long as this lives; null for none, and where too many are
  // kept.
  const SomeCharacters* Keep(SomeCharacters some);
  // Where a walk is worth it: nodes below one, and ASCII characters that stay.
  static constexpr uint32_t kWorth = 64;
  static constexpr int kWideLoop = 8;
  // A token that is passed over may end inside a character beyond ASCII: what that lacks, in bytes.
  static constexpr uint64_t kRestOfCharacter = 3;
  // Whether they are all that leaves `stays` below a node of this depth: lists are of nodes behind
  // whole characters, and where no character beyond ASCII is in `stays`, of the first ones of a
  // text.
  static bool HoldBelow(const TrieAlphabets& alphabets, const Alphabet& stays, uint32_t node,
                        uint32_t depth) {
    return alphabets.is_whole(node) && (stays.leads != 0 || alphabets.characters(node) == depth);
  }
  // Whether the text of one of these nodes is no UTF-8.
  bool IsBroken(const TrieAlphabets& alphabets, uint32_t node) {
    if (alphabets.is_whole(node)) return false;
    return broken_ != nullptr ? broken_->Has(node) : FindBroken(alphabets, node);
  }

 private:
  bool FindBroken(const TrieAlphabets& alphabets, uint32_t node);

  struct Entry {
    Alphabet stays;
    const SomeCharacters* some = nullptr;
    uint64_t walked = 0;
    uint64_t used = 0;  // when
    bool looked = false;
    std::shared_ptr<const LeavingSet> nodes;
  };
  static constexpr size_t kKept = 8;
  static constexpr size_t kMostSome = 256;

  LeavingStore* store_ = nullptr;
  std::array<Entry, kKept> entries_;
  uint64_t uses_ = 0;
  std::unique_ptr<NodeSet> broken_;
  std::deque<SomeCharacters> some_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_LEAVING_NODES_H_
