// The public TokenizerInfo: what it reports, and metadata there and back.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "grammask/grammask.h"
#include "vocab/vocab.h"

namespace grammask {
namespace {

using Ids = std::vector<int32_t>;
using Texts = std::vector<std::string>;

TEST(TokenizerInfo, Getters) {
  auto info = TokenizerInfo::Create({"\xC4\xA0"
                                     "a",
                                     "</s>", "<x>", ""},
                                    {.type = VocabType::kByteLevel,
                                     .vocab_size = 5,
                                     .add_prefix_space = true,
                                     .special_token_ids = {2}});
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_EQ(info->vocab_size(), 5);
  EXPECT_EQ(info->vocab_type(), VocabType::kByteLevel);
  EXPECT_TRUE(info->add_prefix_space());
  EXPECT_EQ(info->decoded_vocab(), (Texts{" a", "</s>", "<x>", "", ""}));
  EXPECT_EQ(info->stop_token_ids(), Ids{1});
  EXPECT_EQ(info->special_token_ids(), (Ids{2, 3, 4}));
  EXPECT_EQ(info->FindToken("<x>"), 2);
  EXPECT_EQ(info->FindToken(" a"), 0);
  EXPECT_EQ(info->FindToken("a"), std::nullopt);
}

TEST(TokenizerInfo, CreateReportsErrors) {
  auto info = TokenizerInfo::Create({"a"}, {.stop_token_ids = Ids{3}});
  EXPECT_EQ(info.status().code(), StatusCode::kInvalidArgument);
}

TEST(TokenizerInfo, MetadataText) {
  EXPECT_EQ(TokenizerInfo::Create({})->DumpMetadata(),
            R"({"vocab_type":0,"vocab_size":0,"add_prefix_space":false,"stop_token_ids":[]})");
  EXPECT_EQ(
      TokenizerInfo::Create(
          {"</s>", "a", "<|eot_id|>", "<x>", ""},
          {.type = VocabType::kByteFallback, .add_prefix_space = true, .special_token_ids = {3}})
          ->DumpMetadata(),
      R"({"vocab_type":1,"vocab_size":5,"add_prefix_space":true,"stop_token_ids":[0,2],)"
      R"("special_token_ids":[3]})");
}

TEST(TokenizerInfo, MetadataThereAndBack) {
  const Texts texts = {
      "\xC4\xA0"
      "a",
      "</s>", "<x>", "", "b"};
  for (const TokenizerOptions& options : std::vector<TokenizerOptions>{
           {},
           {.type = VocabType::kByteLevel, .vocab_size = 9, .special_token_ids = {2, 4}},
           {.type = VocabType::kByteFallback, .vocab_size = 2, .stop_token_ids = Ids{0}},
           {.stop_token_ids = Ids{}, .add_prefix_space = true}}) {
    auto info = TokenizerInfo::Create(texts, options);
    ASSERT_TRUE(info.ok()) << info.status().message();
    auto again = TokenizerInfo::FromVocabAndMetadata(texts, info->DumpMetadata());
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->DumpMetadata(), info->DumpMetadata());
    EXPECT_EQ(again->decoded_vocab(), info->decoded_vocab());
    EXPECT_EQ(again->special_token_ids(), info->special_token_ids());
    EXPECT_EQ(again->stop_token_ids(), info->stop_token_ids());
  }
}

// Everything that can be asked of the two is the same.
void ExpectSame(const TokenizerInfo& a, const TokenizerInfo& b) {
  EXPECT_EQ(a.DumpMetadata(), b.DumpMetadata());
  EXPECT_EQ(a.decoded_vocab(), b.decoded_vocab());
  EXPECT_EQ(a.special_token_ids(), b.special_token_ids());
  EXPECT_EQ(a.stop_token_ids(), b.stop_token_ids());
  EXPECT_EQ(a.vocab()->fingerprint(), b.vocab()->fingerprint());
}

TEST(TokenizerInfo, SavedAndLoaded) {
  const std::string path = testing::TempDir() + "/saved_vocabulary";
  const Texts texts = {
      "\xC4\xA0"
      "a",
      "</s>",
      "<x>",
      "",
      "b",
      "<0x41>",
      "b"};
  for (const TokenizerOptions& options : std::vector<TokenizerOptions>{
           {},
           {.type = VocabType::kByteLevel, .vocab_size = 9, .special_token_ids = {2, 4}},
           {.type = VocabType::kByteFallback, .special_token_ids = {5}},
           {.stop_token_ids = Ids{}, .add_prefix_space = true}}) {
    auto info = TokenizerInfo::Create(texts, options);
    ASSERT_TRUE(info.ok()) << info.status().message();
    ASSERT_TRUE(info->Save(path).ok());  // over the last one, which may still be mapped
    auto sent = TokenizerInfo::Deserialize(info->Serialize());
    ASSERT_TRUE(sent.ok()) << sent.status().message();
    ExpectSame(*sent, *info);
    for (bool mapped : {false, true}) {
      auto loaded = TokenizerInfo::Load(path, mapped);
      ASSERT_TRUE(loaded.ok()) << loaded.status().message();
      ExpectSame(*loaded, *info);
      for (const std::string& text : texts) {
        EXPECT_EQ(loaded->FindToken(text), info->FindToken(text));
      }
      EXPECT_EQ(loaded->Serialize(), info->Serialize());
    }
  }
  std::remove(path.c_str());
}

TEST(TokenizerInfo, SaveAndLoadErrorsNameTheFile) {
  auto info = TokenizerInfo::Create({"a"});
  const std::string path = testing::TempDir() + "/no_vocabulary";
  std::ofstream(path) << std::string(100, 'x');
  const std::string nowhere = testing::TempDir() + "/no/such/folder/vocabulary";
  EXPECT_NE(info->Save(nowhere).message().find(nowhere), std::string::npos);
  for (bool mapped : {false, true}) {
    const Status missing = TokenizerInfo::Load(nowhere, mapped).status();
    EXPECT_EQ(missing.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(missing.message().find(nowhere), std::string::npos) << missing.message();
    const Status other = TokenizerInfo::Load(path, mapped).status();
    EXPECT_NE(other.message().find("not a saved vocabulary"), std::string::npos);
    EXPECT_NE(other.message().find(path), std::string::npos);
  }
  std::remove(path.c_str());
}

TEST(TokenizerInfo, BlankedVocabularyWithTheMetadataOfTheFullOne) {
  // Engines blank the special tokens of a list to keep them out of text.
  auto full = TokenizerInfo::Create({"a", "<x>", "</s>"}, {.special_token_ids = {1}});
  auto blank = TokenizerInfo::FromVocabAndMetadata({"a", "", ""}, full->DumpMetadata());
  ASSERT_TRUE(blank.ok()) << blank.status().message();
  EXPECT_EQ(blank->stop_token_ids(), Ids{2});
  EXPECT_EQ(blank->special_token_ids(), (Ids{1, 2}));
}

TEST(TokenizerInfo, MetadataErrors) {
  for (const char* text :
       {"", "[]", "{", "{}", R"({"vocab_type":3})", R"({"vocab_type":"RAW"})",
        R"({"vocab_type":-1})", R"({"vocab_type":0,"vocab_size":-1})",
        R"({"vocab_type":0,"vocab_size":1e9})", R"({"vocab_type":0,"vocab_size":99999999999})",
        R"({"vocab_type":0,"add_prefix_space":1})", R"({"vocab_type":0,"stop_token_ids":1})",
        R"({"vocab_type":0,"stop_token_ids":["a"]})", R"({"vocab_type":0,"stop_token_ids":[-1]})",
        R"({"vocab_type":0,"stop_token_ids":[1]})", R"({"vocab_type":0,"special_token_ids":[1]})",
        R"({"vocab_type":0,"special_token_ids":[4294967296]})"}) {
    auto info = TokenizerInfo::FromVocabAndMetadata({"a"}, text);
    EXPECT_EQ(info.status().code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_TRUE(TokenizerInfo::FromVocabAndMetadata({"a"}, R"({"vocab_type":0})").ok());
}

constexpr char kFile[] =
    R"({"added_tokens":[{"id":2,"content":"<|im_end|>","special":true},)"
    R"({"id":3,"content":"<think>","special":false}],)"
    R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},)"
    R"("decoder":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"Ġa":0,"b":1}}})";

TEST(TokenizerInfo, FromTokenizerJson) {
  auto info = TokenizerInfo::FromTokenizerJson(kFile);
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_EQ(info->vocab_type(), VocabType::kByteLevel);
  EXPECT_EQ(info->decoded_vocab(), (Texts{" a", "b", "<|im_end|>", "<think>"}));
  EXPECT_EQ(info->stop_token_ids(), Ids{2});
  EXPECT_EQ(info->special_token_ids(), (Ids{2, 3}));
  EXPECT_FALSE(info->add_prefix_space());

  auto other = TokenizerInfo::FromTokenizerJson(kFile, {.vocab_size = 6,
                                                        .stop_token_ids = Ids{3},
                                                        .add_prefix_space = true,
                                                        .special_token_ids = {1}});
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(other->special_token_ids(), (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(other->stop_token_ids(), Ids{3});
  EXPECT_TRUE(other->add_prefix_space());
  EXPECT_EQ(TokenizerInfo::FromTokenizerJson(kFile, {.vocab_size = 3})->vocab_size(), 3);
  EXPECT_FALSE(TokenizerInfo::FromTokenizerJson("{").ok());
}

TEST(TokenizerInfo, DetectTokenizerMetadata) {
  auto metadata = DetectTokenizerMetadata(kFile);
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  EXPECT_EQ(metadata->type, VocabType::kByteLevel);
  EXPECT_FALSE(metadata->add_prefix_space);
  EXPECT_FALSE(DetectTokenizerMetadata("").ok());
}

}  // namespace
}  // namespace grammask
