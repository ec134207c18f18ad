// Objects whose members stand in one order: the short form (kRecord) and what it stands for.
#ifndef GRAMMASK_GRAMMAR_RECORD_H_
#define GRAMMASK_GRAMMAR_RECORD_H_

#include <span>

#include "absl/functional/function_ref.h"
#include "grammar/ast.h"

namespace grammask::internal {

// Named members in their order, up to and with the end of the object.
struct OrderedMembers {
  struct Member {
    NodeId key;    // its text without quotes
    NodeId value;  // not Nothing
    bool required;
  };
  std::span<const Member> members;
  NodeId quote, comma_quote, quote_colon, after;  // as in Record
  NodeId others_first;                            // where no named one comes, and none is required
  NodeId rest;                                    // after the named ones, of which one came
};

// A node for them. `as_rule` makes a rule of a node, for what many places refer to. Linear.
NodeId MembersInOrder(GrammarBuilder* builder, const OrderedMembers& members,
                      absl::FunctionRef<NodeId(NodeId)> as_rule);

// What `record` stands for, without a kRecord.
NodeId ExpandRecord(GrammarBuilder* builder, const Record& record);

// The record that `view` shows, with these nodes instead of its children. Keys refer to `view`.
Record RecordOf(std::span<const NodeId> children, const RecordView& view);

// The same grammar with every short form written out: records, and standard grammars.
Grammar WithoutShortForms(const Grammar& grammar);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_RECORD_H_
