// The mask of a search that has read something, from that of the search.
//
// In a search, `X* "abc" X*`, each position is a state of its own: the search itself, or that and
// what is left of a match that has begun. Nearly every character that does not go on with the match
// leads back to where the search alone would be. So of the tokens that are no X's alone, which in
// a JSON string are 12,000 nodes of the trie, only those are walked below which the two are in
// different states; all others have the fate that they have in the search. As the state matches
// whatever the search does, tokens and what they leave over are only added.
//
// Cost: 5 us instead of 60; mostly nothing is added, and the two share one mask. Tests:
// tests/mask/search_masks_test.cc.
#include <algorithm>
#include <bit>

#include "mask/draft.h"
#include "mask/mask_cache.h"

namespace grammask::internal {
namespace {

constexpr size_t kWorthShare = 4;  // the share of the nodes that are walked at most

// A place of the path: what is left of the edges of the two states.
struct Pair {
  std::span<const ByteEdge> own, search;
};

// Where a byte leads; bytes are asked for in ascending order.
TermId Next(std::span<const ByteEdge>* edges, uint8_t byte) {
  while (!edges->empty() && edges->front().hi < byte) *edges = edges->subspan(1);
  if (edges->empty() || byte < edges->front().lo) return TermStore::Nothing();
  return edges->front().to;
}

}  // namespace

// Walks the slice's others from `state` where it is not in the state that `search` is in, which
// matches nothing but what `state` does, too. Gathers in the draft what `state` takes beyond it;
// false where the two cannot be walked so, or are in different states too often.
bool MaskCache::WalkBeside(TermId state, TermId search, const Slice& slice, Draft* draft) {
  const TokenTrie& others = slice.others();
  const std::span<const TrieNode> nodes = others.nodes;
  size_t visited = 0;
  bool regular = true;  // nothing is called
  auto edges_of = [&](TermId at) -> std::span<const ByteEdge> {
    if (at == TermStore::Nothing()) return {};
    const Expansion& e = terms_.Expand(at);
    regular &= e.calls.empty();
    return e.bytes;
  };
  // Node i, to which both lead, but not to the same state.
  auto visit = [&](uint32_t i, TermId own, TermId other) {
    const TrieNode& node = nodes[i];
    const Term& t = terms_.term(own);
    const bool alone = other == TermStore::Nothing();
    draft->deepest = std::max<uint64_t>(draft->deepest, node.depth);
    draft->reach = std::max(draft->reach, node.depth + t.min_length);
    draft->completion = std::max(draft->completion, t.min_length);
    if (alone) {
      const auto tokens = std::span(others.tokens).first(nodes[i + 1].tokens).subspan(node.tokens);
      draft->accepted.insert(draft->accepted.end(), tokens.begin(), tokens.end());
    }
    if (t.nullable && (alone || !terms_.term(other).nullable)) {
      AddLeftOver(nodes, others.tokens, i, &draft->residues);
    }
  };
  draft->reach = draft->completion = 0;
  Pair root{edges_of(state), edges_of(search)};
  std::vector<Pair> path;
  // The node to go on with after node i, to which `from` leads.
  auto step = [&](Pair* from, uint32_t i) -> std::optional<uint32_t> {
    const TrieNode& node = nodes[i];
    const TermId own = Next(&from->own, node.byte), other = Next(&from->search, node.byte);
    if (own == other) return node.end;
    if (own == TermStore::Nothing() || ++visited * kWorthShare > nodes.size()) return std::nullopt;
    visit(i, own, other);
    if (node.leaf) return node.end;
    path.resize(node.depth - 1u);  // `from` is gone
    path.push_back({edges_of(own), edges_of(other)});
    if (!regular) return std::nullopt;
    return i + 1;
  };
  for (int b = 0; b < 256 && regular; ++b) {
    const uint32_t top = slice.root_child(static_cast<uint8_t>(b));
    if (top == 0) continue;
    auto i = step(&root, top);
    while (i.has_value() && *i < nodes[top].end) i = step(&path[nodes[*i].depth - 2u], *i);
    if (!i.has_value()) return false;
  }
  return regular;
}

// The mask of `state` from that of `search`, which takes the same slice: it is `draft->made`, or
// to be stored. False where it is as well made by itself; the draft is then as it was.
bool MaskCache::FromSearch(TermId state, TermId search, const Slice& slice, Draft* draft) {
  if (search == state) return false;
  const Level1& known = WithSlice(search);
  if (known.slice == nullptr || known.slice != draft->slice) return false;
  if (known.others_reach == UINT64_MAX) return false;  // it has a bound
  if (!WalkBeside(state, search, slice, draft)) {
    draft->accepted.clear();
    draft->residues.clear();
    draft->reach = draft->completion = UINT64_MAX;
    draft->deepest = 0;
    return false;
  }
  draft->reach = std::max(draft->reach, known.reach);
  draft->completion = std::max(draft->completion, known.completion);
  draft->deepest = std::max(draft->deepest, known.others_reach);
  if (draft->accepted.empty() && draft->residues.empty()) {
    Level1 same = known;
    same.reach = draft->reach;
    same.completion = draft->completion;
    same.others_reach = draft->deepest;
    draft->made = Keep(same);
    return true;
  }
  const auto list = known.accepted.list;
  draft->accepted.insert(draft->accepted.end(), list.begin(), list.end());
  for (size_t w = 0; known.others != nullptr && w < words_; ++w) {
    for (uint32_t bits = known.others[w]; bits != 0; bits &= bits - 1) {
      draft->accepted.push_back(static_cast<TokenId>(w * 32 + std::countr_zero(bits)));
    }
  }
  if (known.residual != nullptr) {
    const auto entries = Spelled(*known.residual).entries;
    draft->residues.insert(draft->residues.end(), entries.begin(), entries.end());
  }
  return true;
}

}  // namespace grammask::internal
