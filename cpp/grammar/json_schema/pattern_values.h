// Patterns that only a few strings match.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_PATTERN_VALUES_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_PATTERN_VALUES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/scratch.h"

namespace grammask::internal {

// The strings in which an ECMA-262 pattern is found, where it spells them out: ^a$, ^(a|b)$. Else
// nullopt.
std::optional<ScratchVector<ScratchString>> PatternValues(std::string_view pattern);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_PATTERN_VALUES_H_
