// CHECK is for our own bugs, never for input.
#ifndef GRAMMASK_BASE_CHECK_H_
#define GRAMMASK_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

#define GM_CHECK(cond)                                                                       \
  do {                                                                                       \
    if (!(cond)) [[unlikely]] {                                                              \
      std::fprintf(stderr, "%s:%d: internal check failed: %s\n", __FILE__, __LINE__, #cond); \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)

#ifdef NDEBUG
#define GM_DCHECK(cond) static_cast<void>(sizeof(!(cond)))
#else
#define GM_DCHECK(cond) GM_CHECK(cond)
#endif

#endif  // GRAMMASK_BASE_CHECK_H_
