// Regexes against the verdicts of another ECMA-262 engine: tests/data/regex/ecma_cases.json, which
// make_ecma_cases.mjs beside it writes and describes.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/scratch.h"
#include "base/utf8.h"
#include "grammar/regex.h"
#include "grammar/small_language.h"
#include "oracle/recognizer.h"
#include "sampled.h"

namespace grammask::internal {
namespace {

using Json = nlohmann::json;

Json ReadCases() {
  std::ifstream file(GRAMMASK_TEST_DATA "/regex/ecma_cases.json");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

RegexOptions OptionsFor(const std::string& flags, RegexOptions::Anchoring anchoring,
                        RegexOptions::Encoding encoding) {
  RegexOptions options;
  options.anchoring = anchoring;
  options.encoding = encoding;
  options.ignore_case = flags.find('i') != std::string::npos;
  options.dot_all = flags.find('s') != std::string::npos;
  options.multi_line = flags.find('m') != std::string::npos;
  return options;
}

bool BitOf(const std::string& hex, size_t i) {
  char c = hex[i / 4];
  int digit = c <= '9' ? c - '0' : c - 'a' + 10;
  return (digit >> (3 - i % 4)) & 1;
}

// Between the quotes of a JSON string: as short as may be, or every UTF-16 unit escaped.
std::string JsonSpelling(const std::string& text, bool escape_all) {
  if (!escape_all) {
    std::string quoted = Json(text).dump();
    return quoted.substr(1, quoted.size() - 2);
  }
  std::string out;
  for (size_t i = 0; i < text.size();) {
    DecodedChar c = *DecodeUtf8(text, i);
    i += static_cast<size_t>(c.length);
    uint32_t units[2] = {c.code_point, 0};
    if (c.code_point > 0xFFFF) {
      units[0] = 0xD800 + ((c.code_point - 0x10000) >> 10);
      units[1] = 0xDC00 + ((c.code_point - 0x10000) & 0x3FF);
    }
    for (uint32_t unit : units) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04X", unit);
      if (unit != 0 || c.code_point == 0) out += buffer;
      if (c.code_point <= 0xFFFF) break;
    }
  }
  return out;
}

void CheckPattern(const std::string& pattern, const std::string& flags, const std::string& verdicts,
                  RegexOptions::Anchoring anchoring, RegexOptions::Encoding encoding,
                  const std::vector<std::string>& texts) {
  SCOPED_TRACE("pattern " + pattern + " flags " + flags +
               (anchoring == RegexOptions::Anchoring::kSearch ? " search" : " whole"));
  GrammarBuilder builder;
  StatusOr<NodeId> node =
      ParseRegex(pattern, OptionsFor(flags, anchoring, encoding), Limits(), &builder);
  ASSERT_TRUE(node.ok()) << node.status().message();
  RuleId root = builder.AddRule("root");
  builder.SetBody(root, *node);
  StatusOr<Grammar> grammar = builder.Finish(root);
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  Recognizer language(*grammar);
  for (size_t i = 0; i < texts.size(); ++i) {
    bool want = BitOf(verdicts, i);
    if (encoding == RegexOptions::Encoding::kUtf8) {
      EXPECT_EQ(language.Matches(texts[i]), want) << Json(texts[i]) << "\n" << grammar->ToString();
      EXPECT_FALSE(i % 16 == 0 && language.Matches(texts[i] + "\xFF")) << grammar->ToString();
    } else {
      for (bool escape_all : {false, true}) {
        std::string spelling = JsonSpelling(texts[i], escape_all);
        EXPECT_EQ(language.Matches(spelling), want) << spelling << "\n" << grammar->ToString();
      }
    }
    if (::testing::Test::HasFailure()) return;
  }
}

void CheckRow(const Json& row, size_t verdicts, const std::vector<std::string>& texts,
              RegexOptions::Encoding encoding) {
  CheckPattern(row[0], row[1], row[verdicts], RegexOptions::Anchoring::kSearch, encoding, texts);
  CheckPattern(row[0], row[1], row[verdicts + 1], RegexOptions::Anchoring::kWhole, encoding, texts);
}

TEST(RegexDataTest, ListedPatternsAgree) {
  const Json cases = ReadCases();
  ASSERT_FALSE(cases.is_discarded());
  ASSERT_GT(cases["listed"].size(), 500u);
  for (const Json& row : cases["listed"]) {
    CheckRow(row, 3, cases[row[2].get<std::string>()], RegexOptions::Encoding::kUtf8);
    if (HasFailure()) return;
  }
  EXPECT_EQ(ScratchOfThread().pieces, 0u) << "something outlives the reading of a pattern";
}

TEST(RegexDataTest, ListedPatternsAgreeInJsonStrings) {
  const Json cases = ReadCases();
  ASSERT_FALSE(cases.is_discarded());
  for (size_t i = 0; i < cases["listed"].size(); i += 3) {
    const Json& row = cases["listed"][i];
    CheckRow(row, 3, cases[row[2].get<std::string>()], RegexOptions::Encoding::kJsonString);
    if (HasFailure()) return;
  }
}

TEST(RegexDataTest, RandomPatternsAgree) {
  const Json cases = ReadCases();
  ASSERT_FALSE(cases.is_discarded());
  ASSERT_GT(cases["random"].size(), 500u);
  Universe universe(cases["alphabet"].get<std::string>(), cases["length"]);
  for (size_t i = 0; i < cases["random"].size(); i += OneIn(7)) {
    CheckRow(cases["random"][i], 2, universe.texts(), RegexOptions::Encoding::kUtf8);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace grammask::internal
