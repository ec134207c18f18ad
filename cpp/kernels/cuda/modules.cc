// The embedded fatbin -> functions of a device, once for each device.
//
// Devices are known by their primary contexts, which every library that sits on CUDA's runtime
// shares. A device's kernels are published by an atomic pointer, so that finding them costs one
// read. Loading is allowed while the thread captures a graph: it is taken out of the capture's
// rules for that time, as nothing of it belongs to a stream. Cost: some milliseconds a device,
// once. Tested by tests/kernels/cuda_launch_test.cc.
#include "kernels/cuda/modules.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace grammask::internal::cuda {
namespace {

constexpr int kMaxDevices = 128;
constexpr int kProcessorCount = 16, kClusterLaunch = 120;  // CUdevice_attribute
constexpr int kRelaxedCapture = 2;                         // CUstreamCaptureMode

constexpr const char* kNames[kKernelCount] = {
    "grammask_apply_16_few",      "grammask_apply_32_few",      "grammask_apply_64_few",
    "grammask_apply_16_plain",    "grammask_apply_32_plain",    "grammask_apply_64_plain",
    "grammask_apply_16",          "grammask_apply_32",          "grammask_apply_64",
    "grammask_apply_copy_16_few", "grammask_apply_copy_32_few", "grammask_apply_copy_64_few",
    "grammask_apply_copy_16",     "grammask_apply_copy_32",     "grammask_apply_copy_64",
    "grammask_argmax_f32",        "grammask_argmax_f16",        "grammask_argmax_bf16",
    "grammask_argmax_f64",        "grammask_sample_f32",        "grammask_sample_f16",
    "grammask_sample_bf16",       "grammask_sample_f64",
};

Status LoadInto(DeviceKernels* kernels) {
  const Driver& driver = *kernels->driver;
  ContextScope scope(*kernels);
  if (!scope.status().ok()) return scope.status();
  int mode = kRelaxedCapture;
  const bool exchanged =
      driver.exchange_capture_mode != nullptr && driver.exchange_capture_mode(&mode) == 0;
  void* module = nullptr;
  Status status = DriverStatus(driver, driver.module_load_data(&module, KernelImage().data()),
                               "loading the CUDA kernels (made for compute capability 8.0 and up)");
  for (int i = 0; i < kKernelCount && status.ok(); ++i) {
    status =
        DriverStatus(driver, driver.module_get_function(&kernels->functions[i], module, kNames[i]),
                     std::string("finding the kernel ") + kNames[i]);
  }
  if (exchanged) driver.exchange_capture_mode(&mode);
  return status;
}

StatusOr<std::unique_ptr<DeviceKernels>> Load(int ordinal) {
  StatusOr<const Driver*> found = LoadDriver();
  if (!found.ok()) return found.status();
  const Driver& driver = **found;
  if (KernelImage().empty() && driver.has_own_kernels == nullptr) {
    return FailedPrecondition(
        "grammask was built without CUDA kernels: no nvcc was found when it was built. Build it "
        "where nvcc is on the path, or use backend=\"auto\"");
  }
  auto kernels = std::make_unique<DeviceKernels>();
  kernels->driver = &driver;
  const std::string name = "CUDA device " + std::to_string(ordinal);
  Status status =
      DriverStatus(driver, driver.device_get(&kernels->device, ordinal), "finding " + name);
  if (!status.ok()) return status;
  status = DriverStatus(driver, driver.primary_context_retain(&kernels->context, kernels->device),
                        "using " + name);
  if (!status.ok()) return status;
  int clusters = 0;
  if (driver.device_get_attribute(&kernels->processors, kProcessorCount, kernels->device) != 0 ||
      kernels->processors < 1) {
    kernels->processors = 1;
  }
  if (driver.device_get_attribute(&clusters, kClusterLaunch, kernels->device) != 0) clusters = 0;
  kernels->has_clusters = clusters != 0 && driver.launch_ex != nullptr;
  status = LoadInto(kernels.get());
  if (!status.ok()) return status;
  return kernels;
}

}  // namespace

StatusOr<const DeviceKernels*> KernelsOf(int ordinal) {
  if (ordinal < 0 || ordinal >= kMaxDevices) {
    return OutOfRange("CUDA device " + std::to_string(ordinal) + " is outside 0 to " +
                      std::to_string(kMaxDevices - 1));
  }
  // Never destroyed: the driver may be gone first when the process ends.
  static auto& loaded = *new std::array<std::atomic<const DeviceKernels*>, kMaxDevices>{};
  auto& place = loaded[static_cast<size_t>(ordinal)];
  const DeviceKernels* kernels = place.load(std::memory_order_acquire);
  if (kernels != nullptr) return kernels;
  static auto& mutex = *new std::mutex;
  std::lock_guard lock(mutex);
  kernels = place.load(std::memory_order_acquire);
  if (kernels != nullptr) return kernels;
  StatusOr<std::unique_ptr<DeviceKernels>> made = Load(ordinal);
  if (!made.ok()) return made.status();
  kernels = std::move(made).value().release();
  place.store(kernels, std::memory_order_release);
  return kernels;
}

ContextScope::ContextScope(const DeviceKernels& kernels) : driver_(*kernels.driver) {
  void* current = nullptr;
  if (driver_.context_get_current(&current) == 0 && current == kernels.context) return;
  status_ = DriverStatus(driver_, driver_.context_push(kernels.context),
                         "making the device's CUDA context current");
  pushed_ = status_.ok();
}

ContextScope::~ContextScope() {
  void* popped = nullptr;
  if (pushed_) driver_.context_pop(&popped);
}

}  // namespace grammask::internal::cuda
