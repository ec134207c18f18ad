// A row of logits as slots of 16 bytes, the unit of memory access of all kernels here.
//
// Slots lie at multiples of 16 bytes, so that a row which does not begin or end at one has a first
// and last slot of which only some lanes belong to it. Slots, and lanes within them, are in the
// order of tokens. Example: float32, the row begins 4 bytes past a multiple of 16: slot 0 has
// columns -1 to 2, of which -1 is not the row's; slot 1 has columns 3 to 6.
#ifndef GRAMMASK_KERNELS_CUDA_ROW_H_
#define GRAMMASK_KERNELS_CUDA_ROW_H_

#include <cstdint>

#include "grammask/device.cuh"
#include "kernels/cuda/params.h"
#include "kernels/cuda/simt.h"

namespace grammask::internal::cuda {

#if defined(__GNUC__) && !defined(__CUDACC__)
#define GM_MAY_ALIAS __attribute__((__may_alias__))  // the caller's array holds floats
#else
#define GM_MAY_ALIAS
#endif

struct GM_MAY_ALIAS Vector {
  alignas(16) uint32_t words[4];
};

// The unsigned integer that stores a logit.
template <int kBytes>
struct StoredBits;
template <>
struct StoredBits<2> {
  using Type = uint16_t GM_MAY_ALIAS;
};
template <>
struct StoredBits<4> {
  using Type = uint32_t GM_MAY_ALIAS;
};
template <>
struct StoredBits<8> {
  using Type = uint64_t GM_MAY_ALIAS;
};
template <int kBytes>
using Stored = typename StoredBits<kBytes>::Type;
#undef GM_MAY_ALIAS

// The row that item `item` of a launch is about; -1 where a list in device memory names none.
GM_DEVICE int64_t RowOf(const RowList& rows, int64_t item) {
  if (rows.from == RowsFrom::kAll) return rows.first + item;
  int64_t row = -1;
  if (rows.from == RowsFrom::kInline) row = rows.listed[item];
  if (rows.from == RowsFrom::kDevice32) row = static_cast<const int32_t*>(rows.device)[item];
  if (rows.from == RowsFrom::kDevice64) row = static_cast<const int64_t*>(rows.device)[item];
  return row >= 0 && row < rows.rows ? row : -1;
}

// kBytes: of one logit, 2, 4 or 8.
template <int kBytes>
struct Slots {
  static constexpr int kLanes = 16 / kBytes;
  static constexpr uint32_t kAllLanes = (1u << kLanes) - 1;

  // `begin` is the address of column 0, a multiple of kBytes.
  GM_DEVICE Slots(const void* begin, int32_t row_columns)
      : shift(static_cast<int32_t>((reinterpret_cast<uintptr_t>(begin) & 15) / kBytes)),
        columns(row_columns),
        count(row_columns == 0 ? 0 : (shift + row_columns - 1) / kLanes + 1) {}

  GM_DEVICE int32_t FirstColumn(int32_t slot) const { return slot * kLanes - shift; }
  GM_DEVICE bool IsWhole(int32_t slot) const {
    const int32_t first = FirstColumn(slot);
    return first >= 0 && first + kLanes <= columns;
  }
  // Lanes of the slot whose column the mask allows; lanes outside the row count as not allowed.
  GM_DEVICE uint32_t Allowed(int32_t slot, const int32_t* mask, int32_t vocab_offset) const {
    const int32_t first = vocab_offset + FirstColumn(slot);
    if (IsWhole(slot)) return device::WholeMaskBits<kLanes>(mask, first);
    return device::MaskBits<kLanes>(mask, first, vocab_offset, vocab_offset + columns);
  }

  int32_t shift;    // lanes of slot 0 before column 0
  int32_t columns;  // of the row
  int32_t count;    // of slots
};

template <int kBytes>
GM_DEVICE Stored<kBytes> LaneOf(const Vector& vector, int lane) {
  if constexpr (kBytes == 2) {
    return static_cast<uint16_t>(vector.words[lane >> 1] >> ((lane & 1) * 16));
  } else if constexpr (kBytes == 4) {
    return vector.words[lane];
  } else {
    return (uint64_t{vector.words[lane * 2 + 1]} << 32) | vector.words[lane * 2];
  }
}

// Those of `lanes` among the logits from `first` on, one by one; 0 in the others.
template <int kBytes>
GM_DEVICE Vector LoadLanes(const Stored<kBytes>* first, uint32_t lanes) {
  Vector vector = {{0, 0, 0, 0}};
  for (int lane = 0; lane < 16 / kBytes; ++lane) {
    if (((lanes >> lane) & 1) == 0) continue;
    const uint64_t bits = first[lane];
    if constexpr (kBytes == 8) {
      vector.words[lane * 2] = static_cast<uint32_t>(bits);
      vector.words[lane * 2 + 1] = static_cast<uint32_t>(bits >> 32);
    } else {
      constexpr int kInWord = 4 / kBytes;
      vector.words[lane / kInWord] |= static_cast<uint32_t>(bits) << (lane % kInWord * 8 * kBytes);
    }
  }
  return vector;
}

// Which of the 32 columns at the places [place, place + 32) the mask allows; those at places
// outside [begin, end) count as not allowed. Column c is at place c + shift, its bit in the mask at
// its place + `bit`, so that slots and these words begin together wherever the row begins.
GM_DEVICE uint32_t AllowedAt(const int32_t* mask, int32_t place, int32_t bit, int32_t begin,
                             int32_t end) {
  if (place >= begin && place + 32 <= end) return device::WholeMaskBits<32>(mask, place + bit);
  return device::MaskBits<32>(mask, place + bit, begin + bit, end + bit);
}

// The slot's 16 bytes. Those that are not the row's may belong to nobody: they lie on the same page
// as the row's, so that reading them does no harm, and they are not looked at.
template <int kBytes>
GM_DEVICE Vector LoadSlot(const void* row, const Slots<kBytes>& slots, int32_t slot) {
  const auto* first = static_cast<const Stored<kBytes>*>(row) + slots.FirstColumn(slot);
  return *reinterpret_cast<const Vector*>(first);
}

}  // namespace grammask::internal::cuda

#endif  // GRAMMASK_KERNELS_CUDA_ROW_H_
