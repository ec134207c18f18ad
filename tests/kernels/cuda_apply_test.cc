// The CUDA kernel that applies masks, run on the host, against the scalar CPU kernel, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/apply_cpu.h"
#include "kernels/cuda/params.h"
#include "kernels/cuda_host/simt_emulator.h"

namespace grammask::internal::cuda {
namespace {

struct Format {
  LogitFormat format;
  uint32_t minus_infinity[2];
  const char* kernel;
  const char* name;
};
const Format kFormats[] = {
    {LogitFormat::kFloat32, {0xFF800000, 0xFF800000}, "32", "f32"},
    {LogitFormat::kFloat16, {0xFC00FC00, 0xFC00FC00}, "16", "f16"},
    {LogitFormat::kBFloat16, {0xFF80FF80, 0xFF80FF80}, "16", "bf16"},
    {LogitFormat::kFloat64, {0, 0xFFF00000}, "64", "f64"},
};

// Bytes that begin at a multiple of 16.
class Bytes {
 public:
  Bytes(size_t size, std::mt19937_64* random) : words_(size / 16 + 2) {
    for (auto& word : words_) word = {(*random)(), (*random)()};
  }
  unsigned char* data() { return reinterpret_cast<unsigned char*>(words_.data()); }
  bool operator==(const Bytes& other) const {
    return std::memcmp(words_.data(), other.words_.data(), words_.size() * 16) == 0;
  }

 private:
  struct alignas(16) Word {
    uint64_t low, high;
  };
  std::vector<Word> words_;
};

std::vector<int32_t> MakeMask(int kind, size_t words, std::mt19937_64* random) {
  std::vector<int32_t> mask(words);
  uint64_t of_run = 0;
  for (size_t i = 0; i < words; ++i) {
    int32_t& word = mask[i];
    const uint64_t bits = (*random)();
    if (i % 32 == 0) of_run = bits >> 32;
    const uint32_t of_kind[] = {0xFFFFFFFFu, 0, static_cast<uint32_t>(bits), 1u << (bits % 32),
                                ~(1u << (bits % 32))};
    const uint64_t chosen = kind < 5    ? static_cast<uint64_t>(kind)
                            : kind == 5 ? bits >> 40
                                        : of_run;
    word = static_cast<int32_t>(of_kind[chosen % 5]);
  }
  return mask;
}
constexpr int kKinds = 7;  // each word its own in 5, each run of 32 words in 6

class CudaApplyTest : public testing::TestWithParam<Format> {
 protected:
  // The kernel of that many words a chunk, on blocks of `threads` threads, as few as there must be
  // for a row of `columns` columns and `spare` more. `plain`: the kernel for rows that are.
  static std::string Run(const ApplyParams& p, bool copy, int words, int64_t columns,
                         uint32_t threads, uint32_t spare, ThreadOrder order, uint32_t rows,
                         bool plain = false) {
    const int64_t lanes = 16 / LogitBytes(GetParam().format);
    const auto chunks =
        static_cast<uint32_t>((columns + lanes - 1 + words * 32 - 1) / (words * 32));
    const uint32_t warps = threads / 32, blocks = (chunks + warps - 1) / warps + spare;
    return RunKernel(std::string("grammask_apply_") + (copy ? "copy_" : "") + GetParam().kernel +
                         (plain                ? "_plain"
                          : words == kFewWords ? "_few"
                                               : ""),
                     {blocks, threads, 1, order, rows}, &p);
  }

  // Of a launch in place, but for its rows.
  static ApplyParams InPlace(void* logits, int64_t stride, const std::vector<int32_t>& mask,
                             int64_t words, int64_t vocab_offset, int64_t columns) {
    ApplyParams p{};
    p.in = {logits,
            stride,
            mask.data(),
            words,
            static_cast<int32_t>(vocab_offset),
            static_cast<int32_t>(columns)};
    p.out = logits;
    p.out_stride = stride;
    p.out_columns = static_cast<int32_t>(columns);
    std::copy_n(GetParam().minus_infinity, 2, p.minus_infinity);
    return p;
  }

  // One row, from `shift` columns after a multiple of 16 bytes on.
  void CheckRow(int64_t columns, int64_t shift, int64_t vocab_offset, int kind, uint32_t threads) {
    const Format& format = GetParam();
    const int64_t bytes = LogitBytes(format.format);
    const int64_t words = (vocab_offset + columns + 31) / 32;
    const auto mask = MakeMask(kind, static_cast<size_t>(words), &random_);
    Bytes memory(static_cast<size_t>((columns + shift + 40) * bytes), &random_);
    Bytes want = memory;
    ApplyMaskToRows({format.format, want.data() + shift * bytes, columns, mask.data(), words,
                     columns, vocab_offset},
                    1, CpuIsa::kScalar);
    ApplyParams p =
        InPlace(memory.data() + shift * bytes, columns, mask, words, vocab_offset, columns);
    p.rows = {nullptr, 1, 1, 0, RowsFrom::kAll, {}};
    const ThreadOrder order = random_() % 2 == 0 ? ThreadOrder::kForward : ThreadOrder::kBackward;
    const int chunk = random_() % 2 == 0 ? kFewWords : kManyWords;
    const auto spare = static_cast<uint32_t>(random_() % 2);
    Bytes source = memory;
    ASSERT_EQ(Run(p, false, chunk, columns, threads, spare, order, 1), "");
    ASSERT_TRUE(memory == want) << format.name << ", " << columns << " columns from " << shift
                                << ", vocab_offset " << vocab_offset << ", kind " << kind
                                << ", chunks of " << chunk;
    // Out of place, into a row that may begin elsewhere in its 16 bytes and is wider by `extra`.
    const int64_t to = static_cast<int64_t>(random_() % 8);
    const int64_t extra = static_cast<int64_t>(random_() % 20);
    Bytes out(static_cast<size_t>((columns + to + 60) * bytes), &random_);
    Bytes out_want = out;
    std::memcpy(out_want.data() + to * bytes, want.data() + shift * bytes,
                static_cast<size_t>((columns + extra) * bytes));
    p.in.logits = source.data() + shift * bytes;
    p.out = out.data() + to * bytes;
    p.out_columns = static_cast<int32_t>(columns + extra);
    ASSERT_EQ(Run(p, true, chunk, columns + extra, threads, spare, order, 1), "");
    ASSERT_TRUE(out == out_want) << format.name << ", copy of " << columns << " + " << extra
                                 << " columns from " << shift << " to " << to << ", vocab_offset "
                                 << vocab_offset << ", kind " << kind << ", chunks of " << chunk;
  }

  std::mt19937_64 random_{17};
};

TEST_P(CudaApplyTest, EveryWidthAndAlignment) {
  for (int64_t columns = 0; columns <= 150; ++columns) {
    for (int64_t shift = 0; shift < 8; ++shift) {
      for (int kind = 0; kind < kKinds; ++kind) {
        const auto offset = random_() % 2 == 0 ? 0 : static_cast<int64_t>(random_() % 100);
        ASSERT_NO_FATAL_FAILURE(CheckRow(columns, shift, offset, kind, 32));
      }
    }
  }
}

TEST_P(CudaApplyTest, EveryVocabOffset) {
  for (int64_t offset = 0; offset <= 70; ++offset) {
    for (const int64_t columns : {1, 31, 32, 33, 100}) {
      for (int64_t shift = 0; shift < 8; ++shift) {
        ASSERT_NO_FATAL_FAILURE(CheckRow(columns, shift, offset, 5, 32));
      }
    }
  }
}

TEST_P(CudaApplyTest, LargeRowsInSeveralBlocks) {
  for (const int64_t columns : {1023, 4096, 12811, 128256}) {
    for (int kind = 0; kind < kKinds; ++kind) {
      ASSERT_NO_FATAL_FAILURE(CheckRow(columns, kind % 4, columns % 64, kind, kThreads));
    }
  }
}

// Chunks that lie within the row, at whose words a word of the mask begins or none does.
TEST_P(CudaApplyTest, ChunksAndWhatIsLeft) {
  for (const int64_t columns : {255, 256, 257, 1023, 1024, 1025, 2048, 5000, 33000}) {
    for (const int64_t offset : {0, 32, 1024, 16, 8, 1, 34}) {
      for (const int64_t shift : {0, 1, 2, 3, 8}) {
        const int kind = static_cast<int>(random_() % kKinds);
        ASSERT_NO_FATAL_FAILURE(CheckRow(columns, shift, offset, kind, 64));
      }
    }
  }
}

TEST_P(CudaApplyTest, ListsOfRows) {
  const Format& format = GetParam();
  const int64_t bytes = LogitBytes(format.format), rows = 7, columns = 77, stride = 83, words = 5;
  const auto mask = MakeMask(5, static_cast<size_t>(rows * words), &random_);
  for (const RowsFrom from : {RowsFrom::kInline, RowsFrom::kDevice32, RowsFrom::kDevice64}) {
    Bytes memory(static_cast<size_t>(rows * stride * bytes), &random_);
    Bytes want = memory;
    const std::vector<int32_t> chosen = {5, 0, 3, 3};
    ApplyMaskToRows({format.format, want.data(), stride, mask.data(), words, columns}, chosen,
                    CpuIsa::kScalar);
    ApplyParams p = InPlace(memory.data(), stride, mask, words, 0, columns);
    // Rows outside are skipped, whatever their number.
    std::vector<int32_t> narrow = chosen;
    narrow.insert(narrow.end(), {-1, 7, 2147483647, INT32_MIN});
    const std::vector<int64_t> wide(narrow.begin(), narrow.end());
    p.rows = {nullptr, static_cast<int64_t>(narrow.size()), rows, 0, from, {}};
    std::copy(narrow.begin(), narrow.end(), p.rows.listed);
    p.rows.device = from == RowsFrom::kDevice32   ? static_cast<const void*>(narrow.data())
                    : from == RowsFrom::kDevice64 ? static_cast<const void*>(wide.data())
                                                  : nullptr;
    ASSERT_EQ(Run(p, false, kFewWords, columns, 32, 1, ThreadOrder::kForward,
                  static_cast<uint32_t>(p.rows.items)),
              "");
    ASSERT_TRUE(memory == want) << format.name << ", list " << static_cast<int>(from);
  }
}

TEST_P(CudaApplyTest, PlainRows) {
  const Format& format = GetParam();
  const int64_t bytes = LogitBytes(format.format), rows = 4;
  for (const int64_t columns : {32, 64, 256, 288, 512, 4000}) {
    for (const int64_t offset : {0, 32, 96}) {
      for (int kind = 0; kind < kKinds; ++kind) {
        const int64_t stride = columns + 16, words = (offset + columns) / 32 + 1;
        const auto mask = MakeMask(kind, static_cast<size_t>(rows * words), &random_);
        Bytes memory(static_cast<size_t>(rows * stride * bytes), &random_);
        Bytes want = memory;
        const std::vector<int32_t> chosen = {1, 2, 3};
        ApplyMaskToRows({format.format, want.data(), stride, mask.data(), words, columns, offset},
                        chosen, CpuIsa::kScalar);
        ApplyParams p = InPlace(memory.data(), stride, mask, words, offset, columns);
        p.rows = {nullptr, 3, rows, 1, RowsFrom::kAll, {}};
        ASSERT_EQ(Run(p, false, kFewWords, columns, 64, 1, ThreadOrder::kBackward, 3, true), "");
        ASSERT_TRUE(memory == want) << format.name << ", " << columns << " columns, vocab_offset "
                                    << offset << ", kind " << kind;
      }
    }
  }
}

// A launch of rows that are not the first.
TEST_P(CudaApplyTest, RowsFromOneOn) {
  const Format& format = GetParam();
  const int64_t bytes = LogitBytes(format.format), rows = 6, columns = 300, stride = 301,
                words = 10;
  const auto mask = MakeMask(5, static_cast<size_t>(rows * words), &random_);
  Bytes memory(static_cast<size_t>(rows * stride * bytes), &random_);
  Bytes want = memory;
  const std::vector<int32_t> chosen = {2, 3, 4};
  ApplyMaskToRows({format.format, want.data(), stride, mask.data(), words, columns}, chosen,
                  CpuIsa::kScalar);
  ApplyParams p = InPlace(memory.data(), stride, mask, words, 0, columns);
  p.rows = {nullptr, 3, rows, 2, RowsFrom::kAll, {}};
  ASSERT_EQ(Run(p, false, kManyWords, columns, kThreads, 0, ThreadOrder::kForward, 3), "");
  ASSERT_TRUE(memory == want) << format.name;
}

INSTANTIATE_TEST_SUITE_P(Formats, CudaApplyTest, testing::ValuesIn(kFormats),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace grammask::internal::cuda
