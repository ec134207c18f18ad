// One case of objects to a node.
//
// Named members stand in their order, each optional one may be left out, and extra members follow
// (record.h). For the automaton such an object is one node, a record. Bounds on the number of
// members need the count: states (member, count so far). An extra key is any string but the named
// ones; where patterns have a say, each combination of matching and not matching that leads to
// other values is a kind of extra member of its own, where some key can match so: of ^a, ^b and ^c
// there are three and "none", not eight.
//
// In any order, cases of one union take each other's names out of their extra keys and have them as
// members of their own (PlainExtra, InAnyOrder): of hundreds of cases, as many kinds of extra keys
// become one.
//
// Tests: tests/grammar/json_schema_test.cc, json_schema_random_test.cc.
#include <algorithm>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "base/scratch.h"
#include "grammar/json_schema/emit_containers.h"
#include "grammar/member_trie.h"

namespace grammask::internal {
namespace {

// Members between two shared suffixes.
constexpr size_t kMemberChunk = 16;
// Combinations of patterns that are told apart for one object, and states of a counted object.
constexpr size_t kMaxCombinations = 1024;
constexpr size_t kMaxCountStates = 200'000;

// Which patterns must match, which must not; the others do not matter.
struct Cube {
  uint64_t match, no_match;
  friend bool operator==(Cube, Cube) = default;
};

// Keys that match just the patterns in `mask` have values in `value`.
struct Kind {
  uint64_t mask;
  ExprId value;
};

// Covers the kinds of keys that have each value by as few conditions as is easily found. What keys
// there can be is listed in `kinds`; conditions may cover others, too.
ScratchVector<std::pair<Cube, ExprId>> CoverKinds(size_t patterns,
                                                  const ScratchVector<Kind>& kinds) {
  ScratchVector<std::pair<Cube, ExprId>> out;
  auto covers = [](Cube c, uint64_t m) { return (m & c.match) == c.match && !(m & c.no_match); };
  for (const Kind& kind : kinds) {
    if (kind.value == kNone) continue;
    uint64_t all = patterns == 64 ? ~uint64_t{0} : (uint64_t{1} << patterns) - 1;
    Cube cube{kind.mask, all & ~kind.mask};
    bool covered = std::any_of(out.begin(), out.end(), [&](const auto& known) {
      return known.second == kind.value && covers(known.first, kind.mask);
    });
    if (covered) continue;
    for (size_t bit = 0; bit < patterns; ++bit) {
      Cube wider{cube.match & ~(uint64_t{1} << bit), cube.no_match & ~(uint64_t{1} << bit)};
      bool same = std::all_of(kinds.begin(), kinds.end(), [&](const Kind& other) {
        return !covers(wider, other.mask) || other.value == kind.value;
      });
      if (same) cube = wider;
    }
    out.push_back({cube, kind.value});
  }
  return out;
}

// The sets of patterns that some key may match together, at least; none where there are too many.
StatusOr<ScratchVector<uint64_t>> Combinations(KeyPatterns* patterns,
                                               const ScratchVector<PatternId>& list) {
  ScratchVector<uint64_t> masks = {0};
  for (size_t i = 0; i < list.size(); ++i) {
    uint64_t apart = 0;
    for (size_t j = 0; j < i; ++j) {
      GM_ASSIGN_OR_RETURN(bool disjoint, patterns->Disjoint(list[j], list[i]));
      if (disjoint) apart |= uint64_t{1} << j;
    }
    for (size_t k = 0, n = masks.size(); k < n; ++k) {
      if ((masks[k] & apart) == 0) masks.push_back(masks[k] | uint64_t{1} << i);
    }
    if (masks.size() > kMaxCombinations) return ScratchVector<uint64_t>();
  }
  return masks;
}

}  // namespace

ObjectEmitter::ObjectEmitter(SchemaEmitter* emitter, const ObjectSet& set, int depth)
    : e_(*emitter),
      builder_(emitter->builder_),
      set_(set),
      depth_(depth),
      comma_(e_.layout_.Comma(depth + 1)),
      comma_quote_(e_.layout_.CommaQuote(depth + 1)),
      end_(e_.layout_.Close('}', depth)),
      may_be_record_(e_.records_ && e_.alone_ && !e_.any_order_ && !set.unordered &&
                     !set.named.empty() && set.names == kAnything && set.some.empty() &&
                     set.none.empty() && set.groups.empty()),
      extra_(builder_.Nothing()) {}

NodeId ObjectEmitter::AsRule(NodeId node) {
  const NodeKind kind = builder_.node(node).kind;
  if (kind == NodeKind::kRule || kind == NodeKind::kStandard) return node;
  return e_.RuleFor(node, "members");
}

NodeId ObjectEmitter::NodeOf(const OrderedMembers::Member& member, bool comma) {
  return builder_.Sequence({comma ? comma_quote_ : e_.layout_.Quote(), member.key,
                            e_.layout_.QuoteColon(), member.value, e_.layout_.After()});
}

StatusOr<bool> ObjectEmitter::FindMembers() {
  values_.reserve(set_.named.size());
  for (const ObjectSet::Named& n : set_.named) {
    if (!may_be_record_) keys_.push_back(builder_.JsonText(n.key));
    bool possible = n.value != kNone && (n.required || n.declared || !set_.closed);
    if (possible && set_.names != kAnything) {
      StatusOr<bool> named_well = e_.normaliser_.KeyIn(set_.names, n.key);
      if (e_.normaliser_.MayLeaveOut(named_well.status())) {
        e_.normaliser_.NoteEmitted(e_.current_, "propertyNames", named_well.status());
        named_well = true;
      }
      GM_ASSIGN_OR_RETURN(possible, std::move(named_well));
    }
    NodeId value = builder_.Nothing();
    if (possible) {
      GM_ASSIGN_OR_RETURN(value, e_.Value(n.value, depth_ + 1, n.key));
    }
    values_.push_back(value);
    if (value == builder_.Nothing()) {
      if (n.required) return false;
      continue;
    }
    ++member_count_;
    required_ += n.required;
  }
  return true;
}

// Nodes of the keys, which a record does not need.
void ObjectEmitter::NameKeys() {
  if (keys_.empty()) {
    for (const ObjectSet::Named& n : set_.named) keys_.push_back(builder_.JsonText(n.key));
  }
  members_.reserve(member_count_);
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i] == builder_.Nothing()) continue;
    members_.push_back({keys_[i], values_[i], set_.named[i].required});
  }
}

StatusOr<std::optional<NodeId>> ObjectEmitter::AsRecord() {
  const bool extras = set_.HasExtras() && has_plain_extras();
  if (!may_be_record_ || member_count_ == 0 || IsBounded(extras)) {
    return std::optional<NodeId>();
  }
  Record record{.open = e_.layout_.Open('{'),
                .end = end_,
                .quote = e_.layout_.Quote(),
                .comma = comma_,
                .comma_quote = comma_quote_,
                .quote_colon = e_.layout_.QuoteColon(),
                .colon = e_.layout_.Colon(),
                .after = e_.layout_.After(),
                .any_key = builder_.Nothing(),
                .other = builder_.Nothing(),
                .may_be_empty = set_.min == 0,
                .members = {}};
  record.members.reserve(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) {
    const ObjectSet::Named& named = set_.named[i];
    if (named.key.empty()) return std::optional<NodeId>();
    record.members.push_back({named.key, values_[i], named.required});
  }
  if (extras) {
    GM_ASSIGN_OR_RETURN(record.any_key, e_.AnyString());
    GM_ASSIGN_OR_RETURN(record.other, e_.Value(set_.rest, depth_ + 1, "extra"));
  }
  return std::optional(builder_.Record(record));
}

StatusOr<ScratchVector<ObjectEmitter::Extra>> ObjectEmitter::Extras(uint32_t conditions,
                                                                    uint32_t names) {
  ScratchVector<PatternId> patterns;
  auto index = [&](PatternId p) {
    auto it = std::find(patterns.begin(), patterns.end(), p);
    if (it == patterns.end()) it = patterns.insert(it, p);
    return static_cast<uint32_t>(it - patterns.begin());
  };
  for (const ObjectSet::Group& g : set_.groups) {
    for (const ObjectSet::Pattern& p : g.patterns) index(p.pattern);
  }
  size_t declared = patterns.size();
  ScratchVector<const ObjectSet::Some*> asked;
  for (size_t i = 0; i < set_.some.size(); ++i) {
    if (!(conditions >> i & 1)) continue;
    asked.push_back(&set_.some[i]);
    for (PatternId p : set_.some[i].match) index(p);
    for (PatternId p : set_.some[i].no_match) index(p);
  }
  ScratchVector<const ObjectSet::Some*> forbidden;
  for (size_t i = 0, named = 0; i < set_.none.size(); ++i) {
    if (set_.none[i].key != kAnything && !(names >> named++ & 1)) continue;
    forbidden.push_back(&set_.none[i]);
    for (PatternId p : set_.none[i].match) index(p);
    for (PatternId p : set_.none[i].no_match) index(p);
  }
  ScratchVector<uint64_t> masks;
  if (patterns.size() <= 64) {
    GM_ASSIGN_OR_RETURN(masks, Combinations(&e_.normaliser_.patterns(), patterns));
  }
  if (masks.empty()) {
    return Unsupported("patternProperties: " + std::to_string(patterns.size()) +
                       " patterns that one object's keys may match in more than " +
                       std::to_string(kMaxCombinations) + " combinations are not supported");
  }
  ScratchVector<Kind> kinds;
  kinds.reserve(masks.size());
  for (uint64_t mask : masks) {
    auto matches = [&](PatternId p) { return (mask >> index(p) & 1) != 0; };
    // In strict mode a key must match a pattern of the schema's own.
    bool open = !set_.closed || (mask & ((uint64_t{1} << declared) - 1)) != 0;
    ScratchVector<ExprId> parts = {open ? set_.rest : kNone};
    auto meets = [&](const ObjectSet::Some* some) {
      return std::all_of(some->match.begin(), some->match.end(), matches) &&
             std::none_of(some->no_match.begin(), some->no_match.end(), matches);
    };
    for (const ObjectSet::Some* some : asked) parts.push_back(meets(some) ? some->value : kNone);
    for (const ObjectSet::Some* none : forbidden) {
      if (meets(none)) parts.push_back(e_.normaliser_.pool().Not(none->value));
    }
    for (const ObjectSet::Group& g : set_.groups) {
      bool any = false;
      for (const ObjectSet::Pattern& p : g.patterns) {
        if (!matches(p.pattern)) continue;
        any = true;
        parts.push_back(p.value);
      }
      if (!any) parts.push_back(g.rest);
    }
    kinds.push_back({mask, e_.normaliser_.pool().And(parts)});
  }
  ScratchVector<Extra> extras;
  for (const auto& [cube, value] : CoverKinds(patterns.size(), kinds)) {
    Extra extra{.value = value};
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (cube.match >> i & 1) extra.match.push_back(patterns[i]);
      if (cube.no_match >> i & 1) extra.no_match.push_back(patterns[i]);
    }
    extras.push_back(std::move(extra));
  }
  return extras;
}

// Takes the named keys out of an extra key's strings, those that it could be at all.
Status ObjectEmitter::ExcludeNames(Extra* extra) {
  KeyPatterns& patterns = e_.normaliser_.patterns();
  for (PatternId p : extra->match) extra->key.patterns.emplace_back(patterns.text(p));
  for (PatternId p : extra->no_match) extra->key.not_patterns.emplace_back(patterns.text(p));
  for (const ObjectSet::Named& n : set_.named) {
    bool could = true;
    for (PatternId p : extra->match) {
      GM_ASSIGN_OR_RETURN(bool matches, patterns.Matches(p, n.key));
      could = could && matches;
    }
    for (PatternId p : extra->no_match) {
      GM_ASSIGN_OR_RETURN(bool matches, patterns.Matches(p, n.key));
      could = could && !matches;
    }
    if (could) extra->key.excluded.emplace_back(n.key);
  }
  return {};
}

Status ObjectEmitter::RestrictNames(ExprId names, ScratchVector<Extra>* extras) {
  if (names == kAnything) return {};
  GM_ASSIGN_OR_RETURN(const ValueSet* set, e_.normaliser_.Evaluate(names));
  e_.normaliser_.MarkEmitted(names);
  ScratchVector<Extra> out;
  for (const Extra& extra : *extras) {
    for (const StringSet& s : set->strings) {
      Extra restricted = extra;
      restricted.key = Intersect(extra.key, s);
      if (!restricted.key.IsEmpty()) out.push_back(std::move(restricted));
    }
  }
  *extras = std::move(out);
  return {};
}

// Extra members of which nothing is asked but that their keys be none of the named ones, as in most
// objects that are open: what ExtraNode comes to, without its sets of strings. Nullopt elsewhere.
StatusOr<std::optional<NodeId>> ObjectEmitter::PlainExtra() {
  if (!has_plain_extras()) return std::optional<NodeId>();
  GM_ASSIGN_OR_RETURN(NodeId text, e_.AnyString());
  const ScratchVector<NodeId>& excluded = e_.keys_of_cases_.empty() ? keys_ : e_.keys_of_cases_;
  if (!excluded.empty()) text = builder_.And({text, builder_.Not(builder_.Choice(excluded))});
  const NodeId key =
      e_.RuleFor(builder_.Sequence({e_.layout_.Quote(), text, e_.layout_.Quote()}), "string");
  GM_ASSIGN_OR_RETURN(NodeId value, e_.Value(set_.rest, depth_ + 1, "extra"));
  return std::optional(builder_.Sequence({key, e_.layout_.Colon(), value, e_.layout_.After()}));
}

StatusOr<NodeId> ObjectEmitter::ExtraNode(uint32_t conditions) {
  if (!set_.HasExtras()) return builder_.Nothing();
  GM_ASSIGN_OR_RETURN(std::optional<NodeId> plain, PlainExtra());
  if (plain.has_value()) return *plain;
  // Names that something is forbidden to: keys that have such a name, and keys that have not.
  ScratchVector<ExprId> names;
  for (const ObjectSet::Some& none : set_.none) {
    if (none.key != kAnything) names.push_back(none.key);
  }
  if (names.size() > SchemaEmitter::kMaxConditions) {
    return Unsupported(
        std::to_string(names.size()) +
        " conditions on names and values of one object's keys, which is what the "
        "complement of propertyNames inside a complement asks for, are not supported");
  }
  ScratchVector<NodeId> alternatives;
  for (uint32_t mask = 0; mask < uint32_t{1} << names.size(); ++mask) {
    GM_ASSIGN_OR_RETURN(ScratchVector<Extra> extras, Extras(conditions, mask));
    for (Extra& extra : extras) GM_RETURN_IF_ERROR(ExcludeNames(&extra));
    GM_RETURN_IF_ERROR(RestrictNames(set_.names, &extras));
    for (size_t i = 0; i < set_.some.size(); ++i) {
      if (conditions >> i & 1) GM_RETURN_IF_ERROR(RestrictNames(set_.some[i].key, &extras));
    }
    for (size_t i = 0; i < names.size(); ++i) {
      ExprId in = mask >> i & 1 ? names[i] : e_.normaliser_.pool().Not(names[i]);
      GM_RETURN_IF_ERROR(RestrictNames(in, &extras));
    }
    for (const Extra& extra : extras) {
      GM_ASSIGN_OR_RETURN(NodeId key, e_.String(extra.key));
      if (key == builder_.Nothing()) continue;
      GM_ASSIGN_OR_RETURN(NodeId value, e_.Value(extra.value, depth_ + 1, "extra"));
      alternatives.push_back(
          builder_.Sequence({key, e_.layout_.Colon(), value, e_.layout_.After()}));
    }
  }
  return builder_.Choice(alternatives);
}

StatusOr<NodeId> ObjectEmitter::ExtrasToEnd(bool leads, int64_t min, int64_t max) {
  if (set_.some.empty()) {
    if (extra_ == builder_.Nothing() || max == 0) {
      return !leads && min == 0 ? end_ : builder_.Nothing();
    }
    if (!further_.has_value()) further_ = builder_.Sequence({comma_, extra_});
    const NodeId further = *further_;
    if (!leads) return builder_.Sequence({builder_.Repeat(further, min, max), end_});
    int64_t rest = max == kUnbounded ? kUnbounded : max - 1;
    return builder_.Sequence(
        {extra_, builder_.Repeat(further, std::max<int64_t>(0, min - 1), rest), end_});
  }
  return e_.List({.conditions = set_.some.size(),
                  .element = [&](uint32_t mask) { return ExtraNode(mask); },
                  .comma = comma_,
                  .end = end_,
                  .leads = leads,
                  .min = min,
                  .max = max});
}

StatusOr<OrderedMembers> ObjectEmitter::InOrder() {
  NodeId extras_first = builder_.Nothing();
  if (required_ == 0) {
    GM_ASSIGN_OR_RETURN(extras_first, ExtrasToEnd(true, 1, kUnbounded));
  }
  GM_ASSIGN_OR_RETURN(NodeId rest, ExtrasToEnd(false, 0, kUnbounded));
  return OrderedMembers{.members = members_,
                        .quote = e_.layout_.Quote(),
                        .comma_quote = comma_quote_,
                        .quote_colon = e_.layout_.QuoteColon(),
                        .after = e_.layout_.After(),
                        .others_first = extras_first,
                        .rest = rest};
}

StatusOr<NodeId> ObjectEmitter::Uncounted() {
  GM_ASSIGN_OR_RETURN(OrderedMembers members, InOrder());
  return MembersInOrder(&builder_, members, [&](NodeId node) { return AsRule(node); });
}

Status ObjectEmitter::AddCase(bool may_be_empty) {
  GM_ASSIGN_OR_RETURN(OrderedMembers members, InOrder());
  e_.cases_->Add(members, may_be_empty);
  return {};
}

StatusOr<NodeId> ObjectEmitter::Counted(int64_t min, int64_t max) {
  int64_t n = static_cast<int64_t>(members_.size());
  // Counts beyond all members, or beyond the only bound that is left, need not be told apart.
  int64_t cap = std::min(n, max == kUnbounded ? std::max<int64_t>(min, 1) : max);
  if (static_cast<size_t>(n + 1) * static_cast<size_t>(cap + 1) > kMaxCountStates) {
    return ResourceExhausted("minProperties and maxProperties over " + std::to_string(n) +
                             " properties take too many states; drop the bounds");
  }
  ScratchVector<NodeId> next(cap + 1);
  for (int64_t c = 0; c <= cap; ++c) {
    int64_t least = std::max<int64_t>(c == 0 ? 1 : 0, min - c);
    GM_ASSIGN_OR_RETURN(next[c],
                        ExtrasToEnd(c == 0, least, max == kUnbounded ? kUnbounded : max - c));
  }
  for (int64_t i = n; i-- > 0;) {
    ScratchVector<NodeId> now(cap + 1, builder_.Nothing());
    for (int64_t c = 0; c <= std::min(i, cap); ++c) {
      ScratchVector<NodeId> alternatives;
      if (max == kUnbounded || c < max) {
        alternatives.push_back(
            builder_.Sequence({NodeOf(members_[i], c > 0), next[std::min(c + 1, cap)]}));
      }
      if (!members_[i].required) alternatives.push_back(next[c]);
      now[c] = builder_.Choice(alternatives);
      if (i % static_cast<int64_t>(kMemberChunk) == 0 && i > 0) now[c] = AsRule(now[c]);
    }
    next = std::move(now);
  }
  return next[0];
}

// Members are told apart by their keys, and the automaton keeps track of what has been written: see
// Members in ast.h.
StatusOr<NodeId> ObjectEmitter::InAnyOrder() {
  Members all{.separator = comma_, .end = end_, .members = {}, .min = set_.min, .max = set_.max};
  for (const OrderedMembers::Member& m : members_) {
    all.members.push_back(
        {NodeOf(m, false), m.required ? MemberUse::kRequired : MemberUse::kOptional});
  }
  if (extra_ != builder_.Nothing() && has_plain_extras()) {
    // Names of other cases, which its extra members are without (PlainExtra).
    GM_ASSIGN_OR_RETURN(NodeId value, e_.Value(set_.rest, depth_ + 1, "extra"));
    for (size_t i = 0; i < e_.names_of_cases_.size(); ++i) {
      if (set_.PlaceOf(e_.names_of_cases_[i], i) < set_.named.size()) continue;
      all.members.push_back(
          {NodeOf({e_.keys_of_cases_[i], value, false}, false), MemberUse::kRepeated});
    }
  }
  all.conditions = static_cast<uint32_t>(set_.some.size());
  for (uint32_t mask = 0; mask >> all.conditions == 0; ++mask) {
    NodeId extra = extra_;
    if (mask != 0) {
      GM_ASSIGN_OR_RETURN(extra, ExtraNode(mask));
    }
    all.members.push_back({extra, MemberUse::kRepeated, mask});
  }
  return builder_.Members(all);
}

StatusOr<NodeId> ObjectEmitter::Run() {
  bool may_be_empty = set_.min == 0 && set_.some.empty();
  if (!e_.layout_.may_nest(depth_)) {
    return e_.layout_.Container('{', '}', may_be_empty, builder_.Nothing(), depth_);
  }
  GM_ASSIGN_OR_RETURN(bool possible, FindMembers());
  if (!possible) return builder_.Nothing();
  GM_ASSIGN_OR_RETURN(std::optional<NodeId> record, AsRecord());
  if (record.has_value()) return *record;
  NameKeys();
  GM_ASSIGN_OR_RETURN(extra_, ExtraNode(0));
  if (set_.some.size() > SchemaEmitter::kMaxConditions) {
    return Unsupported(std::to_string(set_.some.size()) +
                       " different members that must be among those not named, which is what the "
                       "complement of additionalProperties or patternProperties asks for, are not "
                       "supported");
  }
  int64_t n = static_cast<int64_t>(members_.size());
  bool extras = extra_ != builder_.Nothing();
  int64_t max = extras ? set_.max : std::min(set_.max, n);
  NodeId content = builder_.Nothing();
  if (set_.min > max) {
    // Too few members are possible.
  } else if (max > 0 && (e_.any_order_ || set_.unordered)) {
    GM_ASSIGN_OR_RETURN(content, InAnyOrder());
  } else if (max > 0 && e_.cases_ != nullptr && set_.some.empty() && !IsBounded(extras)) {
    GM_RETURN_IF_ERROR(AddCase(may_be_empty));
    return builder_.Nothing();  // by itself
  } else if (max > 0) {
    StatusOr<NodeId> members = IsBounded(extras) ? Counted(set_.min, max) : Uncounted();
    GM_ASSIGN_OR_RETURN(content, std::move(members));
  }
  return e_.layout_.Container('{', '}', may_be_empty, content, depth_);
}

}  // namespace grammask::internal
