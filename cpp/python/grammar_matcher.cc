// grammask.GrammarMatcher: the state of one output.
//
// accept_token and fill_next_token_bitmask run once per decoding step, so they are bound straight
// to C++ functions that read their arguments in place. A fill releases the GIL (most take a
// microsecond, but the first visit of a state may take a thousand); accepting keeps it, because a
// thread that gives the GIL away for a microsecond may wait milliseconds to get it back. Example:
// matcher.fill_next_token_bitmask(bitmask, 3) writes row 3 and returns False where every token is
// allowed.
// Cost: about 0.15 us over the C++ call.
// Tested by tests/python/test_matcher.py and test_threads.py.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grammask/grammask.h"
#include "python/bindings.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/matcher_object.h"
#include "python/tensor_view.h"

namespace py = pybind11;

namespace grammask::python {

void LogDebug(const char* call, const MatcherObject& object, const std::string& result) {
  py::module_::import("logging")
      .attr("getLogger")("grammask")
      .attr("debug")("%s: %s (%d steps accepted)", call, result, object.matcher.history_size());
}

namespace {

std::unique_ptr<MatcherObject> MakeMatcher(py::handle compiled_grammar,
                                           py::handle override_stop_tokens,
                                           bool terminate_without_stop_token,
                                           int max_rollback_tokens,
                                           std::optional<double> default_temperature) {
  if (!py::isinstance<CompiledGrammar>(compiled_grammar)) {
    RaiseArgument(std::string("compiled_grammar must be a grammask.CompiledGrammar, not ") +
                  Py_TYPE(compiled_grammar.ptr())->tp_name +
                  "; compile the grammar with a GrammarCompiler first");
  }
  if (max_rollback_tokens != -1 &&
      PyErr_WarnEx(PyExc_DeprecationWarning,
                   "max_rollback_tokens has no effect: any number of steps can be rolled back",
                   1) != 0) {
    throw py::error_already_set();
  }
  if (default_temperature && !(std::isfinite(*default_temperature) && *default_temperature >= 0)) {
    RaiseArgument("default_temperature is " + std::to_string(*default_temperature) +
                  "; it must be finite and not negative");
  }
  MatcherOptions options;
  options.override_stop_tokens = TokenIds(override_stop_tokens, "override_stop_tokens");
  options.terminate_without_stop_token = terminate_without_stop_token;
  return std::make_unique<MatcherObject>(
      ValueOrRaise(
          GrammarMatcher::Create(compiled_grammar.cast<const CompiledGrammar&>(), options)),
      default_temperature);
}

bool AcceptToken(MatcherObject& self, int64_t token_id, bool debug_print) {
  GrammarMatcher& matcher = Idle(self);
  const bool in_range = token_id >= 0 && token_id <= std::numeric_limits<int32_t>::max();
  const bool accepted = in_range && matcher.AcceptToken(static_cast<int32_t>(token_id));
  if (debug_print) [[unlikely]] {
    LogDebug("accept_token", self,
             "token " + std::to_string(token_id) + (accepted ? " accepted" : " refused"));
  }
  return accepted;
}

std::string_view InputText(py::handle input_str) {
  if (!PyUnicode_Check(input_str.ptr()) && !PyBytes_Check(input_str.ptr()) &&
      !PyByteArray_Check(input_str.ptr())) {
    RaiseArgument(std::string("input_str must be str or bytes, not ") +
                  Py_TYPE(input_str.ptr())->tp_name);
  }
  return TextView(input_str, "input_str");
}

bool AcceptString(MatcherObject& self, py::handle input_str, bool debug_print) {
  const bool accepted = Idle(self).AcceptString(InputText(input_str));
  if (debug_print) [[unlikely]]
    LogDebug("accept_string", self, accepted ? "accepted" : "refused");
  return accepted;
}

bool Fill(MatcherObject& self, py::handle bitmask, int64_t index, bool debug_print) {
  BorrowedTensor tensor(bitmask, "bitmask");
  GrammarMatcher& matcher = Idle(self);
  const MaskRows rows = WritableMaskRows(tensor.view(), matcher.mask_words());
  if (index < 0 || index >= rows.rows) {
    Raise(OutOfRange("index is " + std::to_string(index) + ", but the bitmask has " +
                     std::to_string(rows.rows) + " rows"),
          Source::kArgument);
  }
  auto constrained = [&] {
    BusyScope busy(self);
    py::gil_scoped_release release;
    return matcher.FillNextTokenBitmask(rows.data + index * rows.stride);
  }();
  const bool result = ValueOrRaise(std::move(constrained));
  if (debug_print) [[unlikely]] {
    LogDebug("fill_next_token_bitmask", self, result ? "mask written" : "every token is allowed");
  }
  return result;
}

py::str FindJumpForwardString(MatcherObject& self) {
  return ValidUtf8Prefix(ValueOrRaise(Idle(self).FindJumpForwardString()));
}

std::unique_ptr<MatcherObject> Fork(MatcherObject& self) {
  return std::make_unique<MatcherObject>(Idle(self).Fork(), self.temperature);
}

std::string DebugState(MatcherObject& self) {
  GrammarMatcher& matcher = Idle(self);
  return "steps accepted: " + std::to_string(matcher.history_size()) +
         "\ncompleted: " + (matcher.IsCompleted() ? "yes" : "no") +
         "\nterminated: " + (matcher.IsTerminated() ? "yes" : "no") +
         "\nshortest completion: " + std::to_string(matcher.ShortestCompletionBytes()) + " bytes\n";
}

constexpr char kMatcherDoc[] = R"(The state of one output while a model writes it.

GrammarMatcher(compiled_grammar, *, override_stop_tokens=None, terminate_without_stop_token=False,
               max_rollback_tokens=-1, default_temperature=None)

compiled_grammar: a CompiledGrammar.
override_stop_tokens: an id or a list of ids that stop the text, instead of the tokenizer's.
terminate_without_stop_token: end as soon as the text is complete and cannot go on.
max_rollback_tokens: deprecated, without effect (DeprecationWarning): rollback is unlimited.
default_temperature: kept in `temperature` for the caller; None or a finite float >= 0.

Not thread-safe: a call while another thread is inside one of the same matcher raises
GrammaskError. Different matchers may work at the same time.)";

void BindSteps(py::class_<MatcherObject>& type) {
  type.def("accept_token", &AcceptToken, py::arg("token_id"), py::kw_only(),
           py::arg("debug_print") = false,
           R"(accept_token(self, token_id, *, debug_print=False)
--

Advances by one token. Returns False, and changes nothing, when the token may not come next: refused
by the grammar, out of range, special, or after termination. A stop token is taken only where the
text is complete. debug_print: log the outcome to logging.getLogger("grammask").)");
  type.def("accept_string", &AcceptString, py::arg("input_str"), py::kw_only(),
           py::arg("debug_print") = false,
           R"(accept_string(self, input_str, *, debug_print=False)
--

Advances by a str or bytes, as one step for rollback. Returns False, and changes nothing, when the
text may not come next.)");
  type.def("fill_next_token_bitmask", &Fill, py::arg("bitmask"), py::arg("index") = 0,
           py::kw_only(), py::arg("debug_print") = false,
           R"(fill_next_token_bitmask(self, bitmask, index=0, *, debug_print=False)
--

Writes which tokens may come next to row `index` of `bitmask`: an int32 array or tensor in CPU
memory of shape (batch_size, ceil(vocab_size / 32)), or (ceil(vocab_size / 32),) for index 0. Bit
(id & 31) of word (id >> 5) allows token id. Returns False when every token is allowed, so that
applying the mask can be skipped.

Raises GrammaskError, before anything is written, for a wrong dtype, shape, device or index, and
after termination; TypeError for an object that is no array; LimitError where this one mask takes
too much time or memory to tell (patterns whose counts and lengths clash in very many ways), in
which case the row is not to be used. Releases the GIL.)");
  type.def("find_jump_forward_string", &FindJumpForwardString,
           "find_jump_forward_string(self)\n--\n\nThe text that must come next whatever the model "
           "says; '' where there is a choice. Raises GrammaskError after termination.");
  type.def(
      "rollback", [](MatcherObject& self, int n) { RaiseIfError(Idle(self).Rollback(n)); },
      py::arg("num_tokens") = 1,
      R"(rollback(self, num_tokens=1)
--

Takes back that many steps (tokens, or accepted strings), a stop token included. Raises
GrammaskError for more steps than were made, or a negative number.)");
  type.def(
      "reset", [](MatcherObject& self) { Idle(self).Reset(); },
      "reset(self)\n--\n\nBack to the beginning.");
  type.def("fork", &Fork, "fork(self)\n--\n\nA new matcher in the same state.");
}

void BindQueries(py::class_<MatcherObject>& type) {
  type.def(
      "is_terminated", [](MatcherObject& self) { return Idle(self).IsTerminated(); },
      "is_terminated(self)\n--\n\nWhether a stop token was accepted (or, with "
      "terminate_without_stop_token, the text is complete).");
  type.def(
      "is_completed", [](MatcherObject& self) { return Idle(self).IsCompleted(); },
      "is_completed(self)\n--\n\nWhether the text may end here.");
  type.def(
      "matching_prefix",
      [](MatcherObject& self, py::handle text) {
        return Idle(self).MatchingPrefix(InputText(text));
      },
      py::arg("input_str"),
      "matching_prefix(self, input_str)\n--\n\nHow many leading bytes of a str (in UTF-8) or bytes "
      "could be accepted. Changes nothing.");
  type.def(
      "shortest_completion_bytes",
      [](MatcherObject& self) { return Idle(self).ShortestCompletionBytes(); },
      "shortest_completion_bytes(self)\n--\n\nBytes of the shortest way to complete the text; 0 "
      "where it may end here.");
  type.def(
      "shortest_completion_after",
      [](MatcherObject& self, int32_t token) { return Idle(self).ShortestCompletionAfter(token); },
      py::arg("token_id"),
      "shortest_completion_after(self, token_id)\n--\n\nBytes of the shortest completion after "
      "that "
      "token; None when it may not come next.");
  type.def(
      "traverse_draft_tree",
      [](MatcherObject&, const py::args&, const py::kwargs&) {
        Raise(Unsupported("traverse_draft_tree is not available in this version of grammask; walk "
                          "the tree with accept_token, fill_next_token_bitmask and rollback"),
              Source::kArgument);
      },
      "traverse_draft_tree(self, *args, **kwargs)\n--\n\nNot available in this version: raises "
      "GrammaskError with code \"unsupported\".");
  type.def(
      "get_captures",
      [](MatcherObject&, bool) {
        Raise(Unsupported("captures are not available in this version of grammask"),
              Source::kArgument);
      },
      py::kw_only(), py::arg("deduplicate") = true,
      "get_captures(self, *, deduplicate=True)\n--\n\nNot available in this version: raises "
      "GrammaskError with code \"unsupported\".");
  type.def("_debug_print_internal_state", &DebugState,
           "_debug_print_internal_state(self)\n--\n\nA description of the state, as text.");
}

void BindProperties(py::class_<MatcherObject>& type) {
  type.def_property_readonly(
      "stop_token_ids", [](const MatcherObject& self) { return self.matcher.stop_token_ids(); },
      "Ids that end the text, as a list.");
  type.def_property_readonly(
      "max_rollback_tokens", [](const MatcherObject&) { return -1; },
      "Always -1: any number of steps can be rolled back.");
  type.def_property_readonly(
      "temperature", [](const MatcherObject& self) { return self.temperature; },
      "The default_temperature given, or None.");
  type.def_property_readonly(
      "compiled_grammar", [](const MatcherObject& self) { return self.matcher.compiled_grammar(); },
      "The CompiledGrammar that it follows.");
  type.def_property_readonly(
      "num_steps", [](MatcherObject& self) { return Idle(self).history_size(); },
      "Number of steps made, and so the most that rollback can take back.");
}

}  // namespace

void BindGrammarMatcher(py::module_& m) {
  py::class_<MatcherObject> type(m, "GrammarMatcher", kMatcherDoc);
  SetPublicModule(type);
  type.def(py::init(&MakeMatcher), py::arg("compiled_grammar"), py::kw_only(),
           py::arg("override_stop_tokens") = py::none(),
           py::arg("terminate_without_stop_token") = false, py::arg("max_rollback_tokens") = -1,
           py::arg("default_temperature") = py::none(),
           "__init__(self, compiled_grammar, *, override_stop_tokens=None, "
           "terminate_without_stop_token=False, max_rollback_tokens=-1, "
           "default_temperature=None)\n--\n\nSee the class.");
  BindSteps(type);
  BindQueries(type);
  BindProperties(type);
}

}  // namespace grammask::python
