// The extension module grammask._core: binds the public C++ interface, one file for each type.
//
// The classes of the Python package are the C++ classes themselves, with no Python layer between a
// call and its method. Signatures stand in the docstrings in the form that inspect.signature reads
// and, with types, in python/grammask/_core.pyi.
// Tested by tests/python/test_api.py.
#include <pybind11/pybind11.h>

#include "python/bindings.h"

PYBIND11_MODULE(_core, m) {
  pybind11::options options;
  options.disable_function_signatures();
  options.disable_enum_members_docstring();
  m.doc() = "The compiled part of grammask; import grammask instead.";
  grammask::python::BindTokenizerInfo(m);
  grammask::python::BindGrammar(m);
  grammask::python::BindCompiledGrammar(m);
  grammask::python::BindGrammarCompiler(m);
  grammask::python::BindGrammarMatcher(m);
  grammask::python::BindBatchGrammarMatcher(m);
  grammask::python::BindApply(m);
  grammask::python::BindSampling(m);
  grammask::python::BindCuda(m);
  grammask::python::BindSaving(m);
}
