// The public call that applies masks to logits on the CPU: checks every argument, then runs
// kernels/apply_cpu.
//
// Nothing is written before all arguments hold, so that a refused call leaves the logits as they
// were. Example: 2 rows of logits, 1 row of masks and no indices is refused, naming both counts.
//
// The same checks serve the samplers (matcher/apply_args.h).
// Cost: a pass over `indices`, then the kernel's.
// Tested by tests/matcher/apply_api_test.cc.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "grammask/grammask.h"
#include "kernels/apply_cpu.h"
#include "matcher/apply_args.h"

namespace grammask {
namespace internal {
namespace {

Status CheckArray(const char* name, const void* data, int64_t rows, int64_t width, int64_t stride,
                  size_t alignment) {
  const std::string what(name);
  if (rows < 0 || width < 0) {
    return InvalidArgument(what + " has a negative shape: " + std::to_string(rows) + " rows of " +
                           std::to_string(width));
  }
  if (rows == 0 || width == 0) return {};
  if (data == nullptr) {
    return InvalidArgument(what + " is null but has " + std::to_string(rows) + " rows of " +
                           std::to_string(width));
  }
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    return InvalidArgument(what + " is not aligned to " + std::to_string(alignment) + " bytes");
  }
  if (rows > 1 && stride < width) {
    return InvalidArgument("the row stride of " + what + " is " + std::to_string(stride) +
                           ", less than a row's " + std::to_string(width) +
                           " elements: rows would overlap");
  }
  return {};
}

Status CheckRows(const ApplyArgs& args) {
  if (args.indices.empty()) {
    if (args.logits_rows == args.mask_rows) return {};
    return InvalidArgument("logits have " + std::to_string(args.logits_rows) +
                           " rows and the mask " + std::to_string(args.mask_rows) +
                           "; without indices both need the same number");
  }
  const int64_t rows = std::min(args.logits_rows, args.mask_rows);
  for (size_t i = 0; i < args.indices.size(); ++i) {
    if (args.indices[i] >= 0 && args.indices[i] < rows) continue;
    return OutOfRange("indices[" + std::to_string(i) + "] is " + std::to_string(args.indices[i]) +
                      ", outside the " + std::to_string(args.logits_rows) +
                      " rows of the logits or the " + std::to_string(args.mask_rows) +
                      " rows of the mask");
  }
  return {};
}

}  // namespace

StatusOr<MaskedRows> CheckApplyArgs(const ApplyArgs& args) {
  LogitFormat format = LogitFormat::kFloat32;
  size_t element_bytes = 4;
  switch (args.type) {
    case LogitsType::kFloat32:
      break;
    case LogitsType::kFloat16:
      format = LogitFormat::kFloat16;
      element_bytes = 2;
      break;
    case LogitsType::kBFloat16:
      format = LogitFormat::kBFloat16;
      element_bytes = 2;
      break;
    case LogitsType::kFloat64:
      format = LogitFormat::kFloat64;
      element_bytes = 8;
      break;
    default:
      return InvalidArgument("unknown type of logits " +
                             std::to_string(static_cast<int>(args.type)));
  }
  if (args.vocab_size < 0) {
    return InvalidArgument("vocab_size is " + std::to_string(args.vocab_size) +
                           "; it must not be negative");
  }
  if (args.vocab_offset < 0) {
    return OutOfRange("vocab_offset is " + std::to_string(args.vocab_offset) +
                      "; it must not be negative");
  }
  GM_RETURN_IF_ERROR(CheckArray("logits", args.logits, args.logits_rows, args.logits_columns,
                                args.logits_stride, element_bytes));
  GM_RETURN_IF_ERROR(
      CheckArray("mask", args.mask, args.mask_rows, args.mask_words, args.mask_stride, 4));
  GM_RETURN_IF_ERROR(CheckRows(args));

  // Compared as words first: 32 * mask_words might not fit.
  int64_t columns = std::min(args.vocab_size, args.logits_columns);
  if (args.vocab_offset / 32 >= args.mask_words) {
    columns = 0;
  } else {
    const int64_t words = args.mask_words - args.vocab_offset / 32, bit = args.vocab_offset % 32;
    if (words <= (columns + bit) / 32) columns = std::min(columns, words * 32 - bit);
  }
  return MaskedRows{.format = format,
                    .logits = args.logits,
                    .logits_stride = args.logits_stride,
                    .mask = args.mask,
                    .mask_stride = args.mask_stride,
                    .columns = columns,
                    .vocab_offset = args.vocab_offset};
}

}  // namespace internal

Status ApplyTokenBitmaskInplaceCpu(const ApplyArgs& args) {
  GM_ASSIGN_OR_RETURN(const internal::MaskedRows rows, internal::CheckApplyArgs(args));
  GM_ASSIGN_OR_RETURN(const internal::CpuIsa isa, internal::ChosenCpuIsa());
  if (rows.columns == 0) return {};
  if (args.indices.empty()) {
    internal::ApplyMaskToRows(rows, args.logits_rows, isa);
  } else {
    internal::ApplyMaskToRows(rows, args.indices, isa);
  }
  return {};
}

}  // namespace grammask
