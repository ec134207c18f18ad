// URI references, as far as a schema needs them to find what `$ref` names.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_URI_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_URI_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace grammask::internal {

// The part before the first '#', and the part after it ("" where there is none).
std::pair<std::string_view, std::string_view> SplitFragment(std::string_view uri);

// `reference`, which may be relative, as seen from `base`; neither has a fragment. Linear.
std::string ResolveUri(std::string_view base, std::string_view reference);

// Undoes %XX; nullopt where a '%' is not followed by two hexadecimal digits.
std::optional<std::string> PercentDecode(std::string_view text);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_URI_H_
