// Long residual tries, beyond the life of one generation of tables and of one compiler.
//
// What a thousand tokens leave over behind the end of a JSON string, or two thousand behind a
// letter, is the same whatever follows, and a trie of it takes up to a quarter of a millisecond to
// make: as much as the rest of the slowest masks. It depends on the vocabulary and the entries
// alone, so it is kept beside the vocabulary, as slices are. The entries are compared in full:
// those of a saved file may be anything. There are a few dozen such lists in thousands of schemas,
// so they stand in a row.
//
// Cost: 1 us for a trie that is there. Tests: tests/mask/trie_store_test.cc.
#include "mask/trie_store.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "vocab/texts.h"

namespace grammask::internal {
namespace {

std::shared_ptr<const TokenTrie> Make(const Vocab& vocab, std::span<const uint64_t> entries) {
  std::vector<std::pair<std::string_view, TokenId>> texts;
  texts.reserve(entries.size());
  size_t before = 0;
  auto token_at = [&](size_t k) { return Residual::Token(entries[k]); };
  ForEachText(vocab, entries.size(), token_at, [&](size_t k, std::string_view text) {
    const size_t read = text.size() - Residual::Bytes(entries[k]);
    before = std::max(before, read);
    texts.push_back({text.substr(read), token_at(k)});
  });
  TokenTrie made = BuildTokenTrie(texts);
  made.before = before;
  return std::make_shared<const TokenTrie>(std::move(made));
}

}  // namespace

// Tries are made outside of the lock: where two threads make the same one, the first is kept.
std::shared_ptr<const TokenTrie> TrieStore::Get(const Vocab& vocab,
                                                std::span<const uint64_t> entries) {
  if (entries.size() < kLeastEntries) return Make(vocab, entries);
  auto same = [&](const auto& kept) { return std::ranges::equal(kept, entries); };
  if (auto known = kept_.Find(same)) return known;
  auto made = Make(vocab, entries);
  const size_t bytes = entries.size_bytes() + made->memory_bytes();
  return kept_.Add(same, {entries.begin(), entries.end()}, std::move(made), bytes);
}

}  // namespace grammask::internal
