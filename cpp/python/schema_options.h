// The keyword arguments that from_json_schema and compile_json_schema share, and the warnings that
// their results carry.
#ifndef GRAMMASK_PYTHON_SCHEMA_OPTIONS_H_
#define GRAMMASK_PYTHON_SCHEMA_OPTIONS_H_

#include <pybind11/pybind11.h>

#include <optional>
#include <span>

#include "grammask/grammask.h"

namespace grammask::python {

// The arguments as Python gave them.
struct SchemaArguments {
  bool any_whitespace = true;
  std::optional<int> indent;
  pybind11::handle separators = Py_None;
  bool strict_mode = true;
  std::optional<int> max_whitespace_cnt;
  bool any_order = false;
  pybind11::handle registry = Py_None;
  pybind11::handle formats = Py_None;
  pybind11::handle on_unsupported;  // null: "error"
  bool root_whitespace = false;
};

// Reads a call of `function`(schema, *, the above). It is called for each request, and pybind11
// would look for each name there is. TypeError for an unknown name or a wrong type.
SchemaArguments ReadSchemaCall(const char* function, const pybind11::args& args,
                               const pybind11::kwargs& kwargs, pybind11::handle* schema);

// Errors: TypeError, or GrammaskError (a ValueError) for a value out of range.
SchemaOptions MakeSchemaOptions(const SchemaArguments& arguments);

// A list of grammask.SchemaWarning.
pybind11::list WarningList(std::span<const SchemaWarning> warnings);

}  // namespace grammask::python

#endif  // GRAMMASK_PYTHON_SCHEMA_OPTIONS_H_
