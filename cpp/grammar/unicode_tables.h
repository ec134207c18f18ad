// Unicode properties of characters, by name, and simple case folding.
#ifndef GRAMMASK_GRAMMAR_UNICODE_TABLES_H_
#define GRAMMASK_GRAMMAR_UNICODE_TABLES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/code_point_set.h"

namespace grammask::internal {

// Names are compared loosely: case, `_`, `-` and spaces do not count. nullopt: no such name.

// A general category by its short or long name: `Lu`, `Uppercase_Letter`, `L`, `LC`.
std::optional<CodePointSet> UnicodeCategory(std::string_view value);

// A binary property of ECMA-262: `Alphabetic`, `Emoji`, `White_Space`, `ASCII`, `Any`, `Assigned`.
std::optional<CodePointSet> UnicodeBinaryProperty(std::string_view name);

// The characters of a script (`Greek`, `Grek`), or that have it among their Script_Extensions.
std::optional<CodePointSet> UnicodeScript(std::string_view value, bool extensions);

// All characters whose simple case folding is that of a member: {k} gives {K, k, U+212A}.
CodePointSet CloseUnderCaseFolding(const CodePointSet& set);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_UNICODE_TABLES_H_
