// The CPU samplers of grammask/sampling.py, and what the samplers of other devices share with them:
// parameters checked and one for each row, and the numbers that decide.
//
// Parameters are a number, or a list or array with one entry for each row of the result. Example:
// temperature [0.0, 1.0] for two rows: the first takes its largest logit.
// Cost: reading the parameters, then the kernel's, without the GIL.
// Tested by tests/python/test_sampling.py.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grammask/grammask.h"
#include "kernels/cpu_isa.h"
#include "kernels/philox.h"
#include "python/bindings.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/masked_args.h"

namespace py = pybind11;

namespace grammask::python {
namespace {

// One number of a parameter.
double Real(py::handle object, const char* what) {
  const double value = PyFloat_AsDouble(object.ptr());
  if (value == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    RaiseType(what, "a number, or a list or array of one for each row", object);
  }
  return value;
}

py::object Index(py::handle object, const char* what) {
  PyObject* const index = PyIndex_Check(object.ptr()) ? PyNumber_Index(object.ptr()) : nullptr;
  if (index == nullptr) {
    PyErr_Clear();
    RaiseType(what, "an int, or a list or array of one for each row", object);
  }
  return py::reinterpret_steal<py::object>(index);
}

[[noreturn]] void RaiseRange(const char* what, py::handle value, const char* range) {
  Raise(OutOfRange(std::string(what) + " is " + py::str(value).cast<std::string>() +
                   "; it must be " + range),
        Source::kArgument);
}

uint64_t Unsigned(py::handle object, const char* what) {
  const py::object index = Index(object, what);
  const uint64_t value = PyLong_AsUnsignedLongLong(index.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    RaiseRange(what, index, "from 0 to 2**64 - 1");
  }
  return value;
}

int64_t Count(py::handle object, const char* what) {
  const py::object index = Index(object, what);
  const int64_t value = PyLong_AsLongLong(index.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    RaiseRange(what, index, "from 0 to 2**63 - 1");
  }
  return value;
}

// Sets a field of each of `rows` parameters, of which there is one as long as all are numbers.
template <class Field, class Read>
void SetEach(py::handle value, const char* what, size_t rows, Field SamplingParameters::*field,
             Read read, std::vector<SamplingParameters>* parameters) {
  const bool array = py::hasattr(value, "tolist");
  if (!array && !PyList_Check(value.ptr()) && !PyTuple_Check(value.ptr())) {
    const Field one = read(value, what);
    for (SamplingParameters& p : *parameters) p.*field = one;
    return;
  }
  const py::object list =
      array ? py::object(value.attr("tolist")()) : py::reinterpret_borrow<py::object>(value);
  if (!PyList_Check(list.ptr()) && !PyTuple_Check(list.ptr())) {  // an array without dimensions
    const Field one = read(list, what);
    for (SamplingParameters& p : *parameters) p.*field = one;
    return;
  }
  const auto entries = static_cast<size_t>(PySequence_Fast_GET_SIZE(list.ptr()));
  if (entries != rows) {
    RaiseArgument(std::string(what) + " has " + std::to_string(entries) + " entries for " +
                  std::to_string(rows) + " rows; give one for each row, or one number for all");
  }
  if (rows == 0) return;
  parameters->resize(rows, parameters->front());
  for (size_t i = 0; i < rows; ++i) {
    (*parameters)[i].*field =
        read(PySequence_Fast_GET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i)), what);
  }
}

// One entry for all rows, or one for each.
std::vector<SamplingParameters> Parameters(size_t rows, py::handle seed, py::handle offset,
                                           py::handle temperature, py::handle top_k,
                                           py::handle top_p, py::handle min_p) {
  std::vector<SamplingParameters> parameters(1);
  SetEach(seed, "seed", rows, &SamplingParameters::seed, Unsigned, &parameters);
  SetEach(offset, "offset", rows, &SamplingParameters::offset, Unsigned, &parameters);
  SetEach(temperature, "temperature", rows, &SamplingParameters::temperature, Real, &parameters);
  SetEach(top_k, "top_k", rows, &SamplingParameters::top_k, Count, &parameters);
  SetEach(top_p, "top_p", rows, &SamplingParameters::top_p, Real, &parameters);
  SetEach(min_p, "min_p", rows, &SamplingParameters::min_p, Real, &parameters);
  RaiseIfError(CheckSamplingParameters(parameters));
  return parameters;
}

template <class T>
py::array_t<T> NewArray(size_t size) {
  return py::array_t<T>(static_cast<py::ssize_t>(size));
}

py::tuple MaskedArgmax(py::handle logits, py::handle bitmask, std::optional<int64_t> vocab_size,
                       int64_t vocab_offset, py::handle indices) {
  const MaskedArgs masked(logits, bitmask, vocab_size, vocab_offset, indices, /*writes=*/false);
  auto tokens = NewArray<int64_t>(masked.rows());
  auto values = NewArray<float>(masked.rows());
  const std::span<int64_t> token_span(tokens.mutable_data(), masked.rows());
  const std::span<float> value_span(values.mutable_data(), masked.rows());
  if (!masked.no_rows()) {
    Status status;
    {
      py::gil_scoped_release release;
      status = MaskedArgmaxCpu(masked.args(), token_span, value_span);
    }
    RaiseIfError(status);
  }
  return py::make_tuple(tokens, values);
}

py::array MaskedSample(py::handle logits, py::handle bitmask, py::handle seed, py::handle offset,
                       py::handle temperature, py::handle top_k, py::handle top_p, py::handle min_p,
                       std::optional<int64_t> vocab_size, py::handle indices) {
  const MaskedArgs masked(logits, bitmask, vocab_size, 0, indices, /*writes=*/false);
  const std::vector<SamplingParameters> parameters =
      Parameters(masked.rows(), seed, offset, temperature, top_k, top_p, min_p);
  auto tokens = NewArray<int64_t>(masked.rows());
  const std::span<int64_t> span(tokens.mutable_data(), masked.rows());
  if (!masked.no_rows()) {
    Status status;
    {
      py::gil_scoped_release release;
      status = MaskedSampleCpu(masked.args(), parameters, span);
    }
    RaiseIfError(status);
  }
  return tokens;
}

py::dict SamplingParametersByRow(int64_t rows, py::handle seed, py::handle offset,
                                 py::handle temperature, py::handle top_k, py::handle top_p,
                                 py::handle min_p) {
  if (rows < 0) RaiseArgument("rows is " + std::to_string(rows) + "; it must not be negative");
  const auto count = static_cast<size_t>(rows);
  std::vector<SamplingParameters> parameters =
      Parameters(count, seed, offset, temperature, top_k, top_p, min_p);
  parameters.resize(count, parameters.empty() ? SamplingParameters{} : parameters.front());
  const auto column = [&]<class T>(T SamplingParameters::*field) {
    auto array = NewArray<T>(count);
    T* const data = array.mutable_data();
    for (size_t i = 0; i < count; ++i) data[i] = parameters[i].*field;
    return array;
  };
  py::dict result;
  result["seed"] = column(&SamplingParameters::seed);
  result["offset"] = column(&SamplingParameters::offset);
  result["temperature"] = column(&SamplingParameters::temperature);
  result["top_k"] = column(&SamplingParameters::top_k);
  result["top_p"] = column(&SamplingParameters::top_p);
  result["min_p"] = column(&SamplingParameters::min_p);
  return result;
}

py::array SamplingUniforms(py::handle seed, py::handle offset, py::handle row_indices) {
  const std::vector<int32_t> rows = Int32List(row_indices, "row_indices");
  std::vector<SamplingParameters> parameters(1);
  SetEach(seed, "seed", rows.size(), &SamplingParameters::seed, Unsigned, &parameters);
  SetEach(offset, "offset", rows.size(), &SamplingParameters::offset, Unsigned, &parameters);
  auto result = NewArray<double>(rows.size());
  double* const data = result.mutable_data();
  for (size_t i = 0; i < rows.size(); ++i) {
    const SamplingParameters& p = parameters[parameters.size() == 1 ? 0 : i];
    data[i] = internal::SampleUniform(p.seed, p.offset, static_cast<uint32_t>(rows[i]));
  }
  return result;
}

}  // namespace

void BindSampling(py::module_& m) {
  m.def(
      "cpu_isa", [] { return internal::CpuIsaName(ValueOrRaise(internal::ChosenCpuIsa())); },
      R"(cpu_isa()
--

Which kernels the CPU runs: "scalar", "avx2", "avx512" or "neon". The environment variable
GRAMMASK_CPU_ISA, read once, chooses one; GrammaskError where this machine cannot run it.)");
  m.def("masked_argmax_cpu", &MaskedArgmax, py::arg("logits"), py::arg("bitmask"),
        py::arg("vocab_size") = py::none(), py::arg("vocab_offset") = 0,
        py::arg("indices") = py::none(),
        R"(masked_argmax_cpu(logits, bitmask, vocab_size=None, vocab_offset=0, indices=None)
--

Tokens (int64) and their logits (float32). See grammask.masked_argmax.)");
  m.def(
      "masked_sample_cpu", &MaskedSample, py::arg("logits"), py::arg("bitmask"), py::arg("seed"),
      py::arg("offset") = 0, py::arg("temperature") = 1.0, py::arg("top_k") = 0,
      py::arg("top_p") = 1.0, py::arg("min_p") = 0.0, py::arg("vocab_size") = py::none(),
      py::arg("indices") = py::none(),
      R"(masked_sample_cpu(logits, bitmask, seed, offset=0, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, vocab_size=None, indices=None)
--

Tokens (int64). See grammask.masked_sample.)");
  m.def("sampling_parameters", &SamplingParametersByRow, py::arg("rows"), py::arg("seed"),
        py::arg("offset") = 0, py::arg("temperature") = 1.0, py::arg("top_k") = 0,
        py::arg("top_p") = 1.0, py::arg("min_p") = 0.0,
        R"(sampling_parameters(rows, seed, offset=0, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
--

The parameters of grammask.masked_sample, checked, by name: NumPy arrays of one entry for each row
(uint64, uint64, float64, int64, float64, float64).)");
  m.def("sampling_uniforms", &SamplingUniforms, py::arg("seed"), py::arg("offset"),
        py::arg("row_indices"),
        R"(sampling_uniforms(seed, offset, row_indices)
--

The number in [0, 1) that draws each of these rows of the logits (float64).)");
}

}  // namespace grammask::python
