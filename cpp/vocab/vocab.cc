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
#include <utility>

#include "base/sorted.h"
#include "vocab/decode.h"
#include "vocab/digest.h"
#include "vocab/find_node.h"
#include "vocab/special_tokens.h"

namespace grammask::internal {
namespace {

constexpr size_t kMaxTotalBytes = size_t{1} << 31;  // TrieNode::end

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

// A list of byte strings as one text and offsets.
struct Strings {
  std::vector<uint32_t> offsets = {0};
  std::vector<char> text;

  void Add(std::string_view string) {
    text.insert(text.end(), string.begin(), string.end());
    offsets.push_back(static_cast<uint32_t>(text.size()));
  }
  StringTable table() const { return {offsets, text}; }
};

// Turns texts into bytes, settles which ids are special, which text, and which have names, lays the
// trie, and packs all of it. `stops` is sorted; all ids are in range.
VocabImage MakeImage(std::vector<std::string> tokens, std::vector<TokenId> stops,
                     std::vector<TokenId> special, const VocabOptions& options) {
  VocabTables tables;
  tables.type = options.type;
  tables.add_prefix_space = options.add_prefix_space;
  std::vector<bool> is_text(tokens.size(), true);
  for (TokenId id : stops) is_text[static_cast<size_t>(id)] = false;
  for (TokenId id : special) is_text[static_cast<size_t>(id)] = false;
  Strings decoded, names;
  decoded.offsets.reserve(tokens.size() + 1);
  std::vector<std::pair<std::string, TokenId>> named;
  std::vector<TokenId> text_ids, name_ids;
  text_ids.reserve(tokens.size());
  for (size_t id = 0; id < tokens.size(); ++id) {
    std::string& token = tokens[id];
    if (token.empty()) {
      special.push_back(static_cast<TokenId>(id));
    } else if (is_text[id]) {
      DecodeToken(tables.type, &token);
      tables.max_token_bytes = std::max(tables.max_token_bytes, static_cast<int>(token.size()));
      text_ids.push_back(static_cast<TokenId>(id));
    } else {
      std::string written = token;
      DecodeToken(tables.type, &token);
      named.emplace_back(token, static_cast<TokenId>(id));
      if (written != token) named.emplace_back(std::move(written), static_cast<TokenId>(id));
    }
    decoded.Add(token);
  }
  SortUnique(&special);
  std::ranges::sort(named);
  for (const auto& [name, id] : named) {
    names.Add(name);
    name_ids.push_back(id);
  }
  const Trie trie = BuildTrie(tokens, text_ids);
  tables.tokens = decoded.table();
  tables.nodes = trie.nodes;
  tables.trie_tokens = trie.tokens;
  tables.stop_token_ids = stops;
  tables.special_token_ids = special;
  tables.names = names.table();
  tables.name_ids = name_ids;
  return MakeVocabImage(tables);
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

  std::vector<TokenId> stops =
      options.stop_token_ids ? *options.stop_token_ids : DetectStopTokens(encoded, special);
  SortUnique(&stops);
  auto image = std::make_shared<const VocabImage>(
      MakeImage(std::move(encoded), std::move(stops), std::move(special), options));
  std::shared_ptr<Vocab> vocab(new Vocab());
  vocab->Attach(*image, image);
  return std::shared_ptr<const Vocab>(std::move(vocab));
}

StatusOr<std::shared_ptr<const Vocab>> Vocab::Load(std::span<const std::byte> image,
                                                   std::shared_ptr<const void> owner) {
  GM_RETURN_IF_ERROR(CheckVocabImage(image));
  std::shared_ptr<Vocab> vocab(new Vocab());
  vocab->Attach(image, std::move(owner));
  return std::shared_ptr<const Vocab>(std::move(vocab));
}

std::vector<std::byte> Vocab::Save() const {
  std::vector<std::byte> image(image_.begin(), image_.end());
  SealVocabImage(image);
  return image;
}

// Takes a block that is known to be good, and makes the small tables beside it.
void Vocab::Attach(std::span<const std::byte> image, std::shared_ptr<const void> owner) {
  image_ = image;
  owner_ = std::move(owner);
  tables_ = ViewVocabImage(image);
  stop_token_ids_.assign(tables_.stop_token_ids.begin(), tables_.stop_token_ids.end());
  special_token_ids_.assign(tables_.special_token_ids.begin(), tables_.special_token_ids.end());
  const size_t count = tables_.tokens.size();
  text_bits_.assign((count + 31) / 32, ~uint32_t{0});
  if (count % 32 != 0) text_bits_.back() = (uint32_t{1} << (count % 32)) - 1;
  for (const auto* ids : {&stop_token_ids_, &special_token_ids_}) {
    for (TokenId id : *ids) text_bits_[static_cast<size_t>(id) / 32] &= ~(uint32_t{1} << (id % 32));
  }
  for (uint32_t child = 1; child < nodes()[0].end; child = nodes()[child].end) {
    root_children_[nodes()[child].byte] = child;
  }
  alphabets_ = TrieAlphabets(nodes());
  token_blocks_ = TokenBlocks(trie_tokens(), text_bits_.size());
}

std::vector<std::string> Vocab::decoded() const {
  std::vector<std::string> tokens;
  tokens.reserve(tables_.tokens.size());
  for (size_t id = 0; id < tables_.tokens.size(); ++id) tokens.emplace_back(tables_.tokens[id]);
  return tokens;
}

uint64_t Vocab::fingerprint() const {
  uint64_t known = fingerprint_.load(std::memory_order_relaxed);
  if (known != 0) return known;
  Digest digest;
  digest.Add(static_cast<uint64_t>(type()));
  digest.Add(uint64_t{add_prefix_space()});
  digest.Add(tables_.tokens.size());
  LaneDigest lanes;
  lanes.Add(std::string_view(tables_.tokens.text.data(), tables_.tokens.text.size()));
  lanes.Add(tables_.tokens.offsets);
  lanes.Finish(&digest);
  for (const std::vector<TokenId>* ids : {&stop_token_ids_, &special_token_ids_}) {
    digest.Add(ids->size());
    for (TokenId id : *ids) digest.Add(static_cast<uint64_t>(id));
  }
  for (size_t i = 0; i < tables_.names.size(); ++i) {
    digest.Add(tables_.names[i]);
    digest.Add(static_cast<uint64_t>(tables_.name_ids[i]));
  }
  known = std::max<uint64_t>(digest.Finish(), 1);
  fingerprint_.store(known, std::memory_order_relaxed);
  return known;
}

std::optional<TokenId> Vocab::FindToken(std::string_view text) const {
  if (text.empty()) return std::nullopt;
  std::optional<TokenId> found = FindTextToken(text);
  size_t first = 0;
  for (size_t count = tables_.names.size(); count > 0;) {
    const size_t half = count / 2;
    const bool less = tables_.names[first + half] < text;
    first += less ? half + 1 : 0;
    count = less ? count - half - 1 : half;
  }
  if (first == tables_.names.size() || tables_.names[first] != text) return found;
  const TokenId named = tables_.name_ids[first];
  return found ? std::min(*found, named) : named;
}

std::optional<TokenId> Vocab::FindTextToken(std::string_view bytes) const {
  const uint32_t node = FindNode(*this, 0, bytes);
  if (node == 0) return std::nullopt;
  // A node's own tokens ascend, so the first is the lowest.
  uint32_t first = nodes()[node].tokens;
  if (first == nodes()[node + 1].tokens) return std::nullopt;
  return trie_tokens()[first];
}

size_t Vocab::memory_bytes() const {
  return sizeof(Vocab) + image_.size() + text_bits_.capacity() * 4 + alphabets_.memory_bytes() +
         token_blocks_.memory_bytes() +
         (stop_token_ids_.capacity() + special_token_ids_.capacity()) * sizeof(TokenId);
}

}  // namespace grammask::internal
