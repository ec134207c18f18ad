// A mutex of the process that a forked process finds free.
#ifndef GRAMMASK_BASE_FORK_SAFE_H_
#define GRAMMASK_BASE_FORK_SAFE_H_

#include <mutex>

namespace grammask::internal {

// For what all compilers share and is made once. Engines fork while other threads compile: of a
// lock that one of these holds nobody in the new process would let go. So a fork waits until each
// of these is free, as it does for the locks of the process's heap. One made later may be held
// while an earlier one is taken, never the other way round. To be made before there are threads;
// never destroyed.
class ForkSafeMutex {
 public:
  ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_FORK_SAFE_H_
