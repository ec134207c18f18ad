// A JsonDocument to Schemas.
//
// A schema object is one pass over its members: each key is looked up in the table of keywords, its
// value is checked for shape, and its node is noted under the keyword; keys that the document's
// draft does not define are annotations and are left out.
// {"type":"string","minLength":2,"title":"x"} becomes types = string, minLength -> 2. Only what is
// asked for is read, so a definition that nothing refers to costs nothing.
//
// Source: the specifications of drafts 4 to 2020-12. References: schema_tree_refs.cc. Tests:
// tests/grammar/json_schema_test.cc.
#include "grammar/json_schema/schema_tree.h"

#include <bit>

#include "base/utf8.h"

namespace grammask::internal {
namespace {

// What a keyword's value must be.
enum class Shape : uint8_t {
  kType,
  kSchema,
  kSchemaOrTuple,  // `items` before 2020-12
  kSchemaList,     // not empty
  kTuple,          // a list of schemas, maybe empty
  kSchemaMap,
  kNumber,
  kNumberOrBool,  // exclusiveMinimum: a number, or draft 4's boolean
  kPositive,      // a number over 0
  kCount,         // a whole number, not negative
  kString,
  kNames,         // a list of strings
  kNameMap,       // an object of lists of strings
  kDependencies,  // an object of schemas or lists of strings
  kBoolean,
  kList,
  kAny,
};

constexpr uint8_t Drafts(Draft from, Draft to) {
  uint8_t bits = 0;
  for (int d = static_cast<int>(from); d <= static_cast<int>(to); ++d) bits |= 1 << d;
  return bits | (1 << static_cast<int>(Draft::kUnspecified));
}
constexpr uint8_t kAllDrafts = Drafts(Draft::k3, Draft::k2020);
constexpr uint8_t kFrom4 = Drafts(Draft::k4, Draft::k2020);
constexpr uint8_t kFrom6 = Drafts(Draft::k6, Draft::k2020);
constexpr uint8_t kFrom7 = Drafts(Draft::k7, Draft::k2020);
constexpr uint8_t kFrom2019 = Drafts(Draft::k2019, Draft::k2020);
constexpr uint8_t kOnly2020 = Drafts(Draft::k2020, Draft::k2020);
constexpr uint8_t kOnly3 = Drafts(Draft::k3, Draft::k3);

struct KeywordInfo {
  std::string_view name;
  Shape shape;
  uint8_t drafts;
};

// In the order of Keyword.
constexpr std::array<KeywordInfo, kKeywordCount> kKeywords = {{
    {"type", Shape::kType, kAllDrafts},
    {"enum", Shape::kList, kAllDrafts},
    {"const", Shape::kAny, kFrom6},
    {"minimum", Shape::kNumber, kAllDrafts},
    {"maximum", Shape::kNumber, kAllDrafts},
    {"exclusiveMinimum", Shape::kNumberOrBool, kAllDrafts},
    {"exclusiveMaximum", Shape::kNumberOrBool, kAllDrafts},
    {"multipleOf", Shape::kPositive, kFrom4},
    {"minLength", Shape::kCount, kAllDrafts},
    {"maxLength", Shape::kCount, kAllDrafts},
    {"pattern", Shape::kString, kAllDrafts},
    {"format", Shape::kAny, kAllDrafts},
    {"prefixItems", Shape::kTuple, kOnly2020},
    {"items", Shape::kSchemaOrTuple, kAllDrafts},
    {"additionalItems", Shape::kSchema, Drafts(Draft::k3, Draft::k2019)},
    {"minItems", Shape::kCount, kAllDrafts},
    {"maxItems", Shape::kCount, kAllDrafts},
    {"uniqueItems", Shape::kBoolean, kAllDrafts},
    {"contains", Shape::kSchema, kFrom6},
    {"minContains", Shape::kCount, kFrom2019},
    {"maxContains", Shape::kCount, kFrom2019},
    {"properties", Shape::kSchemaMap, kAllDrafts},
    {"patternProperties", Shape::kSchemaMap, kAllDrafts},
    {"additionalProperties", Shape::kSchema, kAllDrafts},
    {"propertyNames", Shape::kSchema, kFrom6},
    {"required", Shape::kNames, kAllDrafts},
    {"minProperties", Shape::kCount, kFrom4},
    {"maxProperties", Shape::kCount, kFrom4},
    {"dependentRequired", Shape::kNameMap, kFrom2019},
    {"dependentSchemas", Shape::kSchemaMap, kFrom2019},
    {"dependencies", Shape::kDependencies, Drafts(Draft::k3, Draft::k7)},
    {"$ref", Shape::kString, kAllDrafts},
    {"$dynamicRef", Shape::kString, kOnly2020},
    {"$recursiveRef", Shape::kString, Drafts(Draft::k2019, Draft::k2019)},
    {"allOf", Shape::kSchemaList, kFrom4},
    {"anyOf", Shape::kSchemaList, kFrom4},
    {"oneOf", Shape::kSchemaList, kFrom4},
    {"not", Shape::kSchema, kFrom4},
    {"if", Shape::kSchema, kFrom7},
    {"then", Shape::kSchema, kFrom7},
    {"else", Shape::kSchema, kFrom7},
    {"unevaluatedItems", Shape::kSchema, kFrom2019},
    {"unevaluatedProperties", Shape::kSchema, kFrom2019},
    {"disallow", Shape::kAny, kOnly3},
    {"divisibleBy", Shape::kAny, kOnly3},
    {"extends", Shape::kAny, kOnly3},
}};

// Where a keyword is looked for first, by its length and its ends.
constexpr size_t kKeywordSlots = 256;
constexpr size_t KeywordSlot(std::string_view name) {
  const auto first = static_cast<unsigned char>(name.front());
  const auto last = static_cast<unsigned char>(name.back());
  return (name.size() + first * size_t{25} + last * size_t{11}) % kKeywordSlots;
}

// Keywords by slot, plus one: open addressing, laid out by the compiler.
constexpr std::array<uint8_t, kKeywordSlots> kKeywordTable = [] {
  std::array<uint8_t, kKeywordSlots> table{};
  for (size_t i = 0; i < kKeywordCount; ++i) {
    size_t slot = KeywordSlot(kKeywords[i].name);
    while (table[slot] != 0) slot = (slot + 1) % kKeywordSlots;
    table[slot] = static_cast<uint8_t>(i + 1);
  }
  return table;
}();

std::optional<Keyword> FindKeyword(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (size_t slot = KeywordSlot(name); kKeywordTable[slot] != 0;
       slot = (slot + 1) % kKeywordSlots) {
    const size_t i = kKeywordTable[slot] - size_t{1};
    if (kKeywords[i].name == name) return static_cast<Keyword>(i);
  }
  return std::nullopt;
}

std::string_view KindName(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kFalse:
    case JsonKind::kTrue:
      return "a boolean";
    case JsonKind::kNumber:
      return "a number";
    case JsonKind::kString:
      return "a string";
    case JsonKind::kArray:
      return "an array";
    case JsonKind::kObject:
      return "an object";
  }
  return "";
}

std::optional<uint8_t> TypeNamed(std::string_view name) {
  if (name == "null") return kTypeNull;
  if (name == "boolean") return kTypeBoolean;
  if (name == "integer") return kTypeInteger;
  if (name == "number") return kTypeInteger | kTypeNumber;
  if (name == "string") return kTypeString;
  if (name == "array") return kTypeArray;
  if (name == "object") return kTypeObject;
  return std::nullopt;
}

bool IsSchemaNode(const JsonDocument& d, JsonId id) { return d.IsObject(id) || d.IsBool(id); }

// What `value` should be, when it is not of `shape`; "" when it is.
std::string_view ShapeError(const JsonDocument& d, Shape shape, JsonId value) {
  auto all = [&](auto&& list, auto&& test) {
    for (const auto& element : list) {
      if (!test(element)) return false;
    }
    return true;
  };
  auto schema = [&](JsonId id) { return IsSchemaNode(d, id); };
  auto member_schema = [&](const JsonMember& m) { return IsSchemaNode(d, m.value); };
  auto string = [&](JsonId id) { return d.IsString(id); };
  auto names = [&](JsonId id) { return d.IsArray(id) && all(d.elements(id), string); };
  switch (shape) {
    case Shape::kSchema:
      return schema(value) ? "" : "must be a schema: an object, true or false";
    case Shape::kSchemaOrTuple:
      if (schema(value)) return "";
      [[fallthrough]];
    case Shape::kTuple:
      return d.IsArray(value) && all(d.elements(value), schema) ? "" : "must hold schemas";
    case Shape::kSchemaList:
      return d.IsArray(value) && !d.elements(value).empty() && all(d.elements(value), schema)
                 ? ""
                 : "must be an array of at least one schema";
    case Shape::kSchemaMap:
      return d.IsObject(value) && all(d.members(value), member_schema)
                 ? ""
                 : "must be an object whose values are schemas";
    case Shape::kNumber:
      return d.IsNumber(value) ? "" : "must be a number";
    case Shape::kNumberOrBool:
      return d.IsNumber(value) || d.IsBool(value) ? "" : "must be a number";
    case Shape::kPositive:
      return d.IsNumber(value) && d.text(value)[0] != '-' ? "" : "must be a number greater than 0";
    case Shape::kCount:
      return d.IsNumber(value) && d.text(value)[0] != '-' ? "" : "must be a whole number from 0 up";
    case Shape::kString:
      return d.IsString(value) ? "" : "must be a string";
    case Shape::kNames:
      return names(value) ? "" : "must be an array of strings";
    case Shape::kNameMap:
      return d.IsObject(value) &&
                     all(d.members(value), [&](const JsonMember& m) { return names(m.value); })
                 ? ""
                 : "must be an object whose values are arrays of strings";
    case Shape::kDependencies:
      return d.IsObject(value) && all(d.members(value),
                                      [&](const JsonMember& m) {
                                        return schema(m.value) || names(m.value) ||
                                               d.IsString(m.value);
                                      })
                 ? ""
                 : "must be an object whose values are schemas or arrays of strings";
    case Shape::kBoolean:
      return d.IsBool(value) ? "" : "must be true or false";
    case Shape::kList:
      return d.IsArray(value) ? "" : "must be an array";
    case Shape::kType:
    case Shape::kAny:
      return "";
  }
  return "";
}

}  // namespace

std::optional<Draft> DraftNamed(std::string_view uri) {
  auto names = [&](std::string_view part) { return uri.find(part) != std::string_view::npos; };
  if (!names("json-schema.org/")) return std::nullopt;
  if (names("draft-03")) return Draft::k3;
  if (names("draft-04")) return Draft::k4;
  if (names("draft-06")) return Draft::k6;
  if (names("draft-07")) return Draft::k7;
  if (names("2019-09")) return Draft::k2019;
  if (names("2020-12")) return Draft::k2020;
  return std::nullopt;
}

std::string_view KeywordName(Keyword keyword) {
  return kKeywords[static_cast<size_t>(keyword)].name;
}

SchemaTree::SchemaTree(JsonDocument* document, const Limits& limits,
                       const std::map<std::string, std::string>* registry)
    : document_(*document), limits_(limits) {
  AddDocument(document->root(), "", Draft::kUnspecified);
  registry_.emplace(registry, resources_[0].uri);
}

bool SchemaTree::has_unevaluated() {
  if (!has_unevaluated_) {
    bool has = registry_->MayContain("\"unevaluated");
    for (uint32_t text = 0; text < document_.text_count(); ++text) {
      has = has || document_.has_unevaluated(text);
    }
    has_unevaluated_ = has;
  }
  return *has_unevaluated_;
}

Status SchemaTree::Error(StatusCode code, JsonId schema, Keyword keyword,
                         std::string_view what) const {
  std::string message = document_.Pointer(schema);
  if (keyword != Keyword::kCount) message.append("/").append(KeywordName(keyword));
  return Status(code, message.append(": ").append(what));
}

Status SchemaTree::ReadType(Schema* schema, JsonId value) const {
  auto one = [&](JsonId id) -> Status {
    std::optional<uint8_t> bits;
    if (document_.IsString(id)) bits = TypeNamed(document_.text(id));
    if (!bits) {
      return Error(StatusCode::kInvalidArgument, schema->node, Keyword::kType,
                   document_.Excerpt(id) +
                       " is not a type; the types are null, boolean, integer, number, string, "
                       "array and object");
    }
    schema->types |= *bits;
    return {};
  };
  schema->types = 0;
  if (!document_.IsArray(value)) return one(value);
  for (JsonId element : document_.elements(value)) GM_RETURN_IF_ERROR(one(element));
  return {};
}

Status SchemaTree::CheckShape(const Schema& schema, Keyword keyword, JsonId value) const {
  std::string_view should =
      ShapeError(document_, kKeywords[static_cast<size_t>(keyword)].shape, value);
  if (should.empty()) return {};
  std::string_view more;
  if (keyword == Keyword::kRequired && document_.IsBool(value)) {
    more =
        " (as a boolean the keyword is of draft 3; list the name in the \"required\" of the "
        "object)";
  }
  return Error(StatusCode::kInvalidArgument, schema.node, keyword,
               std::string(should) + ", not " + document_.Excerpt(value) + std::string(more));
}

StatusOr<const Schema*> SchemaTree::Read(JsonId node) {
  if (node.value >= schema_of_node_.size()) schema_of_node_.resize(document_.size());
  uint32_t& slot = schema_of_node_[node.value];
  if (slot != 0) return static_cast<const Schema*>(&schemas_[slot - 1]);
  Schema schema;
  schema.node = node;
  const Draft draft = this->draft(node);
  has_strict_integers_ |= draft <= Draft::k4;
  if (document_.IsBool(node)) {
    schema.boolean = document_.kind(node) == JsonKind::kTrue;
  } else if (!document_.IsObject(node)) {
    return Error(
        StatusCode::kInvalidArgument, node, Keyword::kCount,
        "a schema is an object, true or false, not " + std::string(KindName(document_.kind(node))));
  } else {
    for (const JsonMember& m : document_.members(node)) {
      std::optional<Keyword> keyword = FindKeyword(m.key);
      if (!keyword) continue;
      const KeywordInfo& info = kKeywords[static_cast<size_t>(*keyword)];
      if (!(info.drafts >> static_cast<int>(draft) & 1)) continue;
      if (info.drafts == kOnly3 && !admit_draft3_) {
        return Error(StatusCode::kUnsupported, node, *keyword,
                     "this keyword of draft 3 is not supported; rewrite the schema in a later "
                     "draft, or declare a later draft in \"$schema\" to have it ignored");
      }
      GM_RETURN_IF_ERROR(CheckShape(schema, *keyword, m.value));
      if (*keyword == Keyword::kType) GM_RETURN_IF_ERROR(ReadType(&schema, m.value));
      schema.present |= uint64_t{1} << static_cast<int>(*keyword);
      schema.values[static_cast<size_t>(*keyword)] = m.value;
    }
    // Before 2019-09 a reference stands alone.
    if (draft <= Draft::k7 && schema.Has(Keyword::kRef)) {
      schema.present = uint64_t{1} << static_cast<int>(Keyword::kRef);
      schema.types = kTypeAll;
    }
  }
  Schema& kept = schemas_.Append();
  kept = schema;
  slot = static_cast<uint32_t>(schemas_.size());
  return static_cast<const Schema*>(&kept);
}

std::string SchemaTree::ToString() const {
  std::string out;
  for (size_t i = 0; i < schemas_.size(); ++i) {
    const Schema& schema = schemas_[i];
    out += document_.Pointer(schema.node) + ":";
    if (schema.boolean) out += *schema.boolean ? " true" : " false";
    for (uint64_t rest = schema.present; rest != 0; rest &= rest - 1) {
      Keyword k = static_cast<Keyword>(std::countr_zero(rest));
      out.append(" ").append(KeywordName(k)).append("=");
      out += document_.Excerpt(schema.values[static_cast<size_t>(k)], 40);
    }
    out += "\n";
  }
  return out;
}

}  // namespace grammask::internal
