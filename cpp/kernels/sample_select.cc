// Values and masses -> the threshold above which a wanted mass lies.
//
// Radix selection from the largest value on: values become integers in the same order, a histogram
// over the highest bits in which they differ is summed from above until the mass is reached, and
// only the values of that bin go on to the next round. Example: masses .5, .3, .2 of values 3, 2, 1
// and target .7: after the bin of 3 there is .2 left to find, in the bin of 2. Sums are taken in
// the order of the values given, so the result does not depend on the machine.
//
// Cost: a pass over all values and a few over ever fewer; at most 4 rounds for float, 8 for double.
// Tested by tests/kernels/sample_select_test.cc against sorting.
#include "kernels/sample_select.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace grammask::internal {
namespace {

uint64_t KeyOf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value + 0.0f);  // -0 becomes +0
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}
uint64_t KeyOf(double value) {
  const auto bits = std::bit_cast<uint64_t>(value + 0.0);
  return (bits >> 63) != 0 ? ~bits : bits | (uint64_t{1} << 63);
}
float ValueOf(uint64_t key, float /*type*/) {
  const auto bits = static_cast<uint32_t>(key);
  return std::bit_cast<float>((bits >> 31) != 0 ? bits ^ 0x80000000u : ~bits);
}
double ValueOf(uint64_t key, double /*type*/) {
  return std::bit_cast<double>((key >> 63) != 0 ? key ^ (uint64_t{1} << 63) : ~key);
}

}  // namespace

template <class Value>
Value SelectThreshold(std::span<const Value> values, std::span<const float> masses, double target,
                      SelectScratch<Value>* scratch) {
  auto& keys = scratch->keys;
  auto& mass = scratch->masses;
  auto& bins = scratch->bins;
  size_t n = values.size();
  keys.resize(n);
  for (size_t i = 0; i < n; ++i) keys[i] = KeyOf(values[i]);
  const bool weighted = !masses.empty();
  if (weighted) mass.assign(masses.begin(), masses.end());
  while (true) {
    uint64_t smallest = keys[0], largest = keys[0];
    for (size_t i = 1; i < n; ++i) {
      smallest = std::min(smallest, keys[i]);
      largest = std::max(largest, keys[i]);
    }
    const uint64_t range = largest - smallest;
    if (range == 0) return ValueOf(smallest, Value{});
    const int bits = n > 4096 ? 11 : 8;
    const int shift = std::max(static_cast<int>(std::bit_width(range)) - bits, 0);
    bins.assign(static_cast<size_t>(range >> shift) + 1, 0.0);
    for (size_t i = 0; i < n; ++i) {
      bins[static_cast<size_t>((keys[i] - smallest) >> shift)] += weighted ? mass[i] : 1.0f;
    }
    // Empty bins are passed, as what is left to find stays positive; the last bin is not empty.
    size_t bin = bins.size() - 1;
    while (bin > 0 && bins[bin] < target) target -= bins[bin--];
    if (shift == 0) return ValueOf(smallest + bin, Value{});
    size_t kept = 0;
    for (size_t i = 0; i < n; ++i) {
      if (((keys[i] - smallest) >> shift) != bin) continue;
      keys[kept] = keys[i];
      if (weighted) mass[kept] = mass[i];
      ++kept;
    }
    n = kept;
  }
}

template float SelectThreshold(std::span<const float>, std::span<const float>, double,
                               SelectScratch<float>*);
template double SelectThreshold(std::span<const double>, std::span<const float>, double,
                                SelectScratch<double>*);

}  // namespace grammask::internal
