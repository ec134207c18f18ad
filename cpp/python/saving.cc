// Saving and loading: to_bytes, save, serialize_json and their counterparts.
//
// The bytes are those of the C++ interface. The JSON forms, which other engines' code asks for (of
// a TokenizerInfo too), are an object with a version, the kind of object, and the bytes in base64
// (of a Grammar its EBNF text), written and read by Python's own json. Example:
// CompiledGrammar.load("a.grammask", compiler). Work on the bytes runs without the GIL. Tested by
// tests/python/test_saving.py.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <string_view>

#include "grammask/grammask.h"
#include "python/bindings.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/schema_options.h"

namespace py = pybind11;

namespace grammask::python {
namespace {

constexpr char kVersion[] = "g1";  // of the JSON forms

// The memory of an object with the buffer protocol.
class Buffer {
 public:
  Buffer(py::handle object, const char* what) {
    if (PyUnicode_Check(object.ptr()) || !PyObject_CheckBuffer(object.ptr())) {
      RaiseType(what, "bytes, or another object with the buffer protocol", object);
    }
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw py::error_already_set();
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { PyBuffer_Release(&view_); }
  std::string_view bytes() const {
    return {static_cast<const char*>(view_.buf), static_cast<size_t>(view_.len)};
  }

 private:
  Py_buffer view_;
};

std::string Serialize(const CompiledGrammar& compiled, bool masks) {
  auto bytes = [&] {
    py::gil_scoped_release release;
    return compiled.Serialize({.masks = masks});
  }();
  return ValueOrRaise(std::move(bytes), Source::kGrammar);
}

CompiledGrammar FromBytes(py::handle data, py::handle target, bool trusted) {
  const Buffer buffer(data, "data");
  if (py::isinstance<GrammarCompiler>(target)) {
    GrammarCompiler compiler = target.cast<const GrammarCompiler&>();
    auto loaded = [&] {
      py::gil_scoped_release release;
      return compiler.Load(buffer.bytes(), trusted);
    }();
    return ValueOrRaise(std::move(loaded), Source::kSaved);
  }
  if (!py::isinstance<TokenizerInfo>(target)) {
    RaiseType("target", "a grammask.GrammarCompiler or a grammask.TokenizerInfo", target);
  }
  const TokenizerInfo tokenizer = target.cast<const TokenizerInfo&>();
  auto loaded = [&] {
    py::gil_scoped_release release;
    LoadOptions options;
    options.trusted = trusted;
    return CompiledGrammar::Deserialize(buffer.bytes(), tokenizer, options);
  }();
  return ValueOrRaise(std::move(loaded), Source::kSaved);
}

py::object Open(py::handle path, const char* mode) {
  return py::module_::import("builtins").attr("open")(path, mode);
}

void Save(const CompiledGrammar& compiled, py::handle path, bool masks) {
  const py::bytes bytes(Serialize(compiled, masks));
  py::object file = Open(path, "wb");
  file.attr("write")(bytes);
  file.attr("close")();
}

CompiledGrammar Load(py::handle path, py::handle target, bool trusted) {
  py::object file = Open(path, "rb");
  const py::object bytes = file.attr("read")();
  file.attr("close")();
  return FromBytes(bytes, target, trusted);
}

// ---- JSON ----

[[noreturn]] void RaiseFormat(const std::string& message) {
  Raise(InvalidArgument(message), Source::kSaved);
}

py::str ToJson(const char* type, const char* key, py::object value) {
  py::dict fields;
  fields["__VERSION__"] = kVersion;
  fields["type"] = type;
  fields[key] = std::move(value);
  return py::module_::import("json").attr("dumps")(fields);
}

// The fields of the object that ToJson wrote for `type`.
py::dict FromJson(py::handle json, const char* type) {
  StrView(json, "json_string");
  py::object value;
  try {
    value = py::module_::import("json").attr("loads")(json);
  } catch (py::error_already_set& error) {
    py::object raised =
        py::module_::import("grammask.exception")
            .attr("InvalidJSONError")(py::str("this is no JSON text: ") + py::str(error.value()));
    PyErr_SetObject(py::type::of(raised).ptr(), raised.ptr());
    throw py::error_already_set();
  }
  if (!py::isinstance<py::dict>(value)) RaiseFormat("the JSON text is not an object");
  py::dict fields = value;
  if (!fields.contains("__VERSION__") || !py::isinstance<py::str>(fields["__VERSION__"])) {
    RaiseFormat("the JSON text has no \"__VERSION__\": serialize_json() did not write it");
  }
  const std::string version = py::str(fields["__VERSION__"]);
  if (version != kVersion) {
    Raise(Unsupported("it was saved in version \"" + version +
                      "\"; this version of grammask reads \"" + kVersion + "\": save it anew"),
          Source::kSaved);
  }
  if (!fields.contains("type") || !py::object(fields["type"]).equal(py::str(type))) {
    RaiseFormat(std::string("the JSON text is not a saved ") + type);
  }
  return fields;
}

std::string_view StrField(const py::dict& fields, const char* key) {
  if (!fields.contains(key) || !py::isinstance<py::str>(fields[key])) {
    RaiseFormat(std::string("the JSON text has no text \"") + key + "\"");
  }
  return StrView(fields[key], key);
}

// Bytes as the field "data", in base64.
py::str BytesToJson(const char* type, const py::bytes& bytes) {
  py::object text = py::module_::import("base64").attr("b64encode")(bytes).attr("decode")("ascii");
  return ToJson(type, "data", std::move(text));
}

py::object BytesFromJson(py::handle json, const char* type) {
  const py::dict fields = FromJson(json, type);
  StrField(fields, "data");
  try {
    return py::module_::import("base64").attr("b64decode")(fields["data"],
                                                           py::arg("validate") = true);
  } catch (py::error_already_set&) {
    RaiseFormat("\"data\" is not base64");
  }
}

py::str CompiledToJson(const CompiledGrammar& compiled) {
  return BytesToJson("CompiledGrammar", Serialize(compiled, false));
}

CompiledGrammar CompiledFromJson(py::handle json, py::handle tokenizer_info) {
  if (!py::isinstance<TokenizerInfo>(tokenizer_info)) {
    RaiseType("tokenizer_info", "a grammask.TokenizerInfo", tokenizer_info);
  }
  return FromBytes(BytesFromJson(json, "CompiledGrammar"), tokenizer_info, false);
}

py::str TokenizerToJson(const TokenizerInfo& info) {
  const std::string image = [&] {
    py::gil_scoped_release release;
    return info.Serialize();
  }();
  return BytesToJson("TokenizerInfo", image);
}

TokenizerInfo TokenizerFromJson(py::handle json) {
  const py::object bytes = BytesFromJson(json, "TokenizerInfo");
  const Buffer buffer(bytes, "data");
  auto info = [&] {
    py::gil_scoped_release release;
    return TokenizerInfo::Deserialize(buffer.bytes());
  }();
  return ValueOrRaise(std::move(info), Source::kSaved);
}

py::str GrammarToJson(const Grammar& grammar) {
  py::list warnings;
  for (const SchemaWarning& w : grammar.warnings()) {
    warnings.append(py::make_tuple(w.pointer, w.keyword, w.reason));
  }
  py::dict content;
  content["ebnf"] = grammar.ToString();
  content["warnings"] = warnings;
  return ToJson("Grammar", "grammar", content);
}

Grammar GrammarFromJson(py::handle json) {
  const py::dict fields = FromJson(json, "Grammar");
  if (!fields.contains("grammar") || !py::isinstance<py::dict>(fields["grammar"])) {
    RaiseFormat("the JSON text has no object \"grammar\"");
  }
  const py::dict content = fields["grammar"];
  const std::string ebnf(StrField(content, "ebnf"));
  std::vector<std::vector<std::string>> texts;
  try {
    if (content.contains("warnings")) {
      texts = content["warnings"].cast<std::vector<std::vector<std::string>>>();
    }
  } catch (py::cast_error&) {
    RaiseFormat("\"warnings\" is not a list of lists of texts");
  }
  std::vector<SchemaWarning> warnings;
  for (std::vector<std::string>& text : texts) {
    if (text.size() != 3) RaiseFormat("a warning does not have three texts");
    warnings.push_back({std::move(text[0]), std::move(text[1]), std::move(text[2])});
  }
  auto grammar = [&] {
    py::gil_scoped_release release;
    return Grammar::FromEbnf(ebnf);
  }();
  return Grammar(ValueOrRaise(std::move(grammar), Source::kSaved).grammar(), std::move(warnings));
}

void BindCompiled(py::class_<CompiledGrammar>& type) {
  type.def(
      "to_bytes",
      [](const CompiledGrammar& compiled, bool masks) {
        return py::bytes(Serialize(compiled, masks));
      },
      py::kw_only(), py::arg("masks") = true,
      R"(to_bytes(self, *, masks=True)
--

The compiled grammar as bytes, for from_bytes. masks: with the masks that exist so far, those of
precompute() and of use; they are taken by trusted=True only.)");
  type.def_static("from_bytes", &FromBytes, py::arg("data"), py::arg("target"), py::kw_only(),
                  py::arg("trusted").noconvert() = false,
                  R"(from_bytes(data, target, *, trusted=False)
--

Reads what to_bytes made. data: bytes, or anything with the buffer protocol. target: the
GrammarCompiler whose tables it shares, or a TokenizerInfo. trusted: the bytes are known to come
from to_bytes, unchanged; only then the masks in them are taken. Bytes from anywhere are safe to
read without. Raises DeserializeFormatError (damaged, another vocabulary), DeserializeVersionError
or LimitError.)");
  type.def("save", &Save, py::arg("path"), py::kw_only(), py::arg("masks") = true,
           "save(self, path, *, masks=True)\n--\n\nWrites to_bytes(masks=masks) to a file.");
  type.def_static("load", &Load, py::arg("path"), py::arg("target"), py::kw_only(),
                  py::arg("trusted").noconvert() = false,
                  "load(path, target, *, trusted=False)\n--\n\nfrom_bytes of a file's contents.");
  type.def("serialize_json", &CompiledToJson,
           "serialize_json(self)\n--\n\nThe compiled grammar, without masks, as JSON text.");
  type.def_static("deserialize_json", &CompiledFromJson, py::arg("json_string"),
                  py::arg("tokenizer_info"),
                  R"(deserialize_json(json_string, tokenizer_info)
--

Reads what serialize_json made, for the same vocabulary; the text may come from anywhere. Raises
InvalidJSONError, DeserializeFormatError, DeserializeVersionError or LimitError.)");
}

}  // namespace

void BindSaving(py::module_& m) {
  py::class_<CompiledGrammar> compiled(m.attr("CompiledGrammar"));
  BindCompiled(compiled);
  py::class_<TokenizerInfo> tokenizer(m.attr("TokenizerInfo"));
  tokenizer.def("serialize_json", &TokenizerToJson,
                "serialize_json(self)\n--\n\nThe vocabulary and its metadata, whole, as JSON "
                "text. `save` writes a file that loads faster.");
  tokenizer.def_static("deserialize_json", &TokenizerFromJson, py::arg("json_string"),
                       R"(deserialize_json(json_string)
--

Reads what serialize_json made; the text may come from anywhere. Raises InvalidJSONError,
DeserializeFormatError or DeserializeVersionError.)");
  py::class_<Grammar> grammar(m.attr("Grammar"));
  grammar.def("serialize_json", &GrammarToJson,
              "serialize_json(self)\n--\n\nThe grammar, with its warnings, as JSON text.");
  grammar.def_static("deserialize_json", &GrammarFromJson, py::arg("json_string"),
                     "deserialize_json(json_string)\n--\n\nReads what serialize_json made. Raises "
                     "InvalidJSONError, DeserializeFormatError or DeserializeVersionError.");
  m.def(
      "get_serialization_version", [] { return py::str(kVersion); },
      "get_serialization_version()\n--\n\nThe version that serialize_json() writes and "
      "deserialize_json() reads.");
}

}  // namespace grammask::python
