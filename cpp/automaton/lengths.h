// Sums and products of lengths, and how many bytes edges take.
#ifndef GRAMMASK_AUTOMATON_LENGTHS_H_
#define GRAMMASK_AUTOMATON_LENGTHS_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "automaton/term_store.h"
#include "base/byte_set.h"

namespace grammask::internal {

// Lengths are at most kMaxLength, which stays what it is.
inline uint64_t AddLengths(uint64_t a, uint64_t b) { return std::min(kMaxLength, a + b); }
inline uint64_t TimesSaturated(uint64_t length, uint64_t times) {
  if (length == 0 || times == 0) return 0;
  return length > kMaxLength / times ? kMaxLength : length * times;
}

// How many bytes a text of a state with these edges may begin with.
inline uint32_t FirstBytes(std::span<const ByteEdge> edges) {
  uint32_t count = 0;
  for (const ByteEdge& e : edges) count += e.hi - e.lo + 1u;
  return count;
}

// These bytes.
inline ByteSet FirstByteSet(std::span<const ByteEdge> edges) {
  ByteSet first;
  for (const ByteEdge& e : edges) first.AddRange(e.lo, e.hi);
  return first;
}

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_LENGTHS_H_
