// States to the counted loops that they are.
//
// `X{a,b} Y` where each Y is one X is `X* Y` of so many X's and one: which of them is the last does
// not show before the loop is left. `(X{0,b} Y)?` is likewise. So are strings under a pattern and a
// bound, which after some characters are `X{0,b} Q` with Q of k characters, as where a text must
// end in `.can`, or a choice of such and of texts that are no longer: each is what it is without
// the bound, of at most b + k characters. Of all alternatives that sum must be the same.
//
// Such a state is a loop of X with a bound, whose tokens can be counted (mask/counted.h); by itself
// it would be a state with a mask of its own for each number of characters left.
//
// Cost: some 100 ns for each part of the state, and once for two terms whether one includes the
// other. Tests: tests/automaton/rounds_test.cc.
#include <absl/container/inlined_vector.h>

#include <algorithm>

#include "automaton/json_places.h"
#include "automaton/term_store.h"

namespace grammask::internal {
namespace {

using enum JsonPlaces::Place;

constexpr size_t kMostRoundAlternatives = 8;
constexpr size_t kMostRoundParts = 32;  // of an alternative

}  // namespace

// `X{a,b} Y`, or `(X{0,b} Y)?`.
std::optional<TermStore::LastRound> TermStore::FindLastRound(TermId id) {
  LastRound found;
  found.rest = Empty();
  const Term* t = &terms_[id.value];
  const Term* head = t;
  if (t->kind == TermKind::kSequence && terms_[t->children()[0].value].kind == TermKind::kChoice) {
    head = &terms_[t->children()[0].value];
    found.rest = t->children()[1];
  }
  if (head->kind == TermKind::kChoice) {
    if (head->children().size() != 2) return std::nullopt;
    const bool first = head->children()[0] == Empty();
    if (!first && head->children()[1] != Empty()) return std::nullopt;
    head = &terms_[head->children()[first ? 1 : 0].value];
    found.optional = true;
  }
  if (head->kind != TermKind::kSequence) return std::nullopt;
  found.loop = &terms_[head->children()[0].value];
  found.last = head->children()[1];
  if (const Term& after = terms_[found.last.value];
      after.kind == TermKind::kSequence && !found.optional) {
    found.last = after.children()[0];
    found.rest = after.children()[1];
  }
  const Term& loop = *found.loop;
  const Term& last = terms_[found.last.value];
  if (loop.kind != TermKind::kRepeat || loop.b == kUnbounded || !loop.regular ||
      (found.optional && loop.a != 0)) {
    return std::nullopt;
  }
  // Characters of a class: what else may follow is hardly ever an X, and asked for often.
  if ((last.kind != TermKind::kByteClass && last.kind != TermKind::kChoice) || !last.regular) {
    return std::nullopt;
  }
  std::lock_guard lock(mutex_);
  if (found.last != loop.children()[0] && !Includes(loop.children()[0], found.last)) {
    return std::nullopt;
  }
  return found;
}

std::optional<TermStore::Counted> TermStore::FindCount(TermId id) {
  if (const auto found = FindLastRound(id)) {
    // Of several characters at the end, as in `X{0,b} [0-9][msh] "`, the first may be one, too.
    if (found->rest != Empty() && !BeginsWithQuote(found->rest)) {
      if (const auto counted = FindFixedEnd(id)) return counted;
    }
    const Term& loop = *found->loop;
    Counted counted{.x = loop.children()[0],
                    .rest = found->rest,
                    .least = loop.a == 0 ? 0 : loop.a + 1,
                    .most = loop.b + 1};
    std::lock_guard lock(mutex_);
    const TermId any = Repeat(counted.x, 0, kUnbounded);
    if (found->optional) {
      const TermId either[] = {Empty(), Sequence(any, found->last)};
      counted.loose = counted.open = Sequence(Choice(either), found->rest);
    } else {
      const TermId last = Sequence(found->last, found->rest);
      counted.loose = counted.open = Sequence(any, last);
      if (loop.a != 0) counted.open = Sequence(Repeat(counted.x, loop.a, kUnbounded), last);
    }
    return counted;
  }
  if (const auto counted = FindFixedEnd(id)) return counted;
  const Term* counted = CountedPart(id);
  if (counted == nullptr) return std::nullopt;
  const Term& t = terms_[id.value];
  const TermId loose = WithRepeat(id, *counted, 0);
  return Counted{.x = counted->children()[0],
                 .rest = t.kind == TermKind::kSequence ? t.children()[1] : Empty(),
                 .loose = loose,
                 .open = counted->a == 0 ? loose : WithRepeat(id, *counted, counted->a),
                 .least = counted->a,
                 .most = counted->b};
}

// Whether a term begins with the quote that ends a JSON string.
bool TermStore::BeginsWithQuote(TermId id) const {
  const Term* t = &terms_[id.value];
  if (t->kind == TermKind::kSequence) t = &terms_[t->children()[0].value];
  return t->kind == TermKind::kBytes && t->text().front() == '"';
}

// Appends the parts of a sequence up to the quote; what begins with that, Nothing() where there is
// none.
TermId TermStore::PartsBeforeQuote(TermId id, TermList* parts) const {
  while (!BeginsWithQuote(id)) {
    const Term& t = terms_[id.value];
    const bool sequence = t.kind == TermKind::kSequence;
    parts->push_back(sequence ? t.children()[0] : id);
    if (!sequence || parts->size() > kMostRoundParts) return Nothing();
    id = t.children()[1];
  }
  return id;
}

// A choice of `X{0,b} Q "` and of `Q "`, each Q of a number of X's that is the same for all of its
// texts.
std::optional<TermStore::Counted> TermStore::FindFixedEnd(TermId id) {
  const Term& whole = terms_[id.value];
  // The alternatives, and what follows all of them.
  TermList alternatives = {id};
  TermId after = Empty();
  const bool sequence = whole.kind == TermKind::kSequence;
  const Term& head = sequence ? terms_[whole.children()[0].value] : whole;
  if (head.kind == TermKind::kChoice) {
    if (head.children().size() > kMostRoundAlternatives) return std::nullopt;
    alternatives.assign(head.children().begin(), head.children().end());
    if (sequence) after = whole.children()[1];
  } else if (head.kind != TermKind::kRepeat) {
    return std::nullopt;
  }
  Counted counted{.x = Nothing(), .rest = Nothing(), .least = 0, .most = 0};
  auto is_loop = [](const Term& t) { return t.kind == TermKind::kRepeat && t.a != t.b; };
  absl::InlinedVector<TermList, kMostRoundAlternatives> split;
  for (TermId alternative : alternatives) {
    TermList& parts = split.emplace_back();
    TermId rest = Nothing();
    if (alternative != Empty()) rest = PartsBeforeQuote(alternative, &parts);
    if (rest == Nothing() && after != Empty()) rest = PartsBeforeQuote(after, &parts);
    if (rest == Nothing() || (split.size() > 1 && rest != counted.rest)) return std::nullopt;
    counted.rest = rest;
    const Term* loop = nullptr;
    for (TermId part : parts) {
      const Term& t = terms_[part.value];
      if (!is_loop(t)) continue;
      if (loop != nullptr || !t.regular || t.b == kUnbounded) return std::nullopt;
      if (counted.x != Nothing() && t.children()[0] != counted.x) return std::nullopt;
      if (t.a != 0 && alternatives.size() > 1) return std::nullopt;
      loop = &t;
      counted.x = t.children()[0];
    }
  }
  if (counted.x == Nothing()) return std::nullopt;
  std::lock_guard lock(mutex_);
  if (!IsOneCharacter(counted.x)) return std::nullopt;
  int64_t longest = 0;  // of those without a loop
  int64_t least = 0;    // rounds of the loop
  for (const TermList& parts : split) {
    const Term* loop = nullptr;
    int64_t characters = 0;
    for (TermId part : parts) {
      if (const Term& t = terms_[part.value]; is_loop(t)) {
        loop = &t;
        continue;
      }
      if (!IsJsonContent(part)) return std::nullopt;
      const JsonPlaces::Counts& counts = CharacterCounts(part);
      if (counts.least[kBetween] != counts.most[kBetween]) return std::nullopt;
      characters += counts.least[kBetween];
    }
    if (loop == nullptr) {
      longest = std::max(longest, characters);
      continue;
    }
    if (counted.most != 0 && counted.most != loop->b + characters) return std::nullopt;
    counted.most = loop->b + characters;
    least = loop->a;
    if (least != 0) counted.least = least + characters;
  }
  if (longest > counted.most) return std::nullopt;
  // Characters that are no X's would leave the loop.
  for (const TermList& parts : split) {
    for (TermId part : parts) {
      if (!is_loop(terms_[part.value]) && !ReadsOnly(counted.x, part)) return std::nullopt;
    }
  }
  // With so many rounds of the loop, or more.
  auto with_rounds = [&](int64_t fewest) {
    const TermId rounds = Repeat(counted.x, fewest, kUnbounded);
    TermList all;
    for (const TermList& parts : split) {
      TermId& sequence = all.emplace_back(counted.rest);
      for (size_t i = parts.size(); i-- > 0;) {
        sequence = Sequence(is_loop(terms_[parts[i].value]) ? rounds : parts[i], sequence);
      }
    }
    return Choice(all);
  };
  counted.loose = counted.open = with_rounds(0);
  if (least != 0) counted.open = with_rounds(least);  // of the only alternative
  return counted;
}

// Whether each text of a part is one of X's.
bool TermStore::ReadsOnly(TermId x, TermId part) {
  // Of classes of all scripts a search would look at each beginning of a character.
  const Term& t = terms_[part.value];
  const TermId one = t.kind == TermKind::kRepeat ? t.children()[0] : part;
  if (one == x || IncludesClass(x, one).value_or(false)) return true;
  // Mostly it shows by the first byte, unless that begins another spelling.
  const auto first = ExpandLocked(x).bytes;
  for (const ByteEdge& e : ExpandLocked(part).bytes) {
    for (int b = e.lo; b <= e.hi; ++b) {
      if (FindEdge(first, static_cast<uint8_t>(b)) == nullptr) return false;
    }
  }
  return Includes(Repeat(x, 0, kUnbounded), part);
}

}  // namespace grammask::internal
