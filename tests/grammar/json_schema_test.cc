#include "grammar/json_schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/scratch.h"
#include "grammar/json_schema/emit.h"
#include "grammar/json_schema/json_document.h"
#include "grammar/json_schema/normalise.h"
#include "grammar/json_schema/schema_tree.h"
#include "grammar/json_schema/text_match.h"
#include "grammar/json_schema/uri.h"
#include "oracle/recognizer.h"

namespace grammask::internal {
namespace {

std::string CodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "kOk";
    case StatusCode::kInvalidArgument:
      return "kInvalidArgument";
    case StatusCode::kUnsupported:
      return "kUnsupported";
    case StatusCode::kUnsatisfiable:
      return "kUnsatisfiable";
    case StatusCode::kResourceExhausted:
      return "kResourceExhausted";
    default:
      return "other";
  }
}

JsonSchemaOptions Free() {
  JsonSchemaOptions options;
  options.strict_mode = false;
  return options;
}

bool Accepts(const Grammar& grammar, std::string_view text) {
  return Recognizer(grammar).Matches(text);
}

// ---- The table of cases ----

struct Case {
  int line;
  std::string schema;
  JsonSchemaOptions options = Free();
  std::vector<std::pair<bool, std::string>> texts;
  std::string code, part;
};

std::vector<Case> ReadCases() {
  std::ifstream file(std::string(GRAMMASK_TEST_DATA) + "/json_schema/cases.txt");
  std::vector<Case> cases;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    size_t space = line.find(' ');
    std::string word = line.substr(0, space);
    std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (word == "schema") {
      cases.push_back({number, rest});
    } else if (word == "strict") {
      cases.back().options.strict_mode = true;
    } else if (word == "compact") {
      cases.back().options.any_whitespace = false;
    } else if (word == "space") {
      cases.back().options.max_whitespace_cnt = std::stoi(rest);
    } else if (word == "indent") {
      cases.back().options.indent = std::stoi(rest);
    } else if (word == "separators") {
      size_t bar = rest.find('|');
      cases.back().options.separators = {{rest.substr(0, bar), rest.substr(bar + 1)}};
    } else if (word == "root_whitespace") {
      cases.back().options.root_whitespace = true;
    } else if (word == "+" || word == "-") {
      for (size_t at; (at = rest.find("<nl>")) != std::string::npos;) rest.replace(at, 4, "\n");
      cases.back().texts.emplace_back(word == "+", rest);
    } else if (word == "error") {
      cases.back().code = rest.substr(0, rest.find(' '));
      cases.back().part = rest.substr(rest.find(' ') + 1);
    } else {
      ADD_FAILURE() << "line " << number << " of cases.txt: " << word;
    }
  }
  return cases;
}

TEST(JsonSchema, Cases) {
  std::vector<Case> cases = ReadCases();
  ASSERT_GT(cases.size(), 100u);
  for (const Case& c : cases) {
    SCOPED_TRACE("cases.txt line " + std::to_string(c.line) + ": " + c.schema);
    const size_t pieces = ScratchOfThread().pieces;
    StatusOr<Grammar> grammar = GrammarFromJsonSchema(c.schema, c.options);
    EXPECT_EQ(ScratchOfThread().pieces, pieces) << "something outlives the reading of a schema";
    if (!c.code.empty()) {
      EXPECT_EQ(CodeName(grammar.status().code()), c.code);
      EXPECT_NE(grammar.status().message().find(c.part), std::string::npos)
          << grammar.status().message();
      continue;
    }
    EXPECT_TRUE(grammar.ok()) << grammar.status().message();
    if (!grammar.ok()) continue;
    Recognizer recognizer(*grammar);
    for (const auto& [accepted, text] : c.texts) {
      EXPECT_EQ(recognizer.Matches(text), accepted) << text;
    }
  }
}

// ---- Fixed layouts: json.dumps(value, indent=...) ----

TEST(JsonSchema, IndentIsThatOfJsonDumps) {
  JsonSchemaOptions options = Free();
  options.any_whitespace = false;
  options.indent = 2;
  Grammar any = GrammarFromJsonSchema("{}", options).value();
  EXPECT_TRUE(Accepts(any, "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}"));
  EXPECT_FALSE(Accepts(any, "{\n \"a\": 1\n}"));
  EXPECT_FALSE(Accepts(any, "{\"a\": 1}"));
  EXPECT_FALSE(Accepts(any, "{\n  \"a\": [\n  1\n  ]\n}"));
  Grammar list =
      GrammarFromJsonSchema(
          R"({"type":"object","properties":{"l":{"type":"array","items":{"type":"integer"}}}})",
          options)
          .value();
  EXPECT_TRUE(Accepts(list, "{\n  \"l\": [\n    1,\n    2\n  ]\n}"));
  EXPECT_FALSE(Accepts(list, "{\n  \"l\": [\n    1, 2\n  ]\n}"));
}

TEST(JsonSchema, SeparatorsHoldInsideFreeValuesToo) {
  JsonSchemaOptions options = Free();
  options.any_whitespace = false;
  options.separators = {{",", ":"}};
  Grammar grammar = GrammarFromJsonSchema(R"({"properties":{"a":{}}})", options).value();
  EXPECT_TRUE(Accepts(grammar, R"({"a":{"b":[1,2]}})"));
  EXPECT_FALSE(Accepts(grammar, R"({"a":{"b":[1, 2]}})"));
}

TEST(JsonSchema, RecursionWithAnIndentNestsToABoundedDepth) {
  JsonSchemaOptions options = Free();
  options.any_whitespace = false;
  options.indent = 0;
  Grammar grammar =
      GrammarFromJsonSchema(R"({"type":"array","items":{"$ref":"#"}})", options).value();
  auto nested = [](int depth) {
    std::string text = "[]";
    for (int i = 1; i < depth; ++i) text = "[\n" + text + "\n]";
    return text;
  };
  EXPECT_TRUE(Accepts(grammar, nested(20)));
  EXPECT_FALSE(Accepts(grammar, nested(60)));
}

// ---- The three steps in print ----

TEST(JsonSchemaSteps, ReadPrintsKeywordsByPointer) {
  JsonDocument document =
      JsonDocument::Parse(
          R"({"type":["string","null"],"title":"t","anyOf":[{"minLength":2},true]})", {})
          .value();
  Limits limits;
  SchemaTree tree(&document, limits);
  ASSERT_TRUE(tree.Read(document.root()).ok());
  ASSERT_TRUE(tree.Read(*document.Find(document.root(), "anyOf")).status().code() ==
              StatusCode::kInvalidArgument);
  EXPECT_EQ(tree.ToString(), "#: type=[\"string\",\"null\"] anyOf=[{\"minLength\":2},true]\n");
}

// The normal form of `schema`, without that of its parts.
std::string Normal(std::string_view schema, bool strict = false) {
  Limits limits;
  JsonDocument document = JsonDocument::Parse(schema, limits).value();
  SchemaTree tree(&document, limits);
  GrammarBuilder builder(limits);
  KeyPatterns patterns(&builder, limits);
  Normaliser normaliser(&tree, &patterns, limits, {.strict = strict});
  ExprId root = normaliser.SchemaExpr(document.root(), kNoScope).value();
  StatusOr<const ValueSet*> set = normaliser.Evaluate(root);
  if (!set.ok()) return set.status().message();
  return (*set)->ToString(normaliser.pool(), document, patterns.texts());
}

TEST(JsonSchemaSteps, NormalFormIsAUnionOfTypedCases) {
  EXPECT_EQ(Normal(R"({"type":["null","string"],"minLength":1,"not":{"const":"a"}})"),
            "null\nstring length 1.. except \"a\"\n");
  EXPECT_EQ(Normal(R"({"type":"object","properties":{"a":true},"required":["b"]})"),
            "object 1.. {a?: any; b: any; any...}\n");
  EXPECT_EQ(Normal(R"({"type":"array","prefixItems":[{"type":"null"}],"minItems":1})"),
            "array 1.. [#/prefixItems/0; any...]\n");
  // Of two alternatives that exclude each other, each keeps the other's key out.
  EXPECT_EQ(Normal(R"({"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]})"),
            "object 1.. {a: any; b?: none; any...}\nobject 1.. {b: any; a?: none; any...}\n");
  // A missing key or a wrong value: one case.
  EXPECT_EQ(Normal(R"({"type":"object","not":{"required":["a"],
                       "properties":{"a":{"type":"null"}}}})"),
            "object 0.. {a?: Not(#/not/properties/a); any...}\n");
  EXPECT_EQ(Normal(R"({"enum":[]})"), "nothing\n");
}

TEST(JsonSchemaSteps, DisjointBranchesNeedNoComplement) {
  EXPECT_EQ(Normal(R"({"type":"object","oneOf":[
              {"properties":{"k":{"const":"a"}},"required":["k"]},
              {"properties":{"k":{"const":"b"}},"required":["k"]}]})"),
            "object 1.. {k: #/oneOf/0/properties/k; any...}\n"
            "object 1.. {k: #/oneOf/1/properties/k; any...}\n");
}

// What two branches hold wholly is held by none alone.
TEST(JsonSchemaSteps, BranchesThatHoldEverything) {
  EXPECT_EQ(Normal(R"({"oneOf":[{"required":["a"]},{"required":["b"]}]})"),
            "object 1.. {a: any; b?: none; any...}\nobject 1.. {b: any; a?: none; any...}\n");
  EXPECT_EQ(Normal(R"({"type":"string","oneOf":[{"minimum":1},{"maxLength":3}]})"),
            "string length 4..\n");
  EXPECT_EQ(Normal(R"({"type":"string","oneOf":[{"minimum":1},{"maxLength":3},{"minItems":1}]})"),
            "nothing\n");
}

// By numbers, and by patterns that begin or end with other texts, or go on otherwise after the
// same.
TEST(JsonSchemaSteps, BranchesToldApartByTagsOfOtherKinds) {
  const std::pair<std::string_view, std::string_view> kTags[] = {
      {R"({"maximum":1,"type":"integer"})", R"({"enum":[2,3]})"},
      {R"({"const":1.5})", R"({"enum":[1,2]})"},
      {R"({"pattern":"^a[xy]+$","type":"string"})", R"({"pattern":"^b[xy]+$","type":"string"})"},
      {R"({"pattern":"^v1x+$","type":"string"})", R"({"pattern":"^v10x+$","type":"string"})"},
      {R"({"pattern":"^[0-9]+Hz$","type":"string"})", R"({"pattern":"^[0-9]+m$","type":"string"})"},
      {R"({"pattern":"^[a-f]z","type":"string"})", R"({"pattern":"^h[xy]+$","type":"string"})"},
  };
  for (const auto& [one, other] : kTags) {
    const std::string schema = R"({"type":"object","required":["k"],"oneOf":[{"properties":{"k":)" +
                               std::string(one) + R"(}},{"properties":{"k":)" + std::string(other) +
                               "}}]}";
    EXPECT_EQ(Normal(schema),
              "object 1.. {k: #/oneOf/0/properties/k; any...}\n"
              "object 1.. {k: #/oneOf/1/properties/k; any...}\n")
        << schema;
  }
  // Strings as they are, too.
  EXPECT_EQ(Normal(R"({"type":"string","oneOf":[{"pattern":"^a"},{"pattern":"^b"}]})"),
            "string pattern /^a/\nstring pattern /^b/\n");
  EXPECT_NE(Normal(R"({"type":"string","oneOf":[{"pattern":"^a"},{"pattern":"^a+b"}]})"),
            "string pattern /^a/\nstring pattern /^a+b/\n");
  // What is no pattern is an error of its own place still.
  const auto bad = GrammarFromJsonSchema(
      R"({"type":"string","oneOf":[{"pattern":"^a"},{"pattern":"("}]})", Free());
  EXPECT_EQ(bad.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(bad.status().message().find("pattern /(/"), std::string::npos)
      << bad.status().message();
}

TEST(JsonSchemaSteps, BranchesToldApartByTags) {
  // Of lists of tags, the first and the last share one.
  const Grammar grammar = GrammarFromJsonSchema(R"({"type":"object","required":["k"],"oneOf":[
      {"properties":{"k":{"enum":["a","b",1]}}},
      {"properties":{"k":{"enum":["c","d",null]}}},
      {"properties":{"k":{"pattern":"^[ef]$","type":"string"}}},
      {"properties":{"k":{"enum":["g","b",true]}}}]})",
                                                Free())
                              .value();
  Recognizer recognizer(grammar);
  for (std::string_view tag :
       {"\"a\"", "\"c\"", "\"d\"", "\"e\"", "\"f\"", "\"g\"", "1", "null", "true"}) {
    EXPECT_TRUE(recognizer.Matches("{\"k\":" + std::string(tag) + "}")) << tag;
  }
  for (std::string_view tag : {"\"b\"", "\"h\"", "\"ef\"", "2", "false", "{}"}) {
    EXPECT_FALSE(recognizer.Matches("{\"k\":" + std::string(tag) + "}")) << tag;
  }
}

// Branches of branches name a tag that only what stands beside the outermost requires. By
// themselves any two of them overlap, in objects without the tag.
TEST(JsonSchemaSteps, BranchesOfBranchesToldApartByWhatIsBeside) {
  std::string kinds;
  for (int i = 0; i < 12; ++i) {
    const std::string n = std::to_string(i);
    kinds += std::string(i == 0 ? "" : ",") + R"({"properties":{"p)" + n +
             R"(":{"type":"string"}},"oneOf":[{"properties":{"k":{"enum":["in)" + n +
             R"("]},"way":{"enum":["in"]}}},{"properties":{"k":{"enum":["out)" + n +
             R"("]},"size":{"type":"integer"}}}]})";
  }
  const std::string branches =
      R"("oneOf":[{"properties":{"k":{"pattern":"^x"}}},{"oneOf":[)" + kinds + "]}]";
  JsonSchemaOptions options = Free();
  options.any_order = true;
  for (const std::string& beside :
       {std::string(R"("properties":{"k":{"type":"string"}},"required":["k"])"),
        std::string(R"("allOf":[{"properties":{"k":{"type":"string"}},"required":["k"]}])")}) {
    const StatusOr<Grammar> grammar =
        GrammarFromJsonSchema(R"({"type":"object",)" + beside + "," + branches + "}", options);
    ASSERT_TRUE(grammar.ok()) << grammar.status().message();
    Recognizer recognizer(*grammar);
    for (std::string_view text :
         {R"({"k":"in3","way":"in"})", R"({"k":"in11"})", R"({"p3":1,"k":"xy"})",
          R"({"size":2,"k":"out7","p7":"a","p6":1})", R"({"k":"out0","way":"any"})"}) {
      EXPECT_TRUE(recognizer.Matches(text)) << beside << text;
    }
    for (std::string_view text :
         {R"({})", R"({"way":"in"})", R"({"k":"in3","way":"out"})", R"({"k":"in12"})",
          R"({"k":"out7","p7":1})", R"({"k":"out7","size":"a"})", R"({"k":7})"}) {
      EXPECT_FALSE(recognizer.Matches(text)) << beside << text;
    }
  }
  // Such a branch may have no value, or apply itself.
  EXPECT_EQ(Normal(R"({"required":["k"],"type":"object","oneOf":[{"type":"object"},
                       {"type":"null","oneOf":[{"const":null},{"minimum":1}]}]})"),
            "object 1.. {k: any; any...}\n");
  const auto cyclic = GrammarFromJsonSchema(
      R"({"required":["k"],"oneOf":[{"$ref":"#"},{"type":"object"}]})", Free());
  EXPECT_NE(cyclic.status().message().find("applies itself"), std::string::npos)
      << cyclic.status().message();
}

// A pattern of keys that is also one of names, and of values, is parsed once.
TEST(JsonSchemaSteps, PatternsOfKeysAndValuesAreOne) {
  const Grammar grammar = GrammarFromJsonSchema(R"({"type":"object","properties":{"x1":true},
      "patternProperties":{"^x[0-9]$":{"type":"string","pattern":"^x[0-9]$"}},
      "additionalProperties":false})",
                                                Free())
                              .value();
  Recognizer recognizer(grammar);
  EXPECT_TRUE(recognizer.Matches(R"({"x1":"x1","x2":"x3"})"));
  EXPECT_FALSE(recognizer.Matches(R"({"x1":"y"})"));
  EXPECT_FALSE(recognizer.Matches(R"({"x12":"x1"})"));
  // One that is none is an error at each question, not only at the first.
  const auto bad = GrammarFromJsonSchema(
      R"({"properties":{"a":true,"b":true},"patternProperties":{"(":{"type":"null"}}})", Free());
  EXPECT_EQ(bad.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(bad.status().message().find("patternProperties"), std::string::npos)
      << bad.status().message();
}

// Keys are found by their place, by a search, and where there are many by hash.
TEST(JsonSchemaSteps, WideObjectsMeetKeyByKey) {
  for (int n : {3, 12, 13, 40}) {
    std::string low, high;
    for (int i = 0; i < n; ++i) {
      const std::string key = "\"key" + std::to_string(i) + "\":";
      low += (i > 0 ? "," : "") + key + R"({"minimum":)" + std::to_string(i) + "}";
      if (i % 2 != 0) continue;
      high = key + R"({"maximum":)" + std::to_string(i) + "}" + (high.empty() ? "" : ",") + high;
    }
    const Grammar grammar = GrammarFromJsonSchema(R"({"type":"object","allOf":[{"properties":{)" +
                                                      low + R"(}},{"properties":{)" + high + "}}]}",
                                                  Free())
                                .value();
    Recognizer recognizer(grammar);
    for (int i = 0; i < n; ++i) {
      for (int value : {i - 1, i, i + 1}) {
        const std::string text = "{\"key" + std::to_string(i) + "\":" + std::to_string(value) + "}";
        EXPECT_EQ(recognizer.Matches(text), value == i || (value > i && i % 2 != 0)) << text;
      }
    }
  }
}

TEST(JsonSchemaSteps, EqualSchemasShareARule) {
  Grammar twice = GrammarFromJsonSchema(
                      R"({"type":"object","properties":{
            "a":{"type":"object","properties":{"x":{"type":"null"}}},
            "b":{"type":"object","properties":{"x":{"type":"null"}}}},
          "additionalProperties":false})",
                      Free())
                      .value();
  Grammar once = GrammarFromJsonSchema(
                     R"({"type":"object","properties":{
            "a":{"type":"object","properties":{"x":{"type":"null"}}}},
          "additionalProperties":false})",
                     Free())
                     .value();
  EXPECT_EQ(twice.rule_count(), once.rule_count());
}

TEST(JsonSchemaSteps, SchemasThatDifferInTitlesAloneAreOne) {
  auto rules = [](std::string a, std::string b) {
    return GrammarFromJsonSchema(
               R"({"type":"object","properties":{"a":)" + a + R"(,"b":)" + b + "}}", Free())
        .value()
        .rule_count();
  };
  const std::string object = R"({"type":"object","properties":{"x":{"type":"null"}})";
  EXPECT_EQ(rules(object + "}", object + R"(,"title":"t"})"), rules(object + "}", object + "}"));
  EXPECT_EQ(rules(R"({"type":"string","minLength":3,"title":"t"})",
                  R"({"description":"d","minLength":3,"type":["string"]})"),
            rules(R"({"type":"string","minLength":3})", R"({"type":"string","minLength":3})"));
  // What says something of values tells them apart.
  const std::pair<const char*, const char*> different[] = {
      {R"("minLength":3)", R"("minLength":4)"},   {R"("minLength":3)", R"("maxLength":3)"},
      {R"("pattern":"^a")", R"("pattern":"^b")"}, {R"("format":"date")", R"("format":"time")"},
      {R"("enum":["x"])", R"("enum":["y"])"},     {R"("const":"1")", R"("const":"2")"},
  };
  for (const auto& [one, other] : different) {
    const std::string type = R"({"type":"string","title":"t",)";
    const Grammar g = GrammarFromJsonSchema(R"({"type":"object","properties":{"a":)" + type + one +
                                                R"(},"b":)" + type + other + "}}}",
                                            Free())
                          .value();
    const Grammar swapped = GrammarFromJsonSchema(R"({"type":"object","properties":{"a":)" + type +
                                                      other + R"(},"b":)" + type + one + "}}}",
                                                  Free())
                                .value();
    EXPECT_NE(g.ToString(), swapped.ToString()) << one;
  }
  // {"const":1} and {"const":"1"} too: kinds count, not only texts.
  const Grammar kinds =
      GrammarFromJsonSchema(
          R"({"type":"object","properties":{"a":{"const":1},"b":{"const":"1"}},"required":["a","b"]})",
          Free())
          .value();
  EXPECT_TRUE(Accepts(kinds, R"({"a":1,"b":"1"})"));
  EXPECT_FALSE(Accepts(kinds, R"({"a":1,"b":1})"));
  EXPECT_FALSE(Accepts(kinds, R"({"a":"1","b":"1"})"));
}

// ---- The parts ----

TEST(JsonDocument, KeepsTextsOrderAndPlaces) {
  std::string source = R"({"b":1.50,"a":[true,{"x/y~":"\u00e9\ud83d\ude00\n"}],"b2":[true]})";
  JsonDocument d = JsonDocument::Parse(source, {}).value();
  ASSERT_EQ(d.members(d.root()).size(), 3u);
  EXPECT_EQ(d.members(d.root())[0].key, "b");
  EXPECT_EQ(d.text(d.members(d.root())[0].value), "1.50");
  JsonId inner = d.elements(*d.Find(d.root(), "a"))[1];
  JsonId text = *d.Find(inner, "x/y~");
  EXPECT_EQ(d.text(text), "\xC3\xA9\xF0\x9F\x98\x80\n");
  EXPECT_EQ(d.Pointer(text), "#/a/1/x~1y~0");
  EXPECT_FALSE(d.Find(d.root(), "c"));
}

TEST(JsonDocument, FindsEqualSubtrees) {
  JsonDocument d = JsonDocument::Parse(R"([{"a":[1,2]},{"a":[1,2]},{"a":[1,2.0]}])", {}).value();
  auto list = d.elements(d.root());
  EXPECT_EQ(d.representative(list[1]), list[0]);
  EXPECT_EQ(d.representative(list[2]), list[2]);
}

// Larger objects are looked up by hash, and all are seen to repeat a key.
TEST(JsonDocument, RepeatedKeysCountInEqualityAsTheyEnd) {
  JsonDocument d =
      JsonDocument::Parse(R"([{"a":1,"b":2,"a":[3]},{"a":[3],"b":2},{"a":1,"b":2}])", {}).value();
  auto elements = d.elements(d.root());
  EXPECT_EQ(d.representative(elements[0]), d.representative(elements[1]));
  EXPECT_NE(d.representative(elements[0]), d.representative(elements[2]));
  EXPECT_EQ(d.parent(*d.Find(elements[0], "a")), elements[0]);
}

TEST(JsonDocument, RepeatedKeysInObjectsOfAnySize) {
  for (size_t n = 1; n < 60; ++n) {
    std::string object;
    auto add = [&](size_t key, size_t value) {
      object +=
          (object.empty() ? "{\"k" : ",\"k") + std::to_string(key) + "\":" + std::to_string(value);
    };
    for (size_t i = 0; i < n; ++i) add(i, i);
    for (size_t i = 0; i < n; i += 3) add(i, i + 100);
    for (size_t i = 0; i < n; i += 6) add(i, i + 200);
    const std::string source = "[" + object + "},{\"other\":" + object + "}}]";
    const JsonDocument d = JsonDocument::Parse(source, {}).value();
    for (JsonId id : {d.elements(d.root())[0], *d.Find(d.elements(d.root())[1], "other")}) {
      ASSERT_EQ(d.members(id).size(), n);
      for (size_t i = 0; i < n; ++i) {
        const std::string key = "k" + std::to_string(i);
        EXPECT_EQ(d.members(id)[i].key, key);
        const size_t value = i + (i % 6 == 0 ? 200 : i % 3 == 0 ? 100 : 0);
        ASSERT_TRUE(d.Find(id, key));
        EXPECT_EQ(d.text(*d.Find(id, key)), std::to_string(value)) << n << " " << key;
      }
      EXPECT_FALSE(d.Find(id, "k" + std::to_string(n)));
      EXPECT_FALSE(d.Find(id, ""));
    }
  }
}

TEST(JsonDocument, FindsManyEqualSubtrees) {
  std::string source = "[0";
  for (int i = 0; i < 3000; ++i) {
    const std::string n = std::to_string(i % 1000);
    source += i % 2 == 0 ? ",[" + n + "]" : ",{\"a\":" + n + "}";
  }
  const JsonDocument d = JsonDocument::Parse(source + "]", {}).value();
  const auto list = d.elements(d.root());
  for (size_t i = 1; i < list.size(); ++i) {
    EXPECT_EQ(d.representative(list[i]), list[(i - 1) % 1000 + 1]) << i;
  }
}

// Strings are read eight bytes at a time: what is special may stand at any place among them.
TEST(JsonDocument, ReadsStringsOfAnyLength) {
  for (size_t before = 0; before < 36; ++before) {
    for (size_t after = 0; after < 36; ++after) {
      const std::string head(before, 'a'), tail(after, '\x7F');
      auto string = [&](std::string_view middle) {
        return "[\"" + head + std::string(middle) + tail + "\"]";
      };
      auto text = [&](const std::string& source) {
        StatusOr<JsonDocument> d = JsonDocument::Parse(source, {});
        return d.ok() ? std::string(d->text(d->elements(d->root())[0])) : d.status().message();
      };
      EXPECT_EQ(text(string("")), head + tail);
      EXPECT_EQ(text(string("\\\"")), head + "\"" + tail);
      EXPECT_EQ(text(string("\\u00e9\\\\")), head + "\u00e9\\" + tail);
      EXPECT_EQ(text(string("\u00e9\U0001F600")), head + "\u00e9\U0001F600" + tail);
      EXPECT_NE(text(string("\x1F")).find("control character"), std::string::npos);
      EXPECT_NE(text(string("\"")).find("expected here"), std::string::npos);
    }
  }
}

TEST(JsonDocument, RefusesWhatIsNotJson) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[1",
                           "[1,]",
                           "{\"a\" 1}",
                           "{\"a\":1 \"b\":2}",
                           "01",
                           "1.",
                           "1e",
                           "-",
                           "tru",
                           "\"a",
                           "\"\t\"",
                           "\"\\x\"",
                           "\"\\u12g4\"",
                           "\"\\udc00\"",
                           "\"\xff\"",
                           "1 2",
                           "{1:2}",
                           "nul"}) {
    EXPECT_EQ(JsonDocument::Parse(text, {}).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(Uri, ResolvesReferencesAsRfc3986Says) {
  struct {
    const char *base, *reference, *result;
  } cases[] = {
      {"http://a/b/c/d;p?q", "g", "http://a/b/c/g"},
      {"http://a/b/c/d;p?q", "./g", "http://a/b/c/g"},
      {"http://a/b/c/d;p?q", "g/", "http://a/b/c/g/"},
      {"http://a/b/c/d;p?q", "/g", "http://a/g"},
      {"http://a/b/c/d;p?q", "//g", "http://g"},
      {"http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y"},
      {"http://a/b/c/d;p?q", "", "http://a/b/c/d;p?q"},
      {"http://a/b/c/d;p?q", "..", "http://a/b/"},
      {"http://a/b/c/d;p?q", "../g", "http://a/b/g"},
      {"http://a/b/c/d;p?q", "../../../g", "http://a/g"},
      {"http://a/b/c/d;p?q", "urn:x:y", "urn:x:y"},
      {"http://a", "b.json", "http://a/b.json"},
      {"", "b.json", "b.json"},
      {"x/y.json", "z.json", "x/z.json"},
  };
  for (const auto& c : cases) EXPECT_EQ(ResolveUri(c.base, c.reference), c.result) << c.reference;
}

TEST(TextMatch, AgreesWithTheRecognizer) {
  const char* patterns[] = {"^a", "b$", "^(ab)*$", "a{2,3}b?", "[^a]", "^(?!ab)", "\\bb", "é|\\n"};
  const char* texts[] = {"", "a", "b", "ab", "abab", "aab", "aaab", "é", "\n", "\"", "b a"};
  for (const char* pattern : patterns) {
    for (const char* text : texts) {
      Limits limits;
      GrammarBuilder builder(limits);
      KeyPatterns keys(&builder, limits);
      bool found = keys.Matches(keys.Intern(pattern), text).value();
      std::string schema = "{\"type\":\"string\",\"pattern\":\"" + JsonSpelling(pattern) + "\"}";
      Grammar grammar = GrammarFromJsonSchema(schema, Free()).value();
      EXPECT_EQ(found, Accepts(grammar, "\"" + JsonSpelling(text) + "\""))
          << pattern << " " << text;
    }
  }
}

// ---- Bounds ----

std::string Nested(const char* open, const char* middle, const char* close, int depth) {
  std::string out;
  for (int i = 0; i < depth; ++i) out += open;
  out += middle;
  for (int i = 0; i < depth; ++i) out += close;
  return out;
}

TEST(JsonSchemaBounds, DepthCostsNoStack) {
  EXPECT_TRUE(GrammarFromJsonSchema(Nested("{\"properties\":{\"a\":", "{}", "}}", 4900)).ok());
  EXPECT_TRUE(GrammarFromJsonSchema(Nested("{\"not\":", "{\"type\":\"null\"}", "}", 9000)).ok());
  EXPECT_TRUE(GrammarFromJsonSchema(Nested("{\"items\":", "{}", "}", 9000)).ok());
  EXPECT_TRUE(GrammarFromJsonSchema("{\"const\":" + Nested("[", "", "]", 9000) + "}").ok());
  EXPECT_EQ(GrammarFromJsonSchema(Nested("{\"not\":", "{}", "}", 11000)).status().code(),
            StatusCode::kResourceExhausted);
}

TEST(JsonSchemaBounds, LongChainsOfReferences) {
  std::string defs;
  for (int i = 0; i < 10000; ++i) {
    defs += "\"d" + std::to_string(i) + "\":{\"$ref\":\"#/$defs/d" + std::to_string(i + 1) + "\"" +
            (i % 2 == 0 ? "" : ",\"minLength\":" + std::to_string(i % 5)) + "},";
  }
  Grammar grammar = GrammarFromJsonSchema("{\"$ref\":\"#/$defs/d0\",\"$defs\":{" + defs +
                                          "\"d10000\":{\"type\":\"string\"}}}")
                        .value();
  EXPECT_TRUE(Accepts(grammar, "\"abcd\""));
  EXPECT_FALSE(Accepts(grammar, "\"ab\""));
}

TEST(JsonSchemaBounds, ManyValuesAndManyProperties) {
  std::string values, properties;
  for (int i = 0; i < 100000; ++i) values += (i ? ",\"v" : "\"v") + std::to_string(i) + "\"";
  EXPECT_TRUE(GrammarFromJsonSchema("{\"enum\":[" + values + "]}").ok());
  for (int i = 0; i < 1000; ++i) {
    properties += (i ? ",\"p" : "\"p") + std::to_string(i) + "\":{\"type\":\"null\"}";
  }
  Grammar grammar =
      GrammarFromJsonSchema("{\"type\":\"object\",\"properties\":{" + properties + "}}").value();
  // Suffixes are shared: nodes grow with the properties, not with their square.
  EXPECT_LT(grammar.node_count(), 10'000u);
  EXPECT_TRUE(Accepts(grammar, R"({"p3":null,"p17":null,"p999":null})"));
  EXPECT_FALSE(Accepts(grammar, R"({"p17":null,"p3":null})"));
}

// Each schema has all those of the next level for branches: ever more ways lead down.
TEST(JsonSchemaBounds, BranchesOfBranchesAreBounded) {
  for (int width : {2, 5, 12}) {
    std::string defs;
    auto name = [](int level, int i) { return std::to_string(level) + "_" + std::to_string(i); };
    for (int level = 0; level < 40; ++level) {
      for (int i = 0; i < width; ++i) {
        defs +=
            "\"" + name(level, i) + R"(":{"required":["k)" + std::to_string(i) + R"("],"oneOf":[)";
        for (int j = 0; j < width; ++j) {
          defs +=
              std::string(j == 0 ? "" : ",") + R"({"$ref":"#/$defs/)" + name(level + 1, j) + "\"}";
        }
        defs += "]},";
      }
    }
    for (int i = 0; i < width; ++i) {
      defs += (i == 0 ? "\"" : ",\"") + name(40, i) + R"(":{"type":)" +
              (i == 1 ? "\"object\"}" : "\"null\"}");
    }
    Limits limits;
    limits.max_schema_steps = 1'000'000;
    const auto grammar =
        GrammarFromJsonSchema(R"({"$ref":"#/$defs/0_1","$defs":{)" + defs + "}}", Free(), limits);
    ASSERT_TRUE(grammar.ok()) << grammar.status().message();
    EXPECT_TRUE(Accepts(*grammar, R"({"k1":0})"));
    EXPECT_FALSE(Accepts(*grammar, R"({"k0":0,"k1":0})"));
    EXPECT_FALSE(Accepts(*grammar, R"({"k0":0})"));
  }
}

TEST(JsonSchemaBounds, CrossProductsAreBounded) {
  auto product = [](int factors) {
    std::string out;
    for (int i = 0; i < factors; ++i) {
      out += i ? ",{\"anyOf\":[" : "{\"anyOf\":[";
      for (int j = 0; j < 4; ++j) {
        std::string key = "\"k" + std::to_string(i) + "\"";
        out += std::string(j ? "," : "") + "{\"required\":[" + key + "],\"properties\":{" + key +
               ":{\"const\":" + std::to_string(j) + "}}}";
      }
      out += "]}";
    }
    return "{\"type\":\"object\",\"allOf\":[" + out + "]}";
  };
  Grammar small = GrammarFromJsonSchema(product(3), Free()).value();
  EXPECT_TRUE(Accepts(small, R"({"k0":1,"k1":3,"k2":0})"));
  EXPECT_FALSE(Accepts(small, R"({"k0":1,"k1":4,"k2":0})"));
  EXPECT_TRUE(GrammarFromJsonSchema(product(6), Free()).ok());
  Status status = GrammarFromJsonSchema(product(12), Free()).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("#/allOf"), std::string::npos) << status.message();
}

TEST(BuiltinJson, IsAnyObjectOrArray) {
  Grammar grammar = BuiltinJsonGrammar();
  for (const char* text : {"{}", "[]", R"({"a": [1, 2.5e3, "x", null, true, {}]})", "[[ ]]"}) {
    EXPECT_TRUE(Accepts(grammar, text)) << text;
  }
  for (const char* text : {"1", "\"a\"", "null", "[1,]", "{\"a\":}", " []", "[] ", "[01]"}) {
    EXPECT_FALSE(Accepts(grammar, text)) << text;
  }
}

}  // namespace
}  // namespace grammask::internal
