// A Hugging Face tokenizer.json -> token texts by id, the type by which they are decoded, and the
// special ids.
//
// Texts come from model.vocab and from added_tokens, which win where both name an id. Where the
// decoder is none of the three vocabulary types (a Metaspace with "_" for the space, say) tokens
// are decoded here and the type is raw. Special are the added tokens so flagged, those that look
// like control markers, and the unknown token:
//   {"added_tokens":[{"id":1,"content":"<think>","special":false}],"model":{"vocab":{"a":0}}}
// gives the texts {"a", "<think>"} and the special ids {1}. docs/tokenizers.md has the reasons.
//
// Cost: linear; about 60 ms for the 6 MB of a tokenizer of 129,280 tokens.
// Tests: tests/vocab/tokenizer_json_test.cc, tests/python/test_tokenizers.py.
#include "vocab/tokenizer_json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/sorted.h"
#include "base/utf8.h"
#include "vocab/bytes_style.h"
#include "vocab/decode.h"
#include "vocab/special_tokens.h"
#include "vocab/tokenizer_file.h"
#include "vocab/vocab.h"

namespace grammask::internal {
namespace {

using nlohmann::json;

// Token texts by id while they are gathered.
class TextTable {
 public:
  // Sets the text of `id`; where one is set already and `may_replace` is false it must be equal.
  Status Set(int64_t id, std::string text, bool may_replace) {
    if (id < 0) {
      return InvalidArgument("tokenizer.json: token \"" + Printable(text) + "\" has the id " +
                             std::to_string(id) + "; ids are 0 or more");
    }
    if (id >= kMaxVocabSize) {
      return ResourceExhausted("tokenizer.json: token \"" + Printable(text) + "\" has the id " +
                               std::to_string(id) + "; at most " + std::to_string(kMaxVocabSize) +
                               " tokens are supported");
    }
    size_t i = static_cast<size_t>(id);
    if (i >= texts_.size()) {
      texts_.resize(i + 1);
      is_set_.resize(i + 1);
    }
    if (is_set_[i] && !may_replace && texts_[i] != text) {
      return InvalidArgument("tokenizer.json: both \"" + Printable(texts_[i]) + "\" and \"" +
                             Printable(text) + "\" have the id " + std::to_string(id) +
                             "; each token needs its own");
    }
    is_set_[i] = true;
    texts_[i] = std::move(text);
    return {};
  }

  std::vector<std::string> Take() && { return std::move(texts_); }

 private:
  std::vector<std::string> texts_;
  std::vector<bool> is_set_;
};

struct AddedToken {
  int64_t id;
  std::string text;
  bool special;
};

StatusOr<std::vector<AddedToken>> ReadAddedTokens(const json& tokenizer) {
  std::vector<AddedToken> tokens;
  auto list = tokenizer.find("added_tokens");
  if (list == tokenizer.end() || list->is_null()) return tokens;
  if (!list->is_array()) return InvalidArgument("tokenizer.json: added_tokens is not a list");
  for (const json& entry : *list) {
    auto field = [&entry](const char* key) {
      auto it = entry.is_object() ? entry.find(key) : entry.end();
      return entry.is_object() && it != entry.end() ? *it : json();
    };
    json id = field("id"), content = field("content"), special = field("special");
    if (!id.is_number_integer() || !content.is_string()) {
      return InvalidArgument("tokenizer.json: entry " + std::to_string(tokens.size()) +
                             " of added_tokens is not an object with a whole number for \"id\" and "
                             "a text for \"content\"");
    }
    tokens.push_back({id.get<int64_t>(), content.get<std::string>(),
                      special.is_boolean() && special.get<bool>()});
  }
  return tokens;
}

// The id of the token that stands for what the vocabulary cannot spell.
std::optional<int64_t> FindUnknownToken(const TokenizerFile& file,
                                        std::span<const AddedToken> added) {
  auto model = file.rest.find("model");
  if (model == file.rest.end() || !model->is_object()) return std::nullopt;
  auto unk_id = model->find("unk_id");
  if (unk_id != model->end() && unk_id->is_number_integer()) {
    int64_t id = unk_id->get<int64_t>();
    if (id >= 0 && id < static_cast<int64_t>(file.vocab.size())) return id;
  }
  auto unk_token = model->find("unk_token");
  if (unk_token == model->end() || !unk_token->is_string()) return std::nullopt;
  const std::string& text = unk_token->get_ref<const std::string&>();
  for (const AddedToken& token : added) {
    if (token.text == text) return token.id;
  }
  for (const auto& [entry, id] : file.vocab) {
    if (entry == text) return id;
  }
  return std::nullopt;
}

// True where the vocabulary has a token such as <0x41> that its pipeline, of type kByteFallback but
// without a step for bytes, leaves as those six characters.
bool HoldsHexByteAsText(const BytesStyle& style, std::span<const std::string> texts) {
  if (style.type != VocabType::kByteFallback) return false;
  for (const DecodeStep& step : style.steps) {
    if (step.kind == DecodeStep::Kind::kByteFallback) return false;
  }
  return std::ranges::any_of(texts, [](const std::string& token) {
    std::string text = token.size() == 6 ? token : std::string();
    return DecodeHexByte(&text);
  });
}

}  // namespace

StatusOr<TokenizerJson> ReadTokenizerJson(std::string_view text, const Limits& limits) {
  GM_ASSIGN_OR_RETURN(TokenizerFile file, ParseTokenizerFile(text, limits));
  if (!file.has_vocab) {
    return InvalidArgument("tokenizer.json has no model.vocab, which should hold the tokens");
  }
  GM_ASSIGN_OR_RETURN(std::vector<AddedToken> added, ReadAddedTokens(file.rest));
  BytesStyle style = DetectBytesStyle(file.rest);
  if (!style.unsupported.empty()) {
    return Unsupported("tokenizer.json: the bytes of a token depend on its neighbours, since " +
                       style.unsupported +
                       "; decode the vocabulary yourself and pass it as raw bytes");
  }

  TokenizerJson result;
  result.add_prefix_space = style.add_prefix_space;
  std::vector<TokenId> special;
  if (std::optional<int64_t> unknown = FindUnknownToken(file, added)) {
    special.push_back(static_cast<TokenId>(*unknown));
  }
  TextTable table;
  for (auto& [entry, id] : file.vocab) {
    GM_RETURN_IF_ERROR(table.Set(id, std::move(entry), /*may_replace=*/false));
  }
  for (AddedToken& token : added) {
    bool is_special = token.special || IsControlMarker(token.text);
    GM_RETURN_IF_ERROR(table.Set(token.id, std::move(token.text), /*may_replace=*/true));
    if (is_special) special.push_back(static_cast<TokenId>(token.id));
  }
  SortUnique(&special);
  result.special_token_ids = std::move(special);
  result.vocab = std::move(table).Take();
  const bool is_exact = style.is_exact && !HoldsHexByteAsText(style, result.vocab);
  result.type = is_exact ? style.type : VocabType::kRaw;
  if (!is_exact) {
    for (std::string& token : result.vocab) RunDecodeSteps(style.steps, &token);
  }
  return result;
}

StatusOr<TokenizerStyle> DetectTokenizerStyle(std::string_view text, const Limits& limits) {
  GM_ASSIGN_OR_RETURN(TokenizerFile file, ParseTokenizerFile(text, limits));
  BytesStyle style = DetectBytesStyle(file.rest);
  return TokenizerStyle{style.type, style.add_prefix_space};
}

}  // namespace grammask::internal
