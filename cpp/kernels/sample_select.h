// The threshold above which enough mass lies, without sorting.
#ifndef GRAMMASK_KERNELS_SAMPLE_SELECT_H_
#define GRAMMASK_KERNELS_SAMPLE_SELECT_H_

#include <cstdint>
#include <span>
#include <vector>

namespace grammask::internal {

// Memory that one call leaves for the next. Not thread-safe.
template <class Value>
struct SelectScratch {
  std::vector<uint64_t> keys;
  std::vector<float> masses;
  std::vector<double> bins;
};

// The largest of `values` such that those that are at least as large have masses that sum to
// `target` or more; the smallest value where rounding keeps the sum below. `values` holds no NaN
// and is not empty; -0 and +0 are equal. Without `masses` each value has mass 1: target k asks for
// the k-th largest.
template <class Value>
Value SelectThreshold(std::span<const Value> values, std::span<const float> masses, double target,
                      SelectScratch<Value>* scratch);

}  // namespace grammask::internal

#endif  // GRAMMASK_KERNELS_SAMPLE_SELECT_H_
