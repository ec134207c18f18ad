// SHA-256 (FIPS 180-4): names of things that whoever makes them cannot make collide.
#ifndef GRAMMASK_BASE_SHA256_H_
#define GRAMMASK_BASE_SHA256_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace grammask::internal {

// The digest of `bytes`. Some 5 ns a byte.
std::array<uint8_t, 32> Sha256(std::string_view bytes);

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_SHA256_H_
