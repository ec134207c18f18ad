// How the pipeline of a Hugging Face tokenizer turns the text of one token into bytes.
#ifndef GRAMMASK_VOCAB_BYTES_STYLE_H_
#define GRAMMASK_VOCAB_BYTES_STYLE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "grammask/vocab_type.h"

namespace grammask::internal {

// One rewriting of a token's text.
struct DecodeStep {
  enum class Kind { kByteLevel, kByteFallback, kReplace };
  Kind kind;
  std::string from, to;  // kReplace: every `from`, not empty, becomes `to`
};

struct BytesStyle {
  std::vector<DecodeStep> steps;     // in order
  VocabType type = VocabType::kRaw;  // which type `steps` is, or the nearest
  bool is_exact = true;              // false where `steps` is none of the types
  bool add_prefix_space = false;
  std::string unsupported;  // why the bytes of a token depend on other tokens; else empty
};

// Reads `decoder`, and where there is none `pre_tokenizer`, `normalizer` and `model`, of
// `tokenizer`, an object. Fields of unexpected types count as absent.
BytesStyle DetectBytesStyle(const nlohmann::json& tokenizer);

// Runs the steps on one token.
void RunDecodeSteps(const std::vector<DecodeStep>& steps, std::string* token);

}  // namespace grammask::internal

#endif  // GRAMMASK_VOCAB_BYTES_STYLE_H_
