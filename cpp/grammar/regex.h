// Regular expressions of ECMA-262, to grammar nodes. The one regex parser of the library.
#ifndef GRAMMASK_GRAMMAR_REGEX_H_
#define GRAMMASK_GRAMMAR_REGEX_H_

#include <string_view>

#include "grammar/ast.h"

namespace grammask::internal {

struct RegexOptions {
  // kUtf8: the expression speaks of the text itself. kJsonString: of a string whose JSON spelling
  // (between its quotes) is what the node matches; every character may be escaped.
  enum class Encoding : uint8_t { kUtf8, kJsonString };
  // kWhole: the expression must match the whole text (`^` and `$` at its ends change nothing).
  // kSearch: it must match somewhere in the text, as JSON Schema's `pattern` says.
  enum class Anchoring : uint8_t { kWhole, kSearch };

  Encoding encoding = Encoding::kUtf8;
  Anchoring anchoring = Anchoring::kWhole;
  bool ignore_case = false;  // i: simple case folding
  bool dot_all = false;      // s: `.` matches line ends too
  bool multi_line = false;   // m: ^ and $ at line ends
};

// Parses `pattern` and adds nodes for its language to `builder`. Syntax: ECMA-262 with the u flag's
// classes (\p{..}, \u{..}) and the laxity of its annex B; also (?P<name>..), \A \z \Z, inline (?i)
// at the start, POSIX classes inside brackets. Lookahead and lookbehind (any regular content, also
// negative), \b, \B, ^ and $ anywhere are exact, by intersection and complement. Lazy quantifiers
// match the same language. Backreferences are kUnsupported; malformed input is kInvalidArgument
// with the place and a caret.
StatusOr<NodeId> ParseRegex(std::string_view pattern, const RegexOptions& options,
                            const Limits& limits, GrammarBuilder* builder);

// A whole grammar whose root matches exactly the texts that `pattern` matches as a whole.
StatusOr<Grammar> GrammarFromRegex(std::string_view pattern, const Limits& limits = {});

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_REGEX_H_
