// A fast hash for tables that live in one process.
#ifndef GRAMMASK_BASE_MIX_H_
#define GRAMMASK_BASE_MIX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

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

// The same, followed by `bytes`; their number should be in the hash, too. What is left over of the
// eights is read once more with bytes before it, or of few bytes some twice: no call, no loop. Of
// many bytes each four eights go on in four chains, as each step of one waits for the one before.
inline uint64_t MixBytes(uint64_t h, std::string_view bytes) {
  auto eight = [](const char* at) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    return word;
  };
  auto four = [](const char* at) {
    uint32_t word;
    std::memcpy(&word, at, 4);
    return uint64_t{word};
  };
  const char* p = bytes.data();
  const size_t size = bytes.size();
  if (size >= 64) {
    std::array<uint64_t, 4> chains = {h, Mix(h, 1), Mix(h, 2), Mix(h, 3)};
    auto add = [&](const char* at) {
      for (size_t i = 0; i < chains.size(); ++i) chains[i] = Mix(chains[i], eight(at + 8 * i));
    };
    const char* last = p + size - 32;
    for (; p < last; p += 32) add(p);
    add(last);
    return Mix(Mix(chains[0], chains[1]), Mix(chains[2], chains[3]));
  }
  if (size >= 8) {
    const char* last = p + size - 8;
    for (; p < last; p += 8) h = Mix(h, eight(p));
    return Mix(h, eight(last));
  }
  if (size >= 4) return Mix(h, four(p) << 32 | four(p + size - 4));
  if (size == 0) return h;
  auto one = [&](size_t at) { return uint64_t{static_cast<unsigned char>(p[at])}; };
  return Mix(h, one(0) << 16 | one(size / 2) << 8 | one(size - 1));
}

// A text by itself, in 32 bits.
inline uint32_t HashText(std::string_view text) {
  const uint64_t h = MixBytes(Mix(MixSeed(), text.size()), text);
  return static_cast<uint32_t>(h ^ h >> 32);
}

// The bytes of some values, as a key of such a table: for types without padding.
template <class T>
std::string_view BytesOf(std::span<const T> values) {
  static_assert(std::has_unique_object_representations_v<T>);
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

// For tables of texts, and of numbered texts.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const {
    return MixBytes(Mix(MixSeed(), text.size()), text);
  }
  template <class Id>
  size_t operator()(const std::pair<Id, std::string_view>& text) const {
    return Mix((*this)(text.second), text.first.value);
  }
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_MIX_H_
