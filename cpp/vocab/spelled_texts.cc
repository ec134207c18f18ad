// The few tokens that spell a JSON string's text with escapes, and end it, by what they say.
//
// `\u0061b"` says "ab", and so does the node of its quote. Only nodes at and below a backslash are
// looked at, of which the vocabulary has a list: of 270,000 nodes some thousands.
//
// Cost: paid once for a vocabulary and a beginning. Tests: tests/vocab/spelled_texts_test.cc.
#include "vocab/spelled_texts.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "vocab/texts.h"

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
  const size_t above = nodes[from].depth;
  std::vector<SpelledText> found;
  std::string path;           // from `from`
  std::vector<bool> escaped;  // whether there is a backslash in it, by length
  // Looks at nodes [first, end), siblings and what is below them; `path` leads to them.
  auto walk = [&](uint32_t first, uint32_t end) {
    escaped.assign(path.size() + 1, false);
    for (uint32_t i = first; i < end;) {
      const size_t length = nodes[i].depth - above;
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
  };
  if (alphabets.is_whole(from)) {
    // Below the first backslash of a path of whole characters: no other path says anything.
    const auto all = alphabets.adding('\\');
    const auto begin = std::ranges::upper_bound(all, from);
    const std::span backslashes(begin, std::lower_bound(begin, all.end(), nodes[from].end));
    uint32_t done = 0;
    ForEachTextAbove(vocab, backslashes, [&](uint32_t i, std::string_view text) {
      if (i < done) return;
      done = nodes[i].end;
      path = text.substr(above);
      walk(i, done);
    });
  } else {
    walk(from + 1, nodes[from].end);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace grammask::internal
