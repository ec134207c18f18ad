// Status and the two macros that pass it on.
#ifndef GRAMMASK_BASE_STATUS_H_
#define GRAMMASK_BASE_STATUS_H_

#include <cstddef>
#include <string_view>

#include "grammask/status.h"

#define GM_CONCAT_INNER(a, b) a##b
#define GM_CONCAT(a, b) GM_CONCAT_INNER(a, b)

// Returns from the calling function when `expr`, a Status, is not ok.
#define GM_RETURN_IF_ERROR(expr)                                             \
  do {                                                                       \
    if (::grammask::Status gm_status = (expr); !gm_status.ok()) [[unlikely]] \
      return gm_status;                                                      \
  } while (false)

// Assigns the value of `expr`, a StatusOr, to `lhs`, or returns its Status.
#define GM_ASSIGN_OR_RETURN(lhs, expr) \
  GM_ASSIGN_OR_RETURN_INNER(GM_CONCAT(gm_status_or_, __LINE__), lhs, expr)
#define GM_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                              \
  if (!tmp.ok()) [[unlikely]]                     \
    return tmp.status();                          \
  lhs = std::move(tmp).value()

namespace grammask::internal {

// An error in a source text: kInvalidArgument (or `code`) with the message
//   <what> at line L, column C
//   <the source line>
//       ^
// `offset` is in bytes; lines and columns count from 1, columns in code points. A long line is cut
// around the caret. A `source` that is not UTF-8 is shown with replacement characters.
[[gnu::cold]] Status SourceError(std::string_view source, size_t offset, std::string_view what,
                                 StatusCode code = StatusCode::kInvalidArgument);

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_STATUS_H_
