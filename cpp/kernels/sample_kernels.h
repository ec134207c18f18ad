// What the sampler needs of each instruction set: passes over one row of masked logits.
#ifndef GRAMMASK_KERNELS_SAMPLE_KERNELS_H_
#define GRAMMASK_KERNELS_SAMPLE_KERNELS_H_

#include <cstdint>

namespace grammask::internal {

inline constexpr int kSampleBlock = 256;  // columns of a block

// One row of logits and its mask: column c is governed by bit `offset` + c. The last block is what
// is left of the columns.
struct SampleRow {
  const void* logits;
  const int32_t* mask;
  int64_t offset;
  int64_t columns;
};

// The weight of a logit x is exp((x - largest) * scale), and 0 where x < floor, is NaN or refused.
// `largest` is finite, `scale` positive and finite.
template <class Value>
struct SampleScale {
  Value largest, scale, floor;
};

// Value is float, or double for float64 logits.
template <class Value>
struct SampleKernels {
  // The largest allowed logit of each block (-inf where there is none) and of the row.
  Value (*block_maxima)(const SampleRow& row, Value* maxima);
  // The sum of the weights of each block and of the row.
  double (*block_sums)(const SampleRow& row, const SampleScale<Value>& scale, double* sums);
  // The weights of one block, all kSampleBlock of them.
  void (*block_weights)(const SampleRow& row, int64_t block, const SampleScale<Value>& scale,
                        float* weights);
  // Columns and values of what is allowed and at least `floor` in one block; their number. Both
  // have room for kSampleBlock.
  int (*collect)(const SampleRow& row, int64_t block, Value floor, int32_t* columns, Value* values);
  // The weights of `count` allowed values.
  void (*dense_weights)(const Value* values, int64_t count, const SampleScale<Value>& scale,
                        float* weights);
};

struct SampleTable {
  const SampleKernels<float>* float32;
  const SampleKernels<float>* float16;
  const SampleKernels<float>* bfloat16;
  const SampleKernels<double>* float64;
};

// Vectors of 16 bytes, which the baseline of x86-64 and AArch64 has; of 32 and of 64.
const SampleTable& SampleTableBaseline();
const SampleTable& SampleTableAvx2();
const SampleTable& SampleTableAvx512();

}  // namespace grammask::internal

#endif  // GRAMMASK_KERNELS_SAMPLE_KERNELS_H_
