// grammask._core.StepRunner and StepJob, which grammask.pipeline is made of.
#ifndef GRAMMASK_PYTHON_STEP_RUNNER_H_
#define GRAMMASK_PYTHON_STEP_RUNNER_H_

#include <pybind11/pybind11.h>

namespace grammask::python {

void BindStepRunner(pybind11::module_& m);  // after BatchGrammarMatcher

}  // namespace grammask::python

#endif  // GRAMMASK_PYTHON_STEP_RUNNER_H_
