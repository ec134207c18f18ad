// A state that excludes the texts of patterns to its mask, from that of the state without.
//
// Of a key that must not contain "github" nearly all tokens are as those of any key. What is
// refused shows where both states are walked in step, as pairs: `(X* & !P) r` and `X* r` differ
// where the first is dead and the second is not. Few places of the trie need a look. P wants
// certain characters, as all of g, i, t, h, u, b, or one of some, or so many bytes
// (wanted_bytes.h). Where there are not those below a node, no text below can be one of P's; nor is
// it one, followed by what the wider state then needs to be complete, unless that has such
// characters itself. So nothing is refused there.
//
// A backslash may begin another spelling of a wanted character: where there is one below, only the
// length counts.
//
// Most pairs lead back to themselves by all characters but a few, the letters with which P begins
// or ends. A walk goes from one node with such a letter to the next (leaving_nodes.h): what lies
// between need not be looked at.
//
// Cost: some 10 ns a node walked, and a walk is of the nodes of one letter for P that wants one;
// a state of the two for each way in which P may have begun. Tests: tests/mask/complements_test.cc,
// tests/exhaustive.
#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>
#include <utility>

#include "base/tables.h"
#include "mask/draft.h"
#include "mask/mask_cache.h"
#include "mask/wanted_bytes.h"

namespace grammask::internal {
namespace {

constexpr size_t kMostPairs = 1024;
constexpr uint32_t kMostIdle = 1000;  // nodes
constexpr size_t kMostStates = 64;    // of a class of characters
constexpr uint64_t kShort = 8;        // bytes of a text that many tokens may be

}  // namespace

// The states of a state with exclusions and of the one without, in step.
class MaskCache::ComplementWalk {
 public:
  ComplementWalk(const Vocab& vocab, TermStore* terms, LeavingNodes* leaving)
      : vocab_(vocab),
        terms_(*terms),
        nodes_(vocab.nodes()),
        alphabets_(vocab.alphabets()),
        leaving_(*leaving) {}

  // False where more tells them apart than tokens that stay inside.
  bool Run(TermId narrow, TermId wide);

  TableVector<TokenRun> refused;       // tokens that only `wide` may take; ascending
  uint64_t reach = 0, completion = 0;  // as in Level1, of `narrow` where it was walked

 private:
  static constexpr uint16_t kSame = 0, kRefused = 1, kFirst = 2;
  // An exclusion: what its texts have in them, and how long they are at least.
  struct Excluded {
    WantedBytes wanted;
    uint64_t length;
  };
  struct Pair {
    TermId narrow, wide;
    // Neither has come to what follows the intersection in any way: they differ in the exclusions
    // and in nothing else.
    bool inside = false;
    bool escaping = false;
    bool made = false;
    uint64_t completion = 0;
    // Where nothing of this is below a node nothing is refused there; none where that is not known.
    absl::InlinedVector<Excluded, 2> excluded;
    uint64_t rest = 0;  // bytes that complete a text
    // Some byte that may come at any time leads out of all exclusions for good: so nothing is
    // refused but where a text ends, by one of `ends`.
    bool open = false;
    AsciiSet ends;
    bool worth = false;  // much of the trie may be passed over here
    bool looked = false;
    Alphabet stays;  // characters that lead back here, once looked for
    std::array<uint16_t, 256> to = {};
  };
  struct Level {
    Pair* at;
    bool escaped;  // here or before
  };

  uint16_t Find(TermId narrow, TermId wide, bool inside);
  bool Make(Pair* pair);
  bool LeadsBack(uint16_t from, std::span<const ByteRange> ranges, uint16_t to);
  void FindStays(uint16_t number);
  std::shared_ptr<const NodeSet> LeavingBelow(uint16_t number, uint32_t i);
  void Look(Pair* pair, ByteSet* inside);
  // Complete(), NotRead() and Wanted(), once each.
  const std::pair<bool, Completion>& CompletionOf(TermId included, int avoided) {
    const auto [it, added] = completions_.try_emplace({included.value, avoided});
    if (added) it->second.first = Complete(terms_, included, avoided, &it->second.second);
    return it->second;
  }
  const AsciiSet& NotReadBy(TermId excluded) {
    const auto [it, added] = not_read_.try_emplace(excluded.value);
    if (added) it->second = NotRead(terms_, excluded);
    return it->second;
  }
  const WantedBytes& WantedOf(TermId excluded) {
    const auto [it, added] = wanted_.try_emplace(excluded.value);
    if (added) it->second = Wanted(terms_, excluded);
    return it->second;
  }
  bool IsPrefixFree(TermId x);
  bool LeadsOut(TermId x, TermId excluded);
  void LookForOpen(Pair* pair, TermId included, std::span<const TermId> excluded);
  bool NothingBelow(const Pair& pair, uint32_t i) const {
    const Alphabet& below = alphabets_.below(i);
    if (pair.open && !pair.ends.Meets(below)) return true;
    if (pair.excluded.empty()) return false;
    const uint64_t longest = alphabets_.deepest(i) - nodes_[i].depth + pair.rest;
    return std::ranges::all_of(pair.excluded, [&](const Excluded& e) {
      return longest < e.length || (!below.Contains('\\') && e.wanted.Lacks(below));
    });
  }

  // Takes note of node i, which leads to the pair of this number. Whether nothing is refused there
  // and below, as far as is known of the pair.
  bool AllBelow(uint16_t number, uint32_t i) {
    const Pair& at = *pairs_[static_cast<size_t>(number - kFirst)];
    const TrieNode& node = nodes_[i];
    reach = std::max(reach, node.depth + at.completion);
    completion = std::max(completion, at.completion);
    return node.leaf || (at.made && NothingBelow(at, i));
  }

  const Vocab& vocab_;
  TermStore& terms_;
  const std::span<const TrieNode> nodes_;
  const TrieAlphabets& alphabets_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  absl::flat_hash_map<std::tuple<uint32_t, uint32_t, bool>, uint16_t> ids_;
  absl::flat_hash_map<std::pair<uint32_t, int>, std::pair<bool, Completion>> completions_;
  absl::flat_hash_map<uint32_t, WantedBytes> wanted_;
  absl::flat_hash_map<uint32_t, AsciiSet> not_read_;
  LeavingNodes& leaving_;
  bool fits_ = true;
};

// The number of a pair that a byte leads to.
uint16_t MaskCache::ComplementWalk::Find(TermId narrow, TermId wide, bool inside) {
  if (wide == TermStore::Nothing() || narrow == wide) return kSame;
  if (narrow == TermStore::Nothing()) return kRefused;
  const auto next = static_cast<uint16_t>(pairs_.size() + kFirst);
  const auto [it, added] = ids_.try_emplace({narrow.value, wide.value, inside}, next);
  if (!added) return it->second;
  Pair& pair = *pairs_.emplace_back(std::make_unique<Pair>());
  const Term& n = terms_.term(narrow);
  pair.narrow = narrow;
  pair.wide = wide;
  pair.inside = inside;
  pair.escaping = n.nullable;
  pair.completion = n.min_length;
  fits_ = fits_ && n.nullable == terms_.term(wide).nullable && pairs_.size() < kMostPairs;
  return next;
}

// What `pair` excludes, where it is plain. `inside`: the bytes after which that is still all that
// tells the two apart.
void MaskCache::ComplementWalk::Look(Pair* pair, ByteSet* inside) {
  *inside = {};
  if (!pair->inside) return;
  const Term& n = terms_.term(pair->narrow);
  const bool sequence = n.kind == TermKind::kSequence;
  const Term& head = sequence ? terms_.term(n.children()[0]) : n;
  if (head.kind == TermKind::kBytes) *inside = ByteSet::All();
  if (head.kind != TermKind::kAnd) return;
  TermId included = TermStore::Nothing();
  absl::InlinedVector<TermId, 4> excluded;
  for (TermId c : head.children()) {
    const Term& part = terms_.term(c);
    if (part.kind == TermKind::kNot) {
      excluded.push_back(part.children()[0]);
    } else if (included == TermStore::Nothing()) {
      included = c;
    } else {
      fits_ = false;  // mostly few texts, of which a walk soon sees all
      return;
    }
  }
  if (included == TermStore::Nothing()) return;
  *inside = ByteSet::All();
  if (sequence && terms_.term(included).nullable) {
    for (const ByteEdge& e : terms_.Expand(n.children()[1]).bytes) {
      *inside = *inside & ~ByteSet::Range(e.lo, e.hi);
    }
  }
  LookForOpen(pair, included, excluded);
  // Of each exclusion a completion has to do without one byte, or without a set of them.
  int avoided = 0;
  for (TermId c : excluded) avoided += WantedOf(c).most();
  const auto& [plain, completion] = CompletionOf(included, avoided);
  bool worth = plain;
  if (plain) {
    pair->rest = completion.length;
    for (TermId c : excluded) {
      // What completes a text may have some of it.
      WantedBytes wanted = WantedOf(c);
      wanted.all.Remove(completion.bytes);
      for (size_t i = wanted.one_of.size(); i-- > 0;) {
        AsciiSet& set = wanted.one_of[i];
        const uint64_t met = (set.low & completion.bytes.low) | (set.high & completion.bytes.high);
        if (met != 0) wanted.one_of.erase(wanted.one_of.begin() + static_cast<ptrdiff_t>(i));
      }
      const uint64_t length = terms_.term(c).min_length;
      worth &= !wanted.all.empty() || !wanted.one_of.empty() || length > pair->rest + kShort;
      pair->excluded.push_back({std::move(wanted), length});
    }
  }
  pair->worth = worth || pair->open;
}

// Whether no text of X begins another, so that a text has X's in it in one way only.
bool MaskCache::ComplementWalk::IsPrefixFree(TermId x) {
  std::vector<TermId> states = {x};
  for (size_t i = 0; i < states.size(); ++i) {
    if (states.size() > kMostStates || terms_.term(states[i]).nullable) return false;
    for (const ByteEdge& e : terms_.Expand(states[i]).bytes) {
      if (e.to == TermStore::Empty()) continue;
      if (std::ranges::find(states, e.to) == states.end()) states.push_back(e.to);
    }
  }
  return true;
}

// Whether some X leads out of `excluded`, a loop of Y's, in whichever way it is spelled: where each
// Y is an X, and not the other way round.
bool MaskCache::ComplementWalk::LeadsOut(TermId x, TermId excluded) {
  const Term& loop = terms_.term(excluded);
  if (loop.kind != TermKind::kRepeat || !IsPrefixFree(x)) return false;
  const TermId y = loop.children()[0];
  return terms_.IsWithin(y, x) && !terms_.IsWithin(x, y);
}

// Whether `pair` is open: of `X* & !Y*` any character that is no Y's leads out.
void MaskCache::ComplementWalk::LookForOpen(Pair* pair, TermId included,
                                            std::span<const TermId> excluded) {
  const Term& loop = terms_.term(included);
  const Term& n = terms_.term(pair->narrow);
  if (loop.kind != TermKind::kRepeat || loop.b != kUnbounded || n.kind != TermKind::kSequence ||
      terms_.term(n.children()[1]).nullable) {
    return;
  }
  AsciiSet out;
  for (const ByteEdge& e : terms_.Expand(loop.children()[0]).bytes) {
    for (int b = e.lo; b <= e.hi && b < 0x80; ++b) {
      if (e.to == TermStore::Empty()) out.Add(static_cast<uint8_t>(b));
    }
  }
  for (TermId c : excluded) out &= NotReadBy(c);
  const bool leads_out = (out.low | out.high) != 0 ||
                         (excluded.size() == 1 && LeadsOut(loop.children()[0], excluded[0]));
  for (const ByteEdge& e : terms_.Expand(n.children()[1]).bytes) {
    if (e.hi >= 0x80) return;
    for (int b = e.lo; b <= e.hi; ++b) pair->ends.Add(static_cast<uint8_t>(b));
  }
  pair->open = leads_out;
}

// Finds where each byte leads.
bool MaskCache::ComplementWalk::Make(Pair* pair) {
  pair->made = true;
  const Expansion& narrow = terms_.Expand(pair->narrow);
  const Expansion& wide = terms_.Expand(pair->wide);
  if (!narrow.calls.empty() || !wide.calls.empty() || !narrow.tokens.empty() ||
      !wide.tokens.empty()) {
    return false;
  }
  ByteSet inside;
  Look(pair, &inside);
  auto n = narrow.bytes.begin();
  for (const ByteEdge& e : wide.bytes) {
    uint16_t to = kSame;
    for (int b = e.lo; b <= e.hi; ++b) {
      while (n != narrow.bytes.end() && n->hi < b) ++n;
      const bool reads = n != narrow.bytes.end() && n->lo <= b;
      const bool stays = inside.Has(static_cast<uint8_t>(b));
      const bool as_before = b > e.lo && !(reads && n->lo == b) &&
                             !(n != narrow.bytes.begin() && std::prev(n)->hi + 1 == b) &&
                             stays == inside.Has(static_cast<uint8_t>(b - 1));
      if (!as_before) to = Find(reads ? n->to : TermStore::Nothing(), e.to, stays);
      pair->to[static_cast<size_t>(b)] = to;
    }
  }
  return fits_;
}

// Whether each text of bytes out of the ranges leads from the pair `from` to the pair `to`, and no
// other text to any pair.
bool MaskCache::ComplementWalk::LeadsBack(uint16_t from, std::span<const ByteRange> ranges,
                                          uint16_t to) {
  if (ranges.empty()) return from == to;
  if (from < kFirst || from == to) return false;
  Pair& pair = *pairs_[static_cast<size_t>(from - kFirst)];
  if (pair.escaping || (!pair.made && !Make(&pair))) return false;
  uint16_t last = kSame;
  for (size_t b = 0; b < 256; ++b) {
    const bool within = ranges[0].lo <= b && b <= ranges[0].hi;
    const uint16_t next = pair.to[b];
    if (within ? next != last && !LeadsBack(next, ranges.subspan(1), to) : next != kSame) {
      return false;
    }
    last = within ? next : kSame;
  }
  return true;
}

// Finds the characters that lead back to the pair of this number; none where it reads what is no
// UTF-8.
void MaskCache::ComplementWalk::FindStays(uint16_t number) {
  Pair& pair = *pairs_[static_cast<size_t>(number - kFirst)];
  pair.looked = true;
  for (size_t b = 0x80; b < 256; ++b) {
    if ((b < 0xC2 || b > 0xF4) && pair.to[b] != kSame) return;
  }
  for (uint8_t b = 0; b < 0x80; ++b) {
    if (pair.to[b] == number) pair.stays.Add(b);
  }
  if (pair.stays.empty()) return;
  bool back = false;  // as the byte before
  for (uint8_t b = 0xC2; b <= 0xF4; ++b) {
    const uint16_t to = pair.to[b];
    const auto after = BytesAfter(b);
    const bool as_before = b > 0xC2 && to == pair.to[b - 1u] &&
                           after.data() == BytesAfter(b - 1).data() &&
                           after.size() == BytesAfter(b - 1).size();
    if (!as_before) back = to != kSame && LeadsBack(to, after, number);
    if (back) {
      pair.stays.AddLead(b);
    } else if (to != kSame) {  // the lists of all of these are long
      pair.stays.leads = 0;
      return;
    }
  }
}

// The nodes at which a walk of what lies below node i leaves the pair of this number, where most
// characters lead back to it; null where it is walked node by node.
std::shared_ptr<const NodeSet> MaskCache::ComplementWalk::LeavingBelow(uint16_t number,
                                                                       uint32_t i) {
  Pair& pair = *pairs_[static_cast<size_t>(number - kFirst)];
  if (!pair.looked) FindStays(number);
  if (pair.stays.empty() || !fits_ ||
      !LeavingNodes::HoldBelow(alphabets_, pair.stays, i, nodes_[i].depth)) {
    return nullptr;
  }
  return leaving_.Of(alphabets_, pair.stays, nodes_[i].end - i);
}

bool MaskCache::ComplementWalk::Run(TermId narrow, TermId wide) {
  Find(narrow, wide, true);
  if (pairs_.empty()) return false;
  std::vector<Level> path(static_cast<size_t>(vocab_.max_token_bytes()) + 1);
  // A walk from one node that leads away from a pair to the next: it is at or below the one that
  // ends at `stop`.
  struct Jumps {
    std::shared_ptr<const NodeSet> leading;
    NodeCursor cursor;
    bool beyond_ascii;  // some characters are that lead back
    uint32_t stop, end;
    Level from;
  };
  std::vector<Jumps> jumps;
  uint32_t idle = 0;
  // Goes on below node i, in a pair; the node to go on with.
  auto enter = [&](uint32_t i, uint16_t number, bool escaped) {
    Level& level = path[nodes_[i].depth];
    level = {pairs_[static_cast<size_t>(number - kFirst)].get(), escaped};
    if (nodes_[i].end - i < LeavingNodes::kWorth) return i + 1;
    std::shared_ptr<const NodeSet> leading = LeavingBelow(number, i);
    if (leading == nullptr) return i + 1;
    // Of what is passed over it is only known how long it is.
    const uint64_t left = level.at->completion + LeavingNodes::kRestOfCharacter;
    completion = std::max(completion, left);
    reach = std::max(reach, alphabets_.deepest(i) + left);
    const NodeCursor cursor(*leading, nodes_, alphabets_);
    jumps.push_back(
        {std::move(leading), cursor, level.at->stays.leads != 0, i + 1, nodes_[i].end, level});
    return i + 1;
  };
  auto next = [&](uint32_t i) {
    while (!jumps.empty() && i >= jumps.back().stop) {
      Jumps& jump = jumps.back();
      const uint16_t* const targets = jump.from.at->to.data();
      for (i = jump.cursor.Next(i, jump.end); i < jump.end;
           i = jump.cursor.Next(nodes_[i].end, jump.end)) {
        const TrieNode& node = nodes_[i];
        const uint16_t to = targets[node.byte];
        if (to == kSame) continue;
        // What is no UTF-8 both refuse.
        if (jump.beyond_ascii && leaving_.IsBroken(alphabets_, i)) continue;
        if (to == kRefused && !jump.from.escaped) {
          refused.push_back({node.tokens, nodes_[node.end].tokens});
          continue;
        }
        if (to >= kFirst && AllBelow(to, i)) continue;
        jump.stop = node.end;
        path[node.depth - 1u] = jump.from;
        return i;
      }
      i = jump.end;
      jumps.pop_back();
    }
    return i;
  };
  Pair& first = *pairs_[0];
  if (!Make(&first)) return false;
  const auto count = static_cast<uint32_t>(vocab_.node_count());
  for (uint32_t i = next(enter(0, kFirst, first.escaping)); i < count; i = next(i)) {
    const TrieNode& node = nodes_[i];
    const Level from = path[node.depth - 1u];
    const uint16_t to = from.at->to[node.byte];
    if (to == kSame) {
      i = node.end;
      continue;
    }
    if (to == kRefused) {
      refused.push_back({node.tokens, nodes_[node.end].tokens});
      if (from.escaped) return false;
      i = node.end;
      continue;
    }
    Pair& at = *pairs_[static_cast<size_t>(to - kFirst)];
    if (!at.made && !node.leaf && !Make(&at)) return false;
    if (AllBelow(to, i)) {
      i = node.end;
      continue;
    }
    // With many such places the walk would be of the whole trie.
    if (!at.worth && ++idle > kMostIdle) return false;
    i = enter(i, to, from.escaped || at.escaping);
  }
  return fits_;
}

// The mask of a state that excludes texts, not only finitely many, from that of the same state
// without; null where more tells them apart than tokens that stay inside, or where the wider
// state's mask would take a walk of its own.
const Level1* MaskCache::FromComplement(TermId state) {
  const auto wider = terms_.WithoutComplements(state);
  if (!wider.has_value()) return nullptr;
  const bool known = terms_.attachment(*wider).load(std::memory_order_acquire) != nullptr;
  if (!known && !terms_.FindLoop(*wider).has_value()) return nullptr;
  TableVector<TokenRun> refused;
  uint64_t reach, completion;
  {
    const DraftLease draft(&drafts_);
    ComplementWalk walk(*vocab_, &terms_, &draft->scratch.leaving);
    if (!walk.Run(state, *wider)) return nullptr;
    refused = std::move(walk.refused);
    reach = walk.reach;
    completion = walk.completion;
  }
  return Narrowed(OfState(*wider), refused, reach, completion);
}

}  // namespace grammask::internal
