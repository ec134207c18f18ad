// Escapes and bracketed classes of a regular expression, to sets of characters.
//
// Each escape is a character or a set; a class is the union of its members, closed under case
// folding, and only then complemented: in `(?i)[^k]` the set {k} grows to {K, k, U+212A} before it
// is turned round. Cost: linear in the text of the class and the ranges of the properties it names.
// Source: ECMA-262, 22.2.1 and annex B.1.2; POSIX names as in IEEE 1003.1, ASCII only.
// Tests: tests/grammar/regex_test.cc.
#include "grammar/regex_chars.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/utf8.h"
#include "grammar/unicode_tables.h"

namespace grammask::internal {
namespace {

CodePointSet Digits() { return {{'0', '9'}}; }

CodePointSet Spaces() {
  return {{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
          {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
}

struct PosixClass {
  std::string_view name;
  std::initializer_list<CodePointRange> ranges;
};

std::optional<CodePointSet> FindPosixClass(std::string_view name) {
  static const PosixClass kClasses[] = {
      {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
      {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
      {"ascii", {{0, 0x7F}}},
      {"blank", {{'\t', '\t'}, {' ', ' '}}},
      {"cntrl", {{0, 0x1F}, {0x7F, 0x7F}}},
      {"digit", {{'0', '9'}}},
      {"graph", {{'!', '~'}}},
      {"lower", {{'a', 'z'}}},
      {"print", {{' ', '~'}}},
      {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
      {"space", {{'\t', '\r'}, {' ', ' '}}},
      {"upper", {{'A', 'Z'}}},
      {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
      {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
  };
  for (const PosixClass& c : kClasses) {
    if (c.name == name) return CodePointSet(c.ranges);
  }
  return std::nullopt;
}

void Append(const CodePointSet& set, CodePointRanges* out) {
  out->insert(out->end(), set.ranges().begin(), set.ranges().end());
}

}  // namespace

CodePointSet RegexWordChars(bool ignore_case) {
  CodePointSet word{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return ignore_case ? CloseUnderCaseFolding(word) : word;
}

CodePointSet RegexLineEnds() { return {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}; }

bool RegexCharReader::Consume(std::string_view text) {
  if (!LookingAt(text)) return false;
  pos += text.size();
  return true;
}

uint32_t RegexCharReader::TakeCharacter() {
  if (static_cast<uint8_t>(pattern_[pos]) < 0x80) return static_cast<uint8_t>(pattern_[pos++]);
  std::optional<DecodedChar> c = DecodeUtf8(pattern_, pos);
  pos += c->length;
  return c->code_point;
}

// ---- Escapes ----

StatusOr<uint32_t> RegexCharReader::ReadHex(size_t start, int digits, std::string_view what) {
  uint32_t value = 0;
  for (int i = 0; i < digits; ++i) {
    int digit = HexDigit(Peek());
    if (digit < 0) return Error(start, what);
    value = value * 16 + static_cast<uint32_t>(digit);
    ++pos;
  }
  return value;
}

// After `\u`: four digits, two escapes of a surrogate pair, or digits in braces.
StatusOr<uint32_t> RegexCharReader::ReadUnicodeEscape(size_t start) {
  constexpr std::string_view kWant =
      "\\u wants four hexadecimal digits, or \\u{...} a code point up to 10FFFF";
  if (!Consume("{")) {
    GM_ASSIGN_OR_RETURN(uint32_t high, ReadHex(start, 4, kWant));
    if (high < 0xD800 || high > 0xDBFF || !LookingAt("\\u") || Peek(2) == '{') return high;
    size_t after_high = pos;
    pos += 2;
    StatusOr<uint32_t> low = ReadHex(after_high, 4, kWant);
    if (!low.ok()) return low.status();
    if (*low < 0xDC00 || *low > 0xDFFF) {
      pos = after_high;  // not a pair: the second escape is a character of its own
      return high;
    }
    return 0x10000 + ((high - 0xD800) << 10) + (*low - 0xDC00);
  }
  uint32_t value = 0;
  size_t digits = 0;
  for (; HexDigit(Peek()) >= 0; ++pos, ++digits) {
    value = value * 16 + static_cast<uint32_t>(HexDigit(Peek()));
    if (value > kMaxCodePoint) return Error(start, kWant);
  }
  if (digits == 0 || !Consume("}")) return Error(start, kWant);
  return value;
}

// Up to three octal digits, at most 0377.
std::optional<uint32_t> RegexCharReader::ReadOctal() {
  if (Peek() < '0' || Peek() > '7') return std::nullopt;
  uint32_t value = 0;
  for (int i = 0; i < 3 && Peek() >= '0' && Peek() <= '7'; ++i) {
    uint32_t next = value * 8 + static_cast<uint32_t>(Peek() - '0');
    if (next > 0377) break;
    value = next;
    ++pos;
  }
  return value;
}

StatusOr<RegexAtom> RegexCharReader::ReadEscape(bool in_class, bool ignore_case) {
  size_t start = pos - 1;
  if (AtEnd()) return Error(start, "the pattern ends in a backslash; write \\\\ for a backslash");
  if (std::optional<uint32_t> octal = ReadOctal(); octal.has_value()) return RegexAtom{octal, {}};
  char c = Peek();
  if (static_cast<uint8_t>(c) >= 0x80) return RegexAtom{TakeCharacter(), {}};
  ++pos;
  auto set = [](CodePointSet s, bool negated) {
    return RegexAtom{std::nullopt, negated ? s.Complement() : std::move(s)};
  };
  switch (c) {
    case 't':
      return RegexAtom{'\t', {}};
    case 'n':
      return RegexAtom{'\n', {}};
    case 'v':
      return RegexAtom{'\v', {}};
    case 'f':
      return RegexAtom{'\f', {}};
    case 'r':
      return RegexAtom{'\r', {}};
    case 'd':
      return set(Digits(), false);
    case 'D':
      return set(Digits(), true);
    case 'w':
      return set(RegexWordChars(ignore_case), false);
    case 'W':
      return set(RegexWordChars(ignore_case), true);
    case 's':
      return set(Spaces(), false);
    case 'S':
      return set(Spaces(), true);
    case 'p':
    case 'P': {
      GM_ASSIGN_OR_RETURN(CodePointSet property, ReadProperty(start, c == 'P'));
      return set(std::move(property), false);
    }
    case 'x': {
      GM_ASSIGN_OR_RETURN(uint32_t value, ReadHex(start, 2, "\\x wants two hexadecimal digits"));
      return RegexAtom{value, {}};
    }
    case 'u': {
      GM_ASSIGN_OR_RETURN(uint32_t value, ReadUnicodeEscape(start));
      return RegexAtom{value, {}};
    }
    case 'c': {
      char letter = Peek();
      if (!IsLetter(letter) && !(in_class && (IsDigit(letter) || letter == '_'))) {
        return Error(start, "\\c wants a letter, such as \\cJ for a line feed");
      }
      ++pos;
      return RegexAtom{static_cast<uint32_t>(letter) % 32, {}};
    }
    case 'b':
      if (in_class) return RegexAtom{0x08, {}};
      break;
    default:
      if (!IsLetter(c)) return RegexAtom{static_cast<uint8_t>(c), {}};  // annex B: itself
      break;
  }
  return Error(start,
               std::string("\\") + c +
                   (in_class ? " has no meaning in a class" : " is not an escape of ECMA-262") +
                   "; for the letter itself write it plainly");
}

// ---- Properties ----

StatusOr<CodePointSet> RegexCharReader::ReadProperty(size_t start, bool negated) {
  size_t name_offset = pos;
  std::string_view expression;
  if (Consume("{")) {
    name_offset = pos;
    size_t end = pattern_.find('}', pos);
    if (end == std::string_view::npos) {
      return Error(start, "the property name has no closing brace; write it as in \\p{Lu}");
    }
    expression = pattern_.substr(pos, end - pos);
    pos = end + 1;
  } else if (IsLetter(Peek())) {
    expression = pattern_.substr(pos++, 1);
  } else {
    return Error(start, "\\p wants a property in braces, as in \\p{Lu} or \\p{Script=Greek}");
  }
  GM_ASSIGN_OR_RETURN(CodePointSet set, FindProperty(name_offset, expression));
  return negated ? set.Complement() : std::move(set);
}

StatusOr<CodePointSet> RegexCharReader::FindProperty(size_t name_offset,
                                                     std::string_view expression) {
  std::optional<CodePointSet> found;
  size_t equals = expression.find('=');
  if (equals == std::string_view::npos) {
    found = UnicodeCategory(expression);
    if (!found.has_value()) found = UnicodeBinaryProperty(expression);
    if (!found.has_value()) found = UnicodeScript(expression, /*extensions=*/false);
  } else {
    std::string_view name = expression.substr(0, equals), value = expression.substr(equals + 1);
    if (name == "gc" || name == "General_Category") {
      found = UnicodeCategory(value);
    } else if (name == "sc" || name == "Script") {
      found = UnicodeScript(value, /*extensions=*/false);
    } else if (name == "scx" || name == "Script_Extensions") {
      found = UnicodeScript(value, /*extensions=*/true);
    }
  }
  if (found.has_value()) return *std::move(found);
  return Error(name_offset, "\"" + Printable(expression.substr(0, 60)) +
                                "\" is no Unicode property of ECMA-262; it has general categories "
                                "(Lu, Letter), Script=, Script_Extensions= and binary properties");
}

// ---- Classes ----

// At `[`, which is a member of a class: `[:name:]`, or nullopt and no change.
StatusOr<std::optional<CodePointSet>> RegexCharReader::ReadPosixClass() {
  if (!LookingAt("[:")) return std::optional<CodePointSet>();
  size_t name = pos + 2;
  bool negated = name < pattern_.size() && pattern_[name] == '^';
  if (negated) ++name;
  size_t end = name;
  while (end < pattern_.size() && IsLetter(pattern_[end])) ++end;
  if (!pattern_.substr(end).starts_with(":]")) return std::optional<CodePointSet>();
  std::optional<CodePointSet> set = FindPosixClass(pattern_.substr(name, end - name));
  if (!set.has_value()) {
    return Error(pos,
                 "there is no POSIX class of this name; the names are alnum, alpha, ascii, "
                 "blank, cntrl, digit, graph, lower, print, punct, space, upper, word, "
                 "xdigit");
  }
  pos = end + 2;
  return std::optional(negated ? set->Complement() : *std::move(set));
}

StatusOr<RegexAtom> RegexCharReader::ReadClassAtom(bool ignore_case) {
  if (Consume("\\")) return ReadEscape(/*in_class=*/true, ignore_case);
  if (Peek() == '[') {
    GM_ASSIGN_OR_RETURN(std::optional<CodePointSet> posix, ReadPosixClass());
    if (posix.has_value()) return RegexAtom{std::nullopt, *std::move(posix)};
  }
  return RegexAtom{TakeCharacter(), {}};
}

StatusOr<CodePointSet> RegexCharReader::ReadClass(bool ignore_case) {
  size_t start = pos - 1;
  bool negated = Consume("^");
  CodePointRanges ranges;
  auto add = [&ranges](const RegexAtom& a) {
    if (a.code_point.has_value()) ranges.push_back({*a.code_point, *a.code_point});
    Append(a.set, &ranges);
  };
  while (!Consume("]")) {
    if (AtEnd()) {
      return Error(start, "this class has no closing bracket; write \\[ for a bracket itself");
    }
    size_t member = pos;
    GM_ASSIGN_OR_RETURN(RegexAtom low, ReadClassAtom(ignore_case));
    bool range = Peek() == '-' && pos + 1 < pattern_.size() && Peek(1) != ']';
    if (!range) {
      add(low);
      continue;
    }
    ++pos;
    GM_ASSIGN_OR_RETURN(RegexAtom high, ReadClassAtom(ignore_case));
    if (!low.code_point.has_value() || !high.code_point.has_value()) {
      add(low);  // annex B: beside a set, the hyphen is a character
      add(high);
      ranges.push_back({'-', '-'});
    } else if (*low.code_point > *high.code_point) {
      return Error(member,
                   "this range ends before it begins; swap its ends, or write \\- for a "
                   "hyphen");
    } else {
      ranges.push_back({*low.code_point, *high.code_point});
    }
  }
  CodePointSet set(std::move(ranges));
  if (ignore_case) set = CloseUnderCaseFolding(set);
  return negated ? set.Complement() : std::move(set);
}

}  // namespace grammask::internal
