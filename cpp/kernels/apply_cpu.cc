// Packed token masks to logits: a refused token's logit becomes minus infinity, in place.
//
// A mask word governs 32 neighbouring logits. Words that allow all of them are skipped without
// touching the logits, 512 at a time; words that allow none become a fill, and the others a select
// between the logit and minus infinity (apply_scalar.cc, apply_avx2.cc, apply_avx512.cc,
// apply_neon.cc). In a shard of the vocabulary the words are shifted together from two.
// Many rows are split among threads by rows; few, and rows that may be named twice, by columns, so
// that no two threads write the same logit. Example: 64 rows and two threads: 16 parts of 4 rows.
//
// Cost: one pass over the mask, one over the logits of words that refuse something; memory-bound
// (a row of 128,000 float32 is 512 KB).
// Tested by tests/kernels/apply_cpu_test.cc against a loop over single tokens.
#include "kernels/apply_cpu.h"

#include <algorithm>

#include "kernels/apply_rows.h"
#include "kernels/parallel.h"

namespace grammask::internal {
namespace {

ApplyRowFunction KernelOf(CpuIsa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case CpuIsa::kAvx2:
      return ApplyRowAvx2;
    case CpuIsa::kAvx512:
      return ApplyRowAvx512;
#elif defined(__aarch64__)
    case CpuIsa::kNeon:
      return ApplyRowNeon;
#endif
    default:
      return ApplyRowScalar;
  }
}

// `row_of(i)` is the i-th of `count` rows; only where all differ may they be split by rows.
template <class RowOf>
void Apply(const MaskedRows& rows, int64_t count, bool all_differ, CpuIsa isa, RowOf row_of) {
  const ApplyRowFunction kernel = KernelOf(isa);
  const int64_t logit_bytes = LogitBytes(rows.format);
  const auto block = [&](int64_t first, int64_t last, int64_t begin, int64_t end) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t row = row_of(i);
      char* const logits =
          static_cast<char*>(rows.logits) + (row * rows.logits_stride + begin) * logit_bytes;
      kernel(rows.format, logits, rows.mask + row * rows.mask_stride, rows.vocab_offset + begin,
             end - begin);
    }
  };
  constexpr int64_t kPartsPerThread = 8;  // masks differ, and with them the time of a part
  constexpr int64_t kLeastColumns = 4096;
  const int64_t bytes = count * rows.columns * logit_bytes;
  const int64_t wanted = bytes < kParallelBytes ? 1 : KernelThreads() * kPartsPerThread;
  if (all_differ && count >= wanted) {
    KernelParts(wanted, bytes, [&](int64_t part) {
      block(part * count / wanted, (part + 1) * count / wanted, 0, rows.columns);
    });
    return;
  }
  const int64_t width =
      std::max((rows.columns / wanted + kLeastColumns - 1) / kLeastColumns, int64_t{1}) *
      kLeastColumns;
  KernelParts((rows.columns + width - 1) / width, bytes, [&](int64_t part) {
    block(0, count, part * width, std::min((part + 1) * width, rows.columns));
  });
}

}  // namespace

void ApplyMaskToRows(const MaskedRows& rows, int64_t row_count, CpuIsa isa) {
  Apply(rows, row_count, true, isa, [](int64_t i) { return i; });
}

void ApplyMaskToRows(const MaskedRows& rows, std::span<const int32_t> row_indices, CpuIsa isa) {
  Apply(rows, static_cast<int64_t>(row_indices.size()), false, isa,
        [&](int64_t i) { return int64_t{row_indices[static_cast<size_t>(i)]}; });
}

}  // namespace grammask::internal
