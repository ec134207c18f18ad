// The first step: a JSON document to schemas, each a table of its keywords, with references found.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_SCHEMA_TREE_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_SCHEMA_TREE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "grammar/json_schema/json_document.h"
#include "grammask/limits.h"

namespace grammask::internal {

// Every keyword that constrains a value, in the order in which the next step applies them.
enum class Keyword : uint8_t {
  kType,
  kEnum,
  kConst,
  kMinimum,
  kMaximum,
  kExclusiveMinimum,
  kExclusiveMaximum,
  kMultipleOf,
  kMinLength,
  kMaxLength,
  kPattern,
  kFormat,
  kPrefixItems,
  kItems,
  kAdditionalItems,
  kMinItems,
  kMaxItems,
  kUniqueItems,
  kContains,
  kMinContains,
  kMaxContains,
  kProperties,
  kPatternProperties,
  kAdditionalProperties,
  kPropertyNames,
  kRequired,
  kMinProperties,
  kMaxProperties,
  kDependentRequired,
  kDependentSchemas,
  kDependencies,
  kRef,
  kDynamicRef,
  kRecursiveRef,
  kAllOf,
  kAnyOf,
  kOneOf,
  kNot,
  kIf,
  kThen,
  kElse,
  kUnevaluatedItems,
  kUnevaluatedProperties,
  kDisallow,
  kDivisibleBy,
  kExtends,
  kCount,
};
inline constexpr size_t kKeywordCount = static_cast<size_t>(Keyword::kCount);

std::string_view KeywordName(Keyword keyword);

// The types that `type` names, as bits. An integer is a number too.
enum TypeBit : uint8_t {
  kTypeNull = 1,
  kTypeBoolean = 2,
  kTypeInteger = 4,
  kTypeNumber = 8,
  kTypeString = 16,
  kTypeArray = 32,
  kTypeObject = 64,
  kTypeAll = 127,
};

// One schema: its keywords, already checked for shape (`minLength` holds a whole number, `items` a
// schema...). Keywords that the document's draft does not know are not here.
struct Schema {
  JsonId node;
  std::optional<bool> boolean;  // the schemas true and false
  uint8_t types = kTypeAll;
  uint64_t present = 0;  // bit per Keyword
  std::array<JsonId, kKeywordCount> values;

  bool Has(Keyword k) const { return (present >> static_cast<int>(k)) & 1; }
  std::optional<JsonId> Get(Keyword k) const {
    if (!Has(k)) return std::nullopt;
    return values[static_cast<size_t>(k)];
  }
};

enum class Draft : uint8_t { k4, k6, k7, k2019, k2020, kUnspecified };

// The schemas of one document, read when asked for. Not thread-safe.
class SchemaTree {
 public:
  // `document` must outlive the tree.
  SchemaTree(const JsonDocument* document, const Limits& limits);

  const JsonDocument& document() const { return document_; }
  // By `$schema` of the root. Unspecified: 2020-12, with the keywords of older drafts understood.
  Draft draft() const { return draft_; }

  // The schema at `node`; the pointer stays valid. kInvalidArgument when it is not a schema,
  // kUnsupported for keywords of draft 3.
  StatusOr<const Schema*> Read(JsonId node);
  // What the reference of `schema` (`$ref`, `$dynamicRef` or `$recursiveRef`) names.
  StatusOr<JsonId> Resolve(const Schema& schema, Keyword keyword);
  // Whether two equal subtrees mean the same: not where identifiers inside change what references
  // mean.
  bool meaning_is_local() const { return !has_ids_; }

  // Whether unevaluatedProperties or unevaluatedItems may occur.
  bool has_unevaluated() const { return has_unevaluated_; }

  // "<code>: #/pointer/keyword: what". `keyword` may be kCount for the schema itself.
  Status Error(StatusCode code, JsonId schema, Keyword keyword, std::string_view what) const;

  // Every schema read so far, one line each: pointer, keywords and their values.
  std::string ToString() const;

 private:
  Status CheckShape(const Schema& schema, Keyword keyword, JsonId value) const;
  Status ReadType(Schema* schema, JsonId value) const;
  void FindIdentifiers();
  std::optional<std::string> NoteIdentifiers(JsonId node, const std::string& base);
  std::optional<std::string_view> IdOf(JsonId node) const;
  std::string BaseUri(JsonId node) const;
  std::optional<JsonId> FollowPointer(JsonId from, std::string_view pointer) const;
  StatusOr<JsonId> ResolveUriReference(const Schema& schema, Keyword keyword, JsonId value);

  const JsonDocument& document_;
  const Limits& limits_;
  Draft draft_;
  bool has_ids_ = false;
  bool has_unevaluated_ = false;
  bool indexed_ = false;
  std::deque<Schema> schemas_;
  std::vector<uint32_t> schema_of_node_;  // 1 + index into schemas_, or 0
  // By absolute URI without fragment, and by that and an anchor ("uri#anchor").
  absl::flat_hash_map<std::string, JsonId> resources_;
  absl::flat_hash_map<std::string, JsonId> anchors_;
  absl::flat_hash_map<std::string, int> dynamic_anchors_;  // how many of each name
  bool recursive_anchor_ = false;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_SCHEMA_TREE_H_
