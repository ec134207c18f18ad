// What the fuzz targets share: a failed check ends the program, which is how a fuzzer is told.
#ifndef GRAMMASK_TESTS_FUZZ_FUZZ_H_
#define GRAMMASK_TESTS_FUZZ_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammask/grammask.h"

#define FUZZ_CHECK(cond, detail)                                                        \
  do {                                                                                  \
    if (!(cond)) {                                                                      \
      std::fprintf(stderr, "%s:%d: does not hold: %s: %s\n", __FILE__, __LINE__, #cond, \
                   std::string(detail).c_str());                                        \
      std::abort();                                                                     \
    }                                                                                   \
  } while (false)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace grammask::fuzz {

// Takes an input apart from its front. Past the end it yields zeros and empty texts.
class InputReader {
 public:
  InputReader(const uint8_t* data, size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  uint8_t Byte() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return byte;
  }
  // Up to the next `separator`, which is dropped; the rest where there is none.
  std::string_view Until(std::string_view separator) {
    const size_t end = rest_.find(separator);
    const std::string_view part = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + separator.size());
    return part;
  }
  std::string_view Rest() {
    const std::string_view rest = rest_;
    rest_ = {};
    return rest;
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// Bounds that keep one input within milliseconds.
inline Limits SmallLimits() {
  Limits limits;
  limits.max_source_bytes = 1 << 16;
  limits.max_nesting = 500;
  limits.max_boolean_nesting = 8;
  limits.max_ast_nodes = 20'000;
  limits.max_regular_states = 2'000;
  limits.max_schema_steps = 20'000;
  limits.arena_bytes = 32 << 20;
  return limits;
}

// A vocabulary of text tokens but for one, which ends the text.
inline TokenizerInfo MakeTokenizer(std::vector<std::string> tokens, int32_t stop) {
  TokenizerOptions options;
  options.stop_token_ids = {stop};
  auto created = TokenizerInfo::Create(std::move(tokens), options);
  FUZZ_CHECK(created.ok(), created.status().message());
  return *std::move(created);
}

// An error must say something, and must never be a fault of the library itself.
inline void CheckError(const Status& status) {
  FUZZ_CHECK(!status.message().empty(), "an error without a message");
  FUZZ_CHECK(status.code() != StatusCode::kInternal, status.message());
}

}  // namespace grammask::fuzz

#endif  // GRAMMASK_TESTS_FUZZ_FUZZ_H_
