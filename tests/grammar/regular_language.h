// A regular node as an explicit automaton: what tests of single nodes ask for membership.
#ifndef GRAMMASK_TESTS_GRAMMAR_REGULAR_LANGUAGE_H_
#define GRAMMASK_TESTS_GRAMMAR_REGULAR_LANGUAGE_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "grammar/ast.h"
#include "oracle/byte_dfa.h"

namespace grammask::internal {

class RegularLanguage {
 public:
  // `emit(GrammarBuilder*)` returns a NodeId or a StatusOr<NodeId>.
  template <class Emit>
  explicit RegularLanguage(Emit&& emit) {
    GrammarBuilder builder;
    StatusOr<NodeId> node = emit(&builder);
    if (!node.ok()) {
      status_ = node.status();
      return;
    }
    RuleId root = builder.AddRule("root");
    builder.SetBody(root, node.value());
    StatusOr<Grammar> grammar = builder.Finish(root);
    GM_CHECK(grammar.ok());
    nodes_ = grammar->node_count();
    text_ = grammar->ToString();
    for (size_t i = 0; i < nodes_; ++i) {
      NodeKind kind = grammar->node(NodeId(static_cast<uint32_t>(i))).kind;
      combines_ = combines_ || kind == NodeKind::kAnd || kind == NodeKind::kNot;
    }
    dfa_ = ByteDfa::Build(*grammar, grammar->rule_body(grammar->root()));
  }

  const Status& status() const { return status_; }
  size_t nodes() const { return nodes_; }
  const std::string& text() const { return text_; }  // as EBNF
  bool combines() const { return combines_; }        // has an intersection or complement
  bool Has(std::string_view text) const {
    GM_CHECK(dfa_.has_value());
    uint32_t state = 0;
    for (char c : text) state = dfa_->Step(state, static_cast<uint8_t>(c));
    return dfa_->Accepts(state);
  }
  bool IsEmpty() const { return !dfa_->Live(0); }

 private:
  Status status_;
  size_t nodes_ = 0;
  bool combines_ = false;
  std::string text_;
  std::optional<ByteDfa> dfa_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_TESTS_GRAMMAR_REGULAR_LANGUAGE_H_
