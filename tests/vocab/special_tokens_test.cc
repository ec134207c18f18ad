// Which texts end the output, and which are markers.
#include "vocab/special_tokens.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace grammask::internal {
namespace {

using Ids = std::vector<TokenId>;

TEST(DetectStopTokens, FindsEveryWellKnownText) {
  std::vector<std::string> texts = {"a",
                                    "</s>",
                                    "<|im_end|>",
                                    "<|endoftext|>",
                                    "</s",
                                    "<eos>",
                                    "<\xEF\xBD\x9C"
                                    "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
                                    "",
                                    "[|endofturn|]",
                                    "x</s>"};
  EXPECT_EQ(DetectStopTokens(texts, {}), (Ids{1, 2, 3, 5, 6, 8}));
  EXPECT_EQ(DetectStopTokens({}, {}), Ids{});
  EXPECT_EQ(DetectStopTokens(std::vector<std::string>{"a", "", "<"}, {}), Ids{});
}

TEST(DetectStopTokens, PrefersSpecialTokens) {
  // Gemma's vocabulary: </s> is HTML there.
  std::vector<std::string> texts = {"<eos>", "</s>", "<end_of_turn>", "a"};
  EXPECT_EQ(DetectStopTokens(texts, Ids{2, 0, 0}), (Ids{0, 2}));
  EXPECT_EQ(DetectStopTokens(texts, Ids{3}), (Ids{0, 1, 2}));  // no special one is known to stop
}

TEST(DetectStopTokens, EndIsNoEndBesideReturn) {
  EXPECT_EQ(DetectStopTokens(std::vector<std::string>{"<|end|>", "a"}, {}), Ids{0});
  EXPECT_EQ(DetectStopTokens(std::vector<std::string>{"<|end|>", "<|return|>"}, {}), Ids{1});
}

TEST(IsControlMarker, Markers) {
  for (const char* text : {"<think>",
                           "</think>",
                           "<tool_call>",
                           "<|im_start|>",
                           "<|fim_prefix|>",
                           "<unused7>",
                           "<\xEF\xBD\x9Ctool\xE2\x96\x81sep\xEF\xBD\x9C>",
                           "<\xEF\xBD\x9C/table>\xEF\xBD\x9C",
                           "\xEF\xBD\x9C"
                           "DSML\xEF\xBD\x9C",
                           "<[begin]>",
                           "|end|",
                           "[INST]",
                           "[/INST]",
                           "[TOOL_CALLS]",
                           "[REFERENCE_DOC_0]",
                           "[|user|]",
                           "<0x0A>",
                           "<pad>",
                           "<Table>",
                           "<\xE4\xBD\xA0>",
                           "<tablex>",
                           "<|tool call|>"}) {
    EXPECT_TRUE(IsControlMarker(text)) << text;
  }
}

TEST(IsControlMarker, Text) {
  for (const char* text : {"",
                           "<",
                           ">",
                           "<>",
                           "</>",
                           "<->",
                           "<|",
                           "<||>",
                           "||",
                           "|",
                           "|>",
                           "<\xEF\xBD\x9C",
                           "\xEF\xBD\x9C\xEF\xBD\x9C",
                           "  ",
                           "\n\n",
                           "\xE2\x96\x81\xE2\x96\x81",
                           "think",
                           "<think",
                           "think>",
                           "<dsml:",
                           "</dsml:",
                           "[]",
                           "[0]",
                           "[a]",
                           "[A]",
                           "[inst]",
                           "[A B]",
                           "<table>",
                           "</table>",
                           "<br/>",
                           "<br />",
                           "<h1>",
                           "</h6>",
                           "<b>",
                           "</s>",
                           "<s>",
                           "<strong>"}) {
    EXPECT_FALSE(IsControlMarker(text)) << text;
  }
}

}  // namespace
}  // namespace grammask::internal
