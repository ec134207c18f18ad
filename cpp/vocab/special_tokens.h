// What the written text of a token says about its role: end of output, or a control marker.
#ifndef GRAMMASK_VOCAB_SPECIAL_TOKENS_H_
#define GRAMMASK_VOCAB_SPECIAL_TOKENS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace grammask::internal {

// The ids of the tokens whose text is well known to end a model's output, such as "</s>" or
// "<|im_end|>", ascending. Where a token of `special` (valid ids) has such a text, only special
// tokens count: a vocabulary may hold the HTML tag "</s>" as text beside its own "<eos>".
// `texts`: the tokens as written, before decoding.
std::vector<TokenId> DetectStopTokens(std::span<const std::string> texts,
                                      std::span<const TokenId> special);

// True where an added token of this text is a control marker although the tokenizer does not flag
// it special: "<think>", "<|fim_hole|>", "</tool_call>", "[INST]". HTML tags such as "<table>",
// which some vocabularies hold for text, are not. The shapes are set out in docs/tokenizers.md.
bool IsControlMarker(std::string_view text);

}  // namespace grammask::internal

#endif  // GRAMMASK_VOCAB_SPECIAL_TOKENS_H_
