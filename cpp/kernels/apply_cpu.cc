// Packed token masks to logits: a refused token's logit becomes minus infinity, in place.
//
// A mask word governs 32 neighbouring logits. Words that allow all of them are skipped without
// touching the logits, words that allow none become a fill, and the others a bitwise select between
// the logit and minus infinity, on the integers that store them, with one constant bit per lane so
// that compilers turn the loop into vector compares. For example the word 0b...0101 keeps lanes 0
// and 2 and overwrites the 30 others. Working on stored bits makes the four formats one template
// (they differ in the pattern of minus infinity only) and leaves NaNs as they are.
//
// Cost: one pass over the mask, one over the logits of words that refuse something; memory-bound
// (a row of 128,000 float32 is 512 KB).
// Tested by tests/kernels/apply_cpu_test.cc against a loop over single tokens.
#include "kernels/apply_cpu.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

namespace grammask::internal {
namespace {

#if defined(__GNUC__) || defined(__clang__)
#define GM_MAY_ALIAS __attribute__((__may_alias__))  // the caller's array holds floats
#else
#define GM_MAY_ALIAS
#endif
using Bits16 = uint16_t GM_MAY_ALIAS;
using Bits32 = uint32_t GM_MAY_ALIAS;
using Bits64 = uint64_t GM_MAY_ALIAS;
#undef GM_MAY_ALIAS

// The constants 1, 2, 4, ... of a vector compare, one a lane.
template <class Part>
constexpr auto MakeLaneBits() {
  std::array<Part, sizeof(Part) * 8> bits{};
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<Part>(Part{1} << i);
  return bits;
}
template <class Part>
constexpr auto kLaneBits = MakeLaneBits<Part>();

// The word is tested in parts that are as wide as a logit where that is possible: vector compares
// want bit and logit in lanes of one width. The select is arithmetic, because a conditional store
// keeps compilers from using vectors.
template <class T, T kMinusInfinity>
void SelectWord(uint32_t word, T* logits) {
  using Part = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;
  constexpr auto& kBits = kLaneBits<Part>;
  for (size_t begin = 0; begin < 32; begin += kBits.size()) {
    const auto part = static_cast<Part>(word >> begin);
    T* const lanes = logits + begin;
#if defined(__GNUC__)
#pragma GCC unroll 1  // g++ would unroll the 16 lanes before it looks for vectors: 8 times slower
#endif
    for (size_t i = 0; i < kBits.size(); ++i) {
      const T refused = static_cast<T>((part & kBits[i]) == 0 ? ~T{0} : T{0});
      lanes[i] = static_cast<T>((lanes[i] & ~refused) | (kMinusInfinity & refused));
    }
  }
}

template <class T, T kMinusInfinity>
void ApplyRow(T* logits, const int32_t* mask, int64_t columns) {
  const int64_t whole_words = columns / 32;
  for (int64_t w = 0; w < whole_words; ++w) {
    const auto word = static_cast<uint32_t>(mask[w]);
    if (word == 0xFFFFFFFFu) continue;
    T* const lanes = logits + w * 32;
    if (word == 0) {
      std::fill_n(lanes, 32, kMinusInfinity);
    } else {
      SelectWord<T, kMinusInfinity>(word, lanes);
    }
  }
  for (int64_t c = whole_words * 32; c < columns; ++c) {
    const auto word = static_cast<uint32_t>(mask[whole_words]);
    if (((word >> (c & 31)) & 1) == 0) logits[c] = kMinusInfinity;
  }
}

void ApplyOneRow(const MaskedRows& rows, int64_t row) {
  const int32_t* const mask = rows.mask + row * rows.mask_stride;
  const int64_t offset = row * rows.logits_stride;
  switch (rows.format) {
    case LogitFormat::kFloat32:
      ApplyRow<Bits32, 0xFF800000u>(static_cast<Bits32*>(rows.logits) + offset, mask, rows.columns);
      return;
    case LogitFormat::kFloat16:
      ApplyRow<Bits16, 0xFC00>(static_cast<Bits16*>(rows.logits) + offset, mask, rows.columns);
      return;
    case LogitFormat::kBFloat16:
      ApplyRow<Bits16, 0xFF80>(static_cast<Bits16*>(rows.logits) + offset, mask, rows.columns);
      return;
    case LogitFormat::kFloat64:
      ApplyRow<Bits64, 0xFFF0000000000000u>(static_cast<Bits64*>(rows.logits) + offset, mask,
                                            rows.columns);
      return;
  }
}

}  // namespace

void ApplyMaskToRows(const MaskedRows& rows, int64_t row_count) {
  for (int64_t row = 0; row < row_count; ++row) ApplyOneRow(rows, row);
}

void ApplyMaskToRows(const MaskedRows& rows, std::span<const int32_t> row_indices) {
  for (const int32_t row : row_indices) ApplyOneRow(rows, row);
}

}  // namespace grammask::internal
