// A Status -> the exception that Python code sees.
//
// The classes are written in Python (grammask/exception.py), so that they read, pickle and inherit
// as users expect; here one is looked up by what was read and by the status code, built with the
// message and the code's name, and raised. Example: FromRegex("(") gives kInvalidArgument, which
// becomes RegexError("...", code="invalid_argument").
// Cost: a module import the first time, two attribute look-ups after it.
// Tested by tests/python/test_errors.py.
#include "python/errors.h"

namespace py = pybind11;

namespace grammask::python {
namespace {

const char* CodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid_argument";
    case StatusCode::kUnsupported:
      return "unsupported";
    case StatusCode::kUnsatisfiable:
      return "unsatisfiable";
    case StatusCode::kResourceExhausted:
      return "resource_exhausted";
    case StatusCode::kOutOfRange:
      return "out_of_range";
    case StatusCode::kFailedPrecondition:
      return "failed_precondition";
    case StatusCode::kInternal:
      return "internal";
  }
  return "internal";
}

const char* ClassName(StatusCode code, Source source) {
  if (code == StatusCode::kResourceExhausted) return "LimitError";
  switch (source) {
    case Source::kArgument:
      return "GrammaskError";
    case Source::kGrammar:
      return "GrammarError";
    case Source::kRegex:
      return "RegexError";
    case Source::kSchema:
      return "SchemaError";
    case Source::kTokenizer:
      return "TokenizerError";
    case Source::kSaved:
      return code == StatusCode::kUnsupported ? "DeserializeVersionError"
                                              : "DeserializeFormatError";
  }
  return "GrammaskError";
}

}  // namespace

void Raise(const Status& status, Source source) {
  // A message may quote bytes of the input that are not UTF-8.
  const std::string& text = status.message();
  py::object message = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  if (!message) throw py::error_already_set();
  py::object type =
      py::module_::import("grammask.exception").attr(ClassName(status.code(), source));
  py::object error = type(message, py::arg("code") = CodeName(status.code()));
  PyErr_SetObject(type.ptr(), error.ptr());
  throw py::error_already_set();
}

void RaiseType(const char* what, const char* expected, py::handle given) {
  PyErr_Format(PyExc_TypeError, "%s must be %s, not %s", what, expected,
               Py_TYPE(given.ptr())->tp_name);
  throw py::error_already_set();
}

}  // namespace grammask::python
