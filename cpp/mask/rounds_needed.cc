// A place in a counted loop to the fewest rounds that then complete it.
//
// Of `[0-9]{4}-[0-9]{2}` behind two digits that is five. The shortest text, which each state knows
// the length of, is one way to get there; and of the parts of a state it is known how many
// characters a text has at least (character_counts.cc). Mostly the two agree, and all places on the
// way are known with the first one. Where they do not, as where the text of fewest bytes is not
// that of fewest characters, a search goes through the states, in all directions at once: of those
// of a date-time there are tens of thousands, so it is given up after some.
//
// Inside an X, as within `é` or `\u00e9`, the rest of it comes first, whatever it then is: each
// place there is asked once, with those that it leads to. Letters of all scripts have hundreds.
//
// A lower bound, `minLength`, is one on the characters before the loop is left. For a token that
// ends in the loop it does not matter where the pattern can go on for as long as one likes: where a
// shortest path has a state that loops on some character, or ends before one.
//
// Cost: a microsecond for each state on the way. Tests: tests/mask/counted_test.cc.
#include "mask/rounds_needed.h"

#include <deque>
#include <limits>
#include <utility>

#include "mask/slice.h"
#include "mask/walkers.h"

namespace grammask::internal {
namespace {

constexpr size_t kMostExplored = 1024;  // places in all searches
constexpr size_t kMostFollowed = 256;   // bytes of a text
constexpr size_t kMostInVain = 32;      // texts
constexpr size_t kMostInside = 64;      // places inside an X
constexpr size_t kMostAsked = 8192;     // the same, of which each is asked
constexpr int kDeepest = 12;            // bytes that an X may go on for: `\ud83d\ude00`
constexpr uint32_t kMostBytes = uint32_t{1} << 30;
constexpr uint32_t kNoWay = std::numeric_limits<uint32_t>::max();

// Of two ways the one of fewer rounds, or what can be said of both.
void Better(const RoundsNeeded::Needed& other, RoundsNeeded::Needed* best) {
  if (other.rounds < best->rounds) {
    *best = other;
  } else if (other.rounds == best->rounds) {
    best->any_number |= other.any_number;
    best->bytes = std::min(best->bytes, other.bytes);
  }
}

}  // namespace

RoundsNeeded::RoundsNeeded(TermStore* terms, TermId x, TermId rest, const RoundTable& table,
                           bool any_number)
    : terms_(*terms),
      rest_(rest),
      table_(table),
      any_number_(any_number),
      characters_(terms->IsJsonCharacter(x)) {}

template <class F>
bool RoundsNeeded::ForEachNext(const LoopPlace& p, F&& f) {
  for (const ByteEdge& e : terms_.Expand(p.state).bytes) {
    uint32_t last = Slice::kRefused;
    for (int b = e.lo; b <= e.hi; ++b) {
      const uint32_t x = XAfter(p.x, b);
      if (x == last || x == Slice::kRefused) continue;
      last = x;
      if (!f(LoopPlace{e.to, x})) return false;
    }
  }
  return true;
}

bool RoundsNeeded::CanEnd(const LoopPlace& p) {
  if (p.x == 0 && terms_.term(p.state).nullable) return true;
  return std::ranges::any_of(terms_.Expand(p.state).bytes, [&](const ByteEdge& edge) {
    return AnyLeads(edge, p.x, [](uint32_t x) { return x == Slice::kRefused; });
  });
}

// Of the shortest text from where the loop may end that ends it at once.
uint32_t RoundsNeeded::BytesFromEnd(const LoopPlace& p) {
  uint64_t least = kMaxLength;
  if (p.x == 0 && terms_.term(p.state).nullable) least = 0;
  for (const ByteEdge& edge : terms_.Expand(p.state).bytes) {
    if (AnyLeads(edge, p.x, [](uint32_t x) { return x == Slice::kRefused; })) {
      least = std::min(least, 1 + terms_.term(edge.to).min_length);
    }
  }
  return static_cast<uint32_t>(std::min<uint64_t>(least, kMostBytes));
}

// Whether some X of one byte leads back here.
bool RoundsNeeded::CanGoOn(const LoopPlace& p) {
  if (p.x != 0 || !MayLeadBack(terms_, p.state)) return false;
  return std::ranges::any_of(terms_.Expand(p.state).bytes, [&](const ByteEdge& edge) {
    return edge.to == p.state && AnyLeads(edge, 0, [](uint32_t x) { return x == 0; });
  });
}

// Whether an X, of one byte or the one that was begun, leads to a place that is an end as well and
// goes on. After the first letter of `[a-f]+` in a search comes such a place, which itself is left
// for good.
bool RoundsNeeded::EndsFurther(const LoopPlace& p) {
  std::vector<LoopPlace> places = {p};
  for (size_t i = 0; i < places.size() && places.size() <= kMostInside; ++i) {
    const LoopPlace at = places[i];
    for (const ByteEdge& edge : terms_.Expand(at.state).bytes) {
      if (AnyLeads(edge, at.x, [](uint32_t x) { return x == 0; })) {
        const LoopPlace to = {edge.to, 0};
        if (CanGoOn(to) && CanEnd(to)) return true;
      }
      if (p.x == 0) continue;
      for (int b = edge.lo; b <= edge.hi; ++b) {
        const uint32_t x = XAfter(at.x, b);
        if (x != 0 && x != Slice::kRefused) AddNew({edge.to, x}, &places);
      }
    }
  }
  return false;
}

// By the shortest text, where no text has fewer characters.
std::optional<RoundsNeeded::Needed> RoundsNeeded::Follow(const LoopPlace& from) {
  if (!characters_ || from.x != 0 || in_vain_ > kMostInVain) return std::nullopt;
  struct Step {
    LoopPlace place;
    uint32_t rounds;
  };
  std::vector<Step> path = {{from, 0}};
  Needed last = {0, false, 0};
  while (true) {
    const LoopPlace at = path.back().place;
    if (const auto it = known_.find(at.key()); it != known_.end()) {
      last = it->second;
      break;
    }
    if (CanEnd(at)) {
      last.any_number = any_number_ && EndsFurther(at);
      last.bytes = BytesFromEnd(at);
      break;
    }
    if (path.size() > kMostFollowed || terms_.overrun()) return std::nullopt;
    const uint64_t left = terms_.term(at.state).min_length;
    const auto edges = terms_.Expand(at.state).bytes;
    const auto next = std::ranges::find_if(edges, [&](const ByteEdge& e) {
      return terms_.term(e.to).min_length < left && XAfter(at.x, e.lo) != Slice::kRefused;
    });
    if (next == edges.end()) return std::nullopt;
    const uint32_t x = XAfter(at.x, next->lo);
    path.push_back({{next->to, x}, path.back().rounds + (x == 0)});
  }
  const uint32_t total = path.back().rounds + last.rounds;
  if (terms_.FewestCharacters(from.state, rest_) != total) {
    ++in_vain_;
    return std::nullopt;
  }
  // Of a shortest way each rest is one.
  bool any_number = last.any_number;
  uint32_t bytes = last.bytes;
  for (size_t i = path.size(); i-- > 0; ++bytes) {
    if (any_number_) any_number = any_number || CanGoOn(path[i].place);
    const Needed needed = {total - path[i].rounds, any_number, bytes};
    // Another way that is as short may be one on which X's can be put in.
    if (any_number || !any_number_) known_.try_emplace(path[i].place.key(), needed);
  }
  if (any_number_ && !any_number) {
    ++in_vain_;
    return std::nullopt;
  }
  return Needed{total, any_number, bytes - 1};
}

// Inside an X, by all places that the next byte leads to.
std::optional<RoundsNeeded::Needed> RoundsNeeded::Inside(const LoopPlace& from, int depth) {
  if (const auto it = known_.find(from.key()); it != known_.end()) return it->second;
  if (depth > kDeepest || ++inside_ > kMostAsked || terms_.overrun()) return std::nullopt;
  Needed best = {kNoWay, false, 0};
  if (CanEnd(from)) Better({0, any_number_ && EndsFurther(from), BytesFromEnd(from)}, &best);
  const bool all_known = ForEachNext(from, [&](const LoopPlace& to) {
    const auto then = to.x == 0 ? Find(to) : Inside(to, depth + 1);
    if (!then.has_value()) return false;
    Better({then->rounds + (to.x == 0), then->any_number, then->bytes + 1}, &best);
    return true;
  });
  if (!all_known || best.rounds == kNoWay) return std::nullopt;
  known_.try_emplace(from.key(), best);
  return best;
}

// A shortest path, on which the last byte of an X counts one and others nothing; of these one with
// a place at which X's may be put in, if there is any.
std::optional<RoundsNeeded::Needed> RoundsNeeded::Search(const LoopPlace& from) {
  struct Step {
    uint32_t rounds;
    bool goes_on;
    LoopPlace place;
    uint32_t bytes;
  };
  Needed best = {kNoWay, false, 0};
  // Of the shortest way known to a place, twice; less one where it goes on.
  absl::flat_hash_map<uint64_t, uint32_t> known;
  std::deque<Step> open = {{0, any_number_ && CanGoOn(from), from, 0}};  // ascending rounds
  while (!open.empty()) {
    const Step at = open.front();
    open.pop_front();
    const bool all_known = best.any_number || !any_number_;
    if (at.rounds > best.rounds || (at.rounds == best.rounds && all_known)) break;
    const uint32_t cost = at.rounds * 2 + !at.goes_on;
    const auto [seen, is_new] = known.try_emplace(at.place.key(), cost);
    if (!is_new) {
      if (seen->second <= cost) continue;
      seen->second = cost;
    }
    std::optional<Needed> then;
    if (const auto it = known_.find(at.place.key()); it != known_.end()) {
      then = it->second;
    } else {
      then = Follow(at.place);
    }
    if (then.has_value()) {
      Better({at.rounds + then->rounds, at.goes_on || then->any_number, at.bytes + then->bytes},
             &best);
      continue;
    }
    if (CanEnd(at.place)) {
      Better({at.rounds, any_number_ && (at.goes_on || EndsFurther(at.place)),
              at.bytes + BytesFromEnd(at.place)},
             &best);
    }
    if (++explored_ > kMostExplored || terms_.overrun()) return std::nullopt;
    ForEachNext(at.place, [&](const LoopPlace& to) {
      const bool goes_on = at.goes_on || (any_number_ && CanGoOn(to));
      const Step next = {at.rounds + (to.x == 0), goes_on, to, at.bytes + 1};
      to.x == 0 ? open.push_back(next) : open.push_front(next);
      return true;
    });
  }
  if (best.rounds == kNoWay) return std::nullopt;  // a search for emptiness went over its limit
  best.any_number &= any_number_;
  known_.try_emplace(from.key(), best);
  return best;
}

std::optional<RoundsNeeded::Needed> RoundsNeeded::Find(const LoopPlace& from) {
  if (const auto it = known_.find(from.key()); it != known_.end()) return it->second;
  if (const auto found = from.x == 0 ? Follow(from) : Inside(from, 0)) return found;
  return Search(from);
}

}  // namespace grammask::internal
