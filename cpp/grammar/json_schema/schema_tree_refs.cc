// References to the schemas that they name.
//
// A reference is resolved against the base URI of its place, which the nearest `$id` around it
// sets; the document's own resources are indexed by their URIs and anchors once, when the text has
// any identifier at all. What remains is a JSON pointer, followed from the resource's root, or an
// anchor.
// "#/$defs/a~1b" in a document without identifiers is a walk from the root: $defs, then "a/b".
// Linear in the pointer.
//
// Source: RFC 3986, RFC 6901, the core specifications of JSON Schema. Tests:
// tests/grammar/json_schema_test.cc.
#include <charconv>

#include "base/utf8.h"
#include "grammar/json_schema/schema_tree.h"
#include "grammar/json_schema/uri.h"

namespace grammask::internal {

// The identifier that `node` gives itself, where the draft sees one.
std::optional<std::string_view> SchemaTree::IdOf(JsonId node) const {
  if (!document_.IsObject(node)) return std::nullopt;
  std::optional<JsonId> id = document_.Find(node, draft_ == Draft::k4 ? "id" : "$id");
  if (!id || !document_.IsString(*id)) return std::nullopt;
  // Before 2019-09 a reference hides the identifier beside it.
  if (draft_ <= Draft::k7 && document_.Find(node, "$ref")) return std::nullopt;
  return document_.text(*id);
}

std::string SchemaTree::BaseUri(JsonId node) const {
  std::vector<std::string_view> ids;  // innermost first
  for (JsonId at = node;; at = document_.parent(at)) {
    if (std::optional<std::string_view> id = IdOf(at)) {
      std::string_view uri = SplitFragment(*id).first;
      if (!uri.empty()) ids.push_back(uri);
    }
    if (at == document_.root()) break;
  }
  std::string base;
  for (auto it = ids.rbegin(); it != ids.rend(); ++it) base = ResolveUri(base, *it);
  return base;
}

// Notes what `node` calls itself, below a base URI; returns the base URI inside it where it sets
// one.
std::optional<std::string> SchemaTree::NoteIdentifiers(JsonId node, const std::string& base) {
  std::optional<std::string> inside;
  std::optional<std::string_view> id = IdOf(node);
  bool moves_base = id.has_value();
  // Where no draft is declared, draft 4's `id` names a schema but does not move the base, so that
  // pointers mean what they mean to readers of any draft.
  if (!id && draft_ == Draft::kUnspecified) {
    std::optional<JsonId> old = document_.Find(node, "id");
    if (old && document_.IsString(*old)) id = document_.text(*old);
  }
  if (id) {
    auto [uri, fragment] = SplitFragment(*id);
    std::string own = ResolveUri(base, uri);
    if (node != document_.root()) has_ids_ = true;
    if (fragment.empty()) {
      resources_.try_emplace(own, node);
    } else {
      anchors_.try_emplace(own + "#" + std::string(fragment), node);
    }
    if (moves_base && own != base) inside = std::move(own);
  }
  for (std::string_view key : {"$anchor", "$dynamicAnchor"}) {
    std::optional<JsonId> anchor = document_.Find(node, key);
    if (!anchor || !document_.IsString(*anchor)) continue;
    has_ids_ = true;
    std::string name(document_.text(*anchor));
    if (key == "$dynamicAnchor") ++dynamic_anchors_[name];
    anchors_.try_emplace((inside ? *inside : base) + "#" + name, node);
  }
  if (std::optional<JsonId> r = document_.Find(node, "$recursiveAnchor")) {
    recursive_anchor_ |= document_.kind(*r) == JsonKind::kTrue;
  }
  return inside;
}

void SchemaTree::FindIdentifiers() {
  indexed_ = true;
  resources_[""] = document_.root();
  struct Place {
    JsonId node;
    size_t base;      // into `bases`
    bool maps_names;  // the value of `properties`: its keys are names, not keywords
  };
  std::vector<std::string> bases = {""};
  std::vector<Place> stack = {{document_.root(), 0, false}};
  while (!stack.empty()) {
    Place place = stack.back();
    stack.pop_back();
    if (document_.IsArray(place.node)) {
      for (JsonId e : document_.elements(place.node)) stack.push_back({e, place.base, false});
      continue;
    }
    if (!document_.IsObject(place.node)) continue;
    if (!place.maps_names) {
      if (auto inside = NoteIdentifiers(place.node, bases[place.base])) {
        place.base = bases.size();
        bases.push_back(*std::move(inside));
      }
    }
    for (const JsonMember& m : document_.members(place.node)) {
      bool instance = m.key == "enum" || m.key == "const" || m.key == "default" ||
                      m.key == "examples" || m.key == "example";
      if (instance && !place.maps_names) continue;
      bool maps_names =
          !place.maps_names &&
          (m.key == "properties" || m.key == "$defs" || m.key == "patternProperties" ||
           m.key == "definitions" || m.key == "dependentSchemas");
      stack.push_back({m.value, place.base, maps_names});
    }
  }
}

std::optional<JsonId> SchemaTree::FollowPointer(JsonId from, std::string_view pointer) const {
  JsonId at = from;
  std::string name;
  while (!pointer.empty()) {
    if (pointer[0] != '/') return std::nullopt;
    pointer.remove_prefix(1);
    std::string_view part = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(part.size());
    name.clear();
    for (size_t i = 0; i < part.size(); ++i) {
      if (part[i] == '~' && i + 1 < part.size() && (part[i + 1] == '0' || part[i + 1] == '1')) {
        name += part[++i] == '0' ? '~' : '/';
      } else {
        name += part[i];
      }
    }
    if (document_.IsArray(at)) {
      size_t index = 0;
      auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
      if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
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
  std::string_view reference = document_.text(value);
  auto missing = [&](std::string_view what) {
    return Error(StatusCode::kInvalidArgument, schema.node, keyword,
                 document_.Excerpt(value) + " " + std::string(what));
  };
  auto [uri, raw_fragment] = SplitFragment(reference);
  std::optional<std::string> fragment = PercentDecode(raw_fragment);
  if (!fragment || FindInvalidUtf8(*fragment)) {
    return missing("has a '%' that two hexadecimal digits of UTF-8 do not follow");
  }
  JsonId root = document_.root();
  std::string base;
  if (indexed_) {
    base = ResolveUri(BaseUri(schema.node), uri);
    auto it = resources_.find(base);
    // A reference within its own resource needs no identifier that is known by name.
    if (it == resources_.end() && !uri.empty()) it = resources_.find(std::string(uri));
    if (it != resources_.end()) {
      root = it->second;
    } else if (!uri.empty()) {
      return missing("names another document; put what it names under \"$defs\" of this one");
    }
  } else if (!uri.empty()) {
    return missing("names another document; put what it names under \"$defs\" of this one");
  }
  if (fragment->empty()) return root;
  if ((*fragment)[0] == '/') {
    if (std::optional<JsonId> found = FollowPointer(root, *fragment)) return *found;
    return missing("points at nothing in this document");
  }
  auto it = anchors_.find(base + "#" + *fragment);
  if (it != anchors_.end()) return it->second;
  return missing("names an anchor that this document does not have");
}

StatusOr<JsonId> SchemaTree::Resolve(const Schema& schema, Keyword keyword) {
  JsonId value = *schema.Get(keyword);
  if (keyword == Keyword::kRecursiveRef && recursive_anchor_) {
    return Error(StatusCode::kUnsupported, schema.node, keyword,
                 "what it refers to depends on the path that led here ($recursiveAnchor); "
                 "use $ref");
  }
  if (keyword == Keyword::kDynamicRef) {
    std::string name(SplitFragment(document_.text(value)).second);
    auto it = dynamic_anchors_.find(name);
    if (it != dynamic_anchors_.end() && it->second > 1) {
      return Error(StatusCode::kUnsupported, schema.node, keyword,
                   "what it refers to depends on the path that led here: several "
                   "$dynamicAnchor have its name; use $ref");
    }
  }
  return ResolveUriReference(schema, keyword, value);
}

}  // namespace grammask::internal
