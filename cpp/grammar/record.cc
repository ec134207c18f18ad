// Records to what they stand for.
//
// After the first member every further one brings its comma along, so that the rest is a plain
// sequence of optional parts: with a, b, c optional, the members are a T1 | b T2 | c T3 where T1 =
// (,b)? T2. Each T is one node to which two others refer, and every few members a rule, which keeps
// a thousand optional properties linear and shallow.
//
// A kRecord says the same in one node, so that an object costs a front end and the automaton's
// builder little until a text gets to it: automaton/records.cc makes its states then. People, and
// what goes through a grammar node by node, see records written out.
//
// Tests: tests/automaton/short_forms_test.cc.
#include "grammar/record.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/check.h"
#include "base/scratch.h"

namespace grammask::internal {
namespace {

// Members between two shared suffixes.
constexpr size_t kChunk = 16;

// firsts[i] is the i-th as the first of all and what follows.
NodeId FirstMembers(GrammarBuilder* builder, std::span<const NodeId> firsts, NodeId others_first,
                    absl::FunctionRef<NodeId(NodeId)> as_rule) {
  absl::InlinedVector<NodeId, kChunk + 2> alternatives;
  alternatives.push_back(others_first);
  for (size_t i = firsts.size(); i-- > 0;) {
    alternatives.push_back(firsts[i]);
    if (alternatives.size() > kChunk && i > 0) {
      alternatives = {as_rule(builder->Choice(alternatives))};
    }
  }
  return builder->Choice(alternatives);
}

}  // namespace

NodeId MembersInOrder(GrammarBuilder* builder, const OrderedMembers& all,
                      absl::FunctionRef<NodeId(NodeId)> as_rule) {
  const std::span members = all.members;
  const size_t n = members.size();
  auto parts_of = [&](const OrderedMembers::Member& member, bool comma) {
    return std::array{comma ? all.comma_quote : all.quote, member.key, all.quote_colon,
                      member.value, all.after};
  };
  size_t first_required = 0;
  while (first_required < n && !members[first_required].required) ++first_required;
  const size_t last = std::min(first_required + 1, n);  // members that may be the first
  absl::InlinedVector<NodeId, 16> firsts(last);
  // What follows the i-th member: `parts`, back to front, and then `rest`. Only the first members
  // need it as a node of its own.
  NodeId rest = all.rest;
  absl::InlinedVector<NodeId, 64> parts = {rest};
  size_t count = 1;  // of members in it, and the end
  if (n > 0 && last == n) {
    firsts[n - 1] = builder->Sequence({builder->Sequence(parts_of(members[n - 1], false)), rest});
  }
  for (size_t i = n; i-- > 1; ++count) {
    const OrderedMembers::Member& member = members[i];
    if (i > last && member.required) {
      const std::array<NodeId, 5> pieces = parts_of(member, true);
      parts.insert(parts.end(), pieces.rbegin(), pieces.rend());
      continue;
    }
    const NodeId part = builder->Sequence(parts_of(member, true));
    parts.push_back(member.required ? part : builder->Optional(part));
    if (i > last) continue;
    if (parts.size() == 2 && parts[0] == rest && i + 1 < n) {
      rest = builder->SequenceBefore({&parts[1], 1}, rest);
    } else {
      std::ranges::reverse(parts);
      rest = builder->Sequence(parts);
    }
    if (count >= kChunk) {
      rest = as_rule(rest);
      count = 0;
    }
    parts.assign(1, rest);
    firsts[i - 1] = builder->SequenceBefore(parts_of(members[i - 1], false), rest);
  }
  return FirstMembers(builder, firsts, first_required == n ? all.others_first : builder->Nothing(),
                      as_rule);
}

NodeId ExpandRecord(GrammarBuilder* builder, const Record& r) {
  const NodeId nothing = builder->Nothing();
  ScratchVector<OrderedMembers::Member> members;
  ScratchVector<NodeId> keys;
  for (const Record::Member& m : r.members) {
    keys.push_back(builder->JsonText(m.key));
    if (m.value == nothing && m.required) return nothing;
    if (m.value != nothing) members.push_back({keys.back(), m.value, m.required});
  }
  NodeId others_first = nothing, rest = r.end;
  if (r.other != nothing) {
    const NodeId key =
        keys.empty() ? r.any_key : builder->And({r.any_key, builder->Not(builder->Choice(keys))});
    const RuleId name = builder->AddRule("string");
    builder->SetBody(name, builder->Sequence({r.quote, key, r.quote}));
    const NodeId other = builder->Sequence({builder->Rule(name), r.colon, r.other, r.after});
    rest = builder->Sequence({builder->Star(builder->Sequence({r.comma, other})), r.end});
    others_first = builder->Sequence({other, rest});
  }
  auto as_rule = [&](NodeId node) {
    if (builder->node(node).kind == NodeKind::kRule) return node;
    const RuleId rule = builder->AddRule("members");
    builder->SetBody(rule, node);
    return builder->Rule(rule);
  };
  const NodeId content = MembersInOrder(builder,
                                        {.members = members,
                                         .quote = r.quote,
                                         .comma_quote = r.comma_quote,
                                         .quote_colon = r.quote_colon,
                                         .after = r.after,
                                         .others_first = others_first,
                                         .rest = rest},
                                        as_rule);
  return builder->Sequence({r.open, builder->Choice({r.may_be_empty ? r.end : nothing, content})});
}

Record RecordOf(std::span<const NodeId> c, const RecordView& view) {
  GM_DCHECK(c.size() == RecordView::kFixed + view.size());
  Record r{.open = c[RecordView::kOpen],
           .end = c[RecordView::kEnd],
           .quote = c[RecordView::kQuote],
           .comma = c[RecordView::kComma],
           .comma_quote = c[RecordView::kCommaQuote],
           .quote_colon = c[RecordView::kQuoteColon],
           .colon = c[RecordView::kColon],
           .after = c[RecordView::kAfter],
           .any_key = c[RecordView::kAnyKey],
           .other = c[RecordView::kOther],
           .may_be_empty = view.may_be_empty(),
           .members = {}};
  for (size_t i = 0; i < view.size(); ++i) {
    r.members.push_back({view.key(i), c[RecordView::kFixed + i], view.required(i)});
  }
  return r;
}

Grammar WithoutShortForms(const Grammar& grammar) {
  if (!grammar.has_short_forms()) return grammar;
  Limits none;
  none.max_ast_nodes = SIZE_MAX;
  GrammarBuilder builder(none);
  const RuleId root = builder.Import(grammar, true);
  return builder.Finish(root).value();
}

}  // namespace grammask::internal
