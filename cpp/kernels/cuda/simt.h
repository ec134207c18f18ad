// What a kernel's body may ask of the machine it runs on, under names that exist twice: here for
// nvcc, and as functions of tests/kernels/simt_emulator.h for the host, where every thread of a
// block is a fiber and a wrong barrier, or a result that depends on the order of threads, shows.
//
// "Team": the blocks that work on one row, a thread block cluster on sm_90 and later; one block
// otherwise. Shuffles are among the 32 threads of a warp, and all of them must take part.
#ifndef GRAMMASK_KERNELS_CUDA_SIMT_H_
#define GRAMMASK_KERNELS_CUDA_SIMT_H_

#include <cstdint>

#if defined(__CUDACC__)
#define GM_DEVICE __device__ __forceinline__
#else
#define GM_DEVICE inline
#endif

namespace grammask::internal::cuda {

inline constexpr int kWarp = 32;

#if defined(__CUDACC__)

GM_DEVICE uint32_t ThreadIndex() { return threadIdx.x; }
GM_DEVICE uint32_t BlockThreads() { return blockDim.x; }
GM_DEVICE uint32_t BlockIndex() { return blockIdx.x; }
GM_DEVICE uint32_t GridRow() { return blockIdx.y; }
GM_DEVICE void BlockBarrier() { __syncthreads(); }
GM_DEVICE uint32_t ShuffleXor(uint32_t value, int lanes) {
  return __shfl_xor_sync(0xFFFFFFFFu, value, lanes);
}
GM_DEVICE uint32_t ShuffleUp(uint32_t value, int lanes) {
  return __shfl_up_sync(0xFFFFFFFFu, value, static_cast<unsigned>(lanes));
}
GM_DEVICE uint32_t ShuffleFrom(uint32_t value, uint32_t lane) {
  return __shfl_sync(0xFFFFFFFFu, value, static_cast<int>(lane));
}
// Of the values of a warp's threads.
GM_DEVICE uint32_t WarpOr(uint32_t value) { return __reduce_or_sync(0xFFFFFFFFu, value); }
// Writes 16 bytes at once. Said to the compiler in so many words, as it would merge this store with
// others of single words.
GM_DEVICE void Store16(void* to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(__cvta_generic_to_global(to)), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}
// Adds to a word in shared memory; what it held before.
GM_DEVICE uint32_t SharedAdd(uint32_t* word, uint32_t value) { return atomicAdd(word, value); }
GM_DEVICE uint32_t FloatBits(float value) { return __float_as_uint(value); }
GM_DEVICE float FloatOf(uint32_t bits) { return __uint_as_float(bits); }
GM_DEVICE uint64_t DoubleBits(double value) {
  return static_cast<uint64_t>(__double_as_longlong(value));
}
GM_DEVICE double DoubleOf(uint64_t bits) {
  return __longlong_as_double(static_cast<long long>(bits));
}
GM_DEVICE float HalfToFloat(uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
GM_DEVICE uint64_t MultiplyHigh(uint64_t a, uint64_t b) { return __umul64hi(a, b); }
GM_DEVICE float MultiplyAdd(float a, float b, float c) { return __fmaf_rn(a, b, c); }
// The larger of two numbers; the other one where one is NaN.
GM_DEVICE float Larger(float a, float b) { return fmaxf(a, b); }
GM_DEVICE double Larger(double a, double b) { return fmax(a, b); }

#if __CUDA_ARCH__ >= 900

GM_DEVICE uint32_t TeamRank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
GM_DEVICE uint32_t TeamBlocks() {
  uint32_t blocks;
  asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(blocks));
  return blocks;
}
// Waits for all threads of the team; what they wrote before is seen after it.
GM_DEVICE void TeamBarrier() {
  if (TeamBlocks() == 1) {
    __syncthreads();
    return;
  }
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
// The place in another block's shared memory that `mine` is in this one's.
template <class T>
GM_DEVICE const T* InBlock(const T* mine, uint32_t rank) {
  if (TeamBlocks() == 1) return mine;  // as ordinary shared memory, which tools can follow
  uint64_t there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(mine), "r"(rank));
  return reinterpret_cast<const T*>(there);
}

#else

GM_DEVICE uint32_t TeamRank() { return 0; }
GM_DEVICE uint32_t TeamBlocks() { return 1; }
GM_DEVICE void TeamBarrier() { __syncthreads(); }
template <class T>
GM_DEVICE const T* InBlock(const T* mine, uint32_t) {
  return mine;
}

#endif  // __CUDA_ARCH__

#else

uint32_t ThreadIndex();
uint32_t BlockThreads();
uint32_t BlockIndex();
uint32_t GridRow();
void BlockBarrier();
uint32_t ShuffleXor(uint32_t value, int lanes);
uint32_t ShuffleUp(uint32_t value, int lanes);
uint32_t ShuffleFrom(uint32_t value, uint32_t lane);
uint32_t WarpOr(uint32_t value);
void Store16(void* to, uint32_t a, uint32_t b, uint32_t c, uint32_t d);
uint32_t SharedAdd(uint32_t* word, uint32_t value);
uint32_t FloatBits(float value);
float FloatOf(uint32_t bits);
uint64_t DoubleBits(double value);
double DoubleOf(uint64_t bits);
float HalfToFloat(uint16_t bits);
uint64_t MultiplyHigh(uint64_t a, uint64_t b);
float MultiplyAdd(float a, float b, float c);
float Larger(float a, float b);
double Larger(double a, double b);
uint32_t TeamRank();
uint32_t TeamBlocks();
void TeamBarrier();
const void* SharedInBlock(const void* mine, uint32_t rank);
template <class T>
const T* InBlock(const T* mine, uint32_t rank) {
  return static_cast<const T*>(SharedInBlock(mine, rank));
}

#endif  // __CUDACC__

// --- from these, for both ---------------------------------------------------------------------

GM_DEVICE uint64_t ShuffleXor(uint64_t value, int lanes) {
  const uint32_t low = ShuffleXor(static_cast<uint32_t>(value), lanes);
  const uint32_t high = ShuffleXor(static_cast<uint32_t>(value >> 32), lanes);
  return (uint64_t{high} << 32) | low;
}
GM_DEVICE float ShuffleXor(float value, int lanes) {
  return FloatOf(ShuffleXor(FloatBits(value), lanes));
}
GM_DEVICE double ShuffleXor(double value, int lanes) {
  return DoubleOf(ShuffleXor(DoubleBits(value), lanes));
}
GM_DEVICE uint64_t ShuffleUp(uint64_t value, int lanes) {
  const uint32_t low = ShuffleUp(static_cast<uint32_t>(value), lanes);
  const uint32_t high = ShuffleUp(static_cast<uint32_t>(value >> 32), lanes);
  return (uint64_t{high} << 32) | low;
}

// 64 bits in shared memory, added to by 32-bit operations (shared memory has no 64-bit addition
// other than by trying again): the low word's overflow is carried by whoever causes it. The order
// of additions does not show in the sum, which may be read after a barrier.
struct SharedSum {
  uint32_t low, high;
};
GM_DEVICE void Add(SharedSum* sum, uint64_t value) {
  const auto low = static_cast<uint32_t>(value);
  auto high = static_cast<uint32_t>(value >> 32);
  if (low != 0) {
    const uint32_t before = SharedAdd(&sum->low, low);
    if (before > 0xFFFFFFFFu - low) ++high;
  }
  if (high != 0) SharedAdd(&sum->high, high);
}
GM_DEVICE uint64_t ValueOf(const SharedSum& sum) { return (uint64_t{sum.high} << 32) | sum.low; }

}  // namespace grammask::internal::cuda

#endif  // GRAMMASK_KERNELS_CUDA_SIMT_H_
