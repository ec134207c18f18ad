// Memory for large tables that are read all over: on pages of 2 MB instead of 4 KB where the system
// grants them, so that finding an address costs no walk of the page tables.
//
// Where large pages are granted on request (Linux: transparent_hugepage `madvise`, the default of
// most distributions, or `always`) these are asked for, one by one as the memory is touched;
// elsewhere this is malloc. What is smaller than such a page gains nothing and is malloc's.
#ifndef GRAMMASK_BASE_HUGE_PAGES_H_
#define GRAMMASK_BASE_HUGE_PAGES_H_

#include <cstddef>
#include <cstdlib>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace grammask::internal {

inline constexpr size_t kHugePage = size_t{2} << 20;

// For std::free(); throws std::bad_alloc. Thread-safe.
inline void* AllocateTable(size_t size) {
  void* memory = nullptr;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (size >= kHugePage) {
    if (posix_memalign(&memory, kHugePage, size) != 0) throw std::bad_alloc();
    // Whole pages only. If the system has none, these are as all others.
    (void)madvise(memory, size / kHugePage * kHugePage, MADV_HUGEPAGE);
    return memory;
  }
#endif
  memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// The same for containers.
template <class T>
struct TableAllocator {
  using value_type = T;
  TableAllocator() = default;
  template <class U>
  explicit TableAllocator(const TableAllocator<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(AllocateTable(n * sizeof(T))); }
  void deallocate(T* memory, size_t) { std::free(memory); }
  friend bool operator==(const TableAllocator&, const TableAllocator&) { return true; }
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_HUGE_PAGES_H_
