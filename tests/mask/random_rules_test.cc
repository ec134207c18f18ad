// Random grammars of wide classes, loops and rules that call each other: masks along random texts,
// compared with trying every token.
//
// In random_patterns_test.cc all is of one rule; here what begins a state, what follows a character
// and what follows a loop may be calls, which bring bytes that no edge of the state itself has.
#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/sorted.h"
#include "grammar/ebnf.h"
#include "mask/random_texts.h"
#include "sampled.h"

namespace grammask::internal {
namespace {

std::vector<std::string> Tokens() {
  std::vector<std::string> tokens = ManyTokens(
      {"\xC3\xA9", "\xC3", "\xA9", "\xE4\xB8\xAD", "\\n", "\\u0061", "\\\"", "the", "in", "on"}, 5,
      "aabcdefmxyz", 800, 9);
  const std::vector<std::string> more = ManyTokens({}, 6, "aemz019 .,*+?-()[]{}:\"", 1500, 4);
  tokens.insert(tokens.end(), more.begin(), more.end());
  SortUnique(&tokens);
  return tokens;
}

class RulesMaker : public Draws {
 public:
  using Draws::Draws;

  std::string Grammar() {
    rules_ = 1 + Below(4);
    std::string grammar = "root ::= " + Body() + "\n";
    for (size_t i = 0; i < rules_; ++i) {
      grammar += "r" + std::to_string(i) + " ::= " + Literal();
      // Of many nodes, or of itself: not written into what calls it.
      if (OneOf(3)) grammar += " | \"-\" [a-z] (\"a1\" | \"b2\" | \"c3\" | \"d4\" | [x-z] [0-4])";
      if (OneOf(3)) grammar += " | \"{\" [0-9]{1,3} (\",\" [0-9]{0,3})? \"}\" | [*+?] [*+]?";
      if (OneOf(2)) grammar += " | \"(\" " + Rule() + " \")\"";
      if (OneOf(2)) grammar += " | " + Body();
      grammar += "\n";
    }
    return grammar;
  }

 private:
  std::string Body() {
    std::string body = Sequence();
    for (size_t n = Below(3); n > 0; --n) body += " | " + Sequence();
    return body;
  }
  std::string Sequence() {
    std::string sequence;
    for (size_t n = 1 + Below(3); n > 0; --n) sequence += Part() + " ";
    return sequence + (OneOf(2) ? Literal() : "");
  }
  std::string Part() {
    static constexpr std::string_view kTimes[] = {"", "", "*", "+", "?", "{0,12}", "{2,}", "{3}"};
    switch (Below(6)) {
      case 0:
        return Rule() + Times();
      case 1:
        return Literal() + Times();
      case 2:  // what follows a character is not what begins
        return "(" + Class() + " " + (OneOf(4) ? Class() : Rule()) + (OneOf(2) ? "?)*" : "*)+");
      case 3:
        return "(" + Class() + " " + Rule() + Times() + " | " + Literal() + ")" + Times();
      default:
        return Class() + std::string(kTimes[Below(std::size(kTimes))]);
    }
  }
  std::string Rule() { return "r" + std::to_string(Below(rules_)); }
  std::string Times() { return OneOf(3) ? "*" : OneOf(2) ? "?" : ""; }
  std::string Class() {
    static constexpr std::string_view kClasses[] = {
        "[a-z]",  "[a-zA-Z0-9]",       "[^\"]",           "[^\"*]", "[^a-m]",
        "[0-9]",  "[a-z.*]",           "[*+?]",           "[ ]",    "[^\\x00-\\x1f\"\\\\{]",
        "[a-m ]", "JsonClass([^\"*])", "JsonClass([^z])", "[^ (]",  "JsonClass([a-z0-9])"};
    return std::string(kClasses[Below(std::size(kClasses))]);
  }
  std::string Literal() {
    static constexpr std::string_view kLiterals[] = {"\"*\"",   "\"(\"",   "\")\"",  "\"a\"",
                                                     "\"the\"", "\",\"",   "\"in\"", "\"{\"",
                                                     "\".\"",   "\"\\\"\""};
    return std::string(kLiterals[Below(std::size(kLiterals))]);
  }

  size_t rules_ = 0;
};

TEST(RandomRules, MasksAlongRandomTexts) {
  const auto grammars = static_cast<int>(1500 * Effort());
  RandomTexts texts(MakeVocab(Tokens()), 6, 50);
  for (int i = 0; i < grammars; i += OneIn(7)) {
    RulesMaker maker(static_cast<uint64_t>(i));
    const std::string ebnf = maker.Grammar();
    const StatusOr<Grammar> grammar = ParseEbnf(ebnf);
    ASSERT_TRUE(grammar.ok()) << ebnf << grammar.status().message();
    texts.Check(*grammar, "case " + std::to_string(i) + ":\n" + ebnf, &maker);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(texts.masks(), static_cast<size_t>(grammars / OneIn(7)) * 2);
}

}  // namespace
}  // namespace grammask::internal
