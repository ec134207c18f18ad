// Python values <-> what the C++ interface takes.
#ifndef GRAMMASK_PYTHON_CONVERT_H_
#define GRAMMASK_PYTHON_CONVERT_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammask/grammask.h"

namespace grammask::python {

// The UTF-8 of a str, or the contents of bytes or bytearray; else a TypeError that names `what`.
// The view lives as long as the object (a bytearray: until it is next changed).
std::string_view TextView(pybind11::handle object, const char* what);
// As TextView, but bytes are refused.
std::string_view StrView(pybind11::handle object, const char* what);

// An int, through __index__; else a TypeError.
pybind11::object Index(pybind11::handle object, const char* what);
// The same as a number. Values outside int32 are out of range (an error).
int32_t Int32(pybind11::handle object, const char* what);
// A list or tuple of ints, or anything with tolist() (an array, a tensor); else a TypeError.
std::vector<int32_t> Int32List(pybind11::handle object, const char* what);
// None, one int, or a list.
std::optional<std::vector<int32_t>> TokenIds(pybind11::handle object, const char* what);
// A list or tuple of str or bytes: a vocabulary or a batch of texts.
std::vector<std::string> TextList(pybind11::handle object, const char* what);

// Calls f(key, value) for the entries of a mapping, whose keys are str; none for None. Else a
// TypeError: `what` must be `expected`.
void ForEachEntry(pybind11::handle object, const char* what, const char* expected,
                  const std::function<void(pybind11::handle, pybind11::handle)>& f);

// The text of a JSON Schema given as str, dict, bool or pydantic model class.
pybind11::str SchemaText(pybind11::handle schema);

// str of `bytes` up to the first byte that is not UTF-8.
pybind11::str ValidUtf8Prefix(std::string_view bytes);

}  // namespace grammask::python

#endif  // GRAMMASK_PYTHON_CONVERT_H_
