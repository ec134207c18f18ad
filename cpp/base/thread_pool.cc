// Work items to threads: one shared counter that every thread takes its next index from.
//
// Work items here are masks, from a microsecond to a millisecond each; an atomic increment an item
// balances them without queues. Of many items a thread takes a few at a time, which lets it
// fetch ahead what its next items read, and moves the counter between caches less often. Waking a
// worker costs some 5 us, so only as many are woken as there are items beside the caller's first.
// Tests: tests/base/thread_pool_test.cc.
#include "base/thread_pool.h"

#include <algorithm>
#include <system_error>

namespace grammask::internal {
namespace {

constexpr size_t kTurns = 16;  // that each thread has at the least, where items allow
constexpr size_t kMostATurn = 8;

}  // namespace

ThreadPool::ThreadPool(int threads) : threads_(std::max(threads, 1)) {}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& t : workers_) t.join();
}

void ThreadPool::Drain() {
  const auto& work = *work_;
  const size_t count = count_, turn = items_a_turn_;
  for (size_t i; (i = next_.fetch_add(turn, std::memory_order_relaxed)) < count;) {
    work(i, std::min(i + turn, count));
  }
}

void ThreadPool::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || wanted_ > 0; });
    if (stop_) return;
    --wanted_;
    ++active_;
    lock.unlock();
    Drain();
    lock.lock();
    if (--active_ == 0) done_.notify_all();
  }
}

void ThreadPool::ForEach(size_t n, const std::function<void(size_t)>& work) {
  ForEachRun(n, [&](size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) work(i);
  });
}

void ThreadPool::ForEachRun(size_t n, const std::function<void(size_t, size_t)>& work) {
  if (n == 0) return;
  if (n == 1 || threads_ == 1) return work(0, n);
  std::lock_guard turn(turn_);
  const size_t helpers = std::min(n, static_cast<size_t>(threads_)) - 1;
  {
    std::lock_guard lock(mutex_);
    // Where the system gives no more threads, those that are there do the work.
    try {
      while (workers_.size() < helpers) workers_.emplace_back([this] { Loop(); });
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch)
    }
    work_ = &work;
    count_ = n;
    items_a_turn_ = std::clamp<size_t>(n / (kTurns * (helpers + 1)), 1, kMostATurn);
    next_ = 0;
    wanted_ = helpers;
  }
  wake_.notify_all();
  Drain();
  std::unique_lock lock(mutex_);
  wanted_ = 0;  // whoever has not woken by now is not needed
  done_.wait(lock, [&] { return active_ == 0; });
}

}  // namespace grammask::internal
