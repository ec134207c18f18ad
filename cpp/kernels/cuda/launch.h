// Launching the CUDA kernels on memory and a stream of the caller's: checks first, then one launch
// (more for long lists of rows). Never waits for the device, never allocates on it, and may be
// captured in a CUDA graph. Thread-safe. No CUDA header is needed.
#ifndef GRAMMASK_KERNELS_CUDA_LAUNCH_H_
#define GRAMMASK_KERNELS_CUDA_LAUNCH_H_

#include <cstdint>
#include <optional>
#include <span>

#include "grammask/status.h"
#include "kernels/apply_cpu.h"
#include "kernels/cuda/params.h"

namespace grammask::internal::cuda {

// Logits and masks in memory of one GPU. Strides count elements; rows of logits are contiguous.
struct DeviceLogits {
  LogitFormat format = LogitFormat::kFloat32;
  const void* logits = nullptr;
  int64_t rows = 0, columns = 0, stride = 0;
  const int32_t* mask = nullptr;
  int64_t mask_rows = 0, mask_words = 0, mask_stride = 0;
  std::optional<int64_t> vocab_size;  // columns to look at; those that the mask covers
  int64_t vocab_offset = 0;           // the token of column 0
};

// The rows to work on; without a list all of them, and logits and masks have as many.
struct RowChoice {
  bool all = true;
  std::span<const int32_t> listed;  // in the host's memory
  const void* device = nullptr;     // in the GPU's memory: int32 or int64, rows outside are skipped
  bool device_is_64 = false;
  int64_t device_count = 0;
};

// Where to run: a device by its ordinal, and a stream of it (a CUstream; 0 and 1: the default one).
struct Where {
  int device = 0;
  uintptr_t stream = 0;
};

// What a call of the sampler takes for each row, one value or one a row in the GPU's memory.
struct SampleSettings {
  PerItem<uint64_t> seed{nullptr, 0}, offset{nullptr, 0};
  PerItem<float> temperature{nullptr, 1.0f};
  PerItem<int64_t> top_k{nullptr, 0};
  PerItem<double> top_p{nullptr, 1.0}, min_p{nullptr, 0.0};
};

// Loads the kernels for a device, which the first launch would otherwise do. FailedPrecondition
// where there is no driver, no such device, or the library was built without the kernels.
Status Prepare(int device);

// Rows that a choice names.
int64_t ItemCount(const DeviceLogits& in, const RowChoice& rows);

// Refused logits become minus infinity. `out` null: in place. Else rows named go to `out`, whole
// (all columns), and other rows of `out` keep what they have; logits and out must not overlap.
Status LaunchApply(const DeviceLogits& in, const RowChoice& rows, void* out, int64_t out_stride,
                   const Where& where);

// tokens[i] and, unless null, values[i] for item i of the choice.
Status LaunchArgmax(const DeviceLogits& in, const RowChoice& rows, int64_t* tokens, float* values,
                    const Where& where);
Status LaunchSample(const DeviceLogits& in, const RowChoice& rows, const SampleSettings& settings,
                    int64_t* tokens, const Where& where);

}  // namespace grammask::internal::cuda

#endif  // GRAMMASK_KERNELS_CUDA_LAUNCH_H_
