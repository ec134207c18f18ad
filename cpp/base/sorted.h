// Lists as sets: in ascending order, each once; and what texts are sorted by.
#ifndef GRAMMASK_BASE_SORTED_H_
#define GRAMMASK_BASE_SORTED_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace grammask::internal {

// Sorts a list and leaves out what is in it twice.
template <class List>
void SortUnique(List* list) {
  if (list->size() < 2) return;
  std::sort(list->begin(), list->end());
  list->erase(std::unique(list->begin(), list->end()), list->end());
}

// The first eight bytes of a text, zeros where it has fewer, as a number that orders as they do.
inline uint64_t FirstEight(std::string_view text) {
  uint64_t bytes = 0;
  if (!text.empty()) std::memcpy(&bytes, text.data(), std::min<size_t>(text.size(), 8));
  return std::endian::native == std::endian::little ? __builtin_bswap64(bytes) : bytes;
}

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_SORTED_H_
