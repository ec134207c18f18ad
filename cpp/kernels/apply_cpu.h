// Applying packed token masks to logits on the CPU.
#ifndef GRAMMASK_KERNELS_APPLY_CPU_H_
#define GRAMMASK_KERNELS_APPLY_CPU_H_

#include <cstdint>
#include <span>

#include "kernels/cpu_isa.h"

namespace grammask::internal {

// How one logit is stored: IEEE binary32, binary16, bfloat16, binary64.
enum class LogitFormat : uint8_t { kFloat32, kFloat16, kBFloat16, kFloat64 };

inline int64_t LogitBytes(LogitFormat format) {
  return format == LogitFormat::kFloat32 ? 4 : format == LogitFormat::kFloat64 ? 8 : 2;
}

// Rows of logits and the rows of masks that belong to them. Strides count elements (logits, mask
// words) from one row to the next. Rows of either array must not overlap.
struct MaskedRows {
  LogitFormat format;
  void* logits;  // aligned as its format wants
  int64_t logits_stride;
  const int32_t* mask;  // token t is allowed when bit (t & 31) of word (t >> 5) is set
  int64_t mask_stride;
  int64_t columns;           // only the first `columns` of each row are read or written
  int64_t vocab_offset = 0;  // the token of column 0; not negative
};

// Sets the refused ones among the first `columns` logits of rows [0, row_count) to minus infinity.
// Allowed logits keep their bits, NaN payloads included. Mask words without a bit of these columns
// are not read. Large calls are spread over the threads of KernelParts; the result is the same for
// any number of them and any `isa`, which must be supported.
void ApplyMaskToRows(const MaskedRows& rows, int64_t row_count, CpuIsa isa);

// The same for the rows named; naming one twice has no further effect.
void ApplyMaskToRows(const MaskedRows& rows, std::span<const int32_t> row_indices, CpuIsa isa);

}  // namespace grammask::internal

#endif  // GRAMMASK_KERNELS_APPLY_CPU_H_
