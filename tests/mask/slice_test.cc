// Slices: which tokens consist of characters of one kind, and how many.
#include "mask/slice.h"

#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "mask/slice_store.h"
#include "mask_world.h"

namespace grammask::internal {
namespace {

std::vector<std::string> Tokens() {
  std::vector<std::string> tokens = {"",
                                     "a",
                                     "ab",
                                     "abc",
                                     "z9",
                                     "9",
                                     "\"",
                                     "a\"",
                                     "\\",
                                     "\\n",
                                     "a\\n",
                                     "\\u",
                                     "\\u0041b",
                                     "\xC3",
                                     "\xA9",
                                     "\xC3\xA9",
                                     "a\xC3",
                                     "\xC3\xA9x",
                                     "\xE2\x82\xAC",
                                     "\xE2\x82",
                                     "\x82\xAC",
                                     " ",
                                     " word",
                                     "\n",
                                     "\xFF",
                                     "ab",
                                     "\\ud83d\\ude00"};
  for (size_t n = 4; n <= 40; ++n) tokens.push_back(std::string(n, 'q'));
  return tokens;
}

// The number of characters of `set` that `text` consists of, in UTF-8.
std::optional<size_t> Count(const CodePointSet& set, std::string_view text) {
  size_t count = 0;
  for (size_t pos = 0; pos < text.size(); ++count) {
    const auto c = DecodeUtf8(text, pos);
    if (!c.has_value() || !set.Has(c->code_point)) return std::nullopt;
    pos += static_cast<size_t>(c->length);
  }
  return count;
}

std::vector<TokenId> Others(const Slice& slice) {
  const auto& others = slice.others().tokens;
  std::vector<TokenId> tokens(others.begin(), others.end());
  std::ranges::sort(tokens);
  return tokens;
}

void CheckSlice(const Vocab& vocab, Slice* slice,
                const std::function<std::optional<size_t>(std::string_view)>& count) {
  ASSERT_NE(slice, nullptr);
  size_t longest = 0;
  std::vector<TokenId> others;
  for (TokenId t = 0; t < vocab.size(); ++t) {
    if (!vocab.is_text(t)) continue;
    const auto n = count(vocab.bytes(t));
    longest = std::max(longest, n.value_or(0));
    if (!n.has_value()) others.push_back(t);
  }
  EXPECT_EQ(static_cast<size_t>(slice->longest()), longest);
  EXPECT_EQ(Others(*slice), others);
  std::vector<std::pair<std::string_view, TokenId>> entries;
  for (TokenId t : others) entries.push_back({vocab.bytes(t), t});
  const TokenTrie trie = BuildTokenTrie(entries);
  EXPECT_EQ(slice->others().tokens, trie.tokens);
  ASSERT_EQ(slice->others().nodes.size(), trie.nodes.size());
  EXPECT_TRUE(trie.nodes.empty() || std::memcmp(slice->others().nodes.data(), trie.nodes.data(),
                                                trie.nodes.size() * sizeof(TrieNode)) == 0);
  const size_t words = (static_cast<size_t>(vocab.size()) + 31) / 32;
  for (uint64_t most :
       {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{7}, uint64_t{15}, uint64_t{16},
        uint64_t{17}, uint64_t{39}, uint64_t{40}, uint64_t{41}, uint64_t{1} << 62}) {
    std::vector<TokenId> expected;
    for (TokenId t = 0; t < vocab.size(); ++t) {
      if (vocab.is_text(t) && count(vocab.bytes(t)).value_or(most + 1) <= most)
        expected.push_back(t);
    }
    EXPECT_EQ(TokensOf({slice->UpTo(most), words}), expected) << "up to " << most;
    EXPECT_EQ(slice->UpTo(most), slice->UpTo(most)) << "one bitmap for each number";
    // Whole X's, and where another one was begun, that too.
    const auto beyond = slice->OthersBeyond(most);
    const std::set<TokenId> more(beyond.begin(), beyond.end());
    EXPECT_EQ(more.size(), beyond.size());
    for (TokenId t : others) {
      const std::string_view text = vocab.bytes(t);
      size_t whole = 0;
      for (size_t p = 1; p < text.size(); ++p) {
        whole = std::max(whole, count(text.substr(0, p)).value_or(0));
      }
      if (whole > most) {
        EXPECT_TRUE(more.contains(t)) << text << " up to " << most;
      }
      if (whole < most) {
        EXPECT_FALSE(more.contains(t)) << text << " up to " << most;
      }
    }
  }
}

std::unique_ptr<Slice> MakeSlice(const Vocab& vocab, TermStore* terms, TermId x) {
  const auto table = Slice::Tabulate(terms, x);
  return table.has_value() ? Slice::Create(vocab, *table) : nullptr;
}

TEST(Slice, CharactersInUtf8) {
  const auto vocab = MakeVocab(Tokens());
  for (const CodePointSet& set :
       {CodePointSet{{'a', 'z'}}, CodePointSet::All(), CodePointSet{{'q', 'q'}, {0x80, 0xFFFF}},
        CodePointSet{{0x4E00, 0x9FFF}}}) {
    TermStore terms({}, 16);
    const auto slice = MakeSlice(*vocab, &terms, terms.Character(set, false));
    CheckSlice(*vocab, slice.get(), [&](std::string_view text) { return Count(set, text); });
  }
}

TEST(Slice, CharactersCutOffWhereTokensEnd) {
  std::vector<std::string> tokens = Tokens();
  for (const char* text :
       {"\xC3\xA9\xC3\xA9", "q\xC3\xA9", "q\xC3\xA9z", "\xC3\xA9\xC3", "\xE4\xB8\x80",
        "\xE4\xB8\x80\xE4\xB8", "\xE4\xB8\x80z", "\xE4\xB8\x80/", "q/", "/q\xC3\xA9"}) {
    tokens.push_back(text);
  }
  const auto vocab = MakeVocab(tokens);
  TermStore terms({}, 16);
  for (const CodePointSet& set :
       {CodePointSet{{'a', 'z'}}, CodePointSet::All(), CodePointSet{{'q', 'q'}, {0x80, 0xFFFF}},
        CodePointSet{{0x4E00, 0x9FFF}}, CodePointSet{{'a', 'z'}, {0xC0, 0xFF}},
        CodePointSet::All().Minus({{'/', '/'}}), CodePointSet::All().Minus({{0xE9, 0xE9}}),
        CodePointSet{{'/', '/'}, {0x80, 0x10FFFF}}}) {
    const auto slice = MakeSlice(*vocab, &terms, terms.Character(set, false));
    CheckSlice(*vocab, slice.get(), [&](std::string_view text) { return Count(set, text); });
  }
  // Bytes that are no characters.
  const auto slice = MakeSlice(*vocab, &terms, terms.ByteClass(ByteSet::All()));
  CheckSlice(*vocab, slice.get(), [](std::string_view text) { return text.size(); });
}

// How many bytes the first spelling of a character of `set` in a JSON string has; 0 where `text`
// begins with none.
size_t SpelledLength(const CodePointSet& set, std::string_view text) {
  if (text[0] == '\\') {
    if (text.size() < 2) return 0;
    if (text[1] != 'u') {
      constexpr std::string_view kNames = "\"\\/bfnrt", kNamed = "\"\\/\b\f\n\r\t";
      const size_t which = kNames.find(text[1]);
      return which != std::string_view::npos && set.Has(static_cast<uint32_t>(kNamed[which])) ? 2
                                                                                              : 0;
    }
    uint32_t unit = 0;
    if (text.size() < 6) return 0;
    for (const char c : text.substr(2, 4)) {
      if (c < '0' || c > '9') return 0;  // all that the test has
      unit = unit * 16 + static_cast<uint32_t>(c - '0');
    }
    return set.Has(unit) ? 6 : 0;
  }
  const auto c = DecodeUtf8(text, 0);
  if (!c.has_value() || c->code_point < 0x20 || c->code_point == '"') return 0;
  return set.Has(c->code_point) ? static_cast<size_t>(c->length) : 0;
}

TEST(Slice, AnyTokensAndClasses) {
  constexpr const char* kPieces[] = {
      "a",    "z",        "9",    "/",    " ",        "\"",       "\\",
      "\\n",  "\\u",      "00",   "\\/",  "\xC3\xA9", "\xC3",     "\xA9",
      "\xE2", "\xE2\x82", "\xAC", "\xFF", "\xED\xA0", "\xF0\x9F", "\x98\x80"};
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> tokens;
    for (size_t n = 1 + random() % 400; n > 0; --n) {
      std::string text;
      for (size_t k = 1 + random() % 6; k > 0; --k) text += kPieces[random() % std::size(kPieces)];
      tokens.push_back(text);
    }
    const auto vocab = MakeVocab(tokens);
    TermStore terms({}, 64);
    CodePointSet set = CodePointSet::All();
    for (const CodePointSet& part :
         {CodePointSet{{'a', 'a'}}, CodePointSet{{'/', '9'}}, CodePointSet{{' ', ' '}},
          CodePointSet{{'\n', '\n'}}, CodePointSet{{0xC0, 0xFF}}, CodePointSet{{0x2000, 0x20FF}},
          CodePointSet{{0xE9, 0xE9}}, CodePointSet{{0x80, 0x10FFFF}}}) {
      if (random() % 4 == 0) set = set.Minus(part);
    }
    const bool spelled = round % 2 == 0;
    SCOPED_TRACE(round);
    const auto slice = MakeSlice(*vocab, &terms, terms.Character(set, spelled));
    CheckSlice(*vocab, slice.get(), [&](std::string_view text) -> std::optional<size_t> {
      if (!spelled) return Count(set, text);
      size_t count = 0;
      for (; !text.empty(); ++count) {
        const size_t length = SpelledLength(set, text);
        if (length == 0) return std::nullopt;
        text.remove_prefix(length);
      }
      return count;
    });
  }
}

TEST(Slice, CharactersInAnyJsonSpelling) {
  const auto vocab = MakeVocab(Tokens());
  TermStore terms({}, 16);
  const auto slice = MakeSlice(*vocab, &terms, terms.Character(CodePointSet::All(), true));
  const CodePointSet plain = CodePointSet::All().Minus({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
  CheckSlice(*vocab, slice.get(), [&](std::string_view text) -> std::optional<size_t> {
    if (text == "\\n") return 1;
    if (text == "a\\n") return 2;
    if (text == "\\u0041b") return 2;
    if (text == "\\ud83d\\ude00") return 1;
    return Count(plain, text);
  });
}

TEST(Slice, WordsThatDoNotBeginOneAnother) {
  const auto vocab = MakeVocab({"ab", "abab", "ababc", "c", "cab", "a", "abc", "ba"});
  TermStore terms({}, 16);
  const TermId x[] = {terms.Literal("ab", false), terms.Literal("c", false)};
  const auto slice = MakeSlice(*vocab, &terms, terms.Choice(x));
  CheckSlice(*vocab, slice.get(), [](std::string_view text) -> std::optional<size_t> {
    if (text == "ab" || text == "c") return 1;
    if (text == "abab" || text == "cab" || text == "abc") return 2;
    if (text == "ababc") return 3;
    return std::nullopt;
  });
}

TEST(Slice, WhatIsNoClassOfCharacters) {
  const auto vocab = MakeVocab(Tokens());
  TermStore terms({}, 16);
  const TermId a = terms.Literal("a", false), ab = terms.Literal("ab", false);
  const ProcId proc = terms.AddProc(false, 1);
  terms.SetBody(proc, a);
  const TermId begins[] = {a, ab};
  const TermId unfit[] = {
      terms.Choice(begins),                                       // a begins ab
      terms.Repeat(a, 0, 1),                                      // the empty text
      terms.Repeat(a, 1, 3),                                      // a begins aa
      terms.Call(proc),                                           // not regular
      terms.Tokens({{1}, false}),                                 // not bytes
      terms.Sequence(a, terms.Repeat(ab, 0, kUnbounded)),         // a begins aab
      terms.Repeat(terms.ByteClass(ByteSet::All()), 9000, 9000),  // too many states
  };
  for (TermId x : unfit) EXPECT_EQ(MakeSlice(*vocab, &terms, x), nullptr) << terms.ToString(x);
}

TEST(Slice, NoTokensAtAll) {
  const auto vocab = MakeVocab({});
  TermStore terms({}, 16);
  const auto slice = MakeSlice(*vocab, &terms, terms.Character(CodePointSet::All(), false));
  ASSERT_NE(slice, nullptr);
  EXPECT_EQ(slice->longest(), 0);
  EXPECT_TRUE(slice->others().empty());
}

TEST(SliceStore, KeepsThemByWhatXIs) {
  const auto vocab = MakeVocab(Tokens());
  TermStore terms({}, 16);
  SliceStore store;
  const TermId x = terms.Character(CodePointSet{{'a', 'z'}}, false);
  const TermId y = terms.Character(CodePointSet{{'a', 'y'}}, false);
  const auto slice = store.Get(*vocab, &terms, x);
  EXPECT_NE(slice, nullptr);
  EXPECT_EQ(store.Get(*vocab, &terms, x), slice);
  EXPECT_NE(store.Get(*vocab, &terms, y), nullptr);
  EXPECT_NE(store.Get(*vocab, &terms, y), slice);
  EXPECT_EQ(store.Get(*vocab, &terms, terms.Repeat(x, 0, 1)), nullptr);
  // Another generation of terms, where ids are others.
  TermStore later({}, 16);
  static_cast<void>(later.Literal("shift", false));
  EXPECT_EQ(store.Get(*vocab, &later, later.Character(CodePointSet{{'a', 'z'}}, false)), slice);
}

// A bound on the nodes of the others, which is found to be too low before all are there.
TEST(SliceStore, TooManyOthersAreNone) {
  const auto vocab = MakeVocab(Tokens());
  TermStore terms({}, 16);
  const TermId x = terms.Character(CodePointSet{{'a', 'z'}}, false);
  SliceStore free;
  const auto slice = free.Get(*vocab, &terms, x);
  ASSERT_NE(slice, nullptr);
  const size_t others = slice->others().node_count();
  ASSERT_GT(others, 10u);
  SliceStore enough;
  const auto same = enough.Get(*vocab, &terms, x, others);
  ASSERT_NE(same, nullptr);
  const size_t words = (static_cast<size_t>(vocab->size()) + 31) / 32;
  EXPECT_EQ(TokensOf({same->UpTo(UINT64_MAX), words}), TokensOf({slice->UpTo(UINT64_MAX), words}));
  for (const size_t most : {size_t{0}, others / 2, others - 2}) {
    SliceStore store;
    EXPECT_EQ(store.Get(*vocab, &terms, x, most), nullptr) << most;
    EXPECT_EQ(store.Get(*vocab, &terms, x, most), nullptr) << "again";
    EXPECT_EQ(store.slice_bytes(), 0u);
  }
}

// Terms whose texts could be mistaken for one another must not share a slice.
TEST(SliceStore, LookalikesAreKeptApart) {
  const auto vocab = MakeVocab({"a", "b", "c", "a\" | \"b", "x"});
  TermStore terms({}, 16);
  SliceStore store;
  const TermId three[] = {terms.Literal("c", false), terms.Literal("a", false),
                          terms.Literal("b", false)};
  const TermId two[] = {terms.Literal("c", false), terms.Literal("a\" | \"b", false)};
  const auto slice_three = store.Get(*vocab, &terms, terms.Choice(three));
  const auto slice_two = store.Get(*vocab, &terms, terms.Choice(two));
  ASSERT_NE(slice_three, nullptr);
  ASSERT_NE(slice_two, nullptr);
  EXPECT_EQ(TokensOf({slice_three->UpTo(1), 1}), (std::vector<TokenId>{0, 1, 2}));
  EXPECT_EQ(TokensOf({slice_two->UpTo(1), 1}), (std::vector<TokenId>{2, 3}));
}

// The order of the parts in an expression depends on what a store met before.
TEST(SliceStore, ExpressionsOfOneAutomatonShareASlice) {
  const auto vocab = MakeVocab(Tokens());
  SliceStore store;
  std::set<std::shared_ptr<Slice>> slices;
  std::set<std::string> texts;
  for (const CodePointSet& first : {CodePointSet{{'9', '9'}}, CodePointSet{{'a', 'z'}}}) {
    TermStore terms({}, 16);
    terms.Expand(terms.Character(first, true));
    const TermId x = terms.Character(CodePointSet{{'9', '9'}, {'a', 'z'}}, true);
    texts.insert(terms.ToString(x));
    slices.insert(store.Get(*vocab, &terms, x));
  }
  EXPECT_EQ(slices.size(), 1u);
  EXPECT_GT(texts.size(), 1u);
}

TEST(SliceStore, KnowsWhatItHas) {
  const auto vocab = MakeVocab(Tokens());
  TermStore terms({}, 16);
  SliceStore store;
  const CodePointSet often{{'a', 'z'}};
  const TermId letter = terms.Character(often, true),
               any = terms.Character(CodePointSet::All(), true);
  const TermId digit = terms.Character(CodePointSet{{'0', '9'}}, true);
  EXPECT_FALSE(store.Has(&terms, digit));
  const auto slice = store.Get(*vocab, &terms, digit);
  EXPECT_TRUE(store.Has(&terms, digit));
  EXPECT_FALSE(store.Has(&terms, letter));
  EXPECT_FALSE(store.Has(&terms, any));
  store.MakeJsonStrings(*vocab, often);
  EXPECT_TRUE(store.Has(&terms, letter));
  EXPECT_TRUE(store.Has(&terms, any));
  EXPECT_EQ(store.Get(*vocab, &terms, digit), slice);
  // No class, and none that has a slice.
  EXPECT_FALSE(store.Has(&terms, terms.Repeat(digit, 0, kUnbounded)));
  EXPECT_FALSE(store.Has(&terms, terms.Repeat(digit, 1, 2)));
  EXPECT_EQ(store.Get(*vocab, &terms, terms.Repeat(digit, 1, 2)), nullptr);
  EXPECT_FALSE(store.Has(&terms, terms.Repeat(digit, 1, 2)));
}

TEST(SliceStore, IsBounded) {
  const auto vocab = MakeVocab(Tokens());
  TermStore terms({}, 16);
  constexpr size_t kMost = 20'000;
  SliceStore store(kMost);
  std::vector<std::shared_ptr<Slice>> made;
  auto get = [&](uint32_t i) {
    return store.Get(*vocab, &terms, terms.Character(CodePointSet{{'a', 'b' + i}}, false));
  };
  for (uint32_t i = 0; i < 100; ++i) {
    made.push_back(get(i));
    ASSERT_NE(made.back(), nullptr);
    EXPECT_EQ(get(0), made[0]) << "used again and again";
  }
  // Those given out live on, those not used for long are no longer the store's, but made again.
  size_t bytes = 0, only_here = 0;
  for (const auto& slice : made) {
    bytes += slice->memory_bytes();
    only_here += slice.use_count() == 1 ? 1 : 0;
  }
  EXPECT_GT(bytes, 2 * kMost);
  EXPECT_GT(only_here, 50u);
  EXPECT_EQ(made[1].use_count(), 1);
  EXPECT_EQ(get(1)->others().tokens, made[1]->others().tokens);
}

// The bound is that of the compiler that grants most; the slice of JSON strings stays.
TEST(SliceStore, IsSharedByCompilers) {
  const auto vocab = MakeVocab(Tokens()), other = MakeVocab(Tokens());
  const auto store = SliceStore::Of(*vocab);
  EXPECT_EQ(SliceStore::Of(*vocab), store);
  EXPECT_NE(SliceStore::Of(*other), store);
  store->MakeJsonStrings(*vocab, CodePointSet{{'a', 'z'}});
  TermStore terms({}, 16);
  const TermId string = terms.Character(CodePointSet::All(), true);
  const auto json = store->Get(*vocab, &terms, string);
  constexpr size_t kMore = 20'000, kLess = 10'000;
  auto fill = [&] {
    for (uint32_t i = 0; i < 50; ++i) {
      store->Get(*vocab, &terms, terms.Character(CodePointSet{{'a', 'b' + i}}, false));
    }
    EXPECT_EQ(store->Get(*vocab, &terms, string), json);
    return store->slice_bytes();
  };
  const SliceShare less(store, kLess);
  EXPECT_LE(fill(), kLess);
  {
    const SliceShare more(store, kMore), least(store, 0);
    EXPECT_GT(fill(), kLess);
    EXPECT_LE(store->slice_bytes(), kMore);
  }
  EXPECT_LE(store->slice_bytes(), kLess);
  EXPECT_LE(fill(), kLess);
  EXPECT_GT(store->slice_bytes(), json->memory_bytes());
}

}  // namespace
}  // namespace grammask::internal
