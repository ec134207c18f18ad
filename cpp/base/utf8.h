// UTF-8: decoding, encoding, validity. RFC 3629: scalar values only, no surrogates, shortest forms.
#ifndef GRAMMASK_BASE_UTF8_H_
#define GRAMMASK_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace grammask::internal {

inline constexpr uint32_t kMaxCodePoint = 0x10FFFF;

// The scalar value that starts at `text[pos]`, and its length in bytes (1..4).
struct DecodedChar {
  uint32_t code_point;
  int length;
};

// Decodes one scalar value at `pos` < text.size(); nullopt where the bytes are not valid UTF-8.
std::optional<DecodedChar> DecodeUtf8(std::string_view text, size_t pos);

// Appends `code_point`, a scalar value, to `out`.
void AppendUtf8(uint32_t code_point, std::string* out);
std::string EncodeUtf8(uint32_t code_point);

// The offset of the first byte that is not part of valid UTF-8, or nullopt.
std::optional<size_t> FindInvalidUtf8(std::string_view text);

// The length of the longest prefix of `text` that ends on a character boundary: what remains is an
// incomplete character at the very end (0..3 bytes). Bytes that are invalid anyhow are kept.
size_t CompleteUtf8Prefix(std::string_view text);

// The number of code points of `text`, valid UTF-8.
int64_t CountCodePoints(std::string_view text);

// `text` made fit to show: invalid bytes become \xHH, control characters \n, \t or \xHH.
std::string Printable(std::string_view text);

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_UTF8_H_
