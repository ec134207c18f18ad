// Sets of values to rules.
//
// The texts of a set are a choice between the literals, one rule for its numbers, a rule for each
// case of strings, and the containers; a set with containers becomes a rule of its own, named
// before its body is made, so that recursion is a reference and depth costs no stack: bodies wait
// on a list. The set {null, string 1..} is ("null" | string) with string ::= "\"" char char* "\"".
// Equal bodies share a rule. Linear in the sets, but for what strings and numbers cost (strings.h,
// numbers.h).
//
// Objects: emit_objects.cc. Arrays: emit_arrays.cc. Tests: tests/grammar/json_schema_test.cc.
#include "grammar/json_schema/emit.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/scratch.h"
#include "grammar/json_schema/emit_containers.h"
#include "grammar/json_schema/formats.h"
#include "grammar/json_schema/string_parts.h"
#include "grammar/member_trie.h"
#include "grammar/record.h"

namespace grammask::internal {
namespace {

// With an indent, values that a schema leaves free to nest, or that are recursive, may nest so much
// deeper than the schema itself: each level has texts of its own.
constexpr int kFreeDepth = 32;

// The most states of a list of counted elements that has to meet conditions.
constexpr int64_t kMaxCounted = 4096;

// Any JSON value in the usual layout: what the extra members of an open object hold, so that most
// schemas need it. Made once, and then copied.
const Grammar& AnyValue() {
  static const Grammar& any = *new Grammar(GrammarFromJsonSchema("true").value());
  return any;
}

// Any JSON string.
const Grammar& AnyStringValue() {
  static const Grammar& any = *new Grammar(GrammarFromJsonSchema(R"({"type":"string"})").value());
  return any;
}

// So many cases of objects share what they begin with.
constexpr size_t kManyCases = 8;

// As many times the names that cases have themselves they may get of one another.
constexpr size_t kMostNamed = 4;

// The one number of the set, where it is one number.
const Decimal* Single(const NumberSet& set) {
  if (!set.lower || !set.upper || set.lower->open || set.upper->open) return nullptr;
  if (set.lower->value != set.upper->value) return nullptr;
  return &set.lower->value;
}

}  // namespace

SchemaEmitter::SchemaEmitter(Normaliser* normaliser, GrammarBuilder* builder,
                             const JsonSchemaOptions& options, const Limits& limits)
    : normaliser_(*normaliser),
      builder_(*builder),
      limits_(limits),
      layout_(builder, options, normaliser->tree().document().depth() + kFreeDepth),
      any_order_(options.any_order),
      usual_(options.any_whitespace && !options.max_whitespace_cnt && !options.any_order),
      records_(options.short_forms && !layout_.depends_on_depth() && !normaliser->widens()),
      short_forms_(options.short_forms) {}

StatusOr<RuleId> SchemaEmitter::EmitRoot(ExprId expr) {
  usual_ = usual_ && expr != kAnything;  // whose own grammar this may be
  GM_ASSIGN_OR_RETURN(NodeId value, Value(expr, 0, "root"));
  standard_ = short_forms_;
  while (!tasks_.empty()) {
    Task task = tasks_.back();
    tasks_.pop_back();
    current_ = task.expr;
    GM_ASSIGN_OR_RETURN(const ValueSet* set, normaliser_.Evaluate(task.expr));
    // Documents may have been read meanwhile.
    layout_.set_max_depth(normaliser_.tree().document().depth() + kFreeDepth);
    ValueSet containers;
    if (task.containers) {
      containers.arrays = set->arrays;
      containers.objects = set->objects;
      set = &containers;
    }
    StatusOr<NodeId> body = Body(*set, task.depth);
    if (!body.ok()) return Located(body.status());
    builder_.SetBody(task.rule, *body);
  }
  NodeId around = layout_.AroundRoot();
  NodeView view = builder_.node(value);
  if (view.kind == NodeKind::kRule && around == builder_.Empty()) return view.rule;
  RuleId root = builder_.AddRule("root");
  builder_.SetBody(root, builder_.Sequence({around, value, around}));
  return root;
}

Status SchemaEmitter::Located(const Status& status) const {
  if (status.ok() || current_ == kAnything ||
      normaliser_.tree().document().BeginsWithPointer(status.message())) {
    return status;
  }
  return Status(status.code(),
                normaliser_.pool().ToString(current_, normaliser_.tree().document()) + ": " +
                    status.message());
}

NodeId SchemaEmitter::Containers(ExprId expr, int depth) {
  int level = layout_.depends_on_depth() ? depth : 0;
  auto [it, fresh] = containers_.try_emplace(std::pair(expr, level));
  if (fresh) {
    normaliser_.MarkEmitted(expr);
    RuleId rule = builder_.AddRule("containers");
    tasks_.push_back({expr, depth, rule, true});
    it->second = builder_.Rule(rule);
  }
  return it->second;
}

StatusOr<NodeId> SchemaEmitter::Value(ExprId expr, int depth, std::string_view name) {
  if (expr == kNone) return builder_.Nothing();
  int level = layout_.depends_on_depth() ? depth : 0;
  auto known = values_.find(std::pair(expr, level));
  if (known != values_.end()) return NodeId{known->second};
  if (expr == kAnything && usual_) {
    const NodeId any =
        standard_ ? builder_.Standard(AnyValue()) : builder_.Rule(builder_.Import(AnyValue()));
    values_[std::pair(expr, level)] = any;
    return NodeId{any};
  }
  GM_ASSIGN_OR_RETURN(const ValueSet* set, normaliser_.Evaluate(expr));
  normaliser_.MarkEmitted(expr);
  NodeId node;
  if (set->arrays.empty() && set->objects.empty()) {
    ExprId outer = std::exchange(current_, expr);
    StatusOr<NodeId> body = Body(*set, depth);
    Status status = Located(body.status());
    current_ = outer;
    GM_RETURN_IF_ERROR(status);
    node = *body;
  } else {
    RuleId rule = builder_.AddRule(expr == kAnything ? "value" : name);
    tasks_.push_back({expr, depth, rule});
    node = builder_.Rule(rule);
  }
  values_[std::pair(expr, level)] = node;
  return node;
}

StatusOr<NodeId> SchemaEmitter::Body(const ValueSet& set, int depth) {
  ScratchVector<NodeId> alternatives;
  if (set.types() == kTypeObject && set.objects.size() == 1) {
    alone_ = true;
    return Case(set.objects[0], depth);
  }
  GM_RETURN_IF_ERROR(AddObjects(set.objects, depth, &alternatives));
  for (const ArraySet& a : set.arrays) {
    GM_ASSIGN_OR_RETURN(NodeId node, Case(a, depth));
    alternatives.push_back(node);
  }
  GM_RETURN_IF_ERROR(AddScalars(set, &alternatives));
  return builder_.Choice(alternatives);
}

StatusOr<NodeId> SchemaEmitter::AsRule(const ObjectSet& set, int depth) {
  GM_ASSIGN_OR_RETURN(NodeId node, Case(set, depth));
  return builder_.node(node).kind == NodeKind::kRecord ? RuleFor(node, "object") : node;
}

Status SchemaEmitter::AddObjects(const ScratchVector<ObjectSet>& sets, int depth,
                                 ScratchVector<NodeId>* alternatives) {
  if (sets.empty()) return {};  // a scalar of a member of a case at work
  MemberTrie trie;
  cases_ = sets.size() >= kManyCases && !normaliser_.widens() ? &trie : nullptr;
  if (any_order_ && sets.size() > 1) NameCases(sets);
  const Status status = AddCases(sets, depth, alternatives);
  cases_ = nullptr;
  names_of_cases_.clear();
  keys_of_cases_.clear();
  GM_RETURN_IF_ERROR(status);
  if (trie.empty()) return {};
  const NodeId content =
      trie.Content(&builder_, [&](NodeId node) { return RuleFor(node, "members"); });
  alternatives->push_back(layout_.Container('{', '}', trie.may_be_empty(), content, depth));
  return {};
}

Status SchemaEmitter::AddCases(const ScratchVector<ObjectSet>& sets, int depth,
                               ScratchVector<NodeId>* alternatives) {
  for (const ObjectSet& o : sets) {
    alone_ = cases_ == nullptr;
    GM_ASSIGN_OR_RETURN(NodeId node, AsRule(o, depth));
    alternatives->push_back(node);
  }
  return {};
}

// Only where there are more cases than names, most of which each case has itself: `oneOf` of a few
// objects is hundreds of cases, and as many kinds of other members otherwise.
void SchemaEmitter::NameCases(const ScratchVector<ObjectSet>& sets) {
  ScratchVector<std::string_view> names;
  absl::flat_hash_set<std::string_view> known;
  size_t named = 0;
  for (const ObjectSet& o : sets) {
    named += o.named.size();
    for (const ObjectSet::Named& n : o.named) {
      if (known.insert(n.key).second) names.push_back(n.key);
    }
    if (names.size() > sets.size()) return;
  }
  if (names.size() * sets.size() > kMostNamed * named) return;
  for (std::string_view name : names) keys_of_cases_.push_back(builder_.JsonText(name));
  names_of_cases_ = std::move(names);
}

Status SchemaEmitter::AddScalars(const ValueSet& set, ScratchVector<NodeId>* alternatives) {
  ScratchVector<NodeId> bodies;
  for (const StringSet& s : set.strings) {
    if (set.strings.size() == 1 || s == StringSet{.formats = {"regex"}}) {
      GM_ASSIGN_OR_RETURN(NodeId node, String(s));
      alternatives->push_back(node);
    } else {
      GM_ASSIGN_OR_RETURN(NodeId body, Case(s));
      if (body != builder_.Nothing()) bodies.push_back(body);
    }
  }
  UniteBodies(&builder_, &bodies);
  const NodeId quote = layout_.Quote();
  for (NodeId body : bodies) {
    alternatives->push_back(RuleFor(builder_.Sequence({quote, body, quote}), "string"));
  }
  if (!set.numbers.empty()) {
    GM_ASSIGN_OR_RETURN(NodeId node, Numbers(set.numbers));
    alternatives->push_back(node);
  }
  if (set.true_value) alternatives->push_back(builder_.Bytes("true"));
  if (set.false_value) alternatives->push_back(builder_.Bytes("false"));
  if (set.null) alternatives->push_back(builder_.Bytes("null"));
  return {};
}

StatusOr<NodeId> SchemaEmitter::Numbers(const ScratchVector<NumberSet>& sets) {
  spelling_.integers_with_fraction = !normaliser_.tree().has_strict_integers();
  if (const Grammar* standard = Standard(sets)) return builder_.Standard(*standard);
  ScratchVector<NodeId> alternatives;
  for (const NumberSet& set : sets) {
    if (const Decimal* single = Single(set)) {
      if (set.Contains(*single)) {
        alternatives.push_back(EmitNumberValue(&builder_, *single, normaliser_.SourceOf(*single)));
      }
      continue;
    }
    GM_ASSIGN_OR_RETURN(NodeId node, Case(set));
    alternatives.push_back(node);
  }
  bool integer = sets.size() == 1 && sets[0].kind == NumberSet::Kind::kIntegers;
  return RuleFor(builder_.Choice(alternatives), integer ? "integer" : "number");
}

const Grammar* SchemaEmitter::Standard(const ScratchVector<NumberSet>& sets) const {
  return standard_ && sets.size() == 1 ? StandardNumbers(sets[0], spelling_) : nullptr;
}

const Grammar* SchemaEmitter::Standard(const StringSet& set) const {
  if (!standard_) return nullptr;
  if (set.IsAll()) return &AnyStringValue();
  const bool one_format = set.formats.size() == 1 && set == StringSet{.formats = set.formats};
  return one_format ? StandardFormat(set.formats[0]) : nullptr;
}

StatusOr<NodeId> SchemaEmitter::String(const StringSet& set) {
  if (const Grammar* standard = Standard(set)) return builder_.Standard(*standard);
  const NodeId quote = layout_.Quote();
  const bool is_regex = set.formats.size() == 1 && set.formats[0] == "regex";
  if (is_regex && set == StringSet{.formats = {"regex"}}) {  // need not be regular: meets nothing
    if (!regex_) regex_ = EmitNestedRegex(&builder_);
    return RuleFor(builder_.Sequence({quote, *regex_, quote}), "string");
  }
  GM_ASSIGN_OR_RETURN(NodeId body, Case(set));
  return RuleFor(builder_.Sequence({quote, body, quote}), "string");
}

StatusOr<NodeId> SchemaEmitter::AnyString() {
  if (!any_string_.has_value()) {
    GM_ASSIGN_OR_RETURN(any_string_, EmitStringBody(&builder_, StringSet(), limits_));
  }
  return *any_string_;
}

NodeId SchemaEmitter::RuleFor(NodeId body, std::string_view name) {
  if (body == builder_.Nothing()) return body;
  auto [it, fresh] = rules_.try_emplace(body);
  if (fresh) {
    RuleId rule = builder_.AddRule(name);
    builder_.SetBody(rule, body);
    it->second = builder_.Rule(rule);
  }
  return it->second;
}

// States are what conditions have been met and, as far as it matters, how many elements are
// written; each element goes on to the state with any of the conditions that are left met by it.
StatusOr<NodeId> SchemaEmitter::List(const ListSpec& spec) {
  uint32_t all = (uint32_t{1} << spec.conditions) - 1;
  ScratchVector<NodeId> elements(all + 1);
  for (uint32_t mask = 0; mask <= all; ++mask) {
    GM_ASSIGN_OR_RETURN(elements[mask], spec.element(mask));
  }
  // Once every condition is met, a repeat counts what may follow.
  NodeId further = builder_.Sequence({spec.comma, elements[0]});
  auto rest = [&](int64_t written) {
    if (spec.max != kUnbounded && written > spec.max) return builder_.Nothing();
    return builder_.Sequence(
        {builder_.Repeat(further, std::max<int64_t>(0, spec.min - written),
                         spec.max == kUnbounded ? kUnbounded : spec.max - written),
         spec.end});
  };
  // Without an upper bound, counts from `min` on are alike; a count of 0 is no comma.
  int64_t cap = spec.max != kUnbounded ? spec.max : std::max<int64_t>(1, spec.min);
  if (cap > kMaxCounted >> spec.conditions) {
    return Unsupported("elements or members that must be among up to " + std::to_string(cap) +
                       " counted ones are not supported; the most is " +
                       std::to_string(kMaxCounted >> spec.conditions));
  }
  absl::flat_hash_map<std::pair<uint32_t, int64_t>, RuleId> states;
  ScratchVector<std::pair<uint32_t, int64_t>> waiting;
  auto go_on = [&](uint32_t met, int64_t written) {
    if (met == all) return rest(written);
    auto key = std::pair(met, std::min(written, cap));
    auto [it, fresh] = states.try_emplace(key);
    if (fresh) {
      it->second = builder_.AddRule("list");
      waiting.push_back(key);
    }
    return builder_.Rule(it->second);
  };
  auto body = [&](uint32_t met, int64_t written) {
    ScratchVector<NodeId> alternatives;
    if (spec.max != kUnbounded && written >= spec.max) return builder_.Nothing();
    NodeId comma = spec.leads && written == 0 ? builder_.Empty() : spec.comma;
    for (uint32_t mask = 0; mask <= all; ++mask) {
      if ((mask & met) != 0 || elements[mask] == builder_.Nothing()) continue;
      alternatives.push_back(
          builder_.Sequence({comma, elements[mask], go_on(met | mask, written + 1)}));
    }
    return builder_.Choice(alternatives);
  };
  NodeId first = body(0, 0);
  while (!waiting.empty()) {
    auto [met, written] = waiting.back();
    waiting.pop_back();
    RuleId rule = states.find(std::pair(met, written))->second;
    builder_.SetBody(rule, body(met, written));
  }
  return first;
}

}  // namespace grammask::internal
