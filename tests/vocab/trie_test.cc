// The trie against a std::map of every prefix, on random and on extreme vocabularies.
#include "vocab/trie.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace grammask::internal {
namespace {

std::vector<TokenId> NonEmpty(const std::vector<std::string>& tokens) {
  std::vector<TokenId> ids;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].empty()) ids.push_back(static_cast<TokenId>(i));
  }
  return ids;
}

// Checks every contract of TrieNode against a map from each prefix to the tokens that are it.
void CheckTrie(const std::vector<std::string>& tokens) {
  const std::vector<TokenId> ids = NonEmpty(tokens);
  const Trie trie = BuildTrie(tokens, ids);
  struct ByUnsignedBytes {
    bool operator()(const std::string& a, const std::string& b) const {
      return std::string_view(a) < std::string_view(b);  // as unsigned char
    }
  };
  // Order by unsigned bytes, a prefix first: that is preorder.
  std::map<std::string, std::vector<TokenId>, ByUnsignedBytes> twin = {{"", {}}};
  for (TokenId id : ids) {
    const std::string& token = tokens[static_cast<size_t>(id)];
    for (size_t n = 1; n < token.size(); ++n) twin[token.substr(0, n)];
    twin[token].push_back(id);
  }
  ASSERT_EQ(trie.nodes.size(), twin.size() + 1);
  std::vector<std::string> prefixes;
  std::vector<TokenId> order;
  uint32_t i = 0;
  for (const auto& [prefix, own] : twin) {
    const TrieNode& node = trie.nodes[i];
    ASSERT_EQ(node.depth, prefix.size()) << i;
    ASSERT_EQ(node.byte, prefix.empty() ? 0 : static_cast<uint8_t>(prefix.back())) << i;
    ASSERT_EQ(node.tokens, order.size()) << i;
    ASSERT_EQ(node.leaf, node.end == i + 1) << i;
    order.insert(order.end(), own.begin(), own.end());
    ASSERT_EQ(trie.nodes[i + 1].tokens, order.size()) << i;
    prefixes.push_back(prefix);
    ++i;
  }
  ASSERT_EQ(trie.tokens, order);
  // Subtrees: exactly the nodes that continue the prefix.
  for (i = 0; i < prefixes.size(); ++i) {
    uint32_t end = trie.nodes[i].end;
    ASSERT_GT(end, i);
    ASSERT_LE(end, prefixes.size());
    ASSERT_TRUE(prefixes[end - 1].starts_with(prefixes[i]));
    if (end < prefixes.size()) {
      ASSERT_FALSE(prefixes[end].starts_with(prefixes[i])) << i;
    }
  }
  const TrieNode& sentinel = trie.nodes.back();
  EXPECT_EQ(sentinel.end, prefixes.size());
  EXPECT_EQ(sentinel.tokens, ids.size());
  EXPECT_EQ(trie.nodes[0].end, prefixes.size());
}

TEST(Trie, Small) {
  CheckTrie({});
  CheckTrie({""});
  CheckTrie({"a"});
  CheckTrie({"b", "ab", "a", "a", "", "ab", "b"});
  CheckTrie({"ab", "bab", "ac"});
  CheckTrie({std::string("\0", 1), std::string("\0\0", 2), "\xFF", "\x7F", "\x80", "a"});
}

TEST(Trie, ZerosAndEqualHeads) {
  // Tokens that differ only after their eighth byte, or only in trailing zeros.
  std::vector<std::string> tokens;
  for (const std::string head : {"", "abc", "abcdefg", "abcdefgh", "abcdefghi"}) {
    for (size_t zeros = 0; zeros < 12; ++zeros) {
      tokens.push_back(head + std::string(zeros, '\0'));
      tokens.push_back(head + std::string(zeros, '\0') + "z");
      tokens.push_back(head + std::string(zeros, '\xFF'));
    }
  }
  tokens.insert(tokens.end(), tokens.rbegin(), tokens.rend());
  CheckTrie(tokens);
}

TEST(Trie, RandomVocabularies) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    // Few letters make long shared prefixes and duplicates; many make wide nodes.
    const int letters = std::vector<int>{1, 2, 3, 256}[round % 4];
    const size_t max_length = std::vector<size_t>{3, 9, 20}[round % 3];
    std::vector<std::string> tokens(random() % 200);
    for (std::string& token : tokens) {
      token.resize(random() % (max_length + 1));
      for (char& c : token) c = static_cast<char>((random() % letters) * 255 / (letters));
    }
    CheckTrie(tokens);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

TEST(Trie, LongestToken) {
  std::string longest(65535, 'x');
  std::string fork = longest;
  fork[30000] = 'y';
  const std::vector<std::string> tokens = {longest, fork, longest.substr(1)};
  const Trie trie = BuildTrie(tokens, std::vector<TokenId>{0, 1, 2});
  ASSERT_EQ(trie.nodes.size(), 1 + 65535 + 35535 + 1u);
  EXPECT_EQ(trie.nodes[65535].depth, 65535);
  EXPECT_EQ(trie.nodes[65535].leaf, 1);
  EXPECT_EQ(trie.nodes[30000].end, trie.nodes.size() - 1);
  EXPECT_EQ(trie.nodes[30001].end, 65536u);
  EXPECT_EQ(trie.nodes[65536].depth, 30001);
  EXPECT_EQ(trie.nodes[65536].byte, 'y');
  EXPECT_EQ(trie.tokens, (std::vector<TokenId>{2, 0, 1}));
}

}  // namespace
}  // namespace grammask::internal
