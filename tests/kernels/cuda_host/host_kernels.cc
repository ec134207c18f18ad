// The kernels of kernels.cu by their names, on the host.
#include <cstring>

#include "kernels/cuda/apply_body.h"
#include "kernels/cuda/argmax_body.h"
#include "kernels/cuda/sample_body.h"
#include "kernels/cuda_host/simt_emulator.h"

namespace grammask::internal::cuda {
namespace {

template <int kBytes, int kWords, ApplyKind kKind>
std::string RunApply(const LaunchShape& shape, const void* params) {
  ApplyParams p;
  std::memcpy(&p, params, sizeof(p));
  return RunLaunch(shape, 0, [&](void*) { ApplyBody<kBytes, kWords, kKind>(p); });
}

template <class F>
std::string RunArgmax(const LaunchShape& shape, const void* params) {
  ArgmaxParams p;
  std::memcpy(&p, params, sizeof(p));
  return RunLaunch(shape, sizeof(ArgmaxShared<F>),
                   [&](void* shared) { ArgmaxBody<F>(p, static_cast<ArgmaxShared<F>*>(shared)); });
}

template <class F>
std::string RunSample(const LaunchShape& shape, const void* params) {
  SampleParams p;
  std::memcpy(&p, params, sizeof(p));
  return RunLaunch(shape, sizeof(SampleShared<F>),
                   [&](void* shared) { SampleBody<F>(p, static_cast<SampleShared<F>*>(shared)); });
}

constexpr struct {
  const char* name;
  std::string (*run)(const LaunchShape&, const void*);
} kKernels[] = {
    {"grammask_apply_16_few", RunApply<2, kFewWords, ApplyKind::kInPlace>},
    {"grammask_apply_32_few", RunApply<4, kFewWords, ApplyKind::kInPlace>},
    {"grammask_apply_64_few", RunApply<8, kFewWords, ApplyKind::kInPlace>},
    {"grammask_apply_16_plain", RunApply<2, kFewWords, ApplyKind::kPlain>},
    {"grammask_apply_32_plain", RunApply<4, kFewWords, ApplyKind::kPlain>},
    {"grammask_apply_64_plain", RunApply<8, kFewWords, ApplyKind::kPlain>},
    {"grammask_apply_16", RunApply<2, kManyWords, ApplyKind::kInPlace>},
    {"grammask_apply_32", RunApply<4, kManyWords, ApplyKind::kInPlace>},
    {"grammask_apply_64", RunApply<8, kManyWords, ApplyKind::kInPlace>},
    {"grammask_apply_copy_16_few", RunApply<2, kFewWords, ApplyKind::kCopy>},
    {"grammask_apply_copy_32_few", RunApply<4, kFewWords, ApplyKind::kCopy>},
    {"grammask_apply_copy_64_few", RunApply<8, kFewWords, ApplyKind::kCopy>},
    {"grammask_apply_copy_16", RunApply<2, kManyWords, ApplyKind::kCopy>},
    {"grammask_apply_copy_32", RunApply<4, kManyWords, ApplyKind::kCopy>},
    {"grammask_apply_copy_64", RunApply<8, kManyWords, ApplyKind::kCopy>},
    {"grammask_argmax_f32", RunArgmax<Float32>},
    {"grammask_argmax_f16", RunArgmax<Float16>},
    {"grammask_argmax_bf16", RunArgmax<BFloat16>},
    {"grammask_argmax_f64", RunArgmax<Float64>},
    {"grammask_sample_f32", RunSample<Float32>},
    {"grammask_sample_f16", RunSample<Float16>},
    {"grammask_sample_bf16", RunSample<BFloat16>},
    {"grammask_sample_f64", RunSample<Float64>},
};

}  // namespace

std::string RunKernel(const std::string& name, const LaunchShape& shape, const void* params) {
  for (const auto& kernel : kKernels) {
    if (name == kernel.name) return kernel.run(shape, params);
  }
  return "there is no kernel " + name;
}

}  // namespace grammask::internal::cuda
