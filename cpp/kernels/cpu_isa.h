// Which vector instructions the CPU kernels use: found out at run time, so that one library serves
// all machines of an architecture.
#ifndef GRAMMASK_KERNELS_CPU_ISA_H_
#define GRAMMASK_KERNELS_CPU_ISA_H_

#include <cstdint>

#include "base/status.h"

namespace grammask::internal {

// kScalar is plain C++ for the architecture's baseline. kAvx512 means AVX-512 F, BW, DQ and VL.
enum class CpuIsa : uint8_t { kScalar, kAvx2, kAvx512, kNeon };

// "scalar", "avx2", "avx512" or "neon".
const char* CpuIsaName(CpuIsa isa);

// Whether this build has kernels for `isa`, and the processor and the system can run them.
bool CpuIsaSupported(CpuIsa isa);

// The best supported one, or the one that the environment variable GRAMMASK_CPU_ISA names: an error
// where that is unknown or not supported. The variable is read once.
StatusOr<CpuIsa> ChosenCpuIsa();

// What ChosenCpuIsa answers when the variable is `value`; null: not set.
StatusOr<CpuIsa> CpuIsaFromName(const char* value);

}  // namespace grammask::internal

#endif  // GRAMMASK_KERNELS_CPU_ISA_H_
