// The digests of FIPS 180-4's examples, and those of texts around the ends of blocks.
#include "base/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace grammask::internal {
namespace {

std::string Hex(std::string_view text) {
  std::string hex;
  for (const uint8_t byte : Sha256(text)) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

TEST(Sha256, Examples) {
  EXPECT_EQ(Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(Hex(std::string(55, '\xFE')),
            "3ffe2ad719ec77a00db0ffabd0aa806aa346d9dc7ceb8242073b4a37590e949e");
  EXPECT_EQ(Hex(std::string(56, '\xFE')),
            "bc64a406cee25d64a86d62662470d77bfa826365bd01ddb68968eaf8e67fcc0f");
  EXPECT_EQ(Hex(std::string(63, '\xFE')),
            "50e6399fafe0c54117b8b6937d2f1c7ee8296b93995374c72700d026e44ae102");
  EXPECT_EQ(Hex(std::string(64, '\xFE')),
            "a6ea050bdbf38d5e5a07dd106f6becce8bcd0c6a3fefd1d26609751f8bbe5d48");
  EXPECT_EQ(Hex(std::string(65, '\xFE')),
            "d60725cf09d6a963b1b0ee615d3ef5b20e1a1538c2975150697d0d37f2b745da");
  EXPECT_EQ(Hex(std::string(119, '\xFE')),
            "3a90363e1df65f0477a86fa8ca6f7d96117c22803a3bced6456f8ddbdfe15ed3");
  EXPECT_EQ(Hex(std::string(120, '\xFE')),
            "73af381760427980704da8ceedc9d46319641ebefafe8d19f9ca1a07bf79e24d");
  EXPECT_EQ(Hex(std::string(128, '\xFE')),
            "790cd9bcaea55206a68c9d19e44f47cb7d5e1d515d6249b29f704e19f31a04cf");
}

}  // namespace
}  // namespace grammask::internal
