// The few tokens that spell a JSON string's text with escapes, and end it, by what they say.
//
// `\u0061b"` says "ab", and so does the node of its quote. The trie is walked only where both a
// backslash and a quote are below, so that of 270,000 nodes some thousands are met.
//
// Cost: paid once for a vocabulary and a beginning. Tests: tests/mask/mask_test.cc.
#include "vocab/spelled_texts.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

namespace grammask::internal {
namespace {

// What the characters of a JSON string say; nothing where they are not whole characters of one.
std::optional<std::string> Decode(std::string_view spelled) {
  const auto text = nlohmann::json::parse('"' + std::string(spelled) + '"', nullptr, false);
  if (!text.is_string()) return std::nullopt;
  return text.get<std::string>();
}

}  // namespace

std::vector<SpelledText> FindSpelledTexts(const Vocab& vocab, uint32_t from) {
  const auto nodes = vocab.nodes();
  const TrieAlphabets& alphabets = vocab.alphabets();
  std::vector<SpelledText> found;
  std::string path;                     // from `from`
  std::vector<bool> escaped = {false};  // whether there is a backslash in it, by length
  for (uint32_t i = from + 1; i < nodes[from].end;) {
    const auto length = static_cast<size_t>(nodes[i].depth - nodes[from].depth);
    path.resize(length - 1);
    escaped.resize(length);
    path += static_cast<char>(nodes[i].byte);
    const bool escapes = escaped.back() || nodes[i].byte == '\\';
    if (nodes[i].byte == '"' && escaped.back()) {
      if (auto text = Decode(std::string_view(path).substr(0, length - 1))) {
        found.push_back({*std::move(text), i});
        i = nodes[i].end;
        continue;
      }
    }
    escaped.push_back(escapes);
    const Alphabet& below = alphabets.below(i);
    const bool may = below.Contains('"') && (escapes || below.Contains('\\'));
    i = may ? i + 1 : nodes[i].end;
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace grammask::internal
