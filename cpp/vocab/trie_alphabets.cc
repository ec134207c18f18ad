// A trie to the alphabets of its subtrees.
//
// One pass in preorder tells which nodes end inside a character of UTF-8; one pass back joins the
// alphabets of a node's children to its own. Below `ab` of "ab1" and "ab-" there is the alphabet
// {1, -}. Few differ (22,900 of the 274,520 nodes of Llama 3's vocabulary), so nodes hold numbers.
// A trie with more than 65,535 of them has the rest taken for "anything", which is always safe.
//
// Cost: linear, about 5 ms for Llama 3's vocabulary. Tests: tests/vocab/trie_alphabets_test.cc.
#include "vocab/trie_alphabets.h"

#include <algorithm>
#include <bit>

namespace grammask::internal {
namespace {

// Where a prefix ends: between characters, or inside one whose next byte is lo..hi and `left` more
// follow; or it is no UTF-8.
struct Utf8Place {
  uint8_t lo = 0, hi = 0, left = 0;
  bool inside = false, broken = false;
};

Utf8Place Next(const Utf8Place& at, uint8_t byte) {
  constexpr Utf8Place kBroken = {0, 0, 0, false, true};
  if (at.broken) return at;
  if (at.inside) {
    if (byte < at.lo || byte > at.hi) return kBroken;
    if (at.left == 0) return {};
    return {0x80, 0xBF, static_cast<uint8_t>(at.left - 1), true, false};
  }
  if (byte < 0x80) return {};
  if (byte < 0xC2 || byte > 0xF4) return kBroken;
  if (byte < 0xE0) return {0x80, 0xBF, 0, true, false};
  if (byte < 0xF0) {
    return {static_cast<uint8_t>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<uint8_t>(byte == 0xED ? 0x9F : 0xBF), 1, true, false};
  }
  return {static_cast<uint8_t>(byte == 0xF0 ? 0x90 : 0x80),
          static_cast<uint8_t>(byte == 0xF4 ? 0x8F : 0xBF), 2, true, false};
}

size_t Hash(const Alphabet& a) {
  uint64_t h = (a.low ^ std::rotl(a.leads, 17)) * 0x9E3779B97F4A7C15u;
  h = (h ^ (h >> 32) ^ a.high ^ (a.other ? 1 : 0)) * 0xD6E8FEB86659FD93u;
  return static_cast<size_t>(h >> 32);
}

}  // namespace

TrieAlphabets::TrieAlphabets(std::span<const TrieNode> nodes) {
  if (nodes.empty()) return;
  const auto size = static_cast<uint32_t>(nodes.size() - 1);
  // Of a node's text: it ends between two characters; it is no UTF-8; a text below is none.
  constexpr uint8_t kBetween = 1, kBroken = 2, kBrokenBelow = 4;
  std::vector<uint8_t> flags(size);
  std::vector<Utf8Place> path(2);
  lengths_.resize(nodes.back().tokens);
  for (uint32_t i = 0; i < size; ++i) {
    const size_t depth = nodes[i].depth;
    for (uint32_t t = nodes[i].tokens; t < nodes[i + 1].tokens; ++t) lengths_[t] = nodes[i].depth;
    if (depth >= path.size()) path.resize(2 * depth);
    if (i > 0) path[depth] = Next(path[depth - 1], nodes[i].byte);
    const Utf8Place& at = path[depth];
    flags[i] = at.broken ? kBroken : at.inside ? 0 : kBetween;
  }
  constexpr size_t kMost = UINT16_MAX;
  std::vector<uint16_t> table(2 * (kMost + 1));  // open addressing; 0 is free
  alphabets_.push_back({~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, true});  // 0: anything
  id_.assign(size + 1, 0);
  deepest_.assign(size + 1, 0);
  uint16_t leaf_ids[2] = {};  // between characters, and elsewhere
  for (uint32_t i = size; i-- > 0;) {
    uint16_t deepest = nodes[i].depth;
    uint16_t* leaf_id = nullptr;
    Alphabet all;
    if (nodes[i].end == i + 1) {
      deepest_[i] = deepest;
      all.other = (flags[i] & kBetween) == 0;
      leaf_id = &leaf_ids[all.other ? 1 : 0];
      if (*leaf_id != 0) {
        id_[i] = *leaf_id;
        continue;
      }
    }
    uint32_t count = 0;
    for (uint32_t child = i + 1; child < nodes[i].end; child = nodes[child].end) {
      const uint8_t byte = nodes[child].byte;
      ++count;
      if (byte < 0x80) {
        all.Add(byte);
      } else if ((flags[i] & kBetween) != 0 && byte >= Alphabet::kFirstLead) {
        all.AddLead(byte);
      }
      if ((flags[child] & (kBroken | kBrokenBelow)) != 0) flags[i] |= kBrokenBelow;
      deepest = std::max(deepest, deepest_[child]);
      if (nodes[child].leaf != 0) continue;
      const Alphabet& below = alphabets_[id_[child]];
      all.low |= below.low;
      all.high |= below.high;
      all.leads |= below.leads;
    }
    if (count >= kManyChildren) {
      wide_.emplace(i, static_cast<uint32_t>(children_.size()));
      children_.resize(children_.size() + 256);
      for (uint32_t child = i + 1; child < nodes[i].end; child = nodes[child].end) {
        children_[children_.size() - 256 + nodes[child].byte] = child;
      }
    }
    deepest_[i] = deepest;
    all.other = (flags[i] & (kBetween | kBrokenBelow)) != kBetween;
    size_t slot = Hash(all) & (table.size() - 1);
    while (table[slot] != 0 && alphabets_[table[slot]] != all)
      slot = (slot + 1) & (table.size() - 1);
    if (table[slot] == 0 && alphabets_.size() <= kMost) {
      table[slot] = static_cast<uint16_t>(alphabets_.size());
      alphabets_.push_back(all);
    }
    id_[i] = table[slot];
    if (leaf_id != nullptr) *leaf_id = id_[i];
  }
}

}  // namespace grammask::internal
