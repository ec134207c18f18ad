// The public TokenizerInfo: a handle on a Vocab, made from a list of token texts, from a
// tokenizer.json, or from a list and the metadata of another TokenizerInfo.
//
// Metadata is a JSON object of what the list itself does not tell: {"vocab_type":2,
// "vocab_size":128256,"add_prefix_space":false,"stop_token_ids":[128001]}; a list and its metadata
// make the same vocabulary again. Special ids are written only where the tokens have bytes: those
// without are special anyhow.
//
// Cost: see vocab/vocab.cc and vocab/tokenizer_json.cc.
// Tests: tests/matcher/tokenizer_info_test.cc.
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "grammask/grammask.h"
#include "vocab/tokenizer_json.h"
#include "vocab/vocab.h"

namespace grammask {
namespace {

using nlohmann::json;

internal::VocabOptions ToVocabOptions(const TokenizerOptions& options) {
  return {.type = options.type,
          .vocab_size = options.vocab_size,
          .stop_token_ids = options.stop_token_ids,
          .add_prefix_space = options.add_prefix_space,
          .special_token_ids = options.special_token_ids};
}

Status MetadataError(std::string_view key, std::string_view wanted) {
  return InvalidArgument("tokenizer metadata: \"" + std::string(key) + "\" is not " +
                         std::string(wanted));
}

// Reads metadata[key] into `ids`; absent leaves it as it is.
Status ReadIds(const json& metadata, const char* key, std::optional<std::vector<int32_t>>* ids) {
  auto list = metadata.find(key);
  if (list == metadata.end()) return {};
  if (!list->is_array()) return MetadataError(key, "a list of token ids");
  ids->emplace();
  for (const json& id : *list) {
    if (!id.is_number_integer() || id < 0 || id >= internal::kMaxVocabSize) {
      return MetadataError(key, "a list of token ids");
    }
    (*ids)->push_back(id.get<int32_t>());
  }
  return {};
}

StatusOr<TokenizerOptions> ReadMetadata(std::string_view text) {
  json metadata = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!metadata.is_object()) {
    return InvalidArgument(
        "tokenizer metadata is not a JSON object; pass what DumpMetadata returned");
  }
  TokenizerOptions options;
  auto type = metadata.find("vocab_type");
  if (type == metadata.end() || !type->is_number_integer() || *type < 0 || *type > 2) {
    return MetadataError("vocab_type", "0 (raw), 1 (byte fallback) or 2 (byte level)");
  }
  options.type = static_cast<VocabType>(type->get<int>());
  if (auto size = metadata.find("vocab_size"); size != metadata.end() && !size->is_null()) {
    if (!size->is_number_integer() || *size < 0 || *size > internal::kMaxVocabSize) {
      return MetadataError(
          "vocab_size", "a number of tokens from 0 to " + std::to_string(internal::kMaxVocabSize));
    }
    options.vocab_size = size->get<int>();
  }
  if (auto prefix = metadata.find("add_prefix_space"); prefix != metadata.end()) {
    if (!prefix->is_boolean()) return MetadataError("add_prefix_space", "true or false");
    options.add_prefix_space = prefix->get<bool>();
  }
  GM_RETURN_IF_ERROR(ReadIds(metadata, "stop_token_ids", &options.stop_token_ids));
  std::optional<std::vector<int32_t>> special;
  GM_RETURN_IF_ERROR(ReadIds(metadata, "special_token_ids", &special));
  if (special) options.special_token_ids = std::move(*special);
  return options;
}

void AppendIds(const std::vector<int32_t>& ids, std::string* out) {
  *out += '[';
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) *out += ',';
    *out += std::to_string(ids[i]);
  }
  *out += ']';
}

}  // namespace

StatusOr<TokenizerInfo> TokenizerInfo::Create(std::vector<std::string> encoded_vocab,
                                              const TokenizerOptions& options) {
  GM_ASSIGN_OR_RETURN(std::shared_ptr<const internal::Vocab> vocab,
                      internal::Vocab::Create(std::move(encoded_vocab), ToVocabOptions(options)));
  return TokenizerInfo(std::move(vocab));
}

StatusOr<TokenizerInfo> TokenizerInfo::FromTokenizerJson(std::string_view tokenizer_json,
                                                         const TokenizerOptions& options) {
  GM_ASSIGN_OR_RETURN(internal::TokenizerJson read, internal::ReadTokenizerJson(tokenizer_json));
  TokenizerOptions merged = options;
  merged.type = read.type;
  merged.add_prefix_space |= read.add_prefix_space;
  merged.special_token_ids.insert(merged.special_token_ids.end(), read.special_token_ids.begin(),
                                  read.special_token_ids.end());
  return Create(std::move(read.vocab), merged);
}

int TokenizerInfo::vocab_size() const { return vocab_->size(); }
VocabType TokenizerInfo::vocab_type() const { return vocab_->type(); }
bool TokenizerInfo::add_prefix_space() const { return vocab_->add_prefix_space(); }
std::vector<std::string> TokenizerInfo::decoded_vocab() const { return vocab_->decoded(); }
const std::vector<int32_t>& TokenizerInfo::stop_token_ids() const {
  return vocab_->stop_token_ids();
}
const std::vector<int32_t>& TokenizerInfo::special_token_ids() const {
  return vocab_->special_token_ids();
}
std::optional<int32_t> TokenizerInfo::FindToken(std::string_view text) const {
  return vocab_->FindToken(text);
}

std::string TokenizerInfo::DumpMetadata() const {
  std::string out = "{\"vocab_type\":" + std::to_string(static_cast<int>(vocab_type())) +
                    ",\"vocab_size\":" + std::to_string(vocab_size()) +
                    ",\"add_prefix_space\":" + (add_prefix_space() ? "true" : "false") +
                    ",\"stop_token_ids\":";
  AppendIds(stop_token_ids(), &out);
  std::vector<int32_t> special;
  for (int32_t id : special_token_ids()) {
    if (!vocab_->bytes(id).empty()) special.push_back(id);
  }
  if (!special.empty()) {
    out += ",\"special_token_ids\":";
    AppendIds(special, &out);
  }
  return out + '}';
}

StatusOr<TokenizerInfo> TokenizerInfo::FromVocabAndMetadata(std::vector<std::string> encoded_vocab,
                                                            std::string_view metadata_json) {
  GM_ASSIGN_OR_RETURN(TokenizerOptions options, ReadMetadata(metadata_json));
  return Create(std::move(encoded_vocab), options);
}

Status TokenizerInfo::Save(const std::string& path) const {
  return internal::WriteFile(path, vocab_->Save());
}

StatusOr<TokenizerInfo> TokenizerInfo::Load(const std::string& path, bool mapped) {
  GM_ASSIGN_OR_RETURN(std::shared_ptr<const internal::FileBytes> file,
                      internal::FileBytes::Open(path, mapped));
  const std::span<const std::byte> bytes = file->bytes();
  auto vocab = internal::Vocab::Load(bytes, std::move(file));
  if (!vocab.ok()) {
    return Status(vocab.status().code(), "'" + path + "': " + vocab.status().message());
  }
  return TokenizerInfo(*std::move(vocab));
}

std::string TokenizerInfo::Serialize() const {
  const std::vector<std::byte> image = vocab_->Save();
  return std::string(reinterpret_cast<const char*>(image.data()), image.size());
}

StatusOr<TokenizerInfo> TokenizerInfo::Deserialize(std::string_view saved) {
  const auto* begin = reinterpret_cast<const std::byte*>(saved.data());
  auto copy = std::make_shared<const std::vector<std::byte>>(begin, begin + saved.size());
  GM_ASSIGN_OR_RETURN(std::shared_ptr<const internal::Vocab> vocab,
                      internal::Vocab::Load(*copy, copy));
  return TokenizerInfo(std::move(vocab));
}

StatusOr<TokenizerMetadata> DetectTokenizerMetadata(std::string_view tokenizer_json) {
  GM_ASSIGN_OR_RETURN(internal::TokenizerStyle style,
                      internal::DetectTokenizerStyle(tokenizer_json));
  return TokenizerMetadata{style.type, style.add_prefix_space};
}

}  // namespace grammask
