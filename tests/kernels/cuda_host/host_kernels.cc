// The kernels of kernels.cu by their names, on the host.
#include <cstring>

#include "kernels/cuda/apply_body.h"
#include "kernels/cuda/argmax_body.h"
#include "kernels/cuda/sample_body.h"
#include "kernels/cuda_host/simt_emulator.h"

namespace grammask::internal::cuda {
namespace {

template <int kBytes, bool kInPlace>
std::string RunApply(const LaunchShape& shape, const void* params) {
  ApplyParams p;
  std::memcpy(&p, params, sizeof(p));
  return RunLaunch(shape, 0, kInPlace, [&](void*) { ApplyBody<kBytes, kInPlace>(p); });
}

template <class F>
std::string RunArgmax(const LaunchShape& shape, const void* params) {
  ArgmaxParams p;
  std::memcpy(&p, params, sizeof(p));
  return RunLaunch(shape, sizeof(ArgmaxShared<F>), true,
                   [&](void* shared) { ArgmaxBody<F>(p, static_cast<ArgmaxShared<F>*>(shared)); });
}

template <class F>
std::string RunSample(const LaunchShape& shape, const void* params) {
  SampleParams p;
  std::memcpy(&p, params, sizeof(p));
  return RunLaunch(shape, sizeof(SampleShared<F>), true,
                   [&](void* shared) { SampleBody<F>(p, static_cast<SampleShared<F>*>(shared)); });
}

constexpr struct {
  const char* name;
  std::string (*run)(const LaunchShape&, const void*);
} kKernels[] = {
    {"grammask_apply_16", RunApply<2, true>},       {"grammask_apply_32", RunApply<4, true>},
    {"grammask_apply_64", RunApply<8, true>},       {"grammask_apply_copy_16", RunApply<2, false>},
    {"grammask_apply_copy_32", RunApply<4, false>}, {"grammask_apply_copy_64", RunApply<8, false>},
    {"grammask_argmax_f32", RunArgmax<Float32>},    {"grammask_argmax_f16", RunArgmax<Float16>},
    {"grammask_argmax_bf16", RunArgmax<BFloat16>},  {"grammask_argmax_f64", RunArgmax<Float64>},
    {"grammask_sample_f32", RunSample<Float32>},    {"grammask_sample_f16", RunSample<Float16>},
    {"grammask_sample_bf16", RunSample<BFloat16>},  {"grammask_sample_f64", RunSample<Float64>},
};

}  // namespace

std::string RunKernel(const std::string& name, const LaunchShape& shape, const void* params) {
  for (const auto& kernel : kKernels) {
    if (name == kernel.name) return kernel.run(shape, params);
  }
  return "there is no kernel " + name;
}

}  // namespace grammask::internal::cuda
