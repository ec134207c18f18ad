// States among which a walk of the trie may roam.
#ifndef GRAMMASK_MASK_REGIONS_H_
#define GRAMMASK_MASK_REGIONS_H_

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "automaton/term_store.h"
#include "base/ids.h"
#include "vocab/trie_alphabets.h"

namespace grammask::internal {

// Characters of which a place can read `most` in any order, and not be dead. (Of a loop without end
// it is then the same place again.) Of first bytes beyond ASCII only those in `looked` were asked
// for.
struct WalkLoop {
  Alphabet alphabet;
  uint64_t looked = 0;  // as Alphabet::leads
  uint64_t most = 0;
  // The state that is asked for characters beyond ASCII: of a loop that is counted beside a pattern
  // the one without the bound, of an item of a set its state, of a region where it begins; else
  // Nothing().
  TermId loose;
  // Of a region: the longest of what its places then need to be complete. Of a loop: what is needed
  // after it, where that may be more than before.
  uint64_t completion = 0;
  int size = 0;  // ASCII characters in the alphabet, once counted
};

struct ByteRange {
  uint8_t lo, hi;
};
// What may follow a first byte of UTF-8, 0xC2 to 0xF4, byte by byte.
std::span<const ByteRange> BytesAfter(uint8_t lead);

// Adds the ASCII characters that the edge reads.
void AddAscii(const ByteEdge& edge, Alphabet* to);
// Whether each text of bytes out of the ranges, four at most, leads from `from` to one of `states`.
bool AllLead(TermStore& terms, TermId from, std::span<const ByteRange> ranges,
             std::span<const TermId> states);

// The regions of the states of one TermStore. Not thread-safe.
class Regions {
 public:
  // What is asked from now on is for another mask.
  void BeginMask() { wasted_ = 0; }
  // What the beginning of a state can read in any order: `most` is 0 where that is little.
  WalkLoop Of(TermStore& terms, TermId state);
  // Looks at characters that begin with one of `leads`.
  void LookAtLeads(TermStore& terms, uint64_t leads, WalkLoop* region);

 private:
  struct Region {
    Alphabet alphabet;
    uint64_t looked = 0;         // first bytes asked for
    uint64_t completion = 0;     // the longest of the states' shortest texts
    std::vector<TermId> states;  // none where the alphabet is not worth it
    std::vector<TermId> beyond;  // of these, such that differ in more than ASCII; once asked
  };
  Region* Find(TermStore& terms, TermId start);
  void Search(TermStore& terms, TermId start, Region* region);
  void FindBeyond(TermStore& terms, Region* region);

  std::deque<Region> regions_;
  absl::flat_hash_map<uint32_t, Region*> by_state_;  // of states in it that read the same
  Region none_;
  size_t wasted_ = 0;  // states made for this mask in searches that found nothing
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_REGIONS_H_
