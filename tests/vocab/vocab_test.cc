// Vocab::Create: sizes, roles, look-ups, fingerprints, and what it refuses.
#include "vocab/vocab.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace grammask::internal {
namespace {

using Ids = std::vector<TokenId>;
using Texts = std::vector<std::string>;

std::shared_ptr<const Vocab> Make(Texts texts, VocabOptions options = {}) {
  auto vocab = Vocab::Create(std::move(texts), options);
  EXPECT_TRUE(vocab.ok()) << vocab.status().message();
  return vocab.ok() ? *vocab : nullptr;
}

StatusCode CodeOf(Texts texts, VocabOptions options) {
  return Vocab::Create(std::move(texts), options).status().code();
}

Ids TextIds(const Vocab& vocab) {
  Ids ids;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    if (vocab.is_text(id)) ids.push_back(id);
  }
  return ids;
}

TEST(Vocab, Empty) {
  auto vocab = Make({});
  EXPECT_EQ(vocab->size(), 0);
  EXPECT_EQ(vocab->node_count(), 1u);
  EXPECT_EQ(vocab->nodes().size(), 2u);
  EXPECT_EQ(vocab->nodes()[0].end, 1u);
  EXPECT_EQ(vocab->nodes()[0].leaf, 1);
  EXPECT_TRUE(vocab->trie_tokens().empty());
  EXPECT_EQ(vocab->max_token_bytes(), 0);
  EXPECT_EQ(vocab->FindToken("a"), std::nullopt);
  EXPECT_EQ(vocab->FindToken(""), std::nullopt);
  EXPECT_FALSE(vocab->is_text(0));
  EXPECT_FALSE(vocab->is_text(-1));
  EXPECT_TRUE(vocab->stop_token_ids().empty());
  EXPECT_TRUE(vocab->special_token_ids().empty());
}

TEST(Vocab, DecodesByType) {
  const Texts texts = {
      "\xC4\xA0"
      "a",
      "\xE2\x96\x81"
      "a",
      "<0x41>", "a b"};
  EXPECT_EQ(Make(texts)->decoded(), texts);
  EXPECT_EQ(Make(texts, {.type = VocabType::kByteFallback})->decoded(), (Texts{"\xC4\xA0"
                                                                               "a",
                                                                               " a", "A", "a b"}));
  EXPECT_EQ(Make(texts, {.type = VocabType::kByteLevel})->decoded(), (Texts{" a",
                                                                            "\xE2\x96\x81"
                                                                            "a",
                                                                            "<0x41>", "a b"}));
}

TEST(Vocab, PadsAndTrims) {
  auto padded = Make({"a", "b"}, {.vocab_size = 5});
  EXPECT_EQ(padded->size(), 5);
  EXPECT_EQ(TextIds(*padded), (Ids{0, 1}));
  EXPECT_EQ(padded->special_token_ids(), (Ids{2, 3, 4}));
  EXPECT_EQ(padded->bytes(4), "");
  auto trimmed = Make({"a", "b", "</s>"}, {.vocab_size = 1, .special_token_ids = {0, 2}});
  EXPECT_EQ(trimmed->size(), 1);
  EXPECT_EQ(trimmed->special_token_ids(), Ids{0});
  EXPECT_TRUE(trimmed->stop_token_ids().empty());
  EXPECT_EQ(trimmed->FindToken("b"), std::nullopt);
  EXPECT_EQ(Make({"a"}, {.vocab_size = 0})->size(), 0);
}

TEST(Vocab, SpecialAndStopTokensAreNoText) {
  auto vocab = Make({"a", "<|im_end|>", "<think>", "", "b", "</s>"}, {.special_token_ids = {2, 2}});
  EXPECT_EQ(TextIds(*vocab), (Ids{0, 4}));
  EXPECT_EQ(vocab->stop_token_ids(), (Ids{1, 5}));
  EXPECT_EQ(vocab->special_token_ids(), (Ids{2, 3}));
  EXPECT_EQ(vocab->trie_tokens().size(), 2u);
  EXPECT_EQ(vocab->bytes(2), "<think>");  // kept for display
  EXPECT_EQ(vocab->max_token_bytes(), 1);
}

TEST(Vocab, GivenStopTokensReplaceDetectedOnes) {
  auto given = Make({"a", "</s>", "b"}, {.stop_token_ids = Ids{2, 0, 2}});
  EXPECT_EQ(given->stop_token_ids(), (Ids{0, 2}));
  EXPECT_EQ(TextIds(*given), Ids{1});
  auto none = Make({"a", "</s>"}, {.stop_token_ids = Ids{}});
  EXPECT_TRUE(none->stop_token_ids().empty());
  EXPECT_EQ(TextIds(*none), (Ids{0, 1}));
}

TEST(Vocab, Refuses) {
  EXPECT_EQ(CodeOf({"a"}, {.stop_token_ids = Ids{1}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf({"a"}, {.stop_token_ids = Ids{-1}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf({"a", "b"}, {.vocab_size = 1, .stop_token_ids = Ids{1}}),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf({"a"}, {.special_token_ids = {1}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf({"a"}, {.special_token_ids = {-1}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf({"a"}, {.vocab_size = -1}), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf({"a"}, {.vocab_size = kMaxVocabSize + 1}), StatusCode::kResourceExhausted);
  EXPECT_EQ(CodeOf({std::string(65536, 'a')}, {}), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf({std::string(65535, 'a')}, {}), StatusCode::kOk);
  EXPECT_NE(Vocab::Create({"a", "b"}, {.stop_token_ids = Ids{7}}).status().message().find("7"),
            std::string::npos);
}

TEST(Vocab, FindToken) {
  auto vocab = Make({"ab", "<s>", "ab", "a", "<s>", "abc", "x\xC4\xA0"},
                    {.stop_token_ids = Ids{5}, .special_token_ids = {4}});
  EXPECT_EQ(vocab->FindToken("ab"), 0);
  EXPECT_EQ(vocab->FindToken("a"), 3);
  EXPECT_EQ(vocab->FindToken("<s>"), 1);           // text 1 and special 4: the lower
  EXPECT_EQ(vocab->FindToken("abc"), 5);           // a stop token
  EXPECT_EQ(vocab->FindToken("x"), std::nullopt);  // only a prefix
  EXPECT_EQ(vocab->FindToken("abcd"), std::nullopt);
  EXPECT_EQ(vocab->FindToken("b"), std::nullopt);
  EXPECT_EQ(vocab->FindToken(""), std::nullopt);
}

TEST(Vocab, FindTokenByTheWrittenNameOfASpecialToken) {
  const std::string name = "<\xE2\x96\x81pad>";
  auto vocab = Make({"a", name}, {.type = VocabType::kByteFallback, .special_token_ids = {1}});
  EXPECT_EQ(vocab->bytes(1), "< pad>");
  EXPECT_EQ(vocab->FindToken(name), 1);
  EXPECT_EQ(vocab->FindToken("< pad>"), 1);
}

TEST(Vocab, RandomLookUps) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    Texts texts(1 + random() % 100);
    Ids special;
    std::map<std::string, TokenId> lowest;
    for (size_t id = 0; id < texts.size(); ++id) {
      texts[id].resize(random() % 5);
      for (char& c : texts[id]) c = static_cast<char>("ab\xFF\0"[random() % 4]);
      if (random() % 4 == 0) special.push_back(static_cast<TokenId>(id));
      if (!texts[id].empty()) lowest.emplace(texts[id], static_cast<TokenId>(id));
    }
    auto vocab = Make(texts, {.special_token_ids = special});
    for (int a = 0; a < 4 * 4 * 4 * 4 * 4; ++a) {
      std::string text;
      for (int rest = a; rest > 0; rest /= 4) text += "ab\xFF\0"[rest % 4];
      auto it = lowest.find(text);
      ASSERT_EQ(vocab->FindToken(text),
                it == lowest.end() ? std::nullopt : std::optional(it->second));
    }
    for (int b = 0; b < 256; ++b) {
      uint32_t child = vocab->root_child(static_cast<uint8_t>(b));
      bool any = false;
      for (TokenId id = 0; id < vocab->size(); ++id) {
        any |= vocab->is_text(id) && static_cast<uint8_t>(vocab->bytes(id)[0]) == b;
      }
      ASSERT_EQ(child != 0, any);
      if (any) {
        ASSERT_EQ(vocab->nodes()[child].depth, 1);
        ASSERT_EQ(vocab->nodes()[child].byte, b);
      }
    }
  }
}

TEST(Vocab, FingerprintTellsVocabulariesApart) {
  const std::vector<std::pair<Texts, VocabOptions>> cases = {
      {{}, {}},
      {{""}, {}},
      {{"", ""}, {}},
      {{"a"}, {}},
      {{"a", ""}, {}},
      {{"ab", "c"}, {}},
      {{"a", "bc"}, {}},
      {{"c", "ab"}, {}},
      {{std::string("a\0", 2)}, {}},
      {{"a"}, {.type = VocabType::kByteLevel}},
      {{"a"}, {.add_prefix_space = true}},
      {{"a"}, {.stop_token_ids = Ids{0}}},
      {{"a"}, {.special_token_ids = {0}}},
      {{"a"}, {.stop_token_ids = Ids{0}, .special_token_ids = {0}}}};
  std::map<uint64_t, size_t> seen;
  for (size_t i = 0; i < cases.size(); ++i) {
    auto [it, inserted] = seen.emplace(Make(cases[i].first, cases[i].second)->fingerprint(), i);
    EXPECT_TRUE(inserted) << i << " and " << it->second;
    EXPECT_EQ(Make(cases[i].first, cases[i].second)->fingerprint(), it->first);
  }
}

TEST(Vocab, MemoryCountsTokensAndTrie) {
  auto small = Make({"a"});
  auto large = Make({std::string(10000, 'a')});
  EXPECT_GE(large->memory_bytes(), small->memory_bytes() + 9999 * (1 + sizeof(TrieNode)) - 16);
}

}  // namespace
}  // namespace grammask::internal
