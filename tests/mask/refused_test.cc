// What tells a state from a wider one, in a vocabulary so large that the walk jumps.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mask/mask_world.h"

namespace grammask::internal {
namespace {

// Words, spaces between them, characters of several bytes, whole and cut, and ends of strings.
std::vector<std::string> Tokens() {
  std::vector<std::string> tokens;
  for (const char* letters :
       {"abcdefghijkl", "abcdefgh ", "ab \xC3\xA9", "a \xC2\xA0\xE2\x80\x83z"}) {
    const std::vector<std::string> some = ManyTokens({}, 7, letters, 6000, 12);
    tokens.insert(tokens.end(), some.begin(), some.end());
  }
  for (const char* text : {"\",",
                           "a\"",
                           "ab cd\"",
                           " a\", ",
                           "\\n",
                           "\\n\\n",
                           "a\\t",
                           "\\u0020",
                           "\\u00e9",
                           "a b c d e f",
                           " b c d e f",
                           "a  b  c  d",
                           "abc def ghi abc def ghi abc",
                           "a b c d e f g h",
                           " a b c d e f g h i j",
                           "a b c d e f g h i j k",
                           "abcdefg a b c d e f",
                           "a b c d e fghijklabcd",
                           "  a   b  c d    e f",
                           "abcdefghabc d e f g",
                           " abc d e f g h i ",
                           "a c a c a c a c a c a"}) {
    tokens.push_back(text);
  }
  SortUnique(&tokens);
  return tokens;
}

void Check(const std::string& schema, const std::vector<std::string>& texts) {
  static const auto vocab = MakeVocab(Tokens());
  MaskWorld world(vocab);
  world.CheckSchema(schema, texts);
}

TEST(Refused, WordsUnderTwoBounds) {
  Check(R"({"type": "string", "pattern": "^(?:\\S+\\s+){0,9}\\S+$", "maxLength": 40})",
        {"\"abc de f g h i j k l a\"", "\"a b c d e f g h i j\"",
         "\"abcdefghijkl abcdefgh abc ab a abcde\"",
         "\"\xC3\xA9\xC3\xA9 a\xC2\xA0\xE2\x80\x83z  b  \xC3\xA9\""});
}

TEST(Refused, LoopsBesideOneAnother) {
  Check(R"({"type": "string", "pattern": "^[a-h]{0,12}( [a-l]{1,9}){0,4}$"})",
        {"\"abcdefghabcd abcdefghi abc ab a\"", "\"abcdefghabc\""});
  Check(R"({"type": "string", "pattern": "^([a-h ]{1,20}z){0,3}$", "maxLength": 50})",
        {"\"abcdefgh abcz a b cz\"", "\"aaaaaaaaaaaaaaaaaaaaz\""});
}

TEST(Refused, Exclusions) {
  Check(R"({"type": "string", "pattern": "^[a-l ]*$", "not": {"pattern": "^[a-h]{4,9} [a-d]+$"}})",
        {"\"abcdefgh abcd \"", "\"abcdefgh abcdl\""});
  Check(R"({"type": "string", "not": {"pattern": "^(\\S+ ){2,4}\\S+$"}})",
        {"\"a b\"", "\"abc de f g h i j\"", "\"\xC3\xA9 b c \""});
}

}  // namespace
}  // namespace grammask::internal
