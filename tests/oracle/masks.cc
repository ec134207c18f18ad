// A parser set and a vocabulary to the tokens that may come next, one token at a time.
//
// By definition: a token may come where the parser, given its bytes or its id, does not die. Cost:
// a step for every byte of the vocabulary.
#include "oracle/masks.h"

#include <optional>
#include <string_view>

namespace grammask::internal {

std::vector<TokenId> AllowedByTrying(SetTable* sets, const Vocab& vocab, SetId set) {
  std::vector<TokenId> allowed;
  for (TokenId token = 0; token < vocab.size(); ++token) {
    std::optional<std::string_view> text;
    if (vocab.is_text(token)) text = vocab.bytes(token);
    const SetId next = sets->StepToken(set, token, text, text.has_value());
    if (next != SetTable::Dead()) allowed.push_back(token);
  }
  return allowed;
}

std::vector<TokenId> TokensOf(std::span<const uint32_t> row) {
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < row.size() * 32; ++i) {
    if (((row[i / 32] >> (i % 32)) & 1) != 0) tokens.push_back(static_cast<TokenId>(i));
  }
  return tokens;
}

}  // namespace grammask::internal
