// The nodes of a vocabulary's trie at which a text leaves an alphabet.
#ifndef GRAMMASK_MASK_LEAVING_NODES_H_
#define GRAMMASK_MASK_LEAVING_NODES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "vocab/trie_alphabets.h"

namespace grammask::internal {

// For a walk that stays in one place as long as the characters of an alphabet come: it goes from
// one node that adds another byte to the next, and never looks at what lies between. Keeps the sets
// of nodes of the alphabets asked for lately, 34 KB each at 128,000 tokens. Not thread-safe.
class LeavingNodes {
 public:
  // The nodes that leave `stays`, among those behind whole characters; where `stays` has characters
  // beyond ASCII, also the ones that make a text no UTF-8. All that is not behind whole characters
  // lies below one of the nodes, or is inside a character of the alphabet. Null where these nodes
  // are so many that a walk of all is as short, or where too little is to be walked: each call adds
  // `nodes`, those below the node that it is for.
  std::shared_ptr<const NodeSet> Of(const TrieAlphabets& alphabets, const Alphabet& stays,
                                    uint32_t nodes);
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
    uint64_t walked = 0;
    uint64_t used = 0;  // when
    bool looked = false;
    std::shared_ptr<const NodeSet> nodes;
  };
  static constexpr size_t kKept = 8;

  std::array<Entry, kKept> entries_;
  uint64_t uses_ = 0;
  std::unique_ptr<NodeSet> broken_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_LEAVING_NODES_H_
