#include "base/block_reserve.h"

#include <array>
#include <bit>
#include <mutex>
#include <new>

#include "base/sanitized.h"

namespace grammask::internal {
namespace {

constexpr auto kSizes = static_cast<size_t>(std::countr_zero(kLargestKept / kSmallestKept)) + 1;

struct Reserve {
  // At the beginning of a block that is kept.
  struct Kept {
    Kept* next;
  };
  std::mutex mutex;
  std::array<Kept*, kSizes> blocks = {};
  size_t bytes = 0;
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

void* TakeBlock(size_t bytes) {
  if (MayKeep(bytes)) {
    Reserve& reserve = TheReserve();
    const std::lock_guard lock(reserve.mutex);
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
