// The tokens of a vocabulary as bitmaps of those that stand first in the trie.
#ifndef GRAMMASK_VOCAB_TOKEN_BLOCKS_H_
#define GRAMMASK_VOCAB_TOKEN_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace grammask::internal {

// The order of the trie cut into blocks, and bitmaps of what comes before each. A set that has most
// of some blocks one after another is made of the two bitmaps at their ends faster than token by
// token: ids that follow one another in the trie lie all over a bitmap. Immutable; safe to read
// from many threads.
class TokenBlocks {
 public:
  TokenBlocks() = default;
  // `tokens`: Vocab::trie_tokens(); `words`: of a bitmap. None where the tokens are few. Time:
  // linear in the tokens; memory: four bytes for each.
  TokenBlocks(std::span<const TokenId> tokens, size_t words);

  bool empty() const { return bits_.empty(); }
  size_t block_size() const { return block_size_; }  // tokens; the last block may have fewer
  // The tokens of blocks 0 to i.
  std::span<const uint32_t> up_to(size_t i) const {
    return std::span(bits_).subspan(i * words_, words_);
  }
  size_t memory_bytes() const { return bits_.capacity() * sizeof(uint32_t); }

 private:
  size_t words_ = 0, block_size_ = 0;
  std::vector<uint32_t> bits_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_VOCAB_TOKEN_BLOCKS_H_
