// The sampler's passes over a row with vectors of 32 bytes: AVX2.
//
// All of it is sample_lanes.h, compiled with this file's flags (cpp/CMakeLists.txt).
// Tested by tests/kernels/sample_cpu_test.cc, which compares the sets with each other.
#if defined(__AVX2__)
#define GRAMMASK_VECTOR_BYTES 32
#include "kernels/sample_lanes.h"

namespace grammask::internal {

const SampleTable& SampleTableAvx2() { return kSampleTable; }

}  // namespace grammask::internal
#endif  // AVX2
