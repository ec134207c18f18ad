// The threads that CPU kernels share.
#ifndef GRAMMASK_KERNELS_PARALLEL_H_
#define GRAMMASK_KERNELS_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace grammask::internal {

// How many threads KernelParts may use, the caller's included: half of the processors that this
// process may use, as for batches of matchers, at most 16; or what the environment variable
// GRAMMASK_CPU_THREADS says, from 1 to 256 (anything else counts as not set). Read once.
int KernelThreads();

// Calls work(i) for each i < parts, on several threads where `bytes`, the memory that all parts
// together touch (or would touch, at the memory's speed, in the time they take), is worth waking
// them; else, or while another call has the threads, on the calling thread alone. The threads start
// with the first call that needs them and live as long as the process. `work` must not throw.
void KernelParts(int64_t parts, int64_t bytes, const std::function<void(int64_t)>& work);

// From how many bytes on more than one thread works: some 80 us of one.
inline constexpr int64_t kParallelBytes = int64_t{1} << 21;

}  // namespace grammask::internal

#endif  // GRAMMASK_KERNELS_PARALLEL_H_
