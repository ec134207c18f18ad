// A process forked while other threads hold the locks of tables and blocks can use both.
#include "base/fork_safe.h"

#include <gtest/gtest.h>

#ifdef __linux__
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "base/block_reserve.h"
#include "base/sanitized.h"
#include "base/tables.h"

namespace grammask::internal {
namespace {

// What a forked process exits with that has run `work`; -1 where it did not end by itself.
template <class Work>
int ExitOfForked(Work&& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // of one that waits for ever
    _exit(work());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(ForkSafe, IsFreeInAForkedProcess) {
  static ForkSafeMutex& mutex = *new ForkSafeMutex;
  std::atomic<bool> ends = false;
  std::thread holder([&] {
    while (!ends) {
      const std::lock_guard lock(mutex);
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(ExitOfForked([] {
                const std::lock_guard lock(mutex);
                return 7;
              }),
              7);
  }
  ends = true;
  holder.join();
  const std::lock_guard lock(mutex);  // free here, too
}

TEST(ForkSafe, TablesWhileOthersMakeThem) {
  // Whose lock a fork may leave held: one in some hundreds does.
  if (kSanitized) GTEST_SKIP() << "each table is of the sanitizer's heap";
  std::atomic<bool> ends = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (size_t i = 0; !ends; ++i) {
        const size_t bytes = 1 + i * 977 % 100'000;
        void* const table = AllocateTable(bytes);
        std::memset(table, 1, bytes);
        FreeTable(table, bytes);
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(ExitOfForked([] {
                for (size_t bytes : {size_t{8}, size_t{5'000}, 2 * kSmallestKept}) {
                  void* const table = AllocateTable(bytes);
                  std::memset(table, 2, bytes);
                  FreeTable(table, bytes);
                }
                return 7;
              }),
              7);
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace grammask::internal
#endif
