// A pool of threads that lives as long as its owner.
#ifndef GRAMMASK_BASE_THREAD_POOL_H_
#define GRAMMASK_BASE_THREAD_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace grammask::internal {

// Threads start with the first call that can use them, and wait in between. Thread-safe; calls from
// several threads take turns.
class ThreadPool {
 public:
  // `threads` in all, the calling thread included; at least 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Calls work(i) for each i < n, on the calling thread and up to threads() - 1 others, and returns
  // when all are done. Threads take the next indexes as they become free, so uneven work is evened
  // out. `work` must not throw.
  void ForEach(size_t n, const std::function<void(size_t)>& work);
  // The same with work(first, last) for each few of neighbouring indexes that one thread takes.
  void ForEachRun(size_t n, const std::function<void(size_t, size_t)>& work);
  int threads() const { return threads_; }

 private:
  void Loop();
  void Drain();

  const int threads_;
  std::mutex turn_;  // one ForEach at a time
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> workers_;
  const std::function<void(size_t, size_t)>* work_ = nullptr;
  size_t count_ = 0;
  size_t items_a_turn_ = 1;
  size_t wanted_ = 0;  // workers still to join this round
  size_t active_ = 0;  // workers in it
  bool stop_ = false;
  alignas(64) std::atomic<size_t> next_ = 0;  // the only thing that threads write while at work
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_THREAD_POOL_H_
