// A text and a value to "may become it".
//
// The text is read token by token beside the value: scalars must be equal, an array must have one
// more element where the text has one, a key must be one that the value has, and a closing bracket
// must find nothing missing. `{"b" : [1.0` may become {"a": 2, "b": [1, 5]}, `{"b":[2` may not. An
// unfinished scalar may become the one it stands for unless its beginning differs: `110` may become
// 1.1 (110e-2), not 1, and `"\u00` may become "a", not "\u20AC". Linear in the text; an explicit
// stack.
//
// Tests: tests/automaton/captured_value_test.cc.
#include "automaton/captured_value.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/utf8.h"
#include "grammar/json_schema/decimal.h"

namespace grammask::internal {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsNumberChar(char c) {
  return IsDigit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

// A string token at the start of `text`: its length with both quotes, or npos while it is open.
size_t StringLength(std::string_view text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

// What a string token says, without its quotes; of an open one, as far as whole characters go:
// `read` bytes. Its bytes come from a grammar of JSON strings, so escapes are as they should be.
std::string Decoded(std::string_view token, bool open, size_t* read) {
  constexpr std::string_view kShort = "\"\\/bfnrt", kMeaning = "\"\\/\b\f\n\r\t";
  std::string out;
  const size_t end = open ? token.size() : token.size() - 1;
  for (size_t i = 1;;) {
    *read = i;
    if (i >= end) break;
    if (token[i] != '\\') {
      out += token[i++];
      continue;
    }
    if (i + 1 >= end) break;
    if (const size_t k = kShort.find(token[i + 1]); k != std::string_view::npos) {
      out += kMeaning[k];
      i += 2;
      continue;
    }
    auto unit = [&](size_t at) -> std::optional<uint32_t> {
      uint32_t value = 0;
      if (at + 6 > end) return std::nullopt;
      std::from_chars(token.data() + at + 2, token.data() + at + 6, value, 16);
      return value;
    };
    std::optional<uint32_t> c = unit(i);
    if (!c) break;
    i += 6;
    if (*c >= 0xD800 && *c < 0xDC00) {
      const std::optional<uint32_t> low = unit(i);
      if (!low) break;
      c = 0x10000 + ((*c - 0xD800) << 10) + (*low - 0xDC00);
      i += 6;
    }
    AppendUtf8(*c, &out);
  }
  return out;
}

std::string Decoded(std::string_view token) {
  size_t read = 0;
  return Decoded(token, false, &read);
}

// Whether an open string token may become `text`, down to the digits of an escape that is cut off.
bool MayBecomeText(std::string_view token, std::string_view text) {
  size_t read = 0;
  const std::string begun = Decoded(token, true, &read);
  if (!text.starts_with(begun)) return false;
  const std::string_view cut = token.substr(read);
  if (cut.empty()) return true;
  if (begun.size() == text.size()) return false;
  const auto next = DecodeUtf8(text, begun.size());
  if (!next) return true;
  auto digits = [](uint32_t unit) {
    constexpr char kHex[] = "0123456789abcdef";
    return std::string{
        '\\', 'u', kHex[unit >> 12], kHex[unit >> 8 & 15], kHex[unit >> 4 & 15], kHex[unit & 15]};
  };
  const uint32_t c = next->code_point;
  const std::string escape = c < 0x10000 ? digits(c)
                                         : digits(0xD800 + ((c - 0x10000) >> 10)) +
                                               digits(0xDC00 + ((c - 0x10000) & 0x3FF));
  auto same = [](char x, char y) {
    return x == y || (HexDigit(x) >= 0 && HexDigit(x) == HexDigit(y));
  };
  return cut.size() <= escape.size() && std::equal(cut.begin(), cut.end(), escape.begin(), same);
}

// The digits of a number without its exponent, from the first that is not 0 on.
std::string Significant(std::string_view number) {
  std::string out;
  for (char c : number.substr(0, number.find_first_of("eE"))) {
    if (IsDigit(c) && !(out.empty() && c == '0')) out += c;
  }
  return out;
}

// Whether an open number may become `target`. More digits and an exponent move the point of those
// that are there, and do not change them.
bool MayBecomeNumber(std::string_view number, std::string_view target) {
  const std::string has = Significant(number);
  std::string wanted = Significant(target);
  wanted.resize(std::max(wanted.size(), has.size()), '0');
  const bool is_zero = wanted.find_first_not_of('0') == std::string::npos;
  return ((number[0] == '-') == (target[0] == '-') || is_zero) && wanted.starts_with(has);
}

bool EqualNumbers(std::string_view a, std::string_view b) {
  StatusOr<Decimal> x = Decimal::Parse(a), y = Decimal::Parse(b);
  if (!x.ok() || !y.ok()) return a == b;
  return *x == *y;
}

// Reads one text beside one value.
class Follower {
 public:
  Follower(const JsonDocument& value, std::string_view text) : d_(value), rest_(text) {}

  bool Run() {
    if (!Value(d_.root())) return false;
    while (!stack_.empty() && Skip()) {
      Frame& f = stack_.back();
      const bool object = d_.IsObject(f.node);
      const size_t size = object ? d_.members(f.node).size() : d_.elements(f.node).size();
      const char c = rest_[0];
      if (c == (object ? '}' : ']')) {
        if (f.count != size) return false;
        rest_.remove_prefix(1);
        stack_.pop_back();
        continue;
      }
      if (f.count == size) return false;
      if (c == ',') {
        rest_.remove_prefix(1);
        if (!Skip()) return true;
      }
      if (object) {
        std::optional<JsonId> member;
        if (!Key(&f, &member)) return false;
        if (!member) return true;  // the text ends in the key, or before the value
        if (!Value(*member)) return false;
      } else {
        const JsonId element = d_.elements(f.node)[f.count++];
        if (!Value(element)) return false;
      }
    }
    return true;
  }

 private:
  struct Frame {
    JsonId node;
    size_t count = 0;        // members or elements read
    std::vector<bool> seen;  // members
  };

  // To the next character that is not blank; false at the end of the text.
  bool Skip() {
    while (!rest_.empty() && IsBlank(rest_[0])) rest_.remove_prefix(1);
    return !rest_.empty();
  }

  bool Value(JsonId node) {
    if (!Skip()) return true;
    const char c = rest_[0];
    switch (d_.kind(node)) {
      case JsonKind::kArray:
      case JsonKind::kObject:
        if (c != (d_.IsObject(node) ? '{' : '[')) return false;
        rest_.remove_prefix(1);
        stack_.push_back({node, 0, {}});
        if (d_.IsObject(node)) stack_.back().seen.resize(d_.members(node).size());
        return true;
      case JsonKind::kString: {
        if (c != '"') return false;
        const size_t length = StringLength(rest_);
        if (length == std::string_view::npos) {
          return MayBecomeText(std::exchange(rest_, {}), d_.text(node));
        }
        const std::string text = Decoded(rest_.substr(0, length));
        rest_.remove_prefix(length);
        return text == d_.text(node);
      }
      case JsonKind::kNumber: {
        if (c != '-' && (c < '0' || c > '9')) return false;
        size_t length = 0;
        while (length < rest_.size() && IsNumberChar(rest_[length])) ++length;
        const std::string_view number = rest_.substr(0, length);
        rest_.remove_prefix(length);
        if (rest_.empty()) return MayBecomeNumber(number, d_.text(node));
        return EqualNumbers(number, d_.text(node));
      }
      case JsonKind::kNull:
        return Literal("null");
      case JsonKind::kTrue:
        return Literal("true");
      case JsonKind::kFalse:
        return Literal("false");
    }
    return false;
  }

  bool Literal(std::string_view word) {
    const size_t n = std::min(word.size(), rest_.size());
    if (rest_.substr(0, n) != word.substr(0, n)) return false;
    rest_.remove_prefix(n);
    return true;
  }

  // A key and its colon; `member` is its value, or nothing where the text ends before that.
  bool Key(Frame* f, std::optional<JsonId>* member) {
    if (rest_[0] != '"') return false;
    const size_t length = StringLength(rest_);
    if (length == std::string_view::npos) {
      const std::string_view key = std::exchange(rest_, {});
      return std::ranges::any_of(d_.members(f->node),
                                 [&](const JsonMember& m) { return MayBecomeText(key, m.key); });
    }
    const std::string key = Decoded(rest_.substr(0, length));
    rest_.remove_prefix(length);
    const auto members = d_.members(f->node);
    for (size_t i = 0; i < members.size(); ++i) {
      if (members[i].key != key) continue;
      if (f->seen[i]) return false;  // a text that repeats a key is that of no value
      ++f->count;
      f->seen[i] = true;
      if (!Skip()) return true;
      if (rest_[0] != ':') return false;
      rest_.remove_prefix(1);
      if (Skip()) *member = members[i].value;
      return true;
    }
    return false;
  }

  const JsonDocument& d_;
  std::string_view rest_;
  std::vector<Frame> stack_;
};

}  // namespace

CapturedValue::CapturedValue(std::unique_ptr<const std::string> text, JsonDocument document)
    : text_(std::move(text)), document_(std::move(document)) {}

bool CapturedValue::MayComeFrom(std::string_view text) const {
  return Follower(document_, text).Run();
}

bool RepeatsKey(std::string_view text, const JsonDocument& document) {
  size_t colons = 0, members = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') i += StringLength(text.substr(i)) - 1;
    colons += text[i] == ':';
  }
  for (uint32_t n = 0; n < document.size(); ++n) {
    if (document.IsObject(JsonId(n))) members += document.members(JsonId(n)).size();
  }
  return colons != members;
}

std::string CanonicalJson(const JsonDocument& d) {
  std::string out;
  // What is still to write: a node, or text.
  struct Piece {
    JsonId node;
    std::string text;
  };
  std::vector<Piece> todo = {{d.root(), {}}};
  while (!todo.empty()) {
    Piece piece = std::move(todo.back());
    todo.pop_back();
    if (!piece.text.empty()) {
      out += piece.text;
      continue;
    }
    auto string = [](std::string_view s) {
      return std::to_string(s.size()) + "\"" + std::string(s);
    };
    switch (d.kind(piece.node)) {
      case JsonKind::kNull:
        out += "n";
        break;
      case JsonKind::kTrue:
        out += "t";
        break;
      case JsonKind::kFalse:
        out += "f";
        break;
      case JsonKind::kNumber: {
        StatusOr<Decimal> number = Decimal::Parse(d.text(piece.node));
        out += "#" + (number.ok() ? number->ToString() : std::string(d.text(piece.node))) + ";";
        break;
      }
      case JsonKind::kString:
        out += string(d.text(piece.node));
        break;
      case JsonKind::kArray: {
        todo.push_back({JsonId(), "]"});
        const auto elements = d.elements(piece.node);
        for (size_t i = elements.size(); i-- > 0;) todo.push_back({elements[i], {}});
        out += "[";
        break;
      }
      case JsonKind::kObject: {
        todo.push_back({JsonId(), "}"});
        std::vector<JsonMember> members(d.members(piece.node).begin(), d.members(piece.node).end());
        std::ranges::sort(members, std::greater<>(), &JsonMember::key);
        for (const JsonMember& m : members) {
          todo.push_back({m.value, {}});
          todo.push_back({JsonId(), string(m.key)});
        }
        out += "{";
        break;
      }
    }
  }
  return out;
}

}  // namespace grammask::internal
