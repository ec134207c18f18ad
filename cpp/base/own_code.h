// The library's own code in memory, ahead of its first run.
#ifndef GRAMMASK_BASE_OWN_CODE_H_
#define GRAMMASK_BASE_OWN_CODE_H_

namespace grammask::internal {

// Has the system map the code of the program or library that this is linked into, so that what runs
// first in a process has no page fault for each 64 KB of it. Once a process, one that was forked
// too; some 50 us, 3 MB that all processes share. Nothing happens where the system cannot (Linux
// before 5.14, others). Thread-safe.
void MapOwnCode();

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_OWN_CODE_H_
