// The arguments of a call on masked logits, checked.
#ifndef GRAMMASK_MATCHER_APPLY_ARGS_H_
#define GRAMMASK_MATCHER_APPLY_ARGS_H_

#include "base/status.h"
#include "grammask/grammask.h"
#include "kernels/apply_cpu.h"

namespace grammask::internal {

// Rows as the kernels take them, with no more columns than the mask covers (perhaps 0); an error
// that names the argument where anything does not fit. `args.indices` are checked too.
StatusOr<MaskedRows> CheckApplyArgs(const ApplyArgs& args);

}  // namespace grammask::internal

#endif  // GRAMMASK_MATCHER_APPLY_ARGS_H_
