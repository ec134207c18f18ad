// Sets of strings: their texts against a direct reading of the conditions, over all short strings
// of a small alphabet, and the shapes that keep common sets free of intersections.
#include "grammar/json_schema/strings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "grammar/json_schema/string_parts.h"
#include "grammar/regular_language.h"
#include "sampled.h"

namespace grammask::internal {

void PrintTo(const StringSet& set, std::ostream* out) { *out << set.ToString(); }

namespace {

// All strings of up to four of these characters.
const std::vector<std::string>& Universe() {
  static const auto* all = [] {
    auto* strings = new std::vector<std::string>{""};
    size_t begin = 0;
    for (int length = 1; length <= 4; ++length) {
      size_t end = strings->size();
      for (; begin < end; ++begin) {
        std::string base = (*strings)[begin];
        for (const char* c : {"a", "b", "7", "-", "\n", "é"}) strings->push_back(base + c);
      }
    }
    for (const char* date : {"2024-02-29", "2023-02-29", "1.2.3.4", "aaaaa", "bbbbbb", "a-b-7-a"}) {
      strings->push_back(date);
    }
    return strings;
  }();
  return *all;
}

std::string JsonBody(std::string_view text) {
  std::string out;
  for (char c : text) out += c == '\n' ? std::string("\\n") : std::string(1, c);
  return out;
}

// The same with ASCII letters escaped.
std::string OtherBody(std::string_view text) {
  std::string out;
  for (char c : text) {
    out += c == '\n' ? "\\u000A" : c == 'a' ? "\\u0061" : c == 'b' ? "\\u0062" : std::string(1, c);
  }
  return out;
}

bool Only(std::string_view s, std::string_view characters) {
  return s.find_first_not_of(characters) == std::string_view::npos;
}
bool HasLineEnd(std::string_view s) { return s.find('\n') != std::string_view::npos; }

struct Condition {
  const char* text;
  std::function<bool(std::string_view)> holds;
};

const std::vector<Condition>& Patterns() {
  static const auto* patterns = new std::vector<Condition>{
      {"^a", [](auto s) { return s.starts_with("a"); }},
      {"b$", [](auto s) { return s.ends_with("b"); }},
      {"7", [](auto s) { return s.find('7') != s.npos; }},
      {"^[ab]*$", [](auto s) { return Only(s, "ab"); }},
      {"^[ab]{2,3}$", [](auto s) { return Only(s, "ab") && s.size() >= 2 && s.size() <= 3; }},
      {"^[ab][ab7-]*$",
       [](auto s) { return !s.empty() && Only(s.substr(0, 1), "ab") && Only(s, "ab7-"); }},
      {"^.*$", [](auto s) { return !HasLineEnd(s); }},
      {".+", [](auto s) { return s.find_first_not_of('\n') != s.npos; }},
      {"\\S", [](auto s) { return s.find_first_not_of('\n') != s.npos; }},
      {"ab", [](auto s) { return s.find("ab") != s.npos; }},
      {"7ab", [](auto s) { return s.find("7ab") != s.npos; }},
      {"[b7]", [](auto s) { return s.find_first_of("b7") != s.npos; }},
      {"", [](auto) { return true; }},
      {"^.*", [](auto) { return true; }},
      {"^[\\s\\S]*$", [](auto) { return true; }},
      {"^(aa|b[ab]*|7)$",
       [](auto s) { return s == "aa" || s == "7" || (s.starts_with("b") && Only(s, "ab")); }},
      {"^a?[^a]*b?$", [](auto s) { return s.find('a', 1) == s.npos; }},
      {"a.b",
       [](auto s) {
         for (size_t i = 0; i < s.size(); ++i) {
           if (s[i] != 'a') continue;
           size_t skip = s.substr(i + 1).starts_with("é") ? 3 : 2;
           if (i + skip < s.size() && s[i + 1] != '\n' && s[i + skip] == 'b') return true;
         }
         return false;
       }},
  };
  return *patterns;
}

const std::vector<Condition>& Formats() {
  static const auto* formats = new std::vector<Condition>{
      {"date", [](auto s) { return s == "2024-02-29"; }},
      {"ipv4", [](auto s) { return s == "1.2.3.4"; }},
      {"duration", [](auto) { return false; }},
  };
  return *formats;
}

bool HoldsIn(const std::vector<Condition>& conditions, std::string_view name, std::string_view s) {
  for (const Condition& c : conditions) {
    if (name == c.text) return c.holds(s);
  }
  ADD_FAILURE() << name;
  return false;
}

bool Member(const StringSet& set, const std::string& s) {
  int64_t length = 0;
  for (char c : s) length += (c & 0xC0) != 0x80 ? 1 : 0;
  if (length < set.min_length || length > set.max_length) return false;
  for (const auto& p : set.patterns)
    if (!HoldsIn(Patterns(), p, s)) return false;
  for (const auto& p : set.not_patterns)
    if (HoldsIn(Patterns(), p, s)) return false;
  for (const auto& f : set.formats)
    if (!HoldsIn(Formats(), f, s)) return false;
  for (const auto& f : set.not_formats)
    if (HoldsIn(Formats(), f, s)) return false;
  auto in = [&](const auto& list) {
    return std::find(list.begin(), list.end(), std::string_view(s)) != list.end();
  };
  return (!set.values || in(*set.values)) && !in(set.excluded);
}

RegularLanguage Emit(const StringSet& set) {
  RegularLanguage language([&](GrammarBuilder* b) { return EmitStringBody(b, set, {}); });
  EXPECT_TRUE(language.status().ok()) << set.ToString() << ": " << language.status().message();
  return language;
}

void CheckSet(const StringSet& set) {
  RegularLanguage language = Emit(set);
  int wrong = 0;
  for (const std::string& s : Universe()) {
    bool member = Member(set, s);
    if ((language.Has(JsonBody(s)) != member || language.Has(OtherBody(s)) != member) &&
        ++wrong < 4) {
      ADD_FAILURE() << "'" << s << "' should " << (member ? "" : "not ") << "be in "
                    << set.ToString() << "\n"
                    << language.text();
    }
  }
  for (const char* bad : {"\"", "a\"", "\\", "\\x", "\n", "\\u00", "\xff", "\xc3"}) {
    EXPECT_FALSE(language.Has(bad)) << bad << " " << set.ToString();
  }
}

StringSet RandomSet(std::mt19937_64& random) {
  StringSet set;
  auto one_in = [&](int n) { return random() % static_cast<uint64_t>(n) == 0; };
  auto some = [&](const std::vector<Condition>& from) {
    return ScratchString(from[random() % from.size()].text);
  };
  auto any = [&] { return ScratchString(Universe()[random() % Universe().size()]); };
  if (one_in(2)) set.min_length = static_cast<int64_t>(random() % 4);
  if (one_in(2)) set.max_length = set.min_length + static_cast<int64_t>(random() % 4);
  if (one_in(2)) set.patterns.push_back(some(Patterns()));
  if (one_in(4)) set.patterns.push_back(some(Patterns()));
  if (one_in(4)) set.not_patterns.push_back(some(Patterns()));
  if (one_in(10)) set.formats.push_back(some(Formats()));
  if (one_in(8)) set.not_formats.push_back(some(Formats()));
  while (one_in(3)) set.excluded.push_back(any());
  if (one_in(5)) {
    set.values.emplace();
    for (uint64_t n = random() % 20; n > 0; --n) set.values->push_back(any());
  }
  return set;
}

TEST(StringsTest, EachPatternWithLengths) {
  for (const Condition& pattern : Patterns()) {
    for (int64_t min : {0, 1, 3}) {
      for (int64_t max : {int64_t{1}, int64_t{3}, kUnbounded}) {
        StringSet set;
        set.patterns = {pattern.text};
        set.min_length = min;
        set.max_length = max;
        CheckSet(set);
      }
    }
  }
}

TEST(StringsTest, RandomSets) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 200 && !HasFailure(); ++i) CheckSet(RandomSet(random));
}

TEST(StringsTest, AlgebraAgreesWithMembership) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 300; ++i) {
    StringSet a = RandomSet(random), b = RandomSet(random);
    StringSet both = Intersect(a, b), normal = a;
    normal.Normalise();
    StringSet again = normal;
    again.Normalise();
    ASSERT_EQ(normal, again);
    ScratchVector<StringSet> outside = Complement(a);
    bool disjoint = Disjoint(a, b), empty = a.IsEmpty();
    for (const std::string& s : Universe()) {
      bool in_a = Member(a, s), in_b = Member(b, s);
      ASSERT_EQ(Member(both, s), in_a && in_b) << s << " " << both.ToString();
      ASSERT_EQ(Member(normal, s), in_a) << s << " " << normal.ToString();
      const bool is_outside =
          std::ranges::any_of(outside, [&](const StringSet& term) { return Member(term, s); });
      ASSERT_NE(is_outside, in_a) << s << " outside " << a.ToString();
      ASSERT_FALSE(PlainlyWithin(normal, both) && in_a && !Member(both, s));
      ASSERT_FALSE(disjoint && in_a && in_b);
      ASSERT_FALSE(empty && in_a);
      if (std::optional<bool> known = a.Contains(s)) {
        ASSERT_EQ(*known, in_a) << s;
      }
    }
  }
}

// Alternatives with parts in common, some of them within others.
TEST(StringsTest, UnitedAlternativesHoldTheSame) {
  std::mt19937_64 random(7);
  size_t fewer = 0;
  for (int i = 0; i < 150 && !HasFailure(); i += OneIn(3)) {
    std::vector<StringSet> sets(2 + random() % 14);
    for (StringSet& set : sets) {
      for (uint64_t n = 1 + random() % 4; n > 0; --n) {
        set.patterns.push_back(Patterns()[random() % Patterns().size()].text);
      }
      if (random() % 4 == 0) set.not_patterns.push_back("a.b");
      if (random() % 2 == 0) set.max_length = 2 + static_cast<int64_t>(random() % 2);
      set.Normalise();
    }
    RegularLanguage language([&](GrammarBuilder* b) -> StatusOr<NodeId> {
      ScratchVector<NodeId> bodies;
      for (const StringSet& set : sets) {
        GM_ASSIGN_OR_RETURN(NodeId body, EmitStringBody(b, set, {}));
        bodies.push_back(body);
      }
      UniteBodies(b, &bodies);
      fewer += sets.size() - bodies.size();
      return b->Choice(bodies);
    });
    ASSERT_TRUE(language.status().ok()) << language.status().message();
    for (const std::string& s : Universe()) {
      const bool member =
          std::ranges::any_of(sets, [&](const StringSet& set) { return Member(set, s); });
      ASSERT_EQ(language.Has(JsonBody(s)), member) << "'" << s << "' in\n" << language.text();
    }
  }
  EXPECT_GT(fewer, 150u / OneIn(3));
}

TEST(StringsTest, WhatHasAnotherLengthNeedsNoExclusion) {
  StringSet set;
  set.min_length = 3;
  set.not_patterns = {"^[ab]{2,3}$"};
  EXPECT_NE(Emit(set).text().find("Not("), std::string::npos);
  set.min_length = 4;
  EXPECT_EQ(Emit(set).text().find("Not("), std::string::npos) << Emit(set).text();
  CheckSet(set);
}

TEST(StringsTest, ListsOfValuesMerge) {
  StringSet a, b;
  a.values = {"c"};
  b.values = {"a", "c", "d"};
  EXPECT_TRUE(MergeValues(b, &a, 4));
  EXPECT_EQ(a.ToString(), "string or \"a\" or \"c\" or \"d\"");
  // Nothing else may be asked of either, and there must be room.
  EXPECT_FALSE(MergeValues(b, &a, 5));
  StringSet pattern = b;
  pattern.patterns = {"x"};
  const StringSet before = a;
  EXPECT_FALSE(MergeValues(pattern, &a, 64));
  EXPECT_FALSE(MergeValues(a, &pattern, 64));
  EXPECT_FALSE(MergeValues(StringSet(), &a, 64));
  EXPECT_EQ(a, before);
  StringSet one, other;
  one.values = {"a"};
  other.values = {"b"};
  EXPECT_TRUE(ListsApart(one, other));
  EXPECT_FALSE(ListsApart(one, one));
  EXPECT_FALSE(ListsApart(one, StringSet()));
  one.values = {"d", "a", "c"};
  EXPECT_TRUE(ListsApart(one, other));
  other.values = {"e", "b", "c"};
  EXPECT_FALSE(ListsApart(one, other));
  // Of many nothing is said.
  other.values->clear();
  for (int i = 0; i < 100; ++i) other.values->emplace_back("v" + std::to_string(i));
  EXPECT_FALSE(ListsApart(one, other));
}

TEST(StringsTest, ListsOfValuesMeet) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 400; ++round) {
    auto list = [&](size_t most) {
      ScratchVector<ScratchString> values;
      for (size_t i = 0, n = random() % most; i < n; ++i) {
        values.emplace_back("v" + std::to_string(random() % 30));
      }
      return values;
    };
    StringSet a, b;
    a.values = list(round % 2 == 0 ? 6 : 40);
    b.values = list(40);
    ScratchVector<ScratchString> expected;
    for (int i = 0; i < 30; ++i) {
      const ScratchString text("v" + std::to_string(i));
      if (std::ranges::count(*a.values, text) > 0 && std::ranges::count(*b.values, text) > 0) {
        expected.push_back(text);
      }
    }
    std::ranges::sort(expected);
    for (int sorted = 0; sorted < 3; ++sorted) {  // neither, one, both
      if (sorted > 0) a.Normalise();
      if (sorted > 1) b.Normalise();
      EXPECT_EQ(Intersect(a, b).values, expected);
      EXPECT_EQ(Intersect(b, a).values, expected);
    }
  }
}

TEST(StringsTest, ContainsIsUndecidedOnlyByPatternsAndFormats) {
  StringSet set;
  set.max_length = 2;
  set.excluded = {"ab"};
  EXPECT_EQ(set.Contains("éé"), true);
  EXPECT_EQ(set.Contains("ab"), false);
  EXPECT_EQ(set.Contains("abc"), false);
  set.patterns = {"x"};
  EXPECT_EQ(set.Contains("abc"), false);
  EXPECT_EQ(set.Contains("a"), std::nullopt);
}

TEST(StringsTest, NormalForms) {
  StringSet set;
  set.patterns = {"b", "", "a", ".*", "b"};
  set.excluded = {"z", "aaa", "z"};
  set.max_length = 2;
  set.Normalise();
  EXPECT_EQ(set.ToString(), "string length 0..2 pattern /a/ pattern /b/ except \"z\"");
  set.values = {"x", "zzz", "x"};
  set.Normalise();
  EXPECT_EQ(set.ToString(), "string pattern /a/ pattern /b/ or \"x\"");
  set.not_patterns = {"a"};
  set.Normalise();
  EXPECT_TRUE(set.IsEmpty());
  EXPECT_EQ(set.ToString(), "no string");
  StringSet trivial;
  trivial.patterns = {"^"};
  trivial.Normalise();
  EXPECT_TRUE(trivial.IsAll());
  StringSet crossed;
  crossed.min_length = 5;
  crossed.max_length = 4;
  EXPECT_TRUE(crossed.IsEmpty());
}

// The automaton pays for every intersection, so common sets must not have one.
TEST(StringsTest, CommonSetsHaveNoIntersection) {
  struct Case {
    const char* pattern;
    int64_t min, max;
    bool combines;
  };
  for (const Case& c : std::vector<Case>{
           {"", 0, kUnbounded, false},
           {"", 1, 100, false},
           {"^[a-z][a-z0-9-]*$", 0, kUnbounded, false},
           {"^[a-z][a-z0-9-]*$", 3, 20, false},
           {"^[A-Z]{3}$", 3, 3, false},
           {"^[A-Z]{2,5}$", 1, 10, false},
           {"^.+$", 0, 50, false},
           {"^(aa|b[ab]*|7)$", 0, 10, false},
           {"^a", 0, 10, false},
           {"[a-z]+$", 0, 10, false},  // any text and a letter
           {"[a-z]+0[a-z]+$", 0, 10, true},
           {"[a-f0-9]{8}", 8, 8, false},
           {"[a-f0-9]{8}", 0, 8, false},
           {"(ab|[a-z]{4}|x+y)", 1, 2, false},
           {"([0-9]{2}(:|-)){3}([0-9][0-9])", 0, 11, false},
           {"([0-9]{2}(:|-)){3}([0-9][0-9])", 0, 12, true},
           {"^[a-z]+(-[a-z]+)*$", 0, 20, true},
       }) {
    StringSet set;
    set.patterns = {c.pattern};
    set.min_length = c.min;
    set.max_length = c.max;
    EXPECT_EQ(Emit(set).combines(), c.combines) << set.ToString();
  }
  StringSet date;
  date.formats = {"date"};
  date.min_length = 10;
  date.max_length = 100;
  EXPECT_FALSE(Emit(date).combines());
}

TEST(StringsTest, UnconstrainedStringsAreOneNode) {
  GrammarBuilder builder;
  NodeId any = builder.Star(builder.JsonClass(CodePointSet::All()));
  StringSet set;
  EXPECT_EQ(*EmitStringBody(&builder, set, {}), any);
  set.patterns = {".*"};
  EXPECT_EQ(*EmitStringBody(&builder, set, {}), any);
  set.min_length = 2;
  EXPECT_EQ(*EmitStringBody(&builder, set, {}),
            builder.Repeat(builder.JsonClass(CodePointSet::All()), 2, kUnbounded));
}

TEST(StringsTest, PatternsInTheMemoGiveTheSameNodes) {
  GrammarBuilder builder;
  PatternMemo memo;
  for (int round = 0; round < 2; ++round) {
    for (int64_t max : {int64_t{3}, kUnbounded}) {
      StringSet set;
      set.max_length = max;
      set.patterns = {"^a+b", "c$"};
      set.not_patterns = {"bb"};
      const NodeId with = EmitStringBody(&builder, set, {}, &memo).value();
      EXPECT_EQ(with, EmitStringBody(&builder, set, {}).value());
    }
  }
  EXPECT_EQ(memo.size(), 3u);
  StringSet bad;
  bad.patterns = {"a(b"};
  for (int round = 0; round < 2; ++round) {
    EXPECT_FALSE(EmitStringBody(&builder, bad, {}, &memo).ok());
  }
}

TEST(StringsTest, Errors) {
  GrammarBuilder builder;
  StringSet set;
  set.patterns = {"a(b"};
  StatusOr<NodeId> bad = EmitStringBody(&builder, set, {});
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(bad.status().message().find("pattern /a(b/"), std::string::npos)
      << bad.status().message();
  set.patterns = {"(a)\\1"};
  bad = EmitStringBody(&builder, set, {});
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().code(), StatusCode::kUnsupported);
}

// What no string can meet is found out without the automaton, which would go through all that the
// parts allow.
TEST(StringsTest, ClashesOfTextsAndLengths) {
  GrammarBuilder builder;
  auto emit = [&](ScratchVector<ScratchString> patterns, ScratchVector<ScratchString> not_patterns,
                  int64_t min = 0) {
    StringSet set;
    set.min_length = min;
    set.patterns = std::move(patterns);
    set.not_patterns = std::move(not_patterns);
    return *EmitStringBody(&builder, set, {});
  };
  EXPECT_EQ(emit({"a12"}, {"a1"}), builder.Nothing());
  EXPECT_EQ(emit({"^x+a2"}, {"b", "[a|b]"}), builder.Nothing());
  EXPECT_EQ(emit({"^....$", "b"}, {}, 10), builder.Nothing());
  EXPECT_EQ(emit({"^.{3}$", "^.{5,}$"}, {}), builder.Nothing());
  EXPECT_NE(emit({"a12"}, {"^a1"}), builder.Nothing());
  EXPECT_NE(emit({"a12"}, {"a1$"}), builder.Nothing());
  EXPECT_NE(emit({"a1"}, {"a12"}), builder.Nothing());
  EXPECT_NE(emit({"a12|b"}, {"a1"}), builder.Nothing());
  EXPECT_NE(emit({"(a12)?b"}, {"a1"}), builder.Nothing());
  EXPECT_NE(emit({"^....$", "b"}, {}, 4), builder.Nothing());
}

TEST(StringsTest, ALengthBesideAPatternIsOneCount) {
  for (const char* pattern : {"^[a-z]+$", "a.*b", "(?=.*\\d)[a-z]", "\\bfoo\\b", "^(ab|cd)+$"}) {
    std::vector<size_t> nodes;
    for (int64_t length : {10, 1000, 1'000'000}) {
      GrammarBuilder builder;
      StringSet set;
      set.patterns = {pattern};
      set.max_length = length;
      RuleId root = builder.AddRule("root");
      builder.SetBody(root, *EmitStringBody(&builder, set, {}));
      nodes.push_back(builder.Finish(root)->node_count());
    }
    EXPECT_EQ(nodes, std::vector<size_t>(3, nodes[0])) << pattern;
  }
}

}  // namespace
}  // namespace grammask::internal
