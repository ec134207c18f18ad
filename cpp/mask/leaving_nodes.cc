// An alphabet to the nodes at which texts leave it.
//
// A vocabulary lists its nodes by the byte that they add (TrieAlphabets::adding). The lists of all
// bytes outside the alphabet, as one bitmap, are the nodes; those that a walk meets are the ones
// that lie below no other. Of [a-z_]* they are 1,200 of the 274,000 nodes of Llama 3's vocabulary,
// where a walk that takes whole subtrees tries ten times as many. Beyond ASCII most lists would be
// long and most of their nodes below others, so where no such character is the alphabet's the first
// ones stand for all.
//
// Of many first bytes some characters stay and others do not: of letters and digits, of all but
// spaces. There the nodes behind such a byte are gone through, and those count at which the
// character is seen to be none that stays.
//
// Cost: about 1 ns for each node of the lists, some 20 us, once for an alphabet of a vocabulary, as
// long as it is among those used last (LeavingStore). Tests:
// tests/mask/leaving_nodes_test.cc.
#include "mask/leaving_nodes.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>
#include <vector>

namespace grammask::internal {
namespace {

constexpr uint64_t kWorthIt = 8192;  // nodes walked
constexpr size_t kFewLeave = 2;      // the share of the trie's nodes that these are at most

// The nodes behind the first bytes of `some` at which a character is seen to be none of them.
std::vector<LeavingSet::Inside> LeavingInside(std::span<const TrieNode> trie,
                                              const TrieAlphabets& alphabets,
                                              const SomeCharacters& some) {
  std::vector<LeavingSet::Inside> inside;
  // Calls f(node, bits above 0x80 of its byte) for the children of a node that go on with UTF-8.
  auto for_each_trail = [&](uint32_t parent, auto&& f) {
    for (uint32_t i = parent + 1; i < trie[parent].end; i = trie[i].end) {
      if (trie[i].byte >= 0x80 && trie[i].byte < 0xC0) f(i, trie[i].byte - 0x80);
    }
  };
  const uint64_t* last = some.last.data();
  for (uint64_t left = some.leads; left != 0; left &= left - 1) {
    const auto lead = static_cast<uint8_t>(Alphabet::kFirstLead + std::countr_zero(left));
    const bool two = lead < 0xE0;
    for (const uint32_t node : alphabets.adding(lead)) {
      for_each_trail(node, [&](uint32_t i, int bits) {
        if (two) {
          if ((last[0] >> bits & 1) == 0) inside.push_back({i, lead, 0});
          return;
        }
        if (last[bits] == 0) inside.push_back({i, lead, 0});
        if (last[bits] == 0 || last[bits] == ~uint64_t{0}) return;
        for_each_trail(i, [&](uint32_t k, int last_bits) {
          if ((last[bits] >> last_bits & 1) == 0) inside.push_back({k, lead, trie[i].byte});
        });
      });
    }
    last += two ? 1 : 64;
  }
  std::ranges::sort(inside);
  return inside;
}

}  // namespace

std::shared_ptr<const LeavingSet> LeavingStore::Find(const Alphabet& stays,
                                                     const SomeCharacters* some) {
  return kept_.Find([&](const Key& key) { return key.Is(stays, some); });
}

std::shared_ptr<const LeavingSet> LeavingStore::Keep(const Alphabet& stays,
                                                     const SomeCharacters* some,
                                                     std::shared_ptr<const LeavingSet> nodes) {
  Key key = {stays, some != nullptr ? *some : SomeCharacters()};
  const size_t bytes = nodes->memory_bytes() + key.some.last.size() * sizeof(uint64_t);
  return kept_.Add([&](const Key& other) { return other.Is(stays, some); }, std::move(key),
                   std::move(nodes), bytes);
}

const SomeCharacters* LeavingNodes::Keep(SomeCharacters some) {
  if (some.leads == 0) return nullptr;
  const auto known = std::ranges::find(some_, some);
  if (known != some_.end()) return &*known;
  return some_.size() == kMostSome ? nullptr : &some_.emplace_back(std::move(some));
}

std::shared_ptr<const LeavingSet> LeavingNodes::Of(std::span<const TrieNode> trie,
                                                   const TrieAlphabets& alphabets,
                                                   const Alphabet& stays,
                                                   const SomeCharacters* some, uint32_t nodes) {
  if (stays.leads == 0) some = nullptr;
  Entry* entry = &entries_[0];
  for (Entry& e : entries_) {
    if (e.used != 0 && e.stays == stays && e.some == some) {
      entry = &e;
      break;
    }
    if (e.used < entry->used) entry = &e;
  }
  if (entry->used == 0 || entry->stays != stays || entry->some != some) {
    *entry = {};
    entry->stays = stays;
    entry->some = some;
    if (store_ != nullptr) entry->nodes = store_->Find(stays, some);
    entry->looked = entry->nodes != nullptr;
  }
  entry->used = ++uses_;
  if (entry->looked) return entry->nodes;
  entry->walked += nodes;
  if (entry->walked < kWorthIt) return nullptr;
  entry->looked = true;
  const uint64_t some_leads = some != nullptr ? some->leads : 0;
  std::vector<LeavingSet::Inside> inside;
  if (some != nullptr) inside = LeavingInside(trie, alphabets, *some);
  const size_t count = alphabets.CountLeaving(stays, some_leads) + inside.size();
  if (count * kFewLeave > alphabets.node_count()) return nullptr;
  auto made = std::make_shared<LeavingSet>(alphabets.node_count());
  alphabets.AddLeaving(stays, some_leads, made.get());
  for (const LeavingSet::Inside& at : inside) made->Add({&at.node, 1});
  made->inside = std::move(inside);
  entry->nodes = std::move(made);
  if (store_ != nullptr) entry->nodes = store_->Keep(stays, some, std::move(entry->nodes));
  return entry->nodes;
}

bool LeavingNodes::FindBroken(const TrieAlphabets& alphabets, uint32_t node) {
  broken_ = std::make_unique<NodeSet>(alphabets.node_count());
  broken_->Add(alphabets.broken());
  return broken_->Has(node);
}

}  // namespace grammask::internal
