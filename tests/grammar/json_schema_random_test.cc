// Random schemas against the slow twin: of every value of a small world, some spelling with its
// keys in some order is in the grammar exactly when the value meets the schema.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "grammar/json_schema.h"
#include "grammar/json_validator.h"
#include "oracle/recognizer.h"
#include "sampled.h"

namespace grammask::internal {
namespace {

using Json = nlohmann::ordered_json;

// Draws schemas over the keys a, b, c and few small constants, so that keywords meet often.
class SchemaMaker {
 public:
  // `hard`: with uniqueItems too, which often has no exact form.
  explicit SchemaMaker(uint32_t seed, bool hard = false) : random_(seed), hard_(hard) {}

  Json Root() {
    Json schema = Schema(3);
    if (!schema.is_object()) schema = Json::object({{"allOf", Json::array({schema})}});
    // Beside all else, where they have most to see.
    if (Below(4) == 0) schema["unevaluatedProperties"] = Schema(0);
    if (Below(8) == 0) schema["unevaluatedItems"] = Schema(0);
    schema["$defs"] = {{"x", Schema(1)}, {"y", Schema(1)}};
    return schema;
  }

 private:
  int Below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  template <class T>
  T Pick(std::initializer_list<T> list) {
    return list.begin()[Below(static_cast<int>(list.size()))];
  }
  std::string Key() { return Pick<std::string>({"a", "b", "c"}); }
  Json Value() {
    return Pick<Json>({nullptr, true, false, 0, 1, 2, 0.5, "", "a", "ab", Json::array(),
                       Json::array({1}), Json::array({0, "a"}), Json::object(), Json{{"a", 1}},
                       Json{{"a", 0}, {"b", "a"}}});
  }
  std::string Type() {
    return Pick<std::string>(
        {"null", "boolean", "integer", "number", "string", "array", "object", "object"});
  }
  Json List(int depth, int count) {
    Json list = Json::array();
    for (int i = 0; i < count; ++i) list.push_back(Schema(depth));
    return list;
  }
  Json Keys(int count) {
    Json list = Json::array();
    for (int i = 0; i < count; ++i) {
      std::string key = Key();
      if (std::find(list.begin(), list.end(), Json(key)) == list.end()) list.push_back(key);
    }
    return list;
  }

  Json Schema(int depth) {
    if (Below(12) == 0) return Below(3) != 0;
    Json schema = Json::object();
    int keywords = 1 + Below(3);
    for (int i = 0; i < keywords; ++i) {
      if (depth == 0 || Below(3) == 0) {
        AddSimple(&schema);
      } else {
        AddApplicator(&schema, depth - 1);
      }
    }
    if (hard_ && Below(4) == 0) schema["uniqueItems"] = true;
    return schema;
  }

  void AddSimple(Json* s) {
    switch (Below(13)) {
      case 0:
      case 1:
        (*s)["type"] = Type();
        break;
      case 2:
        (*s)["type"] = Json::array({Type(), Type()});
        break;
      case 3:
        (*s)["const"] = Value();
        break;
      case 4:
        (*s)["enum"] = Json::array({Value(), Value(), Value()});
        break;
      case 5:
        (*s)[Pick<std::string>({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})] =
            Below(3);
        break;
      case 6:
        (*s)["multipleOf"] = Pick<Json>({1, 2, 0.5});
        break;
      case 7:
        (*s)[Pick<std::string>({"minLength", "maxLength"})] = Below(3);
        break;
      case 8:
        (*s)["pattern"] = Pick<std::string>({"^a", "b$", "a"});
        break;
      case 9:
        (*s)[Pick<std::string>({"minItems", "maxItems"})] = Below(3);
        break;
      case 10:
        (*s)["required"] = Keys(1 + Below(2));
        break;
      case 11:
        (*s)[Pick<std::string>({"minProperties", "maxProperties"})] = Below(3);
        break;
      case 12:
        (*s)["dependentRequired"] = {{Key(), Keys(1)}};
        break;
    }
  }

  void AddApplicator(Json* s, int depth) {
    switch (Below(20)) {
      case 0:
      case 1:
      case 2:
        for (int i = 0; i < 2; ++i) (*s)["properties"][Key()] = Schema(depth);
        break;
      case 3:
        (*s)["additionalProperties"] = Schema(depth);
        break;
      case 4:
        (*s)["patternProperties"][Pick<std::string>({"a", "^[ab]$", "[bc]"})] = Schema(depth);
        break;
      case 5:
        (*s)["propertyNames"] = Schema(0);
        break;
      case 6:
        (*s)["items"] = Schema(depth);
        break;
      case 7:
        (*s)["prefixItems"] = List(depth, 1 + Below(2));
        break;
      case 8:
        (*s)["contains"] = Schema(depth);
        if (Below(2) == 0) (*s)["minContains"] = Below(3);
        if (Below(2) == 0) (*s)["maxContains"] = Below(3);
        break;
      case 9:
        (*s)["allOf"] = List(depth, 2);
        break;
      case 10:
        (*s)["anyOf"] = List(depth, 2);
        break;
      case 11:
      case 12:
        (*s)["oneOf"] = List(depth, 2 + Below(2));
        break;
      case 13:
        (*s)["not"] = Schema(depth);
        break;
      case 14:
        (*s)["if"] = Schema(depth);
        (*s)["then"] = Schema(depth);
        if (Below(2) != 0) (*s)["else"] = Schema(depth);
        break;
      case 15:
        (*s)["dependentSchemas"] = {{Key(), Schema(depth)}};
        break;
      case 16:
        (*s)["$ref"] = Pick<std::string>({"#/$defs/x", "#/$defs/y"});
        break;
      case 17:
      case 18:
        (*s)["unevaluatedProperties"] = Below(2) == 0 ? Json(false) : Schema(depth);
        break;
      case 19:
        (*s)["unevaluatedItems"] = Below(2) == 0 ? Json(false) : Schema(depth);
        break;
    }
  }

  std::mt19937 random_;
  bool hard_;
};

std::vector<Json> World() {
  std::vector<Json> scalars = {nullptr, true, false, 0, 1, 2, -1, 0.5, "", "a", "b", "ab", "abc"};
  std::vector<Json> inner = {
      0, 2, "a", "ab", true, Json::array(), Json::array({1}), Json{{"a", 1}}};
  std::vector<Json> world = scalars;
  world.push_back(Json::array());
  world.push_back(Json::object());
  for (const Json& x : inner) {
    world.push_back(Json::array({x}));
    for (const char* key : {"a", "b", "d"}) world.push_back({{key, x}});
    for (const Json& y : {Json(0), Json("a"), Json{{"a", 1}}}) {
      world.push_back(Json::array({x, y}));
      world.push_back({{"a", x}, {"b", y}});
      world.push_back({{"b", x}, {"c", y}});
      world.push_back({{"a", x}, {"d", y}});
    }
  }
  for (const Json& x : {Json(0), Json("a")}) {
    world.push_back(Json::array({x, "a", 1}));
    world.push_back(Json::array({2, x, x, 0}));
    world.push_back(Json::array({x, true, x, Json::object(), x}));
  }
  world.push_back({{"a", 0}, {"b", 1}, {"c", "a"}});
  world.push_back({{"b", 0}, {"c", 1}, {"ad", "a"}});
  return world;
}

// All orders of the keys of an object that holds no larger object.
std::vector<std::string> Orders(const Json& value) {
  if (!value.is_object() || value.size() < 2) return {value.dump()};
  std::vector<std::string> keys, out;
  for (const auto& m : value.items()) keys.push_back(m.key());
  std::sort(keys.begin(), keys.end());
  do {
    Json ordered = Json::object();
    for (const std::string& key : keys) ordered[key] = value[key];
    out.push_back(ordered.dump());
  } while (std::next_permutation(keys.begin(), keys.end()));
  return out;
}

// With any_order every order is a spelling of the value, not only some.
void ExpectAllOrders(const Json& schema, const std::vector<Json>& world,
                     JsonSchemaOptions options) {
  options.any_order = true;
  StatusOr<Grammar> grammar = GrammarFromJsonSchema(schema.dump(), options);
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  Recognizer recognizer(*grammar);
  JsonValidator validator(schema);
  for (const Json& value : world) {
    const bool valid = validator.Valid(value);
    if (validator.looped()) break;
    for (const std::string& text : Orders(value)) {
      EXPECT_EQ(recognizer.Matches(text), valid) << "any order: " << text;
    }
  }
}

// Draws so many schemas, and compares each grammar with the validator; the number of those that are
// refused for want of an exact form.
int RefusedOf(SchemaMaker maker, int schemas) {
  static const std::vector<Json> world = World();
  int refused = 0;
  JsonSchemaOptions options;
  options.strict_mode = false;
  for (int i = 0; i < schemas; ++i) {
    Json schema = maker.Root();
    SCOPED_TRACE(schema.dump());
    JsonValidator validator(schema);
    StatusOr<Grammar> grammar = GrammarFromJsonSchema(schema.dump(), options);
    if (!grammar.ok()) {
      if (grammar.status().code() == StatusCode::kInvalidArgument) {
        // A reference that leads back to itself on the same value: the twin would never end.
        EXPECT_NE(grammar.status().message().find("itself"), std::string::npos)
            << grammar.status().message();
      } else if (grammar.status().code() == StatusCode::kUnsatisfiable) {
        for (const Json& value : world) EXPECT_FALSE(validator.Valid(value)) << value;
      } else {
        ++refused;
      }
      continue;
    }
    Recognizer recognizer(*grammar);
    for (const Json& value : world) {
      std::vector<std::string> texts = Orders(value);
      bool accepted = std::any_of(texts.begin(), texts.end(),
                                  [&](const std::string& t) { return recognizer.Matches(t); });
      bool valid = validator.Valid(value);
      if (validator.looped()) break;
      EXPECT_EQ(accepted, valid) << value;
    }
    if (i % 4 == 0) ExpectAllOrders(schema, world, options);
    if (testing::Test::HasFailure()) break;
  }
  return refused;
}

class JsonSchemaRandom : public testing::TestWithParam<uint32_t> {};

// What has no exact form is refused; that must stay rare.
TEST_P(JsonSchemaRandom, AgreesWithTheValidator) {
  EXPECT_LE(RefusedOf(SchemaMaker(GetParam()), 60), 2);
}

// Often it has none: equal elements that are asked for, or distinct ones after others.
TEST_P(JsonSchemaRandom, UniqueItemsAgreeWithTheValidator) {
  EXPECT_LE(RefusedOf(SchemaMaker(GetParam() + 1000, /*hard=*/true), 60), 15);
}

// Widening loses no valid value, be it for lack of an exact form or of steps; and where nothing is
// left out, the grammar is exact.
TEST_P(JsonSchemaRandom, WideningKeepsEveryValidValue) {
  static const std::vector<Json> world = World();
  int widened = 0;
  JsonSchemaOptions options;
  options.strict_mode = false;
  options.widen = true;
  SchemaMaker maker(GetParam() + 1000, true);
  for (int i = 0; i < 60; ++i) {
    Json schema = maker.Root();
    Limits limits;
    if (i % 3 == 1) limits.max_schema_steps = 40;
    if (i % 3 == 2) limits.max_schema_steps = 400;
    SCOPED_TRACE(schema.dump() + " with " + std::to_string(limits.max_schema_steps) + " steps");
    JsonValidator validator(schema);
    std::vector<SchemaWarning> warnings;
    StatusOr<Grammar> grammar = GrammarFromJsonSchema(schema.dump(), options, limits, &warnings);
    if (!grammar.ok()) {
      if (grammar.status().code() == StatusCode::kUnsatisfiable) {
        for (const Json& value : world) EXPECT_FALSE(validator.Valid(value)) << value;
      } else {
        EXPECT_NE(grammar.status().message().find("itself"), std::string::npos)
            << grammar.status().message();
      }
      continue;
    }
    widened += !warnings.empty();
    Recognizer recognizer(*grammar);
    for (const Json& value : world) {
      bool valid = validator.Valid(value);
      if (validator.looped()) break;
      if (!valid && !warnings.empty()) continue;
      std::vector<std::string> texts = Orders(value);
      bool accepted = std::any_of(texts.begin(), texts.end(),
                                  [&](const std::string& t) { return recognizer.Matches(t); });
      EXPECT_EQ(accepted, valid) << value;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(widened, 3);
}

// Draws schemas of objects in which many cases meet: branches with and without a tag, chains of
// conditions, many dependencies, many patterns.
class CasesMaker {
 public:
  explicit CasesMaker(uint32_t seed) : random_(seed) {}

  Json Root() {
    Json schema;
    switch (Below(6)) {
      case 0:
        schema = {{"oneOf", Branches()}};
        break;
      case 5:
        schema = {{"oneOf", Nested(Below(4))}};
        break;
      case 1:
        schema = {{"not", {{Pick({"anyOf", "oneOf"}), Branches()}}}};
        break;
      case 2:
        schema = {{"allOf", Conditions()}};
        break;
      case 3:
        schema = Dependencies();
        break;
      case 4:
        schema = {{"patternProperties", Patterns()}};
        if (Below(2) != 0) schema["additionalProperties"] = Member();
        if (Below(3) == 0) return {{"type", "object"}, {"not", schema}};
        break;
    }
    // What is known besides comes before or around it.
    if (Below(2) != 0) schema = {{"allOf", Json::array({schema})}};
    if (Below(2) != 0) schema["required"] = Json::array({"t"});
    if (Below(3) == 0) schema["properties"]["t"] = {{"enum", {"x", "y", "z"}}};
    schema["type"] = "object";
    return schema;
  }

  // An object of few members, with keys that the schemas speak of.
  Json Value() {
    Json value = Json::object();
    if (Below(3) != 0) value["t"] = Pick({"x", "y", "z", "w"});
    for (int i = Below(4); i > 0; --i) {
      value[Pick({"a", "b", "c", "d", "ab", "ba", "e"})] =
          Below(2) != 0 ? Json(Below(3)) : Json("x");
    }
    return value;
  }

 private:
  int Below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  std::string Pick(std::initializer_list<const char*> list) {
    return list.begin()[Below(static_cast<int>(list.size()))];
  }
  std::string Key() { return Pick({"a", "b", "c", "d"}); }
  Json Member() {
    switch (Below(5)) {
      case 0:
        return {{"type", "integer"}, {"description", std::to_string(Below(3))}};
      case 1:
        return {{"type", "string"}};
      case 2:
        return {{"enum", {0, "x"}}};
      case 3:
        return {{"not", {{"const", Below(2)}}}};
      default:
        return Below(2) != 0;
    }
  }
  Json Tag() {
    switch (Below(4)) {
      case 0:
        return {{"const", Pick({"x", "y", "z"})}};
      case 1:
        return {{"enum", {Pick({"x", "y"}), Pick({"z", "w"})}}};
      case 2:
        return {{"type", "string"}, {"pattern", Pick({"^x$", "^(x|z)$", "^y", "[xy]"})}};
      default:
        return {{"not", {{"enum", {Pick({"x", "y", "z"}), "w"}}}}};
    }
  }
  Json Branches() { return Branches(3 + Below(4)); }
  Json Branches(int count) {
    Json list = Json::array();
    for (int i = 0; i < count; ++i) {
      Json branch = {{"type", "object"}};
      if (Below(4) != 0) branch["properties"]["t"] = Tag();
      for (int j = Below(3); j > 0; --j) branch["properties"][Key()] = Member();
      branch["required"] =
          Below(4) == 0 ? Json::array() : Json::array({Pick({"t", "t", "a", "b"})});
      if (Below(3) == 0) branch["additionalProperties"] = false;
      list.push_back(branch);
    }
    return list;
  }
  // Branches that have branches themselves, some with what they have in common beside these.
  Json Nested(int depth) {
    Json list = Json::array();
    for (int i = 0; i < 2; ++i) {
      if (Below(3) == 0) {
        list.push_back({{"properties", {{"t", Tag()}, {Key(), Member()}}}});
        continue;
      }
      Json branch = {{"oneOf", depth == 0 ? Branches(2) : Nested(depth - 1)}};
      if (Below(2) != 0) branch["properties"]["t"] = Tag();
      if (Below(3) == 0) branch["required"] = Json::array({Pick({"t", "a"})});
      list.push_back(branch);
    }
    return list;
  }
  Json Conditions() {
    Json list = Json::array();
    int count = 3 + Below(4);
    for (int i = 0; i < count; ++i) {
      Json c = {{"if", {{"properties", {{"t", Tag()}}}}},
                {"then", {{"properties", {{Key(), Member()}}}}}};
      if (Below(2) != 0) c["if"]["required"] = Json::array({"t"});
      if (Below(3) == 0) c["else"] = {{"required", Json::array({Key()})}};
      list.push_back(c);
    }
    return list;
  }
  Json Dependencies() {
    Json schemas = Json::object(), names = Json::object();
    for (const char* key : {"a", "b", "c", "d", "ab", "ba"}) {
      if (Below(6) != 0) {
        schemas[key] = {{"properties", {{Pick({"t", "t", "a"}), Tag()}}}};
        if (Below(4) == 0) schemas[key] = Below(2) != 0;
      }
      if (Below(6) != 0) names[key] = Json::array({Pick({"a", "b", "t", "e"})});
    }
    if (Below(2) != 0) return {{"dependentRequired", names}};
    return {{"dependentSchemas", schemas}};
  }
  Json Patterns() {
    Json all = Json::object();
    for (const char* p : {"^a", "^b", "^ab$", "^(ab|ba)$", "b$", "^a.$", "^c$", "^d", "[ae]", "^t$",
                          "^(c|d)$", "^.$", "^..$"}) {
      if (Below(3) != 0) all[p] = Member();
    }
    return all;
  }

  std::mt19937 random_;
};

class JsonSchemaCases : public testing::TestWithParam<uint32_t> {};

TEST_P(JsonSchemaCases, AgreeWithTheValidator) {
  constexpr int kSchemas = 40, kValues = 60;
  int refused = 0;
  JsonSchemaOptions options;
  options.strict_mode = false;
  CasesMaker maker(GetParam());
  for (int i = 0; i < kSchemas; ++i) {
    Json schema = maker.Root();
    SCOPED_TRACE(schema.dump());
    JsonValidator validator(schema);
    StatusOr<Grammar> grammar = GrammarFromJsonSchema(schema.dump(), options);
    bool none = grammar.status().code() == StatusCode::kUnsatisfiable;
    if (!grammar.ok() && !none) {
      EXPECT_EQ(grammar.status().code(), StatusCode::kUnsupported) << grammar.status().message();
      ++refused;
      continue;
    }
    std::optional<Recognizer> recognizer;
    if (!none) recognizer.emplace(*grammar);
    for (int j = 0; j < kValues; ++j) {
      Json value = maker.Value();
      bool accepted = false;
      for (const std::string& text : Orders(value)) {
        accepted = accepted || (recognizer && recognizer->Matches(text));
      }
      EXPECT_EQ(accepted, validator.Valid(value)) << value;
    }
    if (HasFailure()) return;
  }
  EXPECT_LE(refused, kSchemas / 10);
}

constexpr uint32_t kCasesSeeds = 6 / OneIn(6), kRandomSeeds = 12 / OneIn(6);

INSTANTIATE_TEST_SUITE_P(Seeds, JsonSchemaCases, testing::Range(1u, 1 + kCasesSeeds));

INSTANTIATE_TEST_SUITE_P(Seeds, JsonSchemaRandom, testing::Range(1u, 1 + kRandomSeeds));

}  // namespace
}  // namespace grammask::internal
