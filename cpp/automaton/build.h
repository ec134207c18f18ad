// Grammar to automaton: the terms of its rules.
#ifndef GRAMMASK_AUTOMATON_BUILD_H_
#define GRAMMASK_AUTOMATON_BUILD_H_

#include "automaton/term_store.h"
#include "base/status.h"
#include "grammar/ast.h"

namespace grammask::internal {

// Adds `grammar` to `store`, whose lock must not be held, and returns the state in which its root
// rule begins. Rules become procedures or, where small, are written into their callers; a rule that
// `store` knows already, from this grammar or another, is found again with all that was derived
// from it. Rules and alternatives that no finite text satisfies are dropped.
// Errors: kUnsatisfiable when the root rule is one of them; kResourceExhausted when an intersection
// is too large to decide.
StatusOr<TermId> BuildTerms(const Grammar& grammar, TermStore* store);

// The term of a grammar of one rule, whose body is regular. The store's lock is held.
TermId BuildRegularTerm(const Grammar& grammar, TermStore* store);

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_BUILD_H_
