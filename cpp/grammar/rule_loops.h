// Rules that repeat themselves, as loops.
#ifndef GRAMMASK_GRAMMAR_RULE_LOOPS_H_
#define GRAMMASK_GRAMMAR_RULE_LOOPS_H_

#include "grammar/ast.h"

namespace grammask::internal {

// A grammar of the same texts as `grammar` with fewer levels of rules: direct left and right
// recursion are loops, and levels of operators (a sum of products of factors) are one level. Where
// there is nothing of the kind, or it would go over `limits`, `grammar` itself. For grammars that
// go to the automaton: what is printed stays as it was written.
Grammar RulesToLoops(const Grammar& grammar, const Limits& limits);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_RULE_LOOPS_H_
