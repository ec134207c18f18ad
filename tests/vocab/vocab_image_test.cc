// Saving and loading: what was saved comes back; what is not a vocabulary is refused, be its
// checksum right or not.
#include "vocab/vocab_image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "vocab/vocab.h"

namespace grammask::internal {
namespace {

using Ids = std::vector<TokenId>;
using Texts = std::vector<std::string>;
using Image = std::vector<std::byte>;

std::shared_ptr<const Vocab> Make(Texts texts, const VocabOptions& options = {}) {
  auto vocab = Vocab::Create(std::move(texts), options);
  EXPECT_TRUE(vocab.ok()) << vocab.status().message();
  return vocab.ok() ? *vocab : nullptr;
}

StatusOr<std::shared_ptr<const Vocab>> Load(const Image& image) {
  auto copy = std::make_shared<const Image>(image);
  return Vocab::Load(*copy, copy);
}

void ExpectSame(const Vocab& a, const Vocab& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(a.type(), b.type());
  EXPECT_EQ(a.add_prefix_space(), b.add_prefix_space());
  EXPECT_EQ(a.decoded(), b.decoded());
  EXPECT_EQ(a.stop_token_ids(), b.stop_token_ids());
  EXPECT_EQ(a.special_token_ids(), b.special_token_ids());
  EXPECT_EQ(a.max_token_bytes(), b.max_token_bytes());
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
  ASSERT_EQ(a.node_count(), b.node_count());
  EXPECT_EQ(std::memcmp(a.nodes().data(), b.nodes().data(), a.nodes().size_bytes()), 0);
  EXPECT_TRUE(std::ranges::equal(a.trie_tokens(), b.trie_tokens()));
  for (TokenId id = 0; id < a.size(); ++id) {
    EXPECT_EQ(a.is_text(id), b.is_text(id));
    EXPECT_EQ(a.FindToken(a.bytes(id)), b.FindToken(a.bytes(id)));
  }
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(a.root_child(static_cast<uint8_t>(byte)), b.root_child(static_cast<uint8_t>(byte)));
  }
}

// Vocabularies with all that a block can hold.
std::vector<std::shared_ptr<const Vocab>> Samples() {
  return {Make({}),
          Make({""}),
          Make({"a"}),
          Make({"a", "ab", "abc", "b", "b", "</s>", "", "<\xE2\x96\x81>"},
               {.type = VocabType::kByteFallback, .special_token_ids = {7}}),
          Make({"x", "y", "\xC4\xA0y"}, {.type = VocabType::kByteLevel,
                                         .vocab_size = 40,
                                         .stop_token_ids = Ids{0},
                                         .add_prefix_space = true}),
          Make({std::string(65535, 'q'), std::string("\0\0", 2), "\xFF"})};
}

TEST(VocabImage, ComesBack) {
  for (const auto& vocab : Samples()) {
    const Image image = vocab->Save();
    auto loaded = Load(image);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    ExpectSame(**loaded, *vocab);
    EXPECT_EQ((*loaded)->Save(), image);
  }
}

TEST(VocabImage, RandomOnesComeBack) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    Texts texts(random() % 60);
    Ids special;
    for (size_t id = 0; id < texts.size(); ++id) {
      texts[id].resize(random() % 6);
      for (char& c : texts[id]) c = static_cast<char>("ab\xFF\0"[random() % 4]);
      if (random() % 5 == 0) special.push_back(static_cast<TokenId>(id));
    }
    auto vocab = Make(texts, {.special_token_ids = special});
    auto loaded = Load(vocab->Save());
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    ExpectSame(**loaded, *vocab);
  }
}

TEST(VocabImage, DamageIsSeen) {
  for (const auto& vocab : Samples()) {
    const Image image = vocab->Save();
    if (image.size() > 10000) continue;
    for (size_t i = 0; i < image.size(); ++i) {
      Image damaged = image;
      damaged[i] ^= std::byte{1};
      EXPECT_FALSE(Load(damaged).ok()) << i;
      EXPECT_FALSE(Load({image.begin(), image.begin() + static_cast<ptrdiff_t>(i)}).ok()) << i;
    }
    Image longer = image;
    longer.push_back({});
    EXPECT_FALSE(Load(longer).ok());
  }
}

TEST(VocabImage, OtherVersionsAndMachines) {
  const Image image = Make({"a"})->Save();
  auto message = [](const Image& changed) {
    const Status status = Load(changed).status();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    return status.message();
  };
  Image newer = image;
  newer[8] = std::byte{9};
  EXPECT_NE(message(newer).find("version 9"), std::string::npos) << message(newer);
  Image swapped = image;
  std::reverse(swapped.begin() + 12, swapped.begin() + 16);
  EXPECT_NE(message(swapped).find("byte order"), std::string::npos) << message(swapped);
}

// A block with a right checksum is accepted only where it is a vocabulary in every detail: then
// making it anew from its tokens gives the same block again.
TEST(VocabImage, WhatIsSealedIsStillChecked) {
  std::mt19937 random(4);
  size_t accepted = 0, refused = 0;
  for (const auto& vocab : Samples()) {
    const Image image = vocab->Save();
    if (image.size() > 10000) continue;
    for (size_t i = 24; i < image.size(); ++i) {
      for (int round = 0; round < 12; ++round) {
        Image changed = image;
        changed[i] = round < 8 ? changed[i] ^ static_cast<std::byte>(1 << round)
                               : static_cast<std::byte>(random());
        SealVocabImage(changed);
        auto loaded = Load(changed);
        if (!loaded.ok()) {
          ++refused;
          continue;
        }
        ++accepted;
        const Vocab& v = **loaded;
        VocabOptions options{.vocab_size = v.size(),
                             .stop_token_ids = v.stop_token_ids(),
                             .special_token_ids = v.special_token_ids()};
        auto again = Make(v.decoded(), options);
        ASSERT_EQ(again->node_count(), v.node_count()) << i;
        ASSERT_EQ(std::memcmp(again->nodes().data(), v.nodes().data(), v.nodes().size_bytes()), 0)
            << i;
        ASSERT_TRUE(std::ranges::equal(again->trie_tokens(), v.trie_tokens())) << i;
        ASSERT_EQ(again->special_token_ids(), v.special_token_ids());
      }
    }
  }
  EXPECT_GT(accepted, 20u);  // the type, a name, bytes of a special token, padding
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace grammask::internal
