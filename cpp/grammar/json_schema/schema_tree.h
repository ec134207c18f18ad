// The first step: a JSON document to schemas, each a table of its keywords, with references found.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_SCHEMA_TREE_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_SCHEMA_TREE_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/arena.h"
#include "base/hash_slots.h"
#include "base/status.h"
#include "grammar/json_schema/dynamic_scope.h"
#include "grammar/json_schema/json_document.h"
#include "grammar/json_schema/schema_registry.h"
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

enum class Draft : uint8_t { k3, k4, k6, k7, k2019, k2020, kUnspecified };

// The schemas of a document and of those that it refers to, read when asked for. Not thread-safe.
class SchemaTree {
 public:
  // `document` and `registry` (URI to JSON text) must outlive the tree. What references name in the
  // registry, or in the standard's meta-schemas, is added to the document.
  SchemaTree(JsonDocument* document, const Limits& limits,
             const std::map<std::string, std::string>* registry = nullptr);

  const JsonDocument& document() const { return document_; }
  // Leaves keywords of draft 3 to the reader of a schema, instead of an error.
  void AdmitDraft3() { admit_draft3_ = true; }
  // The draft of the schema at `node`.
  Draft draft(JsonId node) const { return resources_[ResourceOf(node)].draft; }
  // Whether a schema under draft 4 or older was read: to these, 1.0 is no integer.
  bool has_strict_integers() const { return has_strict_integers_; }

  // The schema at `node`; the pointer stays valid. kInvalidArgument when it is not a schema,
  // kUnsupported for keywords of draft 3.
  StatusOr<const Schema*> Read(JsonId node);
  // What the reference of `schema` (`$ref`, `$dynamicRef` or `$recursiveRef`) names, in the scope
  // that holds inside `schema`.
  StatusOr<JsonId> Resolve(const Schema& schema, Keyword keyword, ScopeId scope);
  // Whether a reference was followed: without any, no schema is part of itself.
  bool has_references() const { return has_references_; }
  // The scope inside the schema at `node`, which is applied from within `scope`.
  ScopeId Enter(ScopeId scope, JsonId node);
  // Whether subtrees of the text of `node` that are equal mean the same: not where identifiers
  // inside change what references mean.
  bool meaning_is_local(JsonId node) const {
    return !documents_[document_.text_of(node)].embeds_resources;
  }

  // Whether unevaluatedProperties or unevaluatedItems may occur, here or in the registry.
  bool has_unevaluated();

  // "<code>: #/pointer/keyword: what". `keyword` may be kCount for the schema itself.
  [[gnu::cold]] Status Error(StatusCode code, JsonId schema, Keyword keyword,
                             std::string_view what) const;

  // Every schema read so far, one line each: pointer, keywords and their values.
  std::string ToString() const;

 private:
  Status CheckShape(const Schema& schema, Keyword keyword, JsonId value) const;
  Status ReadType(Schema* schema, JsonId value) const;

  // A schema with a base URI of its own: the root of a document, or a schema with an `$id`.
  struct Resource {
    JsonId root;
    std::string uri;  // absolute where the document says so; no fragment
    Draft draft;
    std::vector<DynamicScopes::Binding> dynamic_anchors;
  };
  // One text of the document.
  struct Document {
    uint32_t resource;  // of its root
    bool embeds_resources = false;
  };
  struct AnchorName {
    std::string text;
    int count = 0;          // resources that have it
    bool ambiguous = true;  // as far as known
  };
  // schema_tree_ids.cc: documents and the identifiers in them.
  void AddDocument(JsonId root, std::string uri, Draft inherited);
  void FindIdentifiers(uint32_t text);
  uint32_t NoteIdentifiers(JsonId node, uint32_t resource);
  void NoteDynamicAnchor(std::string_view name, JsonId node, uint32_t resource);
  uint32_t ResourceOf(JsonId node) const;
  bool IsAmbiguous(AnchorNameId name);
  Status Load(SchemaRegistry::Entry* entry);
  StatusOr<std::optional<JsonId>> FindUri(const std::string& uri);
  // schema_tree_refs.cc
  std::optional<JsonId> FollowPointer(JsonId from, std::string_view pointer) const;
  StatusOr<JsonId> ResolveUriReference(const Schema& schema, Keyword keyword, JsonId value);
  StatusOr<JsonId> ResolveFrom(uint32_t resource, const Schema& schema, Keyword keyword,
                               JsonId value);
  // The same, not known from before.
  StatusOr<JsonId> FollowFrom(uint32_t resource, const Schema& schema, Keyword keyword,
                              JsonId value);
  std::string DocumentName(JsonId node) const;  // for messages
  // Whether the reference at `value`, which names `target`, is one to a dynamic anchor.
  std::optional<AnchorNameId> DynamicName(Keyword keyword, JsonId value, JsonId target) const;

  JsonDocument& document_;
  const Limits& limits_;
  StableVector<Schema, 4> schemas_;
  std::vector<uint32_t> schema_of_node_;  // 1 + index into schemas_, or 0
  std::vector<Document> documents_;       // by text
  std::vector<Resource> resources_;
  absl::flat_hash_map<JsonId, uint32_t> resource_of_root_;  // of embedded resources
  // What pointers within a resource were found to name.
  struct Followed {
    uint32_t resource;
    JsonId target;
    std::string_view reference;
  };
  std::vector<Followed> followed_;
  HashSlots followed_ids_{16};
  // Schemas by absolute URI without fragment, and by resource and anchor.
  absl::flat_hash_map<std::string, JsonId> uris_;
  absl::flat_hash_map<std::pair<uint32_t, std::string>, JsonId> anchors_;
  std::vector<AnchorName> anchor_names_;  // of dynamic anchors; none: they need no scopes
  absl::flat_hash_map<std::string, AnchorNameId> anchor_name_ids_;
  absl::flat_hash_map<std::pair<ScopeId, uint32_t>, ScopeId> entered_;  // by scope and resource
  DynamicScopes scopes_;
  std::optional<SchemaRegistry> registry_;
  bool has_strict_integers_ = false;
  bool has_references_ = false;
  std::optional<bool> has_unevaluated_;
  bool admit_draft3_ = false;
};

// The draft that a `$schema` names; nullopt for other meta-schemas.
std::optional<Draft> DraftNamed(std::string_view uri);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_SCHEMA_TREE_H_
