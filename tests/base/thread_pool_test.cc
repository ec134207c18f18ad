// The thread pool: every index once, from any number of threads and callers.
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

namespace grammask::internal {
namespace {

TEST(ThreadPool, EveryIndexOnce) {
  for (int threads : {-3, 0, 1, 2, 3, 16}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), std::max(threads, 1));
    for (size_t n : {0, 1, 2, 3, 17, 1000}) {
      std::vector<std::atomic<int>> calls(n);
      pool.ForEach(n, [&](size_t i) { ++calls[i]; });
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(calls[i], 1) << i << " of " << n;
    }
  }
}

// Rounds follow one another closely, so that late workers of one meet the next.
TEST(ThreadPool, ManyRounds) {
  ThreadPool pool(4);
  size_t expected = 0;
  std::atomic<size_t> sum = 0;
  for (size_t round = 0; round < 3000; ++round) {
    const size_t n = round % 7;
    pool.ForEach(n, [&](size_t i) { sum += i + round; });
    for (size_t i = 0; i < n; ++i) expected += i + round;
    ASSERT_EQ(sum, expected) << "ForEach returned before its work was done";
  }
}

TEST(ThreadPool, NoMoreThreadsThanAskedFor) {
  ThreadPool pool(3);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  for (int round = 0; round < 50; ++round) {
    pool.ForEach(20, [&](size_t) {
      std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
  }
  EXPECT_LE(ids.size(), 3u);
  EXPECT_TRUE(ids.contains(std::this_thread::get_id()));
}

// One long item beside many short ones: the others do not wait behind it.
TEST(ThreadPool, UnevenWorkIsEvenedOut) {
  ThreadPool pool(2);
  std::atomic<int> done = 0;
  std::atomic<bool> in_time = false;
  pool.ForEach(50, [&](size_t i) {
    if (i != 0) {
      ++done;
      return;
    }
    for (int wait = 0; wait < 5000 && done < 49; ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    in_time = done == 49;
  });
  EXPECT_TRUE(in_time);
}

TEST(ThreadPool, SeveralCallersTakeTurns) {
  ThreadPool pool(3);
  std::atomic<size_t> sum = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::atomic<size_t> own = 0;
        pool.ForEach(10, [&](size_t i) { own += i; });
        sum += own;
      }
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(sum, 4u * 200u * 45u);
}

TEST(ThreadPool, EndsWithoutHavingWorked) {
  for (int i = 0; i < 100; ++i) ThreadPool pool(8);
  ThreadPool pool(8);
  pool.ForEach(8, [](size_t) {});
}

}  // namespace
}  // namespace grammask::internal
