// What tokens leave over, as tries, for all compilers of one vocabulary.
#ifndef GRAMMASK_MASK_TRIE_STORE_H_
#define GRAMMASK_MASK_TRIE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/lately_used.h"
#include "base/tables.h"
#include "mask/token_trie.h"
#include "vocab/vocab.h"

namespace grammask::internal {

// Tries of long lists of entries (Residual::entries) of one vocabulary, for all mask caches that
// come and go: those used last, up to a number of bytes. Thread-safe.
class TrieStore {
 public:
  static constexpr size_t kLeastEntries = 256;  // of a trie that is kept

  explicit TrieStore(size_t most_bytes) : kept_(most_bytes) {}

  // The trie of `entries`: what each token has behind so many of its bytes. With as many entries as
  // are worth it the same one for the same entries, as long as it is kept.
  std::shared_ptr<const TokenTrie> Get(const Vocab& vocab, std::span<const uint64_t> entries);
  void SetMost(size_t bytes) { kept_.SetMost(bytes); }
  size_t memory_bytes() { return kept_.bytes(); }

 private:
  LatelyUsed<TableVector<uint64_t>, TokenTrie> kept_;  // by entries
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_TRIE_STORE_H_
