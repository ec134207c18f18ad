#include "base/lz77.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace grammask::internal {
namespace {

std::vector<std::string> Texts() {
  std::vector<std::string> texts = {"", "a", "abcde", "abcdef", "abcdefabcdef", "abcdefabcdefx"};
  texts.emplace_back(100'000, 'x');
  std::mt19937 random(3);
  for (const int letters : {2, 4, 26, 256}) {
    for (const size_t size : {7u, 100u, 5'000u, 40'000u}) {
      std::string text;
      while (text.size() < size) {
        if (text.size() > 20 && random() % 4 == 0) {
          const size_t from = random() % text.size();
          text += std::string(text, from, random() % 60);
        } else {
          text += static_cast<char>(random() % static_cast<unsigned>(letters));
        }
      }
      texts.push_back(std::move(text));
    }
  }
  return texts;
}

TEST(Lz77, TextsComeBack) {
  for (const std::string& text : Texts()) {
    const std::string packed = Lz77Pack(text);
    EXPECT_EQ(Lz77Length(packed), text.size());
    EXPECT_LE(packed.size(), text.size() + text.size() / 64 + 8);
    const std::optional<std::string> back = Lz77Unpack(packed, text.size());
    ASSERT_TRUE(back.has_value()) << text.size();
    EXPECT_EQ(*back, text);
  }
}

TEST(Lz77, WhatStoodBeforeIsShort) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += "member_" + std::to_string(i) + " ::= [\\t\\n ]* \":\" value\n";
  }
  EXPECT_LT(Lz77Pack(text).size(), text.size() / 4);
  EXPECT_LT(Lz77Pack(std::string(1'000'000, 'x')).size(), 20u);
}

TEST(Lz77, NoMoreThanIsAllowed) {
  const std::string text(1000, 'x');
  EXPECT_TRUE(Lz77Unpack(Lz77Pack(text), 1000).has_value());
  EXPECT_FALSE(Lz77Unpack(Lz77Pack(text), 999).has_value());
}

// Bytes that are no packed text are refused, and what is taken is as long as it says.
TEST(Lz77, AnyBytes) {
  std::mt19937 random(5);
  int taken = 0, refused = 0;
  for (const std::string& text : Texts()) {
    const std::string packed = Lz77Pack(text);
    for (size_t size = 0; size < std::min<size_t>(packed.size(), 300); ++size) {
      EXPECT_FALSE(Lz77Unpack(packed.substr(0, size), 1'000'000).has_value());
    }
    EXPECT_FALSE(Lz77Unpack(packed + '\0', 1'000'000).has_value());
    for (int i = 0; i < 300; ++i) {
      std::string other = packed.substr(0, 400);
      if (other.size() < packed.size()) other[0] = static_cast<char>(random() % 128);
      other[random() % other.size()] ^= static_cast<char>(1 << random() % 8);
      const std::optional<std::string> back = Lz77Unpack(other, 100'000);
      (back.has_value() ? taken : refused) += 1;
      if (back.has_value()) {
        EXPECT_EQ(back->size(), Lz77Length(other));
        EXPECT_LE(back->size(), 100'000u);
      }
    }
  }
  EXPECT_GT(taken, 100);
  EXPECT_GT(refused, 1000);
  // A copy from before the text, of nothing, or longer than the rest.
  EXPECT_FALSE(Lz77Unpack(std::string("\x07\x01x\x00\x02", 5), 100).has_value());
  EXPECT_FALSE(Lz77Unpack(std::string("\x07\x01x\x00\x00", 5), 100).has_value());
  EXPECT_FALSE(Lz77Unpack(std::string("\x07\x01x\x01\x01", 5), 100).has_value());
  EXPECT_TRUE(Lz77Unpack(std::string("\x07\x01x\x00\x01", 5), 100).has_value());
}

}  // namespace
}  // namespace grammask::internal
