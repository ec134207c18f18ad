// What is left out of sets that have no exact form, and where it shows.
//
// In widening, a keyword or a combination without an exact form leaves its set as large as it was,
// and a note stays with the expression. Such a set is marked: from then on it holds all that is
// meant and maybe more, so it may be met with others and united with them, but a set without it
// would lose what is meant; that subtraction is left out in turn. {"not":{"pattern":"(a)\\1"}}
// would have one where the pattern has none: it becomes any value, with notes at "pattern" and
// "not". A note becomes a warning when its expression is in the grammar, so that what was only
// asked on the way is not reported. Linear in the expressions.
//
// Tests: tests/grammar/json_schema_widen_test.cc.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "base/scratch.h"
#include "grammar/json_schema/normalise.h"

namespace grammask::internal {
namespace {

// The keyword for a combination that no keyword of its own asks for.
std::string_view KeywordOf(ExprKind kind) {
  switch (kind) {
    case ExprKind::kOr:
      return "anyOf";
    case ExprKind::kValue:
      return "const";
    default:
      return "allOf";
  }
}

}  // namespace

std::optional<JsonId> Normaliser::NearestSchema(ExprId expr) const {
  while (pool_.kind(expr) >= ExprKind::kAnd) expr = pool_.parts(expr)[0];
  if (expr == kAnything || expr == kNone) return std::nullopt;
  return pool_.node(expr);
}

Normaliser::LeftOut Normaliser::Describe(JsonId schema, std::string_view keyword,
                                         const Status& why) const {
  std::string_view reason = why.message();
  std::string place = tree_.document().Pointer(schema);
  // The message may begin with the place, or with another keyword of the same schema.
  if (reason.starts_with(place)) {
    std::string_view rest = reason.substr(place.size());
    size_t colon = rest.find(": ");
    if (rest.starts_with('/') && colon != std::string_view::npos && rest.find('/', 1) >= colon) {
      keyword = rest.substr(1, colon - 1);
      reason = rest.substr(colon + 2);
    } else if (rest.starts_with(": ")) {
      reason = rest.substr(2);
    }
  }
  return {schema, std::string(keyword), std::string(reason)};
}

void Normaliser::Note(ExprId expr, JsonId schema, std::string_view keyword, const Status& why) {
  left_out_[expr].push_back(Describe(schema, keyword, why));
}

void Normaliser::NoteEmitted(ExprId expr, std::string_view keyword, const Status& why) {
  NoteEmitted(NearestSchema(expr).value_or(tree_.document().root()), keyword, why);
}

void Normaliser::NoteEmitted(JsonId schema, std::string_view keyword, const Status& why) {
  LeftOut note = Describe(schema, keyword, why);
  warnings_.try_emplace({note.schema, note.keyword}, note.reason);
}

ValueSet Normaliser::Widened(ExprId expr, const Status& why) {
  ValueSet set = ValueSet::All();
  set.widened = kTypeAll;
  Note(expr, NearestSchema(expr).value_or(tree_.document().root()), KeywordOf(pool_.kind(expr)),
       why);
  return set;
}

void Normaliser::MarkEmitted(ExprId expr) {
  if (!options_.widen) return;
  ScratchVector<ExprId> stack = {expr};
  while (!stack.empty()) {
    ExprId at = stack.back();
    stack.pop_back();
    if (at.value >= emitted_.size()) emitted_.resize(std::max<size_t>(pool_.size(), at.value + 1));
    if (emitted_[at.value]) continue;
    emitted_[at.value] = true;
    if (auto notes = left_out_.find(at); notes != left_out_.end()) {
      for (const LeftOut& n : notes->second) {
        warnings_.try_emplace({n.schema, n.keyword}, n.reason);
      }
    }
    StatusOr<ScratchVector<ExprId>> parts = PartsOf(at);
    if (parts.ok()) stack.insert(stack.end(), parts->begin(), parts->end());
  }
}

bool Normaliser::DependsOnWidened(ExprId expr) {
  if (!options_.widen) return false;
  absl::flat_hash_set<ExprId> seen;
  ScratchVector<ExprId> stack = {expr};
  while (!stack.empty()) {
    StatusOr<ScratchVector<ExprId>> parts = PartsOf(stack.back());
    stack.pop_back();
    if (!parts.ok()) return true;
    for (ExprId p : *parts) {
      if (Known(p).widened != 0) return true;
      if (seen.insert(p).second) stack.push_back(p);
    }
  }
  return false;
}

std::vector<SchemaWarning> Normaliser::Warnings() const {
  std::vector<SchemaWarning> out;
  out.reserve(warnings_.size());
  for (const auto& [place, reason] : warnings_) {
    out.push_back({tree_.document().Pointer(place.first), place.second, reason});
  }
  return out;
}

}  // namespace grammask::internal
