// The sampler's passes over a row with vectors of 64 bytes: AVX-512.
//
// All of it is sample_lanes.h, compiled with this file's flags (cpp/CMakeLists.txt).
// Tested by tests/kernels/sample_cpu_test.cc, which compares the sets with each other.
#if defined(__AVX512F__) && defined(__AVX512BW__)
#define GRAMMASK_VECTOR_BYTES 64
#include "kernels/sample_lanes.h"

namespace grammask::internal {

const SampleTable& SampleTableAvx512() { return kSampleTable; }

}  // namespace grammask::internal
#endif  // AVX-512
