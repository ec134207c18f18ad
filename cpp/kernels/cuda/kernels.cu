// The CUDA kernels: nothing but an entry point for each body and format. Compiled by nvcc for the
// GPUs that cpp/CMakeLists.txt names, embedded in the library, found there by name (launch.cc).
#include "kernels/cuda/apply_body.h"
#include "kernels/cuda/argmax_body.h"
#include "kernels/cuda/sample_body.h"

namespace gm = grammask::internal::cuda;

#define GM_APPLY(name, bytes, words, kind)                   \
  extern "C" __global__ void __launch_bounds__(gm::kThreads) \
      name(const __grid_constant__ gm::ApplyParams p) {      \
    gm::ApplyBody<bytes, gm::words, gm::ApplyKind::kind>(p); \
  }
GM_APPLY(grammask_apply_16_few, 2, kFewWords, kInPlace)
GM_APPLY(grammask_apply_32_few, 4, kFewWords, kInPlace)
GM_APPLY(grammask_apply_64_few, 8, kFewWords, kInPlace)
GM_APPLY(grammask_apply_16_plain, 2, kFewWords, kPlain)
GM_APPLY(grammask_apply_32_plain, 4, kFewWords, kPlain)
GM_APPLY(grammask_apply_64_plain, 8, kFewWords, kPlain)
GM_APPLY(grammask_apply_16, 2, kManyWords, kInPlace)
GM_APPLY(grammask_apply_32, 4, kManyWords, kInPlace)
GM_APPLY(grammask_apply_64, 8, kManyWords, kInPlace)
GM_APPLY(grammask_apply_copy_16_few, 2, kFewWords, kCopy)
GM_APPLY(grammask_apply_copy_32_few, 4, kFewWords, kCopy)
GM_APPLY(grammask_apply_copy_64_few, 8, kFewWords, kCopy)
GM_APPLY(grammask_apply_copy_16, 2, kManyWords, kCopy)
GM_APPLY(grammask_apply_copy_32, 4, kManyWords, kCopy)
GM_APPLY(grammask_apply_copy_64, 8, kManyWords, kCopy)

// `blocks`: of a processor, at the least. Three of 512 threads leave 40 registers a thread, so that
// more warps wait for memory at a time (measured: 64 rows in 13 instead of 17 us).
#define GM_CHOOSE(name, what, format, blocks)                              \
  extern "C" __global__ void __launch_bounds__(gm::kSampleThreads, blocks) \
      name(const __grid_constant__ gm::what##Params p) {                   \
    __shared__ gm::what##Shared<gm::format> shared;                        \
    gm::what##Body<gm::format>(p, &shared);                                \
  }
GM_CHOOSE(grammask_argmax_f32, Argmax, Float32, 3)
GM_CHOOSE(grammask_argmax_f16, Argmax, Float16, 3)
GM_CHOOSE(grammask_argmax_bf16, Argmax, BFloat16, 3)
GM_CHOOSE(grammask_argmax_f64, Argmax, Float64, 3)
GM_CHOOSE(grammask_sample_f32, Sample, Float32, 2)
GM_CHOOSE(grammask_sample_f16, Sample, Float16, 2)
GM_CHOOSE(grammask_sample_bf16, Sample, BFloat16, 2)
GM_CHOOSE(grammask_sample_f64, Sample, Float64, 2)
