// Masks to logits in plain C++, for every machine.
//
// A mixed word is a bitwise select between the logits and minus infinity, on the integers that
// store them, with one constant bit per lane so that compilers turn the loop into vector compares
// where the baseline has them. For example the word 0b...0101 keeps lanes 0 and 2 and overwrites
// the 30 others. Working on stored bits makes the four formats one template (they differ in the
// pattern of minus infinity only) and leaves NaNs as they are. Cost: a read and a write of the
// logits of words that refuse something. Tested by tests/kernels/apply_cpu_test.cc against a loop
// over single tokens.
#include <array>
#include <cstddef>
#include <type_traits>

#include "kernels/apply_rows.h"

namespace grammask::internal {
namespace {

// The constants 1, 2, 4, ... of a vector compare, one a lane.
template <class Part>
constexpr auto MakeLaneBits() {
  std::array<Part, sizeof(Part) * 8> bits{};
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<Part>(Part{1} << i);
  return bits;
}
template <class Part>
constexpr auto kLaneBits = MakeLaneBits<Part>();

struct ScalarLanes {
  static constexpr bool kStoresByMask = false;
  // The word is tested in parts that are as wide as a logit where that is possible: vector compares
  // want bit and logit in lanes of one width. The select is arithmetic, because a conditional store
  // keeps compilers from using vectors.
  template <class Format>
  static void Select(uint32_t word, typename Format::Bits* logits) {
    using T = std::remove_cv_t<decltype(Format::kMinusInfinity)>;
    using Part = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;
    constexpr auto& kBits = kLaneBits<Part>;
    for (size_t begin = 0; begin < 32; begin += kBits.size()) {
      const auto part = static_cast<Part>(word >> begin);
      typename Format::Bits* const lanes = logits + begin;
#if defined(__GNUC__)
#pragma GCC unroll 1  // g++ would unroll the 16 lanes before it looks for vectors: 8 times slower
#endif
      for (size_t i = 0; i < kBits.size(); ++i) {
        const T refused = static_cast<T>((part & kBits[i]) == 0 ? ~T{0} : T{0});
        lanes[i] = static_cast<T>((lanes[i] & ~refused) | (Format::kMinusInfinity & refused));
      }
    }
  }
  template <class Format>
  static void Fill(typename Format::Bits* logits) {
    for (int i = 0; i < 32; ++i) logits[i] = Format::kMinusInfinity;
  }
};

}  // namespace

void ApplyRowScalar(LogitFormat format, void* logits, const int32_t* mask, int64_t offset,
                    int64_t columns) {
  ApplyRowOf<ScalarLanes>(format, logits, mask, offset, columns);
}

}  // namespace grammask::internal
