// Texts that tokens spell with escapes, and texts fetched ahead, against a look at each node.
#include "vocab/spelled_texts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "vocab/texts.h"

namespace grammask::internal {
namespace {

std::shared_ptr<const Vocab> RandomVocab(std::mt19937* random) {
  constexpr const char* kPieces[] = {"a",    "b",    "\"",   "\\",      "\\\\",     "\\\"",
                                     "\\n",  "\\u",  "0041", "\\/",     "\xC3\xA9", "\xC3",
                                     "\xA9", "\xFF", " ",    "\\ud83d", "\\x"};
  std::vector<std::string> tokens;
  for (size_t n = (*random)() % 300; n > 0; --n) {
    std::string text;
    for (size_t k = 1 + (*random)() % 7; k > 0; --k) {
      text += kPieces[(*random)() % std::size(kPieces)];
    }
    tokens.push_back(text);
  }
  return *Vocab::Create(tokens, {});
}

TEST(SpelledTexts, BelowAnyNode) {
  std::mt19937 random(3);
  size_t met = 0;
  for (int round = 0; round < 60; ++round) {
    const auto vocab = RandomVocab(&random);
    const auto nodes = vocab->nodes();
    const auto count = static_cast<uint32_t>(vocab->node_count());
    for (int k = 0; k < 8; ++k) {
      const uint32_t from = k == 0 ? 0 : static_cast<uint32_t>(random() % count);
      std::vector<SpelledText> expected;
      std::string path;
      for (uint32_t i = from + 1; i < nodes[from].end; ++i) {
        path.resize(nodes[i].depth - nodes[from].depth - 1u);
        path += static_cast<char>(nodes[i].byte);
        if (nodes[i].byte != '"' || path.find('\\') == std::string::npos) continue;
        const auto text = nlohmann::json::parse('"' + path, nullptr, false);
        if (text.is_string()) expected.push_back({text.get<std::string>(), i});
      }
      std::ranges::sort(expected);
      met += expected.size();
      EXPECT_EQ(FindSpelledTexts(*vocab, from), expected) << "round " << round << ", " << from;
    }
  }
  EXPECT_GT(met, 100u);
}

TEST(Texts, EachOnceInTheOrderAskedFor) {
  std::mt19937 random(4);
  for (const size_t count : {0u, 1u, 7u, 8u, 9u, 25u, 200u}) {
    const auto vocab = *Vocab::Create({"a", "", "bcd", "\xFF", "bcd"}, {});
    std::vector<TokenId> ids(count);
    for (TokenId& id : ids) id = static_cast<TokenId>(random() % 5);
    std::vector<std::string> expected, by_value, by_reference;
    for (const TokenId id : ids) expected.emplace_back(vocab->bytes(id));
    ForEachText(
        *vocab, count, [&](size_t k) { return ids[k]; },
        [&](size_t k, std::string_view text) {
          EXPECT_EQ(k, by_value.size());
          by_value.emplace_back(text);
        });
    ForEachText(
        *vocab, count, [&](size_t k) -> const TokenId& { return ids[k]; },
        [&](size_t, std::string_view text) { by_reference.emplace_back(text); });
    EXPECT_EQ(by_value, expected);
    EXPECT_EQ(by_reference, expected);
  }
}

}  // namespace
}  // namespace grammask::internal
