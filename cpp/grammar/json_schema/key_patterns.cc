// Patterns and keys to yes or no.
//
// A pattern is parsed to a regular node of JSON text at the first question, and the key, spelled
// plainly, is matched against it (text_match.h); answers are kept. A constant number of hash
// look-ups for a question asked before.
//
// Tests: tests/grammar/json_schema_test.cc.
#include "grammar/json_schema/key_patterns.h"

#include <string>

#include "grammar/json_schema/text_match.h"
#include "grammar/regex.h"

namespace grammask::internal {

PatternId KeyPatterns::Intern(std::string_view pattern) {
  auto [it, fresh] = ids_.try_emplace(pattern, PatternId(static_cast<uint32_t>(texts_.size())));
  if (fresh) {
    texts_.push_back(pattern);
    nodes_.push_back(builder_.Nothing());
    parsed_.push_back(false);
  }
  return it->second;
}

StatusOr<bool> KeyPatterns::Matches(PatternId pattern, std::string_view key) {
  auto known = answers_.find(std::pair(pattern, key));
  if (known != answers_.end()) return bool{known->second};
  if (!parsed_[pattern.value]) {
    RegexOptions options;
    options.encoding = RegexOptions::Encoding::kJsonString;
    options.anchoring = RegexOptions::Anchoring::kSearch;
    GM_ASSIGN_OR_RETURN(nodes_[pattern.value],
                        ParseRegex(text(pattern), options, limits_, &builder_));
    parsed_[pattern.value] = true;
  }
  GM_ASSIGN_OR_RETURN(bool matches,
                      MatchesText(builder_, nodes_[pattern.value], JsonSpelling(key)));
  answers_[std::pair(pattern, key)] = matches;
  return bool{matches};
}

StatusOr<bool> KeyPatterns::Contains(const StringSet& set, std::string_view value) {
  if (std::optional<bool> known = set.Contains(value)) return bool{*known};
  StringSet conditions = set;
  conditions.values.reset();
  conditions.excluded.clear();
  GM_ASSIGN_OR_RETURN(NodeId body, EmitStringBody(&builder_, conditions, limits_));
  return MatchesText(builder_, body, JsonSpelling(value));
}

}  // namespace grammask::internal
