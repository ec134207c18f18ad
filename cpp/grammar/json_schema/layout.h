// Where JSON texts have whitespace, and how much.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_LAYOUT_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_LAYOUT_H_

#include <array>
#include <string>
#include <vector>

#include "grammar/ast.h"
#include "grammar/json_schema.h"

namespace grammask::internal {

// The nodes between the parts of arrays and objects. Depth counts the containers around a place:
// the root value is at depth 0, its members are at depth 1.
class Layout {
 public:
  // `max_depth`: with an indent, how many containers may be open at once.
  Layout(GrammarBuilder* builder, const JsonSchemaOptions& options, int max_depth);

  // With a fixed indent, texts depend on the depth of their place.
  bool depends_on_depth() const { return indent_.has_value(); }
  // Whether a container at `depth` may hold something.
  bool may_nest(int depth) const { return !depends_on_depth() || depth < max_depth_; }
  void set_max_depth(int depth) { max_depth_ = depth; }

  // A container between `open` and `close`: empty if `may_be_empty`, or with `content`, which ends
  // in Close(depth, close). `depth` is that of the container.
  NodeId Container(char open, char close, bool may_be_empty, NodeId content, int depth);
  // What comes before the content of a container; of texts that do not depend on the depth.
  NodeId Open(char open) { return builder_.Sequence({Byte(open), space_}); }
  // What ends a container that is not empty, its closing character included.
  NodeId Close(char close, int depth);
  // Between two elements or members, the comma included.
  NodeId Comma(int depth);
  // Before a key's text, and before that of any but the first.
  NodeId Quote() const { return quote_; }
  NodeId CommaQuote(int depth);
  // Between a key's text and its value.
  NodeId QuoteColon() const { return quote_colon_; }
  // Between a key and its value, the colon included.
  NodeId Colon() const { return colon_; }
  // After an element or a member.
  NodeId After() const { return after_; }
  // Before and after the root value.
  NodeId AroundRoot() const { return around_root_; }

 private:
  void FixTexts();
  NodeId LineBreak(int depth);
  NodeId NewComma(int depth);
  NodeId Byte(char ascii);

  GrammarBuilder& builder_;
  bool any_whitespace_;
  int max_depth_;
  std::optional<int> indent_;
  std::string item_separator_;
  NodeId space_;  // optional whitespace; empty when it is fixed
  NodeId colon_, after_, around_root_, quote_, quote_colon_;
  NodeId comma_, comma_quote_;       // where they do not depend on the depth
  std::array<NodeId, 128> bytes_{};  // Byte(), once asked for; id 0 is Nothing()
  std::vector<NodeId> line_breaks_;  // by depth
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_LAYOUT_H_
