// Public options to those of the front ends.
#ifndef GRAMMASK_MATCHER_SOURCES_H_
#define GRAMMASK_MATCHER_SOURCES_H_

#include <string_view>

#include "grammar/json_schema.h"
#include "grammask/grammask.h"

namespace grammask::internal {

JsonSchemaOptions ToInternal(const SchemaOptions& options);

// Grammar::FromJsonSchema for a compiler: with records (ast.h), which are made into states as texts
// get to them.
StatusOr<grammask::Grammar> JsonSchemaFor(std::string_view schema, const SchemaOptions& options,
                                          const Limits& limits);

// Grammar::FromEbnf, with token texts (<think>) looked up in `tokenizer` where there is one.
StatusOr<grammask::Grammar> EbnfFor(std::string_view ebnf, std::string_view root_rule,
                                    const TokenizerInfo* tokenizer, const Limits& limits);

}  // namespace grammask::internal

#endif  // GRAMMASK_MATCHER_SOURCES_H_
