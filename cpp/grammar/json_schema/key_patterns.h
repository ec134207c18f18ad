// The regular expressions of patternProperties: parsed once each, and asked which keys they match.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_KEY_PATTERNS_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_KEY_PATTERNS_H_

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/mix.h"
#include "base/scratch.h"
#include "base/status.h"
#include "grammar/ast.h"
#include "grammar/json_schema/value_set.h"
#include "grammar/regex_language.h"

namespace grammask::internal {

// Not thread-safe. The texts passed in must outlive the table.
class KeyPatterns {
 public:
  KeyPatterns(GrammarBuilder* builder, const Limits& limits)
      : builder_(*builder), limits_(limits) {}

  PatternId Intern(std::string_view pattern);
  std::span<const std::string_view> texts() const { return texts_; }
  std::string_view text(PatternId id) const { return texts_[id.value]; }

  // Whether the pattern is found in `key`. Errors are those of ParseRegex.
  StatusOr<bool> Matches(PatternId pattern, std::string_view key);
  // True only where no key matches both.
  StatusOr<bool> Disjoint(PatternId a, PatternId b);
  // The same of patterns for values, which need not outlive the call; false where one is none.
  bool ValuesDisjoint(std::string_view a, std::string_view b);
  // Whether `value` is in `set`, patterns and formats included.
  StatusOr<bool> Contains(const StringSet& set, std::string_view value);
  // For EmitStringBody with the same builder.
  PatternMemo* memo() { return &memo_; }

 private:
  // What is known of a pattern once it is parsed.
  struct Parse {
    bool done = false;
    NodeId node;            // of JSON text
    std::string_view head;  // that all its texts begin with, as far as it is plain
  };
  StatusOr<Parse> Parsed(PatternId pattern);
  PatternId InternCopy(std::string_view pattern);
  StatusOr<bool> Disjoint(PatternId a, PatternId b, bool thorough);
  bool OpenAt(NodeId pattern, bool end) const;

  GrammarBuilder& builder_;
  const Limits& limits_;
  ScratchVector<std::string_view> texts_;
  std::deque<std::string> copies_;  // of texts that may go before this
  ScratchVector<Parse> parses_;
  absl::flat_hash_map<std::string_view, PatternId, TextHash> ids_;
  PatternMemo memo_;
  absl::flat_hash_map<std::pair<PatternId, std::string_view>, bool, TextHash> answers_;
  std::optional<CharLanguage> language_;  // made when two patterns are first compared
  absl::flat_hash_map<std::pair<PatternId, PatternId>, bool> disjoint_, values_disjoint_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_KEY_PATTERNS_H_
