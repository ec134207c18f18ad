// The third step: sets of values to a grammar of their JSON texts.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_EMIT_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_EMIT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/scratch.h"
#include "base/status.h"
#include "grammar/ast.h"
#include "grammar/json_schema.h"
#include "grammar/json_schema/layout.h"
#include "grammar/json_schema/normalise.h"

namespace grammask::internal {

class MemberTrie;

// Adds rules to a builder: one for each set of values that holds arrays or objects, shared by all
// places that ask for it, and one for each kind of string and number. A rule ends at the last byte
// of its value. Not thread-safe.
class SchemaEmitter {
 public:
  SchemaEmitter(Normaliser* normaliser, GrammarBuilder* builder, const JsonSchemaOptions& options,
                const Limits& limits);

  // A rule for the texts of `expr`, with all that it needs. Errors name the schema and the keyword.
  StatusOr<RuleId> EmitRoot(ExprId expr);

 private:
  friend class ObjectEmitter;
  friend class ArrayEmitter;
  struct Task {
    ExprId expr;
    int depth;
    RuleId rule;
    bool containers = false;  // its arrays and objects alone
  };

  // A node for the texts of `expr` as a value at `depth`: complete at once where it holds no arrays
  // or objects, else a rule whose body is made later.
  StatusOr<NodeId> Value(ExprId expr, int depth, std::string_view name);
  // A rule for the arrays and objects of `expr` alone, whose body is made later.
  NodeId Containers(ExprId expr, int depth);
  StatusOr<NodeId> Body(const ValueSet& set, int depth);
  // One case; in widening, without the conditions that have no form (emit_widened.cc).
  StatusOr<NodeId> Case(const ObjectSet& set, int depth);
  StatusOr<NodeId> Case(const ArraySet& set, int depth);
  StatusOr<NodeId> Case(const NumberSet& set);
  StatusOr<NodeId> Case(const StringSet& set);
  template <class T, class Emit>
  StatusOr<NodeId> Relaxed(const T& set, const Status& why, const Emit& emit);
  Status AddScalars(const ValueSet& set, ScratchVector<NodeId>* alternatives);
  StatusOr<NodeId> Numbers(const ScratchVector<NumberSet>& sets);
  // The grammar that the short form of these stands for, where they have one; else null.
  const Grammar* Standard(const ScratchVector<NumberSet>& sets) const;
  const Grammar* Standard(const StringSet& set) const;
  StatusOr<NodeId> String(const StringSet& set);
  // Any text of a JSON string, without its quotes.
  StatusOr<NodeId> AnyString();
  // A rule with this body; the same one for the same body.
  NodeId RuleFor(NodeId body, std::string_view name);
  // A list of elements (or members) up to and with `end`, among which each of some conditions holds
  // for at least one.
  struct ListSpec {
    size_t conditions;  // at most kMaxConditions
    // The element of which the conditions in the mask are true, at least; what comes after it
    // included.
    std::function<StatusOr<NodeId>(uint32_t mask)> element;
    NodeId comma, end;
    bool leads;        // no comma before the first
    int64_t min, max;  // elements
  };
  static constexpr size_t kMaxConditions = 5;
  StatusOr<NodeId> List(const ListSpec& spec);
  // One case; a record is the body of a rule of its own.
  StatusOr<NodeId> AsRule(const ObjectSet& set, int depth);
  // Adds the cases of a set to what its values may be.
  Status AddObjects(const ScratchVector<ObjectSet>& sets, int depth,
                    ScratchVector<NodeId>* alternatives);
  Status AddCases(const ScratchVector<ObjectSet>& sets, int depth,
                  ScratchVector<NodeId>* alternatives);
  void NameCases(const ScratchVector<ObjectSet>& sets);
  // Puts the place of the value being emitted before a message that has none.
  Status Located(const Status& status) const;

  Normaliser& normaliser_;
  GrammarBuilder& builder_;
  const Limits& limits_;
  Layout layout_;
  bool any_order_;
  bool usual_;  // values are laid out as in AnyValue()
  bool records_;
  const bool short_forms_;
  // Whether what schemas have in common may be in its short form: not as the whole of the root,
  // whose states are those of its body.
  bool standard_ = false;
  MemberTrie* cases_ = nullptr;  // for the cases at work, where they are many
  // In any order: the names that any of the cases at work has, and their texts. The members that a
  // case does not name are told apart by them, so that all others are the same in each case.
  ScratchVector<std::string_view> names_of_cases_;
  ScratchVector<NodeId> keys_of_cases_;
  bool alone_ = false;  // the case at work is the whole body of a rule
  NumberSpelling spelling_;
  ScratchVector<Task> tasks_;
  ExprId current_ = kAnything;  // whose rule is being made
  absl::flat_hash_map<std::pair<ExprId, int>, NodeId> values_, containers_;
  absl::flat_hash_map<NodeId, NodeId> rules_;  // by body
  // ArrayEmitter::CountOf, by expression and depth.
  absl::flat_hash_map<std::pair<ExprId, int>, std::optional<int64_t>> counts_;
  std::optional<NodeId> regex_;  // the text of format regex, once it is made
  std::optional<NodeId> any_string_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_EMIT_H_
