// Documents to the resources and anchors in them.
//
// A text that holds an identifier is walked once, keywords that hold schemas before members that no
// draft defines: each `$id` begins a resource with a base URI of its own, and each anchor belongs
// to the resource around it. {"$id":"http://e.x/a","$defs":{"b":{"$id":"c","$anchor":"d"}}} has the
// resources http://e.x/a and http://e.x/c, the second with the anchor d. Texts without identifiers
// are one resource and are not walked. Other documents come in when a reference names them. Linear
// in the text.
//
// Source: the core specifications of drafts 4 to 2020-12. Tests: tests/grammar/schema_refs_test.cc.
#include "grammar/json_schema/schema_tree.h"
#include "grammar/json_schema/uri.h"

namespace grammask::internal {
namespace {

// The name under which `$recursiveAnchor` is kept: no `$dynamicAnchor` has it.
constexpr std::string_view kRecursiveName = "#";

// What the members of an object are.
enum class Place : uint8_t { kSchema, kSchemaMap, kUnknown };

std::optional<Place> PlaceUnder(std::string_view key) {
  static const auto& table = *new absl::flat_hash_map<std::string_view, Place>{
      {"properties", Place::kSchemaMap},
      {"patternProperties", Place::kSchemaMap},
      {"$defs", Place::kSchemaMap},
      {"definitions", Place::kSchemaMap},
      {"dependentSchemas", Place::kSchemaMap},
      {"dependencies", Place::kSchemaMap},
      {"items", Place::kSchema},
      {"prefixItems", Place::kSchema},
      {"additionalItems", Place::kSchema},
      {"unevaluatedItems", Place::kSchema},
      {"contains", Place::kSchema},
      {"additionalProperties", Place::kSchema},
      {"unevaluatedProperties", Place::kSchema},
      {"propertyNames", Place::kSchema},
      {"allOf", Place::kSchema},
      {"anyOf", Place::kSchema},
      {"oneOf", Place::kSchema},
      {"not", Place::kSchema},
      {"if", Place::kSchema},
      {"then", Place::kSchema},
      {"else", Place::kSchema},
      {"contentSchema", Place::kSchema},
  };
  // Values, not schemas.
  if (key == "enum" || key == "const" || key == "default" || key == "examples" ||
      key == "example") {
    return std::nullopt;
  }
  auto it = table.find(key);
  return it == table.end() ? Place::kUnknown : it->second;
}

}  // namespace

void SchemaTree::AddDocument(JsonId root, std::string uri, Draft inherited) {
  const uint32_t text = document_.text_of(root);
  documents_.resize(document_.text_count());
  documents_[text].resource = static_cast<uint32_t>(resources_.size());
  Draft draft = inherited;
  if (std::optional<JsonId> schema = document_.Find(root, "$schema")) {
    if (document_.IsString(*schema)) draft = DraftNamed(document_.text(*schema)).value_or(draft);
  }
  resources_.push_back({root, std::move(uri), draft, {}});
  // Most documents have no identifiers, or only that of the root: nothing to walk.
  if (document_.has_identifiers(text)) {
    FindIdentifiers(text);
  } else if (document_.has_root_identifiers(text)) {
    NoteIdentifiers(root, documents_[text].resource);
  }
}

// The resource that the schema at `node` belongs to.
uint32_t SchemaTree::ResourceOf(JsonId node) const {
  const Document& document = documents_[document_.text_of(node)];
  if (!document.embeds_resources) return document.resource;
  for (JsonId at = node;; at = document_.parent(at)) {
    auto it = resource_of_root_.find(at);
    if (it != resource_of_root_.end()) return it->second;
    if (at == document_.parent(at)) return document.resource;
  }
}

void SchemaTree::NoteDynamicAnchor(std::string_view name, JsonId node, uint32_t resource) {
  auto [it, fresh] = anchor_name_ids_.try_emplace(
      std::string(name), AnchorNameId(static_cast<uint32_t>(anchor_names_.size())));
  if (fresh) anchor_names_.push_back({std::string(name)});
  for (const DynamicScopes::Binding& b : resources_[resource].dynamic_anchors) {
    if (b.name == it->second) return;
  }
  ++anchor_names_[it->second.value].count;
  resources_[resource].dynamic_anchors.push_back({it->second, node});
}

// Notes what the schema at `node`, inside `resource`, calls itself; returns its own resource.
uint32_t SchemaTree::NoteIdentifiers(JsonId node, uint32_t resource) {
  auto string = [&](std::string_view key) -> std::optional<std::string_view> {
    std::optional<JsonId> value = document_.Find(node, key);
    if (!value || !document_.IsString(*value)) return std::nullopt;
    return document_.text(*value);
  };
  const bool is_root = document_.parent(node) == node;
  Draft draft = resources_[resource].draft;
  if (!is_root) {
    // A resource inside another may be of another draft.
    if (auto schema = string("$schema")) draft = DraftNamed(*schema).value_or(draft);
  }
  std::optional<std::string_view> id = string(draft <= Draft::k4 ? "id" : "$id");
  bool moves_base = id.has_value();
  // Where no draft is declared, draft 4's `id` names a schema but does not move the base, so that
  // pointers mean what they mean to readers of any draft.
  if (!id && draft == Draft::kUnspecified) id = string("id");
  // Before 2019-09 a reference hides what is beside it.
  if (draft <= Draft::k7 && document_.Find(node, "$ref")) id.reset();
  if (id) {
    auto [uri, fragment] = SplitFragment(*id);
    std::string own = ResolveUri(resources_[resource].uri, uri);
    bool moves = own != resources_[resource].uri;
    if (fragment.empty()) uris_.try_emplace(own, node);
    if (moves_base && is_root) {
      resources_[resource].uri = std::move(own);
    } else if (moves_base && moves) {
      documents_[document_.text_of(node)].embeds_resources = true;
      resource = static_cast<uint32_t>(resources_.size());
      resource_of_root_.try_emplace(node, resource);
      resources_.push_back({node, std::move(own), draft, {}});
    }
    // Before `$anchor`, an `$id` that is a fragment was one.
    if (!fragment.empty() && (moves_base || !moves)) {
      anchors_.try_emplace({resource, std::string(fragment)}, node);
    }
  }
  if (draft >= Draft::k2019) {
    if (auto anchor = string("$anchor")) {
      anchors_.try_emplace({resource, std::string(*anchor)}, node);
    }
  }
  if (draft >= Draft::k2020) {
    auto anchor = string("$dynamicAnchor");
    if (anchor && *anchor != kRecursiveName) {
      anchors_.try_emplace({resource, std::string(*anchor)}, node);
      NoteDynamicAnchor(*anchor, node, resource);
    }
  }
  if ((draft == Draft::k2019 || draft == Draft::kUnspecified) &&
      resources_[resource].root == node) {
    std::optional<JsonId> anchor = document_.Find(node, "$recursiveAnchor");
    if (anchor && document_.kind(*anchor) == JsonKind::kTrue) {
      NoteDynamicAnchor(kRecursiveName, node, resource);
    }
  }
  return resource;
}

void SchemaTree::FindIdentifiers(uint32_t text) {
  struct Item {
    JsonId node;
    uint32_t resource;
    Place place;
  };
  const uint32_t root = documents_[text].resource;
  std::vector<Item> stack = {{resources_[root].root, root, Place::kSchema}};
  std::vector<Item> unknown;  // in members that no draft defines; what schemas say comes first
  while (!stack.empty() || !unknown.empty()) {
    std::vector<Item>& from = stack.empty() ? unknown : stack;
    Item item = from.back();
    from.pop_back();
    if (document_.IsArray(item.node)) {
      for (JsonId e : document_.elements(item.node)) {
        stack.push_back({e, item.resource, Place::kSchema});
      }
      continue;
    }
    if (!document_.IsObject(item.node)) continue;
    if (item.place == Place::kSchemaMap) {
      for (const JsonMember& m : document_.members(item.node)) {
        stack.push_back({m.value, item.resource, Place::kSchema});
      }
      continue;
    }
    item.resource = NoteIdentifiers(item.node, item.resource);
    for (const JsonMember& m : document_.members(item.node)) {
      if (document_.kind(m.value) < JsonKind::kArray) continue;
      std::optional<Place> place = PlaceUnder(m.key);
      if (!place) continue;
      (*place == Place::kUnknown ? unknown : stack).push_back({m.value, item.resource, *place});
    }
  }
}

// Reads a document of the registry; after an error, the same error again.
Status SchemaTree::Load(SchemaRegistry::Entry* entry) {
  if (entry->taken) return entry->error;
  entry->taken = true;
  StatusOr<JsonId> root = document_.Append(entry->text, entry->name, limits_);
  if (!root.ok()) {
    documents_.resize(document_.text_count());
    entry->error = Status(root.status().code(), entry->name + ": " + root.status().message());
    return entry->error;
  }
  uris_.try_emplace(entry->uri, *root);
  AddDocument(*root, entry->uri, resources_[0].draft);
  return {};
}

// The schema that an absolute URI without fragment names, in this document or in another.
StatusOr<std::optional<JsonId>> SchemaTree::FindUri(const std::string& uri) {
  auto known = [&]() -> std::optional<JsonId> {
    auto it = uris_.find(uri);
    if (it == uris_.end()) return std::nullopt;
    return it->second;
  };
  if (std::optional<JsonId> found = known()) return found;
  if (SchemaRegistry::Entry* entry = registry_->Find(uri)) {
    GM_RETURN_IF_ERROR(Load(entry));
    return known();
  }
  // A document, or a schema inside one, may call itself so. One that cannot be read does not.
  for (SchemaRegistry::Entry* entry : registry_->Unread()) {
    Status status = Load(entry);
    if (status.code() == StatusCode::kResourceExhausted) return status;
  }
  return known();
}

// Whether resources, read or not, differ in what they call so.
bool SchemaTree::IsAmbiguous(AnchorNameId id) {
  AnchorName& name = anchor_names_[id.value];
  if (!name.ambiguous || name.count > 1) return name.ambiguous;
  // The meta-schemas' own.
  if (name.text == kRecursiveName || name.text == "meta") return true;
  name.ambiguous = registry_->MayContain("\"" + name.text + "\"");
  return name.ambiguous;
}

ScopeId SchemaTree::Enter(ScopeId scope, JsonId node) {
  if (anchor_names_.empty()) return scope;
  const uint32_t resource = ResourceOf(node);
  if (resources_[resource].dynamic_anchors.empty()) return scope;
  auto [it, fresh] = entered_.try_emplace({scope, resource}, scope);
  if (fresh) {
    std::vector<DynamicScopes::Binding> anchors;
    for (const DynamicScopes::Binding& b : resources_[resource].dynamic_anchors) {
      if (IsAmbiguous(b.name)) anchors.push_back(b);
    }
    it->second = scopes_.Enter(scope, anchors);
  }
  return it->second;
}

std::optional<AnchorNameId> SchemaTree::DynamicName(Keyword keyword, JsonId value,
                                                    JsonId target) const {
  if (keyword == Keyword::kRef || anchor_names_.empty()) return std::nullopt;
  std::string_view name = keyword == Keyword::kRecursiveRef
                              ? kRecursiveName
                              : SplitFragment(document_.text(value)).second;
  auto it = anchor_name_ids_.find(std::string(name));
  if (it == anchor_name_ids_.end()) return std::nullopt;
  for (const DynamicScopes::Binding& b : resources_[ResourceOf(target)].dynamic_anchors) {
    if (b.name == it->second && b.schema == target) return b.name;
  }
  return std::nullopt;
}

}  // namespace grammask::internal
