// Checked arguments -> parameters of a kernel -> a launch on the caller's stream.
//
// Everything that the host can know is checked before anything is launched: sizes, alignment, the
// mask's width, rows of a list, the device that a stream belongs to. Rows of a list travel in the
// kernel's parameters, 128 a launch, so that no memory is needed for them. Strides and bounds are
// checked here once; the kernels trust them.
// Example: 64 rows of 128,256 float32 on 132 processors: apply gets 16 blocks of 256 threads a row,
// the sampler a cluster of 4 blocks of 512 threads a row.
// Cost: some microseconds, mostly the driver's launch.
// Tested by tests/kernels/cuda_launch_test.cc.
#include "kernels/cuda/launch.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "kernels/cuda/modules.h"
#include "kernels/cuda/plan.h"

namespace grammask::internal::cuda {
namespace {

// Minus infinity's bits, in eight bytes as a pair of lanes or halves of one.
uint64_t MinusInfinity(LogitFormat format) {
  switch (format) {
    case LogitFormat::kFloat32:
      return 0xFF800000FF800000u;
    case LogitFormat::kFloat16:
      return 0xFC00FC00FC00FC00u;
    case LogitFormat::kBFloat16:
      return 0xFF80FF80FF80FF80u;
    default:
      return 0xFFF0000000000000u;
  }
}

std::string Text(int64_t value) { return std::to_string(value); }

Status CheckAlignment(const void* pointer, int bytes, const char* name) {
  if (reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(bytes) == 0) return Status();
  return InvalidArgument(std::string(name) + " is not aligned to the size of its elements");
}

// Checks everything and fills `out` but for the rows.
Status Describe(const DeviceLogits& in, const RowChoice& rows, MaskedLogits* out) {
  if (in.vocab_offset < 0) {
    return OutOfRange("vocab_offset is " + Text(in.vocab_offset) + "; it must not be negative");
  }
  const int64_t covered = std::max(in.mask_words * 32 - in.vocab_offset, int64_t{0});
  const int64_t most = std::min(in.columns, covered);
  const int64_t columns = in.vocab_size.value_or(most);
  if (columns < 0 || columns > most) {
    return OutOfRange("vocab_size is " + Text(columns) + ", but logits have " + Text(in.columns) +
                      " columns and the bitmask covers " + Text(covered) + " tokens" +
                      (in.vocab_offset > 0 ? " from " + Text(in.vocab_offset) + " on" : ""));
  }
  if (in.columns > kMaxTokens || in.vocab_offset > kMaxTokens - in.columns) {
    return OutOfRange("logits of " + Text(in.columns) + " columns, from vocab_offset " +
                      Text(in.vocab_offset) + " on, are too many; the most is " + Text(kMaxTokens) +
                      " tokens");
  }
  if (rows.all && in.rows != in.mask_rows) {
    return InvalidArgument("logits have " + Text(in.rows) + " rows and the bitmask " +
                           Text(in.mask_rows) + "; without indices both need the same number");
  }
  const int64_t both = std::min(in.rows, in.mask_rows);
  for (size_t i = 0; i < rows.listed.size(); ++i) {
    if (rows.listed[i] >= 0 && rows.listed[i] < both) continue;
    return OutOfRange("indices[" + Text(static_cast<int64_t>(i)) + "] is " + Text(rows.listed[i]) +
                      ", outside the " + Text(in.rows) + " rows of the logits or the " +
                      Text(in.mask_rows) + " rows of the bitmask");
  }
  Status status = CheckAlignment(in.logits, static_cast<int>(LogitBytes(in.format)), "logits");
  if (status.ok()) status = CheckAlignment(in.mask, 4, "bitmask");
  if (status.ok() && rows.device != nullptr) {
    status = CheckAlignment(rows.device, rows.device_is_64 ? 8 : 4, "indices");
  }
  *out = {in.logits,
          in.stride,
          in.mask,
          in.mask_stride,
          static_cast<int32_t>(in.vocab_offset),
          static_cast<int32_t>(columns)};
  return status;
}

// Whether a stream is of the device: asked only for streams that are no default ones.
Status CheckStream(const DeviceKernels& kernels, uintptr_t stream) {
  if (stream <= 2) return Status();
  const Driver& driver = *kernels.driver;
  void* context = nullptr;
  Status status =
      DriverStatus(driver, driver.stream_get_context(reinterpret_cast<void*>(stream), &context),
                   "asking for the context of the stream");
  if (!status.ok() || context == kernels.context) return status;
  int device = -1;
  status = DriverStatus(driver, driver.context_push(context), "looking at the stream's context");
  if (!status.ok()) return status;
  const int error = driver.context_get_device(&device);
  driver.context_pop(&context);
  if (error == 0 && device == kernels.device) return Status();
  return InvalidArgument(
      "the stream belongs to another device than the tensors; give a stream of "
      "the device that they are on");
}

// One launch of `rows` rows of `blocks` blocks, in clusters of `team`.
Status Launch(const DeviceKernels& kernels, int kernel, int64_t rows, int64_t blocks, int threads,
              int team, uintptr_t stream, void* params) {
  void* parameters[] = {params};
  void* function = kernels.functions[kernel];
  void* handle = reinterpret_cast<void*>(stream);
  int error;
  if (team == 1) {
    error = kernels.driver->launch(function, static_cast<unsigned>(blocks),
                                   static_cast<unsigned>(rows), 1, static_cast<unsigned>(threads),
                                   1, 1, 0, handle, parameters, nullptr);
  } else {
    LaunchAttribute attribute = {kClusterDimension, 0, {static_cast<uint32_t>(team), 1, 1}, {}};
    const LaunchConfig config = {{static_cast<uint32_t>(blocks), static_cast<uint32_t>(rows), 1},
                                 {static_cast<uint32_t>(threads), 1, 1},
                                 0,
                                 handle,
                                 &attribute,
                                 1};
    error = kernels.driver->launch_ex(&config, function, parameters, nullptr);
  }
  return DriverStatus(*kernels.driver, error, "launching a CUDA kernel");
}

// Calls `launch` for the items [begin, begin + list.items) of each launch that is needed.
template <class Function>
Status ForEachLaunch(const DeviceLogits& in, const RowChoice& rows, int64_t most_items,
                     const Function& launch) {
  const int64_t items = ItemCount(in, rows);
  if (!rows.all && rows.device == nullptr) most_items = std::min<int64_t>(most_items, kInlineRows);
  for (int64_t begin = 0; begin < items; begin += most_items) {
    RowList list = {nullptr,
                    std::min(most_items, items - begin),
                    std::min(in.rows, in.mask_rows),
                    begin,
                    RowsFrom::kInline,
                    {}};
    if (rows.device != nullptr) {
      list.from = rows.device_is_64 ? RowsFrom::kDevice64 : RowsFrom::kDevice32;
      list.device = static_cast<const char*>(rows.device) + begin * (rows.device_is_64 ? 8 : 4);
    } else if (!rows.all) {
      std::copy_n(rows.listed.begin() + begin, list.items, list.listed);
    } else {
      list.from = RowsFrom::kAll;
    }
    Status status = launch(begin, list);
    if (!status.ok()) return status;
  }
  return Status();
}

constexpr int64_t kMostItems = int64_t{1} << 20;  // of a call
constexpr int64_t kMostGridRows = 65535;          // of a launch

Status CheckItems(const DeviceLogits& in, const RowChoice& rows) {
  if (ItemCount(in, rows) <= kMostItems) return Status();
  return OutOfRange(Text(ItemCount(in, rows)) + " rows are too many for one call; the most is " +
                    Text(kMostItems));
}

// Whether every row begins where a slot does and a word of its mask, and ends with a word.
bool IsPlain(const DeviceLogits& in, const RowChoice& rows, const MaskedLogits& described) {
  const auto bytes = static_cast<int64_t>(LogitBytes(in.format));
  return rows.all && reinterpret_cast<uintptr_t>(in.logits) % 16 == 0 &&
         (in.rows == 1 || in.stride * bytes % 16 == 0) && described.vocab_offset % 32 == 0 &&
         described.columns % 32 == 0;
}

template <class T>
PerItem<T> From(const PerItem<T>& parameter, int64_t begin) {
  return {parameter.device == nullptr ? nullptr : parameter.device + begin, parameter.same};
}

}  // namespace

int64_t ItemCount(const DeviceLogits& in, const RowChoice& rows) {
  if (rows.all) return in.rows;
  if (rows.device != nullptr) return rows.device_count;
  return static_cast<int64_t>(rows.listed.size());
}

Status Prepare(int device) { return KernelsOf(device).status(); }

Status LaunchApply(const DeviceLogits& in, const RowChoice& rows, void* out, int64_t out_stride,
                   const Where& where) {
  ApplyParams params{};
  Status status = Describe(in, rows, &params.in);
  const bool in_place = out == nullptr;
  const int bytes = static_cast<int>(LogitBytes(in.format));
  params.out = in_place ? const_cast<void*>(in.logits) : out;
  params.out_stride = in_place ? in.stride : out_stride;
  params.out_columns = static_cast<int32_t>(in.columns);
  if (status.ok()) status = CheckAlignment(params.out, bytes, "out");
  if (status.ok()) status = CheckItems(in, rows);
  if (!status.ok()) return status;
  const uint64_t infinity = MinusInfinity(in.format);
  params.minus_infinity[0] = static_cast<uint32_t>(infinity);
  params.minus_infinity[1] = static_cast<uint32_t>(infinity >> 32);
  const int64_t columns = in_place ? params.in.columns : params.out_columns;
  if (columns == 0) return Status();

  StatusOr<const DeviceKernels*> kernels = KernelsOf(where.device);
  if (!kernels.ok()) return kernels.status();
  status = CheckStream(**kernels, where.stream);
  if (!status.ok()) return status;
  ContextScope scope(**kernels);
  if (!scope.status().ok()) return scope.status();
  const ApplyPlan plan = PlanApply(ItemCount(in, rows), columns, bytes, (*kernels)->processors);
  const bool few = plan.words == kFewWords;
  const bool plain = in_place && few && IsPlain(in, rows, params.in);
  const int kernel = (plain      ? kApplyPlain
                      : in_place ? (few ? kApplyFew : kApplyMany)
                                 : (few ? kCopyFew : kCopyMany)) +
                     (bytes == 2   ? 0
                      : bytes == 4 ? 1
                                   : 2);
  return ForEachLaunch(in, rows, kMostGridRows, [&](int64_t, const RowList& list) {
    params.rows = list;
    return Launch(**kernels, kernel, list.items, plan.blocks, kThreads, 1, where.stream, &params);
  });
}

namespace {

// What argmax and sampling have in common: `set` puts the outputs of a launch into its parameters.
template <class Params, class Set>
Status LaunchChoose(const DeviceLogits& in, const RowChoice& rows, int first_kernel,
                    const Where& where, Params* params, const Set& set) {
  Status status = Describe(in, rows, &params->in);
  if (status.ok()) status = CheckItems(in, rows);
  if (!status.ok() || ItemCount(in, rows) == 0) return status;
  StatusOr<const DeviceKernels*> kernels = KernelsOf(where.device);
  if (!kernels.ok()) return kernels.status();
  status = CheckStream(**kernels, where.stream);
  if (!status.ok()) return status;
  ContextScope scope(**kernels);
  if (!scope.status().ok()) return scope.status();
  const int64_t slots = MostSlots(params->in.columns, static_cast<int>(LogitBytes(in.format)));
  const int team = TeamBlocksPerRow(ItemCount(in, rows), slots, (*kernels)->processors,
                                    (*kernels)->has_clusters);
  const int kernel = first_kernel + static_cast<int>(in.format);
  return ForEachLaunch(in, rows, kMostItems, [&](int64_t begin, const RowList& list) {
    params->rows = list;
    set(begin);
    return Launch(**kernels, kernel, 1, list.items * team, kSampleThreads, team, where.stream,
                  params);
  });
}

}  // namespace

Status LaunchArgmax(const DeviceLogits& in, const RowChoice& rows, int64_t* tokens, float* values,
                    const Where& where) {
  ArgmaxParams params{};
  return LaunchChoose(in, rows, kArgmax, where, &params, [&](int64_t begin) {
    params.tokens = tokens + begin;
    params.values = values == nullptr ? nullptr : values + begin;
  });
}

Status LaunchSample(const DeviceLogits& in, const RowChoice& rows, const SampleSettings& settings,
                    int64_t* tokens, const Where& where) {
  const float temperature = settings.temperature.same;
  if (settings.temperature.device == nullptr && !(temperature >= 0)) {
    return OutOfRange("temperature is " + std::to_string(temperature) +
                      "; it must be at least 0 (0 takes the largest logit)");
  }
  if (settings.top_k.device == nullptr && settings.top_k.same < 0) {
    return OutOfRange("top_k is " + Text(settings.top_k.same) +
                      "; it must be at least 0 (0 keeps all)");
  }
  const double top_p = settings.top_p.same, min_p = settings.min_p.same;
  if (settings.top_p.device == nullptr && !(top_p > 0 && top_p <= 1)) {
    return OutOfRange("top_p is " + std::to_string(top_p) +
                      "; it must be above 0 and at most 1 (1 keeps all)");
  }
  if (settings.min_p.device == nullptr && !(min_p >= 0 && min_p <= 1)) {
    return OutOfRange("min_p is " + std::to_string(min_p) +
                      "; it must be at least 0 (which keeps all) and at most 1");
  }
  SampleParams params{};
  return LaunchChoose(in, rows, kSample, where, &params, [&](int64_t begin) {
    params.tokens = tokens + begin;
    params.seed = From(settings.seed, begin);
    params.offset = From(settings.offset, begin);
    params.temperature = From(settings.temperature, begin);
    params.top_k = From(settings.top_k, begin);
    params.top_p = From(settings.top_p, begin);
    params.min_p = From(settings.min_p, begin);
  });
}

}  // namespace grammask::internal::cuda
