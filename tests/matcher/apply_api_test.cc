// The public call that applies masks: what it writes, and that it checks first and writes after.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "grammask/grammask.h"

namespace grammask {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Arrays {
  std::vector<float> logits = std::vector<float>(3 * 40, 1.0f);
  std::vector<int32_t> mask = std::vector<int32_t>(3 * 2, 0);
  ApplyArgs args() {
    ApplyArgs a;
    a.logits = logits.data();
    a.logits_rows = 3;
    a.logits_columns = a.logits_stride = 40;
    a.mask = mask.data();
    a.mask_rows = 3;
    a.mask_words = a.mask_stride = 2;
    a.vocab_size = 40;
    return a;
  }
};

TEST(ApplyApi, AllRowsInOrder) {
  Arrays a;
  a.mask = {-1, -1, 1, 0, 0, 0x80};
  ASSERT_TRUE(ApplyTokenBitmaskInplaceCpu(a.args()).ok());
  for (size_t c = 0; c < 40; ++c) {
    EXPECT_EQ(a.logits[c], 1.0f);
    EXPECT_EQ(a.logits[40 + c], c == 0 ? 1.0f : -kInf) << c;
    EXPECT_EQ(a.logits[80 + c], c == 39 ? 1.0f : -kInf) << c;
  }
}

TEST(ApplyApi, OnlyTheRowsNamedAndOnlyVocabSizeColumns) {
  Arrays a;
  const std::array<int32_t, 2> rows = {2, 0};
  ApplyArgs args = a.args();
  args.indices = rows;
  args.vocab_size = 33;
  ASSERT_TRUE(ApplyTokenBitmaskInplaceCpu(args).ok());
  for (size_t c = 0; c < 40; ++c) {
    EXPECT_EQ(a.logits[c], c < 33 ? -kInf : 1.0f) << c;
    EXPECT_EQ(a.logits[40 + c], 1.0f) << c;
    EXPECT_EQ(a.logits[80 + c], c < 33 ? -kInf : 1.0f) << c;
  }
}

TEST(ApplyApi, NoMoreColumnsThanTheMaskCovers) {
  Arrays a;
  ApplyArgs args = a.args();
  args.mask_words = 1;
  args.vocab_size = 1'000'000;
  ASSERT_TRUE(ApplyTokenBitmaskInplaceCpu(args).ok());
  for (size_t c = 0; c < 40; ++c) EXPECT_EQ(a.logits[c], c < 32 ? -kInf : 1.0f) << c;
}

TEST(ApplyApi, NaNIsKeptWhereAllowedAndReplacedWhereNot) {
  Arrays a;
  a.mask = {2, 0, -1, -1, 0, 0};
  a.logits.assign(a.logits.size(), std::numeric_limits<float>::quiet_NaN());
  ASSERT_TRUE(ApplyTokenBitmaskInplaceCpu(a.args()).ok());
  EXPECT_EQ(a.logits[0], -kInf);
  EXPECT_TRUE(std::isnan(a.logits[1]));
  EXPECT_TRUE(std::isnan(a.logits[40]));
  EXPECT_EQ(a.logits[80], -kInf);
}

TEST(ApplyApi, EmptyArraysAreFine) {
  ApplyArgs args;
  EXPECT_TRUE(ApplyTokenBitmaskInplaceCpu(args).ok());
  Arrays a;
  args = a.args();
  args.vocab_size = 0;
  EXPECT_TRUE(ApplyTokenBitmaskInplaceCpu(args).ok());
  EXPECT_EQ(a.logits[0], 1.0f);
}

TEST(ApplyApi, RefusesBeforeWriting) {
  struct Case {
    const char* what;
    void (*spoil)(ApplyArgs*);
    StatusCode code;
    const char* message_part;
  };
  static const std::array<int32_t, 3> kTooFar = {0, 1, 3};
  static const std::array<int32_t, 2> kNegative = {0, -1};
  static const std::array<int32_t, 2> kBeyondMask = {0, 2};
  const Case cases[] = {
      {"null logits", [](ApplyArgs* a) { a->logits = nullptr; }, StatusCode::kInvalidArgument,
       "logits is null"},
      {"null mask", [](ApplyArgs* a) { a->mask = nullptr; }, StatusCode::kInvalidArgument,
       "mask is null"},
      {"rows differ", [](ApplyArgs* a) { a->mask_rows = 2; }, StatusCode::kInvalidArgument,
       "3 rows and the mask 2"},
      {"index too large", [](ApplyArgs* a) { a->indices = kTooFar; }, StatusCode::kOutOfRange,
       "indices[2] is 3"},
      {"index negative", [](ApplyArgs* a) { a->indices = kNegative; }, StatusCode::kOutOfRange,
       "indices[1] is -1"},
      {"index beyond the mask",
       [](ApplyArgs* a) {
         a->mask_rows = 2;
         a->indices = kBeyondMask;
       },
       StatusCode::kOutOfRange, "indices[1] is 2"},
      {"negative vocabulary", [](ApplyArgs* a) { a->vocab_size = -1; },
       StatusCode::kInvalidArgument, "vocab_size is -1"},
      {"negative rows", [](ApplyArgs* a) { a->logits_rows = -1; }, StatusCode::kInvalidArgument,
       "negative shape"},
      {"overlapping logits", [](ApplyArgs* a) { a->logits_stride = 39; },
       StatusCode::kInvalidArgument, "row stride of logits"},
      {"overlapping masks", [](ApplyArgs* a) { a->mask_stride = 1; }, StatusCode::kInvalidArgument,
       "row stride of mask"},
      {"negative stride", [](ApplyArgs* a) { a->logits_stride = -40; },
       StatusCode::kInvalidArgument, "row stride of logits"},
      {"misaligned", [](ApplyArgs* a) { a->logits = static_cast<char*>(a->logits) + 1; },
       StatusCode::kInvalidArgument, "aligned"},
      {"unknown type", [](ApplyArgs* a) { a->type = static_cast<LogitsType>(9); },
       StatusCode::kInvalidArgument, "unknown type"},
  };
  for (const Case& c : cases) {
    Arrays a;
    ApplyArgs args = a.args();
    c.spoil(&args);
    const Status status = ApplyTokenBitmaskInplaceCpu(args);
    EXPECT_EQ(status.code(), c.code) << c.what;
    EXPECT_NE(status.message().find(c.message_part), std::string::npos)
        << c.what << ": " << status.message();
    EXPECT_EQ(a.logits, std::vector<float>(3 * 40, 1.0f)) << c.what;
  }
}

TEST(BitmaskSize, RoundsUp) {
  EXPECT_EQ(GetBitmaskSize(0), 0);
  EXPECT_EQ(GetBitmaskSize(1), 1);
  EXPECT_EQ(GetBitmaskSize(32), 1);
  EXPECT_EQ(GetBitmaskSize(33), 2);
  EXPECT_EQ(GetBitmaskSize(129'280), 4040);
  EXPECT_EQ(GetBitmaskSize(std::numeric_limits<int>::max()), 67'108'864);
}

}  // namespace
}  // namespace grammask
