// In each large page there are 32 pieces of the smallest block's size, a bit each: a block is as
// many of them, from a multiple of its own size on. So blocks that come back beside each other are
// one again, whatever sizes the next arenas ask for. What does not fit is the heap's; such blocks
// are kept by size.
#include "base/block_reserve.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <span>

#include "base/huge_pages.h"
#include "base/sanitized.h"

namespace grammask::internal {
namespace {

constexpr auto kSizes = static_cast<size_t>(std::countr_zero(kLargestKept / kSmallestKept)) + 1;
constexpr size_t kPieces = kHugePage / kSmallestKept;
static_assert(kPieces == 32 && kLargestKept == kHugePage);

// `count` bits, which begin at a multiple of `count`.
uint32_t PiecesAt(size_t first, size_t count) {
  return static_cast<uint32_t>(((uint64_t{1} << count) - 1) << first);
}

// A large page, of which blocks are cut.
struct CutPage {
  std::byte* begin = nullptr;
  uint32_t free = ~uint32_t{0};

  // Where so many pieces are free; kPieces where nowhere.
  size_t Find(size_t count) const {
    size_t first = 0;
    while (first < kPieces && (~free & PiecesAt(first, count)) != 0) first += count;
    return first;
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
  // At the beginning of a block that is kept.
  struct Kept {
    Kept* next;
  };
  std::mutex mutex;
  std::array<CutPage, kMostKept / kHugePage> pages;
  size_t page_count = 0;
  std::array<Kept*, kSizes> blocks = {};
  size_t bytes = 0;  // of blocks that are kept, in the pages or not

  // From the page with the least room that has enough, so that others stay whole; or null.
  std::byte* Cut(size_t size) {
    const size_t count = size / kSmallestKept;
    CutPage* best = nullptr;
    for (CutPage& page : std::span(pages).first(page_count)) {
      if (page.Find(count) == kPieces) continue;
      if (best == nullptr || std::popcount(page.free) < std::popcount(best->free)) best = &page;
    }
    return best == nullptr ? nullptr : best->Take(best->Find(count), count);
  }
};

// Never freed: arenas may go after it.
Reserve& TheReserve() {
  static Reserve& reserve = *new Reserve;
  return reserve;
}

bool MayKeep(size_t bytes) {
  return !kSanitized && std::has_single_bit(bytes) && bytes >= kSmallestKept &&
         bytes <= kLargestKept;
}
size_t SizeOf(size_t bytes) { return static_cast<size_t>(std::countr_zero(bytes / kSmallestKept)); }

}  // namespace

void ReserveBlocks(size_t bytes) {
  if (kSanitized) return;
  Reserve& reserve = TheReserve();
  const std::lock_guard lock(reserve.mutex);
  while (reserve.page_count < std::min(bytes, kMostKept) / kHugePage) {
    void* const page = TouchedPages(1);
    if (page == nullptr) return;
    reserve.pages[reserve.page_count++].begin = static_cast<std::byte*>(page);
    reserve.bytes += kHugePage;
  }
}

void* TakeBlock(size_t bytes) {
  if (MayKeep(bytes)) {
    Reserve& reserve = TheReserve();
    const std::lock_guard lock(reserve.mutex);
    if (std::byte* const cut = reserve.Cut(bytes)) {
      reserve.bytes -= bytes;
      return cut;
    }
    Reserve::Kept*& first = reserve.blocks[SizeOf(bytes)];
    if (first != nullptr) {
      void* const block = first;
      first = first->next;
      reserve.bytes -= bytes;
      return block;
    }
  }
  return ::operator new(bytes);
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
    if (reserve.bytes + bytes <= kMostKept) {
      Reserve::Kept*& first = reserve.blocks[SizeOf(bytes)];
      first = new (block) Reserve::Kept{first};
      reserve.bytes += bytes;
      return;
    }
  }
  ::operator delete(block);
}

size_t KeptBlockBytes() {
  Reserve& reserve = TheReserve();
  const std::lock_guard lock(reserve.mutex);
  return reserve.bytes;
}

}  // namespace grammask::internal
