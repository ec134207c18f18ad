// Two states to the tokens that tell them apart, where one takes whatever the other does.
//
// A bound, an exclusion or a first round that must be makes a state narrower than one that has a
// mask already. The trie is walked in both states at once, and only where they are in different
// places: where they meet there is nothing to tell below, nor where each stays where it is whatever
// comes. What the narrower one refuses is one subtree after another.
//
// Where only bounds tell them apart, tokens too short to come near one tell nothing; and where a
// token has not used up much of its bound by the time that it has read some bytes, more of them are
// too short than seemed so at first: of nine words left, what is left of a token that has begun
// with a long one.
//
// The walk meets few pairs of places and many nodes: a pair has a row by byte, as a set has, and a
// node is a step of one table. Where most characters leave both states where they are, it goes from
// one node that leads away to the next (leaving_nodes.h).
//
// Cost: about 10 ns a node, 1 us for each pair. Tests: tests/mask/refused_test.cc, counted_test.cc,
// mask_test.cc.
#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/tables.h"
#include "mask/along.h"
#include "mask/draft.h"
#include "mask/mask_cache.h"
#include "mask/trie_walk.h"

namespace grammask::internal {
namespace {

constexpr uint32_t kWorthARow = 8;       // nodes below one
constexpr uint32_t kWorthStaying = 16;   // likewise
constexpr uint32_t kWorthMeasuring = 4;  // likewise
constexpr int kMostWithin = 8;           // terms within terms that are compared
constexpr size_t kMostRows = 4096;       // of 1 KB

// Up to how many bytes long the texts of `wide` are those of `narrow`, which has upper bounds on
// loops that the other one lacks: each round of a loop takes some. 0 where they differ in anything
// else. Clears `plain` where conditions stand beside a loop, so that what is to come of a text
// counts as well: else it needs no more rounds. TermStore::LoosenAll() finds such a bound, too, and
// makes the state without it, which takes several times as long.
uint64_t SameUpTo(const TermStore& terms, TermId narrow, TermId wide, bool* plain,
                  int depth = kMostWithin) {
  if (narrow == wide) return UINT64_MAX;
  const Term &n = terms.term(narrow), &w = terms.term(wide);
  if (depth == 0 || n.kind != w.kind) return 0;
  auto same = [&](TermId x, TermId y) { return SameUpTo(terms, x, y, plain, depth - 1); };
  switch (n.kind) {
    case TermKind::kRepeat: {
      if (n.children()[0] != w.children()[0] || n.a != w.a || n.b > w.b) return 0;
      const uint64_t round = std::max<uint64_t>(terms.term(n.children()[0]).min_length, 1);
      const auto rounds = static_cast<uint64_t>(n.b);
      return rounds > UINT64_MAX / round ? UINT64_MAX : rounds * round;
    }
    case TermKind::kSequence: {
      const uint64_t head = same(n.few[0], w.few[0]);
      return head == 0 ? 0 : std::min(head, same(n.few[1], w.few[1]));
    }
    case TermKind::kChoice:
    case TermKind::kAnd: {
      if (n.kind == TermKind::kAnd) *plain = false;
      // One of the parts differs.
      const auto ours = n.children(), theirs = w.children();
      if (ours.size() != theirs.size()) return 0;
      auto is_in = [](TermId c, auto all) { return std::ranges::find(all, c) != all.end(); };
      TermId own, other;
      for (TermId c : ours) {
        if (is_in(c, theirs)) continue;
        if (own != TermId()) return 0;
        own = c;
      }
      for (TermId c : theirs) {
        if (!is_in(c, ours)) other = c;
      }
      return own == TermId() || other == TermId() ? 0 : same(own, other);
    }
    default:
      return 0;
  }
}

// Where both states are after the same bytes.
struct PairPlace {
  enum class Kind : uint8_t {
    kAlike,    // in the same state, in whichever form
    kRefused,  // the narrower one is dead
    kClash,    // one is finished here and the other is not
    kApart,
  };
  SetId narrow, wide;
  Kind kind = Kind::kApart;
  bool escaping = false;                    // the wider one, and so the narrower
  bool simple = false;                      // each of one item
  bool asked = false, asked_leads = false;  // `stays` is known, of ASCII and beyond
  bool measured = false;                    // `room` is known
  uint64_t left = 0;                        // the longest of the narrower items' shortest texts
  uint64_t room = 0;                        // see PairPlaces::Room
  Alphabet stays;                           // characters by which each leads to itself
  uint32_t* to = nullptr;                   // by byte, numbers of places
};

class PairPlaces {
 public:
  // `completion`: what completes the wider one after any token, at the most; UINT64_MAX where that
  // is not known.
  PairPlaces(SetTable* sets, WalkScratch* scratch, uint64_t completion)
      : sets_(*sets), terms_(sets->terms()), walker_(sets, scratch), completion_(completion) {}

  const PairPlace& operator[](uint32_t number) const { return *places_[number]; }

  uint32_t NumberOf(SetId narrow, SetId wide) {
    const auto [it, added] =
        numbers_.try_emplace({narrow.value, wide.value}, static_cast<uint32_t>(places_.size()));
    if (added) places_.push_back(std::make_unique<PairPlace>(Make(narrow, wide)));
    return it->second;
  }

  // Where `byte` leads; `below`: nodes that are still to come from there.
  uint32_t After(uint32_t from, uint8_t byte, uint32_t below) {
    PairPlace& place = *places_[from];
    if (place.to == nullptr) {
      if (below < kWorthARow || rows_.size() == kMostRows) return Step(place, byte);
      rows_.emplace_back().fill(kNotYet);
      place.to = rows_.back().data();
    }
    uint32_t* const to = place.to + byte;
    if (*to == kNotYet) *to = Step(place, byte);
    return *to;
  }

  // PairPlace::stays, beyond ASCII as well where `leads`.
  const Alphabet& Stays(uint32_t number, bool leads) {
    PairPlace& place = *places_[number];
    if (!place.simple || (place.asked && (place.asked_leads || !leads))) return place.stays;
    place.asked = true;
    place.asked_leads |= leads;
    // The wider one first: it is the one that others have walked.
    Alphabet stays = StaysOf(place.wide, leads);
    if (!stays.empty()) {
      const Alphabet narrow = StaysOf(place.narrow, leads);
      stays = {.low = stays.low & narrow.low,
               .high = stays.high & narrow.high,
               .leads = stays.leads & narrow.leads};
    }
    place.stays = stays;
    return place.stays;
  }

  // Up to how many bytes more lead from the place to where both or none is dead, be it because a
  // bound is farther away.
  uint64_t Room(uint32_t number) {
    PairPlace& place = *places_[number];
    if (place.measured || !place.simple || completion_ == UINT64_MAX) return place.room;
    place.measured = true;
    const Item &narrow = sets_.Body(place.narrow).items[0], &wide = sets_.Body(place.wide).items[0];
    if (narrow.ret != kUnknown || wide.ret != kUnknown) return 0;
    bool plain = true;
    const uint64_t same = SameUpTo(terms_, narrow.term, wide.term, &plain);
    const uint64_t needed = plain ? 0 : completion_;
    if (same > needed) place.room = std::min<uint64_t>(same - needed, UINT32_MAX);
    return place.room;
  }

 private:
  static constexpr uint32_t kNotYet = UINT32_MAX;

  uint32_t Step(const PairPlace& from, uint8_t byte) {
    const SetId narrow = sets_.Step(from.narrow, byte), wide = sets_.Step(from.wide, byte);
    return NumberOf(narrow, wide);
  }

  PairPlace Make(SetId narrow, SetId wide) {
    PairPlace place{narrow, wide};
    place.kind = KindOf(narrow, wide);
    if (place.kind != PairPlace::Kind::kApart) return place;
    place.escaping = sets_.set(wide).escaping;
    place.simple = sets_.Body(narrow).items.size() == 1 && sets_.Body(wide).items.size() == 1;
    for (const Item& item : sets_.set(narrow).kernel) {
      if (item.ret != kUnknown) continue;
      place.left = std::max<uint64_t>(place.left, terms_.term(item.term).min_length);
    }
    return place;
  }

  PairPlace::Kind KindOf(SetId narrow, SetId wide) {
    if (narrow == wide) return PairPlace::Kind::kAlike;
    if (narrow == SetTable::Dead()) return PairPlace::Kind::kRefused;
    const Set &n = sets_.set(narrow), &w = sets_.set(wide);
    if (n.escaping != w.escaping) return PairPlace::Kind::kClash;
    const bool alike = n.kernel.size() == 1 && w.kernel.size() == 1 &&
                       n.kernel[0].ret == w.kernel[0].ret &&
                       terms_.SameSpread(n.kernel[0].term, w.kernel[0].term);
    return alike ? PairPlace::Kind::kAlike : PairPlace::Kind::kApart;
  }

  Alphabet StaysOf(SetId set, bool leads) {
    SetPlace& place = walker_.Of(set);
    if (!place.looked) LookForLoop(walker_, &place, false);
    if (place.loop.most != UINT64_MAX) return {};
    if (!place.asked || (leads && !place.asked_leads)) walker_.FindStays(&place, leads);
    return place.stays;
  }

  SetTable& sets_;
  TermStore& terms_;
  SetWalker walker_;
  const uint64_t completion_;
  std::vector<std::unique_ptr<PairPlace>> places_;  // by number
  std::deque<std::array<uint32_t, 256>> rows_;
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint32_t> numbers_;
};

}  // namespace

// The tokens that `wider` takes and `state` does not, up to `most`; false where that is not all
// that tells them apart. Walked is only where the two are in different states, and what is longer
// than `same` bytes: up to there they take the same tokens. `wider_completion`: that of the wider
// one's mask; UINT64_MAX where it is not known. `reach` and `completion`: as in Level1, of `state`
// where it was walked.
bool MaskCache::FindRefused(TermId state, TermId wider, uint64_t same, size_t most,
                            uint64_t wider_completion, TableVector<TokenRun>* refused,
                            uint64_t* reach, uint64_t* completion) {
  const auto nodes = vocab_->nodes();
  const TrieAlphabets& alphabets = vocab_->alphabets();
  const DraftLease draft(&drafts_);
  LeavingNodes& leaving = draft->scratch.leaving;
  PairPlaces places(&sets_, &draft->scratch, wider_completion);
  size_t count = 0;
  struct Level {
    uint32_t place;
    bool escaped;   // here or before
    uint64_t same;  // up to this depth they take the same tokens from here on
  };
  std::vector<Level> path(static_cast<size_t>(vocab_->max_token_bytes()) + 1);
  // Takes note of a place of `state`, of so many bytes, and of what it and `more` bytes then need.
  auto measure = [&](const PairPlace& at, uint64_t depth, uint64_t more) {
    const uint64_t left = at.left + more;
    *reach = std::max(*reach, depth + left);
    *completion = std::max(*completion, left);
  };
  // From one node that leads away from a place to the next: the walk is at or below the one that
  // ends at `stop`.
  struct Jump {
    std::shared_ptr<const NodeSet> leading;
    NodeCursor cursor;
    uint32_t stop, end;
    Level from;
    bool beyond_ascii;
  };
  std::vector<Jump> jumps;
  // The node to go on with from node i.
  auto next = [&](uint32_t i) {
    while (!jumps.empty() && i >= jumps.back().stop) {
      Jump& jump = jumps.back();
      while (true) {
        const uint32_t met = jump.cursor.Next(i, jump.end);
        const uint32_t first = nodes[i].tokens, end = nodes[met].tokens;
        if (first < end) {
          measure(places[jump.from.place], alphabets.longest(first, end),
                  jump.beyond_ascii ? LeavingNodes::kRestOfCharacter : 0);
        }
        i = met;
        if (i == jump.end) break;
        // A broken character leads nowhere from inside one that leads back.
        if (alphabets.deepest(i) > jump.from.same &&
            !(jump.beyond_ascii && leaving.IsBroken(alphabets, i))) {
          jump.stop = nodes[i].end;
          path[nodes[i].depth - 1u] = jump.from;
          return i;
        }
        i = nodes[i].end;
      }
      jumps.pop_back();
    }
    return i;
  };
  // Whether nothing below node i can tell the two apart, as both stay where they are; where most
  // characters do that, begins to jump below the node.
  auto stay = [&](uint32_t i, const Level& at) {
    const uint32_t below = nodes[i].end - i;
    if (below <= kWorthStaying) return false;
    const Alphabet& read = alphabets.below(i);
    const Alphabet& stays = places.Stays(at.place, read.leads != 0);
    if (read.IsWithin(stays)) {
      measure(places[at.place], alphabets.deepest(i),
              read.leads != 0 ? LeavingNodes::kRestOfCharacter : 0);
      return true;
    }
    if (below < LeavingNodes::kWorth || stays.AsciiSize() < LeavingNodes::kWideLoop ||
        !LeavingNodes::HoldBelow(alphabets, stays, i, nodes[i].depth)) {
      return false;
    }
    auto leading = leaving.Of(alphabets, stays, below);
    if (leading == nullptr) return false;
    const NodeCursor cursor(*leading, nodes, alphabets);
    jumps.push_back({std::move(leading), cursor, i + 1, nodes[i].end, at, stays.leads != 0});
    return false;
  };
  const auto narrow_edges = terms_.Expand(state).bytes;
  const auto wide_edges = terms_.Expand(wider).bytes;
  for (int b = 0; b < 256; ++b) {
    const auto byte = static_cast<uint8_t>(b);
    const uint32_t top = vocab_->root_child(byte);
    const TermId narrow_to = TargetOf(narrow_edges, byte), wide_to = TargetOf(wide_edges, byte);
    if (top == 0 || narrow_to == wide_to || alphabets.deepest(top) <= same) continue;
    const SetId narrow =
        narrow_to == TermStore::Nothing() ? SetTable::Dead() : sets_.InUnknownContext(narrow_to);
    const uint32_t first = places.NumberOf(narrow, sets_.InUnknownContext(wide_to));
    for (uint32_t i = top; i < nodes[top].end; i = next(i)) {
      const TrieNode& node = nodes[i];
      const Level from = i == top ? Level{first, false, same} : path[node.depth - 1u];
      if (alphabets.deepest(i) <= from.same) {
        i = node.end;
        continue;
      }
      const uint32_t to = i == top ? first : places.After(from.place, node.byte, node.end - i);
      const PairPlace& at = places[to];
      if (at.kind == PairPlace::Kind::kApart) {
        measure(at, node.depth, 0);
        Level level = {to, from.escaped || at.escaping, from.same};
        if (node.end - i > kWorthMeasuring) {
          level.same = std::max(level.same, node.depth + places.Room(to));
          if (alphabets.deepest(i) <= level.same) {
            i = node.end;
            continue;
          }
        }
        path[node.depth] = level;
        i = stay(i, level) ? node.end : i + 1;
        continue;
      }
      if (at.kind == PairPlace::Kind::kClash) return false;
      if (at.kind == PairPlace::Kind::kRefused) {
        const uint32_t end = nodes[node.end].tokens;
        AppendRun(node.tokens, end, refused);
        count += end - node.tokens;
        // It may have escaped before.
        if (from.escaped || count > most) return false;
      }
      i = node.end;
    }
  }
  return true;
}

}  // namespace grammask::internal
