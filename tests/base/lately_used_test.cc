// Values kept as long as they are among those used last.
#include "base/lately_used.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace grammask::internal {
namespace {

auto Is(const std::string& name) {
  return [name](const std::string& value) { return value == name; };
}

TEST(LatelyUsed, TheOldestGoFirst) {
  LatelyUsed<std::string> kept(10);
  EXPECT_EQ(kept.Find(Is("a")), nullptr);
  kept.Add("a", 4);
  kept.Add("b", 4);
  ASSERT_NE(kept.Find(Is("a")), nullptr);
  EXPECT_EQ(*kept.Find(Is("a")), "a");
  kept.Add("c", 2);
  EXPECT_EQ(kept.bytes(), 10u);
  kept.Add("d", 1);
  EXPECT_EQ(kept.bytes(), 7u);
  EXPECT_EQ(kept.Find(Is("b")), nullptr);
  EXPECT_NE(kept.Find(Is("c")), nullptr);
  kept.SetMost(3);
  EXPECT_EQ(kept.bytes(), 3u);
  EXPECT_EQ(kept.Find(Is("a")), nullptr);
  EXPECT_NE(kept.Find(Is("d")), nullptr);
}

TEST(LatelyUsed, WhatIsTooLargeDoesNotStay) {
  LatelyUsed<std::shared_ptr<int>> kept(10);
  const auto value = std::make_shared<int>(1);
  kept.Add(value, 10);
  EXPECT_EQ(value.use_count(), 2);
  kept.Add(value, 11);
  EXPECT_EQ(kept.bytes(), 0u);
  EXPECT_EQ(value.use_count(), 1);
}

}  // namespace
}  // namespace grammask::internal
