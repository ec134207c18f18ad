// Records of bodies that wait for a call, which may be anything, to programs.
//
// A body is checked and measured as it is read: every step, what its shortest text takes and how
// deep it is nested; the store makes terms of it when it is first called (lazy_procs.cc). The steps
// `"id"`, `":"` and the sequence of both become five words: two kinds with a text of one word each,
// and a kind with two references.
//
// Cost: some 20 ns a step, most of the loading of a large grammar. Tests:
// tests/automaton/saved_terms_test.cc, tests/fuzz/saved_grammar_fuzz.cc.
#include <algorithm>
#include <cstring>

#include "automaton/body_program.h"
#include "automaton/term_reader.h"

namespace grammask::internal {

// Room for `count` words at the end of the program.
uint32_t* TermReader::Extend(size_t count) {
  const size_t at = program_size_;
  program_size_ += count;
  if (program_size_ > program_.size()) program_.resize(2 * program_size_);
  return program_.data() + at;
}

// A term of the lazy body at hand, in the words of body_program.h. `in` stands for in_.
inline uint32_t TermReader::LazyReference(ByteReader* in, LazyTerm* found) {
  const uint64_t reference = in->Number();
  const uint64_t back = reference >> 1;
  if ((reference & 1) != 0) {
    const size_t number = terms_.size() - static_cast<size_t>(back);
    if (number >= terms_.size() || terms_[number].value >= kLocalTerm) {
      in->Fail();
      return 0;
    }
    *found = {term(number).min_length, nests_[number]};
    return terms_[number].value;
  }
  const size_t step = lazy_.size() - static_cast<size_t>(back);
  if (step >= lazy_.size()) {  // none, or before the first
    in->Fail();
    return 0;
  }
  *found = lazy_[step];
  return static_cast<uint32_t>(step) | kLocalTerm;
}

// Most of a file is references, so they are read from a copy of in_, which stays in registers.
void TermReader::ReadLazyParts(TermKind kind, LazyTerm* whole) {
  const bool sequence = kind == TermKind::kSequence;
  const size_t count = in_.Count(1);
  if (count == 0 || count >= (size_t{1} << 28)) return in_.Fail();
  uint32_t* words = Extend(count + 1);
  *words++ = StepWord(kind, count);
  ByteReader in = in_;
  uint64_t sum = 0, least = kMaxLength;
  uint32_t heads = 0, searches = 0;
  LazyTerm part;
  for (size_t i = 0; i < count; ++i) {
    *words++ = LazyReference(&in, &part);
    sum = std::min(kMaxLength, sum + part.length);
    least = std::min(least, part.length);
    const bool rest = sequence && i + 1 == count;
    heads = std::max(heads, rest ? 0 : part.nest.heads + 1);
    searches = std::max(searches, part.nest.searches);
  }
  in_ = in;
  *whole = {sequence ? sum : least, {heads, searches}};
}

TermReader::LazyTerm TermReader::ReadLazyStep() {
  const auto kind = static_cast<SavedTerm>(in_.Byte());
  LazyTerm step;
  auto put = [](uint64_t value, uint32_t* words) {
    words[0] = static_cast<uint32_t>(value);
    words[1] = static_cast<uint32_t>(value >> 32);
  };
  switch (kind) {
    case SavedTerm::kBytes:
    case SavedTerm::kJsonText: {
      const bool json = kind == SavedTerm::kJsonText;
      const std::string_view text = Literal(json);
      if (!in_.ok()) break;
      const size_t count = (text.size() + 3) / 4;
      uint32_t* words = Extend(count + 1);
      words[0] = StepWord(json ? TermKind::kJsonText : TermKind::kBytes, text.size());
      words[count] = 0;
      std::memcpy(words + 1, text.data(), text.size());
      step.length = TermStore::ShortestSpelling(text, json);
      break;
    }
    case SavedTerm::kByteClass: {
      const ByteSet bytes = Ranges();
      uint32_t* words = Extend(9);
      words[0] = StepWord(TermKind::kByteClass, 0);
      for (size_t i = 0; i < 4; ++i) put(bytes.words[i], words + 1 + 2 * i);
      step.length = 1;
      break;
    }
    case SavedTerm::kSequence:
      ReadLazyParts(TermKind::kSequence, &step);
      break;
    case SavedTerm::kChoice:
      ReadLazyParts(TermKind::kChoice, &step);
      break;
    case SavedTerm::kRepeat: {
      uint32_t* words = Extend(6);
      words[0] = StepWord(TermKind::kRepeat, 0);
      words[1] = LazyReference(&in_, &step);
      int64_t min = 0, max = 0;
      ReadCounts(&min, &max);
      put(static_cast<uint64_t>(min), words + 2);
      put(static_cast<uint64_t>(max), words + 4);
      step.nest.heads = 0;
      step.length = TimesSaturated(step.length, static_cast<uint64_t>(min));
      break;
    }
    default:
      in_.Fail();
      break;
  }
  return step;
}

void TermReader::ReadLazyCall() {
  const size_t count = in_.Count(2);
  lazy_.clear();
  program_size_ = 0;
  for (size_t i = 0; i < count; ++i) {
    lazy_.push_back(ReadLazyStep());
    if (!in_.ok() || !error_.ok()) return;
    if (lazy_.back().length == kMaxLength) return Refuse("a state that no text completes");
    if (TooDeep(lazy_.back().nest)) return;
  }
  if (lazy_.empty()) return in_.Fail();
  steps_ += count;
  Push(s_.Call(s_.LazyProc({program_.data(), program_size_}, lazy_.back().length)));
}

}  // namespace grammask::internal
