// Text in fewer bytes: what stood before is written as how far back and how long it is (LZ77). For
// text that is kept and hardly ever read, such as the grammar in a saved one, of which a sixth is
// left.
#ifndef GRAMMASK_BASE_LZ77_H_
#define GRAMMASK_BASE_LZ77_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace grammask::internal {

// The same bytes for the same text, on any machine. Cost: some 3 ns a byte.
std::string Lz77Pack(std::string_view text);

// How long the text is that `packed` promises, which may be anything.
uint64_t Lz77Length(std::string_view packed);

// What Lz77Pack was given, from bytes that may be anything: nullopt where they are no such text, or
// one of more than `most` bytes. Cost: 1 ns a byte.
std::optional<std::string> Lz77Unpack(std::string_view packed, size_t most);

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_LZ77_H_
