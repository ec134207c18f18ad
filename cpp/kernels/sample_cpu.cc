// Masked logits to tokens: the largest, or one drawn at random, in two or three passes over a row.
//
// The first pass finds the largest allowed logit of each block of 256 columns, hence of the row.
// Without top-k and top-p a second pass sums the weights exp((x - largest) / temperature) by
// blocks; u times their sum falls into a block, and only its weights are made once more to find the
// token.
//
// Top-k, top-p and min-p each keep what is at least a threshold, so the largest threshold decides.
// None needs the row sorted. Top-k: the k-th largest of the blocks' maxima is a bound below which
// the k-th largest logit cannot lie; only blocks that reach it are looked at again, and among the
// few candidates a radix selection (sample_select.h) finds it. Top-p: what weighs less than the
// part to be cut off divided by the number of columns cannot be the threshold, as all of it
// together weighs less than that part; the rest are candidates. Example: of weights 1, .5, .1, .1
// and top_p .8 (1.36 of 1.7), candidates weigh at least .085, and the threshold is .5.
//
// The draw never relies on rounding: where the sum of the weights falls short of u times itself,
// the last token with a weight is taken. Cost: two passes at some 10 us each for 128,000 float32;
// candidates about 5 ns each. Tested by tests/kernels/sample_cpu_test.cc and
// tests/python/test_sampling.py.
#include "kernels/sample_cpu.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/parallel.h"
#include "kernels/philox.h"
#include "kernels/sample_kernels.h"
#include "kernels/sample_select.h"

namespace grammask::internal {
namespace {

const SampleTable& TableOf(CpuIsa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case CpuIsa::kAvx2:
      return SampleTableAvx2();
    case CpuIsa::kAvx512:
      return SampleTableAvx512();
#endif
    default:
      return SampleTableBaseline();
  }
}

// Memory that one row leaves for the next, and the steps of one row. Value is float or double.
template <class Value>
class RowSampler {
 public:
  explicit RowSampler(const SampleKernels<Value>& kernels) : kernels_(kernels) {}

  // The column of the largest allowed logit, -1 where there is none, and the logit.
  int64_t Argmax(const SampleRow& row, Value* largest) {
    Open(row);
    *largest = largest_;
    return First(largest_);
  }

  int64_t Sample(const SampleRow& row, const SampleParameters& p, double uniform) {
    Open(row);
    if (p.temperature == 0 || p.top_k == 1 || largest_ == kInfinity) return First(largest_);
    if (largest_ == -kInfinity) return -1;
    temperature_ = p.temperature;
    scale_ = {largest_, Scale(p.temperature), MinPFloor(p.min_p)};
    const bool by_count = p.top_k > 0 && p.top_k < row.columns;
    if (!by_count && p.top_p >= 1) return DrawFromBlocks(uniform);
    if (by_count) {
      CollectTopK(p.top_k);
    } else {
      CollectTopP(p.top_p);
    }
    if (p.top_p < 1) CutTopP(p.top_p);
    return values_.size() > kManyCandidates ? DrawFromBlocks(uniform) : DrawFromCandidates(uniform);
  }

 private:
  static constexpr Value kInfinity = std::numeric_limits<Value>::infinity();
  static constexpr Value kLowest = std::numeric_limits<Value>::lowest();
  static constexpr size_t kManyCandidates = 4096;  // more are summed faster by vectors

  void Open(const SampleRow& row) {
    row_ = row;
    maxima_.resize(static_cast<size_t>((row.columns + kSampleBlock - 1) / kSampleBlock));
    largest_ = kernels_.block_maxima(row, maxima_.data());
  }

  // Finite and positive, so that no product with it makes a NaN.
  static Value Scale(double temperature) {
    return static_cast<Value>(std::clamp(1 / temperature,
                                         static_cast<double>(std::numeric_limits<Value>::min()),
                                         static_cast<double>(std::numeric_limits<Value>::max())));
  }

  // The logit whose weight is `weight`.
  double LogitOfWeight(double weight) const {
    return static_cast<double>(largest_) + temperature_ * std::log(weight);
  }

  // The smallest logit that weighs at least min_p.
  Value MinPFloor(double min_p) const {
    if (min_p <= 0) return kLowest;
    const double exact = LogitOfWeight(min_p);
    if (exact <= static_cast<double>(kLowest)) return kLowest;
    const auto floor = static_cast<Value>(exact);
    return static_cast<double>(floor) < exact ? std::nextafter(floor, kInfinity) : floor;
  }

  // The first column whose logit is at least `floor`.
  int64_t First(Value floor) {
    values_.resize(kSampleBlock);
    columns_.resize(kSampleBlock);
    for (size_t b = 0; b < maxima_.size(); ++b) {
      if (maxima_[b] < floor) continue;
      if (kernels_.collect(row_, static_cast<int64_t>(b), floor, columns_.data(), values_.data()) >
          0) {
        return columns_[0];
      }
    }
    return -1;
  }

  // What is at least `floor`, in the order of columns.
  void CollectFrom(Value floor) {
    size_t count = 0;
    for (size_t b = 0; b < maxima_.size(); ++b) {
      if (!(maxima_[b] >= floor)) continue;
      if (values_.size() < count + kSampleBlock) {
        values_.resize(2 * count + kSampleBlock);
        columns_.resize(2 * count + kSampleBlock);
      }
      count += static_cast<size_t>(kernels_.collect(
          row_, static_cast<int64_t>(b), floor, columns_.data() + count, values_.data() + count));
    }
    values_.resize(count);
    columns_.resize(count);
  }

  void WeighCandidates() {
    weights_.resize(values_.size());
    const SampleScale<Value> all = {scale_.largest, scale_.scale, -kInfinity};
    kernels_.dense_weights(values_.data(), static_cast<int64_t>(values_.size()), all,
                           weights_.data());
  }

  // Collects the k largest, and what equals the last of them.
  void CollectTopK(int64_t k) {
    Value bound = kLowest;
    if (static_cast<size_t>(k) <= maxima_.size()) {
      std::vector<Value>& order = order_;
      order = maxima_;
      std::nth_element(order.begin(), order.begin() + (k - 1), order.end(), std::greater<>());
      bound = std::max(bound, order[static_cast<size_t>(k - 1)]);
    }
    CollectFrom(bound);
    if (values_.size() > static_cast<size_t>(k)) {
      const Value floor = SelectThreshold<Value>(values_, {}, static_cast<double>(k), &select_);
      DropBelow(floor);
      scale_.floor = std::max(scale_.floor, floor);
    }
    WeighCandidates();
    total_ = 0;
    for (const float weight : weights_) total_ += static_cast<double>(weight);
  }

  void DropBelow(Value floor) {
    size_t kept = 0;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i] < floor) continue;
      values_[kept] = values_[i];
      columns_[kept++] = columns_[i];
    }
    values_.resize(kept);
    columns_.resize(kept);
  }

  // Collects what top-p might keep.
  void CollectTopP(double top_p) {
    const SampleScale<Value> all = {scale_.largest, scale_.scale, kLowest};
    sums_.resize(maxima_.size());
    total_ = kernels_.block_sums(row_, all, sums_.data());
    // Half of it, so that no rounding of weights or logits reaches the bound.
    const double least = 0.5 * (1 - top_p) * total_ / static_cast<double>(row_.columns);
    const double bound =
        least > 0 ? LogitOfWeight(least) : -std::numeric_limits<double>::infinity();
    CollectFrom(bound > static_cast<double>(kLowest) ? static_cast<Value>(bound) : kLowest);
    WeighCandidates();
  }

  // Raises the floor to what top-p keeps of the candidates, which weigh total_ with those that
  // CollectTopP left out.
  void CutTopP(double top_p) {
    const Value floor = SelectThreshold<Value>(values_, weights_, top_p * total_, &select_);
    scale_.floor = std::max(scale_.floor, floor);
  }

  int64_t DrawFromBlocks(double uniform) {
    sums_.resize(maxima_.size());
    const double target = uniform * kernels_.block_sums(row_, scale_, sums_.data());
    double sum = 0;
    size_t last = 0;
    for (size_t b = 0; b < sums_.size(); ++b) {
      if (sums_[b] == 0) continue;
      last = b;
      if (sum + sums_[b] > target) break;
      sum += sums_[b];
    }
    weights_.resize(kSampleBlock);
    kernels_.block_weights(row_, static_cast<int64_t>(last), scale_, weights_.data());
    int64_t chosen = -1;
    for (size_t i = 0; i < kSampleBlock; ++i) {
      if (weights_[i] == 0) continue;
      chosen = static_cast<int64_t>(last * kSampleBlock + i);
      sum += static_cast<double>(weights_[i]);
      if (sum > target) break;
    }
    return chosen;
  }

  int64_t DrawFromCandidates(double uniform) {
    double total = 0;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i] >= scale_.floor) total += static_cast<double>(weights_[i]);
    }
    const double target = uniform * total;
    double sum = 0;
    int64_t chosen = -1;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!(values_[i] >= scale_.floor) || weights_[i] == 0) continue;
      chosen = columns_[i];
      sum += static_cast<double>(weights_[i]);
      if (sum > target) break;
    }
    return chosen;
  }

  const SampleKernels<Value>& kernels_;
  SampleRow row_{};
  Value largest_ = 0;
  double temperature_ = 1, total_ = 0;
  SampleScale<Value> scale_{};
  std::vector<Value> maxima_, order_, values_;  // candidates: values_, columns_ and weights_
  std::vector<int32_t> columns_;
  std::vector<float> weights_;
  std::vector<double> sums_;
  SelectScratch<Value> select_;
};

// Calls work(sampler, i, row) for each of `indices`, on the kernels' threads. A row takes the time
// in which the memory would give it `effort` times.
template <class Value, class Work>
void ForRows(const MaskedRows& rows, std::span<const int32_t> indices, int64_t effort,
             const SampleKernels<Value>& kernels, Work work) {
  const auto count = static_cast<int64_t>(indices.size());
  const int64_t bytes = count * rows.columns * LogitBytes(rows.format) * effort;
  const int64_t parts =
      bytes < kParallelBytes ? std::min<int64_t>(count, 1) : std::min<int64_t>(count, 64);
  KernelParts(parts, bytes, [&](int64_t part) {
    RowSampler<Value> sampler(kernels);
    for (int64_t i = part * count / parts; i < (part + 1) * count / parts; ++i) {
      const int64_t row = indices[static_cast<size_t>(i)];
      const char* const logits = static_cast<const char*>(rows.logits) +
                                 row * rows.logits_stride * LogitBytes(rows.format);
      work(sampler, static_cast<size_t>(i),
           SampleRow{logits, rows.mask + row * rows.mask_stride, rows.vocab_offset, rows.columns});
    }
  });
}

template <class Work>
void ForRowsOfFormat(const MaskedRows& rows, std::span<const int32_t> indices, int64_t effort,
                     CpuIsa isa, Work work) {
  const SampleTable& table = TableOf(isa);
  switch (rows.format) {
    case LogitFormat::kFloat32:
      return ForRows(rows, indices, effort, *table.float32, work);
    case LogitFormat::kFloat16:
      return ForRows(rows, indices, effort, *table.float16, work);
    case LogitFormat::kBFloat16:
      return ForRows(rows, indices, effort, *table.bfloat16, work);
    case LogitFormat::kFloat64:
      return ForRows(rows, indices, effort, *table.float64, work);
  }
}

}  // namespace

void MaskedArgmaxRows(const MaskedRows& rows, std::span<const int32_t> row_indices, CpuIsa isa,
                      int64_t* tokens, float* values) {
  ForRowsOfFormat(rows, row_indices, 2, isa, [&](auto& sampler, size_t i, const SampleRow& row) {
    std::conditional_t<std::is_same_v<decltype(sampler), RowSampler<double>&>, double, float> value;
    const int64_t column = sampler.Argmax(row, &value);
    tokens[i] = column < 0 ? -1 : rows.vocab_offset + column;
    values[i] = static_cast<float>(value);
  });
}

void MaskedSampleRows(const MaskedRows& rows, std::span<const int32_t> row_indices,
                      std::span<const SampleParameters> parameters, CpuIsa isa, int64_t* tokens) {
  ForRowsOfFormat(rows, row_indices, 8, isa, [&](auto& sampler, size_t i, const SampleRow& row) {
    const SampleParameters& p = parameters[parameters.size() == 1 ? 0 : i];
    const double uniform = SampleUniform(p.seed, p.offset, static_cast<uint32_t>(row_indices[i]));
    const int64_t column = sampler.Sample(row, p, uniform);
    tokens[i] = column < 0 ? -1 : rows.vocab_offset + column;
  });
}

}  // namespace grammask::internal
