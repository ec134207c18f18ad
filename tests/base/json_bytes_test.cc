#include "base/json_bytes.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace grammask::internal {
namespace {

bool IsSpecial(uint8_t byte) { return byte < 0x20 || byte == '"' || byte == '\\'; }

// Each byte at each place of texts of each length, among bytes just beside the special ones.
TEST(JsonBytes, EachByteAtEachPlace) {
  const std::string plain = " !#[]\x7F\x80\xFF";
  for (size_t size = 0; size <= 50; ++size) {
    std::string text;
    while (text.size() < size) text += plain[text.size() % plain.size()];
    ASSERT_FALSE(HasSpecialByte(text)) << size;
    for (size_t place = 0; place < size; ++place) {
      std::string other = text;
      for (int byte = 0; byte < 256; ++byte) {
        other[place] = static_cast<char>(byte);
        ASSERT_EQ(HasSpecialByte(other), IsSpecial(static_cast<uint8_t>(byte)))
            << byte << " at " << place << " of " << size;
      }
    }
  }
}

// Not a byte beyond the text counts.
TEST(JsonBytes, NothingBeyondTheText) {
  const std::string text = "\"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\"";
  for (size_t size = 0; size + 2 <= text.size(); ++size) {
    EXPECT_FALSE(HasSpecialByte(std::string_view(text).substr(1, size))) << size;
  }
}

TEST(JsonBytes, TheLowestBitIsThatOfTheFirst) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const uint64_t bytes = 0x2020202020202020 ^ uint64_t { 0x20 } << 16 ^
                             uint64_t { 0x20 } << 40 ^ static_cast<uint64_t>(first) << 16 ^
                             static_cast<uint64_t>(second) << 40;
      const bool a = IsSpecial(static_cast<uint8_t>(first));
      const bool b = IsSpecial(static_cast<uint8_t>(second));
      const uint64_t found = SpecialBytes(bytes);
      ASSERT_EQ(found != 0, a || b);
      if (a || b) {
        ASSERT_EQ(std::countr_zero(found), a ? 23 : 47) << first << " " << second;
      }
    }
  }
}

}  // namespace
}  // namespace grammask::internal
