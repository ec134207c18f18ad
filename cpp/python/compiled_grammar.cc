// grammask.CompiledGrammar: a grammar made ready for one vocabulary.
//
// Getters, the figures of a compilation as a dict, and precompute(), which works ahead of need on
// several threads without the GIL and takes it only to report progress. Example:
// compiled.stats()["shortest_bytes"] is the length of the shortest text of the grammar.
// Tested by tests/python/test_compiler.py.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <exception>
#include <limits>
#include <optional>

#include "grammask/grammask.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/schema_options.h"

namespace py = pybind11;

namespace grammask::python {
namespace {

py::dict Stats(const CompiledGrammar& compiled) {
  const CompileStats stats = compiled.stats();
  py::dict result;
  result["seconds"] = stats.seconds;
  result["rules"] = stats.rules;
  result["nodes"] = stats.nodes;
  result["states"] = stats.states;
  result["sets"] = stats.sets;
  result["masks"] = stats.masks;
  result["memory_bytes"] = stats.memory_bytes;
  result["shortest_bytes"] = py::cast(stats.shortest_bytes);
  return result;
}

size_t Precompute(const CompiledGrammar& compiled, int threads, std::optional<size_t> max_states,
                  std::optional<py::function> progress) {
  if (threads < 1)
    RaiseArgument("threads is " + std::to_string(threads) + "; it must be at least 1");
  std::exception_ptr error;  // of the callback; raised once the work has ended
  std::function<void(size_t, size_t)> report;
  if (progress.has_value()) {
    report = [&](size_t done, size_t found) {
      py::gil_scoped_acquire acquire;
      if (error) return;
      try {
        (*progress)(done, found);
      } catch (...) {
        error = std::current_exception();
      }
    };
  }
  size_t computed = 0;
  {
    py::gil_scoped_release release;
    computed = compiled.Precompute(threads, max_states.value_or(std::numeric_limits<size_t>::max()),
                                   report);
  }
  if (error) std::rethrow_exception(error);
  return computed;
}

}  // namespace

void BindCompiledGrammar(py::module_& m) {
  py::class_<CompiledGrammar> type(
      m, "CompiledGrammar",
      "A grammar made ready for one vocabulary by a GrammarCompiler. A handle: any number of\n"
      "matchers, on any number of threads, may share it.");
  SetPublicModule(type);
  type.def_property_readonly("grammar", &CompiledGrammar::grammar, "The Grammar it was made from.");
  type.def_property_readonly("tokenizer_info", &CompiledGrammar::tokenizer_info,
                             "The TokenizerInfo it was made for.");
  type.def_property_readonly(
      "warnings", [](const CompiledGrammar& compiled) { return WarningList(compiled.warnings()); },
      "Those of its grammar: where on_unsupported=\"widen\" made it larger than its schema.");
  type.def_property_readonly("memory_size_bytes", &CompiledGrammar::memory_size_bytes,
                             "Memory that it holds now, in bytes; grows as masks come into being.");
  type.def("stats", &Stats,
           R"(stats(self)
--

Figures as a dict: seconds (wall time of the compile call), rules, nodes (of the grammar), states,
sets, masks (that exist so far; they come into being on need), memory_bytes, and shortest_bytes
(length of the shortest text).)");
  type.def("precompute", &Precompute, py::arg("threads") = 1, py::kw_only(),
           py::arg("max_states") = py::none(), py::arg("progress") = py::none(),
           R"(precompute(self, threads=1, *, max_states=None, progress=None)
--

Computes masks ahead of need, of up to max_states states. Returns how many were computed. Without
the GIL; progress(done, found), where given, is called now and then, from any thread.)");
  type.def("__eq__", [](const CompiledGrammar& a, py::handle b) {
    return py::isinstance<CompiledGrammar>(b) &&
           a.impl() == b.cast<const CompiledGrammar&>().impl();
  });
  type.def("__hash__", [](const CompiledGrammar& a) {
    return static_cast<Py_hash_t>(reinterpret_cast<intptr_t>(a.impl().get()) >> 4);
  });
}

}  // namespace grammask::python
