// Pages of 2 MB instead of 4 KB where the system grants them, for large tables that are read all
// over (tables.h): finding an address then costs no walk of the page tables.
//
// Where large pages are granted on request (Linux: transparent_hugepage `madvise`, the default of
// most distributions, or `always`) these are asked for; elsewhere there are none.
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

// Sees to it that the reserve has `bytes` at least, or kMostReserved: those in use count. Nothing
// happens where the system has no large pages or no memory, or where another thread is at it.
// Thread-safe, as all functions here are.
void ReserveTables(size_t bytes);

// So many large pages, touched, which are never given back; null where the system has none or no
// memory.
void* TouchedPages(size_t pages);
// The same much on small pages, untouched.
void* SmallPages(size_t pages);

#ifdef __linux__
inline constexpr bool kHasHugePages = true;
#else
inline constexpr bool kHasHugePages = false;
#endif
// Memory on large pages, `size` rounded up to these, from the reserve where it has so many. Throws
// std::bad_alloc. Null where there are none.
void* AllocatePages(size_t size, bool from_reserve);
// What AllocatePages() gave for that size.
void FreePages(void* memory, size_t size);

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_HUGE_PAGES_H_
