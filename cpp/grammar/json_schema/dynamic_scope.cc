// Resources entered one after another to a map of what dynamic references mean.
//
// $dynamicRef goes to the outermost resource on the way that has its anchor, so all that matters of
// the way is, for each name, the first resource that had it: a sorted list, interned. From
// {item: a#} into a resource with the anchors item and node it is {item: a#, node: b#}. Linear in
// the two lists, and a hash lookup.
//
// Source: the core specification of 2020-12, sections 7.1 and 8.2.3.2; of 2019-09, section 8.2.4.2.
// Tests: tests/grammar/schema_refs_test.cc.
#include "grammar/json_schema/dynamic_scope.h"

#include <algorithm>

#include "base/scratch.h"

namespace grammask::internal {

DynamicScopes::DynamicScopes() {
  scopes_.emplace_back();
  ids_.try_emplace({}, kNoScope);
}

ScopeId DynamicScopes::Enter(ScopeId scope, std::span<const Binding> anchors) {
  ScratchVector<Binding> inside = scopes_[scope.value];
  size_t before = inside.size();
  for (const Binding& anchor : anchors) {
    if (!Find(scope, anchor.name)) inside.push_back(anchor);
  }
  if (inside.size() == before) return scope;
  std::sort(inside.begin(), inside.end());
  ScratchVector<uint32_t> key;
  key.reserve(inside.size() * 2);
  for (const Binding& b : inside) {
    key.push_back(b.name.value);
    key.push_back(b.schema.value);
  }
  auto [it, fresh] =
      ids_.try_emplace(std::move(key), ScopeId(static_cast<uint32_t>(scopes_.size())));
  if (fresh) scopes_.push_back(std::move(inside));
  return it->second;
}

std::optional<JsonId> DynamicScopes::Find(ScopeId scope, AnchorNameId name) const {
  const ScratchVector<Binding>& list = scopes_[scope.value];
  auto it = std::partition_point(list.begin(), list.end(),
                                 [&](const Binding& b) { return b.name < name; });
  if (it == list.end() || it->name != name) return std::nullopt;
  return it->schema;
}

}  // namespace grammask::internal
