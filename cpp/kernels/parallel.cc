// Parts of a kernel's work -> threads of one pool.
//
// Kernels run at the memory's speed, which a few threads use up, and a thread takes some 10 us to
// wake; so there is one pool for the process, of bounded size, for large calls only. A call that
// finds the pool taken does its work itself: waiting would not make the memory faster. Example: 64
// rows of 128,000 float32 on 16 processors are 64 parts, taken by 8 threads.
// Cost: an atomic exchange, and the pool's where it is used.
// Tested by tests/kernels/parallel_test.cc.
#include "kernels/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/thread_pool.h"

namespace grammask::internal {
namespace {

int ThreadsOfThisProcess() {
  constexpr int kMost = 256, kUseful = 16;
  const char* const wish = std::getenv("GRAMMASK_CPU_THREADS");
  if (wish != nullptr) {
    int threads = 0;
    const char* const end = wish + std::strlen(wish);
    const auto read = std::from_chars(wish, end, threads);
    if (read.ec == std::errc() && read.ptr == end && threads >= 1 && threads <= kMost) {
      return threads;
    }
  }
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency() / 2), 1, kUseful);
}

// Whether a call has the pool, and the pool, which only that call may touch. It is never destroyed:
// a thread of the user's may be inside a call while the process ends.
std::atomic<bool> taken = false;
ThreadPool* pool = nullptr;

// A forked process has none of the threads, and makes a pool of its own when it needs one.
void ForgetPool() {
  pool = nullptr;
  taken = false;
}

ThreadPool& Pool() {
  static const int registered = pthread_atfork(nullptr, nullptr, ForgetPool);
  static_cast<void>(registered);
  if (pool == nullptr) pool = new ThreadPool(KernelThreads());
  return *pool;
}

}  // namespace

int KernelThreads() {
  static const int threads = ThreadsOfThisProcess();
  return threads;
}

void KernelParts(int64_t parts, int64_t bytes, const std::function<void(int64_t)>& work) {
  if (parts > 1 && bytes >= kParallelBytes && KernelThreads() > 1 && !taken.exchange(true)) {
    Pool().ForEach(static_cast<size_t>(parts), [&](size_t i) { work(static_cast<int64_t>(i)); });
    taken = false;
    return;
  }
  for (int64_t i = 0; i < parts; ++i) work(i);
}

}  // namespace grammask::internal
