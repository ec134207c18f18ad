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
  bool any_whitespace;
  std::optional<int> indent;
  pybind11::handle separators;
  bool strict_mode;
  std::optional<int> max_whitespace_cnt;
  bool any_order;
  pybind11::handle registry;
  pybind11::handle formats;
  pybind11::handle on_unsupported;
  bool root_whitespace;
};

// Errors: TypeError, or GrammaskError (a ValueError) for a value out of range.
SchemaOptions MakeSchemaOptions(const SchemaArguments& arguments);

// A list of grammask.SchemaWarning.
pybind11::list WarningList(std::span<const SchemaWarning> warnings);

}  // namespace grammask::python

#endif  // GRAMMASK_PYTHON_SCHEMA_OPTIONS_H_
