// What the texts of a pattern have in them, whatever else: the bytes without which a text is none.
#ifndef GRAMMASK_MASK_WANTED_BYTES_H_
#define GRAMMASK_MASK_WANTED_BYTES_H_

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "automaton/term_store.h"
#include "base/ids.h"
#include "vocab/trie_alphabets.h"

namespace grammask::internal {

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
  bool empty() const { return (low | high) == 0; }
  int size() const { return std::popcount(low) + std::popcount(high); }
  void Remove(const AsciiSet& o) {
    low &= ~o.low;
    high &= ~o.high;
  }
  bool Meets(const Alphabet& a) const { return ((low & a.low) | (high & a.high)) != 0; }
  bool HasOutside(const Alphabet& a) const { return ((low & ~a.low) | (high & ~a.high)) != 0; }
};

// ASCII bytes that texts have in them, but for texts with a backslash: all of these, and one at
// least of each of those.
struct WantedBytes {
  AsciiSet all;
  absl::InlinedVector<AsciiSet, 2> one_of;
  bool only_backslash = false;  // all texts have one
  static constexpr size_t kMostSets = 2;

  static WantedBytes OnlyBackslash() { return {AsciiSet::All(), {}, true}; }
  void AddOneOf(const AsciiSet& set) {
    if (one_of.size() < kMostSets) one_of.push_back(set);
  }
  // What is wanted of a text followed by another.
  void Join(const WantedBytes& o) {
    if (only_backslash || o.only_backslash) {
      *this = OnlyBackslash();
      return;
    }
    all |= o.all;
    for (const AsciiSet& set : o.one_of) AddOneOf(set);
  }
  // How many bytes another text does without, so as not to be one of these, at the most.
  int most() const {
    int most = 1;
    for (const AsciiSet& set : one_of) most = std::max(most, set.size());
    return most;
  }
  // Whether a text of no other bytes is none of these.
  bool Lacks(const Alphabet& a) const {
    return all.HasOutside(a) ||
           std::ranges::any_of(one_of, [&](const AsciiSet& set) { return !set.Meets(a); });
  }
};

// What completes a text that was begun.
struct Completion {
  AsciiSet bytes;       // ASCII that it may have to have in it
  uint64_t length = 0;  // the most that it takes
};

// What texts of `id` have in them; some of it where the term is large.
WantedBytes Wanted(const TermStore& terms, TermId id);
// The ASCII bytes that no text of `id` has in it; fewer where that is not seen at once.
AsciiSet NotRead(const TermStore& terms, TermId id);
// Of a prefix of a text of `id` without a backslash: some text that completes it, of which each
// byte is one of the completion's or may be another than any `avoided` ones. Of any prefix: one of
// that length. False where the term is not so simple.
bool Complete(const TermStore& terms, TermId id, int avoided, Completion* out);

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_WANTED_BYTES_H_
