// EBNF text to tokens, and string and class tokens to what they stand for.
//
// The lexer only finds where tokens end; escapes are read when the parser asks for the contents, so
// that an error in a literal is reported in the order of the text. For example
// `root ::= "a\n" [^0-9]+` is kName, kDefine, kString, kClass, kPunct, kEnd.
// Cost: one pass. Source: the dialect of docs/grammar.md. Tests: tests/grammar/ebnf_test.cc.
#include "grammar/ebnf_lexer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/utf8.h"

namespace grammask::internal {
namespace {

bool IsNameByte(char c) { return IsLetter(c) || IsDigit(c) || c == '_' || c == '-' || c == '.'; }
bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

std::string Quoted(std::string_view text) { return "\"" + Printable(text) + "\""; }

class Lexer {
 public:
  Lexer(std::string_view source, const Limits& limits) : source_(source), limits_(limits) {}

  StatusOr<std::vector<EbnfToken>> Run() {
    size_t most = std::min<size_t>(limits_.max_source_bytes, UINT32_MAX - 1);
    if (source_.size() > most) {
      return ResourceExhausted("the grammar's text is " + std::to_string(source_.size()) +
                               " bytes long; max_source_bytes is " + std::to_string(most));
    }
    if (std::optional<size_t> bad = FindInvalidUtf8(source_); bad.has_value()) {
      return SourceError(source_, *bad,
                         "the grammar's text is not UTF-8; write raw bytes as Bytes(\"\\xFF\")");
    }
    while (pos_ < source_.size()) {
      char c = source_[pos_];
      if (IsSpace(c)) {
        ++pos_;
      } else if (c == '#') {
        pos_ = std::min(source_.find('\n', pos_), source_.size());
      } else {
        GM_RETURN_IF_ERROR(Token(c));
        if (tokens_.size() > limits_.max_ast_nodes) {
          return ResourceExhausted("the grammar's text has more than max_ast_nodes = " +
                                   std::to_string(limits_.max_ast_nodes) + " tokens");
        }
      }
    }
    Push(EbnfTokenKind::kEnd, 0);
    return std::move(tokens_);
  }

 private:
  Status Token(char c) {
    switch (c) {
      case '"':
        return Delimited('"', EbnfTokenKind::kString,
                         "this literal has no closing quote before "
                         "the end of the line; write a line break as \\n");
      case '[':
        return Delimited(']', EbnfTokenKind::kClass,
                         "this class has no closing ] before the end "
                         "of the line; write a line break as \\n, and ] itself as \\]");
      case '{':
        return Until('}', EbnfTokenKind::kBraces, "this { has no closing }");
      case '<':
        return Until('>', EbnfTokenKind::kTokenRef,
                     "this < has no closing >; a token is written "
                     "<[1000]> or <text>");
      case '!':
        if (source_.substr(pos_ + 1, 1) == "<") {
          return Until('>', EbnfTokenKind::kTokenRef, "this !< has no closing >");
        }
        return Error("unexpected !; it may only stand before a token, as in !<[1000]>");
      case ':':
        if (source_.substr(pos_, 3) == "::=") {
          Push(EbnfTokenKind::kDefine, 3);
          return {};
        }
        return Error("unexpected :; a rule is defined with ::=");
      case '|':
      case '(':
      case ')':
      case '*':
      case '+':
      case '?':
      case ',':
      case '=':
        Push(EbnfTokenKind::kPunct, 1);
        return {};
      default:
        return NameOrError(c);
    }
  }

  Status NameOrError(char c) {
    size_t size = 0;
    while (pos_ + size < source_.size() && IsNameByte(source_[pos_ + size])) ++size;
    if (size > 0) {
      Push(EbnfTokenKind::kName, size);
      return {};
    }
    if (c == '\'') return Error("unexpected '; a literal is written in double quotes");
    if (c == '/') return Error("unexpected /; a regular expression is written Regex(\"...\")");
    if (c == ';') return Error("unexpected ;; a rule ends where the next one begins");
    std::optional<DecodedChar> found = DecodeUtf8(source_, pos_);
    size_t length = found.has_value() ? static_cast<size_t>(found->length) : 1;
    return Error("unexpected " + Quoted(source_.substr(pos_, length)) +
                 "; text to match is written in double quotes, and names of rules are made of "
                 "A-Z a-z 0-9 _ - .");
  }

  // A token that ends at the next `close` that no backslash precedes, on the same line.
  Status Delimited(char close, EbnfTokenKind kind, std::string_view unclosed) {
    for (size_t end = pos_ + 1; end < source_.size() && source_[end] != '\n'; ++end) {
      if (source_[end] == close) {
        Push(kind, end + 1 - pos_);
        return {};
      }
      if (source_[end] == '\\') ++end;
      if (end < source_.size() && source_[end] == '\n') break;
    }
    return Error(unclosed);
  }

  Status Until(char close, EbnfTokenKind kind, std::string_view unclosed) {
    size_t line_end = std::min(source_.find('\n', pos_), source_.size());
    size_t end = source_.substr(0, line_end).find(close, pos_);
    if (end == std::string_view::npos) return Error(unclosed);
    Push(kind, end + 1 - pos_);
    return {};
  }

  void Push(EbnfTokenKind kind, size_t size) {
    tokens_.push_back({static_cast<uint32_t>(pos_), static_cast<uint32_t>(size), kind});
    pos_ += size;
  }

  [[gnu::cold]] Status Error(std::string_view what) const {
    return SourceError(source_, pos_, what);
  }

  std::string_view source_;
  const Limits& limits_;
  size_t pos_ = 0;
  std::vector<EbnfToken> tokens_;
};

// One character of a literal or class, after escapes.
struct Unit {
  uint32_t value;
  bool is_byte;  // \xHH under HexEscape::kByte
};

// Reads the characters between `pos` and `end` one by one.
class UnitReader {
 public:
  UnitReader(std::string_view source, size_t pos, size_t end, HexEscape hex)
      : source_(source), pos_(pos), end_(end), hex_(hex) {}

  bool done() const { return pos_ >= end_; }
  size_t pos() const { return pos_; }
  char peek(size_t ahead = 0) const { return pos_ + ahead < end_ ? source_[pos_ + ahead] : '\0'; }
  void Skip(size_t n) { pos_ += n; }

  StatusOr<Unit> Next() {
    if (source_[pos_] == '\\') return Escape();
    std::optional<DecodedChar> c = DecodeUtf8(source_, pos_);
    pos_ += static_cast<size_t>(c->length);  // the lexer saw to it that the text is UTF-8
    return Unit{c->code_point, false};
  }

  [[gnu::cold]] Status Error(size_t at, std::string_view what) const {
    return SourceError(source_, at, what);
  }

 private:
  StatusOr<Unit> Escape() {
    constexpr std::string_view kNames = "nrtbfav0e";
    constexpr std::string_view kMeanings("\n\r\t\b\f\a\v\0\x1B", 9);
    size_t start = pos_;
    char c = peek(1);
    pos_ += 2;
    if (size_t i = kNames.find(c); i != std::string_view::npos) {
      return Unit{static_cast<uint8_t>(kMeanings[i]), false};
    }
    if (c == 'x') return Hex(start);
    if (c == 'u') return CodePoint(start, 4);
    if (c == 'U') return CodePoint(start, 8);
    if (c > ' ' && c < 0x7F && !IsLetter(c) && !IsDigit(c)) {
      return Unit{static_cast<uint8_t>(c), false};
    }
    std::string_view instead = c == 'd'   ? "[0-9]"
                               : c == 'w' ? "[A-Za-z0-9_]"
                               : c == 's' ? "[ \\t\\n\\r\\f\\v]"
                                          : "";
    std::string_view shown = source_.substr(start, std::min<size_t>(2, end_ - start));
    std::string what = "unknown escape " + Printable(shown) + "; write ";
    if (instead.empty()) {
      what += "\\\\ for a backslash";
    } else {
      what.append(instead).append(", or use Regex(\"...\")");
    }
    return Error(start, what);
  }

  // Reads up to `most` hexadecimal digits.
  int Digits(int most, uint32_t* value) {
    int n = 0;
    *value = 0;
    for (; n < most && HexDigit(peek()) >= 0; ++n, ++pos_) {
      *value = *value << 4 | static_cast<uint32_t>(HexDigit(peek()));
    }
    return n;
  }

  StatusOr<Unit> Hex(size_t start) {
    uint32_t value;
    if (Digits(2, &value) == 0) return Error(start, "\\x needs one or two hexadecimal digits");
    return Unit{value, hex_ == HexEscape::kByte};
  }

  StatusOr<Unit> CodePoint(size_t start, int digits) {
    uint32_t value;
    if (Digits(digits, &value) != digits) {
      return Error(start, digits == 4 ? "\\u needs four hexadecimal digits"
                                      : "\\U needs eight hexadecimal digits");
    }
    if (value >= 0xD800 && value <= 0xDBFF && peek() == '\\' && peek(1) == 'u') {
      size_t second = pos_;
      uint32_t low;
      pos_ += 2;
      if (Digits(4, &low) == 4 && low >= 0xDC00 && low <= 0xDFFF) {
        return Unit{0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00), false};
      }
      pos_ = second;
    }
    if (value >= 0xD800 && value <= 0xDFFF) {
      return Error(start, "half a surrogate pair is no character; write \\UXXXXXXXX");
    }
    if (value > kMaxCodePoint) return Error(start, "there is no character over \\U0010FFFF");
    return Unit{value, false};
  }

  std::string_view source_;
  size_t pos_, end_;
  HexEscape hex_;
};

struct ClassItems {
  bool negated = false;
  CodePointRanges ranges;
};

StatusOr<ClassItems> ReadClass(std::string_view source, EbnfToken token, HexEscape hex) {
  UnitReader reader(source, token.offset + 1, token.offset + token.size - 1, hex);
  ClassItems items;
  if (reader.peek() == '^') {
    items.negated = true;
    reader.Skip(1);
  }
  auto next = [&]() -> StatusOr<uint32_t> {
    size_t at = reader.pos();
    GM_ASSIGN_OR_RETURN(Unit unit, reader.Next());
    if (hex == HexEscape::kByte && !unit.is_byte && unit.value > 0x7F) {
      return reader.Error(at, "a class of bytes holds ASCII characters and \\xHH only");
    }
    return unit.value;
  };
  while (!reader.done()) {
    size_t at = reader.pos();
    GM_ASSIGN_OR_RETURN(uint32_t lo, next());
    uint32_t hi = lo;
    // A dash at the very end stands for itself.
    if (reader.peek() == '-' && reader.pos() + 1 < token.offset + token.size - 1) {
      reader.Skip(1);
      GM_ASSIGN_OR_RETURN(hi, next());
    }
    if (lo > hi) {
      return reader.Error(at,
                          "this range ends before it begins; write the lower one first, and a "
                          "dash that stands for itself as \\-");
    }
    items.ranges.push_back({lo, hi});
  }
  return items;
}

}  // namespace

StatusOr<std::vector<EbnfToken>> LexEbnf(std::string_view source, const Limits& limits) {
  return Lexer(source, limits).Run();
}

StatusOr<std::string> ReadEbnfString(std::string_view source, EbnfToken token, HexEscape hex) {
  UnitReader reader(source, token.offset + 1, token.offset + token.size - 1, hex);
  std::string text;
  text.reserve(token.size);
  while (!reader.done()) {
    GM_ASSIGN_OR_RETURN(Unit unit, reader.Next());
    if (unit.is_byte) {
      text.push_back(static_cast<char>(unit.value));
    } else {
      AppendUtf8(unit.value, &text);
    }
  }
  return text;
}

StatusOr<CodePointSet> ReadEbnfClass(std::string_view source, EbnfToken token) {
  GM_ASSIGN_OR_RETURN(ClassItems items, ReadClass(source, token, HexEscape::kCharacter));
  CodePointSet set(std::move(items.ranges));
  return items.negated ? set.Complement() : set;
}

StatusOr<ByteSet> ReadEbnfByteClass(std::string_view source, EbnfToken token) {
  GM_ASSIGN_OR_RETURN(ClassItems items, ReadClass(source, token, HexEscape::kByte));
  ByteSet set;
  for (CodePointRange range : items.ranges) {
    set.AddRange(static_cast<uint8_t>(range.lo), static_cast<uint8_t>(range.hi));
  }
  return items.negated ? ~set : set;
}

}  // namespace grammask::internal
