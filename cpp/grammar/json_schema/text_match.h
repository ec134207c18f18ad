// Whether one text is in the language of a regular node.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_TEXT_MATCH_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_TEXT_MATCH_H_

#include <string>
#include <string_view>

#include "base/status.h"
#include "grammar/ast.h"

namespace grammask::internal {

// Exact for every regular node, intersections and complements included. kResourceExhausted when
// the text and the expression together are too large to decide at leisure (tens of thousands of
// characters).
StatusOr<bool> MatchesText(const GrammarBuilder& builder, NodeId node, std::string_view text);
// The same the long way, for texts of any length and nodes of any shape.
StatusOr<bool> MatchesByRelations(const GrammarBuilder& builder, NodeId node,
                                  std::string_view text);

// `text` as JSON writes it between quotes, with as few escapes as there can be.
std::string JsonSpelling(std::string_view text);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_TEXT_MATCH_H_
