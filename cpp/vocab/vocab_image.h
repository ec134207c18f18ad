// The tables of a vocabulary as one block of bytes without pointers: in memory, in a file, mapped.
#ifndef GRAMMASK_VOCAB_VOCAB_IMAGE_H_
#define GRAMMASK_VOCAB_VOCAB_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/tables.h"
#include "grammask/vocab_type.h"
#include "vocab/trie.h"

namespace grammask::internal {

// The largest vocabulary: four times the largest known. Bounds what a hostile tokenizer file or
// `vocab_size` can make the library allocate.
inline constexpr int kMaxVocabSize = 1 << 22;

// Byte strings one after the other: string i is text[offsets[i], offsets[i + 1]).
struct StringTable {
  std::span<const uint32_t> offsets;  // one more than there are strings
  std::span<const char> text;

  size_t size() const { return offsets.size() - 1; }
  std::string_view operator[](size_t i) const {
    return {text.data() + offsets[i], offsets[i + 1] - offsets[i]};
  }
};

// Views of everything that a Vocab consists of; see there.
struct VocabTables {
  VocabType type = VocabType::kRaw;
  bool add_prefix_space = false;
  int max_token_bytes = 0;
  StringTable tokens;  // decoded
  std::span<const TrieNode> nodes;
  std::span<const TokenId> trie_tokens;
  std::span<const TokenId> stop_token_ids, special_token_ids;
  // Texts of the tokens that are not in the trie, sorted by (text, id), and their ids.
  StringTable names;
  std::span<const TokenId> name_ids;
};

// One block that holds a copy of the tables.
using VocabImage = std::vector<std::byte, TableAllocator<std::byte, /*kFromReserve=*/false>>;
VocabImage MakeVocabImage(const VocabTables& tables);
// The tables in a block that MakeVocabImage made, unchecked. They point into it.
VocabTables ViewVocabImage(std::span<const std::byte> image);
// Writes the checksum into a block, which CheckVocabImage wants.
void SealVocabImage(std::span<std::byte> image);
// Whether `image`, which may hold anything, is a sealed block of this version that holds the tables
// of some vocabulary: the trie is exactly that of its text tokens, every index is in range, every
// bound holds. If not, kInvalidArgument that says what is wrong, or kUnsupported for a file of
// another version or byte order. `image` is aligned to 8 bytes. Linear, about 0.7 ns a byte.
Status CheckVocabImage(std::span<const std::byte> image);

}  // namespace grammask::internal

#endif  // GRAMMASK_VOCAB_VOCAB_IMAGE_H_
