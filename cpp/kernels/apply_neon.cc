// Masks to logits with NEON: a mask word is spread over lanes, tested, and selected.
//
// As with AVX2, each lane tests its own bit of the broadcast word; vtst does it in one instruction.
// Cost: for 32 float32 eight times broadcast, test, select; memory-bound.
// Tested by tests/kernels/apply_cpu_test.cc, on other machines under qemu
// (tests/kernels/aarch64_test.cmake).
#if defined(__aarch64__)
#include <arm_neon.h>

#include "kernels/apply_rows.h"

namespace grammask::internal {
namespace {

struct NeonLanes {
  static constexpr bool kStoresByMask = false;
  template <class Format>
  static void Select(uint32_t word, typename Format::Bits* logits) {
    if constexpr (sizeof(*logits) == 4) {
      static constexpr uint32_t kBits[4] = {1, 2, 4, 8};
      const uint32x4_t bits = vld1q_u32(kBits), fill = vdupq_n_u32(Format::kMinusInfinity);
      for (int i = 0; i < 32; i += 4) {
        auto* const lanes = reinterpret_cast<uint32_t*>(logits + i);
        const uint32x4_t allowed = vtstq_u32(vdupq_n_u32(word >> i), bits);
        vst1q_u32(lanes, vbslq_u32(allowed, vld1q_u32(lanes), fill));
      }
    } else if constexpr (sizeof(*logits) == 2) {
      static constexpr uint16_t kBits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
      const uint16x8_t bits = vld1q_u16(kBits), fill = vdupq_n_u16(Format::kMinusInfinity);
      for (int i = 0; i < 32; i += 8) {
        auto* const lanes = reinterpret_cast<uint16_t*>(logits + i);
        const uint16x8_t allowed = vtstq_u16(vdupq_n_u16(static_cast<uint16_t>(word >> i)), bits);
        vst1q_u16(lanes, vbslq_u16(allowed, vld1q_u16(lanes), fill));
      }
    } else {
      static constexpr uint64_t kBits[2] = {1, 2};
      const uint64x2_t bits = vld1q_u64(kBits), fill = vdupq_n_u64(Format::kMinusInfinity);
      for (int i = 0; i < 32; i += 2) {
        auto* const lanes = reinterpret_cast<uint64_t*>(logits + i);
        const uint64x2_t allowed = vtstq_u64(vdupq_n_u64(word >> i), bits);
        vst1q_u64(lanes, vbslq_u64(allowed, vld1q_u64(lanes), fill));
      }
    }
  }
  template <class Format>
  static void Fill(typename Format::Bits* logits) {
    for (int i = 0; i < 32; ++i) logits[i] = Format::kMinusInfinity;
  }
};

}  // namespace

void ApplyRowNeon(LogitFormat format, void* logits, const int32_t* mask, int64_t offset,
                  int64_t columns) {
  ApplyRowOf<NeonLanes>(format, logits, mask, offset, columns);
}

}  // namespace grammask::internal
#endif  // NEON
