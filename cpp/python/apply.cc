// grammask._core.apply_token_bitmask_inplace_cpu and the checks around it.
//
// Reads logits and bitmask in place, sets the number of columns where none is given (those that
// both cover), and calls the kernel without the GIL. Devices, and what else tensors can be, are the
// business of grammask/bitmask.py. Example: logits (1, 40), bitmask (1, 1): columns 0 to 31.
// Tested by tests/python/test_apply.py.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "grammask/grammask.h"
#include "python/bindings.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/masked_args.h"
#include "python/tensor_view.h"

namespace py = pybind11;

namespace grammask::python {
namespace {

struct Rows {
  int64_t rows, columns, stride;
};

// A row, or rows of contiguous elements, in CPU memory.
Rows RowsOf(const TensorView& view, const char* name) {
  const std::string what = name;
  if (!view.on_cpu) RaiseArgument(what + " must be in CPU memory");
  if (view.ndim != 1 && view.ndim != 2) {
    RaiseArgument(what + " has " + std::to_string(view.ndim) + " dimensions; it must have 1 or 2");
  }
  const int last = view.ndim - 1;
  if (view.shape[last] > 1 && view.strides[last] != 1) {
    RaiseArgument("the elements of a row of " + what +
                  " must lie next to each other in memory; make it contiguous first");
  }
  if (!view.aligned) RaiseArgument(what + " is not aligned to the size of its elements");
  return {last == 1 ? view.shape[0] : 1, view.shape[last],
          last == 1 ? view.strides[0] : view.shape[0]};
}

void ApplyCpu(py::handle logits, py::handle bitmask, std::optional<int64_t> vocab_size,
              py::handle indices, int64_t vocab_offset) {
  const MaskedArgs masked(logits, bitmask, vocab_size, vocab_offset, indices, /*writes=*/true);
  if (masked.no_rows()) return;
  Status status;
  {
    py::gil_scoped_release release;
    status = ApplyTokenBitmaskInplaceCpu(masked.args());
  }
  RaiseIfError(status);
}

TensorRoute RouteOf(std::string_view name) {
  if (name == "numpy") return TensorRoute::kNumpy;
  if (name == "exchange") return TensorRoute::kExchangeApi;
  if (name == "torch") return TensorRoute::kTorch;
  if (name == "buffer") return TensorRoute::kBuffer;
  if (name == "dlpack") return TensorRoute::kDlpack;
  return TensorRoute::kAuto;
}

// Finds out how to look at arrays of this one's type, which is kept: 30 us that the first mask need
// not take. Not for tensors: one of a tracing mode has nothing to look at.
void MeetArray(py::handle array) { const BorrowedTensor tensor(array, "array"); }

// What the bindings see of an array, by one route: for tests.
py::dict DescribeTensor(py::handle array, const std::string& route) {
  BorrowedTensor tensor(array, "array", RouteOf(route));
  const TensorView& view = tensor.view();
  constexpr const char* kTypes[] = {"int32",   "float16", "bfloat16", "float32",
                                    "float64", "other",   "other"};
  const int kept = std::min(view.ndim, 2);
  py::dict result;
  result["address"] = reinterpret_cast<uintptr_t>(view.data);
  result["dtype"] = kTypes[static_cast<int>(view.type)];
  result["ndim"] = view.ndim;
  result["shape"] = std::vector<int64_t>(view.shape, view.shape + kept);
  result["strides"] = std::vector<int64_t>(view.strides, view.strides + kept);
  result["on_cpu"] = view.on_cpu;
  result["writable"] = view.writable;
  result["aligned"] = view.aligned;
  return result;
}

}  // namespace

MaskedArgs::MaskedArgs(py::handle logits, py::handle bitmask, std::optional<int64_t> vocab_size,
                       int64_t vocab_offset, py::handle indices, bool writes)
    : logits_(logits, "logits"), mask_(bitmask, "bitmask") {
  const std::optional<LogitsType> type = LogitsTypeOf(logits_.view().type);
  if (!type) RaiseArgument("logits must be of float32, float16, bfloat16 or float64");
  if (mask_.view().type != ElementType::kInt32) RaiseArgument("bitmask must be of int32");
  if (writes && !logits_.view().writable) RaiseArgument("logits are read-only");
  const Rows logits_rows = RowsOf(logits_.view(), "logits");
  const Rows mask_rows = RowsOf(mask_.view(), "bitmask");
  if (!indices.is_none()) indices_ = Int32List(indices, "indices");
  args_.logits = logits_.view().data;
  args_.type = *type;
  args_.logits_rows = logits_rows.rows;
  args_.logits_columns = logits_rows.columns;
  args_.logits_stride = logits_rows.stride;
  args_.mask = static_cast<const int32_t*>(mask_.view().data);
  args_.mask_rows = mask_rows.rows;
  args_.mask_words = mask_rows.columns;
  args_.mask_stride = mask_rows.stride;
  if (indices_) args_.indices = *indices_;
  if (vocab_offset < 0) {
    Raise(
        OutOfRange("vocab_offset is " + std::to_string(vocab_offset) + "; it must not be negative"),
        Source::kArgument);
  }
  args_.vocab_offset = vocab_offset;
  const int64_t covered = std::max(args_.mask_words * 32 - vocab_offset, int64_t{0});
  args_.vocab_size = vocab_size.value_or(std::min(logits_rows.columns, covered));
  if (args_.vocab_size < 0 || args_.vocab_size > args_.logits_columns ||
      args_.vocab_size > covered) {
    Raise(OutOfRange("vocab_size is " + std::to_string(args_.vocab_size) + ", but logits have " +
                     std::to_string(args_.logits_columns) + " columns and the bitmask covers " +
                     std::to_string(covered) + " tokens" +
                     (vocab_offset > 0 ? " from " + std::to_string(vocab_offset) + " on" : "")),
          Source::kArgument);
  }
}

void BindApply(py::module_& m) {
  m.def(
      "apply_token_bitmask_inplace_cpu", &ApplyCpu, py::arg("logits"), py::arg("bitmask"),
      py::arg("vocab_size") = py::none(), py::arg("indices") = py::none(),
      py::arg("vocab_offset") = 0,
      R"(apply_token_bitmask_inplace_cpu(logits, bitmask, vocab_size=None, indices=None, vocab_offset=0)
--

Sets refused logits to minus infinity, in place. See grammask.apply_token_bitmask_inplace.)");
  m.def("_meet_array", &MeetArray, py::arg("array"),
        "_meet_array(array)\n--\n\nFinds out how to look at arrays of this one's type.");
  m.def("_describe_tensor", &DescribeTensor, py::arg("array"), py::arg("route") = "auto",
        "_describe_tensor(array, route='auto')\n--\n\nHow an array looks from C++, as a dict.");
  m.def("get_bitmask_size", &GetBitmaskSize, py::arg("vocab_size"),
        "get_bitmask_size(vocab_size)\n--\n\nceil(vocab_size / 32).");
}

}  // namespace grammask::python
