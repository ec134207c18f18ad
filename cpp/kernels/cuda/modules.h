// The kernels as loaded for one device.
#ifndef GRAMMASK_KERNELS_CUDA_MODULES_H_
#define GRAMMASK_KERNELS_CUDA_MODULES_H_

#include <cstdint>

#include "grammask/status.h"
#include "kernels/cuda/driver.h"

namespace grammask::internal::cuda {

// The entry points of kernels.cu, in this order. Those of apply by the bits of a logit (16, 32,
// 64), the others by LogitFormat.
enum KernelId : int {
  kApplyFew = 0,    // + 0, 1, 2; chunks of few words
  kApplyPlain = 3,  // likewise, where there is nothing to find out
  kApplyMany = 6,
  kCopyFew = 9,
  kCopyMany = 12,
  kArgmax = 15,  // + format
  kSample = 19,  // + format
  kKernelCount = 23,
};

struct DeviceKernels {
  const Driver* driver;
  int device;     // the driver's handle
  void* context;  // the device's primary context, which torch, cupy and jax use
  void* functions[kKernelCount];
  int processors;
  bool has_clusters;
};

// The kernels of the device with that ordinal, loaded on the first call and kept for the life of
// the process. Thread-safe; a failure is not kept.
StatusOr<const DeviceKernels*> KernelsOf(int ordinal);

// Makes a device's context the thread's current one for as long as it lives.
class ContextScope {
 public:
  explicit ContextScope(const DeviceKernels& kernels);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  const Status& status() const { return status_; }

 private:
  const Driver& driver_;
  bool pushed_ = false;
  Status status_;
};

}  // namespace grammask::internal::cuda

#endif  // GRAMMASK_KERNELS_CUDA_MODULES_H_
