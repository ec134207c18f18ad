// How many strings there are in a set.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_STRING_COUNT_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_STRING_COUNT_H_

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "grammar/ast.h"
#include "grammar/json_schema/strings.h"

namespace grammask::internal {

// Exact up to `most`, which stands for as many or more, up to infinitely many; nullopt where so
// many steps would have to be taken that it is left open. Errors are those of EmitStringBody.
StatusOr<std::optional<int64_t>> CountStrings(const StringSet& set, int64_t most,
                                              const Limits& limits);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_STRING_COUNT_H_
