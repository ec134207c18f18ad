// Which instruction set is chosen, and what the environment variable may say.
#include "kernels/cpu_isa.h"

#include <gtest/gtest.h>

#include <string>

namespace grammask::internal {
namespace {

TEST(CpuIsa, TheBestSupportedOneByDefault) {
  const auto chosen = CpuIsaFromName(nullptr);
  ASSERT_TRUE(chosen.ok());
  EXPECT_TRUE(CpuIsaSupported(*chosen));
  EXPECT_EQ(*CpuIsaFromName(""), *chosen);
#if defined(__aarch64__)
  EXPECT_EQ(*chosen, CpuIsa::kNeon);
#endif
  if (CpuIsaSupported(CpuIsa::kAvx512)) {
    EXPECT_TRUE(CpuIsaSupported(CpuIsa::kAvx2));
    EXPECT_EQ(*chosen, CpuIsa::kAvx512);
  }
}

TEST(CpuIsa, ByName) {
  for (const CpuIsa isa : {CpuIsa::kScalar, CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kNeon}) {
    const auto named = CpuIsaFromName(CpuIsaName(isa));
    ASSERT_EQ(named.ok(), CpuIsaSupported(isa)) << CpuIsaName(isa);
    if (named.ok()) {
      EXPECT_EQ(*named, isa);
    } else {
      EXPECT_NE(named.status().message().find(CpuIsaName(isa)), std::string::npos);
    }
  }
  EXPECT_TRUE(CpuIsaSupported(CpuIsa::kScalar));
}

TEST(CpuIsa, AnUnknownNameIsAnError) {
  const auto unknown = CpuIsaFromName("avx1024");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().message().find("GRAMMASK_CPU_ISA is \"avx1024\""), std::string::npos);
  EXPECT_FALSE(CpuIsaFromName("AVX2").ok());
}

}  // namespace
}  // namespace grammask::internal
