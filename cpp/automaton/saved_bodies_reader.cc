// Records of bodies that wait for a call, which may be anything, to terms.
//
// Of a large grammar's rules most are never called. So a body is taken over as it stands, with the
// terms that it refers to and the length that the file promises for its shortest text, and read
// when it is first called: every step checked, and the promise. The promise is part of what names
// the procedure, so that a forged file shares none with honest ones. A body that is damaged, too
// deep, or shorter or longer than promised is replaced by as many bytes of any kind as were
// promised: that is sound, and a forger could have written it as well. A file that was only damaged
// is refused by its checksum.
//
// Cost: some 100 ns a body, half a nanosecond a byte; when it is called, 100 ns a step, and the
// searches for emptiness where the file is not trusted, which share the bound of one grammar.
// Tests: tests/automaton/saved_terms_test.cc, tests/fuzz/saved_grammar_fuzz.cc.
#include <algorithm>
#include <cstring>

#include "automaton/body_program.h"
#include "automaton/term_reader.h"

namespace grammask::internal {
namespace {

constexpr size_t kBeforeRecord = 6;  // words of a saved body that are neither terms nor record
constexpr size_t kMostTerms = size_t{1} << 28;

class BodyReader {
 public:
  BodyReader(const SavedBody& body, TermStore* store) : s_(*store), body_(body), in_(body.steps) {}

  TermId Read() {
    s_.BeginBuilding();
    while (in_.left() > 0) ReadStep();
    const bool over_budget = s_.over_budget();
    s_.EndBuilding();
    if (over_budget) s_.NoteOverrun(TermStore::Overrun::kStates);
    if (in_.ok() && !made_.empty()) {
      const TermId body = made_.back().term;
      const Term& t = s_.term(body);
      // Where it took too long to decide, the length is only known to be no less.
      if (over_budget ? t.nullable == (body_.length == 0) : t.min_length == body_.length)
        return body;
    }
    return AnyBytes(body_.length, &s_);
  }

 private:
  struct Made {
    TermId term;
    TermNest nest;
  };

  // A term made before, or one of those outside.
  Made Reference() {
    const uint64_t reference = in_.Number();
    const auto number = static_cast<size_t>(reference >> 1);
    if ((reference & 1) != 0) {
      if (number < body_.terms.size()) return {TermId(body_.terms[number]), body_.nest};
    } else if (number >= 1 && number <= made_.size()) {
      return made_[made_.size() - number];
    }
    in_.Fail();
    return {TermStore::Nothing(), {}};
  }

  // One part and more. `sequence`: the last one is no deeper than the whole.
  void ReadParts(bool sequence, TermNest* nest) {
    parts_.clear();
    for (size_t left = in_.Count(1); left > 0 && in_.ok(); --left) {
      Made part = Reference();
      parts_.push_back(part.term);
      part.nest.heads = sequence && left == 1 ? 0 : part.nest.heads + 1;
      nest->Cover(part.nest);
    }
    if (parts_.empty()) in_.Fail();
  }

  bool Regular() {
    for (TermId part : parts_) {
      if (!s_.term(part).regular) in_.Fail();
    }
    return in_.ok();
  }

  void ReadStep() {
    TermId term;
    TermNest nest;
    switch (const auto kind = static_cast<SavedTerm>(in_.Byte())) {
      case SavedTerm::kBytes:
      case SavedTerm::kJsonText: {
        const bool json = kind == SavedTerm::kJsonText;
        const std::string_view text = ReadSavedLiteral(&in_);
        if (json && !IsJsonText(text)) in_.Fail();
        if (in_.ok()) term = s_.Literal(text, json);
        break;
      }
      case SavedTerm::kByteClass:
        term = s_.ByteClass(ReadSavedRanges(&in_));
        break;
      case SavedTerm::kSequence:
        ReadParts(true, &nest);
        if (!in_.ok()) return;
        term = parts_.back();
        for (size_t i = parts_.size() - 1; i-- > 0;) term = s_.Sequence(parts_[i], term);
        break;
      case SavedTerm::kChoice:
        ReadParts(false, &nest);
        if (in_.ok()) term = s_.Choice(parts_);
        break;
      case SavedTerm::kRepeat: {
        const Made what = Reference();
        int64_t min = 0, max = 0;
        ReadSavedCounts(s_.limits(), &in_, &min, &max);
        if (in_.ok()) term = s_.Repeat(what.term, min, max);
        nest.lists = what.nest.lists;
        break;
      }
      case SavedTerm::kAnd: {
        ReadParts(false, &nest);
        const uint64_t length = in_.Number(kMaxLength);
        nest.heads = 0;
        if (!in_.ok() || !Regular()) return;
        term = body_.trusted ? s_.AndOfLength(parts_, length) : s_.And(parts_);
        break;
      }
      case SavedTerm::kNot: {
        const Made what = Reference();
        const uint64_t length = in_.Number(kMaxLength);
        parts_.assign(1, what.term);
        nest.lists = what.nest.lists;
        if (!in_.ok() || !Regular()) return;
        term = body_.trusted ? s_.NotOfLength(what.term, length) : s_.Not(what.term);
        break;
      }
      default:
        in_.Fail();
        break;
    }
    if (term == TermStore::Nothing()) in_.Fail();
    if (in_.ok() && !TooDeep(nest)) made_.push_back({term, nest});
  }

  bool TooDeep(const TermNest& nest) {
    if (!nest.IsOver(MostNested(s_.limits()))) return false;
    in_.Fail();
    return true;
  }

  TermStore& s_;
  const SavedBody& body_;
  ByteReader in_;
  std::vector<Made> made_;
  std::vector<TermId> parts_;
};

}  // namespace

TermId AnyBytes(uint64_t count, TermStore* store) {
  ByteSet any;
  any.AddRange(0, 255);
  const auto times = static_cast<int64_t>(count);
  return store->Repeat(store->ByteClass(any), times, times);
}

TermId ReadSavedBody(const SavedBody& body, TermStore* store) {
  return BodyReader(body, store).Read();
}

TermId ReadSavedBody(std::span<const uint32_t> saved, TermStore* store) {
  const std::span terms = saved.subspan(1, saved[0] >> 4);
  const uint32_t* words = saved.data() + 1 + terms.size();
  const std::string_view steps(reinterpret_cast<const char*>(words + kBeforeRecord - 1), words[4]);
  return ReadSavedBody(SavedBody{.terms = terms,
                                 .nest = {words[2], words[3]},
                                 .length = uint64_t{words[1]} << 32 | words[0],
                                 .trusted = false,
                                 .steps = steps},
                       store);
}

void TermReader::ReadLazyCall() {
  const std::string_view name = in_.Bytes(kSavedNameBytes);
  const uint64_t length = in_.Number(kMaxLength - 1);
  if (pool_.has_value()) {  // the rest is read when it is called
    if (!in_.ok()) return;
    return Push(s_.Call(s_.SavedProc(name, *pool_, static_cast<uint32_t>(next_), length)));
  }
  const size_t count = in_.Count(1);
  if (count >= kMostTerms) in_.Fail();
  if (!in_.ok()) return;
  program_.assign(1, StepWord(TermKind::kNothing, count));
  program_.reserve(count + kBeforeRecord);
  Nest nest;
  for (size_t i = 0; i < count; ++i) {
    const size_t number = Reference();
    if (known_[number].term == TermStore::Nothing()) in_.Fail();
    program_.push_back(known_[number].term.value);
    nest.Cover(known_[number].nest);
  }
  const std::string_view record = in_.Text();
  if (!in_.ok() || record.empty() || record.size() > UINT32_MAX) return in_.Fail();
  steps_ += record.size() / kStepBytes;
  const uint32_t words[] = {static_cast<uint32_t>(length), static_cast<uint32_t>(length >> 32),
                            nest.heads, nest.lists, static_cast<uint32_t>(record.size())};
  static_assert(std::size(words) + 1 == kBeforeRecord);
  program_.insert(program_.end(), std::begin(words), std::end(words));
  program_.resize(program_.size() + (record.size() + 3) / 4, 0);
  std::memcpy(&program_[count + kBeforeRecord], record.data(), record.size());
  Push(s_.Call(s_.LazyProc(program_, length)));
}

}  // namespace grammask::internal
