// A trie to the alphabets of its subtrees.
//
// One pass in preorder tells which nodes end inside a character of UTF-8, by a table. One pass back
// joins what occurs below a node to its parent's: in reverse preorder a node's children have all
// been met when it is, and nothing else of their depth since, so one place for each depth holds
// what they have in common. Below `ab` of "ab1" and "ab-" there is the alphabet {1, -}. Few differ
// (22,900 of the 274,520 nodes of Llama 3's vocabulary), so nodes hold numbers. A trie with more
// than 65,535 of them has the rest taken for "anything", which is always safe.
//
// Nodes are also listed by the byte that they add. A walk in which few bytes lead elsewhere so goes
// from one of these nodes to the next.
//
// Cost: linear, about 4 ms for Llama 3's vocabulary. Tests: tests/vocab/trie_alphabets_test.cc.
#include "vocab/trie_alphabets.h"

#include <algorithm>
#include <array>
#include <bit>

namespace grammask::internal {
namespace {

// Where a text ends in UTF-8: between characters, or before so many more bytes of one, of which the
// next may be any continuation byte or only some; or it is no UTF-8.
enum Utf8Place : uint8_t {
  kBetween,
  kOneMore,
  kTwoMore,
  kTwoMoreFromA0,
  kTwoMoreTo9F,
  kThreeMore,
  kThreeMoreFrom90,
  kThreeMoreTo8F,
  kBroken,
  kPlaces
};

constexpr Utf8Place Next(Utf8Place at, int byte) {
  auto then = [byte](int lo, int hi, Utf8Place next) {
    return byte >= lo && byte <= hi ? next : kBroken;
  };
  switch (at) {
    case kBetween:
      if (byte < 0x80) return kBetween;
      if (byte < 0xC2 || byte > 0xF4) return kBroken;
      if (byte < 0xE0) return kOneMore;
      if (byte < 0xF0)
        return byte == 0xE0 ? kTwoMoreFromA0 : byte == 0xED ? kTwoMoreTo9F : kTwoMore;
      return byte == 0xF0 ? kThreeMoreFrom90 : byte == 0xF4 ? kThreeMoreTo8F : kThreeMore;
    case kOneMore:
      return then(0x80, 0xBF, kBetween);
    case kTwoMore:
      return then(0x80, 0xBF, kOneMore);
    case kTwoMoreFromA0:
      return then(0xA0, 0xBF, kOneMore);
    case kTwoMoreTo9F:
      return then(0x80, 0x9F, kOneMore);
    case kThreeMore:
      return then(0x80, 0xBF, kTwoMore);
    case kThreeMoreFrom90:
      return then(0x90, 0xBF, kTwoMore);
    case kThreeMoreTo8F:
      return then(0x80, 0x8F, kTwoMore);
    default:
      return kBroken;
  }
}

constexpr auto kNext = [] {
  std::array<std::array<Utf8Place, 256>, kPlaces> next{};
  for (size_t at = 0; at < kPlaces; ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      next[at][static_cast<size_t>(byte)] = Next(static_cast<Utf8Place>(at), byte);
    }
  }
  return next;
}();

// Numbers for alphabets, from 1; 0 stands for "anything", and for all once there are too many.
class Numbers {
 public:
  // With room for one alphabet in some ten of `nodes`, which is more than vocabularies have.
  Numbers(size_t nodes, std::vector<Alphabet>* alphabets)
      : alphabets_(*alphabets), bits_(std::max(8, static_cast<int>(std::bit_width(nodes / 4)))) {
    table_.resize(size_t{1} << bits_);
    alphabets_.reserve(std::min(kMost + 1, nodes / 8 + 3));
    alphabets_.assign(1, {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, true});
  }

  uint16_t Of(const Alphabet& all) { return OfHash(all, Hash(all)); }
  // Of each of a few at once: what the processor fetches for one does not wait for the others.
  template <size_t kCount>
  void Of(const std::array<Alphabet, kCount>& all, size_t count,
          std::array<uint16_t, kCount>* numbers) {
    std::array<uint64_t, kCount> hashes;
    for (size_t i = 0; i < count; ++i) hashes[i] = Hash(all[i]);
    for (size_t i = 0; i < count; ++i) (*numbers)[i] = OfHash(all[i], hashes[i]);
  }

 private:
  static constexpr size_t kMost = UINT16_MAX;

  // Its highest bits count.
  static uint64_t Hash(const Alphabet& a) {
    const uint64_t h = (a.low ^ std::rotl(a.leads, 17)) * 0x9E3779B97F4A7C15u +
                       (a.high ^ uint64_t{a.other}) * 0xC2B2AE3D27D4EB4Fu;
    return (h ^ (h >> 32)) * 0xD6E8FEB86659FD93u;
  }

  uint16_t OfHash(const Alphabet& all, uint64_t hash) {
    size_t slot = hash >> (64 - bits_);
    while (table_[slot] != 0 && alphabets_[table_[slot]] != all) {
      slot = (slot + 1) & (table_.size() - 1);
    }
    return table_[slot] != 0 ? table_[slot] : Add(slot, all);
  }

  uint16_t Add(size_t slot, const Alphabet& all) {
    if (alphabets_.size() > kMost) return 0;
    const auto number = static_cast<uint16_t>(alphabets_.size());
    alphabets_.push_back(all);
    table_[slot] = number;
    if (4 * alphabets_.size() > table_.size()) Grow();
    return number;
  }

  void Grow() {
    table_.assign(size_t{1} << ++bits_, 0);
    for (size_t i = 1; i < alphabets_.size(); ++i) {
      size_t slot = Hash(alphabets_[i]) >> (64 - bits_);
      while (table_[slot] != 0) slot = (slot + 1) & (table_.size() - 1);
      table_[slot] = static_cast<uint16_t>(i);
    }
  }

  std::vector<Alphabet>& alphabets_;
  int bits_;
  std::vector<uint16_t> table_;  // open addressing; 0 is free
};

// Of a node: the byte that it adds to its parent's alphabet, kNone where there is none; its text
// ends between two characters; it is no UTF-8; its parent's is none.
constexpr uint16_t kNone = 0x80, kEndsBetween = 0x100, kNoUtf8 = 0x200, kNoUtf8Before = 0x400;

// That of each node. Also the length of each token, and the greatest of all; and how many
// characters tokens and nodes begin.
std::vector<uint16_t> Places(std::span<const TrieNode> nodes, std::vector<uint16_t>* lengths,
                             std::vector<uint16_t>* characters,
                             std::vector<uint16_t>* node_characters, size_t* longest) {
  const size_t size = nodes.size() - 1;
  std::vector<uint16_t> places(size);
  struct Level {
    Utf8Place at;
    uint16_t characters;
  };
  std::vector<Level> path(256, {kBetween, 0});
  lengths->resize(nodes.back().tokens + 1);  // the last is scratch
  characters->resize(nodes.back().tokens + 1);
  node_characters->resize(size + 1);
  places[0] = kEndsBetween;
  for (size_t i = 1; i < size; ++i) {
    const TrieNode& node = nodes[i];
    const size_t depth = node.depth;
    // Written for the next token, be it this node's or of one below, which then writes its own: so
    // there is nothing to guess.
    if (depth >= path.size()) path.resize(2 * depth, {kBetween, 0});
    const Utf8Place before = path[depth - 1].at;
    const Utf8Place at = kNext[before][node.byte];
    const auto begun =
        static_cast<uint16_t>(path[depth - 1].characters + ((node.byte & 0xC0) != 0x80 ? 1 : 0));
    path[depth] = {at, begun};
    (*lengths)[node.tokens] = node.depth;
    (*characters)[node.tokens] = begun;
    (*node_characters)[i] = begun;
    for (uint32_t t = node.tokens + 1; t < nodes[i + 1].tokens; ++t) {
      (*lengths)[t] = node.depth;
      (*characters)[t] = begun;
    }
    const bool adds = node.byte < 0x80 || (before == kBetween && node.byte >= Alphabet::kFirstLead);
    places[i] = static_cast<uint16_t>(
        (adds ? node.byte : kNone) | (at == kBetween ? kEndsBetween : 0) |
        (at == kBroken ? kNoUtf8 : 0) | (before == kBroken ? kNoUtf8Before : 0));
  }
  lengths->pop_back();
  characters->pop_back();
  *longest = path.size();
  return places;
}

// Nodes of one depth met since their parent's next sibling: their bytes and what is below them.
// Read one by one as they are written, since what was written just now cannot be read in one piece.
struct Siblings {
  uint64_t low = 0, high = 0, leads = 0;
  uint32_t count = 0, deepest = 0;
  uint32_t flags = 0;  // kNoUtf8 where one text is none
};

}  // namespace

// Fills adding_: a sort by counting. What belongs to no list is sorted behind all, and cut off.
void TrieAlphabets::List(std::span<const uint16_t> places) {
  constexpr uint32_t kNoList = 256;
  auto list_of = [](uint32_t place) {
    const uint32_t no_utf8 = (place & kNoUtf8Before) != 0 ? kNoList : kNoLead;
    const uint32_t utf8 = (place & 0xFF) == kNone ? kNoList : place & 0xFF;
    return (place & kNoUtf8) != 0 ? no_utf8 : utf8;
  };
  const size_t size = places.size();
  first_adding_.resize(257);
  // Two counts, as each addition to one waits for the one before.
  std::array<uint32_t, 257> even = {}, odd = {}, next;
  for (size_t i = 1; i + 1 < size; i += 2) {
    ++odd[list_of(places[i])];
    ++even[list_of(places[i + 1])];
  }
  if (size % 2 == 0) ++odd[list_of(places[size - 1])];
  for (size_t b = 0; b < 256; ++b) {
    next[b] = first_adding_[b];
    first_adding_[b + 1] = next[b] + even[b] + odd[b];
  }
  next[kNoList] = first_adding_[kNoList];
  adding_.resize(size);
  uint32_t* const adding = adding_.data();
  for (size_t i = 1; i < size; ++i) adding[next[list_of(places[i])]++] = static_cast<uint32_t>(i);
  adding_.resize(first_adding_[kNoList]);
}

// Calls f for the lists of nodes that add a byte which the alphabet lacks.
template <class F>
void TrieAlphabets::ForEachLeaving(const Alphabet& all, uint64_t some_leads, const F& f) const {
  for (uint8_t b = 0; b < 0x80; ++b) {
    if (!all.Contains(b)) f(adding(b));
  }
  if (all.leads == 0) return;
  Alphabet beyond;
  beyond.leads = all.leads | some_leads;
  for (int b = Alphabet::kFirstLead; b <= 0xF4; ++b) {
    const auto lead = static_cast<uint8_t>(b);
    if (!beyond.HasLead(lead)) f(adding(lead));
  }
}

void TrieAlphabets::AddLeaving(const Alphabet& all, uint64_t some_leads, NodeSet* nodes) const {
  ForEachLeaving(all, some_leads, [&](std::span<const uint32_t> list) { nodes->Add(list); });
  nodes->Add(broken());
  if (all.leads == 0) nodes->Add(first_leads());
}

size_t TrieAlphabets::CountLeaving(const Alphabet& all, uint64_t some_leads) const {
  size_t count = 0;
  ForEachLeaving(all, some_leads, [&](std::span<const uint32_t> list) { count += list.size(); });
  return count;
}

TrieAlphabets::TrieAlphabets(std::span<const TrieNode> nodes) {
  if (nodes.empty()) return;
  size_t longest;
  const std::vector<uint16_t> places =
      Places(nodes, &lengths_, &characters_, &node_characters_, &longest);
  List(places);
  blocks_.resize(lengths_.size() / kBlock + 1);
  for (size_t t = 0; t < lengths_.size(); ++t) {
    Lengths& block = blocks_[t / kBlock];
    block.bytes = std::max(block.bytes, lengths_[t]);
    block.characters = std::max(block.characters, characters_[t]);
  }
  const size_t size = places.size();
  whole_.resize(size / 64 + 1);
  for (size_t i = 0; i < size; i += 64) {
    uint64_t whole = 0, inside = 0;
    for (size_t k = 0; k < std::min<size_t>(64, size - i); ++k) {
      whole |= uint64_t{(places[i + k] & kEndsBetween) != 0} << k;
      inside |= uint64_t{(places[i + k] & (kEndsBetween | kNoUtf8)) == 0} << k;
    }
    whole_[i / 64] = whole;
    for (; inside != 0; inside &= inside - 1) {
      const size_t node = i + static_cast<size_t>(std::countr_zero(inside));
      if (nodes[node].tokens < nodes[node + 1].tokens) {
        cut_off_.push_back(static_cast<uint32_t>(node));
      }
    }
  }
  for (uint32_t i = 1; i < size;) {
    if (nodes[i].byte < 0x80) {
      ++i;
      continue;
    }
    if ((places[i] & kNoUtf8) == 0) first_leads_.push_back(i);
    i = nodes[i].end;
  }
  Numbers numbers(size, &alphabets_);
  const uint16_t leaves[2] = {numbers.Of({.other = true}), numbers.Of({})};
  below_.resize(size + 1);
  std::vector<Siblings> met(longest + 1);
  // Nodes with children wait here for their numbers. Whether a node has any cannot be guessed, so
  // leaves are treated alike, as nodes with nothing below.
  constexpr size_t kWaiting = 64;
  std::array<Alphabet, kWaiting> waiting;
  std::array<uint32_t, kWaiting> waiting_nodes;
  std::array<uint16_t, kWaiting> found;
  size_t count = 0;
  auto number_waiting = [&] {
    numbers.Of(waiting, count, &found);
    for (size_t k = 0; k < count; ++k) below_[waiting_nodes[k]].alphabet = found[k];
    count = 0;
  };
  for (auto i = static_cast<uint32_t>(size); i-- > 0;) {
    const TrieNode& node = nodes[i];
    const uint16_t place = places[i];
    const bool between = (place & kEndsBetween) != 0;
    Siblings& own = met[node.depth];
    Siblings& children = met[node.depth + 1u];
    const uint64_t low = children.low, high = children.high, leads = children.leads;
    const uint32_t child_count = children.count;
    const uint32_t deepest = std::max<uint32_t>(node.depth, children.deepest);
    const uint32_t flags = children.flags;
    children = {};
    below_[i].alphabet = leaves[between ? 1 : 0];
    waiting[count] = {low, high, leads, !between || (flags & kNoUtf8) != 0};
    waiting_nodes[count] = i;
    count += std::min<uint32_t>(child_count, 1);
    if (count == kWaiting) number_waiting();
    if (child_count >= kManyChildren) {
      wide_.emplace(i, static_cast<uint32_t>(children_.size()));
      children_.resize(children_.size() + 256);
      for (uint32_t c = i + 1; c < node.end; c = nodes[c].end) {
        children_[children_.size() - 256 + nodes[c].byte] = c;
      }
    }
    below_[i].deepest = static_cast<uint16_t>(deepest);
    own.deepest = std::max(own.deepest, deepest);
    own.flags |= flags | place;
    ++own.count;
    const uint64_t bit = uint64_t{1} << (place & 63);
    const int word = (place & 0xFF) >> 6;
    own.low |= low | (word == 0 ? bit : 0);
    own.high |= high | (word == 1 ? bit : 0);
    own.leads |= leads | (word == 3 ? bit : 0);
  }
  number_waiting();
  deeper_.resize(below_[0].deepest);
  for (size_t i = 1; i < size; ++i) ++deeper_[below_[i].deepest - 1u];
  for (size_t k = deeper_.size(); k-- > 1;) deeper_[k - 1] += deeper_[k];
}

}  // namespace grammask::internal
