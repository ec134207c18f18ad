// A fast hash for tables that live in one process.
#ifndef GRAMMASK_BASE_MIX_H_
#define GRAMMASK_BASE_MIX_H_

#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/hash/hash.h"

namespace grammask::internal {

// Begins a hash: another number in each process, so that no input can be made to collide on
// purpose.
inline uint64_t MixSeed() {
  static const uint64_t seed = absl::HashOf(uint64_t{1});
  return seed;
}

// The hash of what `h` is of, followed by `v`. Folds a product of double width, so that each bit of
// the result depends on all bits of both.
inline uint64_t Mix(uint64_t h, uint64_t v) {
  const auto product = static_cast<unsigned __int128>(h ^ v) * 0x9E3779B97F4A7C15u;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// The same, followed by `bytes`; their number should be in the hash, too.
inline uint64_t MixBytes(uint64_t h, std::string_view bytes) {
  const char* p = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; p += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    h = Mix(h, word);
  }
  if (left == 0) return h;
  uint64_t word = 0;
  std::memcpy(&word, p, left);
  return Mix(h, word);
}

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_MIX_H_
