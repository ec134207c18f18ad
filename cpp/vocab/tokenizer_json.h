// The vocabulary in a Hugging Face tokenizer.json: token texts by id, how they write bytes, and
// which tokens are special.
#ifndef GRAMMASK_VOCAB_TOKENIZER_JSON_H_
#define GRAMMASK_VOCAB_TOKENIZER_JSON_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "grammask/limits.h"
#include "grammask/vocab_type.h"

namespace grammask::internal {

struct TokenizerJson {
  // The text of each id, to be decoded by `type`; "" for an id that the file does not use.
  std::vector<std::string> vocab;
  VocabType type = VocabType::kRaw;
  // True where the tokenizer puts a space before the text it encodes.
  bool add_prefix_space = false;
  // Added tokens that are flagged special or have the shape of a control marker, and the token for
  // what is unknown. Ascending.
  std::vector<TokenId> special_token_ids;
};

// Reads a tokenizer.json of which the model is BPE, Unigram or WordLevel and of which the decoder
// maps each token to bytes by itself (byte-level, byte fallback, Metaspace, replacements of one
// text by another). kUnsupported for others, such as WordPiece, where the bytes of a token depend
// on its neighbours; kInvalidArgument where the text is not JSON or not a tokenizer;
// kResourceExhausted over `limits` or over kMaxVocabSize tokens. Linear in the text.
StatusOr<TokenizerJson> ReadTokenizerJson(std::string_view text, const Limits& limits = {});

// How the tokens of a tokenizer.json write bytes; its vocabulary may be absent. A decoder that
// ReadTokenizerJson does not support gives the nearest type.
struct TokenizerStyle {
  VocabType type = VocabType::kRaw;
  bool add_prefix_space = false;
};
StatusOr<TokenizerStyle> DetectTokenizerStyle(std::string_view text, const Limits& limits = {});

}  // namespace grammask::internal

#endif  // GRAMMASK_VOCAB_TOKENIZER_JSON_H_
