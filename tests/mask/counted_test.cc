// Counts beside patterns, near their bounds: masks taken from those of the state without the bound.
#include "mask/counted.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "mask/mask_world.h"

namespace grammask::internal {
namespace {

// Words, digits, quotes and what may follow them, characters of two to four bytes whole and in
// pieces, escapes, and runs.
std::vector<std::string> Tokens() {
  return ManyTokens({"\xC3\xA9",
                     "\xC3\xA9\xC3\xA9",
                     "a\xC3\xA9",
                     "a\xC3",
                     "\xE6\x97\xA5",
                     "\xE6\x97",
                     "\x97\xA5",
                     "\xF0\x9F\x99\x82",
                     "\xF0\x9F",
                     "x\xE6\x97\xA5y",
                     "\\n",
                     "\\u00e9",
                     "\\u00",
                     "e9",
                     "a\\",
                     "\\\"",
                     "\",",
                     "\"}",
                     "a\",",
                     "12\",\"",
                     "ab\"]",
                     "ab\",\n  ",
                     "aaaaaaaaaaaaaaaa",
                     "0123456789abcdef",
                     "--------",
                     "a b c d e f g h",
                     " the",
                     " a b",
                     "a\\n\xC3\xA9",
                     "\\n\xC3\xA9\xC3\xA9",
                     "\\nabc\xC3\xA9\xC3\xA9",
                     "word word "},
                    11, "abcdef0123 -\"\\,xyz\xC3\xA9", 3000, 9);
}

struct Pattern {
  const char* name;
  int64_t shortest, longest;  // of its texts, in characters
  NodeId (*make)(GrammarBuilder&, bool json);
  std::vector<std::string> texts;  // that begin one of its texts
};

NodeId Class(GrammarBuilder& b, const CodePointSet& set, bool json) {
  return json ? b.JsonClass(set) : b.Class(set);
}

std::vector<Pattern> Patterns() {
  return {
      {"letters",
       1,
       kUnbounded,
       [](GrammarBuilder& b, bool json) {
         return b.Repeat(Class(b, CodePointSet{{'a', 'z'}}, json), 1, kUnbounded);
       },
       {"", "a", "abc"}},
      {"a search",
       1,
       kUnbounded,
       [](GrammarBuilder& b, bool json) {
         const NodeId any = b.Star(Class(b, CodePointSet::All(), json));
         return b.Sequence({any, Class(b, CodePointSet{{'0', '9'}}, json), any});
       },
       {"", "x", "x1", "\xC3\xA9"}},
      {"two digits at the end",
       2,
       kUnbounded,
       [](GrammarBuilder& b, bool json) {
         const NodeId digit = Class(b, CodePointSet{{'0', '9'}}, json);
         return b.Sequence({b.Star(Class(b, CodePointSet::All(), json)), digit, digit});
       },
       {"", "x1", "12"}},
      {"even lengths",
       0,
       kUnbounded,
       [](GrammarBuilder& b, bool json) {
         const NodeId any = Class(b, CodePointSet::All(), json);
         return b.Star(b.Sequence({any, any}));
       },
       {"", "a", "ab"}},
      {"counts of its own",
       3,
       9,
       [](GrammarBuilder& b, bool json) {
         return b.Repeat(Class(b, CodePointSet{{'a', 'f'}, {'0', '9'}}, json), 3, 9);
       },
       {"", "a0", "a0b1c2"}},
      {"words",
       1,
       kUnbounded,
       [](GrammarBuilder& b, bool json) {
         const NodeId space = b.Repeat(Class(b, CodePointSet{{' ', ' '}}, json), 1, kUnbounded);
         const NodeId word = b.Repeat(Class(b, CodePointSet{{'!', '~'}}, json), 1, kUnbounded);
         return b.Sequence({b.Repeat(b.Sequence({word, space}), 0, 9), word});
       },
       {"", "a", "a b ", "a b c d e f g h"}},
      {"long ways to short words",
       2,
       3,
       [](GrammarBuilder& b, bool json) {
         // In bytes the first is the shorter, in characters the second.
         return b.Choice({b.Sequence({Class(b, CodePointSet{{'a', 'a'}}, json),
                                      Class(b, CodePointSet{{'b', 'b'}}, json),
                                      Class(b, CodePointSet{{'c', 'c'}}, json)}),
                          b.Sequence({Class(b, CodePointSet{{'a', 'a'}}, json),
                                      Class(b, CodePointSet{{0x1F642, 0x1F642}}, json)})});
       },
       {"", "a"}},
  };
}

// Every length left, each checked against trying all tokens.
TEST(CountedMask, BesidePatterns) {
  const auto vocab = MakeVocab(Tokens());
  for (const bool json : {false, true}) {
    for (const Pattern& pattern : Patterns()) {
      MaskWorld w(vocab);
      for (const auto& [least, most] : std::vector<std::pair<int64_t, int64_t>>{
               {0, 3}, {0, 5}, {0, 12}, {2, 5}, {6, 6}, {0, 16}, {0, 17}, {1, 40}, {30, 40}}) {
        if (most < pattern.shortest || least > pattern.longest) continue;
        const SetId start = w.Start([&, least = least, most = most](GrammarBuilder& b) {
          const NodeId loop = b.Repeat(Class(b, CodePointSet::All(), json), least, most);
          const NodeId both = b.And({loop, pattern.make(b, json)});
          return json ? b.Sequence({b.Bytes("\""), both, b.Bytes("\""),
                                    b.Star(b.Class(CodePointSet{{' ', ' '}, {',', ','}}))})
                      : both;
        });
        for (const std::string& text : pattern.texts) {
          const SetId set = w.sets().Run(start, (json ? "\"" : "") + text);
          if (set == SetTable::Dead()) continue;  // longer than the bound
          w.Check(set, std::string(pattern.name) + (json ? " in JSON, " : ", ") +
                           std::to_string(least) + " to " + std::to_string(most) + " after '" +
                           text + "'");
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// More tokens end in the loop than are kept as lists.
TEST(CountedMask, ManyTokens) {
  const auto vocab = MakeVocab(
      ManyTokens({"\xC3", "a\xC3", "1\xC3\xA9\xC3", "\x97", "\\u003", "\\u0031", "ab\",1"}, 13,
                 "aabbccddx019 \"\xC3\xA9\xE6\x97\xA5", 30000, 9));
  for (const bool json : {false, true}) {
    MaskWorld w(vocab);
    for (const auto& [least, most] :
         std::vector<std::pair<int64_t, int64_t>>{{0, 3}, {5, 5}, {7, 12}}) {
      const SetId start = w.Start([&, least = least, most = most](GrammarBuilder& b) {
        const NodeId any = b.Star(Class(b, CodePointSet::All().Minus({{'"', '"'}}), json));
        const NodeId digits = b.Repeat(Class(b, CodePointSet{{'0', '9'}}, json), 2, kUnbounded);
        return b.Sequence({b.And({b.Repeat(Class(b, CodePointSet::All(), json), least, most),
                                  b.Sequence({any, digits, any})}),
                           b.Bytes("\"")});
      });
      for (const char* text : {"", "a", "1", "x12", "\xC3\xA9 0"}) {
        const SetId set = w.sets().Run(start, text);
        if (set == SetTable::Dead()) continue;
        w.Check(set, std::to_string(json) + std::to_string(most) + " after " + text);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Long enough tokens of few letters that walks go from node to node, none of which is no UTF-8; the
// last of the trie is of whole characters.
std::vector<std::string> WholeTokens() {
  std::vector<std::string> tokens =
      ManyTokens({"\\u0031", "ab\",1", "]b", "\xC3\xA9\xC3\xA9", "b\xC3\xA9\x31\xC3\xA9]",
                  "\xE6\x97\xA5\xE6\x97\xA5\xE6\x97\xA5", "\xE6\x97\xA5\xE6\x97\xA5", "1]]]b",
                  "bx1\xC3\xA9", "cc1\xC3\xA9\x61", "d0\xC3\xA9\xC3\xA9"},
                 17, "aabbccddx01]\"", 30000, 9);
  std::erase_if(tokens, [](const std::string& t) { return t.size() == 1 && (t[0] & 0x80) != 0; });
  return tokens;
}

// The state may be finished at any place, or once a digit has been read: tokens leave over what the
// caller goes on with.
TEST(CountedMask, EscapesFromLoops) {
  const auto vocab = MakeVocab(WholeTokens());
  using Make = NodeId (*)(ContentMaker);
  constexpr int64_t kShortest[] = {1, 0, 0, 1, 1, 3, 3};
  constexpr Make kPatterns[] = {
      [](ContentMaker m) { return m.With(m.Of({{'0', '9'}})); },
      [](ContentMaker m) { return m.b.Optional(m.With(m.Of({{'0', '9'}}))); },
      [](ContentMaker m) { return m.b.Sequence({m.Any(), m.b.Star(m.Of({{'0', '9'}}))}); },
      [](ContentMaker m) {
        return m.b.Sequence({m.Any(), m.Of({{'0', '1'}}), m.b.Star(m.Of({{'0', '9'}}))});
      },
      // After a digit any text of ASCII is one, of others not.
      [](ContentMaker m) {
        return m.b.Sequence(
            {m.Any(), m.Of({{'0', '9'}}), m.b.Star(m.Of({{' ', '!'}, {'#', '~'}}))});
      },
      // The one digit there may be is followed by so many characters.
      [](ContentMaker m) {
        const NodeId others = m.Of(CodePointSet::All().Minus({{'"', '"'}, {'0', '9'}}));
        return m.b.Sequence({m.b.Star(others), m.Of({{'0', '9'}}), m.b.Repeat(others, 2, 2)});
      },
      [](ContentMaker m) {
        const NodeId others = m.Of(CodePointSet::All().Minus({{'"', '"'}, {'0', '9'}}));
        return m.b.Sequence(
            {m.b.Star(others), m.Of({{'0', '9'}}), m.b.Repeat(others, 2, kUnbounded)});
      },
  };
  for (const bool json : {false, true}) {
    for (size_t p = 0; p < std::size(kPatterns); ++p) {
      for (const bool quote : {false, true}) {
        MaskWorld w(vocab);
        for (const auto& [least, most] : std::vector<std::pair<int64_t, int64_t>>{
                 {0, 2}, {0, 5}, {0, 9}, {3, 3}, {4, 7}, {6, 6}}) {
          if (most < kShortest[p]) continue;
          const SetId start = w.Start([&, least = least, most = most](GrammarBuilder& b) {
            ContentMaker m{b, json};
            const RuleId item = b.AddRule("item");
            const NodeId both = b.And({b.Repeat(m.One(), least, most), kPatterns[p](m)});
            // A loop after the quote, of what the one before it has, too.
            const NodeId end = b.Sequence(
                {b.Bytes("\""), b.Star(b.Class(CodePointSet{{'a', 'b'}})), b.Bytes("]")});
            b.SetBody(item, quote ? b.Sequence({both, end}) : both);
            return b.Sequence(
                {b.Rule(item), b.Star(b.Class(CodePointSet{{']', ']'}, {'a', 'b'}}))});
          });
          for (const char* text : {"", "a", "1", "1ab", "\xC3\xA9"}) {
            const SetId set = w.sets().Run(start, text);
            if (set == SetTable::Dead()) continue;
            w.Check(set, "pattern " + std::to_string(p) + (json ? " json " : " raw ") +
                             std::to_string(least) + " to " + std::to_string(most) + " after '" +
                             text + "'");
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// A count alone, of characters that are not most of all.
TEST(CountedMask, Alone) {
  const auto vocab = MakeVocab(Tokens());
  const CodePointSet classes[] = {{{'a', 'f'}, {0xE9, 0xE9}},
                                  {{'a', 'f'}, {'\\', '\\'}, {'n', 'n'}, {0x80, 0x10FFFF}}};
  for (const CodePointSet& x : classes) {
    MaskWorld w(vocab);
    for (int64_t most = 1; most < 14; ++most) {
      for (int64_t least : {int64_t{0}, int64_t{1}, most}) {
        const SetId start = w.Start([&](GrammarBuilder& b) {
          return b.Sequence({b.Repeat(b.Class(x), least, most), b.Bytes("\""),
                             b.Star(b.Class(CodePointSet{{',', ','}, {'a', 'b'}}))});
        });
        w.CheckAlong(start, std::string(static_cast<size_t>(most), 'b') + "\"a",
                     std::to_string(least) + " to " + std::to_string(most));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Rounds of several bytes, also such that begin with a loop of their own, which is in its first
// state again in the middle of a round.
TEST(CountedMask, LongRounds) {
  const auto vocab = MakeVocab(Tokens());
  for (int64_t inner : {int64_t{3}, int64_t{9}, kUnbounded}) {
    MaskWorld w(vocab);
    for (int64_t most : {1, 2, 5}) {
      const SetId start = w.Start([&](GrammarBuilder& b) {
        const NodeId round =
            b.Sequence({b.Repeat(b.Class(CodePointSet{{'a', 'b'}}.Complement()), 0, inner),
                        b.Bytes("a"), b.Class(CodePointSet{{'a', 'b'}})});
        return b.Repeat(round, 0, most);
      });
      w.CheckAlong(start, "12aa", std::to_string(inner) + " in " + std::to_string(most));
      if (HasFatalFailure()) return;
    }
  }
}

// The last character is of another class, as in `[a-c-]{0,9}[a-c]`: within that of the loop, or
// not. What is optional, what has a least length, what is followed by nothing.
TEST(CountedMask, LastRoundOfItsOwn) {
  const auto vocab = MakeVocab(Tokens());
  const CodePointSet lasts[] = {{{'a', 'c'}, {'0', '3'}, {0xE9, 0xE9}},
                                {{'a', 'f'}, {'0', '9'}, {'-', '-'}, {0xE9, 0xE9}},
                                {{'a', 'f'}, {'x', 'x'}}};
  for (const bool json : {false, true}) {
    for (const CodePointSet& last : lasts) {
      for (const int shape : {0, 1, 2}) {
        MaskWorld w(vocab);
        for (int64_t most = 1; most < 22; most += most < 6 ? 1 : 5) {
          for (int64_t least : {int64_t{0}, int64_t{1}, most}) {
            const SetId start = w.Start([&](GrammarBuilder& b) {
              const CodePointSet x = {{'a', 'f'}, {'0', '9'}, {'-', '-'}, {0xE9, 0xE9}};
              NodeId body =
                  b.Sequence({b.Repeat(Class(b, x, json), least, most), Class(b, last, json)});
              if (shape > 0) body = b.Optional(body);
              if (shape == 2) return body;
              const RuleId item = b.AddRule("item");
              b.SetBody(item, b.Sequence({body, b.Bytes("\"")}));
              return b.Sequence(
                  {b.Rule(item), b.Star(b.Class(CodePointSet{{',', ','}, {'a', 'b'}}))});
            });
            w.CheckAlong(start, std::string(static_cast<size_t>(most), 'b') + "a",
                         std::to_string(least) + " to " + std::to_string(most) + ", shape " +
                             std::to_string(shape) + (json ? " in JSON" : ""));
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// A hyphen after letters and digits may be spelled as these are, up to its last digits; so may what
// is a letter itself.
TEST(CountedMask, LeftInsideACharacter) {
  const auto vocab = MakeVocab(ManyTokens(
      {"\\u002d", "\\u002D", "\\u002", "a\\u00", "b\\u002d", "ab\\u002d1", "\\u0061",
       "\\u0061\\u002d", "\\u006", "d", "-\\u0031", "002d", "ab\\", "aaaa\\u002", "\\u002dab\","},
      17, "abcdef0123-\\u06\",", 3000, 9));
  for (const char* after : {"-", "b", "--b", "-\n"}) {
    for (const bool beside : {false, true}) {
      for (int64_t most : {1, 2, 3, 4, 5, 8, 12, 18}) {
        for (int64_t least : {int64_t{0}, int64_t{1}, most}) {
          MaskWorld w(vocab);
          const SetId start = w.Start([&](GrammarBuilder& b) {
            const NodeId x = b.JsonClass({{'a', 'f'}, {'0', '9'}});
            NodeId loop = b.Repeat(x, least, most);
            if (beside) loop = b.And({loop, b.Sequence({b.Star(x), b.JsonClass({{'0', '9'}})})});
            const RuleId item = b.AddRule("item");
            b.SetBody(item,
                      b.Sequence({loop, b.JsonText(after), b.Repeat(x, 2, 2), b.Bytes("\"")}));
            return b.Sequence(
                {b.Rule(item), b.Star(b.Class(CodePointSet{{',', ','}, {'a', 'b'}}))});
          });
          for (const std::string end : {"", "\\u00", "\\u003"}) {
            w.CheckAlong(start, std::string(static_cast<size_t>(most - 1), 'c') + end,
                         std::to_string(least) + " to " + std::to_string(most) + " before " +
                             after + (beside ? " beside a pattern" : ""));
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// Strings that end in something, under a bound: after some characters these are `X{0,b} Q`, or a
// choice of such and of what has begun.
TEST(CountedMask, EndsOfSoManyCharacters) {
  const auto vocab =
      MakeVocab(ManyTokens({"\\u0061", "\\u006", "b\\u0061", "a\\u00", "\\u0061\"", "ab\"", "a\",",
                            "b\",\n", "\xC3\xA9\"", "\xC3\xA9\xC3\xA9\xC3\xA9", "aaaaaaaaaaaaaaaa",
                            "xabab\",", "abab", "01 23", "  ", "a b c"},
                           19, "aabb01 \"\\,x\xC3\xA9", 4000, 9));
  using Make = NodeId (*)(ContentMaker);
  struct Case {
    Make make;
    int64_t shortest;
  };
  const Case cases[] = {
      {[](ContentMaker m) { return m.b.Sequence({m.Any(), m.Of({{'a', 'a'}})}); }, 1},
      {[](ContentMaker m) {
         return m.b.Sequence({m.Any(), m.Of({{'a', 'a'}}), m.Of({{'b', 'b'}}), m.Of({{'a', 'b'}})});
       },
       3},
      // No space at the beginning or the end.
      {[](ContentMaker m) {
         const CodePointSet others = CodePointSet::All().Minus({{' ', ' '}, {'"', '"'}});
         return m.b.Sequence({m.Of(others), m.Any(), m.Of(others)});
       },
       2},
      {[](ContentMaker m) {
         const CodePointSet others = CodePointSet::All().Minus({{' ', ' '}, {'"', '"'}});
         return m.b.Sequence({m.Of(others), m.b.Optional(m.b.Sequence({m.Any(), m.Of(others)}))});
       },
       1},
      // One of several, in the middle: of five characters or of two.
      {[](ContentMaker m) {
         auto a = [&] { return m.Of({{'a', 'a'}}); };
         auto b = [&] { return m.Of({{'b', 'b'}}); };
         return m.b.Sequence({m.Any(),
                              m.b.Choice({m.b.Sequence({a(), b(), a(), b(), a()}),
                                          m.b.Sequence({m.Of({{0xE9, 0xE9}}), b()})}),
                              m.Any()});
       },
       2},
      // Pairs of digits behind three.
      {[](ContentMaker m) {
         auto digits = [&](int64_t n) { return m.b.Repeat(m.Of({{'0', '9'}, {'a', 'f'}}), n, n); };
         return m.b.Sequence({digits(3), m.b.Optional(digits(2))});
       },
       3},
  };
  for (const bool json : {true, false}) {
    for (size_t c = 0; c < std::size(cases); ++c) {
      for (const auto& [least, most] : std::vector<std::pair<int64_t, int64_t>>{
               {0, 3}, {0, 5}, {0, 8}, {0, 13}, {4, 8}, {0, 24}, {6, 30}}) {
        if (least > 5 && c == 5) continue;
        MaskWorld w(vocab);
        const SetId start = w.Start([&, least = least, most = most](GrammarBuilder& b) {
          ContentMaker m{b, json};
          return b.Sequence({b.And({b.Repeat(m.One(), least, most), cases[c].make(m)}),
                             b.Bytes("\""), b.Star(b.Class(CodePointSet{{',', ','}, {'a', 'b'}}))});
        });
        for (const char* text : {"", "a", "ab", "x a", "aba", "\xC3\xA9", "a\\u00", "abababa"}) {
          const SetId set = w.sets().Run(start, text);
          if (set == SetTable::Dead()) continue;
          w.Check(set, "case " + std::to_string(c) + (json ? " json " : " raw ") +
                           std::to_string(least) + " to " + std::to_string(most) + " after '" +
                           text + "'");
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Tokens as long as the bound and longer, in numbers: of a search, which most of a token leaves
// where it is, and of a pattern that any text stays in.
TEST(CountedMask, ManyLongTokens) {
  const auto vocab =
      MakeVocab(ManyTokens({"\xC3\xA9\xC3\xA9", "a\xC3", "\\u0031", "\\n\\n", "ab\",1"}, 23,
                           "aaabbbc1 \xC3\xA9\"", 12000, 40));
  using Make = NodeId (*)(ContentMaker);
  const Make patterns[] = {
      [](ContentMaker m) { return m.With(m.Of({{'0', '9'}})); },
      [](ContentMaker m) {
        return m.With(m.b.Sequence({m.Of({{'b', 'b'}}), m.Of({{'0', '9'}}), m.Of({{'b', 'c'}})}));
      },
      [](ContentMaker m) { return m.b.Sequence({m.Of({{'a', 'z'}}), m.Any()}); },
  };
  for (const bool json : {true, false}) {
    for (const Make& make : patterns) {
      for (int64_t most : {17, 18, 22, 29, 37, 39}) {
        MaskWorld w(vocab);
        const SetId start = w.Start([&](GrammarBuilder& b) {
          ContentMaker m{b, json};
          return b.Sequence({b.And({b.Repeat(m.One(), 0, most), make(m)}), b.Bytes("\""),
                             b.Star(b.Class(CodePointSet{{',', ','}, {'a', 'b'}}))});
        });
        for (const char* text : {"", "a", "ab1", "b1"}) {
          const SetId set = w.sets().Run(start, text);
          if (set == SetTable::Dead()) continue;
          w.Check(set, std::string(json ? "json " : "raw ") + std::to_string(most) + " after '" +
                           text + "'");
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Tokens of more characters than a byte counts, in numbers.
TEST(CountedMask, TokensOfMoreThanAByteCounts) {
  const auto vocab =
      MakeVocab(ManyTokens({"ab\"", "\"", "\xC3", "a\xC3"}, 29, "aabbccddx019 ", 12000, 300));
  for (const int64_t most : {12, 60, 254, 255, 256, 270}) {
    MaskWorld w(vocab);
    const SetId start = w.Start([&](GrammarBuilder& b) {
      const CodePointSet some{{'a', 'd'}, {'0', '9'}, {'x', 'x'}, {' ', ' '}};
      return b.Sequence({b.And({b.Repeat(Class(b, CodePointSet::All(), false), 7, most),
                                b.Repeat(Class(b, some, false), 3, 300)}),
                         b.Bytes("\"")});
    });
    for (const char* text : {"", "a", "x12"}) {
      w.Check(w.sets().Run(start, text), std::to_string(most) + " after " + text);
      if (HasFatalFailure()) return;
    }
  }
}

// A loop whose end does not show in a byte of its own, and one that ends in another's beginning.
TEST(CountedMask, WhatFollowsBeginsAlike) {
  const auto vocab = MakeVocab(Tokens());
  MaskWorld w(vocab);
  for (int64_t most : {2, 4, 7}) {
    const SetId start = w.Start([&](GrammarBuilder& b) {
      const NodeId letters = b.Star(b.Class(CodePointSet{{'a', 'c'}}));
      return b.Sequence(
          {b.And({b.Repeat(b.Class(CodePointSet{{'a', 'f'}}), 0, most), b.Not(b.Bytes("ab"))}),
           letters, b.Bytes("-")});
    });
    w.CheckAlong(start, std::string(static_cast<size_t>(most), 'd') + "ab-", std::to_string(most));
    if (HasFatalFailure()) return;
  }
}

// What is excluded comes after a quote; the mask before it is that of the string without.
TEST(CountedMask, ExclusionsBehindAQuote) {
  const auto vocab = MakeVocab(Tokens());
  MaskWorld w(vocab);
  const SetId start = w.Start([](GrammarBuilder& b) {
    return b.Sequence({b.Bytes("\""),
                       b.And({b.Star(b.JsonClass(CodePointSet{{'a', 'f'}, {'0', '9'}})),
                              b.Not(b.JsonText("ab")), b.Not(b.JsonText("0123"))}),
                       b.Bytes("\""), b.Star(b.Bytes(","))});
  });
  w.CheckAlong(start, "\"abc\",", "without ab and 0123");
}

// A loop of one round or more has the mask of that of any number, but for what ends it at once.
TEST(CountedMask, OneOrMore) {
  const auto vocab = MakeVocab(WholeTokens());
  for (const bool json : {false, true}) {
    for (const char* rest : {"\"", "", "a\"", "-a"}) {
      for (const bool narrow : {false, true}) {
        MaskWorld w(vocab);
        auto start_of = [&](int64_t least) {
          return w.Start([&](GrammarBuilder& b) {
            ContentMaker m{b, json};
            const RuleId item = b.AddRule("item");
            const NodeId x = narrow ? m.Of({{'0', '9'}}) : m.Of({{'a', 'z'}, {'0', '9'}});
            b.SetBody(item, b.Sequence({b.Repeat(x, least, kUnbounded), m.b.Bytes(rest),
                                        b.Optional(b.Bytes(","))}));
            return b.Sequence(
                {b.Rule(item), b.Star(b.Class(CodePointSet{{'a', 'b'}, {'}', '}'}}))});
          });
        };
        const SetId one = start_of(1), any = start_of(0);
        const std::string what = std::string(json ? "json" : "raw") + " before " + rest;
        auto is_known = [&] {
          return std::ranges::any_of(w.sets().Body(any).items, [&](const Item& item) {
            return w.terms().attachment(item.term).load() != nullptr;
          });
        };
        EXPECT_FALSE(is_known());
        w.masks().OfSet(one);
        EXPECT_EQ(is_known(), !narrow) << what;
        w.CheckAlong(one, narrow ? "12" : "ab1", what);
        if (HasFatalFailure()) return;
        w.Check(any, what + ", any number");
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace grammask::internal
