// Linear equations between regular languages.
#ifndef GRAMMASK_GRAMMAR_REGEX_EQUATIONS_H_
#define GRAMMASK_GRAMMAR_REGEX_EQUATIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/scratch.h"
#include "grammar/ast.h"

namespace grammask::internal {

// X_i = (union over j of l_ij X_j) | t_i for i < size; where `reversed`, X_j l_ij in place of
// l_ij X_j. Labels l and constants t are nodes of `builder` and grow by union.
class LanguageEquations {
 public:
  LanguageEquations(GrammarBuilder* builder, size_t size, bool reversed)
      : builder_(builder), reversed_(reversed), rows_(size) {}

  void AddLabel(uint32_t i, uint32_t j, NodeId label);
  void AddConstant(uint32_t i, NodeId constant);
  // The least solution for the variables `wanted`, in their order. Call it once. At worst it makes
  // the cube of the size in labels; on chains a few for each variable. They are counted down from
  // *max_labels; nullopt where that reaches 0.
  std::optional<ScratchVector<NodeId>> Solve(std::span<const uint32_t> wanted, size_t* max_labels);

 private:
  struct Row {
    std::map<uint32_t, NodeId> labels;  // ordered, so that results do not vary
    ScratchVector<uint32_t> users;      // rows that have, or had, a label for this one
    std::optional<NodeId> constant;
    NodeId star;  // once eliminated: what may repeat before (reversed: behind) all the rest
    bool eliminated = false;
    bool wanted = false;
  };

  NodeId Join(NodeId label, NodeId x) {
    return reversed_ ? builder_->Sequence({x, label}) : builder_->Sequence({label, x});
  }
  uint32_t CheapestRow() const;
  bool Eliminate(uint32_t k, size_t* max_labels);

  GrammarBuilder* builder_;
  bool reversed_;
  ScratchVector<Row> rows_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_REGEX_EQUATIONS_H_
