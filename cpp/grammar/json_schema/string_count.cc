// Counts strings character by character.
//
// What may follow the first n characters of a member is a language again, one of a few: the
// residuals of the set's language. Different characters are different strings, so the number of
// ways to each residual is the number of strings that lead there, and those that lead to one that
// holds the empty text are the members of length n. Of ^[a-z]{1,3}$ that is 26, 676 and 17,576.
// Counting ends when there are enough: of a class of fifty characters after six of them.
//
// Cost: a visit of each residual of each length, of which there are at most kMaxVisits; the
// residuals of a pattern with few loops are a handful. Tests: tests/grammar/string_count_test.cc,
// against listing the members.
#include "grammar/json_schema/string_count.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "grammar/json_schema/formats.h"
#include "grammar/regex_language.h"

namespace grammask::internal {
namespace {

constexpr size_t kMaxVisits = 2'000;

int64_t AddUpTo(int64_t most, int64_t a, int64_t b) { return a > most - b ? most : a + b; }

int64_t MultiplyUpTo(int64_t most, int64_t a, int64_t b) {
  return a != 0 && b > most / a ? most : a * b;
}

// The set's strings, between the quotes of a JSON text, as nodes that CharLanguage knows.
StatusOr<NodeId> BodyOf(const StringSet& set, const Limits& limits, CharLanguage* language) {
  GrammarBuilder& builder = language->builder();
  PatternMemo memo;
  NodeId body = language->All();
  auto require = [&](NodeId part) { body = language->And(body, part); };
  for (const ScratchString& p : set.patterns) {
    GM_ASSIGN_OR_RETURN(NodeId node, EmitPattern(&builder, p, limits, &memo));
    require(node);
  }
  for (const ScratchString& f : set.formats) {
    GM_ASSIGN_OR_RETURN(NodeId node, EmitFormat(&builder, f, limits));
    require(node);
  }
  for (const ScratchString& p : set.not_patterns) {
    GM_ASSIGN_OR_RETURN(NodeId node, EmitPattern(&builder, p, limits, &memo));
    require(language->Not(node));
  }
  for (const ScratchString& f : set.not_formats) {
    GM_ASSIGN_OR_RETURN(NodeId node, EmitFormat(&builder, f, limits));
    require(language->Not(node));
  }
  auto texts = [&](const ScratchVector<ScratchString>& values) {
    ScratchVector<NodeId> nodes;
    for (const ScratchString& v : values) nodes.push_back(builder.JsonText(v));
    return builder.Choice(nodes);
  };
  if (set.values) require(texts(*set.values));
  if (!set.excluded.empty()) require(language->Not(texts(set.excluded)));
  return body;
}

}  // namespace

StatusOr<std::optional<int64_t>> CountStrings(const StringSet& set, int64_t most,
                                              const Limits& limits) {
  const std::optional<int64_t> unknown;
  GrammarBuilder builder(limits);
  CharLanguage language(RegexOptions::Encoding::kJsonString, &builder);
  GM_ASSIGN_OR_RETURN(NodeId body, BodyOf(set, limits, &language));

  // Strings of `length` characters, by what may follow them.
  absl::flat_hash_map<NodeId, int64_t> now = {{body, 1}}, next;
  int64_t count = 0;
  size_t visits = 0;
  for (int64_t length = 0; !now.empty() && length <= set.max_length; ++length) {
    next.clear();
    for (const auto& [rest, strings] : now) {
      if (length >= set.min_length && language.Nullable(rest)) {
        count = AddUpTo(most, count, strings);
      }
      if (count == most) return std::optional(most);
      if (++visits > kMaxVisits) return unknown;
      for (const CharLanguage::Residual& r : language.Residuals(rest)) {
        if (r.rest == builder.Nothing()) continue;
        const auto characters = static_cast<int64_t>(r.first.size());
        int64_t& there = next[r.rest];
        there = AddUpTo(most, there, MultiplyUpTo(most, strings, characters));
      }
      if (!language.Charge(1)) return unknown;
    }
    std::swap(now, next);
  }
  return std::optional(count);
}

}  // namespace grammask::internal
