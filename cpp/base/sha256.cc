// SHA-256 as FIPS 180-4 defines it, over a text that is there as a whole.
//
// Its two tables are the first 32 bits behind the point of the square roots of the first eight
// primes and of the cube roots of the first 64, and are worked out so when the program is compiled.
// Example: the digest of "abc" begins with BA 78 16 BF. Tests: tests/base/sha256_test.cc.
#include "base/sha256.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace grammask::internal {
namespace {

using Words = std::array<uint32_t, 8>;

constexpr std::array<uint32_t, 64> FirstPrimes() {
  std::array<uint32_t, 64> primes{};
  size_t found = 0;
  for (uint32_t n = 2; found < primes.size(); ++n) {
    bool prime = true;
    for (size_t i = 0; prime && i < found && primes[i] * primes[i] <= n; ++i) {
      prime = n % primes[i] != 0;
    }
    if (prime) primes[found++] = n;
  }
  return primes;
}

// The lowest 32 bits of the largest x with x^power <= n << (32 * power).
constexpr uint32_t RootFraction(uint32_t n, int power) {
  uint64_t root = 0;
  for (int bit = 36; bit >= 0; --bit) {
    const uint64_t x = root | uint64_t{1} << bit;
    // x^power <= n << (32 * power), without what is beyond 128 bits: x has 37 bits at most.
    const auto square = static_cast<unsigned __int128>(x) * x;
    const bool fits = power == 2 ? square <= static_cast<unsigned __int128>(n) << 64
                                 : square * x <= static_cast<unsigned __int128>(n) << 96;
    if (fits) root = x;
  }
  return static_cast<uint32_t>(root);
}

template <size_t kCount>
constexpr std::array<uint32_t, kCount> RootFractions(int power) {
  const std::array<uint32_t, 64> primes = FirstPrimes();
  std::array<uint32_t, kCount> fractions{};
  for (size_t i = 0; i < kCount; ++i) fractions[i] = RootFraction(primes[i], power);
  return fractions;
}

constexpr Words kFirst = RootFractions<8>(2);
constexpr std::array<uint32_t, 64> kRounds = RootFractions<64>(3);

void AddBlock(const uint8_t* block, Words* state) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i) {
    w[i] = uint32_t{block[4 * i]} << 24 | uint32_t{block[4 * i + 1]} << 16 |
           uint32_t{block[4 * i + 2]} << 8 | block[4 * i + 3];
  }
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3) + w[i - 7] +
           (std::rotr(y, 17) ^ std::rotr(y, 19) ^ y >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = *state;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
    const uint32_t first =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + choice + kRounds[i] + w[i];
    const uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + majority;
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const Words added = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < added.size(); ++i) (*state)[i] += added[i];
}

}  // namespace

std::array<uint8_t, 32> Sha256(std::string_view bytes) {
  Words state = kFirst;
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t left = bytes.size();
  for (; left >= 64; left -= 64, data += 64) AddBlock(data, &state);
  // The rest, a bit that is set, zeros, and the length in bits: one block or two.
  std::array<uint8_t, 128> last{};
  if (left > 0) std::memcpy(last.data(), data, left);
  last[left] = 0x80;
  const size_t size = left < 56 ? 64 : 128;
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  for (size_t i = 0; i < 8; ++i) last[size - 1 - i] = static_cast<uint8_t>(bits >> (8 * i));
  for (size_t at = 0; at < size; at += 64) AddBlock(&last[at], &state);
  std::array<uint8_t, 32> digest;
  for (size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

}  // namespace grammask::internal
