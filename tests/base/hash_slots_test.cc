// Numbers by hash, through growth and collisions.
#include "base/hash_slots.h"

#include <gtest/gtest.h>

#include <vector>

namespace grammask::internal {
namespace {

TEST(HashSlots, FindsWhatWasPut) {
  // Hashes that share their low bits, and some that are equal.
  for (uint32_t step : {1u, 64u, 0u}) {
    HashSlots slots(4);
    for (uint32_t n = 0; n < 300; ++n) {
      size_t place = 0;
      ASSERT_FALSE(slots.Find(n * step, [&](uint32_t m) { return m == n; }, &place).has_value());
      slots.Put(place, n * step, n);
    }
    for (uint32_t n = 0; n < 300; ++n) {
      const auto found = slots.Find(n * step, [&](uint32_t m) { return m == n; });
      ASSERT_EQ(found, std::optional<uint32_t>(n)) << step;
    }
    EXPECT_FALSE(slots.Find(300 * step, [](uint32_t m) { return m == 300; }).has_value());
    EXPECT_GE(slots.memory_bytes(), 600 * sizeof(uint64_t));
  }
}

// Only numbers of the very hash are compared.
TEST(HashSlots, ComparesWhereHashesAgree) {
  HashSlots slots(4);
  for (uint32_t hash : {7u, 7u + (1u << 20), 8u}) {
    size_t place = 0;
    slots.Find(hash, [](uint32_t) { return false; }, &place);
    slots.Put(place, hash, hash);
  }
  std::vector<uint32_t> asked;
  slots.Find(7u + (1u << 20), [&](uint32_t n) {
    asked.push_back(n);
    return false;
  });
  EXPECT_EQ(asked, std::vector<uint32_t>{7u + (1u << 20)});
}

}  // namespace
}  // namespace grammask::internal
