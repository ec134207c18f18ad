// Bytes that may be anything to terms: the records of saved_terms.h, checked one by one.
//
// A record refers only to what stands before it, so one pass makes all terms, and nothing recurses.
// What a term is, is never read but found out by the store: whether it may be empty, how short its
// texts are, whether an intersection matches any text. Depths that later work goes down by
// recursion are measured on the way and bounded. Bodies that wait for a call and recursive groups
// have files of their own (saved_bodies_reader.cc, saved_groups_reader.cc).
//
// Cost: some 100 ns a record, and the searches for emptiness where the file is not trusted. Memory:
// some hundred bytes for each byte of the file at most. Tests: tests/automaton/saved_terms_test.cc,
// tests/fuzz/saved_grammar_fuzz.cc.
#include <algorithm>
#include <cstring>
#include <string>

#include "automaton/term_reader.h"
#include "base/utf8.h"

namespace grammask::internal {
namespace {

// Of members already written; far under where sums with it overflow.
constexpr uint64_t kMostWritten = uint64_t{1} << 61;

bool IsAscii(std::string_view text) {
  uint64_t all = 0, word = 0;
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::memcpy(&word, text.data() + at, 8);
    all |= word;
  }
  for (; at < text.size(); ++at) all |= static_cast<uint8_t>(text[at]);
  return (all & 0x8080808080808080) == 0;
}

}  // namespace

TermReader::TermReader(std::optional<uint32_t> pool, TermStore* store)
    : s_(*store), pool_(pool), most_(MostNested(s_.limits())) {
  for (TermId t : {TermStore::Nothing(), TermStore::Empty(), TermStore::All()}) {
    known_.push_back({t, {}});
  }
  next_ = known_.size();
}

Status TermReader::Read(const SavedPart& list) {
  in_ = ByteReader(list.bytes);
  offset_ = list.offset;
  known_.reserve(known_.size() + list.bytes.size() / 8);
  place_ = 0;
  in_.Text();  // the index, for those who read here and there
  if (!in_.ok()) return Damaged("the index of its states");
  while (in_.left() > 0 && error_.ok()) {
    place_ = in_.offset();
    ReadRecord();
    if (!in_.ok()) return Damaged("it ends there, or a number is out of range");
    if (known_.size() + steps_ > s_.limits().max_ast_nodes) {
      return ResourceExhausted("the saved grammar takes more than limits.max_ast_nodes terms");
    }
    if (s_.over_budget()) return OverBudget();
  }
  return error_;
}

Status TermReader::Damaged(std::string_view what) const {
  return InvalidArgument("the saved grammar is damaged at byte " +
                         std::to_string(offset_ + place_) + ": " + std::string(what));
}
Status TermReader::OverBudget() {
  return ResourceExhausted(
      "whether intersections of the saved grammar match any text takes more than "
      "limits.max_regular_states states to decide; raise the limit, or load it as trusted");
}
void TermReader::Refuse(std::string_view what) {
  if (error_.ok() && in_.ok()) error_ = Damaged(what);
}

void TermReader::RefuseDepth() {
  if (!error_.ok()) return;
  error_ = ResourceExhausted(
      "the saved grammar is nested deeper than limits.max_nesting or limits.max_boolean_nesting "
      "allows");
}

void TermReader::Push(TermId term, Nest nest) {
  if (!in_.ok() || !error_.ok()) return;
  if (term == TermStore::Nothing()) return Refuse("a state that no text completes");
  if (TooDeep(nest)) return;
  if (next_ == known_.size()) known_.emplace_back();
  known_[next_++] = {term, nest};
}

std::vector<TermId> TermReader::Take() const {
  std::vector<TermId> terms;
  terms.reserve(known_.size());
  for (const Known& known : known_) terms.push_back(known.term);
  return terms;
}

void TermReader::ReadRecord() {
  const auto kind = static_cast<SavedTerm>(in_.Byte());
  switch (kind) {
    case SavedTerm::kBytes:
    case SavedTerm::kJsonText:
      return ReadText(kind == SavedTerm::kJsonText);
    case SavedTerm::kByteClass:
      return ReadByteClass();
    case SavedTerm::kSequence: {
      const size_t head = Reference(), rest = Reference();
      if (!in_.ok()) return;
      Nest nest = known_[head].nest;
      ++nest.heads;
      nest.lists = std::max(nest.lists, known_[rest].nest.lists);
      return Push(s_.Sequence(known_[head].term, known_[rest].term), nest);
    }
    case SavedTerm::kChoice: {
      Nest nest;
      const std::vector<TermId> parts = References(&nest);
      ++nest.heads;
      return Push(s_.Choice(parts), nest);
    }
    case SavedTerm::kRepeat: {
      const size_t body = Reference();
      int64_t min = 0, max = 0;
      ReadSavedCounts(s_.limits(), &in_, &min, &max);
      if (in_.ok()) Push(s_.Repeat(known_[body].term, min, max), {0, known_[body].nest.lists});
      return;
    }
    case SavedTerm::kCall: {
      const size_t body = Reference();
      if (!in_.ok()) return;
      if (known_[body].term == TermStore::Nothing()) return in_.Fail();
      return Push(s_.Call(s_.ProcOf(known_[body].term)));
    }
    case SavedTerm::kBody: {
      const size_t call = Reference();
      if (!in_.ok()) return;
      if (term(call).kind != TermKind::kCall) return in_.Fail();
      // As deep as any body may be: so nothing may refer to it that makes it deeper.
      return Push(s_.BodyOf(ProcId(static_cast<uint32_t>(term(call).a))), most_);
    }
    case SavedTerm::kAnd: {
      Nest nest;
      const std::vector<TermId> parts = References(&nest);
      const uint64_t length = in_.Number(kMaxLength);
      if (!in_.ok() || !Regular(parts)) return;
      return Push(trusted() ? s_.AndOfLength(parts, length) : s_.And(parts), {0, nest.lists});
    }
    case SavedTerm::kNot: {
      const size_t part = Reference();
      const uint64_t length = in_.Number(kMaxLength);
      if (!in_.ok() || !Regular({&known_[part].term, 1})) return;
      return Push(trusted() ? s_.NotOfLength(known_[part].term, length) : s_.Not(known_[part].term),
                  {0, known_[part].nest.lists});
    }
    case SavedTerm::kMultiple: {
      const uint64_t remainder = in_.Number();
      const uint64_t modulus = in_.Number((uint64_t{1} << 63) / 10);
      const auto scale = static_cast<uint32_t>(in_.Number(400));
      if (!in_.ok()) return;
      if (modulus == 0 || remainder >= modulus) return in_.Fail();
      return Push(s_.MultipleOf({modulus, scale}, remainder));
    }
    case SavedTerm::kTokens:
      return ReadTokens();
    case SavedTerm::kWords:
      return ReadWords();
    case SavedTerm::kMembers:
      return ReadMembers();
    case SavedTerm::kMemberState:
      return ReadMemberState();
    case SavedTerm::kGroup:
      groups_.push_back(ReadGroup());
      return;
    case SavedTerm::kLazyCall:
      return ReadLazyCall();
    case SavedTerm::kGroupCall: {
      const uint64_t group = in_.Number(), position = in_.Number();
      if (!in_.ok()) return;
      if (group >= groups_.size() || position >= groups_[group].size()) return in_.Fail();
      return Push(s_.Call(groups_[group][position]));
    }
  }
  Refuse("a record of an unknown kind");
}

std::vector<TermId> TermReader::References(Nest* nest) {
  std::vector<TermId> parts(in_.Count(1));
  for (TermId& part : parts) {
    const size_t number = Reference();
    part = known_[number].term;
    nest->Cover(known_[number].nest);
  }
  if (parts.empty()) in_.Fail();
  return parts;
}

bool TermReader::Regular(std::span<const TermId> parts) {
  for (TermId t : parts) {
    if (!s_.term(t).regular) Refuse("an intersection or complement of what is not regular");
  }
  return error_.ok();
}

std::string_view ReadSavedLiteral(ByteReader* in) {
  const std::string_view text = in->Text();
  if (text.empty() || text.size() > TermStore::kMaxLiteral) in->Fail();
  return text;
}

bool IsJsonText(std::string_view text) {
  return IsAscii(text) || !FindInvalidUtf8(text).has_value();
}

std::string_view TermReader::Literal(bool json) {
  const std::string_view text = ReadSavedLiteral(&in_);
  if (json && !IsJsonText(text)) Refuse("a text that is not UTF-8");
  return text;
}
void TermReader::ReadText(bool json) {
  const std::string_view text = Literal(json);
  if (in_.ok() && error_.ok()) Push(s_.Literal(text, json));
}

void TermReader::ReadWords() {
  const bool json = in_.Number(1) != 0;
  std::vector<std::string_view> words(in_.Count(1));
  for (std::string_view& word : words) {
    word = in_.Text();
    if (json && !IsJsonText(word)) Refuse("a text that is not UTF-8");
  }
  if (words.empty()) in_.Fail();
  if (in_.ok() && error_.ok()) Push(s_.Words(std::move(words), json));
}

ByteSet ReadSavedRanges(ByteReader* in) {
  const std::string_view ranges = in->Text();
  ByteSet bytes;
  if (ranges.empty() || ranges.size() % 2 != 0 || ranges.size() > 256) {
    in->Fail();
    return bytes;
  }
  for (size_t i = 0; i < ranges.size(); i += 2) {
    const auto lo = static_cast<uint8_t>(ranges[i]), hi = static_cast<uint8_t>(ranges[i + 1]);
    if (lo > hi) in->Fail();
    bytes.AddRange(lo, hi);
  }
  return bytes;
}
void TermReader::ReadByteClass() {
  const ByteSet bytes = ReadSavedRanges(&in_);
  if (in_.ok()) Push(s_.ByteClass(bytes));
}

void ReadSavedCounts(const Limits& limits, ByteReader* in, int64_t* min, int64_t* max) {
  const auto most = static_cast<uint64_t>(std::max<int64_t>(limits.max_repeat, 1));
  *min = static_cast<int64_t>(in->Number(most));
  const uint64_t end = in->Number(most + 1);
  *max = end == 0 ? kUnbounded : static_cast<int64_t>(end) - 1;
  if (*min > *max) in->Fail();
}

void TermReader::ReadTokens() {
  TokenSet set;
  set.excluded = in_.Number(1) != 0;
  set.ids.resize(in_.Count(1));
  TokenId last = -1;
  for (TokenId& id : set.ids) {
    id = static_cast<TokenId>(in_.Number(INT32_MAX));
    if (id <= last) in_.Fail();
    last = id;
  }
  if (in_.ok()) Push(s_.Tokens(set));
}

// The MemberWord() of a member.
uint32_t TermReader::Use(uint32_t conditions) {
  const auto word = static_cast<uint32_t>(in_.Number(UINT32_MAX));
  const uint32_t meets = MeetsOfWord(word);
  const bool fits = UseOfWord(word) <= MemberUse::kPlaced && (meets & ~conditions) == 0 &&
                    (meets == 0 || !ComesOnce(UseOfWord(word)));
  if (!fits) in_.Fail();
  return word;
}

void TermReader::ReadMembers() {
  MemberSpec spec;
  const size_t separator = Reference(), end = Reference();
  spec.separator = known_[separator].term;
  spec.end = known_[end].term;
  spec.min = static_cast<int64_t>(in_.Number(INT64_MAX));
  spec.max = static_cast<int64_t>(in_.Number(INT64_MAX));
  spec.conditions = static_cast<uint32_t>(in_.Number((1u << kMaxMemberConditions) - 1));
  ScratchVector<uint32_t> words;
  for (size_t left = in_.Count(2); left > 0 && in_.ok(); --left) {
    const uint32_t word = Use(spec.conditions);
    words.push_back(word);
    const size_t number = Reference();
    spec.members.push_back({.use = UseOfWord(word),
                            .meets = MeetsOfWord(word),
                            .place = PlaceOfWord(word),
                            .term = known_[number].term});
    if (spec.members.back().term == TermStore::Nothing() || term(number).nullable) in_.Fail();
    // Scalars stand apart from arrays and objects, as masks rely on. The writer's do.
    if (!trusted() && in_.ok() && HasOwnValue(UseOfWord(word))) s_.PartLast(&spec);
  }
  if (!in_.ok()) return;
  if (spec.max < 1 || spec.min > spec.max || (spec.conditions & (spec.conditions + 1)) != 0 ||
      !PlacesAreSound(words, spec.conditions)) {
    return in_.Fail();
  }
  const Nest nest{0, std::max(known_[separator].nest.lists, known_[end].nest.lists) + 1};
  Push(s_.MembersOf(std::move(spec)), nest);
}

void TermReader::ReadMemberState() {
  const size_t begin = Reference();
  const auto phase = static_cast<int64_t>(in_.Number(1));
  const auto met = static_cast<uint32_t>(in_.Number(UINT32_MAX));
  const auto written = static_cast<int64_t>(in_.Number(kMostWritten));
  if (!in_.ok() || term(begin).kind != TermKind::kMembers) return in_.Fail();
  std::vector<uint64_t> seen(s_.MemberWords(known_[begin].term));
  for (uint64_t& word : seen) word = in_.Fixed(8);
  if (!in_.ok()) return;
  Push(s_.RestoreMembers(known_[begin].term, phase, met, written, seen), known_[begin].nest);
}

StatusOr<std::vector<TermId>> ReadTerms(std::span<const SavedPart> lists, TermStore* store) {
  store->BeginBuilding();
  TermReader reader(std::nullopt, store);
  Status status;
  for (const SavedPart& list : lists) {
    if (status.ok()) status = reader.Read(list);
  }
  store->EndBuilding();
  if (!status.ok()) return status;
  return reader.Take();
}

}  // namespace grammask::internal
