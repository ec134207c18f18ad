// References: to other documents, to the standard's meta-schemas, and dynamic ones.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/json_schema.h"
#include "grammar/json_schema/dynamic_scope.h"
#include "grammar/json_schema/json_document.h"
#include "grammar/json_schema/meta_schemas.h"
#include "oracle/recognizer.h"

namespace grammask::internal {
namespace {

using Texts = std::map<std::string, std::string>;

StatusOr<Grammar> Compile(std::string_view schema, Texts registry = {}, const Limits& limits = {}) {
  JsonSchemaOptions options;
  options.strict_mode = false;
  options.registry = std::move(registry);
  return GrammarFromJsonSchema(schema, options, limits);
}

// The texts are accepted where they stand in `good`, refused where in `bad`.
void Judges(std::string_view schema, const Texts& registry, const std::vector<std::string>& good,
            const std::vector<std::string>& bad) {
  SCOPED_TRACE(schema);
  StatusOr<Grammar> grammar = Compile(schema, registry);
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  Recognizer recognizer(*grammar);
  for (const std::string& text : good) EXPECT_TRUE(recognizer.Matches(text)) << text;
  for (const std::string& text : bad) EXPECT_FALSE(recognizer.Matches(text)) << text;
}

std::string ErrorOf(std::string_view schema, const Texts& registry, const Limits& limits = {}) {
  StatusOr<Grammar> grammar = Compile(schema, registry, limits);
  return grammar.ok() ? "" : grammar.status().message();
}

// ---- Documents of the registry ----

TEST(Registry, DocumentsGoByTheirUri) {
  Texts registry = {{"http://e.x/a.json", R"({"type":"null","$defs":{"i":{"type":"integer"}}})"},
                    {"http://e.x/b.json#", R"({"$ref":"a.json#/$defs/i"})"},
                    {"urn:e:c", R"({"$anchor":"top","$defs":{"d":{"$anchor":"d","const":7}}})"}};
  Judges(R"({"$ref":"http://e.x/a.json"})", registry, {"null"}, {"1"});
  Judges(R"({"$ref":"http://e.x/a.json#"})", registry, {"null"}, {"1"});
  Judges(R"({"$ref":"http://e.x/a.json#/$defs/i"})", registry, {"1"}, {"null"});
  Judges(R"({"$id":"http://e.x/dir/root","$ref":"../a.json"})", registry, {"null"}, {"1"});
  Judges(R"({"$id":"http://e.x/root","properties":{"x":{"$ref":"/b.json"}}})", registry,
         {R"({"x":1})"}, {R"({"x":null})"});
  Judges(R"({"$ref":"urn:e:c#d"})", registry, {"7"}, {"8"});
  Judges(R"({"$ref":"urn:e:c#/$defs/d"})", registry, {"7"}, {"8"});
  Judges(R"({"anyOf":[{"$ref":"urn:e:c#d"},{"$ref":"http://e.x/a.json"}]})", registry,
         {"7", "null"}, {"8"});
}

TEST(Registry, RelativeUrisAreSeenFromTheRoot) {
  Texts registry = {{"a.json", R"({"type":"null"})"}};
  Judges(R"({"$ref":"a.json"})", registry, {"null"}, {"1"});
  Judges(R"({"$id":"http://e.x/s/root.json","$ref":"a.json"})", registry, {"null"}, {"1"});
  Judges(R"({"$id":"http://e.x/s/root.json","$ref":"http://e.x/s/a.json"})", registry, {"null"},
         {"1"});
}

TEST(Registry, DocumentsGoByTheirOwnId) {
  Texts registry = {{"http://files/1", R"({"$id":"http://e.x/a.json","type":"null",
         "$defs":{"s":{"$id":"s.json","type":"string"},"t":{"$ref":"s.json"}}})"},
                    {"http://files/2", "{ this is no JSON"}};
  Judges(R"({"$ref":"http://e.x/a.json"})", registry, {"null"}, {"1"});
  Judges(R"({"$ref":"http://files/1"})", registry, {"null"}, {"1"});
  Judges(R"({"$ref":"http://e.x/s.json"})", registry, {"\"\""}, {"1"});
  Judges(R"({"$ref":"http://files/1#/$defs/t"})", registry, {"\"\""}, {"1"});
  EXPECT_NE(ErrorOf(R"({"$ref":"http://e.x/none.json"})", registry), "");
}

TEST(Registry, DocumentsReferToEachOtherAndBack) {
  Texts registry = {
      {"http://e.x/tree", R"({"type":"array","items":{"anyOf":[{"$ref":"leaf"},{"$ref":"#"}]}})"},
      {"http://e.x/leaf", R"({"$ref":"root#/$defs/leaf"})"}};
  Judges(R"({"$id":"http://e.x/root","$ref":"tree","$defs":{"leaf":{"type":"null"}}})", registry,
         {"[]", "[null,[null,[]]]"}, {"null", "[1]"});
  // Round in a circle.
  EXPECT_NE(ErrorOf(R"({"$ref":"http://e.x/a"})",
                    {{"http://e.x/a", R"({"$ref":"b"})"}, {"http://e.x/b", R"({"$ref":"a"})"}})
                .find("leads back to itself"),
            std::string::npos);
  EXPECT_NE(ErrorOf(R"({"$ref":"http://e.x/a"})",
                    {{"http://e.x/a", R"({"anyOf":[{"$ref":"b"},{"type":"null"}]})"},
                     {"http://e.x/b", R"({"allOf":[{"$ref":"a"}]})"}})
                .find("applies itself"),
            std::string::npos);
}

TEST(Registry, EachDocumentHasItsDraft) {
  std::string draft7 = R"("$schema":"http://json-schema.org/draft-07/schema#",)";
  std::string draft2020 = R"("$schema":"https://json-schema.org/draft/2020-12/schema",)";
  std::string siblings = R"("$ref":"#/definitions/s","maxLength":1,
                            "definitions":{"s":{"type":"string"}}})";
  Texts registry = {{"urn:7", "{" + draft7 + siblings}, {"urn:none", "{" + siblings}};
  Judges("{" + draft2020 + R"("$ref":"urn:7"})", registry, {R"("ab")"}, {"1"});
  Judges("{" + draft2020 + R"("$ref":"urn:none"})", registry, {R"("a")"}, {R"("ab")"});
  Judges("{" + draft7 + R"("$ref":"urn:none"})", registry, {R"("ab")"}, {"1"});
  // A resource inside a document may have a draft of its own.
  Judges("{" + draft2020 + R"("$ref":"urn:x","$defs":{"x":{"$id":"urn:x",)" + draft7 +
             R"("allOf":[{)" + siblings.substr(0, siblings.find(',', siblings.find("maxL"))) +
             R"(}],"definitions":{"s":{"type":"string"}}}}})",
         {}, {R"("ab")"}, {"1"});
  // Under draft 4, 1.0 is no integer.
  Judges(R"({"$ref":"urn:4"})",
         {{"urn:4", R"({"$schema":"http://json-schema.org/draft-04/schema#","type":"integer"})"}},
         {"1"}, {"1.0"});
  Judges(R"({"type":"integer"})",
         {{"urn:4", R"({"$schema":"http://json-schema.org/draft-04/schema#","type":"integer"})"}},
         {"1", "1.0"}, {"1.5"});
}

TEST(Registry, ErrorsNameTheDocument) {
  Texts registry = {{"https://example.com/a.json", R"({"properties":{"x":{"minimum":"1"}}})"},
                    {"https://example.com/b.json", "{\n \"a\": tru }"},
                    {"https://example.com/c.json", R"({"not":{"uniqueItems":true}})"},
                    {"https://example.com/d.json", R"({"type":"string","enum":[1]})"}};
  EXPECT_EQ(ErrorOf(R"({"$ref":"https://example.com/a.json"})", registry),
            R"(https://example.com/a.json#/properties/x/minimum: must be a number, not "1")");
  std::string broken = ErrorOf(R"({"items":{"$ref":"https://example.com/b.json"}})", registry);
  EXPECT_EQ(broken.find("#/items/$ref: https://example.com/b.json: "), 0u) << broken;
  EXPECT_NE(broken.find("line 2"), std::string::npos) << broken;
  EXPECT_EQ(ErrorOf(R"({"$ref":"https://example.com/a.json#/$defs/n"})", registry),
            R"(#/$ref: "https://example.com/a.json#/$defs/n" points at nothing in )"
            "https://example.com/a.json");
  EXPECT_EQ(ErrorOf(R"({"$ref":"https://example.com/a.json#n"})", registry),
            R"(#/$ref: "https://example.com/a.json#n" names an anchor that )"
            "https://example.com/a.json does not have");
  EXPECT_NE(ErrorOf(R"({"$ref":"https://example.com/d.json"})", registry)
                .find("https://example.com/d.json#/enum"),
            std::string::npos);
  EXPECT_EQ(ErrorOf(R"({"$id":"http://e.x/root","items":{"$ref":"n.json"}})", {}),
            R"(#/items/$ref: "n.json" names another document, which is not here; pass its text in )"
            R"(`registry`, as "http://e.x/n.json")");
}

TEST(Registry, WhatNothingRefersToIsNotRead) {
  Texts registry = {{"urn:bad", "no JSON"}, {"urn:a", R"({"type":"null"})"}};
  Judges(R"({"$ref":"urn:a"})", registry, {"null"}, {"1"});
  Judges(R"({"$ref":"urn:a","$defs":{"x":{"$ref":"urn:bad"},"y":{"$ref":"urn:nowhere"}}})",
         registry, {"null"}, {"1"});
}

TEST(Registry, TextsCountTogether) {
  Limits limits;
  limits.max_source_bytes = 100;
  std::string text = R"({"type":"null","title":")" + std::string(60, 'x') + "\"}";
  EXPECT_TRUE(Compile(text, {}, limits).ok());
  StatusOr<Grammar> both = Compile(R"({"$ref":"urn:a"})", {{"urn:a", text}}, limits);
  EXPECT_EQ(both.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(both.status().message().find("max_source_bytes"), std::string::npos);
}

TEST(Registry, ManyDocumentsInAChain) {
  Texts registry;
  for (int i = 0; i < 3000; ++i) {
    registry["urn:d" + std::to_string(i)] =
        R"({"type":"array","items":{"$ref":"urn:d)" + std::to_string(i + 1) + "\"}}";
  }
  registry["urn:d3000"] = R"({"type":"null"})";
  Judges(R"({"$ref":"urn:d2998"})", registry, {"[[null]]", "[]"}, {"null", "[null]"});
  EXPECT_TRUE(Compile(R"({"$ref":"urn:d0"})", registry).ok());
}

TEST(Registry, DepthIsThatOfAllDocuments) {
  // With an indent values nest as deep as the documents say, one inside another, and 32 more.
  auto nested = [](int depth, const std::string& inside) {
    std::string out = inside;
    for (int i = 0; i < depth; ++i) out = R"({"type":"array","items":)" + out + "}";
    return out;
  };
  JsonSchemaOptions options;
  options.any_whitespace = false;
  options.indent = 0;
  options.registry = {{"x:a", nested(30, R"({"$ref":"x:b"})")}, {"x:b", nested(30, "{}")}};
  StatusOr<Grammar> grammar = GrammarFromJsonSchema(R"({"$ref":"x:a"})", options);
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  std::string text = "1";
  for (int i = 0; i < 61; ++i) text = "[\n" + text + "\n]";
  EXPECT_TRUE(Recognizer(*grammar).Matches(text));
}

TEST(JsonDocument, FurtherTextsMoveNothing) {
  JsonDocument d = JsonDocument::Parse(R"({"a":[1,{"b":"\u00e9"}]})", {}).value();
  auto members = d.members(d.root());
  auto elements = d.elements(members[0].value);
  for (int i = 0; i < 100; ++i) {
    JsonId root = d.Append(R"({"x":[true,{"b":"\u00e9"}]})", "t" + std::to_string(i), {}).value();
    EXPECT_EQ(d.parent(root), root);
    JsonId inner = d.elements(*d.Find(root, "x"))[1];
    EXPECT_EQ(d.Pointer(inner), "t" + std::to_string(i) + "#/x/1");
    EXPECT_EQ(d.Excerpt(inner), R"({"b":"\u00e9"})");
    EXPECT_EQ(d.representative(inner), inner);
    EXPECT_FALSE(d.Append("[1,", "bad", {}).ok());
  }
  EXPECT_EQ(members[0].key, "a");
  EXPECT_EQ(elements.data(), d.elements(members[0].value).data());
  EXPECT_EQ(d.Pointer(elements[1]), "#/a/1");
  EXPECT_EQ(d.Excerpt(elements[1]), R"({"b":"\u00e9"})");
}

// ---- Pointers ----

TEST(References, EqualPointersOfTwoResources) {
  Judges(R"({"$defs":{"a":{"type":"null"},
                      "r":{"$id":"http://e.x/r","$defs":{"a":{"type":"integer"}},
                           "properties":{"x":{"$ref":"#/$defs/a"},"y":{"$ref":"#/$defs/a"}}}},
             "properties":{"x":{"$ref":"#/$defs/a"},"y":{"$ref":"#/$defs/a"},
                           "z":{"$ref":"#/$defs/r"}}})",
         {}, {R"({"x":null,"y":null,"z":{"x":1,"y":2}})"},
         {R"({"x":1})", R"({"x":null,"y":1})", R"({"z":{"x":null}})", R"({"z":{"x":1,"y":null}})"});
}

TEST(References, PointersAreDecodedOnce) {
  Judges(R"({"$ref":"#/$defs/a%25b","$defs":{"a%b":{"type":"null"},"a%25b":false}})", {}, {"null"},
         {"1"});
  Judges(R"({"$ref":"#/$defs/~01","$defs":{"~1":{"type":"null"},"/":false}})", {}, {"null"}, {"1"});
  Judges(R"({"$ref":"#/$defs/~1","$defs":{"/":{"type":"null"},"~1":false}})", {}, {"null"}, {"1"});
  Judges(R"({"$ref":"#/$defs//a","$defs":{"":{"a":{"type":"null"}}}})", {}, {"null"}, {"1"});
  Judges(R"({"$ref":"#/allOf/1","$defs":{},"allOf":[true,{"type":"null"}]})", {}, {"null"}, {"1"});
  EXPECT_NE(ErrorOf(R"({"$ref":"#/anyOf/01","anyOf":[true,{"type":"null"}]})", {}), "");
  EXPECT_NE(ErrorOf(R"({"$ref":"#/anyOf/-","anyOf":[true]})", {}), "");
  EXPECT_NE(ErrorOf(R"({"$ref":"#/$defs/%zz","$defs":{}})", {}), "");
}

TEST(References, IdentifiersInValuesAreNone) {
  // Below a member that no draft defines an $id counts where no schema has it.
  Judges(R"({"$ref":"http://e.x/s","components":{"s":{"$id":"http://e.x/s","type":"string"}}})", {},
         {"\"\""}, {"1"});
  Judges(R"({"$ref":"http://e.x/s","a":{"s":{"$id":"http://e.x/s","type":"string"}},
             "$defs":{"s":{"$id":"http://e.x/s","type":"null"}},
             "z":{"s":{"$id":"http://e.x/s","type":"string"}}})",
         {}, {"null"}, {"\"\""});
  EXPECT_NE(
      ErrorOf(R"({"$ref":"http://e.x/s","const":{"$id":"http://e.x/s","type":"string"}})", {}), "");
  // A key may hide behind an escape.
  Judges(R"({"$ref":"http://e.x/s","$defs":{"s":{"\u0024id":"http://e.x/s","type":"null"}}})", {},
         {"null"}, {"1"});
}

TEST(References, WhereIdentifiersAreLookedFor) {
  // Only the root has one; a property of that name is none.
  Judges(R"({"$id":"http://e.x/s","$ref":"http://e.x/s#/$defs/a",
             "$defs":{"a":{"properties":{"id":{"type":"null"}},"required":["id"]}}})",
         {}, {R"({"id":null})"}, {R"({"id":1})", "{}"});
  Judges(R"({"$anchor":"top","properties":{"a":{"$ref":"#top"}},"type":"object"})", {},
         {R"({"a":{"a":{}}})"}, {R"({"a":1})"});
  // A property's name, and deeper inside an identifier.
  Judges(R"({"$ref":"http://e.x/in","properties":{"id":{"items":{"$id":"http://e.x/in",
             "type":"null"}}}})",
         {}, {"null"}, {"1"});
  Judges(R"({"$ref":"#n","$defs":{"id":{"$anchor":"n","type":"null"}}})", {}, {"null"}, {"1"});
}

TEST(References, SiblingsOfARefBefore2019) {
  // The example of the official suite: the $id beside $ref does not move the base.
  Judges(R"({"$schema":"http://json-schema.org/draft-07/schema#","$id":"http://e.x/base/",
             "definitions":{"foo":{"$id":"http://e.x/foo.json","type":"string"},
                            "base_foo":{"$id":"foo.json","type":"number"}},
             "allOf":[{"$id":"http://e.x/","$ref":"foo.json"}]})",
         {}, {"1"}, {"\"a\""});
  Judges(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"http://e.x/base/",
             "definitions":{"foo":{"$id":"http://e.x/foo.json","type":"string"},
                            "base_foo":{"$id":"foo.json","type":"number"}},
             "allOf":[{"$id":"http://e.x/","$ref":"foo.json"}]})",
         {}, {"\"a\""}, {"1"});
}

// ---- Meta-schemas ----

TEST(MetaSchemas, EveryOneIsJsonUnderItsOwnUri) {
  for (const char* uri :
       {"http://json-schema.org/draft-04/schema", "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2019-09/meta/applicator",
        "https://json-schema.org/draft/2019-09/meta/format",
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2020-12/meta/core",
        "https://json-schema.org/draft/2020-12/meta/unevaluated",
        "https://json-schema.org/draft/2020-12/meta/format-assertion"}) {
    StatusOr<JsonDocument> d = JsonDocument::Parse(MetaSchemaText(uri), {});
    ASSERT_TRUE(d.ok()) << uri << d.status().message();
    std::string own(d->text(*d->Find(
        d->root(), std::string_view(uri).find("-04") != std::string_view::npos ? "id" : "$id")));
    EXPECT_EQ(own.substr(0, own.find('#')), uri);
  }
  EXPECT_EQ(MetaSchemaText("http://json-schema.org/draft-07/schema#"), "");
  EXPECT_EQ(MetaSchemaText("http://a"), "");
  EXPECT_EQ(MetaSchemaText("zzz"), "");
}

TEST(MetaSchemas, JudgeSchemas) {
  for (std::string uri :
       {"http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema"}) {
    Judges(R"({"$ref":")" + uri + "\"}", {},
           {"true", "{}", R"({"minLength":1})", R"({"properties":{"a":{"not":{}}}})",
            R"({"allOf":[{"minimum":1}]})", R"({"required":["a","b"]})"},
           {"1", R"({"minLength":-1})", R"({"properties":{"a":{"not":{"minLength":-1}}}})",
            R"({"allOf":[{"minimum":"1"}]})", R"({"allOf":[]})", R"({"required":["a","a"]})",
            R"({"type":"any"})"});
  }
  Judges(R"({"$ref":"http://json-schema.org/draft-04/schema#"})", {},
         {"{}", R"({"minLength":1})", R"({"enum":[1]})"},
         {"true", R"({"minLength":-1})", R"({"minLength":1.0})", R"({"enum":[1,1]})"});
  Judges(R"({"$ref":"http://json-schema.org/draft-04/schema#/definitions/positiveInteger"})", {},
         {"1"}, {"-1", "1.5"});
}

// The standard's own way to extend a meta-schema: a dynamic anchor of the same name.
TEST(MetaSchemas, AreExtended) {
  Judges(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"http://e.x/strict",
             "$dynamicAnchor":"meta","$ref":"https://json-schema.org/draft/2020-12/schema",
             "propertyNames":{"not":{"const":"title"}}})",
         {}, {R"({"not":{"minLength":1}})"}, {R"({"title":""})", R"({"not":{"title":""}})"});
  Judges(R"({"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"http://e.x/strict",
             "$recursiveAnchor":true,"$ref":"https://json-schema.org/draft/2019-09/schema",
             "propertyNames":{"not":{"const":"title"}}})",
         {}, {R"({"not":{"minLength":1}})"}, {R"({"title":""})", R"({"not":{"title":""}})"});
}

TEST(MetaSchemas, TheRegistryComesFirst) {
  Judges(R"({"$ref":"http://json-schema.org/draft-07/schema#"})",
         {{"http://json-schema.org/draft-07/schema#", R"({"type":"null"})"}}, {"null"}, {"{}"});
}

// ---- Dynamic references ----

constexpr char kTrees[] = R"({
  "$id":"http://e.x/start","$ref":"START",
  "$defs":{
    "tree":{"$id":"tree","$dynamicAnchor":"node","type":"object","properties":{
      "data":true,"children":{"type":"array","items":{"$dynamicRef":"#node"}}}},
    "strict":{"$id":"strict","$dynamicAnchor":"node","$ref":"tree",
      "propertyNames":{"enum":["data","children"]}}}})";

std::string From(std::string schema, std::string_view start) {
  schema.replace(schema.find("START"), 5, start);
  return schema;
}

TEST(DynamicRef, TheOutermostAnchorCounts) {
  std::string good = R"({"children":[{"data":1}]})", loose = R"({"children":[{"daat":1}]})";
  Judges(From(kTrees, "tree"), {}, {good, loose}, {R"({"children":[1]})"});
  Judges(From(kTrees, "strict"), {}, {good}, {loose, R"({"children":[1]})"});
}

TEST(DynamicRef, AcrossDocuments) {
  Texts registry = {{"http://e.x/tree", R"({"$dynamicAnchor":"node","type":"object","properties":{
         "data":true,"children":{"type":"array","items":{"$dynamicRef":"#node"}}}})"}};
  std::string root = R"({"$id":"http://e.x/strict","$dynamicAnchor":"node","$ref":"tree",
                         "propertyNames":{"enum":["data","children"]}})";
  Judges(root, registry, {R"({"children":[{"data":1}]})"}, {R"({"children":[{"daat":1}]})"});
  // The anchor's name is spelled with an escape there: it is still the same name.
  registry["http://e.x/tree"] = R"({"$dynamicAnchor":"no\u0064e","type":"object","properties":{
         "data":true,"children":{"type":"array","items":{"$dynamicRef":"#node"}}}})";
  Judges(root, registry, {R"({"children":[{"data":1}]})"}, {R"({"children":[{"daat":1}]})"});
}

TEST(DynamicRef, TwoPathsToOneSchema) {
  Judges(R"({"$id":"http://e.x/main","prefixItems":[{"$ref":"numbers"},{"$ref":"strings"}],
    "$defs":{
      "list":{"$id":"list","type":"array","items":{"$dynamicRef":"#item"},
              "$defs":{"any":{"$dynamicAnchor":"item"}}},
      "numbers":{"$id":"numbers","$ref":"list",
                 "$defs":{"i":{"$dynamicAnchor":"item","type":"number"}}},
      "strings":{"$id":"strings","$ref":"list",
                 "$defs":{"i":{"$dynamicAnchor":"item","type":"string"}}}}})",
         {}, {R"([[1,2],["a"]])", R"([[1],[],[1]])"}, {R"([["a"]])", R"([[1],[1]])"});
}

TEST(DynamicRef, OnlyToADynamicAnchor) {
  // The start is an ordinary anchor, so the reference is an ordinary one.
  Judges(R"({"$id":"http://e.x/r","$dynamicAnchor":"a","type":["array","null"],
             "items":{"$ref":"in"},
             "$defs":{"in":{"$id":"in","$dynamicRef":"#a",
                            "$defs":{"x":{"$anchor":"a","type":"string"}}}}})",
         {}, {R"(["a"])"}, {"[null]"});
  // A resource around it in the text alone is not on the way.
  Judges(R"({"$id":"http://e.x/r","$ref":"out#/$defs/deep",
             "$defs":{"out":{"$id":"out","$defs":{
               "a":{"$dynamicAnchor":"a","type":"string"},
               "deep":{"$id":"deep","$dynamicRef":"#a",
                       "$defs":{"a":{"$dynamicAnchor":"a","type":"null"}}}}}}})",
         {}, {"null"}, {"\"\""});
}

TEST(DynamicRef, ManyNamesStayBounded) {
  // Each of these resources has two names of its own; who comes first is open at every step.
  std::string defs;
  for (int i = 0; i < 24; ++i) {
    std::string n = std::to_string(i), m = std::to_string((i + 1) % 24);
    defs += (i ? ",\"r" : "\"r") + n + "\":{\"$id\":\"r" + n + "\",\"type\":\"array\",\"items\":{" +
            "\"anyOf\":[{\"$ref\":\"r" + m + "\"},{\"$ref\":\"r" + std::to_string((i + 7) % 24) +
            "\"},{\"$dynamicRef\":\"#n" + n + "\"}]},\"$defs\":{\"a\":{\"$dynamicAnchor\":\"n" + n +
            "\",\"type\":\"null\"},\"b\":{\"$dynamicAnchor\":\"n" + m + "\",\"const\":" + n + "}}}";
  }
  Limits limits;
  limits.max_schema_steps = 20'000;
  limits.max_ast_nodes = 200'000;
  StatusOr<Grammar> grammar =
      Compile("{\"$id\":\"http://e.x/\",\"$ref\":\"r0\",\"$defs\":{" + defs + "}}", {}, limits);
  EXPECT_EQ(grammar.status().code(), StatusCode::kResourceExhausted);
}

TEST(RecursiveRef, TheOutermostTrueAnchorCounts) {
  std::string trees = R"({"$schema":"https://json-schema.org/draft/2019-09/schema",
    "$id":"http://e.x/start","$ref":"START",
    "$defs":{
      "tree":{"$id":"tree","$recursiveAnchor":true,"type":"object","properties":{
        "children":{"type":"array","items":{"$recursiveRef":"#"}}}},
      "strict":{"$id":"strict","$recursiveAnchor":true,"$ref":"tree",
        "propertyNames":{"const":"children"}},
      "plain":{"$id":"plain","$ref":"tree","propertyNames":{"const":"children"}}}})";
  std::string loose = R"({"children":[{"x":1}]})", good = R"({"children":[{"children":[]}]})";
  Judges(From(trees, "tree"), {}, {good, loose}, {R"({"children":[1]})"});
  Judges(From(trees, "strict"), {}, {good}, {loose});
  Judges(From(trees, "plain"), {}, {good, loose}, {R"({"x":1})"});
  // Where the start has no true anchor, it is an ordinary reference.
  Judges(R"({"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"http://e.x/r",
             "$recursiveAnchor":true,"type":["object","null"],"additionalProperties":{"$ref":"in"},
             "$defs":{"in":{"$id":"in","type":"array","items":{"$recursiveRef":"#"}}}})",
         {}, {R"({"a":[[]]})"}, {R"({"a":[null]})"});
}

TEST(DynamicScopes, AreInternedAndKeepTheOutermost) {
  DynamicScopes scopes;
  using Binding = DynamicScopes::Binding;
  AnchorNameId a(0), b(1);
  Binding first[] = {{a, JsonId(10)}}, second[] = {{b, JsonId(20)}, {a, JsonId(21)}};
  ScopeId one = scopes.Enter(kNoScope, first);
  ScopeId two = scopes.Enter(one, second);
  EXPECT_EQ(scopes.Find(two, a), JsonId(10));
  EXPECT_EQ(scopes.Find(two, b), JsonId(20));
  EXPECT_EQ(scopes.Find(one, b), std::nullopt);
  EXPECT_EQ(scopes.Enter(two, first), two);
  EXPECT_EQ(scopes.Enter(scopes.Enter(kNoScope, first), second), two);
  EXPECT_NE(scopes.Enter(kNoScope, second), two);
}

// ---- Draft 3 ----

TEST(Draft3, ItsKeywordsAreRefusedByName) {
  for (const char* schema : {"", R"("$schema":"http://json-schema.org/draft-03/schema#",)"}) {
    for (const char* rest : {R"("divisibleBy":2})", R"("extends":{}})", R"("disallow":"null"})"}) {
      std::string error = ErrorOf("{" + std::string(schema) + rest, {});
      EXPECT_NE(error.find("draft 3"), std::string::npos) << schema << rest << error;
    }
    std::string required =
        ErrorOf("{" + std::string(schema) + R"("properties":{"a":{"required":true}}})", {});
    EXPECT_NE(required.find("draft 3"), std::string::npos) << required;
    Judges("{" + std::string(schema) + R"("dependencies":{"a":"b"}})", {},
           {"{}", R"({"a":1,"b":2})", R"({"b":1})"}, {R"({"a":1})"});
  }
  Judges(R"({"$schema":"http://json-schema.org/draft-07/schema#","extends":{"type":"null"}})", {},
         {"1"}, {});
  // What came after it says nothing under it.
  Judges(R"({"$schema":"http://json-schema.org/draft-03/schema#","const":1,"type":"integer"})", {},
         {"2"}, {"1.0"});
}

}  // namespace
}  // namespace grammask::internal
