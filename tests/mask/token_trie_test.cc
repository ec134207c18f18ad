// Small tries: their layout, and walking them in step with the parser.
#include "mask/token_trie.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "automaton/term_store.h"
#include "mask/trie_content.h"
#include "mask/trie_walk.h"

namespace grammask::internal {
namespace {

TEST(TokenTrie, EmptyAndSmall) {
  EXPECT_TRUE(BuildTokenTrie({}).empty());
  EXPECT_EQ(BuildTokenTrie({}).node_count(), 0u);
  const TokenTrie trie = BuildTokenTrie({{"b", 3}, {"ab", 1}, {"a", 2}, {"ab", 1}, {"ab", 9}});
  EXPECT_EQ(trie.node_count(), 4u);
  EXPECT_EQ(ContentOf(trie), (TrieContent{{"a", {2}}, {"ab", {1, 9}}, {"b", {3}}}));
}

TEST(TokenTrie, RandomStringsComeBack) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> texts;
    // Many are sorted in another way than few.
    for (size_t i = 0, n = 1 + random() % (round % 10 == 0 ? 2000 : 60); i < n; ++i) {
      std::string text;
      for (size_t k = 0, m = 1 + random() % 12; k < m; ++k) {
        text += std::string("ab\x01\x7F\x80\xFF")[random() % (1 + round % 6)];
      }
      texts.push_back(text);
    }
    std::vector<std::pair<std::string_view, TokenId>> entries;
    TrieContent expected;
    for (const std::string& text : texts) {
      const auto token = static_cast<TokenId>(random() % 20);
      entries.push_back({text, token});
      expected[text].insert(token);
    }
    ASSERT_EQ(ContentOf(BuildTokenTrie(entries)), expected);
  }
}

// Which strings the walk reaches, against stepping each by itself.
TEST(TokenTrie, AWalkVisitsExactlyWhatTheParserTakes) {
  TermStore terms({}, 16);
  SetTable sets(&terms);
  const TermId a = terms.Literal("a", false), b = terms.Literal("b", false);
  const TermId either[] = {a, terms.Sequence(b, a)};
  const TermId root = terms.Choice(std::vector<TermId>{
      terms.Repeat(terms.Choice(either), 0, kUnbounded),
      terms.Sequence(terms.Literal("bb", false), terms.Repeat(b, 0, kUnbounded))});
  const SetId start = sets.Start(root);
  std::vector<std::string> texts = {"a", "b"};
  for (size_t i = 0; texts.size() < 126; ++i) {
    texts.push_back(texts[i] + "a");
    texts.push_back(texts[i] + "b");
  }
  std::vector<std::pair<std::string_view, TokenId>> entries;
  for (size_t i = 0; i < texts.size(); ++i) entries.push_back({texts[i], static_cast<TokenId>(i)});
  const TokenTrie trie = BuildTokenTrie(entries);
  const TrieAlphabets alphabets(trie.nodes);
  for (const TrieAlphabets* with : {static_cast<const TrieAlphabets*>(nullptr), &alphabets}) {
    WalkScratch scratch;
    std::set<TokenId> visited;
    auto take = [&](uint32_t i, uint32_t end) {
      for (uint32_t t = trie.nodes[i].tokens; t < trie.nodes[end].tokens; ++t) {
        EXPECT_TRUE(visited.insert(trie.tokens[t]).second) << "twice";
      }
    };
    WalkTrie(
        SetWalker(&sets, &scratch), std::span<const TrieNode>(trie.nodes), with, 1,
        trie.node_count(), 0, start,
        WalkCalls{[&](uint32_t i, const SetPlace& at) {
                    take(i, i + 1);
                    for (uint32_t t = trie.nodes[i].tokens; t < trie.nodes[i + 1].tokens; ++t) {
                      EXPECT_EQ(at.id, sets.Run(start, texts[static_cast<size_t>(trie.tokens[t])]));
                    }
                  },
                  [&](uint32_t i, const WalkWhole&) { take(i, trie.nodes[i].end); },
                  [&](uint32_t i, uint64_t) { take(i, i + 1); },
                  [](uint32_t, const SetPlace&) { FAIL(); }});
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(visited.contains(static_cast<TokenId>(i)),
                sets.Run(start, texts[i]) != SetTable::Dead())
          << texts[i];
    }
  }
}

}  // namespace
}  // namespace grammask::internal
