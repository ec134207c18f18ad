// What dynamic references mean: by the schema resources that were entered on the way to them.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_DYNAMIC_SCOPE_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_DYNAMIC_SCOPE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "base/scratch.h"
#include "grammar/json_schema/json_document.h"

namespace grammask::internal {

using ScopeId = Id<struct ScopeTag>;
using AnchorNameId = Id<struct AnchorNameTag>;  // a name that a dynamic anchor has

inline constexpr ScopeId kNoScope{0};  // nothing was entered, or nothing that has dynamic anchors

// Interned maps from the names of dynamic anchors to the schemas that they mean. Equal maps have
// equal ids. Not thread-safe.
class DynamicScopes {
 public:
  struct Binding {
    AnchorNameId name;
    JsonId schema;
    friend auto operator<=>(const Binding&, const Binding&) = default;
  };

  DynamicScopes();

  // The scope inside a resource with these anchors: what `scope` already has stays, because the
  // outermost resource counts.
  ScopeId Enter(ScopeId scope, std::span<const Binding> anchors);
  std::optional<JsonId> Find(ScopeId scope, AnchorNameId name) const;
  size_t size() const { return scopes_.size(); }

 private:
  ScratchVector<ScratchVector<Binding>> scopes_;  // each sorted by name
  absl::flat_hash_map<ScratchVector<uint32_t>, ScopeId> ids_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_DYNAMIC_SCOPE_H_
