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

// The bytes on which `set` leads to itself, as far as it has been stepped; `characters` where all
// characters of UTF-8 beyond ASCII do (its steps are then made).
Alphabet LoopAlphabet(SetTable& sets, SetId set);

// What a step from a set reads, kept at hand.
struct WalkLevel {
  const uint16_t* class_of;
  std::atomic<uint32_t>* targets;
  SetId set;
};

// What is kept between walks: the path, and the loops of sets met lately.
struct WalkScratch {
  static constexpr size_t kLoops = 16;
  struct LoopOf {
    SetId set;
    Alphabet loop;
  };
  std::vector<WalkLevel> levels;
  LoopOf loops[kLoops];  // by set id; Dead() is none

  // The loop of `set` where it is known.
  const Alphabet* Find(uint32_t set) const {
    const LoopOf& entry = loops[set % kLoops];
    return entry.set.value == set ? &entry.loop : nullptr;
  }
  // The loop of `set`, which is known to loop on `byte`.
  const Alphabet& Learn(SetTable& sets, SetId set, uint8_t byte) {
    LoopOf& entry = loops[set.value % kLoops];
    if (entry.set != set || (byte < 0x80 && !entry.loop.Contains(byte))) {
      entry = {set, LoopAlphabet(sets, set)};
    }
    return entry.loop;
  }
};

// Walks nodes [first, end) of a preorder trie, all below a prefix of length `depth` that leads to
// the parser state `start`. For each node that the parser can reach it calls visit(index, set), in
// preorder. A prefix that the parser refuses is skipped with all that begins with it. Where
// `alphabets` (of this trie) tell that the parser loops on all that is below a node, it calls
// whole(index, set) for the node instead, and is done with all that begins with it: the parser is
// in `set` after each of these texts, or within a character that leads to it again. About 4 ns a
// node tried.
template <class Visit, class Whole>
void WalkTrie(std::span<const TrieNode> nodes, const TrieAlphabets* alphabets, uint32_t first,
              uint32_t end, uint32_t depth, SetTable& sets, SetId start, WalkScratch* scratch,
              Visit&& visit, Whole&& whole) {
  std::vector<WalkLevel>& levels = scratch->levels;
  auto enter = [&](uint32_t level, SetId set) {
    if (level >= levels.size()) levels.resize(level + 16);
    const SetBody& body = sets.Body(set);
    levels[level] = {body.classes->class_of, body.targets, set};
  };
  enter(0, start);
  for (uint32_t i = first; i < end;) {
    const TrieNode& node = nodes[i];
    const uint32_t level = node.depth - depth;  // 1 for the children of the prefix
    const WalkLevel& from = levels[level - 1];
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
    if (alphabets != nullptr) {
      const Alphabet* loop = to == from.set.value ? &scratch->Learn(sets, from.set, node.byte)
                                                  : scratch->Find(to);
      if (loop != nullptr && alphabets->below(i).IsWithin(*loop)) {
        whole(i, SetId(to));
        i = node.end;
        continue;
      }
    }
    visit(i, SetId(to));
    enter(level, SetId(to));
    ++i;
  }
}

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_TRIE_WALK_H_
