// Long lists of words as states, against the choice of their literals.
#include "automaton/words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "automaton/build.h"
#include "grammar/ebnf.h"

namespace grammask::internal {
namespace {

// Words over few characters, so that many begin alike and some begin others; the empty one too.
std::vector<std::string> RandomWords(size_t count, bool json, uint32_t seed) {
  static const std::vector<std::string> kCharacters = {
      "a", "b", "\"", "\\", "/", "\n", "\x01", "é", "中", "\xF0\x9F\x98\x80", "\x7F"};
  std::mt19937 random(seed);
  std::vector<std::string> words;
  for (size_t i = 0; i < count; ++i) {
    std::string word;
    for (size_t n = random() % 5; n > 0; --n) {
      word += json || random() % 2 == 0 ? kCharacters[random() % kCharacters.size()]
                                        : std::string(1, static_cast<char>(random()));
    }
    words.push_back(word);
  }
  return words;
}

std::vector<std::string_view> Views(const std::vector<std::string>& words) {
  return {words.begin(), words.end()};
}

TermId ChoiceOf(TermStore* store, const std::vector<std::string>& words, bool json) {
  std::vector<TermId> parts;
  for (const std::string& word : words) parts.push_back(store->Literal(word, json));
  return store->Choice(parts);
}

// All states that texts lead to, side by side.
void ExpectSame(TermStore* store, TermId words, TermId choice) {
  std::map<std::pair<uint32_t, uint32_t>, std::string> seen = {{{words.value, choice.value}, ""}};
  std::vector<std::pair<TermId, TermId>> todo = {{words, choice}};
  while (!todo.empty()) {
    const auto [a, b] = todo.back();
    todo.pop_back();
    const std::string text = seen[{a.value, b.value}];
    ASSERT_EQ(store->term(a).nullable, store->term(b).nullable) << text;
    ASSERT_EQ(store->term(a).min_length, store->term(b).min_length) << text;
    ASSERT_EQ(store->term(a).finite, store->term(b).finite) << text;
    const Expansion& x = store->Expand(a);
    const Expansion& y = store->Expand(b);
    ASSERT_EQ(x.spelling_byte, y.spelling_byte) << text;
    for (int byte = 0; byte < 256; ++byte) {
      auto find = [&](const Expansion& e) {
        const auto it = std::ranges::lower_bound(e.bytes, byte, {}, &ByteEdge::hi);
        return it != e.bytes.end() && it->lo <= byte ? it->to : TermStore::Nothing();
      };
      const TermId to_a = find(x), to_b = find(y);
      ASSERT_EQ(to_a == TermStore::Nothing(), to_b == TermStore::Nothing()) << text << byte;
      if (to_a == to_b) continue;
      const auto key = std::pair(to_a.value, to_b.value);
      if (seen.emplace(key, text + static_cast<char>(byte)).second) todo.push_back({to_a, to_b});
    }
  }
}

TEST(Words, EqualTheChoiceOfTheirLiterals) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const bool json = seed % 2 == 0;
    const std::vector<std::string> words = RandomWords(1 + seed * 7, json, seed);
    TermStore store({}, 16);
    const TermId made = store.Words(Views(words), json);
    ExpectSame(&store, made, ChoiceOf(&store, words, json));
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

// After each beginning of a word as many characters are left as the choice of the literals has.
TEST(Words, CharactersAreCounted) {
  static const std::vector<std::string> kCharacters = {"a", "b", "\xC3\xA9", "\xE4\xB8\xAD"};
  std::mt19937 random(5);
  std::vector<std::string> words;
  for (int i = 0; i < 80; ++i) {
    std::string word;
    for (size_t n = 3 + random() % 5; n > 0; --n) word += kCharacters[random() % 4];
    words.push_back(word);
  }
  TermStore store({}, 16);
  const TermId rest = store.Literal("\",", false);
  size_t compared = 0;
  for (const std::string& word : words) {
    TermId made = store.Words(Views(words), true), choice = ChoiceOf(&store, words, true);
    for (const char c : word) {
      if ((static_cast<uint8_t>(c) & 0xC0) != 0x80) {
        const uint32_t fewest = store.FewestCharacters(store.Sequence(choice, rest), rest);
        ASSERT_EQ(store.FewestCharacters(store.Sequence(made, rest), rest), fewest) << word;
        compared += made != choice ? 1 : 0;
      }
      made = store.AfterByte(made, static_cast<uint8_t>(c));
      choice = store.AfterByte(choice, static_cast<uint8_t>(c));
    }
  }
  EXPECT_GT(compared, words.size());
}

TEST(Words, FewAreLiterals) {
  TermStore store({}, 16);
  const std::vector<std::string> few = {"one", "two", "one"};
  EXPECT_EQ(store.Words(Views(few), false), ChoiceOf(&store, few, false));
  EXPECT_EQ(store.Words({}, false), TermStore::Nothing());
}

TEST(Words, EqualListsAreOneTerm) {
  TermStore store({}, 16);
  std::vector<std::string> words = RandomWords(100, true, 1);
  const TermId first = store.Words(Views(words), true);
  std::ranges::reverse(words);
  words.push_back(words[0]);
  EXPECT_EQ(store.Words(Views(words), true), first);
  EXPECT_NE(store.Words(Views(words), false), first);
  words.push_back("another");
  EXPECT_NE(store.Words(Views(words), true), first);
}

TEST(Words, ComplementsAndIntersections) {
  TermStore store({}, 16);
  const std::vector<std::string> words = RandomWords(80, true, 3),
                                 others = RandomWords(90, true, 4);
  const TermId parts[] = {store.Words(Views(words), true),
                          store.Not(store.Words(Views(others), true))};
  const TermId plain[] = {ChoiceOf(&store, words, true), store.Not(ChoiceOf(&store, others, true))};
  ExpectSame(&store, store.And(parts), store.And(plain));
}

TEST(Words, StatesThatNoTextGetsToAreNotBuilt) {
  std::vector<std::string> words;
  for (int i = 0; i < 50'000; ++i) words.push_back("word" + std::to_string(i * 7919 % 1'000'003));
  TermStore store({}, 16);
  TermId at = store.Words(Views(words), false);
  for (char c : std::string("word12")) {
    const auto edges = store.Expand(at).bytes;
    const auto it = std::ranges::lower_bound(edges, static_cast<uint8_t>(c), {}, &ByteEdge::hi);
    ASSERT_TRUE(it != edges.end() && it->lo <= c);
    at = it->to;
  }
  EXPECT_LT(store.size(), 100u);
}

// Literals of both kinds beside other alternatives, through the whole front end.
TEST(Words, InAGrammar) {
  std::string text = "root ::= [0-9]+";
  for (int i = 0; i < 200; ++i) text += " | \"w" + std::to_string(i * i) + "\"";
  for (int i = 0; i < 200; ++i) text += " | JsonText(\"j" + std::to_string(i * 3) + "\\n\")";
  const StatusOr<Grammar> grammar = ParseEbnf(text);
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  TermStore store({}, 16);
  const StatusOr<TermId> root = BuildTerms(*grammar, &store);
  ASSERT_TRUE(root.ok()) << root.status().message();
  auto accepts = [&](std::string_view word) {
    TermId at = *root;
    for (char c : word) {
      const auto edges = store.Expand(at).bytes;
      const auto it = std::ranges::lower_bound(edges, static_cast<uint8_t>(c), {}, &ByteEdge::hi);
      if (it == edges.end() || it->lo > static_cast<uint8_t>(c)) return false;
      at = it->to;
    }
    return store.term(at).nullable;
  };
  EXPECT_TRUE(accepts("123"));
  EXPECT_TRUE(accepts("w400"));
  EXPECT_TRUE(accepts("w39601"));
  EXPECT_FALSE(accepts("w39602"));
  EXPECT_FALSE(accepts("w"));
  EXPECT_TRUE(accepts("j597\\n"));
  EXPECT_TRUE(accepts("\\u006a3\\u000a"));
  EXPECT_FALSE(accepts("j598\\n"));
  EXPECT_FALSE(accepts("j597\n"));
}

}  // namespace
}  // namespace grammask::internal
