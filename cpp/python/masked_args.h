// The arguments that all calls on masked logits share, read from Python objects.
#ifndef GRAMMASK_PYTHON_MASKED_ARGS_H_
#define GRAMMASK_PYTHON_MASKED_ARGS_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "grammask/grammask.h"
#include "python/tensor_view.h"

namespace grammask::python {

// Holds the arrays for as long as it lives. Raises where logits or bitmask are no rows in CPU
// memory of the right element types, or the columns wanted are not there.
class MaskedArgs {
 public:
  MaskedArgs(pybind11::handle logits, pybind11::handle bitmask, std::optional<int64_t> vocab_size,
             int64_t vocab_offset, pybind11::handle indices, bool writes);

  const ApplyArgs& args() const { return args_; }
  // Whether `indices` were given and are empty: no rows, which ApplyArgs cannot say.
  bool no_rows() const { return indices_ && indices_->empty(); }
  // Rows of the result.
  size_t rows() const {
    return indices_ ? indices_->size() : static_cast<size_t>(args_.logits_rows);
  }

 private:
  BorrowedTensor logits_, mask_;
  std::optional<std::vector<int32_t>> indices_;
  ApplyArgs args_;
};

}  // namespace grammask::python

#endif  // GRAMMASK_PYTHON_MASKED_ARGS_H_
