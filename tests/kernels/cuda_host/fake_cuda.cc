// A library in place of the CUDA driver, for tests: exports what cpp/kernels/cuda/driver.cc looks
// for, and runs each kernel that is launched on the host, at once, with the very parameters, grid
// and cluster that it was launched with. "Device memory" is the host's.
//
// Devices, processors and clusters can be set, launches looked at and errors provoked by the
// functions fake_cuda_*. A stream's handle says which device it is of: (device + 1) << 16, plus
// anything. GRAMMASK_CUDA_DRIVER names the built library.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/cuda/driver.h"
#include "kernels/cuda_host/simt_emulator.h"

#define GM_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using grammask::internal::cuda::LaunchConfig;
using grammask::internal::cuda::LaunchShape;
using grammask::internal::cuda::RunKernel;
using grammask::internal::cuda::ThreadOrder;

constexpr int kInvalidValue = 1, kInvalidContext = 201, kInvalidDevice = 101, kNotFound = 500,
              kLaunchFailed = 719;

struct Launch {
  uint32_t blocks, threads, team, rows;
  int32_t device;
  uint64_t stream;
  char name[64];
};

std::mutex mutex;
std::vector<Launch> launches;
std::atomic<int> devices{2}, processors{4}, clusters{1}, next_error{0}, loads{0}, order{0},
    skipped{0};
std::string last_problem;
thread_local std::vector<uintptr_t> contexts;  // current one last; device + 1

void* Handle(uintptr_t value) { return reinterpret_cast<void*>(value); }

int Run(const LaunchShape& shape, void* function, void* stream, void** parameters) {
  if (const int error = next_error.exchange(0)) return error;
  if (contexts.empty()) return kInvalidContext;
  const auto* name = static_cast<const char*>(function);
  Launch launch = {shape.blocks,
                   shape.threads,
                   shape.team,
                   shape.rows,
                   static_cast<int32_t>(contexts.back()) - 1,
                   reinterpret_cast<uint64_t>(stream),
                   {}};
  std::strncpy(launch.name, name, sizeof(launch.name) - 1);
  std::lock_guard lock(mutex);
  launches.push_back(launch);
  if (skipped > 0) {
    --skipped;
    return 0;
  }
  LaunchShape ordered = shape;
  ordered.order = static_cast<ThreadOrder>(order.load());
  last_problem = RunKernel(name, ordered, parameters[0]);
  return last_problem.empty() ? 0 : kLaunchFailed;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int grammask_has_own_kernels;
int grammask_has_own_kernels = 1;

GM_EXPORT void fake_cuda_set(int device_count, int processor_count, int has_clusters) {
  devices = device_count;
  processors = processor_count;
  clusters = has_clusters;
}
GM_EXPORT void fake_cuda_order(int thread_order) { order = thread_order; }
GM_EXPORT void fake_cuda_fail_next(int error) { next_error = error; }
// The next so many launches are noted, but nothing is run.
GM_EXPORT void fake_cuda_skip(int count) { skipped = count; }
GM_EXPORT int fake_cuda_module_loads() { return loads; }
GM_EXPORT int fake_cuda_launches() {
  std::lock_guard lock(mutex);
  return static_cast<int>(launches.size());
}
// The launch at `index`, from the end where it is negative.
GM_EXPORT int fake_cuda_launch(int index, Launch* out) {
  std::lock_guard lock(mutex);
  const int at = index < 0 ? index + static_cast<int>(launches.size()) : index;
  if (at < 0 || at >= static_cast<int>(launches.size())) return kInvalidValue;
  *out = launches[static_cast<size_t>(at)];
  return 0;
}
GM_EXPORT int fake_cuda_context_depth() { return static_cast<int>(contexts.size()); }

GM_EXPORT int cuInit(unsigned flags) { return flags == 0 ? 0 : kInvalidValue; }
GM_EXPORT int cuDeviceGet(int* device, int ordinal) {
  if (ordinal < 0 || ordinal >= devices) return kInvalidDevice;
  *device = ordinal;
  return 0;
}
GM_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 16 ? processors.load() : attribute == 120 ? clusters.load() : 0;
  return 0;
}
GM_EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = Handle(static_cast<uintptr_t>(device) + 1);
  return 0;
}
GM_EXPORT int cuCtxGetCurrent(void** context) {
  *context = contexts.empty() ? nullptr : Handle(contexts.back());
  return 0;
}
GM_EXPORT int cuCtxPushCurrent_v2(void* context) {
  contexts.push_back(reinterpret_cast<uintptr_t>(context));
  return 0;
}
GM_EXPORT int cuCtxPopCurrent_v2(void** context) {
  if (contexts.empty()) return kInvalidContext;
  *context = Handle(contexts.back());
  contexts.pop_back();
  return 0;
}
GM_EXPORT int cuCtxGetDevice(int* device) {
  if (contexts.empty()) return kInvalidContext;
  *device = static_cast<int>(contexts.back()) - 1;
  return 0;
}
GM_EXPORT int cuModuleLoadData(void** module, const void*) {
  if (contexts.empty()) return kInvalidContext;
  ++loads;
  *module = Handle(contexts.back());
  return 0;
}
GM_EXPORT int cuModuleGetFunction(void** function, void*, const char* name) {
  static std::map<std::string, std::string> names;
  std::lock_guard lock(mutex);
  if (RunKernel(name, {0, 32, 1}, std::string(4096, '\0').data()) != "") return kNotFound;
  *function = names.emplace(name, name).first->second.data();
  return 0;
}
GM_EXPORT int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned,
                             void* stream, void** parameters, void**) {
  if (grid_y == 0 || grid_y > 65535 || grid_z != 1 || block_y != 1 || block_z != 1 || grid_x == 0) {
    return kInvalidValue;
  }
  return Run({grid_x, block_x, 1, ThreadOrder::kForward, grid_y}, function, stream, parameters);
}
GM_EXPORT int cuLaunchKernelEx(const LaunchConfig* config, void* function, void** parameters,
                               void**) {
  if (config->grid[0] == 0 || config->grid[1] != 1 || config->block[1] != 1) return kInvalidValue;
  uint32_t team = 1;
  for (uint32_t i = 0; i < config->attribute_count; ++i) {
    if (config->attributes[i].id != 4 || clusters == 0) return kInvalidValue;
    team = config->attributes[i].cluster[0];
  }
  return Run({config->grid[0], config->block[0], team}, function, config->stream, parameters);
}
GM_EXPORT int cuStreamGetCtx(void* stream, void** context) {
  *context = Handle(reinterpret_cast<uintptr_t>(stream) >> 16);
  return *context == nullptr ? kInvalidValue : 0;
}
GM_EXPORT int cuThreadExchangeStreamCaptureMode(int* mode) {
  thread_local int current = 0;
  std::swap(current, *mode);
  return 0;
}
GM_EXPORT int cuGetErrorString(int error, const char** text) {
  thread_local std::string message;
  message = "fake error";
  if (error == kInvalidDevice) message = "invalid device ordinal";
  if (error == kLaunchFailed) message = "launch failed: " + last_problem;
  *text = message.c_str();
  return 0;
}
