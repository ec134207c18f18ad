// Threshold selection against sorting.
#include "kernels/sample_select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace grammask::internal {
namespace {

template <class Value>
class SelectTest : public testing::Test {};
using Values = testing::Types<float, double>;
TYPED_TEST_SUITE(SelectTest, Values);

// Values of several shapes: spread over all magnitudes, close together, few distinct ones, all
// equal.
template <class Value>
std::vector<Value> MakeValues(int shape, size_t n, std::mt19937_64* random) {
  std::vector<Value> values(n);
  std::normal_distribution<double> normal;
  for (Value& v : values) {
    switch (shape) {
      case 0:
        v = static_cast<Value>(normal(*random) * std::exp(normal(*random) * 20));
        break;
      case 1:
        v = static_cast<Value>(15 + normal(*random) * 1e-4);
        break;
      case 2:
        v = static_cast<Value>(static_cast<int>((*random)() % 9)) - 4;
        break;
      case 3:
        v = static_cast<Value>(-7.25);
        break;
      default:
        v = static_cast<Value>(normal(*random));
    }
  }
  if (n > 2) values[1] = -values[0];
  return values;
}

TYPED_TEST(SelectTest, TheKthLargest) {
  std::mt19937_64 random(3);
  SelectScratch<TypeParam> scratch;
  for (int shape = 0; shape < 5; ++shape) {
    for (const size_t n : {1, 2, 3, 100, 5000}) {
      const auto values = MakeValues<TypeParam>(shape, n, &random);
      auto sorted = values;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      for (const size_t k : {size_t{1}, size_t{2}, n / 3, n - 1, n}) {
        if (k < 1 || k > n) continue;
        ASSERT_EQ(SelectThreshold<TypeParam>(values, {}, static_cast<double>(k), &scratch),
                  sorted[k - 1])
            << "shape " << shape << ", " << n << " values, k " << k;
      }
    }
  }
}

TYPED_TEST(SelectTest, MassesThatSumExactly) {
  std::mt19937_64 random(5);
  SelectScratch<TypeParam> scratch;
  for (int shape = 0; shape < 5; ++shape) {
    for (const size_t n : {1, 2, 17, 400, 6000}) {
      const auto values = MakeValues<TypeParam>(shape, n, &random);
      std::vector<float> masses(n);  // small integers: sums are exact in any order
      for (float& mass : masses) mass = static_cast<float>(random() % 4);
      masses[0] = 1;
      const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
      std::vector<size_t> order(n);
      std::iota(order.begin(), order.end(), size_t{0});
      std::sort(order.begin(), order.end(),
                [&](size_t a, size_t b) { return values[a] > values[b]; });
      for (const double part : {1e-9, 0.1, 0.5, 0.9, 1.0}) {
        const double target = total * part;
        double sum = 0;
        size_t i = 0;
        for (; i < n; ++i) {
          sum += static_cast<double>(masses[order[i]]);
          if (sum >= target) break;
        }
        ASSERT_EQ(SelectThreshold<TypeParam>(values, masses, target, &scratch), values[order[i]])
            << "shape " << shape << ", " << n << " values, part " << part;
      }
    }
  }
}

TYPED_TEST(SelectTest, ATargetOutOfReachKeepsAll) {
  SelectScratch<TypeParam> scratch;
  const std::vector<TypeParam> values = {3, -2, 5};
  const std::vector<float> masses = {.25f, .5f, .25f};
  EXPECT_EQ(SelectThreshold<TypeParam>(values, masses, 1.5, &scratch), TypeParam{-2});
}

TYPED_TEST(SelectTest, BothZerosAreEqual) {
  SelectScratch<TypeParam> scratch;
  const std::vector<TypeParam> values = {TypeParam{-0.0}, TypeParam{0.0}, 1};
  EXPECT_EQ(SelectThreshold<TypeParam>(values, {}, 2, &scratch), TypeParam{0});
  const std::vector<TypeParam> extremes = {std::numeric_limits<TypeParam>::lowest(),
                                           std::numeric_limits<TypeParam>::max(), 0};
  EXPECT_EQ(SelectThreshold<TypeParam>(extremes, {}, 3, &scratch),
            std::numeric_limits<TypeParam>::lowest());
}

}  // namespace
}  // namespace grammask::internal
