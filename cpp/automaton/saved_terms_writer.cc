// Terms to bytes: records, children first, from an explicit stack.
//
// A term is its kind and what tells it from others of the kind; a child is how many terms before.
// So `"ab" [0-9]*` is a text, a class, a repeat of 1 before, a sequence of 3 before and 1 before. A
// procedure is named by its body, as in the store. One of a recursive group cannot be; the group's
// exact description goes into the file instead, of which the bodies are made again. A name in the
// file is a digest of a record with the names of what it refers to, so of all that is below. Cost:
// linear in the terms, about a microsecond each, most of it for the names. Tests:
// tests/automaton/saved_terms_test.cc.
#include <algorithm>
#include <cstring>
#include <utility>

#include "automaton/members.h"
#include "automaton/recursive_group.h"
#include "automaton/saved_terms.h"
#include "automaton/words.h"
#include "base/sha256.h"

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

SavedName NameOf(std::string_view content) {
  const auto digest = Sha256(content);
  SavedName name;
  std::memcpy(name.data(), digest.data(), name.size());
  return name;
}

std::string_view TextOf(const SavedName& name) { return {name.data(), name.size()}; }

}  // namespace

TermWriter::TermWriter(TermStore* store) : s_(*store) {
  for (TermId t : {TermStore::Nothing(), TermStore::Empty(), TermStore::All()}) {
    index_[t.value] = t.value;
    const char content[] = {0, static_cast<char>(t.value)};  // as no record begins
    names_.push_back(NameOf({content, sizeof content}));
  }
}

std::optional<TermWriter::Place> TermWriter::GroupOf(const Term& t) {
  if (t.kind != TermKind::kCall) return std::nullopt;
  // What is written may be read from another file as it is asked for, with groups of its own.
  while (groups_.size() < s_.groups_.size()) {
    const auto number = static_cast<uint32_t>(groups_.size());
    const RecursiveGroup& group = s_.groups_[number];
    groups_.push_back({group.procs, std::nullopt, {}});
    for (uint32_t i = 0; i < group.procs.size(); ++i) {
      group_by_proc_[group.procs[i].value] = {number, i};
    }
  }
  const auto it = group_by_proc_.find(static_cast<uint32_t>(t.a));
  return it == group_by_proc_.end() ? std::nullopt : std::optional<Place>(it->second);
}

void TermWriter::Needs(TermId id, std::vector<TermId>* out) {
  const Term& t = s_.term(id);
  if (const auto place = GroupOf(t)) {
    if (groups_[place->group].saved.has_value()) return;
    const std::span<const uint64_t> words = s_.GroupWords(place->group);
    if (words.empty()) return;
    auto add = [&](uint64_t reference) {
      if (IsTerm(reference)) out->push_back(TermId(static_cast<uint32_t>(reference >> 1)));
    };
    size_t at = 2 + static_cast<size_t>(words[0]);
    for (size_t i = 2; i < at; ++i) add(words[i]);
    while (at < words.size()) {
      for (uint64_t child : ReadGroupNode(words, &at).children) add(child);
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

void TermWriter::WriteLazyCall(uint64_t min_length, const Body& body, Record* record) {
  LocalNumbers numbers;
  Record steps;
  for (TermId t : body.parts) {
    if (body.joined.contains(t.value)) continue;
    WritePlain(t, &body, &numbers, &steps);
    numbers.steps.emplace(t.value, static_cast<uint32_t>(numbers.steps.size()));
  }
  record->Kind(SavedTerm::kLazyCall);
  record->Number(min_length);
  References(numbers.others, record);
  record->Text(steps.bytes.bytes());
}

// The record of a term of a plain kind. Within a lazy body a reference is twice how many records of
// the body before, or one more than twice the place among the others that it refers to; and a
// sequence is all of its parts.
void TermWriter::WritePlain(TermId id, const Body* body, LocalNumbers* numbers, Record* record) {
  const Term& t = s_.term(id);
  auto reference = [&](TermId child) {
    if (body == nullptr) return Reference(child, record);
    if (const auto it = numbers->steps.find(child.value); it != numbers->steps.end()) {
      return record->Number(static_cast<uint64_t>(numbers->steps.size() - it->second) << 1);
    }
    const auto [it, added] =
        numbers->by_term.try_emplace(child.value, static_cast<uint32_t>(numbers->others.size()));
    if (added) numbers->others.push_back(child);
    record->Number(uint64_t{it->second} << 1 | 1);
  };
  switch (t.kind) {
    case TermKind::kByteClass: {
      record->Kind(SavedTerm::kByteClass);
      std::string ranges;
      s_.byte_class(t.a).ForEachRange([&](uint8_t lo, uint8_t hi) {
        ranges += static_cast<char>(lo);
        ranges += static_cast<char>(hi);
      });
      record->Text(ranges);
      break;
    }
    case TermKind::kSequence:
      record->Kind(SavedTerm::kSequence);
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
        record->Number(parts.size());
        for (TermId part : parts) reference(part);
      }
      break;
    case TermKind::kChoice:
      record->Kind(SavedTerm::kChoice);
      record->Number(t.children().size());
      for (TermId c : t.children()) reference(c);
      break;
    case TermKind::kRepeat:
      record->Kind(SavedTerm::kRepeat);
      reference(t.children()[0]);
      record->Number(static_cast<uint64_t>(t.a));
      record->Number(t.b == kUnbounded ? 0 : static_cast<uint64_t>(t.b) + 1);
      break;
    case TermKind::kAnd:
      record->Kind(SavedTerm::kAnd);
      record->Number(t.children().size());
      for (TermId c : t.children()) reference(c);
      record->Number(t.min_length);
      break;
    case TermKind::kNot:
      record->Kind(SavedTerm::kNot);
      reference(t.children()[0]);
      record->Number(t.min_length);
      break;
    default:
      record->Kind(t.kind == TermKind::kBytes ? SavedTerm::kBytes : SavedTerm::kJsonText);
      record->Text(t.text());
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

std::optional<uint32_t> TermWriter::AddState(TermId term) {
  const auto call = calls_.find(term.value);
  if (index_.contains(term.value) || call == calls_.end()) return Add(term);
  Record record;
  record.Kind(SavedTerm::kBody);
  Reference(call->second, &record);
  names_.push_back(Finish(record));
  return count_++;
}

void TermWriter::NoteCall(TermId call) {
  const TermId body = s_.proc(ProcId(static_cast<uint32_t>(s_.term(call).a))).body;
  if (body != TermStore::Nothing()) calls_.emplace(body.value, call);
}

void TermWriter::Reference(TermId term, Record* record) {
  const uint32_t number = index_.at(term.value);
  record->bytes.Number(count_ - number);
  record->named.Bytes(TextOf(names_[number]));
}

void TermWriter::References(std::span<const TermId> terms, Record* record) {
  record->Number(terms.size());
  for (TermId t : terms) Reference(t, record);
}

SavedName TermWriter::Finish(const Record& record) {
  const SavedName name = NameOf(record.named.bytes());
  const std::string_view bytes = record.bytes.bytes();
  const auto kind = static_cast<SavedTerm>(bytes[0]);
  const bool group = kind == SavedTerm::kGroup, has_name = group || kind == SavedTerm::kLazyCall;
  out_.Byte(static_cast<uint8_t>(kind));
  if (has_name) out_.Bytes(TextOf(name));
  out_.Bytes(bytes.substr(1));
  lengths_.push_back(uint64_t{bytes.size() + (has_name ? name.size() : 0)} << 1 | group);
  return name;
}

std::string TermWriter::TakeList() {
  ByteWriter index, list;
  index.Number(lengths_.size());
  for (uint64_t length : lengths_) index.Number(length);
  list.Text(index.bytes());
  list.Bytes(out_.bytes());
  out_ = ByteWriter();
  lengths_.clear();
  return list.bytes();
}

uint32_t TermWriter::Write(TermId id, const std::vector<TermId>& needs) {
  for (TermId t : needs) {
    if (index_.at(t.value) == kCannot) return kCannot;
  }
  const Term& t = s_.term(id);
  Record record;
  if (const auto place = GroupOf(t)) {
    Group& group = groups_[place->group];
    if (!group.saved.has_value()) {
      if (s_.GroupWords(place->group).empty()) return kCannot;
      WriteGroup(place->group);
    }
    record.Kind(SavedTerm::kGroupCall);
    record.bytes.Number(*group.saved);
    record.named.Bytes(TextOf(group.name));
    record.Number(place->position);
    NoteCall(id);
    names_.push_back(Finish(record));
    return count_++;
  }
  switch (t.kind) {
    case TermKind::kNothing:
    case TermKind::kEmpty:
    case TermKind::kAll:
      return id.value;  // these have numbers from the start
    case TermKind::kBytes:
    case TermKind::kJsonText:
    case TermKind::kByteClass:
    case TermKind::kSequence:
    case TermKind::kChoice:
    case TermKind::kRepeat:
    case TermKind::kAnd:
    case TermKind::kNot:
      WritePlain(id, nullptr, nullptr, &record);
      break;
    case TermKind::kCall:
      if (const Body* lazy = LazyBody(ProcId(static_cast<uint32_t>(t.a)))) {
        WriteLazyCall(t.min_length, *lazy, &record);
        NoteCall(id);
        break;
      }
      record.Kind(SavedTerm::kCall);
      Reference(needs[0], &record);
      break;
    case TermKind::kMultiple: {
      record.Kind(SavedTerm::kMultiple);
      const Multiple& m = s_.multiple(t.b);
      record.Number(static_cast<uint64_t>(t.a));
      record.Number(m.modulus);
      record.Number(m.scale);
      break;
    }
    case TermKind::kTokens: {
      record.Kind(SavedTerm::kTokens);
      const TokenSet& set = s_.token_set(static_cast<uint32_t>(t.a));
      record.Number(set.excluded);
      record.Number(set.ids.size());
      for (TokenId token : set.ids) record.Number(static_cast<uint32_t>(token));
      break;
    }
    case TermKind::kWords: {
      if (!s_.words_->whole(t)) return kCannot;
      record.Kind(SavedTerm::kWords);
      record.Number(s_.words_->json(t));
      const auto words = s_.words_->Rest(t);
      record.Number(words.size());
      for (std::string_view word : words) record.Text(word);
      break;
    }
    case TermKind::kMembers: {
      MemberTable& table = *s_.members_;
      const MemberState& state = table.state(t.a);
      const auto phase = static_cast<MemberPhase>(t.b);
      if (!state.values.empty() || phase == MemberPhase::kRead) return kCannot;
      if (table.BeginOf(state.spec) == id) {
        record.Kind(SavedTerm::kMembers);
        WriteMembers(t, &record);
        break;
      }
      record.Kind(SavedTerm::kMemberState);
      Reference(needs[0], &record);
      record.Number(static_cast<uint64_t>(t.b));
      record.Number(state.met);
      record.Number(static_cast<uint64_t>(state.written));
      for (uint64_t word : state.seen) record.Fixed(word, 8);
      break;
    }
  }
  names_.push_back(Finish(record));
  return count_++;
}

void TermWriter::WriteMembers(const Term& t, Record* record) {
  const MemberSpec& spec = s_.members_->spec(s_.members_->state(t.a).spec);
  Reference(spec.separator, record);
  Reference(spec.end, record);
  record->Number(static_cast<uint64_t>(spec.min));
  record->Number(static_cast<uint64_t>(spec.max));
  record->Number(spec.conditions);
  record->Number(spec.members.size());
  for (const MemberSpec::Member& m : spec.members) {
    record->Number(MemberWord(m.use, m.meets, m.place));
    Reference(m.term, record);
  }
}

// What RecordView::words() says.
void TermWriter::WriteKeys(const RecordView& record, ByteWriter* out) {
  out->Byte(record.may_be_empty());
  for (size_t i = 0; i < record.size(); ++i) {
    out->Byte(record.required(i));
    out->Text(record.key(i));
  }
}

void TermWriter::WriteGroup(uint32_t number) {
  Group& group = groups_[number];
  const std::span<const uint64_t> words = s_.GroupWords(number);
  std::vector<TermId> terms;  // that it refers to
  absl::flat_hash_map<uint32_t, uint64_t> places;
  auto reference = [&](uint64_t word, ByteWriter* out) {
    if (!IsTerm(word)) return out->Number(word);
    const TermId term(static_cast<uint32_t>(word >> 1));
    const auto [it, added] = places.try_emplace(term.value, terms.size());
    if (added) terms.push_back(term);
    out->Number(it->second << 1 | 1);
  };
  ByteWriter bodies, lengths, nodes;
  bool has_members = false;
  size_t at = 2 + static_cast<size_t>(words[0]);
  for (size_t i = 2; i < at; ++i) reference(words[i], &bodies);
  while (at < words.size()) {
    const size_t begin = nodes.size();
    const GroupNode node = ReadGroupNode(words, &at);
    nodes.Byte(static_cast<uint8_t>(node.kind));
    nodes.Number(node.children.size());
    if (node.kind == NodeKind::kRepeat || node.kind == NodeKind::kMembers) {
      nodes.Number(static_cast<uint64_t>(node.min));
      nodes.Number(static_cast<uint64_t>(node.max));
    }
    if (node.kind == NodeKind::kMembers) {
      has_members = true;
      nodes.Number(node.conditions);
      for (uint64_t use : node.uses) nodes.Number(use);
    }
    if (node.kind == NodeKind::kRule) nodes.Number(node.rule);
    if (node.kind == NodeKind::kRecord) WriteKeys(RecordOf(node), &nodes);
    for (uint64_t child : node.children) reference(child, &nodes);
    lengths.Number(nodes.size() - begin);
  }
  Record record;
  record.Kind(SavedTerm::kGroup);
  record.Byte(has_members);
  References(terms, &record);
  record.Number(words[0]);
  record.Number(words[1]);
  record.bytes.Bytes(bodies.bytes());
  for (const ProcId proc : group.procs) record.Number(s_.procs_[proc.value].min_length);
  record.Text(lengths.bytes());
  record.bytes.Bytes(nodes.bytes());
  record.named.Text(bodies.bytes());
  record.named.Text(nodes.bytes());
  group.name = Finish(record);
  group.saved = groups_saved_++;
}

}  // namespace grammask::internal
