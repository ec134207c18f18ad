// The CUDA kernels from Python: tensors on a CUDA device -> a launch on the caller's stream.
//
// Looks at tensors through DLPack without copying them or importing their library, takes the stream
// that their library works on unless one is given, and calls kernels/cuda/launch.h, which checks
// and launches. Nothing waits for the device. Outputs are arrays that the caller allocated
// (grammask/_cuda.py does).
// Example: logits a torch tensor (64, 128256) on cuda:0, stream None: one launch on torch's stream.
// Cost: some 2 microseconds besides the driver's launch.
// Tested by tests/python/test_cuda.py, with a library in place of the driver.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/driver.h"
#include "kernels/cuda/launch.h"
#include "python/bindings.h"
#include "python/convert.h"
#include "python/dlpack_abi.h"
#include "python/errors.h"
#include "python/tensor_view.h"

namespace py = pybind11;

namespace grammask::python {
namespace {

namespace cuda = internal::cuda;

bool IsOnCuda(const TensorView& view) {
  return view.device_type == dlpack::kCuda || view.device_type == dlpack::kCudaManaged;
}

// The arguments that all calls share. Tensors live as long as this.
class Call {
 public:
  Call(py::handle logits, py::handle bitmask, std::optional<int64_t> vocab_size,
       int64_t vocab_offset, py::handle indices, std::optional<uintptr_t> stream)
      : dlpack_stream_(static_cast<int64_t>(stream.value_or(0) == 0 ? 1 : *stream)),
        logits_(logits, "logits", TensorRoute::kAuto, dlpack_stream_),
        bitmask_(bitmask, "bitmask", TensorRoute::kAuto, dlpack_stream_) {
    const TensorView& view = logits_.view();
    if (!IsOnCuda(view)) {
      RaiseArgument("logits are not in the memory of a CUDA device; this backend needs them there");
    }
    where_.device = view.device_id;
    const std::optional<internal::LogitFormat> format = FormatOf(view.type);
    if (!format) RaiseArgument("logits must be of float32, float16, bfloat16 or float64");
    in_.format = *format;
    const Rows rows = RowsOf(view, "logits");
    in_.logits = view.data;
    in_.rows = rows.rows;
    in_.columns = rows.columns;
    in_.stride = rows.stride;
    OnSameDevice(bitmask_.view(), "the bitmask is");
    if (bitmask_.view().type != ElementType::kInt32) RaiseArgument("bitmask must be of int32");
    const Rows mask = RowsOf(bitmask_.view(), "bitmask");
    in_.mask = static_cast<const int32_t*>(bitmask_.view().data);
    in_.mask_rows = mask.rows;
    in_.mask_words = mask.columns;
    in_.mask_stride = mask.stride;
    in_.vocab_size = vocab_size;
    in_.vocab_offset = vocab_offset;
    ReadIndices(indices);
    where_.stream =
        stream.has_value() ? *stream : CurrentStream(logits, view.device_id).value_or(0);
  }

  const cuda::DeviceLogits& in() const { return in_; }
  const cuda::RowChoice& rows() const { return rows_; }
  const cuda::Where& where() const { return where_; }
  const TensorView& logits() const { return logits_.view(); }
  int64_t items() const { return cuda::ItemCount(in_, rows_); }

  // A writable tensor beside the logits.
  BorrowedTensor Output(py::handle array, const char* what) const {
    return BorrowedTensor(array, what, TensorRoute::kAuto, dlpack_stream_);
  }
  void CheckOutput(const TensorView& view, ElementType type, const char* type_name,
                   const char* what) const {
    OnSameDevice(view, std::string(what) + " are");
    if (view.type != type || view.ndim != 1 || view.shape[0] != items() ||
        (view.shape[0] > 1 && view.strides[0] != 1)) {
      RaiseArgument(std::string(what) + " must be " + type_name + " of shape (" +
                    std::to_string(items()) + ",), contiguous");
    }
    if (!view.writable) RaiseArgument(std::string(what) + " are read-only");
  }

  struct Rows {
    int64_t rows, columns, stride;
  };
  static Rows RowsOf(const TensorView& view, const char* what) {
    const std::string name = what;
    if (view.ndim != 1 && view.ndim != 2) {
      RaiseArgument(name + " has " + std::to_string(view.ndim) +
                    " dimensions; it must have 1 or 2");
    }
    const int last = view.ndim - 1;
    if (view.shape[last] > 1 && view.strides[last] != 1) {
      RaiseArgument("the elements of a row of " + name +
                    " must lie next to each other in memory; make it contiguous first");
    }
    return {last == 1 ? view.shape[0] : 1, view.shape[last],
            last == 1 ? view.strides[0] : view.shape[0]};
  }

  void OnSameDevice(const TensorView& view, const std::string& subject) const {
    if (IsOnCuda(view) && view.device_id == where_.device) return;
    RaiseArgument("logits are on cuda:" + std::to_string(where_.device) + " and " + subject +
                  (IsOnCuda(view) ? " on cuda:" + std::to_string(view.device_id)
                                  : std::string(" elsewhere")) +
                  "; they must be on the same device");
  }

 private:
  static std::optional<internal::LogitFormat> FormatOf(ElementType type) {
    switch (type) {
      case ElementType::kFloat32:
        return internal::LogitFormat::kFloat32;
      case ElementType::kFloat16:
        return internal::LogitFormat::kFloat16;
      case ElementType::kBFloat16:
        return internal::LogitFormat::kBFloat16;
      case ElementType::kFloat64:
        return internal::LogitFormat::kFloat64;
      default:
        return std::nullopt;
    }
  }

  void ReadIndices(py::handle indices) {
    if (indices.is_none()) return;
    rows_.all = false;
    const bool is_list = PyList_Check(indices.ptr()) || PyTuple_Check(indices.ptr());
    if (!is_list) {
      indices_.emplace(indices, "indices", TensorRoute::kAuto, dlpack_stream_);
      const TensorView& view = indices_->view();
      if (!view.on_cpu) {
        OnSameDevice(view, "indices are");
        rows_.device_is_64 = view.type == ElementType::kInt64;
        if ((view.type != ElementType::kInt32 && !rows_.device_is_64) || view.ndim != 1 ||
            (view.shape[0] > 1 && view.strides[0] != 1)) {
          RaiseArgument("indices on a device must be int32 or int64, of one dimension, contiguous");
        }
        rows_.device = view.data;
        rows_.device_count = view.shape[0];
        return;
      }
    }
    listed_ = Int32List(indices, "indices");
    rows_.listed = listed_;
  }

  int64_t dlpack_stream_;
  BorrowedTensor logits_, bitmask_;
  std::optional<BorrowedTensor> indices_;
  std::vector<int32_t> listed_;
  cuda::DeviceLogits in_;
  cuda::RowChoice rows_;
  cuda::Where where_;
};

void Apply(py::handle logits, py::handle bitmask, std::optional<int64_t> vocab_size,
           int64_t vocab_offset, py::handle indices, std::optional<uintptr_t> stream,
           py::handle out) {
  const Call call(logits, bitmask, vocab_size, vocab_offset, indices, stream);
  if (out.is_none()) {
    if (!call.logits().writable) RaiseArgument("logits are read-only; give out");
    RaiseIfError(cuda::LaunchApply(call.in(), call.rows(), nullptr, 0, call.where()));
    return;
  }
  const BorrowedTensor out_tensor = call.Output(out, "out");
  const TensorView& view = out_tensor.view();
  call.OnSameDevice(view, "out is");
  const Call::Rows rows = Call::RowsOf(view, "out");
  if (view.type != call.logits().type || rows.rows != call.in().rows ||
      rows.columns != call.in().columns) {
    RaiseArgument("out must have the dtype and the shape of the logits");
  }
  if (!view.writable) RaiseArgument("out is read-only");
  if (view.data == call.in().logits && call.in().columns > 0) {
    RaiseArgument("out is the memory of the logits; leave it away to work in place");
  }
  RaiseIfError(cuda::LaunchApply(call.in(), call.rows(), view.data, rows.stride, call.where()));
}

void Argmax(py::handle logits, py::handle bitmask, py::handle tokens, py::handle values,
            std::optional<int64_t> vocab_size, int64_t vocab_offset, py::handle indices,
            std::optional<uintptr_t> stream) {
  const Call call(logits, bitmask, vocab_size, vocab_offset, indices, stream);
  const BorrowedTensor token_tensor = call.Output(tokens, "tokens");
  call.CheckOutput(token_tensor.view(), ElementType::kInt64, "int64", "tokens");
  const BorrowedTensor value_tensor = call.Output(values, "values");
  call.CheckOutput(value_tensor.view(), ElementType::kFloat32, "float32", "values");
  RaiseIfError(cuda::LaunchArgmax(call.in(), call.rows(),
                                  static_cast<int64_t*>(token_tensor.view().data),
                                  static_cast<float*>(value_tensor.view().data), call.where()));
}

// A number, or a tensor of one a row on the device, which must then outlive the launch.
template <class T>
cuda::PerItem<T> Setting(const Call& call, py::handle given, ElementType type,
                         const char* type_name, const char* what) {
  if (PyLong_Check(given.ptr()) || PyFloat_Check(given.ptr())) {
    if constexpr (std::is_same_v<T, uint64_t>) {
      const unsigned long long value = PyLong_AsUnsignedLongLong(given.ptr());
      if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        RaiseArgument(std::string(what) + " must be an integer from 0 to 2**64 - 1");
      }
      return {nullptr, value};
    } else if constexpr (std::is_same_v<T, int64_t>) {
      const long long value = PyLong_AsLongLong(given.ptr());
      if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        RaiseArgument(std::string(what) + " must be an integer below 2**63");
      }
      return {nullptr, value};
    } else {
      return {nullptr, static_cast<T>(py::cast<double>(given))};
    }
  }
  const BorrowedTensor tensor = call.Output(given, what);
  const TensorView& view = tensor.view();
  call.OnSameDevice(view, std::string(what) + " is");
  if (view.type != type || view.ndim != 1 || view.shape[0] != call.items() ||
      (view.shape[0] > 1 && view.strides[0] != 1)) {
    RaiseArgument(std::string(what) + " must be a number, or " + type_name + " of shape (" +
                  std::to_string(call.items()) + ",), contiguous, on the logits' device");
  }
  return {static_cast<const T*>(view.data), T{}};
}

void Sample(py::handle logits, py::handle bitmask, py::handle tokens, py::handle seed,
            py::handle offset, py::handle temperature, py::handle top_k, py::handle top_p,
            py::handle min_p, std::optional<int64_t> vocab_size, py::handle indices,
            std::optional<uintptr_t> stream) {
  const Call call(logits, bitmask, vocab_size, 0, indices, stream);
  const BorrowedTensor token_tensor = call.Output(tokens, "tokens");
  call.CheckOutput(token_tensor.view(), ElementType::kInt64, "int64", "tokens");
  cuda::SampleSettings settings;
  settings.seed = Setting<uint64_t>(call, seed, ElementType::kInt64, "int64", "seed");
  settings.offset = Setting<uint64_t>(call, offset, ElementType::kInt64, "int64", "offset");
  settings.temperature =
      Setting<float>(call, temperature, ElementType::kFloat32, "float32", "temperature");
  settings.top_k = Setting<int64_t>(call, top_k, ElementType::kInt64, "int64", "top_k");
  settings.top_p = Setting<double>(call, top_p, ElementType::kFloat64, "float64", "top_p");
  settings.min_p = Setting<double>(call, min_p, ElementType::kFloat64, "float64", "min_p");
  RaiseIfError(cuda::LaunchSample(call.in(), call.rows(), settings,
                                  static_cast<int64_t*>(token_tensor.view().data), call.where()));
}

}  // namespace

void BindCuda(py::module_& m) {
  m.def(
      "cuda_prepare",
      [](int device) {
        Status status;
        {
          py::gil_scoped_release release;
          status = cuda::Prepare(device);
        }
        RaiseIfError(status);
      },
      py::arg("device"),
      R"(cuda_prepare(device)
--

Loads the CUDA kernels for a device. Raises GrammaskError, which says why, where that cannot be.)");
  m.def(
      "cuda_image_size", [] { return cuda::KernelImage().size(); },
      R"(cuda_image_size()
--

Bytes of the CUDA kernels in this library; 0: it was built without nvcc.)");
  m.def(
      "apply_token_bitmask_cuda", &Apply, py::arg("logits"), py::arg("bitmask"),
      py::arg("vocab_size") = py::none(), py::arg("vocab_offset") = 0,
      py::arg("indices") = py::none(), py::arg("stream") = py::none(), py::arg("out") = py::none(),
      R"(apply_token_bitmask_cuda(logits, bitmask, vocab_size=None, vocab_offset=0, indices=None, stream=None, out=None)
--

Sets refused logits to minus infinity, in place or into out. See grammask.apply_token_bitmask.)");
  m.def(
      "masked_argmax_cuda", &Argmax, py::arg("logits"), py::arg("bitmask"), py::arg("tokens"),
      py::arg("values"), py::arg("vocab_size") = py::none(), py::arg("vocab_offset") = 0,
      py::arg("indices") = py::none(), py::arg("stream") = py::none(),
      R"(masked_argmax_cuda(logits, bitmask, tokens, values, vocab_size=None, vocab_offset=0, indices=None, stream=None)
--

Writes the allowed token with the largest logit of each row, and that logit. See grammask.masked_argmax.)");
  m.def(
      "masked_sample_cuda", &Sample, py::arg("logits"), py::arg("bitmask"), py::arg("tokens"),
      py::arg("seed"), py::arg("offset"), py::arg("temperature"), py::arg("top_k"),
      py::arg("top_p"), py::arg("min_p"), py::arg("vocab_size") = py::none(),
      py::arg("indices") = py::none(), py::arg("stream") = py::none(),
      R"(masked_sample_cuda(logits, bitmask, tokens, seed, offset, temperature, top_k, top_p, min_p, vocab_size=None, indices=None, stream=None)
--

Writes a token drawn for each row. See grammask.masked_sample.)");
}

}  // namespace grammask::python
