// An array or tensor object -> pointer, shape, strides and element type.
//
// The hot path (one mask row per decoding step) must not cost more than the mask, so the two usual
// types are recognised by a pointer comparison or two: numpy.ndarray, and what is made from it, is
// read through its C structure, and a tensor type that offers DLPack's exchange table (torch does
// from 2.10 on) through that table's function. Anything else goes by torch's attributes, the buffer
// protocol or a DLPack capsule. Example: a torch int32 tensor of shape (2, 4) on the CPU gives
// {data, kInt32, 2, {2, 4}, {4, 1}, on_cpu}.
// Cost: about 5 ns for NumPy, 30 ns for torch, 300 ns for an older torch, 2 us for a capsule.
// Source: NumPy's C API; the DLPack specification. Neither library is imported.
// Tested by tests/python/test_tensors.py, which takes every route.
#include "python/tensor_view.h"

#include <pybind11/numpy.h>

#include <cstring>
#include <string_view>

#include "python/dlpack_abi.h"
#include "python/errors.h"

namespace py = pybind11;

namespace grammask::python {
namespace {

int64_t ElementSize(ElementType type) {
  switch (type) {
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
      return 2;
    case ElementType::kFloat64:
    case ElementType::kInt64:
      return 8;
    default:
      return 4;
  }
}

// --- NumPy -------------------------------------------------------------------------------------

// numpy.ndarray, once a NumPy array has been seen; held for ever.
PyTypeObject* numpy_array_type = nullptr;

// Whether `type` is numpy.ndarray, found through the already loaded module.
bool IsNumpyArrayType(PyTypeObject* type) {
  if (type == numpy_array_type) return true;
  if (numpy_array_type != nullptr || std::strcmp(type->tp_name, "numpy.ndarray") != 0) return false;
  py::object modules = py::module_::import("sys").attr("modules");
  py::object numpy = modules.attr("get")("numpy");
  if (numpy.is_none() || numpy.attr("ndarray").ptr() != reinterpret_cast<PyObject*>(type)) {
    return false;
  }
  Py_INCREF(type);
  numpy_array_type = type;
  return true;
}

// Whether objects of `type` begin with the C structure of an array: numpy.ndarray, and classes made
// from it, such as HostBitmask.
bool HasNumpyArray(PyTypeObject* type) {
  for (; type != nullptr && type != &PyBaseObject_Type; type = type->tp_base) {
    if (IsNumpyArrayType(type)) return true;
  }
  return false;
}

ElementType NumpyElementType(const py::detail::PyArrayDescr_Proxy* descr) {
  using Api = py::detail::npy_api;
  constexpr int kHalf = 23;                                 // NPY_HALF
  if (descr->byteorder == '>') return ElementType::kOther;  // '=', '<' and '|' are native here
  switch (descr->type_num) {
    case Api::NPY_INT_:
      return ElementType::kInt32;
    case Api::NPY_FLOAT_:
      return ElementType::kFloat32;
    case Api::NPY_DOUBLE_:
      return ElementType::kFloat64;
    case kHalf:
      return ElementType::kFloat16;
    default:
      break;
  }
  if (descr->kind == 'V' && descr->type_num >= 256) {  // a type that an extension registered
    std::string_view name = reinterpret_cast<PyTypeObject*>(descr->typeobj)->tp_name;
    if (name == "bfloat16" || name.ends_with(".bfloat16")) return ElementType::kBFloat16;
  }
  return ElementType::kOther;
}

// Shape and strides of which the strides count bytes.
void SetByteStrides(const Py_ssize_t* shape, const Py_ssize_t* strides, TensorView* view) {
  const int64_t size = ElementSize(view->type);
  for (int i = 0; i < view->ndim && i < 2; ++i) {
    view->shape[i] = shape[i];
    view->strides[i] = strides[i] / size;
    if (strides[i] % size != 0 && shape[i] > 1) view->aligned = false;
  }
}

bool FromNumpy(py::handle object, TensorView* view) {
  if (!HasNumpyArray(Py_TYPE(object.ptr()))) return false;
  const auto* array = py::detail::array_proxy(object.ptr());
  view->data = array->data;
  view->type = NumpyElementType(py::detail::array_descriptor_proxy(array->descr));
  view->ndim = array->nd;
  view->on_cpu = true;
  view->writable = (array->flags & py::detail::npy_api::NPY_ARRAY_WRITEABLE_) != 0;
  view->aligned = (array->flags & py::detail::npy_api::NPY_ARRAY_ALIGNED_) != 0;
  SetByteStrides(array->dimensions, array->strides, view);
  return true;
}

// --- DLPack ------------------------------------------------------------------------------------

ElementType DlpackElementType(const dlpack::Tensor& tensor) {
  if (tensor.type_lanes != 1) return ElementType::kOther;
  const int bits = tensor.type_bits;
  switch (tensor.type_code) {
    case dlpack::kInt:
      return bits == 32   ? ElementType::kInt32
             : bits == 64 ? ElementType::kInt64
                          : ElementType::kOther;
    case dlpack::kBfloat:
      return bits == 16 ? ElementType::kBFloat16 : ElementType::kOther;
    case dlpack::kFloat:
      return bits == 16   ? ElementType::kFloat16
             : bits == 32 ? ElementType::kFloat32
             : bits == 64 ? ElementType::kFloat64
                          : ElementType::kOther;
    default:
      return ElementType::kOther;
  }
}

bool IsCpuDevice(int32_t type) {
  return type == dlpack::kCpu || type == dlpack::kCudaHost || type == dlpack::kRocmHost;
}

void SetFromDlpack(const dlpack::Tensor& tensor, TensorView* view) {
  view->data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  view->type = DlpackElementType(tensor);
  view->ndim = tensor.ndim;
  view->on_cpu = IsCpuDevice(tensor.device_type);
  view->device_type = tensor.device_type;
  view->device_id = tensor.device_id;
  view->writable = true;
  const int kept = tensor.ndim < 2 ? tensor.ndim : 2;
  for (int i = 0; i < kept; ++i) {
    view->shape[i] = tensor.shape[i];
    if (tensor.strides != nullptr) view->strides[i] = tensor.strides[i];
  }
  if (tensor.strides == nullptr) {
    int64_t step = 1;
    for (int i = tensor.ndim - 1; i >= 0; --i) {
      if (i < kept) view->strides[i] = step;
      step *= tensor.shape[i];
    }
  }
  view->aligned =
      reinterpret_cast<uintptr_t>(view->data) % static_cast<uintptr_t>(ElementSize(view->type)) ==
      0;
}

// The tensor type last seen to offer an exchange table, held for ever (as its table is), and its
// function. One entry: a process uses one tensor library for its masks.
struct {
  PyTypeObject* type = nullptr;
  int (*view)(void*, dlpack::Tensor*) = nullptr;
  int (*current_stream)(int32_t, int32_t, void**) = nullptr;
} exchange;

bool FindExchangeApi(PyTypeObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  py::object capsule =
      py::reinterpret_steal<py::object>(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name));
  if (!capsule) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw py::error_already_set();
    PyErr_Clear();
    return false;
  }
  if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) return false;
  const auto* api = static_cast<const dlpack::ExchangeApi*>(
      PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (api->version.major != dlpack::kMajorVersion || api->view == nullptr) return false;
  Py_INCREF(type);
  Py_INCREF(capsule.ptr());  // keeps the table
  exchange.type = type;
  exchange.view = api->view;
  exchange.current_stream = api->current_stream;
  return true;
}

bool FromExchangeApi(py::handle object, TensorView* view) {
  PyTypeObject* type = Py_TYPE(object.ptr());
  if (type != exchange.type && !FindExchangeApi(type)) return false;
  dlpack::Tensor tensor{};
  if (exchange.view(object.ptr(), &tensor) != 0) throw py::error_already_set();
  SetFromDlpack(tensor, view);
  return true;
}

// --- torch before 2.10 -------------------------------------------------------------------------

struct TorchNames {
  PyObject* tensor_type;
  PyObject *int32, *float16, *bfloat16, *float32, *float64, *int64;
};

// Names of the loaded torch module; null where torch is not loaded.
const TorchNames* LoadedTorch() {
  static const TorchNames* names = nullptr;
  if (names != nullptr) return names;
  py::object torch = py::module_::import("sys").attr("modules").attr("get")("torch");
  if (torch.is_none() || !py::hasattr(torch, "Tensor")) return nullptr;
  auto get = [&](const char* name) { return torch.attr(name).cast<py::object>().release().ptr(); };
  names = new TorchNames{get("Tensor"),  get("int32"),   get("float16"), get("bfloat16"),
                         get("float32"), get("float64"), get("int64")};
  return names;
}

ElementType TorchElementType(const TorchNames& torch, PyObject* dtype) {
  if (dtype == torch.int32) return ElementType::kInt32;
  if (dtype == torch.float32) return ElementType::kFloat32;
  if (dtype == torch.bfloat16) return ElementType::kBFloat16;
  if (dtype == torch.float16) return ElementType::kFloat16;
  if (dtype == torch.float64) return ElementType::kFloat64;
  if (dtype == torch.int64) return ElementType::kInt64;
  return ElementType::kOther;
}

py::object Attribute(py::handle object, PyObject* name) {
  py::object value = py::reinterpret_steal<py::object>(PyObject_GetAttr(object.ptr(), name));
  if (!value) throw py::error_already_set();
  return value;
}

py::object CallMethod(py::handle object, PyObject* name) {
  py::object value =
      py::reinterpret_steal<py::object>(PyObject_CallMethodNoArgs(object.ptr(), name));
  if (!value) throw py::error_already_set();
  return value;
}

bool FromTorch(py::handle object, TensorView* view) {
  const TorchNames* torch = LoadedTorch();
  if (torch == nullptr || PyObject_IsInstance(object.ptr(), torch->tensor_type) != 1) return false;
  static PyObject* const is_cpu = PyUnicode_InternFromString("is_cpu");
  static PyObject* const dtype = PyUnicode_InternFromString("dtype");
  static PyObject* const shape = PyUnicode_InternFromString("shape");
  static PyObject* const stride = PyUnicode_InternFromString("stride");
  static PyObject* const data_ptr = PyUnicode_InternFromString("data_ptr");
  view->on_cpu = Attribute(object, is_cpu).ptr() == Py_True;
  view->type = TorchElementType(*torch, Attribute(object, dtype).ptr());
  py::object sizes = Attribute(object, shape);
  view->ndim = static_cast<int>(PyTuple_GET_SIZE(sizes.ptr()));
  view->writable = true;
  if (!view->on_cpu) {
    if (!py::cast<bool>(object.attr("is_cuda"))) return true;  // the rest may not exist
    view->device_type = dlpack::kCuda;
    view->device_id = py::cast<int32_t>(object.attr("device").attr("index"));
  }
  py::object strides = CallMethod(object, stride);
  for (int i = 0; i < view->ndim && i < 2; ++i) {
    view->shape[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(sizes.ptr(), i));
    view->strides[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(strides.ptr(), i));
  }
  view->data = PyLong_AsVoidPtr(CallMethod(object, data_ptr).ptr());
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  return true;
}

ElementType FormatElementType(const char* format, Py_ssize_t size) {
  std::string_view text = format == nullptr ? "B" : format;
  if (text.size() > 1 && (text[0] == '@' || text[0] == '=' || text[0] == '<')) {
    text.remove_prefix(1);
  }
  if ((text == "i" || text == "l") && size == 4) return ElementType::kInt32;
  if (text == "e") return ElementType::kFloat16;
  if (text == "f") return ElementType::kFloat32;
  if (text == "d") return ElementType::kFloat64;
  return ElementType::kOther;
}

}  // namespace

BorrowedTensor::BorrowedTensor(py::handle object, const char* what, TensorRoute route,
                               std::optional<int64_t> stream) {
  if (!Find(object, route, stream)) {
    RaiseType(what, "an array or tensor (NumPy, torch, the buffer protocol or DLPack)", object);
  }
}

BorrowedTensor::~BorrowedTensor() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
}

bool BorrowedTensor::Find(py::handle object, TensorRoute route, std::optional<int64_t> stream) {
  auto takes = [&](TensorRoute one) { return route == TensorRoute::kAuto || route == one; };
  if (takes(TensorRoute::kNumpy) && FromNumpy(object, &view_)) return true;
  if (takes(TensorRoute::kExchangeApi) && FromExchangeApi(object, &view_)) return true;
  if (takes(TensorRoute::kTorch) && FromTorch(object, &view_)) return true;
  if (takes(TensorRoute::kBuffer) && FromBuffer(object)) return true;
  return takes(TensorRoute::kDlpack) && FromDlpack(object, stream);
}

bool BorrowedTensor::FromBuffer(py::handle object) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) return false;
  view_.writable = true;
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_RECORDS) != 0) {
    PyErr_Clear();
    view_.writable = false;
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_RECORDS_RO) != 0) {
      PyErr_Clear();
      return false;  // such as an element type that has no format code: try DLPack
    }
  }
  has_buffer_ = true;
  view_.data = buffer_.buf;
  view_.type = FormatElementType(buffer_.format, buffer_.itemsize);
  view_.ndim = buffer_.ndim;
  view_.on_cpu = true;
  SetByteStrides(buffer_.shape, buffer_.strides, &view_);
  if (reinterpret_cast<uintptr_t>(view_.data) % static_cast<uintptr_t>(ElementSize(view_.type)) !=
      0) {
    view_.aligned = false;
  }
  return true;
}

bool BorrowedTensor::FromDlpack(py::handle object, std::optional<int64_t> stream) {
  if (!py::hasattr(object, "__dlpack__") || !py::hasattr(object, "__dlpack_device__")) return false;
  py::tuple device = object.attr("__dlpack_device__")();
  const auto device_type = py::cast<int32_t>(py::int_(device[0]));
  const bool on_cpu = IsCpuDevice(device_type);
  const bool on_cuda = device_type == dlpack::kCuda || device_type == dlpack::kCudaManaged;
  if (!on_cpu && !(on_cuda && stream.has_value())) {
    view_.on_cpu = false;  // asking for a capsule could wait for the device
    view_.device_type = device_type;
    return true;
  }
  py::dict options;
  if (on_cuda) options["stream"] = *stream;
  py::object export_tensor = object.attr("__dlpack__");
  try {
    capsule_ =
        export_tensor(py::arg("max_version") = py::make_tuple(dlpack::kMajorVersion, 0), **options);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    capsule_ = export_tensor(**options);  // a producer of DLPack before 1.0
  }
  if (PyCapsule_IsValid(capsule_.ptr(), "dltensor_versioned")) {
    const auto* managed = static_cast<const dlpack::ManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule_.ptr(), "dltensor_versioned"));
    if (managed->version.major != dlpack::kMajorVersion) return false;
    SetFromDlpack(managed->tensor, &view_);
    view_.writable = (managed->flags & dlpack::kReadOnly) == 0;
    return true;
  }
  if (!PyCapsule_IsValid(capsule_.ptr(), "dltensor")) return false;
  SetFromDlpack(
      static_cast<const dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule_.ptr(), "dltensor"))
          ->tensor,
      &view_);
  return true;
}

std::optional<uintptr_t> CurrentStream(py::handle object, int32_t device_id) {
  if (Py_TYPE(object.ptr()) == exchange.type && exchange.current_stream != nullptr) {
    void* stream = nullptr;
    if (exchange.current_stream(dlpack::kCuda, device_id, &stream) != 0) {
      throw py::error_already_set();
    }
    return reinterpret_cast<uintptr_t>(stream);
  }
  const TorchNames* torch = LoadedTorch();
  if (torch == nullptr || PyObject_IsInstance(object.ptr(), torch->tensor_type) != 1) {
    return std::nullopt;
  }
  py::object current = py::module_::import("torch.cuda").attr("current_stream")(device_id);
  return py::cast<uintptr_t>(current.attr("cuda_stream"));
}

MaskRows WritableMaskRows(const TensorView& view, int words) {
  if (!view.on_cpu) {
    RaiseArgument(
        "the bitmask is on a device; it must be in CPU memory (fill it there, then copy)");
  }
  if (view.type != ElementType::kInt32) RaiseArgument("the bitmask's dtype must be int32");
  if (view.ndim != 1 && view.ndim != 2) {
    RaiseArgument("the bitmask has " + std::to_string(view.ndim) +
                  " dimensions; its shape must be (batch_size, " + std::to_string(words) +
                  ") or (" + std::to_string(words) + ",)");
  }
  const int last = view.ndim - 1;
  if (view.shape[last] != words) {
    RaiseArgument("a row of the bitmask has " + std::to_string(view.shape[last]) +
                  " words; this vocabulary needs exactly " + std::to_string(words) +
                  " (see grammask.get_bitmask_shape)");
  }
  const bool empty = words == 0 || (view.ndim == 2 && view.shape[0] == 0);
  if (words > 1 && !empty && view.strides[last] != 1) {
    RaiseArgument("the words of a bitmask row must lie next to each other in memory");
  }
  if (!view.aligned) RaiseArgument("the bitmask is not aligned to 4 bytes");
  if (!view.writable) RaiseArgument("the bitmask is read-only");
  MaskRows rows;
  rows.data = static_cast<int32_t*>(view.data);
  rows.one_dimensional = view.ndim == 1;
  rows.rows = rows.one_dimensional ? 1 : view.shape[0];
  if (rows.data == nullptr && rows.rows > 0 && words > 0) {
    RaiseArgument("the bitmask has no memory of its own");  // such as a tensor of a tracing mode
  }
  rows.stride = rows.one_dimensional ? words : view.strides[0];
  return rows;
}

std::optional<LogitsType> LogitsTypeOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return LogitsType::kFloat32;
    case ElementType::kFloat16:
      return LogitsType::kFloat16;
    case ElementType::kBFloat16:
      return LogitsType::kBFloat16;
    case ElementType::kFloat64:
      return LogitsType::kFloat64;
    default:
      return std::nullopt;
  }
}

}  // namespace grammask::python
