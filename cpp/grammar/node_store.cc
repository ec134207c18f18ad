// Node contents to node ids: equal contents, equal id.
//
// A node is 16 bytes that point to its contents in an arena, and a flat table of ids, probed
// linearly by a hash of the contents, finds an equal node. For example the two sequences of
// `a ::= "x" b` and `c ::= "x" b` are one node, since their children are the same two ids.
// Cost: one hash and, mostly, one probe per node; no allocation but the arena's and the tables'.
// The hash is seeded per process, so that no input can be made to collide on purpose.
// Tests: tests/grammar/ast_test.cc.
#include "grammar/node_store.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/mix.h"

namespace grammask::internal {
namespace {

constexpr size_t kFirstBlockWords = 512;
constexpr size_t kLargestBlockWords = size_t{1} << 17;

template <class T>
const T& DataAs(const StoredNode& node) {
  return *static_cast<const T*>(node.data);
}

std::string_view RawBytes(const void* data, size_t bytes) {
  return {static_cast<const char*>(data), bytes};
}

// Bytes of contents for each unit of a node's size, where that is all there is to it.
constexpr uint8_t kElsewhere = 255;  // see OtherContents
constexpr uint8_t UnitBytes(NodeKind kind) {
  switch (kind) {
    case NodeKind::kBytes:
    case NodeKind::kJsonText:
      return 1;
    case NodeKind::kSequence:
    case NodeKind::kChoice:
    case NodeKind::kAnd:
    case NodeKind::kNot:
    case NodeKind::kMembers:
    case NodeKind::kRecord:
      return sizeof(NodeId);
    case NodeKind::kByteClass:
    case NodeKind::kClass:
    case NodeKind::kJsonClass:
    case NodeKind::kTokens:
      return kElsewhere;
    case NodeKind::kNothing:
    case NodeKind::kEmpty:
    case NodeKind::kRepeat:
    case NodeKind::kRule:
    case NodeKind::kMultiple:
    case NodeKind::kStandard:
      return 0;
  }
  return 0;
}
constexpr std::array<uint8_t, 18> kUnitBytes = [] {
  std::array<uint8_t, 18> units{};
  for (size_t i = 0; i < units.size(); ++i) units[i] = UnitBytes(static_cast<NodeKind>(i));
  return units;
}();
static_assert(static_cast<size_t>(NodeKind::kStandard) + 1 == kUnitBytes.size());

std::string_view OtherContents(const StoredNode& node) {
  switch (node.kind) {
    case NodeKind::kByteClass:
      return RawBytes(node.data, sizeof(ByteSet));
    case NodeKind::kClass:
    case NodeKind::kJsonClass: {
      auto ranges = DataAs<CodePointSet>(node).ranges();
      return RawBytes(ranges.data(), ranges.size_bytes());
    }
    case NodeKind::kTokens: {
      const auto& ids = DataAs<TokenSet>(node).ids;
      return RawBytes(ids.data(), ids.size() * sizeof(TokenId));
    }
    default:
      return {};
  }
}

// The bytes that, with kind and size, tell a node from all others. Repeats and multiples have
// padding or separate fields and are told apart by SmallFields instead.
inline std::string_view Contents(const StoredNode& node) {
  const uint8_t unit = kUnitBytes[static_cast<size_t>(node.kind)];
  return unit == kElsewhere ? OtherContents(node) : RawBytes(node.data, node.size * size_t{unit});
}

struct SmallFields {
  uint64_t a = 0, b = 0, c = 0;
  friend bool operator==(const SmallFields&, const SmallFields&) = default;
};

SmallFields FieldsOf(const StoredNode& node) {
  switch (node.kind) {
    case NodeKind::kRepeat: {
      const auto& r = DataAs<RepeatData>(node);
      return {static_cast<uint64_t>(r.min), static_cast<uint64_t>(r.max), r.child.value};
    }
    case NodeKind::kMultiple: {
      const auto& m = DataAs<Multiple>(node);
      return {m.modulus, m.scale, 0};
    }
    case NodeKind::kTokens:
      return {DataAs<TokenSet>(node).excluded, 0, 0};
    case NodeKind::kStandard:
      return {reinterpret_cast<uintptr_t>(node.data), 0, 0};
    default:
      return {};
  }
}

bool HasFields(NodeKind kind) {
  return kind == NodeKind::kRepeat || kind == NodeKind::kMultiple || kind == NodeKind::kTokens ||
         kind == NodeKind::kStandard;
}

bool SameNode(const StoredNode& x, const StoredNode& y) {
  return x.kind == y.kind && x.size == y.size && Contents(x) == Contents(y) &&
         (!HasFields(x.kind) || FieldsOf(x) == FieldsOf(y));
}

// What goes into the hash beside kind and size, where that is not plain contents.
uint64_t MixOther(uint64_t h, const StoredNode& node) {
  if (HasFields(node.kind)) {
    SmallFields f = FieldsOf(node);
    h = Mix(Mix(Mix(h, f.a), f.b), f.c);
  }
  return MixBytes(h, Contents(node));
}

}  // namespace

ScratchVector<uint32_t> EncodeMembers(const Members& m) {
  ScratchVector<uint32_t> words = {m.separator.value, m.end.value};
  for (const Members::Member& member : m.members) words.push_back(member.node.value);
  const auto children = static_cast<uint32_t>(words.size());
  for (const Members::Member& member : m.members) {
    words.push_back(MemberWord(member.use, member.meets, member.place));
  }
  for (int64_t bound : {m.min, m.max}) {
    words.push_back(static_cast<uint32_t>(bound));
    words.push_back(static_cast<uint32_t>(static_cast<uint64_t>(bound) >> 32));
  }
  words.push_back(m.conditions);
  words.push_back(children);
  return words;
}

ScratchVector<uint32_t> EncodeRecord(const Record& r) {
  ScratchVector<uint32_t> words;
  size_t text = 0;
  for (const Record::Member& member : r.members) text += member.key.size();
  words.reserve(RecordView::kFixed + 3 * r.members.size() + (text + 3) / 4 + 2);
  for (NodeId id : {r.open, r.end, r.quote, r.comma, r.comma_quote, r.quote_colon, r.colon, r.after,
                    r.any_key, r.other}) {
    words.push_back(id.value);
  }
  for (const Record::Member& member : r.members) words.push_back(member.value.value);
  const auto children = static_cast<uint32_t>(words.size());
  for (const Record::Member& member : r.members) words.push_back(member.required);
  uint32_t end = 0;
  for (const Record::Member& member : r.members) {
    end += static_cast<uint32_t>(member.key.size());
    words.push_back(end);
  }
  const size_t first = words.size();
  words.resize(first + (text + 3) / 4);
  auto* to = reinterpret_cast<char*>(words.data() + first);
  for (const Record::Member& member : r.members) {
    std::memcpy(to, member.key.data(), member.key.size());
    to += member.key.size();
  }
  words.push_back(r.may_be_empty);
  words.push_back(children);
  return words;
}

void NodeArena::Reserve(size_t bytes) {
  // As a table it would take more than it needs, unless it is small.
  if (bytes > 0) AddBlock((bytes + 7) / 8, bytes <= kLargestPiece);
}

void NodeArena::Refill(size_t words) {
  const size_t block =
      std::min(kFirstBlockWords << std::min<size_t>(blocks_.size(), 16), kLargestBlockWords);
  AddBlock(std::max(words, block), true);
}

void NodeArena::AddBlock(size_t words, bool from_reserve) {
  const size_t bytes = words * 8;
  std::unique_ptr<uint64_t[], Giver> block(
      static_cast<uint64_t*>(AllocateTable(bytes, from_reserve)), Giver{bytes, from_reserve});
  next_ = block.get();
  words_left_ = words;
  memory_bytes_ += bytes;
  blocks_.push_back(std::move(block));
}

NodeView NodeStorage::View(NodeId id) const {
  const StoredNode& n = nodes_[id.value];
  NodeView v{};
  v.kind = n.kind;
  v.regular = n.regular;
  switch (n.kind) {
    case NodeKind::kNothing:
    case NodeKind::kEmpty:
      break;
    case NodeKind::kBytes:
    case NodeKind::kJsonText:
      v.text = {static_cast<const char*>(n.data), n.size};
      break;
    case NodeKind::kByteClass:
      v.bytes = static_cast<const ByteSet*>(n.data);
      break;
    case NodeKind::kClass:
    case NodeKind::kJsonClass:
      v.characters = static_cast<const CodePointSet*>(n.data);
      break;
    case NodeKind::kRepeat:
      v.min = DataAs<RepeatData>(n).min;
      v.max = DataAs<RepeatData>(n).max;
      v.children = Children(id);
      break;
    case NodeKind::kSequence:
    case NodeKind::kChoice:
    case NodeKind::kAnd:
    case NodeKind::kNot:
      v.children = Children(id);
      break;
    case NodeKind::kRule:
      v.rule = RuleId(n.size);
      break;
    case NodeKind::kMultiple:
      v.multiple = DataAs<Multiple>(n);
      break;
    case NodeKind::kTokens:
      v.tokens = static_cast<const TokenSet*>(n.data);
      break;
    case NodeKind::kMembers: {
      v.children = Children(id);
      v.members = MembersView(static_cast<const uint32_t*>(n.data) + v.children.size(),
                              static_cast<uint32_t>(v.children.size() - 2));
      break;
    }
    case NodeKind::kRecord:
      v.children = Children(id);
      v.record = RecordView(static_cast<const uint32_t*>(n.data) + v.children.size(),
                            v.children.size() - RecordView::kFixed);
      break;
    case NodeKind::kStandard:
      v.standard = static_cast<const Grammar*>(n.data);
      break;
  }
  return v;
}

size_t NodeStorage::memory_bytes() const {
  size_t bytes = nodes_.capacity() * sizeof(StoredNode) + arena_.memory_bytes();
  for (const auto& set : character_sets_) {
    bytes += sizeof(set) + sizeof(*set) + set->ranges().size_bytes();
  }
  for (const auto& set : token_sets_) {
    bytes += sizeof(set) + sizeof(*set) + set->ids.capacity() * sizeof(TokenId);
  }
  return bytes;
}

void NodeStorage::Reserve(size_t nodes, size_t payload_bytes) {
  nodes_.reserve(nodes);
  if (payload_bytes > 0) arena_.Reserve(payload_bytes);
}

size_t NodeStorage::PayloadBytes(const StoredNode& node) {
  size_t bytes = 0;
  switch (node.kind) {
    case NodeKind::kRepeat:
      bytes = sizeof(RepeatData);
      break;
    case NodeKind::kMultiple:
      bytes = sizeof(Multiple);
      break;
    case NodeKind::kClass:
    case NodeKind::kJsonClass:
    case NodeKind::kTokens:
      break;  // outside the arena
    default:
      bytes = Contents(node).size();
      break;
  }
  return (bytes + 7) / 8 * 8;
}

NodeId NodeStorage::Append(const StoredNode& node) {
  StoredNode copy = node;
  if (node.kind == NodeKind::kClass || node.kind == NodeKind::kJsonClass) {
    character_sets_.push_back(std::make_unique<CodePointSet>(DataAs<CodePointSet>(node)));
    copy.data = character_sets_.back().get();
  } else if (node.kind == NodeKind::kTokens) {
    token_sets_.push_back(std::make_unique<TokenSet>(DataAs<TokenSet>(node)));
    copy.data = token_sets_.back().get();
  } else {
    size_t bytes = node.kind == NodeKind::kRepeat     ? sizeof(RepeatData)
                   : node.kind == NodeKind::kMultiple ? sizeof(Multiple)
                                                      : Contents(node).size();
    if (bytes > 0) copy.data = std::memcpy(arena_.Allocate(bytes), node.data, bytes);
  }
  nodes_.push_back(copy);
  return NodeId(static_cast<uint32_t>(nodes_.size() - 1));
}

NodeId NodeStorage::AppendMapped(const StoredNode& node, std::span<const NodeId> node_map,
                                 std::span<const RuleId> rule_map) {
  const NodeId id(static_cast<uint32_t>(nodes_.size()));
  switch (node.kind) {
    case NodeKind::kRule:
      nodes_.push_back({node.kind, node.regular, rule_map[node.size].value});
      return id;
    case NodeKind::kSequence:
    case NodeKind::kChoice:
    case NodeKind::kAnd:
    case NodeKind::kNot: {
      const auto* from = static_cast<const NodeId*>(node.data);
      auto* to = static_cast<NodeId*>(arena_.Allocate(node.size * sizeof(NodeId)));
      for (uint32_t i = 0; i < node.size; ++i) to[i] = node_map[from[i].value];
      nodes_.push_back({node.kind, node.regular, node.size, to});
      return id;
    }
    case NodeKind::kBytes:
    case NodeKind::kJsonText:
      return AppendContents(node, node.size);
    case NodeKind::kRepeat: {
      auto* to = static_cast<RepeatData*>(arena_.Allocate(sizeof(RepeatData)));
      *to = DataAs<RepeatData>(node);
      to->child = node_map[to->child.value];
      nodes_.push_back({node.kind, node.regular, node.size, to});
      return id;
    }
    default:
      break;
  }
  Append(node);
  // The children were just copied into our own arena, which is writable.
  for (const NodeId& child : Children(id)) {
    auto& writable = const_cast<NodeId&>(child);
    writable = node_map[writable.value];
  }
  return id;
}

NodeStore::NodeStore() : seed_(MixSeed()) { storage_.Reserve(kFirstNodes, 0); }

NodeId NodeStore::Intern(const StoredNode& node) {
  const uint64_t h = Mix(seed_, static_cast<uint64_t>(node.kind) << 32 | node.size);
  auto fold = [](uint64_t hash) { return static_cast<uint32_t>(hash ^ (hash >> 32)); };
  size_t place = 0;
  const uint8_t unit = kUnitBytes[static_cast<size_t>(node.kind)];
  if (unit != 0 && unit != kElsewhere && node.size != 0) {
    // Nearly all nodes: lists of children, and texts.
    const size_t bytes = node.size * size_t{unit};
    const uint32_t hash = fold(MixBytes(h, RawBytes(node.data, bytes)));
    auto same = [&](uint32_t id) {
      const StoredNode& other = storage_.stored(NodeId(id));
      return other.kind == node.kind && other.size == node.size &&
             std::memcmp(other.data, node.data, bytes) == 0;
    };
    if (const auto known = ids_.Find(hash, same, &place)) return NodeId(*known);
    const NodeId id = storage_.AppendContents(node, bytes);
    ids_.Put(place, hash, id.value);
    return id;
  }
  const uint32_t hash = fold(MixOther(h, node));
  auto same = [&](uint32_t id) { return SameNode(storage_.stored(NodeId(id)), node); };
  if (const auto known = ids_.Find(hash, same, &place)) return NodeId(*known);
  const NodeId id = storage_.Append(node);
  ids_.Put(place, hash, id.value);
  return id;
}

}  // namespace grammask::internal
