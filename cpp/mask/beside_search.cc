// A search beside other conditions to its mask, from that of these conditions.
//
// Of a URI that must end in ".gif" each letter of a search that has begun is a state of its own,
// and so is each kind of search. But as long as the text goes on, the search refuses nothing:
// whatever has been read, what it looks for may still come, if there is some text that is both,
// from each place where the other conditions may be. These are few, and looked at once
// (CompletionBeside). So the mask is that of the conditions alone, which all strings of that format
// share, but for the tokens with the quote that ends the string: of these the ones stay before
// whose quote the search has found what it looks for.
//
// Cost: the tokens with quotes, 0.1 ms; once for the conditions their places, some hundred. Tests:
// tests/mask/beside_search_test.cc.
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/tables.h"
#include "mask/along.h"
#include "mask/draft.h"
#include "mask/mask_cache.h"
#include "vocab/texts.h"

namespace grammask::internal {
namespace {

constexpr size_t kMostPlaces = 160;  // a URI has 75
constexpr size_t kMostBetween = 24;  // of them between two characters: each is a search for a text
constexpr uint64_t kRestOfCharacter = 11;  // bytes, of "\\ud83d\\ude00"
constexpr size_t kEntry = 40;              // bytes of an entry of beside_

}  // namespace

// How many bytes the conditions and the search take together at the most to be complete, from
// wherever the conditions may be; nothing where there may be no such text from some place, or where
// this is not seen at once.
std::optional<uint64_t> MaskCache::CompletionBeside(const TermStore::Searched& searched) {
  const std::array key = {searched.loop.part.value, searched.others.value};
  {
    std::lock_guard lock(mutex_);
    if (const auto it = beside_.find(key); it != beside_.end()) return it->second;
  }
  // Where the conditions are, and what is left of one of the search's characters: Empty() between
  // two. From there all goes on that may: the search takes any number of its characters and can
  // then still do what it could at first.
  struct Place {
    TermId others, character;
  };
  std::vector<Place> places = {{searched.others, TermStore::Empty()}};
  std::vector<TermId> between = {searched.others};  // the places between two characters
  absl::flat_hash_set<uint64_t> met;
  uint64_t completion = 0;
  auto look = [&](Place at) {
    const Expansion& others = terms_.Expand(at.others);
    if (!others.calls.empty() || !others.tokens.empty()) return false;
    const bool begins = at.character == TermStore::Empty();
    if (begins) {
      const TermId both = terms_.Both(searched.loop.part, at.others);
      if (both == TermStore::Nothing()) return false;
      completion = std::max(completion, terms_.term(both).min_length);
    } else if (terms_.term(at.others).nullable) {
      return false;
    }
    const auto reads = terms_.Expand(begins ? searched.loop.x : at.character).bytes;
    auto r = reads.begin();
    for (const ByteEdge& e : others.bytes) {
      for (int b = e.lo; b <= e.hi; b = r->hi + 1) {
        while (r != reads.end() && r->hi < b) ++r;
        if (r == reads.end() || r->lo > b) return false;  // the search does not take it
        const Place next = {e.to, r->to};
        if (met.insert(uint64_t{next.others.value} << 32 | next.character.value).second) {
          places.push_back(next);
          if (next.character == TermStore::Empty()) between.push_back(next.others);
        }
      }
    }
    return true;
  };
  met.insert(uint64_t{searched.others.value} << 32 | TermStore::Empty().value);
  bool seen = true;
  for (size_t i = 0; seen && i < places.size(); ++i) {
    seen = places.size() <= kMostPlaces && between.size() <= kMostBetween && look(places[i]);
  }
  std::optional<uint64_t> result;
  if (seen) result = completion + kRestOfCharacter;
  // Where it is not seen from here it would not be from where a text goes on to, mostly, and each
  // question would take as long: so none is asked again.
  if (seen) between.resize(1);
  std::lock_guard lock(mutex_);
  for (TermId others : between) {
    if (beside_.try_emplace({key[0], others.value}, result).second) bytes_ += kEntry;
  }
  return result;
}

// Null where the state is none such.
const Level1* MaskCache::FromSearched(TermId state) {
  const auto searched = terms_.FindSearched(state, kWideClass);
  if (!searched.has_value()) return nullptr;
  const auto completion = CompletionBeside(*searched);
  if (!completion.has_value()) return nullptr;
  const Level1& wide = OfState(searched->wider);
  // The quotes that end the conditions' text and not the search's.
  const auto nodes = vocab_->nodes();
  Along others(&terms_, searched->others), search(&terms_, searched->search);
  TableVector<TokenRun> refused;
  uint32_t ended = 0;  // what is below a quote that ends the text
  const auto quotes = vocab_->alphabets().adding('"');
  ForEachTextAbove(*vocab_, quotes, [&](uint32_t i, std::string_view text) {
    if (i < ended) return;
    const TrieNode& node = nodes[i];
    if (!terms_.term(others.Read(text)).nullable) return;
    ended = node.end;
    if (terms_.term(search.Read(text)).nullable) return;
    refused.push_back({node.tokens, nodes[node.end].tokens});
  });
  const uint64_t most = *completion + terms_.term(searched->rest).min_length;
  const uint64_t longest = std::min<uint64_t>(vocab_->max_token_bytes(), wide.reach);
  return Narrowed(wide, refused, longest + most, most);
}

}  // namespace grammask::internal
