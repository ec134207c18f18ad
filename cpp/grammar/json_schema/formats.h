// JSON Schema's `format`: the names that the drafts define, as regular languages.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_FORMATS_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_FORMATS_H_

#include <string_view>

#include "base/status.h"
#include "grammar/ast.h"

namespace grammask::internal {

// Whether `name` is a format that some draft from 4 to 2020-12 defines; any other name is an
// annotation, which constrains nothing.
bool IsKnownFormat(std::string_view name);

// A regular node for the JSON text between the quotes of the strings that conform to format `name`,
// each in every spelling JSON allows. docs/json_schema_values.md says what each format is, and
// where it is narrower than its RFC. `name` must be known.
StatusOr<NodeId> EmitFormat(GrammarBuilder* builder, std::string_view name, const Limits& limits);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_FORMATS_H_
