// tokenizer.json: how bytes are written, which tokens are special, and hostile files.
#include "vocab/tokenizer_json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "vocab/vocab.h"

namespace grammask::internal {
namespace {

using Ids = std::vector<TokenId>;
using Texts = std::vector<std::string>;

constexpr char kByteLevelPre[] = R"({"type":"ByteLevel","add_prefix_space":false})";
constexpr char kLlamaDecoder[] =
    R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},)"
    R"({"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})";

struct Parts {
  std::string normalizer = "null";
  std::string pre_tokenizer = "null";
  std::string decoder = "null";
  std::string model = R"({"type":"BPE","vocab":{"a":0,"b":1},"merges":["a b",["b","a"]]})";
  std::string added = "[]";
};

std::string File(const Parts& parts) {
  return R"({"version":"1.0","added_tokens":)" + parts.added + R"(,"normalizer":)" +
         parts.normalizer + R"(,"pre_tokenizer":)" + parts.pre_tokenizer + R"(,"decoder":)" +
         parts.decoder + R"(,"model":)" + parts.model + "}";
}

TokenizerJson Read(const Parts& parts) {
  auto read = ReadTokenizerJson(File(parts));
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? *read : TokenizerJson{};
}

Status ErrorOf(const std::string& text, const Limits& limits = {}) {
  auto read = ReadTokenizerJson(text, limits);
  EXPECT_FALSE(read.ok()) << text.substr(0, 200);
  return read.status();
}

TEST(ReadTokenizerJson, Types) {
  EXPECT_EQ(Read({}).type, VocabType::kRaw);
  EXPECT_EQ(Read({.decoder = R"({"type":"ByteLevel"})"}).type, VocabType::kByteLevel);
  EXPECT_EQ(Read({.decoder = R"({"type":"Sequence","decoders":[{"type":"Sequence","decoders":)"
                             R"([{"type":"ByteLevel"}]},{"type":"Fuse"}]})"})
                .type,
            VocabType::kByteLevel);
  EXPECT_EQ(Read({.decoder = kLlamaDecoder}).type, VocabType::kByteFallback);
  EXPECT_EQ(Read({.decoder = R"({"type":"Metaspace","replacement":"▁"})"}).type,
            VocabType::kByteFallback);
  EXPECT_EQ(Read({.decoder = R"({"type":"Fuse"})"}).type, VocabType::kRaw);
}

TEST(ReadTokenizerJson, TypesWithoutADecoder) {
  EXPECT_EQ(Read({.pre_tokenizer = kByteLevelPre}).type, VocabType::kByteLevel);
  EXPECT_EQ(Read({.normalizer = R"({"type":"ByteLevel"})"}).type, VocabType::kByteLevel);
  EXPECT_EQ(Read({.pre_tokenizer = R"({"type":"Sequence","pretokenizers":[{"type":"Split"},)" +
                                   std::string(kByteLevelPre) + "]}"})
                .type,
            VocabType::kByteLevel);
  EXPECT_EQ(Read({.pre_tokenizer = R"({"type":"Metaspace","replacement":"▁"})"}).type,
            VocabType::kByteFallback);
  EXPECT_EQ(
      Read({.normalizer = R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})"}).type,
      VocabType::kByteFallback);
  EXPECT_EQ(Read({.model = R"({"type":"BPE","byte_fallback":true,"vocab":{"a":0}})"}).type,
            VocabType::kByteFallback);
}

TEST(ReadTokenizerJson, DecodersThatAreNoneOfTheTypesAreRunHere) {
  TokenizerJson underscore =
      Read({.decoder = R"({"type":"Metaspace","replacement":"_"})",
            .model = R"({"type":"Unigram","vocab":[["_a_",0.0],["▁",-1],["<0x41>",-2]]})"});
  EXPECT_EQ(underscore.type, VocabType::kRaw);
  EXPECT_EQ(underscore.vocab, (Texts{" a ", "▁", "<0x41>"}));

  TokenizerJson bytes_only =
      Read({.decoder = R"({"type":"ByteFallback"})",
            .model = R"({"type":"BPE","vocab":{"<0x41>":0,"▁":1},"merges":[]})"});
  EXPECT_EQ(bytes_only.type, VocabType::kRaw);
  EXPECT_EQ(bytes_only.vocab, (Texts{"A", "▁"}));

  TokenizerJson no_bytes = Read({.decoder = R"({"type":"Metaspace","replacement":"▁"})",
                                 .model = R"({"type":"Unigram","vocab":[["▁a",0],["<0x41>",0]]})"});
  EXPECT_EQ(no_bytes.type, VocabType::kRaw);
  EXPECT_EQ(no_bytes.vocab, (Texts{" a", "<0x41>"}));

  TokenizerJson replaced =
      Read({.decoder = R"({"type":"Sequence","decoders":[{"type":"ByteLevel"},)"
                       R"({"type":"Replace","pattern":{"String":"x"},"content":"xx"}]})",
            .model = R"({"type":"BPE","vocab":{"Ġx":0,"axxa":1},"merges":[]})"});
  EXPECT_EQ(replaced.type, VocabType::kRaw);
  EXPECT_EQ(replaced.vocab, (Texts{" xx", "axxxxa"}));
}

TEST(ReadTokenizerJson, PrefixSpace) {
  auto prefix = [](const Parts& parts) { return Read(parts).add_prefix_space; };
  EXPECT_FALSE(prefix({}));
  EXPECT_FALSE(prefix({.pre_tokenizer = kByteLevelPre}));
  EXPECT_TRUE(prefix({.pre_tokenizer = R"({"type":"ByteLevel"})"}));
  EXPECT_TRUE(prefix({.pre_tokenizer = R"({"type":"ByteLevel","add_prefix_space":true})"}));
  // A decoder does not encode.
  EXPECT_FALSE(prefix({.pre_tokenizer = kByteLevelPre,
                       .decoder = R"({"type":"ByteLevel","add_prefix_space":true})"}));
  auto metaspace = [&](const std::string& fields) {
    return prefix({.pre_tokenizer = R"({"type":"Metaspace","replacement":"▁")" + fields + "}"});
  };
  EXPECT_TRUE(metaspace(R"(,"add_prefix_space":true)"));
  EXPECT_FALSE(metaspace(R"(,"add_prefix_space":false)"));
  EXPECT_TRUE(metaspace(R"(,"prepend_scheme":"always")"));
  EXPECT_TRUE(metaspace(R"(,"prepend_scheme":"first","add_prefix_space":false)"));
  EXPECT_FALSE(metaspace(R"(,"prepend_scheme":"never","add_prefix_space":true)"));
  EXPECT_TRUE(prefix({.normalizer = R"({"type":"Sequence","normalizers":[{"type":"Prepend",)"
                                    R"("prepend":"▁"},{"type":"Replace","pattern":)"
                                    R"({"String":" "},"content":"▁"}]})"}));
  EXPECT_FALSE(prefix({.normalizer = R"({"type":"Prepend","prepend":"x"})"}));
}

TEST(ReadTokenizerJson, Vocabularies) {
  EXPECT_EQ(Read({.model = R"({"type":"BPE","vocab":{"b":3,"a":0},"merges":[]})"}).vocab,
            (Texts{"a", "", "", "b"}));
  EXPECT_EQ(Read({.model = R"({"vocab":{"a":0}})"}).vocab, Texts{"a"});
  EXPECT_EQ(Read({.model = R"({"type":"WordLevel","vocab":{"a\u0000b":0},"unk_token":"x"})"}).vocab,
            (Texts{std::string("a\0b", 3)}));
  EXPECT_EQ(
      Read({.model = R"({"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["▁a",-1.5],["",-2]]})"})
          .vocab,
      (Texts{"<unk>", "▁a", ""}));
  EXPECT_TRUE(Read({.model = R"({"type":"BPE","vocab":{}})"}).vocab.empty());
  // The settings may come after the vocabulary, and merges may nest.
  auto read = ReadTokenizerJson(
      R"({"model":{"merges":[["a",["b"]],{"vocab":1}],"vocab":{"Ġ":0},"type":"BPE"},)"
      R"("decoder":{"type":"ByteLevel"}})");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->type, VocabType::kByteLevel);
  EXPECT_EQ(read->vocab, Texts{"Ġ"});
}

TEST(ReadTokenizerJson, OnlyTheModelsVocabularyCounts) {
  auto read = ReadTokenizerJson(
      R"({"vocab":{"x":0},"other":{"vocab":{"y":[1]},"merges":{}},"model":{"extra":{"vocab":[1]},)"
      R"("vocab":{"a":0}}})");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->vocab, Texts{"a"});
}

TEST(ReadTokenizerJson, AddedAndSpecialTokens) {
  TokenizerJson read = Read({.model = R"({"type":"BPE","vocab":{"a":0,"<s>":1,"b":2},"merges":[]})",
                             .added = R"([{"id":1,"content":"<s>","special":true},)"
                                      R"({"id":4,"content":"<think>","special":false},)"
                                      R"({"id":5,"content":"  ","special":false},)"
                                      R"({"id":6,"content":"<table>","special":false},)"
                                      R"({"id":7,"content":"hello","special":true},)"
                                      R"({"id":2,"content":"B"}])"});
  EXPECT_EQ(read.vocab, (Texts{"a", "<s>", "B", "", "<think>", "  ", "<table>", "hello"}));
  EXPECT_EQ(read.special_token_ids, (Ids{1, 4, 7}));
}

TEST(ReadTokenizerJson, TheUnknownTokenIsSpecial) {
  EXPECT_EQ(Read({.model = R"({"type":"Unigram","unk_id":1,"vocab":[["a",0],["??",0]]})"})
                .special_token_ids,
            Ids{1});
  EXPECT_EQ(
      Read({.model = R"({"type":"BPE","unk_token":"b","vocab":{"a":0,"b":1}})"}).special_token_ids,
      Ids{1});
  for (const char* unk : {R"("unk_id":9)", R"("unk_id":-1)", R"("unk_id":null)", R"("unk_id":"a")",
                          R"("unk_token":"z")", R"("unk_token":null)"}) {
    EXPECT_TRUE(Read({.model = R"({"type":"Unigram","vocab":[["a",0]],)" + std::string(unk) + "}"})
                    .special_token_ids.empty())
        << unk;
  }
}

TEST(ReadTokenizerJson, UnsupportedDecoders) {
  for (const Parts& parts : std::vector<Parts>{
           {.decoder = R"({"type":"WordPiece","prefix":"##"})"},
           {.decoder = R"({"type":"BPEDecoder","suffix":"</w>"})"},
           {.decoder = R"({"type":"CTC"})"},
           {.decoder = R"({"type":"Replace","pattern":{"Regex":"a+"},"content":" "})"},
           {.decoder = R"({"type":"Strip","content":" ","start":1,"stop":0})"},
           {.decoder = R"({"kind":"ByteLevel"})"},
           {.model = R"({"type":"WordPiece","vocab":{"a":0}})"},
           {.model = R"({"type":"BPE","end_of_word_suffix":"</w>","vocab":{"a</w>":0}})"}}) {
    EXPECT_EQ(ErrorOf(File(parts)).code(), StatusCode::kUnsupported) << File(parts);
    EXPECT_TRUE(DetectTokenizerStyle(File(parts)).ok());
  }
}

TEST(ReadTokenizerJson, MalformedFiles) {
  for (const std::string& text :
       std::vector<std::string>{"",
                                "{",
                                "[]",
                                "1",
                                "null",
                                "\"x\"",
                                "nonsense",
                                "{}",
                                R"({"model":{}})",
                                "{}x",
                                R"({"model":null})",
                                R"({"model":[{"vocab":{"a":0}}]})",
                                R"({"model":{"vocab":null}})",
                                R"({"model":{"vocab":"a"}})",
                                R"([{"model":{"vocab":{"a":0}}}])",
                                "{\"model\":{\"vocab\":{\"\xFF\":0}}}",
                                R"({"model":{"vocab":{"\ud800":0}}})",
                                File({.model = R"({"vocab":{"a":"0"}})"}),
                                File({.model = R"({"vocab":{"a":0.5}})"}),
                                File({.model = R"({"vocab":{"a":null}})"}),
                                File({.model = R"({"vocab":{"a":[0]}})"}),
                                File({.model = R"({"vocab":{"a":{}}})"}),
                                File({.model = R"({"vocab":["a"]})"}),
                                File({.model = R"({"vocab":[1]})"}),
                                File({.model = R"({"vocab":[{"a":0}]})"}),
                                File({.model = R"({"vocab":[[]]})"}),
                                File({.model = R"({"vocab":[[0]]})"}),
                                File({.model = R"({"vocab":[["a","b"]]})"}),
                                File({.model = R"({"vocab":[[["a",0]]]})"}),
                                File({.model = R"({"vocab":{"a":-1}})"}),
                                File({.model = R"({"vocab":{"a":0,"b":0}})"}),
                                File({.added = "{}"}),
                                File({.added = "[1]"}),
                                File({.added = "[{}]"}),
                                File({.added = R"([{"id":"1","content":"x"}])"}),
                                File({.added = R"([{"id":1,"content":2}])"}),
                                File({.added = R"([{"id":-1,"content":"x"}])"})}) {
    Status status = ErrorOf(text);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_FALSE(status.message().empty());
  }
}

TEST(ReadTokenizerJson, ErrorsNameThePlace) {
  EXPECT_NE(ErrorOf(R"({"model": nul})").message().find("byte 14"), std::string::npos)
      << ErrorOf(R"({"model": nul})").message();
  EXPECT_NE(ErrorOf(File({.model = R"({"vocab":{"a":0,"b":null}})"})).message().find("entry 1"),
            std::string::npos);
  std::string both = ErrorOf(File({.model = R"({"vocab":{"a":5,"b":5}})"})).message();
  EXPECT_NE(both.find("\"a\""), std::string::npos) << both;
  EXPECT_NE(both.find("\"b\""), std::string::npos) << both;
}

TEST(ReadTokenizerJson, Limits) {
  EXPECT_EQ(ErrorOf(File({.model = R"({"vocab":{"a":4194304}})"})).code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrorOf(File({.model = R"({"vocab":{"a":18446744073709551615}})"})).code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrorOf(File({.added = R"([{"id":99999999999,"content":"x"}])"})).code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrorOf("{}", {.max_source_bytes = 1}).code(), StatusCode::kResourceExhausted);
  for (const std::string& start : std::vector<std::string>{
           "", R"({"model":{"merges":)", R"({"decoder":)", R"({"added_tokens":)"}) {
    std::string deep = start + std::string(1'000'000, '[');
    EXPECT_EQ(ErrorOf(deep).code(), StatusCode::kResourceExhausted) << start;
  }
  EXPECT_EQ(ErrorOf(R"({"model":{"vocab":)" + std::string(1'000'000, '[')).code(),
            StatusCode::kInvalidArgument);
}

TEST(ReadTokenizerJson, DeepButAllowedNesting) {
  std::string decoder = R"({"type":"ByteLevel"})";
  std::string open, close;
  for (int i = 0; i < 4000; ++i) {
    open += R"({"type":"Sequence","decoders":[)";
    close += "]}";
  }
  EXPECT_EQ(Read({.decoder = open + decoder + close}).type, VocabType::kByteLevel);
}

TEST(DetectTokenizerStyle, NeedsNoVocabulary) {
  auto style = DetectTokenizerStyle(R"({"decoder":{"type":"ByteLevel"},"pre_tokenizer":)"
                                    R"({"type":"ByteLevel","add_prefix_space":true}})");
  ASSERT_TRUE(style.ok()) << style.status().message();
  EXPECT_EQ(style->type, VocabType::kByteLevel);
  EXPECT_TRUE(style->add_prefix_space);
  EXPECT_FALSE(DetectTokenizerStyle("[").ok());
  EXPECT_FALSE(DetectTokenizerStyle("[]").ok());
}

}  // namespace
}  // namespace grammask::internal
