// Tries of what tokens leave over that outlive one generation of tables.
#include "mask/trie_store.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "mask/mask_world.h"
#include "mask/trie_content.h"

namespace grammask::internal {
namespace {

constexpr size_t kMany = TrieStore::kLeastEntries;

// Tokens of one to three letters and a number: what is left over of them differs.
std::shared_ptr<const Vocab> NumberedTokens() {
  std::vector<std::string> tokens;
  for (size_t i = 0; i < 4 * kMany; ++i) {
    tokens.push_back(std::string(1 + i % 3, static_cast<char>('a' + i % 26)) + std::to_string(i));
  }
  return MakeVocab(tokens);
}

// What tokens [first, first + count) have behind their first `read` bytes.
std::vector<uint64_t> Entries(const Vocab& vocab, size_t first, size_t count, size_t read = 1) {
  std::vector<uint64_t> entries;
  for (size_t i = first; i < first + count; ++i) {
    const auto token = static_cast<TokenId>(i);
    const std::string_view text = vocab.bytes(token);
    const auto byte = static_cast<uint8_t>(text[read]);
    entries.push_back(Residual::Entry(token, text.size() - read, byte));
  }
  return entries;
}

TEST(TrieStore, LongListsHaveOneTrie) {
  const auto vocab = NumberedTokens();
  TrieStore store(size_t{1} << 20);
  const auto entries = Entries(*vocab, 0, kMany);
  const auto trie = store.Get(*vocab, entries);
  TrieContent expected;
  for (size_t i = 0; i < kMany; ++i) {
    const auto token = static_cast<TokenId>(i);
    expected[std::string(vocab->bytes(token).substr(1))].insert(token);
  }
  EXPECT_EQ(ContentOf(*trie), expected);
  EXPECT_EQ(trie->before, 1u);
  EXPECT_EQ(store.Get(*vocab, entries), trie);
  // Another list has another trie, also where it begins alike, has the same tokens, or a part.
  EXPECT_NE(store.Get(*vocab, Entries(*vocab, 0, kMany + 1)), trie);
  EXPECT_NE(store.Get(*vocab, Entries(*vocab, 1, kMany)), trie);
  auto one_differs = entries;
  one_differs.back() = Entries(*vocab, kMany - 1, 1, 2)[0];
  const auto other = store.Get(*vocab, one_differs);
  EXPECT_NE(other, trie);
  EXPECT_EQ(other->before, 2u);
  EXPECT_NE(ContentOf(*other), expected);
}

TEST(TrieStore, ShortListsAreNotKept) {
  const auto vocab = NumberedTokens();
  TrieStore store(size_t{1} << 20);
  const auto entries = Entries(*vocab, 0, kMany - 1);
  const auto trie = store.Get(*vocab, entries);
  EXPECT_EQ(store.memory_bytes(), 0u);
  EXPECT_NE(store.Get(*vocab, entries), trie);
  EXPECT_EQ(trie->tokens.size(), kMany - 1);
  EXPECT_TRUE(store.Get(*vocab, {})->empty());
}

TEST(TrieStore, KeepsThoseUsedLast) {
  const auto vocab = NumberedTokens();
  TrieStore store(size_t{1} << 20);
  auto list = [&](size_t first) { return Entries(*vocab, first, kMany); };
  const auto one = store.Get(*vocab, list(0));
  const size_t each = store.memory_bytes();
  ASSERT_GT(each, one->memory_bytes());
  const auto two = store.Get(*vocab, list(kMany));
  EXPECT_EQ(store.Get(*vocab, list(0)), one);
  store.SetMost(each + each / 2);
  EXPECT_LE(store.memory_bytes(), each + each / 2);
  EXPECT_EQ(store.Get(*vocab, list(0)), one);
  EXPECT_NE(store.Get(*vocab, list(kMany)), two);
  EXPECT_EQ(two->tokens.size(), kMany);  // whoever has it keeps it
  store.SetMost(0);
  EXPECT_EQ(store.memory_bytes(), 0u);
  EXPECT_EQ(store.Get(*vocab, list(0))->tokens, one->tokens);
  EXPECT_EQ(store.memory_bytes(), 0u);
}

TEST(TrieStore, ThreadsThatAskAtOnceShareOne) {
  const auto vocab = NumberedTokens();
  TrieStore store(size_t{1} << 20);
  std::vector<std::shared_ptr<const TokenTrie>> got(16);
  std::vector<std::thread> threads;
  for (size_t k = 0; k < 4; ++k) {
    threads.emplace_back([&, k] {
      for (size_t i = k; i < got.size(); i += 4) {
        got[i] = store.Get(*vocab, Entries(*vocab, (i / 4) * kMany / 2, kMany));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], got[i / 4 * 4]) << i;
}

// Two mask caches, as of two generations, with one store: the second one makes no trie of its own,
// and its masks are the same.
TEST(TrieStore, ServesMaskCachesOneAfterAnother) {
  std::vector<std::string> tokens = {"]", "[", "0", "7", "]]", "[]", "b]x"};
  for (size_t i = 0; i < 2 * kMany; ++i) {
    // Below each letter few enough to be listed.
    tokens.push_back(std::string(1, static_cast<char>('a' + i % 8)) + "]" + std::to_string(i));
  }
  const auto vocab = MakeVocab(tokens);
  const auto slices = std::make_shared<SliceStore>();
  size_t bytes = 0;
  for (int generation = 0; generation < 2; ++generation) {
    MaskWorld world(vocab, slices);
    const SetId start = world.Start([](GrammarBuilder& b) {
      const RuleId list = b.AddRule("list");
      const NodeId either = b.Choice({b.Class(CodePointSet{{'a', 'h'}}), b.Rule(list)});
      b.SetBody(list, b.Sequence({b.Bytes("["), either, b.Bytes("]")}));
      return b.Sequence({b.Rule(list), b.Star(b.Class(CodePointSet{{'0', '9'}}))});
    });
    const SetId inside = world.sets().Step(start, '[');
    EXPECT_EQ(world.Filled(inside).size(), 2 * kMany + 1);  // and a bracket
    world.Check(inside, "inside");
    if (generation == 0) bytes = slices->tries().memory_bytes();
    EXPECT_GT(bytes, 0u);
    EXPECT_EQ(slices->tries().memory_bytes(), bytes);
  }
}

}  // namespace
}  // namespace grammask::internal
