// JSON objects with members in any order and arrays of different elements, from the schema to
// masks.
//
// What must be accepted is said by a predicate over the list of members; all lists of up to four
// members out of a few are then written out, in every order and with repetitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "grammar/json_schema.h"
#include "matcher/matcher_world.h"
#include "oracle/recognizer.h"

namespace grammask {
namespace {

using internal::GrammarFromJsonSchema;
using internal::JsonSchemaOptions;
using internal::Recognizer;

JsonSchemaOptions AnyOrder() {
  JsonSchemaOptions options;
  options.any_order = true;
  options.strict_mode = false;
  return options;
}

// Bytes, and tokens that end one value and go on into the next or hold several.
GrammarCompiler& Compiler() {
  static GrammarCompiler compiler = [] {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
    for (const char* text :
         {"{\"",      "\":",       "\":1",   "\",\"",     ",\"",       "1,\"",      "\"a\":1",
          "a\":1,\"", "\\u0061",   "\"a\":", "b\":",      "\"b",       "1,1",       ",1",
          "1,",       "1.0",       ".0,",    "1]",        ",1]",       "10",        "1e1",
          "1,2",      "2,1",       "0,",     "\"a\"",     "\"a\",\"a", "a\",\"b\"", "\",\"a",
          "true",     ",true",     "null,",  "null,null", "v1\"",      "\",\"v",    "v2\",\"v1",
          "1.0,1",    "\"a\",\"b", "[1,",    "}",         "1}",        "\"]",       "65,",
          ",6",       "0.0",       "-0",     ",-0",       "5,5",       "x1\":1"}) {
      tokens.emplace_back(text);
    }
    return MakeCompiler(MakeTokenizer(std::move(tokens)));
  }();
  return compiler;
}

class Schema {
 public:
  explicit Schema(const std::string& text, const JsonSchemaOptions& options = AnyOrder())
      : grammar_(Read(text, options)),
        compiled_(Compile(&Compiler(), Wrap(grammar_))),
        recognizer_(grammar_) {}

  bool Accepts(const std::string& text) {
    GrammarMatcher matcher = MakeMatcher(compiled_);
    return matcher.AcceptString(text) && matcher.IsCompleted();
  }
  bool ByDefinition(const std::string& text) { return recognizer_.Matches(text); }
  GrammarMatcher Matcher() { return MakeMatcher(compiled_); }

  // The masks along a text are what forks accept; the text is accepted or refused as said.
  void Check(const std::string& text, bool accepted) {
    SCOPED_TRACE(text);
    EXPECT_EQ(ByDefinition(text), accepted);
    GrammarMatcher matcher = MakeMatcher(compiled_);
    for (size_t i = 0;; ++i) {
      const Ids mask = Allowed(&matcher);
      ASSERT_EQ(mask, AcceptedOnForks(matcher)) << text.substr(0, i);
      ASSERT_FALSE(mask.empty()) << text.substr(0, i);
      if (i == text.size()) break;
      if (!matcher.AcceptString(text.substr(i, 1))) {
        EXPECT_FALSE(accepted) << "stops after " << text.substr(0, i);
        return;
      }
    }
    EXPECT_EQ(matcher.IsCompleted(), accepted);
  }

 private:
  static internal::Grammar Read(const std::string& text, const JsonSchemaOptions& options) {
    StatusOr<internal::Grammar> grammar = GrammarFromJsonSchema(text, options);
    EXPECT_TRUE(grammar.ok()) << text << "\n" << grammar.status().message();
    return grammar.ok() ? *grammar : *GrammarFromJsonSchema("{\"const\": \"not read\"}");
  }

  internal::Grammar grammar_;
  CompiledGrammar compiled_;
  Recognizer recognizer_;
};

// ---- Objects ----

using Member = std::pair<std::string, std::string>;  // key and value, as JSON
using List = std::vector<Member>;

std::string Text(const List& list) {
  std::string text = "{";
  for (const Member& m : list)
    text += (text.size() > 1 ? ",\"" : "\"") + m.first + "\":" + m.second;
  return text + "}";
}

size_t Count(const List& list, const std::string& key) {
  return static_cast<size_t>(
      std::ranges::count_if(list, [&](const Member& m) { return m.first == key; }));
}
bool Has(const List& list, const std::string& key) { return Count(list, key) > 0; }

// Every list of up to `most` of the members, in every order, with repetitions.
void ForEachList(const List& members, size_t most, const std::function<void(const List&)>& visit) {
  std::vector<List> level = {{}};
  for (size_t n = 0;; ++n) {
    std::vector<List> next;
    for (const List& list : level) {
      visit(list);
      if (n == most) continue;
      for (const Member& m : members) {
        next.push_back(list);
        next.back().push_back(m);
      }
    }
    if (n == most) return;
    level = std::move(next);
  }
}

struct ObjectCase {
  const char* schema;
  List members;
  std::vector<std::string> declared;  // keys that may come once
  std::function<bool(const List&)> accepts;
};

const List kInts = {{"a", "1"}, {"b", "1"}, {"c", "1"}, {"x1", "1"}, {"y", "1"}};

bool OnlyAbc(const List& l) { return !Has(l, "x1") && !Has(l, "y"); }

const ObjectCase kObjects[] = {
    {R"({"properties":{"a":{},"b":{},"c":{}},"required":["b","c"],"additionalProperties":false,
         "type":"object"})",
     kInts,
     {"a", "b", "c"},
     [](const List& l) { return OnlyAbc(l) && Has(l, "b") && Has(l, "c"); }},
    {R"({"properties":{"a":{},"b":{},"c":{}},"additionalProperties":false,"type":"object",
         "minProperties":2})",
     kInts,
     {"a", "b", "c"},
     [](const List& l) { return OnlyAbc(l) && l.size() >= 2; }},
    {R"({"properties":{"a":{},"b":{},"c":{}},"required":["a"],"type":"object",
         "minProperties":2,"maxProperties":3})",
     kInts,
     {"a", "b", "c"},
     [](const List& l) { return Has(l, "a") && l.size() >= 2 && l.size() <= 3; }},
    {R"({"properties":{"a":{},"b":{}},"required":["a","b"],"type":"object","maxProperties":2})",
     kInts,
     {"a", "b"},
     [](const List& l) { return Has(l, "a") && Has(l, "b") && l.size() == 2; }},
    {R"({"properties":{"a":{}},"patternProperties":{"^x":{"type":"integer"}},
         "additionalProperties":false,"type":"object"})",
     {{"a", "1"}, {"b", "1"}, {"x1", "1"}, {"x1", "\"s\""}, {"x2", "2"}},
     {"a"},
     [](const List& l) {
       return !Has(l, "b") && std::ranges::count(l, Member("x1", "\"s\"")) == 0;
     }},
    {R"({"patternProperties":{"^x":{"type":"integer"},"1$":{"minimum":1}},"type":"object",
         "required":["x1"],"additionalProperties":{"type":"string"}})",
     {{"x1", "1"}, {"x1", "0"}, {"y1", "1"}, {"y", "\"s\""}, {"y", "1"}},
     {"x1"},
     [](const List& l) {
       return Has(l, "x1") && std::ranges::count(l, Member("x1", "0")) == 0 &&
              std::ranges::count(l, Member("y", "1")) == 0;
     }},
    {R"({"type":"object","properties":{"a":{},"b":{},"c":{}},
         "dependentRequired":{"a":["b"],"b":["c"]}})",
     kInts,
     {"a", "b", "c"},
     [](const List& l) { return (!Has(l, "a") || Has(l, "b")) && (!Has(l, "b") || Has(l, "c")); }},
    {R"({"type":"object","properties":{"a":{},"b":{}},"not":{"required":["a","b"]}})",
     kInts,
     {"a", "b"},
     [](const List& l) { return !Has(l, "a") || !Has(l, "b"); }},
    {R"({"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},
         {"required":["b"]}]})",
     kInts,
     {"a", "b"},
     [](const List& l) { return Has(l, "a") || Has(l, "b"); }},
    {R"({"type":"object","properties":{"a":{}},"propertyNames":{"maxLength":1},
         "minProperties":1})",
     kInts,
     {"a"},
     [](const List& l) { return !Has(l, "x1") && !l.empty(); }},
    // Some member must be another than an integer.
    {R"({"type":"object","not":{"additionalProperties":{"type":"integer"}}})",
     {{"a", "1"}, {"b", "\"s\""}, {"c", "1"}, {"d", "[]"}},
     {},
     [](const List& l) { return Has(l, "b") || Has(l, "d"); }},
    {R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"maxProperties":2,
         "not":{"patternProperties":{"^x":{"type":"integer"}}}})",
     {{"a", "1"}, {"x1", "1"}, {"x2", "\"s\""}, {"y", "\"s\""}},
     {"a"},
     [](const List& l) { return Has(l, "a") && Has(l, "x2") && l.size() == 2; }},
};

TEST(AnyOrder, EveryListOfUpToFourMembers) {
  for (const ObjectCase& c : kObjects) {
    SCOPED_TRACE(c.schema);
    Schema schema(c.schema);
    size_t number = 0;
    ForEachList(c.members, 4, [&](const List& list) {
      const bool twice =
          std::ranges::any_of(c.declared, [&](const std::string& k) { return Count(list, k) > 1; });
      const bool want = !twice && c.accepts(list);
      const std::string text = Text(list);
      ASSERT_EQ(schema.Accepts(text), want) << text;
      // The definition, and all masks on the way, for some of them.
      if (number++ % 41 == 0) schema.Check(text, want);
    });
  }
}

TEST(AnyOrder, AllOrdersOfFiveKeys) {
  Schema schema(R"({"type":"object","properties":{"a":{"const":1},"b":{"const":2},"c":{"const":3},
                    "d":{"const":4},"e":{"const":5}},"required":["a","b","c","d","e"],
                    "additionalProperties":false})");
  List list = {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}, {"e", "5"}};
  size_t orders = 0;
  do {
    ASSERT_TRUE(schema.Accepts(Text(list))) << Text(list);
    if (orders++ % 17 == 0) schema.Check(Text(list), true);
    for (size_t i = 0; i < list.size(); ++i) {  // one left out, or in place of another
      List other = list;
      other[i] = list[(i + 1) % list.size()];
      ASSERT_FALSE(schema.Accepts(Text(other))) << Text(other);
      other.erase(other.begin() + static_cast<std::ptrdiff_t>(i));
      ASSERT_FALSE(schema.Accepts(Text(other))) << Text(other);
    }
  } while (std::ranges::next_permutation(list).found);
  EXPECT_EQ(orders, 120u);
}

TEST(AnyOrder, KeysInAnySpelling) {
  Schema schema(R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},
                    "required":["a"],"additionalProperties":{"type":"string"}})");
  schema.Check(R"({"b":1,"\u0061":1})", true);
  schema.Check(R"({"\u0062":1,"a":1})", true);
  schema.Check(R"({"a":1,"\u0061":1})", false);
  schema.Check(R"({"\u0061":1,"b":1,"a":1})", false);
  schema.Check(R"({"\u0063":"s","\u0061":1,"c":"s"})", true);
  schema.Check(R"({"\u0061":"s"})", false);
}

// Values inside other values, each with an order of its own.
TEST(AnyOrder, Nested) {
  Schema schema(R"({"$ref":"#/$defs/t","$defs":{"t":{"type":"object","required":["l","r"],
      "additionalProperties":false,"properties":{"l":{"$ref":"#/$defs/u"},
      "r":{"$ref":"#/$defs/u"}}},"u":{"anyOf":[{"const":1},{"$ref":"#/$defs/t"}]}}})");
  schema.Check(R"({"r":{"l":1,"r":{"r":1,"l":1}},"l":{"r":1,"l":1}})", true);
  schema.Check(R"({"l":{"l":1,"r":1},"r":1})", true);
  schema.Check(R"({"l":{"l":1,"r":1,"l":1},"r":1})", false);
  schema.Check(R"({"r":{"l":1},"l":1})", false);
}

TEST(AnyOrder, StrictMode) {
  JsonSchemaOptions strict = AnyOrder();
  strict.strict_mode = true;
  Schema schema(R"({"type":"object","properties":{"a":{"const":1},"b":{"const":1}}})", strict);
  schema.Check(R"({"b":1,"a":1})", true);
  schema.Check(R"({"b":1})", true);
  schema.Check(R"({})", true);
  schema.Check(R"({"b":1,"c":1})", false);
  schema.Check(R"({"b":1,"a":1,"b":1})", false);
}

TEST(AnyOrder, FixedLayouts) {
  JsonSchemaOptions options = AnyOrder();
  options.any_whitespace = false;
  options.indent = 1;
  const std::string text =
      R"({"type":"object","properties":{"a":{"const":1},"b":{"const":[1]}},"required":["a"]})";
  Schema indented(text, options);
  indented.Check("{\n \"b\": [\n  1\n ],\n \"a\": 1\n}", true);
  indented.Check("{\n \"a\": 1\n}", true);
  indented.Check("{\n \"a\": 1, \"b\": [\n  1\n ]\n}", false);
  options.indent.reset();
  options.separators = {{",", ":"}};
  Schema compact(text, options);
  compact.Check(R"({"b":[1],"a":1})", true);
  compact.Check(R"({"b":[1], "a":1})", false);
}

// A value may be written in any order of its members, whatever the options say.
TEST(AnyOrder, ConstAndEnumObjects) {
  for (const bool any_order : {false, true}) {
    for (const bool strict : {false, true}) {
      JsonSchemaOptions options;
      options.any_order = any_order;
      options.strict_mode = strict;
      for (const char* text : {R"({"const":{"a":1,"b":[2],"c":{"d":3,"e":4}}})",
                               R"({"enum":[7,{"a":1,"b":[2],"c":{"d":3,"e":4}},{"a":1}]})"}) {
        Schema schema(text, options);
        for (const char* inner : {R"({"d":3,"e":4})", R"({"e":4,"d":3})"}) {
          List list = {{"a", "1"}, {"b", "[2]"}, {"c", inner}};
          do {
            schema.Check(Text(list), true);
          } while (std::ranges::next_permutation(list).found);
        }
        schema.Check(R"({"b":[2],"a":1})", false);
        schema.Check(R"({"b":[2],"a":1,"c":{"e":4}})", false);
        schema.Check(R"({"b":[2],"a":1,"c":{"e":4,"d":4}})", false);
        schema.Check(R"({"b":[2],"a":1,"c":{"e":4,"d":3},"a":1})", false);
        schema.Check(R"({"b":[2],"\u0061":1,"\u0063":{"e":4,"d":3}})", true);
      }
    }
  }
}

// Without the option the order is that of the schema.
TEST(AnyOrder, OffByDefault) {
  JsonSchemaOptions options = AnyOrder();
  options.any_order = false;
  Schema schema(R"({"type":"object","properties":{"a":{"const":1},"b":{"const":1}}})", options);
  schema.Check(R"({"a":1,"b":1})", true);
  schema.Check(R"({"b":1,"a":1})", false);
}

// ---- Arrays of different elements ----

std::string Array(const std::vector<std::string>& elements) {
  std::string text = "[";
  for (const std::string& e : elements) text += (text.size() > 1 ? "," : "") + e;
  return text + "]";
}

TEST(UniqueItems, NumbersByValue) {
  Schema schema(R"({"type":"array","uniqueItems":true,"items":{"type":"number"}})");
  for (const char* text : {"[]", "[1]", "[1,2]", "[1,10]", "[10,1]", "[1,1.5]", "[1,-1]", "[0,0.1]",
                           "[1,11,111]", "[1.5,15,1.05]", "[1,1e1,1e2]", "[0.1,1e-2]"}) {
    schema.Check(text, true);
  }
  for (const char* text : {"[1,1]", "[1,1.0]", "[1.0,1]", "[1,1.00]", "[1,1e0]", "[1E0,1]",
                           "[10,1e1]", "[1e+1,10]", "[0,-0]", "[0,0.0]", "[-0.0,0]",
                           "[100,5,1.00e2]", "[0.01,1e-2]", "[2,1,2]", "[1.5,15e-1]"}) {
    schema.Check(text, false);
  }
}

TEST(UniqueItems, ScalarsOfAllKinds) {
  Schema schema(R"({"type":"array","uniqueItems":true,
                    "items":{"type":["string","number","boolean","null"]}})");
  for (const char* text :
       {R"(["a","b","ab","1",1,true,"true",null,false,"null"])", R"(["a","A"])", R"(["",0,false])",
        R"(["\u0061","b"])", R"(["\n","n"])", R"(["é","e"])"}) {
    schema.Check(text, true);
  }
  for (const char* text :
       {R"(["a","a"])", R"(["a","\u0061"])", R"(["\u0061","a"])", R"(["","x",""])",
        R"(["\n","\u000a"])", R"(["\/","/"])", R"([true,1,true])", R"([null,null])",
        R"(["ab","\u0061\u0062"])", R"([1,"1",1.0])", "[\"\xC3\xA9\",\"\\u00e9\"]",
        R"(["\ud83d\ude00","\uD83D\uDE00"])"}) {
    schema.Check(text, false);
  }
}

TEST(UniqueItems, WithWhitespace) {
  Schema schema(R"({"type":"array","uniqueItems":true,"items":{"type":"integer"}})");
  schema.Check("[ 1 , 2\n,3 ]", true);
  schema.Check("[ 1 , 2\n,1 ]", false);
  schema.Check("[1 ,1]", false);
}

TEST(UniqueItems, Bounds) {
  Schema schema(
      R"({"type":"array","uniqueItems":true,"minItems":2,"maxItems":3,"items":{"type":"integer"}})");
  for (const char* text : {"[1,2]", "[3,1,2]"}) schema.Check(text, true);
  for (const char* text : {"[]", "[1]", "[1,1]", "[1,2,3,4]", "[1,2,1]"}) schema.Check(text, false);
}

// Values run out: then no comma may come.
TEST(UniqueItems, FewValues) {
  Schema schema(R"({"type":"array","uniqueItems":true,"minItems":1,
                    "items":{"enum":["a","b",1,1.0,null]}})");
  schema.Check(R"(["b",1,null,"a"])", true);
  schema.Check(R"(["b",1,1.0])", false);
  schema.Check(R"(["b","b"])", false);
  schema.Check(R"([])", false);
  schema.Check(R"([null,"a",1,"b",)", false);
  Schema booleans(R"({"type":"array","uniqueItems":true,"minItems":2,"items":{"type":"boolean"}})");
  booleans.Check("[true,false]", true);
  booleans.Check("[false,true]", true);
  booleans.Check("[false,false]", false);
  booleans.Check("[false]", false);
}

// More values than are told apart one by one.
TEST(UniqueItems, ManyValues) {
  std::vector<std::string> values;
  for (int i = 0; i < 70; ++i) values.push_back("\"v" + std::to_string(i) + "\"");
  Schema schema(R"({"type":"array","uniqueItems":true,"items":{"enum":)" + Array(values) + "}}");
  EXPECT_TRUE(schema.Accepts(Array(values)));
  std::ranges::reverse(values);
  EXPECT_TRUE(schema.Accepts(Array(values)));
  schema.Check(R"(["v1","v2","v10"])", true);
  schema.Check(R"(["v1","v2","v1"])", false);
  schema.Check(R"(["v1","\u0076\u0031"])", false);
  std::vector<std::string> twice = values;
  twice.push_back(values[3]);
  EXPECT_FALSE(schema.Accepts(Array(twice)));
}

// A range of integers has finitely many values in infinitely many spellings.
TEST(UniqueItems, RangesRunOut) {
  for (const int last : {3, 70, 99}) {
    SCOPED_TRACE(last);
    const std::string items =
        R"({"type":"array","uniqueItems":true,"items":{"type":"integer","minimum":0,"maximum":)" +
        std::to_string(last) + "}";
    std::vector<std::string> values;
    for (int i = 0; i <= last; ++i) values.push_back(std::to_string(i));
    for (const int min : {0, last, last + 1}) {
      SCOPED_TRACE(min);
      Schema schema(items + ",\"minItems\":" + std::to_string(min) + "}");
      EXPECT_TRUE(schema.Accepts(Array(values)));
      std::string text = Array(values);
      text.pop_back();
      GrammarMatcher matcher = schema.Matcher();
      ASSERT_TRUE(matcher.AcceptString(text));
      EXPECT_EQ(Allowed(&matcher), AcceptedOnForks(matcher));
      EXPECT_FALSE(matcher.AcceptString(","));
    }
    const auto grammar =
        GrammarFromJsonSchema(items + ",\"minItems\":" + std::to_string(last + 2) + "}");
    if (grammar.ok()) {
      const auto compiled = Compiler().CompileGrammar(Wrap(*grammar));
      EXPECT_EQ(compiled.status().code(), StatusCode::kUnsatisfiable);
    } else {
      EXPECT_EQ(grammar.status().code(), StatusCode::kUnsatisfiable);
    }
  }
}

TEST(UniqueItems, OneValueInManySpellings) {
  Schema schema(R"({"type":"array","uniqueItems":true,"items":{"type":["number","null"],
                    "minimum":1,"maximum":1}})");
  schema.Check("[1]", true);
  schema.Check("[1.0]", true);
  schema.Check("[1.00,null]", true);
  schema.Check("[null,1e0]", true);
  schema.Check("[1,1.0]", false);
  schema.Check("[1,null,1]", false);
}

TEST(UniqueItems, AfterAPrefix) {
  Schema schema(R"({"type":"array","uniqueItems":true,"prefixItems":[{"enum":["a","b"]},
                    {"enum":["a",1]}],"items":{"enum":[1,2,"b"]}})");
  for (const char* text :
       {"[]", R"(["a"])", R"(["b","a"])", R"(["a",1,2,"b"])", R"(["b","a",2,1])"}) {
    schema.Check(text, true);
  }
  for (const char* text : {R"(["a","a"])", R"(["b",1,1])", R"(["b",1,2,"b"])", R"(["b",1,1.0])"}) {
    schema.Check(text, false);
  }
}

}  // namespace
}  // namespace grammask
