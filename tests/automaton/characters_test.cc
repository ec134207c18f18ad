// Sets of characters as terms, against the encodings of every character.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "automaton/term_store.h"
#include "base/utf8.h"

namespace grammask::internal {
namespace {

TermId After(TermStore* s, TermId t, std::string_view text) {
  for (char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    const auto edges = s->Expand(t).bytes;
    const auto it = std::ranges::lower_bound(edges, byte, {}, &ByteEdge::hi);
    if (it == edges.end() || it->lo > byte) return TermStore::Nothing();
    t = it->to;
  }
  return t;
}

// One character exactly: nothing may follow it.
bool Takes(TermStore* s, TermId t, std::string_view text) {
  return After(s, t, text) == TermStore::Empty();
}

std::string Hex(uint32_t unit, bool upper) {
  char out[32];
  std::snprintf(out, sizeof out, upper ? "\\u%04X" : "\\u%04x", unit);
  return out;
}

// All spellings of a character inside a JSON string, by RFC 8259. Of mixed case only one for a
// pair.
std::vector<std::string> JsonSpellings(uint32_t c) {
  std::vector<std::string> all;
  if (c >= 0x20 && c != '"' && c != '\\') all.push_back(EncodeUtf8(c));
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t", kLetters = "\"\\/bfnrt";
  const size_t simple = c < 0x80 ? kMeanings.find(static_cast<char>(c)) : std::string_view::npos;
  if (simple != std::string_view::npos) all.push_back(std::string("\\") + kLetters[simple]);
  if (c < 0x10000) {
    all.push_back(Hex(c, false));
    all.push_back(Hex(c, true));
  } else {
    const uint32_t high = 0xD800 + ((c - 0x10000) >> 10), low = 0xDC00 + ((c - 0x10000) & 0x3FF);
    all.push_back(Hex(high, false) + Hex(low, true));
    all.push_back(Hex(high, true) + Hex(low, false));
  }
  return all;
}

// Characters worth trying for any set: the ends of all its ranges and of the encodings' lengths.
std::vector<uint32_t> Samples(const CodePointSet& set, std::mt19937* random) {
  std::vector<uint32_t> points;
  auto around = [&](uint32_t c) {
    for (uint32_t p : {c - 1, c, c + 1}) points.push_back(p);
  };
  for (CodePointRange r : set.ranges()) {
    around(r.lo);
    around(r.hi);
  }
  for (uint32_t c :
       {1u,       0x1Fu,    0x22u,    0x2Fu,    0x5Cu,     0x7Fu,    0x80u,    0x7FFu,
        0x800u,   0xFFFu,   0x1000u,  0xD7FFu,  0xE000u,   0xFFFFu,  0x10000u, 0x103FFu,
        0x10400u, 0x3FFFFu, 0x40000u, 0xFFFFFu, 0x100000u, 0x10FFFEu}) {
    around(c);
  }
  for (int i = 0; i < 200; ++i) points.push_back((*random)() % 0x110000);
  std::erase_if(points,
                [](uint32_t c) { return c > kMaxCodePoint || (c >= 0xD800 && c <= 0xDFFF); });
  return points;
}

CodePointSet RandomSet(std::mt19937* random) {
  std::vector<CodePointRange> ranges;
  const int count = 1 + static_cast<int>((*random)() % 6);
  constexpr uint32_t kScales[] = {0x80, 0x900, 0x11000, 0x110000};
  for (int i = 0; i < count; ++i) {
    const uint32_t scale = kScales[(*random)() % 4];
    uint32_t lo = (*random)() % scale;
    uint32_t width = (*random)() % ((*random)() % 2 == 0 ? 4 : scale);
    ranges.push_back({lo, std::min(lo + width, kMaxCodePoint)});
  }
  return CodePointSet(ranges);
}

void Check(TermStore* s, const CodePointSet& set, uint32_t c, TermId plain, TermId json) {
  ASSERT_EQ(Takes(s, plain, EncodeUtf8(c)), set.Has(c)) << "U+" << std::hex << c;
  for (const std::string& spelling : JsonSpellings(c)) {
    ASSERT_EQ(Takes(s, json, spelling), set.Has(c)) << "U+" << std::hex << c << " as " << spelling;
  }
}

TEST(Characters, EveryCharacterOfAFewSets) {
  const CodePointSet sets[] = {
      CodePointSet::All(),
      CodePointSet{{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x10FFFF}},
      CodePointSet{{0x10FFFF, 0x10FFFF}, {0xE000, 0xE000}, {0xD7FF, 0xD7FF}, {0, 0}},
      CodePointSet{{0x3B1, 0x3C9}, {0x4E00, 0x9FFF}, {0x1F600, 0x1F64F}},
  };
  for (const CodePointSet& set : sets) {
    TermStore s({}, 16);
    const TermId plain = s.Character(set, false), json = s.Character(set, true);
    // Every character of the lower planes' ends and, of the rest, every 13th and the members' ends.
    for (uint32_t c = 0; c <= kMaxCodePoint;
         c += c < 0x1000 || (c > 0xD700 && c < 0xE100) ? 1 : 13) {
      if (c >= 0xD800 && c <= 0xDFFF) continue;
      Check(&s, set, c, plain, json);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Characters, RandomSetsAtTheirEnds) {
  std::mt19937 random(11);
  for (int round = 0; round < 150; ++round) {
    const CodePointSet set = RandomSet(&random);
    TermStore s({}, 16);
    const TermId plain = s.Character(set, false), json = s.Character(set, true);
    if (set.empty()) {
      EXPECT_EQ(plain, TermStore::Nothing());
      EXPECT_EQ(json, TermStore::Nothing());
      continue;
    }
    for (uint32_t c : Samples(set, &random)) {
      Check(&s, set, c, plain, json);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Characters, LoneSurrogatesNeverPass) {
  TermStore s({}, 16);
  const TermId json = s.Character(CodePointSet::All(), true);
  for (uint32_t unit = 0xD800; unit <= 0xDFFF; ++unit) {
    const TermId after = After(&s, json, Hex(unit, unit % 2 == 0));
    ASSERT_FALSE(s.term(after).nullable) << std::hex << unit;
    if (unit >= 0xDC00) {
      ASSERT_EQ(after, TermStore::Nothing()) << std::hex << unit;
      continue;
    }
    // Only a second surrogate may follow a first one.
    ASSERT_EQ(After(&s, after, "a"), TermStore::Nothing());
    ASSERT_EQ(After(&s, after, "\\n"), TermStore::Nothing());
    ASSERT_EQ(After(&s, after, "\\uD800"), TermStore::Nothing());
    ASSERT_EQ(After(&s, after, "\\uE000"), TermStore::Nothing());
    ASSERT_EQ(After(&s, after, "\\u0041"), TermStore::Nothing());
    ASSERT_EQ(After(&s, after, "\\udcAb"), TermStore::Empty());
  }
  // In UTF-8 they and longer forms than needed are no characters at all.
  const TermId plain = s.Character(CodePointSet::All(), false);
  for (const char* bytes : {"\xED\xA0\x80", "\xED\xBF\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80",
                            "\xE0\x9F\xBF", "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF",
                            "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\x80", "\xBF", "\xFF"}) {
    EXPECT_EQ(After(&s, plain, bytes), TermStore::Nothing()) << Printable(bytes);
    EXPECT_EQ(After(&s, json, bytes), TermStore::Nothing()) << Printable(bytes);
  }
}

TEST(Characters, WhatJsonMustEscapeIsNeverRaw) {
  TermStore s({}, 16);
  const TermId json = s.Character(CodePointSet::All(), true);
  for (char c = 0; c < 0x20; ++c) {
    EXPECT_EQ(After(&s, json, std::string_view(&c, 1)), TermStore::Nothing());
  }
  EXPECT_EQ(After(&s, json, "\""), TermStore::Nothing());
  EXPECT_FALSE(s.term(After(&s, json, "\\")).nullable);
  for (const char* bad : {"\\a", "\\x41", "\\'", "\\0", "\\U0041", "\\u00g", "\\u 041"}) {
    EXPECT_EQ(After(&s, json, bad), TermStore::Nothing()) << bad;
  }
}

TEST(Characters, DecodedTextsInAnySpelling) {
  TermStore s({}, 16);
  std::mt19937 random(3);
  const CodePointSet all = CodePointSet::All();
  for (int round = 0; round < 300; ++round) {
    std::string text, spelled, other;
    for (size_t i = 0, n = 1 + random() % 40; i < n; ++i) {
      const std::vector<uint32_t> pool = {'a',  '/',  '"',  '\\',   '\n',
                                          0x1F, 0x7F, 0xE9, 0x20AC, 0x1F600};
      const uint32_t c = pool[random() % pool.size()];
      AppendUtf8(c, &text);
      const auto spellings = JsonSpellings(c);
      spelled += spellings[random() % spellings.size()];
      other += spellings[random() % spellings.size()];
    }
    const TermId t = s.Literal(text, true);
    ASSERT_EQ(After(&s, t, spelled), TermStore::Empty()) << Printable(spelled);
    ASSERT_EQ(After(&s, t, other), TermStore::Empty()) << Printable(other);
    ASSERT_EQ(After(&s, t, spelled + "a"), TermStore::Nothing());
    ASSERT_EQ(After(&s, t, "b" + spelled), TermStore::Nothing());
    // The shortest spelling has the length that the term says.
    uint64_t shortest = 0;
    for (size_t pos = 0; pos < text.size();) {
      const auto c = DecodeUtf8(text, pos);
      size_t best = 100;
      for (const std::string& x : JsonSpellings(c->code_point)) best = std::min(best, x.size());
      shortest += best;
      pos += static_cast<size_t>(c->length);
    }
    ASSERT_EQ(s.term(t).min_length, shortest) << Printable(text);
  }
}

TEST(Characters, EqualSetsAreOneTerm) {
  TermStore s({}, 16);
  const CodePointSet split{{'a', 'f'}, {'g', 'z'}, {'c', 'k'}};
  EXPECT_EQ(s.Character(split, true), s.Character(CodePointSet{{'a', 'z'}}, true));
  EXPECT_EQ(s.Character(split, false), s.ByteClass(ByteSet::Range('a', 'z')));
  EXPECT_NE(s.Character(split, false), s.Character(split, true));
}

// Rounds of a class that are no rounds of another: none where the class lies within the other one,
// which takes no search.
TEST(Characters, RoundsOfAClassWithinAnother) {
  Limits limits;
  limits.max_mask_states = 1;
  TermStore s(limits, 16);
  std::mt19937 random(5);
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  auto set = [&] {
    std::vector<CodePointRange> ranges;
    for (uint32_t i = 0, n = 1 + below(3); i < n; ++i) {
      const uint32_t lo = 'a' + below(8);
      ranges.push_back({lo, lo + below(4)});
      if (below(4) == 0) ranges.push_back({0xD7FD, 0xE000 + below(3)});
    }
    return CodePointSet(ranges);
  };
  int within = 0;
  for (int round = 0; round < 500; ++round) {
    const CodePointSet some = set(), all = round % 2 == 0 ? set() : set().Union(some);
    const bool json = round % 3 != 0;
    const TermId rounds = s.Repeat(s.Character(some, json), round % 4, kUnbounded);
    const TermId excluded = s.Repeat(s.Character(all, json), 0, kUnbounded);
    const TermId parts[] = {rounds, s.Not(excluded)};
    const bool is_within = some.Minus(all).empty();
    if (is_within) {
      EXPECT_EQ(s.And(parts), TermStore::Nothing());
      EXPECT_FALSE(s.overrun());
    } else {
      TermStore other({}, 16);  // with searches
      const TermId not_within[] = {
          other.Repeat(other.Character(some, json), round % 4, kUnbounded),
          other.Not(other.Repeat(other.Character(all, json), 0, kUnbounded))};
      EXPECT_NE(other.And(not_within), TermStore::Nothing());
    }
    within += is_within;
  }
  EXPECT_GT(within, 200);
  EXPECT_LT(within, 480);
}

TEST(Characters, KeysOfClasses) {
  TermStore s({}, 16);
  const CodePointSet a{{'a', 'z'}}, b{{'a', 'y'}};
  const std::string key = s.ClassKey(s.Character(a, true));
  EXPECT_FALSE(key.empty());
  EXPECT_NE(key, s.ClassKey(s.Character(b, true)));
  EXPECT_NE(key, s.ClassKey(s.Character(a, false)));
  EXPECT_EQ(key, s.ClassKey(s.Character(a, true)));
  TermStore other({}, 16);
  other.Character(b, true);
  EXPECT_EQ(key, other.ClassKey(other.Character(a, true)));
  EXPECT_EQ(s.ClassKey(s.Repeat(s.Character(a, true), 0, 3)), "");
}

}  // namespace
}  // namespace grammask::internal
