// A place where a grammar admits more than its JSON Schema.
#ifndef GRAMMASK_SCHEMA_WARNING_H_
#define GRAMMASK_SCHEMA_WARNING_H_

#include <string>

namespace grammask {

// Only where the caller asked for widening.
struct SchemaWarning {
  std::string pointer;  // of the schema: "#/properties/a"
  std::string keyword;  // what is not enforced there, wholly or in part
  std::string reason;
  friend bool operator==(const SchemaWarning&, const SchemaWarning&) = default;
};

}  // namespace grammask

#endif  // GRAMMASK_SCHEMA_WARNING_H_
