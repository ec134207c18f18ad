// A trie to the alphabets of its subtrees.
//
// One pass in preorder tells which nodes end inside a character of UTF-8; one pass back joins the
// alphabets of a node's children to its own. Below `ab` of "ab1" and "ab-" there is the alphabet
// {1, -}. Few differ (22,900 of the 274,520 nodes of Llama 3's vocabulary), so nodes hold numbers.
// A trie with more than 65,535 of them has the rest taken for "anything", which is always safe.
//
// Cost: linear, about 5 ms for Llama 3's vocabulary. Tests: tests/vocab/trie_alphabets_test.cc.
#include "vocab/trie_alphabets.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <utility>

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

}  // namespace

TrieAlphabets::TrieAlphabets(std::span<const TrieNode> nodes) {
  if (nodes.empty()) return;
  const auto count = static_cast<uint32_t>(nodes.size() - 1);
  std::vector<bool> between(count);  // the node's text ends between two characters
  std::vector<bool> broken(count);
  std::vector<Utf8Place> path(1);
  for (uint32_t i = 0; i < count; ++i) {
    path.resize(std::max<size_t>(nodes[i].depth, 1));
    if (i > 0) path.push_back(Next(path.back(), nodes[i].byte));
    between[i] = !path.back().inside && !path.back().broken;
    broken[i] = path.back().broken;
  }
  constexpr size_t kMost = UINT16_MAX;
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, uint16_t> ids[4];
  std::vector<bool> broken_below(count);
  alphabets_.push_back({~uint64_t{0}, ~uint64_t{0}, true, true});  // 0: anything
  id_.assign(count + 1, 0);
  deepest_.assign(count + 1, 0);
  for (uint32_t i = count; i-- > 0;) {
    Alphabet all;
    bool other = false;
    uint16_t deepest = nodes[i].depth;
    for (uint32_t child = i + 1; child < nodes[i].end; child = nodes[child].end) {
      const uint8_t byte = nodes[child].byte;
      if (byte < 0x80) {
        all.Add(byte);
      } else {
        all.characters = true;
      }
      const Alphabet& below = alphabets_[id_[child]];
      all.low |= below.low;
      all.high |= below.high;
      all.characters |= below.characters;
      other |= broken[child] || broken_below[child];
      deepest = std::max(deepest, deepest_[child]);
    }
    broken_below[i] = other;
    deepest_[i] = deepest;
    all.other = other || !between[i];
    auto& table = ids[(all.characters ? 1 : 0) + (all.other ? 2 : 0)];
    if (auto it = table.find({all.low, all.high}); it != table.end()) {
      id_[i] = it->second;
    } else if (alphabets_.size() <= kMost) {
      id_[i] = static_cast<uint16_t>(alphabets_.size());
      table.emplace(std::pair(all.low, all.high), id_[i]);
      alphabets_.push_back(all);
    }
  }
}

}  // namespace grammask::internal
