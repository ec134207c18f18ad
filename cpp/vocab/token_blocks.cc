// Ids in the order of a trie to bitmaps of its beginnings.
//
// Cost: about 1 ns a token. Tests: tests/mask/bitmap_store_test.cc.
#include "vocab/token_blocks.h"

namespace grammask::internal {
namespace {

constexpr size_t kBlocks = 32;
constexpr size_t kFew = 8192;  // tokens

}  // namespace

TokenBlocks::TokenBlocks(std::span<const TokenId> tokens, size_t words) {
  if (tokens.size() < kFew) return;
  words_ = words;
  block_size_ = (tokens.size() + kBlocks - 1) / kBlocks;
  bits_.resize(kBlocks * words);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<uint32_t>(tokens[i]);
    bits_[i / block_size_ * words + id / 32] |= uint32_t{1} << (id % 32);
  }
  for (size_t i = words; i < bits_.size(); ++i) bits_[i] |= bits_[i - words];
}

}  // namespace grammask::internal
