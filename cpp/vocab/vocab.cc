// A tokenizer's list of token texts -> the Vocab: bytes by id, roles, trie.
//
// Create reads as the pipeline: fit the list to the model's size, settle stop and special ids,
// decode every text to bytes, lay the trie over what is left as text. With the texts
// {"Ġa", "</s>", ""} of a byte-level tokenizer: bytes {" a", "</s>", ""}, stop {1}, special {2},
// and a trie of the one token " a".
//
// Cost: linear but for the trie's sort; about 20 ms for 128,000 tokens.
// Tests: tests/vocab/vocab_test.cc.
#include "vocab/vocab.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "vocab/decode.h"
#include "vocab/digest.h"
#include "vocab/special_tokens.h"

namespace grammask::internal {
namespace {

constexpr size_t kMaxTokenBytes = std::numeric_limits<uint16_t>::max();  // TrieNode::depth
constexpr size_t kMaxTotalBytes = size_t{1} << 31;                       // TrieNode::end

// Pads or trims `encoded` to the model's size.
Status Resize(std::optional<int> vocab_size, std::vector<std::string>* encoded) {
  if (vocab_size && *vocab_size < 0) {
    return InvalidArgument("vocab_size is " + std::to_string(*vocab_size) +
                           "; it must be 0 or more");
  }
  size_t size = vocab_size ? static_cast<size_t>(*vocab_size) : encoded->size();
  if (size > static_cast<size_t>(kMaxVocabSize)) {
    return ResourceExhausted("a vocabulary of " + std::to_string(size) + " tokens; at most " +
                             std::to_string(kMaxVocabSize) + " are supported");
  }
  encoded->resize(size);
  return {};
}

Status CheckTokenSizes(std::span<const std::string> encoded) {
  size_t total = 0;
  for (size_t id = 0; id < encoded.size(); ++id) {
    total += encoded[id].size();
    if (encoded[id].size() <= kMaxTokenBytes) continue;
    return InvalidArgument("token " + std::to_string(id) + " is " +
                           std::to_string(encoded[id].size()) + " bytes long; at most " +
                           std::to_string(kMaxTokenBytes) + " are supported");
  }
  if (total <= kMaxTotalBytes) return {};
  return ResourceExhausted("the vocabulary's tokens are " + std::to_string(total) +
                           " bytes long in all; at most " + std::to_string(kMaxTotalBytes) +
                           " are supported");
}

void SortUnique(std::vector<TokenId>* ids) {
  std::ranges::sort(*ids);
  ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
}

// Refuses an id that is not in [0, bound).
Status CheckIds(std::span<const TokenId> ids, size_t bound, std::string_view what) {
  for (TokenId id : ids) {
    if (id >= 0 && static_cast<size_t>(id) < bound) continue;
    return InvalidArgument(std::string(what) + " id " + std::to_string(id) +
                           " is outside the vocabulary, which has " + std::to_string(bound) +
                           " tokens");
  }
  return {};
}

}  // namespace

StatusOr<std::shared_ptr<const Vocab>> Vocab::Create(std::vector<std::string> encoded,
                                                     const VocabOptions& options) {
  const size_t written_size = encoded.size();
  GM_RETURN_IF_ERROR(Resize(options.vocab_size, &encoded));
  GM_RETURN_IF_ERROR(CheckTokenSizes(encoded));
  const size_t size = encoded.size();

  std::vector<TokenId> special = options.special_token_ids;
  GM_RETURN_IF_ERROR(CheckIds(special, std::max(size, written_size), "special token"));
  std::erase_if(special, [size](TokenId id) { return static_cast<size_t>(id) >= size; });
  if (options.stop_token_ids) {
    GM_RETURN_IF_ERROR(CheckIds(*options.stop_token_ids, size, "stop token"));
  }

  std::shared_ptr<Vocab> vocab(new Vocab());
  vocab->type_ = options.type;
  vocab->add_prefix_space_ = options.add_prefix_space;
  vocab->stop_token_ids_ =
      options.stop_token_ids ? *options.stop_token_ids : DetectStopTokens(encoded, special);
  SortUnique(&vocab->stop_token_ids_);
  vocab->decoded_ = std::move(encoded);
  vocab->special_token_ids_ = std::move(special);
  vocab->DecodeTokens();
  vocab->BuildIndex();
  vocab->ComputeFingerprint();
  return std::shared_ptr<const Vocab>(std::move(vocab));
}

// Turns texts into bytes, and settles which ids are special, which text, and which have names.
void Vocab::DecodeTokens() {
  is_text_.assign(decoded_.size(), true);
  for (TokenId id : stop_token_ids_) is_text_[static_cast<size_t>(id)] = false;
  for (TokenId id : special_token_ids_) is_text_[static_cast<size_t>(id)] = false;
  for (size_t id = 0; id < decoded_.size(); ++id) {
    std::string& token = decoded_[id];
    if (token.empty()) {
      is_text_[id] = false;
      special_token_ids_.push_back(static_cast<TokenId>(id));
    } else if (is_text_[id]) {
      DecodeToken(type_, &token);
      max_token_bytes_ = std::max(max_token_bytes_, static_cast<int>(token.size()));
    } else {
      std::string written = token;
      DecodeToken(type_, &token);
      names_.emplace_back(token, static_cast<TokenId>(id));
      if (written != token) names_.emplace_back(std::move(written), static_cast<TokenId>(id));
    }
  }
  SortUnique(&special_token_ids_);
  std::ranges::sort(names_);
}

void Vocab::BuildIndex() {
  std::vector<TokenId> text_ids;
  text_ids.reserve(decoded_.size());
  for (size_t id = 0; id < decoded_.size(); ++id) {
    if (is_text_[id]) text_ids.push_back(static_cast<TokenId>(id));
  }
  Trie trie = BuildTrie(decoded_, text_ids);
  nodes_ = std::move(trie.nodes);
  trie_tokens_ = std::move(trie.tokens);
  for (uint32_t child = 1; child < nodes_[0].end; child = nodes_[child].end) {
    root_children_[nodes_[child].byte] = child;
  }
  alphabets_ = TrieAlphabets(nodes_);
}

void Vocab::ComputeFingerprint() {
  Digest digest;
  digest.Add(static_cast<uint64_t>(type_));
  digest.Add(uint64_t{add_prefix_space_});
  digest.Add(decoded_.size());
  for (const std::string& token : decoded_) digest.Add(std::string_view(token));
  for (const std::vector<TokenId>* ids : {&stop_token_ids_, &special_token_ids_}) {
    digest.Add(ids->size());
    for (TokenId id : *ids) digest.Add(static_cast<uint64_t>(id));
  }
  for (const auto& [name, id] : names_) {
    digest.Add(std::string_view(name));
    digest.Add(static_cast<uint64_t>(id));
  }
  fingerprint_ = digest.Finish();
}

std::optional<TokenId> Vocab::FindToken(std::string_view text) const {
  if (text.empty()) return std::nullopt;
  std::optional<TokenId> found = FindTextToken(text);
  auto name = std::ranges::lower_bound(
      names_, text, {}, [](const auto& entry) { return std::string_view(entry.first); });
  if (name == names_.end() || name->first != text) return found;
  return found ? std::min(*found, name->second) : name->second;
}

std::optional<TokenId> Vocab::FindTextToken(std::string_view bytes) const {
  uint32_t node = root_child(static_cast<uint8_t>(bytes[0]));
  if (node == 0) return std::nullopt;
  for (char c : bytes.substr(1)) {
    uint8_t byte = static_cast<uint8_t>(c);
    uint32_t end = nodes_[node].end;
    uint32_t child = node + 1;
    while (child < end && nodes_[child].byte < byte) child = nodes_[child].end;
    if (child >= end || nodes_[child].byte != byte) return std::nullopt;
    node = child;
  }
  // A node's own tokens ascend, so the first is the lowest.
  uint32_t first = nodes_[node].tokens;
  if (first == nodes_[node + 1].tokens) return std::nullopt;
  return trie_tokens_[first];
}

size_t Vocab::memory_bytes() const {
  size_t bytes = sizeof(Vocab) + decoded_.capacity() * sizeof(std::string) +
                 is_text_.capacity() / 8 + nodes_.capacity() * sizeof(TrieNode) +
                 names_.capacity() * sizeof(names_[0]) + alphabets_.memory_bytes();
  for (const auto* ids : {&stop_token_ids_, &special_token_ids_, &trie_tokens_}) {
    bytes += ids->capacity() * sizeof(TokenId);
  }
  const size_t inline_capacity = std::string().capacity();
  auto heap_bytes = [inline_capacity](const std::string& s) {
    return s.capacity() > inline_capacity ? s.capacity() + 1 : 0;
  };
  for (const std::string& token : decoded_) bytes += heap_bytes(token);
  for (const auto& entry : names_) bytes += heap_bytes(entry.first);
  return bytes;
}

}  // namespace grammask::internal
