// What tokens leave over, as tries, for all compilers of one vocabulary.
#ifndef GRAMMASK_MASK_TRIE_STORE_H_
#define GRAMMASK_MASK_TRIE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
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
  // are worth it the same one for the same entries, as long as it is kept or in use elsewhere.
  std::shared_ptr<const TokenTrie> Get(const Vocab& vocab, std::span<const uint64_t> entries);
  // Keeps no more than so many bytes from now on.
  void SetMost(size_t bytes);
  size_t memory_bytes();

 private:
  struct Kept {
    TableVector<uint64_t> entries;
    std::shared_ptr<const TokenTrie> trie;
  };

  std::shared_ptr<const TokenTrie> Found(std::span<const uint64_t> entries);

  std::mutex mutex_;
  LatelyUsed<Kept> kept_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_TRIE_STORE_H_
