// A counted state without its bounds to what each token needs of them.
//
// Under `maxLength` beside a pattern, near the bound, each number of characters left is a state of
// its own, with a mask of its own. Yet they differ in one thing: a token is taken where the
// characters that it has and the fewest that then complete the pattern are no more than are left.
// So the vocabulary's trie is walked once, from the state without the bound, in step with the
// automaton of X, which counts: no text of X begins another, so that what was read is X's in one
// way only. What the pattern still needs after a prefix is a shortest path, found once for each
// state. A byte with which no X goes on leaves the loop; from there on the walk is that of any
// state, and the count stays what it was. That may be inside what began as an X: after five letters
// and digits a hyphen may be spelled `\u002d`, and only its last digits tell it from a letter. So
// an X counts where it ends.
//
// For `[0-9a-f]+` of at most twelve characters: `12ab` needs four, `12",` has two and leaves `,`.
//
// A lower bound, `minLength`, is one on the characters before the loop is left. For a token that
// ends in the loop it does not matter where the pattern can go on for as long as one likes: where a
// shortest path has a state that loops on some character, or ends before one.
//
// A search for what is still needed goes through states in all directions at once, and those of a
// date-time are tens of thousands. After so many the walk is given up: the mask is then made from
// that of the state without the bound.
//
// Where few X's are left, tokens that need more are not walked: ten characters of which ten must be
// digits leave only the digits. The walk for all bounds is made once one asks for more.
//
// A search mostly leads back to where it was. So the walk goes from one node whose byte leads away
// to the next (TrieAlphabets::adding): in between, a token's number is that of its characters and
// what the loop needs. The same holds below a node by which what is looked for is found.
//
// Far from the bound only the longest tokens come near. Those that go over it are found by the same
// walk of the few nodes with such tokens (FindOver).
//
// Cost: some 10 ns a node, and 1 ns for each token below a node where the pattern loops on all that
// is there; then some 50 us for each bound. Tests: tests/mask/counted_test.cc.
#include "mask/counted.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <limits>
#include <utility>

#include "mask/bitmap_store.h"
#include "mask/slice.h"

namespace grammask::internal {
namespace {

constexpr uint16_t kNoNumber = 0x7FFF;  // of tokens that are none of those that end in the loop
constexpr size_t kMostExplored = 128;   // places in a walk's searches for completions
constexpr size_t kRecent = 256;
constexpr size_t kMostAbsorbing = 8;  // states
constexpr size_t kMostAlike = 64;     // places at which a text may be an X's and what follows
constexpr size_t kFewLeadAway = 2;    // the share of the trie's nodes that these are at most
constexpr size_t kDense = 8192;       // tokens of which there are numbers for all

class CountedWalk {
 public:
  CountedWalk(const Vocab& vocab, SetTable* sets, const std::vector<uint32_t>& table,
              WalkScratch* scratch);

  // Whether leaving the loop for `rest` shows before an X has ended.
  bool Fits(TermId rest);
  // False where a need cannot be told.
  bool Run(TermId loose, int64_t most);
  // See CountedTokens::FindOver.
  std::optional<bool> RunOver(TermId loose, int64_t most, uint64_t same, size_t limit,
                              std::vector<TokenRun>* over, uint64_t* reach, uint64_t* completion);

  // By the token's place in the order of the trie: its number, of those in `runs`.
  std::vector<uint16_t>& inside;
  std::vector<TokenRun> runs;
  std::vector<uint64_t> left;  // number << 32 | token
  std::vector<CountedTokens::Escape> escapes;
  bool any_number = true;

 private:
  // In the loop: a state without its bounds, and one of X's automaton.
  struct Place {
    TermId state;
    uint32_t x = 0;
  };
  static uint64_t KeyOf(const Place& p) { return uint64_t{p.state.value} << 32 | p.x; }
  // For a few places.
  static void AddNew(const Place& place, std::vector<Place>* places) {
    const auto same = [&](const Place& p) { return KeyOf(p) == KeyOf(place); };
    if (std::ranges::none_of(*places, same)) places->push_back(place);
  }
  // The fewest X's to end until the loop can end, and whether any greater number does as well.
  struct Needed {
    uint32_t rounds;
    bool any_number;
  };
  struct Recent {
    uint64_t place = 0;
    Needed needed = {};
  };
  struct Level {
    StateLevel at;
    uint32_t x;
    uint32_t rounds;  // X's that have ended
  };

  uint32_t XAfter(uint32_t x, int byte) const {
    return table_[size_t{x} * 256 + static_cast<size_t>(byte)];
  }
  // Whether some byte of the edge leads X's automaton from `x` where `is` says.
  template <class Is>
  bool AnyLeads(const ByteEdge& edge, uint32_t x, Is&& is) const {
    const auto row = table_.begin() + static_cast<ptrdiff_t>(x) * 256;
    return std::any_of(row + edge.lo, row + edge.hi + 1, is);
  }
  // To be called before the numbers are written, in ascending order.
  void AddInside(uint32_t first, uint32_t end) {
    if (first != end) AppendRun(first, end, &runs);
  }
  void AddLeft(uint32_t first, uint32_t end, uint32_t number) {
    for (uint32_t t = first; t < end; ++t) {
      left.push_back(uint64_t{number} << 32 | static_cast<uint32_t>(vocab_.trie_tokens()[t]));
    }
  }
  void AddRange(uint32_t first, uint32_t end, uint32_t more);
  void AddWhole(uint32_t i, uint32_t begun, uint32_t more);
  std::optional<NodeSet> LeadingAway(TermId loose);
  bool WalkBelow(uint32_t first, uint32_t end, int64_t most);
  bool CanEnd(const Place& p);
  bool CanGoOn(const Place& p);
  bool EndsFurther(const Place& p);
  bool Absorbs(TermId state);
  const Needed* Find(const Place& from);
  bool Search(const Place& from, Needed* needed);
  void WalkRest(uint32_t i, TermId state, uint32_t rounds);

  const Vocab& vocab_;
  SetTable& sets_;
  TermStore& terms_;
  const std::vector<uint32_t>& table_;
  WalkScratch& scratch_;
  const std::span<const TrieNode> nodes_;
  const uint32_t most_need_;  // X's, so that with those of a token they are a number
  const Alphabet whole_;      // characters that are an X each
  absl::flat_hash_map<uint64_t, Needed> needed_;
  std::vector<Recent> recent_;
  std::vector<Level> levels_;
  absl::flat_hash_map<uint32_t, bool> absorbs_;  // by state
  size_t explored_ = 0;
};

CountedWalk::CountedWalk(const Vocab& vocab, SetTable* sets, const std::vector<uint32_t>& table,
                         WalkScratch* scratch)
    : inside(scratch->numbers),
      vocab_(vocab),
      sets_(*sets),
      terms_(sets->terms()),
      table_(table),
      scratch_(*scratch),
      nodes_(vocab.nodes()),
      most_need_(kNoNumber - std::min<uint32_t>(kNoNumber, vocab.max_token_bytes())),
      whole_(Slice::Characters(table)),
      recent_(kRecent),
      levels_(static_cast<size_t>(vocab.max_token_bytes()) + 1) {}

bool CountedWalk::Fits(TermId rest) {
  std::vector<Place> places = {{rest, 0}};
  for (size_t i = 0; i < places.size(); ++i) {
    const Place at = places[i];
    if (places.size() > kMostAlike || (i > 0 && terms_.term(at.state).nullable)) return false;
    const Expansion& e = terms_.Expand(at.state);
    if (!e.calls.empty() || !e.tokens.empty()) return false;
    for (const ByteEdge& edge : e.bytes) {
      for (int b = edge.lo; b <= edge.hi; ++b) {
        const uint32_t x = XAfter(at.x, b);
        if (x == Slice::kRefused) continue;
        // Characters beyond ASCII are passed over in whole (LeadingAway).
        if (x == 0 || (i == 0 && b >= 0x80)) return false;
        AddNew({edge.to, x}, &places);
      }
    }
  }
  return true;
}

// Whether the loop may end here, be it that an X was begun.
bool CountedWalk::CanEnd(const Place& p) {
  if (p.x == 0 && terms_.term(p.state).nullable) return true;
  return std::ranges::any_of(terms_.Expand(p.state).bytes, [&](const ByteEdge& edge) {
    return AnyLeads(edge, p.x, [](uint32_t x) { return x == Slice::kRefused; });
  });
}

// Whether some X of one byte leads back here.
bool CountedWalk::CanGoOn(const Place& p) {
  if (p.x != 0 || !MayLeadBack(terms_, p.state)) return false;
  return std::ranges::any_of(terms_.Expand(p.state).bytes, [&](const ByteEdge& edge) {
    return edge.to == p.state && AnyLeads(edge, 0, [](uint32_t x) { return x == 0; });
  });
}

// Whether an X, of one byte or the one that was begun, leads to a place that is an end as well and
// goes on. After the first letter of `[a-f]+` in a search comes such a place, which itself is left
// for good.
bool CountedWalk::EndsFurther(const Place& p) {
  std::vector<Place> places = {p};
  for (size_t i = 0; i < places.size() && places.size() <= kMostAlike; ++i) {
    const Place at = places[i];
    for (const ByteEdge& edge : terms_.Expand(at.state).bytes) {
      if (AnyLeads(edge, at.x, [](uint32_t x) { return x == 0; })) {
        const Place to = {edge.to, 0};
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

// Whether the loop may end, but the state need not, after any text of ASCII X's from here on: so it
// is once a search has found what it looks for, in whichever state that leaves it.
bool CountedWalk::Absorbs(TermId state) {
  const auto [it, added] = absorbs_.try_emplace(state.value, false);
  if (!added) return it->second;
  std::vector<TermId> states = {state};
  for (size_t i = 0; i < states.size(); ++i) {
    const TermId at = states[i];
    if (states.size() > kMostAbsorbing || terms_.term(at).nullable || !CanEnd({at, 0}))
      return false;
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

// A shortest path, on which the last byte of an X counts one and others nothing; of these one with
// a place at which X's may be put in, if there is any.
bool CountedWalk::Search(const Place& from, Needed* needed) {
  struct Step {
    uint32_t rounds;
    bool goes_on;
    Place place;
  };
  constexpr uint32_t kFar = std::numeric_limits<uint32_t>::max();
  Needed best = {kFar, false};
  auto reach = [&](uint32_t rounds, bool any_number) {
    if (rounds < best.rounds) {
      best = {rounds, any_number};
    } else if (rounds == best.rounds) {
      best.any_number |= any_number;
    }
  };
  // Of the shortest way known to a place, twice; less one where it goes on.
  absl::flat_hash_map<uint64_t, uint32_t> known;
  std::deque<Step> open = {{0, CanGoOn(from), from}};  // ascending rounds
  while (!open.empty()) {
    const Step at = open.front();
    open.pop_front();
    if (at.rounds > best.rounds || (at.rounds == best.rounds && best.any_number)) break;
    const uint32_t cost = at.rounds * 2 + !at.goes_on;
    const auto [seen, is_new] = known.try_emplace(KeyOf(at.place), cost);
    if (!is_new) {
      if (seen->second <= cost) continue;
      seen->second = cost;
    }
    if (const auto it = needed_.find(KeyOf(at.place)); it != needed_.end()) {
      reach(at.rounds + it->second.rounds, at.goes_on || it->second.any_number);
      continue;
    }
    if (CanEnd(at.place)) reach(at.rounds, at.goes_on || EndsFurther(at.place));
    if (++explored_ > kMostExplored || terms_.overrun()) return false;
    for (const ByteEdge& e : terms_.Expand(at.place.state).bytes) {
      uint32_t last = Slice::kRefused;
      for (int b = e.lo; b <= e.hi; ++b) {
        const uint32_t x = XAfter(at.place.x, b);
        if (x == last || x == Slice::kRefused) continue;
        last = x;
        const Place to = {e.to, x};
        const Step next = {at.rounds + (x == 0), at.goes_on || CanGoOn(to), to};
        x == 0 ? open.push_back(next) : open.push_front(next);
      }
    }
  }
  *needed = best;
  return best.rounds != kFar;  // else a search for emptiness went over its limit
}

// Null where it cannot be told.
const CountedWalk::Needed* CountedWalk::Find(const Place& from) {
  const uint64_t key = KeyOf(from);
  Recent& recent = recent_[(from.state.value + from.x) % kRecent];
  if (recent.place == key) return &recent.needed;
  auto it = needed_.find(key);
  if (it == needed_.end()) {
    Needed needed;
    if (!Search(from, &needed)) return nullptr;
    it = needed_.emplace(key, needed).first;
  }
  recent = {key, it->second};
  return &recent.needed;
}

// Tokens of X's of a character each, after which the loop needs so many (modulo 2^32).
void CountedWalk::AddRange(uint32_t first, uint32_t end, uint32_t more) {
  AddInside(first, end);
  const uint16_t* const characters = vocab_.alphabets().characters().data();
  uint16_t* const numbers = inside.data();
  for (uint32_t t = first; t < end; ++t) numbers[t] = static_cast<uint16_t>(characters[t] + more);
}

// The texts below and at node i, each of X's that leave the loop where it is.
void CountedWalk::AddWhole(uint32_t i, uint32_t begun, uint32_t more) {
  AddRange(nodes_[i].tokens, nodes_[nodes_[i].end].tokens,
           begun + more - vocab_.alphabets().characters(i));
}

// At and below node i, where `state` has left the loop after so many rounds.
void CountedWalk::WalkRest(uint32_t i, TermId state, uint32_t rounds) {
  auto visit = [&](uint32_t k, const WalkPlace& at) {
    AddLeft(nodes_[k].tokens, nodes_[k + 1].tokens, rounds);
    if (at.escaping && !nodes_[k].leaf) escapes.push_back({rounds, k});
  };
  auto whole = [&](uint32_t k, const WalkWhole&) {
    AddLeft(nodes_[k].tokens, nodes_[nodes_[k].end].tokens, rounds);
  };
  auto literal = [&](uint32_t k, uint64_t) {
    AddLeft(nodes_[k].tokens, nodes_[k + 1].tokens, rounds);
  };
  auto stretch = [&](uint32_t k, uint32_t end, const WalkWhole&) {
    AddLeft(nodes_[k].tokens, nodes_[end].tokens, rounds);
  };
  WalkFromState(&sets_, &scratch_, nodes_, &vocab_.alphabets(), i, state, visit, whole, literal,
                stretch);
}

// The nodes whose bytes lead away from the loop's first place, where most characters are an X each
// and lead back there; and those of no UTF-8, which lead nowhere.
std::optional<NodeSet> CountedWalk::LeadingAway(TermId loose) {
  if (terms_.term(loose).nullable) return std::nullopt;  // each place is one to escape from
  Alphabet back;
  const auto edges = terms_.Expand(loose).bytes;
  for (const ByteEdge& e : edges) {
    if (e.to == loose) AddAscii(e, &back);
  }
  const TrieAlphabets& alphabets = vocab_.alphabets();
  std::array<std::span<const uint32_t>, 256> lists;
  size_t count = 0;
  for (int b = 0; b < 256; ++b) {
    const auto byte = static_cast<uint8_t>(b);
    const ByteEdge* e = FindEdge(edges, byte);
    bool leads_back = false;
    if (b < 0x80) {
      leads_back = back.Contains(byte) && whole_.Contains(byte);
    } else if (b < 0xC2 || b > 0xF4) {
      if (e != nullptr) return std::nullopt;
    } else {
      leads_back = e != nullptr && ((whole_.leads >> (b - Alphabet::kFirstLead)) & 1) != 0 &&
                   AllLead(terms_, e->to, BytesAfter(byte), {&loose, 1});
      // Nothing else may be read inside a character.
      if (e != nullptr && !leads_back) return std::nullopt;
    }
    if (!leads_back && b <= 0xF4) lists[byte] = alphabets.adding(byte);
    count += lists[byte].size();
  }
  if (count * kFewLeadAway > nodes_.size()) return std::nullopt;
  NodeSet nodes(nodes_.size() - 1);
  for (const auto& list : lists) nodes.Add(list);
  nodes.Add(alphabets.broken());
  return nodes;
}

bool CountedWalk::Run(TermId loose, int64_t most) {
  const auto count = static_cast<uint32_t>(vocab_.node_count());
  inside.resize(vocab_.trie_tokens().size());
  StateWalker walker(&terms_, &scratch_);
  walker.Need(&walker.Of(loose));
  const StatePlace at = walker.Of(loose);  // a copy, which walks below leave alone
  auto enter = [&](uint32_t end, uint32_t rounds, Level* level) {
    StateWalker::Enter(&at, end, &level->at);
    level->x = 0;
    level->rounds = rounds;
  };
  const auto leading = LeadingAway(loose);
  if (!leading.has_value()) {
    enter(count, 0, &levels_[0]);
    return WalkBelow(1, count, most);
  }
  const Needed* needed = Find({loose, 0});
  if (needed == nullptr ||
      static_cast<uint32_t>(vocab_.max_token_bytes()) + needed->rounds >= most_need_)
    return false;
  const uint32_t more = needed->rounds;
  any_number &= needed->any_number;
  const TrieAlphabets& alphabets = vocab_.alphabets();
  const auto broken = alphabets.broken();
  auto next_broken = broken.begin();
  // By a byte that leads away: what the loop needs then, and of which characters it takes any text.
  struct After {
    bool known = false;
    uint32_t more = 0;
    Alphabet loop;
  };
  std::array<After, 256> afters;
  uint32_t tokens = 0;  // that are done with
  NodeCursor cursor(*leading, nodes_, alphabets);
  for (uint32_t i = cursor.Next(1); i < count; i = cursor.Next(nodes_[i].end)) {
    const TrieNode& node = nodes_[i];
    AddRange(tokens, node.tokens, more);
    tokens = nodes_[node.end].tokens;
    while (next_broken != broken.end() && *next_broken < i) ++next_broken;
    if (next_broken != broken.end() && *next_broken == i) continue;
    After& after = afters[node.byte];
    if (after.known && alphabets.below(i).IsWithin(after.loop)) {
      AddRange(node.tokens, tokens, after.more);
      continue;
    }
    enter(node.end, alphabets.characters(i) - 1, &levels_[node.depth - 1u]);
    if (!WalkBelow(i, node.end, most)) return false;
    const ByteEdge* e = FindEdge({at.edges, at.edges_end}, node.byte);
    if (e == nullptr || XAfter(0, node.byte) != 0) continue;
    const StatePlace& led = walker.Of(e->to);
    const Needed* then = Find({e->to, 0});
    if (then == nullptr) return false;
    const Alphabet& loop = led.loop.alphabet;
    if (!led.escaping && led.looked && led.loop.most == UINT64_MAX) {
      after = {true,
               then->rounds,
               {loop.low & whole_.low, loop.high & whole_.high, loop.leads & whole_.leads}};
    } else if (then->rounds == 0 && Absorbs(e->to)) {
      after = {true, 0, {whole_.low, whole_.high}};
    }
  }
  AddRange(tokens, static_cast<uint32_t>(inside.size()), more);
  return true;
}

// Nodes [first, end), siblings and what is below them; their parent is entered.
bool CountedWalk::WalkBelow(uint32_t first, uint32_t end, int64_t most) {
  const TrieAlphabets& alphabets = vocab_.alphabets();
  StateWalker walker(&terms_, &scratch_);
  auto enter = [&](StatePlace* at, uint32_t node_end, uint32_t x, uint32_t rounds, Level* level) {
    walker.Need(at);
    StateWalker::Enter(at, node_end, &level->at);
    level->x = x;
    level->rounds = rounds;
  };
  for (uint32_t i = first; i < end;) {
    const TrieNode& node = nodes_[i];
    Level& from = levels_[node.depth - 1u];
    const TermId to = StateWalker::Step(&from.at, node.byte);
    if (StateWalker::IsDead(to)) {
      i = StateWalker::Exhausted(from.at) ? from.at.end : node.end;
      continue;
    }
    const uint32_t x = XAfter(from.x, node.byte);
    if (x == Slice::kRefused) {
      WalkRest(i, to, from.rounds);
      i = node.end;
      continue;
    }
    const uint32_t ended = from.rounds + (x == 0);
    const Needed* needed = Find({to, x});
    if (needed == nullptr || ended + needed->rounds >= most_need_) return false;
    const uint32_t more = needed->rounds;
    // It never gets less on the way on.
    if (ended + more > most) {
      i = node.end;
      continue;
    }
    any_number &= needed->any_number;
    if (node.leaf) {
      AddInside(node.tokens, nodes_[i + 1].tokens);
      for (uint32_t t = node.tokens; t < nodes_[i + 1].tokens; ++t) {
        inside[t] = static_cast<uint16_t>(ended + more);
      }
      ++i;
      continue;
    }
    StatePlace& at = walker.Of(to);
    // Where the loop may end without a byte of its own, each place is one to escape from.
    if (x == 0 && !at.escaping && TakesAll(walker, nodes_, alphabets, i, &at, false, UINT32_MAX) &&
        at.loop.most == UINT64_MAX && alphabets.below(i).IsWithin(at.loop.alphabet) &&
        alphabets.below(i).IsWithin(whole_)) {
      AddWhole(i, ended, more);
      i = node.end;
      continue;
    }
    if (x == 0 && more == 0 && alphabets.below(i).leads == 0 &&
        alphabets.below(i).IsWithin(whole_) && Absorbs(to)) {
      AddWhole(i, ended, 0);
      i = node.end;
      continue;
    }
    AddInside(node.tokens, nodes_[i + 1].tokens);
    for (uint32_t t = node.tokens; t < nodes_[i + 1].tokens; ++t) {
      inside[t] = static_cast<uint16_t>(ended + more);
    }
    if (at.escaping) escapes.push_back({ended, i});
    enter(&at, node.end, x, ended, &levels_[node.depth]);
    ++i;
  }
  return true;
}

std::optional<bool> CountedWalk::RunOver(TermId loose, int64_t most, uint64_t same, size_t limit,
                                         std::vector<TokenRun>* over, uint64_t* reach,
                                         uint64_t* completion) {
  const TrieAlphabets& alphabets = vocab_.alphabets();
  struct Place {
    TermId state;
    uint32_t x, rounds;
    bool escaped;  // here or before
  };
  std::vector<Place> path(static_cast<size_t>(vocab_.max_token_bytes()) + 1);
  // A walk from one node that leads away from a place to the next: it is at or below the one that
  // ends at `stop`.
  struct Jumps {
    std::shared_ptr<const NodeSet> leading;
    NodeCursor cursor;
    uint32_t stop, end;
    Place from;
    uint32_t needed, begun;  // X's, those that the text to here has left out
    bool beyond_ascii;
  };
  std::vector<Jumps> jumps;
  StateWalker walker(&terms_, &scratch_);
  // Takes note of a place where so many X's have ended, of a text of so many bytes.
  auto measure = [&](TermId state, uint64_t bytes, uint64_t ended, uint64_t rest_of_character) {
    const uint64_t left = terms_.term(state).min_length + rest_of_character;
    if (left <= static_cast<uint64_t>(most) - ended) {
      // The shortest text, of no more X's than bytes, is one in time.
      *reach = std::max(*reach, bytes + left);
      *completion = std::max(*completion, left);
    } else {
      *reach = *completion = UINT64_MAX;
    }
  };
  auto refuse = [&](uint32_t first, uint32_t end) {
    if (first == end) return;
    AppendRun(first, end, over);
    limit -= std::min<size_t>(limit, end - first);
  };
  // Of the tokens of nodes [i, end), which are of X's of a character each: those that go over.
  auto sift = [&](const Jumps& jump, uint32_t i, uint32_t end) {
    const uint32_t bound = static_cast<uint32_t>(most) - jump.needed + jump.begun;
    uint32_t longest = 0, characters = 0;
    while (i < end) {
      const TrieNode& node = nodes_[i];
      const uint32_t begun = alphabets.characters(i);
      if (alphabets.deepest(i) <= same) {
        i = std::min(node.end, end);
      } else if (begun > bound) {
        const uint32_t next = std::min(node.end, end);
        refuse(node.tokens, nodes_[next].tokens);
        i = next;
      } else {
        longest = std::max<uint32_t>(longest, node.depth);
        characters = std::max(characters, begun);
        ++i;
      }
    }
    if (longest == 0) return;
    measure(jump.from.state, longest, characters - jump.begun,
            jump.beyond_ascii ? LeavingNodes::kRestOfCharacter : 0);
  };
  // Begins to jump below node i, in a place where most characters are an X each and lead back.
  auto jump_below = [&](uint32_t i, const Place& at) {
    if (at.x != 0 || at.escaped || nodes_[i].end - i < LeavingNodes::kWorth) return;
    StatePlace& place = walker.Of(at.state);
    walker.Need(&place);
    const bool leads = alphabets.below(i).leads != 0;
    if (!place.asked || (leads && !place.asked_leads)) walker.FindStays(&place, leads);
    Alphabet stays = place.stays;
    stays.low &= whole_.low;
    stays.high &= whole_.high;
    // All of them or none: what is no X leaves the loop, maybe inside a character.
    if ((stays.leads & ~whole_.leads) != 0) stays.leads = 0;
    const bool beyond_ascii = stays.leads != 0;
    if (stays.AsciiSize() < LeavingNodes::kWideLoop ||
        !LeavingNodes::HoldBelow(alphabets, stays, i, nodes_[i].depth)) {
      return;
    }
    std::shared_ptr<const NodeSet> leading =
        scratch_.leaving.Of(alphabets, stays, nodes_[i].end - i);
    const Needed* needed = leading == nullptr ? nullptr : Find({at.state, 0});
    if (needed == nullptr || needed->rounds >= static_cast<uint64_t>(most)) return;
    const NodeCursor cursor(*leading, nodes_, alphabets);
    jumps.push_back({std::move(leading), cursor, i + 1, nodes_[i].end, at, needed->rounds,
                     alphabets.characters(i) - at.rounds, beyond_ascii});
  };
  auto next = [&](uint32_t i) {
    while (!jumps.empty() && i >= jumps.back().stop) {
      Jumps& jump = jumps.back();
      while (true) {
        const uint32_t met = std::min(jump.cursor.Next(i), jump.end);
        sift(jump, i, met);
        i = met;
        if (i == jump.end) break;
        const TrieNode& node = nodes_[i];
        if (alphabets.deepest(i) > same &&
            !(jump.beyond_ascii && scratch_.leaving.IsBroken(alphabets, i))) {
          jump.stop = node.end;
          path[node.depth - 1u] = jump.from;
          path[node.depth - 1u].rounds = alphabets.characters(i) - 1 - jump.begun;
          return i;
        }
        i = node.end;
      }
      jumps.pop_back();
    }
    return i;
  };
  path[0] = {loose, 0, 0, terms_.term(loose).nullable};
  jump_below(0, path[0]);
  const auto count = static_cast<uint32_t>(vocab_.node_count());
  for (uint32_t i = next(1); i < count; i = next(i)) {
    const TrieNode& node = nodes_[i];
    if (alphabets.deepest(i) <= same) {
      i = node.end;
      continue;
    }
    const Place from = path[node.depth - 1u];
    StatePlace& before = walker.Of(from.state);
    walker.Need(&before);
    const ByteEdge* edge = FindEdge({before.edges, before.edges_end}, node.byte);
    const uint32_t x = XAfter(from.x, node.byte);
    // Where the loop is left, in time, the two go on alike.
    if (edge == nullptr || x == Slice::kRefused) {
      i = node.end;
      continue;
    }
    const TermId to = edge->to;
    const uint32_t ended = from.rounds + (x == 0);
    const Needed* needed = Find({to, x});
    if (needed == nullptr || ended + needed->rounds >= most_need_) return std::nullopt;
    // It never gets less on the way on.
    if (ended + needed->rounds > most) {
      refuse(node.tokens, nodes_[node.end].tokens);
      // One that is refused inside may have escaped before.
      if (from.escaped) return false;
      i = node.end;
    } else {
      measure(to, node.depth, ended, 0);
      const Place at = {to, x, ended, from.escaped || terms_.term(to).nullable};
      path[node.depth] = at;
      jump_below(i, at);
      ++i;
    }
    if (limit == 0) return false;
  }
  return limit != 0;
}

// Writes which numbers are at most `most`, a bit each.
void AtMost(std::span<const uint16_t> numbers, uint16_t most, uint32_t* bits) {
  for (size_t i = 0; i < numbers.size(); i += 32) {
    uint8_t are[32];  // each 0 or 1
    for (size_t k = 0; k < 32; ++k) are[k] = numbers[i + k] <= most ? 1 : 0;
    uint32_t word = 0;
    for (size_t k = 0; k < 32; k += 8) {
      uint64_t eight;
      std::memcpy(&eight, are + k, sizeof eight);
      if constexpr (std::endian::native == std::endian::big) eight = __builtin_bswap64(eight);
      // Bits 0, 8, 16 and so on to 56, 57, 58.
      word |= static_cast<uint32_t>((eight * 0x0102040810204080) >> 56) << k;
    }
    bits[i / 32] = word;
  }
}

}  // namespace

CountedTokens::ByNumber::ByNumber(const std::vector<uint64_t>& entries) {
  uint32_t most = 0;
  for (uint64_t e : entries) most = std::max(most, static_cast<uint32_t>(e >> 32));
  ends.resize(size_t{most} + 2);
  for (uint64_t e : entries) ++ends[(e >> 32) + 1];
  for (size_t n = 1; n < ends.size(); ++n) ends[n] += ends[n - 1];
  tokens.resize(entries.size());
  for (uint64_t e : entries) {
    tokens[ends[e >> 32]++] = static_cast<TokenId>(static_cast<uint32_t>(e));
  }
  ends.pop_back();  // each has become where the next one begins
}

CountedTokens::ByNumber::ByNumber(std::span<const uint16_t> numbers, std::span<const TokenRun> runs,
                                  std::span<const TokenId> trie_tokens) {
  uint16_t most = 0;
  for (const TokenRun& run : runs) {
    for (uint32_t t = run.first; t < run.last; ++t) most = std::max(most, numbers[t]);
  }
  ends.resize(size_t{most} + 2);
  for (const TokenRun& run : runs) {
    for (uint32_t t = run.first; t < run.last; ++t) ++ends[numbers[t] + size_t{1}];
  }
  for (size_t n = 1; n < ends.size(); ++n) ends[n] += ends[n - 1];
  tokens.resize(ends.back());
  for (const TokenRun& run : runs) {
    for (uint32_t t = run.first; t < run.last; ++t) tokens[ends[numbers[t]]++] = trie_tokens[t];
  }
  ends.pop_back();  // each has become where the next one begins
}

std::span<const TokenId> CountedTokens::ByNumber::Between(int64_t from, int64_t to) const {
  auto end = [&](int64_t n) -> size_t {
    if (n < 0) return 0;
    return ends[std::min(static_cast<size_t>(n), ends.size() - 1)];
  };
  const size_t first = end(from - 1);
  return std::span(tokens).subspan(first, std::max(first, end(to)) - first);
}

CountedTokens::CountedTokens(size_t words, ByNumber inside, std::vector<uint16_t> numbers,
                             ByNumber left, std::vector<Escape> escapes, bool any_number,
                             int64_t most)
    : words_(words),
      inside_(std::move(inside)),
      numbers_(std::move(numbers)),
      left_(std::move(left)),
      escapes_(std::move(escapes)),
      any_number_(any_number),
      most_(most) {}

std::unique_ptr<CountedTokens> CountedTokens::Create(const Vocab& vocab, SetTable* sets,
                                                     TermId loose,
                                                     const std::vector<uint32_t>& table,
                                                     TermId rest, int64_t most,
                                                     WalkScratch* scratch) {
  CountedWalk walk(vocab, sets, table, scratch);
  if (!walk.Fits(rest) || !walk.Run(loose, most)) return nullptr;
  const size_t words = (static_cast<size_t>(vocab.size()) + 31) / 32;
  size_t count = 0;
  for (const TokenRun& run : walk.runs) count += run.last - run.first;
  ByNumber inside;
  std::vector<uint16_t> numbers;
  if (count < kDense) {
    inside = ByNumber(walk.inside, walk.runs, vocab.trie_tokens());
  } else {
    numbers.assign(words * 32, kNoNumber);
    const TokenId* const tokens = vocab.trie_tokens().data();
    const uint16_t* const by_place = walk.inside.data();
    for (const TokenRun& run : walk.runs) {
      for (uint32_t t = run.first; t < run.last; ++t) {
        numbers[static_cast<size_t>(tokens[t])] = by_place[t];
      }
    }
  }
  return std::unique_ptr<CountedTokens>(
      new CountedTokens(words, std::move(inside), std::move(numbers), ByNumber(walk.left),
                        std::move(walk.escapes), walk.any_number, most));
}

std::optional<bool> CountedTokens::FindOver(const Vocab& vocab, SetTable* sets, TermId loose,
                                            const std::vector<uint32_t>& table, TermId rest,
                                            int64_t most, uint64_t same, size_t limit,
                                            WalkScratch* scratch, std::vector<TokenRun>* over,
                                            uint64_t* reach, uint64_t* completion) {
  CountedWalk walk(vocab, sets, table, scratch);
  if (!walk.Fits(rest)) return std::nullopt;
  return walk.RunOver(loose, most, same, limit, over, reach, completion);
}

std::optional<std::vector<TokenId>> CountedTokens::List(int64_t least, int64_t most,
                                                        size_t limit) const {
  if (!numbers_.empty()) return std::nullopt;
  const auto inside = inside_.Between(0, most), left = left_.Between(least, most);
  if (inside.size() + left.size() > limit) return std::nullopt;
  std::vector<TokenId> list(inside.begin(), inside.end());
  list.insert(list.end(), left.begin(), left.end());
  return list;
}

std::vector<uint32_t> CountedTokens::Bitmap(int64_t least, int64_t most) const {
  std::vector<uint32_t> result(words_);
  if (numbers_.empty()) {
    for (TokenId t : inside_.Between(0, most)) SetBit(result.data(), t);
  } else {
    AtMost(numbers_, static_cast<uint16_t>(std::min<int64_t>(most, kNoNumber - 1)), result.data());
  }
  for (TokenId t : left_.Between(least, most)) SetBit(result.data(), t);
  return result;
}

std::vector<uint32_t> CountedTokens::Escapes(int64_t least, int64_t most) const {
  std::vector<uint32_t> nodes;
  for (const Escape& e : escapes_) {
    if (least <= e.rounds && e.rounds <= most) nodes.push_back(e.node);
  }
  return nodes;
}

size_t CountedTokens::memory_bytes() const {
  return sizeof(CountedTokens) + words_ * 4 + escapes_.capacity() * sizeof(Escape) +
         (inside_.tokens.capacity() + inside_.ends.capacity() + left_.tokens.capacity() +
          left_.ends.capacity()) *
             4 +
         numbers_.capacity() * 2;
}

}  // namespace grammask::internal
