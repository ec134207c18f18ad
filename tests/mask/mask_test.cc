// Masks against trying every token, on each of the ways by which they are made.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/sorted.h"
#include "mask_world.h"
#include "parser/random_grammar.h"

namespace grammask::internal {
namespace {

std::vector<std::string> LetterTokens() {
  std::vector<std::string> tokens = TextSets::Texts();
  tokens.resize(1 + 2 + 4 + 8);
  tokens.insert(tokens.end(), {"c", "ac", "ca", "ab", "\xFF"});
  return tokens;
}

// ---- random grammars ----

TEST(Mask, RandomGrammarsOverAllShortTokens) {
  const auto vocab = MakeVocab(LetterTokens());
  size_t masks = 0;
  for (uint64_t seed = 0; seed < 1200; ++seed) {
    const RandomGrammar random(seed);
    const Language& language = random.language();
    if (!language.productive) continue;
    MaskWorld w(vocab);
    const Grammar grammar = random.Build();
    const SetId start = w.Start(grammar);
    for (const std::string& text : TextSets::Texts()) {
      if (text.size() > 4) break;
      const SetId set = w.sets().Run(start, text);
      if (set == SetTable::Dead()) continue;
      std::vector<TokenId> expected;
      for (TokenId t = 0; t < vocab->size(); ++t) {
        const std::string token(vocab->bytes(t));
        if (token.empty() || token.find_first_not_of("ab") != std::string::npos) continue;
        if (language.prefixes[TextSets::IndexOf(text + token)]) expected.push_back(t);
      }
      ASSERT_EQ(w.Filled(set), expected) << grammar.ToString() << text;
      ++masks;
    }
  }
  EXPECT_GT(masks, 4000u);
}

TEST(Mask, ManyGrammarsInOneCache) {
  MaskWorld w(MakeVocab(LetterTokens()));
  std::vector<std::pair<SetId, std::string>> starts;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const RandomGrammar random(seed);
    if (!random.language().productive) continue;
    const Grammar grammar = random.Build();
    starts.push_back({w.Start(grammar), grammar.ToString()});
  }
  // Texts outside, grammars inside: each grammar meets what all others left.
  for (const std::string& text : TextSets::Texts()) {
    if (text.size() > 4) break;
    for (const auto& [start, what] : starts) {
      const SetId set = w.sets().Run(start, text);
      if (set == SetTable::Dead()) continue;
      ASSERT_EQ(w.Filled(set), AllowedByTrying(&w.sets(), w.vocab(), set)) << what << text;
    }
  }
}

// ---- split characters ----

TEST(Mask, TokensThatCutCharacters) {
  const std::vector<std::string> characters = {"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
  std::vector<std::string> tokens;
  for (const std::string& c : characters) {
    for (const std::string& d : characters) {
      const std::string both = c + d;
      for (size_t from = 0; from < both.size(); ++from) {
        for (size_t to = from + 1; to <= both.size(); ++to)
          tokens.push_back(both.substr(from, to - from));
      }
    }
  }
  const auto vocab = MakeVocab(tokens);
  std::mt19937 random(4);
  constexpr uint32_t kPoints[] = {'a', 0xE9, 0x20AC, 0x1F600, 0xEA, 0x20AD, 0x1F601, 0x800};
  for (int round = 0; round < 40; ++round) {
    std::vector<CodePointRange> ranges;
    for (uint32_t c : kPoints) {
      if (random() % 2 == 0) ranges.push_back({c, c + static_cast<uint32_t>(random() % 3)});
    }
    const CodePointSet set(ranges);
    if (set.empty()) continue;
    MaskWorld w(vocab);
    const int64_t min = random() % 3, max = min + 1 + random() % 4;
    const bool json = round % 3 == 0;
    const SetId start = w.Start([&](GrammarBuilder& b) {
      const NodeId c = json ? b.JsonClass(set) : b.Class(set);
      return b.Sequence({b.Repeat(c, min, round % 2 == 0 ? max : kUnbounded),
                         b.Bytes(round % 4 == 1 ? "" : "a")});
    });
    // All texts of two tokens.
    std::vector<SetId> level = {start};
    for (int depth = 0; depth < 2; ++depth) {
      std::vector<SetId> next;
      for (SetId at : level) {
        w.Check(at, "round " + std::to_string(round));
        if (HasFatalFailure()) return;
        for (TokenId t : AllowedByTrying(&w.sets(), w.vocab(), at)) {
          const SetId to = w.sets().Run(at, w.vocab().bytes(t));
          if (std::ranges::find(next, to) == next.end()) next.push_back(to);
        }
      }
      level = std::move(next);
    }
  }
}

// ---- loops over characters ----

std::vector<std::string> WordTokens() {
  std::vector<std::string> tokens = {"\"",
                                     "\",",
                                     "\"}",
                                     "\"]",
                                     "a\"",
                                     "ab\",",
                                     "\\",
                                     "\\n",
                                     "a\\",
                                     "\\u",
                                     "\\u00",
                                     "\\u0041",
                                     "\\\"",
                                     "\\\\",
                                     "\n",
                                     " ",
                                     " a",
                                     "admin",
                                     "root",
                                     "admi",
                                     "n",
                                     "adm",
                                     "in",
                                     "user",
                                     "0",
                                     "12",
                                     "a1",
                                     "1a",
                                     "!",
                                     "a!",
                                     ",",
                                     "}",
                                     "!!",
                                     "aaa",
                                     "Zz",
                                     "zZ9",
                                     "\xC3",
                                     "\xA9",
                                     "\xC3\xA9",
                                     "\xE2\x82",
                                     "\xAC",
                                     "\xE2\x82\xAC\"",
                                     "\xF0\x9F\x98\x80",
                                     "\xFF"};
  for (size_t n = 1; n <= 24; ++n) {
    tokens.push_back(std::string(n, 'x'));
    tokens.push_back(std::string(n, 'y') + "\"");
    if (n % 3 == 0) tokens.push_back(std::string(n, 'z') + "9");
    if (n % 4 == 0)
      tokens.push_back(std::string(n / 2, 'w') + "\xC3\xA9" + std::string(n / 2, 'w'));
  }
  tokens.push_back(std::string(60, 'x'));
  return tokens;
}

TEST(Mask, StringsOfBoundedLength) {
  const auto vocab = MakeVocab(WordTokens());
  MaskWorld w(vocab);
  for (int64_t max : {0, 1, 2, 3, 5, 12, 23, 24, 25, 26, 59, 60, 61, 62, 90, 130}) {
    for (int64_t min : {int64_t{0}, int64_t{1}, max / 2, max}) {
      if (min > max) continue;
      const SetId start = w.Start([&](GrammarBuilder& b) {
        return b.Sequence(
            {b.Bytes("\""), b.Repeat(b.JsonClass(CodePointSet::All()), min, max), b.Bytes("\"")});
      });
      SetId set = w.sets().Step(start, '"');
      for (int64_t n = 0; n <= max; ++n) {
        w.Check(set,
                std::to_string(min) + ".." + std::to_string(max) + " after " + std::to_string(n));
        if (HasFatalFailure()) return;
        set = w.sets().Step(set, 'x');
      }
      EXPECT_EQ(set, SetTable::Dead());
    }
  }
}

// What follows the loop, and whether the rule may end, decide whether a slice may be taken whole.
TEST(Mask, LoopsBeforeAnyKindOfRest) {
  const auto vocab = MakeVocab(WordTokens());
  std::mt19937 random(17);
  const CodePointSet letters{{'a', 'z'}, {'A', 'Z'}}, lower{{'a', 'z'}}, digits{{'0', '9'}};
  const CodePointSet any = CodePointSet::All().Minus({{'"', '"'}});
  for (int round = 0; round < 150; ++round) {
    MaskWorld w(vocab);
    GrammarBuilder b;
    const unsigned kind = random() % 5;
    const NodeId x = kind == 0   ? b.JsonClass(CodePointSet::All())
                     : kind == 1 ? b.Class(any)
                     : kind == 2 ? b.Class(letters)
                     : kind == 3 ? b.Class(lower.Union(digits))
                                 : b.ByteClass(~ByteSet::Of('"'));
    constexpr int64_t kMax[] = {1, 2, 4, 20, 24, 59, 60, 61, 200, kUnbounded};
    const int64_t max = kMax[random() % std::size(kMax)];
    const int64_t min = random() % 3 == 0 ? std::min<int64_t>(max, random() % 5) : 0;
    const NodeId words[] = {b.Bytes("admin"), b.Bytes("root"), b.Bytes("xx"), b.Empty()};
    NodeId loop = b.Repeat(x, min, max);
    const unsigned cut = random() % 4;
    if (cut == 0) loop = b.And({loop, b.Not(b.Choice({words[random() % 3], words[random() % 4]}))});
    if (cut == 1) loop = b.And({loop, b.Repeat(b.Class(any), 0, kMax[random() % 9])});
    const RuleId item = b.AddRule("item"), tail = b.AddRule("tail"), root = b.AddRule("root");
    b.SetBody(tail, b.Choice({b.Bytes("!"), b.Sequence({b.Bytes("a"), b.Rule(tail)})}));
    const NodeId rests[] = {b.Bytes("\""),
                            b.Empty(),
                            b.Bytes("a!"),
                            b.Optional(b.Bytes("\"")),
                            b.Rule(tail),
                            b.Sequence({b.Class(digits), b.Bytes("\"")}),
                            b.Star(b.Bytes("9")),
                            b.Choice({b.Bytes("\""), b.Sequence({b.Class(lower), b.Bytes("!")})})};
    b.SetBody(item, b.Sequence({loop, rests[random() % std::size(rests)]}));
    // With and without callers that go on.
    const NodeId then[] = {b.Empty(), b.Bytes(","), b.Class(letters), b.Bytes("\"}")};
    b.SetBody(root, b.Sequence({b.Rule(item), then[random() % 4], b.Optional(b.Rule(item)),
                                then[random() % 4]}));
    const StatusOr<Grammar> grammar = b.Finish(root);
    ASSERT_TRUE(grammar.ok());
    TermStore scratch({}, 16);
    if (!BuildTerms(*grammar, &scratch).ok()) continue;
    SetId set = w.Start(*grammar);
    std::string text;
    for (int step = 0; step < 9; ++step) {
      w.Check(set, grammar->ToString() + "after \"" + text + "\"");
      if (HasFatalFailure()) return;
      const auto allowed = AllowedByTrying(&w.sets(), w.vocab(), set);
      if (allowed.empty()) break;
      const TokenId token = allowed[random() % allowed.size()];
      text += w.vocab().bytes(token);
      set = w.sets().Run(set, w.vocab().bytes(token));
    }
  }
}

// Searches, choices and intersections of loops: which characters leave everything possible?
TEST(Mask, SearchesAndIntersectionsOfLoops) {
  const auto vocab = MakeVocab(WordTokens());
  std::mt19937 random(23);
  for (int round = 0; round < 150; ++round) {
    GrammarBuilder b;
    const CodePointSet sets[] = {CodePointSet::All(),
                                 CodePointSet::All().Minus({{'"', '"'}, {'x', 'x'}}),
                                 CodePointSet{{0x20, 0x10FFFF}}};
    const bool json = random() % 3 == 0;
    auto character = [&](size_t i) { return json ? b.JsonClass(sets[i]) : b.Class(sets[i]); };
    auto any = [&] { return b.Repeat(character(random() % 3), random() % 3, kUnbounded); };
    auto literal = [&] {
      constexpr const char* kTexts[] = {"a", "w", "xx", "admin", "9", "\xC3\xA9", "yyyy"};
      return b.Bytes(kTexts[random() % std::size(kTexts)]);
    };
    auto part = [&]() -> NodeId {
      switch (random() % 7) {
        case 0:
          return any();
        case 1:
        case 2:
          return b.Sequence({any(), literal(), any()});
        case 3:
          return b.Choice({any(), b.Sequence({literal(), any(), literal()})});
        case 4:
          return b.Not(b.Choice({literal(), literal()}));
        case 5:
          return b.Not(b.Sequence({any(), literal(), any()}));
        default:
          return b.Sequence({b.And({any(), b.Not(literal())}), literal(), any()});
      }
    };
    std::vector<NodeId> parts = {any()};
    for (size_t i = 0, n = random() % 3; i < n; ++i) parts.push_back(part());
    if (random() % 3 == 0) {
      parts.push_back(
          b.Repeat(character(0), random() % 4, static_cast<int64_t>(4 + random() % 90)));
    }
    NodeId body = b.And(parts);
    if (random() % 3 == 0) body = b.Choice({body, b.Sequence({part(), literal()})});
    const RuleId item = b.AddRule("item"), root = b.AddRule("root");
    b.SetBody(item, b.Sequence({body, random() % 2 == 0 ? b.Empty() : b.Bytes("\"")}));
    b.SetBody(root, b.Sequence({b.Rule(item), random() % 2 == 0 ? b.Empty() : b.Bytes("\",")}));
    const StatusOr<Grammar> grammar = b.Finish(root);
    ASSERT_TRUE(grammar.ok());
    TermStore scratch({}, 16);
    if (!BuildTerms(*grammar, &scratch).ok()) continue;
    MaskWorld w(vocab);
    SetId set = w.Start(*grammar);
    std::string text;
    for (int step = 0; step < 10; ++step) {
      w.Check(set, grammar->ToString() + "after \"" + text + "\"");
      if (HasFatalFailure()) return;
      const auto allowed = AllowedByTrying(&w.sets(), w.vocab(), set);
      if (allowed.empty()) break;
      const TokenId token = allowed[random() % allowed.size()];
      text += w.vocab().bytes(token);
      set = w.sets().Run(set, w.vocab().bytes(token));
    }
  }
}

// Tokens by the thousand, so that walks are long: all short texts of some characters, and random
// ones.
std::vector<std::string> ManyTokens() {
  constexpr std::string_view kCharacters = "abcdefgh. 1%";
  std::vector<std::string> tokens = {"\"",
                                     "\",",
                                     "a\"",
                                     "\\n",
                                     "a\\u00",
                                     "%a1",
                                     "\xC3\xA9",
                                     "b\xC3",
                                     "\xE6\x97\xA5",
                                     "\xE6\x97\xA5 a",
                                     "c\xC3\xA9"
                                     "d"};
  std::mt19937 random(29);
  for (char x : kCharacters) {
    for (char y : kCharacters) {
      for (char z : kCharacters) {
        tokens.push_back({x, y, z});
        for (int i = 0; i < 14; ++i) {
          std::string token = {x, y, z};
          for (size_t n = 1 + random() % 6; n > 0; --n) {
            token += kCharacters[random() % kCharacters.size()];
          }
          if (random() % 20 == 0) token += "abcab.1aabcdefgh1";
          if (random() % 20 == 0) token = {x, y, z, 'a'};
          if (token.size() == 4) token += " a a a a a a a a a a a a a";
          if (random() % 50 == 0) token += i % 2 == 0 ? "\xC3\xA9" : "\"";
          tokens.push_back(token);
        }
      }
    }
  }
  SortUnique(&tokens);
  return tokens;
}

// Characters that lead to one of several states, none of which they lead back to always: near
// bounds and far from them.
TEST(Mask, StatesToRoamAmong) {
  const auto vocab = MakeVocab(ManyTokens());
  const CodePointSet letters = {{'a', 'h'}, {'.', '.'}, {'1', '1'}};
  const CodePointSet any = CodePointSet::All().Minus({{'"', '"'}});
  const CodePointSet graph = any.Minus({{' ', ' '}});
  using Make = NodeId (*)(GrammarBuilder&, const CodePointSet&, const CodePointSet&);
  const Make patterns[] = {
      // Does not end in a dot.
      [](GrammarBuilder& b, const CodePointSet& some, const CodePointSet&) {
        return b.Sequence(
            {b.Repeat(b.Class(some), 0, kUnbounded), b.Class(some.Minus({{'.', '.'}}))});
      },
      // A search among characters and escapes of three.
      [](GrammarBuilder& b, const CodePointSet& some, const CodePointSet&) {
        const NodeId hex = b.Class({{'1', '1'}, {'a', 'f'}});
        const NodeId unit = b.Choice({b.Class(some), b.Sequence({b.Bytes("%"), hex, hex})});
        return b.And(
            {b.Repeat(unit, 0, kUnbounded),
             b.Sequence({b.Repeat(b.Class(CodePointSet::All()), 0, kUnbounded), b.Bytes("ab.1a"),
                         b.Repeat(b.Class(CodePointSet::All()), 0, kUnbounded)})});
      },
      // Words, a few of them.
      [](GrammarBuilder& b, const CodePointSet&, const CodePointSet& graph) {
        const NodeId word = b.Repeat(b.Class(graph), 1, kUnbounded);
        const NodeId space = b.Repeat(b.Bytes(" "), 1, kUnbounded);
        return b.Sequence({b.Repeat(b.Sequence({word, space}), 0, 12), word});
      },
      // Each letter leads to a state of its own: a range that it begins must end later.
      [](GrammarBuilder& b, const CodePointSet& some, const CodePointSet&) {
        std::vector<NodeId> elements = {b.Class(some.Minus({{'a', 'h'}}))};
        for (char32_t c = 'a'; c <= 'h'; ++c) {
          const NodeId range = b.Sequence({b.Bytes("-"), b.Class({{c, 'h'}})});
          elements.push_back(b.Sequence({b.Class({{c, c}}), b.Repeat(range, 0, 1)}));
        }
        return b.Repeat(b.Choice(elements), 0, kUnbounded);
      },
      // Two of one character must not meet.
      [](GrammarBuilder& b, const CodePointSet&, const CodePointSet& graph) {
        const NodeId all = b.Repeat(b.Class(CodePointSet::All()), 0, kUnbounded);
        return b.And({b.Repeat(b.Class(graph), 0, kUnbounded),
                      b.Not(b.Sequence({all, b.Bytes("bb"), all}))});
      },
  };
  constexpr std::pair<int64_t, int64_t> kBounds[] = {{0, kUnbounded}, {0, 40}, {9, 30}, {12, 12}};
  for (const Make& make : patterns) {
    for (const auto& [least, most] : kBounds) {
      MaskWorld w(vocab);
      SetId set = w.Start([&, least = least, most = most](GrammarBuilder& b) {
        const NodeId pattern = make(b, letters, graph);
        const NodeId text =
            most == kUnbounded ? pattern : b.And({pattern, b.Repeat(b.Class(any), least, most)});
        return b.Sequence({b.Bytes("\""), text, b.Bytes("\","), b.Bytes("end")});
      });
      const std::string what =
          "pattern " + std::to_string(&make - patterns) + ", up to " + std::to_string(most);
      for (const char* step : {"\"", "a", "b.1", "abcd", "fghabc", "eabcde", "gab"}) {
        set = w.sets().Run(set, step);
        if (set == SetTable::Dead()) break;
        w.Check(set, what + " after " + step);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// The same of so many characters that the states after them are taken for the one before, but for
// the hyphen of a range, or for a text that the loop reads, too.
TEST(Mask, StatesThatDifferInFewBytes) {
  constexpr std::string_view kCharacters = "aceg,b0-]";
  std::mt19937 random(31);
  std::vector<std::string> tokens = {"[", "\\", "\\u", "\\u00", "\\u002d", "2d", "2D", "61"};
  for (int i = 0; i < 729 * 14; ++i) {
    std::string token = {kCharacters[i % 9], kCharacters[i / 9 % 9], kCharacters[i / 81 % 9]};
    for (size_t n = random() % 6; n > 0; --n) token += kCharacters[random() % kCharacters.size()];
    if (random() % 20 == 0) token += "\xC3\xA9";
    if (random() % 40 == 0) token += "\\u00";
    tokens.push_back(token);
  }
  SortUnique(&tokens);
  const auto vocab = MakeVocab(tokens);
  using Make = NodeId (*)(GrammarBuilder&);
  const Make loops[] = {
      [](GrammarBuilder& b) {
        std::vector<NodeId> members = {b.JsonClass({{'0', '9'}, {',', ','}, {0x7F, 0x10FFFF}})};
        for (uint32_t c = 'a'; c <= 'z'; ++c) {
          const NodeId range = b.Sequence({b.JsonText("-"), b.JsonClass({{c, 'z'}})});
          members.push_back(b.Sequence({b.JsonClass(CodePointSet::Of(c)), b.Optional(range)}));
        }
        return b.Sequence({b.Star(b.Choice(members)), b.Optional(b.Bytes("-"))});
      },
      [](GrammarBuilder& b) {
        std::vector<NodeId> members = {b.JsonClass({{0x7F, 0x10FFFF}})};
        for (uint32_t c = 'a'; c <= 'z'; ++c) {
          const NodeId more = b.Sequence({b.JsonText("b"), b.JsonText("-")});
          members.push_back(b.Sequence({b.JsonClass(CodePointSet::Of(c)), b.Optional(more)}));
        }
        return b.Star(b.Choice(members));
      },
  };
  for (const Make& make : loops) {
    MaskWorld w(vocab);
    SetId set = w.Start(
        [&](GrammarBuilder& b) { return b.Sequence({b.Bytes("["), make(b), b.Bytes("]")}); });
    for (const char* step : {"[", "0", "g", "a-", ",", "e", "-", ",a"}) {
      const SetId next = w.sets().Run(set, step);
      if (next == SetTable::Dead()) continue;
      set = next;
      w.Check(set, "loop " + std::to_string(&make - loops) + " after " + step);
      if (HasFatalFailure()) return;
    }
  }
}

// A counted loop takes whole subtrees as long as its count lasts.
TEST(Mask, ACountedLoop) {
  const auto vocab = MakeVocab(WordTokens());
  const CodePointSet letters{{'a', 'z'}, {'A', 'Z'}};
  MaskWorld w(vocab);
  for (int64_t max : {3, 30, 70, 5, 61, 3}) {
    const SetId start = w.Start([&](GrammarBuilder& b) {
      return b.Sequence({b.Repeat(b.Class(letters), 1, max), b.Bytes("!")});
    });
    SetId set = start;
    for (int64_t n = 0; n <= max; ++n, set = w.sets().Step(set, 'x')) {
      w.Check(set, "up to " + std::to_string(max) + " after " + std::to_string(n));
      if (HasFatalFailure()) return;
    }
  }
}

// Loops on ASCII, on some characters beyond, on all of them, counted or beside a pattern: subtrees
// of the vocabulary's trie are taken whole only where each text in them may come.
TEST(Mask, LoopsBeyondAscii) {
  std::vector<std::string> tokens = WordTokens();
  const std::string parts[] = {"a",
                               "b c",
                               "\xC3\xA9",
                               "\xC2\xA0",
                               "\xE2\x80\xA8",
                               "\xE2\x82\xAC",
                               "\xE3\x80\x80",
                               "\xE4\xB8\xAD",
                               "\xF0\x9F\x98\x80",
                               "9"};
  for (const std::string& x : parts) {
    for (const std::string& y : parts) {
      tokens.push_back(x + y);
      for (const std::string& z : parts) {
        tokens.push_back(x + y + z);
        tokens.push_back((x + y + z).substr(0, x.size() + y.size() + z.size() - 1));
        tokens.push_back(z + x + y + z + x);
      }
    }
  }
  for (const char* odd : {"\x80", "\xA9x", "a\xFF", "\xC3", "\xE4\xB8", "\xF0\x9F"}) {
    tokens.push_back(odd);
  }
  SortUnique(&tokens);
  const auto vocab = MakeVocab(tokens);
  const CodePointSet no_space =
      CodePointSet::All().Minus({{' ', ' '}, {0xA0, 0xA0}, {0x2028, 0x2029}, {0x3000, 0x3000}});
  const CodePointSet kinds[] = {
      CodePointSet::All(), no_space, {{'a', 'z'}, {' ', ' '}}, {{'a', 'z'}, {0xE9, 0xE9}}};
  for (const CodePointSet& kind : kinds) {
    for (const bool json : {false, true}) {
      MaskWorld w(vocab);
      for (const int64_t most : {kUnbounded, int64_t{2}, int64_t{5}, int64_t{9}, int64_t{30}}) {
        for (const int64_t least : {int64_t{0}, int64_t{2}}) {
          for (const bool pattern : {false, true}) {
            const SetId start = w.Start([&](GrammarBuilder& b) {
              const NodeId x = json ? b.JsonClass(kind) : b.Class(kind);
              const NodeId any =
                  json ? b.JsonClass(CodePointSet::All()) : b.Class(CodePointSet::All());
              const NodeId loop = b.Repeat(x, least, most);
              if (!pattern) return b.Sequence({loop, b.Bytes("\"")});
              const NodeId c = json ? b.JsonText("c") : b.Bytes("c");
              return b.Sequence({b.And({loop, b.Sequence({b.Star(any), c, b.Star(x)})}),
                                 b.Choice({b.Bytes("\""), b.Bytes("b")})});
            });
            for (const char* text : {"", "a", "c", "aac", "aaaa", "c\xC3\xA9\xC3\xA9"}) {
              const SetId set = w.sets().Run(start, text);
              if (set == SetTable::Dead()) continue;
              w.Check(set, std::string(text) + " of " + std::to_string(least) + ".." +
                               std::to_string(most) + (pattern ? " and c" : ""));
              if (HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}

// Bounds beside a pattern: masks are shared only where no token comes near the bound.
TEST(Mask, BoundsBesideAPattern) {
  const auto vocab = MakeVocab(WordTokens());
  MaskWorld w(vocab);
  for (int64_t max : {6, 7, 10, 24, 30, 55, 62, 70}) {
    const SetId start = w.Start([&](GrammarBuilder& b) {
      const NodeId letter = b.Class(CodePointSet{{'a', 'z'}});
      const NodeId pattern = b.Sequence({b.Repeat(letter, 1, kUnbounded), b.Bytes("9"),
                                         b.Star(b.Choice({letter, b.Bytes("0")})), b.Bytes("y")});
      return b.And(
          {pattern, b.Repeat(b.Class(CodePointSet::All()), 0, max), b.Not(b.Bytes("xx9y"))});
    });
    for (const char* text : {"x", "xx9", "xxx90000", "zzz9"}) {
      const std::string prefix = text;
      if (static_cast<int64_t>(prefix.size()) + 2 > max) continue;
      w.CheckAlong(start, prefix, "up to " + std::to_string(max));
      if (HasFatalFailure()) return;
    }
    // Up to the bound itself.
    SetId set = w.sets().Run(start, "x9");
    for (int64_t n = 2; n < max; ++n, set = w.sets().Step(set, 'x')) {
      w.Check(set, "up to " + std::to_string(max) + " after " + std::to_string(n));
      if (HasFatalFailure()) return;
    }
  }
}

// The first character is of a class of its own, and a bound counts all others: `^[^x]` of up to
// ten.
TEST(Mask, AFirstCharacterBeforeALoop) {
  const auto vocab = MakeVocab(internal::ManyTokens(
      {"\xC3", "\xC3\xA9", "\xA9x\"", "\\", "\\n", "\\u0078", "\\u0079\"", "x\"", "\",", "ab\"}",
       "\\u00", "\xE2\x80\xA8", "\xC3\xA9\xC3\xA9\xC3\xA9"},
      29, "abcxyz \\n", 3000, 12));
  const CodePointSet firsts[] = {CodePointSet::All().Minus({{'x', 'x'}}),
                                 CodePointSet::All().Minus({{' ', ' '}, {'\n', '\n'}}),
                                 {{'a', 'c'}},
                                 {{0xE9, 0xE9}, {'z', 'z'}},
                                 CodePointSet::All()};
  const std::pair<int64_t, int64_t> bounds[] = {{0, 9},          {0, 2},  {1, 1},         {2, 5},
                                                {4, kUnbounded}, {0, 40}, {0, kUnbounded}};
  MaskWorld world(vocab);
  for (const CodePointSet& first : firsts) {
    for (const auto& [least, most] : bounds) {
      for (bool inner : {false, true}) {
        const SetId start = world.Start([&, least = least, most = most](GrammarBuilder& b) {
          const RuleId item = b.AddRule("item");
          const NodeId any = b.JsonClass(inner ? CodePointSet{{'a', 'z'}} : CodePointSet::All());
          b.SetBody(item,
                    b.Sequence({b.JsonClass(first), b.Repeat(any, least, most), b.Bytes("\"")}));
          return b.Sequence({b.Rule(item), b.Bytes(",")});
        });
        for (std::string_view text : {"", "a", "z", "\xC3", "\\", "\\u00"}) {
          const SetId set = world.sets().Run(start, text);
          if (set == SetTable::Dead()) continue;
          world.Check(set, std::to_string(least) + "," + std::to_string(most) + " after " +
                               std::string(text));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// What may come after a character only is of a rule, which the state in front of it does not call:
// `*` of a pattern, in which the characters lead to the same states as after a first one.
TEST(Mask, CallsOfALoopThatItsBeginningLacks) {
  const auto vocab = MakeVocab(internal::ManyTokens(
      {"*", "+", "?", "{", "}", "\"", "*/", "a*", "a*b", "*\"", "{+}", "\xC3", "\xC3\xA9*"}, 30,
      "abmxyz *+{}\"", 3000, 6));
  MaskWorld world(vocab);
  for (const CodePointSet& characters :
       {CodePointSet{{'a', 'z'}}, CodePointSet{{'+', '+'}, {'A', 'z'}},
        CodePointSet::All().Minus({{'!', '?'}, {'{', '}'}})}) {
    for (int least : {0, 1}) {
      const SetId start = world.Start([&](GrammarBuilder& b) {
        const RuleId after = b.AddRule("after");
        b.SetBody(after, b.Choice({b.Bytes("*"), b.Sequence({b.Bytes("+"), b.Bytes("?")}),
                                   b.Sequence({b.Bytes("{"), b.Rule(after), b.Bytes("}")})}));
        const NodeId item =
            b.Sequence({b.Class(characters), b.Repeat(b.Rule(after), 0, kUnbounded)});
        return b.Sequence({b.Repeat(item, least, kUnbounded), b.Bytes("\"")});
      });
      for (std::string_view text : {"", "a", "m*", "a*", "ab{", "a{*}", "\xC3"}) {
        const SetId set = world.sets().Run(start, text);
        if (set == SetTable::Dead()) continue;
        world.Check(set, std::to_string(least) + " after " + std::string(text));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Mask, FarAndNearCounts) {
  const auto vocab = MakeVocab({"a", "aa", "aaaa", "ab", "b", "aab", "bb", "aaaaaaa"});
  MaskWorld w(vocab);
  for (const auto& [min, max] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 7}, {0, 8}, {0, 9}, {7, 7}, {8, 8}, {6, 30}, {20, 20}, {13, kUnbounded}, {0, 40}}) {
    const SetId start = w.Start([&, min = min, max = max](GrammarBuilder& b) {
      return b.Sequence({b.Repeat(b.Bytes("a"), min, max), b.Bytes("b"),
                         b.Repeat(b.Choice({b.Bytes("a"), b.Bytes("bb")}), 0, max)});
    });
    const int64_t most = std::min<int64_t>(max, 30);
    w.CheckAlong(start,
                 std::string(static_cast<size_t>(most), 'a') + "b" +
                     std::string(static_cast<size_t>(most), 'a'),
                 std::to_string(min) + ".." + std::to_string(max));
    if (HasFatalFailure()) return;
  }
}

// ---- what tokens leave over ----

std::vector<std::string> SpacedWords() {
  std::vector<std::string> tokens = {" ", "  ", "   ", "\n", " \n", "a",   "b",
                                     ".", ",",  " .",  " ,", "a ",  "ab c"};
  std::mt19937 random(8);
  for (int i = 0; i < 3000; ++i) {
    std::string word = " ";
    for (size_t k = 0, n = 1 + random() % 7; k < n; ++k)
      word += static_cast<char>('a' + random() % 26);
    tokens.push_back(word + (i % 10 == 0 ? " " : i % 11 == 0 ? "1" : ""));
  }
  return tokens;
}

// After a space thousands of tokens go on in the caller: they are kept as references.
TEST(Mask, TokensThatLeaveARuleByTheThousand) {
  MaskWorld w(MakeVocab(SpacedWords()));
  GrammarBuilder b;
  const NodeId letter = b.Class(CodePointSet{{'a', 'z'}});
  const RuleId word = b.AddRule("word"), upto = b.AddRule("upto"), root = b.AddRule("root");
  b.SetBody(word, b.Sequence({b.Repeat(letter, 1, kUnbounded), b.Star(b.Bytes(" "))}));
  b.SetBody(upto, b.Sequence({b.Repeat(letter, 0, 3), b.Bytes("1")}));
  b.SetBody(root,
            b.Choice({b.Sequence({b.Rule(word), b.Rule(upto), b.Bytes(".")}),
                      b.Sequence({b.Bytes("("), b.Rule(word), b.Rule(word), b.Bytes(")")}),
                      b.Sequence({b.Bytes("["), b.Rule(word), b.Bytes("xyz"), b.Rule(word)})}));
  const SetId start = w.Start(*b.Finish(root));
  for (const char* text : {"ab ", "ab  abc1.", "(ab", "(ab cd ", "[ab xyzq ", "[q"}) {
    w.CheckAlong(start, text, "words");
    if (HasFatalFailure()) return;
  }
}

// Of two nodes below which thousands of tokens are left over one is below the other, and what can
// follow the upper one comes before and after all that is below the lower.
TEST(Mask, WhatIsLeftOverInsideOfWhatIsLeftOver) {
  std::vector<std::string> tokens;
  for (const std::string prefix : {"a", "ab", "abc"}) {
    for (char between : {'-', '~'}) {
      for (int i = 0; i < 26 * 26; ++i) {
        tokens.push_back(prefix + between + static_cast<char>('a' + i / 26) +
                         static_cast<char>('a' + i % 26));
      }
    }
  }
  MaskWorld w(MakeVocab(tokens));
  GrammarBuilder b;
  const NodeId letter = b.Class(CodePointSet{{'a', 'z'}});
  const RuleId word = b.AddRule("word"), root = b.AddRule("root");
  b.SetBody(word, b.Repeat(letter, 0, kUnbounded));
  b.SetBody(root,
            b.Sequence({b.Bytes("("), b.Rule(word), b.Class(CodePointSet{{'-', '-'}, {'~', '~'}}),
                        b.Star(letter), b.Bytes(")")}));
  w.CheckAlong(w.Start(*b.Finish(root)), "(x", "words");
}

// The same after a value that is met a second time: some of the nodes are below others, and what
// follows goes on from most.
TEST(Mask, TokensThatLeaveAValueByTheThousand) {
  MaskWorld w(MakeVocab(internal::ManyTokens({}, 3, "aaaab~", 6000, 9)));
  const SetId start = w.Start([](GrammarBuilder& b) {
    auto some = [&](char first, char last) {
      const CodePointSet letters{{static_cast<uint32_t>(first), static_cast<uint32_t>(last)}};
      return b.Repeat(b.Class(letters), 1, kUnbounded);
    };
    const NodeId value = b.Choice({some('A', 'Z'), some('a', 'c')});
    const NodeId any = b.Star(b.Class(CodePointSet::All().Minus({{'"', '"'}})));
    const NodeId rest = b.Sequence({b.Repeat(b.Bytes("!"), 0, 1), any});
    return b.Choice({b.Sequence({b.Bytes("1"), value, rest, b.Bytes("\"1")}),
                     b.Sequence({b.Bytes("2"), value, rest, b.Bytes("\"2")})});
  });
  w.CheckAlong(start, "1aa~b", "the first");
  w.CheckAlong(start, "2aa~b", "the second");
}

// What one state takes and leaves over, another only leaves over: masks made one after the other
// keep these apart.
TEST(Mask, TokensTakenHereAndLeftOverThere) {
  const std::initializer_list<const char*> texts = {"ab",  "abx", "abxy", "ax",
                                                    "axy", "bx",  "xy",   "bax)"};
  MaskWorld w(MakeVocab(internal::ManyTokens(texts, 1, "a", 0, 1)));
  GrammarBuilder b;
  const RuleId all = b.AddRule("all"), some = b.AddRule("some"), root = b.AddRule("root");
  b.SetBody(all, b.Repeat(b.Class(CodePointSet{{'a', 'z'}}), 1, kUnbounded));
  b.SetBody(some, b.Repeat(b.Class(CodePointSet{{'a', 'w'}}), 1, kUnbounded));
  b.SetBody(root, b.Choice({b.Sequence({b.Bytes("("), b.Rule(all), b.Rule(some), b.Bytes("x)")}),
                            b.Sequence({b.Bytes("["), b.Rule(some), b.Bytes("xy")})}));
  const SetId start = w.Start(*b.Finish(root));
  for (const char* text : {"(ab", "[ab", "(abx", "[abx"}) {
    w.CheckAlong(start, text, "letters");
    if (HasFatalFailure()) return;
  }
}

// What tokens leave over is looked at by the bytes that may come next: a trie for each of a few
// sets of bytes, then one of all.
TEST(Mask, WhatIsLeftOverByTheBytesThatComeNext) {
  const std::string closing = ")]>.,;";
  std::vector<std::string> tokens;
  for (char first = 'a'; first <= 'z'; ++first) {
    for (const char* rest : {")", ")z", ")(", "]", "]z", ">z>", ".", ".zz", ",", ";z", "!", "z"}) {
      tokens.push_back(first + std::string(rest));
    }
  }
  for (char c : closing + "(z") tokens.push_back(std::string(1, c));
  SortUnique(&tokens);
  MaskWorld w(MakeVocab(tokens));
  const SetId start = w.Start([&](GrammarBuilder& b) {
    const RuleId word = b.AddRule("word");
    b.SetBody(word, b.Repeat(b.Class(CodePointSet{{'a', 'z'}}), 1, kUnbounded));
    std::vector<NodeId> cases;
    for (size_t i = 0; i < closing.size(); ++i) {
      const std::string number = std::to_string(i);
      cases.push_back(b.Sequence(
          {b.Bytes(number), b.Rule(word), b.Bytes(closing.substr(i, 1)), b.Star(b.Bytes("z"))}));
    }
    // Two that close in either way, which the trie of all serves.
    cases.push_back(b.Sequence({b.Bytes("8"), b.Rule(word), b.Class({{')', ')'}, {']', ']'}})}));
    return b.Choice(cases);
  });
  const auto items = w.sets().Body(w.sets().Run(start, "0ab")).items;
  const auto letters = std::ranges::find_if(
      items, [&](const Item& item) { return w.terms().term(item.term).kind == TermKind::kRepeat; });
  ASSERT_NE(letters, items.end());
  const TermId state = letters->term;
  for (size_t i = 0; i < closing.size(); ++i) {
    w.CheckAlong(start, std::to_string(i) + "ab" + closing[i], "a word");
    if (HasFatalFailure()) return;
    const Residual* residual = w.masks().OfState(state).residual;
    ASSERT_NE(residual, nullptr);
    if (!residual->nodes.empty()) residual = residual->spelled.load();
    const ResidualTrie* trie = residual->trie.load();
    ASSERT_NE(trie, nullptr);
    const auto byte = static_cast<uint8_t>(closing[i]);
    if (i < 5) {
      EXPECT_EQ(trie->first, i < 4 ? ByteSet::Of(byte) : ByteSet::All()) << i;
    }
    size_t tries = 0;
    for (; trie != nullptr; trie = trie->next) ++tries;
    EXPECT_EQ(tries, std::min<size_t>(i + 1, 5)) << i;
  }
  w.CheckAlong(start, "8ab", "two ways");
}

// Of a loop after which a rule may end, thousands of tokens leave something over: it is looked for
// when something may follow, once for all that leave the same over, and may turn out to be nothing.
TEST(Mask, WhatIsLeftOverWaitsUntilSomethingMayFollow) {
  std::vector<std::string> tokens = {"a", "b", "c", "d", "e", ",", ".",
                                     ")", "]", ">", "(", "[", "<"};
  std::mt19937 random(12);
  for (int i = 0; i < 4000; ++i) {
    std::string word;
    for (size_t k = 0, n = 2 + random() % 4; k < n; ++k)
      word += static_cast<char>('a' + random() % 5);
    constexpr const char* kEnds[] = {",", ".", ").", "],", ">", "", "", ""};
    tokens.push_back(word + kEnds[random() % 8]);
  }
  SortUnique(&tokens);
  const auto vocab = MakeVocab(tokens);
  MaskWorld w(vocab);
  auto grammar = [&](auto&& body) {
    GrammarBuilder b;
    const RuleId word = b.AddRule("word"), closed = b.AddRule("closed"), root = b.AddRule("root");
    const NodeId letter = b.Class(CodePointSet{{'a', 'z'}});
    const NodeId mark = b.Class(CodePointSet{{',', '.'}, {')', ')'}, {']', ']'}, {'>', '>'}});
    b.SetBody(word, b.Repeat(letter, 0, kUnbounded));
    // Each token that leaves a word stays in this, so that nothing is left over.
    b.SetBody(
        closed,
        b.Sequence({b.Repeat(letter, 0, kUnbounded),
                    b.Optional(b.Sequence({b.Repeat(mark, 1, kUnbounded), b.Star(letter)}))}));
    b.SetBody(root, body(b, word, closed));
    return *b.Finish(root);
  };
  const SetId alone =
      w.Start(grammar([](GrammarBuilder& b, RuleId word, RuleId) { return b.Rule(word); }));
  w.CheckAlong(alone, "abc", "a word");
  const TermId state = w.sets().Body(w.sets().Run(alone, "abc")).items[0].term;
  const Residual* waiting = w.masks().OfState(state).residual;
  ASSERT_NE(waiting, nullptr);
  EXPECT_FALSE(waiting->nodes.empty());
  EXPECT_EQ(waiting->spelled.load(), nullptr);
  const SetId within = w.Start(grammar([](GrammarBuilder& b, RuleId word, RuleId closed) {
    const NodeId letter = b.Class(CodePointSet{{'a', 'z'}});
    return b.Choice(
        {b.Sequence({b.Bytes("("), b.Rule(word), b.Bytes(")")}),
         b.Sequence({b.Bytes("["), b.Rule(word), b.Bytes(","), b.Rule(word), b.Bytes("]")}),
         b.Sequence({b.Bytes("<"), b.And({b.Repeat(letter, 1, 6), b.Not(b.Bytes("abc"))}),
                     b.Rule(word), b.Bytes(">")}),
         b.Sequence({b.Bytes("."), b.Rule(closed), b.Bytes(">")})});
  }));
  for (const char* text : {"(ab", "[a,bc", "[ab,ab", "<abcd", ".ab", ".abc,d"}) {
    w.CheckAlong(within, text, "within");
    if (HasFatalFailure()) return;
  }
  EXPECT_NE(waiting->spelled.load(), nullptr);
  // Saved and loaded, whether looked for or not.
  std::vector<std::pair<TermId, uint32_t>> states;
  std::vector<TermId> terms;
  for (uint32_t id = 0; id < w.terms().size(); ++id) {
    const TermId term(id);
    if (w.terms().term(term).attachment.load() == nullptr) continue;
    states.push_back({term, static_cast<uint32_t>(terms.size())});
    terms.push_back(term);
  }
  EXPECT_GT(states.size(), 3u);
  ByteWriter saved;
  w.masks().Save(states, &saved);
  MaskCache loaded(vocab, &w.sets(), std::make_shared<SliceStore>());
  for (TermId term : terms) w.terms().attachment(term).store(nullptr);
  ByteReader in(saved.bytes());
  auto by_number = [&](uint64_t number) { return terms[number]; };
  EXPECT_TRUE(loaded.Load(&in, by_number, SIZE_MAX));
  for (const auto& [term, number] : states) {
    EXPECT_NE(w.terms().attachment(term).load(), nullptr) << number;
  }
  SetId start;
  std::vector<uint32_t> row((static_cast<size_t>(vocab->size()) + 31) / 32);
  for (const char* text : {"<abcd", "[a", "(ab"}) {
    start = w.sets().Run(within, text);
    w.sets().attachment(start).store(nullptr);
    loaded.Fill(start, row.data());
    EXPECT_EQ(TokensOf(row), AllowedByTrying(&w.sets(), *vocab, start)) << text;
  }
  // Asked for by several threads at once.
  for (int round = 0; round < 5; ++round) {
    MaskCache shared(vocab, &w.sets(), std::make_shared<SliceStore>());
    for (TermId term : terms) w.terms().attachment(term).store(nullptr);
    w.sets().attachment(start).store(nullptr);
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        std::vector<uint32_t> own(row.size());
        shared.Fill(start, own.data());
        wrong += own != row;
      });
    }
    for (std::thread& t : threads) t.join();
    ASSERT_EQ(wrong, 0);
  }
}

// Each letter of a name may begin an alias or a keyword, so that every set holds several items of
// which one or more loop, some of them for a few characters only.
TEST(Mask, OneItemOfSeveralThatLoops) {
  const auto vocab = MakeVocab(SpacedWords());
  std::mt19937 random(31);
  for (int round = 0; round < 60; ++round) {
    MaskWorld w(vocab);
    GrammarBuilder b;
    const NodeId letter = b.Class(CodePointSet{{'a', 'z'}}),
                 few = b.Class(CodePointSet{{'a', 'm'}});
    const NodeId word = b.Class(CodePointSet{{'a', 'z'}, {'0', '9'}});
    auto loop = [&] {
      const NodeId x[] = {letter, few, word};
      constexpr int64_t kMax[] = {2, 3, 5, 7, kUnbounded, kUnbounded};
      return b.Repeat(x[random() % 3], random() % 2, kMax[random() % 6]);
    };
    const RuleId name = b.AddRule("name"), alias = b.AddRule("alias"), root = b.AddRule("root");
    const NodeId space = b.Star(b.Bytes(" "));
    b.SetBody(name, b.Sequence({letter, loop()}));
    b.SetBody(alias, b.Sequence({b.Optional(b.Bytes("as")), space, loop(), b.Bytes("1")}));
    b.SetBody(root, b.Sequence({b.Rule(name), space, b.Optional(b.Rule(alias)),
                                b.Optional(b.Sequence({b.Bytes("from"), space, b.Rule(name)})),
                                random() % 2 == 0 ? b.Bytes(".") : b.Rule(name)}));
    SetId set = w.Start(*b.Finish(root));
    std::string text;
    for (int step = 0; step < 6; ++step) {
      w.Check(set, "round " + std::to_string(round) + " after \"" + text + "\"");
      if (HasFatalFailure()) return;
      const auto allowed = AllowedByTrying(&w.sets(), w.vocab(), set);
      if (allowed.empty()) break;
      const auto token = w.vocab().bytes(allowed[random() % allowed.size()]);
      text += token;
      set = w.sets().Run(set, token);
    }
  }
}

// A value after the same beginning, and then another rest each time: these masks are put together
// of one for the value and what its tokens leave over.
TEST(Mask, ValuesMetBefore) {
  std::vector<std::string> tokens = SpacedWords();
  std::vector<std::string> texts = {""};
  for (size_t i = 0; i < texts.size() && texts[i].size() < 4; ++i) {
    for (const char* letter : {"a", "b", " ", "."}) texts.push_back(texts[i] + letter);
  }
  tokens.insert(tokens.end(), texts.begin() + 1, texts.end());
  const auto vocab = MakeVocab(tokens);
  std::mt19937 random(17);
  for (int round = 0; round < 40; ++round) {
    MaskWorld w(vocab);
    GrammarBuilder b;
    const RuleId word = b.AddRule("word"), nested = b.AddRule("nested"), root = b.AddRule("root");
    auto text = [&] {
      std::string out;
      for (size_t n = 1 + random() % 3; n > 0; --n) out += "ab a"[random() % 4];
      return b.Bytes(out);
    };
    const NodeId letter =
        b.Class(CodePointSet{{'a', round % 2 == 0 ? uint32_t{'b'} : uint32_t{'z'}}});
    b.SetBody(word, b.Sequence({b.Repeat(letter, round % 3, kUnbounded), b.Star(b.Bytes(" "))}));
    b.SetBody(nested, b.Choice({text(), text(), b.Sequence({text(), b.Rule(nested), text()})}));
    const NodeId values[] = {b.Rule(word), b.Rule(nested), b.Choice({text(), text(), text()}),
                             b.Choice({text(), b.Star(b.Bytes("ab")), b.Bytes("")})};
    const NodeId space = b.Star(b.Bytes(" "));
    const NodeId before[] = {space, b.Bytes("a"), b.Sequence({b.Bytes("b"), space}), b.Bytes("")};
    std::vector<NodeId> all;
    for (char name = '0'; name <= '9'; ++name) {
      const NodeId tails[] = {text(), b.Star(text()), b.Optional(text()), b.Rule(word),
                              b.Sequence({b.Optional(text()), b.Rule(nested)})};
      all.push_back(b.Sequence({b.Bytes(std::string(1, name)), before[random() % 4],
                                values[random() % 4], tails[random() % 5], b.Bytes(".")}));
    }
    b.SetBody(root, b.Choice(all));
    const SetId start = w.Start(*b.Finish(root));
    for (char name = '0'; name <= '9'; ++name) {
      SetId set = w.sets().Run(start, std::string(1, name));
      for (int step = 0; step < 4 && set != SetTable::Dead(); ++step) {
        w.Check(set, "round " + std::to_string(round) + " after " + name);
        if (HasFatalFailure()) return;
        const auto allowed = AllowedByTrying(&w.sets(), w.vocab(), set);
        if (allowed.empty()) break;
        set = w.sets().Run(set, w.vocab().bytes(allowed[random() % allowed.size()]));
      }
    }
  }
}

// The same where the rest may be nothing: what then follows is read by tokens of the value, too.
TEST(Mask, ValuesMetBeforeWhatMayBeNothing) {
  std::vector<std::string> tokens;
  for (const char* value : {"x", "(x)", "((x))", ")", "))", "(", "x)"}) {
    for (const char* rest : {"", "!", "?", "!?", ".", "!.", "?.", ";", "!!;", "??", "x", "!x"}) {
      tokens.push_back(std::string(value) + rest);
    }
  }
  for (const char* name : {"0", "1", "2", "3", "4", "!", "?", ".", ";", ":", "[", "]"})
    tokens.push_back(name);
  SortUnique(&tokens);
  MaskWorld w(MakeVocab(tokens));
  GrammarBuilder b;
  const RuleId root = b.AddRule("root");
  const NodeId value = b.Choice({b.Bytes("x"), b.Bytes("(x)"), b.Bytes("((x))")});
  const NodeId tails[] = {b.Star(b.Bytes("!")), b.Optional(b.Bytes("?")), b.Optional(value),
                          b.Sequence({b.Bytes("!"), b.Star(b.Bytes("?"))}),
                          b.Optional(b.Bytes("!?"))};
  std::vector<NodeId> all;
  for (size_t i = 0; i < std::size(tails); ++i) {
    const RuleId item = b.AddRule("item" + std::to_string(i));
    // It contains itself, so that it is called.
    b.SetBody(item, b.Choice({b.Sequence({b.Bytes(":"), value, tails[i]}),
                              b.Sequence({b.Bytes("["), b.Rule(item), b.Bytes("]")})}));
    for (const char* after : {".", ";"}) {
      all.push_back(b.Sequence({b.Bytes(std::to_string(i)), b.Rule(item), b.Bytes(after)}));
    }
  }
  b.SetBody(root, b.Choice(all));
  const SetId start = w.Start(*b.Finish(root));
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < std::size(tails); ++i) {
      w.CheckAlong(start, std::to_string(i) + ":((x))", "item " + std::to_string(i));
      if (HasFatalFailure()) return;
    }
  }
}

// Strings that are none of some, as the keys of an object beside its properties: such masks are
// made of that of any string, by looking the excluded texts up in the vocabulary.
TEST(Mask, StringsButForSomeTexts) {
  std::vector<std::string> tokens = {"\"",
                                     "\\",
                                     "\\\"",
                                     "\xC3",
                                     "\xA9",
                                     "\xC3\xA9\"",
                                     "\n",
                                     "\\n\"",
                                     "\\u0061",
                                     "\\u0061\"",
                                     "b\\u0061\":",
                                     "\\/\"",
                                     "/\"",
                                     "\\u00e9\"",
                                     "\\ud83d\\ude00\"",
                                     "\\ud83d\"",
                                     "\xF0\x9F\x98\x80\"",
                                     "\"ab\":\"",
                                     "\"\\u0061b\"",
                                     ",\"ab\"",
                                     ",\"",
                                     "{",
                                     "}",
                                     "\\"};
  std::vector<std::string> texts = {""};
  for (size_t i = 0; i < texts.size() && texts[i].size() < 4; ++i) {
    for (const char* letter : {"a", "b", "\"", ":"}) texts.push_back(texts[i] + letter);
  }
  tokens.insert(tokens.end(), texts.begin() + 1, texts.end());
  for (int i = 0; i < 300; ++i) tokens.push_back("\":" + std::to_string(i));  // a reference
  const auto vocab = MakeVocab(tokens);
  const char* const names[] = {"",
                               "a",
                               "b",
                               "ab",
                               "ba",
                               "abab",
                               "a/",
                               "/",
                               "\n",
                               "\"",
                               "\\",
                               "\xC3\xA9",
                               "\xF0\x9F\x98\x80",
                               "baaab"};
  std::mt19937 random(23);
  for (int round = 0; round < 240; ++round) {
    MaskWorld w(vocab);
    GrammarBuilder b;
    const RuleId key = b.AddRule("key"), root = b.AddRule("root");
    // A round in four with characters that are not all there are, some so few that texts which are
    // excluded may be all of a length.
    // In some rounds the loop may read the quote itself.
    const CodePointSet sets[] = {
        CodePointSet::All(), CodePointSet::All(), {{'a', 'z'}}, {{'a', 'b'}}};
    const NodeId x = round % 7 == 0 ? b.Class(CodePointSet{{'a', 'b'}, {'"', '"'}})
                                    : b.JsonClass(sets[random() % 4]);
    // In every other round something comes before the loop.
    const NodeId first = b.JsonClass(sets[random() % 4]);
    const NodeId texts_before[] = {x, first,
                                   b.Choice({b.JsonText("ab"), b.JsonText("b\n"), first})};
    const NodeId loop =
        round % 2 == 0 ? b.Star(x) : b.Sequence({texts_before[random() % 3], b.Star(x)});
    std::vector<NodeId> parts = {loop};
    for (size_t n = 1 + random() % 2; n > 0; --n) {
      std::vector<NodeId> excluded;
      for (size_t k = random() % (round % 5 == 0 ? 40 : 6); k-- > 0;) {
        excluded.push_back(b.JsonText(std::string(names[random() % 14]) + names[random() % 14]));
      }
      for (size_t k = 1 + random() % 3; k > 0; --k)
        excluded.push_back(b.JsonText(names[random() % 14]));
      parts.push_back(b.Not(b.Choice(excluded)));
    }
    const char* const ends[] = {"\"", "\":", "\"a"};
    const NodeId string = b.Sequence({b.And(parts), b.Bytes(ends[random() % 3])});
    b.SetBody(key, random() % 2 == 0 ? b.Sequence({b.Bytes("\""), string}) : string);
    const NodeId any =
        b.Star(b.Class(CodePointSet{{'0', '9'}, {'a', 'b'}, {':', ':'}, {'"', '"'}}));
    const NodeId tails[] = {b.Bytes(":1"), any, b.Bytes(""), b.Bytes("::")};
    const NodeId before = b.Bytes(random() % 2 == 0 ? "," : "{");
    // As it is, and as another rule's end, where what is left over depends on what follows.
    const NodeId keyed = b.Sequence({before, b.Rule(key), tails[random() % 4]});
    b.SetBody(root, random() % 3 == 0
                        ? b.Choice({keyed, b.Sequence({before, b.Bytes("\"ab\":\"")})})
                        : keyed);
    const SetId start = w.Start(*b.Finish(root));
    for (int walk = 0; walk < 4; ++walk) {
      SetId set = start;
      std::string text;
      for (int step = 0; step < 6 && set != SetTable::Dead(); ++step) {
        w.Check(set, "round " + std::to_string(round) + " after " + text);
        if (HasFatalFailure()) return;
        const auto allowed = AllowedByTrying(&w.sets(), w.vocab(), set);
        if (allowed.empty()) break;
        const std::string_view next = w.vocab().bytes(allowed[random() % allowed.size()]);
        text += next;
        set = w.sets().Run(set, next);
      }
    }
  }
}

// A search beside texts that it excludes is, once it has left these, the search alone.
TEST(Mask, SearchesButForSomeTexts) {
  const auto vocab =
      MakeVocab(internal::ManyTokens({"foo", "foo\"", "fo", "oo\",", "\\u0066oo", "\xC3\xA9\"",
                                      "\xE2\x80", "\xE2\x80\xA9", "food", "foo\n", "x\\n\""},
                                     23, "abcfoxyz -", 4000, 9));
  auto check = [&](const std::string& what, auto&& search) {
    MaskWorld world(vocab);
    const SetId start = world.Start([&](GrammarBuilder& b) {
      ContentMaker m{b, true};
      const RuleId item = b.AddRule("item");
      b.SetBody(item, b.Sequence({b.And({search(m), b.Not(b.Choice({m.Text("foo"), m.Text("a")}))}),
                                  b.Bytes("\"")}));
      return b.Sequence({b.Rule(item), b.Bytes(",")});
    });
    world.Check(start, what);
    for (std::string_view text : {"f", "fo", "foo", "foob", "a", "\\", "\\u0066", "\xC3", "z\n"}) {
      const SetId set = world.sets().Run(start, text);
      if (set != SetTable::Dead()) world.Check(set, what + " after " + std::string(text));
    }
  };
  const CodePointSet no_line_end = CodePointSet::All().Minus({{'\n', '\n'}, {0x2028, 0x2029}});
  check("any character but ends of lines",
        [&](ContentMaker m) { return m.With(m.Of(no_line_end)); });
  check("three of them",
        [&](ContentMaker m) { return m.With(m.b.Repeat(m.Of(no_line_end), 3, 3)); });
  check("letters or spaces",
        [&](ContentMaker m) { return m.b.Choice({m.With(m.Of({{'a', 'z'}})), m.With("  ")}); });
  check("a text", [&](ContentMaker m) { return m.With("ab"); });
}

TEST(Mask, ResiduesThroughSeveralLevels) {
  std::vector<std::string> tokens = LetterTokens();
  for (const char* t :
       {")", "))", ")))", "))))", "),", ")],", "x))", "])", "]))", "],", ",", ",(", "x", "x,x"}) {
    tokens.push_back(t);
  }
  MaskWorld w(MakeVocab(tokens));
  GrammarBuilder b;
  const RuleId value = b.AddRule("value"), list = b.AddRule("list");
  b.SetBody(list,
            b.Choice({b.Rule(value), b.Sequence({b.Rule(value), b.Bytes(","), b.Rule(list)})}));
  b.SetBody(value, b.Choice({b.Bytes("x"), b.Star(b.Bytes("a")),
                             b.Sequence({b.Bytes("("), b.Rule(list), b.Bytes(")")}),
                             b.Sequence({b.Bytes("["), b.Rule(value), b.Bytes("]")})}));
  const SetId start = w.Start(*b.Finish(value));
  for (const char* text : {"((([x])))", "(x,aa,([a]),x)", "[[(a,a)]]", "aaa"}) {
    w.CheckAlong(start, text, "nesting");
    if (HasFatalFailure()) return;
  }
}

// ---- tokens by id ----

TEST(Mask, TokenItems) {
  VocabOptions options;
  options.stop_token_ids = std::vector<TokenId>{5};
  options.special_token_ids = {3, 4};
  const auto vocab = *Vocab::Create({"a", "b", "ab", "<s>", "<t>", "</s>", "", "a"}, options);
  MaskWorld w(vocab);
  GrammarBuilder b;
  const RuleId root = b.AddRule("root");
  b.SetBody(root, b.Sequence({b.Choice({b.Tokens({{2, 3, 100}, false}), b.Bytes("b"),
                                        b.Tokens({{0, 1}, true})}),
                              b.Star(b.Tokens({{4}, false})), b.Bytes("a")}));
  const SetId start = w.Start(*b.Finish(root));
  EXPECT_EQ(w.Filled(start), (std::vector<TokenId>{1, 2, 3, 7}));
  w.Check(start, "start");
  const SetId next = w.sets().StepToken(start, 3, std::nullopt, false);
  EXPECT_EQ(w.Filled(next), (std::vector<TokenId>{0, 4, 7}));
  w.Check(next, "after a token");
}

// ---- sizes ----

TEST(Mask, VocabulariesOfAnySize) {
  for (size_t size : {0, 1, 31, 32, 33, 64, 65}) {
    std::vector<std::string> tokens;
    for (size_t i = 0; i < size; ++i)
      tokens.push_back(std::string(1, static_cast<char>('a' + i % 26)));
    MaskWorld w(MakeVocab(tokens));
    const SetId start =
        w.Start([](GrammarBuilder& b) { return b.Star(b.Class(CodePointSet{{'a', 'm'}})); });
    w.Check(start, std::to_string(size) + " tokens");
    if (HasFatalFailure()) return;
  }
}

TEST(Mask, LongTokens) {
  std::vector<std::string> tokens = {std::string(65'535, 'a'), std::string(8'000, 'a') + "b", "a",
                                     "b"};
  MaskWorld w(MakeVocab(tokens));
  const SetId start = w.Start([](GrammarBuilder& b) {
    return b.Sequence({b.Repeat(b.Bytes("a"), 0, 10'000), b.Bytes("b")});
  });
  EXPECT_EQ(w.Filled(start), (std::vector<TokenId>{1, 2, 3}));
  const SetId later = w.sets().Run(start, std::string(2'001, 'a'));
  EXPECT_EQ(w.Filled(later), (std::vector<TokenId>{2, 3}));
}

// ---- sharing ----

TEST(Mask, TheOrderOfAskingDoesNotMatter) {
  const auto vocab = MakeVocab(WordTokens());
  std::mt19937 random(2);
  auto fill = [](GrammarBuilder& b) {
    const NodeId text = b.Sequence(
        {b.Bytes("\""), b.Repeat(b.JsonClass(CodePointSet::All()), 2, 40), b.Bytes("\"")});
    return b.Sequence({text, b.Star(b.Sequence({b.Bytes(","), text}))});
  };
  const std::string text = "\"xx\\nyyyy\",\"user\"";
  MaskWorld one(vocab);
  std::vector<std::vector<TokenId>> expected;
  SetId set = one.Start(fill);
  for (size_t i = 0; i <= text.size(); ++i) {
    expected.push_back(one.Filled(set));
    if (i < text.size()) set = one.sets().Step(set, static_cast<uint8_t>(text[i]));
  }
  for (int round = 0; round < 5; ++round) {
    MaskWorld other(vocab);
    const SetId start = other.Start(fill);
    std::vector<size_t> order(expected.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i : order) {
      ASSERT_EQ(other.Filled(other.sets().Run(start, text.substr(0, i))), expected[i]) << i;
    }
  }
}

TEST(Mask, SlicesServeAllCachesOfAStore) {
  const auto vocab = MakeVocab(WordTokens());
  const auto slices = std::make_shared<SliceStore>();
  for (int generation = 0; generation < 3; ++generation) {
    MaskWorld w(vocab, slices);
    if (generation == 1) static_cast<void>(w.terms().Literal("other ids", false));
    const SetId start = w.Start([&](GrammarBuilder& b) {
      return b.Sequence({b.Bytes("\""),
                         b.Repeat(b.JsonClass(CodePointSet::All()), 0, 20 + generation),
                         b.Bytes("\"")});
    });
    w.CheckAlong(start, "\"xxxxx\\n", "generation " + std::to_string(generation));
    if (HasFatalFailure()) return;
  }
}

// After some fills a long list becomes a bitmap, for so many sets and no more.
TEST(Mask, SetsThatAreFilledOften) {
  std::vector<std::string> tokens = {"\"", "a", "b", "\\"};
  for (int i = 0; i < 200; ++i) tokens.push_back("\"," + std::to_string(i));
  for (int i = 0; i < 2000; ++i) tokens.push_back("a" + std::to_string(i));
  MaskWorld w(MakeVocab(tokens));
  size_t long_lists = 0, bitmaps = 0;
  for (int kind = 0; kind < 300; ++kind) {
    const SetId start = w.Start([&](GrammarBuilder& b) {
      const RuleId text = b.AddRule("text");
      b.SetBody(text, b.Sequence({b.Bytes("\""), b.Star(b.JsonClass(CodePointSet::All())),
                                  b.Bytes("\"")}));
      return b.Sequence({b.Rule(text), b.Bytes(","),
                         b.Repeat(b.Class(CodePointSet{{'0', '9'}}), 1, kUnbounded),
                         b.Bytes("," + std::to_string(kind))});
    });
    const SetId set = w.sets().Run(start, "\"b");
    const std::vector<TokenId> expected = AllowedByTrying(&w.sets(), w.vocab(), set);
    long_lists += w.masks().OfSet(set).list.size() >= 100;
    for (int i = 0; i < 40; ++i) ASSERT_EQ(w.Filled(set), expected) << kind << ' ' << i;
    bitmaps += w.masks().OfSet(set).list.empty();
  }
  EXPECT_EQ(long_lists, 300u);
  EXPECT_EQ(bitmaps, 256u);
}

TEST(Mask, SeveralThreadsFillFromOneCache) {
  const auto vocab = MakeVocab(WordTokens());
  auto grammar = [] {
    GrammarBuilder b;
    const RuleId value = b.AddRule("value"), text = b.AddRule("text");
    b.SetBody(text, b.Sequence({b.Bytes("\""), b.Repeat(b.JsonClass(CodePointSet::All()), 0, 70),
                                b.Bytes("\"")}));
    b.SetBody(
        value,
        b.Choice({b.Rule(text),
                  b.Sequence({b.Bytes("["), b.Rule(value),
                              b.Star(b.Sequence({b.Bytes(","), b.Rule(value)})), b.Bytes("]")}),
                  b.And({b.Repeat(b.Class(CodePointSet{{'a', 'z'}}), 1, 50),
                         b.Not(b.Bytes("admin"))})}));
    return *b.Finish(value);
  }();
  const std::vector<std::string> texts = {"[\"xx\",\"", "[[admi",       "[\"a\\u00", "[[[\"",
                                          "[x,\"y\",[", "\"xxxxxxxxxx", "[\"\xC3"};
  MaskWorld single(vocab);
  const SetId start = single.Start(grammar);
  std::vector<std::vector<std::vector<TokenId>>> expected;
  for (const std::string& text : texts) {
    expected.emplace_back();
    for (size_t i = 0; i <= text.size(); ++i) {
      expected.back().push_back(
          AllowedByTrying(&single.sets(), *vocab, single.sets().Run(start, text.substr(0, i))));
    }
  }
  for (int round = 0; round < 20; ++round) {
    MaskWorld shared(vocab);
    const SetId root = shared.Start(grammar);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (size_t thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        std::vector<uint32_t> row((static_cast<size_t>(vocab->size()) + 31) / 32);
        for (size_t k = 0; k < texts.size(); ++k) {
          const size_t t = (k + thread * 2) % texts.size();
          SetId set = root;
          for (size_t i = 0; i <= texts[t].size(); ++i) {
            shared.masks().Fill(set, row.data());
            wrong += TokensOf(row) != expected[t][i];
            if (i < texts[t].size())
              set = shared.sets().Step(set, static_cast<uint8_t>(texts[t][i]));
          }
        }
      });
    }
    for (std::thread& t : threads) t.join();
    ASSERT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace grammask::internal
