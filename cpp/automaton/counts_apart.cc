// Parts of an intersection to the same with their bounds as a condition of its own.
//
// `X{7,19} Y` beside other conditions, as of `(?!.*[_.]{2})[a-z0-9._]{8,20}(?<![_.])`, is a state
// of its own for each number of rounds left, with a mask of its own. But where each X is a
// character and each Y is one, it is `X* Y` of 8 to 20 characters: so many of any, as `maxLength`
// is. Of several such conditions one is left, and what tokens need of the count is found once for
// all numbers (mask/counted.h).
//
// Cost: about a microsecond for each part with a bound, once when a grammar is built. Tests:
// tests/automaton/counts_apart_test.cc.
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "automaton/json_places.h"
#include "automaton/term_store.h"

namespace grammask::internal {
namespace {

using enum JsonPlaces::Place;

constexpr int64_t kLeastBound = 8;      // under which states are few
constexpr size_t kMostApartParts = 16;  // of an alternative
constexpr size_t kMostApartAlternatives = 4;

}  // namespace

// A sequence of characters, as many as it has whatever they are, around one loop that has bounds;
// what is a choice of such, and of no characters or few, too.
std::optional<TermStore::CountApart> TermStore::FindCountApart(TermId id) {
  const Term& whole = terms_[id.value];
  TermList alternatives = {id};
  if (whole.kind == TermKind::kChoice && whole.children().size() <= kMostApartAlternatives) {
    alternatives.assign(whole.children().begin(), whole.children().end());
  }
  auto is_loop = [&](TermId part) {
    const Term& t = terms_[part.value];
    return t.kind == TermKind::kRepeat && t.b != kUnbounded && t.b >= kLeastBound && t.a != t.b;
  };
  struct Sequenced {
    TermId whole;
    absl::InlinedVector<TermId, 8> parts;
    size_t loop = SIZE_MAX;
  };
  absl::InlinedVector<Sequenced, kMostApartAlternatives> split;
  bool looped = false;
  for (TermId alternative : alternatives) {
    Sequenced& s = split.emplace_back();
    s.whole = alternative;
    for (TermId rest = alternative; rest != Empty();) {
      const Term& t = terms_[rest.value];
      const bool sequence = t.kind == TermKind::kSequence;
      const TermId part = sequence ? t.few[0] : rest;
      if (is_loop(part)) {
        if (s.loop != SIZE_MAX) return std::nullopt;
        s.loop = s.parts.size();
        looped = true;
      }
      if (s.parts.size() == kMostApartParts) return std::nullopt;
      s.parts.push_back(part);
      rest = sequence ? t.few[1] : Empty();
    }
  }
  if (!looped) return std::nullopt;

  CountApart found{.endless = Nothing(), .least = 0, .most = -1};
  int64_t longest = 0;  // of the alternatives without a loop
  TermList endless;
  for (const Sequenced& s : split) {
    int64_t characters = 0, more = 0;  // at least, and how many more at most; of the loop none
    for (size_t i = 0; i < s.parts.size(); ++i) {
      if (i == s.loop) continue;
      if (!IsJsonContent(s.parts[i])) return std::nullopt;
      const JsonPlaces::Counts& counts = CharacterCounts(s.parts[i]);
      if (counts.most[kBetween] == JsonPlaces::kMany) return std::nullopt;
      characters += counts.least[kBetween];
      more += counts.most[kBetween] - counts.least[kBetween];
    }
    if (s.loop == SIZE_MAX) {
      longest = std::max(longest, characters + more);
      endless.push_back(s.whole);
      continue;
    }
    const Term& loop = terms_[s.parts[s.loop].value];
    if (more != 0 || !IsOneCharacter(loop.few[0])) return std::nullopt;
    if (found.most != -1 && found.most != loop.b + characters) return std::nullopt;
    found.most = loop.b + characters;
    if (split.size() == 1) found.least = loop.a + characters;
    absl::InlinedVector<TermId, 8> parts = s.parts;
    parts[s.loop] = Repeat(loop.few[0], split.size() == 1 ? 0 : loop.a, kUnbounded);
    endless.push_back(Sequence(parts));
  }
  // Those without a loop would be cut off, or of others there would be longer ones.
  if (longest > found.most) return std::nullopt;
  found.endless = Choice(endless);
  return found;
}

TermId TermStore::AndApart(std::span<const TermId> parts) {
  TermList flat;
  for (TermId id : parts) {
    const Term& t = terms_[id.value];
    if (t.kind == TermKind::kAnd) {
      flat.insert(flat.end(), t.children().begin(), t.children().end());
    } else {
      flat.push_back(id);
    }
  }
  const bool any = KnowsAnyContent(flat);
  auto counts = [&](TermId id) { return any && CountsAny(terms_[id.value]); };
  const auto others = std::ranges::count_if(flat, [&](TermId id) { return !counts(id); });
  if (others < 2) return And(parts);
  const bool counted = others < std::ssize(flat);
  for (size_t i = 0, end = flat.size(); i < end; ++i) {
    if (counts(flat[i])) continue;
    // A loop alone is counted as it stands, where nothing else is.
    if (!counted && terms_[flat[i].value].kind == TermKind::kRepeat) continue;
    const auto found = FindCountApart(flat[i]);
    if (!found.has_value()) continue;
    flat[i] = found->endless;
    flat.push_back(Repeat(AnyJsonCharacter(), found->least, found->most));
  }
  return And(flat);
}

}  // namespace grammask::internal
