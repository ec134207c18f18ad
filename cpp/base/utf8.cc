// UTF-8 text to scalar values and back.
//
// A lead byte tells the length and the range that the second byte must lie in; that one range check
// refuses overlong forms, surrogates and values over U+10FFFF. For example E0 asks for a second
// byte in A0..BF, so E0 80 80, a long spelling of U+0000, is refused at its second byte.
// Cost: one pass over the bytes. Source: RFC 3629 and table 3-7 of the Unicode Standard.
// Tests: tests/base/utf8_test.cc.
#include "base/utf8.h"

#include <algorithm>
#include <cstring>

namespace grammask::internal {
namespace {

// What a lead byte asks for: the length of the character (0: not a lead byte) and the bounds of the
// second byte.
struct Lead {
  uint8_t length, second_lo, second_hi;
};

constexpr Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

uint8_t ByteAt(std::string_view text, size_t i) { return static_cast<uint8_t>(text[i]); }

// How many of the bytes at `pos` begin like one character: lead.length when it is whole and valid.
int ValidBytes(std::string_view text, size_t pos, Lead lead) {
  if (lead.length == 0) return 0;
  int n = 1;
  while (n < lead.length && pos + static_cast<size_t>(n) < text.size()) {
    uint8_t b = ByteAt(text, pos + static_cast<size_t>(n));
    uint8_t lo = n == 1 ? lead.second_lo : 0x80;
    uint8_t hi = n == 1 ? lead.second_hi : 0xBF;
    if (b < lo || b > hi) break;
    ++n;
  }
  return n;
}

void AppendHexEscape(uint8_t byte, std::string* out) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  *out += "\\x";
  *out += kDigits[byte >> 4];
  *out += kDigits[byte & 15];
}

}  // namespace

std::optional<DecodedChar> DecodeUtf8(std::string_view text, size_t pos) {
  uint8_t first = ByteAt(text, pos);
  if (first < 0x80) return DecodedChar{first, 1};
  Lead lead = LeadOf(first);
  if (lead.length == 0 || ValidBytes(text, pos, lead) != lead.length) return std::nullopt;
  uint32_t value = first & (0xFFu >> (lead.length + 1));
  for (int i = 1; i < lead.length; ++i) {
    value = value << 6 | (ByteAt(text, pos + static_cast<size_t>(i)) & 0x3F);
  }
  return DecodedChar{value, lead.length};
}

void AppendUtf8(uint32_t code_point, std::string* out) {
  auto tail = [&](int shift) {
    out->push_back(static_cast<char>(0x80 | (code_point >> shift & 0x3F)));
  };
  if (code_point < 0x80) {
    out->push_back(static_cast<char>(code_point));
  } else if (code_point < 0x800) {
    out->push_back(static_cast<char>(0xC0 | code_point >> 6));
    tail(0);
  } else if (code_point < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | code_point >> 12));
    tail(6);
    tail(0);
  } else {
    out->push_back(static_cast<char>(0xF0 | code_point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string EncodeUtf8(uint32_t code_point) {
  std::string out;
  AppendUtf8(code_point, &out);
  return out;
}

std::optional<size_t> FindInvalidUtf8(std::string_view text) {
  size_t pos = 0;
  while (pos < text.size()) {
    if (ByteAt(text, pos) < 0x80) {
      // Mostly all of it, so four words for one question.
      uint64_t words[4];
      while (pos + sizeof words <= text.size()) {
        std::memcpy(words, text.data() + pos, sizeof words);
        if (((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080u) != 0) break;
        pos += sizeof words;
      }
      while (pos < text.size() && ByteAt(text, pos) < 0x80) ++pos;
      continue;
    }
    Lead lead = LeadOf(ByteAt(text, pos));
    if (lead.length == 0 || ValidBytes(text, pos, lead) != lead.length) return pos;
    pos += lead.length;
  }
  return std::nullopt;
}

size_t CompleteUtf8Prefix(std::string_view text) {
  // Only the last three bytes can begin a character that the end of the text cuts.
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    size_t pos = text.size() - back;
    Lead lead = LeadOf(ByteAt(text, pos));
    if (lead.length > back && ValidBytes(text, pos, lead) == static_cast<int>(back)) return pos;
  }
  return text.size();
}

int64_t CountCodePoints(std::string_view text) {
  return std::ranges::count_if(text,
                               [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
}

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t pos = 0;
  while (pos < text.size()) {
    uint8_t byte = ByteAt(text, pos);
    std::optional<DecodedChar> c = DecodeUtf8(text, pos);
    bool control = c.has_value() && (c->code_point < 0x20 || c->code_point == 0x7F);
    if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (!c.has_value() || control) {
      AppendHexEscape(byte, &out);
    } else {
      out.append(text, pos, static_cast<size_t>(c->length));
      pos += static_cast<size_t>(c->length) - 1;
    }
    ++pos;
  }
  return out;
}

}  // namespace grammask::internal
