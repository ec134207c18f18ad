// Lists as sets: in ascending order, each once.
#ifndef GRAMMASK_BASE_SORTED_H_
#define GRAMMASK_BASE_SORTED_H_

#include <algorithm>

namespace grammask::internal {

// Sorts a list and leaves out what is in it twice.
template <class List>
void SortUnique(List* list) {
  if (list->size() < 2) return;
  std::sort(list->begin(), list->end());
  list->erase(std::unique(list->begin(), list->end()), list->end());
}

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_SORTED_H_
