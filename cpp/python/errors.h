// Turns a Status into a Python exception of grammask.exception. Nothing else in the library throws.
#ifndef GRAMMASK_PYTHON_ERRORS_H_
#define GRAMMASK_PYTHON_ERRORS_H_

#include <pybind11/pybind11.h>

#include <string>
#include <utility>

#include "grammask/status.h"

namespace grammask::python {

// What a call reads: chooses the class of its errors. Over a bound of Limits the class is
// LimitError whatever was read.
enum class Source { kArgument, kGrammar, kRegex, kSchema, kTokenizer, kSaved };

[[noreturn]] void Raise(const Status& status, Source source);

inline void RaiseIfError(const Status& status, Source source = Source::kArgument) {
  if (!status.ok()) Raise(status, source);
}

template <class T>
T ValueOrRaise(StatusOr<T> result, Source source = Source::kArgument) {
  if (!result.ok()) Raise(result.status(), source);
  return std::move(result).value();
}

// A malformed argument, found by the bindings themselves. Needs the GIL, as all of this header.
[[noreturn]] inline void RaiseArgument(std::string message) {
  Raise(InvalidArgument(std::move(message)), Source::kArgument);
}

// TypeError: `what` must be `expected`, but the object given is of another type.
[[noreturn]] void RaiseType(const char* what, const char* expected, pybind11::handle given);

}  // namespace grammask::python

#endif  // GRAMMASK_PYTHON_ERRORS_H_
