// Terms to bytes: records, children first, from an explicit stack.
//
// A term is its kind and what tells it from others of the kind; a child is how many terms before.
// So `"ab" [0-9]*` is a text, a class, a repeat of 1 before, a sequence of 3 before and 1 before. A
// procedure is named by its body, as in the store. One of a recursive group cannot be; the group's
// exact description goes into the file instead, of which the bodies are made again. Cost: linear in
// the terms, about 100 ns each. Tests: tests/automaton/saved_terms_test.cc.
#include <algorithm>
#include <utility>

#include "automaton/members.h"
#include "automaton/recursive_group.h"
#include "automaton/saved_terms.h"
#include "automaton/words.h"

namespace grammask::internal {
namespace {

constexpr size_t kLeastLazy = 4;  // terms of a body that is worth being made late

// What the body of a lazy procedure is made of. The rest stands before it.
bool IsPlain(TermKind kind) {
  switch (kind) {
    case TermKind::kBytes:
    case TermKind::kJsonText:
    case TermKind::kByteClass:
    case TermKind::kSequence:
    case TermKind::kChoice:
    case TermKind::kRepeat:
    case TermKind::kAnd:
    case TermKind::kNot:
      return true;
    default:
      return false;
  }
}

}  // namespace

TermWriter::TermWriter(TermStore* store) : s_(*store) {
  for (TermId t : {TermStore::Nothing(), TermStore::Empty(), TermStore::All()}) {
    index_[t.value] = t.value;
  }
  for (const RecursiveGroup& group : s_.groups_) {
    const auto number = static_cast<uint32_t>(groups_.size());
    groups_.push_back({group.words, group.procs, std::nullopt});
    for (uint32_t i = 0; i < group.procs.size(); ++i) {
      group_by_proc_[group.procs[i].value] = {number, i};
    }
  }
}

std::optional<TermWriter::Place> TermWriter::GroupOf(const Term& t) const {
  if (t.kind != TermKind::kCall) return std::nullopt;
  const auto it = group_by_proc_.find(static_cast<uint32_t>(t.a));
  return it == group_by_proc_.end() ? std::nullopt : std::optional<Place>(it->second);
}

void TermWriter::Needs(TermId id, std::vector<TermId>* out) {
  const Term& t = s_.term(id);
  if (const auto place = GroupOf(t)) {
    const Group& group = groups_[place->group];
    if (group.saved.has_value()) return;
    auto add = [&](uint64_t reference) {
      if (IsTerm(reference)) out->push_back(TermId(static_cast<uint32_t>(reference >> 1)));
    };
    size_t at = 2 + static_cast<size_t>(group.words[0]);
    for (size_t i = 2; i < at; ++i) add(group.words[i]);
    while (at < group.words.size()) {
      for (uint64_t child : ReadGroupNode(group.words, &at).children) add(child);
    }
    return;
  }
  if (t.kind == TermKind::kCall) {
    const ProcId proc(static_cast<uint32_t>(t.a));
    const Body* lazy = LazyBody(proc);
    if (lazy == nullptr) {
      out->push_back(s_.BodyOf(proc));
      return;
    }
    for (TermId part : lazy->parts) {
      for (TermId child : s_.term(part).children()) {
        if (!IsPlain(s_.term(child).kind)) out->push_back(child);
      }
    }
  } else if (t.kind == TermKind::kMembers) {
    MemberTable& table = *s_.members_;
    const uint32_t spec_id = table.state(t.a).spec;
    if (const TermId begin = table.BeginOf(spec_id); begin != id) {
      out->push_back(begin);
      return;
    }
    const MemberSpec& spec = table.spec(spec_id);
    *out = {spec.separator, spec.end};
    for (const MemberSpec::Member& m : spec.members) out->push_back(m.term);
  } else {
    out->assign(t.children().begin(), t.children().end());
  }
}

const TermWriter::Body* TermWriter::LazyBody(ProcId proc) {
  std::unique_ptr<Body>& body = lazy_bodies_[proc.value];
  const TermId root = s_.BodyOf(proc);
  if (body == nullptr) {
    body = std::make_unique<Body>();
    absl::flat_hash_map<uint32_t, bool> written;   // by term met
    absl::flat_hash_map<uint32_t, uint32_t> uses;  // by term
    std::vector<TermId> todo;
    if (IsPlain(s_.term(root).kind)) todo.push_back(root);
    while (!todo.empty()) {
      const TermId top = todo.back();
      const Term& t = s_.term(top);
      if (written.try_emplace(top.value, false).second) {
        for (TermId c : t.children()) {
          ++uses[c.value];
          if (IsPlain(s_.term(c).kind) && !written.contains(c.value)) todo.push_back(c);
        }
        if (todo.back() != top) continue;
      }
      todo.pop_back();
      if (!std::exchange(written[top.value], true)) body->parts.push_back(top);
    }
    for (TermId part : body->parts) {
      const Term& t = s_.term(part);
      if (t.kind != TermKind::kSequence) continue;
      const TermId rest = t.children()[1];
      if (s_.term(rest).kind == TermKind::kSequence && uses[rest.value] == 1) {
        body->joined.insert(rest.value);
      }
    }
  }
  return body->parts.size() >= kLeastLazy ? body.get() : nullptr;
}

void TermWriter::WriteLazyCall(uint64_t min_length, const Body& body) {
  LocalNumbers numbers;
  ByteWriter steps;
  for (TermId t : body.parts) {
    if (body.joined.contains(t.value)) continue;
    WritePlain(t, &body, &numbers, &steps);
    numbers.steps.emplace(t.value, static_cast<uint32_t>(numbers.steps.size()));
  }
  out_.Byte(static_cast<uint8_t>(SavedTerm::kLazyCall));
  out_.Number(min_length);
  References(numbers.others);
  out_.Text(steps.bytes());
}

// The record of a term of a plain kind. Within a lazy body a reference is twice how many records of
// the body before, or one more than twice the place among the others that it refers to; and a
// sequence is all of its parts.
void TermWriter::WritePlain(TermId id, const Body* body, LocalNumbers* numbers, ByteWriter* out) {
  const Term& t = s_.term(id);
  auto kind = [&](SavedTerm saved) { out->Byte(static_cast<uint8_t>(saved)); };
  auto reference = [&](TermId child) {
    if (body == nullptr) return Reference(child);
    if (const auto it = numbers->steps.find(child.value); it != numbers->steps.end()) {
      return out->Number(static_cast<uint64_t>(numbers->steps.size() - it->second) << 1);
    }
    const auto [it, added] =
        numbers->by_term.try_emplace(child.value, static_cast<uint32_t>(numbers->others.size()));
    if (added) numbers->others.push_back(child);
    out->Number(uint64_t{it->second} << 1 | 1);
  };
  switch (t.kind) {
    case TermKind::kByteClass: {
      kind(SavedTerm::kByteClass);
      std::string ranges;
      s_.byte_class(t.a).ForEachRange([&](uint8_t lo, uint8_t hi) {
        ranges += static_cast<char>(lo);
        ranges += static_cast<char>(hi);
      });
      out->Text(ranges);
      break;
    }
    case TermKind::kSequence:
      kind(SavedTerm::kSequence);
      if (body == nullptr) {
        reference(t.children()[0]);
        reference(t.children()[1]);
      } else {
        std::vector<TermId> parts = {t.children()[0]};
        TermId rest = t.children()[1];
        for (; body->joined.contains(rest.value); rest = s_.term(rest).children()[1]) {
          parts.push_back(s_.term(rest).children()[0]);
        }
        parts.push_back(rest);
        out->Number(parts.size());
        for (TermId part : parts) reference(part);
      }
      break;
    case TermKind::kChoice:
      kind(SavedTerm::kChoice);
      out->Number(t.children().size());
      for (TermId c : t.children()) reference(c);
      break;
    case TermKind::kRepeat:
      kind(SavedTerm::kRepeat);
      reference(t.children()[0]);
      out->Number(static_cast<uint64_t>(t.a));
      out->Number(t.b == kUnbounded ? 0 : static_cast<uint64_t>(t.b) + 1);
      break;
    case TermKind::kAnd:
      kind(SavedTerm::kAnd);
      out->Number(t.children().size());
      for (TermId c : t.children()) reference(c);
      out->Number(t.min_length);
      break;
    case TermKind::kNot:
      kind(SavedTerm::kNot);
      reference(t.children()[0]);
      out->Number(t.min_length);
      break;
    default:
      kind(t.kind == TermKind::kBytes ? SavedTerm::kBytes : SavedTerm::kJsonText);
      out->Text(t.text());
      break;
  }
}

std::optional<uint32_t> TermWriter::Add(TermId term) {
  std::vector<TermId> todo = {term}, needs;
  while (!todo.empty()) {
    const TermId top = todo.back();
    if (index_.contains(top.value)) {
      todo.pop_back();
      continue;
    }
    needs.clear();
    Needs(top, &needs);
    const size_t before = todo.size();
    for (TermId t : needs) {
      if (!index_.contains(t.value)) todo.push_back(t);
    }
    if (todo.size() > before) continue;
    todo.pop_back();
    index_[top.value] = Write(top, needs);
  }
  const uint32_t index = index_.at(term.value);
  return index == kCannot ? std::nullopt : std::optional<uint32_t>(index);
}

void TermWriter::References(std::span<const TermId> terms) {
  out_.Number(terms.size());
  for (TermId t : terms) Reference(t);
}

uint32_t TermWriter::Write(TermId id, const std::vector<TermId>& needs) {
  for (TermId t : needs) {
    if (index_.at(t.value) == kCannot) return kCannot;
  }
  const Term& t = s_.term(id);
  auto kind = [&](SavedTerm saved) { out_.Byte(static_cast<uint8_t>(saved)); };
  if (const auto place = GroupOf(t)) {
    Group& group = groups_[place->group];
    if (!group.saved.has_value()) WriteGroup(&group);
    kind(SavedTerm::kGroupCall);
    out_.Number(*group.saved);
    out_.Number(place->position);
    return count_++;
  }
  switch (t.kind) {
    case TermKind::kNothing:
    case TermKind::kEmpty:
    case TermKind::kAll:
      break;  // these have numbers from the start
    case TermKind::kBytes:
    case TermKind::kJsonText:
    case TermKind::kByteClass:
    case TermKind::kSequence:
    case TermKind::kChoice:
    case TermKind::kRepeat:
    case TermKind::kAnd:
    case TermKind::kNot:
      WritePlain(id, nullptr, nullptr, &out_);
      break;
    case TermKind::kCall:
      if (const Body* lazy = LazyBody(ProcId(static_cast<uint32_t>(t.a)))) {
        WriteLazyCall(t.min_length, *lazy);
        break;
      }
      kind(SavedTerm::kCall);
      Reference(needs[0]);
      break;
    case TermKind::kMultiple: {
      kind(SavedTerm::kMultiple);
      const Multiple& m = s_.multiple(t.b);
      out_.Number(static_cast<uint64_t>(t.a));
      out_.Number(m.modulus);
      out_.Number(m.scale);
      break;
    }
    case TermKind::kTokens: {
      kind(SavedTerm::kTokens);
      const TokenSet& set = s_.token_set(static_cast<uint32_t>(t.a));
      out_.Number(set.excluded);
      out_.Number(set.ids.size());
      for (TokenId token : set.ids) out_.Number(static_cast<uint32_t>(token));
      break;
    }
    case TermKind::kWords: {
      if (!s_.words_->whole(t)) return kCannot;
      kind(SavedTerm::kWords);
      out_.Number(s_.words_->json(t));
      const auto words = s_.words_->Rest(t);
      out_.Number(words.size());
      for (std::string_view word : words) out_.Text(word);
      break;
    }
    case TermKind::kMembers: {
      MemberTable& table = *s_.members_;
      const MemberState& state = table.state(t.a);
      const auto phase = static_cast<MemberPhase>(t.b);
      if (!state.values.empty() || phase == MemberPhase::kRead) return kCannot;
      if (table.BeginOf(state.spec) == id) {
        kind(SavedTerm::kMembers);
        WriteMembers(t);
        break;
      }
      kind(SavedTerm::kMemberState);
      Reference(needs[0]);
      out_.Number(static_cast<uint64_t>(t.b));
      out_.Number(state.met);
      out_.Number(static_cast<uint64_t>(state.written));
      for (uint64_t word : state.seen) out_.Fixed(word, 8);
      break;
    }
  }
  return count_++;
}

void TermWriter::WriteMembers(const Term& t) {
  const MemberSpec& spec = s_.members_->spec(s_.members_->state(t.a).spec);
  Reference(spec.separator);
  Reference(spec.end);
  out_.Number(static_cast<uint64_t>(spec.min));
  out_.Number(static_cast<uint64_t>(spec.max));
  out_.Number(spec.conditions);
  out_.Number(spec.members.size());
  for (const MemberSpec::Member& m : spec.members) {
    out_.Number(MemberWord(m.use, m.meets, m.place));
    Reference(m.term);
  }
}

// What RecordView::words() says.
void TermWriter::WriteRecord(const RecordView& record) {
  out_.Byte(record.may_be_empty());
  for (size_t i = 0; i < record.size(); ++i) {
    out_.Byte(record.required(i));
    out_.Text(record.key(i));
  }
}

void TermWriter::WriteGroup(Group* group) {
  const std::span<const uint64_t> words = group->words;
  auto reference = [&](uint64_t word) {
    if (IsTerm(word)) {
      const uint32_t term = index_.at(static_cast<uint32_t>(word >> 1));
      out_.Number(uint64_t{count_ - term} << 1 | 1);
    } else {
      out_.Number(word);
    }
  };
  out_.Byte(static_cast<uint8_t>(SavedTerm::kGroup));
  out_.Number(words[0]);
  out_.Number(words[1]);
  size_t at = 2 + static_cast<size_t>(words[0]);
  for (size_t i = 2; i < at; ++i) reference(words[i]);
  for (const ProcId proc : group->procs) out_.Number(s_.procs_[proc.value].min_length);
  while (at < words.size()) {
    const GroupNode node = ReadGroupNode(words, &at);
    out_.Byte(static_cast<uint8_t>(node.kind));
    out_.Number(node.children.size());
    if (node.kind == NodeKind::kRepeat || node.kind == NodeKind::kMembers) {
      out_.Number(static_cast<uint64_t>(node.min));
      out_.Number(static_cast<uint64_t>(node.max));
    }
    if (node.kind == NodeKind::kMembers) {
      out_.Number(node.conditions);
      for (uint64_t use : node.uses) out_.Number(use);
    }
    if (node.kind == NodeKind::kRule) out_.Number(node.rule);
    if (node.kind == NodeKind::kRecord) WriteRecord(RecordOf(node));
    for (uint64_t child : node.children) reference(child);
  }
  group->saved = groups_saved_++;
}

}  // namespace grammask::internal
