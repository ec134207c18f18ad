// The samplers of every instruction set against the plain sequence, written out for one row: apply,
// sort, cut, cumulative sums.
#include "kernels/sample_cpu.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // setenv

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/parallel.h"
#include "kernels/philox.h"

namespace grammask::internal {
namespace {

// Threads, however few processors there are.
[[maybe_unused]] const int kThreads = setenv("GRAMMASK_CPU_THREADS", "3", /*overwrite=*/0);

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr CpuIsa kAllIsas[] = {CpuIsa::kScalar, CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kNeon};

// A logit as it is stored, and the value of what is stored, computed by the definition of the
// format.
double Decode(LogitFormat format, uint64_t bits) {
  switch (format) {
    case LogitFormat::kFloat32:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case LogitFormat::kBFloat16:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits << 16)));
    case LogitFormat::kFloat64:
      return std::bit_cast<double>(bits);
    case LogitFormat::kFloat16: {
      const int exponent = static_cast<int>((bits >> 10) & 31);
      const auto fraction = static_cast<double>(bits & 1023);
      const double sign = (bits & 0x8000) != 0 ? -1 : 1;
      if (exponent == 31) {
        return fraction == 0 ? sign * kInfinity : std::numeric_limits<double>::quiet_NaN();
      }
      return exponent == 0 ? sign * std::ldexp(fraction, -24)
                           : sign * std::ldexp(1024 + fraction, exponent - 25);
    }
  }
  return 0;
}

uint64_t Encode(LogitFormat format, double value) {
  switch (format) {
    case LogitFormat::kFloat32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    case LogitFormat::kBFloat16:
      return std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16;
    case LogitFormat::kFloat64:
      return std::bit_cast<uint64_t>(value);
    case LogitFormat::kFloat16: {  // towards zero is good enough
      const uint64_t sign = std::signbit(value) ? 0x8000 : 0;
      if (std::isnan(value)) return sign | 0x7E00;
      const double size = std::abs(value);
      if (size >= 65504) return sign | (std::isinf(value) ? 0x7C00 : 0x7BFF);
      uint64_t low = 0, high = 0x7BFF;
      while (low < high) {
        const uint64_t middle = (low + high + 1) / 2;
        (Decode(format, middle) <= size ? low : high) =
            Decode(format, middle) <= size ? middle : middle - 1;
      }
      return sign | low;
    }
  }
  return 0;
}

struct Case {
  LogitFormat format = LogitFormat::kFloat32;
  int64_t rows = 1, columns = 0, stride = 0, offset = 0, words = 0;
  std::vector<unsigned char> logits;
  std::vector<int32_t> mask;

  Case(LogitFormat f, int64_t rows_, int64_t columns_, int64_t offset_)
      : format(f),
        rows(rows_),
        columns(columns_),
        stride(columns_ + 3),
        offset(offset_),
        words((offset_ + columns_ + 31) / 32),
        logits(static_cast<size_t>(rows_ * stride * 8 + 8)),
        mask(static_cast<size_t>(rows_ * words)) {}
  void Set(int64_t row, int64_t column, double value) {
    const uint64_t bits = Encode(format, value);
    const auto bytes = static_cast<size_t>(LogitBytes(format));
    std::memcpy(logits.data() + static_cast<size_t>(row * stride + column) * bytes, &bits, bytes);
  }
  double Get(int64_t row, int64_t column) const {
    uint64_t bits = 0;
    const auto bytes = static_cast<size_t>(LogitBytes(format));
    std::memcpy(&bits, logits.data() + static_cast<size_t>(row * stride + column) * bytes, bytes);
    return Decode(format, bits);
  }
  void Allow(int64_t row, int64_t column, bool allowed) {
    const int64_t token = offset + column;
    int32_t& word = mask[static_cast<size_t>(row * words + token / 32)];
    const auto bit = static_cast<int32_t>(1u << (token % 32));
    word = allowed ? word | bit : word & ~bit;
  }
  bool Allowed(int64_t row, int64_t column) const {
    const int64_t token = offset + column;
    return ((static_cast<uint32_t>(mask[static_cast<size_t>(row * words + token / 32)]) >>
             (token % 32)) &
            1) != 0;
  }
  MaskedRows View() { return {format, logits.data(), stride, mask.data(), words, columns, offset}; }
};

int64_t PlainArgmax(const Case& c, int64_t row) {
  int64_t best = -1;
  for (int64_t i = 0; i < c.columns; ++i) {
    const double x = c.Get(row, i);
    if (!c.Allowed(row, i) || std::isnan(x)) continue;
    if (best < 0 || x > c.Get(row, best)) best = i;
  }
  return best;
}

// The tokens kept, their weights, and how far the cuts are from another answer, relatively.
struct Plain {
  std::vector<int64_t> kept;
  std::vector<double> weights;
  double margin = 1;
};

Plain PlainKept(const Case& c, int64_t row, const SampleParameters& p) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < c.columns; ++i) {
    if (c.Allowed(row, i) && c.Get(row, i) > -kInfinity) order.push_back(i);
  }
  Plain plain;
  if (order.empty()) return plain;
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return c.Get(row, a) > c.Get(row, b); });
  const double largest = c.Get(row, order[0]);
  const auto weight = [&](int64_t i) {
    return std::exp((c.Get(row, i) - largest) / p.temperature);
  };
  const auto cut_below = [&](double floor) {
    while (!order.empty() && c.Get(row, order.back()) < floor) order.pop_back();
  };
  if (p.top_k > 0 && p.top_k < static_cast<int64_t>(order.size())) {
    cut_below(c.Get(row, order[static_cast<size_t>(p.top_k - 1)]));
  }
  double total = 0;
  for (const int64_t i : order) total += weight(i);
  if (p.top_p < 1) {
    double sum = 0;
    for (const int64_t i : order) {
      sum += weight(i);
      plain.margin = std::min(plain.margin, std::abs(sum / total - p.top_p));
      if (sum >= p.top_p * total) {
        cut_below(c.Get(row, i));
        break;
      }
    }
  }
  for (const int64_t i : order) {
    if (p.min_p == 0 || c.Get(row, i) == largest) continue;
    plain.margin = std::min(plain.margin, std::abs(weight(i) / p.min_p - 1));
  }
  std::erase_if(order, [&](int64_t i) { return weight(i) < p.min_p; });
  std::sort(order.begin(), order.end());
  plain.kept = order;
  for (const int64_t i : order) plain.weights.push_back(weight(i));
  return plain;
}

// Whether `column` is what u draws, up to rounding of the sums.
testing::AssertionResult IsDrawn(const Plain& plain, double uniform, int64_t column) {
  if (plain.kept.empty()) {
    return column == -1 ? testing::AssertionSuccess()
                        : testing::AssertionFailure() << column << " of nothing";
  }
  double total = 0, before = 0;
  for (const double w : plain.weights) total += w;
  for (size_t i = 0; i < plain.kept.size(); ++i) {
    const double after = before + plain.weights[i];
    if (plain.kept[i] == column) {
      if (uniform * total > before - 3e-6 * total && uniform * total < after + 3e-6 * total) {
        return testing::AssertionSuccess();
      }
      return testing::AssertionFailure() << column << " covers " << before / total << " to "
                                         << after / total << ", u is " << uniform;
    }
    before = after;
  }
  return testing::AssertionFailure() << column << " was cut";
}

void FillRow(Case* c, int64_t row, int kind, std::mt19937_64* random) {
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < c->columns; ++i) {
    double x = normal(*random) * 3;
    switch (kind) {
      case 0:
        break;
      case 1:  // many ties
        x = static_cast<double>((*random)() % 5);
        break;
      case 2:  // what no one should send
        if ((*random)() % 4 == 0) x = std::numeric_limits<double>::quiet_NaN();
        if ((*random)() % 4 == 0) x = -kInfinity;
        break;
      case 3:  // one stands out
        x = i == c->columns / 2 ? 30 : x;
        break;
      default:  // subnormal, zero of both signs
        x = (static_cast<double>((*random)() % 7) - 3) * 6e-8;
        if ((*random)() % 3 == 0) x = (*random)() % 2 == 0 ? 0.0 : -0.0;
    }
    c->Set(row, i, x);
  }
  const uint64_t open = (*random)() % 4;
  for (int64_t i = 0; i < c->columns; ++i) {
    c->Allow(row, i, open == 0 || (open == 1 ? (*random)() % 2 == 0 : (*random)() % 50 == 0));
  }
}

class SampleCpuTest : public testing::TestWithParam<LogitFormat> {};

TEST_P(SampleCpuTest, ArgmaxOfEveryWidthAndShard) {
  std::mt19937_64 random(21);
  for (int trial = 0; trial < 400; ++trial) {
    Case c(GetParam(), 2, static_cast<int64_t>(random() % 700),
           static_cast<int64_t>(random() % 100));
    for (int64_t row = 0; row < 2; ++row) FillRow(&c, row, trial % 5, &random);
    if (trial % 7 == 0 && c.columns > 0) c.Set(1, c.columns - 1, kInfinity);
    const auto before = c.logits;
    const std::vector<int32_t> rows = {1, 0, 1};
    for (const CpuIsa isa : kAllIsas) {
      if (!CpuIsaSupported(isa)) continue;
      std::vector<int64_t> tokens(3);
      std::vector<float> values(3);
      MaskedArgmaxRows(c.View(), rows, isa, tokens.data(), values.data());
      for (size_t i = 0; i < rows.size(); ++i) {
        const int64_t want = PlainArgmax(c, rows[i]);
        ASSERT_EQ(tokens[i], want < 0 ? -1 : want + c.offset)
            << "trial " << trial << " " << CpuIsaName(isa);
        ASSERT_EQ(values[i], want < 0 ? -kInfinity : static_cast<float>(c.Get(rows[i], want)));
      }
    }
    ASSERT_EQ(c.logits, before);
  }
}

TEST_P(SampleCpuTest, SampleIsThePlainSequence) {
  std::mt19937_64 random(22);
  int close = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    Case c(GetParam(), 1, 1 + static_cast<int64_t>(random() % (trial % 10 == 0 ? 9000 : 900)), 0);
    FillRow(&c, 0, trial % 5, &random);
    const double temperatures[] = {1, 0.5, 2, 0.05, 1e-30, 1e30};
    const double top_ps[] = {1, 0.9, 0.5, 1e-6, 0.9999};
    const double min_ps[] = {0, 0, 0.1, 1, 1e-5};
    SampleParameters p;
    p.seed = random();
    p.offset = random();
    p.temperature = temperatures[random() % 6];
    p.top_k = random() % 2 == 0 ? 0 : 1 + static_cast<int64_t>(random() % 60) * (trial % 40);
    p.top_p = top_ps[random() % 5];
    p.min_p = min_ps[random() % 5];
    const Plain plain = PlainKept(c, 0, p);
    const double uniform = SampleUniform(p.seed, p.offset, 0);
    int64_t first = -2;
    for (const CpuIsa isa : kAllIsas) {
      if (!CpuIsaSupported(isa)) continue;
      int64_t token = -2;
      const std::vector<int32_t> rows = {0};
      MaskedSampleRows(c.View(), rows, std::span(&p, 1), isa, &token);
      if (first == -2) first = token;
      ASSERT_EQ(token, first) << CpuIsaName(isa) << " differs, trial " << trial;
    }
    if (first >= 0) {
      ASSERT_TRUE(c.Allowed(0, first)) << trial;
    }
    if (plain.margin < 3e-6) {  // rounding decides what is cut
      ++close;
      continue;
    }
    if (p.top_k == 1) {
      ASSERT_EQ(first, plain.kept.empty() ? PlainArgmax(c, 0) : plain.kept[0]) << trial;
    } else {
      ASSERT_TRUE(IsDrawn(plain, uniform, first))
          << "trial " << trial << ": temperature " << p.temperature << ", top_k " << p.top_k
          << ", top_p " << p.top_p << ", min_p " << p.min_p;
    }
  }
  EXPECT_LT(close, 250);
}

TEST_P(SampleCpuTest, CornerCases) {
  const auto sample = [](Case* c, SampleParameters p) {
    int64_t token = -2;
    const std::vector<int32_t> rows = {0};
    MaskedSampleRows(c->View(), rows, std::span(&p, 1), *ChosenCpuIsa(), &token);
    return token;
  };
  Case c(GetParam(), 1, 300, 0);
  for (int64_t i = 0; i < 300; ++i) c.Set(0, i, static_cast<double>(i % 7));
  EXPECT_EQ(sample(&c, {}), -1) << "nothing allowed";
  c.Allow(0, 256, true);
  EXPECT_EQ(sample(&c, {}), 256) << "one allowed";
  c.Allow(0, 6, true);
  c.Allow(0, 13, true);
  SampleParameters greedy;
  greedy.temperature = 0;
  EXPECT_EQ(sample(&c, greedy), 6) << "the lowest of equal ones";
  c.Set(0, 13, kInfinity);
  EXPECT_EQ(sample(&c, {}), 13) << "plus infinity";
  c.Set(0, 6, kInfinity);
  EXPECT_EQ(sample(&c, {}), 6);
  for (const int64_t i : {6, 13, 256}) c.Set(0, i, -kInfinity);
  EXPECT_EQ(sample(&c, {}), -1) << "no weight";
  EXPECT_EQ(sample(&c, greedy), 6) << "argmax may choose minus infinity";
  for (const int64_t i : {6, 13, 256}) c.Set(0, i, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(sample(&c, greedy), -1) << "but not NaN";
}

// Rows on threads give what one row at a time gives.
TEST_P(SampleCpuTest, ManyRowsOnThreads) {
  std::mt19937_64 random(24);
  Case c(GetParam(), 80, 20'000, 0);
  ASSERT_GE(c.rows * c.columns * LogitBytes(c.format), kParallelBytes);
  for (int64_t row = 0; row < c.rows; ++row) FillRow(&c, row, 0, &random);
  std::vector<int32_t> rows(static_cast<size_t>(c.rows));
  std::vector<SampleParameters> parameters(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<int32_t>((i * 7) % rows.size());
    parameters[i] = {
        i, 5, 0.5 + static_cast<double>(i % 4), i % 2 == 0 ? 0 : 20, i % 3 == 0 ? 1 : 0.8, 0};
  }
  std::vector<int64_t> together(rows.size());
  MaskedSampleRows(c.View(), rows, parameters, *ChosenCpuIsa(), together.data());
  for (size_t i = 0; i < rows.size(); ++i) {
    int64_t alone = -2;
    MaskedSampleRows(c.View(), std::span(&rows[i], 1), std::span(&parameters[i], 1),
                     *ChosenCpuIsa(), &alone);
    ASSERT_EQ(together[i], alone) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, SampleCpuTest,
                         testing::Values(LogitFormat::kFloat32, LogitFormat::kFloat16,
                                         LogitFormat::kBFloat16, LogitFormat::kFloat64),
                         [](const auto& info) {
                           return std::string(std::vector<std::string>{
                               "f32", "f16", "bf16", "f64"}[static_cast<size_t>(info.param)]);
                         });

}  // namespace
}  // namespace grammask::internal
