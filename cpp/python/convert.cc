// Python arguments -> views and vectors, each refusal naming the argument and what it found.
//
// pybind11's own casters would copy every string and report a mismatch of the whole signature;
// these look at the object directly. Example: Int32List(numpy.array([3, 1]), "indices") calls
// tolist() once and reads two ints.
// Cost: no copy for text, one pass over lists.
// Tested by tests/python/test_errors.py and test_matcher.py.
#include "python/convert.h"

#include <limits>

#include "python/errors.h"

namespace py = pybind11;

namespace grammask::python {
namespace {

std::string_view Utf8(py::handle object) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (data == nullptr) throw py::error_already_set();  // a lone surrogate: UnicodeEncodeError
  return {data, static_cast<size_t>(size)};
}

// A list or tuple as it is; else tolist() of an array or tensor.
py::object Sequence(py::handle object, const char* what, const char* expected) {
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
    return py::reinterpret_borrow<py::object>(object);
  }
  if (!PyUnicode_Check(object.ptr()) && py::hasattr(object, "tolist")) {
    py::object list = object.attr("tolist")();
    if (PyList_Check(list.ptr())) return list;
  }
  RaiseType(what, expected, object);
}

}  // namespace

std::string_view StrView(py::handle object, const char* what) {
  if (!PyUnicode_Check(object.ptr())) RaiseType(what, "str", object);
  return Utf8(object);
}

std::string_view TextView(py::handle object, const char* what) {
  if (PyUnicode_Check(object.ptr())) return Utf8(object);
  if (PyBytes_Check(object.ptr())) {
    return {PyBytes_AS_STRING(object.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(object.ptr()))};
  }
  if (PyByteArray_Check(object.ptr())) {
    return {PyByteArray_AS_STRING(object.ptr()),
            static_cast<size_t>(PyByteArray_GET_SIZE(object.ptr()))};
  }
  RaiseType(what, "str or bytes", object);
}

py::object Index(py::handle object, const char* what) {
  if (PyFloat_Check(object.ptr()) || !PyIndex_Check(object.ptr())) {
    RaiseType(what, "an int", object);
  }
  py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
  if (!index) throw py::error_already_set();
  return index;
}

void ForEachEntry(py::handle object, const char* what, const char* expected,
                  const std::function<void(py::handle, py::handle)>& f) {
  if (object.is_none()) return;
  if (!py::isinstance(object, py::module_::import("collections.abc").attr("Mapping"))) {
    RaiseType(what, expected, object);
  }
  const py::list items(object.attr("items")());
  for (py::handle item : items) {
    const py::tuple pair = py::reinterpret_borrow<py::object>(item);
    const py::object key = pair[0], value = pair[1];
    (void)StrView(key, (std::string("each key of ") + what).c_str());
    f(key, value);
  }
}

int32_t Int32(py::handle object, const char* what) {
  const py::object index = Index(object, what);
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0 || value < std::numeric_limits<int32_t>::min() ||
      value > std::numeric_limits<int32_t>::max()) {
    Raise(OutOfRange(std::string(what) + " is " + py::str(index).cast<std::string>() +
                     ", which does not fit in 32 bits"),
          Source::kArgument);
  }
  return static_cast<int32_t>(value);
}

std::vector<int32_t> Int32List(py::handle object, const char* what) {
  py::object list = Sequence(object, what, "a list of ints");
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(list.ptr());
  std::vector<int32_t> values;
  values.reserve(static_cast<size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    values.push_back(Int32(PySequence_Fast_GET_ITEM(list.ptr(), i), what));
  }
  return values;
}

std::optional<std::vector<int32_t>> TokenIds(py::handle object, const char* what) {
  if (object.is_none()) return std::nullopt;
  if (PyLong_Check(object.ptr())) return std::vector<int32_t>{Int32(object, what)};
  return Int32List(object, what);
}

std::vector<std::string> TextList(py::handle object, const char* what) {
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr())) {
    RaiseType(what, "a list of str or bytes", object);
  }
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(object.ptr());
  std::vector<std::string> texts;
  texts.reserve(static_cast<size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    py::handle item = PySequence_Fast_GET_ITEM(object.ptr(), i);
    if (!PyUnicode_Check(item.ptr()) && !PyBytes_Check(item.ptr())) {
      RaiseArgument(std::string(what) + "[" + std::to_string(i) + "] is of type " +
                    Py_TYPE(item.ptr())->tp_name + "; each entry must be str or bytes");
    }
    texts.emplace_back(TextView(item, what));
  }
  return texts;
}

py::str SchemaText(py::handle schema) {
  if (PyUnicode_Check(schema.ptr())) return py::reinterpret_borrow<py::str>(schema);
  return py::module_::import("grammask._schema").attr("schema_text")(schema);
}

py::str ValidUtf8Prefix(std::string_view bytes) {
  Py_ssize_t consumed = 0;
  PyObject* text = PyUnicode_DecodeUTF8Stateful(bytes.data(), static_cast<Py_ssize_t>(bytes.size()),
                                                "strict", &consumed);
  if (text == nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) throw py::error_already_set();
    py::error_already_set error;  // takes the error, which says where it stopped
    const auto start = py::cast<size_t>(error.value().attr("start"));
    text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(start), "strict");
    if (text == nullptr) throw py::error_already_set();
  }
  return py::reinterpret_steal<py::str>(text);
}

}  // namespace grammask::python
