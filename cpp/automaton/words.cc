// Long lists of words to states.
//
// The words of a list are kept once, in order. Those that begin alike are neighbours, so a state is
// a range of the list and how much of the words is read: the list is its own trie, and no part of
// it that no text gets to is ever built. Of ["ab", "ac", "b"] the byte `a` leads to the first two,
// one byte read. Where few words are left they become a choice of literals, which equal states of
// other lists share. In JSON strings one step reads a character in any spelling.
//
// Cost: a list, its sort; a state, a binary search for each byte that may follow, and a look at the
// length of each of its words. 100,000 words take some 30 ms and 5 MB. Tests:
// tests/automaton/words_test.cc.
#include "automaton/words.h"

#include <algorithm>

#include "base/mix.h"
#include "base/sorted.h"
#include "base/utf8.h"

namespace grammask::internal {
namespace {

constexpr uint32_t kFew = 8;  // words that are a choice of literals
// Words of a list that is long: of its states only those of one word are literals. Most are never
// read, and eight literals take eight times as long to make as a state.
constexpr size_t kLong = 1000;

// The shortest escape of a character, without its backslash.
uint64_t LengthAfterBackslash(uint32_t code_point) {
  switch (code_point) {
    case '"':
    case '\\':
    case '/':
    case '\b':
    case '\f':
    case '\n':
    case '\r':
    case '\t':
      return 1;
    default:
      return code_point > 0xFFFF ? 11 : 5;  // a pair of surrogates
  }
}

}  // namespace

TermId WordTable::Choice(std::vector<std::string_view> words, bool json) {
  // Those of a saved grammar come as they are to be.
  if (!std::ranges::is_sorted(words, std::ranges::less_equal())) {
    SortUnique(&words);
  }
  uint64_t hash = Mix(MixSeed(), uint64_t{words.size()} * 2 + (json ? 1 : 0));
  for (std::string_view word : words) hash = MixBytes(Mix(hash, word.size()), word);
  std::vector<uint32_t>& same = by_hash_[hash];
  for (uint32_t id : same) {
    if (lists_[id].json == json && std::ranges::equal(lists_[id].words, words)) {
      return At({id, 0, 0, static_cast<uint32_t>(words.size())});
    }
  }
  std::vector<uint32_t> lengths;
  for (std::string_view& word : words) {
    lengths.push_back(static_cast<uint32_t>(TermStore::ShortestSpelling(word, json)));
    word = {memory_.Copy(std::span<const char>(word)).data(), word.size()};
  }
  const auto id = static_cast<uint32_t>(lists_.size());
  same.push_back(id);
  lists_.push_back({memory_.Copy(std::span<const std::string_view>(words)),
                    memory_.Copy(std::span<const uint32_t>(lengths)), json});
  list_bytes_ += sizeof(List) + 128;
  return At({id, 0, 0, static_cast<uint32_t>(words.size())});
}

TermId WordTable::StateTerm(const State& s) {
  const uint32_t list = s.list | (s.escaped ? kEscaped : 0);
  return s_.WordsTerm(int64_t{list} << 32 | s.offset, int64_t{s.first} << 32 | s.last);
}

TermId WordTable::At(const State& s) {
  const List& list = lists_[s.list];
  if (s.last - s.first > (list.words.size() > kLong ? 1 : kFew)) return StateTerm(s);
  absl::InlinedVector<TermId, kFew> words;
  for (uint32_t i = s.first; i < s.last; ++i) {
    words.push_back(s_.Literal(list.words[i].substr(s.offset), list.json));
  }
  return s_.Choice(words);
}

template <class F>
void WordTable::ForEachGroup(const State& s, F&& f) const {
  const auto words = lists_[s.list].words;
  for (uint32_t i = s.first; i < s.last;) {
    const std::string_view rest = words[i].substr(s.offset);
    if (rest.empty()) {  // the word that may end here is the first
      ++i;
      continue;
    }
    DecodedChar c{static_cast<uint8_t>(rest[0]), 1};
    if (lists_[s.list].json) c = DecodeUtf8(rest, 0).value_or(c);
    const std::string_view head = rest.substr(0, static_cast<size_t>(c.length));
    const auto from = words.subspan(i, s.last - i);
    const auto end = std::ranges::partition_point(
        from, [&](std::string_view w) { return w.substr(s.offset, head.size()) == head; });
    const uint32_t next = i + static_cast<uint32_t>(end - from.begin());
    f(Group{c.code_point, static_cast<uint32_t>(head.size()), i, next});
    i = next;
  }
}

// A backslash leads to one state, whatever it may be the beginning of: what follows it is rarely
// asked for.
void WordTable::Read(const Term& term, absl::InlinedVector<ByteEdge, 16>* edges, bool* spelled,
                     bool* escapes) {
  const State s = Of(term);
  if (s.escaped) return ReadEscaped(s, edges);
  const bool json = lists_[s.list].json;
  bool backslash = false;
  ForEachGroup(s, [&](const Group& g) {
    const TermId to = At({s.list, s.offset + g.bytes, g.first, g.last});
    if (!json) {
      const auto byte = static_cast<uint8_t>(g.code_point);
      edges->push_back({byte, byte, to});
      *escapes |= byte == '\\';
      return;
    }
    bool raw = false;
    for (const ByteEdge& e : s_.ExpandLocked(s_.JsonCharacter(g.code_point)).bytes) {
      if (e.lo == '\\') continue;
      raw = true;
      edges->push_back({e.lo, e.hi, s_.Sequence(e.to, to)});
    }
    backslash = true;
    *spelled |= raw;
    *escapes |= !raw;
  });
  if (backslash) {
    edges->push_back({'\\', '\\', StateTerm({s.list, s.offset, s.first, s.last, true})});
  }
}

void WordTable::ReadEscaped(const State& s, absl::InlinedVector<ByteEdge, 16>* edges) {
  absl::InlinedVector<AsciiRead, 16> ascii;
  ForEachGroup(s, [&](const Group& g) {
    const TermId to = At({s.list, s.offset + g.bytes, g.first, g.last});
    if (g.code_point < 0x80) {
      ascii.push_back({static_cast<uint8_t>(g.code_point), to});
      return;
    }
    for (const ByteEdge& e : s_.ExpandLocked(s_.JsonCharacter(g.code_point)).bytes) {
      if (e.lo != '\\') continue;
      for (const ByteEdge& after : s_.ExpandLocked(e.to).bytes) {
        edges->push_back({after.lo, after.hi, s_.Sequence(after.to, to)});
      }
    }
  });
  if (ascii.empty()) return;
  const auto escapes = s_.ExpandLocked(s_.JsonEscapes(ascii)).bytes;
  edges->insert(edges->end(), escapes.begin(), escapes.end());
}

bool WordTable::Nullable(const Term& term) const {
  const State s = Of(term);
  return !s.escaped && lists_[s.list].words[s.first].size() == s.offset;
}

// Of words [first, last) without what is read.
uint64_t WordTable::Shortest(const List& list, const State& s) const {
  const std::string_view read = list.words[s.first].substr(0, s.offset);
  const auto lengths = list.lengths.subspan(s.first, s.last - s.first);
  return *std::ranges::min_element(lengths) - TermStore::ShortestSpelling(read, list.json);
}

uint64_t WordTable::MinLength(const Term& term) const {
  const State s = Of(term);
  const List& list = lists_[s.list];
  if (!s.escaped) return Shortest(list, s);
  uint64_t least = kMaxLength;
  ForEachGroup(s, [&](const Group& g) {
    const uint64_t rest = Shortest(list, {s.list, s.offset + g.bytes, g.first, g.last});
    least = std::min(least, LengthAfterBackslash(g.code_point) + rest);
  });
  return least;
}

std::optional<WordTable::Range> WordTable::Characters(const Term& term) const {
  const State s = Of(term);
  const List& list = lists_[s.list];
  if (!list.json || s.escaped || s.last - s.first > kMostCounted) return std::nullopt;
  Range range = {kMaxLength, 0};
  for (std::string_view word : list.words.subspan(s.first, s.last - s.first)) {
    const auto count = static_cast<uint64_t>(CountCodePoints(word.substr(s.offset)));
    range.least = std::min(range.least, count);
    range.most = std::max(range.most, count);
  }
  return range;
}

std::vector<std::string_view> WordTable::Rest(const Term& term) const {
  const State s = Of(term);
  std::vector<std::string_view> out;
  for (uint32_t i = s.first; i < s.last; ++i) {
    out.push_back(lists_[s.list].words[i].substr(s.offset));
  }
  return out;
}

}  // namespace grammask::internal
