// The standard's own meta-schemas, built in.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_META_SCHEMAS_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_META_SCHEMAS_H_

#include <string_view>

namespace grammask::internal {

// The JSON text of the document that json-schema.org publishes at `uri` (absolute, without a
// fragment) for drafts 4, 6, 7, 2019-09 or 2020-12, vocabularies included; "" for any other URI.
std::string_view MetaSchemaText(std::string_view uri);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_META_SCHEMAS_H_
