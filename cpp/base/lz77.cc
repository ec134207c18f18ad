// The packed text is its length, then runs until it is whole: how many bytes stand here as they
// are, these; and unless they end the text, how many bytes more than kLeast are to be copied and
// from how far before the end of what there is. A copy may reach into what it writes.
//
// Packing is greedy: the last place where the same kLeast bytes stood is the only one tried.
#include "base/lz77.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/byte_codec.h"

namespace grammask::internal {
namespace {

constexpr size_t kLeast = 6;  // of a copy; shorter ones are hardly shorter than what they stand for
constexpr int kHashBits = 13;
constexpr size_t kStride = 8;  // between the places noted within a copy

size_t HashAt(std::string_view text, size_t at) {
  uint64_t word = 0;
  std::memcpy(&word, text.data() + at, kLeast);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return static_cast<size_t>(word * 0x9E3779B97F4A7C15 >> (64 - kHashBits));
}

// How many bytes from `at` on are those from `earlier` on.
size_t CommonLength(std::string_view text, size_t earlier, size_t at) {
  const char *a = text.data() + earlier, *b = text.data() + at;
  const size_t most = text.size() - at;
  size_t length = 0;
  for (; length + 8 <= most; length += 8) {
    if (std::memcmp(a + length, b + length, 8) != 0) break;
  }
  while (length < most && a[length] == b[length]) ++length;
  return length;
}

}  // namespace

std::string Lz77Pack(std::string_view text) {
  ByteWriter out;
  out.Number(text.size());
  std::vector<size_t> last(size_t{1} << kHashBits, SIZE_MAX);  // where bytes of this hash began
  size_t written = 0, at = 0;
  while (at + kLeast <= text.size()) {
    size_t& slot = last[HashAt(text, at)];
    const size_t earlier = slot;
    slot = at;
    const size_t length = earlier == SIZE_MAX ? 0 : CommonLength(text, earlier, at);
    if (length < kLeast) {
      ++at;
      continue;
    }
    out.Text(text.substr(written, at - written));
    out.Number(length - kLeast);
    out.Number(at - earlier);
    const size_t end = at + length;
    for (at += kStride; at < end && at + kLeast <= text.size(); at += kStride) {
      last[HashAt(text, at)] = at;
    }
    written = at = end;
  }
  if (written < text.size()) out.Text(text.substr(written));
  return out.bytes();
}

uint64_t Lz77Length(std::string_view packed) { return ByteReader(packed).Number(); }

std::optional<std::string> Lz77Unpack(std::string_view packed, size_t most) {
  ByteReader in(packed);
  const auto size = static_cast<size_t>(in.Number(most));
  std::string text;
  while (in.ok() && text.size() < size) {
    const std::string_view plain = in.Text();
    if (plain.size() > size - text.size()) return std::nullopt;
    text += plain;
    if (text.size() == size) break;
    const uint64_t more = in.Number(size), back = in.Number(text.size());
    const size_t length = static_cast<size_t>(more) + kLeast;
    if (!in.ok() || back == 0 || length > size - text.size()) return std::nullopt;
    const size_t from = text.size() - static_cast<size_t>(back);
    if (back >= length) {
      text.append(text, from, length);
    } else {
      for (size_t i = 0; i < length; ++i) text += text[from + i];
    }
  }
  if (!in.ok() || in.left() > 0) return std::nullopt;
  return text;
}

}  // namespace grammask::internal
