// What is told of a term by what is told of its parts.
#ifndef GRAMMASK_AUTOMATON_POST_ORDER_H_
#define GRAMMASK_AUTOMATON_POST_ORDER_H_

#include <absl/container/inlined_vector.h>

#include "automaton/term_store.h"

namespace grammask::internal {

// Calls make(id, term) for `id` and all its parts that are not known(id) yet, parts first; not for
// what is in a complement. make() makes it known. `terms`: by id.
template <class Terms, class Known, class Make>
void ForEachUnknownPart(const Terms& terms, TermId id, Known&& known, Make&& make) {
  absl::InlinedVector<TermId, 16> todo = {id};
  while (!todo.empty()) {
    const TermId top = todo.back();
    const size_t before = todo.size();
    const Term& t = terms[top.value];
    if (!known(top)) {
      if (t.kind != TermKind::kNot) {
        for (TermId c : t.children()) {
          if (!known(c)) todo.push_back(c);
        }
      }
      if (todo.size() > before) continue;
      make(top, t);
    }
    todo.pop_back();
  }
}

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_POST_ORDER_H_
