// The oracle itself, against texts whose answer is known and against definitions.
#include "oracle/recognizer.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "grammar/small_language.h"
#include "oracle/byte_dfa.h"

namespace grammask::internal {
namespace {

using B = GrammarBuilder;

Grammar Root(const std::function<NodeId(B&)>& build) {
  GrammarBuilder builder;
  RuleId root = builder.AddRule("root");
  builder.SetBody(root, build(builder));
  return *builder.Finish(root);
}

struct Texts {
  std::vector<std::string> match, prefix_only, neither;
};

void ExpectTexts(const Grammar& grammar, const Texts& texts) {
  Recognizer r(grammar);
  for (const std::string& t : texts.match) {
    EXPECT_TRUE(r.Matches(t)) << Printable(t);
    EXPECT_TRUE(r.IsPrefix(t)) << Printable(t);
  }
  for (const std::string& t : texts.prefix_only) {
    EXPECT_FALSE(r.Matches(t)) << Printable(t);
    EXPECT_TRUE(r.IsPrefix(t)) << Printable(t);
  }
  for (const std::string& t : texts.neither) {
    EXPECT_FALSE(r.Matches(t)) << Printable(t);
    EXPECT_FALSE(r.IsPrefix(t)) << Printable(t);
  }
}

// The same texts for a node as such and as an intersection, which other code decides.
void ExpectBothWays(const std::function<NodeId(B&)>& build, const Texts& texts) {
  ExpectTexts(Root(build), texts);
  ExpectTexts(Root([&](B& b) { return b.And({build(b), b.Not(b.Bytes("no such text"))}); }), texts);
}

TEST(Recognizer, Bytes) {
  ExpectBothWays([](B& b) { return b.Bytes("a\xFF"); },
                 {{"a\xFF"}, {"", "a"}, {"b", "a\xFE", "a\xFF\xFF"}});
}

TEST(Recognizer, ClassesAreWholeCharacters) {
  ExpectBothWays(
      [](B& b) { return b.Class(CodePointSet{{'x', 'z'}, {0xE8, 0xEA}, {0x1F600, 0x1F64F}}); },
      {{"x", "\xC3\xA9", "\xF0\x9F\x98\x80"},
       {"", "\xC3", "\xF0", "\xF0\x9F", "\xF0\x9F\x98", "\xF0\x9F\x99"},
       {"w", "xx", "\xC3\xAB", "\xC2", "\xE9", "\xF0\x90", "\xF0\x9F\x9A", "\xC3\xA9x"}});
  ExpectBothWays([](B& b) { return b.Class(CodePointSet::All()); },
                 {{std::string(1, '\0'), "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF"},
                  {"\xED", "\xF4\x8F", "\xE0", "\xE0\xA0"},
                  {"\x80", "\xC0", "\xC1\x81", "\xE0\x80", "\xED\xA0", "\xF4\x90", "\xF5"}});
}

TEST(Recognizer, JsonTextTakesEverySpelling) {
  ExpectBothWays(
      [](B& b) { return b.JsonText("a\n\"/\xC3\xA9"); },
      {{"a\\n\\\"/\xC3\xA9", "\\u0061\\u000A\\u0022\\/\\u00e9", "a\\u000a\\\"\\u002F\\u00E9"},
       {"", "\\", "\\u", "\\u00", "a\\", "a\\n", "a\\u000", "a\\n\\\"\\/\xC3", "a\\n\\\"/\\u00"},
       {"a\n", "\\a", "b", "\\u0062", "\\u1", "a\\n\"", "a\\n\\\"/\xC3\xA9x", "\\U", "\\x61"}});
  ExpectBothWays([](B& b) { return b.JsonText("\xF0\x9F\x98\x80"); },  // U+1F600
                 {{"\xF0\x9F\x98\x80", "\\ud83d\\ude00", "\\uD83D\\uDE00"},
                  {"\xF0\x9F", "\\ud83", "\\ud83d", "\\ud83d\\", "\\ud83d\\u", "\\ud83d\\ude",
                   "\\ud83d\\ude0"},
                  {"\\ud83d\\ude01", "\\ud83e", "\\ud83du", "\\ud83d\\n", "\\ude00",
                   "\\ud83d\\ud83d", "\\u0001"}});
}

TEST(Recognizer, JsonClass) {
  ExpectBothWays(
      [](B& b) { return b.JsonClass(CodePointSet{{'"', '"'}, {'x', 'z'}, {0x10000, 0x103FF}}); },
      {{"x", "\\\"", "\\u0022", "\\u0078", "\\u007A", "\\ud800\\udc00", "\\uD800\\uDFFF",
        "\xF0\x90\x8F\xBF"},
       {"", "\\", "\\u", "\\u0", "\\u00", "\\u002", "\\ud", "\\ud8", "\\ud800", "\\ud800\\",
        "\\ud800\\ud", "\\ud800\\udf", "\xF0", "\xF0\x90", "\xF0\x90\x80"},
       {"\"", "w", "\\x", "\\u1", "\\u0021", "\\ud801", "\\ud800\\ue", "\xF0\x90\x90", "\\u0023",
        "\\ud800x", "\\ud800\\ud7"}});
  // No control character stands raw; DEL and everything else does.
  ExpectBothWays([](B& b) { return b.JsonClass(CodePointSet::All()); },
                 {{"\x7F", "/", "\\/", "\\b", "\\f", "\\u0000", "\xE2\x80\xA8"},
                  {"\\", "\\ud9", "\\udbff\\u"},
                  {std::string(1, '\0'), "\n", "\x1F", "\"", "\\0", "\\v", "\\'", "\\ude",
                   "\\udc00", "\xFF"}});
  ExpectBothWays([](B& b) { return b.JsonClass(CodePointSet{{0, 0x1F}}); },
                 {{"\\u0000", "\\u001f", "\\n", "\\t"},
                  {"\\u0", "\\u00", "\\u001"},
                  {" ", "\x01", "\\\"", "\\u1", "\\u002"}});
}

TEST(Recognizer, Multiple) {
  ExpectBothWays([](B& b) { return b.MultipleOf({7, 0}); },
                 {{"", "0", "7", "14", "1.4", "1..4.", ".", "0007", "343"},
                  {"1", "8", "1.3"},
                  {"-7", "7e", " 7"}});
}

TEST(Recognizer, RepeatsCountExactly) {
  ExpectBothWays([](B& b) { return b.Repeat(b.Bytes("ab"), 2, 3); },
                 {{"abab", "ababab"}, {"", "a", "ab", "aba", "ababa"}, {"b", "abababa", "abb"}});
  // The counts of a|aa.
  ExpectBothWays([](B& b) { return b.Repeat(b.Choice({b.Bytes("a"), b.Bytes("aa")}), 3, 4); },
                 {{"aaa", "aaaaaaaa"}, {"", "aa"}, {"aaaaaaaaa"}});
  Grammar far = Root([](B& b) {
    return b.Repeat(
        b.Choice({b.Bytes("a"), b.Sequence({b.Star(b.Bytes("b")), b.Star(b.Bytes("c"))})}),
        int64_t{1} << 39, int64_t{1} << 40);
  });
  ExpectTexts(far, {{"", "a", "abca"}, {}, {"d"}});
  Grammar strict = Root([](B& b) { return b.Repeat(b.Bytes("a"), int64_t{1} << 39, kUnbounded); });
  ExpectTexts(strict, {{}, {"", "aaaa"}, {"b"}});
}

TEST(Recognizer, RecursiveRules) {
  GrammarBuilder b;
  RuleId sum = b.AddRule("sum"), hidden = b.AddRule("hidden"), list = b.AddRule("list");
  // Left, hidden left and ambiguous recursion.
  b.SetBody(sum, b.Choice({b.Sequence({b.Rule(sum), b.Bytes("+"), b.Rule(sum)}), b.Rule(list)}));
  b.SetBody(hidden, b.Choice({b.Empty(), b.Sequence({b.Rule(hidden), b.Rule(hidden)})}));
  b.SetBody(list, b.Choice({b.Bytes("1"), b.Sequence({b.Rule(hidden), b.Bytes("("), b.Rule(sum),
                                                      b.Bytes(")")})}));
  Grammar g = *b.Finish(sum);
  ExpectTexts(g, {{"1", "1+1", "(1+1)+1+(((1)))"},
                  {"", "(", "((1)", "1+", "1+(1"},
                  {")", "1)", "11", "()", "+"}});
}

TEST(Recognizer, WhatNoTextMatchesIsNoPrefix) {
  GrammarBuilder b;
  RuleId root = b.AddRule("root"), endless = b.AddRule("endless");
  b.SetBody(endless, b.Sequence({b.Bytes("x"), b.Rule(endless)}));
  b.SetBody(
      root,
      b.Choice({b.Bytes("ok"), b.Rule(endless), b.Sequence({b.Bytes("t"), b.Tokens({{1}, false})}),
                b.Sequence(
                    {b.Bytes("n"), b.And({b.Star(b.Bytes("a")), b.Repeat(b.Bytes("b"), 1, 2)})})}));
  Grammar g = *b.Finish(root);
  ExpectTexts(g, {{"ok"}, {"", "o"}, {"x", "t", "n", "na"}});
}

TEST(Recognizer, ComplementIsOverAllByteStrings) {
  ExpectTexts(Root([](B& b) { return b.Not(b.Star(b.Class(CodePointSet::All()))); }),
              {{"\xFF", "a\x80"}, {"", "a", "\xC3\xA9"}, {}});
  ExpectTexts(Root([](B& b) {
                return b.Sequence({b.And({b.Repeat(b.Class(CodePointSet{{'a', 'z'}}), 1, 3),
                                          b.Not(b.Bytes("if")), b.Not(b.Bytes("do"))}),
                                   b.Bytes(";")});
              }),
              {{"i;", "ifs;", "abc;"}, {"", "if", "do", "doe"}, {"if;", ";", "abcd", "1"}});
}

// A prefix is what can be carried on, byte by byte, to a text that matches; nothing else is.
TEST(Recognizer, PrefixesAreWhatCanBeCompleted) {
  Universe u("ab", 4);
  int prefixes = 0, others = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    RandomWorld::Options options;
    options.rules = 1 + static_cast<int>(seed % 3);
    options.booleans = seed % 2 == 1;
    options.depth = 3;
    Grammar grammar = *RandomWorld(seed, options).Finish();
    Recognizer r(grammar);
    NodeId body = grammar.rule_body(grammar.root());
    bool regular = grammar.node(body).regular;
    ByteDfa dfa = regular ? ByteDfa::Build(grammar, body) : ByteDfa();
    for (const std::string& text : u.texts()) {
      bool prefix = r.IsPrefix(text);
      ++(prefix ? prefixes : others);
      if (regular) {
        ASSERT_EQ(prefix, dfa.IsPrefix(text)) << seed << text;
      }
      if (r.Matches(text)) {
        ASSERT_TRUE(prefix) << seed << text;
      }
      // Complements go on with any byte; all other bytes are alike.
      bool goes_on = r.Matches(text);
      for (const char* next : {"a", "b", "z"}) goes_on = goes_on || r.IsPrefix(text + next);
      ASSERT_EQ(prefix, goes_on) << "seed " << seed << " text '" << text << "'\n"
                                 << grammar.ToString();
    }
    if (!r.IsPrefix("")) continue;
    // Something that is no dead end is completed in a few steps.
    std::deque<std::string> queue = {""};
    bool found = false;
    for (int steps = 0; steps < 3000 && !queue.empty() && !found; ++steps) {
      std::string text = queue.front();
      queue.pop_front();
      found = r.Matches(text);
      for (const char* next : {"a", "b"}) {
        if (r.IsPrefix(text + next)) queue.push_back(text + next);
      }
    }
    ASSERT_TRUE(found) << "seed " << seed << "\n" << grammar.ToString();
  }
  EXPECT_GT(prefixes, 1000);
  EXPECT_GT(others, 1000);
}

TEST(ByteDfa, AgreesWithTheDefinition) {
  Universe u("ab", 6);
  for (uint32_t seed = 0; seed < 300; ++seed) {
    RandomWorld::Options options;
    options.booleans = true;
    options.json = seed % 3 == 0;
    RandomWorld world(seed, options);
    Language want = world.RootLanguage(u);
    Grammar grammar = *world.Finish();
    NodeId body = grammar.rule_body(grammar.root());
    if (!grammar.node(body).regular) continue;
    ByteDfa dfa = ByteDfa::Build(grammar, body);
    for (size_t i = 0; i < u.size(); ++i) {
      uint32_t state = 0;
      for (char c : u.texts()[i]) state = dfa.Step(state, static_cast<uint8_t>(c));
      ASSERT_EQ(dfa.Accepts(state), want[i]) << seed << " " << u.texts()[i];
    }
  }
}

}  // namespace
}  // namespace grammask::internal
