// The settings of a tokenizer.json -> the steps from a token's text to its bytes.
//
// The decoder says how tokens become text again, so it decides; a file without one is read by what
// its other parts imply. Sequences, which nest, are flattened first. Llama 2's decoder, the
// sequence Replace U+2581 by a space, ByteFallback, Fuse, Strip one leading space, gives the steps
// {replace, byte fallback}, which are VocabType::kByteFallback: Fuse and what follows it work on
// the whole text, and so on no token.
//
// Cost: linear in the settings, which are small.
// Source: the components of Hugging Face `tokenizers`; the bytes agree with its Decoder.
// Tests: tests/vocab/tokenizer_json_test.cc, tests/python/test_tokenizers.py.
#include "vocab/bytes_style.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "vocab/decode.h"

namespace grammask::internal {
namespace {

using nlohmann::json;

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

const json* Find(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

std::string GetString(const json& object, const char* key) {
  const json* value = Find(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

bool GetBool(const json& object, const char* key, bool absent) {
  const json* value = Find(object, key);
  return value != nullptr && value->is_boolean() ? value->get<bool>() : absent;
}

bool IsPositive(const json& object, const char* key) {
  const json* value = Find(object, key);
  return value != nullptr && value->is_number() && value->get<double>() > 0;
}

// The components of tokenizer[part], in order, each sequence replaced by its elements, which lie
// under `elements_key`.
std::vector<const json*> Flatten(const json& tokenizer, const char* part,
                                 const char* elements_key) {
  std::vector<const json*> leaves, pending;
  if (const json* root = Find(tokenizer, part)) pending.push_back(root);
  while (!pending.empty()) {
    const json* component = pending.back();
    pending.pop_back();
    if (!component->is_object()) continue;
    if (GetString(*component, "type") != "Sequence") {
      leaves.push_back(component);
      continue;
    }
    const json* elements = Find(*component, elements_key);
    if (elements == nullptr || !elements->is_array()) continue;
    for (size_t i = elements->size(); i > 0; --i) pending.push_back(&(*elements)[i - 1]);
  }
  return leaves;
}

DecodeStep Replace(std::string from, std::string to) {
  return {DecodeStep::Kind::kReplace, std::move(from), std::move(to)};
}

std::string MetaspaceMark(const json& component) {
  std::string mark = GetString(component, "replacement");
  return mark.empty() ? std::string(kSpaceMark) : mark;
}

// The text that a Replace component looks for; "" where it is a regular expression.
std::string ReplacedText(const json& component) {
  const json* pattern = Find(component, "pattern");
  return pattern == nullptr ? "" : GetString(*pattern, "String");
}

void ReadDecoder(const std::vector<const json*>& components, BytesStyle* style) {
  bool fused = false;  // from here on the decoder works on the whole text
  for (const json* component : components) {
    std::string type = GetString(*component, "type");
    if (type == "ByteLevel") {
      style->steps.push_back({DecodeStep::Kind::kByteLevel, {}, {}});
    } else if (type == "ByteFallback") {
      style->steps.push_back({DecodeStep::Kind::kByteFallback, {}, {}});
    } else if (type == "Metaspace") {
      style->steps.push_back(Replace(MetaspaceMark(*component), " "));
    } else if (type == "Replace" && !ReplacedText(*component).empty()) {
      style->steps.push_back(Replace(ReplacedText(*component), GetString(*component, "content")));
    } else if (type == "Fuse") {
      fused = true;
    } else if (type == "Strip") {
      if (!fused && (IsPositive(*component, "start") || IsPositive(*component, "stop"))) {
        style->unsupported = "its decoder strips every token";
      }
    } else if (type == "Replace") {
      style->unsupported = "its decoder replaces by a regular expression";
    } else {
      style->unsupported = "its decoder is of type \"" + type + "\"";
    }
  }
}

// What the other parts imply of a decoder that is absent.
void GuessDecoder(const std::vector<const json*>& pre_tokenizers,
                  const std::vector<const json*>& normalizers, BytesStyle* style) {
  for (const auto* components : {&pre_tokenizers, &normalizers}) {
    for (const json* component : *components) {
      std::string type = GetString(*component, "type");
      if (type == "ByteLevel") {
        style->steps.assign(1, {DecodeStep::Kind::kByteLevel, {}, {}});
        return;
      }
      if (type == "Metaspace") {
        style->steps.assign(1, Replace(MetaspaceMark(*component), " "));
      } else if (type == "Replace" && ReplacedText(*component) == " " && style->steps.empty()) {
        std::string mark = GetString(*component, "content");
        if (!mark.empty()) style->steps.push_back(Replace(std::move(mark), " "));
      }
    }
  }
}

bool DetectPrefixSpace(const std::vector<const json*>& pre_tokenizers,
                       const std::vector<const json*>& normalizers) {
  for (const json* component : pre_tokenizers) {
    std::string type = GetString(*component, "type");
    if (type != "ByteLevel" && type != "Metaspace") continue;
    std::string scheme = GetString(*component, "prepend_scheme");
    if (!scheme.empty() ? scheme != "never" : GetBool(*component, "add_prefix_space", true)) {
      return true;
    }
  }
  for (const json* component : normalizers) {
    if (GetString(*component, "type") != "Prepend") continue;
    std::string prefix = GetString(*component, "prepend");
    if (prefix == " " || prefix == kSpaceMark) return true;
  }
  return false;
}

// Sets `type` and `is_exact` from `steps`.
void Classify(BytesStyle* style) {
  bool byte_level = false, byte_fallback = false, space_mark = false, other = false;
  for (const DecodeStep& step : style->steps) {
    byte_level |= step.kind == DecodeStep::Kind::kByteLevel;
    byte_fallback |= step.kind == DecodeStep::Kind::kByteFallback;
    if (step.kind != DecodeStep::Kind::kReplace) continue;
    bool is_space_mark = step.from == kSpaceMark && step.to == " ";
    space_mark |= is_space_mark;
    other |= !is_space_mark;
  }
  if (byte_level) {
    style->type = VocabType::kByteLevel;
    style->is_exact = style->steps.size() == 1;
  } else if (byte_fallback || space_mark) {
    style->type = VocabType::kByteFallback;
    style->is_exact = space_mark && !other;
  } else {
    style->is_exact = !other;
  }
}

}  // namespace

BytesStyle DetectBytesStyle(const json& tokenizer) {
  const auto decoders = Flatten(tokenizer, "decoder", "decoders");
  const auto pre_tokenizers = Flatten(tokenizer, "pre_tokenizer", "pretokenizers");
  const auto normalizers = Flatten(tokenizer, "normalizer", "normalizers");
  BytesStyle style;
  style.add_prefix_space = DetectPrefixSpace(pre_tokenizers, normalizers);
  ReadDecoder(decoders, &style);
  if (decoders.empty()) GuessDecoder(pre_tokenizers, normalizers, &style);

  const json* model = Find(tokenizer, "model");
  if (model != nullptr) {
    auto is_fallback = [](const DecodeStep& step) {
      return step.kind != DecodeStep::Kind::kReplace;
    };
    if (GetBool(*model, "byte_fallback", false) &&
        std::none_of(style.steps.begin(), style.steps.end(), is_fallback)) {
      if (style.steps.empty()) style.steps.push_back(Replace(std::string(kSpaceMark), " "));
      style.steps.push_back({DecodeStep::Kind::kByteFallback, {}, {}});
    }
    std::string type = GetString(*model, "type");
    if (type == "WordPiece") style.unsupported = "its model is of type \"WordPiece\"";
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (!GetString(*model, key).empty()) {
        style.unsupported = "its model marks subwords with " + std::string(key);
      }
    }
  }
  Classify(&style);
  return style;
}

void RunDecodeSteps(const std::vector<DecodeStep>& steps, std::string* token) {
  for (const DecodeStep& step : steps) {
    switch (step.kind) {
      case DecodeStep::Kind::kByteLevel:
        DecodeToken(VocabType::kByteLevel, token);
        break;
      case DecodeStep::Kind::kByteFallback:
        DecodeHexByte(token);
        break;
      case DecodeStep::Kind::kReplace:
        for (size_t pos = token->find(step.from); pos != std::string::npos;
             pos = token->find(step.from, pos + step.to.size())) {
          token->replace(pos, step.from.size(), step.to);
        }
        break;
    }
  }
}

}  // namespace grammask::internal
