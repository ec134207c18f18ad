// The CUDA driver, found at run time: no CUDA header, library or GPU is needed to build or load
// this library. Declares what it uses of the driver's interface, by its documented layout.
#ifndef GRAMMASK_KERNELS_CUDA_DRIVER_H_
#define GRAMMASK_KERNELS_CUDA_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "grammask/status.h"

namespace grammask::internal::cuda {

// CUlaunchAttribute with a cluster dimension, and CUlaunchConfig.
struct LaunchAttribute {
  int32_t id;  // kClusterDimension
  int32_t padding;
  uint32_t cluster[3];
  uint32_t unused[13];
};
inline constexpr int32_t kClusterDimension = 4;
struct LaunchConfig {
  uint32_t grid[3], block[3], shared_bytes;
  void* stream;
  LaunchAttribute* attributes;
  uint32_t attribute_count;
};

// Functions of the driver; all return 0 (CUDA_SUCCESS) or an error. Pointers to void are its
// handles.
struct Driver {
  int (*init)(unsigned flags);
  int (*device_get)(int* device, int ordinal);
  int (*device_get_attribute)(int* value, int attribute, int device);
  int (*primary_context_retain)(void** context, int device);
  int (*context_get_current)(void** context);
  int (*context_push)(void* context);
  int (*context_pop)(void** context);
  int (*context_get_device)(int* device);
  int (*module_load_data)(void** module, const void* image);
  int (*module_get_function)(void** function, void* module, const char* name);
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream,
                void** parameters, void** extra);
  int (*stream_get_context)(void* stream, void** context);
  int (*get_error_string)(int error, const char** text);
  // Null where the driver is too old for them.
  int (*launch_ex)(const LaunchConfig* config, void* function, void** parameters, void** extra);
  int (*exchange_capture_mode)(int* mode);
  // Set by libraries that stand in for the driver in tests and bring the kernels with them.
  int* has_own_kernels;
};

// The driver, loaded on the first call: libcuda.so.1, or the library that the environment variable
// GRAMMASK_CUDA_DRIVER names. A failure lasts for the life of the process. Thread-safe.
StatusOr<const Driver*> LoadDriver();

// ok, or what the driver says of `error`; `what` says what was tried.
Status DriverStatus(const Driver& driver, int error, const std::string& what);

// The kernels as nvcc made them (a fatbin); empty where the library was built without nvcc.
std::span<const unsigned char> KernelImage();

}  // namespace grammask::internal::cuda

#endif  // GRAMMASK_KERNELS_CUDA_DRIVER_H_
