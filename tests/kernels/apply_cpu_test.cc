// The mask kernel against a loop over single tokens, on the bits of the logits.
#include "kernels/apply_cpu.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace grammask::internal {
namespace {

struct Format {
  LogitFormat format;
  size_t bytes;
  uint64_t minus_infinity, plus_infinity, quiet_nan, signalling_nan, negative_nan;
  const char* name;
};

const Format kFormats[] = {
    {LogitFormat::kFloat32, 4, 0xFF800000, 0x7F800000, 0x7FC12345, 0x7F812345, 0xFFC00001, "f32"},
    {LogitFormat::kFloat16, 2, 0xFC00, 0x7C00, 0x7E12, 0x7C01, 0xFE01, "f16"},
    {LogitFormat::kBFloat16, 2, 0xFF80, 0x7F80, 0x7FC1, 0x7F81, 0xFFC1, "bf16"},
    {LogitFormat::kFloat64, 8, 0xFFF0000000000000, 0x7FF0000000000000, 0x7FF8000000000123,
     0x7FF0000000000001, 0xFFF8000000000001, "f64"},
};

// Rows of logits by their stored bits, with guard elements before, between and after the rows.
class LogitRows {
 public:
  LogitRows(const Format& format, int64_t rows, int64_t stride, std::mt19937_64* random)
      : format_(format), stride_(stride), data_(static_cast<size_t>(rows * stride + 2) * 8) {
    for (int64_t i = 0; i < rows * stride; ++i) Set(i, RandomBits(random));
  }
  void* data() { return data_.data(); }
  uint64_t Get(int64_t index) const {
    uint64_t bits = 0;
    std::memcpy(&bits, data_.data() + static_cast<size_t>(index) * format_.bytes, format_.bytes);
    return bits;
  }
  void Set(int64_t index, uint64_t bits) {
    std::memcpy(data_.data() + static_cast<size_t>(index) * format_.bytes, &bits, format_.bytes);
  }
  int64_t stride() const { return stride_; }
  friend bool operator==(const LogitRows& a, const LogitRows& b) { return a.data_ == b.data_; }

 private:
  uint64_t RandomBits(std::mt19937_64* random) const {
    switch ((*random)() % 12) {
      case 0:
        return format_.plus_infinity;
      case 1:
        return format_.minus_infinity;
      case 2:
        return format_.quiet_nan;
      case 3:
        return format_.signalling_nan;
      case 4:
        return format_.negative_nan;
      case 5:
        return 0;
      default:
        return (*random)();
    }
  }
  Format format_;
  int64_t stride_;
  std::vector<unsigned char> data_;
};

enum class MaskKind { kAllOnes, kAllZeros, kRandom, kSparse, kWordsOfEachKind };

std::vector<int32_t> MakeMask(MaskKind kind, size_t words, std::mt19937_64* random) {
  std::vector<int32_t> mask(words);
  for (int32_t& word : mask) {
    switch (kind) {
      case MaskKind::kAllOnes:
        word = -1;
        break;
      case MaskKind::kAllZeros:
        word = 0;
        break;
      case MaskKind::kRandom:
        word = static_cast<int32_t>((*random)());
        break;
      case MaskKind::kSparse:
        word = static_cast<int32_t>(1u << ((*random)() % 32));
        break;
      case MaskKind::kWordsOfEachKind:
        switch ((*random)() % 4) {
          case 0:
            word = -1;
            break;
          case 1:
            word = 0;
            break;
          case 2:
            word = static_cast<int32_t>(0x80000000u);
            break;
          default:
            word = static_cast<int32_t>((*random)());
            break;
        }
    }
  }
  return mask;
}

void ApplyOneByOne(const Format& format, LogitRows* logits, const std::vector<int32_t>& mask,
                   int64_t mask_stride, int64_t columns, int64_t row) {
  for (int64_t c = 0; c < columns; ++c) {
    const auto word = static_cast<uint32_t>(mask[static_cast<size_t>(row * mask_stride + c / 32)]);
    if (((word >> (c % 32)) & 1) == 0) {
      logits->Set(row * logits->stride() + c, format.minus_infinity);
    }
  }
}

class ApplyCpuTest : public testing::TestWithParam<Format> {};

TEST_P(ApplyCpuTest, EveryWidthAndKindOfMask) {
  const Format& format = GetParam();
  std::mt19937_64 random(7);
  for (const MaskKind kind : {MaskKind::kAllOnes, MaskKind::kAllZeros, MaskKind::kRandom,
                              MaskKind::kSparse, MaskKind::kWordsOfEachKind}) {
    for (int64_t columns = 0; columns <= 200; ++columns) {
      LogitRows logits(format, 1, columns + 40, &random);
      LogitRows want = logits;
      const int64_t words = (columns + 31) / 32;
      const auto mask = MakeMask(kind, static_cast<size_t>(words), &random);
      ApplyMaskToRows({format.format, logits.data(), logits.stride(), mask.data(), words, columns},
                      1);
      ApplyOneByOne(format, &want, mask, words, columns, 0);
      ASSERT_EQ(logits, want) << format.name << ", " << columns << " columns, kind "
                              << static_cast<int>(kind);
    }
  }
}

TEST_P(ApplyCpuTest, EverySingleBitOfAWord) {
  const Format& format = GetParam();
  std::mt19937_64 random(11);
  for (const bool inverted : {false, true}) {
    for (int bit = 0; bit < 32; ++bit) {
      LogitRows logits(format, 1, 32, &random);
      LogitRows want = logits;
      const uint32_t word = (1u << bit) ^ (inverted ? 0xFFFFFFFFu : 0u);
      const std::vector<int32_t> mask = {static_cast<int32_t>(word)};
      ApplyMaskToRows({format.format, logits.data(), 32, mask.data(), 1, 32}, 1);
      ApplyOneByOne(format, &want, mask, 1, 32, 0);
      ASSERT_EQ(logits, want) << format.name << ", bit " << bit;
    }
  }
}

TEST_P(ApplyCpuTest, RowsStridesAndIndices) {
  const Format& format = GetParam();
  std::mt19937_64 random(13);
  for (int trial = 0; trial < 100; ++trial) {
    const int64_t rows = 1 + static_cast<int64_t>(random() % 6);
    const int64_t columns = static_cast<int64_t>(random() % 300);
    const int64_t words = (columns + 31) / 32;
    const int64_t mask_stride = words + static_cast<int64_t>(random() % 3);
    LogitRows logits(format, rows, columns + static_cast<int64_t>(random() % 40), &random);
    LogitRows want = logits;
    const auto mask =
        MakeMask(MaskKind::kWordsOfEachKind, static_cast<size_t>(rows * mask_stride), &random);
    const MaskedRows args{format.format, logits.data(), logits.stride(),
                          mask.data(),   mask_stride,   columns};
    if (trial % 2 == 0) {
      ApplyMaskToRows(args, rows);
      for (int64_t r = 0; r < rows; ++r) {
        ApplyOneByOne(format, &want, mask, mask_stride, columns, r);
      }
    } else {
      std::vector<int32_t> chosen;
      for (int64_t i = 0; i <= rows; ++i) {
        chosen.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(rows)));
      }
      ApplyMaskToRows(args, chosen);
      for (const int32_t r : chosen) ApplyOneByOne(format, &want, mask, mask_stride, columns, r);
    }
    ASSERT_EQ(logits, want) << format.name << ", trial " << trial;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ApplyCpuTest, testing::ValuesIn(kFormats),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace grammask::internal
