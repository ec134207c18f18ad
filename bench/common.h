// What the benchmarks share.
#ifndef GRAMMASK_BENCH_COMMON_H_
#define GRAMMASK_BENCH_COMMON_H_

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammask/grammask.h"

namespace grammask::bench {

template <class T>
T OrDie(StatusOr<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "error: %s\n", result.status().message().c_str());
    std::exit(1);
  }
  return std::move(result).value();
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "error: cannot read %s\n", path.c_str());
    std::exit(1);
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// `size` different tokens in the manner of a byte-pair vocabulary: all single bytes, then pieces of
// words, numbers, punctuation and some multi-byte characters. The same on every machine. The last
// token is the stop token.
inline std::vector<std::string> MadeUpTokens(size_t size) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  static const char* const kPieces[] = {"the", "ing", "tion", "er", "in", "on", "re", "at",
                                        "en",  "ed",  "is",   "it", "al", "ar", "or", "st",
                                        "se",  "le",  "ti",   "ra", "ma", "co", "de", "pro",
                                        "com", "un",  "e",    "a",  "s",  "t"};
  static const char* const kMarks[] = {"\"", "\":", "\",", "\"}", "{\"", "[", "]",
                                       "},", "  ",  "\n",  ":",   ", ",  ".", "-",
                                       "_",  "/",   "\\",  "\\n", "()",  "=="};
  static const char* const kOthers[] = {"\xC3\xA9", "\xC3\xBC", "\xE4\xB8\xAD",     "\xE6\x96\x87",
                                        "\xD0\xB0", "\xD0\xBD", "\xF0\x9F\x98\x80", "\xE2\x80\x94"};
  std::mt19937_64 random(1);
  const auto pick = [&](auto& list) { return list[random() % std::size(list)]; };
  std::vector<std::string> made;
  while (tokens.size() + made.size() + 1 < size) {
    const size_t missing = size - 1 - tokens.size() - made.size();
    for (size_t i = 0; i < missing; ++i) {
      std::string token = random() % 2 == 0 ? " " : "";
      const auto kind = random() % 20;
      const size_t parts = 1 + random() % 4;
      for (size_t p = 0; p < parts; ++p) {
        if (kind == 0)
          token += pick(kOthers);
        else if (kind == 1)
          token += std::to_string(random() % 1000);
        else if (kind == 2)
          token += pick(kMarks);
        else
          token += pick(kPieces);
      }
      if (kind == 3) token += pick(kMarks);
      made.push_back(std::move(token));
    }
    std::sort(made.begin(), made.end());
    made.erase(std::unique(made.begin(), made.end()), made.end());
  }
  tokens.insert(tokens.end(), made.begin(), made.end());
  tokens.emplace_back("</s>");
  return tokens;
}

inline TokenizerInfo MadeUpTokenizer(size_t size = 128'000) {
  TokenizerOptions options;
  options.stop_token_ids = {{static_cast<int32_t>(size) - 1}};
  return OrDie(TokenizerInfo::Create(MadeUpTokens(size), options));
}

// The greedy cut of a text into tokens: the longest of at most 16 bytes at each place. Each single
// byte of the text must be a token.
inline std::vector<int32_t> CutIntoTokens(const TokenizerInfo& tokenizer, std::string_view text) {
  std::vector<int32_t> tokens;
  for (size_t at = 0; at < text.size();) {
    for (size_t length = std::min<size_t>(16, text.size() - at); length > 0; --length) {
      const std::optional<int32_t> token = tokenizer.FindToken(text.substr(at, length));
      if (!token.has_value()) continue;
      tokens.push_back(*token);
      at += length;
      break;
    }
  }
  return tokens;
}

}  // namespace grammask::bench

#endif  // GRAMMASK_BENCH_COMMON_H_
