// JSON Schema to a Grammar of the JSON texts that it admits.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/ast.h"

namespace grammask::internal {

struct JsonSchemaOptions {
  bool any_whitespace = true;  // whitespace wherever JSON allows it; else as the next two say
  std::optional<int> indent;   // with any_whitespace off: newline and this many spaces per level
  std::optional<std::pair<std::string, std::string>> separators;  // item and key; see the docs
  // Members and elements beyond those named are refused unless the schema itself speaks of them.
  bool strict_mode = true;
  std::optional<int> max_whitespace_cnt;  // with any_whitespace: at most so many characters a place
  bool any_order = false;                 // kUnsupported when true in this version
};

// A place where the grammar admits more than the schema does. Empty in this version unless the
// caller asked for widening.
struct SchemaWarning {
  std::string pointer, keyword, reason;
};

// Reads `schema` (JSON text), normalises it and emits a grammar. Errors: kInvalidArgument (not
// JSON, or not a schema), kUnsupported (a keyword this version cannot express exactly),
// kUnsatisfiable, kResourceExhausted; messages name the JSON pointer, the keyword and the cure.
StatusOr<Grammar> GrammarFromJsonSchema(std::string_view schema,
                                        const JsonSchemaOptions& options = {},
                                        const Limits& limits = {});

// Any JSON object or array.
Grammar BuiltinJsonGrammar();

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_H_
