// Kinds of ASCII characters, whatever the locale.
#ifndef GRAMMASK_BASE_ASCII_H_
#define GRAMMASK_BASE_ASCII_H_

namespace grammask::internal {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The value of a hexadecimal digit in either case, or -1 for any other character.
constexpr int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_ASCII_H_
