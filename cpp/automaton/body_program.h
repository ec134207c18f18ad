// The body of a lazy procedure (TermStore::LazyProc) as 32-bit words: steps that each make a term,
// the last one the body. A step's first word is its kind and, above 4 bits, a count:
//   kBytes kJsonText    count bytes of text, in words of four, the first lowest
//   kByteClass          the set, eight words
//   kSequence           count parts, one after another
//   kChoice             count alternatives
//   kRepeat             what, least (two words, the low one first), most (two words)
//   kMembers            a Record (ast.h) of count members: its ten nodes, the values, which members
//                       are required, where each key ends, the keys, and whether it may be empty
// Of a large record a part is a procedure of its own:
//   kCall               count: a RecordPart; the record's procedure, the first member
// A term is kLocalTerm plus the number of an earlier step, or the id of a term of the store.
//
// The body of a rule of a recursive group is made of the group's description (recursive_groups.cc):
//   kEmpty              the number of the group, the rule's position in it
// A body of a saved grammar is kept as it stands in the file, unread (saved_bodies_reader.cc):
//   kNothing            count terms of the store that it refers to; then the length of its shortest
//                       text as the file has it (two words), how deep those terms are nested (two
//                       words), bytes, and the record in words of four
// One of a trusted file's is read where it stands (saved_pool.h):
//   kAll                the pool; the number of a term whose record has the body
#ifndef GRAMMASK_AUTOMATON_BODY_PROGRAM_H_
#define GRAMMASK_AUTOMATON_BODY_PROGRAM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "automaton/lengths.h"
#include "automaton/term_store.h"

namespace grammask::internal {

inline constexpr uint32_t kLocalTerm = uint32_t{1} << 31;

inline constexpr uint32_t StepWord(TermKind kind, size_t count) {
  return static_cast<uint32_t>(kind) | static_cast<uint32_t>(count) << 4;
}

// The length of a record's shortest text, kMaxLength where it has none; `length` gives that of a
// child.
template <class Length>
uint64_t ShortestRecord(const RecordView& record, const Length& length) {
  using enum RecordView::Child;
  const uint64_t around = AddLengths(length(kQuoteColon), length(kAfter));
  uint64_t required = 0, least = kMaxLength;  // members but for what comes before each
  bool any = false;
  for (size_t i = 0; i < record.size(); ++i) {
    const uint64_t value = length(kFixed + i);
    if (!record.required(i) && (any || value >= kMaxLength)) continue;
    const uint64_t member =
        AddLengths(AddLengths(value, around), TermStore::ShortestSpelling(record.key(i), true));
    if (record.required(i)) {
      required = AddLengths(required, any ? AddLengths(length(kCommaQuote), member) : member);
      any = true;
    } else {
      least = std::min(least, member);
    }
  }
  // The shortest key of a member that has no name is the empty one.
  const uint64_t other = AddLengths(AddLengths(length(kQuote), length(kColon)),
                                    AddLengths(length(kOther), length(kAfter)));
  least = std::min(least, other);
  const uint64_t content =
      record.may_be_empty() ? 0 : AddLengths(length(kQuote), any ? required : least);
  return AddLengths(AddLengths(length(kOpen), length(kEnd)), content);
}

// What a procedure does that is part of a large record's.
enum class RecordPart : uint8_t {
  kFirsts,  // a member that may be the first of all, and what follows
  kRest,    // what follows another member
};
struct RecordPartPlace {
  RecordPart part;
  size_t first;  // member
};

inline bool IsGroupBody(std::span<const uint32_t> program) {
  return !program.empty() && (program[0] & 0xF) == static_cast<uint32_t>(TermKind::kEmpty);
}

inline bool IsSavedBody(std::span<const uint32_t> program) {
  return !program.empty() && (program[0] & 0xF) == static_cast<uint32_t>(TermKind::kNothing);
}

inline bool IsPoolBody(std::span<const uint32_t> program) {
  return !program.empty() && (program[0] & 0xF) == static_cast<uint32_t>(TermKind::kAll);
}

// The term that a saved body makes, or, where it is not what the file promises, one that is. The
// store's lock must be held.
TermId ReadSavedBody(std::span<const uint32_t> saved, TermStore* store);

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_BODY_PROGRAM_H_
