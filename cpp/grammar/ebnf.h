// EBNF text to a Grammar.
#ifndef GRAMMASK_GRAMMAR_EBNF_H_
#define GRAMMASK_GRAMMAR_EBNF_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "grammar/ast.h"

namespace grammask::internal {

struct EbnfOptions {
  std::string root_rule = "root";
  // Finds the id of a token written <like_this> by its text; null where no tokenizer is known.
  std::function<std::optional<TokenId>(std::string_view)> find_token;
};

// Reads `rule ::= expression` rules (the dialect of docs/grammar.md, GBNF included). Errors carry
// line, column and a caret line.
StatusOr<Grammar> ParseEbnf(std::string_view source, const EbnfOptions& options = {},
                            const Limits& limits = {});

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_EBNF_H_
