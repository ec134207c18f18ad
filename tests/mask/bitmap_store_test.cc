#include "mask/bitmap_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

namespace grammask::internal {
namespace {

// A vocabulary of 200 tokens whose order in the trie is shuffled.
std::vector<TokenId> Tokens() {
  std::vector<TokenId> tokens(200);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<TokenId>(i * 37 % 200);
  return tokens;
}

std::vector<uint32_t> AllOf(const std::vector<TokenId>& tokens, size_t words) {
  std::vector<uint32_t> all(words);
  for (TokenId t : tokens) SetBit(all.data(), t);
  return all;
}

TEST(BitmapStore, RunsUnionsAndContentMeet) {
  const std::vector<TokenId> tokens = Tokens();
  const std::vector<uint32_t> all = AllOf(tokens, 7);
  const TokenBlocks blocks(tokens, all.size());
  BitmapStore store(tokens, all, blocks);
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

TEST(BitmapStore, MostTokensAreAllButSome) {
  std::vector<TokenId> tokens = Tokens();
  std::erase(tokens, 77);
  const std::vector<uint32_t> all = AllOf(tokens, 7);
  const TokenBlocks blocks(tokens, all.size());
  BitmapStore store(tokens, all, blocks);
  for (const uint32_t end : {100u, 150u, 199u}) {
    const uint32_t* bitmap = store.OfRuns({{{3, 4}, {10, end}}});
    std::vector<uint32_t> expected(7);
    SetBit(expected.data(), tokens[3]);
    for (uint32_t t = 10; t < end; ++t) SetBit(expected.data(), tokens[t]);
    EXPECT_TRUE(std::ranges::equal(expected, std::span(bitmap, 7))) << end;
  }
}

TEST(BitmapStore, ListsAreKeptOnce) {
  const std::vector<TokenId> tokens = Tokens();
  const std::vector<uint32_t> all = AllOf(tokens, 7);
  const TokenBlocks blocks(tokens, all.size());
  BitmapStore store(tokens, all, blocks);
  const std::vector<TokenId> given = {5, 3, 9};
  const auto list = store.List(given);
  EXPECT_TRUE(std::ranges::equal(list, given));
  EXPECT_EQ(store.List(std::vector<TokenId>{5, 3, 9}).data(), list.data());
  EXPECT_NE(store.List(std::vector<TokenId>{5, 3}).data(), list.data());
}

TEST(BitmapStore, ManyRunsGoByContent) {
  std::vector<TokenId> tokens(1000);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<TokenId>(999 - i);
  const std::vector<uint32_t> all = AllOf(tokens, 32);
  const TokenBlocks blocks(tokens, all.size());
  BitmapStore store(tokens, all, blocks);
  TableVector<TokenRun> apart, whole = {{0, 400}};
  for (uint32_t t = 0; t < 400; t += 2) apart.push_back({t, t + 2});
  EXPECT_EQ(store.OfRuns(apart), store.OfRuns(whole));
  apart.pop_back();
  EXPECT_NE(store.OfRuns(apart), store.OfRuns(whole));
}

// Of a vocabulary that is cut into blocks: any runs, of hardly any tokens or nearly all, and of
// most of some blocks but not of others.
TEST(BitmapStore, RunsOfBlocks) {
  std::mt19937 random(5);
  std::vector<TokenId> tokens(20'000);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<TokenId>(i);
  std::ranges::shuffle(tokens, random);
  std::erase(tokens, 19'999);  // no text
  const std::vector<uint32_t> all = AllOf(tokens, 625);
  const TokenBlocks blocks(tokens, all.size());
  ASSERT_FALSE(blocks.empty());
  BitmapStore store(tokens, all, blocks);
  for (int round = 0; round < 60; ++round) {
    TableVector<TokenRun> runs;
    std::vector<uint32_t> expected(625);
    uint32_t at = random() % 3;
    // How much is in and out, changing as it goes.
    for (uint32_t in = 1, out = 1; at < tokens.size(); at += 1 + random() % out) {
      if (random() % 8 == 0) {
        in = 1u << random() % 13;
        out = 1u << random() % 13;
      }
      const auto end = std::min<uint32_t>(at + 1 + random() % in, tokens.size());
      runs.push_back({at, end});
      for (; at < end; ++at) SetBit(expected.data(), tokens[at]);
    }
    ASSERT_TRUE(std::ranges::equal(expected, std::span(store.OfRuns(runs), 625))) << round;
    const TokenId others[] = {tokens[random() % tokens.size()], 19'999};
    for (TokenId t : others) SetBit(expected.data(), t);
    ASSERT_TRUE(std::ranges::equal(expected, std::span(store.OfRunsAnd(runs, others), 625)));
  }
}

}  // namespace
}  // namespace grammask::internal
