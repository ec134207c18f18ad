// grammask.Grammar: a grammar that is not yet tied to a vocabulary.
//
// Each front end is one static method; parsing runs without the GIL. The error class tells which
// front end refused: GrammarError, RegexError or SchemaError. Example:
// str(Grammar.from_ebnf('root ::= "a" | "b"')) is EBNF text that from_ebnf reads back.
// Tested by tests/python/test_grammar.py.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "grammask/grammask.h"
#include "python/bindings.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/schema_options.h"

namespace py = pybind11;

namespace grammask::python {
namespace {

// debug output goes to logging.getLogger("grammask"), never to the terminal.
void LogGrammar(const char* call, const Grammar& grammar) {
  py::module_::import("logging")
      .attr("getLogger")("grammask")
      .attr("debug")("%s gives the grammar:\n%s", call, grammar.ToString());
}

Grammar FromEbnf(py::handle ebnf, py::handle root_rule_name) {
  std::string text(StrView(ebnf, "ebnf_string")), root(StrView(root_rule_name, "root_rule_name"));
  auto grammar = [&] {
    py::gil_scoped_release release;
    return Grammar::FromEbnf(text, root);
  }();
  return ValueOrRaise(std::move(grammar), Source::kGrammar);
}

Grammar FromRegex(py::handle regex, bool print_converted_ebnf) {
  std::string text(StrView(regex, "regex_string"));
  auto parsed = [&] {
    py::gil_scoped_release release;
    return Grammar::FromRegex(text);
  }();
  Grammar grammar = ValueOrRaise(std::move(parsed), Source::kRegex);
  if (print_converted_ebnf) LogGrammar("from_regex", grammar);
  return grammar;
}

Grammar FromJsonSchema(py::handle schema, bool any_whitespace, std::optional<int> indent,
                       py::handle separators, bool strict_mode,
                       std::optional<int> max_whitespace_cnt, bool print_converted_ebnf,
                       bool any_order, py::handle registry, py::handle formats,
                       py::handle on_unsupported, bool root_whitespace) {
  const SchemaOptions options =
      MakeSchemaOptions({any_whitespace, indent, separators, strict_mode, max_whitespace_cnt,
                         any_order, registry, formats, on_unsupported, root_whitespace});
  std::string text(StrView(SchemaText(schema), "schema"));
  auto parsed = [&] {
    py::gil_scoped_release release;
    return Grammar::FromJsonSchema(text, options);
  }();
  Grammar grammar = ValueOrRaise(std::move(parsed), Source::kSchema);
  if (print_converted_ebnf) LogGrammar("from_json_schema", grammar);
  return grammar;
}

std::vector<Grammar> Grammars(const py::args& args) {
  std::vector<Grammar> grammars;
  for (py::handle item : args) {
    if (!py::isinstance<Grammar>(item)) RaiseType("each grammar", "a grammask.Grammar", item);
    grammars.push_back(item.cast<const Grammar&>());
  }
  return grammars;
}

[[noreturn]] void RaiseNotAvailable(const char* what, const char* instead) {
  Raise(
      Unsupported(std::string(what) + " is not available in this version of grammask; " + instead),
      Source::kGrammar);
}

constexpr char kGrammarDoc[] =
    R"(A grammar: the set of texts that a model may write. Made by the static methods from_ebnf,
from_json_schema, from_regex, builtin_json_grammar, concat and union; compiled for a vocabulary
by GrammarCompiler.compile_grammar. str(grammar) is EBNF that from_ebnf reads back. Immutable,
safe to share between threads.)";

void BindFrontEnds(py::class_<Grammar>& type) {
  type.def_static("from_ebnf", &FromEbnf, py::arg("ebnf_string"), py::kw_only(),
                  py::arg("root_rule_name") = "root",
                  R"(from_ebnf(ebnf_string, *, root_rule_name='root')
--

Reads an EBNF grammar (see docs/grammar.md). Raises GrammarError, which names line and column.)");
  type.def_static("from_json_schema", &FromJsonSchema, py::arg("schema"), py::kw_only(),
                  py::arg("any_whitespace") = true, py::arg("indent") = py::none(),
                  py::arg("separators") = py::none(), py::arg("strict_mode") = true,
                  py::arg("max_whitespace_cnt") = py::none(),
                  py::arg("print_converted_ebnf") = false, py::arg("any_order") = false,
                  py::arg("registry") = py::none(), py::arg("formats") = py::none(),
                  py::arg("on_unsupported") = "error",
                  py::arg("root_whitespace").noconvert() = false,
                  R"(from_json_schema(schema, *, any_whitespace=True, indent=None, separators=None,
strict_mode=True, max_whitespace_cnt=None, print_converted_ebnf=False, any_order=False,
registry=None, formats=None, on_unsupported='error', root_whitespace=False)
--

Reads a JSON Schema: JSON text, a dict, or a pydantic model class.

any_whitespace: allow any JSON whitespace between tokens; indent and separators then do not count.
indent: number of spaces of each level; None writes one line.
separators: (between items, after a key); by default (", ", ": "), or ("," , ": ") with indent.
strict_mode: refuse properties and items that the schema does not name.
max_whitespace_cnt: most whitespace characters in a row.
print_converted_ebnf: log the grammar to logging.getLogger("grammask") at level DEBUG.
any_order: properties in any order.
registry: other documents that "$ref" may name: URI to JSON text, dict or bool.
formats: formats of your own, before the built-in ones: name to a regular expression that the whole
string must match.
on_unsupported: what to do where the schema has no exact form. "error" raises; "widen" gives a
grammar of more texts than the schema admits, and says where in Grammar.warnings.
root_whitespace: allow whitespace before and after the value too.

Raises SchemaError: malformed, unsatisfiable (code "unsatisfiable"), or a keyword that cannot be
enforced exactly (code "unsupported"). LimitError where a bound was hit.)");
  type.def_static("from_regex", &FromRegex, py::arg("regex_string"), py::kw_only(),
                  py::arg("print_converted_ebnf") = false,
                  R"(from_regex(regex_string, *, print_converted_ebnf=False)
--

Reads a regular expression; the whole text must match it. Raises RegexError.)");
  type.def_static(
      "from_lark",
      [](py::handle, py::handle, py::handle) {
        RaiseNotAvailable("the Lark front end", "write the grammar as EBNF (Grammar.from_ebnf)");
      },
      py::arg("lark_string"), py::kw_only(), py::arg("tokenizer_info") = py::none(),
      py::arg("named_grammars") = py::none(),
      "from_lark(lark_string, *, tokenizer_info=None, named_grammars=None)\n--\n\n"
      "Not available in this version: raises GrammarError with code \"unsupported\".");
  type.def_static(
      "from_structural_tag",
      [](const py::args&, const py::kwargs&) {
        RaiseNotAvailable("the structural tag front end",
                          "join literal text and schemas with Grammar.concat and Grammar.union");
      },
      "from_structural_tag(*args, **kwargs)\n--\n\n"
      "Not available in this version: raises GrammarError with code \"unsupported\".");
}

}  // namespace

void BindGrammar(py::module_& m) {
  py::class_<Grammar> type(m, "Grammar", kGrammarDoc);
  SetPublicModule(type);
  BindFrontEnds(type);
  type.def_static("builtin_json_grammar", &Grammar::BuiltinJson,
                  "builtin_json_grammar()\n--\n\nAny JSON text.");
  type.def_static(
      "concat",
      [](const py::args& args) {
        return ValueOrRaise(Grammar::Concat(Grammars(args)), Source::kGrammar);
      },
      "concat(*grammars)\n--\n\nThe texts of each grammar, one after the other.");
  type.def_static(
      "union",
      [](const py::args& args) {
        return ValueOrRaise(Grammar::Union(Grammars(args)), Source::kGrammar);
      },
      "union(*grammars)\n--\n\nThe texts of any of the grammars.");
  type.def_property_readonly(
      "warnings", [](const Grammar& grammar) { return WarningList(grammar.warnings()); },
      "Where on_unsupported=\"widen\" made it larger than its schema: a list of SchemaWarning.");
  type.def("__str__", &Grammar::ToString);
  type.def("__eq__", [](const Grammar& a, py::handle b) {
    return py::isinstance<Grammar>(b) && a.grammar() == b.cast<const Grammar&>().grammar();
  });
  type.def("__hash__", [](const Grammar& a) {
    return static_cast<Py_hash_t>(reinterpret_cast<intptr_t>(a.grammar().get()) >> 4);
  });
}

}  // namespace grammask::python
