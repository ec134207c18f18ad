// The text of a regular expression, to its tree.
#ifndef GRAMMASK_GRAMMAR_REGEX_PARSER_H_
#define GRAMMASK_GRAMMAR_REGEX_PARSER_H_

#include <string_view>

#include "base/status.h"
#include "grammar/regex.h"
#include "grammar/regex_tree.h"

namespace grammask::internal {

// Syntax as regex.h says; of `options` only the three flags count. Assertions on one neighbouring
// character (^ $ \b \B, (?=[a-z]), (?<!-)) come out as kBeside, all other lookarounds as kLook.
StatusOr<RegexTree> ParseRegexTree(std::string_view pattern, const RegexOptions& options,
                                   const Limits& limits);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_REGEX_PARSER_H_
