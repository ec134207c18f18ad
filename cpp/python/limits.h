// Limits of the engine as a Python mapping of their names.
#ifndef GRAMMASK_PYTHON_LIMITS_H_
#define GRAMMASK_PYTHON_LIMITS_H_

#include <pybind11/pybind11.h>

#include "grammask/limits.h"

namespace grammask::python {

// The default limits with those of `object`, None or a mapping of name to int, in their place.
// Errors: TypeError for a wrong type, GrammaskError (a ValueError) for an unknown name or a value
// out of range.
Limits ReadLimits(pybind11::handle object);

// All limits by name.
pybind11::dict LimitsDict(const Limits& limits);

}  // namespace grammask::python

#endif  // GRAMMASK_PYTHON_LIMITS_H_
