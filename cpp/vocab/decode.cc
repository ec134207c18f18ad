// Token texts -> bytes, in place.
//
// GPT-2's table writes the 188 printable bytes of Latin-1 (! to ~, U+00A1 to U+00AC, U+00AE to
// U+00FF) as the character of the same number, and the other 68, in ascending order, as U+0100,
// U+0101, ... So every byte is one character of one or two UTF-8 bytes, and decoding never grows
// the text: "Ġhi" -> " hi", since the space is the 33rd of the 68 and U+0120 is "Ġ".
//
// Cost: one pass; tokens of plain ASCII, which most are, are only looked at.
// Source: Radford et al., "Language Models are Unsupervised Multitask Learners" (2019), byte-level
// BPE; Kudo and Richardson, "SentencePiece" (2018), byte fallback.
// Tests: tests/vocab/decode_test.cc; tests/python/test_tokenizers.py with real tokenizers.
#include "vocab/decode.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ascii.h"

namespace grammask::internal {
namespace {

constexpr uint32_t kTableSize = 256 + 68;
constexpr int16_t kNoByte = -1;

// GPT-2's table, from code point to byte.
constexpr std::array<int16_t, kTableSize> MakeByteLevelTable() {
  std::array<int16_t, kTableSize> table{};
  for (int16_t& entry : table) entry = kNoByte;
  uint32_t next = 256;
  for (int b = 0; b < 256; ++b) {
    bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    table[printable ? static_cast<uint32_t>(b) : next++] = static_cast<int16_t>(b);
  }
  return table;
}
constexpr std::array<int16_t, kTableSize> kByteLevelTable = MakeByteLevelTable();
static_assert(kByteLevelTable[0x120] == ' ' && kByteLevelTable[kTableSize - 1] == 0xAD);

bool IsPrintableAscii(std::string_view text) {
  for (char c : text) {
    if (c < '!' || c > '~') return false;
  }
  return true;
}

// The byte that the character at `text[pos]` writes, or kNoByte. Adds its length to `pos`.
int16_t ReadByteLevelChar(std::string_view text, size_t* pos) {
  uint8_t lead = static_cast<uint8_t>(text[*pos]);
  if (lead < 0x80) {
    ++*pos;
    return kByteLevelTable[lead];
  }
  // Every other character of the table lies in U+0080..U+0143: two bytes, C2 to C5 the first.
  if (lead < 0xC2 || lead > 0xC5 || *pos + 1 >= text.size()) return kNoByte;
  uint8_t trail = static_cast<uint8_t>(text[*pos + 1]);
  uint32_t code_point = (uint32_t{lead} & 0x1F) << 6 | (trail & 0x3F);
  if ((trail & 0xC0) != 0x80 || code_point >= kTableSize) return kNoByte;
  *pos += 2;
  return kByteLevelTable[code_point];
}

void DecodeByteLevel(std::string* token) {
  if (IsPrintableAscii(*token)) return;
  for (size_t pos = 0; pos < token->size();) {
    if (ReadByteLevelChar(*token, &pos) == kNoByte) return;
  }
  size_t out = 0;
  for (size_t pos = 0; pos < token->size();) {
    char byte = static_cast<char>(ReadByteLevelChar(*token, &pos));
    (*token)[out++] = byte;  // out < pos: the character read is at least as long as its byte
  }
  token->resize(out);
}

void DecodeByteFallback(std::string* token) {
  if (DecodeHexByte(token)) return;
  constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581
  size_t mark = token->find(kSpaceMark);
  if (mark == std::string::npos) return;
  size_t out = mark;
  for (size_t pos = mark; pos < token->size();) {
    if (token->compare(pos, kSpaceMark.size(), kSpaceMark) == 0) {
      (*token)[out++] = ' ';
      pos += kSpaceMark.size();
    } else {
      (*token)[out++] = (*token)[pos++];
    }
  }
  token->resize(out);
}

}  // namespace

bool DecodeHexByte(std::string* token) {
  if (token->size() != 6 || !token->starts_with("<0x") || token->back() != '>') return false;
  int high = HexDigit((*token)[3]), low = HexDigit((*token)[4]);
  if (high < 0 || low < 0) return false;
  token->assign(1, static_cast<char>(high << 4 | low));
  return true;
}

void DecodeToken(VocabType type, std::string* token) {
  switch (type) {
    case VocabType::kRaw:
      return;
    case VocabType::kByteFallback:
      return DecodeByteFallback(token);
    case VocabType::kByteLevel:
      return DecodeByteLevel(token);
  }
}

}  // namespace grammask::internal
