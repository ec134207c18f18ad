// The one walk of a trie of tokens in step with the parser.
#ifndef GRAMMASK_MASK_TRIE_WALK_H_
#define GRAMMASK_MASK_TRIE_WALK_H_

#include <absl/container/flat_hash_map.h>

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

// The alphabets of loops that counted ones are without their bound, by term.
using LooseAlphabets = absl::flat_hash_map<uint32_t, Alphabet>;

// The loop of `set`; `loops`: it is known to lead to itself by some byte. As far as its bytes have
// been stepped, so that it may turn out larger later. `known` is kept between calls.
WalkLoop LoopOf(SetTable& sets, SetId set, bool loops, LooseAlphabets* known);

// A set of one item that reads a text, byte by byte: which text, and what is then left.
struct LiteralRun {
  std::string_view text;
  bool json;            // as in a JSON string: each character may be spelled in another way
  size_t read = 0;      // bytes of `text`
  TermId tail;          // after the text
  RetId ret;            // of the item
  uint64_t completion;  // length of the shortest text that completes the item's term from here

  // False where the set is none such. (A text that is read in a captured value is not.)
  bool Begin(SetTable& sets, SetId set);
  // The next byte, where it is the only one but for a backslash.
  bool IsPlain() const {
    const auto b = static_cast<uint8_t>(text[read]);
    return !json || (b >= 0x20 && b != '"' && b != '\\');
  }
  // Whether a backslash may be read instead.
  bool MaySpell() const { return json && (static_cast<uint8_t>(text[read]) & 0xC0) != 0x80; }
  // After a byte: goes on with the tail where that begins with a text, too. False at the end.
  bool Next(SetTable& sets);
  // The set at this place.
  SetId Here(SetTable& sets) const;
};

// What walks ask of a set, kept at hand.
struct WalkSet {
  SetId set;               // Dead() is none
  bool text = false;       // see Set
  bool escaping = false;   // see Set
  bool looked = false;     // `loop` is known
  bool loops = false;      // as that of a set that leads to itself
  uint64_t completion = 0;  // of items in an unknown context: the longest of their shortest texts
  // Of its body; null where that was not asked for.
  const uint16_t* class_of = nullptr;
  std::atomic<uint32_t>* targets = nullptr;
  const uint8_t* few = nullptr;  // the bytes that it reads, where these are few
  const uint8_t* few_end = nullptr;
  WalkLoop loop;
};

// What a step from a node of the path reads.
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

// What is kept between walks of one SetTable: the path, and the sets met lately.
struct WalkScratch {
  static constexpr size_t kSets = 128;
  static constexpr uint32_t kWorthALook = 16;    // nodes below one
  static constexpr uint32_t kWorthJumping = 64;  // the same
  static constexpr uint32_t kNoChildren = 0;
  std::vector<WalkLevel> levels;
  LooseAlphabets loose;

  WalkSet& Of(SetTable& sets, SetId set) {
    WalkSet& at = known_[set.value % kSets];
    if (at.set != set) [[unlikely]] Meet(sets, set, &at);
    return at;
  }
  static void NeedBody(SetTable& sets, WalkSet* at) {
    if (at->class_of == nullptr) [[unlikely]] TakeBody(sets, at);
  }

  // Whether the parser, in the set `at` at node `i`, takes all that is below; `loops`: it was in
  // that set before the last byte, too.
  bool TakesAll(std::span<const TrieNode> nodes, const TrieAlphabets& alphabets, uint32_t i,
                SetTable& sets, WalkSet* at, bool loops) {
    const TrieNode& node = nodes[i];
    if (loops ? !at->loops || (node.byte < 0x80 && !at->loop.alphabet.Contains(node.byte))
              : !at->looked) {
      if (!loops && node.end - i < kWorthALook) return false;
      at->loop = LoopOf(sets, at->set, loops, &loose);
      at->looked = true;
      at->loops = loops;
    }
    return at->loop.most != 0 && alphabets.deepest(i) - node.depth <= at->loop.most &&
           alphabets.below(i).IsWithin(at->loop.alphabet);
  }

 private:
  static void Meet(SetTable& sets, SetId set, WalkSet* at);
  static void TakeBody(SetTable& sets, WalkSet* at);

  WalkSet known_[kSets];  // by set id
};

// Walks nodes [first, end) of a preorder trie, all those below node first - 1, of depth `depth`,
// which leads to the parser state `start`. For each node that the parser can reach it calls
// visit(index, WalkSet), in preorder. A prefix that the parser refuses is skipped with all that
// begins with it. Where `alphabets` (of this trie) tell that the parser loops on all that is below a
// node, it calls whole(index, WalkSet) for the node instead, and is done with all that begins with
// it: the parser is not dead after any of these texts. Of a node inside a text it calls
// inside(index, length of the shortest completion). About 4 ns a node tried.
template <class Visit, class Whole, class Inside>
void WalkTrie(std::span<const TrieNode> nodes, const TrieAlphabets* alphabets, uint32_t first,
              uint32_t end, uint32_t depth, SetTable& sets, SetId start, WalkScratch* scratch,
              Visit&& visit, Whole&& whole, Inside&& inside) {
  std::vector<WalkLevel>& levels = scratch->levels;
  auto enter = [&](uint32_t level, WalkSet& at, uint32_t i) {
    if (level >= levels.size()) [[unlikely]] levels.resize(level + 16);
    WalkScratch::NeedBody(sets, &at);
    WalkLevel& here = levels[level];
    here.class_of = at.class_of;
    here.targets = at.targets;
    here.set = at.set;
    here.children = nullptr;
    if (at.few == nullptr || alphabets == nullptr ||
        nodes[i].end - i < WalkScratch::kWorthJumping) {
      return;
    }
    here.children = alphabets->children(i);
    here.next_byte = at.few;
    here.end_bytes = at.few_end;
    here.end = nodes[i].end;
  };
  // Nothing more below node i at its level.
  auto close = [&](uint32_t level, uint32_t i) {
    if (level >= levels.size()) levels.resize(level + 16);
    levels[level] = {nullptr, nullptr, SetTable::Dead(), &WalkScratch::kNoChildren,
                     nullptr, nullptr, nodes[i].end};
  };
  // Goes below node i, where the parser is in `set`, which reads a text; the node to go on with.
  auto descend = [&](uint32_t i, SetId set) {
    const uint32_t top_end = nodes[i].end;
    LiteralRun run;
    while (run.Begin(sets, set)) {
      while (true) {
        // At node i, run.read bytes read: the children for its next byte and for a backslash.
        const uint32_t level = nodes[i].depth - depth;
        const bool spelled = run.MaySpell();
        const auto byte = static_cast<uint8_t>(run.text[run.read]);
        bool plain = run.IsPlain();
        uint32_t child = 0;
        if (plain) {
          const uint32_t* children =
              alphabets != nullptr && nodes[i].end - i >= WalkScratch::kWorthJumping
                  ? alphabets->children(i)
                  : nullptr;
          if (children != nullptr) {
            child = children[byte];
            plain = !spelled || children['\\'] == 0;
          } else {
            for (uint32_t c = i + 1; c < nodes[i].end; c = nodes[c].end) {
              if (nodes[c].byte == byte) child = c;
              if (spelled && nodes[c].byte == '\\') plain = false;
              if (nodes[c].byte >= byte && nodes[c].byte >= '\\') break;
            }
          }
        }
        if (!plain) {
          enter(level, scratch->Of(sets, run.Here(sets)), i);
          return i + 1;
        }
        close(level, i);
        if (child == 0) return top_end;
        i = child;
        if (run.Next(sets)) {
          inside(i, run.completion);
          if (nodes[i].leaf) return top_end;
          continue;
        }
        set = run.Here(sets);
        break;
      }
      if (set == SetTable::Dead()) return top_end;
      WalkSet& at = scratch->Of(sets, set);
      if (!nodes[i].leaf && alphabets != nullptr &&
          scratch->TakesAll(nodes, *alphabets, i, sets, &at, false)) {
        whole(i, at);
        return top_end;
      }
      visit(i, at);
      if (nodes[i].leaf) return top_end;
    }
    enter(nodes[i].depth - depth, scratch->Of(sets, set), i);
    return i + 1;
  };
  if (first >= end) return;
  for (uint32_t i = descend(first - 1, start); i < end;) {
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
    WalkSet& at = scratch->Of(sets, SetId(to));
    if (node.leaf) {
      visit(i, at);
      ++i;
      continue;
    }
    if (alphabets != nullptr &&
        scratch->TakesAll(nodes, *alphabets, i, sets, &at, to == from.set.value)) {
      whole(i, at);
      i = node.end;
      continue;
    }
    visit(i, at);
    if (at.text) {
      i = descend(i, SetId(to));
    } else {
      enter(level, at, i);
      ++i;
    }
  }
}

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_TRIE_WALK_H_
