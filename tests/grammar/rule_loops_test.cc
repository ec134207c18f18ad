// Rules as loops: the shapes that are taken over, and that the language stays the same.
#include "grammar/rule_loops.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/ebnf.h"
#include "oracle/recognizer.h"
#include "parser/random_grammar.h"
#include "sampled.h"

namespace grammask::internal {
namespace {

Grammar Parse(std::string_view source) {
  StatusOr<Grammar> grammar = ParseEbnf(source);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message() << source;
  return *grammar;
}

std::string Loops(std::string_view source) { return RulesToLoops(Parse(source), {}).ToString(); }

// `expected` as it is printed once it was read.
void ExpectLoops(std::string_view source, std::string_view expected) {
  EXPECT_EQ(Loops(source), Parse(expected).ToString()) << source;
}

constexpr std::string_view kAtom = "x ::= \"1\" | \"(\" root \")\"\n";
std::string WithAtom(std::string_view rules) { return std::string(rules) + std::string(kAtom); }

TEST(RuleLoops, DirectRecursion) {
  ExpectLoops("root ::= root \"+\" | \"a\"\n", "root ::= \"a\" \"+\"*\n");
  ExpectLoops(WithAtom("root ::= x root | \"a\"\n"), WithAtom("root ::= x* \"a\"\n"));
  ExpectLoops(WithAtom("root ::= x root | \"\"\n"), WithAtom("root ::= x*\n"));
  ExpectLoops("root ::= root root | \"a\"\n", "root ::= \"a\"+\n");
  ExpectLoops("root ::= root \"+\" root | \"a\"\n", "root ::= \"a\" (\"+\" \"a\")*\n");
  ExpectLoops("root ::= root \"+\" root | \"-\" root | root \"!\" | \"a\"\n",
              "root ::= \"-\"* \"a\" (\"!\" | \"+\" \"-\"* \"a\")*\n");
  ExpectLoops(WithAtom("root ::= x \",\" root | x\n"), WithAtom("root ::= x (\",\" x)*\n"));
  ExpectLoops(WithAtom("root ::= x (\",\" root)?\n"), WithAtom("root ::= x (\",\" x)*\n"));
  ExpectLoops(WithAtom("root ::= (root \",\")? x\n"), WithAtom("root ::= x (\",\" x)*\n"));
  ExpectLoops(WithAtom("root ::= x (\",\" root | \";\")?\n"),
              WithAtom("root ::= x (\",\" x)* \";\"?\n"));
  // What recurs elsewhere as well.
  ExpectLoops("root ::= root \"[\" root \"]\" | \"a\"\n", "root ::= \"a\" (\"[\" root \"]\")*\n");
}

TEST(RuleLoops, RecursionThroughAnotherRule) {
  ExpectLoops(
      "root ::= \"(\" power \")\"\n"
      "power ::= x (\"^\" factor)?\n"
      "factor ::= \"-\" factor | power\n"
      "x ::= \"1\" | root\n",
      "root ::= \"(\" power \")\"\n"
      "power ::= x (\"^\" \"-\"* x)*\n"
      "x ::= \"1\" | root\n");
}

TEST(RuleLoops, Ladders) {
  const std::string one = WithAtom("root ::= x (\"*\" x | \"+\" x | \"<\" x)*\n");
  ExpectLoops(WithAtom("root ::= sum (\"<\" sum)*\n"
                       "sum ::= product (\"+\" product)*\n"
                       "product ::= x (\"*\" x)*\n"),
              one);
  // Written in other ways.
  ExpectLoops(WithAtom("root ::= root \"<\" sum | sum\n"
                       "sum ::= sum \"+\" product | product\n"
                       "product ::= product \"*\" x | x\n"),
              one);
  ExpectLoops(WithAtom("root ::= sum \"<\" root | sum\n"
                       "sum ::= product \"+\" sum | product\n"
                       "product ::= x \"*\" product | x\n"),
              one);
  ExpectLoops(WithAtom("root ::= sum compared\n"
                       "compared ::= \"<\" sum compared | \"\"\n"
                       "sum ::= product added*\n"
                       "added ::= \"+\" product\n"
                       "product ::= x multiplied\n"
                       "multiplied ::= (\"*\" x)*\n"),
              one);
  // A prefix between two levels, and an operator of several words.
  ExpectLoops(WithAtom("root ::= not (\"or\" not)*\n"
                       "not ::= \"not\"* sum\n"
                       "sum ::= x ((\"+\" | \"-\" \"!\"?) x)*\n"),
              WithAtom("root ::= \"not\"* x ((\"+\" | \"-\" \"!\"?) x | \"or\" \"not\"* x)*\n"));
  // In the midst of others, and levels that are used by themselves.
  EXPECT_EQ(RulesToLoops(Parse(WithAtom("root ::= \"<\" sum (\"+\" sum)* \">\" | \"[\" sum \"]\"\n"
                                        "sum ::= x (\"*\" x)*\n")),
                         {})
                .rule_count(),
            3u);
}

// The levels of a language with as many as Python has.
TEST(RuleLoops, ManyLevels) {
  std::string source = "root ::= level0\n";
  for (int i = 0; i < 40; ++i) {
    const std::string next = i == 39 ? "x" : "level" + std::to_string(i + 1);
    source += "level" + std::to_string(i) + " ::= " + next + " (\"" + std::to_string(i) + "\" " +
              next + ")*\n";
  }
  const Grammar grammar = RulesToLoops(Parse(WithAtom(source)), {});
  EXPECT_EQ(grammar.rule_count(), 3u) << grammar.ToString();
}

// What has no loops to be found is not even copied, and what is large is left where it is.
TEST(RuleLoops, LeavesOthersAlone) {
  for (const char* source : {
           "root ::= \"a\" root \"a\" | \"b\"\n",
           "root ::= \"[\" (value (\",\" value)*)? \"]\"\nvalue ::= \"1\" | root\n",
           "root ::= word (\" \" word)*\nword ::= [a-z]+ ws\nws ::= \" \"*\n",
           "root ::= sum \";\"\nsum ::= \"(\" sum \")\" | [0-9]+\n",
           "root ::= \"[\" items\nitems ::= \"1,\" items | \"1]\"\n",
       }) {
    const Grammar grammar = Parse(source);
    EXPECT_EQ(&RulesToLoops(grammar, {}).nodes(), &grammar.nodes()) << source;
  }
  // Nothing but itself: no text.
  const Grammar nothing = Parse("root ::= root \"a\"\n");
  EXPECT_EQ(RulesToLoops(nothing, {}).ToString(), nothing.ToString());
  // A loop some of whose rounds do not end in the level.
  const std::string some = WithAtom("root ::= sum (\"<\" sum | \"!\")*\nsum ::= x (\"+\" x)*\n");
  EXPECT_EQ(Loops(some), Parse(some).ToString());
  std::string head;
  for (int i = 0; i < 60; ++i)
    head += "[a-" + std::string(1, static_cast<char>('c' + i % 20)) + "] x ";
  const std::string large = WithAtom("root ::= sum (\"<\" sum)*\nsum ::= " + head + "(\"+\" x)*\n");
  EXPECT_EQ(Loops(large), Parse(large).ToString());
}

TEST(RuleLoops, WithinLimits) {
  const Grammar grammar = Parse(WithAtom("root ::= sum (\"<\" sum)*\nsum ::= x (\"+\" x)*\n"));
  Limits limits;
  limits.max_ast_nodes = 4;
  EXPECT_EQ(&RulesToLoops(grammar, limits).nodes(), &grammar.nodes());
}

// Deep and long ones: nothing recurs, and time stays linear.
TEST(RuleLoops, HostileInput) {
  std::string tails = "root ::= r0 (\"+\" r0)*\n";
  for (int i = 0; i < 20000; ++i) {
    tails += "r" + std::to_string(i) + " ::= \"" + (i % 2 == 0 ? "a" : "b") + "\" r" +
             std::to_string((i + 1) % 20000) + " | \"c\" (\"-\" r" + std::to_string(i) + ")*\n";
  }
  EXPECT_EQ(RulesToLoops(Parse(tails), {}).rule_count(), 20001u);
  std::string wide = "root ::= root root";
  for (int i = 0; i < 5000; ++i) wide += " | root \"" + std::to_string(i) + "\" root | \"a\" root";
  EXPECT_GE(RulesToLoops(Parse(wide + " | \"a\"\n"), {}).rule_count(), 1u);
  // Many long alternatives after a long beginning; many uses of one long loop.
  std::string either = "root ::=", uses = "root ::= \";\"", loop = "loop ::= (\"+\"";
  for (int i = 0; i < 5000; ++i) {
    either += " x \"" + std::to_string(i) + "\"";
    uses += " y loop \"" + std::to_string(i) + "\"";
    loop += " x \"" + std::to_string(i) + "\"";
  }
  either += " (root";
  for (int i = 0; i < 5000; ++i) either += " | \"" + std::to_string(i) + "\" root";
  EXPECT_EQ(RulesToLoops(Parse(either + ")?\n" + "x ::= \"1\" | root\n"), {}).rule_count(), 2u);
  uses += "\n" + loop + " y)*\ny ::= x (\"-\" x)*\nx ::= \"1\" | root\n";
  EXPECT_LE(RulesToLoops(Parse(uses), {}).rule_count(), 4u);
  std::string nested = "root ::= x (\"+\" ";
  for (int i = 0; i < 200; ++i) nested += "(x (\"-\" ";
  nested += "x";
  for (int i = 0; i < 200; ++i) nested += ")*)";
  const Grammar deep = Parse(nested + ")*\nx ::= y (\"*\" y)*\ny ::= \"1\" | root\n");
  EXPECT_EQ(RulesToLoops(deep, {}).rule_count(), 3u);
}

// All texts of up to seven letters, by definition.
TEST(RuleLoops, RandomGrammars) {
  size_t changed = 0;
  for (uint64_t seed = 0; seed < 3000 * Effort(); seed += OneIn(10)) {
    const RandomGrammar random(seed);
    const Grammar before = random.Build(), after = RulesToLoops(before, {});
    if (&after.nodes() == &before.nodes()) continue;
    ++changed;
    Recognizer recognizer(after);
    for (size_t i = 0; i < TextSets::kCount; ++i) {
      ASSERT_EQ(recognizer.Matches(TextSets::Texts()[i]), random.language().words[i])
          << seed << '\n'
          << before.ToString() << after.ToString() << TextSets::Texts()[i];
    }
  }
  EXPECT_GT(changed, 200u / OneIn(10));
}

// Rules that call the next one in every way in which levels of operators are written, with so few
// letters that they are ambiguous everywhere.
TEST(RuleLoops, RandomLadders) {
  std::mt19937_64 random(1);
  const auto pick = [&](const std::vector<std::string>& from) {
    return from[random() % from.size()];
  };
  size_t changed = 0, fewer = 0;
  for (size_t n = 0; n < 300 * Effort(); n += OneIn(10)) {
    const size_t rules = 2 + random() % 4;
    std::string source;
    for (size_t r = 0; r < rules; ++r) {
      const auto name = [&](size_t i) { return i == 0 ? "root" : "r" + std::to_string(i); };
      const std::string self = name(r);
      const std::string next =
          name(random() % 8 == 0 ? random() % rules : std::min(r + 1, rules - 1));
      const std::string a =
          pick({"\"a\"", "\"b\"", "\"a\"?", "\"ba\"", "\"b\"*", "(\"a\" | \"b\" root)"});
      const std::string b = pick({"\"a\"", "\"b\"", "\"ab\""});
      std::string body;
      if (r + 1 == rules) {
        body = pick({"\"a\"", "\"a\" | \"b\"", "\"a\" | \"b\" root \"b\"", "\"ab\" | \"\"",
                     "\"b\"* \"a\"", self + " \"b\" | \"a\""});
      } else {
        switch (random() % 12) {
          case 0:
            body = next + " (" + a + " " + next + ")*";
            break;
          case 1:
            body = self + " " + a + " " + next + " | " + next;
            break;
          case 2:
            body = next + " " + a + " " + self + " | " + next;
            break;
          case 3:
            body = next + " (" + a + " " + self + ")?";
            break;
          case 4:
            body = self + " " + a + " " + self + " | " + b + " " + self + " | " + next;
            break;
          case 5:
            body = a + " " + self + " | " + next;
            break;
          case 6:
            body = "(" + b + ")* " + next;
            break;
          case 7:
            body = next + " (" + a + " " + next + " | " + b + " " + next + ")*";
            break;
          case 8:
            body = next + " t" + std::to_string(r) + "\nt" + std::to_string(r) + " ::= " + b + " " +
                   next + " t" + std::to_string(r) + " | \"\"";
            break;
          case 9:
            body = next + " t" + std::to_string(r) + "*\nt" + std::to_string(r) + " ::= " + b +
                   " " + next;
            break;
          case 10:
            body = "(" + self + " " + a + ")? " + next + " | " + self + " " + b;
            break;
          default:
            body = next + " " + b + " | " + next + " | " + b + " " + next + " (" + a + " " + next +
                   ")*";
            break;
        }
      }
      source += self + " ::= " + body + "\n";
    }
    const Grammar before = Parse(source), after = RulesToLoops(before, {});
    if (&after.nodes() == &before.nodes()) continue;
    ++changed;
    fewer += after.rule_count() < before.rule_count();
    Recognizer old(before), now(after);
    for (size_t i = 0; i < TextSets::kCount; ++i) {
      const std::string& text = TextSets::Texts()[i];
      ASSERT_EQ(now.Matches(text), old.Matches(text)) << source << after.ToString() << text;
    }
  }
  EXPECT_GT(changed, 200u / OneIn(10));
  EXPECT_GT(fewer, 100u / OneIn(10));
}

}  // namespace
}  // namespace grammask::internal
