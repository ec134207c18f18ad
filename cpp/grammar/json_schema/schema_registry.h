// The documents beside the schema's own that a reference may name.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_SCHEMA_REGISTRY_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_SCHEMA_REGISTRY_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"

namespace grammask::internal {

// Texts by URI: those that the caller gave, then the standard's meta-schemas. Nothing is copied or
// looked at before the first question. Not thread-safe.
class SchemaRegistry {
 public:
  struct Entry {
    std::string name;  // as the caller wrote it, for messages
    std::string uri;   // absolute where the base is, no fragment
    std::string_view text;
    bool taken = false;  // a caller has read it, or tried to
    Status error;        // what came of it
  };

  // `texts` (URI to JSON text; nullptr: none) must outlive the registry. URIs that are relative are
  // seen from `base`.
  SchemaRegistry(const std::map<std::string, std::string>* texts, std::string base)
      : texts_(texts), base_(std::move(base)) {}

  // The document at `uri`, which is absolute; nullptr where there is none. Stays valid.
  Entry* Find(std::string_view uri);
  // Documents of the caller that were not taken and whose text may give identifiers to schemas.
  std::vector<Entry*> Unread();
  // Whether a document that was not taken may contain this string.
  bool MayContain(std::string_view string);

 private:
  void Prepare();

  const std::map<std::string, std::string>* texts_;
  std::string base_;
  bool prepared_ = false;
  std::vector<std::unique_ptr<Entry>> entries_;
  absl::flat_hash_map<std::string_view, Entry*> by_uri_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_SCHEMA_REGISTRY_H_
