// Applying packed token masks to logits on the CPU. Standard headers only: no other stage is known
// here.
#ifndef GRAMMASK_KERNELS_APPLY_CPU_H_
#define GRAMMASK_KERNELS_APPLY_CPU_H_

#include <cstdint>
#include <span>

namespace grammask::internal {

// How one logit is stored: IEEE binary32, binary16, bfloat16, binary64.
enum class LogitFormat : uint8_t { kFloat32, kFloat16, kBFloat16, kFloat64 };

// Rows of logits and the rows of masks that belong to them. Strides count elements (logits, mask
// words) from one row to the next. Rows of either array must not overlap.
struct MaskedRows {
  LogitFormat format;
  void* logits;  // aligned as its format wants
  int64_t logits_stride;
  const int32_t* mask;  // column c is allowed when bit (c & 31) of word (c >> 5) is set
  int64_t mask_stride;
  int64_t columns;  // only the first `columns` of each row are read or written
};

// Sets the refused ones among the first `columns` logits of rows [0, row_count) to minus infinity.
// Allowed logits keep their bits, NaN payloads included. The bits of the last mask word past
// `columns` are not looked at. Different rows may be given to different threads.
void ApplyMaskToRows(const MaskedRows& rows, int64_t row_count);

// The same for the rows named; naming one twice has no further effect.
void ApplyMaskToRows(const MaskedRows& rows, std::span<const int32_t> row_indices);

}  // namespace grammask::internal

#endif  // GRAMMASK_KERNELS_APPLY_CPU_H_
