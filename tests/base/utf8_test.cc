#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sampled.h"

namespace grammask::internal {
namespace {

// RFC 3629 written as its grammar: the scalar value of exactly `bytes`, or nullopt. Independent of
// the code under test.
std::optional<uint32_t> ReadByRfc(std::string_view s) {
  auto at = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(s[i])); };
  auto tail = [&](size_t i) { return at(i) >= 0x80 && at(i) <= 0xBF; };
  if (s.size() == 1 && at(0) < 0x80) return at(0);
  if (s.size() == 2 && at(0) >= 0xC0 && at(0) <= 0xDF && tail(1)) {
    uint32_t v = (at(0) - 0xC0) * 64 + (at(1) - 0x80);
    if (v >= 0x80) return v;
  }
  if (s.size() == 3 && at(0) >= 0xE0 && at(0) <= 0xEF && tail(1) && tail(2)) {
    uint32_t v = ((at(0) - 0xE0) * 64 + (at(1) - 0x80)) * 64 + (at(2) - 0x80);
    if (v >= 0x800 && (v < 0xD800 || v > 0xDFFF)) return v;
  }
  if (s.size() == 4 && at(0) >= 0xF0 && at(0) <= 0xF7 && tail(1) && tail(2) && tail(3)) {
    uint32_t v =
        (((at(0) - 0xF0) * 64 + (at(1) - 0x80)) * 64 + (at(2) - 0x80)) * 64 + (at(3) - 0x80);
    if (v >= 0x10000 && v <= 0x10FFFF) return v;
  }
  return std::nullopt;
}

// Byte strings that have every interesting byte in every place.
std::vector<std::string> InterestingStrings() {
  const uint8_t kBytes[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
                            0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
                            0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFF};
  std::vector<std::string> all = {""};
  for (size_t from = 0, length = 1; length <= 4; ++length) {
    size_t to = all.size();
    for (; from < to; ++from) {
      // Four bytes are many: vary all of them only behind a lead byte that can have four.
      if (length == 4 && static_cast<uint8_t>(all[from][0]) < 0xF0) continue;
      for (uint8_t b : kBytes) all.push_back(all[from] + static_cast<char>(b));
    }
  }
  return all;
}

TEST(Utf8, EveryScalarValueThereAndBack) {
  for (uint32_t c = 0; c <= kMaxCodePoint; c += OneIn(7)) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text = EncodeUtf8(c);
    ASSERT_EQ(ReadByRfc(text), c);
    std::optional<DecodedChar> back = DecodeUtf8(text, 0);
    ASSERT_TRUE(back.has_value()) << c;
    ASSERT_EQ(back->code_point, c);
    ASSERT_EQ(static_cast<size_t>(back->length), text.size());
    ASSERT_FALSE(FindInvalidUtf8(text).has_value());
  }
}

TEST(Utf8, DecodesAsTheRfcSays) {
  for (const std::string& s : InterestingStrings()) {
    if (s.empty()) continue;
    std::optional<DecodedChar> got = DecodeUtf8(s, 0);
    std::optional<uint32_t> want;
    size_t length = 0;
    for (size_t n = 1; n <= s.size() && !want.has_value(); ++n) {
      want = ReadByRfc(std::string_view(s).substr(0, n));
      length = n;
    }
    ASSERT_EQ(got.has_value(), want.has_value()) << Printable(s);
    if (!want.has_value()) continue;
    ASSERT_EQ(got->code_point, *want) << Printable(s);
    ASSERT_EQ(static_cast<size_t>(got->length), length) << Printable(s);
  }
}

TEST(Utf8, FindsTheFirstInvalidByte) {
  for (const std::string& s : InterestingStrings()) {
    std::optional<size_t> want;
    for (size_t pos = 0; pos < s.size() && !want.has_value();) {
      std::optional<DecodedChar> c = DecodeUtf8(s, pos);
      if (!c.has_value()) want = pos;
      pos += c.has_value() ? static_cast<size_t>(c->length) : 0;
    }
    ASSERT_EQ(FindInvalidUtf8(s), want) << Printable(s);
  }
  EXPECT_EQ(FindInvalidUtf8(std::string(1000, 'a') + "\xC3"), 1000u);
}

TEST(Utf8, CompletePrefixCutsOnlyAnUnfinishedCharacter) {
  // By definition: cut the longest suffix of 1..3 bytes that some bytes would complete.
  auto completable = [](const std::string& s) {
    if (s.empty() || s.size() > 3 || ReadByRfc(s).has_value()) return false;
    const uint8_t kTails[] = {0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF};
    std::vector<std::string> level = {s};
    for (size_t n = s.size(); n < 4; ++n) {
      std::vector<std::string> next;
      for (const std::string& t : level) {
        for (uint8_t b : kTails) {
          next.push_back(t + static_cast<char>(b));
          if (ReadByRfc(next.back()).has_value()) return true;
        }
      }
      level = std::move(next);
    }
    return false;
  };
  const std::vector<std::string> strings = InterestingStrings();
  for (size_t i = 0; i < strings.size(); i += OneIn(7)) {
    const std::string& s = strings[i];
    size_t want = s.size();
    for (size_t back = 1; back <= 3 && back <= s.size(); ++back) {
      if (completable(s.substr(s.size() - back))) want = s.size() - back;
    }
    ASSERT_EQ(CompleteUtf8Prefix(s), want) << Printable(s);
  }
}

TEST(Utf8, PrintableShowsEveryByte) {
  EXPECT_EQ(Printable("a\n\t\x01\x7F"), "a\\n\\t\\x01\\x7F");
  EXPECT_EQ(Printable("\xC3\xA9\xC3"), "\xC3\xA9\\xC3");
  EXPECT_EQ(Printable("\xED\xA0\x80"), "\\xED\\xA0\\x80");
  EXPECT_EQ(Printable(std::string_view("\0", 1)), "\\x00");
}

}  // namespace
}  // namespace grammask::internal
