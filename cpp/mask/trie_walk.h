// The one walk of a trie of tokens in step with the parser.
#ifndef GRAMMASK_MASK_TRIE_WALK_H_
#define GRAMMASK_MASK_TRIE_WALK_H_

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "parser/set_table.h"
#include "vocab/trie.h"
#include "vocab/trie_alphabets.h"

namespace grammask::internal {

// Characters of which a set can read `most` in any order, and not be dead. (Of a loop without end
// it is then the same set again.)
struct WalkLoop {
  Alphabet alphabet;
  uint64_t most = 0;
};

// The loop of `set`; `loops`: it is known to lead to itself by some byte. As far as its bytes have
// been stepped, so that it may turn out larger later.
WalkLoop LoopOf(SetTable& sets, SetId set, bool loops);

// What a step from a set reads, kept at hand.
struct WalkLevel {
  const uint16_t* class_of;
  std::atomic<uint32_t>* targets;
  SetId set;
  // Of a node with many children in a set that reads few bytes: the children, those bytes from the
  // next on, and where the node's subtree ends.
  const uint32_t* children;
  const uint8_t* next_byte;
  const uint8_t* end_bytes;
  uint32_t end;
};

// What is kept between walks: the path, and the loops of sets met lately.
struct WalkScratch {
  static constexpr size_t kLoops = 64;
  static constexpr uint32_t kWorthALook = 16;    // nodes below one
  static constexpr uint32_t kWorthJumping = 64;  // the same
  struct Known {
    SetId set;
    bool loops = false;
    WalkLoop loop;
  };
  std::vector<WalkLevel> levels;
  Known known[kLoops];  // by set id; Dead() is none

  // Whether the parser, in `to` at node `i`, takes all that is below; `loops`: it was in `to`
  // before the last byte, too.
  bool TakesAll(std::span<const TrieNode> nodes, const TrieAlphabets& alphabets, uint32_t i,
                SetTable& sets, SetId to, bool loops) {
    Known& entry = known[to.value % kLoops];
    const TrieNode& node = nodes[i];
    if (entry.set != to ||
        (loops &&
         (!entry.loops || (node.byte < 0x80 && !entry.loop.alphabet.Contains(node.byte))))) {
      if (!loops && node.end - i < kWorthALook) return false;
      entry = {to, loops, LoopOf(sets, to, loops)};
    }
    return alphabets.below(i).IsWithin(entry.loop.alphabet) &&
           alphabets.deepest(i) - node.depth <= entry.loop.most;
  }
};

// Walks nodes [first, end) of a preorder trie, all those below node first - 1, of depth `depth`,
// which leads to the parser state `start`. For each node that the parser can reach it calls
// visit(index, set), in preorder. A prefix that the parser refuses is skipped with all that begins
// with it. Where `alphabets` (of this trie) tell that the parser loops on all that is below a node,
// it calls whole(index, set) for the node instead, and is done with all that begins with it: the
// parser is not dead after any of these texts. About 4 ns a node tried.
template <class Visit, class Whole>
void WalkTrie(std::span<const TrieNode> nodes, const TrieAlphabets* alphabets, uint32_t first,
              uint32_t end, uint32_t depth, SetTable& sets, SetId start, WalkScratch* scratch,
              Visit&& visit, Whole&& whole) {
  std::vector<WalkLevel>& levels = scratch->levels;
  auto enter = [&](uint32_t level, SetId set, uint32_t i) {
    if (level >= levels.size()) levels.resize(level + 16);
    const SetBody& body = sets.Body(set);
    WalkLevel& here = levels[level];
    here.class_of = body.classes->class_of;
    here.targets = body.targets;
    here.set = set;
    here.children = nullptr;
    if (alphabets == nullptr || nodes[i].end - i < WalkScratch::kWorthJumping) return;
    const std::span<const uint8_t> few = body.classes->few;
    if (few.empty()) return;
    here.children = alphabets->children(i);
    here.next_byte = few.data();
    here.end_bytes = few.data() + few.size();
    here.end = nodes[i].end;
  };
  if (first >= end) return;
  enter(0, start, first - 1);
  for (uint32_t i = first; i < end;) {
    const uint32_t level = nodes[i].depth - depth;  // 1 for the children of the prefix
    WalkLevel& from = levels[level - 1];
    if (from.children != nullptr) {
      uint32_t child = 0;
      for (; child == 0 && from.next_byte != from.end_bytes; ++from.next_byte) {
        child = from.children[*from.next_byte];
      }
      if (child == 0) {
        i = from.end;
        continue;
      }
      i = child;
    }
    const TrieNode& node = nodes[i];
    const uint16_t c = from.class_of[node.byte];
    if (c == 0) {
      i = node.end;
      continue;
    }
    uint32_t to = from.targets[c - 1].load(std::memory_order_acquire);
    if (to == SetTable::kNotYet) [[unlikely]] {
      to = sets.Step(from.set, node.byte).value;
    }
    if (to == 0) {
      i = node.end;
      continue;
    }
    if (node.leaf) {
      visit(i, SetId(to));
      ++i;
      continue;
    }
    if (alphabets != nullptr &&
        scratch->TakesAll(nodes, *alphabets, i, sets, SetId(to), to == from.set.value)) {
      whole(i, SetId(to));
      i = node.end;
      continue;
    }
    visit(i, SetId(to));
    enter(level, SetId(to), i);
    ++i;
  }
}

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_TRIE_WALK_H_
