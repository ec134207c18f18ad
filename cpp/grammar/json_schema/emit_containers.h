// One case of objects or arrays to a node.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_EMIT_CONTAINERS_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_EMIT_CONTAINERS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/scratch.h"
#include "grammar/json_schema/emit.h"
#include "grammar/record.h"

namespace grammask::internal {

// Objects: named members in order, then extra ones in any order; or all in any order. Used once for
// one case.
class ObjectEmitter {
 public:
  ObjectEmitter(SchemaEmitter* emitter, const ObjectSet& set, int depth);
  StatusOr<NodeId> Run();

 private:
  // One kind of extra member: keys in one string set, values of one expression.
  struct Extra {
    ScratchVector<PatternId> match, no_match;
    ExprId value;
    StringSet key;
  };
  StatusOr<bool> FindMembers();  // false when a required one cannot be
  void NameKeys();
  // Comma, key, colon, value, and what comes after.
  NodeId NodeOf(const OrderedMembers::Member& member, bool comma);
  // The whole object in its short form, where it has one.
  StatusOr<std::optional<NodeId>> AsRecord();
  // Whether of extra members nothing is asked but that their keys be none of the named ones.
  bool has_plain_extras() const {
    return set_.names == kAnything && set_.some.empty() && set_.none.empty() &&
           set_.groups.empty() && !set_.closed;
  }
  // Whether members have to be counted; `extras`: whether there are others than the named ones.
  bool IsBounded(bool extras) const {
    return (extras ? set_.max != kUnbounded : set_.max < static_cast<int64_t>(member_count_)) ||
           set_.min > std::max<int64_t>(required_, 1);
  }
  // The extra members of which the conditions of set_.some in the mask are true.
  StatusOr<NodeId> ExtraNode(uint32_t conditions);
  StatusOr<std::optional<NodeId>> PlainExtra();
  // `names`: which of the conditions of set_.none that speak of names the key's name meets.
  StatusOr<ScratchVector<Extra>> Extras(uint32_t conditions, uint32_t names);
  Status RestrictNames(ExprId names, ScratchVector<Extra>* extras);
  Status ExcludeNames(Extra* extra);
  // Extra members to the end of the object, `min` to `max` of them; a comma comes before the first
  // unless it `leads`.
  StatusOr<NodeId> ExtrasToEnd(bool leads, int64_t min, int64_t max);
  StatusOr<NodeId> Uncounted();
  // The same as a case of e_.cases_.
  Status AddCase(bool may_be_empty);
  StatusOr<OrderedMembers> InOrder();
  StatusOr<NodeId> Counted(int64_t min, int64_t max);
  StatusOr<NodeId> InAnyOrder();
  NodeId AsRule(NodeId node);

  SchemaEmitter& e_;
  GrammarBuilder& builder_;
  const ObjectSet& set_;
  int depth_;
  NodeId comma_, comma_quote_, end_;
  const bool may_be_record_;
  ScratchVector<NodeId> values_;  // of set_.named; Nothing for those that cannot be
  ScratchVector<NodeId> keys_;    // the texts of all named keys
  ScratchVector<OrderedMembers::Member> members_;
  size_t member_count_ = 0;
  int64_t required_ = 0;
  NodeId extra_;                   // any extra member; Nothing where there are none
  std::optional<NodeId> further_;  // the same behind a comma
};

// Arrays. Used once for one case.
class ArrayEmitter {
 public:
  ArrayEmitter(SchemaEmitter* emitter, const ArraySet& set, int depth);
  StatusOr<NodeId> Run();

 private:
  // A value that uniqueItems may tell from others.
  struct Literal {
    ScratchString identity;  // equal for equal values
    NodeId node;
  };
  // Elements that meet conditions, a bit each.
  struct Kind {
    ExprId expr;
    uint32_t meets;
  };
  StatusOr<NodeId> Element(ExprId expr);
  StatusOr<NodeId> FromPrefix();
  StatusOr<NodeId> WithoutPrefix();
  StatusOr<NodeId> AfterPrefix();
  // Where some elements are counted: emit_counts.cc.
  StatusOr<NodeId> Counted();
  StatusOr<std::optional<ScratchVector<Kind>>> Kinds();
  StatusOr<NodeId> Unique();
  StatusOr<NodeId> UniqueAfterPrefix();
  StatusOr<std::optional<NodeId>> LiteralsAfterPrefix();
  Status AddDistinct(ExprId expr, Members::Member member, Members* all);
  StatusOr<std::optional<int64_t>> CountOf(ExprId expr, int depth);
  StatusOr<std::optional<int64_t>> CountAnew(ExprId expr, int depth);
  StatusOr<std::optional<int64_t>> CountOf(const ArraySet& set, int depth);
  StatusOr<std::optional<int64_t>> CountOf(const ObjectSet& set, int depth);
  StatusOr<bool> ManyMatch(const ObjectSet& set);
  StatusOr<NodeId> Scalars(const ValueSet& set);
  NodeId UsualNumbers();
  [[gnu::cold]] Status UniqueUnsupported(std::string_view what) const;
  // The literals of `expr`; nullopt when it holds others or too many.
  StatusOr<std::optional<ScratchVector<Literal>>> Literals(ExprId expr);

  SchemaEmitter& e_;
  GrammarBuilder& builder_;
  const ArraySet& set_;
  int depth_;
  int64_t min_, max_;
  NodeId comma_, end_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_EMIT_CONTAINERS_H_
