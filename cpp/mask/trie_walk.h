// The one walk of a trie of tokens in step with the parser.
#ifndef GRAMMASK_MASK_TRIE_WALK_H_
#define GRAMMASK_MASK_TRIE_WALK_H_

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "parser/set_table.h"
#include "vocab/vocab.h"

namespace grammask::internal {

// What a step from a set reads, kept at hand.
struct WalkLevel {
  const uint16_t* class_of;
  std::atomic<uint32_t>* targets;
  SetId set;
};

// Walks nodes [first, end) of a preorder trie, all below a prefix of length `depth` that leads to
// the parser state `start`. For each node that the parser can reach it calls visit(index, set), in
// preorder. A prefix that the parser refuses is skipped with all that begins with it. About 4 ns a
// node tried. `stack` is scratch, reused between walks.
template <class Visit>
void WalkTrie(std::span<const TrieNode> nodes, uint32_t first, uint32_t end, uint32_t depth,
              SetTable& sets, SetId start, std::vector<WalkLevel>* stack, Visit&& visit) {
  auto enter = [&](uint32_t level, SetId set) {
    if (level >= stack->size()) stack->resize(level + 16);
    const SetBody& body = sets.Body(set);
    (*stack)[level] = {body.classes->class_of, body.targets, set};
  };
  enter(0, start);
  for (uint32_t i = first; i < end;) {
    const TrieNode& node = nodes[i];
    const uint32_t level = node.depth - depth;  // 1 for the children of the prefix
    const WalkLevel& from = (*stack)[level - 1];
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
    visit(i, SetId(to));
    if (!node.leaf) enter(level, SetId(to));
    ++i;
  }
}

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_TRIE_WALK_H_
