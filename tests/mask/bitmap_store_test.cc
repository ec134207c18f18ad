#include "mask/bitmap_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace grammask::internal {
namespace {

// A vocabulary of 200 tokens whose order in the trie is shuffled.
std::vector<TokenId> Tokens() {
  std::vector<TokenId> tokens(200);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<TokenId>(i * 37 % 200);
  return tokens;
}

TEST(BitmapStore, RunsUnionsAndContentMeet) {
  const std::vector<TokenId> tokens = Tokens();
  BitmapStore store(7, tokens);
  const TokenRun runs[] = {{0, 5}, {9, 10}, {100, 140}};
  const uint32_t* bitmap = store.OfRuns(runs);
  for (uint32_t t = 0; t < 200; ++t) {
    const bool in = t < 5 || t == 9 || (t >= 100 && t < 140);
    EXPECT_EQ(TestBit(bitmap, tokens[t]), in) << t;
  }
  const size_t bytes = store.memory_bytes();
  EXPECT_EQ(store.OfRuns(runs), bitmap);
  EXPECT_EQ(store.Intern(std::vector<uint32_t>(bitmap, bitmap + 7)), bitmap);
  EXPECT_EQ(store.memory_bytes(), bytes);

  const uint32_t* first = store.OfRuns({{{0, 5}, {9, 10}}});
  const uint32_t* second = store.OfRuns({{{100, 140}}});
  EXPECT_NE(first, second);
  const uint32_t* one_way[] = {first, second};
  const uint32_t* other_way[] = {second, first};
  EXPECT_EQ(store.Union(one_way), bitmap);
  EXPECT_EQ(store.Union(other_way), bitmap);
  EXPECT_GT(store.memory_bytes(), bytes);
}

TEST(BitmapStore, ListsAreKeptOnce) {
  const std::vector<TokenId> tokens = Tokens();
  BitmapStore store(7, tokens);
  const std::vector<TokenId> given = {5, 3, 9};
  const auto list = store.List(given);
  EXPECT_TRUE(std::ranges::equal(list, given));
  EXPECT_EQ(store.List(std::vector<TokenId>{5, 3, 9}).data(), list.data());
  EXPECT_NE(store.List(std::vector<TokenId>{5, 3}).data(), list.data());
}

TEST(BitmapStore, ManyRunsGoByContent) {
  std::vector<TokenId> tokens(1000);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<TokenId>(999 - i);
  BitmapStore store(32, tokens);
  std::vector<TokenRun> apart, whole = {{0, 400}};
  for (uint32_t t = 0; t < 400; t += 2) apart.push_back({t, t + 2});
  EXPECT_EQ(store.OfRuns(apart), store.OfRuns(whole));
  apart.pop_back();
  EXPECT_NE(store.OfRuns(apart), store.OfRuns(whole));
}

}  // namespace
}  // namespace grammask::internal
