// Philox4x32-10, the counter-based random number generator of the samplers: four 32-bit words are a
// function of a 128-bit counter and a 64-bit key. There is no state, so the draw of a row depends
// on that row's seed, offset and index alone, whatever thread, machine or GPU makes it.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
// Tested by tests/kernels/philox_test.cc with the values that its authors published.
#ifndef GRAMMASK_KERNELS_PHILOX_H_
#define GRAMMASK_KERNELS_PHILOX_H_

#include <cstdint>

#ifndef GRAMMASK_HOST_DEVICE
#if defined(__CUDACC__) || defined(__HIPCC__)
#define GRAMMASK_HOST_DEVICE __host__ __device__
#else
#define GRAMMASK_HOST_DEVICE
#endif
#endif

namespace grammask::internal {

struct PhiloxWords {
  uint32_t v[4];
};

GRAMMASK_HOST_DEVICE inline PhiloxWords Philox4x32(PhiloxWords counter, uint32_t key0,
                                                   uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * counter.v[0];
    const uint64_t b = uint64_t{0xCD9E8D57u} * counter.v[2];
    counter = {{static_cast<uint32_t>(b >> 32) ^ counter.v[1] ^ key0, static_cast<uint32_t>(b),
                static_cast<uint32_t>(a >> 32) ^ counter.v[3] ^ key1, static_cast<uint32_t>(a)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

// The number in [0, 1), a multiple of 2^-53, that draws the token of row `row`.
GRAMMASK_HOST_DEVICE inline double SampleUniform(uint64_t seed, uint64_t offset, uint32_t row) {
  const PhiloxWords words =
      Philox4x32({{static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32), row, 0}},
                 static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
  const uint64_t high = words.v[0] >> 5, low = words.v[1] >> 6;
  return static_cast<double>((high << 26) | low) * 0x1p-53;
}

}  // namespace grammask::internal

#endif  // GRAMMASK_KERNELS_PHILOX_H_
