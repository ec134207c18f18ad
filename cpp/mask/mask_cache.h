// Token masks, made on first need and shared.
//
// Level 1 belongs to a state of the automaton, whatever its context: which tokens it takes inside
// its procedure, and, of the tokens that finish it with bytes left over, what is left. Level 2
// belongs to a parser set and is exact: the level-1 masks of its items, and those left-over bytes
// walked from where the items return to.
//
// Thread-safe. What exists is read without a lock; what does not is computed by whoever needs it
// first, outside of any lock but for the steps it adds to the parser.
#ifndef GRAMMASK_MASK_MASK_CACHE_H_
#define GRAMMASK_MASK_MASK_CACHE_H_

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/functional/function_ref.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/byte_codec.h"
#include "base/mix.h"
#include "base/scratch.h"
#include "base/sharded_map.h"
#include "base/tables.h"
#include "mask/bitmap_store.h"
#include "mask/counted.h"
#include "mask/slice.h"
#include "mask/slice_store.h"
#include "mask/token_trie.h"
#include "mask/trie_walk.h"
#include "parser/set_table.h"
#include "vocab/spelled_texts.h"
#include "vocab/vocab.h"

namespace grammask::internal {

// How often something was asked for, about: threads may lose counts to one another.
class RoughCount {
 public:
  RoughCount() = default;
  RoughCount(const RoughCount&) {}  // a copy begins anew
  RoughCount& operator=(const RoughCount&) { return *this; }
  uint32_t Next() {
    const uint32_t next = count_.load(std::memory_order_relaxed) + 1;
    count_.store(next, std::memory_order_relaxed);
    return next;
  }

 private:
  std::atomic<uint32_t> count_ = 0;
};

// A set of tokens: a shared bitmap (ceil(V/32) words; null for none) and a list beside it.
struct TokenMask {
  const uint32_t* bitmap = nullptr;
  std::span<const TokenId> list;
  mutable RoughCount fills = {};  // of those with a long list
};

// What a state can take in an unknown context.
struct Level1 {
  TokenMask accepted;
  // Of tokens that leave the state's procedure: the bytes they leave over.
  const Residual* residual = nullptr;
  // The same where the tokens are many: nodes of the vocabulary's trie, below which every token
  // leaves over what follows the node.
  std::span<const uint32_t> references;
  // Tokens that are refused all the same, whatever follows what they leave over. Ascending.
  std::span<const TokenId> refused;
  // Over all tokens that the state takes, and the prefixes at which tokens leave it, the greatest
  // length of these and of their shortest completion together: bounds on the text beyond this do
  // not change the mask. UINT64_MAX where it was not measured.
  uint64_t reach = UINT64_MAX;
  // The greatest length of these completions alone. UINT64_MAX where it was not measured.
  uint64_t completion = UINT64_MAX;
  // Of a state that loops on a slice's X: the longest prefix that was followed of tokens that are
  // not of X's alone; UINT64_MAX for other states.
  uint64_t others_reach = UINT64_MAX;
  // Of the same states: the bitmap of X's, and that of others accepted where these are no list.
  const uint32_t* slice = nullptr;
  const uint32_t* others = nullptr;
};

class MaskCache {
 public:
  MaskCache(std::shared_ptr<const Vocab> vocab, SetTable* sets, std::shared_ptr<SliceStore> slices);

  // Writes the mask of `set` to `row`, ceil(V/32) words: text tokens and tokens named by token
  // items; stop tokens are not its matter. A mask made before is a copy, about 0.3 us at 128,000
  // tokens.
  void Fill(SetId set, uint32_t* row);

  const TokenMask& OfSet(SetId set);
  const Level1& OfState(TermId state);

  // For saving. The states with level-1 masks that are met from `root` by what was read so far.
  std::vector<TermId> StatesWithMasks(TermId root) const;
  // Writes the masks of `states`, each with its number.
  void Save(std::span<const std::pair<TermId, uint32_t>> states, ByteWriter* out);
  // Reads bytes that may be anything, and takes the masks in them for those of states, which
  // `state` gives by number, Nothing() where there is no such state. What is a mask of this
  // vocabulary at all is checked, whether it is the right one is not. States that have masks keep
  // them. Stops early once the masks take `room` bytes. False where the bytes are no masks; `in`
  // tells the place.
  bool Load(ByteReader* in, absl::FunctionRef<TermId(uint64_t)> state, size_t room);

  size_t count() const { return count_.load(std::memory_order_relaxed); }
  size_t memory_bytes() const {
    return bytes_.load(std::memory_order_relaxed) + bitmaps_.memory_bytes();
  }

 private:
  static constexpr size_t kMaxList = 1024;     // tokens over which a bitmap is smaller and faster
  static constexpr uint32_t kWideClass = 120;  // first bytes of a loop that takes most tokens
  struct Draft;
  class DraftLease;
  class Gatherer;
  class ComplementWalk;
  // Drafts kept for the next masks, for a thread that makes one while it makes another.
  struct DraftPool {
    std::atomic<Draft*> slots[2] = {};
    LeavingStore* leaving = nullptr;  // of all drafts
    ~DraftPool();
  };

  const Level1* Make(TermId state);
  bool Loops(TermId state);
  TermId LoopAfter(TermId state);
  template <class RootChild>
  void Walk(TermId state, std::span<const TrieNode> nodes, const TrieAlphabets* alphabets,
            std::span<const TokenId> tokens, RootChild&& root_child, Draft* draft);
  void WalkState(TermId state, Draft* draft);
  void WalkOthers(TermId state, const Slice& slice, Draft* draft);
  void AddReach(uint64_t after, Draft* draft);
  bool TakeSlice(TermId state, Draft* draft);
  const Level1* FromSlice(TermId state);
  const Level1& WithSlice(TermId loop);
  bool WalkBeside(TermId state, TermId search, const Slice& slice, Draft* draft);
  bool FromSearch(TermId state, TermId search, const Slice& slice, Draft* draft);
  const Level1* FromLoop(TermId state, uint64_t most, TermId x, TermId rest, Slice* slice);
  const Level1* FromOtherBounds(TermId state);
  const Level1* FromAlternatives(TermId state);
  const Level1* FromProgress(TermId state);
  const Level1* UnionOf(std::span<const TermId> alternatives);
  const Level1* FromAnyNumber(TermId state);
  const Level1* FromCount(const TermStore::Counted& counted);
  const Level1* FromNearSearch(TermId state, const TermStore::Counted& counted);
  const Level1* FromLeast(TermId state);
  bool EndsBefore(TermId rest, TermId x);
  std::optional<ByteSet> BytesInBoth(TermId rest, TermId x);
  bool TakeOverBound(TermId state, uint64_t most, const ByteSet& first, Slice* slice, Draft* draft);
  std::shared_ptr<const CountedTokens> TokensOf(const TermStore::Counted& counted);
  const Level1* FromLoose(TermId state, const TermStore::Loosened& loosened);
  const Level1* FromWider(TermId state, TermId wider, uint64_t same, size_t most,
                          uint64_t wider_completion = UINT64_MAX);
  const Level1* Narrowed(const Level1& wide, std::span<const TokenRun> refused, uint64_t reach,
                         uint64_t completion);
  const Level1* FromExclusion(TermId state);
  std::optional<std::vector<uint32_t>> FindExcluded(const TermStore::Exclusion& exclusion);
  const std::vector<SpelledText>& SpelledTexts(uint32_t from);
  bool FindRefused(TermId state, TermId wider, uint64_t same, size_t most,
                   uint64_t wider_completion, TableVector<TokenRun>* refused, uint64_t* reach,
                   uint64_t* completion);
  std::optional<bool> FindOver(TermId state, TermId wider, uint64_t same, size_t most,
                               TableVector<TokenRun>* over, uint64_t* reach, uint64_t* completion);
  std::shared_ptr<const RoundTable> TableOf(TermId x);
  const Level1* FromComplement(TermId state);
  const Level1* FromSearched(TermId state);
  std::optional<uint64_t> CompletionBeside(const TermStore::Searched& searched);
  const Level1* FromHead(TermId state);
  const Level1* Joined(const Level1& head, TermId tail);
  Slice* SliceFor(TermId x, bool make = true);
  const Level1* Store(Draft* draft);
  void TakeRuns(Draft* draft, ScratchVector<const uint32_t*>* bitmaps);
  const Level1* Keep(const Level1& made);
  void AddEscapes(Draft* draft, Level1* out);
  void SpellOut(std::span<const uint32_t> escapes, const uint32_t* taken,
                std::span<const TokenId> taken_list, Draft* draft);
  const Residual* ResidualOf(std::span<const uint64_t> entries);
  // The same residual, with its entries: one for all that leave the same over.
  const Residual& Spelled(const Residual& residual);
  // What is left over and begins with one of the bytes, at least. Thread-safe.
  const TokenTrie& TrieOf(const Residual& residual, ByteSet first);
  const TokenMask* MakeLevel2(SetId set);
  const TokenMask* FromCover(SetId set);
  const TokenMask* KeepMask(const TokenMask& made);
  template <class Visit>
  void WalkSets(std::span<const TrieNode> nodes, const TrieAlphabets* alphabets,
                std::span<const TokenId> tokens, uint32_t top, SetId from, Visit&& visit);
  template <class F>
  void ForLeftOver(const Level1& level1, SetId returned, F&& f);
  void WalkReturned(const Level1& level1, SetId returned, Draft* draft);
  const TokenMask* LongLeftOver(const Level1& level1, SetId returned);
  void WalkCaptured(const Level1& level1, SetId set, RetId ret, const Proc* capturing,
                    ScratchVector<TokenId>* out);
  std::vector<TokenId> Refused(SetId set);
  template <class IsRefused>
  const Residual* Without(const Residual& residual, IsRefused&& is_refused);
  TokenMask Without(const TokenMask& mask, const std::vector<TokenId>& refused);
  void Promote(SetId set, const TokenMask& mask);
  TokenMask Compact(std::span<const TokenId> list, std::span<const uint32_t* const> bitmaps);
  Bits BitsOf(const TokenMask& mask) const;

  const std::shared_ptr<const Vocab> vocab_;
  SetTable& sets_;
  TermStore& terms_;
  const size_t words_;
  std::mutex mutex_;  // memory_, tries_, residuals_, left_over_, heads_, spelled_, beside_
  BumpArena memory_;
  BitmapStore bitmaps_;
  std::vector<std::unique_ptr<const ResidualTrie>> tries_;
  // By the bytes of their entries, which are in memory_.
  ShardedMap<std::string_view, const Residual*, TextHash> residuals_;
  // What is left over (its entries, its references) as it can follow in a set.
  struct LeftOver {
    const Residual* entries;
    const uint32_t* references;
    SetId returned;
    friend bool operator==(const LeftOver&, const LeftOver&) = default;
    struct Hash {
      size_t operator()(const LeftOver& key) const {
        const uint64_t h = Mix(MixSeed(), reinterpret_cast<uintptr_t>(key.entries));
        return Mix(Mix(h, reinterpret_cast<uintptr_t>(key.references)), key.returned.value);
      }
    };
  };
  ShardedMap<LeftOver, const TokenMask*, LeftOver::Hash> left_over_;
  absl::flat_hash_set<uint64_t> heads_;  // met once: value << 4 | elements in front of it
  // By the node from which they are spelled.
  absl::flat_hash_map<uint32_t, std::unique_ptr<const std::vector<SpelledText>>> spelled_;
  const std::shared_ptr<SliceStore> slice_store_;
  std::mutex slice_mutex_;
  absl::flat_hash_map<uint32_t, std::shared_ptr<Slice>> slices_;  // by x; null for none
  absl::flat_hash_map<uint32_t, const Level1*> with_slices_;      // by state, see WithSlice
  // CompletionBeside(), by the search's loop and the conditions beside it.
  absl::flat_hash_map<std::array<uint32_t, 2>, std::optional<uint64_t>> beside_;
  std::mutex counted_mutex_;  // what follows
  // By X; null for none.
  absl::flat_hash_map<uint32_t, std::shared_ptr<const RoundTable>> tables_;
  // By the state without its bounds, X, and what follows; null for none. Those made last.
  absl::flat_hash_map<std::array<uint32_t, 3>, std::shared_ptr<const CountedTokens>> counted_;
  size_t counted_bytes_ = 0;
  DraftPool drafts_;
  std::atomic<size_t> count_ = 0, bytes_ = 0;
  std::atomic<size_t> promoted_ = 0;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_MASK_CACHE_H_
