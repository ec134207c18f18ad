// Memory for tables: what is added to, and read all over, in the midst of compiling and of masks.
//
// The process's heap gives memory from wherever it has room: of pages that nothing has touched yet,
// that it gave back to the system a moment ago, or that the process shares with the one it was
// forked from; and on the way it reads the headers of pieces that lie on such pages. Each is a
// fault, of 2 to 20 us on a virtual machine, where a mask takes 2. So tables are of memory that is
// touched ahead, as far as the first compiler has reserved some: pieces of a heap of their own
// (piece_heap.h), blocks (block_reserve.h), large pages (huge_pages.h), by size.
//
// Cost: 16 ns to take and give back a piece. What one generation of tables gives back, the next one
// takes. Tests: tests/base/tables_test.cc, tests/base/huge_pages_test.cc.
#ifndef GRAMMASK_BASE_TABLES_H_
#define GRAMMASK_BASE_TABLES_H_

#include <cstddef>
#include <new>
#include <type_traits>
#include <vector>

namespace grammask::internal {

// A table of more than kSmallTable bytes begins at a line of the cache, others as operator new
// aligns.
inline constexpr size_t kTableAlign = 64, kSmallTable = 1024;
// Up to here a table takes little more memory than its size; beyond, whole blocks.
inline constexpr size_t kLargestPiece = size_t{1} << 15;

// For FreeTable() with the same arguments, on any thread; throws std::bad_alloc. The content is
// arbitrary. Thread-safe, as all functions here are.
void* AllocateTable(size_t size, bool from_reserve = true);
void FreeTable(void* memory, size_t size, bool from_reserve = true);

// Pieces that are in use, and the blocks they are cut from.
struct TablePieces {
  size_t pieces = 0, block_bytes = 0;
};
TablePieces PiecesOfTables();

// The same for containers; without `kFromReserve` for what lives as long as the process.
template <class T, bool kFromReserve = true>
struct TableAllocator {
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  using value_type = T;
  template <class U>
  struct rebind {
    using other = TableAllocator<U, kFromReserve>;
  };
  TableAllocator() = default;
  template <class U>
  TableAllocator(const TableAllocator<U, kFromReserve>&) {}  // NOLINT(google-explicit-constructor)
  T* allocate(size_t n) {
    if (n > static_cast<size_t>(-1) / kBytes) throw std::bad_array_new_length();
    return static_cast<T*>(AllocateTable(n * kBytes, kFromReserve));
  }
  void deallocate(T* memory, size_t n) { FreeTable(memory, n * kBytes, kFromReserve); }
  friend bool operator==(const TableAllocator&, const TableAllocator&) { return true; }

 private:
  static constexpr size_t kBytes = sizeof(T);  // NOLINT(bugprone-sizeof-expression): a pointer's
};

template <class T>
using TableVector = std::vector<T, TableAllocator<T>>;

// The same of what needs no constructor: where no value is given, nothing is written. After
// resize() the new elements are arbitrary.
template <class T>
struct RawTableAllocator : TableAllocator<T> {
  static_assert(std::is_trivially_default_constructible_v<T>);
  template <class U>
  struct rebind {
    using other = RawTableAllocator<U>;
  };
  RawTableAllocator() = default;
  template <class U>
  RawTableAllocator(const RawTableAllocator<U>&) {}  // NOLINT(google-explicit-constructor)
  template <class U>
  void construct(U* element) {
    ::new (static_cast<void*>(element)) U;
  }
};

template <class T>
using RawTableVector = std::vector<T, RawTableAllocator<T>>;

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_TABLES_H_
