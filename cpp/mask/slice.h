// Slices: the tokens that consist of characters of one kind.
#ifndef GRAMMASK_MASK_SLICE_H_
#define GRAMMASK_MASK_SLICE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "automaton/term_store.h"
#include "base/tables.h"
#include "mask/bitmap_store.h"
#include "mask/token_trie.h"
#include "vocab/vocab.h"

namespace grammask::internal {

// The automaton of a term X, 256 targets a state: state 0 reads a new X, and is where a whole X
// leads.
using RoundTable = std::vector<uint16_t>;

// For a term X whose texts are not prefixes of one another (one character of a class, in UTF-8 or
// in JSON spellings): the tokens that are X repeated some whole number of times, by that number,
// and a trie of all the other tokens. A state that loops on X takes the first with an OR and walks
// only the second. Immutable but for bitmaps made on first need; thread-safe.
class Slice {
 public:
  static constexpr uint32_t kRefused = UINT16_MAX;  // in a table: no text of X goes on so
  // X's automaton. The states come in the order in which a search by bytes meets them, so that
  // equal automata give equal tables. Null when some text of X begins another, or X is no regular
  // class-like term.
  static std::optional<RoundTable> Tabulate(TermStore* terms, TermId x);
  // Of what Tabulate gave: the characters that are an X each; those beyond ASCII by their first
  // byte, where all that begin so are.
  static Alphabet Characters(const RoundTable& table);
  // The slice of what Tabulate gave. `vocab` outlives it. Null where others() would have more than
  // some `most_others` nodes.
  static std::unique_ptr<Slice> Create(const Vocab& vocab, RoundTable table,
                                       size_t most_others = SIZE_MAX);
  ~Slice();

  // The tokens of 1..`most` X, as a bitmap of ceil(V/32) words. The first call with fewer than
  // longest() counts them.
  const uint32_t* UpTo(uint64_t most);
  // The tokens of `from` to `to` X, `from` > 0, by their places in the order of the vocabulary's
  // trie, ascending; nothing where they are more than `limit`.
  std::optional<std::vector<uint32_t>> Between(uint64_t from, uint64_t to, size_t limit);
  // Of each token in the order of the vocabulary's trie the number of X, 0 where it is none.
  std::span<const uint16_t> Counts();
  int longest() const { return longest_; }  // greatest number of X in a token
  const TokenTrie& others() const { return others_; }
  // Tokens of others() that take more than `most` X's where they can follow a loop of X's at all,
  // one that a token ends inside counted, and where what follows the loop begins as no X does. The
  // first call counts them.
  std::span<const TokenId> OthersBeyond(uint64_t most);
  // The child of the root of others() for a first byte, or 0.
  uint32_t root_child(uint8_t byte) const { return root_children_[byte]; }
  size_t memory_bytes() const;

 private:
  Slice(const Vocab& vocab, RoundTable table);
  // Nodes [node, end) of the vocabulary's trie.
  struct Exit {
    uint32_t node, end;
  };
  struct Level {
    uint32_t state, count;  // of X's automaton, and of X's that have ended
  };
  std::vector<Exit> Exits() const;
  bool IsRefused(const Exit& exit) const;
  template <class Plain, class F>
  bool ForEachExit(const std::vector<Exit>& exits, Plain&& plain, F&& f) const;
  template <class Refused, class Below, class Inside>
  bool WalkExit(const Exit& exit, std::string_view text, std::vector<Level>* path,
                Refused&& refused, Below&& below, Inside&& inside) const;
  bool Walk(size_t most_others);
  void Count();
  void CountOthers();
  const uint32_t* Make(size_t n);
  void PutFew(size_t n, uint32_t* bitmap);
  template <class F>
  void ForEachOf(uint64_t from, uint64_t to, F&& f) const;

  static constexpr size_t kLong = 16;
  static constexpr size_t kBlock = 64;  // tokens looked at together

  const Vocab& vocab_;
  RoundTable table_;  // empty once the tokens are counted
  const size_t words_;
  Alphabet single_;  // Characters()
  int longest_ = 0;
  std::vector<uint16_t> counts_;  // Counts(), once known
  std::vector<uint32_t> long_;    // indexes of tokens of more than kLong X, once known
  // By token, once a bitmap of few X is asked for: the number of X as far as kLong, 0 where it is
  // none. To a whole number of blocks.
  std::vector<uint8_t> few_;
  TokenTrie others_;
  // Once counted: the tokens of others_, those of most X's first, and by a number of X's, up to the
  // greatest, how many have more.
  TableVector<TokenId> by_need_;
  TableVector<uint32_t> beyond_;
  uint32_t root_children_[256] = {};
  std::vector<std::atomic<uint32_t*>> bitmaps_;  // by number, 0..longest_
  mutable std::mutex mutex_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_SLICE_H_
