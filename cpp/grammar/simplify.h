// Node calls, brought into canonical form and hash-consed: the part of GrammarBuilder that knows no
// rules.
#ifndef GRAMMASK_GRAMMAR_SIMPLIFY_H_
#define GRAMMASK_GRAMMAR_SIMPLIFY_H_

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/scratch.h"
#include "grammar/ast.h"
#include "grammar/node_store.h"
#include "grammask/limits.h"

namespace grammask::internal {

// The node functions of GrammarBuilder, with the same contracts. Not thread-safe. Once over
// limits.max_ast_nodes, counting one for each node, one for each reference to a child, and long
// texts and classes by their size, `over()` is true and all functions return Nothing().
class Simplifier {
 public:
  explicit Simplifier(const Limits& limits);

  NodeId Nothing() const { return nothing_; }
  NodeId Empty() const { return over_ ? nothing_ : empty_; }
  NodeId AnyBytes() const { return over_ ? nothing_ : any_bytes_; }
  // kBytes or kJsonText.
  NodeId Text(NodeKind kind, std::string_view text);
  NodeId ByteClass(const ByteSet& bytes);
  // kClass or kJsonClass.
  NodeId Characters(NodeKind kind, const CodePointSet& characters);
  NodeId Sequence(std::span<const NodeId> parts);
  // The same, but that a sequence `tail` stays a node of its own.
  NodeId SequenceBefore(std::span<const NodeId> parts, NodeId tail);
  NodeId Choice(std::span<const NodeId> alternatives);
  NodeId Repeat(NodeId child, int64_t min, int64_t max);
  NodeId And(std::span<const NodeId> parts);
  NodeId Not(NodeId child);
  NodeId MultipleOf(const Multiple& multiple);
  NodeId Tokens(TokenSet tokens);
  NodeId Members(const internal::Members& members);
  NodeId Record(const internal::Record& record);
  // A node that is in canonical form already.
  NodeId Intern(const StoredNode& node);

  NodeView view(NodeId id) const { return store_.storage().View(id); }
  const NodeStorage& storage() const { return store_.storage(); }
  const Limits& limits() const { return limits_; }
  bool over() const { return over_; }

 private:
  const StoredNode& at(NodeId id) const { return storage().stored(id); }
  NodeKind kind(NodeId id) const { return at(id).kind; }
  std::span<const NodeId> children(NodeId id) const { return storage().Children(id); }
  // Null where the node is no repeat. Stays as nodes are added.
  const RepeatData* RepeatOf(NodeId id) const {
    const StoredNode& node = at(id);
    return node.kind == NodeKind::kRepeat ? static_cast<const RepeatData*>(node.data) : nullptr;
  }
  NodeId InternList(NodeKind kind, std::span<const NodeId> list);
  // Whether the children of `part`, a nested list, go into the list of `parts` parts around it.
  bool Splices(NodeId part, NodeKind kind, size_t parts) const;

  // False where nothing can match.
  bool AppendParts(std::span<const NodeId> parts);
  NodeId FinishSequence();
  void AppendToSequence(NodeId part);
  bool MayJoin(NodeId sequence);
  // AppendToSequence for each child of a sequence.
  void AppendSequence(NodeId sequence);
  void FlushLiteral();
  bool JoinRepeats(NodeId part);
  NodeId TakeUp(NodeId part);
  bool LoopsTake(NodeId loop, NodeId x, int* most) const;
  void JoinWrittenOut();
  void AddAlternative(NodeId alternative, size_t parts);
  void MergeClasses();
  bool MergeAnd();
  bool MergeLoops();

  Limits limits_;
  NodeStore store_;
  NodeId nothing_, empty_, any_bytes_;
  size_t used_ = 0;  // of the budget
  bool over_ = false;

  // Of the call that runs, kept for their memory. Sequence, Choice and And never run inside one
  // another.
  ScratchVector<NodeId> list_;
  ScratchVector<uint8_t> may_join_;  // what MayJoin found, by node
  // A sequence joins neighbouring literals: the text that waits to be appended to `list_`.
  std::string literal_;
  NodeKind literal_kind_ = NodeKind::kBytes;
  NodeId literal_node_;        // the only node that it came from, while literal_parts_ is 1
  size_t literal_parts_ = 0;   // how many nodes it came from
  size_t longest_joined_ = 0;  // a part with more bytes stays a literal of its own
  bool has_empty_ = false;     // of a choice
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_SIMPLIFY_H_
