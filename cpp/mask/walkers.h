// How a walk of a trie of tokens moves: the places of the parser, and what is asked of each.
#ifndef GRAMMASK_MASK_WALKERS_H_
#define GRAMMASK_MASK_WALKERS_H_

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/json_bytes.h"
#include "base/tables.h"
#include "mask/leaving_nodes.h"
#include "mask/regions.h"
#include "parser/set_table.h"
#include "vocab/trie_alphabets.h"

namespace grammask::internal {

// The loop of a set: that of one of its items, or, where it is known to lead to itself by some byte
// (`loops`), its own, as far as its ASCII bytes have been stepped, so that it may turn out larger
// later.
WalkLoop LoopOf(SetTable& sets, SetId set, bool loops);
// The loop of a state.
WalkLoop LoopOf(TermStore& terms, TermId state);
// False where a state is seen, without its edges, to be another one after each byte.
bool MayLeadBack(const TermStore& terms, TermId state);
// What a state, or some item of a set, can read in any order without being dead, wherever it leads.
WalkLoop RegionOf(TermStore& terms, Regions* regions, TermId state);
WalkLoop RegionOf(SetTable& sets, Regions* regions, SetId set);

// A state that reads a text, byte by byte: which text, and what is then left.
struct LiteralRun {
  std::string_view text;
  bool json = false;        // as in a JSON string: each character may be spelled in another way
  size_t read = 0;          // bytes of `text`
  TermId tail;              // after the text
  uint64_t completion = 0;  // length of the shortest text that completes the state from here

  // False where the state is none such.
  bool Begin(const TermStore& terms, TermId state);
  // The next byte, where it is the only one but for a backslash.
  bool IsPlain() const {
    const auto b = static_cast<uint8_t>(text[read]);
    return !json || !IsSpecialByte(b);
  }
  // Whether a backslash may be read instead.
  bool MaySpell() const { return json && (static_cast<uint8_t>(text[read]) & 0xC0) != 0x80; }
  // After a byte: goes on with the tail where that begins with a text, too. False at the end.
  bool Next(const TermStore& terms);
  // The state at this place. Lock.
  TermId Rest(TermStore& terms) const;

 private:
  bool Split(const TermStore& terms, TermId state);
};

// What walks ask of a place of the parser, a set or a state, kept at hand.
struct WalkPlace {
  bool text = false;         // reads a text byte by byte: `run`
  bool escaping = false;     // a state of unknown context may be finished here
  bool looked = false;       // `loop` is known
  bool loops = false;        // as that of a place that leads to itself
  bool open = false;         // a state that is rather walked as a set
  bool roamed = false;       // `region` is known
  bool asked = false;        // `stays` is known but for what is beyond ASCII
  bool asked_leads = false;  // that, too
  bool asked_some = false;   // `some` is known
  uint64_t completion = 0;   // in an unknown context: the longest of the items' shortest texts
  uint64_t after = 0;        // the same after any text below, where TakesAll() has just said so
  WalkLoop loop;
  WalkLoop region;
  // Characters by which the place leads to itself, the very same. Where it has any beyond ASCII, it
  // reads nothing that is no UTF-8, and nothing else inside these characters.
  Alphabet stays;
  // Others that do, of first bytes of which not all do; where not asked for, or none: null.
  const SomeCharacters* some = nullptr;
  LiteralRun run;
};
struct SetPlace : WalkPlace {
  SetId id;  // Dead() is none
  // Of its table; null where that was not asked for.
  const uint16_t* class_of = nullptr;
  std::atomic<uint32_t>* targets = nullptr;
  const uint8_t* few = nullptr;  // the bytes that it reads, where these are few
  const uint8_t* few_end = nullptr;
};
struct StatePlace : WalkPlace {
  TermId id;              // Nothing() is none
  mutable SetId as_set;   // that of the state, once known
  bool expanded = false;  // the rest is known, and `open`
  const ByteEdge* edges = nullptr;
  const ByteEdge* edges_end = nullptr;
  bool few = false;  // its bytes are few
};

// What a step from a node of the path reads. `children`, of a node with many in a place that reads
// few bytes: the node's children by byte; these are then looked up, from the next byte on. `end`:
// where the node's subtree does.
struct SetLevel {
  const uint16_t* class_of;
  std::atomic<uint32_t>* targets;
  SetId id;
  const uint32_t* children;
  const uint8_t* next_byte;
  const uint8_t* end_bytes;
  uint32_t end;
  uint32_t roams = 0;  // the level whose region all below may roam, and one; 0 for none
};
struct StateLevel {
  const ByteEdge* edge;  // children come in the order of their bytes, and so do edges
  const ByteEdge* edges_end;
  TermId id;
  const uint32_t* children;
  int next_byte;
  uint32_t end;
  uint32_t roams = 0;  // likewise
};

// Tokens that are taken without a look, from a place on: what any of them then needs to be
// complete, at the most.
struct WalkWhole {
  uint64_t after;
};
template <class Id>
struct WholeFrom : WalkWhole {
  Id id;
};

// What the places below a node may read in any order, down to a depth.
template <class Id>
struct Roaming {
  WalkLoop loop;
  bool region;  // or the loop of the place
  uint64_t deepest;
  WholeFrom<Id> from;
};

// A walk from one node that leaves the place of `level` to the next, below a node that ends at
// `end`. It is at or below the one that ends at `stop`.
template <class Level, class Id>
struct Leap {
  std::shared_ptr<const LeavingSet> leaving;
  NodeCursor cursor;
  bool beyond_ascii;  // some characters are that lead from the place to itself
  uint32_t stop, end;
  Level level;
  WholeFrom<Id> from;
};

// Of states without their bounds: first bytes beyond ASCII that were looked at, and those that
// loop.
struct LooseLeads {
  uint64_t looked = 0, loop = 0;
};

// What is kept of one kind of walk: the path, and the places met lately.
template <class PlaceOf, class LevelOf>
struct WalkLane {
  using Place = PlaceOf;
  using Level = LevelOf;
  using Id = decltype(Place::id);
  static constexpr size_t kRows = 64;
  std::vector<Level> levels;
  std::vector<Roaming<Id>> roaming;  // by level
  std::vector<Leap<Level, Id>> leaps;
  Place places[kRows][2];    // by id
  uint8_t last[kRows] = {};  // the one used last
};
using SetLane = WalkLane<SetPlace, SetLevel>;
using StateLane = WalkLane<StatePlace, StateLevel>;

// What is kept between walks of one SetTable.
struct WalkScratch {
  SetLane by_set;
  StateLane by_state;
  LeavingNodes leaving;
  absl::flat_hash_map<uint32_t, LooseLeads> loose;  // by state
  Regions regions;
  TableVector<uint16_t> numbers;  // of tokens, see counted.cc
  uint32_t in_vain = 0;           // places in this mask that were asked for a loop, and had none
};

// What both walkers keep at hand.
template <class Lane>
class WalkerOf {
 public:
  using Id = typename Lane::Id;
  using Place = typename Lane::Place;
  using Level = typename Lane::Level;
  std::vector<Level>& levels() { return lane_.levels; }
  std::vector<Roaming<Id>>& roaming() { return lane_.roaming; }
  std::vector<Leap<Level, Id>>& leaps() { return lane_.leaps; }
  LeavingNodes& leaving() { return scratch_.leaving; }
  uint32_t& in_vain() { return scratch_.in_vain; }

 protected:
  WalkerOf(WalkScratch* scratch, Lane* lane) : scratch_(*scratch), lane_(*lane) {}
  // Where a place is kept; it may hold another. Of two the one that was not used last is given up.
  Place& SlotOf(Id id) {
    const uint32_t row = id.value % Lane::kRows;
    uint8_t& last = lane_.last[row];
    Place* const places = lane_.places[row];
    if (places[last].id != id) last ^= 1;
    return places[last];
  }

  WalkScratch& scratch_;

 private:
  Lane& lane_;
};

// How the walk moves between sets of items.
class SetWalker : public WalkerOf<SetLane> {
 public:
  SetWalker(SetTable* sets, WalkScratch* scratch)
      : WalkerOf(scratch, &scratch->by_set), sets_(*sets) {}

  static bool IsDead(SetId id) { return id == SetTable::Dead(); }
  Place& Of(SetId id) {
    Place& at = SlotOf(id);
    if (at.id != id) [[unlikely]]
      Meet(id, &at);
    return at;
  }
  // Whether Loop() may tell more than is known of a place that `byte` has led to.
  static bool NeedsLook(const Place& at, bool loops, uint8_t byte) {
    return loops ? !at.loops || (byte < 0x80 && !at.loop.alphabet.Contains(byte)) : !at.looked;
  }
  WalkLoop Loop(SetId id, bool loops) { return LoopOf(sets_, id, loops); }
  WalkLoop Region(SetId id) { return RegionOf(sets_, &scratch_.regions, id); }
  void LookAtLeads(WalkLoop* region, uint64_t leads) {
    scratch_.regions.LookAtLeads(sets_.terms(), leads, region);
  }
  // Looks at characters that begin with one of `leads`.
  void LookAtLeads(Place* at, uint64_t leads);
  // Finds WalkPlace::stays of a place that is entered and whose loop is known, of characters beyond
  // ASCII where `leads`.
  void FindStays(Place* at, bool leads);
  // Finds WalkPlace::some of such a place.
  void FindSome(Place* at);

  // What is asked of a place that is entered, and has so many nodes below. A set of which few steps
  // are asked has no table yet: it may do with the first of them.
  void Need(Place* at, uint32_t below) {
    if (at->class_of == nullptr || at->class_of == kOneClass.data()) [[unlikely]]
      TakeTable(at, below);
  }
  static void Enter(const Place* at, uint32_t end, Level* level) {
    level->class_of = at->class_of;
    level->targets = at->targets;
    level->id = at->id;
    level->children = nullptr;
    level->end = end;
    level->roams = 0;
  }
  static bool ReadsFew(const Place& at) { return at.few != nullptr; }
  static void LookUp(const Place& at, const uint32_t* children, Level* level) {
    level->children = children;
    level->next_byte = at.few;
    level->end_bytes = at.few_end;
  }
  // The next child that exists; 0 for none.
  static uint32_t NextChild(Level* level) {
    while (level->next_byte != level->end_bytes) {
      const uint32_t child = level->children[*level->next_byte++];
      if (child != 0) return child;
    }
    return 0;
  }
  // Where `byte` leads.
  Id Step(Level* level, uint8_t byte) {
    const uint16_t c = level->class_of[byte];
    if (c == 0) return SetTable::Dead();
    const uint32_t to = level->targets[c - 1].load(std::memory_order_acquire);
    if (to == SetTable::kNotYet) [[unlikely]]
      return sets_.Step(level->id, byte);
    return SetId(to);
  }
  // Whether no byte from the last one on leads anywhere.
  static bool Exhausted(const Level&) { return false; }
  // Begins with the bytes anew.
  void Rewind(Level*) const {}

  const TermStore& terms() const { return sets_.terms(); }
  // The set where a text is read up to the run's place; `from`: where it began.
  SetId After(const LiteralRun& run, SetId from);

 private:
  static constexpr uint32_t kWorthATable = 4;  // nodes below one
  // Of a set without a table all bytes are one class, whose target is not known.
  static const std::array<uint16_t, 256> kOneClass;
  static std::atomic<uint32_t> no_target;

  void Meet(SetId id, Place* at);
  void TakeTable(Place* at, uint32_t below);

  SetTable& sets_;
};

// How it moves between states alone, in an unknown context: what a state reads needs no set as long
// as it calls no procedure. Most sets would be of a few bytes, and met in one mask only. A state
// that reads many ranges is left to sets all the same: these look a byte up instead of searching
// it.
class StateWalker : public WalkerOf<StateLane> {
 public:
  StateWalker(TermStore* terms, WalkScratch* scratch)
      : WalkerOf(scratch, &scratch->by_state), terms_(*terms) {}

  static bool IsDead(TermId id) { return id == TermStore::Nothing(); }
  Place& Of(TermId id) {
    Place& at = SlotOf(id);
    if (at.id != id) [[unlikely]]
      Meet(id, &at);
    return at;
  }
  static bool NeedsLook(const Place& at, bool, uint8_t) { return !at.looked; }
  WalkLoop Loop(TermId id, bool) { return LoopOf(terms_, id); }
  WalkLoop Region(TermId id) { return RegionOf(terms_, &scratch_.regions, id); }
  void LookAtLeads(WalkLoop* region, uint64_t leads) {
    scratch_.regions.LookAtLeads(terms_, leads, region);
  }
  void LookAtLeads(Place* at, uint64_t leads);
  void FindStays(Place* at, bool leads);
  void FindSome(Place* at);

  void Need(Place* at, uint32_t) {
    if (!at->expanded) [[unlikely]]
      TakeEdges(at);
  }
  static void Enter(const Place* at, uint32_t end, Level* level) {
    *level = {at->edges, at->edges_end, at->id, nullptr, -1, end, 0};
  }
  static bool ReadsFew(const Place& at) { return at.few; }
  static void LookUp(const Place&, const uint32_t* children, Level* level) {
    level->children = children;
  }
  static uint32_t NextChild(Level* level) {
    for (; level->edge != level->edges_end; ++level->edge) {
      level->next_byte = std::max<int>(level->next_byte, level->edge->lo);
      while (level->next_byte <= level->edge->hi) {
        const uint32_t child = level->children[level->next_byte++];
        if (child != 0) return child;
      }
    }
    return 0;
  }
  static Id Step(Level* level, uint8_t byte) {
    while (level->edge != level->edges_end && level->edge->hi < byte) ++level->edge;
    if (Exhausted(*level) || byte < level->edge->lo) return TermStore::Nothing();
    return level->edge->to;
  }
  static bool Exhausted(const Level& level) { return level.edge == level.edges_end; }
  void Rewind(Level* level) const { level->edge = terms_.Expand(level->id).bytes.data(); }

  const TermStore& terms() const { return terms_; }
  TermId After(const LiteralRun& run, TermId from);

 private:
  void Meet(TermId id, Place* at);
  void TakeEdges(Place* at);

  TermStore& terms_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_WALKERS_H_
