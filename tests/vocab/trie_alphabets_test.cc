// What occurs below a node, against a look at each text.
#include "vocab/trie_alphabets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/sorted.h"
#include "base/utf8.h"
#include "vocab/trie.h"

namespace grammask::internal {
namespace {

// Whether `text` is UTF-8 but for a last character that may be cut off; sets what it begins with.
bool Decodes(std::string_view text, Alphabet* all) {
  for (size_t i = 0; i < text.size();) {
    const auto b = static_cast<uint8_t>(text[i]);
    if (b < 0x80) {
      all->Add(b);
      ++i;
      continue;
    }
    if (b < 0xC2 || b > 0xF4) return false;
    all->AddLead(b);
    if (const auto c = DecodeUtf8(text, i)) {
      i += static_cast<size_t>(c->length);
      continue;
    }
    // Cut off: some continuation must make it whole.
    std::string whole(text.substr(i));
    if (whole.size() > 3) return false;
    bool found = false;
    for (int second = 0x80; second < 0xC0 && !found; ++second) {
      std::string tried = whole;
      if (tried.size() == 1) tried += static_cast<char>(second);
      for (int n = 0; n < 3 && !found; ++n) {
        const auto c = DecodeUtf8(tried, 0);
        found = c.has_value() && static_cast<size_t>(c->length) == tried.size();
        tried += '\x80';
      }
    }
    return found;
  }
  return true;
}

void Check(const std::vector<std::string>& tokens) {
  std::vector<TokenId> ids(tokens.size());
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<TokenId>(i);
  const Trie trie = BuildTrie(tokens, ids);
  const TrieAlphabets alphabets(trie.nodes);
  for (uint32_t n = 0; n + 1 < trie.nodes.size(); ++n) {
    std::vector<uint32_t> children(256);
    size_t count = 0;
    for (uint32_t c = n + 1; c < trie.nodes[n].end; c = trie.nodes[c].end, ++count) {
      children[trie.nodes[c].byte] = c;
    }
    const uint32_t* found = alphabets.children(n);
    ASSERT_EQ(found != nullptr, count >= TrieAlphabets::kManyChildren) << n;
    if (found != nullptr) {
      EXPECT_TRUE(std::ranges::equal(children, std::span(found, 256))) << n;
    }
  }
  auto characters_of = [](std::string_view text) {
    return std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
  };
  std::vector<std::vector<uint32_t>> adding(256);
  std::vector<uint32_t> broken, cut_off;
  NodeSet not_listed(trie.nodes.size() - 1);
  std::string path;
  for (uint32_t n = 0; n + 1 < trie.nodes.size(); ++n) {
    const TrieNode& node = trie.nodes[n];
    if (n > 0) {
      path.resize(node.depth - 1u);
      Alphabet ignored;
      const bool before = Decodes(path, &ignored);
      path += static_cast<char>(node.byte);
      if (before && !Decodes(path, &ignored)) {
        broken.push_back(n);
      } else if (before && (node.byte & 0xC0) != 0x80) {
        adding[node.byte].push_back(n);
      } else {
        not_listed.Add({&n, 1});
      }
      EXPECT_EQ(alphabets.characters(n), characters_of(path)) << path;
      for (uint32_t t = node.tokens; t < trie.nodes[n + 1].tokens; ++t) {
        EXPECT_EQ(alphabets.characters()[t], characters_of(path)) << path;
      }
    }
    Alphabet expected;
    uint32_t deepest = node.depth;
    // The node itself must end between characters, which texts below show only together with it.
    Alphabet ignored;
    bool between = Decodes(path, &ignored);
    for (size_t cut = 1; cut <= std::min<size_t>(path.size(), 3) && between; ++cut) {
      const size_t at = path.size() - cut;
      const auto b = static_cast<uint8_t>(path[at]);
      if (b < 0xC0) continue;
      between = DecodeUtf8(path, at).has_value();
      break;
    }
    expected.other = !between;
    if (!between && Decodes(path, &ignored) && node.tokens < trie.nodes[n + 1].tokens) {
      cut_off.push_back(n);
    }
    for (const std::string& token : tokens) {
      if (token.size() <= path.size() || token.compare(0, path.size(), path) != 0) continue;
      deepest = std::max(deepest, static_cast<uint32_t>(token.size()));
      Alphabet below;
      if (!Decodes(token, &below)) expected.other = true;
      if (between && !expected.other) {
        Alphabet rest;
        ASSERT_TRUE(Decodes(token.substr(path.size()), &rest));
        expected.low |= rest.low;
        expected.high |= rest.high;
        expected.leads |= rest.leads;
      }
    }
    EXPECT_EQ(alphabets.deepest(n), deepest) << "below \"" << path << '"';
    EXPECT_EQ(alphabets.below(n).other, expected.other) << "below \"" << path << '"';
    if (!expected.other) {
      EXPECT_EQ(alphabets.below(n), expected) << "below \"" << path << '"';
    }
  }
  for (int b = 0; b < 0xFF; ++b) {
    EXPECT_TRUE(std::ranges::equal(alphabets.adding(static_cast<uint8_t>(b)),
                                   adding[static_cast<size_t>(b)]))
        << b;
  }
  EXPECT_TRUE(std::ranges::equal(alphabets.broken(), broken));
  EXPECT_TRUE(std::ranges::equal(alphabets.cut_off(), cut_off));
  // All in lists and not are all but the root, each once.
  NodeSet all(trie.nodes.size() - 1);
  const auto count = static_cast<uint32_t>(trie.nodes.size() - 1);
  size_t listed = broken.size();
  all.Add(broken);
  for (const auto& list : adding) {
    all.Add(list);
    listed += list.size();
  }
  for (uint32_t n = not_listed.Next(0); n < count; n = not_listed.Next(n + 1)) {
    EXPECT_EQ(all.Next(n) == n, false);
    ++listed;
  }
  EXPECT_EQ(listed + 1, count);
}

TEST(NodeSet, NextFromAnywhere) {
  for (const uint32_t count : {1u, 63u, 64u, 65u, 128u, 1000u}) {
    std::mt19937 random(count);
    for (int round = 0; round < 20; ++round) {
      NodeSet set(count);
      std::vector<uint32_t> nodes;
      for (uint32_t i = 0; i < count; ++i) {
        if (random() % (1u << (round / 2)) == 0) nodes.push_back(i);
      }
      set.Add(nodes);
      for (uint32_t from = 0; from <= count; ++from) {
        const auto it = std::ranges::lower_bound(nodes, from);
        ASSERT_EQ(set.Next(from), it == nodes.end() ? count : *it) << count << ' ' << from;
        const uint32_t end = random() % (count + 1);
        const uint32_t expected = it == nodes.end() || *it >= end ? end : *it;
        ASSERT_EQ(std::min(set.Next(from, end), end), expected) << from << " to " << end;
      }
    }
  }
}

// The lengths of texts by their places, and the greatest of stretches.
TEST(TrieAlphabets, LongestOfAStretch) {
  std::mt19937 random(8);
  std::vector<std::string> tokens;
  for (int i = 0; i < 1500; ++i) {
    // Few are long, so that most blocks have another greatest length than their neighbours.
    std::string token(1 + random() % (i % 40 == 0 ? 120 : 6), 'a');
    for (char& c : token) c = static_cast<char>('a' + random() % 20);
    tokens.push_back(token);
  }
  SortUnique(&tokens);
  std::vector<TokenId> ids(tokens.size());
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<TokenId>(i);
  const Trie trie = BuildTrie(tokens, ids);
  const TrieAlphabets alphabets(trie.nodes);
  const auto count = static_cast<uint32_t>(tokens.size());
  ASSERT_EQ(trie.tokens.size(), count);
  for (int i = 0; i < 3000; ++i) {
    const uint32_t first = random() % (count + 1);
    const uint32_t end = first + random() % std::min(count - first + 1, i % 2 == 0 ? 1000u : 150u);
    size_t longest = 0;
    for (uint32_t t = first; t < end; ++t) {
      const size_t length = tokens[static_cast<size_t>(trie.tokens[t])].size();
      ASSERT_EQ(alphabets.lengths()[t], length);
      longest = std::max(longest, length);
    }
    ASSERT_EQ(alphabets.longest(first, end), longest) << first << " to " << end;
  }
  for (uint32_t b = 0; b + TrieAlphabets::kBlock <= count; b += TrieAlphabets::kBlock) {
    EXPECT_EQ(alphabets.longest(b, b + TrieAlphabets::kBlock), alphabets.block(b).bytes);
  }
}

TEST(TrieAlphabets, Ascii) {
  Check({"a", "ab", "abc", "ab1", "ab-", "b", "\"", "\",", "\x7F"});
  Check({"x"});
}

TEST(TrieAlphabets, Utf8) {
  Check({"\xC3", "\xC3\xA9", "\xC3\xA9t\xC3\xA9", "a\xC3", "a\xE2\x80", "a\xE2\x80\xA8 b",
         "\xF0\x9F\x98\x80", "\xF0\x9F", "\x80", "\x80x", "a\xFFz", "\xE0\x80", "\xED\xA0\x80",
         "\xF4\x90", "\xF4\x8F", "caf\xC3\xA9s"});
}

TEST(TrieAlphabets, ManyChildren) {
  std::vector<std::string> tokens = {"x"};
  for (char c = 'A'; c <= 'z'; ++c) {
    tokens.push_back(std::string("x") + c);
    if (c % 2 == 0) tokens.push_back(std::string("xq") + c);
  }
  Check(tokens);
}

TEST(TrieAlphabets, RandomBytes) {
  std::mt19937 random(3);
  const std::string bytes = "ab\" \x80\xBF\xA0\x9F\xC2\xC3\xE0\xE2\xED\xF0\xF4\xFF";
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> tokens;
    for (int i = 0; i < 20; ++i) {
      std::string token;
      for (size_t n = random() % 5 + 1; n > 0; --n) token += bytes[random() % bytes.size()];
      tokens.push_back(token);
    }
    SortUnique(&tokens);
    Check(tokens);
    if (HasFailure()) return;
  }
}

TEST(TrieAlphabets, Within) {
  Alphabet loop;
  for (char c = 'a'; c <= 'z'; ++c) loop.Add(static_cast<uint8_t>(c));
  loop.AddLead(0xE2);
  Alphabet below;
  EXPECT_TRUE(below.IsWithin(loop));
  below.Add('q');
  below.AddLead(0xE2);
  EXPECT_TRUE(below.IsWithin(loop));
  below.AddLead(0xE3);
  EXPECT_FALSE(below.IsWithin(loop));
  Alphabet other;
  other.other = true;
  EXPECT_FALSE(other.IsWithin(loop));
  EXPECT_FALSE(other.IsWithin({~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, true}));
}

}  // namespace
}  // namespace grammask::internal
