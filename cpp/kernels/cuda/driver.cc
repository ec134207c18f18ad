// libcuda.so.1 -> a table of its functions, by dlopen.
//
// A machine with a GPU has the driver's library whatever CUDA toolkit it has or lacks, so this is
// the one thing that can be relied on. The names with _v2 are those that cuda.h stands for.
// Tested by tests/kernels/cuda_launch_test.cc, with a library in place of the driver that runs the
// kernels' bodies on the host.
#include "kernels/cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>

namespace grammask::internal::cuda {
namespace {

constexpr const char* kUsual = "libcuda.so.1";

StatusOr<const Driver*> Load() {
  const char* named = std::getenv("GRAMMASK_CUDA_DRIVER");
  const char* name = named != nullptr && *named != '\0' ? named : kUsual;
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return FailedPrecondition("the CUDA driver cannot be loaded (" +
                              std::string(reason != nullptr ? reason : name) +
                              "); it comes with the GPU's driver. backend=\"auto\" does without");
  }
  static Driver driver;
  std::string missing;
  auto find = [&](auto* function, const char* symbol, bool needed) {
    *reinterpret_cast<void**>(function) = dlsym(library, symbol);
    if (*function == nullptr && needed && missing.empty()) missing = symbol;
  };
  find(&driver.init, "cuInit", true);
  find(&driver.device_get, "cuDeviceGet", true);
  find(&driver.device_get_attribute, "cuDeviceGetAttribute", true);
  find(&driver.primary_context_retain, "cuDevicePrimaryCtxRetain", true);
  find(&driver.context_get_current, "cuCtxGetCurrent", true);
  find(&driver.context_push, "cuCtxPushCurrent_v2", true);
  find(&driver.context_pop, "cuCtxPopCurrent_v2", true);
  find(&driver.context_get_device, "cuCtxGetDevice", true);
  find(&driver.module_load_data, "cuModuleLoadData", true);
  find(&driver.module_get_function, "cuModuleGetFunction", true);
  find(&driver.launch, "cuLaunchKernel", true);
  find(&driver.stream_get_context, "cuStreamGetCtx", true);
  find(&driver.get_error_string, "cuGetErrorString", true);
  find(&driver.launch_ex, "cuLaunchKernelEx", false);
  find(&driver.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", false);
  find(&driver.has_own_kernels, "grammask_has_own_kernels", false);
  if (!missing.empty()) {
    return FailedPrecondition(std::string(name) + " has no " + missing +
                              "; a newer driver of the GPU is needed");
  }
  if (const int error = driver.init(0); error != 0) {
    return DriverStatus(driver, error, "starting the CUDA driver");
  }
  return &driver;
}

}  // namespace

StatusOr<const Driver*> LoadDriver() {
  static const StatusOr<const Driver*> loaded = Load();
  return loaded;
}

Status DriverStatus(const Driver& driver, int error, const std::string& what) {
  if (error == 0) return Status();
  const char* text = nullptr;
  if (driver.get_error_string(error, &text) != 0 || text == nullptr) text = "unknown error";
  return FailedPrecondition(what + " failed: " + text + " (CUDA error " + std::to_string(error) +
                            ")");
}

}  // namespace grammask::internal::cuda
