// Options about whitespace to the nodes that stand between JSON's tokens.
//
// Free whitespace follows every opening character, comma, colon and value inside a container, so
// that each place where JSON allows it has it once; around the root only where asked for, and then
// with fixed texts too. Fixed texts are those of Python's json.dumps: ", " and ": " by default, and
// with an indent a line break after each opening character and comma. With indent 2, [1] at depth 0
// is "[", "\n  ", 1, "\n", "]". Constant time, and a cached node for each depth.
//
// Tests: tests/grammar/json_schema_test.cc.
#include "grammar/json_schema/layout.h"

#include <algorithm>

namespace grammask::internal {

Layout::Layout(GrammarBuilder* builder, const JsonSchemaOptions& options, int max_depth)
    : builder_(*builder), any_whitespace_(options.any_whitespace), max_depth_(max_depth) {
  ByteSet blank;
  for (uint8_t b : {' ', '\t', '\n', '\r'}) blank.Add(b);
  NodeId free_space = builder_.Repeat(
      builder_.ByteClass(blank), 0,
      options.max_whitespace_cnt ? std::max(0, *options.max_whitespace_cnt) : kUnbounded);
  around_root_ = options.root_whitespace ? free_space : builder_.Empty();
  quote_ = builder_.Bytes("\"");
  if (any_whitespace_) {
    space_ = free_space;
    colon_ = builder_.Sequence({space_, builder_.Bytes(":"), space_});
    after_ = space_;
    FixTexts();
    return;
  }
  if (options.indent) indent_ = std::max(0, *options.indent);
  std::string key_separator = ": ";
  item_separator_ = indent_ ? "," : ", ";
  if (options.separators) {
    item_separator_ = options.separators->first;
    key_separator = options.separators->second;
  }
  space_ = builder_.Empty();
  colon_ = builder_.Bytes(key_separator);
  after_ = builder_.Empty();
  FixTexts();
}

void Layout::FixTexts() {
  quote_colon_ = builder_.Sequence({quote_, colon_});
  if (depends_on_depth()) return;
  comma_ = NewComma(0);
  comma_quote_ = builder_.Sequence({comma_, quote_});
}

NodeId Layout::LineBreak(int depth) {
  if (!indent_) return builder_.Empty();
  while (static_cast<int>(line_breaks_.size()) <= depth) {
    size_t spaces = line_breaks_.size() * static_cast<size_t>(*indent_);
    line_breaks_.push_back(builder_.Bytes("\n" + std::string(spaces, ' ')));
  }
  return line_breaks_[depth];
}

NodeId Layout::Byte(char ascii) {
  NodeId& node = bytes_[static_cast<size_t>(ascii)];
  if (node == builder_.Nothing()) node = builder_.Bytes({&ascii, 1});
  return node;
}

NodeId Layout::Close(char close, int depth) {
  if (!depends_on_depth()) return Byte(close);
  return builder_.Sequence({LineBreak(depth), Byte(close)});
}

NodeId Layout::Comma(int depth) { return depends_on_depth() ? NewComma(depth) : comma_; }

NodeId Layout::CommaQuote(int depth) {
  return depends_on_depth() ? builder_.Sequence({NewComma(depth), quote_}) : comma_quote_;
}

NodeId Layout::NewComma(int depth) {
  if (any_whitespace_) return builder_.Sequence({builder_.Bytes(","), space_});
  return builder_.Sequence({builder_.Bytes(item_separator_), LineBreak(depth)});
}

NodeId Layout::Container(char open, char close, bool may_be_empty, NodeId content, int depth) {
  const NodeId empty = may_be_empty ? Byte(close) : builder_.Nothing();
  if (depends_on_depth()) content = builder_.Sequence({LineBreak(depth + 1), content});
  return builder_.Sequence({Byte(open), space_, builder_.Choice({empty, content})});
}

}  // namespace grammask::internal
