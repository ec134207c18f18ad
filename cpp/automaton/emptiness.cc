// Does an intersection or complement match any text, and how short a one?
//
// Without intersection and complement a term is empty only when it is Nothing(). With them the
// question is a search through the derivatives for a nullable one: A*, with the longest of the
// parts' own shortest texts as a lower bound, so that it walks straight to the answer where the
// parts do not clash. `.*a.*` & `.{5}` finds "xxxxa" in five steps. All states on the way found
// learn their exact shortest length; when the search runs out, all states seen match nothing. So no
// state that matches nothing is ever a target of an edge, and no mask leads into a dead end.
//
// Mostly the parts do not clash at all: then the first bytes that leave every part a text which is
// short enough make one up, and no state on its way is made (CheckedByWitness). Of the local times
// of a leap second, where tens and units of the hour and of the minute say what those of the offset
// are, that is so for each of a thousand states.
//
// A character that is written raw or as `\u0061` is read once: what follows is the same.
//
// Questions come in swarms, from a state's targets and theirs. What a search finds out bounds the
// lengths of all states that it met from below, and a state's length those of its targets, so later
// searches go straighter. The targets of an intersection are made when their turn comes; those
// beyond ASCII mostly never have one. A search that takes long asks what its states want without
// their counts, which is one question for all counts.
//
// The edges of an intersection's parts may take questions of their own, and these others: of
// `((?!.{3}x.{17}y)[a-z]){3000}` thousands, one within another. One that is within kMostAsked
// others is put off: all of them are given up, and asked again from the innermost one on, so that
// each finds the answers that it needs. So the stack is bounded.
//
// Cost: a few states in practice; at most Limits::max_regular_states for all questions of one
// grammar while it is built, and Limits::max_mask_states for one question later, after which the
// term is taken for not empty, and over_budget() or overrun() says so: building fails, and the
// tables are given up.
//
// Source: Hart, Nilsson, Raphael 1968; Koenig and Likhachev, "Adaptive A*", AAMAS 2005. Tests:
// tests/automaton/term_test.cc.
#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include "automaton/term_store.h"
#include "base/scratch.h"

namespace grammask::internal {
namespace {

// kTooFar: kLooseStates did not tell; more might.
constexpr uint8_t kMatches = 1, kEmptyLanguage = 2, kUndecided = 3, kTooFar = 4;

// States for which the question without bounds may be asked first, and bounds it may leave out.
constexpr size_t kLooseStates = 64;
constexpr int kMostBounds = 4;
// States that are left to questions which the mask can do without.
constexpr size_t kAmpleBudget = 16 * kLooseStates;

constexpr uint64_t kLongestWitness = 16;  // bytes
constexpr size_t kMostWitnesses = 16384;  // places that are kept

// A search that has seen as many states, and this many for each byte of the way to the one at hand,
// asks what its states want without their counts. One that goes straight on sees one for each byte.
constexpr size_t kPlainStates = 12;
constexpr size_t kDetour = 2;

// One that has seen as many asks what its states want by their counts; and, once, whether there is
// anything without bounds. That may take as long again: while a grammar is built, and states are
// many, it comes later.
constexpr size_t kLongSearch = 256;
constexpr size_t kVeryLongSearch = 4096;
constexpr int kLevels = 32;  // of terms inside of terms whose bounds it may leave out

}  // namespace

class EmptinessSearch {
 public:
  explicit EmptinessSearch(TermStore& store) : s_(store) {}

  // Whether the kAnd or kNot matches any text; nullopt where `most` states do not tell.
  std::optional<bool> Within(TermId start, size_t most) {
    most_ = most;
    const bool matches = Run(start).has_value();
    if (gave_up_) return std::nullopt;
    return matches;
  }

  // The length of the shortest text of `start`, a kAnd or kNot; nullopt when it matches nothing.
  std::optional<uint64_t> Run(TermId start) {
    const bool whole_budget = s_.search_left_ == s_.SearchBudget();
    const size_t very_long = s_.building_ ? kVeryLongSearch : kLongSearch;
    floor_ = s_.terms_[start.value].min_length;
    seen_.emplace(start.value, Visit{0, start});
    open_.push({floor_, Wanting(start), 0, start, kMade});
    while (!open_.empty() && !s_.put_off_) {
      const Entry top = open_.top();
      open_.pop();
      if (top.byte == kBeyondAscii) {
        ExtendLazily(top, s_.terms_[top.id.value].children(), 128, 256);
        continue;
      }
      if (top.byte != kMade) {
        Meet(TargetOf(top.id, top.byte), top.id, top.cost);
        continue;
      }
      Visit& visit = seen_[top.id.value];
      if (visit.closed || top.cost > visit.cost) continue;
      auto rest = KnownLength(top.id);
      if (!rest.has_value()) {
        const auto checked = s_.CheckedByCount(top.id, closed_ > kLongSearch);
        if (checked == TermStore::Nothing()) continue;
        if (checked.has_value()) rest = KnownLength(top.id);
      }
      if (!rest.has_value() && !visit.asked && closed_ > kPlainStates + kDetour * top.cost) {
        visit.asked = true;
        if (s_.CountsClash(top.id)) {
          s_.MatchesNothing(top.id);
          continue;
        }
        s_.AskWithoutCounts(top.id);
        if (IsEmpty(top.id)) continue;
        const uint64_t estimate = top.cost + s_.terms_[top.id.value].min_length;
        if (estimate > top.estimate) {
          open_.push({estimate, top.wanting, top.cost, top.id, kMade});
          continue;
        }
      }
      visit.closed = true;
      if (++closed_ == very_long && IsEmptyWithoutBounds(start)) break;
      if (rest.has_value()) {
        Settle(top.id, top.cost + *rest);
        Learn(top.cost + *rest);
        return top.cost + *rest;
      }
      if (most_-- == 0) {
        gave_up_ = true;
        Learn(top.estimate);
        return std::nullopt;
      }
      if (s_.search_left_ == 0) {
        gave_up_ = true;
        s_.GoOverBudget();
        // With a budget of its own the question may still be decided another time.
        if (whole_budget) s_.known_[start.value] = kUndecided;
        return s_.terms_[start.value].min_length;
      }
      --s_.search_left_;
      if (s_.building_) s_.ChargeSteps();
      Extend(top);
    }
    if (s_.put_off_) {  // what was to be searched is not known
      gave_up_ = true;
      return s_.terms_[start.value].min_length;
    }
    for (const auto& [id, visit] : seen_) s_.known_[id] = kEmptyLanguage;
    return std::nullopt;
  }

 private:
  static constexpr int kMade = -1, kBeyondAscii = 256;
  struct Entry {
    uint64_t estimate;
    uint64_t wanting;
    uint64_t cost;
    TermId id;
    // kMade, or the entry is for where this byte leads from `id`; kBeyondAscii: those over 127.
    int byte;
    // For a min-heap. Among equals first the one whose parts want least all together, so that a
    // text of a given length has what every part looks for at once; then the deeper one.
    bool operator<(const Entry& o) const {
      if (estimate != o.estimate) return estimate > o.estimate;
      return wanting != o.wanting ? wanting > o.wanting : cost < o.cost;
    }
  };
  struct Visit {
    uint64_t cost;
    TermId from;
    bool closed = false;
    bool asked = false;  // AskWithoutCounts
  };

  // Whether nothing is left even where loops inside of the parts may go on.
  bool IsEmptyWithoutBounds(TermId start) {
    if (s_.terms_[start.value].kind != TermKind::kAnd) return false;
    TermStore::Loosening out{.least = 2};
    return s_.WithoutBounds(start, true, kLevels, &out) == TermStore::Nothing();
  }

  // The sum of the parts' own shortest texts.
  uint64_t Wanting(TermId id) const {
    const Term& t = s_.terms_[id.value];
    if (t.kind != TermKind::kAnd) return 0;
    uint64_t sum = 0;
    for (TermId part : t.children()) sum += s_.terms_[part.value].min_length;
    return sum;
  }

  bool IsEmpty(TermId id) const {
    const uint8_t* known = s_.known_.Find(id.value);
    return known != nullptr && *known == kEmptyLanguage;
  }

  // The exact shortest length of a state, where it needs no search.
  std::optional<uint64_t> KnownLength(TermId id) const {
    const Term& t = s_.terms_[id.value];
    if (t.nullable) return 0;
    if (t.kind != TermKind::kAnd && t.kind != TermKind::kNot) return t.min_length;
    if (const uint8_t* known = s_.known_.Find(id.value); known != nullptr && *known == kMatches) {
      return t.min_length;
    }
    return MultipleOfAnyLength(t);
  }

  // [0-9]* & multiple(r, m, scale): the least k for which some k digits lead to a multiple. Found
  // by arithmetic, since a search would try up to m states.
  std::optional<uint64_t> MultipleOfAnyLength(const Term& t) const {
    if (t.kind != TermKind::kAnd || t.children().size() != 2) return std::nullopt;
    const Term* multiple = nullptr;
    const Term* digits = nullptr;
    for (TermId c : t.children()) {
      const Term& part = s_.terms_[c.value];
      if (part.kind == TermKind::kMultiple) multiple = &part;
      if (part.kind == TermKind::kRepeat) digits = &part;
    }
    if (multiple == nullptr || digits == nullptr || digits->a != 0 || digits->b != kUnbounded) {
      return std::nullopt;
    }
    const Term& digit = s_.terms_[digits->children()[0].value];
    if (digit.kind != TermKind::kByteClass ||
        !(s_.byte_class(digit.a) == ByteSet::Range('0', '9'))) {
      return std::nullopt;
    }
    return TermStore::ShortestMultiple(s_.multiple(multiple->b),
                                       static_cast<uint64_t>(multiple->a));
  }

  void Extend(const Entry& entry) {
    const Term& t = s_.terms_[entry.id.value];
    // First, as it may expand parts, of which some come to be in the table.
    const bool respelled = t.kind == TermKind::kAnd && s_.OnlyRespelled(t);
    const Expansion* const* raw = s_.raw_.Find(entry.id.value);
    if (t.kind == TermKind::kAnd && raw == nullptr) {
      ExtendLazily(entry, t.children(), 0, 128, respelled);
      // Nothing behind the other bytes is nearer than the state itself; as a rule they wait in
      // vain.
      open_.push({entry.estimate, UINT64_MAX, entry.cost, entry.id, kBeyondAscii});
      return;
    }
    const Expansion* const edges = raw != nullptr ? *raw : s_.RawExpansion(entry.id);
    for (const ByteEdge& edge : edges->bytes) {
      if (respelled && edge.lo == '\\' && edge.hi == '\\') continue;
      Meet(edge.to, entry.id, entry.cost + 1);
    }
  }

  // The targets of an intersection for bytes from `at` on, by one byte each: they are made when
  // their turn comes. Most never have one, as where a character of several bytes begins.
  // The backslash is left out where it is only `respelled`.
  void ExtendLazily(const Entry& entry, std::span<const TermId> parts, int at, int stop,
                    bool respelled = false) {
    struct Cursor {
      const ByteEdge* edge;
      const ByteEdge* end;
      int hi = -1;
      uint64_t length = 0, hash = 0;
    };
    absl::InlinedVector<Cursor, 16> cursors;
    for (TermId part : parts) {
      const std::span<const ByteEdge> edges = s_.ExpandLocked(part).bytes;
      cursors.push_back({edges.data(), edges.data() + edges.size()});
    }
    const uint64_t cost = entry.cost + 1;
    uint64_t hash = 0, wanting = 0;                // of all targets
    absl::InlinedVector<uint64_t, 64> hashes;      // of the lists of targets met
    absl::InlinedVector<const ByteEdge*, 64> met;  // these lists, by an edge to each target
    while (at < stop) {
      int begin = at, end = stop;
      uint64_t least = 0;
      for (size_t i = 0; i < cursors.size(); ++i) {
        Cursor& c = cursors[i];
        if (c.hi < at) {
          while (c.edge != c.end && c.edge->hi < at) ++c.edge;
          if (c.edge == c.end) return;
          c.hi = c.edge->hi;
          hash -= c.hash;
          c.hash = ((uint64_t{i} << 32 | c.edge->to.value) + 1) * 0x9E3779B97F4A7C15u;
          c.hash ^= c.hash >> 32;
          hash += c.hash;
          wanting -= c.length;
          c.length = s_.terms_[c.edge->to.value].min_length;
          wanting += c.length;
        }
        begin = std::max<int>(begin, c.edge->lo);
        end = std::min(end, c.hi + 1);
        least = std::max(least, c.length);
      }
      if (begin > at) {
        at = begin;
        continue;
      }
      if (respelled && at == '\\' && end == at + 1) {
        at = end;
        continue;
      }
      bool known = false;
      for (size_t k = 0; k < hashes.size() && !known; ++k) {
        known = hashes[k] == hash &&
                std::equal(cursors.begin(), cursors.end(), met.begin() + k * parts.size(),
                           [](const Cursor& c, const ByteEdge* e) { return c.edge->to == e->to; });
      }
      if (!known) {
        hashes.push_back(hash);
        for (const Cursor& c : cursors) met.push_back(c.edge);
        open_.push({std::max(cost + least, floor_), wanting, cost, entry.id, at});
      }
      at = end;
    }
  }

  // Where `byte` leads from the intersection `id`, which ExtendLazily has seen.
  TermId TargetOf(TermId id, int byte) {
    absl::InlinedVector<TermId, 16> targets;
    for (TermId part : s_.terms_[id.value].children()) {
      const std::span<const ByteEdge> edges = s_.ExpandLocked(part).bytes;
      targets.push_back(std::ranges::lower_bound(edges, byte, {}, &ByteEdge::hi)->to);
    }
    return s_.RawAnd(targets);
  }

  // A state in reach.
  void Meet(TermId to, TermId from, uint64_t cost) {
    if (to == TermStore::Nothing()) return;
    if (IsEmpty(to)) return;
    auto [it, added] = seen_.try_emplace(to.value, Visit{cost, from});
    if (!added) {
      if (it->second.cost <= cost) return;
      it->second = {cost, from, false, it->second.asked};
    }
    const uint64_t estimate = std::max(cost + s_.terms_[to.value].min_length, floor_);
    open_.push({estimate, Wanting(to), cost, to, kMade});
  }

  // No text of the start is shorter than `length`: what that says of the states met is kept for
  // later searches among them.
  void Learn(uint64_t length) {
    for (const auto& [id, visit] : seen_) {
      if (visit.cost >= length) continue;
      const TermId state(id);
      s_.AtLeast(state, length - visit.cost);
    }
  }

  // The states on the way to `last` match, and `length` less their distance is their shortest.
  void Settle(TermId last, uint64_t length) {
    for (TermId id = last;;) {
      const Visit& visit = seen_[id.value];
      Term& t = s_.terms_[id.value];
      // A nullable state knows its length, and other threads may be reading it.
      if ((t.kind == TermKind::kAnd || t.kind == TermKind::kNot) && !t.nullable) {
        if (s_.NowMatches(id)) t.min_length = length - visit.cost;
      }
      if (visit.from == id) return;
      id = visit.from;
    }
  }

  TermStore& s_;
  using SeenAllocator = ScratchAllocator<std::pair<const uint32_t, Visit>>;
  absl::flat_hash_map<uint32_t, Visit, absl::Hash<uint32_t>, std::equal_to<>, SeenAllocator> seen_;
  std::priority_queue<Entry, ScratchVector<Entry>> open_;
  size_t most_ = SIZE_MAX;
  size_t closed_ = 0;
  uint64_t floor_ = 0;  // no text of the start is shorter
  bool gave_up_ = false;
};

// A part of an intersection without the bound of the repeat that it is or ends with, and that
// bound; the part itself where there is none such.
TermId TermStore::Unbounded(TermId part, int64_t* bound) {
  const Term& t = terms_[part.value];
  const TermId last = t.kind == TermKind::kSequence ? t.children()[1] : part;
  const Term& loop = terms_[last.value];
  if (loop.kind != TermKind::kRepeat || loop.b == kUnbounded || loop.b == loop.a) return part;
  *bound = std::min(*bound, loop.b);
  const TermId loose = Repeat(loop.children()[0], loop.a, kUnbounded);
  return t.kind == TermKind::kSequence ? Sequence(t.children()[0], loose) : loose;
}

// Whether `loose`, a state without bounds or counts, matches any text, where few states tell.
uint8_t TermStore::AskLoose(TermId loose) {
  const Term& t = terms_[loose.value];
  if (loose == Nothing()) return kEmptyLanguage;
  if ((t.kind != TermKind::kAnd && t.kind != TermKind::kNot) || t.nullable) return kMatches;
  if (const uint8_t* known = known_.Find(loose.value)) return *known;
  if (CheckedByLength(loose).has_value()) return known_[loose.value];
  const auto matches = EmptinessSearch(*this).Within(loose, kLooseStates);
  if (put_off_) return kTooFar;
  if (!matches.has_value()) known_.TryEmplace(loose.value, kTooFar);
  return known_[loose.value];
}

// Whether the intersection is seen to match nothing, by few states. Never goes over the budget.
bool TermStore::IsSeenEmpty(std::span<const TermId> parts) {
  if (overrun()) return false;
  if (!building_ && asked_.empty()) search_left_ = SearchBudget();
  if (search_left_ < kAmpleBudget) return false;
  if (asked_.empty()) charged_steps_ = steps_;
  asked_.push_back(Nothing());
  const bool empty = AskLoose(RawAnd(parts)) == kEmptyLanguage;
  asked_.pop_back();
  if (asked_.empty()) put_off_ = false;
  return empty;
}

// What `X{10,40} & P & Q` wants at least: the shortest text of `X* & P & Q`, which is one state for
// all counts. A search that knows it goes straight on where the parts want more together than each
// of them alone.
void TermStore::AskWithoutCounts(TermId id) {
  const Term& t = terms_[id.value];
  if (t.kind != TermKind::kAnd || t.children().size() < 3) return;
  absl::InlinedVector<TermId, 16> parts;
  bool counted = false;
  for (TermId part : t.children()) {
    const Term& p = terms_[part.value];
    const bool counts = p.kind == TermKind::kRepeat && (p.a > 0 || p.b != kUnbounded);
    counted |= counts && p.a > 0;
    parts.push_back(counts ? Repeat(p.children()[0], 0, kUnbounded) : part);
  }
  if (!counted) return;
  const TermId core = RawAnd(parts);
  if (AskLoose(core) == kEmptyLanguage) {
    known_[id.value] = kEmptyLanguage;
  } else {
    AtLeast(id, terms_[core.value].min_length);
  }
}

// `X{0,40} & P` from `X* & P`, which is one state for all that is left of the 40: where that
// matches nothing, so does this, and where its shortest text is no longer than the bound, which
// counts rounds of a byte at least, that is a text of this, too. Nullopt where it is not so.
std::optional<TermId> TermStore::CheckedWithoutBounds(TermId id) {
  const Term& t = terms_[id.value];
  if (t.kind != TermKind::kAnd) return std::nullopt;
  absl::InlinedVector<TermId, 8> parts;
  int64_t bound = INT64_MAX;
  int bounds = 0;
  for (TermId part : t.children()) {
    parts.push_back(Unbounded(part, &bound));
    bounds += parts.back() != part;
  }
  if (bounds == 0 || bounds > kMostBounds) return std::nullopt;
  const TermId loose = RawAnd(parts);
  const uint8_t known = AskLoose(loose);
  if (known == kEmptyLanguage) return Nothing();
  const uint64_t length = terms_[loose.value].min_length;
  if (known == kMatches && length <= static_cast<uint64_t>(bound)) return Vouched(id, length);
  if (CountsClash(id)) {
    return MatchesNothing(id);
  }
  AtLeast(id, length);
  return std::nullopt;
}

// `A & !E` from the lengths alone: where A's shortest text is shorter than all that is excluded, it
// is one of the intersection, too. Nullopt where it is not so.
std::optional<TermId> TermStore::CheckedByLength(TermId id) {
  const Term& t = terms_[id.value];
  if (t.kind != TermKind::kAnd) return std::nullopt;
  const Term* included = nullptr;
  uint64_t excluded = kMaxLength;
  for (TermId c : t.children()) {
    const Term& part = terms_[c.value];
    if (part.kind == TermKind::kNot) {
      excluded = std::min(excluded, terms_[part.children()[0].value].min_length);
    } else if (included == nullptr) {
      included = &part;
    } else {
      return std::nullopt;
    }
  }
  // Of an intersection within the part the length may be a bound.
  if (included == nullptr || included->boolean || included->min_length >= excluded) {
    return std::nullopt;
  }
  return Vouched(id, included->min_length);
}

// `A & B & C` by a text that is as long as the longest of their own shortest ones, so that no text
// of all of them is shorter: byte by byte, each where what is then left is short enough. The states
// on the way are not made. Nullopt where the first choices of bytes lead to no such text.
std::optional<TermId> TermStore::CheckedByWitness(TermId id) {
  const Term& t = terms_[id.value];
  if (t.kind != TermKind::kAnd) return std::nullopt;
  uint64_t length = 0;
  for (TermId part : t.children()) {
    const Term& p = terms_[part.value];
    if (p.boolean) return std::nullopt;  // its edges take searches of their own
    length = std::max(length, p.min_length);
  }
  if (length == 0 || length > kLongestWitness || length < t.min_length) return std::nullopt;
  // By part: where it is, the edges there, and where the best byte leads.
  const size_t count = t.children().size();
  absl::InlinedVector<TermId, 32> states(2 * count);
  absl::InlinedVector<std::span<const ByteEdge>, 16> edges_there(count);
  const auto at = std::span(states).first(count), best = std::span(states).last(count);
  const std::span edges(edges_there);
  std::ranges::copy(t.children(), at.begin());
  // Moves all by the byte after which they want least all together, each less than `left`. False
  // where there is none. Goes through the edges side by side, from one piece to the next that all
  // read, up to one after which they want as little as can be.
  auto step = [&](uint64_t left) {
    uint64_t least = UINT64_MAX, least_possible = 0;
    for (size_t i = 0; i < count; ++i) {
      edges[i] = ExpandLocked(at[i]).bytes;
      least_possible += std::max<uint64_t>(terms_[at[i].value].min_length, 1) - 1;
    }
    for (int b = 0; b < 128 && least > least_possible;) {
      int begin = b, end = 128;
      for (auto& e : edges) {
        while (!e.empty() && e.front().hi < begin) e = e.subspan(1);
        if (e.empty()) return least != UINT64_MAX;
        begin = std::max<int>(begin, e.front().lo);
        end = std::min<int>(end, e.front().hi + 1);
      }
      b = std::max(begin, end);
      if (end <= begin) continue;  // a part goes on before another begins
      uint64_t wanting = 0, most = 0;
      for (const auto& e : edges) {
        const uint64_t rest = terms_[e.front().to.value].min_length;
        wanting += rest;
        most = std::max(most, rest);
      }
      if (most < left && wanting < least) {
        least = wanting;
        for (size_t i = 0; i < count; ++i) best[i] = edges[i].front().to;
      }
    }
    return least != UINT64_MAX;
  };
  // Ways of neighbouring states soon meet: what came of one is kept for all places on it.
  absl::InlinedVector<uint32_t, 128> way;  // of each place what is left, and the parts
  const size_t place_size = 1 + count;
  bool found = true;
  for (uint64_t left = length; left > 0; --left) {
    const size_t before = way.size();
    way.resize(before + place_size);
    const std::span<uint32_t> place(&way[before], place_size);
    place[0] = static_cast<uint32_t>(left);
    std::ranges::transform(at, place.begin() + 1, &TermId::value);
    if (const bool* known = witnesses_.Find(BytesOf(std::span<const uint32_t>(place)))) {
      found = *known;
      way.resize(before);
      break;
    }
    found = step(left);
    if (!found) break;
    std::ranges::copy(best, at.begin());
    if (left == 1) {
      found = std::ranges::all_of(at, [&](TermId part) { return terms_[part.value].nullable; });
    }
  }
  if (witnesses_.size() > kMostWitnesses) witnesses_.Clear();
  const std::span<const uint32_t> places = memory_.Copy(std::span<const uint32_t>(way));
  for (size_t i = 0; i < places.size(); i += place_size) {
    witnesses_[BytesOf(places.subspan(i, place_size))] = found;
  }
  if (!found) return std::nullopt;
  return Vouched(id, length);
}

void TermStore::GoOverBudget() {
  over_budget_ = true;
  if (!building_) NoteOverrun(Overrun::kStates);
}

bool TermStore::NowMatches(TermId id) {
  uint8_t& known = known_[id.value];
  if (known != 0 && known != kTooFar) return false;
  known = kMatches;
  return true;
}

TermId TermStore::MatchesNothing(TermId id) {
  known_[id.value] = kEmptyLanguage;
  return Nothing();
}

void TermStore::AtLeast(TermId id, uint64_t length) {
  Term& t = terms_[id.value];
  if ((t.kind != TermKind::kAnd && t.kind != TermKind::kNot) || t.nullable) return;
  if (length <= t.min_length) return;
  const uint8_t* known = known_.Find(id.value);
  if (known == nullptr || *known == kTooFar) t.min_length = std::min(length, kMaxLength);
}

std::optional<TermId> TermStore::Known(TermId id) {
  const Term& t = terms_[id.value];
  if ((t.kind != TermKind::kAnd && t.kind != TermKind::kNot) || t.nullable) return id;
  const uint8_t* known = known_.Find(id.value);
  if (known == nullptr || *known == kTooFar) return std::nullopt;
  if (*known == kUndecided) GoOverBudget();  // asked in vain before
  return *known == kEmptyLanguage ? Nothing() : id;
}

TermId TermStore::Checked(TermId id, uint64_t least) {
  if (const auto known = Known(id)) return *known;
  AtLeast(id, least);
  if (const auto checked = CheckedByLength(id)) return *checked;
  if (const auto checked = CheckedByWitness(id)) return *checked;
  if (const auto checked = CheckedByCount(id, /*make=*/false)) return *checked;
  return Ask(id);
}

TermId TermStore::Ask(TermId id) {
  if (asked_.size() >= kMostAsked) {
    if (!put_off_) {
      put_off_ = true;
      waiting_.assign(asked_.begin(), asked_.end());
      waiting_.push_back(id);
    }
    return id;
  }
  if (!asked_.empty()) return AskOnce(id);  // it shares the outermost question's budget
  if (!building_) search_left_ = overrun() ? 0 : SearchBudget();
  charged_steps_ = steps_;
  absl::InlinedVector<TermId, 4> todo = {id};
  while (true) {
    const auto known = Known(todo.back());
    const TermId answer = known.has_value() ? *known : AskOnce(todo.back());
    if (!put_off_) {
      todo.pop_back();
      if (todo.empty()) return answer;
      continue;
    }
    put_off_ = false;
    for (size_t i = 1; i < waiting_.size(); ++i) {
      if (waiting_[i] != Nothing()) todo.push_back(waiting_[i]);
    }
  }
}

TermId TermStore::AskOnce(TermId id) {
  text_searches_.fetch_add(1, std::memory_order_relaxed);
  asked_.push_back(id);
  std::optional<TermId> checked = CheckedWithoutBounds(id);
  if (!checked.has_value()) checked = EmptinessSearch(*this).Run(id) ? id : Nothing();
  asked_.pop_back();
  return *checked;
}

TermId TermStore::Vouched(TermId id, uint64_t min_length) {
  Term& t = terms_[id.value];
  if ((t.kind != TermKind::kAnd && t.kind != TermKind::kNot) || t.nullable) return id;
  if (NowMatches(id)) t.min_length = std::clamp(min_length, t.min_length, kMaxLength);
  return known_[id.value] == kEmptyLanguage ? Nothing() : id;
}

}  // namespace grammask::internal
