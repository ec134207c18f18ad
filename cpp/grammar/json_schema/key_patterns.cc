// Patterns and keys to yes or no.
//
// A pattern is parsed to a regular node of JSON text at the first question, and the key, spelled
// plainly, is matched against it (text_match.h); answers are kept. A constant number of hash
// look-ups for a question asked before. Two patterns are disjoint when no text is left of both
// after the same characters: ^a and ^b after the first. The search for one is bounded.
//
// Tests: tests/grammar/json_schema_test.cc.
#include "grammar/json_schema/key_patterns.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/scratch.h"
#include "grammar/json_schema/text_match.h"
#include "grammar/regex.h"

namespace grammask::internal {
namespace {

// What may be left of two patterns before they count as overlapping: of those of keys, where much
// depends on it, and of those of values.
constexpr size_t kMaxResiduals = 200;
constexpr size_t kFewResiduals = 8;

// The text that all texts of the pattern begin with, or end with, as far as it is plain.
std::string_view TextAt(const GrammarBuilder& builder, NodeId pattern, bool end) {
  NodeView part = builder.node(pattern);
  if (part.kind == NodeKind::kSequence) {
    part = builder.node(end ? part.children.back() : part.children.front());
  }
  return part.kind == NodeKind::kJsonText ? part.text : std::string_view();
}

// Whether their texts differ where both begin, or where both end.
bool PlainlyDisjoint(const GrammarBuilder& builder, NodeId a, NodeId b) {
  const std::string_view begin_a = TextAt(builder, a, false), begin_b = TextAt(builder, b, false);
  if (!begin_a.starts_with(begin_b) && !begin_b.starts_with(begin_a)) return true;
  const std::string_view end_a = TextAt(builder, a, true), end_b = TextAt(builder, b, true);
  return !end_a.ends_with(end_b) && !end_b.ends_with(end_a);
}

}  // namespace

PatternId KeyPatterns::Intern(std::string_view pattern) {
  auto [it, fresh] = ids_.try_emplace(pattern, PatternId(static_cast<uint32_t>(texts_.size())));
  if (fresh) {
    texts_.push_back(pattern);
    parses_.emplace_back();
  }
  return it->second;
}

PatternId KeyPatterns::InternCopy(std::string_view pattern) {
  const auto known = ids_.find(pattern);
  return known != ids_.end() ? known->second : Intern(copies_.emplace_back(pattern));
}

// Patterns of keys are mostly those of names, too, which are written with the same memo.
StatusOr<KeyPatterns::Parse> KeyPatterns::Parsed(PatternId pattern) {
  Parse& parse = parses_[pattern.value];
  if (!parse.done) {
    GM_ASSIGN_OR_RETURN(NodeId node, EmitPattern(&builder_, text(pattern), limits_, &memo_));
    parse = {true, node, TextAt(builder_, node, /*end=*/false)};
  }
  return Parse{parse};
}

StatusOr<bool> KeyPatterns::Matches(PatternId pattern, std::string_view key) {
  GM_ASSIGN_OR_RETURN(Parse parse, Parsed(pattern));
  if (!key.starts_with(parse.head)) return false;  // of ^title_... and "name"
  const std::pair question(pattern, key);
  const auto known = answers_.find(question);
  if (known != answers_.end()) return bool{known->second};
  GM_ASSIGN_OR_RETURN(bool matches, MatchesText(builder_, parse.node, JsonSpelling(key)));
  answers_.try_emplace(question, matches);
  return bool{matches};
}

// Whether any text may stand at this end of the pattern. False may also mean "not known".
bool KeyPatterns::OpenAt(NodeId pattern, bool end) const {
  const NodeView sequence = builder_.node(pattern);
  if (sequence.kind != NodeKind::kSequence) return pattern == language_->All();
  return (end ? sequence.children.back() : sequence.children.front()) == language_->All();
}

StatusOr<bool> KeyPatterns::Disjoint(PatternId a, PatternId b) {
  return Disjoint(a, b, /*thorough=*/true);
}

StatusOr<bool> KeyPatterns::Disjoint(PatternId a, PatternId b, bool thorough) {
  if (a == b) return false;
  if (b < a) std::swap(a, b);
  auto& disjoint = thorough ? disjoint_ : values_disjoint_;
  auto [known, fresh] = disjoint.try_emplace(std::pair(a, b), false);
  if (!fresh) return bool{known->second};
  GM_ASSIGN_OR_RETURN(Parse parse_a, Parsed(a));
  GM_ASSIGN_OR_RETURN(Parse parse_b, Parsed(b));
  const NodeId in_a = parse_a.node, in_b = parse_b.node;
  if (PlainlyDisjoint(builder_, in_a, in_b)) return bool{disjoint[std::pair(a, b)] = true};
  // A short search pays where one begins with a text: the other mostly does otherwise.
  if (!thorough && parse_a.head.empty() && parse_b.head.empty()) return false;
  if (!language_) language_.emplace(RegexOptions::Encoding::kJsonString, &builder_);
  // Where anything may follow p and anything stand before q, pq is in both.
  if ((OpenAt(in_a, /*end=*/true) && OpenAt(in_b, /*end=*/false)) ||
      (OpenAt(in_b, /*end=*/true) && OpenAt(in_a, /*end=*/false))) {
    return false;
  }
  const size_t most = thorough ? kMaxResiduals : kFewResiduals;
  ScratchVector<NodeId> seen = {language_->And(in_a, in_b)};
  absl::flat_hash_set<NodeId> known_rests(seen.begin(), seen.end());
  for (size_t i = 0; i < seen.size(); ++i) {
    if (language_->Nullable(seen[i]) || seen.size() > most) return false;
    for (const CharLanguage::Residual& r : language_->Residuals(seen[i])) {
      if (r.rest == builder_.Nothing() || !known_rests.insert(r.rest).second) continue;
      seen.push_back(r.rest);
    }
    if (!language_->Charge(1)) return false;
  }
  disjoint[std::pair(a, b)] = true;
  return true;
}

bool KeyPatterns::ValuesDisjoint(std::string_view a, std::string_view b) {
  const StatusOr<bool> disjoint = Disjoint(InternCopy(a), InternCopy(b), /*thorough=*/false);
  return disjoint.ok() && *disjoint;
}

StatusOr<bool> KeyPatterns::Contains(const StringSet& set, std::string_view value) {
  if (std::optional<bool> known = set.Contains(value)) return bool{*known};
  StringSet conditions = set;
  conditions.values.reset();
  conditions.excluded.clear();
  GM_ASSIGN_OR_RETURN(NodeId body, EmitStringBody(&builder_, conditions, limits_, &memo_));
  return MatchesText(builder_, body, JsonSpelling(value));
}

}  // namespace grammask::internal
