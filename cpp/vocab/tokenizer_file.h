// The parts of a tokenizer.json that matter here, read in one pass.
#ifndef GRAMMASK_VOCAB_TOKENIZER_FILE_H_
#define GRAMMASK_VOCAB_TOKENIZER_FILE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "grammask/limits.h"

namespace grammask::internal {

struct TokenizerFile {
  // model.vocab: (text, id) in the file's order, be it an object {text: id} or a list of
  // [text, score], where the id is the position.
  std::vector<std::pair<std::string, int64_t>> vocab;
  bool has_vocab = false;
  // Everything else but model.merges and model.vocab: an object.
  nlohmann::json rest;
};

// Parses `text` without building what is not needed. kInvalidArgument, with the place, where it is
// not JSON, not an object, or has a vocabulary of another shape; kResourceExhausted over
// max_source_bytes or max_nesting. Linear; no recursion.
StatusOr<TokenizerFile> ParseTokenizerFile(std::string_view text, const Limits& limits);

}  // namespace grammask::internal

#endif  // GRAMMASK_VOCAB_TOKENIZER_FILE_H_
