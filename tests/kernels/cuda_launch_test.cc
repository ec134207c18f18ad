// Launches through a library in place of the CUDA driver, which runs the kernels on the host with
// the parameters that they were launched with.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kernels/cuda/driver.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/plan.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#endif

namespace grammask::internal::cuda {
namespace {

#if __has_include(<cuda.h>)
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, cluster) == offsetof(CUlaunchAttribute, value));
static_assert(kClusterDimension == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
static_assert(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == 16);
static_assert(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH == 120);
static_assert(CU_STREAM_CAPTURE_MODE_RELAXED == 2);
#endif

struct SeenLaunch {
  uint32_t blocks, threads, team, rows;
  int32_t device;
  uint64_t stream;
  char name[64];
};

// The functions of the library that only tests call.
struct Fake {
  Fake() {
    setenv("GRAMMASK_CUDA_DRIVER", GRAMMASK_FAKE_CUDA, 1);
    void* library = dlopen(GRAMMASK_FAKE_CUDA, RTLD_NOW);
    auto find = [&](auto* function, const char* name) {
      *reinterpret_cast<void**>(function) = dlsym(library, name);
    };
    find(&set, "fake_cuda_set");
    find(&fail_next, "fake_cuda_fail_next");
    find(&skip, "fake_cuda_skip");
    find(&module_loads, "fake_cuda_module_loads");
    find(&launches, "fake_cuda_launches");
    find(&launch, "fake_cuda_launch");
    find(&context_depth, "fake_cuda_context_depth");
  }
  SeenLaunch Last() const {
    SeenLaunch seen{};
    launch(-1, &seen);
    return seen;
  }
  void (*set)(int devices, int processors, int clusters);
  void (*fail_next)(int error);
  void (*skip)(int count);
  int (*module_loads)();
  int (*launches)();
  int (*launch)(int index, SeenLaunch* out);
  int (*context_depth)();
};
const Fake& TheFake() {
  static const Fake fake;
  return fake;
}

class CudaLaunchTest : public testing::Test {
 protected:
  CudaLaunchTest() : fake_(TheFake()) {}
  const Fake& fake_;

  static constexpr int64_t kRows = 5, kColumns = 100, kWords = 4;
  std::vector<float> logits_ = std::vector<float>(kRows * kColumns, 1.0f);
  std::vector<int32_t> mask_ = std::vector<int32_t>(kRows * kWords, 0x55555555);
  DeviceLogits In() {
    return {LogitFormat::kFloat32, logits_.data(), kRows,  kColumns, kColumns,
            mask_.data(),          kRows,          kWords, kWords};
  }
};

TEST_F(CudaLaunchTest, AppliesAllRows) {
  const Status status = LaunchApply(In(), {}, nullptr, 0, {1, 0});
  ASSERT_TRUE(status.ok()) << status.message();
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    const int64_t column = i % kColumns;
    EXPECT_EQ(logits_[static_cast<size_t>(i)], column % 2 == 0 ? 1.0f : -INFINITY);
  }
  const SeenLaunch seen = fake_.Last();
  EXPECT_STREQ(seen.name, "grammask_apply_32_few");
  EXPECT_EQ(seen.rows, 5u);
  EXPECT_EQ(seen.device, 1);
  EXPECT_EQ(seen.threads, static_cast<uint32_t>(kThreads));
  EXPECT_EQ(fake_.context_depth(), 0);
}

TEST_F(CudaLaunchTest, RowsWithNothingToFindOutHaveTheirKernel) {
  alignas(16) float logits[4 * 68];
  std::fill(std::begin(logits), std::end(logits), 1.0f);
  const auto kernel = [&](int64_t stride, int64_t columns, int64_t offset, int begin,
                          int64_t rows) {
    DeviceLogits in = {LogitFormat::kFloat32, logits + begin, rows,   columns, stride,
                       mask_.data(),          rows,           kWords, kWords};
    in.vocab_offset = offset;
    EXPECT_TRUE(LaunchApply(in, {}, nullptr, 0, {0, 0}).ok());
    return std::string(fake_.Last().name);
  };
  EXPECT_EQ(kernel(68, 64, 0, 0, 4), "grammask_apply_32_plain");
  EXPECT_EQ(kernel(68, 64, 32, 4, 3), "grammask_apply_32_plain");
  EXPECT_EQ(kernel(65, 64, 0, 0, 1), "grammask_apply_32_plain");  // its stride does not matter
  EXPECT_EQ(kernel(65, 64, 0, 0, 4), "grammask_apply_32_few");
  EXPECT_EQ(kernel(68, 64, 0, 1, 3), "grammask_apply_32_few");
  EXPECT_EQ(kernel(68, 60, 0, 0, 4), "grammask_apply_32_few");
  EXPECT_EQ(kernel(68, 64, 31, 0, 4), "grammask_apply_32_few");
}

TEST_F(CudaLaunchTest, MoreRowsThanAGridHasTakeSeveralLaunches) {
  const int64_t rows = 65535 + 3;
  std::vector<float> logits(static_cast<size_t>(rows), 1.0f);
  std::vector<int32_t> mask(static_cast<size_t>(rows));
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = i % 3 == 0 ? 0 : 1;
  const int before = fake_.launches();
  fake_.skip(1);  // threads by the million
  const DeviceLogits in = {LogitFormat::kFloat32, logits.data(), rows, 1, 1,
                           mask.data(),           rows,          1,    1};
  const Status status = LaunchApply(in, {}, nullptr, 0, {0, 0});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(fake_.launches() - before, 2);
  SeenLaunch first{};
  fake_.launch(-2, &first);
  EXPECT_EQ(first.rows, 65535u);
  EXPECT_EQ(fake_.Last().rows, 3u);
  for (size_t i = 0; i < logits.size(); ++i) {
    ASSERT_EQ(logits[i], i >= 65535 && i % 3 == 0 ? -INFINITY : 1.0f) << i;
  }
}

TEST_F(CudaLaunchTest, LongListsOfRowsTakeSeveralLaunches) {
  std::vector<int32_t> listed(300);
  for (size_t i = 0; i < listed.size(); ++i) listed[i] = static_cast<int32_t>(i * 7 % kRows);
  RowChoice rows;
  rows.all = false;
  rows.listed = listed;
  std::vector<int64_t> tokens(300, -7);
  for (size_t row = 0; row < kRows; ++row) logits_[row * kColumns + row * 2] = 5.0f;
  const int before = fake_.launches();
  std::vector<float> values(300);
  ASSERT_TRUE(LaunchArgmax(In(), rows, tokens.data(), values.data(), {0, 0}).ok());
  EXPECT_EQ(fake_.launches() - before, 3);
  for (size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(tokens[i], listed[i] * 2);
    EXPECT_EQ(values[i], 5.0f);
  }
  // Parameters for each item move along with the items.
  std::vector<int64_t> top_k(300, 1);
  std::vector<float> temperature(300, 0.5f);
  SampleSettings settings;
  settings.top_k.device = top_k.data();
  settings.temperature.device = temperature.data();
  tokens.assign(300, -7);
  const Status status = LaunchSample(In(), rows, settings, tokens.data(), {0, 0});
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t i = 0; i < 300; ++i) EXPECT_EQ(tokens[i], listed[i] * 2);
}

TEST_F(CudaLaunchTest, ShardsAndNarrowMasks) {
  DeviceLogits in = In();
  in.vocab_offset = 33;  // columns 0 to 94 are tokens 33 to 127, the rest are not covered
  ASSERT_TRUE(LaunchApply(in, {}, nullptr, 0, {0, 0}).ok());
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    const int64_t column = i % kColumns;
    const bool refused = column < 95 && (column + 33) % 2 == 1;
    EXPECT_EQ(logits_[static_cast<size_t>(i)], refused ? -INFINITY : 1.0f) << column;
  }
}

TEST_F(CudaLaunchTest, OutOfPlaceLeavesTheLogits) {
  std::vector<float> out(kRows * 120, 9.0f);
  DeviceLogits in = In();
  in.vocab_size = 50;
  ASSERT_TRUE(LaunchApply(in, {}, out.data(), 120, {0, 0}).ok());
  for (int64_t i = 0; i < kRows * 120; ++i) {
    const int64_t column = i % 120;
    const float want = column >= 100 ? 9.0f : column < 50 && column % 2 == 1 ? -INFINITY : 1.0f;
    EXPECT_EQ(out[static_cast<size_t>(i)], want);
  }
  EXPECT_EQ(logits_, std::vector<float>(kRows * kColumns, 1.0f));
}

TEST_F(CudaLaunchTest, RefusesBeforeLaunching) {
  const int before = fake_.launches();
  auto refused = [&](const DeviceLogits& in, const RowChoice& rows, Where where,
                     const std::string& part) {
    const Status status = LaunchApply(in, rows, nullptr, 0, where);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  };
  DeviceLogits in = In();
  in.vocab_size = 101;
  refused(in, {}, {}, "vocab_size is 101");
  in = In();
  in.vocab_offset = -1;
  refused(in, {}, {}, "vocab_offset is -1");
  in = In();
  in.vocab_offset = int64_t{1} << 40;
  refused(in, {}, {}, "are too many");
  in = In();
  in.mask_rows = 4;
  refused(in, {}, {}, "the bitmask 4");
  RowChoice rows;
  rows.all = false;
  const std::vector<int32_t> listed = {0, 5};
  rows.listed = listed;
  refused(In(), rows, {}, "indices[1] is 5");
  const std::vector<int32_t> negative = {-1};
  rows.listed = negative;
  refused(In(), rows, {}, "indices[0] is -1");
  in = In();
  in.logits = reinterpret_cast<const char*>(in.logits) + 1;
  refused(in, {}, {}, "logits is not aligned");
  refused(In(), {}, {9, 0}, "invalid device ordinal");
  refused(In(), {}, {-1, 0}, "CUDA device -1");
  refused(In(), {}, {0, (2 << 16) + 4}, "another device");
  EXPECT_EQ(fake_.launches(), before);
  EXPECT_EQ(logits_, std::vector<float>(kRows * kColumns, 1.0f));
  ASSERT_TRUE(LaunchApply(In(), {}, nullptr, 0, {1, (2 << 16) + 4}).ok());
  EXPECT_EQ(fake_.Last().stream, (2u << 16) + 4);
  EXPECT_EQ(fake_.context_depth(), 0);
}

TEST_F(CudaLaunchTest, RefusesSettingsOutOfRange) {
  std::vector<int64_t> tokens(kRows);
  auto refused = [&](auto change, const std::string& part) {
    SampleSettings settings;
    change(&settings);
    const Status status = LaunchSample(In(), {}, settings, tokens.data(), {});
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  };
  refused([](auto* s) { s->temperature.same = -1; }, "temperature is -1");
  refused([](auto* s) { s->temperature.same = NAN; }, "temperature is nan");
  refused([](auto* s) { s->top_k.same = -1; }, "top_k is -1");
  refused([](auto* s) { s->top_p.same = 0; }, "top_p is 0");
  refused([](auto* s) { s->top_p.same = 1.1; }, "top_p is 1.1");
  refused([](auto* s) { s->top_p.same = NAN; }, "top_p is nan");
  refused([](auto* s) { s->min_p.same = -0.5; }, "min_p is -0.5");
}

TEST_F(CudaLaunchTest, ErrorsOfTheDriverAreTold) {
  fake_.fail_next(2);
  const Status status = LaunchApply(In(), {}, nullptr, 0, {0, 0});
  EXPECT_EQ(status.message(), "launching a CUDA kernel failed: fake error (CUDA error 2)");
  EXPECT_EQ(fake_.context_depth(), 0);
}

TEST_F(CudaLaunchTest, KernelsAreLoadedOncePerDevice) {
  ASSERT_TRUE(Prepare(0).ok());
  ASSERT_TRUE(Prepare(1).ok());
  const int loads = fake_.module_loads();
  EXPECT_EQ(loads, 2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] { EXPECT_TRUE(Prepare(i % 2).ok()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fake_.module_loads(), loads);
}

TEST(CudaPlanTest, SpreadsAFewRowsAndKeepsManyInPieces) {
  const int64_t slots = MostSlots(128256, 4);
  auto apply = [](int64_t rows, int64_t columns, int bytes) {
    const ApplyPlan plan = PlanApply(rows, columns, bytes, 132);
    return std::pair(plan.words, plan.blocks);
  };
  EXPECT_EQ(apply(1, 128256, 4), std::pair(kFewWords, int64_t{63}));
  EXPECT_EQ(apply(12, 128256, 4), std::pair(kFewWords, int64_t{63}));
  EXPECT_EQ(apply(13, 128256, 4), std::pair(kManyWords, int64_t{16}));
  EXPECT_EQ(apply(6, 128256, 2), std::pair(kFewWords, int64_t{63}));
  EXPECT_EQ(apply(7, 128256, 2), std::pair(kManyWords, int64_t{16}));
  EXPECT_EQ(apply(1, 1, 4), std::pair(kFewWords, int64_t{1}));
  // One column less fills the chunks of one block; a row may begin within a slot.
  EXPECT_EQ(apply(1, 2048, 4), std::pair(kFewWords, int64_t{2}));
  EXPECT_EQ(apply(1, 2045, 4), std::pair(kFewWords, int64_t{1}));
  EXPECT_EQ(TeamBlocksPerRow(1, slots, 132, true), 8);
  EXPECT_EQ(TeamBlocksPerRow(33, slots, 132, true), 8);
  EXPECT_EQ(TeamBlocksPerRow(64, slots, 132, true), 4);
  EXPECT_EQ(TeamBlocksPerRow(256, slots, 132, true), 1);
  EXPECT_EQ(TeamBlocksPerRow(1, slots, 132, false), 1);
  EXPECT_EQ(TeamBlocksPerRow(1, 100, 132, true), 1);
}

}  // namespace
}  // namespace grammask::internal::cuda
