// Values that must differ: tokens that end one and go on into the next.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mask/mask_world.h"

namespace grammask::internal {
namespace {

std::vector<std::string> Tokens() {
  return ManyTokens({"\",",         "\", ",         "\",\n  ",
                     "\",\"",       "\", \"",       "a\",\"",
                     "\",\"a",      "\", \"ab",     "\",\"a\"",
                     "\",\"a\",",   "\",\"ab\",\"", "\",\"a\",\"b",
                     "\",\"b\"]",   "\"]",          "\"],",
                     "\"],[",       "\"],[\"",      "\"],[\"a",
                     "\"],[\"a\"]", "],[\"b",       "\", \"\\u0061\"",
                     "1,",          "1, ",          "1,1",
                     "1,2,",        "12,1",         "2,12,1",
                     ",1,2",        "1],[1",        "1],[2]",
                     "ab\"",        "aab",          "bbbbbbbbbbbb",
                     "true,",       "true,true",    "true,false",
                     "null,true",   "e,nul",        "\",null",
                     "\",1,\"a\""},
                    23, "ab12,\"[] ", 700, 6);
}

struct Case {
  std::string items;
  std::vector<std::string> texts;
};

void CheckAll(const std::vector<Case>& cases) {
  const auto vocab = MakeVocab(Tokens());
  for (const Case& c : cases) {
    MaskWorld w(vocab);
    w.CheckSchema(R"({"type": "array", "uniqueItems": true, "items": )" + c.items + "}", c.texts);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(CapturedMasks, MoreValuesThanCanBeWritten) {
  const std::vector<std::string> texts = {R"(["a","ab","b","aab"])",
                                          R"(["b", "a", "bbbbbbbbbbbb"])", R"(["ab","\u0061"])"};
  CheckAll({
      {R"({"type": "string"})", texts},
      {R"({"type": "string", "maxLength": 249})", texts},
      {R"({"type": "string", "pattern": "^[a-z]+$", "maxLength": 200})", texts},
      {R"({"type": "string", "pattern": "b", "maxLength": 300})", {R"(["b","ab","bbbbbbbbbbbb"])"}},
      {R"({"type": "string", "pattern": "^a?b?$|^ab[ab]{0,300}$"})", {R"(["a","ab","b","aba"])"}},
  });
}

// Not so many that it would not matter which are excluded.
TEST(CapturedMasks, FewValues) {
  CheckAll({
      {R"({"type": "string", "pattern": "^[ab]{1,2}$"})", {R"(["a","ab","b","ba"])"}},
      {R"({"type": "string", "maxLength": 1, "pattern": "^[ab]$"})", {R"(["a","b"])"}},
      {R"({"type": "string", "pattern": "^a{0,300}$"})", {R"(["a","aa","aaa"])"}},
      {R"({"enum": ["a", "b", "ab", 1, true, null]})", {R"(["ab",1,"a",true,null,"b"])"}},
      // The loop is behind more than the bound leaves room for.
      {R"({"type": "string", "pattern": "^a$|^b$|^a{100}[a-z]*$", "maxLength": 101})",
       {R"(["a","b"])"}},
      {R"({"type": "string", "pattern": "^[ab]$|^a{150}[a-z]*$", "maxLength": 350})",
       {R"(["a","b"])"}},
  });
}

TEST(CapturedMasks, NumbersAndMore) {
  CheckAll({
      {R"({"type": "integer"})", {"[1,12,2,21]", "[1, 2, 12]"}},
      {R"({"type": "integer", "minimum": 1, "maximum": 12})", {"[1,12,2]", "[2, 12, 1]"}},
      {R"({"type": ["integer", "string", "boolean", "null"]})",
       {R"([1,"a",true,null,2,"1"])", R"([ "a", 1, false ])"}},
  });
}

// Arrays of such arrays must differ, too.
TEST(CapturedMasks, InsideOneAnother) {
  const std::string inner = R"({"type": "array", "uniqueItems": true, "items": )";
  CheckAll({
      {inner + R"({"type": "string", "maxLength": 249}})",
       {R"([["a","b"],["b"],["a","ab"],["a"]])"}},
      {inner + R"({"type": "integer"}})", {"[[1,2],[1],[2,1],[12]]"}},
  });
}

// Numbers with whitespace before them, of which each digit may be the last: so many values that a
// mask must not spell them all out. Some tokens go on past one, or say one in another way.
TEST(CapturedMasks, ManyNumbersBehindWhitespace) {
  std::vector<std::string> tokens = {",", " 10, 1", " 10, 10", " 1e1", " 1e1,10", " 100.0, 1", "]"};
  for (int b = 0; b < 256; ++b) tokens.push_back(std::string(1, static_cast<char>(b)));
  for (int n = 10; n < 1500; ++n) tokens.push_back(" " + std::to_string(n));
  SortUnique(&tokens);
  for (const char* items : {R"({"type": "integer"})", R"({"type": "number"})", "true"}) {
    MaskWorld w(MakeVocab(tokens));
    const auto grammar = GrammarFromJsonSchema(
        R"({"type": "array", "uniqueItems": true, "items": )" + std::string(items) + "}");
    ASSERT_TRUE(grammar.ok()) << grammar.status().message();
    const SetId start = w.Start(*grammar);
    const SetId first = w.sets().Run(start, "["), third = w.sets().Run(start, "[ 10, 100,");
    w.Filled(first);
    w.Filled(third);
    EXPECT_LT(w.terms().size(), 8'000) << items;  // 13,600 where each is spelled out
    w.Check(first, items);
    w.Check(third, items);
  }
}

}  // namespace
}  // namespace grammask::internal
