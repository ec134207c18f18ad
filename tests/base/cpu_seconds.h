// Processor time, which other programs on the machine disturb less than the clock.
#ifndef GRAMMASK_TESTS_BASE_CPU_SECONDS_H_
#define GRAMMASK_TESTS_BASE_CPU_SECONDS_H_

#include <ctime>

namespace grammask {

// Of this thread.
inline double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace grammask

#endif  // GRAMMASK_TESTS_BASE_CPU_SECONDS_H_
