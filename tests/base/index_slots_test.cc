// Places in a list by hash, against a search of the list.
#include "base/index_slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace grammask::internal {
namespace {

// Adds numbers to a list where they are not in it yet; `buckets`: how many hashes there are.
void AddAll(size_t numbers, size_t buckets) {
  std::mt19937 random(3);
  std::vector<uint32_t> list;
  IndexSlots slots;
  auto hash_of = [&](uint32_t number) { return number % buckets * 0x9E3779B97F4A7C15u; };
  for (size_t i = 0; i < numbers; ++i) {
    const auto number = static_cast<uint32_t>(random() % numbers);
    uint32_t& slot = slots.Find(
        hash_of(number), list.size(), [&](size_t k) { return hash_of(list[k]); },
        [&](size_t k) { return list[k] == number; });
    const auto known = std::ranges::find(list, number);
    ASSERT_EQ(slot, known == list.end() ? 0 : known - list.begin() + 1);
    if (slot != 0) continue;
    list.push_back(number);
    slot = static_cast<uint32_t>(list.size());
  }
  EXPECT_GT(list.size(), numbers / 2);
}

TEST(IndexSlots, FindsWhatASearchFinds) { AddAll(3000, 1 << 20); }

TEST(IndexSlots, TellsEqualHashesApart) { AddAll(300, 5); }

}  // namespace
}  // namespace grammask::internal
