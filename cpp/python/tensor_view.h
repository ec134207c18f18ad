// Looks at an array or tensor of any library without copying it or importing that library.
#ifndef GRAMMASK_PYTHON_TENSOR_VIEW_H_
#define GRAMMASK_PYTHON_TENSOR_VIEW_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string>

#include "grammask/grammask.h"

namespace grammask::python {

enum class ElementType : uint8_t {
  kInt32,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kInt64,
  kOther
};

// Memory of an array. Only the first two dimensions are described; see `ndim`.
struct TensorView {
  void* data = nullptr;
  ElementType type = ElementType::kOther;
  int ndim = 0;  // any number; shape and strides hold those that exist, up to two
  int64_t shape[2] = {0, 0};
  int64_t strides[2] = {0, 0};  // in elements
  bool on_cpu = false;          // pinned memory counts as CPU memory
  int32_t device_type = 1;      // of DLPack
  int32_t device_id = 0;
  bool writable = false;
  bool aligned = true;  // data and strides are multiples of the element's size
};

// The way a view was found; kAuto tries the others in order.
enum class TensorRoute { kAuto, kNumpy, kExchangeApi, kTorch, kBuffer, kDlpack };

// A view, and what keeps its memory alive besides the object itself (a capsule or buffer).
class BorrowedTensor {
 public:
  // TypeError where `object` is no array; BufferError and the like come from its owner.
  // `what` names the argument in messages. Needs the GIL, as does the destructor.
  // With `stream` (a CUstream, 1 for the default one) memory on CUDA devices is described too, and
  // a DLPack producer makes that stream wait for it; without it, such a view has on_cpu false and
  // maybe no more.
  BorrowedTensor(pybind11::handle object, const char* what, TensorRoute route = TensorRoute::kAuto,
                 std::optional<int64_t> stream = std::nullopt);
  ~BorrowedTensor();
  BorrowedTensor(const BorrowedTensor&) = delete;
  BorrowedTensor& operator=(const BorrowedTensor&) = delete;

  const TensorView& view() const { return view_; }

 private:
  bool Find(pybind11::handle object, TensorRoute route, std::optional<int64_t> stream);
  bool FromBuffer(pybind11::handle object);
  bool FromDlpack(pybind11::handle object, std::optional<int64_t> stream);

  TensorView view_;
  pybind11::object capsule_;
  Py_buffer buffer_{};
  bool has_buffer_ = false;
};

// The stream that the library of `object`, a tensor on CUDA device `device_id`, works on now;
// nullopt where it is none that can say.
std::optional<uintptr_t> CurrentStream(pybind11::handle object, int32_t device_id);

// Rows of a bitmask that may be written: int32, on the CPU, one or two dimensions, each row
// contiguous and exactly `words` wide. Raises otherwise, before anything is written.
struct MaskRows {
  int32_t* data = nullptr;
  int64_t rows = 0;
  int64_t stride = 0;  // words from row to row
  bool one_dimensional = false;
};
MaskRows WritableMaskRows(const TensorView& view, int words);

// The kind of floats of logits; nullopt for anything else.
std::optional<LogitsType> LogitsTypeOf(ElementType type);

}  // namespace grammask::python

#endif  // GRAMMASK_PYTHON_TENSOR_VIEW_H_
