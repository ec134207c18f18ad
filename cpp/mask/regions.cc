// A state to the characters that it can read in any order, whichever states these lead to.
//
// A loop leads back to where it was. But after `[a-z.]*[a-z]` has read a dot it wants a letter, and
// a search has read one letter more or less of what it looks for; a text of words is inside a word
// or between two. Such states lead to one another: as long as none of them is dead by any character
// of an alphabet, and none leads out, any text of it is taken. So from a state its targets are
// followed; where one of them cannot read some of the alphabet, either the characters that lead
// there are given up or those that it cannot read, whichever are fewer. Of the path of a URI there
// remain all its characters but `%`, which digits must follow.
//
// Bounds are left out (TermStore::LoosenHead): a text short enough to be completed within them is
// one of the state's. A lower bound can always be reached by characters of the alphabet put behind.
//
// A state may lead to a hundred others: within a class of a regular expression, each character is
// one that a range may go on from. So targets are looked at once, and only where some character of
// the alphabet leads there.
//
// Cost: that of deriving the states, up to kMostRegionStates, once; so only long walks ask, and a
// mask for which many were derived in vain asks no more. Tests: tests/mask/mask_test.cc.
#include "mask/regions.h"

#include <absl/container/flat_hash_set.h>
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <bit>

namespace grammask::internal {
namespace {

constexpr size_t kMostRegionStates = 128;
constexpr uint64_t kMostMade = 640;     // states that are made on the way
constexpr uint64_t kMostWasted = 1024;  // that are made for one mask where there is no region
constexpr uint64_t kTextSearch = 64;    // states made in the time of a search for a text
constexpr size_t kMostEdges = 24000;    // that are looked at
constexpr size_t kMostRegions = 4096;   // kept
constexpr int kFewest = 8;              // characters in an alphabet that is worth it
constexpr int64_t kLeastBound = 8;      // bytes; lower bounds stay
constexpr int64_t kMostMore = 4096;     // rounds that a lower bound wants
constexpr uint64_t kCutOff = 3;         // bytes that the last character of a token may want

// The states that were made so far, and searches for whether one has any text, as so many more.
uint64_t Made(const TermStore& terms) { return terms.size() + kTextSearch * terms.text_searches(); }

Alphabet AsciiOf(const ByteEdge& e) {
  Alphabet a;
  AddAscii(e, &a);
  return a;
}

Alphabet Both(const Alphabet& x, const Alphabet& y) {
  return {.low = x.low & y.low, .high = x.high & y.high};
}

void Remove(const Alphabet& from, Alphabet* a) {
  a->low &= ~from.low;
  a->high &= ~from.high;
}

// The ASCII characters that a state reads; none where it reads anything but bytes.
Alphabet Readable(TermStore& terms, TermId state) {
  Alphabet all;
  const Expansion& expansion = terms.Expand(state);
  if (!expansion.calls.empty() || !expansion.tokens.empty()) return all;
  const std::span<const ByteEdge> edges = expansion.bytes;
  for (size_t i = 0; i < edges.size() && edges[i].lo < 0x80;) {
    ByteEdge stretch = edges[i];  // edges beside one another at once
    for (++i; i < edges.size() && edges[i].lo == stretch.hi + 1; ++i) stretch.hi = edges[i].hi;
    AddAscii(stretch, &all);
  }
  return all;
}

void AddAscii(const ByteSet& bytes, Alphabet* to) {
  to->low |= bytes.words[0];
  to->high |= bytes.words[1];
}

}  // namespace

void AddAscii(const ByteEdge& edge, Alphabet* to) {
  auto bits = [&](int from) {  // of the 64 bytes from there on
    const int lo = std::max(edge.lo - from, 0), hi = std::min(edge.hi - from, 63);
    return lo > hi ? 0 : (~uint64_t{0} >> (63 - (hi - lo))) << lo;
  };
  to->low |= bits(0);
  to->high |= bits(64);
}

bool AllLead(TermStore& terms, TermId from, std::span<const ByteRange> ranges,
             std::span<const TermId> states) {
  if (ranges.empty()) return std::ranges::find(states, from) != states.end();
  int next = ranges[0].lo;
  for (const ByteEdge& e : terms.Expand(from).bytes) {
    if (e.hi < next) continue;
    // At most four bytes deep.
    if (e.lo > next || !AllLead(terms, e.to, ranges.subspan(1), states)) return false;
    next = e.hi + 1;
    if (next > ranges[0].hi) return true;
  }
  return false;
}

Regions::Region* Regions::Find(TermStore& terms, TermId start) {
  if (regions_.size() >= kMostRegions) {
    by_state_.clear();
    regions_.clear();
  }
  const auto known = by_state_.find(start.value);
  if (known != by_state_.end()) return known->second;
  if (wasted_ > kMostWasted) return &none_;
  Region& region = regions_.emplace_back();
  by_state_.emplace(start.value, &region);
  const uint64_t before = Made(terms);
  Search(terms, start, &region);
  if (region.states.empty()) wasted_ += Made(terms) - before;
  return &region;
}

// Finds the region of `start`; it stays as it is where there is none.
void Regions::Search(TermStore& terms, TermId start, Region* region) {
  const Alphabet readable = Readable(terms, start);
  Alphabet alphabet = readable;
  const uint64_t before = Made(terms);
  size_t edges = 0;
  std::vector<TermId> states = {start};
  absl::flat_hash_set<uint32_t> taken = {start.value};  // the same
  std::vector<TermId> taken_by(0x80);                   // a state of `taken` that each byte led to
  std::vector<bool> alike = {true};                     // by state: it reads what `start` does
  struct Target {
    TermId to;
    Alphabet by, readable;
    int reads = 0;
  };
  absl::InlinedVector<Target, 16> targets;
  TermId last_read;  // many states read what one does and a little more
  Alphabet readable_there;
  for (size_t i = 0; i < states.size(); ++i) {
    targets.clear();
    if (Made(terms) > before + kMostMade) return;
    // What reads a few bytes beside what another state does is not dead where that is not.
    const auto more = terms.FindBeside(states[i]);
    if (more.has_value() && taken.contains(more->rest.value)) continue;  // and has no edges
    edges += terms.Expand(states[i]).bytes.size();
    TermId last;  // neighbours often lead to the same, and so does a byte in many states
    bool is_taken = false;
    for (const ByteEdge& e : terms.Expand(states[i]).bytes) {
      if (e.lo >= 0x80) break;
      if (e.to == taken_by[e.lo]) continue;
      if (e.to != last) is_taken = taken.contains((last = e.to).value);
      if (is_taken) {
        taken_by[e.lo] = e.to;
        continue;
      }
      const auto same = std::ranges::find(targets, e.to, &Target::to);
      AddAscii(e, same == targets.end() ? &targets.emplace_back(Target{e.to, {}}).by : &same->by);
    }
    // What reads least comes first: mostly it ends the text.
    for (Target& target : targets) {
      target.by = Both(target.by, alphabet);
      if (target.by.empty()) continue;
      const auto beside = terms.FindBeside(target.to);
      const TermId read = beside.has_value() ? beside->rest : target.to;
      edges += terms.Expand(read).bytes.size();
      if (edges > kMostEdges) return;
      if (read != last_read) readable_there = Readable(terms, last_read = read);
      target.readable = readable_there;
      if (beside.has_value()) AddAscii(beside->first, &target.readable);
      target.reads = Both(target.readable, alphabet).AsciiSize();
    }
    std::ranges::sort(targets, {}, &Target::reads);
    for (const Target& target : targets) {
      const Alphabet by = Both(target.by, alphabet);
      if (by.empty()) continue;
      const Alphabet left = Both(target.readable, alphabet);
      if (by.AsciiSize() <= alphabet.AsciiSize() - left.AsciiSize()) {
        Remove(by, &alphabet);
      } else {
        alphabet = left;
        states.push_back(target.to);
        taken.insert(target.to.value);
        alike.push_back(target.readable == readable);
      }
      if (alphabet.AsciiSize() < kFewest || states.size() > kMostRegionStates) return;
    }
  }
  if (alphabet.AsciiSize() < kFewest) return;
  region->alphabet = alphabet;
  for (size_t i = 0; i < states.size(); ++i) {
    region->completion = std::max(region->completion, terms.term(states[i]).min_length);
    if (alike[i]) by_state_.try_emplace(states[i].value, region);
  }
  region->states = std::move(states);
}

WalkLoop Regions::Of(TermStore& terms, TermId state) {
  const TermStore::LooseHead head = terms.LoosenHead(state, kLeastBound);
  const Region& region = *Find(terms, head.state);
  WalkLoop loop;
  if (region.states.empty()) return loop;
  if (head.more > 0) {
    // Each character must be a round of its own.
    for (const ByteEdge& e : terms.Expand(head.x).bytes) {
      if (e.to == TermStore::Empty()) continue;
      const Alphabet by = AsciiOf(e);
      if (((by.low & region.alphabet.low) | (by.high & region.alphabet.high)) != 0) return loop;
    }
    if (head.more > kMostMore) return loop;
  }
  const uint64_t completion = region.completion + static_cast<uint64_t>(head.more);
  loop.most = UINT64_MAX;
  if (head.bound != kUnbounded) {
    if (static_cast<uint64_t>(head.bound) <= completion + kCutOff) return WalkLoop();
    loop.most = static_cast<uint64_t>(head.bound) - completion - kCutOff;
  }
  // Where the region is that of the head alone, the rest is still to come.
  const Term& t = terms.term(state);
  const bool rest =
      t.kind == TermKind::kSequence && terms.term(t.children()[0]).kind == TermKind::kAnd;
  loop.completion = completion + (rest ? terms.term(t.children()[1]).min_length : 0);
  loop.alphabet = region.alphabet;
  loop.alphabet.leads = head.more > 0 ? 0 : region.alphabet.leads;
  loop.looked = head.more > 0 ? ~uint64_t{0} : region.looked;
  loop.loose = head.state;
  return loop;
}

// States that differ in ASCII only are asked for what is beyond it once.
void Regions::FindBeyond(TermStore& terms, Region* region) {
  for (TermId state : region->states) {
    if (terms.FindBeside(state).has_value()) continue;  // passed over by Search(), too
    auto beyond_ascii = [&terms](TermId of) {
      const std::span<const ByteEdge> edges = terms.Expand(of).bytes;
      const auto first =
          std::ranges::partition_point(edges, [](const ByteEdge& e) { return e.hi < 0x80; });
      return edges.subspan(static_cast<size_t>(first - edges.begin()));
    };
    auto same = [](const ByteEdge& x, const ByteEdge& y) {
      return x.lo == y.lo && x.hi == y.hi && x.to == y.to;
    };
    const bool known = std::ranges::any_of(region->beyond, [&](TermId other) {
      return std::ranges::equal(beyond_ascii(state), beyond_ascii(other), same);
    });
    if (!known) region->beyond.push_back(state);
  }
}

void Regions::LookAtLeads(TermStore& terms, uint64_t leads, WalkLoop* loop) {
  Region& region = *Find(terms, loop->loose);
  if (region.alphabet.low != loop->alphabet.low || region.alphabet.high != loop->alphabet.high) {
    loop->looked = ~uint64_t{0};  // found anew, after others had to make room, in another way
    return;
  }
  if (region.beyond.empty()) FindBeyond(terms, &region);
  for (leads &= ~region.looked; leads != 0; leads &= leads - 1) {
    const auto lead = static_cast<uint8_t>(Alphabet::kFirstLead + std::countr_zero(leads));
    region.looked |= leads & ~(leads - 1);
    if (lead < 0xC2 || lead > 0xF4) break;
    TermId seen;  // many states have the same character begun after it
    const bool all = std::ranges::all_of(region.beyond, [&](TermId state) {
      const ByteEdge* e = FindEdge(terms.Expand(state).bytes, lead);
      if (e == nullptr || e->to == seen) return e != nullptr;
      seen = e->to;
      return AllLead(terms, seen, BytesAfter(lead), region.states);
    });
    if (!all) break;
    region.alphabet.AddLead(lead);
  }
  loop->looked = region.looked;
  loop->alphabet.leads = region.alphabet.leads;
}

}  // namespace grammask::internal
