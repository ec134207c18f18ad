// A 64-bit digest of a sequence of numbers and byte strings, the same on every machine and run.
#ifndef GRAMMASK_VOCAB_DIGEST_H_
#define GRAMMASK_VOCAB_DIGEST_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace grammask::internal {

// Up to eight bytes, the first the lowest, padded with zeros.
inline uint64_t LittleEndianWord(const char* bytes, size_t size) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, size);
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}

// SipHash-2-4 (Aumasson and Bernstein, 2012) over 64-bit words with a fixed key. Strings are
// preceded by their length, so ("ab", "c") and ("a", "bc") differ. About 2 ns a word.
class Digest {
 public:
  void Add(uint64_t word) {
    v3_ ^= word;
    Round();
    Round();
    v0_ ^= word;
    ++words_;
  }

  void Add(std::string_view bytes) {
    Add(bytes.size());
    size_t pos = 0;
    for (; pos + 8 <= bytes.size(); pos += 8) Add(LittleEndianWord(bytes.data() + pos, 8));
    if (pos < bytes.size()) Add(LittleEndianWord(bytes.data() + pos, bytes.size() - pos));
  }

  uint64_t Finish() {
    Add(words_);
    v2_ ^= 0xFF;
    for (int i = 0; i < 4; ++i) Round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  void Round() {
    v0_ += v1_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v3_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }

  // The paper's constants, with the key 0.
  uint64_t v0_ = 0x736F6D6570736575, v1_ = 0x646F72616E646F6D;
  uint64_t v2_ = 0x6C7967656E657261, v3_ = 0x7465646279746573;
  uint64_t words_ = 0;
};

// A digest of much at once, the same on every machine and run: four lanes, so that it runs at
// memory speed. Each byte changes the result. Where one text ends and the next begins is not in it.
class LaneDigest {
 public:
  void Add(std::string_view bytes) {
    size_t at = 0;
    for (; at + 32 <= bytes.size(); at += 32) {
      for (size_t i = 0; i < 4; ++i) Mix(i, LittleEndianWord(bytes.data() + at + 8 * i, 8));
    }
    for (; at < bytes.size(); ++at) Mix(at % 4, static_cast<uint8_t>(bytes[at]));
  }

  void Add(std::span<const uint32_t> numbers) {
    size_t at = 0;
    for (; at + 4 <= numbers.size(); at += 4) {
      for (size_t i = 0; i < 4; ++i) Mix(i, numbers[at + i]);
    }
    for (; at < numbers.size(); ++at) Mix(at % 4, numbers[at]);
  }

  void Finish(Digest* digest) const {
    for (uint64_t lane : lanes_) digest->Add(lane);
  }

 private:
  void Mix(size_t i, uint64_t word) {
    const uint64_t lane = (lanes_[i] ^ word) * 0x9E3779B97F4A7C15;
    lanes_[i] = lane ^ lane >> 32;
  }

  std::array<uint64_t, 4> lanes_ = {0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0,
                                    0x082EFA98EC4E6C89};
};

}  // namespace grammask::internal

#endif  // GRAMMASK_VOCAB_DIGEST_H_
