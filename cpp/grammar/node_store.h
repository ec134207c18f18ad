// Where the nodes of a grammar live: hash-consed, in arenas, addressed by NodeId.
#ifndef GRAMMASK_GRAMMAR_NODE_STORE_H_
#define GRAMMASK_GRAMMAR_NODE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash_slots.h"
#include "base/scratch.h"
#include "base/tables.h"
#include "grammar/ast.h"

namespace grammask::internal {

// One stored node, 16 bytes. What `data` points to depends on the kind.
struct StoredNode {
  NodeKind kind;
  bool regular;
  uint32_t size = 0;           // children, bytes of text, or the rule's id
  const void* data = nullptr;  // NodeId[], char[], ByteSet, CodePointSet, RepeatData, Multiple,
                               // TokenSet; null for kNothing, kEmpty and kRule. kMembers:
                               // `size` words, see EncodeMembers; kRecord likewise. kStandard: the
                               // Grammar itself, not a copy
};

// The words of a kMembers node: children, uses, min, max, conditions, number of children.
ScratchVector<uint32_t> EncodeMembers(const Members& members);
// The words of a kRecord node: children, required, ends of keys, keys, may_be_empty, number of
// children.
ScratchVector<uint32_t> EncodeRecord(const Record& record);

struct RepeatData {
  int64_t min, max;
  NodeId child;
};

// Memory that is handed out in pieces and freed as a whole. Pieces never move.
class NodeArena {
 public:
  // `bytes` of memory aligned for any of the above.
  void* Allocate(size_t bytes) {
    const size_t words = (bytes + 7) / 8;
    if (words > words_left_) Refill(words);
    uint64_t* const piece = next_;
    next_ += words;
    words_left_ -= words;
    return piece;
  }
  // Makes the next block exactly so large: of a grammar that may be kept for long.
  void Reserve(size_t bytes);
  size_t memory_bytes() const { return memory_bytes_; }

 private:
  void Refill(size_t words);
  void AddBlock(size_t words, bool from_reserve);

  struct Giver {
    size_t bytes;
    bool from_reserve;
    void operator()(uint64_t* block) const { FreeTable(block, bytes, from_reserve); }
  };
  std::vector<std::unique_ptr<uint64_t[], Giver>> blocks_;
  uint64_t* next_ = nullptr;
  size_t words_left_ = 0;
  size_t memory_bytes_ = 0;
};

// The nodes, and what they point to. Views stay valid as long as the storage lives, however many
// nodes are added and also when the storage object is moved.
class NodeStorage {
 public:
  size_t size() const { return nodes_.size(); }
  const StoredNode& stored(NodeId id) const { return nodes_[id.value]; }
  NodeView View(NodeId id) const;
  inline std::span<const NodeId> Children(NodeId id) const;
  size_t memory_bytes() const;

  // Appends a node; copies what it points to. No hash-consing.
  NodeId Append(const StoredNode& node);
  // The same for a node that is all told by its `bytes` of contents.
  NodeId AppendContents(const StoredNode& node, size_t bytes) {
    nodes_.push_back(node);
    nodes_.back().data = std::memcpy(arena_.Allocate(bytes), node.data, bytes);
    return NodeId(static_cast<uint32_t>(nodes_.size() - 1));
  }
  // As Append, with child and rule ids replaced.
  NodeId AppendMapped(const StoredNode& node, std::span<const NodeId> node_map,
                      std::span<const RuleId> rule_map);
  // Reserves for so many nodes and arena bytes.
  void Reserve(size_t nodes, size_t payload_bytes);
  // The arena bytes that a copy of the node takes.
  static size_t PayloadBytes(const StoredNode& node);

 private:
  TableVector<StoredNode> nodes_;
  NodeArena arena_;
  std::vector<std::unique_ptr<CodePointSet>> character_sets_;
  std::vector<std::unique_ptr<TokenSet>> token_sets_;
};

std::span<const NodeId> NodeStorage::Children(NodeId id) const {
  const StoredNode& n = nodes_[id.value];
  switch (n.kind) {
    case NodeKind::kSequence:
    case NodeKind::kChoice:
    case NodeKind::kAnd:
    case NodeKind::kNot:
      return {static_cast<const NodeId*>(n.data), n.size};
    case NodeKind::kRepeat:
      return {&static_cast<const RepeatData*>(n.data)->child, 1};
    case NodeKind::kMembers:
    case NodeKind::kRecord: {
      const auto* words = static_cast<const NodeId*>(n.data);
      return {words, words[n.size - 1].value};
    }
    default:
      return {};
  }
}

// A NodeStorage in which equal nodes have equal ids.
class NodeStore {
 public:
  NodeStore();
  // The id of the node equal to `node`, added where there is none; `node.regular` is not compared.
  // What it points to is copied when added, and may be the caller's.
  NodeId Intern(const StoredNode& node);
  const NodeStorage& storage() const { return storage_; }

 private:
  NodeStorage storage_;
  HashSlots ids_{kFirstNodes};
  uint64_t seed_;  // of hashes

  static constexpr size_t kFirstNodes = 128;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_NODE_STORE_H_
