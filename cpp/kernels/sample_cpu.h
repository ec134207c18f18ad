// Choosing tokens from masked logits on the CPU, without writing the logits.
#ifndef GRAMMASK_KERNELS_SAMPLE_CPU_H_
#define GRAMMASK_KERNELS_SAMPLE_CPU_H_

#include <cstdint>
#include <span>

#include "kernels/apply_cpu.h"

namespace grammask::internal {

// How the token of a row is drawn; grammask.h says what each means and may be.
struct SampleParameters {
  uint64_t seed = 0, offset = 0;
  double temperature = 1;
  int64_t top_k = 0;
  double top_p = 1, min_p = 0;
};

// For row i of `row_indices` the allowed token with the largest logit, the lowest of equal ones:
// tokens[i], which counts from the vocabulary's start, and values[i], its logit. NaN is never
// chosen; where nothing can be, the token is -1 and the value minus infinity. Rows may stand twice.
// Spread over threads as ApplyMaskToRows is, with results that do not depend on them or on `isa`.
void MaskedArgmaxRows(const MaskedRows& rows, std::span<const int32_t> row_indices, CpuIsa isa,
                      int64_t* tokens, float* values);

// One token drawn for each of `row_indices`; `parameters` holds one entry for each of them, or one
// for all.
void MaskedSampleRows(const MaskedRows& rows, std::span<const int32_t> row_indices,
                      std::span<const SampleParameters> parameters, CpuIsa isa, int64_t* tokens);

}  // namespace grammask::internal

#endif  // GRAMMASK_KERNELS_SAMPLE_CPU_H_
