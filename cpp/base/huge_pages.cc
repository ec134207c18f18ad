// The reserve is one range of addresses, its pages bits of one word: taking a run of free ones and
// giving it back are a compare-and-swap each, so that a process forked in the midst of it waits for
// no lock. Pages are handed out once they have been touched; the lowest run that fits is taken.
#include "base/huge_pages.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>
#include <new>

#ifdef __linux__
#include <sys/mman.h>

#ifndef MADV_HUGEPAGE
#define MADV_HUGEPAGE 14
#define MADV_NOHUGEPAGE 15
#endif
#endif

namespace grammask::internal {

#ifdef __linux__

namespace {

constexpr size_t kPages = kMostReserved / kHugePage;
static_assert(kPages == 64);

struct PageReserve {
  std::mutex growing;
  size_t ready = 0;                    // pages touched, those in use among them
  std::atomic<char*> begin = nullptr;  // kPages pages, or null: not yet, or not to be had
  std::atomic<uint64_t> free = 0;      // of the pages that are ready
};

// Never destroyed: tables may be freed while the process ends.
PageReserve& ThePageReserve() {
  static PageReserve* const reserve = new PageReserve;
  return *reserve;
}

// `bytes` of new memory at a multiple of a large page's size, on `large` pages if the system grants
// them; null where there is no memory.
char* MapPages(size_t bytes, bool large) {
  void* const mapped = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(mapped);
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  if (before > 0) (void)munmap(begin, before);
  begin += before;
  (void)munmap(begin + bytes, kHugePage - before);
  (void)madvise(begin, bytes, large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return begin;
}

// Through a volatile pointer, so that the write is not left out.
void Touch(char* page) { *static_cast<volatile char*>(page) = 0; }

size_t PagesOf(size_t size) { return (size + kHugePage - 1) / kHugePage; }

uint64_t RunOf(size_t pages, int first) {
  return (pages >= kPages ? ~uint64_t{0} : (uint64_t{1} << pages) - 1) << first;
}

// Pages of the reserve, or null.
char* TakePages(size_t pages) {
  PageReserve& reserve = ThePageReserve();
  if (pages > kPages) return nullptr;
  uint64_t free = reserve.free.load(std::memory_order_relaxed);
  while (true) {
    // Bit i of `starts`: a run of that many free pages begins at page i.
    uint64_t starts = free;
    for (size_t n = 1; n < pages && starts != 0; ++n) starts &= free >> n;
    if (starts == 0) return nullptr;
    const int first = std::countr_zero(starts);
    const uint64_t run = RunOf(pages, first);
    if (!reserve.free.compare_exchange_weak(free, free & ~run, std::memory_order_acquire)) continue;
    return reserve.begin.load(std::memory_order_relaxed) + static_cast<size_t>(first) * kHugePage;
  }
}

// False: not the reserve's.
bool GivePages(void* memory, size_t pages) {
  PageReserve& reserve = ThePageReserve();
  const auto begin = reinterpret_cast<uintptr_t>(reserve.begin.load(std::memory_order_relaxed));
  const auto at = reinterpret_cast<uintptr_t>(memory);
  if (begin == 0 || at < begin || at >= begin + kMostReserved) return false;
  const uint64_t run = RunOf(pages, static_cast<int>((at - begin) / kHugePage));
  reserve.free.fetch_or(run, std::memory_order_release);
  return true;
}

}  // namespace

void* AllocatePages(size_t size, bool from_reserve) {
  if (from_reserve) {
    if (char* const memory = TakePages(PagesOf(size))) return memory;
  }
  // Beyond the reserve small pages, each of which costs a microsecond when it is first needed: the
  // table may be made in the midst of a mask.
  char* const memory = MapPages(PagesOf(size) * kHugePage, !from_reserve);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void FreePages(void* memory, size_t size) {
  // What is large goes straight back to the system: blocks of ever larger sizes would leave gaps in
  // the heap that nothing else fills.
  if (!GivePages(memory, PagesOf(size))) (void)munmap(memory, PagesOf(size) * kHugePage);
}

void ReserveTables(size_t bytes) {
  PageReserve& reserve = ThePageReserve();
  const size_t pages = std::min(PagesOf(bytes), kPages);
  // Whoever finds another thread at it does without: in a process forked meanwhile none ends it.
  const std::unique_lock lock(reserve.growing, std::try_to_lock);
  if (!lock.owns_lock() || reserve.ready >= pages) return;
  char* begin = reserve.begin.load(std::memory_order_relaxed);
  if (begin == nullptr) {
    begin = MapPages(kMostReserved, true);
    if (begin == nullptr) return;
    reserve.begin.store(begin, std::memory_order_relaxed);
  }
  for (; reserve.ready < pages; ++reserve.ready) {
    Touch(begin + reserve.ready * kHugePage);
    reserve.free.fetch_or(uint64_t{1} << reserve.ready, std::memory_order_release);
  }
}

void* TouchedPages(size_t pages) {
  char* const begin = MapPages(pages * kHugePage, true);
  for (size_t i = 0; begin != nullptr && i < pages; ++i) Touch(begin + i * kHugePage);
  return begin;
}

void* SmallPages(size_t pages) { return MapPages(pages * kHugePage, false); }

#else

void ReserveTables(size_t) {}
void* TouchedPages(size_t) { return nullptr; }
void* SmallPages(size_t) { return nullptr; }
void* AllocatePages(size_t, bool) { return nullptr; }
void FreePages(void*, size_t) {}

#endif

}  // namespace grammask::internal
