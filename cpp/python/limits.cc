// Limits of the engine as a Python mapping of their names.
//
// Messages name a limit as the C++ field is called, such as limits.max_mask_steps, so Python has
// them under the same names: GrammarCompiler(info, limits={"max_mask_steps": 10**9}). One list
// of fields serves reading, showing, and the message about an unknown name.
// Tested by tests/python/test_compiler.py.
#include "python/limits.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "python/convert.h"
#include "python/errors.h"

namespace py = pybind11;

namespace grammask::python {
namespace {

// Calls f(name, field) for each limit.
template <class AnyLimits, class F>
void ForEachLimit(AnyLimits& limits, F&& f) {
  f("max_source_bytes", limits.max_source_bytes);
  f("max_nesting", limits.max_nesting);
  f("max_boolean_nesting", limits.max_boolean_nesting);
  f("max_repeat", limits.max_repeat);
  f("max_ast_nodes", limits.max_ast_nodes);
  f("max_regular_states", limits.max_regular_states);
  f("max_mask_states", limits.max_mask_states);
  f("max_mask_bytes", limits.max_mask_bytes);
  f("max_mask_steps", limits.max_mask_steps);
  f("max_schema_steps", limits.max_schema_steps);
  f("arena_bytes", limits.arena_bytes);
}

// Values far beyond any machine, so that sums of them do not overflow.
constexpr uint64_t kMost = uint64_t{1} << 50;

template <class Field>
Field Value(py::handle object, const std::string& what) {
  if (PyBool_Check(object.ptr())) RaiseType(what.c_str(), "an int", object);
  const py::object index = Index(object, what.c_str());
  constexpr auto most = static_cast<long long>(
      std::min(kMost, static_cast<uint64_t>(std::numeric_limits<Field>::max())));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0 || value < 1 || value > most) {
    RaiseArgument(what + " is " + py::str(index).cast<std::string>() + "; it must be from 1 to " +
                  std::to_string(most));
  }
  return static_cast<Field>(value);
}

}  // namespace

Limits ReadLimits(py::handle object) {
  Limits limits;
  ForEachEntry(
      object, "limits", "None or a mapping of name to int", [&](py::handle key, py::handle value) {
        const std::string_view given = StrView(key, "limits");
        bool known = false;
        std::string names;
        ForEachLimit(limits, [&](std::string_view name, auto& field) {
          names.append(names.empty() ? "" : ", ").append(name);
          if (name != given) return;
          known = true;
          field = Value<std::remove_reference_t<decltype(field)>>(
              value, "limits[\"" + std::string(name) + "\"]");
        });
        if (!known) {
          RaiseArgument("limits has no \"" + std::string(given) + "\"; there are " + names);
        }
      });
  return limits;
}

py::dict LimitsDict(const Limits& limits) {
  py::dict all;
  ForEachLimit(limits, [&](const char* name, const auto& field) { all[name] = field; });
  return all;
}

}  // namespace grammask::python
