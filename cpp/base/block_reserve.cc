// In each large page there are 32 pieces of the smallest block's size, a bit each: a block is as
// many of them. So blocks that come back beside each other are one again, whatever sizes the next
// arenas ask for. Blocks of a power of two begin at a multiple of their size, and leave room for
// others such. What does not fit is the heap's.
#include "base/block_reserve.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <span>

#include "base/fork_safe.h"
#include "base/huge_pages.h"
#include "base/sanitized.h"

namespace grammask::internal {
namespace {

constexpr size_t kPieces = kHugePage / kSmallestKept;
static_assert(kPieces == 32 && kLargestKept == kHugePage);

// `count` bits.
uint32_t PiecesAt(size_t first, size_t count) {
  return static_cast<uint32_t>(((uint64_t{1} << count) - 1) << first);
}

// A large page, of which blocks are cut.
struct CutPage {
  std::byte* begin = nullptr;
  uint32_t free = ~uint32_t{0};
  bool touched = false;

  // Where so many pieces are free; kPieces where nowhere.
  size_t Find(size_t count) const {
    const size_t step = count & (~count + 1);  // the power of two in it
    for (size_t first = 0; first + count <= kPieces; first += step) {
      if ((~free & PiecesAt(first, count)) == 0) return first;
    }
    return kPieces;
  }
  std::byte* Take(size_t first, size_t count) {
    free &= ~PiecesAt(first, count);
    return begin + first * kSmallestKept;
  }
  // False: not of this page.
  bool Give(const void* block, size_t bytes) {
    const auto at = reinterpret_cast<uintptr_t>(block) - reinterpret_cast<uintptr_t>(begin);
    if (at >= kHugePage) return false;
    free |= PiecesAt(at / kSmallestKept, bytes / kSmallestKept);
    return true;
  }
};

struct Reserve {
  ForkSafeMutex mutex;
  std::array<CutPage, kMostKept / kHugePage> pages;
  size_t page_count = 0;
  size_t bytes = 0;  // that are kept

  // From a touched page, where one has room, and of these from the one with the least that is
  // enough, so that others stay whole; or null.
  std::byte* Cut(size_t size) {
    const size_t count = size / kSmallestKept;
    CutPage* best = nullptr;
    const auto rank = [](const CutPage& page) {
      return std::popcount(page.free) + (page.touched ? 0 : static_cast<int>(kPieces));
    };
    for (CutPage& page : std::span(pages).first(page_count)) {
      if (page.Find(count) == kPieces) continue;
      if (best == nullptr || rank(page) < rank(*best)) best = &page;
    }
    if (best == nullptr) return nullptr;
    bytes -= size;
    return best->Take(best->Find(count), count);
  }
  // False where there are enough, or the system has none.
  bool AddPage(bool touched) {
    if (page_count == pages.size()) return false;
    void* const page = touched ? TouchedPages(1) : SmallPages(1);
    if (page == nullptr) return false;
    pages[page_count].touched = touched;
    pages[page_count++].begin = static_cast<std::byte*>(page);
    bytes += kHugePage;
    return true;
  }
};

// Never freed: arenas may go after it.
Reserve& TheReserve() {
  static Reserve& reserve = *new Reserve;
  return reserve;
}

bool MayKeep(size_t bytes) {
  return !kSanitized && bytes % kSmallestKept == 0 && bytes > 0 && bytes <= kLargestKept;
}

void* FromHeap(size_t bytes) { return ::operator new(bytes, std::align_val_t(kBlockAlign)); }
void ToHeap(void* block) { ::operator delete(block, std::align_val_t(kBlockAlign)); }

}  // namespace

void ReserveBlocks(size_t bytes) {
  Reserve& reserve = TheReserve();
  if (kSanitized) return;
  const std::lock_guard lock(reserve.mutex);
  const auto pages = std::span(reserve.pages).first(reserve.page_count);
  const auto touched = static_cast<size_t>(std::ranges::count(pages, true, &CutPage::touched));
  for (size_t i = touched; i < bytes / kHugePage; ++i) {
    if (!reserve.AddPage(/*touched=*/true)) return;
  }
}

void* TakeBlock(size_t bytes) {
  if (MayKeep(bytes)) {
    Reserve& reserve = TheReserve();
    const std::lock_guard lock(reserve.mutex);
    if (std::byte* const cut = reserve.Cut(bytes)) return cut;
    if (reserve.AddPage(/*touched=*/false)) return reserve.Cut(bytes);
  }
  return FromHeap(bytes);
}

void GiveBlock(void* block, size_t bytes) {
  if (MayKeep(bytes)) {
    Reserve& reserve = TheReserve();
    const std::lock_guard lock(reserve.mutex);
    for (CutPage& page : std::span(reserve.pages).first(reserve.page_count)) {
      if (!page.Give(block, bytes)) continue;
      reserve.bytes += bytes;
      return;
    }
  }
  ToHeap(block);
}

size_t KeptBlockBytes() {
  Reserve& reserve = TheReserve();
  const std::lock_guard lock(reserve.mutex);
  return reserve.bytes;
}

}  // namespace grammask::internal
