// How many characters have the texts of a term, at least and at most?
//
// `maxLength` counts characters, of which each may be spelled in one to twelve bytes. So what a
// pattern wants in bytes does not tell that it wants too much: of 63 characters there are texts of
// over 90 bytes. Without this a search for one would go through all states of the pattern with all
// numbers of characters left. Where the texts of one part of an intersection have at least 90
// characters, and those of another at most 63, it is empty.
//
// The count of a text depends on where in a character it begins: each of the places of
// json_places.h that all texts of the term leave for one has its bounds, counted by the places
// between two characters that are come to. An intersection is empty where the bounds of two parts
// are disjoint at any place, whichever it stands at in fact: they count the same texts.
//
// Cost: some 100 ns for each part of a term, once, and only for terms that are asked about. Tests:
// tests/automaton/character_counts_test.cc.
#include <algorithm>

#include "automaton/json_places.h"
#include "automaton/post_order.h"
#include "automaton/term_store.h"
#include "automaton/words.h"
#include "base/utf8.h"

namespace grammask::internal {

using enum JsonPlaces::Place;
using Counts = JsonPlaces::Counts;

namespace {

constexpr uint32_t kMany = JsonPlaces::kMany;
constexpr uint64_t kLongestSpelling = 12;  // bytes of a character: `\ud83d\ude42`
constexpr int kMostNested = 8;             // choices that are looked into for what follows them

uint32_t Saturated(uint64_t count) {
  return static_cast<uint32_t>(std::min<uint64_t>(count, kMany));
}

Counts OfBytes(const JsonPlaces::Map& moves) {
  Counts counts = {};
  for (uint8_t p = 0; p < JsonPlaces::kPlaces; ++p)
    counts.least[p] = counts.most[p] = moves[p] == kBetween;
  return counts;
}

// Of a text after another, which does `moves`.
Counts Then(const Counts& first, const JsonPlaces::Map& moves, const Counts& second) {
  Counts counts = {};
  for (uint8_t p = 0; p < JsonPlaces::kPlaces; ++p) {
    if (moves[p] == kNowhere) continue;
    counts.least[p] = Saturated(uint64_t{first.least[p]} + second.least[moves[p]]);
    counts.most[p] = Saturated(uint64_t{first.most[p]} + second.most[moves[p]]);
  }
  return counts;
}

Counts OfCharacters(uint64_t least, uint64_t most) {
  Counts counts = {};
  counts.least[kBetween] = Saturated(least);
  counts.most[kBetween] = Saturated(most);
  return counts;
}

// What holds of a text of both.
void Meet(const JsonPlaces::Map& moves, const Counts& other, Counts* counts) {
  for (uint8_t p = 0; p < JsonPlaces::kPlaces; ++p) {
    if (moves[p] == kNowhere) continue;
    counts->least[p] = std::max(counts->least[p], other.least[p]);
    counts->most[p] = std::min(counts->most[p], other.most[p]);
  }
}

}  // namespace

const Counts& TermStore::CharacterCounts(TermId id) {
  auto known = [&](TermId t) -> const Counts* {
    const auto* counts = json_counts_.Find(t.value);
    return counts == nullptr ? nullptr : *counts;
  };
  ForEachUnknownPart(terms_, id, known, [&](TermId part, const Term& t) {
    const JsonPlaces::Map& moves = MovesOf(part);
    Counts counts = {};
    switch (t.kind) {
      case TermKind::kBytes: {
        JsonPlaces::Map done = JsonPlaces::Identity();
        for (char c : t.text()) {
          const auto move = JsonPlaces::OfBytes(ByteSet::Of(static_cast<uint8_t>(c)));
          counts = Then(counts, done, OfBytes(move));
          done = JsonPlaces::Then(done, move);
        }
        break;
      }
      case TermKind::kJsonText: {
        const auto count = static_cast<uint64_t>(CountCodePoints(t.text()));
        counts = OfCharacters(count, count);
        break;
      }
      case TermKind::kWords:
        counts = OfCharacters(t.min_length / kLongestSpelling, kMany);
        if (const auto range = words_->Characters(t)) {
          counts = OfCharacters(range->least, range->most);
        }
        break;
      case TermKind::kByteClass:
        counts = OfBytes(moves);
        break;
      case TermKind::kSequence:
        counts = Then(*known(t.children()[0]), MovesOf(t.children()[0]), *known(t.children()[1]));
        break;
      case TermKind::kChoice:
        counts = *known(t.children()[0]);
        for (TermId c : t.children()) {
          const Counts& other = *known(c);
          for (uint8_t p = 0; p < JsonPlaces::kPlaces; ++p) {
            counts.least[p] = std::min(counts.least[p], other.least[p]);
            counts.most[p] = std::max(counts.most[p], other.most[p]);
          }
        }
        break;
      case TermKind::kRepeat: {
        const Counts& body = *known(t.children()[0]);
        const auto least = static_cast<uint64_t>(t.a);
        const uint64_t most = t.b == kUnbounded ? kMany : static_cast<uint64_t>(t.b);
        for (uint8_t p = 0; p < JsonPlaces::kPlaces; ++p) {
          counts.least[p] = Saturated(body.least[p] * std::min<uint64_t>(least, kMany));
          counts.most[p] = Saturated(body.most[p] * std::min<uint64_t>(most, kMany));
        }
        break;
      }
      case TermKind::kAnd:
        counts.most.fill(kMany);
        for (TermId c : t.children()) Meet(MovesOf(c), *known(c), &counts);
        break;
      default:
        break;
    }
    json_counts_.TryEmplace(part.value, memory_.Copy(std::span<const Counts>(&counts, 1)).data());
  });
  return *known(id);
}

void TermStore::NoteOneCharacter(TermId id) {
  const Counts counts = OfCharacters(1, 1);
  json_counts_.TryEmplace(id.value, memory_.Copy(std::span(&counts, 1)).data());
}

bool TermStore::CountsClash(TermId id) {
  if (terms_[id.value].kind != TermKind::kAnd) return false;
  const Counts& both = CharacterCounts(id);
  for (uint8_t p = 0; p < JsonPlaces::kPlaces; ++p) {
    if (both.least[p] > both.most[p]) return true;
  }
  return false;
}

bool TermStore::IsJsonCharacter(TermId x) {
  std::lock_guard lock(mutex_);
  return IsOneCharacter(x);
}

bool TermStore::IsOneCharacter(TermId x) {
  if (!IsJsonContent(x)) return false;
  const Counts& counts = CharacterCounts(x);
  return counts.least[kBetween] == 1 && counts.most[kBetween] == 1;
}

uint32_t TermStore::FewestCharacters(TermId id, TermId rest) {
  std::lock_guard lock(mutex_);
  return FewestCharactersFrom(kBetween, id, rest, 0);
}

// What follows the rest is not looked at: it may be all of a document.
uint32_t TermStore::FewestCharactersFrom(uint8_t place, TermId id, TermId rest, int depth) {
  uint64_t fewest = 0;
  while (id != rest) {
    const Term& t = terms_[id.value];
    if (t.kind == TermKind::kChoice && depth < kMostNested) {
      uint32_t least = kMany;
      for (TermId c : t.children()) {
        least = std::min(least, FewestCharactersFrom(place, c, rest, depth + 1));
      }
      return Saturated(fewest + least);
    }
    const bool sequence = t.kind == TermKind::kSequence;
    const TermId head = sequence ? t.children()[0] : id;
    const Counts& counts = CharacterCounts(head);
    const uint8_t after = MovesOf(head)[place];
    if (after == kNowhere) {  // counts hold only where the place is left for one
      // A text and what follows may be one text.
      for (char c : terms_[head.value].kind == TermKind::kBytes ? terms_[head.value].text() : "") {
        place = JsonPlaces::OfBytes(ByteSet::Of(static_cast<uint8_t>(c)))[place];
        if (place == kNowhere) break;
        fewest += place == kBetween;
      }
      break;
    }
    fewest += counts.least[place];
    if (!sequence) break;
    place = after;
    id = t.children()[1];
  }
  return Saturated(fewest);
}

}  // namespace grammask::internal
