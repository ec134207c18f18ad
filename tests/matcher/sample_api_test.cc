// The public calls that choose tokens: what they answer, and what they refuse.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "grammask/grammask.h"

namespace grammask {
namespace {

struct Arrays {
  std::vector<float> logits = {1, 5, 3, 4, 9, 0, 2, 2};
  std::vector<int32_t> mask = {0b0101, 0b1110};
  ApplyArgs args() {
    ApplyArgs a;
    a.logits = logits.data();
    a.logits_rows = 2;
    a.logits_columns = a.logits_stride = 4;
    a.mask = mask.data();
    a.mask_rows = 2;
    a.mask_words = a.mask_stride = 1;
    a.vocab_size = 4;
    return a;
  }
};

TEST(SampleApi, ArgmaxOfAllRowsAndOfSome) {
  Arrays a;
  std::vector<int64_t> tokens(2);
  std::vector<float> values(2);
  ASSERT_TRUE(MaskedArgmaxCpu(a.args(), tokens, values).ok());
  EXPECT_EQ(tokens, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(values, (std::vector<float>{3, 2}));
  ApplyArgs args = a.args();
  const std::array<int32_t, 1> second = {1};
  args.indices = second;
  args.vocab_size = 2;
  tokens.resize(1);
  values.resize(1);
  ASSERT_TRUE(MaskedArgmaxCpu(args, tokens, values).ok());
  EXPECT_EQ(tokens[0], 1);
}

TEST(SampleApi, AShardCountsFromTheVocabulary) {
  Arrays a;
  a.mask = {static_cast<int32_t>(0b0101u << 3), -1};
  ApplyArgs args = a.args();
  args.vocab_offset = 3;
  std::vector<int64_t> tokens(2);
  std::vector<float> values(2);
  ASSERT_TRUE(MaskedArgmaxCpu(args, tokens, values).ok());
  EXPECT_EQ(tokens, (std::vector<int64_t>{5, 3}));
  args.vocab_offset = 32;  // past the mask
  ASSERT_TRUE(MaskedArgmaxCpu(args, tokens, values).ok());
  EXPECT_EQ(tokens, (std::vector<int64_t>{-1, -1}));
  EXPECT_EQ(values[0], -std::numeric_limits<float>::infinity());
}

TEST(SampleApi, SamplesAreAllowed) {
  Arrays a;
  std::vector<int64_t> tokens(2);
  std::vector<SamplingParameters> parameters(2);
  for (uint64_t step = 0; step < 100; ++step) {
    parameters[0].offset = parameters[1].offset = step;
    ASSERT_TRUE(MaskedSampleCpu(a.args(), parameters, tokens).ok());
    EXPECT_TRUE(tokens[0] == 0 || tokens[0] == 2);
    EXPECT_TRUE(tokens[1] >= 1 && tokens[1] <= 3);
  }
}

TEST(SampleApi, Refusals) {
  Arrays a;
  std::vector<int64_t> tokens(2, 77);
  std::vector<float> values(2);
  std::vector<float> few(1);
  EXPECT_FALSE(MaskedArgmaxCpu(a.args(), tokens, few).ok());
  ApplyArgs args = a.args();
  args.mask_rows = 1;
  EXPECT_FALSE(MaskedArgmaxCpu(args, tokens, values).ok());
  args = a.args();
  args.vocab_offset = -1;
  EXPECT_FALSE(MaskedArgmaxCpu(args, tokens, values).ok());
  EXPECT_FALSE(MaskedSampleCpu(a.args(), std::vector<SamplingParameters>(3), tokens).ok());
  struct Bad {
    const char* name;
    SamplingParameters parameters;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Bad& bad :
       {Bad{"temperature", {.temperature = -1}}, Bad{"temperature", {.temperature = nan}},
        Bad{"top_k", {.top_k = -1}}, Bad{"top_p", {.top_p = 0}}, Bad{"top_p", {.top_p = nan}},
        Bad{"min_p", {.min_p = 1.5}}}) {
    const Status status = MaskedSampleCpu(a.args(), {&bad.parameters, 1}, tokens);
    EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
    EXPECT_EQ(status.message().rfind(std::string(bad.name) + " is ", 0), 0u) << status.message();
  }
  const std::array<SamplingParameters, 2> second = {SamplingParameters{}, {.top_p = 2}};
  EXPECT_EQ(MaskedSampleCpu(a.args(), second, tokens).message(),
            "top_p of row 1 is 2.000000; it must be over 0 and at most 1");
  EXPECT_EQ(tokens, (std::vector<int64_t>{77, 77}));
}

}  // namespace
}  // namespace grammask
