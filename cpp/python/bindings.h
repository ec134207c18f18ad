// One function for each type, in the order in which the module calls them.
#ifndef GRAMMASK_PYTHON_BINDINGS_H_
#define GRAMMASK_PYTHON_BINDINGS_H_

#include <pybind11/pybind11.h>

namespace grammask::python {

void BindTokenizerInfo(pybind11::module_& m);
void BindGrammar(pybind11::module_& m);
void BindCompiledGrammar(pybind11::module_& m);
void BindGrammarCompiler(pybind11::module_& m);
void BindGrammarMatcher(pybind11::module_& m);
void BindBatchGrammarMatcher(pybind11::module_& m);
void BindApply(pybind11::module_& m);
void BindSampling(pybind11::module_& m);
void BindCuda(pybind11::module_& m);
void BindSaving(pybind11::module_& m);  // methods of types bound before

// Makes `type` appear as grammask.<name>, where users import it from.
inline void SetPublicModule(pybind11::handle type) { type.attr("__module__") = "grammask"; }

}  // namespace grammask::python

#endif  // GRAMMASK_PYTHON_BINDINGS_H_
