// Widening: every value that a schema admits is in the grammar, what has an exact form stays exact,
// and each place that was left out has a warning.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/json_schema.h"
#include "oracle/recognizer.h"

namespace grammask::internal {
namespace {

struct Widened {
  StatusOr<Grammar> grammar;
  std::vector<SchemaWarning> warnings;

  bool Accepts(std::string_view text) const { return Recognizer(*grammar).Matches(text); }
  // "#/a/not, #/b/uniqueItems"
  std::string Places() const {
    std::string out;
    for (const SchemaWarning& w : warnings) {
      out += (out.empty() ? "" : ", ") + w.pointer + "/" + w.keyword;
    }
    return out;
  }
};

Widened Widen(std::string_view schema, const Limits& limits = {}, bool strict = false) {
  JsonSchemaOptions options;
  options.strict_mode = strict;
  options.widen = true;
  std::vector<SchemaWarning> warnings;
  StatusOr<Grammar> grammar = GrammarFromJsonSchema(schema, options, limits, &warnings);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  return {std::move(grammar), std::move(warnings)};
}

StatusCode ExactCode(std::string_view schema) {
  JsonSchemaOptions options;
  options.strict_mode = false;
  return GrammarFromJsonSchema(schema, options).status().code();
}

struct Case {
  std::string_view schema, places;
  std::vector<std::string_view> accepted, refused;
};

TEST(JsonSchemaWiden, LeavesOutTheSmallestPart) {
  const Case cases[] = {
      {R"({"prefixItems":[{"type":"integer"}],"items":{"type":"number"},"uniqueItems":true,
          "contains":{"const":1},"maxItems":2,"type":"array"})",
       "#/uniqueItems",
       {"[1]", "[1,2]", "[1,1]"},
       {"[1,2,3]", "[\"a\"]", "[2]"}},
      // A pattern without a form; the length beside it holds.
      {R"({"type":"string","pattern":"^(a|b)\\1$","maxLength":2})",
       "#/pattern",
       {"\"aa\"", "\"xy\"", "\"ab\""},
       {"\"aaa\"", "1"}},
      // One bad tool among many.
      {R"({"oneOf":[{"type":"object","properties":{"tool":{"const":"a"},"x":{"type":"array",
          "prefixItems":[{"type":"number"}],"contains":{"const":1},"uniqueItems":true}},"required":["tool"]},{"type":"object","properties":{"tool":
          {"const":"b"},"y":{"type":"integer"}},"required":["tool"]}]})",
       "#/oneOf/0/properties/x/uniqueItems",
       {R"({"tool":"a","x":[1,1]})", R"({"tool":"b","y":2})"},
       {R"({"tool":"b","y":"2"})", R"({"tool":"a","x":1})", R"({"tool":"c"})"}},
      // What was widened is not subtracted.
      {R"({"type":["string","integer"],"not":{"pattern":"(a)\\1"}})",
       "#/not/pattern, #/not",
       {"\"ab\"", "\"aa\""},
       {"null", "1"}},
      // Arrays with equal elements: all that have two.
      {R"({"type":["number","array"],"not":{"type":"array","uniqueItems":true}})",
       "#/not/uniqueItems",
       {"1", "[1,1]", "[1,2]"},
       {"\"a\"", "[]", "[1]"}},
      {R"({"properties":{"a":{"not":{"type":"array","uniqueItems":true}},"b":{"type":"null"}}})",
       "#/properties/a/not/uniqueItems",
       {R"({"a":[1,1]})", R"({"a":2,"b":null})"},
       {R"({"b":1})", R"({"a":[1]})"}},
      {R"({"if":{"type":"array","uniqueItems":true},"then":{"maxItems":1},"else":{"minItems":1}})",
       "#/if/uniqueItems",
       {"[]", "[1]", "[1,1]", "3"},
       {}},
      // Only where it matters: the widened part has no numbers.
      {R"({"type":["number","string"],"not":{"type":"string","pattern":"(a)\\1"}})",
       "#/not/pattern, #/not",
       {"1", "\"ab\"", "\"aa\""},
       {"null"}},
      {R"({"patternProperties":{"^(x|y)\\1":{"type":"integer"},"^b":{"type":"null"}},
          "additionalProperties":{"type":"string"}})",
       "#/patternProperties",
       {R"({"xx":1})", R"({"xy":"s"})", R"({"b":null})"},
       {R"({"xy":true})", R"({"b":1})"}},
      {R"({"anyOf":[{"type":"string","pattern":"(.)\\1"},{"type":"integer","minimum":5}]})",
       "#/anyOf/0/pattern",
       {"\"aa\"", "\"ab\"", "7"},
       {"1", "null"}},
      {R"({"type":"integer","divisibleBy":2,"minimum":3})",
       "#/divisibleBy",
       {"3", "4"},
       {"2", "null"}},
      {R"({"multipleOf":1.23456789012345678901234567890123456789e-3,"minimum":0})",
       "#/multipleOf",
       {"0", "5"},
       {"-1"}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.schema);
    EXPECT_EQ(ExactCode(c.schema), StatusCode::kUnsupported);
    Widened w = Widen(c.schema);
    ASSERT_TRUE(w.grammar.ok());
    EXPECT_EQ(w.Places(), c.places);
    for (std::string_view text : c.accepted) EXPECT_TRUE(w.Accepts(text)) << text;
    for (std::string_view text : c.refused) EXPECT_FALSE(w.Accepts(text)) << text;
    for (const SchemaWarning& s : w.warnings) {
      EXPECT_FALSE(s.reason.empty());
      EXPECT_NE(s.reason[0], '#') << s.reason;
    }
  }
}

TEST(JsonSchemaWiden, WhatIsExactStaysExact) {
  for (std::string_view schema : {R"({"type":"array","items":{"enum":[1,2]},"uniqueItems":true})",
                                  R"({"not":{"type":"string","pattern":"^a"}})",
                                  R"({"oneOf":[{"minimum":1},{"maximum":2}]})"}) {
    SCOPED_TRACE(schema);
    JsonSchemaOptions options;
    std::vector<SchemaWarning> warnings;
    std::string exact = GrammarFromJsonSchema(schema, options)->ToString();
    options.widen = true;
    EXPECT_EQ(GrammarFromJsonSchema(schema, options, {}, &warnings)->ToString(), exact);
    EXPECT_TRUE(warnings.empty());
  }
}

TEST(JsonSchemaWiden, OtherErrorsStay) {
  JsonSchemaOptions options;
  options.widen = true;
  auto code = [&](std::string_view schema) {
    return GrammarFromJsonSchema(schema, options).status().code();
  };
  EXPECT_EQ(code("{"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(R"({"type":"x"})"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(R"({"uniqueItems":true,"properties":{"a":{"pattern":"("}}})"),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code(R"({"$ref":"#/nothing"})"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("false"), StatusCode::kUnsatisfiable);
  EXPECT_EQ(code(R"({"type":"integer","pattern":"(a)\\1","minimum":2,"maximum":1})"),
            StatusCode::kUnsatisfiable);
  EXPECT_EQ(code(R"({"type":"string","allOf":[{"pattern":"(a)\\1"},{"type":"array"}]})"),
            StatusCode::kUnsatisfiable);
}

// A schema whose combinations take too many steps keeps what its simple keywords say, and those
// beside it stay whole.
TEST(JsonSchemaWiden, StepsAreBoundedForEachSchema) {
  std::string branches;
  for (int i = 0; i < 40; ++i) {
    std::string n = std::to_string(i);
    branches += (i == 0 ? "" : ",") + (R"({"properties":{"k)" + n + R"(":{"type":"integer"},"l)" +
                                       n + R"(":{"type":"string"}},"required":["k)" + n + R"("]})");
  }
  std::string schema =
      R"({"type":"object","properties":{"a":{"type":"object","maxProperties":2,"oneOf":[)" +
      branches + R"(]},"b":{"oneOf":[{"type":"integer"},{"type":"null"}]}}})";
  Limits limits;
  limits.max_schema_steps = 20'000;
  JsonSchemaOptions options;
  options.strict_mode = false;
  ASSERT_EQ(GrammarFromJsonSchema(schema, options, limits).status().code(),
            StatusCode::kResourceExhausted);
  Widened w = Widen(schema, limits);
  ASSERT_TRUE(w.grammar.ok());
  EXPECT_EQ(w.Places(), "#/properties/a/oneOf");
  EXPECT_TRUE(w.Accepts(R"({"a":{"k1":1},"b":null})"));
  EXPECT_FALSE(w.Accepts(R"({"a":{"k1":1,"x":1,"y":1}})"));
  EXPECT_FALSE(w.Accepts(R"({"b":"s"})"));
}

}  // namespace
}  // namespace grammask::internal
