// A counted state without its bounds to what each token needs of them.
//
// Under `maxLength` beside a pattern, near the bound, each number of characters left is a state of
// its own, with a mask of its own. Yet they differ in one thing: a token is taken where the
// characters that it has and the fewest that then complete the pattern are no more than are left.
// So the vocabulary's trie is walked once (counted_walk.h), from the state without the bound, in
// step with the automaton of X, which counts: no text of X begins another, so that what was read is
// X's in one way only. What the pattern still needs after a prefix is a shortest path, found once
// for each state (rounds_needed.h). Where the loop is left the walk is from there on that of any
// state, and the count stays what it was.
//
// For `[0-9a-f]+` of at most twelve characters: `12ab` needs four, `12",` has two and leaves `,`.
//
// Where few X's are left, tokens that need more are not walked: ten characters of which ten must be
// digits leave only the digits. The walk for all bounds is made once one asks for more.
//
// Far from the bound only the longest tokens come near. Those that go over it are found by the same
// walk of the few nodes with such tokens (FindOver).
//
// Cost: some 5 ns a node, and 1 ns for each token below a node where the pattern loops on all that
// is there; then some 50 us for each bound. Tests: tests/mask/counted_test.cc.
#include "mask/counted.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/tables.h"
#include "mask/bitmap_store.h"
#include "mask/counted_walk.h"

namespace grammask::internal {
namespace {

// Of tokens that are none of those that end in the loop.
constexpr uint8_t kNoNumber = UINT8_MAX;
constexpr size_t kDense = 8192;  // tokens of which there are numbers for all

// Gathers what each token needs.
class NumberTaker {
 public:
  NumberTaker(const Vocab& vocab, SetTable* sets, WalkScratch* scratch)
      : inside(scratch->numbers),
        vocab_(vocab),
        sets_(*sets),
        scratch_(*scratch),
        nodes_(vocab.nodes()) {
    inside.resize(vocab.trie_tokens().size() + 1);
    numbers_ = inside.data();
  }

  bool Over(uint32_t, bool) { return true; }
  bool Inside(uint32_t i, const CountedPlace& place, uint32_t ended, bool) {
    const uint32_t first = nodes_[i].tokens, end = nodes_[i + 1].tokens;
    AddInside(first, end);
    // Mostly there is one or none; then it is written for the token after these, as that takes no
    // jump.
    uint32_t t = first;
    do {
      numbers_[t] = static_cast<uint16_t>(ended + place.needed.rounds);
    } while (++t < end);
    if (place.escaping && !nodes_[i].leaf) escapes.push_back({ended, i});
    any_number &= place.needed.any_number;
    Measure(nodes_[i].depth, place.needed.bytes);
    return true;
  }
  bool Below(uint32_t first, uint32_t end, const CountedPlace& place, uint32_t begun) {
    AddInside(first, end);
    Measure(static_cast<uint64_t>(vocab_.max_token_bytes()),
            uint64_t{place.needed.bytes} + LeavingNodes::kRestOfCharacter);
    const uint32_t more = place.needed.rounds - begun;  // modulo 2^32
    const uint16_t* const characters = vocab_.alphabets().characters().data();
    for (uint32_t t = first; t < end; ++t)
      numbers_[t] = static_cast<uint16_t>(characters[t] + more);
    any_number &= place.needed.any_number;
    return true;
  }
  bool Left(uint32_t i, TermId state, uint32_t rounds) {
    const auto longest = static_cast<uint64_t>(vocab_.max_token_bytes());
    auto visit = [&](uint32_t k, const WalkPlace& at) {
      AddLeft(nodes_[k].tokens, nodes_[k + 1].tokens, rounds);
      if (at.escaping && !nodes_[k].leaf) escapes.push_back({rounds, k});
      Measure(nodes_[k].depth, at.completion);
    };
    auto whole = [&](uint32_t k, const WalkWhole& from) {
      AddLeft(nodes_[k].tokens, nodes_[nodes_[k].end].tokens, rounds);
      Measure(longest, from.after + LeavingNodes::kRestOfCharacter);
    };
    auto literal = [&](uint32_t k, uint64_t rest) {
      AddLeft(nodes_[k].tokens, nodes_[k + 1].tokens, rounds);
      Measure(nodes_[k].depth, rest);
    };
    auto stretch = [&](uint32_t k, uint32_t end, const WalkWhole& from) {
      AddLeft(nodes_[k].tokens, nodes_[end].tokens, rounds);
      Measure(longest, from.after + LeavingNodes::kRestOfCharacter);
    };
    WalkFromState(&sets_, &scratch_, nodes_, &vocab_.alphabets(), i, state,
                  WalkCalls{visit, whole, literal, NoOpen(), stretch, NoFew()});
    return true;
  }

  // By the token's place in the order of the trie: its number, of those in Runs().
  TableVector<uint16_t>& inside;
  const TableVector<TokenRun>& Runs() {
    if (open_.first != open_.last) runs_.push_back(std::exchange(open_, {}));
    return runs_;
  }
  TableVector<uint64_t> left;  // number << 32 | token
  std::vector<CountedTokens::Escape> escapes;
  bool any_number = true;
  uint64_t reach = 0, completion = 0;  // see CountedTokens

 private:
  void Measure(uint64_t bytes, uint64_t left) {
    reach = std::max(reach, bytes + left);
    completion = std::max(completion, left);
  }
  void AddInside(uint32_t first, uint32_t end) {
    if (first != open_.last) {
      Runs();
      open_.first = first;
    }
    open_.last = end;
  }
  void AddLeft(uint32_t first, uint32_t end, uint32_t number) {
    for (uint32_t t = first; t < end; ++t) {
      left.push_back(uint64_t{number} << 32 | static_cast<uint32_t>(vocab_.trie_tokens()[t]));
    }
  }

  const Vocab& vocab_;
  SetTable& sets_;
  WalkScratch& scratch_;
  const std::span<const TrieNode> nodes_;
  uint16_t* numbers_;  // of `inside`
  TableVector<TokenRun> runs_;
  TokenRun open_ = {};  // the one under way
};

// Gathers the tokens that go over a bound.
class OverTaker {
 public:
  OverTaker(const Vocab& vocab, const TermStore& terms, int64_t most, size_t limit,
            TableVector<TokenRun>* over)
      : nodes_(vocab.nodes()),
        alphabets_(vocab.alphabets()),
        terms_(terms),
        most_(static_cast<uint32_t>(std::min<int64_t>(most, INT32_MAX))),
        limit_(limit),
        over_(*over) {}

  // In time the two go on alike.
  bool Left(uint32_t, TermId, uint32_t) { return true; }
  // One that is refused inside may have escaped before.
  bool Over(uint32_t i, bool escaped) {
    Refuse(nodes_[i].tokens, nodes_[nodes_[i].end].tokens);
    return !escaped && limit_ != 0;
  }
  bool Inside(uint32_t i, const CountedPlace& place, uint32_t ended, bool) {
    Measure(place, nodes_[i].depth, ended, 0);
    return true;
  }
  bool Below(uint32_t first, uint32_t end, const CountedPlace& place, uint32_t begun) {
    const uint32_t bound = most_ - place.needed.rounds + begun;
    const std::span<const uint16_t> characters = alphabets_.characters();
    uint16_t longest = 0, most = 0;  // at least those of what does not go over
    for (uint32_t t = first; t < end;) {
      const TrieAlphabets::Lengths& block = alphabets_.block(t);
      const uint32_t last = std::min(end, (t / TrieAlphabets::kBlock + 1) * TrieAlphabets::kBlock);
      longest = std::max(longest, block.bytes);
      most = std::max(most, block.characters);
      if (block.characters <= bound) {
        t = last;
        continue;
      }
      for (; t < last; ++t) {
        if (characters[t] > bound) Refuse(t, t + 1);
      }
    }
    most = static_cast<uint16_t>(std::min<uint32_t>(most, bound));
    // What ends inside a character needs the rest of that, too.
    if (longest != 0) {
      Measure(place, longest, most - std::min<uint32_t>(most, begun),
              place.stays.leads != 0 ? LeavingNodes::kRestOfCharacter : 0);
    }
    return limit_ != 0;
  }

  uint64_t reach = 0, completion = 0;  // as in Level1

 private:
  // Takes note of a place where so many X's have ended, of a text of so many bytes.
  void Measure(const CountedPlace& place, uint64_t bytes, uint64_t ended,
               uint64_t rest_of_character) {
    // The shortest text, of no more X's than bytes, may be one in time; of that with the fewest X's
    // it is known to be.
    uint64_t left = terms_.term(place.at.state).min_length + rest_of_character;
    if (left > most_ - ended) left = place.needed.bytes + rest_of_character;
    reach = std::max(reach, bytes + left);
    completion = std::max(completion, left);
  }
  void Refuse(uint32_t first, uint32_t end) {
    if (first == end) return;
    AppendRun(first, end, &over_);
    limit_ -= std::min<size_t>(limit_, end - first);
  }

  const std::span<const TrieNode> nodes_;
  const TrieAlphabets& alphabets_;
  const TermStore& terms_;
  const uint32_t most_;
  size_t limit_;
  TableVector<TokenRun>& over_;
};

// Writes which numbers are at most `most`, a bit each.
void AtMost(std::span<const uint8_t> numbers, uint8_t most, uint32_t* bits) {
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

CountedTokens::ByNumber::ByNumber(std::span<const uint64_t> entries) {
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

CountedTokens::CountedTokens(size_t words, ByNumber inside, TableVector<uint8_t> numbers,
                             ByNumber left, std::vector<Escape> escapes, bool asked,
                             bool any_number, int64_t most, uint64_t reach, uint64_t completion)
    : words_(words),
      inside_(std::move(inside)),
      numbers_(std::move(numbers)),
      left_(std::move(left)),
      escapes_(std::move(escapes)),
      asked_(asked),
      any_number_(any_number),
      most_(most),
      reach_(reach),
      completion_(completion) {}

std::unique_ptr<CountedTokens> CountedTokens::Create(const Vocab& vocab, SetTable* sets,
                                                     TermId loose, const Loop& loop, int64_t most,
                                                     bool any_number, WalkScratch* scratch) {
  CountedWalk walk(vocab, sets, loose, loop.x, loop.rest, loop.table, any_number, scratch);
  NumberTaker taken(vocab, sets, scratch);
  if (!walk.Fits() || !walk.Run(most, 0, taken).has_value()) return nullptr;
  const size_t words = (static_cast<size_t>(vocab.size()) + 31) / 32;
  size_t count = 0;
  for (const TokenRun& run : taken.Runs()) count += run.last - run.first;
  TableVector<uint8_t> numbers;
  if (count >= kDense) {
    numbers.assign(words * 32, kNoNumber);
    const TokenId* const tokens = vocab.trie_tokens().data();
    const uint16_t* const by_place = taken.inside.data();
    uint16_t greatest = 0;
    for (const TokenRun& run : taken.Runs()) {
      for (uint32_t t = run.first; t < run.last; ++t) {
        greatest = std::max(greatest, by_place[t]);
        numbers[static_cast<size_t>(tokens[t])] = static_cast<uint8_t>(by_place[t]);
      }
    }
    if (greatest >= kNoNumber) numbers = {};
  }
  ByNumber inside;
  if (numbers.empty()) inside = ByNumber(taken.inside, taken.Runs(), vocab.trie_tokens());
  return std::unique_ptr<CountedTokens>(new CountedTokens(
      words, std::move(inside), std::move(numbers), ByNumber(taken.left), std::move(taken.escapes),
      any_number, taken.any_number, most, taken.reach, taken.completion));
}

std::optional<bool> CountedTokens::FindOver(const Vocab& vocab, SetTable* sets, TermId loose,
                                            const Loop& loop, int64_t most, uint64_t same,
                                            size_t limit, WalkScratch* scratch,
                                            TableVector<TokenRun>* over, uint64_t* reach,
                                            uint64_t* completion) {
  CountedWalk walk(vocab, sets, loose, loop.x, loop.rest, loop.table, false, scratch);
  if (!walk.Fits()) return std::nullopt;
  OverTaker taken(vocab, sets->terms(), most, limit, over);
  const auto found = walk.Run(most, same, taken);
  *reach = taken.reach;
  *completion = taken.completion;
  return found;
}

bool CountedTokens::AddList(int64_t least, int64_t most, size_t limit,
                            TableVector<TokenId>* list) const {
  if (!numbers_.empty()) return false;
  const auto inside = inside_.Between(0, most), left = left_.Between(least, most);
  if (inside.size() + left.size() > limit) return false;
  for (const auto& some : {inside, left}) list->insert(list->end(), some.begin(), some.end());
  return true;
}

Bits CountedTokens::Bitmap(int64_t least, int64_t most) const {
  Bits result(words_);
  if (numbers_.empty()) {
    for (TokenId t : inside_.Between(0, most)) SetBit(result.data(), t);
  } else {
    AtMost(numbers_, static_cast<uint8_t>(std::min<int64_t>(most, kNoNumber - 1)), result.data());
  }
  for (TokenId t : left_.Between(least, most)) SetBit(result.data(), t);
  return result;
}

void CountedTokens::AddEscapes(int64_t least, int64_t most, TableVector<uint32_t>* nodes) const {
  for (const Escape& e : escapes_) {
    if (least <= e.rounds && e.rounds <= most) nodes->push_back(e.node);
  }
}

size_t CountedTokens::memory_bytes() const {
  return sizeof(CountedTokens) + words_ * 4 + escapes_.capacity() * sizeof(Escape) +
         (inside_.tokens.capacity() + inside_.ends.capacity() + left_.tokens.capacity() +
          left_.ends.capacity()) *
             4 +
         numbers_.capacity();
}

}  // namespace grammask::internal
