// Memory for large tables that are read all over: on pages of 2 MB instead of 4 KB where the system
// grants them, so that finding an address costs no walk of the page tables.
//
// Where large pages are granted on request (Linux: transparent_hugepage `madvise`, the default of
// most distributions, or `always`) these are asked for; elsewhere this is the heap's. What is
// smaller than such a page gains nothing and is the heap's.
//
// The first touch of a large page clears it, 0.1 to 0.3 ms, and on a virtual machine whose host has
// yet to find the memory 5 to 10 ms: too long for one mask. So the process keeps a reserve of large
// pages, touched when ReserveTables() asks for them and never given back, and tables are made of
// these as long as there are some, and then of small pages.
//
// Cost: 30 ns to take from the reserve and to give back. Tests: tests/base/huge_pages_test.cc.
#ifndef GRAMMASK_BASE_HUGE_PAGES_H_
#define GRAMMASK_BASE_HUGE_PAGES_H_

#include <cstddef>

namespace grammask::internal {

inline constexpr size_t kHugePage = size_t{2} << 20;
inline constexpr size_t kMostReserved = 64 * kHugePage;
inline constexpr size_t kTableAlign = 64;  // a line of the cache

// Sees to it that the reserve has `bytes` at least, or kMostReserved: those in use count. Nothing
// happens where the system has no large pages or no memory, or where another thread is at it.
// Thread-safe, as all functions here are.
void ReserveTables(size_t bytes);

// So many large pages, touched, which are never given back; null where the system has none or no
// memory.
void* TouchedPages(size_t pages);

// At a multiple of kTableAlign; for FreeTable() with the same size; throws std::bad_alloc. The
// content is arbitrary.
void* AllocateTable(size_t size, bool from_reserve = true);
void FreeTable(void* memory, size_t size);

// The same for containers; without `kFromReserve` for what lives as long as the process.
template <class T, bool kFromReserve = true>
struct TableAllocator {
  using value_type = T;
  template <class U>
  struct rebind {
    using other = TableAllocator<U, kFromReserve>;
  };
  TableAllocator() = default;
  template <class U>
  explicit TableAllocator(const TableAllocator<U, kFromReserve>&) {}
  T* allocate(size_t n) { return static_cast<T*>(AllocateTable(n * sizeof(T), kFromReserve)); }
  void deallocate(T* memory, size_t n) { FreeTable(memory, n * sizeof(T)); }
  friend bool operator==(const TableAllocator&, const TableAllocator&) { return true; }
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_HUGE_PAGES_H_
