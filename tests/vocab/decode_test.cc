// Token texts to bytes: each of the three ways, on every byte and on texts outside the alphabet.
#include "vocab/decode.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/utf8.h"

namespace grammask::internal {
namespace {

std::string Decode(VocabType type, std::string text) {
  DecodeToken(type, &text);
  return text;
}

// The byte-level alphabet by its definition: printable Latin-1 stands for itself, and the others
// follow from U+0100 on.
std::vector<std::string> ByteLevelAlphabet() {
  std::vector<std::string> alphabet(256);
  uint32_t next = 256;
  for (uint32_t b = 0; b < 256; ++b) {
    bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE);
    alphabet[b] = EncodeUtf8(printable ? b : next++);
  }
  return alphabet;
}

TEST(Decode, RawKeepsEverything) {
  for (std::string text : {"", "<0x0A>", "\xE2\x96\x81", "\xC4\xA0", "a\xFF\x80z"}) {
    EXPECT_EQ(Decode(VocabType::kRaw, text), text);
  }
  EXPECT_EQ(Decode(VocabType::kRaw, std::string("\0x", 2)), std::string("\0x", 2));
}

TEST(Decode, ByteLevelEveryByteAloneAndBesideEveryOther) {
  const std::vector<std::string> alphabet = ByteLevelAlphabet();
  for (int a = 0; a < 256; ++a) {
    EXPECT_EQ(Decode(VocabType::kByteLevel, alphabet[a]), std::string(1, static_cast<char>(a)));
    for (int b = 0; b < 256; ++b) {
      std::string bytes = {static_cast<char>(a), static_cast<char>(b), static_cast<char>(a)};
      EXPECT_EQ(Decode(VocabType::kByteLevel, alphabet[a] + alphabet[b] + alphabet[a]), bytes);
    }
  }
}

TEST(Decode, ByteLevelKnownTokens) {
  EXPECT_EQ(Decode(VocabType::kByteLevel, "\xC4\xA0hello"), " hello");                   // Ġhello
  EXPECT_EQ(Decode(VocabType::kByteLevel, "\xC4\x8A\xC4\x8A"), "\n\n");                  // ĊĊ
  EXPECT_EQ(Decode(VocabType::kByteLevel, "\xC3\xA4\xC2\xBD\xC5\x82"), "\xE4\xBD\xA0");  // 你
  EXPECT_EQ(Decode(VocabType::kByteLevel, ""), "");
}

TEST(Decode, ByteLevelKeepsTokensOutsideTheAlphabetWhole) {
  for (std::string text : {"a b",        // a plain space is not in the alphabet
                           "\xC4\xA0 ",  // nor does a part decode
                           "\xC2\xAD",   // U+00AD is the one Latin-1 letter written otherwise
                           "\xC5\x84",   // U+0144 is one past the last
                           "<\xEF\xBD\x9Cx\xEF\xBD\x9C>", "\xC4", "\xC4\xC4", "\x80", "\xFF",
                           "\xC1\xA1",  // an overlong spelling of 'a'
                           "\x7F", "\t", "\n"}) {
    EXPECT_EQ(Decode(VocabType::kByteLevel, text), text);
  }
}

TEST(Decode, ByteFallbackHexBytes) {
  const char* digits = "0123456789ABCDEF";
  for (int b = 0; b < 256; ++b) {
    std::string text = {'<', '0', 'x', digits[b >> 4], digits[b & 15], '>'};
    EXPECT_EQ(Decode(VocabType::kByteFallback, text), std::string(1, static_cast<char>(b)));
  }
  EXPECT_EQ(Decode(VocabType::kByteFallback, "<0xaf>"), "\xAF");
  for (std::string text : {"<0x0>", "<0x0G>", "<0xG0>", "<0x0AA>", "<0X0A>", "0x0A", "<0x0A",
                           " <0x0A>", "<0x0A> ", "<0x+A>", "<0x A>"}) {
    EXPECT_EQ(Decode(VocabType::kByteFallback, text), text);
  }
}

TEST(Decode, ByteFallbackSpaces) {
  const std::string mark = "\xE2\x96\x81";
  EXPECT_EQ(Decode(VocabType::kByteFallback, mark), " ");
  EXPECT_EQ(Decode(VocabType::kByteFallback, mark + mark + "a" + mark), "  a ");
  EXPECT_EQ(Decode(VocabType::kByteFallback, "a" + mark + "b"), "a b");
  EXPECT_EQ(Decode(VocabType::kByteFallback, mark + "<0x0A>"), " <0x0A>");
  // Neighbours of U+2581, and a cut one, are left alone.
  for (std::string text : {"\xE2\x96\x80", "\xE2\x96\x82", "\xE2\x96", "a\xE2"}) {
    EXPECT_EQ(Decode(VocabType::kByteFallback, text), text);
  }
}

}  // namespace
}  // namespace grammask::internal
