// Is every text of a term a text of whole characters as inside a JSON string?
//
// Where it is, an intersection with any characters at all says nothing: `minLength: 1` beside a
// format is, once a character was read, the format itself. Without this each state of the format
// would be one of an intersection, which costs a search for its shortest text, hides the texts and
// loops in it from masks, and is another state than that of the same format elsewhere.
//
// Nor does a union with any characters say anything. A search, any characters and what is looked
// for and any characters, is so in one state once it has found something, whatever else it has
// begun; likewise in front of the quote that ends the string.
//
// The automaton of one character, UTF-8 or any JSON spelling, has some twenty states. What a term
// does to it is a map: from each state the one in which all texts of the term leave it, or none
// where they differ or are refused. Maps of sequences are composed, those of choices must agree,
// what a loop repeats must come back to where it was. `\\` `u` D [0-7] [0-9A-F]{2} leads from
// between two characters to between two characters.
//
// Cost: some 50 ns for each part of a term, once. Source: RFC 8259 section 7. Tests:
// tests/automaton/json_content_test.cc.
#include <algorithm>
#include <array>
#include <vector>

#include "automaton/json_places.h"
#include "automaton/post_order.h"
#include "automaton/term_store.h"

namespace grammask::internal {

using enum JsonPlaces::Place;
using Map = JsonPlaces::Map;

std::span<const JsonPlaces::Move> JsonPlaces::Moves() {
  static const std::vector<Move>& all = *new std::vector<Move>([] {
    auto range = [](uint8_t lo, uint8_t hi) { return ByteSet::Range(lo, hi); };
    auto of = [](std::string_view bytes) {
      ByteSet set;
      for (char c : bytes) set.Add(static_cast<uint8_t>(c));
      return set;
    };
    const ByteSet hex = of("0123456789abcdefABCDEF"), d = of("dD"), tail = range(0x80, 0xBF);
    const ByteSet raw = range(0x20, 0x7F) & ~of("\"\\");
    return std::vector<Move>{
        {kBetween, kBetween, raw},
        {kBetween, kBackslash, of("\\")},
        {kBackslash, kBetween, of("\"\\/bfnrt")},
        {kBackslash, kFour, of("u")},
        {kFour, kThree, hex & ~d},
        {kFour, kAfterD, d},
        {kThree, kTwo, hex},
        {kTwo, kOne, hex},
        {kOne, kBetween, hex},
        {kAfterD, kTwo, range('0', '7')},
        {kAfterD, kFirstTwo, of("89abAB")},
        {kFirstTwo, kFirstOne, hex},
        {kFirstOne, kSecondBackslash, hex},
        {kSecondBackslash, kSecondU, of("\\")},
        {kSecondU, kSecondD, of("u")},
        {kSecondD, kSecondC, d},
        {kSecondC, kTwo, of("cdefCDEF")},
        {kBetween, kTail1, range(0xC2, 0xDF)},
        {kBetween, kAfterE0, range(0xE0, 0xE0)},
        {kBetween, kTail2, range(0xE1, 0xEC) | range(0xEE, 0xEF)},
        {kBetween, kAfterED, range(0xED, 0xED)},
        {kBetween, kAfterF0, range(0xF0, 0xF0)},
        {kBetween, kTail3, range(0xF1, 0xF3)},
        {kBetween, kAfterF4, range(0xF4, 0xF4)},
        {kAfterE0, kTail1, range(0xA0, 0xBF)},
        {kAfterED, kTail1, range(0x80, 0x9F)},
        {kAfterF0, kTail2, range(0x90, 0xBF)},
        {kAfterF4, kTail2, range(0x80, 0x8F)},
        {kTail3, kTail2, tail},
        {kTail2, kTail1, tail},
        {kTail1, kBetween, tail},
    };
  }());
  return all;
}

Map JsonPlaces::Identity() {
  Map map;
  for (uint8_t p = 0; p < JsonPlaces::kPlaces; ++p) map[p] = p;
  return map;
}

Map JsonPlaces::OfBytes(const ByteSet& bytes) {
  Map map;
  map.fill(kNowhere);
  for (const Move& m : Moves()) {
    if ((bytes & ~m.bytes).empty()) map[m.from] = m.to;
  }
  return map;
}

Map JsonPlaces::Then(const Map& first, const Map& second) {
  Map map;
  for (uint8_t p = 0; p < JsonPlaces::kPlaces; ++p) {
    map[p] = first[p] == kNowhere ? uint8_t{kNowhere} : second[first[p]];
  }
  return map;
}

// What `id` does to the automaton, once for each part; the reference holds until the next call.
const Map& TermStore::MovesOf(TermId id) {
  // Nothing is asked of the parts of a term that was made of whole characters. Its texts begin with
  // one in any spelling, or are empty: of the other places nothing is said.
  static constexpr Map kContent = [] {
    Map map;
    map.fill(kNowhere);
    map[kBetween] = kBetween;
    return map;
  }();
  auto known = [&](TermId part) -> const Map* {
    const Term& t = terms_[part.value];
    return t.content && t.kind != TermKind::kEmpty ? &kContent : json_moves_.Find(part.value);
  };
  ForEachUnknownPart(terms_, id, known, [&](TermId part_id, const Term& t) {
    Map map;
    map.fill(kNowhere);
    switch (t.kind) {
      case TermKind::kEmpty:
        map = JsonPlaces::Identity();
        break;
      case TermKind::kBytes:
        map = JsonPlaces::Identity();
        for (char c : t.text())
          map = JsonPlaces::Then(map, JsonPlaces::OfBytes(ByteSet::Of(static_cast<uint8_t>(c))));
        break;
      case TermKind::kByteClass:
        map = JsonPlaces::OfBytes(byte_classes_[static_cast<size_t>(t.a)]);
        break;
      case TermKind::kSequence:
        map = JsonPlaces::Then(*known(t.children()[0]), *known(t.children()[1]));
        break;
      case TermKind::kChoice:
        map = *known(t.children()[0]);
        for (TermId c : t.children()) {
          const Map& other = *known(c);
          for (uint8_t p = 0; p < JsonPlaces::kPlaces; ++p) {
            if (map[p] != other[p]) map[p] = kNowhere;
          }
        }
        break;
      case TermKind::kRepeat: {
        const Map& body = *known(t.children()[0]);
        for (uint8_t p = 0; p < JsonPlaces::kPlaces; ++p) {
          if (body[p] == p) map[p] = p;
        }
        break;
      }
      case TermKind::kAnd:
        for (TermId c : t.children()) {
          const Map& part = *known(c);
          for (uint8_t p = 0; p < JsonPlaces::kPlaces; ++p) {
            if (map[p] == kNowhere) map[p] = part[p];
          }
        }
        break;
      default:
        break;
    }
    json_moves_.TryEmplace(part_id.value, map);
  });
  return *known(id);
}

bool TermStore::IsJsonContent(TermId id) {
  return terms_[id.value].content || MovesOf(id)[kBetween] == kBetween;
}

// Whether `parts` may hold any number of any characters of a JSON string, whose term is then made.
bool TermStore::KnowsAnyContent(const TermList& parts) {
  if (json_any_ != Nothing()) return true;
  if (std::ranges::none_of(parts, [&](TermId id) {
        const Term& t = terms_[id.value];
        const Term& head = t.kind == TermKind::kSequence ? terms_[t.few[0].value] : t;
        return head.kind == TermKind::kRepeat &&
               (head.b == kUnbounded || terms_[head.few[0].value].kind == TermKind::kChoice);
      })) {
    return false;
  }
  AnyJsonCharacter();
  return true;
}

TermId TermStore::AnyJsonCharacter() {
  if (json_any_ == Nothing()) json_any_ = Character(CodePointSet::All(), true);
  return json_any_;
}

// Beside any number of any characters of a JSON string no other alternative of such adds anything,
// nor do any in front of the quote that ends the string, and what follows it.
void TermStore::DropContent(TermList* alternatives) {
  if (!KnowsAnyContent(*alternatives)) return;
  auto is_any = [&](const Term& t) { return CountsAny(t) && t.a == 0 && t.b == kUnbounded; };
  const auto any = std::ranges::find_if(*alternatives, [&](TermId id) {
    const Term& t = terms_[id.value];
    return is_any(t) || (t.kind == TermKind::kSequence && is_any(terms_[t.few[0].value]) &&
                         BeginsWithQuote(t.few[1]));
  });
  if (any == alternatives->end()) return;
  const TermId kept = *any;
  const Term& t = terms_[kept.value];
  const TermId rest = t.kind == TermKind::kSequence ? t.few[1] : Empty();
  const auto adds_nothing = [&](TermId id) {
    if (id == kept) return false;
    return rest == Empty() ? IsJsonContent(id) : IsContentBefore(id, rest);
  };
  alternatives->erase(std::remove_if(alternatives->begin(), alternatives->end(), adds_nothing),
                      alternatives->end());
}

// Whether all texts of `id` are whole characters as inside a JSON string, then `rest`, which begins
// with a quote.
bool TermStore::IsContentBefore(TermId id, TermId rest) {
  TermList parts;
  if (PartsBeforeQuote(id, &parts) != rest) return false;
  Map map = JsonPlaces::Identity();
  for (TermId part : parts) map = JsonPlaces::Then(map, MovesOf(part));
  return map[kBetween] == kBetween;
}

// Any number of any characters of a JSON string is no condition on what consists of such, nor are
// bounds on how many there are that it keeps anyhow. Conditions on how many there are of them
// become one: `X* & !X{0,254}` is `X{255,}`. False where they leave nothing.
bool TermStore::MergeAnyContent(TermList* parts) {
  if (!KnowsAnyContent(*parts)) return true;
  auto counts = [&](TermId id) { return CountsAny(terms_[id.value]); };
  int64_t least = 0, most = kUnbounded;
  size_t merged = 0;  // they are moved to the front
  for (TermId& id : *parts) {
    if (!counts(id)) continue;
    least = std::max(least, terms_[id.value].a);
    most = std::min(most, terms_[id.value].b);
    std::swap(id, (*parts)[merged++]);
  }
  if (merged == 0) return true;
  const TermId before = (*parts)[0];
  TermId hole;  // Nothing() for none
  for (size_t i = merged; i < parts->size(); ++i) {
    const Term& t = terms_[(*parts)[i].value];
    if (t.kind != TermKind::kNot || !counts(t.children()[0])) continue;
    const Term& excluded = terms_[t.children()[0].value];
    if (excluded.a > least && excluded.b < most) {
      hole = t.children()[0];
      continue;
    }
    if (excluded.a <= least) {
      if (excluded.b >= most) return false;
      least = std::max(least, excluded.b + 1);
    } else {
      most = std::min(most, excluded.a - 1);
    }
    std::swap((*parts)[i], (*parts)[merged++]);
  }
  if (least > most) return false;
  parts->erase(parts->begin(), parts->begin() + static_cast<ptrdiff_t>(merged));
  // Other parts may say as much, of either bound: all of `[a-z]{36}` is shorter than 2048.
  bool said = false;
  for (TermId id : *parts) {
    const Term& t = terms_[id.value];
    // What may be empty says nothing of a least length.
    if (t.kind == TermKind::kNot || (t.nullable && least > 0 && most == kUnbounded)) continue;
    if (!IsJsonContent(id)) continue;
    auto is_said = [&] {
      return most == kUnbounded && (least == 0 || (least == 1 && !t.nullable));
    };
    if (!is_said() && hole == Nothing()) {
      const JsonPlaces::Counts& counts = CharacterCounts(id);
      if (counts.least[kBetween] >= least) least = 0;
      if (counts.most[kBetween] < JsonPlaces::kMany && counts.most[kBetween] <= most) {
        most = kUnbounded;
      }
    }
    said = is_said();
    if (said) break;
  }
  const Term& b = terms_[before.value];
  const Term& h = terms_[hole.value];
  if (hole != Nothing() && h.a > least && h.b < most) {
    const TermId alternatives[] = {Repeat(json_any_, least, h.a - 1),
                                   Repeat(json_any_, h.b + 1, most)};
    parts->erase(std::find(parts->begin(), parts->end(), RawNot(hole)));
    parts->push_back(Choice(alternatives));
  } else if (!said) {
    parts->push_back(b.a == least && b.b == most ? before : Repeat(json_any_, least, most));
  }
  std::sort(parts->begin(), parts->end());
  return true;
}

}  // namespace grammask::internal
