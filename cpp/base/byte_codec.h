// Numbers and texts to bytes and back. Reading trusts nothing: past the end, or past a bound, the
// reader fails and yields zeros from then on.
#ifndef GRAMMASK_BASE_BYTE_CODEC_H_
#define GRAMMASK_BASE_BYTE_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace grammask::internal {

// Appends to a byte string. Numbers are little-endian: in as few groups of seven bits as they need
// (LEB128), or of a fixed size.
class ByteWriter {
 public:
  void Byte(uint8_t value) { out_ += static_cast<char>(value); }
  void Number(uint64_t value) {
    while (value >= 0x80) {
      Byte(static_cast<uint8_t>(value | 0x80));
      value >>= 7;
    }
    Byte(static_cast<uint8_t>(value));
  }
  void Fixed(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) Byte(static_cast<uint8_t>(value >> (8 * i)));
  }
  void Bytes(std::string_view bytes) { out_ += bytes; }
  void Text(std::string_view text) {
    Number(text.size());
    Bytes(text);
  }
  size_t size() const { return out_.size(); }
  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

// Reads what ByteWriter wrote. The bytes must outlive it.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes)
      : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()) {}

  bool ok() const { return ok_; }
  // Where the next read begins; where it failed, the place of the failure.
  size_t offset() const { return static_cast<size_t>(at_ - begin_); }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  void Fail() {
    ok_ = false;
    end_ = at_;  // so that nothing is left, which is all that reading looks at
  }

  uint8_t Byte() {
    if (at_ == end_) {
      Fail();
      return 0;
    }
    return static_cast<uint8_t>(*at_++);
  }
  // A number of at most `max`.
  uint64_t Number(uint64_t max = UINT64_MAX) {
    if (at_ != end_) {  // most are one byte
      const auto byte = static_cast<uint8_t>(*at_);
      if (byte < 0x80 && byte <= max) {
        ++at_;
        return byte;
      }
    }
    return LongNumber(max);
  }
  // How many things follow, each of at least `least_bytes` bytes: so no more than there is room
  // for.
  size_t Count(size_t least_bytes) { return static_cast<size_t>(Number(left() / least_bytes)); }
  uint64_t Fixed(int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= uint64_t{Byte()} << (8 * i);
    return ok_ ? value : 0;
  }
  std::string_view Bytes(size_t count) {
    if (count > left()) {
      Fail();
      return {};
    }
    at_ += count;
    return {at_ - count, count};
  }
  std::string_view Text() { return Bytes(Count(1)); }

 private:
  uint64_t LongNumber(uint64_t max) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t byte = Byte();
      const uint64_t bits = byte & 0x7F;
      if (shift == 63 && (bits > 1 || byte >= 0x80)) Fail();
      if (!ok_) return 0;
      value |= bits << shift;
      if (byte < 0x80) break;
    }
    if (value <= max) return value;
    Fail();
    return 0;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  bool ok_ = true;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_BYTE_CODEC_H_
