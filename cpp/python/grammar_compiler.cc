// grammask.GrammarCompiler: compiles grammars for one vocabulary, with a bounded cache.
//
// Every call copies its text, then works without the GIL, so that other threads go on; concurrent
// requests for the same text share one compilation (the C++ class sees to it). Example:
// compiler.compile_json_schema({"type": "integer"}) turns the dict into JSON text first, so the
// same schema given as dict or as that text is one cache entry.
// Tested by tests/python/test_compiler.py.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>

#include "grammask/grammask.h"
#include "python/bindings.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/limits.h"
#include "python/schema_options.h"

namespace py = pybind11;

namespace grammask::python {
namespace {

GrammarCompiler MakeCompiler(py::handle tokenizer_info, int max_threads, bool cache_enabled,
                             int64_t cache_limit_bytes, py::handle limits) {
  if (!py::isinstance<TokenizerInfo>(tokenizer_info)) {
    RaiseArgument(std::string("tokenizer_info must be a grammask.TokenizerInfo, not ") +
                  Py_TYPE(tokenizer_info.ptr())->tp_name +
                  "; make one with TokenizerInfo.from_huggingface(tokenizer)");
  }
  if (cache_limit_bytes < -1) {
    RaiseArgument("cache_limit_bytes is " + std::to_string(cache_limit_bytes) +
                  "; it must be -1 (no limit) or at least 0");
  }
  CompilerOptions options;
  options.max_threads = max_threads;
  options.cache_enabled = cache_enabled;
  options.cache_limit_bytes = cache_limit_bytes;
  options.limits = ReadLimits(limits);
  return ValueOrRaise(
      GrammarCompiler::Create(tokenizer_info.cast<const TokenizerInfo&>(), options));
}

template <class Compile>
CompiledGrammar WithoutGil(Source source, const Compile& compile) {
  auto compiled = [&] {
    py::gil_scoped_release release;
    return compile();
  }();
  return ValueOrRaise(std::move(compiled), source);
}

CompiledGrammar CompileJsonSchema(GrammarCompiler& compiler, const py::args& args,
                                  const py::kwargs& kwargs) {
  py::handle schema;
  const SchemaOptions options =
      MakeSchemaOptions(ReadSchemaCall("compile_json_schema", args, kwargs, &schema));
  std::string text(StrView(SchemaText(schema), "schema"));
  return WithoutGil(Source::kSchema, [&] { return compiler.CompileJsonSchema(text, options); });
}

CompiledGrammar CompileRegex(GrammarCompiler& compiler, py::handle regex) {
  std::string text(StrView(regex, "regex"));
  return WithoutGil(Source::kRegex, [&] { return compiler.CompileRegex(text); });
}

CompiledGrammar CompileGrammar(GrammarCompiler& compiler, py::handle grammar,
                               py::handle root_rule_name) {
  if (py::isinstance<Grammar>(grammar)) {
    const Grammar parsed = grammar.cast<const Grammar&>();
    return WithoutGil(Source::kGrammar, [&] { return compiler.CompileGrammar(parsed); });
  }
  if (!PyUnicode_Check(grammar.ptr())) {
    RaiseArgument(std::string("grammar must be EBNF text or a grammask.Grammar, not ") +
                  Py_TYPE(grammar.ptr())->tp_name);
  }
  std::string text(StrView(grammar, "grammar")), root(StrView(root_rule_name, "root_rule_name"));
  return WithoutGil(Source::kGrammar, [&] { return compiler.CompileEbnf(text, root); });
}

[[noreturn]] void RaiseNotAvailable(const char* what) {
  Raise(Unsupported(std::string(what) + " is not available in this version of grammask"),
        Source::kGrammar);
}

constexpr char kCompilerDoc[] =
    R"(Compiles grammars for one vocabulary and keeps what it compiled.

GrammarCompiler(tokenizer_info, *, max_threads=8, cache_enabled=True, cache_limit_bytes=-1,
limits=None)

tokenizer_info: a TokenizerInfo.
max_threads: threads that work ahead of need may use.
cache_enabled: keep compiled grammars, by their text and options.
cache_limit_bytes: a bound on the memory of what is kept, the tables that grammars share included;
    the least recently used grammars go first. -1: no limit.
limits: a mapping of names to ints, bounds on time and memory other than the default: those that
    LimitError speaks of, such as {"max_mask_steps": 10**9}. See the property of that name.

Thread-safe; compile calls release the GIL, and concurrent requests for one text share the work.)";

void BindCompileMethods(py::class_<GrammarCompiler>& type) {
  type.def(
      "compile_json_schema", &CompileJsonSchema,
      R"(compile_json_schema(self, schema, *, any_whitespace=True, indent=None, separators=None,
strict_mode=True, max_whitespace_cnt=None, any_order=False, registry=None, formats=None,
on_unsupported='error', root_whitespace=False)
--

Compiles a JSON Schema: JSON text, a dict, or a pydantic model class. The options are those of
Grammar.from_json_schema. Raises SchemaError or LimitError.)");
  type.def(
      "compile_builtin_json_grammar",
      [](GrammarCompiler& compiler) {
        return WithoutGil(Source::kGrammar, [&] { return compiler.CompileBuiltinJson(); });
      },
      "compile_builtin_json_grammar(self)\n--\n\nCompiles the grammar of any JSON text.");
  type.def(
      "compile_regex", &CompileRegex, py::arg("regex"),
      "compile_regex(self, regex)\n--\n\nCompiles a regular expression that the whole text must "
      "match. Raises RegexError or LimitError.");
  type.def("compile_grammar", &CompileGrammar, py::arg("grammar"), py::kw_only(),
           py::arg("root_rule_name") = "root",
           R"(compile_grammar(self, grammar, *, root_rule_name='root')
--

Compiles EBNF text or a Grammar (for which root_rule_name does not count). Raises GrammarError or
LimitError.)");
  type.def(
      "compile_lark",
      [](GrammarCompiler&, py::handle, py::handle) { RaiseNotAvailable("the Lark front end"); },
      py::arg("lark_string"), py::kw_only(), py::arg("named_grammars") = py::none(),
      "compile_lark(self, lark_string, *, named_grammars=None)\n--\n\n"
      "Not available in this version: raises GrammarError with code \"unsupported\".");
  type.def(
      "compile_structural_tag",
      [](GrammarCompiler&, const py::args&, const py::kwargs&) {
        RaiseNotAvailable("the structural tag front end");
      },
      "compile_structural_tag(self, *args, **kwargs)\n--\n\n"
      "Not available in this version: raises GrammarError with code \"unsupported\".");
}

}  // namespace

void BindGrammarCompiler(py::module_& m) {
  py::class_<GrammarCompiler> type(m, "GrammarCompiler", kCompilerDoc);
  SetPublicModule(type);
  type.def(py::init(&MakeCompiler), py::arg("tokenizer_info"), py::kw_only(),
           py::arg("max_threads") = 8, py::arg("cache_enabled") = true,
           py::arg("cache_limit_bytes") = -1, py::arg("limits") = py::none(),
           "__init__(self, tokenizer_info, *, max_threads=8, cache_enabled=True, "
           "cache_limit_bytes=-1, limits=None)\n--\n\nSee the class.");
  BindCompileMethods(type);
  type.def("clear_cache", &GrammarCompiler::ClearCache, py::call_guard<py::gil_scoped_release>(),
           "clear_cache(self)\n--\n\nForgets every compiled grammar; those in use live on.");
  type.def("get_cache_size_bytes", &GrammarCompiler::cache_size_bytes,
           "get_cache_size_bytes(self)\n--\n\nMemory of what the cache holds, in bytes.");
  type.def_property_readonly("cache_limit_bytes", &GrammarCompiler::cache_limit_bytes,
                             "Most bytes that the cache may hold; -1: no limit.");
  type.def_property_readonly(
      "limits", [](const GrammarCompiler& compiler) { return LimitsDict(compiler.limits()); },
      "The bounds in force, a dict of name to int (docs/python.md says what each bounds).");
}

}  // namespace grammask::python
