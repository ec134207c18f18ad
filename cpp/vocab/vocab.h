// The vocabulary: token id <-> bytes, special and stop tokens, and the trie that masks walk.
//
// Immutable once built; shared by every compiler, grammar and matcher of a model; safe to read from
// many threads.
#ifndef GRAMMASK_VOCAB_VOCAB_H_
#define GRAMMASK_VOCAB_VOCAB_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "grammask/vocab_type.h"
#include "vocab/token_blocks.h"
#include "vocab/trie.h"
#include "vocab/trie_alphabets.h"
#include "vocab/vocab_image.h"

namespace grammask::internal {

struct VocabOptions {
  VocabType type = VocabType::kRaw;
  std::optional<int> vocab_size;  // the model's; pads (ids that never match) or trims the list
  std::optional<std::vector<TokenId>> stop_token_ids;  // else detected by well-known texts
  bool add_prefix_space = false;
  std::vector<TokenId> special_token_ids;  // never text, whatever their bytes
};

class Vocab {
 public:
  // `encoded`: a text or byte string for each id, "" for ids that are no text. Fails with
  // kInvalidArgument on a stop or special id outside the vocabulary (a special id that trimming
  // took away is dropped) or a token over 65,535 bytes, and with kResourceExhausted over
  // kMaxVocabSize tokens or 2 GiB of them.
  static StatusOr<std::shared_ptr<const Vocab>> Create(std::vector<std::string> encoded,
                                                       const VocabOptions& options);

  // The vocabulary in a block that save() gave, or in anything else: then an error that says what
  // is wrong with it (see CheckVocabImage). `image`, aligned to 8 bytes, is used where it lies and
  // must not change while `owner` lives, which the result holds. 4 ms for 129,000 tokens.
  static StatusOr<std::shared_ptr<const Vocab>> Load(std::span<const std::byte> image,
                                                     std::shared_ptr<const void> owner);
  // All of it as a block of bytes, for files.
  std::vector<std::byte> Save() const;

  int size() const { return static_cast<int>(tables_.tokens.size()); }
  VocabType type() const { return tables_.type; }
  bool add_prefix_space() const { return tables_.add_prefix_space; }
  // The bytes that the token stands for. Special and padding tokens keep their bytes here (for
  // display), but are not in the trie.
  std::string_view bytes(TokenId id) const { return tables_.tokens[static_cast<size_t>(id)]; }
  // Has the processor fetch where they lie.
  void PrefetchPlace(TokenId id) const {
    __builtin_prefetch(&tables_.tokens.offsets[static_cast<size_t>(id)]);
  }
  std::vector<std::string> decoded() const;  // a copy of all of them
  const std::vector<TokenId>& stop_token_ids() const { return stop_token_ids_; }  // sorted
  // Sorted: those given, and the ids without bytes (empty texts and padding).
  const std::vector<TokenId>& special_token_ids() const { return special_token_ids_; }
  // False for special, stop, padding and empty tokens.
  bool is_text(TokenId id) const {
    return id >= 0 && id < size() &&
           (text_bits_[static_cast<size_t>(id) / 32] >> (static_cast<uint32_t>(id) % 32) & 1) != 0;
  }
  // The same of all ids, which are those of trie_tokens(): bit i % 32 of word i / 32.
  std::span<const uint32_t> text_bits() const { return text_bits_; }
  // The token whose text or bytes are exactly `text`, special tokens included; lowest id. (The text
  // of a special token is also its name as written, so that a marker that holds U+2581 is found
  // though that character stands for a space elsewhere.)
  std::optional<TokenId> FindToken(std::string_view text) const;

  // The trie: nodes()[0] is the root; one sentinel node follows the last (its `end` is its own
  // index and its `tokens` is trie_tokens().size()).
  std::span<const TrieNode> nodes() const { return tables_.nodes; }
  size_t node_count() const { return tables_.nodes.size() - 1; }
  // Ids in trie order; several ids may share a node when their bytes are equal.
  std::span<const TokenId> trie_tokens() const { return tables_.trie_tokens; }
  // The same cut into blocks, as bitmaps.
  const TokenBlocks& token_blocks() const { return token_blocks_; }
  // The root's child for a first byte, or 0 where no token starts with it.
  uint32_t root_child(uint8_t byte) const { return root_children_[byte]; }
  // What occurs below each node of the trie.
  const TrieAlphabets& alphabets() const { return alphabets_; }
  // The length of the longest text token; 0 where there is none.
  int max_token_bytes() const { return tables_.max_token_bytes; }
  // Different for different vocabularies (a digest of all of the above). The first call takes
  // 0.1 ms for 129,000 tokens.
  uint64_t fingerprint() const;
  size_t memory_bytes() const;
  // The object of a later stage that lives as long as the vocabulary, made when first asked for; T
  // is the same type in all calls.
  template <class T>
  std::shared_ptr<T> Beside() const {
    std::call_once(beside_once_, [this] { beside_ = std::make_shared<T>(); });
    return std::static_pointer_cast<T>(beside_);
  }

 private:
  Vocab() = default;
  void Attach(std::span<const std::byte> image, std::shared_ptr<const void> owner);
  std::optional<TokenId> FindTextToken(std::string_view bytes) const;

  std::span<const std::byte> image_;  // which `tables_` points into
  std::shared_ptr<const void> owner_;
  VocabTables tables_;
  std::vector<uint32_t> text_bits_;
  std::vector<TokenId> stop_token_ids_, special_token_ids_;
  uint32_t root_children_[256] = {};
  TrieAlphabets alphabets_;
  TokenBlocks token_blocks_;
  mutable std::atomic<uint64_t> fingerprint_ = 0;  // 0: not computed yet
  mutable std::once_flag beside_once_;
  mutable std::shared_ptr<void> beside_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_VOCAB_VOCAB_H_
