// Numbers of strings, against trying all short strings of a small alphabet.
#include "grammar/json_schema/string_count.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "grammar/regular_language.h"

namespace grammask::internal {
namespace {

constexpr int64_t kMost = 1'000'000'000;

std::optional<int64_t> Count(const StringSet& set, int64_t most = kMost) {
  StatusOr<std::optional<int64_t>> count = CountStrings(set, most, {});
  EXPECT_TRUE(count.ok()) << set.ToString() << ": " << count.status().message();
  return count.ok() ? *count : std::nullopt;
}

StringSet Found(std::vector<const char*> patterns, std::vector<const char*> not_patterns = {}) {
  StringSet set;
  for (const char* p : patterns) set.patterns.emplace_back(p);
  for (const char* p : not_patterns) set.not_patterns.emplace_back(p);
  return set;
}

StringSet OfLength(StringSet set, int64_t min, int64_t max) {
  set.min_length = min;
  set.max_length = max;
  return set;
}

// Sets all of whose members are made of a, b and 7, at most six of them.
std::vector<StringSet> SmallSets() {
  std::vector<StringSet> sets = {
      Found({"^$"}),
      Found({"^a?b?$"}),
      Found({"^[ab]{0,3}$"}),
      Found({"^(a|ab|abb)(b|7)?$"}),  // several ways to one string
      Found({"^(aa?){1,3}$"}),
      Found({"^[ab7]{1,6}$", "7$"}),
      Found({"^[ab7]{2,4}$"}, {"aa"}),
      Found({"^[ab7]{2,4}$", "a.*a"}, {"^b", "7$"}),
      Found({"^(?!ab)[ab7]{3}$"}),
      Found({"^[ab]$", "^7$"}),
      OfLength(Found({"^[ab7]*$"}), 0, 4),
      OfLength(Found({"^[ab7]*$"}), 3, 5),
      OfLength(Found({"^(ab|7)*$"}), 2, 6),
      OfLength(Found({"^a*b*7*$"}), 1, 6),
      OfLength(Found({"^[ab7]*$", "ab"}, {"ba"}), 0, 6),
  };
  sets.push_back(Found({"^[ab]{1,2}$"}));
  sets.back().excluded = {"a", "ab", "7"};
  sets.push_back(Found({"^[ab7]+$"}));
  sets.back().values = {"a", "bb", "é", "77b"};
  return sets;
}

TEST(StringCountTest, EqualsTheNumberOfMembers) {
  std::vector<std::string> texts = {""};
  for (size_t begin = 0, length = 1; length <= 6; ++length) {
    for (size_t end = texts.size(); begin < end; ++begin) {
      for (char c : {'a', 'b', '7'}) texts.push_back(texts[begin] + c);
    }
  }
  for (const StringSet& set : SmallSets()) {
    RegularLanguage body([&](GrammarBuilder* b) { return EmitStringBody(b, set, {}); });
    ASSERT_TRUE(body.status().ok()) << set.ToString() << ": " << body.status().message();
    int64_t members = 0;
    for (const std::string& text : texts) members += body.Has(text);
    EXPECT_EQ(Count(set), members) << set.ToString();
    EXPECT_EQ(Count(set, 3), std::min<int64_t>(members, 3)) << set.ToString();
  }
}

TEST(StringCountTest, ManyAreEnough) {
  for (const StringSet& set : {
           Found({}),
           Found({"a"}),
           Found({"^[a-z]+$"}),
           Found({}, {"^aws:"}),
           OfLength(Found({}), 1, 2),  // of a million characters
           OfLength(Found({"^(?!aws:.*)[a-zA-Z\\s0-9+=:_/@-]*$"}), 1, 128),
           OfLength(Found({"^([\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]*)$"}), 0, 256),
           Found({"^arn:(aws|aws-cn):kms:[a-z0-9-]+:[0-9]{12}:key/[a-f0-9-]{36}$"}),
           OfLength(Found({"^[01]+$"}), 100, 200),
       }) {
    EXPECT_EQ(Count(set), kMost) << set.ToString();
  }
  StringSet formats;
  formats.formats = {"uuid"};
  EXPECT_EQ(Count(formats), kMost);
  formats.formats = {"ipv4"};
  EXPECT_EQ(Count(formats), kMost);
  EXPECT_EQ(Count(formats, int64_t{1} << 40), int64_t{1} << 32);
}

TEST(StringCountTest, CharactersCountAsOne) {
  EXPECT_EQ(Count(OfLength(Found({"^[\\n\"é😀]*$"}), 1, 2)), 4 + 16);
  EXPECT_EQ(Count(OfLength(Found({}), 1, 1)), 0x110000 - 0x800);
}

TEST(StringCountTest, LeavesLongSearchesOpen) {
  // One string of each length, and only those of over two thousand characters are asked for.
  EXPECT_EQ(Count(OfLength(Found({"^a*$"}), 3000, 4000)), std::nullopt);
  EXPECT_EQ(Count(OfLength(Found({"^a*$"}), 30, 40)), 11);
}

TEST(StringCountTest, ErrorsOfPatterns) {
  StatusOr<std::optional<int64_t>> count = CountStrings(Found({"("}), kMost, {});
  EXPECT_EQ(count.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace grammask::internal
