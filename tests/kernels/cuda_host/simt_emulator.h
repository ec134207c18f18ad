// Runs the body of a CUDA kernel on the host: every thread of a team of blocks is a fiber, switched
// at barriers and shuffles only. Finds what a run on a GPU may hide: a barrier that not all threads
// come to is an error, and running the threads between barriers forwards, backwards or shuffled
// shows whether the result depends on their order.
#ifndef GRAMMASK_TESTS_KERNELS_CUDA_HOST_SIMT_EMULATOR_H_
#define GRAMMASK_TESTS_KERNELS_CUDA_HOST_SIMT_EMULATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace grammask::internal::cuda {

// The order of threads between barriers. Ahead: the first warps run as far as they can before
// others run at all, so that one is at a barrier while another has just left the one before.
enum class ThreadOrder { kForward, kBackward, kShuffled, kAhead, kAheadBackward };

struct LaunchShape {
  uint32_t blocks = 1;
  uint32_t threads = 32;  // of a block; a multiple of 32 if the body shuffles
  uint32_t team = 1;      // blocks of a cluster; divides `blocks`
  ThreadOrder order = ThreadOrder::kForward;
  uint32_t rows = 1;  // of the grid, each of `blocks` blocks
};

// Calls body(shared) for every thread, `shared` being its block's shared memory, filled with 0xA5
// bytes. Returns "", or what went wrong.
std::string RunLaunch(const LaunchShape& shape, size_t shared_bytes,
                      const std::function<void(void* shared)>& body);

// Runs the kernel of kernels.cu with that name on a structure of its parameters.
std::string RunKernel(const std::string& name, const LaunchShape& shape, const void* params);

}  // namespace grammask::internal::cuda

#endif  // GRAMMASK_TESTS_KERNELS_CUDA_HOST_SIMT_EMULATOR_H_
