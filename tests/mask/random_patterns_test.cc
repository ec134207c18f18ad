// Strings of JSON Schema with random patterns and bounds: masks along random texts, with words of a
// vocabulary that go over whatever the pattern counts, compared with trying every token.
#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/sorted.h"
#include "mask/random_texts.h"
#include "sampled.h"

namespace grammask::internal {
namespace {

std::vector<std::string> Tokens() {
  std::vector<std::string> tokens = ManyTokens(
      {"\"",      "\",",   "\"}",      " ",    "  ",           "\\n",      "\\\"",
       "\\u0061", "\\u00", "\xC3\xA9", "\xC3", "\xE4\xB8\xAD", "\xE4\xB8", "\xF0\x9F\x98\x80",
       "\xA9",    "the",   "in",       "on",   "://",          "---"},
      5, "aaabcdefghijeeinotsr", 2500, 14);
  const std::vector<std::string> more = ManyTokens({}, 6, "aetn0129-_ ./:ABZ\"", 1500, 8);
  tokens.insert(tokens.end(), more.begin(), more.end());
  for (size_t i = 0; i < 1000; ++i) tokens.push_back(" " + tokens[i * 2] + tokens[i]);
  for (const char c : {'a', 'e', '0', '-', ' ', 'Z', '.'}) {
    for (const size_t n : {9, 14, 20, 33, 50}) tokens.push_back(std::string(n, c));
  }
  SortUnique(&tokens);
  return tokens;
}

class PatternMaker : public Draws {
 public:
  using Draws::Draws;

  // The schema of a string.
  std::string Schema() {
    std::string schema = R"({"type": "string", "pattern": ")" + Pattern() + '"';
    if (OneOf(3)) schema += R"(, "minLength": )" + std::to_string(Below(20));
    if (!OneOf(3)) schema += R"(, "maxLength": )" + std::to_string(8 + Below(40));
    if (OneOf(10)) schema += R"(, "allOf": [{"pattern": ")" + Pattern() + R"("}])";
    if (OneOf(10)) schema += R"(, "not": {"enum": ["the", "in", "a", "ae"]})";
    return schema + '}';
  }

 private:
  std::string Pattern() {
    std::string pattern;
    for (size_t n = 1 + Below(4); n > 0; --n) pattern += Part();
    if (OneOf(4)) pattern = "(" + pattern + "|" + Part() + ")" + Part();
    if (OneOf(6)) pattern = "(" + pattern + ")" + Bounds(1 + Below(3), 3 + Below(6));
    if (OneOf(12)) pattern = "(?!" + Part() + (OneOf(2) ? "$)" : ")") + pattern;
    return (OneOf(3) ? "" : "^") + pattern + (OneOf(2) ? "$" : "");
  }
  std::string Part() {
    static constexpr std::string_view kAtoms[] = {
        "[a-z]",  "[A-Z]",   "[0-9]",  "[a-zA-Z0-9]", "[a-z ]",    "[a-f]",      "[._-]", R"(\\w)",
        R"(\\d)", R"(\\S)",  ".",      "[^/]",        "-",         "a",          "e",     " ",
        "(the)",  "(in|on)", R"(\\s)", "[^ ]",        R"(\\p{L})", "([aeiou]+)", "(ab?)", "(e.)"};
    const std::string atom(kAtoms[Below(std::size(kAtoms))]);
    const size_t least = Below(12);
    switch (Below(8)) {
      case 0:
        return atom;
      case 1:
        return atom + "*";
      case 2:
        return atom + "+";
      case 3:
        return atom + "?";
      case 4:
        return atom + "{" + std::to_string(1 + Below(20)) + "}";
      case 5:
        return atom + Bounds(least, least + 1 + Below(30));
      case 6:
        return atom + "{" + std::to_string(least) + ",}";
      default:
        return atom + Bounds(0, 1 + Below(30));
    }
  }
  static std::string Bounds(size_t least, size_t most) {
    return "{" + std::to_string(least) + "," + std::to_string(most) + "}";
  }
};

TEST(RandomPatterns, MasksAlongRandomTexts) {
  const auto schemas = static_cast<int>(4000 * Effort());
  RandomTexts texts(MakeVocab(Tokens()), 7, 100);
  for (int i = 0; i < schemas; i += OneIn(13)) {
    PatternMaker maker(static_cast<uint64_t>(i));
    const std::string schema = maker.Schema();
    const StatusOr<Grammar> grammar = GrammarFromJsonSchema(schema);
    if (!grammar.ok()) {
      const std::string& message = grammar.status().message();
      ASSERT_NE(message.find("unsatisfiable"), std::string::npos) << schema << message;
      continue;
    }
    texts.Check(*grammar, "case " + std::to_string(i) + ": " + schema, &maker);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(texts.masks(), static_cast<size_t>(schemas / OneIn(13)) * 2);
}

}  // namespace
}  // namespace grammask::internal
