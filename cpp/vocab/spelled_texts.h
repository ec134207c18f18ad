// Where a trie of tokens spells a JSON string's text in another way than plainly.
#ifndef GRAMMASK_VOCAB_SPELLED_TEXTS_H_
#define GRAMMASK_VOCAB_SPELLED_TEXTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "vocab/vocab.h"

namespace grammask::internal {

// A node that lies below another by characters of a JSON string, some of them escaped, and then the
// quote that ends it: what the characters say, and the quote's node.
struct SpelledText {
  std::string text;
  uint32_t node;
  friend auto operator<=>(const SpelledText&, const SpelledText&) = default;
};
// Those below `from`, ascending by text. Looks only at nodes above which such may be.
std::vector<SpelledText> FindSpelledTexts(const Vocab& vocab, uint32_t from);

}  // namespace grammask::internal

#endif  // GRAMMASK_VOCAB_SPELLED_TEXTS_H_
