// An alphabet to the nodes at which texts leave it.
//
// A vocabulary lists its nodes by the byte that they add (TrieAlphabets::adding). The lists of all
// bytes outside the alphabet, as one bitmap, are the nodes; those that a walk meets are the ones
// that lie below no other. Of [a-z_]* they are 1,200 of the 274,000 nodes of Llama 3's vocabulary,
// where a walk that takes whole subtrees tries ten times as many. Beyond ASCII most lists would be
// long and most of their nodes below others, so where no such character is the alphabet's the first
// ones stand for all.
//
// Cost: about 1 ns for each node of the lists, some 20 us, once for an alphabet. Tests:
// tests/mask/leaving_nodes_test.cc.
#include "mask/leaving_nodes.h"

#include <algorithm>
#include <span>
#include <utility>

namespace grammask::internal {
namespace {

constexpr uint64_t kWorthIt = 8192;  // nodes walked
constexpr size_t kFewLeave = 2;      // the share of the trie's nodes that these are at most

}  // namespace

std::shared_ptr<const NodeSet> LeavingNodes::Of(const TrieAlphabets& alphabets,
                                                const Alphabet& stays, uint32_t nodes) {
  Entry* entry = &entries_[0];
  for (Entry& e : entries_) {
    if (e.used != 0 && e.stays == stays) {
      entry = &e;
      break;
    }
    if (e.used < entry->used) entry = &e;
  }
  if (entry->used == 0 || entry->stays != stays) {
    *entry = {};
    entry->stays = stays;
  }
  entry->used = ++uses_;
  if (entry->looked) return entry->nodes;
  entry->walked += nodes;
  if (entry->walked < kWorthIt) return nullptr;
  entry->looked = true;
  std::array<std::span<const uint32_t>, 256> lists;
  size_t count = 0;
  for (size_t b = 0; b < 256; ++b) {
    const auto byte = static_cast<uint8_t>(b);
    const bool leaves = b < 0x80 ? !stays.Contains(byte)
                                 : stays.leads != 0 && b >= Alphabet::kFirstLead && b <= 0xF4 &&
                                       ((stays.leads >> (b - Alphabet::kFirstLead)) & 1) == 0;
    if (leaves) lists[b] = alphabets.adding(byte);
    count += lists[b].size();
  }
  if (count * kFewLeave > alphabets.node_count()) return nullptr;
  auto made = std::make_shared<NodeSet>(alphabets.node_count());
  for (const auto& list : lists) made->Add(list);
  made->Add(alphabets.broken());
  if (stays.leads == 0) made->Add(alphabets.first_leads());
  entry->nodes = std::move(made);
  return entry->nodes;
}

bool LeavingNodes::FindBroken(const TrieAlphabets& alphabets, uint32_t node) {
  broken_ = std::make_unique<NodeSet>(alphabets.node_count());
  broken_->Add(alphabets.broken());
  return broken_->Has(node);
}

}  // namespace grammask::internal
