// The mask kernels of every instruction set that this machine has, against a loop over single
// tokens, on the bits of the logits.
#include "kernels/apply_cpu.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // setenv

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/parallel.h"

namespace grammask::internal {
namespace {

// Threads, however few processors there are.
[[maybe_unused]] const int kThreads = setenv("GRAMMASK_CPU_THREADS", "3", /*overwrite=*/0);

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

enum class MaskKind { kAllOnes, kAllZeros, kRandom, kSparse, kNearlyOpen, kWordsOfEachKind };

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
      case MaskKind::kNearlyOpen:
        word = static_cast<int32_t>(~((1u << ((*random)() % 32)) | (1u << ((*random)() % 32)) |
                                      ((*random)() % 4 == 0 ? 1u << ((*random)() % 32) : 0u)));
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
                   int64_t mask_stride, int64_t columns, int64_t row, int64_t offset = 0) {
  for (int64_t c = 0; c < columns; ++c) {
    const int64_t token = offset + c;
    const auto word =
        static_cast<uint32_t>(mask[static_cast<size_t>(row * mask_stride + token / 32)]);
    if (((word >> (token % 32)) & 1) == 0) {
      logits->Set(row * logits->stride() + c, format.minus_infinity);
    }
  }
}

std::vector<CpuIsa> SupportedIsas() {
  std::vector<CpuIsa> isas;
  for (const CpuIsa isa : {CpuIsa::kScalar, CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kNeon}) {
    if (CpuIsaSupported(isa)) isas.push_back(isa);
  }
  return isas;
}

class ApplyCpuTest : public testing::TestWithParam<std::tuple<Format, CpuIsa>> {
 protected:
  static const Format& format() { return std::get<0>(GetParam()); }
  static CpuIsa isa() { return std::get<1>(GetParam()); }
};

TEST_P(ApplyCpuTest, EveryWidthAndKindOfMask) {
  const Format& format = ApplyCpuTest::format();
  std::mt19937_64 random(7);
  for (const MaskKind kind :
       {MaskKind::kAllOnes, MaskKind::kAllZeros, MaskKind::kRandom, MaskKind::kSparse,
        MaskKind::kNearlyOpen, MaskKind::kWordsOfEachKind}) {
    for (int64_t columns = 0; columns <= 600; columns += columns < 200 ? 1 : 57) {
      LogitRows logits(format, 1, columns + 40, &random);
      LogitRows want = logits;
      const int64_t words = (columns + 31) / 32;
      const auto mask = MakeMask(kind, static_cast<size_t>(words), &random);
      ApplyMaskToRows({format.format, logits.data(), logits.stride(), mask.data(), words, columns},
                      1, isa());
      ApplyOneByOne(format, &want, mask, words, columns, 0);
      ASSERT_EQ(logits, want) << format.name << ", " << columns << " columns, kind "
                              << static_cast<int>(kind);
    }
  }
}

TEST_P(ApplyCpuTest, EverySingleBitOfAWord) {
  const Format& format = ApplyCpuTest::format();
  std::mt19937_64 random(11);
  for (const bool inverted : {false, true}) {
    for (int bit = 0; bit < 32; ++bit) {
      LogitRows logits(format, 1, 32, &random);
      LogitRows want = logits;
      const uint32_t word = (1u << bit) ^ (inverted ? 0xFFFFFFFFu : 0u);
      const std::vector<int32_t> mask = {static_cast<int32_t>(word)};
      ApplyMaskToRows({format.format, logits.data(), 32, mask.data(), 1, 32}, 1, isa());
      ApplyOneByOne(format, &want, mask, 1, 32, 0);
      ASSERT_EQ(logits, want) << format.name << ", bit " << bit;
    }
  }
}

TEST_P(ApplyCpuTest, RowsStridesAndIndices) {
  const Format& format = ApplyCpuTest::format();
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
      ApplyMaskToRows(args, rows, isa());
      for (int64_t r = 0; r < rows; ++r) {
        ApplyOneByOne(format, &want, mask, mask_stride, columns, r);
      }
    } else {
      std::vector<int32_t> chosen;
      for (int64_t i = 0; i <= rows; ++i) {
        chosen.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(rows)));
      }
      ApplyMaskToRows(args, chosen, isa());
      for (const int32_t r : chosen) ApplyOneByOne(format, &want, mask, mask_stride, columns, r);
    }
    ASSERT_EQ(logits, want) << format.name << ", trial " << trial;
  }
}

// A shard of the vocabulary: every alignment of the mask's bits, and of the logits in memory. The
// mask lies in memory of its own that ends with the last word needed, for sanitizers to see.
TEST_P(ApplyCpuTest, ShardsOfEveryAlignment) {
  const Format& format = ApplyCpuTest::format();
  std::mt19937_64 random(17);
  for (int64_t offset = 0; offset <= 70; ++offset) {
    for (const int64_t columns : {0, 1, 31, 32, 33, 64, 500, 512, 513, 1100}) {
      const int64_t start = static_cast<int64_t>(random() % 17);
      LogitRows logits(format, 1, start + columns + 40, &random);
      LogitRows want = logits;
      const int64_t words = (offset + columns + 31) / 32;
      const auto mask =
          MakeMask(static_cast<MaskKind>(random() % 6), static_cast<size_t>(words), &random);
      const std::unique_ptr<int32_t[]> exact(new int32_t[mask.size()]);
      std::copy(mask.begin(), mask.end(), exact.get());
      void* const first =
          static_cast<char*>(logits.data()) + static_cast<size_t>(start) * format.bytes;
      ApplyMaskToRows({format.format, first, 0, exact.get(), words, columns, offset}, 1, isa());
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t token = offset + c;
        if (((static_cast<uint32_t>(mask[static_cast<size_t>(token / 32)]) >> (token % 32)) & 1) ==
            0) {
          want.Set(start + c, format.minus_infinity);
        }
      }
      ASSERT_EQ(logits, want) << format.name << ", offset " << offset << ", " << columns
                              << " columns";
    }
  }
}

// Large enough for several threads, by rows and by columns, rows named twice too.
TEST_P(ApplyCpuTest, ManyThreads) {
  const Format& format = ApplyCpuTest::format();
  std::mt19937_64 random(19);
  struct Shape {
    int64_t rows, columns;
  };
  for (const auto& [rows, columns] : {Shape{200, 5501}, Shape{3, 350'001}}) {
    ASSERT_GE(rows * columns * static_cast<int64_t>(format.bytes), kParallelBytes);
    const int64_t words = (columns + 31) / 32 + 1;
    LogitRows logits(format, rows, columns + 3, &random);
    const auto mask =
        MakeMask(MaskKind::kWordsOfEachKind, static_cast<size_t>(rows * words), &random);
    LogitRows want = logits, some = logits, want_some = logits;
    ApplyMaskToRows({format.format, logits.data(), columns + 3, mask.data(), words, columns, 5},
                    rows, isa());
    for (int64_t r = 0; r < rows; ++r) {
      ApplyOneByOne(format, &want, mask, words, columns, r, 5);
    }
    ASSERT_EQ(logits, want) << format.name;
    std::vector<int32_t> twice;
    for (int64_t r = 0; r < 2 * rows; r += 2) twice.push_back(static_cast<int32_t>(r % rows));
    ApplyMaskToRows({format.format, some.data(), columns + 3, mask.data(), words, columns, 5},
                    twice, isa());
    for (const int32_t r : twice) ApplyOneByOne(format, &want_some, mask, words, columns, r, 5);
    ASSERT_EQ(some, want_some) << format.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ApplyCpuTest,
                         testing::Combine(testing::ValuesIn(kFormats),
                                          testing::ValuesIn(SupportedIsas())),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  CpuIsaName(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace grammask::internal
