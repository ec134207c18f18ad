// The CUDA kernels that choose tokens, run on the host, against their definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/params.h"
#include "kernels/cuda/sample_body.h"
#include "kernels/cuda_host/simt_emulator.h"
#include "kernels/philox.h"

namespace grammask::internal::cuda {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Logits of one format, as stored bytes and as numbers.
struct Row {
  std::string format;
  std::vector<unsigned char> memory;
  size_t bytes, shift;
  std::vector<double> values;
  const void* data() const { return memory.data() + shift; }
};

float FromHalf(uint16_t bits) { return HalfToFloat(bits); }

// Rounds `value` to the format (towards zero for the 16-bit ones) and appends it.
void Append(Row* row, double value) {
  auto push = [&](const void* bits) {
    const auto* begin = static_cast<const unsigned char*>(bits);
    row->memory.insert(row->memory.end(), begin, begin + row->bytes);
  };
  const auto single = static_cast<float>(value);
  if (row->format == "f64") {
    push(&value);
    row->values.push_back(value);
  } else if (row->format == "f32") {
    push(&single);
    row->values.push_back(single);
  } else if (row->format == "bf16") {
    const auto bits = static_cast<uint16_t>(FloatBits(single) >> 16 | (single != single ? 64 : 0));
    push(&bits);
    row->values.push_back(FloatOf(uint32_t{bits} << 16));
  } else {
    // The nearest below in magnitude, found by counting up: tests only.
    uint16_t bits = std::signbit(single) ? 0x8000 : 0;
    if (single != single) {
      bits = 0x7E01;
    } else {
      uint16_t low = 0, high = 0x7C00;
      while (low < high) {
        const auto middle = static_cast<uint16_t>((low + high + 1) / 2);
        if (FromHalf(middle) <= std::fabs(single)) {
          low = middle;
        } else {
          high = static_cast<uint16_t>(middle - 1);
        }
      }
      bits = static_cast<uint16_t>(bits | low);
    }
    push(&bits);
    row->values.push_back(FromHalf(bits));
  }
}

Row MakeRow(const std::string& format, size_t shift, const std::vector<double>& values) {
  Row row{format, {}, format == "f32" ? 4u : format == "f64" ? 8u : 2u, 0, {}};
  row.memory.reserve((values.size() + 64) * row.bytes);
  // From a place `shift` elements past a multiple of 16.
  const auto address = reinterpret_cast<uintptr_t>(row.memory.data());
  row.shift = (16 - address % 16) % 16 + shift * row.bytes;
  row.memory.resize(row.shift);
  for (const double value : values) Append(&row, value);
  row.memory.resize((values.size() + 64) * row.bytes);  // reading whole slots stays inside
  return row;
}

std::vector<double> RandomValues(size_t columns, int kind, std::mt19937_64* random) {
  std::normal_distribution<double> normal(0, 3);
  const double special[] = {kInf, -kInf, NAN, 0.0, -0.0, 1.5, -1.5, 60000.0};
  std::vector<double> values(columns);
  for (double& value : values) {
    value = normal(*random);
    if (kind == 1) value = std::round(value);                                 // many ties
    if (kind == 2 && (*random)() % 4 == 0) value = special[(*random)() % 8];  // with infinities
    if (kind == 3 && (*random)() % 4 == 0) value = special[1 + (*random)() % 7];
    if (kind == 4) value = (*random)() % 2 == 0 ? -kInf : NAN;
  }
  return values;
}

std::vector<int32_t> RandomMask(size_t words, int kind, std::mt19937_64* random) {
  std::vector<int32_t> mask(words);
  for (int32_t& word : mask) {
    const uint64_t bits = (*random)();
    word = kind == 0   ? -1
           : kind == 1 ? static_cast<int32_t>(bits)
           : kind == 2 ? (bits % 8 == 0 ? static_cast<int32_t>(1u << (bits >> 59)) : 0)
                       : 0;
  }
  return mask;
}

bool Allows(const std::vector<int32_t>& mask, size_t token) {
  return ((static_cast<uint32_t>(mask[token / 32]) >> (token % 32)) & 1) != 0;
}

MaskedLogits View(const Row& row, const std::vector<int32_t>& mask, int32_t vocab_offset) {
  const auto columns = static_cast<int32_t>(row.values.size());
  return {row.data(),   columns, mask.data(), static_cast<int64_t>(mask.size()),
          vocab_offset, columns};
}

const LaunchShape kShapes[] = {
    {1, 64, 1, ThreadOrder::kForward},  {1, 64, 1, ThreadOrder::kBackward},
    {2, 64, 2, ThreadOrder::kShuffled}, {1, 256, 1, ThreadOrder::kShuffled},
    {4, 96, 4, ThreadOrder::kBackward}, {8, 64, 8, ThreadOrder::kForward},
    {1, 128, 1, ThreadOrder::kAhead},   {2, 64, 2, ThreadOrder::kAheadBackward},
};

class CudaChooseTest : public testing::TestWithParam<const char*> {
 protected:
  int64_t Argmax(const Row& row, const std::vector<int32_t>& mask, int32_t offset,
                 const LaunchShape& shape, float* value) {
    ArgmaxParams p{};
    int64_t token = -77;
    p.in = View(row, mask, offset);
    p.tokens = &token;
    p.values = value;
    p.rows = {nullptr, 1, 1, 0, RowsFrom::kAll, {}};
    EXPECT_EQ(RunKernel("grammask_argmax_" + row.format, shape, &p), "");
    return token;
  }
  std::mt19937_64 random_{5};
};

TEST_P(CudaChooseTest, ArgmaxIsTheFirstLargestAllowed) {
  for (int trial = 0; trial < 80; ++trial) {
    const size_t columns = trial % 3 == 0 ? random_() % 40 : random_() % 900;
    const auto offset = static_cast<int32_t>(trial % 2 == 0 ? 0 : random_() % 70);
    const Row row = MakeRow(GetParam(), trial % 8, RandomValues(columns, trial % 5, &random_));
    const auto mask =
        RandomMask((static_cast<size_t>(offset) + columns + 31) / 32, trial / 5 % 4, &random_);
    int64_t want = -1;
    double best = -kInf;
    for (size_t c = 0; c < columns; ++c) {
      const double value = row.values[c];
      if (!Allows(mask, c + static_cast<size_t>(offset)) || std::isnan(value)) continue;
      if (want < 0 || value > best) {
        want = static_cast<int64_t>(c) + offset;
        best = value;
      }
    }
    float value = 7;
    const LaunchShape& shape = kShapes[static_cast<size_t>(trial) % std::size(kShapes)];
    ASSERT_EQ(Argmax(row, mask, offset, shape, &value), want) << row.format << " " << trial;
    ASSERT_EQ(value, static_cast<float>(best)) << row.format << " " << trial;
  }
}

TEST_P(CudaChooseTest, TiesGoToTheLowestTokenInAnyOrderOfThreads) {
  const std::vector<int32_t> mask(40, -1);
  for (const LaunchShape& shape : kShapes) {
    std::vector<double> values(1200, 1.0);
    values[700] = values[701] = values[1100] = 2.0;
    ASSERT_EQ(Argmax(MakeRow(GetParam(), 1, values), mask, 0, shape, nullptr), 700);
    values.assign(1200, -0.0);
    values[900] = 0.0;
    ASSERT_EQ(Argmax(MakeRow(GetParam(), 3, values), mask, 5, shape, nullptr), 5);
  }
}

struct Settings {
  float temperature = 1;
  int64_t top_k = 0;
  double top_p = 1, min_p = 0;
  uint64_t seed = 1, offset = 0;
};

// What may be kept and drawn, computed plainly in double.
struct Plain {
  std::vector<double> weights;  // 0 for what is not kept
  double total = 0;
  int64_t forced = -2;  // the only right answer, where there is one
};
Plain PlainSample(const Row& row, const std::vector<int32_t>& mask, const Settings& s) {
  Plain plain;
  const size_t columns = row.values.size();
  plain.weights.assign(columns, 0);
  std::vector<double> x;
  int64_t best = -1;
  for (size_t c = 0; c < columns; ++c) {
    const double value = row.values[c];
    if (!Allows(mask, c) || std::isnan(value)) continue;
    x.push_back(value);
    if (best < 0 || value > row.values[static_cast<size_t>(best)]) best = static_cast<int64_t>(c);
  }
  if (best < 0) {
    plain.forced = -1;
    return plain;
  }
  const double largest = row.values[static_cast<size_t>(best)];
  if (s.temperature == 0 || s.top_k == 1 || largest == kInf) {
    plain.forced = best;
    return plain;
  }
  if (largest == -kInf) {
    plain.forced = -1;
    return plain;
  }
  std::sort(x.begin(), x.end(), std::greater<>());
  double threshold = -kInf;
  if (s.top_k > 0 && static_cast<size_t>(s.top_k) < x.size()) {
    threshold = x[static_cast<size_t>(s.top_k) - 1];
  }
  auto weight = [&](double value) { return std::exp((value - largest) / double{s.temperature}); };
  double total = 0;
  for (const double value : x) {
    if (value >= threshold) total += weight(value);
  }
  if (s.top_p < 1) {
    double sum = 0;
    for (const double value : x) {
      sum += weight(value);
      if (sum >= s.top_p * total) {
        threshold = std::max(threshold, value);
        break;
      }
    }
  }
  for (size_t c = 0; c < columns; ++c) {
    const double value = row.values[c];
    if (!Allows(mask, c) || !(value >= threshold) || value == -kInf) continue;
    const double w = weight(value);
    if (w < s.min_p) continue;
    plain.weights[c] = w;
    plain.total += w;
  }
  return plain;
}

int64_t Sample(const Row& row, const std::vector<int32_t>& mask, const Settings& s,
               const LaunchShape& shape) {
  SampleParams p{};
  int64_t token = -77;
  p.in = View(row, mask, 0);
  p.tokens = &token;
  p.seed.same = s.seed;
  p.offset.same = s.offset;
  p.temperature.same = s.temperature;
  p.top_k.same = s.top_k;
  p.top_p.same = s.top_p;
  p.min_p.same = s.min_p;
  p.rows = {nullptr, 1, 1, 0, RowsFrom::kAll, {}};
  EXPECT_EQ(RunKernel("grammask_sample_" + row.format, shape, &p), "");
  return token;
}

TEST_P(CudaChooseTest, SamplesAsTheDefinitionDoes) {
  for (int trial = 0; trial < 60; ++trial) {
    const size_t columns = trial % 4 == 0 ? random_() % 20 : random_() % 900;
    const Row row = MakeRow(GetParam(), trial % 8, RandomValues(columns, trial % 5, &random_));
    const auto mask = RandomMask((columns + 31) / 32, trial / 5 % 4, &random_);
    Settings s;
    s.seed = random_();
    s.offset = random_() % 1000;
    const float temperatures[] = {1.0f, 0.7f, 0.0f, 2.5f, 0.05f, 1e-30f, 1e30f};
    s.temperature = temperatures[random_() % 7];
    if (random_() % 2 == 0) s.top_k = static_cast<int64_t>(random_() % 60);
    if (random_() % 2 == 0) s.top_p = 0.0137 + 0.98 * static_cast<double>(random_() % 1000) / 1000;
    if (random_() % 3 == 0) s.min_p = 0.0123 + 0.5 * static_cast<double>(random_() % 1000) / 1000;
    const LaunchShape& shape = kShapes[random_() % std::size(kShapes)];
    const int64_t token = Sample(row, mask, s, shape);
    const Plain plain = PlainSample(row, mask, s);
    const std::string what = row.format + ", trial " + std::to_string(trial);
    if (plain.forced != -2) {
      ASSERT_EQ(token, plain.forced) << what;
      continue;
    }
    ASSERT_GE(token, 0) << what;
    ASSERT_LT(token, static_cast<int64_t>(columns)) << what;
    ASSERT_GT(plain.weights[static_cast<size_t>(token)], 0) << what << ", token " << token;
    double before = 0;
    for (int64_t c = 0; c < token; ++c) before += plain.weights[static_cast<size_t>(c)];
    const double target = SampleUniform(s.seed, s.offset, 0) * plain.total;
    const double slack = plain.total * 2e-5;  // float32's exp of (logit - largest) / temperature
    ASSERT_LE(before, target + slack) << what;
    ASSERT_GE(before + plain.weights[static_cast<size_t>(token)], target - slack) << what;
    for (const LaunchShape& other : kShapes) {
      if (trial % 25 == 0) {
        ASSERT_EQ(Sample(row, mask, s, other), token) << what;
      }
    }
  }
}

TEST_P(CudaChooseTest, LargeRowsAreTheSameInAnyOrderAndDivision) {
  // So many columns for so few threads that a tile takes several rounds.
  const size_t bytes = MakeRow(GetParam(), 0, {}).bytes, columns = 140002 / bytes;
  const Row row = MakeRow(GetParam(), 3, RandomValues(columns, 0, &random_));
  const auto mask = RandomMask(columns / 32 + 1, 1, &random_);
  for (uint64_t seed = 0; seed < 3; ++seed) {
    Settings s;
    s.seed = seed;
    s.temperature = 3;
    if (seed == 1) s.top_k = 5000;
    if (seed == 2) s.top_p = 0.95;
    const int64_t token = Sample(row, mask, s, {1, 64, 1, ThreadOrder::kForward});
    const Plain plain = PlainSample(row, mask, s);
    ASSERT_GT(plain.weights[static_cast<size_t>(token)], 0);
    double before = 0;
    for (int64_t c = 0; c < token; ++c) before += plain.weights[static_cast<size_t>(c)];
    const double target = SampleUniform(s.seed, s.offset, 0) * plain.total;
    ASSERT_LE(before, target + plain.total * 2e-5);
    ASSERT_GE(before + plain.weights[static_cast<size_t>(token)], target - plain.total * 2e-5);
    for (const LaunchShape& shape :
         {LaunchShape{1, 64, 1, ThreadOrder::kAhead}, LaunchShape{1, 64, 1, ThreadOrder::kShuffled},
          LaunchShape{1, 64, 1, ThreadOrder::kAheadBackward},
          LaunchShape{4, 96, 4, ThreadOrder::kAhead}}) {
      ASSERT_EQ(Sample(row, mask, s, shape), token);
    }
  }
}

TEST_P(CudaChooseTest, TiesAtThresholdsAreKept) {
  const std::vector<int32_t> mask(2, -1);
  std::vector<double> values(64, -1.0);
  values[3] = 2.0;
  values[10] = values[20] = values[30] = 1.0;
  const Row row = MakeRow(GetParam(), 1, values);
  std::vector<int> top_k(64), top_p(64);
  for (uint64_t offset = 0; offset < 60; ++offset) {
    Settings s;
    s.offset = offset;
    s.top_k = 2;
    ++top_k[static_cast<size_t>(Sample(row, mask, s, kShapes[offset % 2]))];
    s.top_k = 0;
    s.top_p = 0.25;  // token 3 has 0.22 of all, so it takes a second one: all its equals
    ++top_p[static_cast<size_t>(Sample(row, mask, s, kShapes[offset % 2]))];
  }
  for (const auto& counts : {top_k, top_p}) {
    for (size_t token = 0; token < 64; ++token) {
      const bool kept = token == 3 || token == 10 || token == 20 || token == 30;
      ASSERT_EQ(counts[token] > 0, kept) << token;
    }
  }
}

TEST(CudaDrawTest, DrawsByWeight) {
  // Many items of one row, so that one launch makes many draws; chi-square with 11 degrees of
  // freedom exceeds 31.3 once in 1,000 times, but seeds are fixed.
  std::vector<double> values(12);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.25 * static_cast<double>(i);
  const Row row = MakeRow("f32", 0, values);
  const std::vector<int32_t> mask(1, 0x7FF);  // not the last
  const size_t draws = 600;
  std::vector<int64_t> tokens(draws, -77);
  std::vector<uint64_t> offsets(draws);
  for (size_t i = 0; i < draws; ++i) offsets[i] = i;
  const std::vector<int32_t> rows(draws, 0);
  SampleParams p{};
  p.in = View(row, mask, 0);
  p.tokens = tokens.data();
  p.seed.same = 99;
  p.offset.device = offsets.data();
  p.temperature.same = 0.8f;
  p.top_p.same = 1;
  p.rows = {rows.data(), static_cast<int64_t>(draws), 1, 0, RowsFrom::kDevice32, {}};
  ASSERT_EQ(RunKernel("grammask_sample_f32", {static_cast<uint32_t>(draws), 64, 1}, &p), "");
  Settings s;
  s.temperature = 0.8f;
  const Plain plain = PlainSample(row, mask, s);
  double chi_square = 0;
  for (size_t token = 0; token < 11; ++token) {
    const double expected = plain.weights[token] / plain.total * static_cast<double>(draws);
    const auto seen =
        static_cast<double>(std::count(tokens.begin(), tokens.end(), static_cast<int64_t>(token)));
    chi_square += (seen - expected) * (seen - expected) / expected;
  }
  EXPECT_LT(chi_square, 31.3);
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), 11), 0);
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), -77), 0);
}

TEST_P(CudaChooseTest, RowsOutsideGiveNoToken) {
  const Row row = MakeRow(GetParam(), 0, {1.0, 2.0, 3.0});
  const std::vector<int32_t> mask(1, -1);
  const std::vector<int64_t> rows = {-1, 0, 1, INT64_MIN};
  std::vector<int64_t> tokens(4, -77), want = {-1, 2, -1, -1};
  std::vector<float> values(4, 7);
  ArgmaxParams a{};
  a.in = View(row, mask, 0);
  a.tokens = tokens.data();
  a.values = values.data();
  a.rows = {rows.data(), 4, 1, 0, RowsFrom::kDevice64, {}};
  ASSERT_EQ(RunKernel(std::string("grammask_argmax_") + GetParam(), {8, 64, 2}, &a), "");
  EXPECT_EQ(tokens, want);
  EXPECT_EQ(values, (std::vector<float>{-INFINITY, 3, -INFINITY, -INFINITY}));
  tokens.assign(4, -77);
  SampleParams s{};
  s.in = a.in;
  s.tokens = tokens.data();
  s.top_p.same = 1;
  s.rows = a.rows;
  ASSERT_EQ(RunKernel(std::string("grammask_sample_") + GetParam(), {8, 64, 2}, &s), "");
  EXPECT_EQ(tokens, want);
}

INSTANTIATE_TEST_SUITE_P(Formats, CudaChooseTest, testing::Values("f32", "f16", "bf16", "f64"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ExpOfNegativeTest, IsCloseAndNeverAboveOne) {
  EXPECT_EQ(ExpOfNegative(0.0f), 1.0f);
  EXPECT_EQ(ExpOfNegative(-0.0f), 1.0f);
  EXPECT_EQ(ExpOfNegative(-INFINITY), 0.0f);
  EXPECT_EQ(ExpOfNegative(NAN), 0.0f);
  for (int i = 1; i < 40000; ++i) {
    const float x = -0.001f * static_cast<float>(i);
    const double exact = std::exp(double{x});
    ASSERT_NEAR(ExpOfNegative(x), exact, exact * 3e-7) << x;
  }
}

TEST(ScaleForTest, SumsOfWeightsStayBelow63Bits) {
  EXPECT_EQ(ScaleFor(1), 0x1p44f);
  EXPECT_EQ(ScaleFor(1 << 18), 0x1p44f);
  EXPECT_EQ(ScaleFor((1 << 18) + 1), 0x1p43f);
  EXPECT_EQ(ScaleFor(kMaxTokens), 0x1p34f);
}

TEST(SharedSumTest, CarriesInAnyOrder) {
  const uint64_t values[] = {0xFFFFFFFFu, 1,          0x100000000u, 0xFFFFFFFF00000001u >> 8,
                             0,           0x80000000u};
  std::vector<int> order = {0, 1, 2, 3, 4, 5};
  do {
    SharedSum sum = {0, 0};
    uint64_t want = 0;
    for (const int i : order) {
      Add(&sum, values[i]);
      want += values[i];
      ASSERT_EQ(ValueOf(sum), want);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(SimtEmulatorTest, FindsBarriersThatNotAllThreadsComeTo) {
  const std::string error = RunLaunch({1, 64, 1}, 16, [](void*) {
    if (ThreadIndex() != 3) BlockBarrier();
  });
  EXPECT_NE(error.find("63 of 64 threads wait"), std::string::npos) << error;
}

}  // namespace
}  // namespace grammask::internal::cuda
