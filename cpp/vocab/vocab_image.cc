// Vocabulary tables -> one block without pointers -> the same tables as views.
//
// A header with counts, then the tables in a fixed order, each at a multiple of eight: where a
// table lies follows from the counts alone, so a file cannot point anywhere. The tokens {"a", "ab"}
// give offsets 0 1 3, text "aab", nodes root a ab and a sentinel, trie tokens 0 1. Numbers are in
// the machine's order of bytes, which the header tells, since the block is used where it lies.
//
// A file may come from anyone. The checksum finds damage; that a block is safe and means something
// is decided by looking at all of it: the trie is walked once, in step with the tokens' bytes.
//
// Cost: 5 MB for 129,000 tokens; making it is a copy, checking it 3 to 4 ms.
// Tests: tests/vocab/vocab_image_test.cc, tests/fuzz/vocab_image_fuzz.cc.
#include "vocab/vocab_image.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/checksum.h"

namespace grammask::internal {
namespace {

constexpr uint64_t kMagic =
    std::bit_cast<uint64_t>(std::array<char, 8>{'G', 'M', '-', 'V', 'O', 'C', 'A', 'B'});
constexpr uint32_t kVersion = 1;
constexpr uint32_t kByteOrder = 0x01020304;
constexpr uint32_t kOtherByteOrder = 0x04030201;

struct Header {
  uint64_t magic = kMagic;
  uint32_t version = kVersion, byte_order = kByteOrder;
  uint64_t checksum = 0;  // of all that follows it
  uint64_t size = 0;      // of the block
  uint32_t type = 0, add_prefix_space = 0, max_token_bytes = 0;
  uint32_t tokens = 0, text_bytes = 0;
  uint32_t nodes = 0;  // with the sentinel
  uint32_t trie_tokens = 0, stops = 0, specials = 0;
  uint32_t names = 0, name_bytes = 0;
  uint32_t zero = 0;
};
static_assert(sizeof(Header) == 80 && std::is_trivially_copyable_v<Header>);
constexpr size_t kSealed = offsetof(Header, size);  // where the bytes under the checksum begin

// Calls visit(offset, span) for each table in order; returns the block's size.
template <class Visit>
uint64_t LayOut(const Header& h, VocabTables* tables, Visit&& visit) {
  uint64_t at = sizeof(Header);
  auto table = [&](auto& span, uint64_t count) {
    at = (at + 7) & ~uint64_t{7};
    visit(at, span, static_cast<size_t>(count));
    at += count * sizeof(span[0]);
  };
  table(tables->tokens.offsets, uint64_t{h.tokens} + 1);
  table(tables->tokens.text, h.text_bytes);
  table(tables->nodes, h.nodes);
  table(tables->trie_tokens, h.trie_tokens);
  table(tables->stop_token_ids, h.stops);
  table(tables->special_token_ids, h.specials);
  table(tables->names.offsets, uint64_t{h.names} + 1);
  table(tables->names.text, h.name_bytes);
  table(tables->name_ids, h.names);
  return at;
}

Header ReadHeader(std::span<const std::byte> image) {
  Header header;
  std::memcpy(static_cast<void*>(&header), image.data(), sizeof(header));
  return header;
}

Status Damaged(const std::string& what) {
  return InvalidArgument("the saved vocabulary is damaged: " + what);
}

// Offsets ascend from 0 to the end of the text.
bool IsStringTable(const StringTable& table) {
  return table.offsets.front() == 0 && table.offsets.back() == table.text.size() &&
         std::ranges::is_sorted(table.offsets);
}

// Ids ascend, none twice, all below `size`.
bool AreIds(std::span<const TokenId> ids, size_t size) {
  int64_t last = -1;
  for (TokenId id : ids) {
    if (id <= last || static_cast<size_t>(id) >= size) return false;
    last = id;
  }
  return true;
}

// Checks the trie's nodes in preorder against the bytes of the tokens.
class TrieCheck {
 public:
  TrieCheck(const VocabTables& tables, const std::vector<bool>& is_text)
      : tables_(tables), is_text_(is_text), path_(kMaxTokenBytes) {}

  Status Run() {
    const auto nodes = tables_.nodes;
    const auto count = static_cast<uint32_t>(nodes.size() - 1);
    const TrieNode& root = nodes[0];
    if (root.end != count || root.depth != 0 || root.tokens != 0 || root.byte != 0 ||
        root.leaf != (count == 1)) {
      return Damaged("the trie's root is wrong");
    }
    const TrieNode& sentinel = nodes[count];
    if (sentinel.end != count || sentinel.tokens != tables_.trie_tokens.size() ||
        sentinel.depth != 0 || sentinel.byte != 0 || sentinel.leaf != 0) {
      return Damaged("the trie's end is wrong");
    }
    if (count > 1 && nodes[1].tokens != 0) return Damaged("the trie's root holds tokens");
    open_.assign(1, {count, -1});
    for (uint32_t i = 1; i < count; ++i) {
      while (open_.back().end == i) open_.pop_back();  // the root's end is never reached
      if (!IsNode(i) || !OwnsItsTokens(i)) {
        return Damaged("node " + std::to_string(i) + " of the trie is wrong");
      }
      longest_ = std::max(longest_, static_cast<int>(nodes[i].depth));
    }
    if (longest_ != tables_.max_token_bytes) return Damaged("the longest token is another");
    return {};
  }

 private:
  struct Open {
    uint32_t end;
    int last_child;  // its byte
  };

  // Node i is where a child of the innermost open node may stand.
  bool IsNode(uint32_t i) {
    const TrieNode& node = tables_.nodes[i];
    Open& parent = open_.back();
    if (node.depth != open_.size() || node.byte <= parent.last_child || node.end <= i ||
        node.end > parent.end || node.leaf != (node.end == i + 1)) {
      return false;
    }
    parent.last_child = node.byte;
    path_[node.depth - 1u] = static_cast<char>(node.byte);
    if (node.leaf == 0) open_.push_back({node.end, -1});
    return true;
  }

  // Its tokens are text, ascend, and are the path to it; a leaf has some.
  bool OwnsItsTokens(uint32_t i) const {
    const TrieNode& node = tables_.nodes[i];
    const uint32_t end = tables_.nodes[i + 1].tokens;
    if (node.tokens > end || end > tables_.trie_tokens.size()) return false;
    if (node.leaf != 0 && node.tokens == end) return false;
    const std::string_view path(path_.data(), node.depth);
    int64_t last = -1;
    for (TokenId id : tables_.trie_tokens.subspan(node.tokens, end - node.tokens)) {
      if (id <= last || static_cast<size_t>(id) >= is_text_.size()) return false;
      if (!is_text_[static_cast<size_t>(id)]) return false;
      if (tables_.tokens[static_cast<size_t>(id)] != path) return false;
      last = id;
    }
    return true;
  }

  const VocabTables& tables_;
  const std::vector<bool>& is_text_;
  std::vector<char> path_;
  std::vector<Open> open_;
  int longest_ = 0;
};

Status CheckHeader(std::span<const std::byte> image) {
  if (image.size() < sizeof(Header)) {
    return InvalidArgument("not a saved vocabulary: only " + std::to_string(image.size()) +
                           " bytes");
  }
  const Header h = ReadHeader(image);
  if (h.magic != kMagic) {
    return InvalidArgument("not a saved vocabulary: it does not begin with \"GM-VOCAB\"");
  }
  if (h.byte_order == kOtherByteOrder) {
    return Unsupported(
        "the vocabulary was saved by a machine of the other byte order; save it on one of this "
        "kind");
  }
  if (h.version != kVersion) {
    return Unsupported("the vocabulary was saved in version " + std::to_string(h.version) +
                       " of the format; this library reads version " + std::to_string(kVersion) +
                       ": save it again");
  }
  if (h.size != image.size()) {
    return Damaged("it is " + std::to_string(image.size()) + " bytes long instead of " +
                   std::to_string(h.size));
  }
  if (h.byte_order != kByteOrder || h.checksum != Checksum(image.subspan(kSealed))) {
    return Damaged("its checksum is wrong");
  }
  if (h.type > static_cast<uint32_t>(VocabType::kByteLevel) || h.add_prefix_space > 1 ||
      h.tokens > static_cast<uint32_t>(kMaxVocabSize) || h.nodes < 2) {
    return Damaged("its header is wrong");
  }
  VocabTables tables;
  if (LayOut(h, &tables, [](uint64_t, const auto&, size_t) {}) != h.size) {
    return Damaged("its tables are longer or shorter than the file");
  }
  return {};
}

}  // namespace

VocabImage MakeVocabImage(const VocabTables& tables) {
  Header h;
  h.type = static_cast<uint32_t>(tables.type);
  h.add_prefix_space = tables.add_prefix_space ? 1 : 0;
  h.max_token_bytes = static_cast<uint32_t>(tables.max_token_bytes);
  h.tokens = static_cast<uint32_t>(tables.tokens.size());
  h.text_bytes = static_cast<uint32_t>(tables.tokens.text.size());
  h.nodes = static_cast<uint32_t>(tables.nodes.size());
  h.trie_tokens = static_cast<uint32_t>(tables.trie_tokens.size());
  h.stops = static_cast<uint32_t>(tables.stop_token_ids.size());
  h.specials = static_cast<uint32_t>(tables.special_token_ids.size());
  h.names = static_cast<uint32_t>(tables.names.size());
  h.name_bytes = static_cast<uint32_t>(tables.names.text.size());
  VocabTables copy = tables;
  h.size = LayOut(h, &copy, [](uint64_t, const auto&, size_t) {});
  VocabImage image(h.size);
  std::memcpy(image.data(), static_cast<const void*>(&h), sizeof(h));
  LayOut(h, &copy, [&](uint64_t at, const auto& span, size_t) {
    if (!span.empty()) std::memcpy(image.data() + at, span.data(), span.size_bytes());
  });
  return image;
}

VocabTables ViewVocabImage(std::span<const std::byte> image) {
  const Header h = ReadHeader(image);
  VocabTables tables;
  tables.type = static_cast<VocabType>(h.type);
  tables.add_prefix_space = h.add_prefix_space != 0;
  tables.max_token_bytes = static_cast<int>(h.max_token_bytes);
  LayOut(h, &tables, [&]<class T>(uint64_t at, std::span<const T>& span, size_t count) {
    span = {reinterpret_cast<const T*>(image.data() + at), count};
  });
  return tables;
}

void SealVocabImage(std::span<std::byte> image) {
  const uint64_t checksum = Checksum(image.subspan(kSealed));
  std::memcpy(image.data() + offsetof(Header, checksum), &checksum, sizeof(checksum));
}

Status CheckVocabImage(std::span<const std::byte> image) {
  GM_RETURN_IF_ERROR(CheckHeader(image));
  const VocabTables tables = ViewVocabImage(image);
  if (!IsStringTable(tables.tokens) || !IsStringTable(tables.names)) {
    return Damaged("its offsets do not ascend to the end of its texts");
  }
  const size_t size = tables.tokens.size();
  if (!AreIds(tables.stop_token_ids, size) || !AreIds(tables.special_token_ids, size)) {
    return Damaged("its stop or special tokens are no ascending list of ids");
  }
  std::vector<bool> is_text(size, true);
  for (TokenId id : tables.stop_token_ids) is_text[static_cast<size_t>(id)] = false;
  size_t empty = 0;
  for (TokenId id : tables.special_token_ids) {
    is_text[static_cast<size_t>(id)] = false;
    empty += tables.tokens[static_cast<size_t>(id)].empty() ? 1 : 0;
  }
  for (size_t id = 0; id < size; ++id) {
    const size_t length = tables.tokens[id].size();
    if (length > kMaxTokenBytes) return Damaged("token " + std::to_string(id) + " is too long");
    if (length == 0 && empty-- == 0) return Damaged("a token without bytes is not special");
  }
  for (size_t i = 0; i < tables.names.size(); ++i) {
    const TokenId id = tables.name_ids[i];
    const std::string_view name = tables.names[i];
    if (id < 0 || static_cast<size_t>(id) >= size || is_text[static_cast<size_t>(id)] ||
        name.size() > kMaxTokenBytes) {
      return Damaged("name " + std::to_string(i) + " is wrong");
    }
    if (i > 0 && (tables.names[i - 1] > name ||
                  (tables.names[i - 1] == name && tables.name_ids[i - 1] >= id))) {
      return Damaged("its names are not sorted");
    }
  }
  GM_RETURN_IF_ERROR(TrieCheck(tables, is_text).Run());
  // Each token has one path, and its node holds it once: so as many as there are, are all of them.
  const auto texts = static_cast<size_t>(std::ranges::count(is_text, true));
  if (texts != tables.trie_tokens.size()) return Damaged("its trie lacks tokens");
  return {};
}

}  // namespace grammask::internal
