// Token masks inside other people's GPU kernels: reading them, applying them to logits in
// registers, and waiting for them without a launch or a host synchronisation. Depends on nothing
// else; compiles with nvcc for the device and with any C++17 compiler for the host, where it means
// the same (that is how it is tested: tests/kernels/device_header_test.cc and examples/cuda).
//
// A mask row is int32 words; bit (token & 31) of word (token >> 5) allows that token. With
// tensor parallelism a rank reads the row of the whole vocabulary from its first token on, which
// may have any alignment.
//
//     #include <grammask/device.cuh>
//     namespace gm = grammask::device;
//
//     float tile[8];                                     // logits of tokens first .. first + 7
//     gm::ApplyToTile(tile, gm::MaskBits<8>(mask_row, first, 0, vocab_size), -INFINITY);
//
// Waiting (see examples/cuda/persistent_decode.cuh for a whole decode loop): the host writes masks
// and then raises a flag; the device waits for the flag and then reads the masks. Both lie in
// mapped host memory (cudaHostAllocMapped), or the masks in device memory that the host's copies
// reach before it raises the flag.
#ifndef GRAMMASK_DEVICE_CUH_
#define GRAMMASK_DEVICE_CUH_

#include <cstdint>

#if !defined(__CUDA_ARCH__)
#include <chrono>
#include <thread>
#endif

#ifndef GRAMMASK_HOST_DEVICE
#if defined(__CUDACC__) || defined(__HIPCC__)
#define GRAMMASK_HOST_DEVICE __host__ __device__
#else
#define GRAMMASK_HOST_DEVICE
#endif
#endif

namespace grammask::device {

// Whether the mask row allows `token`, which must be at least 0 and covered by the row. Index, here
// and below: int32_t or int64_t.
template <class Index>
GRAMMASK_HOST_DEVICE inline bool IsAllowed(const int32_t* mask_row, Index token) {
  return ((static_cast<uint32_t>(mask_row[token >> 5]) >> (token & 31)) & 1u) != 0;
}

// The bits of tokens [first, first + kCount), bit 0 that of `first`; kCount is 1 to 32. Reads one
// word, or two where the tokens straddle a word's end. All of them must be covered by the row.
template <int kCount, class Index>
GRAMMASK_HOST_DEVICE inline uint32_t WholeMaskBits(const int32_t* mask_row, Index first) {
  static_assert(kCount >= 1 && kCount <= 32, "a tile has 1 to 32 tokens");
  const Index word = first >> 5;
  const auto shift = static_cast<uint32_t>(first & 31);
  uint32_t bits = static_cast<uint32_t>(mask_row[word]) >> shift;
  if (shift + kCount > 32) bits |= static_cast<uint32_t>(mask_row[word + 1]) << (32 - shift);
  return bits & (0xFFFFFFFFu >> (32 - kCount));
}

// The same for tokens of which some or all may lie outside [begin, end): their bits are 0, and no
// word that holds only such tokens is read. `first` may be negative.
template <int kCount, class Index>
GRAMMASK_HOST_DEVICE inline uint32_t MaskBits(const int32_t* mask_row, Index first, Index begin,
                                              Index end) {
  static_assert(kCount >= 1 && kCount <= 32, "a tile has 1 to 32 tokens");
  const Index low = first < begin ? begin : first;
  const Index high = (first + kCount > end ? end : first + kCount) - 1;
  if (low > high) return 0;
  const auto shift = static_cast<uint32_t>(low & 31);
  uint32_t bits = static_cast<uint32_t>(mask_row[low >> 5]) >> shift;
  if ((low >> 5) != (high >> 5)) {
    bits |= static_cast<uint32_t>(mask_row[high >> 5]) << (32 - shift);
  }
  return (bits & (0xFFFFFFFFu >> (31 - (high - low)))) << (low - first);
}

// Overwrites the logits of refused tokens: tile[i] stays where bit i is set. T is any type of
// logits (float, double, __half, __nv_bfloat16); `minus_infinity` is that type's.
template <class T, int kCount>
GRAMMASK_HOST_DEVICE inline void ApplyToTile(T (&tile)[kCount], uint32_t bits, T minus_infinity) {
  static_assert(kCount >= 1 && kCount <= 32, "a tile has 1 to 32 tokens");
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int i = 0; i < kCount; ++i) {
    if (((bits >> i) & 1u) == 0) tile[i] = minus_infinity;
  }
}

// A step counter that one side raises and the other waits for, alone on its 128 bytes. It starts at
// 0; step 1 is the first. Steps may wrap around. In memory that both sides see.
struct alignas(128) StepFlag {
  uint32_t step;
};

// Whether a flag that shows `seen` has come to `step`, also across a wrap-around.
GRAMMASK_HOST_DEVICE inline bool HasReached(uint32_t seen, uint32_t step) {
  return static_cast<int32_t>(seen - step) >= 0;
}

// The flag's step. What the other side wrote before it raised the flag to that step may be read
// after this call (acquire, at system scope), with ordinary loads: not through the read-only cache
// (__ldg, const __restrict__).
GRAMMASK_HOST_DEVICE inline uint32_t LoadStep(const StepFlag* flag) {
#if defined(__CUDA_ARCH__)
  uint32_t step;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];"
               : "=r"(step)
               : "l"(__cvta_generic_to_global(&flag->step))
               : "memory");
  return step;
#else
  return __atomic_load_n(&flag->step, __ATOMIC_ACQUIRE);
#endif
}

// Raises the flag to `step`. What this thread wrote before, and what it knows of by barriers, is
// seen by a thread that sees the step (release, at system scope). One thread raises a flag.
GRAMMASK_HOST_DEVICE inline void RaiseStep(StepFlag* flag, uint32_t step) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.release.sys.global.u32 [%0], %1;"
               :
               : "l"(__cvta_generic_to_global(&flag->step)), "r"(step)
               : "memory");
#else
  __atomic_store_n(&flag->step, step, __ATOMIC_RELEASE);
#endif
}

// Waits until the flag has come to `step`, looking up to `max_looks` times (0: no bound) with
// pauses that grow to about a microsecond. False where it has not: the caller then gives up or
// falls back. On the device one thread of a block waits and a __syncthreads() lets the others go
// on; on the host a thread yields in between. Give a bound wherever the other side may have gone.
GRAMMASK_HOST_DEVICE inline bool WaitForStep(const StepFlag* flag, uint32_t step,
                                             uint64_t max_looks) {
  uint32_t pause = 32;  // nanoseconds
  for (uint64_t looks = 0; max_looks == 0 || looks < max_looks; ++looks) {
    if (HasReached(LoadStep(flag), step)) return true;
#if defined(__CUDA_ARCH__)
    __nanosleep(pause);
#else
    if (pause < 1024) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::nanoseconds(pause));
    }
#endif
    if (pause < 1024) pause *= 2;
  }
  return false;
}

}  // namespace grammask::device

#endif  // GRAMMASK_DEVICE_CUH_
