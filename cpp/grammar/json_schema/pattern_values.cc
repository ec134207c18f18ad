// Patterns to the few strings that match.
//
// "^Abs$" is what older drafts write for a constant. As a list of values it can be told from
// "^Add$", and costs no regular expression. Read are ^...$ and ^(...|...)$ with plain characters
// and escaped punctuation; anything else is left to the parser of regular expressions. Linear.
//
// Tests: tests/grammar/json_schema_random_test.cc.
#include "grammar/json_schema/pattern_values.h"

#include <utility>

namespace grammask::internal {

std::optional<ScratchVector<ScratchString>> PatternValues(std::string_view pattern) {
  constexpr std::string_view kSpecial = "^$\\.*+?()[]{}|";
  if (pattern.size() < 2 || pattern.front() != '^' || pattern.back() != '$') return std::nullopt;
  pattern = pattern.substr(1, pattern.size() - 2);
  bool group = pattern.starts_with('(');
  if (group) {
    if (!pattern.ends_with(')')) return std::nullopt;
    pattern = pattern.substr(1, pattern.size() - 2);
    if (pattern.starts_with("?:")) pattern.remove_prefix(2);
  }
  ScratchVector<ScratchString> values;
  ScratchString value;
  for (size_t i = 0; i < pattern.size(); ++i) {
    char c = pattern[i];
    if (c == '|' && group) {
      values.push_back(std::exchange(value, {}));
      continue;
    }
    if (c == '\\') {
      ++i;
      if (i == pattern.size()) return std::nullopt;
      c = pattern[i];
      if (c != '/' && c != '-' && kSpecial.find(c) == std::string_view::npos) return std::nullopt;
    } else if (kSpecial.find(c) != std::string_view::npos) {
      return std::nullopt;
    }
    value.push_back(c);
  }
  values.push_back(std::move(value));
  return values;
}

}  // namespace grammask::internal
