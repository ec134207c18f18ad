// What the parts of strings' bodies say of one another: searches, and the texts they find.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_STRING_PARTS_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_STRING_PARTS_H_

#include <vector>

#include "base/scratch.h"
#include "base/status.h"
#include "grammar/ast.h"

namespace grammask::internal {

// Whether a node is what it looks for with any characters around it.
bool IsSearch(GrammarBuilder* builder, NodeId node);
// Whether a text that is in all of `part` is found by `search`.
StatusOr<bool> HoldsTextOf(const GrammarBuilder& builder, NodeId part, NodeId search);
// Fewer nodes for the same alternatives, bodies of strings: without those that are plainly within
// another one, and of many those in one that have all but one part in common.
void UniteBodies(GrammarBuilder* builder, ScratchVector<NodeId>* bodies);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_STRING_PARTS_H_
