// Ids are types, so that a rule cannot be passed where a state is wanted.
#ifndef GRAMMASK_BASE_IDS_H_
#define GRAMMASK_BASE_IDS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace grammask::internal {

// An index into a table, distinct per Tag. Value-initialised to 0.
template <class Tag>
struct Id {
  uint32_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(uint32_t v) : value(v) {}
  friend constexpr auto operator<=>(Id, Id) = default;

  template <class H>
  friend H AbslHashValue(H h, Id id) {
    return H::combine(std::move(h), id.value);
  }
};

using NodeId = Id<struct NodeTag>;  // a node of a Grammar
using RuleId = Id<struct RuleTag>;  // a rule of a Grammar
using TermId = Id<struct TermTag>;  // an automaton state: a hash-consed expression
using ProcId = Id<struct ProcTag>;  // a rule as the automaton calls it, shared between grammars
using RetId = Id<struct RetTag>;    // where a finished rule goes on: (set, procedure)
using SetId = Id<struct SetTag>;    // a parser state: an interned set of items
using TokenId = int32_t;            // a token of the model's vocabulary

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_IDS_H_
