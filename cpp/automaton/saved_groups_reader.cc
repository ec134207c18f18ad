// Records of recursive groups, which may be anything, to procedures.
//
// A group is its exact description (recursive_group.h), of which the bodies of its rules are made
// when they are called (recursive_groups.cc), so that a forged file cannot give another grammar's
// group a meaning of its own. The lengths of its rules are believed where the file is trusted; else
// they must be the least ones, found by passes until nothing changes. In `S ::= "(" S ")" | "x"`
// the first pass finds 1 for S by its second alternative, and the next that nothing is shorter.
//
// Cost: linear in the group but for the passes, whose words count towards max_ast_nodes. Tests:
// tests/automaton/saved_terms_test.cc, tests/fuzz/saved_grammar_fuzz.cc.
#include <algorithm>

#include "automaton/body_program.h"
#include "automaton/members.h"
#include "automaton/saved_pool.h"
#include "automaton/term_reader.h"
#include "grammar/node_store.h"

namespace grammask::internal {
namespace {

constexpr size_t kMostStepParts = size_t{1} << 28;  // that a step can have
constexpr uint64_t kNothingWord = 1;                // a reference to TermStore::Nothing()

}  // namespace

// Numbers of terms that stand before.
void TermReader::ReadTerms(std::vector<uint32_t>* numbers) {
  numbers->resize(in_.Count(1));
  for (uint32_t& number : *numbers) number = static_cast<uint32_t>(Reference());
}

// What stands before the nodes, but for the kind.
bool TermReader::ReadGroupHead(GroupHead* head) {
  head->name = in_.Bytes(kSavedNameBytes);
  head->has_members = in_.Byte() != 0;
  ReadTerms(&group_terms_);
  head->rules = in_.Count(2);
  head->nodes = in_.Count(2);
  if (head->rules == 0) in_.Fail();
  head->bodies.reserve(head->rules);
  for (size_t r = 0; r < head->rules && in_.ok(); ++r) {
    head->bodies.push_back(SavedReference(head->nodes));
  }
  head->rule_lengths.resize(head->rules);
  for (uint64_t& length : head->rule_lengths) length = in_.Number(kMaxLength - 1);
  head->node_lengths = in_.Text();
  return in_.ok();
}

// A reference as the file has it: a node, as its index * 2, or one of the terms that the group
// refers to, as its place among them * 2 + 1.
uint64_t TermReader::SavedReference(uint64_t nodes) {
  const uint64_t reference = in_.Number();
  if (reference >> 1 < (IsTerm(reference) ? group_terms_.size() : nodes)) return reference;
  in_.Fail();
  return 0;
}

// The same to a term of the store, which a pool makes now; `nest` gets its depth.
uint64_t TermReader::InStore(uint64_t reference, Nest* nest) {
  if (!IsTerm(reference)) return reference;
  const uint32_t number = group_terms_[reference >> 1];
  if (pool_.has_value()) s_.pools_[*pool_]->Make(number);
  *nest = known_[number].nest;
  return uint64_t{known_[number].term.value} << 1 | 1;
}

// What the depth of a child counts for: none of a repeat and of the end of a sequence, and that of
// lists only where they separate and end others.
TermReader::Nest TermReader::NestInGroup(NodeKind kind, size_t child, size_t children, Nest nest) {
  const bool deeper = kind == NodeKind::kSequence || kind == NodeKind::kChoice;
  const bool rest = kind == NodeKind::kSequence && child + 1 == children;
  if (kind == NodeKind::kRecord) {
    nest.heads += 4;  // whatever is in a member is in an alternative, and a part of it
  } else if (deeper && !rest) {
    ++nest.heads;
  } else {
    nest.heads = 0;
  }
  if (kind == NodeKind::kMembers) nest.lists = child < 2 ? nest.lists + 1 : 0;
  return nest;
}

// A child among `nodes` nodes, of which `nests` are those of the first.
uint64_t TermReader::GroupReference(uint64_t nodes, std::span<const Nest> nests, Nest* nest) {
  const uint64_t reference = SavedReference(nodes);
  if (!IsTerm(reference) && reference >> 1 < nests.size()) *nest = nests[reference >> 1];
  return in_.ok() ? InStore(reference, nest) : 0;
}

// One node of a group of `rules` rules, in words; its children are among the `before` nodes before
// it. The depth that it gives is that by its terms and by those of them that have `nests`.
TermReader::Nest TermReader::ReadGroupWords(uint64_t rules, uint64_t before,
                                            std::span<const Nest> nests,
                                            ScratchVector<uint64_t>* words) {
  const auto kind = static_cast<NodeKind>(in_.Byte());
  const uint64_t children = in_.Count(1);
  words->push_back(static_cast<uint64_t>(kind));
  words->push_back(children);
  switch (kind) {
    case NodeKind::kSequence:
    case NodeKind::kChoice:
      if (children == 0) in_.Fail();
      break;
    case NodeKind::kRepeat: {
      const uint64_t min = in_.Number(static_cast<uint64_t>(s_.limits().max_repeat));
      const uint64_t max = in_.Number(INT64_MAX);
      const bool bounded = max <= static_cast<uint64_t>(s_.limits().max_repeat);
      if (children != 1 || min > max || (!bounded && max != INT64_MAX)) in_.Fail();
      words->insert(words->end(), {min, max});
      break;
    }
    case NodeKind::kMembers: {
      has_members_ = true;
      const uint64_t min = in_.Number(INT64_MAX), max = in_.Number(INT64_MAX);
      const uint64_t conditions = in_.Number(kMaxMemberConditions);
      if (children < 3 || max < 1 || min > max) {
        in_.Fail();
        return {};
      }
      words->insert(words->end(), {min, max, conditions});
      ScratchVector<uint32_t> uses;
      for (uint64_t i = 2; i < children && in_.ok(); ++i) {
        uses.push_back(Use((uint32_t{1} << conditions) - 1));
      }
      if (!PlacesAreSound(uses, static_cast<uint32_t>(conditions))) in_.Fail();
      words->insert(words->end(), uses.begin(), uses.end());
      break;
    }
    case NodeKind::kRule:
      if (children != 0) in_.Fail();
      words->push_back(in_.Number(rules - 1));
      break;
    case NodeKind::kRecord:
      return ReadGroupRecord(children, before, nests, words);
    default:
      in_.Fail();
      break;
  }
  const size_t first = words->size();
  words->resize(first + children);
  uint64_t* word = words->data() + first;
  Nest nest;
  for (uint64_t i = 0; i < children; ++i) {  // after a failure there come references to nothing
    Nest child;
    *word++ = GroupReference(before, nests, &child);
    nest.Cover(NestInGroup(kind, i, children, child));
  }
  TooDeep(nest);
  return nest;
}

// The same for a record, of which the kind and the number of children are read. What its states are
// made of in the end cannot fail: all parts have texts but values, which a record goes without, and
// any text may be the key of further members, so that some is none of the named ones.
TermReader::Nest TermReader::ReadGroupRecord(uint64_t children, uint64_t before,
                                             std::span<const Nest> nests,
                                             ScratchVector<uint64_t>* words) {
  if (children < RecordView::kFixed || children >= kMostStepParts) {
    in_.Fail();
    return {};
  }
  const size_t count = static_cast<size_t>(children) - RecordView::kFixed;
  const bool may_be_empty = in_.Number(1) != 0;
  Record record{.may_be_empty = may_be_empty, .members = {}};  // without its nodes
  size_t text = 0;
  for (size_t i = 0; i < count && in_.ok(); ++i) {
    const bool required = in_.Number(1) != 0;
    const std::string_view key = in_.Text();
    text += key.size();
    if (key.empty() || text > UINT32_MAX / 2 || !IsJsonText(key)) in_.Fail();
    record.members.push_back({key, NodeId(), required});
  }
  if (!in_.ok()) return {};
  const ScratchVector<uint32_t> encoded = EncodeRecord(record);
  PackRecord(RecordView(encoded.data() + children, count).words(), words);
  Nest nest;
  const TermId any_text = s_.Repeat(s_.Character(CodePointSet::All(), true), 0, kUnbounded);
  for (uint64_t i = 0; i < children && in_.ok(); ++i) {
    Nest child;
    const uint64_t reference = GroupReference(before, nests, &child);
    words->push_back(reference);
    const bool is_term = IsTerm(reference);
    const TermId part(is_term ? static_cast<uint32_t>(reference >> 1) : 0);
    const bool nothing = is_term && part == TermStore::Nothing();
    if (i == RecordView::kAnyKey && !nothing && part != any_text) in_.Fail();
    if (i < RecordView::kAnyKey && nothing) in_.Fail();
    if (i == RecordView::kOther && !nothing && words->end()[-2] == kNothingWord) in_.Fail();
    nest.Cover(NestInGroup(NodeKind::kRecord, i, children, child));
  }
  TooDeep(nest);
  return nest;
}

uint64_t TermReader::LengthOf(const Group& group, uint64_t reference) const {
  return IsTerm(reference) ? s_.term(TermId(static_cast<uint32_t>(reference >> 1))).min_length
                           : group.lengths[reference >> 1];
}

// Whether all that members of records have around them has a text.
bool TermReader::RecordsAreSound(const Group& group) const {
  return std::ranges::all_of(group.nodes, [&](const GroupNode& node) {
    if (node.kind != NodeKind::kRecord) return true;
    for (size_t i = 0; i < RecordView::kFixed; ++i) {
      const bool may_lack = i == RecordView::kAnyKey || i == RecordView::kOther;
      if (may_lack && node.children[i] == kNothingWord) continue;
      if (LengthOf(group, node.children[i]) >= kMaxLength) return false;
    }
    return true;
  });
}

uint64_t TermReader::LengthOfMembers(const Group& group, const GroupNode& node) const {
  auto length = [&](size_t child) { return LengthOf(group, node.children[child]); };
  std::vector<ListMember> members;
  for (size_t i = 0; i < node.uses.size(); ++i) {
    members.push_back({UseOfWord(node.uses[i]), MeetsOfWord(node.uses[i]),
                       PlaceOfWord(node.uses[i]), length(i + 2)});
  }
  return ListLength(members, length(0), length(1), node.min, node.max, node.conditions);
}

// Whether the rules' least lengths, found by passes from above until nothing changes, are those
// that the file has. False also over the bound on work, which Read() sees.
bool TermReader::CheckLengths(Group* group) {
  group->lengths.assign(group->nodes.size(), kMaxLength);
  ScratchVector<uint64_t>& lengths = group->lengths;  // those of terms come after those of nodes
  auto place = [&](uint64_t reference) {
    if (!IsTerm(reference)) return static_cast<uint32_t>(reference >> 1);
    lengths.push_back(LengthOf(*group, reference));
    return static_cast<uint32_t>(lengths.size() - 1);
  };
  ScratchVector<uint32_t> bodies, children, calls;  // where their lengths are; nodes that are rules
  for (size_t r = 0; r < group->rule_lengths.size(); ++r) bodies.push_back(place(group->body(r)));
  children.reserve(group->words.size());
  lengths.reserve(group->words.size());
  for (size_t i = 0; i < group->nodes.size(); ++i) {
    const GroupNode& node = group->nodes[i];
    if (node.kind == NodeKind::kRule) calls.push_back(static_cast<uint32_t>(i));
    for (uint64_t child : node.children) children.push_back(place(child));
  }
  // A node's children stand before it, so once all rules are as long as they were taken for,
  // nothing changes any more.
  auto differs = [&](uint32_t i) { return lengths[i] != lengths[bodies[group->nodes[i].rule]]; };
  do {
    steps_ += group->words.size() / 8;
    if (steps_ > s_.limits().max_ast_nodes) return false;
    const uint32_t* child = children.data();
    for (size_t i = 0; i < group->nodes.size(); ++i) {
      const GroupNode& node = group->nodes[i];
      const std::span parts(child, node.children.size());
      child += parts.size();
      uint64_t length = node.kind == NodeKind::kSequence ? 0 : kMaxLength;
      switch (node.kind) {
        case NodeKind::kSequence:
          for (uint32_t part : parts) length = AddLengths(length, lengths[part]);
          break;
        case NodeKind::kChoice:
          for (uint32_t part : parts) length = std::min(length, lengths[part]);
          break;
        case NodeKind::kRepeat:
          length = TimesSaturated(lengths[parts[0]], static_cast<uint64_t>(node.min));
          break;
        case NodeKind::kRule:
          length = lengths[bodies[node.rule]];
          break;
        case NodeKind::kRecord:
          length = ShortestRecord(RecordOf(node), [&](size_t i) { return lengths[parts[i]]; });
          break;
        default:
          length = LengthOfMembers(*group, node);
          break;
      }
      lengths[i] = std::min(lengths[i], length);
    }
  } while (std::ranges::any_of(calls, differs));
  for (size_t r = 0; r < bodies.size(); ++r) {
    if (group->rule_lengths[r] != lengths[bodies[r]]) {
      Refuse("a rule whose shortest text has another length");
      return false;
    }
  }
  if (!RecordsAreSound(*group)) {
    Refuse("an object with a part that no text completes");
    return false;
  }
  return true;
}

// The rules that reach lists of members.
ScratchVector<uint32_t> TermReader::RulesWithMembers(const Group& group) {
  ScratchVector<bool> has(group.nodes.size());
  auto reaches = [&](uint64_t reference) { return !IsTerm(reference) && has[reference >> 1]; };
  for (size_t i = 0; i < group.nodes.size(); ++i) {
    const GroupNode& node = group.nodes[i];
    has[i] = node.kind == NodeKind::kMembers || std::ranges::any_of(node.children, reaches);
  }
  ScratchVector<uint32_t> rules;
  for (uint32_t r = 0; r < group.rule_lengths.size(); ++r) {
    if (reaches(group.body(r))) rules.push_back(r);
  }
  return rules;
}

// Its procedures; none after a failure.
std::span<const ProcId> TermReader::ReadGroup() {
  GroupHead head;
  if (!ReadGroupHead(&head)) return {};
  const size_t rules = static_cast<size_t>(head.rules), nodes = static_cast<size_t>(head.nodes);
  Group group;
  group.words.reserve(2 + rules + 8 * nodes);
  group.words = {rules, nodes};
  Nest unused;
  for (const uint64_t body : head.bodies) group.words.push_back(InStore(body, &unused));
  group.rule_lengths = std::move(head.rule_lengths);
  ScratchVector<Nest> nests;
  nests.reserve(nodes);
  for (size_t i = 0; i < nodes && in_.ok() && error_.ok(); ++i) {
    nests.push_back(ReadGroupWords(rules, i, nests, &group.words));
  }
  if (!in_.ok() || !error_.ok()) return {};
  const GroupName name(group.words);
  if (const auto known = s_.FindGroup(name)) return *known;
  ScratchVector<uint32_t> at_once;
  if (!trusted() || has_members_) {
    group.nodes.reserve(nodes);
    for (size_t at = 2 + rules; at < group.words.size();) {
      group.nodes.push_back(ReadGroupNode(group.words, &at));
    }
    at_once = RulesWithMembers(group);
  }
  if (!trusted() && !CheckLengths(&group)) return {};
  ScratchVector<ProcId> procs;
  procs.reserve(rules);
  for (uint64_t length : group.rule_lengths) procs.push_back(s_.AddProc(length == 0, length));
  const std::span<const ProcId> added = s_.AddGroup(name, procs, at_once);
  for (const uint32_t rule : at_once) {
    if (s_.BodyOf(procs[rule]) == TermStore::Nothing()) Refuse("a rule that no text completes");
  }
  return added;
}

}  // namespace grammask::internal
