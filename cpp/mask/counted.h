// The tokens of a counted state by how much of its count they need.
#ifndef GRAMMASK_MASK_COUNTED_H_
#define GRAMMASK_MASK_COUNTED_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "automaton/term_store.h"
#include "base/ids.h"
#include "base/tables.h"
#include "mask/bitmap_store.h"
#include "mask/slice.h"
#include "mask/trie_walk.h"
#include "parser/set_table.h"
#include "vocab/vocab.h"

namespace grammask::internal {

// For states `X{a,b} rest` and `(X{a,b} & P) rest` that differ in a and b only, and for `X{a,b} Y
// rest` where each Y is an X, which is `(X{a+1,b+1} & X* Y) rest`. No text of X begins another (one
// character of a class, in UTF-8 or in JSON spellings), nor one of `rest`. Which tokens such a
// state takes, and where they escape, follows from how many X's a token has and how many must come
// after it. Immutable; thread-safe.
class CountedTokens {
 public:
  struct Escape {
    uint32_t rounds;  // X's before it
    uint32_t node;    // of the vocabulary's trie
  };

  // What is repeated, what follows the loop (Empty() for nothing), and Slice::Tabulate of X.
  struct Loop {
    TermId x, rest;
    const RoundTable& table;
  };

  // `loose`: such a state with X* as its loop. `most`: tokens that need more X's than this are left
  // out, and not walked where that shows. `any_number`: whether a bound from below is asked for.
  // Null where it cannot be told: the rest calls a procedure at once or begins with an X, or how
  // many X's complete a prefix takes a search over many states.
  static std::unique_ptr<CountedTokens> Create(const Vocab& vocab, SetTable* sets, TermId loose,
                                               const Loop& loop, int64_t most, bool any_number,
                                               WalkScratch* scratch);

  // The tokens that `loose` (as above) takes and the state of up to `most` X's does not, of those
  // longer than `same` bytes: up to there both take the same. False where that is not all that
  // tells the two apart, or these are more than `limit`; null where it cannot be told. `reach`,
  // `completion`: as in Level1, of the bounded state where it was walked.
  static std::optional<bool> FindOver(const Vocab& vocab, SetTable* sets, TermId loose,
                                      const Loop& loop, int64_t most, uint64_t same, size_t limit,
                                      WalkScratch* scratch, TableVector<TokenRun>* over,
                                      uint64_t* reach, uint64_t* completion);

  // The greatest `most` that can be asked for below.
  int64_t most() const { return most_; }

  // As in Level1, of all tokens that are known of, where there is no bound from below.
  uint64_t reach() const { return reach_; }
  uint64_t completion() const { return completion_; }

  // Whether Create() was asked for a bound from below, and whether that state can be told.
  bool asked() const { return asked_; }
  bool Knows(int64_t least) const { return least == 0 || any_number_; }
  // The tokens that state takes: appended to a list, in no order, where they are at hand so and no
  // more than `limit`, or else false; as a bitmap of ceil(V/32) words. Where tokens escape from it:
  // appended, ascending.
  bool AddList(int64_t least, int64_t most, size_t limit, TableVector<TokenId>* list) const;
  Bits Bitmap(int64_t least, int64_t most) const;
  void AddEscapes(int64_t least, int64_t most, TableVector<uint32_t>* nodes) const;
  size_t memory_bytes() const;

 private:
  // Tokens by a number.
  struct ByNumber {
    ByNumber() = default;
    explicit ByNumber(std::span<const uint64_t> entries);  // number << 32 | token
    // `numbers`: of each token in the order of the trie, of those in `runs`.
    ByNumber(std::span<const uint16_t> numbers, std::span<const TokenRun> runs,
             std::span<const TokenId> trie_tokens);
    // Those of `from` to `to`.
    std::span<const TokenId> Between(int64_t from, int64_t to) const;

    TableVector<TokenId> tokens;  // ascending numbers
    TableVector<uint32_t> ends;   // how many tokens have this number or a lower one
  };

  CountedTokens(size_t words, ByNumber inside, TableVector<uint8_t> numbers, ByNumber left,
                std::vector<Escape> escapes, bool asked, bool any_number, int64_t most,
                uint64_t reach, uint64_t completion);

  const size_t words_;
  const ByNumber inside_;  // that end in the loop, by the X's until the loop can end
  // Instead of these where they are many, and all below 255: of each token.
  const TableVector<uint8_t> numbers_;
  const ByNumber left_;  // that have left it, by the X's before
  const std::vector<Escape> escapes_;
  const bool asked_;
  // After any token that ends in the loop, any greater number of X's can complete it as well.
  const bool any_number_;
  const int64_t most_;
  const uint64_t reach_, completion_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_COUNTED_H_
