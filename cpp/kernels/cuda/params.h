// What the host hands to the CUDA kernels: plain structures of one layout on both sides, passed by
// value. Strides count elements; all pointers are device pointers.
#ifndef GRAMMASK_KERNELS_CUDA_PARAMS_H_
#define GRAMMASK_KERNELS_CUDA_PARAMS_H_

#include <cstdint>

namespace grammask::internal::cuda {

// Threads of a block of every kernel here.
inline constexpr int kThreads = 256;
inline constexpr int kSampleThreads = 512;

// Words of the mask that a warp of apply takes: with few rows, so that they are spread over the
// whole GPU, and with many, where reading the mask is what costs.
inline constexpr int kFewWords = 8;
inline constexpr int kManyWords = 32;

// Vocabularies are smaller than this, so that kernels count slots and tokens in 32 bits.
inline constexpr int32_t kMaxTokens = 1 << 28;

// Rows of a list that travel with the launch; longer lists take several launches.
inline constexpr int kInlineRows = 128;
enum class RowsFrom : int32_t { kAll, kInline, kDevice32, kDevice64 };

// Which rows a launch works on: item i is row first + i, row listed[i], or row device[i]. A row of
// `device` outside [0, rows) is skipped, as the host cannot see it.
struct RowList {
  const void* device;
  int64_t items, rows;
  int64_t first;
  RowsFrom from;
  int32_t listed[kInlineRows];
};

// Logits and the masks that govern them: column c of a row by bit vocab_offset + c of its mask row.
struct MaskedLogits {
  const void* logits;
  int64_t logits_stride;
  const int32_t* mask;
  int64_t mask_stride;
  int32_t vocab_offset;
  int32_t columns;  // vocab_offset + columns is at most kMaxTokens
};

// Apply. In place `out` is `logits`, and only columns [0, columns) are written. Out of place
// columns [columns, out_columns) are copied.
struct ApplyParams {
  MaskedLogits in;
  void* out;
  int64_t out_stride;
  int32_t out_columns;
  uint32_t minus_infinity[2];  // its stored bits, repeated or split to fill 8 bytes
  RowList rows;
};

// Argmax: tokens[i] and, unless null, values[i] for item i.
struct ArgmaxParams {
  MaskedLogits in;
  int64_t* tokens;
  float* values;
  RowList rows;
};

// A number for all items, or one an item in device memory.
template <class T>
struct PerItem {
  const T* device;  // null: `same`
  T same;
};

struct SampleParams {
  MaskedLogits in;
  int64_t* tokens;
  PerItem<uint64_t> seed, offset;
  PerItem<float> temperature;
  PerItem<int64_t> top_k;
  PerItem<double> top_p, min_p;
  RowList rows;
};

}  // namespace grammask::internal::cuda

#endif  // GRAMMASK_KERNELS_CUDA_PARAMS_H_
