// Sets of strings, as JSON Schema's keywords describe them, and their JSON texts.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_STRINGS_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_STRINGS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/mix.h"
#include "base/scratch.h"
#include "base/status.h"
#include "grammar/ast.h"

namespace grammask::internal {

// A conjunction of conditions on a string; by default every string. Strings are decoded text in
// UTF-8, never JSON spellings. Lists are sets: Normalise() sorts them and drops what repeats; the
// operations below accept sets normalised or not and return normalised ones.
struct StringSet {
  int64_t min_length = 0;                               // code points
  int64_t max_length = kUnbounded;                      // code points
  ScratchVector<ScratchString> patterns, not_patterns;  // ECMA-262, found anywhere in the string
  ScratchVector<ScratchString> formats, not_formats;    // names for which IsKnownFormat holds
  std::optional<ScratchVector<ScratchString>> values;   // only these
  ScratchVector<ScratchString> excluded;                // none of these

  // Also filters `values` and drops `excluded` as far as Contains decides, and drops patterns that
  // every string matches.
  void Normalise();

  // Every string: no condition at all.
  bool IsAll() const;
  // True only when there is provably no member (lengths and values; not patterns and formats).
  bool IsEmpty() const;
  bool LengthFits(std::string_view value) const;
  // nullopt when only an automaton can tell: a pattern or format has the say. Linear in the lists.
  std::optional<bool> Contains(std::string_view value) const;
  // Conditions, for people and tests: "length 1..5 pattern /^a/ not format date"; "any string".
  std::string ToString() const;

  friend bool operator==(const StringSet&, const StringSet&) = default;
  template <class H>
  friend H AbslHashValue(H h, const StringSet& s) {
    return H::combine(std::move(h), s.min_length, s.max_length, s.patterns, s.not_patterns,
                      s.formats, s.not_formats, s.values, s.excluded);
  }
};

StringSet Intersect(const StringSet& a, const StringSet& b);
// Where both are lists of values, at most `most` of them, and nothing else: adds those of `from` to
// `into`. False where that is not so.
bool MergeValues(const StringSet& from, StringSet* into, size_t most);
// True only where both have few values and plainly none in common.
bool ListsApart(const StringSet& a, const StringSet& b);
// Sets whose union is every string outside `set`; {} when it holds every string.
ScratchVector<StringSet> Complement(const StringSet& set);
// Whether each condition of b, normalised, is one of a's: then a is within b.
bool PlainlyWithin(const StringSet& a, const StringSet& b);
// True only when it is proved; false may also mean "not known".
bool Disjoint(const StringSet& a, const StringSet& b);

// Patterns and formats that were written with one builder, and their nodes.
using PatternMemo = absl::flat_hash_map<std::string, NodeId, TextHash, std::equal_to<>>;

// A node for the JSON text of strings in which the pattern is found. Errors are those of
// ParseRegex. What is in `memo`, which may be null, is not parsed again.
StatusOr<NodeId> EmitPattern(GrammarBuilder* builder, std::string_view pattern,
                             const Limits& limits, PatternMemo* memo);

// A regular node for the JSON text between the quotes: exactly the members of `set`, each in every
// spelling JSON allows. Errors are those of ParseRegex and EmitFormat; the message names the
// pattern or format. Nothing() where the set is seen to be empty; a set that only the automaton
// finds empty gives a node without members. What is in `memo` is not parsed again.
StatusOr<NodeId> EmitStringBody(GrammarBuilder* builder, const StringSet& set, const Limits& limits,
                                PatternMemo* memo = nullptr);

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_STRINGS_H_
