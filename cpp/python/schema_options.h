// The keyword arguments that from_json_schema and compile_json_schema share.
#ifndef GRAMMASK_PYTHON_SCHEMA_OPTIONS_H_
#define GRAMMASK_PYTHON_SCHEMA_OPTIONS_H_

#include <pybind11/pybind11.h>

#include <optional>
#include <string>

#include "grammask/grammask.h"
#include "python/convert.h"
#include "python/errors.h"

namespace grammask::python {

inline SchemaOptions MakeSchemaOptions(bool any_whitespace, std::optional<int> indent,
                                       pybind11::handle separators, bool strict_mode,
                                       std::optional<int> max_whitespace_cnt, bool any_order) {
  SchemaOptions options;
  options.any_whitespace = any_whitespace;
  options.indent = indent;
  options.strict_mode = strict_mode;
  options.max_whitespace_cnt = max_whitespace_cnt;
  options.any_order = any_order;
  if (indent.value_or(0) < 0) {
    RaiseArgument("indent is " + std::to_string(*indent) + "; it must be None or at least 0");
  }
  if (max_whitespace_cnt.value_or(1) < 1) {
    RaiseArgument("max_whitespace_cnt is " + std::to_string(*max_whitespace_cnt) +
                  "; it must be None or at least 1 (any_whitespace=False allows none)");
  }
  if (!separators.is_none()) {
    const bool pair = PyTuple_Check(separators.ptr()) || PyList_Check(separators.ptr());
    if (!pair || PySequence_Fast_GET_SIZE(separators.ptr()) != 2) {
      RaiseType("separators", "None or a tuple of two str: (between items, after a key)",
                separators);
    }
    options.separators = {
        std::string(StrView(PySequence_Fast_GET_ITEM(separators.ptr(), 0), "separators[0]")),
        std::string(StrView(PySequence_Fast_GET_ITEM(separators.ptr(), 1), "separators[1]"))};
  }
  return options;
}

}  // namespace grammask::python

#endif  // GRAMMASK_PYTHON_SCHEMA_OPTIONS_H_
