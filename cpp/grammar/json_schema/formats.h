// JSON Schema's `format`: the names that the drafts define, as regular languages.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_FORMATS_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_FORMATS_H_

#include <map>
#include <string>
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

// Format "regex" with groups nested as deep as one likes: a node with a rule, so not for And and
// Not.
NodeId EmitNestedRegex(GrammarBuilder* builder);

// The JSON strings of a known format, quotes and all, regular expressions nested as deep as one
// likes; null for other names. It never goes away.
const Grammar* StandardFormat(std::string_view name);

// A format of the caller's own, an ECMA-262 regular expression for the whole string, as a
// `pattern`: one that is searched for.
std::string PatternOfFormat(std::string_view regex);
// kInvalidArgument (or the other errors of ParseRegex) where one of them is no regular expression;
// the message names the format and the place.
Status CheckFormats(const std::map<std::string, std::string>& formats, const Limits& limits);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_FORMATS_H_
