// The pages of the program's own code are mapped.
#include "base/own_code.h"

#include <gtest/gtest.h>

#ifdef __linux__
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace grammask::internal {
namespace {

// Size and what of it is mapped, in KB, of the mapping that an address lies in.
struct Mapping {
  long size = 0, mapped = -1;
};
Mapping MappingOf(uintptr_t address) {
  std::ifstream in("/proc/self/smaps");
  Mapping found;
  bool here = false;
  for (std::string line; std::getline(in, line);) {
    unsigned long begin = 0, end = 0;
    long number = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      here = begin <= address && address < end;
    } else if (here && std::sscanf(line.c_str(), "Size: %ld kB", &number) == 1) {
      found.size = number;
    } else if (here && std::sscanf(line.c_str(), "Rss: %ld kB", &number) == 1) {
      found.mapped = number;
    }
  }
  return found;
}

TEST(OwnCode, IsMapped) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto here = reinterpret_cast<uintptr_t>(&MapOwnCode);
  if (madvise(reinterpret_cast<void*>(here & ~(page - 1)), page, MADV_POPULATE_READ) != 0) {
    GTEST_SKIP() << "this kernel maps no pages on request";
  }
  errno = E2BIG;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(&MapOwnCode);
  for (std::thread& t : threads) t.join();
  MapOwnCode();
  EXPECT_EQ(errno, E2BIG);
  const Mapping code = MappingOf(here);
  ASSERT_GT(code.size, 0);
  EXPECT_EQ(code.mapped, code.size);

  // A forked process begins with what it has run.
  const pid_t child = fork();
  if (child == 0) {
    MapOwnCode();
    const Mapping forked = MappingOf(here);
    _exit(forked.size > 0 && forked.mapped == forked.size ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace grammask::internal
#endif
