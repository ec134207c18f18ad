// What IDNA 2008 knows of the characters of a U-label.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_IDNA_TABLES_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_IDNA_TABLES_H_

#include <cstdint>
#include <span>

#include "base/code_point_set.h"

namespace grammask::internal {

// PVALID, CONTEXTJ and CONTEXTO of RFC 5892.
CodePointSet IdnaPermitted();

// Of RFC 5893; every other character is L, written from left to right.
enum class BidiClass : uint8_t {
  kRightToLeft,     // R, AL
  kArabicNumber,    // AN
  kEuropeanNumber,  // EN
  kNonspacing,      // NSM
  kNeutral,         // ES, CS, ET, ON, BN
};
CodePointSet IdnaBidi(BidiClass bidi);

enum class JoiningType : uint8_t {
  kBefore,       // L, D: may join what follows
  kAfter,        // R, D: may join what stands before
  kTransparent,  // T
};
CodePointSet IdnaJoining(JoiningType joining);

// Characters whose canonical combining class is not 0.
struct CombiningRange {
  uint32_t lo, hi;
  uint8_t combining_class;
};
std::span<const CombiningRange> IdnaCombining();

// `first` and then `second` are one character in normal form C. Sorted.
struct Composition {
  uint32_t second, first;
};
std::span<const Composition> IdnaCompositions();

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_IDNA_TABLES_H_
