#include "automaton/captured_value.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace grammask::internal {
namespace {

JsonDocument Parse(const std::string& text) { return JsonDocument::Parse(text, Limits()).value(); }

CapturedValue Value(const std::string& text) {
  auto kept = std::make_unique<const std::string>(text);
  JsonDocument document = JsonDocument::Parse(*kept, Limits()).value();
  return CapturedValue(std::move(kept), std::move(document));
}

std::string Canonical(const std::string& text) { return CanonicalJson(Parse(text)); }

TEST(CanonicalJson, EqualValuesHaveOneText) {
  const std::vector<std::vector<std::string>> groups = {
      {"{}", " { } "},
      {"[]", "[ ]"},
      {R"({"a":1,"b":[2]})", R"({"b":[2.0],"a":1e0})", R"({"\u0061":1,"b":[ 20e-1 ]})"},
      {R"({"a":1,"b":[3]})"},
      {R"(["a","b"])", R"(["\u0061","b"])"},
      {R"(["ab"])"},
      {R"(["1\"a"])"},
      {R"([1,"a"])"},
      {"[1]", "[1.0]", "[0.1e1]"},
      {R"(["1"])"},
      {"[[1],[]]"},
      {"[[1]]"},
      {"[[],[1]]"},
      {"[true]"},
      {"[false]"},
      {"[null]"},
      {R"({"a":{"b":1}})"},
      {R"({"a":{},"b":1})"},
  };
  for (size_t i = 0; i < groups.size(); ++i) {
    for (size_t j = 0; j < groups.size(); ++j) {
      for (const std::string& x : groups[i]) {
        for (const std::string& y : groups[j]) {
          EXPECT_EQ(Canonical(x) == Canonical(y), i == j) << x << " and " << y;
        }
      }
    }
  }
}

TEST(CapturedValue, EveryBeginningOfItsTextsMayBecomeIt) {
  const CapturedValue value =
      Value(R"({"a":[1,-20,{"x":null}],"bc":"\u00e9\ud83d\ude00\n","":true})");
  for (
      const std::string text :
      {R"({"a":[1,-20,{"x":null}],"bc":"é😀\n","":true})",
       R"( { "" : true , "a" : [ 1.0 , -2e1 , { "x" : null } ] , "bc" : "\u00E9\uD83D\uDE00\u000a" } )",
       R"({"b\u0063":"é\ud83d\ude00\n","":true,"\u0061":[10e-1,-20.00,{"\u0078":null}]})"}) {
    for (size_t n = 0; n <= text.size(); ++n) {
      EXPECT_TRUE(value.MayComeFrom(text.substr(0, n))) << text.substr(0, n);
    }
  }
}

TEST(CapturedValue, OtherTextsAreToldApartWhereTheyDiffer) {
  const CapturedValue value = Value(R"({"a":[1,20],"b":"xy"})");
  for (const std::string text : {R"({"c)",
                                 R"({"a":[2,)",
                                 R"({"a":[1,20,)",
                                 R"({"a":[1])",
                                 R"({"a":{)",
                                 R"({"b":"x")",
                                 R"({"b":"z)",
                                 R"({"b":1)",
                                 R"({"a":[1,20]})",
                                 R"({})",
                                 "[",
                                 R"({"b":"xy","c":)",
                                 R"({"a":[1,20],"a")",
                                 R"({"a":[10,)",
                                 R"({"b":"xyz)",
                                 R"({"a":[-)",
                                 R"({"a":[2)",
                                 R"({"a":[11)",
                                 R"({"a":[1.01)",
                                 R"({"a":[1,201e)",
                                 R"({"a":[1,0.021)",
                                 R"({"b":"\u1)",
                                 R"({"b":"\u00e)",
                                 R"({"b":"x\u0078)",
                                 R"({"b":"xy\)",
                                 R"({"b":"\uD8)",
                                 R"({"\u0063)"}) {
    EXPECT_FALSE(value.MayComeFrom(text)) << text;
  }
  // The longest beginnings of these still may.
  for (const std::string text : {R"({"a":[10)", R"({"a":[0.0)", R"({"a":[1e7)", R"({"a":[1,20)",
                                 R"({"a":[1,0.0200)", R"({"b":"x)", R"({"b":"\)", R"({"b":"\u00)",
                                 R"({"b":"\u0078\u)", R"({"\u006)", "{", R"({"a":[1,)"}) {
    EXPECT_TRUE(value.MayComeFrom(text)) << text;
  }
}

TEST(RepeatsKey, CountsColonsOutsideOfStrings) {
  for (const std::string text : {R"({"a":1,"b":{"a":2}})", R"([":",{":":":"}])", "[]"}) {
    EXPECT_FALSE(RepeatsKey(text, Parse(text))) << text;
  }
  for (const std::string text : {R"({"a":1,"a":1})", R"([{"b":{"x":1,"\u0078":2}}])"}) {
    EXPECT_TRUE(RepeatsKey(text, Parse(text))) << text;
  }
}

}  // namespace
}  // namespace grammask::internal
