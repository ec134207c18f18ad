// JSON Schema to a Grammar of the JSON texts that it admits.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/ast.h"
#include "grammask/schema_warning.h"

namespace grammask::internal {

struct JsonSchemaOptions {
  bool any_whitespace = true;  // whitespace wherever JSON allows it; else as the next two say
  std::optional<int> indent;   // with any_whitespace off: newline and this many spaces per level
  std::optional<std::pair<std::string, std::string>> separators;  // item and key; see the docs
  // Members and elements beyond those named are refused unless the schema itself speaks of them.
  bool strict_mode = true;
  std::optional<int> max_whitespace_cnt;  // with any_whitespace: at most so many characters a place
  bool any_order = false;                 // members in any order, not only in the schema's
  bool root_whitespace = false;           // whitespace before and after the root value too
  // What has no exact form: an error, or (true) a superset with a SchemaWarning for each place.
  bool widen = false;
  // Other documents that `$ref` may name: URI to JSON text.
  std::map<std::string, std::string> registry;
  // Formats of the caller's own: name to an ECMA-262 regular expression for the whole string. They
  // take precedence over the built-in ones.
  std::map<std::string, std::string> formats;
  // Objects (kRecord) and what schemas have in common (kStandard) in their short forms: for
  // BuildTerms.
  bool short_forms = false;
};

// Reads `schema` (JSON text), normalises it and emits a grammar. Errors: kInvalidArgument (not
// JSON, or not a schema), kUnsupported (a keyword this version cannot express exactly),
// kUnsatisfiable, kResourceExhausted; messages name the JSON pointer, the keyword and the cure.
// `warnings`, where given, gets the places that were widened.
StatusOr<Grammar> GrammarFromJsonSchema(std::string_view schema,
                                        const JsonSchemaOptions& options = {},
                                        const Limits& limits = {},
                                        std::vector<SchemaWarning>* warnings = nullptr);

// Any JSON object or array.
Grammar BuiltinJsonGrammar();

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_H_
