// The sampler's passes over a row with vectors of 16 bytes: SSE2, or NEON on AArch64.
//
// All of it is sample_lanes.h, compiled with this file's flags (cpp/CMakeLists.txt).
// Tested by tests/kernels/sample_cpu_test.cc, which compares the sets with each other.
#define GRAMMASK_VECTOR_BYTES 16
#include "kernels/sample_lanes.h"

namespace grammask::internal {

const SampleTable& SampleTableBaseline() { return kSampleTable; }

}  // namespace grammask::internal
