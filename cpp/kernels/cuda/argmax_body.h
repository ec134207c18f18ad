// The kernel of masked_argmax: one team of blocks for each row reads the mask and the logits that
// it allows, once, and writes the token. The logits are not written.
//
// Each thread keeps the best of its slots, then warps, blocks and the team do; ties go to the
// lowest token at every stage, so the result does not depend on how the row was divided. Tested by
// tests/kernels/cuda_choose_test.cc on the host.
#ifndef GRAMMASK_KERNELS_CUDA_ARGMAX_BODY_H_
#define GRAMMASK_KERNELS_CUDA_ARGMAX_BODY_H_

#include "kernels/cuda/choose.h"

namespace grammask::internal::cuda {

template <class F>
struct ArgmaxShared {
  BestShared<F> best;
};

template <class F>
GM_DEVICE void ArgmaxBody(const ArgmaxParams& p, ArgmaxShared<F>* shared) {
  const int64_t item = BlockIndex() / TeamBlocks();
  const int64_t row = RowOf(p.rows, item);
  Best<F> best = {0, 0};
  if (row >= 0) {
    best = BestOfRow(MaskedRow<F>(p.in, row), &shared->best);
    TeamBarrier();
  }
  if (TeamRank() != 0 || ThreadIndex() != 0) return;
  p.tokens[item] = best.key == 0 ? -1 : p.in.vocab_offset + int64_t{best.column};
  if (p.values != nullptr) {
    p.values[item] =
        static_cast<float>(F::Decode(F::BitsOfKey(best.key == 0 ? kLowestKey<F> : best.key)));
  }
}

}  // namespace grammask::internal::cuda

#endif  // GRAMMASK_KERNELS_CUDA_ARGMAX_BODY_H_
