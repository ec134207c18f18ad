// Texts of whole characters as inside JSON strings, and what an intersection with any of them is.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "automaton/json_places.h"
#include "automaton/term_store.h"

namespace grammask::internal {
namespace {

class JsonContent : public testing::Test {
 protected:
  TermId Chars(const CodePointSet& set) { return s_.Character(set, true); }
  TermId Any(int64_t min) { return s_.Repeat(Chars(CodePointSet::All()), min, kUnbounded); }
  TermId Text(std::string_view text) { return s_.Literal(text, true); }
  TermId Bytes(std::string_view text) { return s_.Literal(text, false); }
  TermId Class(uint8_t lo, uint8_t hi) { return s_.ByteClass(ByteSet::Range(lo, hi)); }
  TermId Sequence(std::vector<TermId> parts) {
    TermId all = TermStore::Empty();
    for (size_t i = parts.size(); i-- > 0;) all = s_.Sequence(parts[i], all);
    return all;
  }
  TermId Choice(std::vector<TermId> parts) { return s_.Choice(parts); }
  TermId And(std::vector<TermId> parts) { return s_.And(parts); }
  TermId Before(TermId content) { return s_.Sequence(content, quote_); }
  bool Matches(TermId t, std::string_view text) {
    for (char c : text) {
      TermId to = TermStore::Nothing();
      for (const ByteEdge& e : s_.Expand(t).bytes) {
        if (e.lo <= static_cast<uint8_t>(c) && static_cast<uint8_t>(c) <= e.hi) to = e.to;
      }
      t = to;
    }
    return s_.term(t).nullable;
  }

  TermStore s_{{}, 16};
  const TermId quote_ = Bytes("\",");
};

TEST_F(JsonContent, AnyCharactersAreNoConditionOnContent) {
  // With the fewest characters that they are seen to have.
  const std::pair<TermId, int64_t> contents[] = {
      {Text("abc"), 3},
      {Text("\"\\\n\x01\xC3\xA9\xF0\x9F\x99\x82"), 6},
      {Chars(CodePointSet::All()), 1},
      {Chars({{'a', 'z'}}), 1},
      {Chars(CodePointSet::All().Minus({{'a', 'a'}})), 1},
      {Chars({{0xD7FF, 0xE000}}), 1},
      {Chars({{0x1F600, 0x1F9FF}, {0x3042, 0x3042}}), 1},
      {Chars({{0x0, 0x1F}}), 1},
      {Bytes("plain"), 5},
      {Bytes("\\n\\u00e9\\ud83d\\ude42"), 3},
      {Class('a', 'z'), 1},
      {Sequence({s_.Repeat(Chars({{'0', '9'}}), 2, 5), Text("-"), Any(0)}), 3},
      {Choice({Text("x"), Sequence({Any(0), Text("\xE6\x97\xA5")})}), 1},
      {s_.Repeat(Choice({Text("ab"), Chars({{0x80, 0x7FF}})}), 1, kUnbounded), 1},
      {And({Sequence({Any(0), Text("a"), Any(0)}), Sequence({Any(0), Text("b"), Any(0)})}), 1},
      {And({Chars({{'a', 'z'}}), s_.Not(Text("c"))}), 1},
  };
  for (const auto& [content, fewest] : contents) {
    EXPECT_EQ(And({Any(0), content}), content) << s_.ToString(content);
    EXPECT_EQ(Choice({content, Any(0)}), Any(0)) << s_.ToString(content);
    EXPECT_EQ(Choice({Before(content), Before(Any(0))}), Before(Any(0))) << s_.ToString(content);
    EXPECT_EQ(Choice({Sequence({Any(0), Before(content)}), Before(Any(0))}), Before(Any(0)))
        << s_.ToString(content);
    // In front of something else, or of what may be of the text.
    for (const TermId rest : {Bytes("\":"), Bytes("x\",")}) {
      const TermId either = Choice({Sequence({content, rest}), Before(Any(0))});
      EXPECT_EQ(s_.term(either).children().size(), 2u) << s_.ToString(either);
      const TermId any_first = Choice({Before(content), Sequence({Any(0), rest})});
      EXPECT_EQ(s_.term(any_first).children().size(), 2u) << s_.ToString(any_first);
    }
    if (s_.term(content).nullable) continue;
    EXPECT_EQ(And({Any(fewest), content}), content) << s_.ToString(content);
    EXPECT_NE(And({Any(fewest + 1), content}), content) << s_.ToString(content);
  }
  EXPECT_EQ(Choice({quote_, Before(Any(0))}), Before(Any(0)));
  // Where there may be no text, that there be one is a condition.
  const TermId maybe = s_.Repeat(Chars({{'a', 'z'}}), 0, kUnbounded);
  EXPECT_EQ(And({Any(0), maybe}), maybe);
  EXPECT_NE(And({Any(1), maybe}), maybe);
  // Two of them say no more than one, and neither is gone.
  EXPECT_EQ(s_.term(And({Any(0), Any(1)})).min_length, 1u);
}

// A bit of a term tells, of what is joined of such as well, though the alternatives of a class that
// a choice takes up are no characters by themselves. Where it is set, all texts are of characters.
TEST_F(JsonContent, KnownWhenMade) {
  const TermId letters = Chars({{'a', 'z'}}), kana = Chars({{0x3042, 0x3042}, {0x3044, 0x3044}});
  const TermId either = Choice({letters, Text("-x")});
  for (TermId id : {letters, kana, either, Choice({letters, kana}), Sequence({kana, either}),
                    s_.Repeat(either, 0, 7), TermStore::Empty(),
                    Sequence({s_.Repeat(kana, 1, 2), Text("x")}), And({either, Bytes("-x")})}) {
    EXPECT_TRUE(s_.term(id).content) << s_.ToString(id);
  }
  for (TermId id : {Bytes("a"), Class('a', 'z'), Sequence({either, quote_}), TermStore::All()}) {
    EXPECT_FALSE(s_.term(id).content) << s_.ToString(id);
  }
  std::mt19937 random(7);
  auto pick = [&](const std::vector<TermId>& from) { return from[random() % from.size()]; };
  std::vector<TermId> terms = {letters,          kana,
                               either,           quote_,
                               Bytes("\\u00"),   Class('0', '9'),
                               Text("\"\n"),     Chars({{0x80, 0x10FFFF}}),
                               Bytes("\xC3\xA9")};
  for (int i = 0; i < 300; ++i) {
    const TermId x = pick(terms), y = pick(terms);
    const TermId made[] = {Sequence({x, y}), Choice({x, y}), s_.Repeat(x, random() % 2, 3),
                           And({x, y})};
    if (made[i % 4] != TermStore::Nothing()) terms.push_back(made[i % 4]);
  }
  int texts = 0;
  for (uint32_t id = 0, end = static_cast<uint32_t>(s_.size()); id < end; ++id) {
    if (!s_.term(TermId(id)).content) continue;
    for (int i = 0; i < 4; ++i) {
      uint8_t place = JsonPlaces::kBetween;
      std::string text;
      TermId at(id);
      while (!s_.term(at).nullable || (text.size() < 30 && random() % 4 != 0)) {
        const auto edges = s_.Expand(at).bytes;
        if (edges.empty()) break;
        ByteEdge edge = edges[random() % edges.size()];
        for (const ByteEdge& e : edges) {  // a long text is brought to its end
          if (text.size() >= 30 && s_.term(e.to).min_length < s_.term(edge.to).min_length) edge = e;
        }
        const auto byte = static_cast<uint8_t>(edge.lo + random() % (edge.hi - edge.lo + 1u));
        text += static_cast<char>(byte);
        place =
            place == JsonPlaces::kNowhere ? place : JsonPlaces::OfBytes(ByteSet::Of(byte))[place];
        at = edge.to;
      }
      EXPECT_EQ(place, JsonPlaces::kBetween) << text << " of " << s_.ToString(TermId(id));
      ++texts;
    }
  }
  EXPECT_GT(texts, 400);
}

// Of two bounds each goes that the other part keeps anyhow.
TEST_F(JsonContent, BoundsThatAreKept) {
  auto times = [&](int64_t a, int64_t b) { return s_.Repeat(Chars(CodePointSet::All()), a, b); };
  const TermId x = Chars({{'x', 'x'}, {0xE9, 0xE9}});
  const TermId some = s_.Repeat(x, 3, 9);
  EXPECT_EQ(And({times(3, 9), some}), some);
  EXPECT_EQ(And({times(0, 2048), some}), some);
  EXPECT_EQ(And({times(2, 8), some}), And({times(0, 8), some}));
  EXPECT_EQ(And({times(4, 10), some}), And({times(4, kUnbounded), some}));
  for (const auto& [a, b] :
       std::vector<std::pair<int64_t, int64_t>>{{2, 8}, {4, 10}, {4, 8}, {4, kUnbounded}, {0, 8}}) {
    const TermId both = And({times(a, b), some});
    EXPECT_NE(both, some);
    for (int64_t n = 0; n < 12; ++n) {
      std::string text;
      for (int64_t i = 0; i < n; ++i) text += i % 2 == 0 ? "x" : "\u00e9";
      EXPECT_EQ(Matches(both, text), std::max<int64_t>(a, 3) <= n && n <= std::min<int64_t>(b, 9))
          << a << " to " << b << ", " << n;
    }
  }
  // A part of another part says nothing of all.
  const TermId either = Choice({some, Sequence({Text("y"), s_.Repeat(x, 0, 20)})});
  EXPECT_NE(And({times(0, 20), either}), either);
  EXPECT_EQ(And({times(0, 21), either}), either);
  EXPECT_EQ(And({times(1, 21), either}), either);
  EXPECT_NE(And({times(2, 21), either}), either);
}

// Conditions on how many characters there are become one.
TEST_F(JsonContent, CountsOfAnyCharacters) {
  const TermId any = Chars(CodePointSet::All());
  auto times = [&](int64_t least, int64_t most) { return s_.Repeat(any, least, most); };
  EXPECT_EQ(And({times(0, kUnbounded), s_.Not(times(0, 254))}), times(255, kUnbounded));
  EXPECT_EQ(And({times(3, 9), times(5, kUnbounded)}), times(5, 9));
  EXPECT_EQ(And({times(3, 9), s_.Not(times(0, 4)), s_.Not(times(8, kUnbounded))}), times(5, 7));
  EXPECT_EQ(And({times(3, 9), s_.Not(times(3, 20))}), TermStore::Nothing());
  EXPECT_EQ(And({times(0, 4), times(5, 9)}), TermStore::Nothing());
  EXPECT_EQ(And({times(0, kUnbounded), s_.Not(times(1, kUnbounded))}), TermStore::Empty());
  EXPECT_EQ(And({times(0, kUnbounded), s_.Not(times(1, 5))}),
            Choice({TermStore::Empty(), times(6, kUnbounded)}));
  EXPECT_EQ(And({times(0, 9), s_.Not(times(3, 5))}), Choice({times(0, 2), times(6, 9)}));
  for (int64_t a : {0, 1, 3}) {
    for (int64_t b : {2, 4, 6}) {
      for (int64_t c : {0, 1, 2}) {
        for (int64_t d : {2, 3, 5}) {
          const std::string what = std::to_string(a) + " " + std::to_string(b) + " " +
                                   std::to_string(c) + " " + std::to_string(d);
          if (a > b) continue;
          const TermId both = And({times(a, b), s_.Not(times(c, d)), s_.Not(Text("xx"))});
          for (int64_t n = 0; n < 8; ++n) {
            const bool in = a <= n && n <= b && !(c <= n && n <= d);
            EXPECT_EQ(Matches(both, std::string(static_cast<size_t>(n), 'y')), in) << what;
            EXPECT_EQ(Matches(both, std::string(static_cast<size_t>(n), 'x')), in && n != 2)
                << what;
          }
        }
      }
    }
  }
}

// A bound on the characters beside letters and what must not begin with "xn": which texts there
// are, and the length of the shortest, from the state without the bound.
TEST_F(JsonContent, BoundBesideAnExclusion) {
  const TermId letters = s_.Repeat(Chars({{'a', 'z'}}), 1, kUnbounded);
  const TermId bound = s_.Repeat(Chars(CodePointSet::All()), 1, 4);
  const TermId all = And({letters, bound, s_.Not(Sequence({Text("xn"), s_.All()}))});
  EXPECT_EQ(s_.term(all).min_length, 1u);
  for (std::string_view in : {"a", "x", "xa", "ax", "abcd", "xxnn", "axn", "xaxn"}) {
    EXPECT_TRUE(Matches(all, in)) << in;
  }
  for (std::string_view out : {"", "xn", "xna", "xnnn", "abcde", "A"}) {
    EXPECT_FALSE(Matches(all, out)) << out;
  }
  // Where what is left of the exclusion is as short as what is left of the letters.
  const TermId only = And({Sequence({Text("x"), letters}), bound, s_.Not(Text("xn")),
                           s_.Not(Sequence({Text("x"), Chars({{'a', 'y'}}), Any(0)}))});
  EXPECT_EQ(s_.term(only).min_length, 2u);
  EXPECT_TRUE(Matches(only, "xz"));
  EXPECT_FALSE(Matches(only, "xn"));
  EXPECT_FALSE(Matches(only, "xay"));
}

// What is not made of whole characters, in one way or another, keeps the condition.
TEST_F(JsonContent, OtherTextsKeepIt) {
  const TermId others[] = {
      Bytes("a\"b"),
      Bytes("\n"),
      Bytes("\\x"),
      Bytes("\\u00g0"),
      Bytes("\\u00"),
      Bytes("\\ud83d"),
      Bytes("\\ud83dx"),
      Bytes("\\ude42"),
      Bytes("\\ud83d\\u0041"),
      Bytes("\xC3"),
      Bytes("\xC0\x80"),
      Bytes("\xE0\x80\x80"),
      Bytes("\xED\xA0\x80"),
      Bytes("\xF0\x80\x80\x80"),
      Bytes("\xF4\x90\x80\x80"),
      Bytes("\xA9"),
      Class(0x00, 0x7F),
      Class(' ', '"'),
      Class('[', ']'),
      Class(0x80, 0xFF),
      s_.Repeat(Bytes("\""), 0, kUnbounded),
      Choice({Text("a"), Bytes("\"")}),
      Sequence({Text("a"), Bytes("\\")}),
      s_.Character(CodePointSet::All(), false),
      s_.Words({"\xC3", "b"}, false),
  };
  for (TermId other : others) {
    const TermId both = And({Any(0), other});
    EXPECT_NE(both, other) << s_.ToString(other);
    const TermId either = Choice({other, Any(0)});
    EXPECT_NE(either, Any(0)) << s_.ToString(other);
    for (const char* text : {"a\"b", "\n", "\\x", "\\ud83d", "\xED\xA0\x80", "a", "\"", "a\\"}) {
      EXPECT_EQ(Matches(both, text), Matches(Any(0), text) && Matches(other, text)) << text;
      EXPECT_EQ(Matches(either, text), Matches(Any(0), text) || Matches(other, text)) << text;
    }
  }
}

// Terms as they come: the intersection has the texts that both have.
TEST_F(JsonContent, RandomTerms) {
  std::mt19937 random(3);
  const std::vector<TermId> parts = {Bytes("\\"),
                                     Bytes("u"),
                                     Bytes("n"),
                                     Bytes("d8"),
                                     Bytes("00"),
                                     Bytes("dc"),
                                     Bytes("\xE0"),
                                     Bytes("\xA0"),
                                     Bytes("\x80"),
                                     Bytes("\""),
                                     Bytes("a"),
                                     Text("\n"),
                                     Text("\xC3\xA9"),
                                     Class('0', '9'),
                                     Class(0x80, 0xBF),
                                     Class('a', 'f'),
                                     Chars({{'a', 'c'}, {0xE9, 0xE9}}),
                                     Chars(CodePointSet::All())};
  const std::string_view pieces[] = {
      "\\", "u", "n",   "d8",       "00", "dc", "\xE0",    "\xA0",          "\x80",
      "\"", "a", "\\n", "\xC3\xA9", "5",  "f",  "\\u00e9", "\\ud800\\udc00"};
  const TermId any = Any(0);
  int kept = 0, dropped = 0, joined = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<TermId> made;
    for (size_t n = 1 + random() % 4; n > 0; --n) {
      TermId t = parts[random() % parts.size()];
      if (random() % 4 == 0) t = Choice({t, parts[random() % parts.size()]});
      if (random() % 4 == 0) t = s_.Repeat(t, random() % 2, random() % 2 == 0 ? 3 : kUnbounded);
      if (random() % 6 == 0) t = Choice({t, Sequence({parts[random() % parts.size()], t})});
      made.push_back(t);
    }
    const TermId one = Sequence(made);
    const TermId both = And({any, one});
    (both == one ? dropped : kept) += 1;
    const TermId either = Choice({Before(one), Before(any)});
    joined += either == Before(any);
    for (int i = 0; i < 12; ++i) {
      std::string text;
      for (size_t n = random() % 6; n > 0; --n) text += pieces[random() % std::size(pieces)];
      EXPECT_EQ(Matches(both, text), Matches(any, text) && Matches(one, text))
          << s_.ToString(one) << " \"" << text << "\"";
      text += "\",";
      EXPECT_EQ(Matches(either, text), Matches(Before(any), text) || Matches(Before(one), text))
          << s_.ToString(one) << " \"" << text << "\"";
    }
  }
  EXPECT_GT(kept, 100);
  EXPECT_GT(dropped, 100);
  EXPECT_GT(joined, 100);
  EXPECT_LT(joined, 2900);
}

// What a first character wants goes, where a loop with a bound follows.
TEST_F(JsonContent, AnyFirstCharacter) {
  const TermId any = Chars(CodePointSet::All()),
               no_x = Chars(CodePointSet::All().Minus({{'x', 'x'}}));
  auto state = [&](TermId first, TermId of, int64_t least, int64_t most) {
    return Sequence({first, Before(s_.Repeat(of, least, most))});
  };
  auto expected = [&](int64_t least, int64_t most) { return Before(s_.Repeat(any, least, most)); };
  EXPECT_EQ(s_.WithAnyFirst(state(no_x, any, 0, 9)), expected(1, 10));
  EXPECT_EQ(s_.WithAnyFirst(state(no_x, any, 3, kUnbounded)), expected(4, kUnbounded));
  EXPECT_EQ(s_.WithAnyFirst(state(Text("q"), any, 2, 5)), expected(3, 6));
  EXPECT_EQ(s_.WithAnyFirst(state(no_x, any, 0, kUnbounded)), std::nullopt);
  EXPECT_EQ(s_.WithAnyFirst(state(no_x, no_x, 0, 9)), std::nullopt);
  EXPECT_EQ(s_.WithAnyFirst(state(Text("qr"), any, 0, 9)), std::nullopt);
  EXPECT_EQ(s_.WithAnyFirst(state(Bytes("\\"), any, 0, 9)), std::nullopt);
  EXPECT_EQ(s_.WithAnyFirst(no_x), std::nullopt);
}

// A search leaves out the longer ways to write a character, but not where there is no shorter one,
// nor where some part tells them apart.
TEST_F(JsonContent, SearchesLeaveOutOtherSpellings) {
  const TermId letter = Chars({{'a', 'z'}}), letters = s_.Repeat(letter, 0, kUnbounded);
  auto length = [&](TermId t) {
    return t == TermStore::Nothing() ? -1 : static_cast<int64_t>(s_.term(t).min_length);
  };
  const TermId dates = Sequence({s_.Repeat(Chars({{'0', '9'}}), 4, 4), Text("-"),
                                 s_.Repeat(Chars({{'0', '9'}}), 1, kUnbounded)});
  EXPECT_EQ(length(And({dates, Sequence({Any(0), Text(".json")})})), -1);
  EXPECT_EQ(length(And({dates, Sequence({Any(0), Text("7")})})), 6);
  // Only escaped.
  EXPECT_EQ(length(And({Any(1), Chars({{1, 1}})})), 6);
  EXPECT_EQ(length(And({Sequence({letters, Chars({{'a', 'z'}, {'\n', '\n'}})}),
                        Sequence({Any(0), Chars({{0, 0x1F}})})})),
            2);
  // By its last bytes.
  EXPECT_EQ(length(And({letter, Sequence({TermStore::All(), Bytes("61")})})), 6);
  EXPECT_EQ(length(And({letter, Sequence({TermStore::All(), Text("61")})})), 6);
  EXPECT_EQ(length(And({Sequence({letter, letter}),
                        Sequence({TermStore::All(), Bytes("61"), TermStore::All()})})),
            7);
  // All but how it is mostly written.
  EXPECT_EQ(length(And({Chars({{'a', 'a'}}), s_.Not(Bytes("a"))})), 6);
  EXPECT_EQ(length(And({Chars({{'a', 'a'}}), s_.Not(Text("a"))})), -1);
  EXPECT_EQ(length(And({Text("/"), s_.Not(Bytes("/"))})), 2);
  // In a state of its own for each number of hexadecimal digits.
  EXPECT_EQ(length(And({Chars({{'a', 'a'}}), s_.Repeat(Class('!', '~'), 2, 9)})), 6);
}

}  // namespace
}  // namespace grammask::internal
