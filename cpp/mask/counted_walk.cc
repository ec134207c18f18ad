// The places of a walk in a counted loop.
//
// A walk near a bound sees much of the vocabulary's trie, as tokens of ten letters and digits go
// with a search in many ways, and few places: the states of the pattern, each with how much of an X
// has been read. So each place has a table by byte, made when the walk first goes on below a node
// that led there, and a node takes some instructions: where it leads, how many X's have ended, how
// many are needed from there on.
//
// What most characters lead back to, such as a search that has met nothing, is leapt over: the walk
// goes from one node that leads away to the next (leaving_nodes.h). Tokens in between are given to
// the taker as one range.
//
// A byte with which no X goes on leaves the loop. That may be inside what began as an X: after five
// letters and digits a hyphen may be spelled `\u002d`, and only its last digits tell it from a
// letter. So an X counts where it ends.
//
// Cost: some 5 ns a node, 1 us for each place. Tests: tests/mask/counted_test.cc.
#include "mask/counted_walk.h"

#include "mask/slice.h"

namespace grammask::internal {
namespace {

constexpr size_t kMostAbsorbing = 8;  // states
constexpr size_t kMostAlike = 64;     // places at which a text may be an X's and what follows

}  // namespace

CountedWalk::CountedWalk(const Vocab& vocab, SetTable* sets, TermId loose, TermId x, TermId rest,
                         const RoundTable& table, bool any_number, WalkScratch* scratch)
    : terms_(sets->terms()),
      scratch_(*scratch),
      nodes_(vocab.nodes()),
      alphabets_(vocab.alphabets()),
      node_count_(static_cast<uint32_t>(vocab.node_count())),
      longest_(static_cast<uint32_t>(vocab.max_token_bytes())),
      loose_(loose),
      rest_(rest),
      whole_(Slice::Characters(table)),
      needed_(&terms_, x, rest, table, any_number) {}

bool CountedWalk::Fits() {
  std::vector<LoopPlace> places = {{rest_, 0}};
  for (size_t i = 0; i < places.size(); ++i) {
    const LoopPlace at = places[i];
    if (places.size() > kMostAlike || (i > 0 && terms_.term(at.state).nullable)) return false;
    const Expansion& e = terms_.Expand(at.state);
    if (!e.calls.empty() || !e.tokens.empty()) return false;
    for (const ByteEdge& edge : e.bytes) {
      for (int b = edge.lo; b <= edge.hi; ++b) {
        const uint32_t x = needed_.XAfter(at.x, b);
        if (x == Slice::kRefused) continue;
        // Characters beyond ASCII are passed over in whole.
        if (x == 0 || (i == 0 && b >= 0x80)) return false;
        AddNew({edge.to, x}, &places);
      }
    }
  }
  return true;
}

// The number of a place, which may be a new one.
uint16_t CountedWalk::NumberOf(const LoopPlace& at) {
  const auto [it, added] = numbers_.try_emplace(at.key(), static_cast<uint16_t>(places_.size()));
  if (!added) return it->second;
  CountedPlace& place = places_.emplace_back();
  place.at = at;
  place.left = at.x == Slice::kRefused;
  place.escaping = terms_.term(at.state).nullable;
  return it->second;
}

// Finds where each byte leads; false where that are too many places.
bool CountedWalk::Enter(uint16_t number) {
  const LoopPlace at = places_[number].at;
  std::array<uint16_t, 256>& row = rows_.emplace_back();
  row.fill(kNowhere);
  for (const ByteEdge& edge : terms_.Expand(at.state).bytes) {
    uint32_t last = 0;
    uint16_t to = kNowhere;
    for (int b = edge.lo; b <= edge.hi; ++b) {
      const uint32_t x = needed_.XAfter(at.x, b);
      if (b == edge.lo || x != last) to = NumberOf({edge.to, x});
      last = x;
      row[static_cast<size_t>(b)] = to;
    }
  }
  places_[number].to = row.data();
  return places_.size() <= kMostPlaces;
}

bool CountedWalk::Ask(CountedPlace* place) {
  const auto needed = needed_.Find(place->at);
  if (!needed.has_value()) return false;
  place->needed = *needed;
  place->asked = true;
  return true;
}

// Whether the loop may end, but the state need not, after any text of ASCII X's from here on: so it
// is once a search has found what it looks for, in whichever state that leaves it.
bool CountedWalk::Absorbs(TermId state) {
  const auto [it, added] = absorbs_.try_emplace(state.value, false);
  if (!added) return it->second;
  std::vector<TermId> states = {state};
  for (size_t i = 0; i < states.size(); ++i) {
    const TermId at = states[i];
    if (states.size() > kMostAbsorbing || terms_.term(at).nullable || !needed_.CanEnd({at, 0})) {
      return false;
    }
    Alphabet read;
    for (const ByteEdge& e : terms_.Expand(at).bytes) {
      Alphabet by;
      AddAscii(e, &by);
      const bool leads = ((by.low & whole_.low) | (by.high & whole_.high)) != 0;
      if (leads && std::ranges::find(states, e.to) == states.end()) states.push_back(e.to);
      AddAscii(e, &read);
    }
    if (((whole_.low & ~read.low) | (whole_.high & ~read.high)) != 0) return false;
  }
  for (TermId s : states) absorbs_[s.value] = true;
  return true;
}

void CountedWalk::FindStays(CountedPlace* place, bool leads) {
  StateWalker walker(&terms_, &scratch_);
  StatePlace& at = walker.Of(place->at.state);
  walker.Need(&at, UINT32_MAX);
  walker.FindStays(&at, leads);
  place->stays = at.stays;
  place->stays.low &= whole_.low;
  place->stays.high &= whole_.high;
  // All of them or none: what is no X leaves the loop, maybe inside a character.
  if (!leads || (place->stays.leads & ~whole_.leads) != 0) place->stays.leads = 0;
  if (!place->looked) place->absorbing = place->needed.rounds == 0 && Absorbs(place->at.state);
  place->looked = true;
  place->looked_leads = leads;
}

// Begins to jump below node i, where most characters are an X each and lead back to where it is.
void CountedWalk::JumpBelow(uint32_t i, const Level& from) {
  CountedPlace& place = places_[from.place];
  LookForStays(&place, i);
  if (place.stays.AsciiSize() < LeavingNodes::kWideLoop ||
      !LeavingNodes::HoldBelow(alphabets_, place.stays, i, nodes_[i].depth)) {
    return;
  }
  std::shared_ptr<const NodeSet> leading =
      scratch_.leaving.Of(alphabets_, place.stays, nodes_[i].end - i);
  if (leading == nullptr) return;
  const NodeCursor cursor(*leading, nodes_, alphabets_);
  jumps_.push_back({std::move(leading), cursor, i + 1, nodes_[i].end, from,
                    alphabets_.characters(i) - from.rounds, place.stays.leads != 0});
  SetStop();
}

}  // namespace grammask::internal
