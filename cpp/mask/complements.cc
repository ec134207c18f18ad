// A state that excludes the texts of patterns to its mask, from that of the state without.
//
// Of a key that must not contain "github" nearly all tokens are as those of any key. What is
// refused shows where both states are walked in step, as pairs: `(X* & !P) r` and `X* r` differ
// where the first is dead and the second is not. Few places of the trie need a look. P wants
// certain characters, as all of g, i, t, h, u, b, or so many bytes. Where there are not those below
// a node, no text below can be one of P's; nor is it one, followed by what the wider state then
// needs to be complete, unless that has such characters itself. So nothing is refused there.
//
// A backslash may begin another spelling of a wanted character: where there is one below, only the
// length counts.
//
// Most pairs lead back to themselves by all characters but a few, the letters with which P begins
// or ends. A walk that has become long goes from one node with such a letter to the next
// (TrieAlphabets::adding): what lies between need not be looked at.
//
// Cost: some 10 ns a node walked, and a walk is of the nodes of one letter for P that wants one;
// a state of the two for each way in which P may have begun. Tests: tests/mask/complements_test.cc,
// tests/exhaustive.
#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <tuple>

#include "base/utf8.h"
#include "mask/draft.h"
#include "mask/mask_cache.h"

namespace grammask::internal {
namespace {

constexpr size_t kMostPairs = 1024;
constexpr uint32_t kMostIdle = 20000;     // nodes
constexpr size_t kMostStates = 64;        // of a class of characters
constexpr uint64_t kShort = 8;            // bytes of a text that many tokens may be
constexpr uint32_t kWorthJumping = 64;    // nodes below one
constexpr uint32_t kLongWalk = 8192;      // nodes
constexpr size_t kMostSets = 16;          // of nodes
constexpr size_t kFewLeadAway = 2;        // the share of the trie's nodes that these are at most
constexpr int kMostParts = 512;           // of a term that are looked at
constexpr int kMostDepth = 24;            // of these
constexpr uint64_t kRestOfCharacter = 3;  // bytes
constexpr uint64_t kLongestEscape = 12;   // bytes
constexpr uint64_t kFar = uint64_t{1} << 32;  // a length that nothing comes near

struct AsciiSet {
  uint64_t low = 0, high = 0;
  static AsciiSet All() { return {~uint64_t{0}, ~uint64_t{0}}; }
  void Add(uint8_t b) { (b < 64 ? low : high) |= uint64_t{1} << (b & 63); }
  AsciiSet& operator|=(const AsciiSet& o) {
    low |= o.low;
    high |= o.high;
    return *this;
  }
  AsciiSet& operator&=(const AsciiSet& o) {
    low &= o.low;
    high &= o.high;
    return *this;
  }
  bool Meets(const Alphabet& a) const { return ((low & a.low) | (high & a.high)) != 0; }
  bool HasOutside(const Alphabet& a) const { return ((low & ~a.low) | (high & ~a.high)) != 0; }
};

// Whether a literal has to be written with a backslash.
bool WantsBackslash(const Term& t) {
  return std::ranges::any_of(t.text(), [&](char c) {
    const auto b = static_cast<uint8_t>(c);
    return b == '\\' || (t.kind == TermKind::kJsonText && (b < 0x20 || b == '"'));
  });
}

// The ASCII bytes that all texts of `id` have in them, but for those with a backslash; some of
// these bytes where the term is large.
AsciiSet Wanted(const TermStore& terms, TermId id, int depth, int* parts) {
  AsciiSet wanted;
  while (depth <= kMostDepth && --*parts > 0) {
    const Term& t = terms.term(id);
    switch (t.kind) {
      case TermKind::kSequence:
        wanted |= Wanted(terms, t.children()[0], depth + 1, parts);
        id = t.children()[1];
        continue;
      case TermKind::kBytes:
      case TermKind::kJsonText:
        if (WantsBackslash(t)) return AsciiSet::All();
        for (char c : t.text()) {
          if (static_cast<uint8_t>(c) < 0x80) wanted.Add(static_cast<uint8_t>(c));
        }
        return wanted;
      case TermKind::kByteClass: {
        const ByteSet& bytes = terms.byte_class(t.a);
        if (bytes == ByteSet::Of('\\')) return AsciiSet::All();
        if (bytes.size() == 1) {
          bytes.ForEachRange([&](uint8_t b, uint8_t) {
            if (b < 0x80) wanted.Add(b);
          });
        }
        return wanted;
      }
      case TermKind::kChoice: {
        AsciiSet common = AsciiSet::All();
        for (TermId c : t.children()) common &= Wanted(terms, c, depth + 1, parts);
        wanted |= common;
        return wanted;
      }
      case TermKind::kAnd:
        for (TermId c : t.children()) wanted |= Wanted(terms, c, depth + 1, parts);
        return wanted;
      case TermKind::kRepeat:
        if (t.a == 0) return wanted;
        id = t.children()[0];
        ++depth;
        continue;
      default:
        return wanted;
    }
  }
  return wanted;
}

// Removes from `bytes`, ASCII ones, those that texts of `id` may have in them.
void RemoveRead(const TermStore& terms, TermId id, int depth, int* parts, AsciiSet* bytes) {
  auto remove = [&](int lo, int hi) {
    for (int b = lo; b <= std::min(hi, 0x7F); ++b) {
      (b < 64 ? bytes->low : bytes->high) &= ~(uint64_t{1} << (b & 63));
    }
  };
  while (depth <= kMostDepth && --*parts > 0) {
    const Term& t = terms.term(id);
    switch (t.kind) {
      case TermKind::kEmpty:
        return;
      case TermKind::kJsonText:
        for (char c : std::string_view("\\u0123456789abcdefABCDEFnrt/\"")) remove(c, c);
        [[fallthrough]];
      case TermKind::kBytes:
        for (char c : t.text()) remove(static_cast<uint8_t>(c), static_cast<uint8_t>(c));
        return;
      case TermKind::kByteClass:
        terms.byte_class(t.a).ForEachRange(remove);
        return;
      case TermKind::kSequence:
      case TermKind::kChoice:
        for (TermId c : t.children().first(t.children().size() - 1)) {
          RemoveRead(terms, c, depth + 1, parts, bytes);
        }
        id = t.children().back();
        continue;
      case TermKind::kRepeat:
        id = t.children()[0];
        ++depth;
        continue;
      default:
        *bytes = {};
        return;
    }
  }
  *bytes = {};
}

// What completes a text that was begun.
struct Completion {
  AsciiSet bytes;       // ASCII that it may have to have in it
  uint64_t length = 0;  // the most that it takes
};

// The greatest length of a text; kFar where that is not seen at once.
uint64_t Longest(const TermStore& terms, TermId id, int depth, int* parts) {
  if (depth > kMostDepth || --*parts <= 0) return kFar;
  const Term& t = terms.term(id);
  uint64_t longest = 0;
  switch (t.kind) {
    case TermKind::kEmpty:
      return 0;
    case TermKind::kBytes:
      return t.text().size();
    case TermKind::kByteClass:
      return 1;
    case TermKind::kSequence:
      for (TermId c : t.children()) longest += Longest(terms, c, depth + 1, parts);
      return std::min(longest, kFar);
    case TermKind::kChoice:
      for (TermId c : t.children())
        longest = std::max(longest, Longest(terms, c, depth + 1, parts));
      return longest;
    default:
      return kFar;
  }
}

bool BeginsWithBackslash(const TermStore& terms, TermId id) {
  const Term& t = terms.term(id);
  const Term& head = t.kind == TermKind::kSequence ? terms.term(t.children()[0]) : t;
  return head.kind == TermKind::kBytes && head.text()[0] == '\\';
}

// Of a prefix of a text of `id` without a backslash: some text that completes it, of which each
// byte is one of the completion's or may be another than any `avoided` ones. Of any prefix: one of
// that length. False where the term is not so simple.
bool Complete(const TermStore& terms, TermId id, int avoided, int depth, int* parts,
              Completion* out) {
  while (depth <= kMostDepth && --*parts > 0) {
    const Term& t = terms.term(id);
    switch (t.kind) {
      case TermKind::kEmpty:
      case TermKind::kAll:
        return true;
      case TermKind::kBytes:
      case TermKind::kJsonText:
        if (WantsBackslash(t)) return false;
        for (char c : t.text()) {
          if (static_cast<uint8_t>(c) < 0x80) out->bytes.Add(static_cast<uint8_t>(c));
        }
        // Of a JSON text the character that was begun may have any spelling.
        out->length += t.text().size() + (t.kind == TermKind::kJsonText ? kLongestEscape : 0);
        return true;
      case TermKind::kByteClass: {
        const ByteSet& bytes = terms.byte_class(t.a);
        if (bytes.size() - (bytes.Has('\\') ? 1 : 0) <= avoided) {
          if (bytes.Has('\\')) return false;
          bytes.ForEachRange([&](uint8_t lo, uint8_t hi) {
            for (int b = lo; b <= hi && b < 0x80; ++b) out->bytes.Add(static_cast<uint8_t>(b));
          });
        }
        ++out->length;
        return true;
      }
      case TermKind::kSequence:
        if (!Complete(terms, t.children()[0], avoided, depth + 1, parts, out)) return false;
        id = t.children()[1];
        continue;
      case TermKind::kChoice: {
        uint64_t longest = 0;
        bool any = false;
        for (TermId c : t.children()) {
          if (BeginsWithBackslash(terms, c)) {
            longest = std::max(longest, Longest(terms, c, depth + 1, parts));
            continue;
          }
          Completion one;
          if (!Complete(terms, c, avoided, depth + 1, parts, &one)) return false;
          any = true;
          out->bytes |= one.bytes;
          longest = std::max(longest, one.length);
        }
        if (!any) return false;
        out->length = std::min(out->length + longest, kFar);
        return true;
      }
      case TermKind::kRepeat: {
        Completion one;
        if (!Complete(terms, t.children()[0], avoided, depth + 1, parts, &one)) return false;
        out->bytes |= one.bytes;
        const auto rounds = static_cast<uint64_t>(std::max<int64_t>(t.a, 1));
        out->length += one.length > kFar / rounds ? kFar : one.length * rounds;
        return true;
      }
      default:
        return false;
    }
  }
  return false;
}

}  // namespace

// The states of a state with exclusions and of the one without, in step.
class MaskCache::ComplementWalk {
 public:
  ComplementWalk(const Vocab& vocab, TermStore* terms)
      : vocab_(vocab), terms_(*terms), nodes_(vocab.nodes()), alphabets_(vocab.alphabets()) {}

  // False where more tells them apart than tokens that stay inside.
  bool Run(TermId narrow, TermId wide);

  std::vector<TokenRun> refused;       // tokens that only `wide` may take; ascending
  uint64_t reach = 0, completion = 0;  // as in Level1, of `narrow` where it was walked

 private:
  static constexpr uint16_t kSame = 0, kRefused = 1, kFirst = 2;
  // An exclusion: what its texts have in them, and how long they are at least.
  struct Excluded {
    AsciiSet wanted;
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
    uint32_t walked = 0;               // nodes below those at which a walk went on from here
    std::unique_ptr<NodeSet> leading;  // those whose bytes lead away; null where not looked for
    std::array<uint16_t, 256> to = {};
  };
  struct Level {
    Pair* at;
    bool escaped;  // here or before
  };

  uint16_t Find(TermId narrow, TermId wide, bool inside);
  bool Make(Pair* pair);
  bool LeadsBack(uint16_t from, std::span<const ByteRange> ranges, uint16_t to);
  bool FindLeading(uint16_t number);
  const NodeSet* LeadingBelow(uint16_t number, uint32_t i);
  void Look(Pair* pair, ByteSet* inside);
  bool IsPrefixFree(TermId x);
  bool LeadsOut(TermId x, TermId excluded);
  void LookForOpen(Pair* pair, TermId included, std::span<const TermId> excluded);
  bool NothingBelow(const Pair& pair, uint32_t i) const {
    const Alphabet& below = alphabets_.below(i);
    if (pair.open && !pair.ends.Meets(below)) return true;
    if (pair.excluded.empty()) return false;
    const uint64_t longest = alphabets_.deepest(i) - nodes_[i].depth + pair.rest;
    return std::ranges::all_of(pair.excluded, [&](const Excluded& e) {
      return longest < e.length || (!below.Contains('\\') && e.wanted.HasOutside(below));
    });
  }

  const Vocab& vocab_;
  TermStore& terms_;
  const std::span<const TrieNode> nodes_;
  const TrieAlphabets& alphabets_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  absl::flat_hash_map<std::tuple<uint32_t, uint32_t, bool>, uint16_t> ids_;
  size_t sets_ = 0;  // of nodes
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
  int parts = kMostParts;
  Completion completion;
  const bool plain =
      Complete(terms_, included, static_cast<int>(excluded.size()), 0, &parts, &completion);
  bool worth = plain;
  if (plain) {
    pair->rest = completion.length;
    for (TermId c : excluded) {
      parts = kMostParts;
      AsciiSet wanted = Wanted(terms_, c, 0, &parts);
      wanted.low &= ~completion.bytes.low;
      wanted.high &= ~completion.bytes.high;
      pair->excluded.push_back({wanted, terms_.term(c).min_length});
      worth &= (wanted.low | wanted.high) != 0 || terms_.term(c).min_length > pair->rest + kShort;
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
  std::lock_guard lock(terms_.mutex());
  const TermId only_y[] = {y, terms_.Not(x)}, only_x[] = {x, terms_.Not(y)};
  return terms_.And(only_y) == TermStore::Nothing() && terms_.And(only_x) != TermStore::Nothing();
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
  for (TermId c : excluded) {
    int parts = kMostParts;
    RemoveRead(terms_, c, 0, &parts, &out);
  }
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

// Finds the nodes whose bytes lead away from the pair of this number, where most characters lead
// back to it. False where these are many.
bool MaskCache::ComplementWalk::FindLeading(uint16_t number) {
  Pair& pair = *pairs_[static_cast<size_t>(number - kFirst)];
  // What is no UTF-8 is in no list: both have to refuse it.
  for (size_t b = 0x80; b < 256; ++b) {
    if ((b < 0xC2 || b > 0xF4) && pair.to[b] != kSame) return false;
  }
  bool utf8 = true;  // all other characters lead back
  for (uint8_t b = 0xC2; utf8 && b <= 0xF4; ++b) {
    const uint16_t to = pair.to[b];
    const auto after = BytesAfter(b);
    const bool as_before = b > 0xC2 && to == pair.to[b - 1u] &&
                           after.data() == BytesAfter(b - 1).data() &&
                           after.size() == BytesAfter(b - 1).size();
    utf8 = to == kSame || as_before || LeadsBack(to, after, number);
  }
  if (!fits_) return false;
  std::array<std::span<const uint32_t>, 256> lists;
  size_t count = 0;
  for (size_t b = 0; b < 256; ++b) {
    const bool away = b < 0x80                 ? pair.to[b] != number
                      : 0xC2 <= b && b <= 0xF4 ? !utf8 || pair.to[b] == kSame
                                               : false;
    if (away) lists[b] = alphabets_.adding(static_cast<uint8_t>(b));
    count += lists[b].size();
  }
  if (count * kFewLeadAway > nodes_.size()) return false;
  pair.leading = std::make_unique<NodeSet>(nodes_.size() - 1);
  for (const auto& list : lists) pair.leading->Add(list);
  return true;
}

// The same for a walk of what lies below node i: found once enough was walked from the pair.
const NodeSet* MaskCache::ComplementWalk::LeadingBelow(uint16_t number, uint32_t i) {
  Pair& pair = *pairs_[static_cast<size_t>(number - kFirst)];
  const uint32_t below = nodes_[i].end - i;
  if (below < kWorthJumping) return nullptr;
  if (pair.leading == nullptr && !pair.looked) {
    pair.walked += below;
    if (pair.walked < kLongWalk || sets_ == kMostSets) return nullptr;
    pair.looked = true;
    if (FindLeading(number)) ++sets_;
  }
  if (pair.leading == nullptr) return nullptr;
  // Lists are of nodes behind whole characters: a token may begin or break off inside one.
  const TokenId token = vocab_.trie_tokens()[nodes_[i].tokens];
  const std::string_view text = std::string_view(vocab_.bytes(token)).substr(0, nodes_[i].depth);
  return FindInvalidUtf8(text).has_value() ? nullptr : pair.leading.get();
}

bool MaskCache::ComplementWalk::Run(TermId narrow, TermId wide) {
  Find(narrow, wide, true);
  if (pairs_.empty()) return false;
  std::vector<Level> path(static_cast<size_t>(vocab_.max_token_bytes()) + 1);
  // A walk from one node that leads away from a pair to the next: it is at or below the one that
  // ends at `stop`.
  struct Jumps {
    const NodeSet* leading;
    uint32_t stop, end;
    Level from;
  };
  std::vector<Jumps> jumps;
  uint32_t idle = 0;
  // Goes on below node i, in a pair; the node to go on with.
  auto enter = [&](uint32_t i, uint16_t number, bool escaped) {
    Level& level = path[nodes_[i].depth];
    level = {pairs_[static_cast<size_t>(number - kFirst)].get(), escaped};
    const NodeSet* leading = LeadingBelow(number, i);
    if (leading == nullptr) return i + 1;
    // Of what is passed over it is only known how long it is.
    const uint64_t left = level.at->completion + kRestOfCharacter;
    completion = std::max(completion, left);
    reach = std::max(reach, alphabets_.deepest(i) + left);
    jumps.push_back({leading, i + 1, nodes_[i].end, level});
    return i + 1;
  };
  auto next = [&](uint32_t i) {
    while (!jumps.empty() && i >= jumps.back().stop) {
      Jumps& jump = jumps.back();
      const uint16_t* const targets = jump.from.at->to.data();
      for (i = jump.leading->Next(i); i < jump.end; i = jump.leading->Next(nodes_[i].end)) {
        const TrieNode& node = nodes_[i];
        const uint16_t to = targets[node.byte];
        if (to == kSame) continue;
        if (to == kRefused && !jump.from.escaped) {
          refused.push_back({node.tokens, nodes_[node.end].tokens});
          continue;
        }
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
    reach = std::max(reach, node.depth + at.completion);
    completion = std::max(completion, at.completion);
    if (node.leaf) {
      ++i;
      continue;
    }
    if (!at.made && !Make(&at)) return false;
    if (NothingBelow(at, i)) {
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
  ComplementWalk walk(*vocab_, &terms_);
  if (!walk.Run(state, *wider)) return nullptr;
  return Narrowed(OfState(*wider), walk.refused, walk.reach, walk.completion);
}

}  // namespace grammask::internal
