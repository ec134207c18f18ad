// Python's keyword arguments to SchemaOptions, and warnings to Python's named tuples.
//
// Every value is checked here, so that a mistake is named by its argument: registry=[..] is a
// TypeError, on_unsupported="warn" a ValueError. Schemas of the registry may be dicts; they become
// JSON text. Tested by tests/python/test_schema_options.py.
#include "python/schema_options.h"

#include <pybind11/stl.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "python/convert.h"
#include "python/errors.h"

namespace py = pybind11;

namespace grammask::python {
namespace {

// The entries of a mapping; `text` gives the text of a value, or raises.
template <class Text>
std::map<std::string, std::string> Entries(py::handle object, const char* what,
                                           const char* expected, const Text& text) {
  std::map<std::string, std::string> entries;
  ForEachEntry(object, what, expected, [&](py::handle key, py::handle value) {
    const std::string place = std::string(what) + "[" + py::repr(key).cast<std::string>() + "]";
    entries[std::string(StrView(key, what))] = text(value, place);
  });
  return entries;
}

std::map<std::string, std::string> Registry(py::handle object) {
  return Entries(object, "registry", "None or a mapping of URI to schema",
                 [](py::handle value, const std::string& place) {
                   const bool schema = PyUnicode_Check(value.ptr()) || PyDict_Check(value.ptr()) ||
                                       PyBool_Check(value.ptr());
                   if (!schema) RaiseType(place.c_str(), "JSON text, a dict or a bool", value);
                   const py::str text = SchemaText(value);
                   return std::string(StrView(text, place.c_str()));
                 });
}

std::map<std::string, std::string> Formats(py::handle object) {
  return Entries(object, "formats", "None or a mapping of format name to regular expression",
                 [](py::handle value, const std::string& place) {
                   return std::string(StrView(value, place.c_str()));
                 });
}

bool Widen(py::handle object) {
  if (!object) return false;
  const std::string_view text = StrView(object, "on_unsupported");
  if (text != "error" && text != "widen") {
    RaiseArgument("on_unsupported is " + py::repr(object).cast<std::string>() +
                  "; it must be \"error\" or \"widen\"");
  }
  return text == "widen";
}

std::optional<std::pair<std::string, std::string>> Separators(py::handle object) {
  if (object.is_none()) return std::nullopt;
  const bool sequence = PyTuple_Check(object.ptr()) || PyList_Check(object.ptr());
  if (!sequence || PySequence_Fast_GET_SIZE(object.ptr()) != 2) {
    RaiseType("separators", "None or a tuple of two str: (between items, after a key)", object);
  }
  return std::pair(
      std::string(StrView(PySequence_Fast_GET_ITEM(object.ptr(), 0), "separators[0]")),
      std::string(StrView(PySequence_Fast_GET_ITEM(object.ptr(), 1), "separators[1]")));
}

// What pybind11 takes for a T.
template <class T>
T Value(py::handle value, const char* name, const char* expected, bool convert = true) {
  py::detail::make_caster<T> caster;
  if (!caster.load(value, convert)) RaiseType(name, expected, value);
  return py::detail::cast_op<T>(caster);
}

constexpr char kInt[] = "None or an int";

// False where there is no such argument.
bool Read(std::string_view name, py::handle value, SchemaArguments* a) {
  if (name == "any_whitespace") {
    a->any_whitespace = Value<bool>(value, "any_whitespace", "a bool");
  } else if (name == "strict_mode") {
    a->strict_mode = Value<bool>(value, "strict_mode", "a bool");
  } else if (name == "any_order") {
    a->any_order = Value<bool>(value, "any_order", "a bool");
  } else if (name == "indent") {
    a->indent = Value<std::optional<int>>(value, "indent", kInt);
  } else if (name == "separators") {
    a->separators = value;
  } else if (name == "max_whitespace_cnt") {
    a->max_whitespace_cnt = Value<std::optional<int>>(value, "max_whitespace_cnt", kInt);
  } else if (name == "registry") {
    a->registry = value;
  } else if (name == "formats") {
    a->formats = value;
  } else if (name == "on_unsupported") {
    a->on_unsupported = value;
  } else if (name == "root_whitespace") {
    a->root_whitespace = Value<bool>(value, "root_whitespace", "a bool", /*convert=*/false);
  } else {
    return false;
  }
  return true;
}

}  // namespace

SchemaArguments ReadSchemaCall(const char* function, const py::args& args, const py::kwargs& kwargs,
                               py::handle* schema) {
  const Py_ssize_t given = PyTuple_GET_SIZE(args.ptr());
  if (given > 1) {
    PyErr_Format(PyExc_TypeError,
                 "%s() takes 1 positional argument, the schema, but %zd were given", function,
                 given);
    throw py::error_already_set();
  }
  *schema = given == 1 ? PyTuple_GET_ITEM(args.ptr(), 0) : nullptr;
  SchemaArguments arguments;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(kwargs.ptr(), &at, &key, &value) != 0;) {
    const std::string_view name = StrView(key, "each keyword");
    if (name == "schema" && !*schema) {
      *schema = value;
    } else if (!Read(name, value, &arguments)) {
      PyErr_Format(PyExc_TypeError, "%s() got an unexpected or a second argument %R", function,
                   key);
      throw py::error_already_set();
    }
  }
  if (!*schema) {
    PyErr_Format(PyExc_TypeError, "%s() misses its argument: schema", function);
    throw py::error_already_set();
  }
  return arguments;
}

SchemaOptions MakeSchemaOptions(const SchemaArguments& a) {
  SchemaOptions options;
  options.any_whitespace = a.any_whitespace;
  options.indent = a.indent;
  options.strict_mode = a.strict_mode;
  options.max_whitespace_cnt = a.max_whitespace_cnt;
  options.any_order = a.any_order;
  options.root_whitespace = a.root_whitespace;
  if (a.indent.value_or(0) < 0) {
    RaiseArgument("indent is " + std::to_string(*a.indent) + "; it must be None or at least 0");
  }
  if (a.max_whitespace_cnt.value_or(1) < 1) {
    RaiseArgument("max_whitespace_cnt is " + std::to_string(*a.max_whitespace_cnt) +
                  "; it must be None or at least 1 (any_whitespace=False allows none)");
  }
  options.separators = Separators(a.separators);
  options.registry = Registry(a.registry);
  options.formats = Formats(a.formats);
  options.widen = Widen(a.on_unsupported);
  return options;
}

py::list WarningList(std::span<const SchemaWarning> warnings) {
  py::list list;
  if (warnings.empty()) return list;
  const py::object type = py::module_::import("grammask._schema_warning").attr("SchemaWarning");
  // Pointers and reasons may quote the schema.
  auto text = [](const std::string& s) {
    PyObject* decoded =
        PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "backslashreplace");
    if (decoded == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(decoded);
  };
  for (const SchemaWarning& w : warnings) {
    list.append(type(text(w.pointer), text(w.keyword), text(w.reason)));
  }
  return list;
}

}  // namespace grammask::python
