// The one walk of a trie of tokens in step with the parser.
#ifndef GRAMMASK_MASK_TRIE_WALK_H_
#define GRAMMASK_MASK_TRIE_WALK_H_

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "mask/leaving_nodes.h"
#include "mask/regions.h"
#include "parser/set_table.h"
#include "vocab/trie.h"
#include "vocab/trie_alphabets.h"

namespace grammask::internal {

// The loop of a set: that of one of its items, or, where it is known to lead to itself by some byte
// (`loops`), its own, as far as its ASCII bytes have been stepped, so that it may turn out larger
// later.
WalkLoop LoopOf(SetTable& sets, SetId set, bool loops);
// The loop of a state.
WalkLoop LoopOf(TermStore& terms, TermId state);
// What a state, or some item of a set, can read in any order without being dead, wherever it leads.
WalkLoop RegionOf(TermStore& terms, Regions* regions, TermId state);
WalkLoop RegionOf(SetTable& sets, Regions* regions, SetId set);

// A state that reads a text, byte by byte: which text, and what is then left.
struct LiteralRun {
  std::string_view text;
  bool json;            // as in a JSON string: each character may be spelled in another way
  size_t read = 0;      // bytes of `text`
  TermId tail;          // after the text
  uint64_t completion;  // length of the shortest text that completes the state from here

  // False where the state is none such.
  bool Begin(const TermStore& terms, TermId state);
  // The next byte, where it is the only one but for a backslash.
  bool IsPlain() const {
    const auto b = static_cast<uint8_t>(text[read]);
    return !json || (b >= 0x20 && b != '"' && b != '\\');
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
  bool text = false;        // reads a text byte by byte
  bool escaping = false;    // a state of unknown context may be finished here
  bool looked = false;      // `loop` is known
  bool loops = false;       // as that of a place that leads to itself
  bool open = false;        // a state that is rather walked as a set
  bool roamed = false;      // `region` is known
  bool asked = false;       // `stays` is known but for what is beyond ASCII
  bool asked_leads = false;  // that, too
  uint64_t completion = 0;  // in an unknown context: the longest of the items' shortest texts
  uint64_t after = 0;       // the same after any text below, where TakesAll() has just said so
  WalkLoop loop;
  WalkLoop region;
  // Characters by which the place leads to itself, the very same. Where it has any beyond ASCII, it
  // reads nothing that is no UTF-8, and nothing else inside these characters.
  Alphabet stays;
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
  std::shared_ptr<const NodeSet> leaving;
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

// What is kept between walks of one SetTable: the path, and the places met lately.
struct WalkScratch {
  static constexpr size_t kPlaces = 128;
  std::vector<SetLevel> set_levels;
  std::vector<StateLevel> state_levels;
  std::vector<Roaming<SetId>> set_roaming;          // by level
  std::vector<Roaming<TermId>> state_roaming;       // likewise
  std::vector<Leap<SetLevel, SetId>> set_leaps;
  std::vector<Leap<StateLevel, TermId>> state_leaps;
  LeavingNodes leaving;
  absl::flat_hash_map<uint32_t, LooseLeads> loose;  // by state
  Regions regions;
  std::vector<uint16_t> numbers;  // of tokens, see counted.cc
  uint32_t in_vain = 0;           // places in this mask that were asked for a loop, and had none
  SetPlace sets[kPlaces];         // by id
  StatePlace states[kPlaces];     // by id
};

// How the walk moves between sets of items.
class SetWalker {
 public:
  using Id = SetId;
  using Place = SetPlace;
  using Level = SetLevel;
  SetWalker(SetTable* sets, WalkScratch* scratch) : sets_(*sets), scratch_(*scratch) {}

  static bool IsDead(SetId id) { return id == SetTable::Dead(); }
  std::vector<Level>& levels() { return scratch_.set_levels; }
  std::vector<Roaming<Id>>& roaming() { return scratch_.set_roaming; }
  std::vector<Leap<Level, Id>>& leaps() { return scratch_.set_leaps; }
  LeavingNodes& leaving() { return scratch_.leaving; }
  uint32_t& in_vain() { return scratch_.in_vain; }
  Place& Of(SetId id) {
    Place& at = scratch_.sets[id.value % WalkScratch::kPlaces];
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
  // Finds WalkPlace::stays of a place that is entered, of characters beyond ASCII where `leads`.
  void FindStays(Place* at, bool leads);

  // What is asked of a place that is entered.
  void Need(Place* at) {
    if (at->class_of == nullptr) [[unlikely]]
      TakeTable(at);
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
  TermId StateOf(SetId id) const { return sets_.set(id).kernel[0].term; }
  // The set where a text is read up to the run's place; `from`: where it began.
  SetId After(const LiteralRun& run, SetId from);

 private:
  void Meet(SetId id, Place* at);
  void TakeTable(Place* at);

  SetTable& sets_;
  WalkScratch& scratch_;
};

// How it moves between states alone, in an unknown context: what a state reads needs no set as long
// as it calls no procedure. Most sets would be of a few bytes, and met in one mask only. A state
// that reads many ranges is left to sets all the same: these look a byte up instead of searching
// it.
class StateWalker {
 public:
  using Id = TermId;
  using Place = StatePlace;
  using Level = StateLevel;
  StateWalker(TermStore* terms, WalkScratch* scratch) : terms_(*terms), scratch_(*scratch) {}

  static bool IsDead(TermId id) { return id == TermStore::Nothing(); }
  std::vector<Level>& levels() { return scratch_.state_levels; }
  std::vector<Roaming<Id>>& roaming() { return scratch_.state_roaming; }
  std::vector<Leap<Level, Id>>& leaps() { return scratch_.state_leaps; }
  LeavingNodes& leaving() { return scratch_.leaving; }
  uint32_t& in_vain() { return scratch_.in_vain; }
  Place& Of(TermId id) {
    Place& at = scratch_.states[id.value % WalkScratch::kPlaces];
    if (at.id != id) [[unlikely]]
      Meet(id, &at);
    return at;
  }
  static bool NeedsLook(const Place& at, bool, uint8_t) { return !at.looked; }
  WalkLoop Loop(TermId id, bool) { return Of(id).text ? WalkLoop() : LoopOf(terms_, id); }
  WalkLoop Region(TermId id) {
    return Of(id).text ? WalkLoop() : RegionOf(terms_, &scratch_.regions, id);
  }
  void LookAtLeads(WalkLoop* region, uint64_t leads) {
    scratch_.regions.LookAtLeads(terms_, leads, region);
  }
  void LookAtLeads(Place* at, uint64_t leads);
  void FindStays(Place* at, bool leads);

  void Need(Place* at) {
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
  static TermId StateOf(TermId id) { return id; }
  TermId After(const LiteralRun& run, TermId from);

 private:
  void Meet(TermId id, Place* at);
  void TakeEdges(Place* at);

  TermStore& terms_;
  WalkScratch& scratch_;
};

inline constexpr uint32_t kWorthRoaming = 32;  // nodes below one for which its region is found

// Whether the parser, in the place `at` at node `i`, takes all that is below; `loops`: it was in
// that place before the last byte, too; `worth`: nodes below for which the place's region is found.
template <class Walker>
bool TakesAll(Walker& walker, std::span<const TrieNode> nodes, const TrieAlphabets& alphabets,
              uint32_t i, typename Walker::Place* at, bool loops, uint32_t worth = kWorthRoaming) {
  constexpr uint32_t kWorthALook = 16;  // nodes below one
  constexpr uint32_t kLongWalk = 200;   // places that did not
  const TrieNode& node = nodes[i];
  if (Walker::NeedsLook(*at, loops, node.byte)) {
    if (!loops && node.end - i < kWorthALook) return false;
    at->loop = walker.Loop(at->id, loops);
    at->loop.size = at->loop.most == 0 ? 0 : at->loop.alphabet.AsciiSize();
    at->looked = true;
    at->loops = loops;
  }
  const Alphabet& below = alphabets.below(i);
  // `known`: the loop or the region of the place; what asks it for more first bytes.
  auto takes = [&](WalkLoop* known, auto* ask) {
    if (known->most == 0 || alphabets.deepest(i) - node.depth > known->most || below.other) {
      return false;
    }
    const Alphabet& taken = known->alphabet;
    if (((below.low & ~taken.low) | (below.high & ~taken.high)) != 0) return false;
    const uint64_t missing = below.leads & ~taken.leads;
    if (missing == 0) return true;
    if ((missing & known->looked) != 0) return false;
    walker.LookAtLeads(ask, missing);
    return (missing & ~taken.leads) == 0;
  };
  at->after = at->completion;
  if (takes(&at->loop, at)) return true;
  if (!at->roamed) {
    if (node.end - i < worth || ++walker.in_vain() < kLongWalk) return false;
    at->region = walker.Region(at->id);
    at->region.size = at->region.alphabet.AsciiSize();
    at->roamed = true;
  }
  at->after = std::max(at->completion, at->region.completion);
  return takes(&at->region, &at->region);
}

// What a walk calls for the nodes that it meets, in preorder:
//   visit(node, place)       a node that the parser can reach.
//   whole(node, from)        instead, where the parser, since the place `from`, is known to be not
//                            dead after any text below; the walk goes on after the node's subtree.
//   inside(node, completion) a node inside a text; completion: the length of the shortest text that
//                            completes the state from here.
//   open(node, place)        after visit(), a place that is `open`: the walk goes on after the
//   node's
//                            subtree, which is left to the caller.
//   stretch(first, end, from)  instead of visit(), for all nodes [first, end), at each of which the
//                            parser is in the place `from`, which does not escape, or inside a
//                            character after which it is. Where that is NoStretch, nodes are not
//                            passed over in this way.
struct NoStretch {};
template <class Visit, class Whole, class Inside, class Open, class Stretch = NoStretch>
struct WalkCalls {
  static constexpr bool kStretches = !std::is_same_v<Stretch, NoStretch>;
  Visit visit;
  Whole whole;
  Inside inside;
  Open open;
  Stretch stretch = {};
};
template <class Visit, class Whole, class Inside, class Open>
WalkCalls(Visit, Whole, Inside, Open) -> WalkCalls<Visit, Whole, Inside, Open>;
template <class Visit, class Whole, class Inside, class Open, class Stretch>
WalkCalls(Visit, Whole, Inside, Open, Stretch) -> WalkCalls<Visit, Whole, Inside, Open, Stretch>;

// Walks nodes [first, end) of a preorder trie, all those below node first - 1, of depth `depth`,
// which leads to the place `start`. A prefix that the parser refuses is skipped with all that
// begins with it. `alphabets`: of this trie; null where there are none. About 4 ns a node tried.
template <class Walker, class Calls>
void WalkTrie(Walker walker, std::span<const TrieNode> nodes, const TrieAlphabets* alphabets,
              uint32_t first, uint32_t end, uint32_t depth, typename Walker::Id start,
              Calls&& calls) {
  constexpr bool kLeaps = std::remove_cvref_t<Calls>::kStretches;
  constexpr uint32_t kNoStop = UINT32_MAX;
  constexpr uint32_t kWorthLeaping = 64;        // nodes below one
  constexpr int kWideLoop = 8;                  // characters that lead back
  constexpr uint64_t kRestOfCharacter = 3;      // bytes
  constexpr uint32_t kWorthJumping = 64;        // nodes below one
  constexpr uint32_t kWorthNoting = 32;         // likewise
  constexpr uint32_t kWorthRoamingAgain = 256;  // likewise
  static constexpr uint32_t kNoChildren[256] = {};
  using Place = typename Walker::Place;
  using Level = typename Walker::Level;
  std::vector<Level>& levels = walker.levels();
  auto level_at = [&](uint32_t i) -> Level& {
    const size_t level = nodes[i].depth - depth;
    if (level >= levels.size()) [[unlikely]]
      levels.resize(level + 16);
    return levels[level];
  };
  std::vector<Roaming<typename Walker::Id>>& roaming = walker.roaming();
  // What is known of node i from a place above it: below that it may roam.
  auto roams_above = [&](uint32_t i) -> Roaming<typename Walker::Id>* {
    if (nodes[i].depth == depth || alphabets == nullptr) return nullptr;
    const uint32_t at = levels[nodes[i].depth - depth - 1].roams;
    if (at == 0 || nodes[i].byte >= 0x80) return nullptr;
    Roaming<typename Walker::Id>& above = roaming[at - 1];
    return above.loop.alphabet.Contains(nodes[i].byte) ? &above : nullptr;
  };
  // Whether all at and below node i is taken by that.
  auto taken = [&](uint32_t i, Roaming<typename Walker::Id>* above) {
    const Alphabet& below = alphabets->below(i);
    const Alphabet& all = above->loop.alphabet;
    if (below.other || ((below.low & ~all.low) | (below.high & ~all.high)) != 0) return false;
    if (alphabets->deepest(i) > above->deepest) return false;
    const uint64_t missing = below.leads & ~all.leads;
    if (missing == 0) return true;
    if (!above->region || (missing & above->loop.looked) != 0) return false;
    walker.LookAtLeads(&above->loop, missing);
    return (missing & ~all.leads) == 0;
  };
  // Notes at the level of node i, in the place `at`, what all below may roam.
  auto roam = [&](Place& at, uint32_t i, Level* level) {
    const bool region = at.region.size > at.loop.size;
    const WalkLoop& best = region ? at.region : at.loop;
    if (const auto* above = roams_above(i); above != nullptr && above->loop.size > best.size) {
      level->roams = levels[nodes[i].depth - depth - 1].roams;
      return;
    }
    if (best.size == 0) return;
    const uint32_t here = nodes[i].depth - depth;
    if (here >= roaming.size()) roaming.resize(here + 16);
    const uint64_t deepest = best.most > UINT32_MAX ? UINT64_MAX : nodes[i].depth + best.most;
    const uint64_t after = region ? std::max(at.completion, best.completion) : at.completion;
    roaming[here] = {best, region, deepest, {{after}, at.id}};
    level->roams = here + 1;
  };
  // Whether all below node i, in the place `at`, is taken.
  auto takes_all = [&](uint32_t i, Place* at, bool loops) {
    return TakesAll(walker, nodes, *alphabets, i, at, loops,
                    roams_above(i) != nullptr ? kWorthRoamingAgain : kWorthRoaming);
  };
  std::vector<Leap<Level, typename Walker::Id>>& leaps = walker.leaps();
  leaps.clear();
  uint32_t stop = kNoStop;  // that of the last leap
  // Begins to leap below node i, in the place `at`, where most characters lead back to it. False
  // where that is not so.
  [[maybe_unused]] auto leap = [&](Place& at, uint32_t i) {
    if (alphabets == nullptr || nodes[i].end - i < kWorthLeaping || at.escaping) return false;
    if (!at.looked) {
      at.loop = walker.Loop(at.id, false);
      at.loop.size = at.loop.most == 0 ? 0 : at.loop.alphabet.AsciiSize();
      at.looked = true;
    }
    if (at.loop.most != UINT64_MAX || at.loop.size < kWideLoop) return false;
    const bool leads = alphabets->below(i).leads != 0;
    if (!at.asked || (leads && !at.asked_leads)) walker.FindStays(&at, leads);
    if (at.stays.AsciiSize() < kWideLoop || !alphabets->is_whole(i)) return false;
    const bool beyond_ascii = at.stays.leads != 0;
    if (!beyond_ascii && alphabets->characters(i) != nodes[i].depth) return false;
    std::shared_ptr<const NodeSet> leaving =
        walker.leaving().Of(*alphabets, at.stays, nodes[i].end - i);
    if (leaving == nullptr) return false;
    Leap<Level, typename Walker::Id> begun = {
        leaving, NodeCursor(*leaving, nodes, *alphabets), beyond_ascii, i + 1, nodes[i].end};
    Walker::Enter(&at, nodes[i].end, &begun.level);
    // A token may end inside a character.
    begun.from = {{at.completion + (beyond_ascii ? kRestOfCharacter : 0)}, at.id};
    leaps.push_back(std::move(begun));
    stop = i + 1;
    return true;
  };
  // Goes on below node i, in the place `at`; the node to go on with.
  auto enter = [&](Place& at, uint32_t i) {
    walker.Need(&at);
    if (walker.terms().overrun()) [[unlikely]]
      return end;
    if (at.open) [[unlikely]] {
      calls.open(i, at);
      return nodes[i].end;
    }
    if constexpr (kLeaps) {
      if (leap(at, i)) return i + 1;
    }
    Level& level = level_at(i);
    Walker::Enter(&at, nodes[i].end, &level);
    if (alphabets != nullptr && nodes[i].end - i >= kWorthNoting) roam(at, i, &level);
    if (alphabets != nullptr && nodes[i].end - i >= kWorthJumping && Walker::ReadsFew(at)) {
      if (const uint32_t* children = alphabets->children(i)) {
        Walker::LookUp(at, children, &level);
      }
    }
    return i + 1;
  };
  // Nothing more below node i at its level.
  auto close = [&](uint32_t i) {
    Level& level = level_at(i);
    level = {};
    level.children = kNoChildren;
    level.end = nodes[i].end;
  };
  auto child_of = [&](uint32_t i, uint8_t byte) -> uint32_t {
    const uint32_t* children = alphabets != nullptr && nodes[i].end - i >= kWorthJumping
                                   ? alphabets->children(i)
                                   : nullptr;
    return FindChild(nodes, children, i, byte);
  };
  // Below the node of a backslash, the other spellings of an ASCII character: mostly no token has
  // anything behind one. False, and nothing is done, where that is not so. `after`: what is then
  // needed to complete the place.
  auto spell = [&](uint32_t backslash, uint8_t character, uint64_t after) {
    if (character >= 0x80) return false;
    const uint32_t plain = character == '/' ? child_of(backslash, '/') : 0;
    if (plain != 0 && !nodes[plain].leaf) return false;
    const uint8_t low = character & 15, high = '0' + (character >> 4);
    const uint8_t first = low < 10 ? '0' + low : 'a' + low - 10;
    uint32_t path[4] = {};  // of u, 0, 0, and the first digit
    uint32_t last[2] = {};  // of the second digit, in both cases
    uint32_t at = backslash;
    for (int k = 0; k < 4 && at != 0; ++k) {
      at = path[k] = child_of(at, k == 0 ? 'u' : k < 3 ? '0' : high);
    }
    if (at != 0) last[0] = child_of(at, first);
    if (at != 0 && low >= 10) last[1] = child_of(at, first - 'a' + 'A');
    for (uint32_t node : last) {
      if (node != 0 && !nodes[node].leaf) return false;
    }
    calls.inside(backslash, after + (character == '/' ? 1 : 5));
    if (plain != 0) calls.inside(plain, after);
    for (uint32_t k = 0; k < 4 && path[k] != 0; ++k) calls.inside(path[k], after + 4 - k);
    for (uint32_t node : last) {
      if (node != 0) calls.inside(node, after);
    }
    return true;
  };
  // Goes below node i in the place `id`, which reads a text; the node to go on with.
  auto descend = [&](uint32_t i, typename Walker::Id id) {
    const uint32_t top_end = nodes[i].end;
    while (true) {
      LiteralRun run;
      if (!walker.Of(id).text || !run.Begin(walker.terms(), walker.StateOf(id))) break;
      const auto began = id;
      while (true) {
        // At node i, run.read bytes read: the children for its next byte and for a backslash.
        const bool spelled = run.MaySpell();
        const auto byte = static_cast<uint8_t>(run.text[run.read]);
        bool plain = run.IsPlain();
        uint32_t child = 0;
        if (plain) {
          child = child_of(i, byte);
          const uint32_t backslash = spelled ? child_of(i, '\\') : 0;
          plain = backslash == 0 || spell(backslash, byte, run.completion - 1);
        }
        if (!plain) return enter(walker.Of(walker.After(run, began)), i);
        close(i);
        if (child == 0) return top_end;
        i = child;
        if (run.Next(walker.terms())) {
          calls.inside(i, run.completion);
          if (nodes[i].leaf) return top_end;
          continue;
        }
        id = walker.After(run, began);
        break;
      }
      if (Walker::IsDead(id)) return top_end;
      Place& at = walker.Of(id);
      if (!nodes[i].leaf && alphabets != nullptr && takes_all(i, &at, false)) {
        calls.whole(i, WholeFrom<typename Walker::Id>{{at.after}, at.id});
        return top_end;
      }
      calls.visit(i, at);
      if (nodes[i].leaf) return top_end;
    }
    return enter(walker.Of(id), i);
  };
  // Goes on with the last leap from node i on, up to a node where `to` is another place and not
  // dead; or else to the leap's end, with `to` dead. The node to go on with.
  [[maybe_unused]] auto leap_on = [&](auto i, typename Walker::Id* to) -> uint32_t {
    Leap<Level, typename Walker::Id>& leap = leaps.back();
    while (true) {
      const uint32_t next = std::min(leap.cursor.Next(i), leap.end);
      if (i < next) calls.stretch(i, next, leap.from);
      if (next == leap.end) break;
      i = nodes[next].end;
      // A broken character leads nowhere from inside one that leads back.
      if (leap.beyond_ascii && walker.leaving().IsBroken(*alphabets, next)) {
        continue;
      }
      walker.Rewind(&leap.level);
      *to = walker.Step(&leap.level, nodes[next].byte);
      if (Walker::IsDead(*to)) continue;
      leap.stop = stop = i;
      const size_t above = nodes[next].depth - depth - 1u;
      if (above >= levels.size()) levels.resize(above + 16);
      levels[above].roams = 0;
      return next;
    }
    *to = {};
    const uint32_t after = leap.end;
    leaps.pop_back();
    stop = leaps.empty() ? kNoStop : leaps.back().stop;
    return after;
  };
  if (first >= end) return;
  for (uint32_t i = descend(first - 1, start); i < end;) {
    typename Walker::Id to;
    bool loops = false;
    if (kLeaps && i == stop) [[unlikely]] {
      if constexpr (kLeaps) i = leap_on(i, &to);
      if (Walker::IsDead(to)) continue;
    } else {
      Level& from = levels[nodes[i].depth - depth - 1];
      if (from.children != nullptr) {
        i = Walker::NextChild(&from);
        if (i == 0) {
          i = from.end;
          continue;
        }
      }
      const TrieNode& node = nodes[i];
      if (from.roams != 0) {
        if (auto* above = roams_above(i); above != nullptr && taken(i, above)) {
          calls.whole(i, above->from);
          i = node.end;
          continue;
        }
      }
      to = walker.Step(&from, node.byte);
      if (Walker::IsDead(to)) {
        i = Walker::Exhausted(from) ? from.end : node.end;
        continue;
      }
      loops = to == from.id;
    }
    const TrieNode& node = nodes[i];
    Place& at = walker.Of(to);
    if (node.leaf) {
      calls.visit(i, at);
      ++i;
      continue;
    }
    if (alphabets != nullptr && takes_all(i, &at, loops)) {
      calls.whole(i, WholeFrom<typename Walker::Id>{{at.after}, at.id});
      i = node.end;
      continue;
    }
    calls.visit(i, at);
    i = at.text ? descend(i, to) : enter(at, i);
  }
}

// What lies below node i of a trie, which leads to `state`, and, where `at_node`, at it, in an
// unknown context: by states while these are simple, and by sets below where they are not. Calls as
// WalkCalls has them.
template <class Visit, class Whole, class Inside, class Stretch>
void WalkFromState(SetTable* sets, WalkScratch* scratch, std::span<const TrieNode> nodes,
                   const TrieAlphabets* alphabets, uint32_t i, TermId state, const Visit& visit,
                   const Whole& whole, const Inside& inside, const Stretch& stretch,
                   bool at_node = true) {
  auto as_set = [&](uint32_t k, const StatePlace& at) {
    if (at.as_set == SetTable::Dead()) at.as_set = sets->InUnknownContext(at.id);
    SetWalker by_sets(sets, scratch);
    if (SetPlace& set = by_sets.Of(at.as_set); at.roamed && !set.roamed) {
      set.region = at.region;
      set.roamed = true;
    }
    WalkTrie(by_sets, nodes, alphabets, k + 1, nodes[k].end, nodes[k].depth, at.as_set,
             WalkCalls{visit, whole, inside, [](uint32_t, const SetPlace&) {}, stretch});
  };
  StateWalker walker(&sets->terms(), scratch);
  if (at_node) {
    StatePlace& at = walker.Of(state);
    if (alphabets != nullptr && TakesAll(walker, nodes, *alphabets, i, &at, false)) {
      whole(i, WholeFrom<TermId>{{at.after}, at.id});
      return;
    }
    visit(i, at);
  }
  WalkTrie(walker, nodes, alphabets, i + 1, nodes[i].end, nodes[i].depth, state,
           WalkCalls{visit, whole, inside, as_set, stretch});
}

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_TRIE_WALK_H_
