// Any bytes as a saved vocabulary: an error with a message, or a vocabulary that is consistent,
// saves and loads again, and whose masks agree with what is accepted. The bytes are tried as they
// are, and with a checksum and size that fit, so that what lies behind those is reached.
#include <cstring>
#include <string>
#include <vector>

#include "fuzz/fuzz.h"
#include "vocab/vocab.h"

using namespace grammask;

namespace {

// The offsets of the header's fields, see vocab_image.cc.
constexpr size_t kSize = 24, kHeader = 80;

void Use(const TokenizerInfo& info) {
  FUZZ_CHECK(info.decoded_vocab().size() == static_cast<size_t>(info.vocab_size()), "size");
  const std::string saved = info.Serialize();
  const auto again = TokenizerInfo::Deserialize(saved);
  FUZZ_CHECK(again.ok(), again.status().message());
  FUZZ_CHECK(again->Serialize() == saved, "saved otherwise");
  if (info.vocab_size() > 2000) return;
  const internal::Vocab& vocab = *info.vocab();
  for (int32_t id = 0; id < info.vocab_size(); ++id) {
    const auto found = info.FindToken(vocab.bytes(id));
    FUZZ_CHECK(!vocab.is_text(id) || (found.has_value() && *found <= id), std::to_string(id));
  }
  auto compiler = GrammarCompiler::Create(info);
  FUZZ_CHECK(compiler.ok(), compiler.status().message());
  auto grammar = compiler->CompileEbnf("root ::= ([a-z]* \"<\" | [^a] \"b\"?)*");
  FUZZ_CHECK(grammar.ok(), grammar.status().message());
  auto matcher = GrammarMatcher::Create(*grammar);
  if (!matcher.ok()) return;
  std::vector<int32_t> mask(static_cast<size_t>(GetBitmaskSize(info.vocab_size())) + 1);
  for (int step = 0; step < 3; ++step) {
    const auto filled = matcher->FillNextTokenBitmask(mask.data());
    FUZZ_CHECK(filled.ok(), filled.status().message());
    int32_t next = -1;
    for (int32_t id = 0; id < info.vocab_size(); ++id) {
      const auto word = static_cast<uint32_t>(mask[static_cast<size_t>(id) / 32]);
      const bool allowed = (word >> (id % 32) & 1) != 0;
      const bool accepted = matcher->AcceptToken(id);
      FUZZ_CHECK(allowed == accepted, "token " + std::to_string(id));
      if (accepted) FUZZ_CHECK(matcher->Rollback(1).ok(), "rollback");
      if (accepted && vocab.is_text(id)) next = id;
    }
    if (next < 0 || !matcher->AcceptToken(next)) return;
  }
}

void Try(const std::string& bytes) {
  const auto info = TokenizerInfo::Deserialize(bytes);
  if (!info.ok()) {
    fuzz::CheckError(info.status());
    return;
  }
  Use(*info);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  Try(bytes);
  if (size < kHeader) return 0;
  const uint64_t length = size;
  std::memcpy(bytes.data() + kSize, &length, sizeof(length));
  internal::SealVocabImage(std::as_writable_bytes(std::span(bytes)));
  Try(bytes);
  return 0;
}
