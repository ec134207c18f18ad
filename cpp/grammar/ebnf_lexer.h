// EBNF text, cut into tokens; and what literals and classes say.
#ifndef GRAMMASK_GRAMMAR_EBNF_LEXER_H_
#define GRAMMASK_GRAMMAR_EBNF_LEXER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_set.h"
#include "base/code_point_set.h"
#include "base/status.h"
#include "grammask/limits.h"

namespace grammask::internal {

enum class EbnfTokenKind : uint8_t {
  kName,      // of a rule or macro; also a number in the arguments of a macro
  kString,    // "..." with its quotes
  kClass,     // [...] with its brackets
  kTokenRef,  // <...> or !<...>
  kBraces,    // {...}
  kDefine,    // ::=
  kPunct,     // one of | ( ) * + ? , =
  kEnd,       // one, after the last
};

struct EbnfToken {
  uint32_t offset;
  uint32_t size;
  EbnfTokenKind kind;

  std::string_view In(std::string_view source) const { return source.substr(offset, size); }
};

// Cuts `source` into tokens, the last of which is kEnd. Comments (# to the end of the line) and
// white space are gone. Errors: not UTF-8, an unclosed token, a character that starts none.
StatusOr<std::vector<EbnfToken>> LexEbnf(std::string_view source, const Limits& limits);

// What \xHH means: the character U+00HH, or the byte HH.
enum class HexEscape : uint8_t { kCharacter, kByte };

// The text of a kString token.
StatusOr<std::string> ReadEbnfString(std::string_view source, EbnfToken token, HexEscape hex);
// The characters of a kClass token.
StatusOr<CodePointSet> ReadEbnfClass(std::string_view source, EbnfToken token);
// The same as bytes: it may name bytes only, as ASCII characters or \xHH.
StatusOr<ByteSet> ReadEbnfByteClass(std::string_view source, EbnfToken token);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_EBNF_LEXER_H_
