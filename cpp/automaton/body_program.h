// The body of a lazy procedure (TermStore::LazyProc) as 32-bit words: steps that each make a term,
// the last one the body. A step's first word is its kind and, above 4 bits, a count:
//   kBytes kJsonText    count bytes of text, in words of four, the first lowest
//   kByteClass          the set, eight words
//   kSequence           count parts, one after another
//   kChoice             count alternatives
//   kRepeat             what, least (two words, the low one first), most (two words)
// A term is kLocalTerm plus the number of an earlier step, or the id of a term of the store.
#ifndef GRAMMASK_AUTOMATON_BODY_PROGRAM_H_
#define GRAMMASK_AUTOMATON_BODY_PROGRAM_H_

#include <cstddef>
#include <cstdint>

#include "automaton/term_store.h"

namespace grammask::internal {

inline constexpr uint32_t kLocalTerm = uint32_t{1} << 31;

inline constexpr uint32_t StepWord(TermKind kind, size_t count) {
  return static_cast<uint32_t>(kind) | static_cast<uint32_t>(count) << 4;
}

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_BODY_PROGRAM_H_
