// grammask.VocabType and grammask.TokenizerInfo.
//
// The lists of str or bytes that Python holds become one vector of byte strings; everything else
// is a getter. Detecting what kind of tokenizer an object is, is Python's work: from_huggingface
// goes to grammask.tokenizer_detect. Example: TokenizerInfo(["a", b"\xff"]).decoded_vocab gives
// [b"a", b"\xff"].
// Cost: one pass over the vocabulary (its trie is built without the GIL).
// Tested by tests/python/test_tokenizer_info.py.
#include <pybind11/native_enum.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grammask/grammask.h"
#include "python/bindings.h"
#include "python/convert.h"
#include "python/errors.h"
#include "vocab/vocab.h"

namespace py = pybind11;

namespace grammask::python {
namespace {

TokenizerOptions Options(VocabType type, std::optional<int> vocab_size, py::handle stop_token_ids,
                         bool add_prefix_space, py::handle special_token_ids) {
  TokenizerOptions options;
  options.type = type;
  options.vocab_size = vocab_size;
  options.stop_token_ids = TokenIds(stop_token_ids, "stop_token_ids");
  options.add_prefix_space = add_prefix_space;
  if (auto ids = TokenIds(special_token_ids, "special_token_ids")) {
    options.special_token_ids = std::move(*ids);
  }
  return options;
}

TokenizerInfo MakeTokenizer(py::handle encoded_vocab, VocabType type, std::optional<int> vocab_size,
                            py::handle stop_token_ids, bool add_prefix_space,
                            py::handle special_token_ids) {
  std::vector<std::string> texts = TextList(encoded_vocab, "encoded_vocab");
  TokenizerOptions options =
      Options(type, vocab_size, stop_token_ids, add_prefix_space, special_token_ids);
  auto info = [&] {
    py::gil_scoped_release release;
    return TokenizerInfo::Create(std::move(texts), options);
  }();
  return ValueOrRaise(std::move(info), Source::kTokenizer);
}

TokenizerInfo FromTokenizerJson(py::handle tokenizer_json, std::optional<int> vocab_size,
                                py::handle stop_token_ids, py::handle special_token_ids) {
  std::string text(TextView(tokenizer_json, "tokenizer_json"));
  TokenizerOptions options =
      Options(VocabType::kRaw, vocab_size, stop_token_ids, false, special_token_ids);
  auto info = [&] {
    py::gil_scoped_release release;
    return TokenizerInfo::FromTokenizerJson(text, options);
  }();
  return ValueOrRaise(std::move(info), Source::kTokenizer);
}

py::object FromHuggingFace(py::object tokenizer, py::object vocab_size, py::object stop_token_ids) {
  return py::module_::import("grammask.tokenizer_detect")
      .attr("from_huggingface")(tokenizer, py::arg("vocab_size") = vocab_size,
                                py::arg("stop_token_ids") = stop_token_ids);
}

TokenizerInfo FromVocabAndMetadata(py::handle encoded_vocab, py::handle metadata) {
  std::vector<std::string> texts = TextList(encoded_vocab, "encoded_vocab");
  std::string text(TextView(metadata, "metadata"));
  auto info = [&] {
    py::gil_scoped_release release;
    return TokenizerInfo::FromVocabAndMetadata(std::move(texts), text);
  }();
  return ValueOrRaise(std::move(info), Source::kTokenizer);
}

// A str or os.PathLike as the system spells it.
std::string FilePath(py::handle path) {
  return py::module_::import("os").attr("fsencode")(path).cast<std::string>();
}

void SaveTokenizer(const TokenizerInfo& info, py::handle path) {
  const std::string file = FilePath(path);
  Status saved = [&] {
    py::gil_scoped_release release;
    return info.Save(file);
  }();
  RaiseIfError(saved, Source::kTokenizer);
}

TokenizerInfo LoadTokenizer(py::handle path, bool mapped) {
  const std::string file = FilePath(path);
  auto info = [&] {
    py::gil_scoped_release release;
    return TokenizerInfo::Load(file, mapped);
  }();
  return ValueOrRaise(std::move(info), Source::kTokenizer);
}

py::dict DetectMetadata(py::handle backend) {
  TokenizerMetadata found =
      ValueOrRaise(DetectTokenizerMetadata(TextView(backend, "backend_str")), Source::kTokenizer);
  py::dict result;
  result["vocab_type"] = py::cast(found.type);
  result["add_prefix_space"] = found.add_prefix_space;
  return result;
}

py::list DecodedVocab(const TokenizerInfo& info) {
  py::list list(static_cast<size_t>(info.vocab_size()));
  for (int i = 0; i < info.vocab_size(); ++i) {
    const std::string_view token = info.vocab()->bytes(i);
    PyList_SET_ITEM(list.ptr(), i, py::bytes(token.data(), token.size()).release().ptr());
  }
  return list;
}

bool WarnAndGetAddPrefixSpace(const TokenizerInfo& info) {
  if (PyErr_WarnEx(PyExc_DeprecationWarning,
                   "prepend_space_in_tokenization is deprecated; use add_prefix_space", 1) != 0) {
    throw py::error_already_set();
  }
  return info.add_prefix_space();
}

std::string Repr(const TokenizerInfo& info) {
  return "<grammask.TokenizerInfo of " + std::to_string(info.vocab_size()) + " tokens>";
}

constexpr char kTokenizerDoc[] =
    R"(The vocabulary of a model: the bytes of each token, and which tokens stop or are special.

TokenizerInfo(encoded_vocab, vocab_type=VocabType.RAW, *, vocab_size=None, stop_token_ids=None,
              add_prefix_space=False, special_token_ids=None)

encoded_vocab: list or tuple of str or bytes; entry i is token i as its tokenizer writes it. An
    empty entry never matches.
vocab_type: how the tokenizer writes bytes.
vocab_size: size of the model's output layer; pads or trims the vocabulary.
stop_token_ids: an id or a list of ids; by default found by well-known texts such as "</s>".
add_prefix_space: kept for the caller; it does not change masks.
special_token_ids: further ids that are never text (control tokens).

Raises TokenizerError (an id out of range, an entry that is no text). Immutable, safe to share
between threads.)";

void BindMethods(py::class_<TokenizerInfo>& type) {
  type.def_static("from_huggingface", &FromHuggingFace, py::arg("tokenizer"), py::kw_only(),
                  py::arg("vocab_size") = py::none(), py::arg("stop_token_ids") = py::none(),
                  R"(from_huggingface(tokenizer, *, vocab_size=None, stop_token_ids=None)
--

Reads a tokenizer object: Hugging Face (fast, tiktoken or SentencePiece based), tiktoken,
SentencePiece or mistral-common. vocab_size: the model's, where it differs from the tokenizer's.
Raises TokenizerError for an object of no known kind.)");
  type.def_static("from_tokenizer_json", &FromTokenizerJson, py::arg("tokenizer_json"),
                  py::kw_only(), py::arg("vocab_size") = py::none(),
                  py::arg("stop_token_ids") = py::none(), py::arg("special_token_ids") = py::none(),
                  R"(from_tokenizer_json(tokenizer_json, *, vocab_size=None, stop_token_ids=None,
special_token_ids=None)
--

Reads the text (str or bytes) of a Hugging Face tokenizer.json; needs no other package.
special_token_ids: further ids that are never text, besides those the file marks.)");
  type.def_static("from_vocab_and_metadata", &FromVocabAndMetadata, py::arg("encoded_vocab"),
                  py::arg("metadata"),
                  R"(from_vocab_and_metadata(encoded_vocab, metadata)
--

Builds the object from a vocabulary and what dump_metadata returned.)");
  type.def("save", &SaveTokenizer, py::arg("path"),
           R"(save(self, path)
--

Writes everything to a file, for `load`. A file that is there is replaced whole or not at all.
Raises TokenizerError where it cannot be written.)");
  type.def_static("load", &LoadTokenizer, py::arg("path"), py::kw_only(), py::arg("mapped") = true,
                  R"(load(path, *, mapped=True)
--

Reads what `save` wrote, in milliseconds. mapped: map the file into memory, which all processes that
load it then share; while one uses it nobody may write into it (`save` replaces it, which is safe).
False reads a copy. The file is checked whole, so that it may come from anyone; raises
TokenizerError, saying what is wrong, where it is damaged or of another version.)");
  type.def_static("_detect_metadata_from_hf", &DetectMetadata, py::arg("backend_str"),
                  "_detect_metadata_from_hf(backend_str)\n--\n\n"
                  "vocab_type and add_prefix_space of the text of a tokenizer.json, as a dict.");
  type.def(
      "dump_metadata", [](const TokenizerInfo& info) { return py::str(info.DumpMetadata()); },
      "dump_metadata(self)\n--\n\nEverything but the vocabulary itself, as JSON text.");
  type.def(
      "find_token",
      [](const TokenizerInfo& info, py::handle text) {
        return info.FindToken(TextView(text, "text"));
      },
      py::arg("text"),
      "find_token(self, text)\n--\n\nThe lowest id whose text or bytes are exactly `text`, special "
      "tokens included; None where there is none.");
}

void BindProperties(py::class_<TokenizerInfo>& type) {
  type.def_property_readonly("vocab_type", &TokenizerInfo::vocab_type,
                             "How the tokenizer writes bytes: a VocabType.");
  type.def_property_readonly("vocab_size", &TokenizerInfo::vocab_size,
                             "Number of token ids, padding included.");
  type.def_property_readonly("add_prefix_space", &TokenizerInfo::add_prefix_space,
                             "Whether the tokenizer puts a space before a text.");
  type.def_property_readonly("prepend_space_in_tokenization", &WarnAndGetAddPrefixSpace,
                             "Deprecated name of add_prefix_space.");
  type.def_property_readonly("decoded_vocab", &DecodedVocab,
                             "The bytes of each token: a new list[bytes] of vocab_size entries.");
  type.def_property_readonly("stop_token_ids", &TokenizerInfo::stop_token_ids,
                             "Ids that end a text, as a list, ascending.");
  type.def_property_readonly("special_token_ids", &TokenizerInfo::special_token_ids,
                             "Ids that are never text, as a list, ascending.");
  type.def(py::pickle(
      [](const TokenizerInfo& info) { return py::make_tuple(py::bytes(info.Serialize())); },
      [](const py::tuple& state) {
        if (state.size() != 1) RaiseArgument("not a pickled TokenizerInfo");
        return ValueOrRaise(TokenizerInfo::Deserialize(TextView(state[0], "state")),
                            Source::kTokenizer);
      }));
  type.def("__repr__", &Repr);
  type.def("__eq__", [](const TokenizerInfo& a, py::handle b) {
    return py::isinstance<TokenizerInfo>(b) && a.vocab() == b.cast<const TokenizerInfo&>().vocab();
  });
  type.def("__hash__", [](const TokenizerInfo& a) {
    return static_cast<Py_hash_t>(reinterpret_cast<intptr_t>(a.vocab().get()) >> 4);
  });
}

}  // namespace

void BindTokenizerInfo(py::module_& m) {
  py::native_enum<VocabType>(m, "VocabType", "enum.Enum",
                             "How a tokenizer writes the bytes of its tokens as text.")
      .value("RAW", VocabType::kRaw)
      .value("BYTE_FALLBACK", VocabType::kByteFallback)
      .value("BYTE_LEVEL", VocabType::kByteLevel)
      .finalize();
  SetPublicModule(m.attr("VocabType"));

  py::class_<TokenizerInfo> type(m, "TokenizerInfo", kTokenizerDoc);
  SetPublicModule(type);
  type.def(py::init(&MakeTokenizer), py::arg("encoded_vocab"),
           py::arg_v("vocab_type", VocabType::kRaw, "VocabType.RAW"), py::kw_only(),
           py::arg("vocab_size") = py::none(), py::arg("stop_token_ids") = py::none(),
           py::arg("add_prefix_space") = false, py::arg("special_token_ids") = py::none(),
           "__init__(self, encoded_vocab, vocab_type=0, *, vocab_size=None, stop_token_ids=None, "
           "add_prefix_space=False, special_token_ids=None)\n--\n\nSee the class.");
  BindMethods(type);
  BindProperties(type);
}

}  // namespace grammask::python
