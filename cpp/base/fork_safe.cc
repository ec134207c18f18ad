// Tests: tests/base/fork_safe_test.cc.
#include "base/fork_safe.h"

#if defined(__linux__) || defined(__APPLE__)
#include <pthread.h>

#include <cstddef>

#include "base/check.h"
#endif

namespace grammask::internal {

#if defined(__linux__) || defined(__APPLE__)
namespace {

constexpr size_t kMost = 8;
struct AllMutexes {
  std::mutex making;
  ForkSafeMutex* made[kMost] = {};  // in their order
  size_t count = 0;
};
AllMutexes& TheMutexes() {
  static AllMutexes& all = *new AllMutexes;
  return all;
}

void LockAll() {
  AllMutexes& all = TheMutexes();
  all.making.lock();
  for (size_t i = all.count; i-- > 0;) all.made[i]->lock();
}
void UnlockAll() {
  AllMutexes& all = TheMutexes();
  for (size_t i = 0; i < all.count; ++i) all.made[i]->unlock();
  all.making.unlock();
}

}  // namespace

ForkSafeMutex::ForkSafeMutex() {
  AllMutexes& all = TheMutexes();
  static const int registered = pthread_atfork(&LockAll, &UnlockAll, &UnlockAll);
  static_cast<void>(registered);
  const std::lock_guard lock(all.making);
  GM_CHECK(all.count < kMost);
  all.made[all.count++] = this;
}
#else
ForkSafeMutex::ForkSafeMutex() = default;
#endif

}  // namespace grammask::internal
