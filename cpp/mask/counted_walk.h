// A walk of the vocabulary's trie in a counted loop.
#ifndef GRAMMASK_MASK_COUNTED_WALK_H_
#define GRAMMASK_MASK_COUNTED_WALK_H_

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "mask/rounds_needed.h"
#include "mask/slice.h"
#include "mask/trie_walk.h"
#include "vocab/vocab.h"

namespace grammask::internal {

// A place of the walk: in the loop, or what follows where it has been left.
struct CountedPlace {
  LoopPlace at;
  bool left = false;
  bool escaping = false;
  bool asked = false;  // what is needed
  RoundsNeeded::Needed needed = {};
  const uint16_t* to = nullptr;  // by byte, numbers of places; once entered
  // Of ASCII, and beyond: characters that are an X each and lead back here, once looked for.
  bool looked = false, looked_leads = false;
  Alphabet stays;
  bool absorbing = false;  // the loop may end, wherever ASCII X's lead
};

// Not thread-safe.
class CountedWalk {
 public:
  static constexpr uint32_t kMostNumber = 0x7FFE;  // X's, of a token and after it

  // See CountedTokens::Create. `any_number`: see RoundsNeeded.
  CountedWalk(const Vocab& vocab, SetTable* sets, TermId loose, TermId x, TermId rest,
              const RoundTable& table, bool any_number, WalkScratch* scratch);

  // Whether leaving the loop for the rest shows before an X has ended.
  bool Fits();

  // Walks the trie from the loop, but not below nodes of which no token is longer than `same`
  // bytes. Each of these returns whether to go on:
  //   taker.Left(node, state, rounds)     the loop is left there; all below is the taker's;
  //   taker.Over(node, escaped)           more than `most` X's would be needed, there and below;
  //   taker.Inside(node, place, ended, escaped)
  //                                       a node inside, after so many X's;
  //   taker.Below(first, end, place, begun)
  //                                       the tokens at [first, end) of the trie's order: each is
  //                                       of `begun` characters more than it has X's, and then
  //                                       needs what `place` does.
  // `escaped`: the loop could be left there or before. Null where it cannot be told what a place
  // needs, else whether the walk came to its end.
  template <class Taker>
  std::optional<bool> Run(int64_t most, uint64_t same, Taker&& taker);

 private:
  static constexpr uint16_t kNowhere = 0xFFFF;
  static constexpr size_t kMostPlaces = 8192;
  static constexpr uint32_t kFewDeep = 32;  // the share of the trie's nodes that are walked at most
  struct Level {
    uint32_t rounds = 0;  // X's that have ended
    uint16_t place = 0;
    bool escaped = false;
    const uint16_t* to = nullptr;  // of the place, once it is known to have been entered
  };
  // From one node that leads away from a place to the next: the walk is at or below the one that
  // ends at `stop`.
  struct Jumps {
    std::shared_ptr<const NodeSet> leading;
    NodeCursor cursor;
    uint32_t stop, end;
    Level from;
    uint32_t begun;
    bool beyond_ascii;
  };

  uint16_t NumberOf(const LoopPlace& at);
  bool Enter(uint16_t number);
  bool Ask(CountedPlace* place);
  bool Absorbs(TermId state);
  // Finds what leads back to a place, beyond ASCII where `leads`.
  void FindStays(CountedPlace* place, bool leads);
  // The same as far as it occurs below node i, once.
  void LookForStays(CountedPlace* place, uint32_t i) {
    const bool leads = alphabets_.below(i).leads != 0;
    if (!place->looked || (leads && !place->looked_leads)) [[unlikely]]
      FindStays(place, leads);
  }
  // Whether what is below node i is of X's that leave what the place needs as it is.
  bool KeepsBelow(CountedPlace* place, uint32_t i) {
    LookForStays(place, i);
    const Alphabet& below = alphabets_.below(i);
    return below.IsWithin(place->stays) ||
           (place->absorbing && below.leads == 0 && below.IsWithin(whole_));
  }
  void JumpBelow(uint32_t i, const Level& from);
  void SetStop() { stop_ = jumps_.empty() ? UINT32_MAX : jumps_.back().stop; }

  TermStore& terms_;
  WalkScratch& scratch_;
  const std::span<const TrieNode> nodes_;
  const TrieAlphabets& alphabets_;
  const uint32_t node_count_, longest_;
  const TermId loose_, rest_;
  const Alphabet whole_;  // characters that are an X each
  RoundsNeeded needed_;
  std::vector<CountedPlace> places_;
  absl::flat_hash_map<uint64_t, uint16_t> numbers_;
  std::deque<std::array<uint16_t, 256>> rows_;
  absl::flat_hash_map<uint32_t, bool> absorbs_;  // by state
  std::vector<Jumps> jumps_;
  uint32_t stop_ = UINT32_MAX;  // the end of the last one's node
};

template <class Taker>
std::optional<bool> CountedWalk::Run(int64_t most, uint64_t same, Taker&& taker) {
  std::vector<Level> path(longest_ + size_t{1});
  const uint32_t most_needed = kMostNumber - std::min(kMostNumber, longest_);
  const uint32_t enough = static_cast<uint32_t>(std::min<int64_t>(most, most_needed));
  bool going = true;
  // Of few nodes, and those of the longest tokens are few, each is looked at.
  const bool leaps = alphabets_.count_deeper(same) * uint64_t{kFewDeep} > node_count_;
  // Where the walk goes on from the end of what was jumped to.
  auto next = [&](uint32_t i) {
    while (i >= stop_) {
      Jumps& jump = jumps_.back();
      while (true) {
        const uint32_t met = jump.cursor.Next(i, jump.end);
        going =
            taker.Below(nodes_[i].tokens, nodes_[met].tokens, places_[jump.from.place], jump.begun);
        i = met;
        if (i == jump.end || !going) break;
        const TrieNode& node = nodes_[i];
        const uint32_t rounds = alphabets_.characters(i) - 1 - jump.begun;
        if (rounds + places_[jump.from.place].needed.rounds > most) {
          // On the way here.
          going = taker.Over(i, jump.from.escaped);
          if (!going) break;
        } else if ((same == 0 || alphabets_.deepest(i) > same) &&
                   !(jump.beyond_ascii && scratch_.leaving.IsBroken(alphabets_, i))) {
          // Mostly to where all below stays, as once a search has found something.
          const uint16_t* const targets = places_[jump.from.place].to;
          const uint16_t to = targets == nullptr ? kNowhere : targets[node.byte];
          CountedPlace* const place = to == kNowhere ? nullptr : &places_[to];
          if (place != nullptr && place->asked && place->at.x == 0 && !place->escaping &&
              rounds + 1 + place->needed.rounds <= enough && KeepsBelow(place, i)) {
            going = taker.Below(nodes_[i].tokens, nodes_[node.end].tokens, *place, jump.begun);
            if (!going) break;
            i = node.end;
            continue;
          }
          stop_ = jump.stop = node.end;
          path[node.depth - 1u] = jump.from;
          path[node.depth - 1u].rounds = rounds;
          return i;
        }
        i = node.end;
      }
      if (!going) return node_count_;
      jumps_.pop_back();
      SetStop();
    }
    return i;
  };
  jumps_.clear();
  SetStop();
  const uint16_t first = NumberOf({loose_, 0});
  if (!Ask(&places_[first]) ||
      places_[first].needed.rounds > std::min<int64_t>(most, most_needed)) {
    return std::nullopt;
  }
  path[0] = {.place = first, .escaped = places_[first].escaping};
  if (leaps && !places_[first].escaping) JumpBelow(0, path[0]);
  for (uint32_t i = 1;;) {
    if (i >= stop_) [[unlikely]]
      i = next(i);
    if (i >= node_count_) break;
    const TrieNode& node = nodes_[i];
    Level& from = path[node.depth - 1u];
    if (from.to == nullptr) [[unlikely]] {
      if (places_[from.place].to == nullptr && !Enter(from.place)) return std::nullopt;
      from.to = places_[from.place].to;
    }
    const uint16_t number = from.to[node.byte];
    if (number == kNowhere || (same != 0 && alphabets_.deepest(i) <= same)) {
      i = node.end;
      continue;
    }
    CountedPlace& place = places_[number];
    if (!place.asked) [[unlikely]] {
      if (place.left) {
        if (!taker.Left(i, place.at.state, from.rounds)) return false;
        i = node.end;
        continue;
      }
      if (!Ask(&place)) return std::nullopt;
    }
    const uint32_t ended = from.rounds + (place.at.x == 0);
    // It never gets less on the way on.
    if (ended + place.needed.rounds > enough) [[unlikely]] {
      if (ended + place.needed.rounds > most_needed) return std::nullopt;
      if (!taker.Over(i, from.escaped)) return false;
      i = node.end;
      continue;
    }
    const bool escaped = from.escaped || place.escaping;
    if (!taker.Inside(i, place, ended, escaped)) return false;
    path[node.depth] = {ended, number, escaped, place.to};
    // Half of all nodes are leaves, in no order that the processor could foresee: they are no case
    // of their own.
    if (!node.leaf && place.at.x == 0 && !place.escaping) {
      if (KeepsBelow(&place, i)) {
        if (!taker.Below(nodes_[i + 1].tokens, nodes_[node.end].tokens, place,
                         alphabets_.characters(i) - ended)) {
          return false;
        }
        i = node.end;
        continue;
      }
      if (leaps && node.end - i >= LeavingNodes::kWorth) JumpBelow(i, path[node.depth]);
    }
    ++i;
  }
  return going;
}

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_COUNTED_WALK_H_
