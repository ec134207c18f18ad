// Parts of work on the kernels' threads: each part once, from several callers at a time.
#include "kernels/parallel.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // setenv
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace grammask::internal {
namespace {

// Threads, however few processors there are.
[[maybe_unused]] const int kThreads = setenv("GRAMMASK_CPU_THREADS", "3", /*overwrite=*/0);

TEST(KernelParts, EachPartOnceWhateverTheSize) {
  EXPECT_GE(KernelThreads(), 1);
  for (const int64_t bytes : {int64_t{0}, kParallelBytes}) {
    for (const int64_t parts : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> done(static_cast<size_t>(parts));
      KernelParts(parts, bytes, [&](int64_t i) { ++done[static_cast<size_t>(i)]; });
      for (const auto& count : done) EXPECT_EQ(count, 1);
    }
  }
}

TEST(KernelParts, SmallWorkStaysOnTheCallingThread) {
  const auto self = std::this_thread::get_id();
  KernelParts(8, kParallelBytes - 1, [&](int64_t) { EXPECT_EQ(std::this_thread::get_id(), self); });
}

TEST(KernelParts, ManyCallersAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<int> total = 0;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) KernelParts(16, kParallelBytes, [&](int64_t) { ++total; });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 50 * 16);
}

// ThreadSanitizer does not follow a process that has threads through a fork.
#if !defined(__SANITIZE_THREAD__)
TEST(KernelParts, AForkedProcessHasThreadsOfItsOwn) {
  std::atomic<int> before = 0;
  KernelParts(64, kParallelBytes, [&](int64_t) { ++before; });
  EXPECT_EQ(before, 64);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<int> done = 0;
    for (int i = 0; i < 20; ++i) KernelParts(64, kParallelBytes, [&](int64_t) { ++done; });
    _exit(done == 20 * 64 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

}  // namespace
}  // namespace grammask::internal
