// Recursive groups of rules, found again by what describes them, and the bodies of their rules.
//
// A group is kept as its description (recursive_group.h) and makes the body of a rule when a parse
// first calls it: of a large grammar's rules most are never called. Nodes that rules share are made
// once, so all bodies together cost what the description is long. Cost: 100 ns a node, and once a
// group a pass over its words. Tests: tests/automaton/build_test.cc, saved_terms_test.cc.
#include <algorithm>
#include <vector>

#include "automaton/body_program.h"
#include "automaton/members.h"
#include "automaton/recursive_group.h"
#include "automaton/saved_pool.h"
#include "automaton/term_store.h"
#include "base/scratch.h"

namespace grammask::internal {
namespace {

// It makes its body of the group's description.
void SetGroupProgram(TermStore* store, ProcId proc, uint32_t group, uint32_t rule) {
  const uint32_t program[] = {StepWord(TermKind::kEmpty, 0), group, rule};
  store->SetProgram(proc, program);
}

}  // namespace

std::optional<std::span<const ProcId>> TermStore::FindGroup(const GroupName& name) const {
  const auto it = group_ids_.find(name);
  return it == group_ids_.end() ? std::nullopt : std::optional(groups_[it->second].procs);
}

std::span<const ProcId> TermStore::AddGroup(const GroupName& name, std::span<const ProcId> procs,
                                            std::span<const uint32_t> at_once) {
  GroupName kept = name;
  kept.words = memory_.Copy(name.words);
  const auto group = static_cast<uint32_t>(groups_.size());
  groups_.push_back({.words = kept.words, .procs = memory_.Copy(procs)});
  group_ids_.emplace(kept, group);
  // Before any of the group has a program: a list of members asks for bodies of its values.
  for (const uint32_t rule : at_once) SetBody(procs[rule], MakeGroupBody(group, rule));
  for (uint32_t rule = 0; rule < procs.size(); ++rule) {
    if (procs_[procs[rule].value].body == Nothing()) {
      SetGroupProgram(this, procs[rule], group, rule);
    }
  }
  return groups_[group].procs;
}

std::span<const ProcId> TermStore::SavedGroup(std::string_view name,
                                              std::span<const uint64_t> lengths, SavedPool* pool,
                                              uint32_t number) {
  const auto [kept, known, added] =
      KeepIn(&memory_, std::span<const char>(name.data(), name.size()), &saved_groups_);
  if (!added) return groups_[*known].procs;
  const auto group = static_cast<uint32_t>(groups_.size());
  *known = group;
  const std::span<ProcId> procs = {memory_.Allocate<ProcId>(lengths.size()), lengths.size()};
  for (uint32_t rule = 0; rule < procs.size(); ++rule) {
    procs[rule] = AddProc(lengths[rule] == 0, lengths[rule]);
    SetGroupProgram(this, procs[rule], group, rule);
  }
  groups_.push_back({.words = {}, .procs = procs, .pool = pool, .pool_group = number});
  return procs;
}

std::span<const uint64_t> TermStore::GroupWords(uint32_t group) {
  RecursiveGroup& g = groups_[group];
  if (g.pool != nullptr && g.words.empty()) {
    g.words = memory_.Copy(std::span<const uint64_t>(g.pool->GroupWords(g.pool_group)));
  }
  return g.words;
}

TermId TermStore::MakeGroupBody(uint32_t group, uint32_t rule) {
  RecursiveGroup& g = groups_[group];
  if (g.is_busy) return Nothing();  // what a forged file's names make go round in circles
  g.is_busy = true;
  const TermId body = MakeGroupBody(&g, rule);
  g.is_busy = false;
  return body;
}

TermId TermStore::MakeGroupBody(RecursiveGroup* group, uint32_t rule) {
  RecursiveGroup& g = *group;
  const bool saved = g.pool != nullptr;
  const uint64_t body = saved ? g.pool->GroupBody(g.pool_group, rule) : g.words[2 + size_t{rule}];
  if (IsTerm(body)) return TermId(static_cast<uint32_t>(body >> 1));
  if (g.made.empty()) {
    size_t nodes = 0;
    if (saved) {
      nodes = g.pool->NodesOf(g.pool_group);
    } else {
      ScratchVector<uint32_t> places;
      for (size_t at = 2 + g.procs.size(); at < g.words.size();) {
        places.push_back(static_cast<uint32_t>(at));
        SkipGroupNode(g.words, &at);
      }
      g.places = memory_.Copy(std::span<const uint32_t>(places));
      nodes = places.size();
    }
    g.made = {memory_.Allocate<TermId>(nodes), nodes};
    std::ranges::fill(g.made, Nothing());
  }
  auto node = [&](uint32_t i) {
    size_t at = saved ? 0 : g.places[i];
    return ReadGroupNode(saved ? g.pool->Node(g.pool_group, i) : g.words, &at);
  };
  // A rule that is a record as a whole is not only a call of one.
  const auto root = static_cast<uint32_t>(body >> 1);
  const GroupNode whole = node(root);
  const bool record = whole.kind == NodeKind::kRecord;
  constexpr TermId kDue(UINT32_MAX);
  ScratchVector<uint32_t> due;  // nodes below it, and last the root
  auto add = [&](uint64_t reference) {
    const auto i = static_cast<uint32_t>(reference >> 1);
    if (IsTerm(reference) || g.made[i] != Nothing()) return;
    g.made[i] = kDue;
    due.push_back(i);
  };
  if (record) {
    for (uint64_t child : whole.children) add(child);
  } else {
    add(body);
  }
  for (size_t i = 0; i < due.size(); ++i) {
    for (uint64_t child : node(due[i]).children) add(child);
  }
  std::ranges::sort(due);  // children first
  for (uint32_t i : due) {
    const bool deep = saved && g.pool->IsTooDeep(g.pool_group, i);
    g.made[i] = deep ? Nothing() : MakeGroupNode(g, node(i));
  }
  if (!record) return g.made[root];
  if (saved && g.pool->IsTooDeep(g.pool_group, root)) return Nothing();
  const ProcId proc = g.procs[rule];
  SetProgram(proc, GroupRecord(g, whole));
  return RunProgram(procs_[proc.value].program, proc, {});
}

// Its children are made.
TermId TermStore::MakeGroupNode(const RecursiveGroup& group, const GroupNode& node) {
  absl::InlinedVector<TermId, 16> parts;
  for (uint64_t child : node.children) parts.push_back(group.term(child));
  switch (node.kind) {
    case NodeKind::kSequence:
      return Sequence(parts);
    case NodeKind::kChoice:
      return Choice(parts);
    case NodeKind::kRepeat:
      return Repeat(parts[0], node.min, node.max);
    case NodeKind::kRule:
      return Call(group.procs[node.rule]);
    case NodeKind::kRecord: {
      const uint64_t length = ShortestRecord(
          RecordOf(node), [&](size_t i) { return terms_[parts[i].value].min_length; });
      return length >= kMaxLength ? Nothing() : Call(LazyProc(GroupRecord(group, node), length));
    }
    default:
      break;
  }
  MemberSpec spec;
  spec.separator = parts[0];
  spec.end = parts[1];
  spec.min = node.min;
  spec.max = node.max;
  spec.conditions = (uint32_t{1} << node.conditions) - 1;
  for (size_t i = 0; i < node.uses.size(); ++i) {
    const TermId member = parts[i + 2];
    if (terms_[member.value].nullable) return Nothing();  // only a forged file has such
    spec.members.push_back({.use = UseOfWord(node.uses[i]),
                            .meets = MeetsOfWord(node.uses[i]),
                            .place = PlaceOfWord(node.uses[i]),
                            .term = member});
    if (HasOwnValue(spec.members.back().use)) PartLast(&spec);
  }
  return MembersOf(std::move(spec));
}

// The program (body_program.h) of a record whose children are made.
std::vector<uint32_t> TermStore::GroupRecord(const RecursiveGroup& group, const GroupNode& node) {
  std::vector<uint32_t> program = {
      StepWord(TermKind::kMembers, node.children.size() - RecordView::kFixed)};
  for (uint64_t child : node.children) program.push_back(group.term(child).value);
  program.insert(program.end(), node.record.begin(), node.record.end());
  return program;
}

}  // namespace grammask::internal
