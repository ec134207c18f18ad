// The object that a function of this file lies in is one of those that the dynamic linker has
// loaded; its executable segments are asked for as a whole. Tests: tests/base/own_code_test.cc.
#include "base/own_code.h"

#ifdef __linux__
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#endif

namespace grammask::internal {

#ifdef __linux__
namespace {

// Of each loaded object; not 0 once it was the one.
int MapCodeOf(dl_phdr_info* object, size_t, void* here) {
  const auto wanted = reinterpret_cast<uintptr_t>(here);
  bool own = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    own |= segment.p_type == PT_LOAD && begin <= wanted && wanted - begin < segment.p_memsz;
  }
  if (!own) return 0;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    const int before = errno;
    (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_READ);
    errno = before;
  }
  return 1;
}

}  // namespace

void MapOwnCode() {
  // A process that was forked begins with none of it mapped. Whoever comes second does not wait: in
  // a process forked meanwhile nobody would end it.
  static std::atomic<pid_t> begun = 0;
  const pid_t self = getpid();
  if (begun.exchange(self, std::memory_order_relaxed) == self) return;
  dl_iterate_phdr(&MapCodeOf, reinterpret_cast<void*>(&MapCodeOf));
}
#else
void MapOwnCode() {}
#endif

}  // namespace grammask::internal
