// Node calls and rules to a finished Grammar.
//
// The nodes are made by the Simplifier. A child is always older than its parent, so ids are in
// children-first order from the start, and Finish only has to mark what the root reaches and copy
// that, in order, into storage of exactly its size. For example of `a ::= "x" b`, `b ::= "y"` and
// `c ::= "z"` with root a, four nodes and two rules remain.
// Cost: Finish and Import are linear in the nodes. Tests: tests/grammar/ast_test.cc.
#include "grammar/ast.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/hash_slots.h"
#include "base/mix.h"
#include "base/utf8.h"
#include "grammar/node_store.h"
#include "grammar/record.h"
#include "grammar/simplify.h"

namespace grammask::internal {
namespace {

struct RuleData {
  std::string name;
  NodeId body;
  bool has_body = false;
};

constexpr std::array<bool, 256> kNameCharacters = [] {
  std::array<bool, 256> set{};
  for (char c = 'a'; c <= 'z'; ++c) set[static_cast<uint8_t>(c)] = true;
  for (char c = 'A'; c <= 'Z'; ++c) set[static_cast<uint8_t>(c)] = true;
  for (char c = '0'; c <= '9'; ++c) set[static_cast<uint8_t>(c)] = true;
  set['_'] = true;
  return set;
}();

std::string FitName(std::string_view name) {
  if (name.empty()) return "rule";
  std::string fit(name);
  if (name[0] >= '0' && name[0] <= '9') fit.insert(fit.begin(), '_');
  for (char& c : fit) {
    if (!kNameCharacters[static_cast<uint8_t>(c)]) c = '_';
  }
  return fit;
}

void AppendNumber(uint32_t number, std::string* out) {
  char digits[16];
  out->append(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
}

}  // namespace

std::string_view MemberUseName(MemberUse use) {
  constexpr std::string_view kNames[] = {"optional", "required", "repeated", "distinct", "placed"};
  return kNames[static_cast<size_t>(use)];
}

bool PlacesAreSound(std::span<const uint32_t> words, uint32_t conditions) {
  uint64_t places = 0;
  bool others = conditions > 0;
  for (const uint32_t word : words) {
    const MemberUse use = UseOfWord(word);
    if (use != MemberUse::kPlaced) {
      others |= ComesOnce(use);
    } else if (PlaceOfWord(word) >= kMaxMemberPlaces) {
      return false;
    } else {
      places |= uint64_t{1} << PlaceOfWord(word);
    }
  }
  return places == 0 || (!others && (places & (places + 1)) == 0);
}

struct Grammar::Data {
  NodeStorage storage;
  std::vector<RuleData> rules;
  RuleId root;
  bool has_short_forms = false;
};

bool Grammar::has_short_forms() const { return data_->has_short_forms; }
RuleId Grammar::root() const { return data_->root; }
size_t Grammar::rule_count() const { return data_->rules.size(); }
size_t Grammar::node_count() const { return data_->storage.size(); }
const std::string& Grammar::rule_name(RuleId rule) const { return data_->rules[rule.value].name; }
NodeId Grammar::rule_body(RuleId rule) const { return data_->rules[rule.value].body; }
NodeView Grammar::node(NodeId id) const { return data_->storage.View(id); }
const NodeStorage& Grammar::nodes() const { return data_->storage; }

size_t Grammar::memory_bytes() const {
  size_t bytes = sizeof(Data) + data_->storage.memory_bytes();
  for (const RuleData& rule : data_->rules) bytes += sizeof(rule) + rule.name.capacity();
  return bytes;
}

struct GrammarBuilder::Impl {
  explicit Impl(const Limits& limits) : nodes(limits) {}

  // The rule of this name; where there is none, `place` is for names.Put().
  std::optional<uint32_t> Named(std::string_view name, uint32_t hash, size_t* place) const {
    return names.Find(hash, [&](uint32_t rule) { return rules[rule].name == name; }, place);
  }

  Simplifier nodes;
  std::vector<RuleData> rules;
  HashSlots names{32};
  std::vector<uint32_t> next_number;  // by rule: to append to its name
};

// ---- The public face ----

GrammarBuilder::GrammarBuilder(const Limits& limits) : impl_(std::make_unique<Impl>(limits)) {}
GrammarBuilder::~GrammarBuilder() = default;
GrammarBuilder::GrammarBuilder(GrammarBuilder&&) noexcept = default;
GrammarBuilder& GrammarBuilder::operator=(GrammarBuilder&&) noexcept = default;

NodeId GrammarBuilder::Nothing() { return impl_->nodes.Nothing(); }
NodeId GrammarBuilder::Empty() { return impl_->nodes.Empty(); }
NodeId GrammarBuilder::AnyBytes() { return impl_->nodes.AnyBytes(); }
NodeId GrammarBuilder::Bytes(std::string_view bytes) {
  return impl_->nodes.Text(NodeKind::kBytes, bytes);
}
NodeId GrammarBuilder::JsonText(std::string_view text) {
  GM_DCHECK(!FindInvalidUtf8(text).has_value());
  return impl_->nodes.Text(NodeKind::kJsonText, text);
}
NodeId GrammarBuilder::ByteClass(const ByteSet& bytes) { return impl_->nodes.ByteClass(bytes); }
NodeId GrammarBuilder::Class(const CodePointSet& characters) {
  return impl_->nodes.Characters(NodeKind::kClass, characters);
}
NodeId GrammarBuilder::JsonClass(const CodePointSet& characters) {
  return impl_->nodes.Characters(NodeKind::kJsonClass, characters);
}
NodeId GrammarBuilder::Sequence(std::span<const NodeId> parts) {
  return impl_->nodes.Sequence(parts);
}
NodeId GrammarBuilder::Sequence(std::initializer_list<NodeId> parts) {
  return Sequence(std::span<const NodeId>(parts.begin(), parts.size()));
}
NodeId GrammarBuilder::SequenceBefore(std::span<const NodeId> parts, NodeId tail) {
  return impl_->nodes.SequenceBefore(parts, tail);
}
NodeId GrammarBuilder::Choice(std::span<const NodeId> alternatives) {
  return impl_->nodes.Choice(alternatives);
}
NodeId GrammarBuilder::Choice(std::initializer_list<NodeId> alternatives) {
  return Choice(std::span<const NodeId>(alternatives.begin(), alternatives.size()));
}
NodeId GrammarBuilder::Repeat(NodeId node, int64_t min, int64_t max) {
  return impl_->nodes.Repeat(node, min, max);
}
NodeId GrammarBuilder::Rule(RuleId rule) {
  return impl_->nodes.Intern({NodeKind::kRule, false, rule.value});
}
NodeId GrammarBuilder::And(std::span<const NodeId> parts) { return impl_->nodes.And(parts); }
NodeId GrammarBuilder::And(std::initializer_list<NodeId> parts) {
  return And(std::span<const NodeId>(parts.begin(), parts.size()));
}
NodeId GrammarBuilder::Not(NodeId node) { return impl_->nodes.Not(node); }
NodeId GrammarBuilder::MultipleOf(const Multiple& multiple) {
  return impl_->nodes.MultipleOf(multiple);
}
NodeId GrammarBuilder::Tokens(TokenSet tokens) { return impl_->nodes.Tokens(std::move(tokens)); }
NodeId GrammarBuilder::Members(const internal::Members& members) {
  return impl_->nodes.Members(members);
}
NodeId GrammarBuilder::Record(const internal::Record& record) {
  return impl_->nodes.Record(record);
}
NodeId GrammarBuilder::Standard(const Grammar& grammar) {
  GM_DCHECK(!grammar.has_short_forms());
  return impl_->nodes.Intern({NodeKind::kStandard, false, 0, &grammar});
}
NodeView GrammarBuilder::node(NodeId id) const { return impl_->nodes.view(id); }
const NodeStorage& GrammarBuilder::nodes() const { return impl_->nodes.storage(); }

RuleId GrammarBuilder::AddRule(std::string_view name) {
  std::string fit = FitName(name);
  uint32_t hash = HashText(fit);
  size_t place = 0;
  if (const auto taken = impl_->Named(fit, hash, &place)) {
    const size_t length = fit.size();
    do {
      fit.resize(length);
      fit += '_';
      AppendNumber(impl_->next_number[*taken]++, &fit);
      hash = HashText(fit);
    } while (impl_->Named(fit, hash, &place).has_value());
  }
  const RuleId rule(static_cast<uint32_t>(impl_->rules.size()));
  impl_->names.Put(place, hash, rule.value);
  impl_->rules.push_back({std::move(fit), NodeId(), false});
  impl_->next_number.push_back(1);
  return rule;
}

void GrammarBuilder::SetBody(RuleId rule, NodeId body) {
  RuleData& data = impl_->rules[rule.value];
  GM_DCHECK(!data.has_body);
  data.body = body;
  data.has_body = true;
}

bool GrammarBuilder::HasBody(RuleId rule) const { return impl_->rules[rule.value].has_body; }
NodeId GrammarBuilder::body(RuleId rule) const { return impl_->rules[rule.value].body; }
size_t GrammarBuilder::rule_count() const { return impl_->rules.size(); }

ScratchVector<NodeId> GrammarBuilder::ImportNodes(const Grammar& grammar,
                                                  std::span<const RuleId> rule_map, bool expand) {
  ScratchVector<NodeId> node_map;
  node_map.reserve(grammar.node_count());
  ScratchVector<NodeId> mapped;
  for (uint32_t n = 0; n < grammar.node_count(); ++n) {
    const StoredNode& source = grammar.data_->storage.stored(NodeId(n));
    StoredNode node = source;
    RepeatData repeat{};
    if (node.kind == NodeKind::kRule) {
      node.size = rule_map[node.size].value;
    } else if (node.kind == NodeKind::kRepeat) {
      repeat = *static_cast<const RepeatData*>(source.data);
      repeat.child = node_map[repeat.child.value];
      node.data = &repeat;
    } else if (node.kind == NodeKind::kStandard && expand) {
      node_map.push_back(Rule(Import(*static_cast<const Grammar*>(source.data))));
      continue;
    } else if (auto children = grammar.data_->storage.Children(NodeId(n)); !children.empty()) {
      mapped.clear();
      for (NodeId child : children) mapped.push_back(node_map[child.value]);
      if (node.kind == NodeKind::kRecord && expand) {
        const RecordView view = grammar.data_->storage.View(NodeId(n)).record;
        node_map.push_back(ExpandRecord(this, RecordOf(mapped, view)));
        continue;
      }
      if (node.kind == NodeKind::kMembers || node.kind == NodeKind::kRecord) {
        const auto* words = static_cast<const NodeId*>(source.data);
        mapped.insert(mapped.end(), words + children.size(), words + source.size);
      }
      // The order of these two is that of the ids, which are new.
      if (node.kind == NodeKind::kChoice || node.kind == NodeKind::kAnd) {
        std::sort(mapped.begin(), mapped.end());
      }
      node.data = mapped.data();
    }
    node_map.push_back(impl_->nodes.Intern(node));
  }
  return node_map;
}

NodeId GrammarBuilder::ImportBody(const Grammar& grammar) {
  GM_DCHECK(grammar.rule_count() == 1 && grammar.node(grammar.rule_body(grammar.root())).regular);
  return ImportNodes(grammar, {})[grammar.rule_body(grammar.root()).value];
}

RuleId GrammarBuilder::Import(const Grammar& grammar, bool expand) {
  ScratchVector<RuleId> rule_map;
  rule_map.reserve(grammar.rule_count());
  for (uint32_t r = 0; r < grammar.rule_count(); ++r) {
    rule_map.push_back(AddRule(grammar.rule_name(RuleId(r))));
  }
  const ScratchVector<NodeId> node_map = ImportNodes(grammar, rule_map, expand);
  for (uint32_t r = 0; r < grammar.rule_count(); ++r) {
    SetBody(rule_map[r], node_map[grammar.rule_body(RuleId(r)).value]);
  }
  return rule_map[grammar.root().value];
}

StatusOr<Grammar> GrammarBuilder::Finish(RuleId root) {
  // This builder starts anew whatever comes of the call.
  Impl done = std::move(*impl_);
  *impl_ = Impl(done.nodes.limits());
  if (done.nodes.over()) {
    return ResourceExhausted("the grammar is too large: it takes more than max_ast_nodes = " +
                             std::to_string(done.nodes.limits().max_ast_nodes) +
                             " nodes; make it smaller, or raise that limit");
  }
  const NodeStorage& storage = done.nodes.storage();
  // Bytes, as bits would be slower than the rest of the pass.
  ScratchVector<uint8_t> node_used(storage.size()), rule_used(done.rules.size());
  ScratchVector<NodeId> pending;
  size_t nodes = 0, payload = 0;
  auto use_node = [&](NodeId id) {
    if (node_used[id.value] != 0) return;
    node_used[id.value] = 1;
    ++nodes;
    payload += NodeStorage::PayloadBytes(storage.stored(id));
    pending.push_back(id);
  };
  auto use_rule = [&](RuleId id) {
    if (rule_used[id.value] != 0) return true;
    rule_used[id.value] = 1;
    if (!done.rules[id.value].has_body) return false;
    use_node(done.rules[id.value].body);
    return true;
  };
  auto no_body = [&](RuleId id) {
    return Status(StatusCode::kInternal,
                  "rule " + done.rules[id.value].name + " is used but has no body");
  };
  pending.reserve(64);
  if (!use_rule(root)) return no_body(root);
  while (!pending.empty()) {
    NodeId id = pending.back();
    pending.pop_back();
    const StoredNode& node = storage.stored(id);
    if (node.kind == NodeKind::kRule && !use_rule(RuleId(node.size))) {
      return no_body(RuleId(node.size));
    }
    for (NodeId child : storage.Children(id)) use_node(child);
  }

  auto data = std::make_shared<Grammar::Data>();
  ScratchVector<RuleId> rule_map(done.rules.size());
  data->rules.reserve(static_cast<size_t>(std::count(rule_used.begin(), rule_used.end(), 1)));
  for (uint32_t r = 0; r < done.rules.size(); ++r) {
    if (rule_used[r] == 0) continue;
    rule_map[r] = RuleId(static_cast<uint32_t>(data->rules.size()));
    data->rules.push_back(std::move(done.rules[r]));
  }
  data->storage.Reserve(nodes, payload);
  ScratchVector<NodeId> node_map(storage.size());
  for (uint32_t n = 0; n < storage.size(); ++n) {
    if (node_used[n] == 0) continue;
    const StoredNode& node = storage.stored(NodeId(n));
    data->has_short_forms |= node.kind == NodeKind::kRecord || node.kind == NodeKind::kStandard;
    node_map[n] = data->storage.AppendMapped(node, node_map, rule_map);
  }
  for (RuleData& rule : data->rules) rule.body = node_map[rule.body.value];
  data->root = rule_map[root.value];
  Grammar grammar;
  grammar.data_ = std::move(data);
  return grammar;
}

}  // namespace grammask::internal
