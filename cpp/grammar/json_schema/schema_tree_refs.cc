// References to the schemas that they name.
//
// A reference is resolved against the base URI of its place, which the nearest `$id` around it
// sets, and names a resource of this document or of another (schema_tree_ids.cc). What remains is a
// JSON pointer, followed from the resource's root, or an anchor. A dynamic reference that has found
// a dynamic anchor means the one of that name in the outermost resource on the way instead.
// "#/$defs/a~1b" in a document without identifiers is a walk from the root: $defs, then "a/b".
// Linear in the pointer.
//
// Source: RFC 3986, RFC 6901, the core specifications of JSON Schema. Tests:
// tests/grammar/json_schema_test.cc, tests/grammar/schema_refs_test.cc.
#include <charconv>

#include "base/mix.h"
#include "base/utf8.h"
#include "grammar/json_schema/schema_tree.h"
#include "grammar/json_schema/uri.h"

namespace grammask::internal {

std::optional<JsonId> SchemaTree::FollowPointer(JsonId from, std::string_view pointer) const {
  JsonId at = from;
  std::string unescaped;
  while (!pointer.empty()) {
    if (pointer[0] != '/') return std::nullopt;
    pointer.remove_prefix(1);
    std::string_view part = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(part.size());
    std::string_view name = part;
    if (part.find('~') != std::string_view::npos) {
      unescaped.clear();
      for (size_t i = 0; i < part.size(); ++i) {
        if (part[i] == '~' && i + 1 < part.size() && (part[i + 1] == '0' || part[i + 1] == '1')) {
          unescaped += part[++i] == '0' ? '~' : '/';
        } else {
          unescaped += part[i];
        }
      }
      name = unescaped;
    }
    if (document_.IsArray(at)) {
      size_t index = 0;
      auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
      if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
      if (name.size() > 1 && name[0] == '0') return std::nullopt;
      if (index >= document_.elements(at).size()) return std::nullopt;
      at = document_.elements(at)[index];
    } else {
      std::optional<JsonId> next = document_.Find(at, name);
      if (!next) return std::nullopt;
      at = *next;
    }
  }
  return at;
}

StatusOr<JsonId> SchemaTree::ResolveUriReference(const Schema& schema, Keyword keyword,
                                                 JsonId value) {
  const uint32_t resource = ResourceOf(schema.node);
  StatusOr<JsonId> target = ResolveFrom(resource, schema, keyword, value);
  const bool own_base = keyword == Keyword::kRef && resource_of_root_.contains(schema.node);
  if (!own_base || resources_[resource].draft != Draft::kUnspecified) return target;
  // Before 2019-09 an `$id` beside `$ref` says nothing; which draft this is was not declared.
  StatusOr<JsonId> outside =
      ResolveFrom(ResourceOf(document_.parent(schema.node)), schema, keyword, value);
  if (!target.ok()) return outside.ok() ? outside : target;
  if (!outside.ok() || *outside == *target) return target;
  return Error(StatusCode::kInvalidArgument, schema.node, keyword,
               "what " + document_.Excerpt(value) +
                   " names with \"$id\" beside it depends on the draft; declare it in \"$schema\"");
}

// What the reference `value` of `schema` names, read inside `resource`.
StatusOr<JsonId> SchemaTree::ResolveFrom(uint32_t resource, const Schema& schema, Keyword keyword,
                                         JsonId value) {
  std::string_view reference = document_.text(value);
  if (!reference.starts_with("#/")) return FollowFrom(resource, schema, keyword, value);
  // A document names its definitions over and over.
  const auto hash = HashText(reference) + resource;
  size_t place = 0;
  const auto known = followed_ids_.Find(
      hash,
      [&](uint32_t i) {
        return followed_[i].resource == resource && followed_[i].reference == reference;
      },
      &place);
  if (known.has_value()) return followed_[*known].target;
  GM_ASSIGN_OR_RETURN(JsonId target, FollowFrom(resource, schema, keyword, value));
  followed_ids_.Put(place, hash, static_cast<uint32_t>(followed_.size()));
  followed_.push_back({resource, target, reference});
  return target;
}

StatusOr<JsonId> SchemaTree::FollowFrom(uint32_t resource, const Schema& schema, Keyword keyword,
                                        JsonId value) {
  std::string_view reference = document_.text(value);
  auto missing = [&](const std::string& what) {
    return Error(StatusCode::kInvalidArgument, schema.node, keyword,
                 document_.Excerpt(value) + " " + what);
  };
  auto [uri, fragment] = SplitFragment(reference);
  std::optional<std::string> decoded;
  if (fragment.find('%') != std::string_view::npos) {
    decoded = PercentDecode(fragment);
    if (!decoded || FindInvalidUtf8(*decoded)) {
      return missing("has a '%' that two hexadecimal digits of UTF-8 do not follow");
    }
    fragment = *decoded;
  }
  JsonId root = resources_[resource].root;
  if (!uri.empty()) {
    std::string absolute = ResolveUri(resources_[resource].uri, uri);
    StatusOr<std::optional<JsonId>> found = FindUri(absolute);
    if (!found.ok()) {
      return Error(found.status().code(), schema.node, keyword, found.status().message());
    }
    // Some documents write a resource's URI as its `$id` has it, relative as it may be.
    if (!*found) {
      if (auto it = uris_.find(std::string(uri)); it != uris_.end()) *found = it->second;
    }
    if (!*found) {
      return missing("names another document, which is not here; pass its text in `registry`" +
                     (absolute == uri ? "" : ", as \"" + absolute + "\""));
    }
    root = **found;
    resource = ResourceOf(root);
  }
  if (fragment.empty()) return root;
  if (fragment[0] == '/') {
    if (std::optional<JsonId> found = FollowPointer(root, fragment)) return *found;
    // Some documents count pointers from their root wherever an `id` stands on the way.
    const JsonId top = resources_[documents_[document_.text_of(root)].resource].root;
    if (std::optional<JsonId> found = FollowPointer(top, fragment)) return *found;
    return missing("points at nothing in " + DocumentName(root));
  }
  auto it = anchors_.find(std::pair(resource, std::string(fragment)));
  if (it != anchors_.end()) return it->second;
  return missing("names an anchor that " + DocumentName(root) + " does not have");
}

std::string SchemaTree::DocumentName(JsonId node) const {
  const std::string& name = document_.name(document_.text_of(node));
  return name.empty() ? "this document" : name;
}

StatusOr<JsonId> SchemaTree::Resolve(const Schema& schema, Keyword keyword, ScopeId scope) {
  has_references_ = true;
  JsonId value = *schema.Get(keyword);
  GM_ASSIGN_OR_RETURN(JsonId target, ResolveUriReference(schema, keyword, value));
  // What the outermost resource on the way calls so, where the name is a dynamic anchor.
  if (std::optional<AnchorNameId> name = DynamicName(keyword, value, target)) {
    if (std::optional<JsonId> outermost = scopes_.Find(scope, *name)) return *outermost;
  }
  return target;
}

}  // namespace grammask::internal
