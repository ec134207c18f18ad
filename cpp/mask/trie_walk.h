// The one walk of a trie of tokens in step with the parser.
#ifndef GRAMMASK_MASK_TRIE_WALK_H_
#define GRAMMASK_MASK_TRIE_WALK_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "mask/walkers.h"
#include "vocab/trie.h"
#include "vocab/trie_alphabets.h"

namespace grammask::internal {

inline constexpr uint32_t kWorthALook = 16;    // nodes below one for which its loop is found
inline constexpr uint32_t kWorthRoaming = 32;  // likewise its region

template <class Walker>
void LookForLoop(Walker& walker, typename Walker::Place* at, bool loops) {
  at->loop = at->text ? WalkLoop() : walker.Loop(at->id, loops);  // a text leads on
  at->loop.size = at->loop.most == 0 ? 0 : at->loop.alphabet.AsciiSize();
  at->looked = true;
  at->loops = loops;
}

// Whether the parser, in the place `at` at node `i`, takes all that is below; `loops`: it was in
// that place before the last byte, too; `worth`: nodes below for which the place's region is found.
template <class Walker>
bool TakesAll(Walker& walker, const TrieNode* nodes, const TrieAlphabets& alphabets, uint32_t i,
              typename Walker::Place* at, bool loops, uint32_t worth = kWorthRoaming) {
  constexpr uint32_t kLongWalk = 120;  // places that did not
  const TrieNode& node = nodes[i];
  if (Walker::NeedsLook(*at, loops, node.byte)) {
    if (!loops && node.end - i < kWorthALook) return false;
    LookForLoop(walker, at, loops);
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
  at->after = std::max(at->completion, at->loop.completion);
  if (takes(&at->loop, at)) return true;
  if (!at->roamed) {
    if (node.end - i < worth || ++walker.in_vain() < kLongWalk) return false;
    at->region = at->text ? WalkLoop() : walker.Region(at->id);
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
//   inside(node, completion) a node inside a text, or where it ends and nothing is below;
//                            completion: the length of the shortest text that completes the state
//                            from here.
//   open(node, place)        after visit(), a place that is `open`: the walk goes on after the
//                            node's subtree, which is left to the caller.
//   stretch(first, end, from)  instead of visit(), for all nodes [first, end), at each of which the
//                            parser is in the place `from`, which does not escape, or inside a
//                            character after which it is. Where that is NoStretch, nodes are not
//                            passed over in this way.
//   few(first, end, met)     instead of visit() and whole(), for all nodes [first, end), none of
//                            which escapes or is left out: `met` is of them and of nodes before.
//                            Where that is NoFew, each node has a call.
struct NoStretch {};
struct NoFew {};
struct NoOpen {  // no set is
  void operator()(uint32_t, const SetPlace&) const {}
};
template <class Visit, class Whole, class Inside, class Open, class Stretch = NoStretch,
          class Few = NoFew>
struct WalkCalls {
  static constexpr bool kStretches = !std::is_same_v<Stretch, NoStretch>;
  static constexpr bool kFew = !std::is_same_v<Few, NoFew>;
  Visit visit;
  Whole whole;
  Inside inside;
  Open open;
  Stretch stretch = {};
  Few few = {};
};
template <class Visit, class Whole, class Inside, class Open>
WalkCalls(Visit, Whole, Inside, Open) -> WalkCalls<Visit, Whole, Inside, Open>;
template <class Visit, class Whole, class Inside, class Open, class Stretch>
WalkCalls(Visit, Whole, Inside, Open, Stretch) -> WalkCalls<Visit, Whole, Inside, Open, Stretch>;
template <class Visit, class Whole, class Inside, class Open, class Stretch, class Few>
WalkCalls(Visit, Whole, Inside, Open, Stretch,
          Few) -> WalkCalls<Visit, Whole, Inside, Open, Stretch, Few>;

// Of what a walk met, at the most: the length of a token, or of what of it is before the end of the
// state's text, together with what completes that text (see Level1::reach); what completes it; the
// depth of a node at which a token ends or escapes, of those that were visited.
struct WalkMet {
  uint64_t reach = 0, completion = 0;
  uint32_t deepest = 0;

  // At a node of this depth.
  void Add(uint32_t depth, uint64_t needed) {
    reach = std::max(reach, depth + needed);
    completion = std::max(completion, needed);
    deepest = std::max(deepest, depth);
  }
  // All texts below node i, after each of which so much is needed.
  void AddWhole(const TrieAlphabets& alphabets, uint32_t i, uint64_t needed) {
    if (alphabets.below(i).leads != 0) needed += LeavingNodes::kRestOfCharacter;
    reach = std::max(reach, alphabets.deepest(i) + needed);
    completion = std::max(completion, needed);
  }
  void Add(const WalkMet& other) {
    reach = std::max(reach, other.reach);
    completion = std::max(completion, other.completion);
    deepest = std::max(deepest, other.deepest);
  }
};

// Walks nodes [i, end) of a trie as WalkTrie does, in less time: those below a node that it has
// entered, which are few, or all there are where nothing is known of what lies below nodes. `top`:
// the depth of nodes whose parents are the walker's first level. The node to go on with: before
// `end`, one in a place that reads a text; any where the walk is to end (TermStore::overrun).
template <class Walker, class Calls>
uint32_t WalkFew(Walker walker, const TrieNode* nodes, const TrieAlphabets* alphabets, uint32_t i,
                 const uint32_t end, const uint32_t top, Calls&& calls) {
  constexpr bool kFew = std::remove_cvref_t<Calls>::kFew;
  using Level = typename Walker::Level;
  std::vector<Level>& levels = walker.levels();
  Level* path = levels.data();
  WalkMet met;
  [[maybe_unused]] uint32_t open = i;  // the first node that `few` was not called for
  auto close = [&](uint32_t before) {
    if constexpr (kFew) {
      if (open < before) calls.few(open, before, met);
    }
  };
  while (i < end) {
    const TrieNode& node = nodes[i];
    const uint32_t above = node.depth - top;
    Level& from = path[above];
    const auto to = walker.Step(&from, node.byte);
    if (Walker::IsDead(to)) {
      close(i);
      open = i = Walker::Exhausted(from) ? from.end : node.end;
      continue;
    }
    typename Walker::Place& at = walker.Of(to);
    if (node.leaf) {
      if constexpr (kFew) {
        met.Add(node.depth, at.completion);
      } else {
        calls.visit(i, at);
      }
      ++i;
      continue;
    }
    const bool loops = to == from.id;
    // Mostly a place that has no loop and leads on to the next one.
    const bool may_take = loops || (at.looked ? at.loop.most != 0 : node.end - i >= kWorthALook) ||
                          (at.roamed ? at.region.most != 0 : node.end - i >= kWorthRoaming);
    if (may_take && alphabets != nullptr && TakesAll(walker, nodes, *alphabets, i, &at, loops)) {
      if constexpr (kFew) {
        met.AddWhole(*alphabets, i, at.after);
      } else {
        calls.whole(i, WholeFrom<typename Walker::Id>{{at.after}, at.id});
      }
      i = node.end;
      continue;
    }
    if (at.text) break;
    if (!kFew || at.escaping) {
      close(i);
      calls.visit(i, at);
      open = i + 1;
    } else if (node.tokens < nodes[i + 1].tokens) {
      met.Add(node.depth, at.completion);
    }
    walker.Need(&at, node.end - i - 1);
    if (walker.terms().overrun()) [[unlikely]]
      return end;
    if (at.open) [[unlikely]] {
      close(i + 1);
      calls.open(i, at);
      open = i = node.end;
      continue;
    }
    if (above + 1 >= levels.size()) [[unlikely]] {
      levels.resize(above + 16);
      path = levels.data();
    }
    Walker::Enter(&at, node.end, &path[above + 1]);
    ++i;
  }
  close(i);
  return i;
}

// Nodes below one by which most children are found in a table.
inline constexpr uint32_t kWorthJumping = 64;

// Where a walk along a text came to its end: nothing more is below the node where it began, or the
// walk goes on below `node`, in the place `id`.
template <class Id>
struct TextEnd {
  bool enters = false;
  uint32_t node = 0;
  Id id = {};
};

// Goes below node i in the place `id`, as long as that reads a text; calls as WalkTrie does.
// `level_at(node)`: the walk's level of a node, of which nothing more is to be read here.
template <class Walker, class LevelAt, class Calls>
TextEnd<typename Walker::Id> WalkText(Walker& walker, std::span<const TrieNode> nodes,
                                      const TrieAlphabets* alphabets, uint32_t i,
                                      typename Walker::Id id, LevelAt&& level_at, Calls&& calls) {
  static constexpr uint32_t kNoChildren[256] = {};
  auto child_of = [&](uint32_t node, uint8_t byte) -> uint32_t {
    const uint32_t* children = alphabets != nullptr && nodes[node].end - node >= kWorthJumping
                                   ? alphabets->children(node)
                                   : nullptr;
    return FindChild(nodes, children, node, byte);
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
  while (true) {
    const typename Walker::Place& here = walker.Of(id);
    if (!here.text) return {true, i, id};
    LiteralRun run = here.run;
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
      if (!plain) return {true, i, walker.After(run, began)};
      typename Walker::Level& level = level_at(i);
      level = {};
      level.children = kNoChildren;
      level.end = nodes[i].end;
      if (child == 0) return {};
      i = child;
      // Where nothing is below, the place behind the text, which is a new set mostly, is not
      // asked for; but what is captured may be dead there.
      const bool leaf = nodes[i].leaf;
      if (run.Next(walker.terms()) || (leaf && !walker.terms().has_captures())) {
        calls.inside(i, run.completion);
        if (leaf) return {};
        continue;
      }
      id = walker.After(run, began);
      break;
    }
    if (Walker::IsDead(id)) return {};
    typename Walker::Place& at = walker.Of(id);
    if (!nodes[i].leaf && alphabets != nullptr &&
        TakesAll(walker, nodes.data(), *alphabets, i, &at, false)) {
      calls.whole(i, WholeFrom<typename Walker::Id>{{at.after}, at.id});
      return {};
    }
    calls.visit(i, at);
    if (nodes[i].leaf) return {};
  }
}

// Walks nodes [first, end) of a preorder trie, all those below node first - 1, of depth `depth`,
// which leads to the place `start`. A prefix that the parser refuses is skipped with all that
// begins with it. `alphabets`: of this trie; null where there are none. About 4 ns a node tried.
// Where `part_of` names a node, the nodes are some of its children, one after another, with all
// below them, and the walk is a leap; false, and nothing is done, where `start` allows of none.
template <class Walker, class Calls>
bool WalkTrie(Walker walker, std::span<const TrieNode> nodes, const TrieAlphabets* alphabets,
              uint32_t first, uint32_t end, uint32_t depth, typename Walker::Id start,
              Calls&& calls, std::optional<uint32_t> part_of = std::nullopt) {
  constexpr bool kLeaps = std::remove_cvref_t<Calls>::kStretches;
  constexpr uint32_t kNoStop = UINT32_MAX;
  constexpr uint32_t kWorthRoamingAgain = 256;            // nodes below one
  [[maybe_unused]] constexpr uint32_t kWorthSome = 2048;  // likewise
  using Place = typename Walker::Place;
  using Level = typename Walker::Level;
  std::vector<Level>& levels = walker.levels();
  auto level_at = [&](uint32_t i) -> Level& {
    const size_t level = nodes[i].depth - depth;
    if (level >= levels.size()) [[unlikely]]
      levels.resize(level + 16);
    return levels[level];
  };
  if (first >= end) return true;
  TextEnd<typename Walker::Id> begin;
  if (!part_of.has_value()) {
    begin = WalkText(walker, nodes, alphabets, first - 1, start, level_at, calls);
    if (!begin.enters) return true;
  }
  std::vector<Roaming<typename Walker::Id>>& roaming = walker.roaming();
  // What is known of node i, below the node of `level`, from a place above it: below that it may
  // roam.
  auto roams_below = [&](const Level& level, uint32_t i) -> Roaming<typename Walker::Id>* {
    if (level.roams == 0 || nodes[i].byte >= 0x80) return nullptr;
    Roaming<typename Walker::Id>& above = roaming[level.roams - 1];
    return above.loop.alphabet.Contains(nodes[i].byte) ? &above : nullptr;
  };
  auto roams_above = [&](uint32_t i) -> Roaming<typename Walker::Id>* {
    if (nodes[i].depth == depth) return nullptr;
    return roams_below(levels[nodes[i].depth - depth - 1], i);
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
    const bool region = at.region.size > at.loop.size ||
                        (at.region.size == at.loop.size && at.region.most > at.loop.most);
    const WalkLoop& best = region ? at.region : at.loop;
    if (const auto* above = roams_above(i); above != nullptr && above->loop.size > best.size) {
      level->roams = levels[nodes[i].depth - depth - 1].roams;
      return;
    }
    if (best.size == 0) return;
    const uint32_t here = nodes[i].depth - depth;
    if (here >= roaming.size()) roaming.resize(here + 16);
    const uint64_t deepest = best.most > UINT32_MAX ? UINT64_MAX : nodes[i].depth + best.most;
    roaming[here] = {best, region, deepest, {{std::max(at.completion, best.completion)}, at.id}};
    level->roams = here + 1;
  };
  // Whether all below node i, in the place `at`, is taken.
  auto takes_all = [&](uint32_t i, Place* at, bool loops) {
    return TakesAll(walker, nodes.data(), *alphabets, i, at, loops,
                    roams_above(i) != nullptr ? kWorthRoamingAgain : kWorthRoaming);
  };
  std::vector<Leap<Level, typename Walker::Id>>& leaps = walker.leaps();
  leaps.clear();
  uint32_t stop = kNoStop;  // that of the last leap
  // Nodes [run_begin, run_end), one after another, are for `few`.
  constexpr bool kFew = std::remove_cvref_t<Calls>::kFew;
  [[maybe_unused]] uint32_t run_begin = 0, run_end = 0;
  [[maybe_unused]] WalkMet met;
  auto close_run = [&] {
    if constexpr (kFew) {
      if (run_begin < run_end) calls.few(run_begin, run_end, met);
      run_begin = run_end;
    }
  };
  [[maybe_unused]] auto extend_run = [&](uint32_t i, uint32_t next) {
    if (i != run_end) {
      close_run();
      run_begin = i;
    }
    run_end = next;
  };
  auto whole = [&](uint32_t i, const WholeFrom<typename Walker::Id>& from) {
    if constexpr (kFew) {
      extend_run(i, nodes[i].end);
      met.AddWhole(*alphabets, i, from.after);
    } else {
      calls.whole(i, from);
    }
  };
  // Begins to leap below node i, from the node `from` to the end `to`, in the place `at`, where
  // most characters lead back to it. False where that is not so.
  [[maybe_unused]] auto leap = [&](Place& at, uint32_t i, uint32_t from, uint32_t to) {
    if (alphabets == nullptr || to - from < LeavingNodes::kWorth || at.escaping) return false;
    if (!at.looked) LookForLoop(walker, &at, false);
    if (at.loop.most != UINT64_MAX || at.loop.size < LeavingNodes::kWideLoop) return false;
    const bool leads = alphabets->below(i).leads != 0;
    if (!at.asked || (leads && !at.asked_leads)) walker.FindStays(&at, leads);
    if (at.stays.AsciiSize() < LeavingNodes::kWideLoop ||
        !LeavingNodes::HoldBelow(*alphabets, at.stays, i, nodes[i].depth)) {
      return false;
    }
    const bool beyond_ascii = at.stays.leads != 0;
    if (beyond_ascii && !at.asked_some && to - from >= kWorthSome) walker.FindSome(&at);
    std::shared_ptr<const LeavingSet> leaving =
        walker.leaving().Of(nodes, *alphabets, at.stays, at.some, to - from);
    if (leaving == nullptr) return false;
    Leap<Level, typename Walker::Id> begun = {leaving, NodeCursor(*leaving, nodes, *alphabets),
                                              beyond_ascii, from, to};
    Walker::Enter(&at, to, &begun.level);
    // A token may end inside a character.
    begun.from = {{at.completion + (beyond_ascii ? LeavingNodes::kRestOfCharacter : 0)}, at.id};
    leaps.push_back(std::move(begun));
    stop = from;
    return true;
  };
  // WalkFew below node i, which is entered.
  auto walk_few = [&](uint32_t i) {
    const uint32_t next =
        WalkFew(walker, nodes.data(), alphabets, i + 1, nodes[i].end, depth + 1, calls);
    return walker.terms().overrun() ? end : next;
  };
  // Goes on below node i, in the place `at`; the node to go on with.
  auto enter = [&](Place& at, uint32_t i) {
    walker.Need(&at, nodes[i].end - i - 1);
    if (walker.terms().overrun()) [[unlikely]]
      return end;
    if (at.open) [[unlikely]] {
      calls.open(i, at);
      return nodes[i].end;
    }
    if constexpr (kLeaps) {
      if (leap(at, i, i + 1, nodes[i].end)) return i + 1;
    }
    Level& level = level_at(i);
    Walker::Enter(&at, nodes[i].end, &level);
    if (alphabets == nullptr || nodes[i].end - i < kWorthJumping) return walk_few(i);
    roam(at, i, &level);
    if (Walker::ReadsFew(at)) {
      if (const uint32_t* children = alphabets->children(i)) {
        Walker::LookUp(at, children, &level);
      }
    }
    return i + 1;
  };
  // Goes below node i in the place `id`, which reads a text; the node to go on with.
  auto descend = [&](uint32_t i, typename Walker::Id id) {
    const TextEnd<typename Walker::Id> at =
        WalkText(walker, nodes, alphabets, i, id, level_at, calls);
    return at.enters ? enter(walker.Of(at.id), at.node) : nodes[i].end;
  };
  // Where `byte` leads from a place.
  [[maybe_unused]] auto step_from = [&](typename Walker::Id id, uint8_t byte) {
    if (Walker::IsDead(id)) return id;
    Place& at = walker.Of(id);
    walker.Need(&at, 1);
    Level level;
    Walker::Enter(&at, 0, &level);
    return walker.Step(&level, byte);
  };
  // Goes on with the last leap from node i on, up to a node where `to` is another place and not
  // dead; or else to the leap's end, with `to` dead. The node to go on with.
  [[maybe_unused]] auto leap_on = [&](auto i, typename Walker::Id* to) -> uint32_t {
    Leap<Level, typename Walker::Id>& leap = leaps.back();
    close_run();
    while (true) {
      const uint32_t next = leap.cursor.Next(i, leap.end);
      if (i < next) calls.stretch(i, next, leap.from);
      if (next == leap.end) break;
      i = nodes[next].end;
      // A broken character leads nowhere from inside one that leads back.
      if (leap.beyond_ascii && walker.leaving().IsBroken(*alphabets, next)) {
        continue;
      }
      walker.Rewind(&leap.level);
      const LeavingSet::Inside* const inside =
          nodes[next].byte < 0x80 ? nullptr : leap.leaving->FindInside(next);
      if (inside != nullptr) {
        *to = walker.Step(&leap.level, inside->lead);
        if (inside->second != 0) *to = step_from(*to, inside->second);
        *to = step_from(*to, nodes[next].byte);
      } else {
        *to = walker.Step(&leap.level, nodes[next].byte);
      }
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
  uint32_t i = first;
  if (part_of.has_value()) {
    if constexpr (kLeaps) {
      Place& at = walker.Of(start);
      walker.Need(&at, end - first);
      if (walker.terms().overrun()) return true;
      if (at.text || !leap(at, *part_of, first, end)) return false;
    } else {
      return false;
    }
  } else {
    i = enter(walker.Of(begin.id), begin.node);
  }
  while (i < end) {
    typename Walker::Id to;
    bool loops = false;
    if (i == stop) [[unlikely]] {
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
        if (auto* above = roams_below(from, i); above != nullptr && taken(i, above)) {
          whole(i, above->from);
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
      if constexpr (kFew) {
        extend_run(i, i + 1);
        met.Add(node.depth, at.completion);
      } else {
        calls.visit(i, at);
      }
      ++i;
      continue;
    }
    if (alphabets != nullptr && takes_all(i, &at, loops)) {
      whole(i, WholeFrom<typename Walker::Id>{{at.after}, at.id});
      i = node.end;
      continue;
    }
    close_run();
    calls.visit(i, at);
    i = at.text ? descend(i, to) : enter(at, i);
  }
  close_run();
  return true;
}

// What a walk by states calls for places that are `open`: it goes on by sets, whose calls are
// given.
template <class SetCalls>
struct AsSet {
  SetTable* sets;
  WalkScratch* scratch;
  std::span<const TrieNode> nodes;
  const TrieAlphabets* alphabets;
  const SetCalls& by_sets;

  void operator()(uint32_t k, const StatePlace& at) const { Walk(k, at, k + 1, nodes[k].end); }
  // Nodes [first, end) below node k, where the state of `at` is; otherwise as WalkTrie.
  bool Walk(uint32_t k, const StatePlace& at, uint32_t first, uint32_t end,
            std::optional<uint32_t> part_of = std::nullopt) const {
    if (at.as_set == SetTable::Dead()) at.as_set = sets->InUnknownContext(at.id);
    SetWalker walker(sets, scratch);
    if (SetPlace& set = walker.Of(at.as_set); at.roamed && !set.roamed) {
      set.region = at.region;
      set.roamed = true;
    }
    return WalkTrie(walker, nodes, alphabets, first, end, nodes[k].depth, at.as_set, by_sets,
                    part_of);
  }
  // Its calls, and this one.
  auto ByStates() const {
    return WalkCalls{by_sets.visit, by_sets.whole,   by_sets.inside,
                     *this,         by_sets.stretch, by_sets.few};
  }
};

// What lies below node i of a trie, which leads to `state`, and, where `at_node`, at it, in an
// unknown context: by states while these are simple, and by sets below where they are not. Calls as
// WalkCalls has them, of sets.
template <class Calls>
void WalkFromState(SetTable* sets, WalkScratch* scratch, std::span<const TrieNode> nodes,
                   const TrieAlphabets* alphabets, uint32_t i, TermId state, const Calls& calls,
                   bool at_node = true) {
  StateWalker walker(&sets->terms(), scratch);
  if (at_node) {
    StatePlace& at = walker.Of(state);
    if (alphabets != nullptr && TakesAll(walker, nodes.data(), *alphabets, i, &at, false)) {
      calls.whole(i, WholeFrom<TermId>{{at.after}, at.id});
      return;
    }
    calls.visit(i, at);
  }
  const AsSet<Calls> as_set{sets, scratch, nodes, alphabets, calls};
  WalkTrie(walker, nodes, alphabets, i + 1, nodes[i].end, nodes[i].depth, state, as_set.ByStates());
}

// The same for children of node i, one after another, the nodes [first, end), each of which leads
// where it would lead from `state`; false, and nothing is done, where that is no place to leap
// from.
template <class Calls>
bool LeapFromState(SetTable* sets, WalkScratch* scratch, std::span<const TrieNode> nodes,
                   const TrieAlphabets* alphabets, uint32_t i, uint32_t first, uint32_t end,
                   TermId state, const Calls& calls) {
  const AsSet<Calls> as_set{sets, scratch, nodes, alphabets, calls};
  StateWalker walker(&sets->terms(), scratch);
  StatePlace& at = walker.Of(state);
  walker.Need(&at, end - first);
  if (at.open) return as_set.Walk(i, at, first, end, i);
  return WalkTrie(walker, nodes, alphabets, first, end, nodes[i].depth, state, as_set.ByStates(),
                  i);
}

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_TRIE_WALK_H_
