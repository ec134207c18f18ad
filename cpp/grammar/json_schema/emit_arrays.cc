// One case of arrays to a node.
//
// The elements of the prefix come one after another, those beyond the least number in nested
// optional parts, and the rest repeats: with a prefix a, b and rest r, at least one, the elements
// are a (end | ,b (,r)* end). Distinct elements (uniqueItems) are possible where all elements come
// from a few literals, or are scalars: a Members node keeps track of what has been written (ast.h).
// After a prefix, a rule for each set of literals used so far offers those that are left, or the
// elements of the prefix have places in the Members node. Linear in the prefix; for distinct
// literals after one in the number of such sets, which is bounded.
//
// Counts of some elements (contains): emit_counts.cc. Tests: tests/grammar/json_schema_test.cc.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "base/scratch.h"
#include "base/sorted.h"
#include "grammar/json_schema/emit_containers.h"
#include "grammar/json_schema/string_count.h"

namespace grammask::internal {
namespace {

// Optional elements nested in one rule.
constexpr size_t kElementChunk = 64;
// For uniqueItems: the most literals, and the most sets of them.
constexpr size_t kMaxLiterals = 64;
constexpr size_t kMaxUsedSets = 5'000;
// How far into elements and members values are counted, and up to how many.
constexpr int kCountDepth = 6;
constexpr int64_t kMany = int64_t{1} << 30;

// Values of different kinds are never equal.
uint32_t KindsOf(const ValueSet& set) {
  uint32_t kinds = 0;
  for (const bool has : {set.null, set.false_value, set.true_value, !set.numbers.empty(),
                         !set.strings.empty(), !set.arrays.empty() || !set.objects.empty()}) {
    kinds = kinds << 1 | has;
  }
  return kinds;
}

}  // namespace

ArrayEmitter::ArrayEmitter(SchemaEmitter* emitter, const ArraySet& set, int depth)
    : e_(*emitter),
      builder_(emitter->builder_),
      set_(set),
      depth_(depth),
      min_(set.min),
      max_(set.max),
      comma_(e_.layout_.Comma(depth + 1)),
      end_(e_.layout_.Close(']', depth)) {
  if (set_.closed) max_ = std::min(max_, static_cast<int64_t>(set_.prefix.size()));
}

StatusOr<NodeId> ArrayEmitter::Element(ExprId expr) {
  GM_ASSIGN_OR_RETURN(NodeId text, e_.Value(expr, depth_ + 1, "element"));
  return builder_.Sequence({text, e_.layout_.After()});
}

// Elements after a prefix that is written out, to the end.
StatusOr<NodeId> ArrayEmitter::AfterPrefix() {
  int64_t length = static_cast<int64_t>(set_.prefix.size());
  if (max_ <= length) return end_;
  int64_t min = std::max<int64_t>(0, min_ - length);
  int64_t max = max_ == kUnbounded ? kUnbounded : max_ - length;
  GM_ASSIGN_OR_RETURN(NodeId rest, Element(set_.rest));
  return builder_.Sequence({builder_.Repeat(builder_.Sequence({comma_, rest}), min, max), end_});
}

StatusOr<NodeId> ArrayEmitter::FromPrefix() {
  size_t length = set_.prefix.size();
  size_t needed = static_cast<size_t>(std::clamp<int64_t>(min_, 1, static_cast<int64_t>(length)));
  GM_ASSIGN_OR_RETURN(NodeId node, AfterPrefix());
  // Enough of the prefix for its end to follow: an element more is optional.
  for (size_t i = length; i-- > needed;) {
    GM_ASSIGN_OR_RETURN(NodeId element, Element(set_.prefix[i]));
    node = builder_.Choice({end_, builder_.Sequence({comma_, element, node})});
    if (i % kElementChunk == 0) node = e_.RuleFor(node, "elements");
  }
  ScratchVector<NodeId> parts;
  for (size_t i = 0; i < needed; ++i) {
    GM_ASSIGN_OR_RETURN(NodeId element, Element(set_.prefix[i]));
    if (i > 0) parts.push_back(comma_);
    parts.push_back(element);
  }
  parts.push_back(node);
  return builder_.Sequence(parts);
}

StatusOr<NodeId> ArrayEmitter::WithoutPrefix() {
  GM_ASSIGN_OR_RETURN(NodeId rest, Element(set_.rest));
  NodeId further = builder_.Sequence({comma_, rest});
  int64_t min = std::max<int64_t>(0, min_ - 1);
  int64_t max = max_ == kUnbounded ? kUnbounded : max_ - 1;
  return builder_.Sequence({rest, builder_.Repeat(further, min, max), end_});
}

StatusOr<std::optional<ScratchVector<ArrayEmitter::Literal>>> ArrayEmitter::Literals(ExprId expr) {
  std::optional<ScratchVector<Literal>> none;
  GM_ASSIGN_OR_RETURN(const ValueSet* set, e_.normaliser_.Evaluate(expr));
  e_.normaliser_.MarkEmitted(expr);
  if (!set->arrays.empty() || !set->objects.empty()) return none;
  ScratchVector<Literal> out;
  auto add = [&](std::string_view identity, NodeId node) {
    for (const Literal& l : out) {
      if (l.identity == identity) return;
    }
    out.push_back({ScratchString(identity), node});
  };
  if (set->null) add("null", builder_.Bytes("null"));
  if (set->false_value) add("false", builder_.Bytes("false"));
  if (set->true_value) add("true", builder_.Bytes("true"));
  for (const NumberSet& n : set->numbers) {
    std::optional<ScratchVector<Decimal>> members = n.Members(kMaxLiterals);
    if (!members) return none;
    for (const Decimal& d : *members) {
      GM_ASSIGN_OR_RETURN(NodeId node, e_.Numbers({NumberSet::Only(d)}));
      add(d.ToString(), node);
    }
  }
  for (const StringSet& s : set->strings) {
    if (!s.values || s.values->size() > kMaxLiterals) return none;
    for (const ScratchString& value : *s.values) {
      GM_ASSIGN_OR_RETURN(bool holds, e_.normaliser_.patterns().Contains(s, value));
      if (!holds) continue;
      StringSet only;
      only.values = {value};
      GM_ASSIGN_OR_RETURN(NodeId node, e_.String(only));
      add("\"" + value, node);
    }
  }
  if (out.size() > kMaxLiterals) return none;
  return std::optional(std::move(out));
}

Status ArrayEmitter::UniqueUnsupported(std::string_view what) const {
  return e_.normaliser_.tree().Error(
      StatusCode::kUnsupported, *set_.unique, Keyword::kUniqueItems,
      std::string(what) + " can not be held apart; leave uniqueItems to a check afterwards");
}

// The spellings of numbers among which equal numbers are found: plain notation, and one digit from
// 1 to 9 before the point of scientific notation. EmitNumberValue has all of one number.
NodeId ArrayEmitter::UsualNumbers() {
  NodeId digit = builder_.ByteClass(ByteSet::Range('0', '9'));
  NodeId fraction = builder_.Optional(
      builder_.Sequence({builder_.Bytes("."), builder_.Repeat(digit, 1, kUnbounded)}));
  NodeId first = builder_.ByteClass(ByteSet::Range('1', '9'));
  NodeId integer = builder_.Choice(
      {builder_.Bytes("0"), builder_.Sequence({first, builder_.Repeat(digit, 0, kUnbounded)})});
  ByteSet e, sign;
  for (uint8_t b : {'e', 'E'}) e.Add(b);
  for (uint8_t b : {'+', '-'}) sign.Add(b);
  NodeId exponent =
      builder_.Sequence({builder_.ByteClass(e), builder_.Optional(builder_.ByteClass(sign)),
                         builder_.Repeat(digit, 1, kUnbounded)});
  return builder_.Sequence({builder_.Optional(builder_.Bytes("-")),
                            builder_.Choice({builder_.Sequence({integer, fraction}),
                                             builder_.Sequence({first, fraction, exponent})})});
}

// The scalars of a set as one regular node.
StatusOr<NodeId> ArrayEmitter::Scalars(const ValueSet& set) {
  ScratchVector<NodeId> alternatives;
  NodeId quote = builder_.Bytes("\"");
  for (const StringSet& s : set.strings) {
    GM_ASSIGN_OR_RETURN(NodeId body,
                        EmitStringBody(&builder_, s, e_.limits_, e_.normaliser_.patterns().memo()));
    alternatives.push_back(builder_.Sequence({quote, body, quote}));
  }
  for (const NumberSet& n : set.numbers) {
    GM_ASSIGN_OR_RETURN(NodeId numbers, EmitNumbers(&builder_, n, e_.limits_, e_.spelling_));
    alternatives.push_back(builder_.And({numbers, UsualNumbers()}));
  }
  if (set.true_value) alternatives.push_back(builder_.Bytes("true"));
  if (set.false_value) alternatives.push_back(builder_.Bytes("false"));
  if (set.null) alternatives.push_back(builder_.Bytes("null"));
  return builder_.Choice(alternatives);
}

// How many values there are in `expr`: exact up to kMany, which stands for more or infinitely many;
// nullopt where that is not plain.
StatusOr<std::optional<int64_t>> ArrayEmitter::CountOf(ExprId expr, int depth) {
  if (expr == kNone) return std::optional<int64_t>(0);
  if (depth == 0) return std::optional<int64_t>();
  const auto known = e_.counts_.find(std::pair(expr, depth));
  if (known != e_.counts_.end()) return std::optional<int64_t>(known->second);
  GM_ASSIGN_OR_RETURN(std::optional<int64_t> count, CountAnew(expr, depth));
  e_.counts_[std::pair(expr, depth)] = count;
  return count;
}

StatusOr<std::optional<int64_t>> ArrayEmitter::CountAnew(ExprId expr, int depth) {
  std::optional<int64_t> unknown;
  GM_ASSIGN_OR_RETURN(const ValueSet* set, e_.normaliser_.Evaluate(expr));
  std::optional<int64_t> sum = set->null + set->false_value + set->true_value;
  auto add = [&](std::optional<int64_t> n) {
    if (n == kMany || sum == kMany) {
      sum = kMany;
    } else if (n && sum) {
      sum = std::min(kMany, *sum + *n);
    } else {
      sum.reset();
    }
  };
  // Of sets that may overlap the sum says nothing, but one with many values is enough, and a few
  // values are told one by one.
  std::optional<ScratchVector<ScratchString>> few;
  if (set->numbers.size() > 1) few.emplace();
  for (const NumberSet& n : set->numbers) {
    const auto members = few ? n.Members(kMaxLiterals) : std::nullopt;
    if (!members) few.reset();
    for (size_t i = 0; members && i < members->size(); ++i) {
      few->push_back(ScratchString((*members)[i].ToString()));
    }
  }
  if (few) {
    SortUnique(&*few);
    add(static_cast<int64_t>(few->size()));
  }
  for (size_t i = 0; !few && i < set->numbers.size(); ++i) {
    const std::optional<int64_t> count = set->numbers[i].Count(kMany);
    add(count == kMany || set->numbers.size() == 1 ? count : unknown);
  }
  for (const StringSet& s : set->strings) {
    std::optional<int64_t> count;
    if (s.values) {
      StringSet only;
      only.values = s.values;
      count = s == only ? static_cast<int64_t>(s.values->size()) : 0;
      for (size_t i = 0; s != only && i < s.values->size(); ++i) {
        GM_ASSIGN_OR_RETURN(bool holds, e_.normaliser_.patterns().Contains(s, (*s.values)[i]));
        *count += holds;
      }
    } else {
      GM_ASSIGN_OR_RETURN(count, CountStrings(s, kMany, e_.limits_));
    }
    add(count == kMany || set->strings.size() == 1 ? count : unknown);
  }
  for (const ArraySet& a : set->arrays) {
    GM_ASSIGN_OR_RETURN(std::optional<int64_t> count, CountOf(a, depth));
    add(count == kMany || set->arrays.size() == 1 ? count : unknown);
  }
  for (const ObjectSet& o : set->objects) {
    GM_ASSIGN_OR_RETURN(std::optional<int64_t> count, CountOf(o, depth));
    add(count == kMany || set->objects.size() == 1 ? count : unknown);
  }
  return sum;
}

// The sum over the lengths of the products over the elements.
StatusOr<std::optional<int64_t>> ArrayEmitter::CountOf(const ArraySet& a, int depth) {
  std::optional<int64_t> unknown;
  const auto length = static_cast<int64_t>(a.prefix.size());
  if (!a.some.empty() || a.repeats || (a.unique && length > 0)) return unknown;
  int64_t max = a.closed ? std::min(a.max, length) : a.max;
  GM_ASSIGN_OR_RETURN(std::optional<int64_t> rest, CountOf(a.rest, depth - 1));
  if (max > length && rest == 0) max = length;
  if (a.unique && rest && *rest < kMany) max = std::min(max, *rest);
  int64_t sum = 0, product = 1;
  for (int64_t n = 0; n <= max; ++n) {
    if (n >= a.min) sum = std::min(kMany, sum + product);
    if (n == max || sum == kMany) break;
    std::optional<int64_t> count = rest;
    if (n < length) {
      GM_ASSIGN_OR_RETURN(count, CountOf(a.prefix[static_cast<size_t>(n)], depth - 1));
    }
    // Without a bound on the length it is enough that there is an element at all.
    if (!count && n >= length && max == kUnbounded && !a.unique) {
      GM_ASSIGN_OR_RETURN(bool empty, e_.normaliser_.ProvablyEmpty(a.rest));
      return empty ? unknown : std::optional(kMany);
    }
    if (!count) return unknown;
    if (a.unique && *count < kMany) *count -= n;
    if (n >= length && *count > 0) {
      // As many of each greater length, or ever more.
      if (product == kMany && a.min <= max) return std::optional(kMany);
      if (*count == 1 && !a.unique) {
        const int64_t lengths = std::min(kMany, max - std::max(n, a.min - 1));
        return std::optional(std::min(kMany, sum + product * std::max<int64_t>(lengths, 0)));
      }
    }
    product = std::min(kMany, product * *count);
    if (product == 0) break;
  }
  return std::optional(sum);
}

StatusOr<std::optional<int64_t>> ArrayEmitter::CountOf(const ObjectSet& o, int depth) {
  std::optional<int64_t> unknown;
  if (!o.some.empty() || !o.none.empty()) return unknown;
  const bool free = !o.closed && o.names == kAnything && o.groups.empty() && o.max == kUnbounded;
  if (free && o.rest == kAnything) return std::optional(kMany);
  std::optional<int64_t> product = 1;
  int64_t required = 0;
  for (const ObjectSet::Named& n : o.named) {
    required += n.required;
    if (n.value == kNone || (o.closed && !n.declared && !n.required)) continue;
    GM_ASSIGN_OR_RETURN(std::optional<int64_t> count, CountOf(n.value, depth - 1));
    // One member of many values is enough, where it may be there.
    const bool fits = n.required || o.max > required;
    if (count == kMany && fits) return std::optional(kMany);
    if (!count) product.reset();
    if (product) product = std::min(kMany, *product * (n.required ? *count : 1 + *count));
  }
  const bool extras = o.rest != kNone && !o.closed;
  if (o.names == kAnything && o.max > required) {
    // One more member, whose name is any of infinitely many.
    if (extras && o.groups.empty()) {
      GM_ASSIGN_OR_RETURN(bool empty, e_.normaliser_.ProvablyEmpty(o.rest));
      return empty ? unknown : std::optional(kMany);
    }
    GM_ASSIGN_OR_RETURN(bool many, ManyMatch(o));
    if (many) return std::optional(kMany);
  }
  const bool counts = o.min > required || o.max < static_cast<int64_t>(o.named.size());
  if (extras || counts || !o.groups.empty() || o.names != kAnything) return unknown;
  return product;
}

// Whether some pattern is found in many names, none of which another pattern is found in, and they
// may have values.
StatusOr<bool> ArrayEmitter::ManyMatch(const ObjectSet& o) {
  if (o.groups.size() != 1) return false;
  KeyPatterns& patterns = e_.normaliser_.patterns();
  for (const ObjectSet::Pattern& p : o.groups[0].patterns) {
    bool alone = true;
    for (const ObjectSet::Pattern& other : o.groups[0].patterns) {
      if (other.pattern == p.pattern || !alone) continue;
      GM_ASSIGN_OR_RETURN(alone, patterns.Disjoint(p.pattern, other.pattern));
    }
    if (!alone) continue;
    GM_ASSIGN_OR_RETURN(bool empty, e_.normaliser_.ProvablyEmpty(p.value));
    if (empty) continue;
    StringSet names;
    names.patterns = {ScratchString(patterns.text(p.pattern))};
    GM_ASSIGN_OR_RETURN(std::optional<int64_t> count, CountStrings(names, kMany, e_.limits_));
    if (count == kMany) return true;
  }
  return false;
}

// What elements are for the conditions of set_.some, each of which asks for some element: all that
// they may be, which meet none, and for each combination of conditions those that meet it. Where
// one asks for several elements, each of these is a condition, and an element meets one of them.
// Nullopt where one cannot be met.
StatusOr<std::optional<ScratchVector<ArrayEmitter::Kind>>> ArrayEmitter::Kinds() {
  ExprPool& pool = e_.normaliser_.pool();
  const ScratchVector<ArraySet::Count>& counts = set_.some;
  const bool each_once =
      std::ranges::all_of(counts, [](const ArraySet::Count& c) { return c.min == 1; });
  const int64_t most = SchemaEmitter::kMaxConditions;
  for (const ArraySet::Count& c : counts) {
    if (c.from > 0) return UniqueUnsupported("elements with contains from some position on");
    if (c.min > most)
      return UniqueUnsupported("elements with a minContains over " + std::to_string(most) +
                               " beside them");
    GM_ASSIGN_OR_RETURN(std::optional<int64_t> count,
                        CountOf(pool.And(set_.rest, c.expr), kCountDepth));
    // As many as there are may all be there.
    if (c.max != kUnbounded && (!count || *count > c.max)) {
      return UniqueUnsupported("elements with maxContains beside them");
    }
    if (!count && c.min > 1) {
      return UniqueUnsupported(
          "elements with a minContains of which it is not plain how many there are");
    }
    if (count && *count < c.min) return std::optional<ScratchVector<Kind>>();
  }
  if (counts.size() > static_cast<size_t>(most) || (counts.size() > 1 && !each_once)) {
    return UniqueUnsupported("elements with so many kinds of them that must be there");
  }
  ScratchVector<Kind> kinds = {{set_.rest, 0}};
  if (!each_once) {
    const ExprId asked = pool.And(set_.rest, counts[0].expr);
    for (int64_t k = 0; k < counts[0].min; ++k) kinds.push_back({asked, uint32_t{1} << k});
    return std::optional(std::move(kinds));
  }
  for (uint32_t mask = 1; mask >> counts.size() == 0; ++mask) {
    ScratchVector<ExprId> parts = {set_.rest};
    for (size_t k = 0; k < counts.size(); ++k) {
      if (mask >> k & 1) parts.push_back(counts[k].expr);
    }
    const ExprId asked = pool.And(parts);
    GM_ASSIGN_OR_RETURN(bool empty, e_.normaliser_.ProvablyEmpty(asked));
    if (!empty) kinds.push_back({asked, mask});
  }
  return std::optional(std::move(kinds));
}

// Elements that must all be different, and for which the position does not matter: each of a few
// values at most once, or scalars of any kind with what has been written kept in mind. A value that
// meets a condition may be read as one that does not, too: that reading leads no further than the
// other one.
StatusOr<NodeId> ArrayEmitter::Unique() {
  if (!set_.prefix.empty()) {
    return set_.some.empty()
               ? UniqueAfterPrefix()
               : UniqueUnsupported("elements with contains and prefixItems beside them");
  }
  NodeId after = e_.layout_.After();
  Members all{.separator = builder_.Sequence({after, comma_}),
              .end = builder_.Sequence({after, end_}),
              .members = {}};
  std::optional<ScratchVector<Literal>> literals;
  if (set_.some.empty()) {
    GM_ASSIGN_OR_RETURN(literals, Literals(set_.rest));
  }
  if (literals) {
    for (const Literal& l : *literals) all.members.push_back({l.node, MemberUse::kOptional});
  } else {
    GM_ASSIGN_OR_RETURN(const auto kinds, Kinds());
    if (!kinds.has_value()) return builder_.Nothing();
    GM_ASSIGN_OR_RETURN(const ValueSet* set, e_.normaliser_.Evaluate(set_.rest));
    const bool compound = !set->arrays.empty() || !set->objects.empty();
    if (compound || (!set_.some.empty() && min_ > 1)) {
      // While there are more values than were written, there is another one to write.
      GM_ASSIGN_OR_RETURN(std::optional<int64_t> count, CountOf(set_.rest, kCountDepth));
      if (!count) {
        return UniqueUnsupported("elements of which it is not plain how many there are");
      }
      if (*count < kMany) max_ = std::min(max_, *count);
      if (min_ > max_) return builder_.Nothing();
    }
    for (const ArraySet::Count& c : set_.some) all.conditions += static_cast<uint32_t>(c.min);
    for (const Kind& kind : *kinds) {
      GM_RETURN_IF_ERROR(AddDistinct(
          kind.expr, {.node = {}, .use = MemberUse::kDistinct, .meets = kind.meets}, &all));
    }
  }
  all.min = min_;
  all.max = max_;
  return builder_.Members(all);
}

// Adds the scalars of `expr` as a member such as `member`, and its arrays and objects as another.
Status ArrayEmitter::AddDistinct(ExprId expr, Members::Member member, Members* all) {
  GM_ASSIGN_OR_RETURN(const ValueSet* values, e_.normaliser_.Evaluate(expr));
  e_.normaliser_.MarkEmitted(expr);
  GM_ASSIGN_OR_RETURN(member.node, Scalars(*values));
  all->members.push_back(member);
  if (!values->arrays.empty() || !values->objects.empty()) {
    member.node = e_.Containers(expr, depth_ + 1);
    all->members.push_back(member);
  }
  return {};
}

// The same where the position matters. Whatever was written before it, each element that must be
// there has a value left; one that may be there is where it has one.
StatusOr<NodeId> ArrayEmitter::UniqueAfterPrefix() {
  GM_ASSIGN_OR_RETURN(std::optional<NodeId> of_literals, LiteralsAfterPrefix());
  if (of_literals.has_value()) return *of_literals;
  const auto length = static_cast<int64_t>(std::min<uint64_t>(set_.prefix.size(), max_));
  if (length > static_cast<int64_t>(kMaxMemberPlaces)) {
    return UniqueUnsupported("elements after so many others of their own (prefixItems)");
  }
  NodeId after = e_.layout_.After();
  Members all{.separator = builder_.Sequence({after, comma_}),
              .end = builder_.Sequence({after, end_}),
              .members = {},
              .min = min_,
              .max = max_};
  ScratchVector<uint32_t> kinds_before;
  for (int64_t i = 0; i <= length && i < max_; ++i) {
    const ExprId expr = set_.at(static_cast<size_t>(i));
    GM_ASSIGN_OR_RETURN(const ValueSet* values, e_.normaliser_.Evaluate(expr));
    const bool compound = !values->arrays.empty() || !values->objects.empty();
    const uint32_t kinds = KindsOf(*values);
    GM_ASSIGN_OR_RETURN(std::optional<int64_t> count, CountOf(expr, kCountDepth));
    const bool rest = i == length;
    // So many of its values may be written before the last element that it stands for.
    int64_t before =
        std::ranges::count_if(kinds_before, [&](uint32_t k) { return (k & kinds) != 0; });
    if (rest) before += std::min(compound ? max_ : std::max(min_, i + 1), kMany) - i - 1;
    kinds_before.push_back(kinds);
    const bool enough = count.has_value() && (*count == 0 || *count == kMany || *count > before);
    // Of scalars none is begun where none is left.
    if ((compound || i < min_) && !enough) {
      return UniqueUnsupported(
          "elements after others of their own (prefixItems), of which it is not plain that there "
          "are more than come before them,");
    }
    Members::Member member{.node = {}, .use = MemberUse::kDistinct};
    if (!rest) {
      member.use = MemberUse::kPlaced;
      member.place = static_cast<uint32_t>(i);
    }
    GM_RETURN_IF_ERROR(AddDistinct(expr, member, &all));
  }
  return builder_.Members(all);
}

// The same where all elements are of a few values: a rule for each set of those used so far.
StatusOr<std::optional<NodeId>> ArrayEmitter::LiteralsAfterPrefix() {
  std::optional<NodeId> none;
  // What each position may hold, over one table of literals.
  ScratchVector<Literal> table;
  ScratchVector<ScratchVector<size_t>> allowed;
  for (size_t i = 0; i <= set_.prefix.size(); ++i) {
    GM_ASSIGN_OR_RETURN(auto literals, Literals(set_.at(i)));
    if (!literals) return none;
    allowed.emplace_back();
    for (Literal& l : *literals) {
      size_t at = 0;
      while (at < table.size() && table[at].identity != l.identity) ++at;
      if (at == table.size()) table.push_back(std::move(l));
      allowed.back().push_back(at);
    }
  }
  if (table.size() > kMaxLiterals) return none;
  // After the literals in `used` are written: a comma and another one, or the end.
  absl::flat_hash_map<uint64_t, RuleId> rules;
  ScratchVector<uint64_t> waiting;
  auto rule_of = [&](uint64_t used) {
    auto [it, fresh] = rules.try_emplace(used);
    if (fresh) {
      it->second = builder_.AddRule("distinct");
      waiting.push_back(used);
    }
    return builder_.Rule(it->second);
  };
  auto choices = [&](uint64_t used, NodeId comma) {
    int64_t count = std::popcount(used);
    ScratchVector<NodeId> alternatives;
    if (count > 0 && count >= min_) alternatives.push_back(end_);
    if (count < max_) {
      for (size_t v : allowed[std::min<size_t>(count, set_.prefix.size())]) {
        if (used >> v & 1) continue;
        alternatives.push_back(builder_.Sequence(
            {comma, table[v].node, e_.layout_.After(), rule_of(used | uint64_t{1} << v)}));
      }
    }
    return builder_.Choice(alternatives);
  };
  NodeId first = choices(0, builder_.Empty());
  while (!waiting.empty()) {
    if (rules.size() > kMaxUsedSets) {
      return UniqueUnsupported(
          "elements of so many values after others of their own (prefixItems)");
    }
    uint64_t used = waiting.back();
    waiting.pop_back();
    RuleId rule = rules[used];
    NodeId body = choices(used, comma_);
    builder_.SetBody(rule, body);
  }
  return std::optional(first);
}

StatusOr<NodeId> ArrayEmitter::Run() {
  if (min_ > max_) return builder_.Nothing();
  bool may_be_empty = min_ == 0;
  NodeId content = builder_.Nothing();
  if (max_ > 0 && e_.layout_.may_nest(depth_)) {
    if (set_.repeats) {
      return e_.normaliser_.tree().Error(
          StatusCode::kUnsupported, *set_.repeats, Keyword::kUniqueItems,
          "arrays with equal elements, which is what the complement of uniqueItems (in not, or of "
          "another branch of oneOf) asks for, are not supported");
    }
    StatusOr<NodeId> elements = set_.unique && max_ > 1 ? Unique()
                                : !set_.some.empty()    ? Counted()
                                : set_.prefix.empty()   ? WithoutPrefix()
                                                        : FromPrefix();
    GM_ASSIGN_OR_RETURN(content, std::move(elements));
  }
  return e_.layout_.Container('[', ']', may_be_empty, content, depth_);
}

}  // namespace grammask::internal
