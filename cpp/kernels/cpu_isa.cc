// The processor's features -> the instruction set that the kernels use.
//
// __builtin_cpu_supports asks cpuid and, for the wide registers, whether the system saves them. On
// AArch64 NEON is part of the baseline. Example: GRAMMASK_CPU_ISA=avx2 on a machine with AVX-512
// runs the AVX2 kernels.
// Cost: once per process.
// Tested by tests/kernels/cpu_isa_test.cc.
#include "kernels/cpu_isa.h"

#include <cstdlib>
#include <string>

namespace grammask::internal {
namespace {

constexpr CpuIsa kBestFirst[] = {CpuIsa::kAvx512, CpuIsa::kAvx2, CpuIsa::kNeon, CpuIsa::kScalar};

}  // namespace

const char* CpuIsaName(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::kScalar:
      return "scalar";
    case CpuIsa::kAvx2:
      return "avx2";
    case CpuIsa::kAvx512:
      return "avx512";
    case CpuIsa::kNeon:
      return "neon";
  }
  return "unknown";
}

bool CpuIsaSupported(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::kScalar:
      return true;
    case CpuIsa::kAvx2:
#if defined(__x86_64__)
      return __builtin_cpu_supports("avx2") != 0;
#else
      return false;
#endif
    case CpuIsa::kAvx512:
#if defined(__x86_64__)
      return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
#else
      return false;
#endif
    case CpuIsa::kNeon:
#if defined(__aarch64__)
      return true;
#else
      return false;
#endif
  }
  return false;
}

StatusOr<CpuIsa> CpuIsaFromName(const char* value) {
  if (value == nullptr || *value == '\0') {
    for (const CpuIsa isa : kBestFirst) {
      if (CpuIsaSupported(isa)) return isa;
    }
    return CpuIsa::kScalar;
  }
  const std::string name = value;
  for (const CpuIsa isa : kBestFirst) {
    if (name != CpuIsaName(isa)) continue;
    if (CpuIsaSupported(isa)) return isa;
    return InvalidArgument("GRAMMASK_CPU_ISA is " + name +
                           ", which this machine cannot run; unset it, or set it to scalar");
  }
  return InvalidArgument("GRAMMASK_CPU_ISA is \"" + name +
                         "\"; it must be scalar, avx2, avx512 or neon, or not set");
}

StatusOr<CpuIsa> ChosenCpuIsa() {
  static const StatusOr<CpuIsa> chosen = CpuIsaFromName(std::getenv("GRAMMASK_CPU_ISA"));
  return chosen;
}

}  // namespace grammask::internal
