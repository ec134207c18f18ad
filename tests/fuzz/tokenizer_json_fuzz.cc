// Any bytes as a tokenizer.json: an error with a message, or a vocabulary that is consistent and
// whose metadata reads back.
#include <string>
#include <vector>

#include "fuzz/fuzz.h"

using namespace grammask;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::InputReader input(data, size);
  const std::string text(input.Rest());
  const auto detected = DetectTokenizerMetadata(text);
  if (!detected.ok()) fuzz::CheckError(detected.status());
  const auto tokenizer = TokenizerInfo::FromTokenizerJson(text);
  if (!tokenizer.ok()) {
    fuzz::CheckError(tokenizer.status());
    return 0;
  }
  FUZZ_CHECK(detected.ok(), "a vocabulary without metadata");
  // Tokens whose decoder is none of the types are decoded by the reader, and are raw then.
  FUZZ_CHECK(
      tokenizer->vocab_type() == detected->type || tokenizer->vocab_type() == VocabType::kRaw,
      "the two ways to detect a type differ");
  FUZZ_CHECK(tokenizer->decoded_vocab().size() == static_cast<size_t>(tokenizer->vocab_size()),
             "size");
  for (const auto* ids : {&tokenizer->stop_token_ids(), &tokenizer->special_token_ids()}) {
    for (const int32_t id : *ids) {
      FUZZ_CHECK(id >= 0 && id < tokenizer->vocab_size(), std::to_string(id));
    }
  }
  const std::string metadata = tokenizer->DumpMetadata();
  const auto again = TokenizerInfo::FromVocabAndMetadata(
      std::vector<std::string>(static_cast<size_t>(tokenizer->vocab_size()), "x"), metadata);
  FUZZ_CHECK(again.ok(), metadata);
  FUZZ_CHECK(again->DumpMetadata() == metadata, metadata + " became " + again->DumpMetadata());
  return 0;
}
