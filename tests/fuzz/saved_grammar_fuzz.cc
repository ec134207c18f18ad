// Any bytes as a saved grammar. The header is made right again (vocabulary, lengths, checksum), so
// that what is behind it is reached. Loaded as from anyone it is refused with a message, or it is a
// grammar whose masks are right along a short walk; loaded as trusted nothing must go wrong but the
// masks. The last bytes direct the walk.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/fuzz.h"
#include "fuzz/walk.h"
#include "matcher/saved_grammar.h"
#include "vocab/vocab.h"

using namespace grammask;

namespace {

constexpr size_t kHeader = 64, kWalk = 16;

const TokenizerInfo& Tokenizer() {
  static const TokenizerInfo tokenizer = [] {
    std::vector<std::string> tokens;
    for (int c = 0x20; c < 0x7F; ++c) tokens.emplace_back(1, static_cast<char>(c));
    for (const char* token : {"\n", "</s>", "{\"", "\":", ", \"", "\"}", "true", "[]", "},", "\\u",
                              "00", "1.5", "\xC3", "\xA9", "abc", "  ", "\",", "]}"}) {
      tokens.emplace_back(token);
    }
    return fuzz::MakeTokenizer(std::move(tokens), 96);
  }();
  return tokenizer;
}

void Put(std::string* file, size_t at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) (*file)[at + i] = static_cast<char>(value >> (8 * i));
}

uint64_t Get(const std::string& file, size_t at) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value |= uint64_t{static_cast<uint8_t>(file[at + i])} << (8 * i);
  return value;
}

void Reseal(std::string* file) {
  Put(file, 12, static_cast<uint64_t>(Tokenizer().vocab_size()), 4);
  Put(file, 16, Tokenizer().vocab()->fingerprint(), 8);
  uint64_t left = file->size() - kHeader;
  for (size_t part = 0; part < 4; ++part) {
    const uint64_t length = part == 3 ? left : std::min(Get(*file, 24 + 8 * part), left);
    Put(file, 24 + 8 * part, length, 8);
    left -= length;
  }
  Put(file, internal::kSavedChecksumAt, internal::SavedChecksum(*file), 8);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string file(reinterpret_cast<const char*>(data), size);
  const std::string walk = file.substr(file.size() - std::min(file.size(), kWalk));
  if (file.size() >= kHeader) Reseal(&file);
  LoadOptions options;
  options.limits = fuzz::SmallLimits();
  const auto loaded = CompiledGrammar::Deserialize(file, Tokenizer(), options);
  if (loaded.ok()) {
    fuzz::InputReader input(reinterpret_cast<const uint8_t*>(walk.data()), walk.size());
    fuzz::CheckWalk(*loaded, &input, 10);
    const auto again = loaded->Serialize();
    FUZZ_CHECK(again.ok(), again.status().message());
    FUZZ_CHECK(!loaded->grammar().ToString().empty(), "a grammar without text");
  } else {
    fuzz::CheckError(loaded.status());
  }
  options.trusted = true;
  const auto trusted = CompiledGrammar::Deserialize(file, Tokenizer(), options);
  if (!trusted.ok()) {
    fuzz::CheckError(trusted.status());
    return 0;
  }
  auto matcher = GrammarMatcher::Create(*trusted);
  FUZZ_CHECK(matcher.ok(), matcher.status().message());
  std::vector<int32_t> mask(static_cast<size_t>(matcher->mask_words()));
  for (char step : walk) {
    if (!matcher->FillNextTokenBitmask(mask.data()).ok()) break;
    for (int32_t i = 0; i < matcher->vocab_size(); ++i) {
      const int32_t token = (i + static_cast<uint8_t>(step)) % matcher->vocab_size();
      if (matcher->AcceptToken(token)) break;
    }
  }
  return 0;
}
