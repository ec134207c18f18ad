// A map in parts: finds what an ordinary one finds, and no step of it is as long as the map.
#include "base/sharded_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/mix.h"

namespace grammask::internal {
namespace {

TEST(ShardedMap, FindsWhatAnOrdinaryMapFinds) {
  ShardedMap<uint64_t, uint32_t> map;
  std::unordered_map<uint64_t, uint32_t> expected;
  uint64_t key = 1;
  for (uint32_t i = 0; i < 50'000; ++i) {
    key = key * 6364136223846793005u + 1442695040888963407u;
    const uint64_t some = key >> 48;  // some come again
    const auto [value, added] = map.TryEmplace(some, i);
    EXPECT_EQ(added, expected.try_emplace(some, i).second);
    ASSERT_EQ(*value, expected[some]);
    if (i % 3 == 0) map[some] = expected[some] = i + 7;
  }
  EXPECT_EQ(map.size(), expected.size());
  for (uint64_t some = 0; some < 65'536; ++some) {
    const auto it = expected.find(some);
    const uint32_t* value = std::as_const(map).Find(some);
    ASSERT_EQ(value != nullptr, it != expected.end()) << some;
    EXPECT_EQ(map.Contains(some), value != nullptr);
    if (value != nullptr) {
      EXPECT_EQ(*value, it->second);
    }
  }
  map.Clear();
  EXPECT_EQ(map.size(), 0u);
  EXPECT_FALSE(map.Contains(key >> 48));
}

TEST(ShardedMap, MakesANewValueByItself) {
  ShardedMap<uint32_t, const char*> map;
  EXPECT_EQ(map[3], nullptr);
  EXPECT_TRUE(map.Contains(3));
  EXPECT_EQ(map.size(), 1u);
}

TEST(ShardedMap, KeepsATextOnlyWhereItIsNew) {
  ShardedMap<std::string_view, int, TextHash> map;
  std::deque<std::string> kept;
  auto put = [&](const std::string& text, int value) {
    auto keep = [&]() -> std::string_view { return kept.emplace_back(text); };
    return map.TryEmplaceAs(text, keep, value);
  };
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 1'000; ++i) {
      const auto [value, added] = put("text " + std::to_string(i), i + 1'000 * round);
      EXPECT_EQ(added, round == 0);
      EXPECT_EQ(*value, i);
    }
  }
  EXPECT_EQ(kept.size(), 1'000u);
  EXPECT_EQ(*map.Find("text 999"), 999);
  EXPECT_EQ(map.Find("text 1000"), nullptr);
}

// Counts how often keys are moved and hashed.
struct CountedKey {
  static inline size_t moved = 0, hashed = 0;
  explicit CountedKey(uint64_t v) : value(v) {}
  CountedKey(const CountedKey& other) : value(other.value) { ++moved; }
  CountedKey& operator=(const CountedKey&) = delete;
  friend bool operator==(const CountedKey& x, const CountedKey& y) { return x.value == y.value; }
  uint64_t value;
};
struct CountedHash {
  size_t operator()(const CountedKey& key) const {
    ++CountedKey::hashed;
    return Mix(MixSeed(), key.value);
  }
};

TEST(ShardedMap, GrowsInPartsAndHashesNoKeyAgain) {
  ShardedMap<CountedKey, int, CountedHash> map;
  constexpr size_t kKeys = 40'000;
  size_t most = 0;
  for (uint64_t i = 0; i < kKeys; ++i) {
    const size_t moved = CountedKey::moved, hashed = CountedKey::hashed;
    ASSERT_TRUE(map.TryEmplace(CountedKey(i)).second);
    most = std::max(most, CountedKey::moved - moved);
    ASSERT_EQ(CountedKey::hashed - hashed, 1u);
  }
  EXPECT_GT(CountedKey::moved, kKeys);  // it did grow
  EXPECT_LT(most, kKeys / 10);
}

}  // namespace
}  // namespace grammask::internal
