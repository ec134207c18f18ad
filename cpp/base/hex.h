// Hexadecimal digits.
#ifndef GRAMMASK_BASE_HEX_H_
#define GRAMMASK_BASE_HEX_H_

namespace grammask::internal {

// The value of a hexadecimal digit in either case, or -1 for any other character.
constexpr int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_HEX_H_
