// The exact description of a recursive group of rules, by which its procedures are found again: see
// TermStore::FindGroup. A sequence of 64-bit words:
//   rules, nodes, the body of each rule (a reference); then each node, children first:
//   kind, children, what the kind needs (below), each child (a reference).
#ifndef GRAMMASK_AUTOMATON_RECURSIVE_GROUP_H_
#define GRAMMASK_AUTOMATON_RECURSIVE_GROUP_H_

#include <cstdint>
#include <span>
#include <utility>

#include "base/ids.h"
#include "base/mix.h"
#include "base/scratch.h"
#include "grammar/ast.h"

namespace grammask::internal {

// A description with its hash. Refers to the words.
struct GroupName {
  std::span<const uint64_t> words;
  uint64_t hash;
  explicit GroupName(std::span<const uint64_t> description)
      : words(description), hash(TextHash()(BytesOf(description))) {}
  friend bool operator==(const GroupName& x, const GroupName& y) {
    return x.hash == y.hash && BytesOf(x.words) == BytesOf(y.words);
  }
  template <class H>
  friend H AbslHashValue(H h, const GroupName& name) {
    return H::combine(std::move(h), name.hash);
  }
};

// A reference is a node of the group, as its index * 2, or a term, as its id * 2 + 1.
inline bool IsTerm(uint64_t reference) { return (reference & 1) != 0; }

struct GroupNode {
  NodeKind kind;                   // kSequence, kChoice, kRepeat, kRule, kMembers or kRecord
  int64_t min = 0, max = 0;        // kRepeat, kMembers: two words
  uint32_t conditions = 0;         // kMembers: the next
  std::span<const uint64_t> uses;  // kMembers: for each child but two, as MembersView::uses()
  uint64_t rule = 0;               // kRule: its position in the group; one word
  // kRecord: RecordView::words(); how many they are, and then two to a word, the first lower.
  ScratchVector<uint32_t> record = {};
  std::span<const uint64_t> children;
};

// Moves on over the node at `words[*at]`. Of well-formed words only.
inline void SkipGroupNode(std::span<const uint64_t> words, size_t* at) {
  const auto kind = static_cast<NodeKind>(words[*at]);
  const auto children = static_cast<size_t>(words[*at + 1]);
  *at += 2;
  if (kind == NodeKind::kRepeat) *at += 2;
  if (kind == NodeKind::kMembers) *at += 1 + children;
  if (kind == NodeKind::kRule) ++*at;
  if (kind == NodeKind::kRecord) *at += 1 + (static_cast<size_t>(words[*at]) + 1) / 2;
  *at += children;
}

class SavedPool;

// A group as a store keeps it.
struct RecursiveGroup {
  std::span<const uint64_t> words;  // its description; of a pool's group none until asked for
  std::span<const ProcId> procs;    // by rule
  SavedPool* pool = nullptr;        // of what a trusted file has, which is read node by node
  uint32_t pool_group = 0;          // its number there
  bool is_busy = false;             // a body is being made
  // By node, once a body has been made: where it begins in the words, and its term, Nothing() as
  // long as it has none.
  std::span<const uint32_t> places = {};
  std::span<TermId> made = {};
  TermId term(uint64_t reference) const {
    const auto value = static_cast<uint32_t>(reference >> 1);
    return IsTerm(reference) ? TermId(value) : made[value];
  }
};

// A view into `node`, a kRecord.
inline RecordView RecordOf(const GroupNode& node) {
  return {node.record.data(), node.children.size() - RecordView::kFixed};
}

// Appends words of a kRecord as they stand in a description.
inline void PackRecord(std::span<const uint32_t> record, ScratchVector<uint64_t>* words) {
  words->push_back(record.size());
  for (size_t i = 0; i < record.size(); i += 2) {
    const uint64_t high = i + 1 < record.size() ? record[i + 1] : 0;
    words->push_back(high << 32 | record[i]);
  }
}

// Reads the node at `words[*at]` and moves on. Of well-formed words only.
inline GroupNode ReadGroupNode(std::span<const uint64_t> words, size_t* at) {
  GroupNode node{static_cast<NodeKind>(words[*at])};
  const auto children = static_cast<size_t>(words[*at + 1]);
  *at += 2;
  if (node.kind == NodeKind::kRepeat || node.kind == NodeKind::kMembers) {
    node.min = static_cast<int64_t>(words[*at]);
    node.max = static_cast<int64_t>(words[*at + 1]);
    *at += 2;
  }
  if (node.kind == NodeKind::kMembers) {
    node.conditions = static_cast<uint32_t>(words[*at]);
    node.uses = words.subspan(*at + 1, children - 2);
    *at += children - 1;
  } else if (node.kind == NodeKind::kRule) {
    node.rule = words[(*at)++];
  } else if (node.kind == NodeKind::kRecord) {
    node.record.resize(static_cast<size_t>(words[(*at)++]));
    for (size_t i = 0; i < node.record.size(); i += 2) {
      const uint64_t two = words[(*at)++];
      node.record[i] = static_cast<uint32_t>(two);
      if (i + 1 < node.record.size()) node.record[i + 1] = static_cast<uint32_t>(two >> 32);
    }
  }
  node.children = words.subspan(*at, children);
  *at += children;
  return node;
}

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_RECURSIVE_GROUP_H_
