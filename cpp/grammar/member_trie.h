// Unions of objects whose members come in an order: what the cases begin with is written once.
#ifndef GRAMMASK_GRAMMAR_MEMBER_TRIE_H_
#define GRAMMASK_GRAMMAR_MEMBER_TRIE_H_

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "base/scratch.h"
#include "grammar/record.h"

namespace grammask::internal {

// Used once for one union.
class MemberTrie {
 public:
  MemberTrie() : places_(1) {}
  // One more case. All have the same nodes around their members.
  void Add(const OrderedMembers& members, bool may_be_empty);
  bool empty() const { return cases_ == 0; }
  bool may_be_empty() const { return may_be_empty_; }  // whether some case is
  // The members of any case, up to and with the end of the object. `as_rule` as in MembersInOrder.
  NodeId Content(GrammarBuilder* builder, absl::FunctionRef<NodeId(NodeId)> as_rule);

 private:
  // What has been read of the members: those of its parents, each there or left out, and this one.
  struct Place {
    OrderedMembers::Member member;
    uint32_t parent = 0;
    uint32_t depth = 0;
    bool leads = true;  // perhaps none of them is there
    // What may follow where some is there, and where none is.
    ScratchVector<NodeId> rests, firsts;
  };
  using Step = std::tuple<uint32_t, NodeId, NodeId, bool>;  // from a place by a member

  ScratchVector<Place> places_;  // parents first
  absl::flat_hash_map<Step, uint32_t> index_;
  NodeId quote_, comma_quote_, quote_colon_, after_;
  size_t cases_ = 0;
  bool may_be_empty_ = false;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_MEMBER_TRIE_H_
