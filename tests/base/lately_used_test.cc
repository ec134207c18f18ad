// Values kept as long as they are among those used last.
#include "base/lately_used.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace grammask::internal {
namespace {

auto Is(const std::string& name) {
  return [name](const std::string& key) { return key == name; };
}

class Names {
 public:
  explicit Names(size_t most_bytes) : kept(most_bytes) {}
  std::shared_ptr<const int> Add(const std::string& name, size_t bytes) {
    return kept.Add(Is(name), name, std::make_shared<const int>(1), bytes);
  }
  bool Has(const std::string& name) { return kept.Find(Is(name)) != nullptr; }

  LatelyUsed<std::string, int> kept;
};

TEST(LatelyUsed, TheOldestGoFirst) {
  Names names(10);
  EXPECT_FALSE(names.Has("a"));
  const auto a = names.Add("a", 4);
  names.Add("b", 4);
  EXPECT_EQ(names.kept.Find(Is("a")), a);
  names.Add("c", 2);
  EXPECT_EQ(names.kept.bytes(), 10u);
  names.Add("d", 1);
  EXPECT_EQ(names.kept.bytes(), 7u);
  EXPECT_FALSE(names.Has("b"));
  EXPECT_TRUE(names.Has("c"));
  names.kept.SetMost(3);
  EXPECT_EQ(names.kept.bytes(), 3u);
  EXPECT_FALSE(names.Has("a"));
  EXPECT_TRUE(names.Has("d"));
  EXPECT_EQ(*a, 1);  // whoever has it keeps it
}

TEST(LatelyUsed, OneForAKey) {
  Names names(10);
  const auto a = names.Add("a", 4);
  EXPECT_EQ(names.Add("a", 4), a);
  EXPECT_EQ(names.kept.bytes(), 4u);
}

TEST(LatelyUsed, WhatIsTooLargeDoesNotStay) {
  Names names(10);
  const auto a = names.Add("a", 10);
  EXPECT_EQ(a.use_count(), 2);
  const auto b = names.Add("b", 11);
  EXPECT_EQ(b.use_count(), 1);
  EXPECT_EQ(names.kept.bytes(), 0u);
  EXPECT_EQ(a.use_count(), 1);
}

TEST(LatelyUsed, FromManyThreads) {
  Names names(40);
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&names, k] {
      for (int i = 0; i < 500; ++i) {
        const std::string name = std::to_string((i * (k + 1)) % 17);
        EXPECT_EQ(*names.Add(name, 4), 1);
        names.Has(std::to_string(i % 17));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(names.kept.bytes(), 40u);
}

}  // namespace
}  // namespace grammask::internal
