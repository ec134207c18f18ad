// Regexes: what goes beyond ECMA-262 or speaks of our own encodings, errors, sizes, hostile input,
// and RE2 as a second opinion. The constructs of ECMA-262 itself: regex_data_test.cc.
#include "grammar/regex.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/small_language.h"
#include "oracle/recognizer.h"
#include "sampled.h"

namespace grammask::internal {
namespace {

// Flags: i, s, m as in ECMA-262; S search; j JSON string.
RegexOptions OptionsOf(std::string_view flags) {
  auto has = [&](char c) { return flags.find(c) != std::string_view::npos; };
  RegexOptions options;
  options.ignore_case = has('i');
  options.dot_all = has('s');
  options.multi_line = has('m');
  if (has('S')) options.anchoring = RegexOptions::Anchoring::kSearch;
  if (has('j')) options.encoding = RegexOptions::Encoding::kJsonString;
  return options;
}

StatusOr<Grammar> Compile(std::string_view pattern, std::string_view flags,
                          const Limits& limits = {}) {
  GrammarBuilder builder(limits);
  StatusOr<NodeId> node = ParseRegex(pattern, OptionsOf(flags), limits, &builder);
  if (!node.ok()) return node.status();
  EXPECT_TRUE(builder.node(*node).regular);
  RuleId root = builder.AddRule("root");
  builder.SetBody(root, *node);
  return builder.Finish(root);
}

using Texts = std::vector<std::string_view>;
struct Case {
  std::string_view pattern, flags;
  Texts accepted, refused;
};

void Check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.pattern) + " flags " + std::string(c.flags));
    StatusOr<Grammar> grammar = Compile(c.pattern, c.flags);
    ASSERT_TRUE(grammar.ok()) << grammar.status().message();
    Recognizer recognizer(*grammar);
    for (std::string_view text : c.accepted) {
      EXPECT_TRUE(recognizer.Matches(text)) << text << "\n" << grammar->ToString();
    }
    for (std::string_view text : c.refused) {
      EXPECT_FALSE(recognizer.Matches(text)) << text << "\n" << grammar->ToString();
    }
  }
}

TEST(RegexTest, EmptyPattern) {
  Check({{"", "", {""}, {"a", "\n"}},
         {"", "S", {"", "a", "\n", "\xC3\xA9"}, {"\xFF", "\xC3", "\xED\xA0\x80"}}});
}

TEST(RegexTest, NulInPattern) {
  using namespace std::literals;
  Check({{"a\0b"sv, "", {"a\0b"sv}, {"a", "ab"}}, {"[\0-\x01]"sv, "", {"\0"sv, "\x01"}, {"\x02"}}});
}

TEST(RegexTest, AbsoluteAnchors) {
  Check({{"\\Aab\\z", "S", {"ab"}, {"xab", "abx", "ab\n"}},
         {"\\Aa", "Sm", {"ab"}, {"b\na"}},
         {"a\\Z", "Sm", {"ba"}, {"a\nb", "a\n"}},
         {"a\\z|b\\Z", "S", {"xa", "xb"}, {"ax", "bx"}}});
}

TEST(RegexTest, InlineFlags) {
  Check({{"(?i)ab", "", {"ab", "AB", "aB"}, {"b"}},
         {"a(?i)b|c", "", {"ab", "aB", "c", "C"}, {"Ab", "AB"}},
         {"(a(?i)b)c", "", {"abc", "aBc"}, {"abC", "aBC"}},
         {"(?i:a)b", "", {"ab", "Ab"}, {"aB", "AB"}},
         {"(?-i:a)b", "i", {"ab", "aB"}, {"Ab"}},
         {"(?s).", "", {"\n", "a"}, {""}},
         {"(?s:.).", "", {"\na"}, {"a\n"}},
         {"(?-s:.)", "s", {"a"}, {"\n"}},
         {"(?m)^b$", "S", {"a\nb\nc", "b"}, {"ab", "bc"}},
         {"(?m:^)b$", "S", {"a\nb"}, {"b\na", "ab"}},
         {"(?ims-u:^a.b$)", "S", {"x\nA\nB\ny"}, {"xA\nB"}},
         {"(?im)(?-i)a", "", {"a"}, {"A"}}});
}

TEST(RegexTest, Groups) {
  Check({{"(?P<year>\\d{4})-(?<month>\\d\\d)", "", {"2024-01"}, {"2024-1"}},
         {"(?<\\u{61}\\u0062>x)", "", {"x"}, {}},
         {"(?:a|b|)(c)", "", {"ac", "bc", "c"}, {"ab", "abc"}}});
}

TEST(RegexTest, PosixClassesAndPropertyShorthands) {
  Check({{"[[:alpha:]]", "", {"a", "Z"}, {"1", ":", "[", "]", "\xC3\xA9"}},
         {"[[:^alpha:]]", "", {"1", ":", "\xC3\xA9"}, {"a"}},
         {"[^[:alpha:][:digit:]_]", "", {"-", " "}, {"a", "1", "_"}},
         {"[[:upper:]]", "i", {"a", "A", "\xC5\xBF"}, {"1"}},
         {"[[:word:]-]+", "", {"a_1-"}, {"a b"}},
         {"[[:punct:]]", "", {"!", "~", "[", "`"}, {"a", " "}},
         {"[[:a]", "", {"[", ":", "a"}, {"b", "]"}},
         {"[a&&b]", "", {"a", "b", "&"}, {"c"}},
         {"\\pL\\PL", "", {"a1"}, {"11", "aa"}},
         {"\\p{Greek}", "", {"\xCE\xB1"}, {"a"}}});
}

TEST(RegexTest, SurrogatesNeverMatch) {
  Check({{"\\uD800", "", {}, {"\xED\xA0\x80", "", "\xEF\xBF\xBD"}},
         {"a|\\uDC00", "", {"a"}, {""}},
         {"[\\uD800-\\uE000]", "", {"\xEE\x80\x80"}, {"\xED\xA0\x80"}},
         {"\\uD83D\\u{DE00}", "", {}, {"\xF0\x9F\x98\x80"}},
         {"\\uD83D\\uDE00", "", {"\xF0\x9F\x98\x80"}, {}}});
}

TEST(RegexTest, OnlyValidUtf8IsAccepted) {
  for (std::string_view pattern : {".*", "[^a]*", "\\W*", "(?!b).*", "(?:(?!ab).)*", "[^]*(?<!ab)",
                                   "(?<!a)[^]*", "(?!(?!a))", "^", "$", "\\b|", "\\B", "(?=)"}) {
    Check({{pattern, "Ss", {"a "}, {"\xFF", "\x80", "\xC3", "\xED\xA0\x80", "\xF4\x90\x80\x80"}}});
    Check(
        {{pattern, "Ssj", {"a "}, {"\"", "\n", "\\", "\\x", "\\uD800", "\xFF", "a\"b", "\\u12"}}});
  }
}

TEST(RegexTest, JsonStrings) {
  Check({{"a\"b", "j", {"a\\\"b", "\\u0061\\u0022b", "a\\u0022\\u0062"}, {"a\"b", "ab"}},
         {"[a-c]+", "j", {"abc", "\\u0061b", "\\u0061\\u0062\\u0063"}, {"d", "\\u0064", ""}},
         {"\\n", "j", {"\\n", "\\u000a", "\\u000A"}, {"\n", "n", "\\\\n"}},
         {"\\\\", "j", {"\\\\", "\\u005c"}, {"\\"}},
         {"/", "j", {"/", "\\/", "\\u002f"}, {}},
         {"^.$",
          "jS",
          {"a", "\\u0061", "\xC3\xA9", "\\u00e9", "\xF0\x9F\x98\x80", "\\ud83d\\ude00"},
          {"aa", "\\ud83d", "\\n"}},
         {"^(?!foo)", "jS", {"", "fo", "bar", "\\u0066o"}, {"foo", "\\u0066oo", "f\\u006fobar"}},
         {"\\bfoo\\b", "jS", {"foo", "a \\u0066oo-", "\\tfoo\\n"}, {"food", "tfoo", "foo\\u0064"}},
         {"(?<=\\n)a", "jS", {"\\na", "\\u000aa"}, {"na", "a"}},
         {"(?:(?!a).)*", "j", {"b", "\\u0062"}, {"a", "b\\u0061"}},
         {"[^\\x00-\\x1f]*", "j", {"ab", "\\u0061"}, {"\\u0000", "\\n"}}});
}

TEST(RegexTest, AnchorsLeaveOutThePadding) {
  Check({{"^a|b$", "S", {"a", "ax", "b", "xb"}, {"xa", "bx", ""}},
         {"^(?:a|b)$", "S", {"a", "b"}, {"ab"}},
         {"(^a$)|c", "S", {"a", "c", "xcx"}, {"aa"}},
         {"^^a$$", "S", {"a"}, {"aa"}},
         {"^", "S", {"", "a"}, {"\xFF"}},
         {"^$", "S", {""}, {"a", "\n"}}});
  StatusOr<Grammar> grammar = Compile("^ab$", "S");
  ASSERT_TRUE(grammar.ok());
  EXPECT_EQ(grammar->node(grammar->rule_body(grammar->root())).kind, NodeKind::kBytes);
}

// What may be empty is found in any text.
TEST(RegexTest, SearchesForWhatMayBeEmpty) {
  for (const char* pattern : {"[a-z]*", "[a-z]*$", "^(a|b)?", "(foo|b*)", "^abc|x*", "x{0,3}y?"}) {
    StatusOr<Grammar> grammar = Compile(pattern, "S");
    ASSERT_TRUE(grammar.ok()) << pattern;
    const Grammar any = *Compile(".*", "s");
    EXPECT_EQ(grammar->ToString(), any.ToString()) << pattern;
  }
  Check({{"[a-z]*", "S", {"", "a", "1"}, {"\xFF"}},
         {"^[a-z]*$", "S", {"", "a"}, {"1"}},
         {"^[a-z]*\\b", "S", {"a", "a-"}, {"", "-"}},
         {"^(?=a)b*", "S", {"a", "ab"}, {"", "b"}},
         {"[a-z]*|^1(?!2)", "S", {"", "12"}, {"\xFF"}}});
}

// What may be empty at the end of a lookahead says nothing.
TEST(RegexTest, LookaheadsThatEndInWhatMayBeEmpty) {
  for (const char* end : {".*", "[a-z]*", "(x|y)?", "[0-9]*.*"}) {
    const std::string pattern = std::string("^(?!aws:") + end + ")[a-z:]*$";
    StatusOr<Grammar> grammar = Compile(pattern.c_str(), "S");
    ASSERT_TRUE(grammar.ok()) << pattern;
    EXPECT_EQ(grammar->ToString(), Compile("^(?!aws:)[a-z:]*$", "S")->ToString()) << pattern;
  }
  Check({{"^(?!aws:.*)[a-z:]*$", "S", {"", "aws", "awsx:", "b"}, {"aws:", "aws:b"}},
         {"^(?=ab?c*)[a-z]*$", "S", {"a", "abc", "ax"}, {"", "b"}}});
}

TEST(RegexTest, WholePatternFromGrammarFromRegex) {
  StatusOr<Grammar> grammar = GrammarFromRegex("a+");
  ASSERT_TRUE(grammar.ok());
  Recognizer recognizer(*grammar);
  EXPECT_TRUE(recognizer.Matches("aa"));
  EXPECT_FALSE(recognizer.Matches("baa"));
  EXPECT_FALSE(GrammarFromRegex("a(").ok());
}

// ---- Errors ----

struct ErrorCase {
  std::string_view pattern;
  StatusCode code;
  size_t column;
  std::string_view says;
};

TEST(RegexErrorTest, MessagesNamePlaceAndCure) {
  constexpr StatusCode kBad = StatusCode::kInvalidArgument, kNo = StatusCode::kUnsupported;
  const ErrorCase kCases[] = {
      {"a(b", kBad, 2, "never closed"},
      {"ab)", kBad, 3, "closes no group"},
      {"a[b", kBad, 2, "no closing bracket"},
      {"[z-a]", kBad, 2, "swap its ends"},
      {"*a", kBad, 1, "nothing to repeat"},
      {"a|+", kBad, 3, "nothing to repeat"},
      {"(?:{2})", kBad, 4, "nothing to repeat"},
      {"a**", kBad, 3, "two quantifiers"},
      {"a{2}{3}", kBad, 5, "two quantifiers"},
      {"a{3,2}", kBad, 2, "swap its counts"},
      {"^*", kBad, 2, "assertion cannot be repeated"},
      {"\\b+", kBad, 3, "assertion cannot be repeated"},
      {"(?<=a)*", kBad, 7, "lookbehind cannot be repeated"},
      {"a\\", kBad, 2, "ends in a backslash"},
      {"\\y", kBad, 1, "not an escape"},
      {"[\\B]", kBad, 2, "no meaning in a class"},
      {"\\x4", kBad, 1, "two hexadecimal digits"},
      {"\\u12", kBad, 1, "four hexadecimal digits"},
      {"\\u{110000}", kBad, 1, "up to 10FFFF"},
      {"\\u{}", kBad, 1, "four hexadecimal digits"},
      {"\\c1", kBad, 1, "wants a letter"},
      {"\\p{Foo}", kBad, 4, "no Unicode property"},
      {"\\p{Script=Foo}", kBad, 4, "no Unicode property"},
      {"\\p{Lu", kBad, 1, "no closing brace"},
      {"\\p1", kBad, 1, "in braces"},
      {"[[:foo:]]", kBad, 2, "no POSIX class"},
      {"(?<1a>b)", kBad, 1, "group's name"},
      {"(?<a", kBad, 1, "group's name"},
      {"(?<>b)", kBad, 1, "group's name"},
      {"(?#x)", kBad, 3, "flags i, m, s"},
      {"(?)", kBad, 3, "flags i, m, s"},
      {"(?x)", kBad, 3, "flags i, m, s"},
      {"\xC3\xA9\xC3\xA9(", kBad, 3, "never closed"},
      {"(a)\\1", kNo, 4, "backreferences"},
      {"\\2(a)(b)", kNo, 1, "backreferences"},
      {"(?<n>a)\\k<n>", kNo, 8, "backreferences"},
      {"(?P<n>a)(?P=n)", kNo, 9, "backreferences"},
      {"(?>a)", kNo, 1, "atomic"},
      {"a++", kNo, 3, "possessive"},
      {"a{2}+", kNo, 5, "possessive"},
      {"(a)(?(1)b)", kNo, 4, "conditional"},
      {"a{1,9999999999999999999999}", StatusCode::kResourceExhausted, 2, "max_repeat"},
  };
  for (const ErrorCase& c : kCases) {
    SCOPED_TRACE(c.pattern);
    Status status = Compile(c.pattern, "").status();
    EXPECT_EQ(status.code(), c.code) << status.message();
    EXPECT_NE(status.message().find(c.says), std::string::npos) << status.message();
    std::string place = "at line 1, column " + std::to_string(c.column) + "\n";
    EXPECT_NE(status.message().find(place), std::string::npos) << status.message();
    EXPECT_NE(status.message().find('^'), std::string::npos) << status.message();
  }
}

TEST(RegexErrorTest, PatternsThatAreNotUtf8) {
  for (std::string_view pattern : {"a\xFF", "\xC3", "[\x80]", "(?<\xF0\x9F>a)"}) {
    EXPECT_EQ(Compile(pattern, "").status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(RegexErrorTest, LimitsAreKept) {
  Limits limits;
  limits.max_source_bytes = 4;
  EXPECT_EQ(Compile("aaaaa", "", limits).status().code(), StatusCode::kResourceExhausted);
  limits = Limits();
  limits.max_nesting = 3;
  EXPECT_TRUE(Compile("(((a)))", "", limits).ok());
  EXPECT_EQ(Compile("((((a))))", "", limits).status().code(), StatusCode::kResourceExhausted);
  limits = Limits();
  limits.max_boolean_nesting = 2;
  EXPECT_TRUE(Compile("(?=a(?=b))(?=a(?=b))ab", "", limits).ok());
  EXPECT_EQ(Compile("(?=a(?=b(?=c)))abc", "", limits).status().code(),
            StatusCode::kResourceExhausted);
  limits = Limits();
  limits.max_repeat = 10;
  EXPECT_TRUE(Compile("a{10}", "", limits).ok());
  EXPECT_EQ(Compile("a{11}", "", limits).status().code(), StatusCode::kResourceExhausted);
  limits = Limits();
  limits.max_ast_nodes = 10;
  EXPECT_EQ(Compile("a|bc|cd|de|ef|fg|gh|hi|ij|jk|kl", "", limits).status().code(),
            StatusCode::kResourceExhausted);
}

// ---- Sizes and hostile input ----

std::string Times(std::string_view text, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text;
  return out;
}

TEST(RegexSizeTest, CountedRepeatsStayOneNode) {
  for (std::string_view pattern :
       {"a{1000000}", "(?:a|b){1,5000}", "[a-z]{3,}", "(?:ab){7,99999}"}) {
    StatusOr<Grammar> grammar = Compile(pattern, "");
    ASSERT_TRUE(grammar.ok()) << grammar.status().message();
    EXPECT_EQ(grammar->node(grammar->rule_body(grammar->root())).kind, NodeKind::kRepeat);
    EXPECT_LE(grammar->node_count(), 5u);
  }
}

TEST(RegexSizeTest, AssertionsOnNeighboursNeedNoBooleans) {
  for (std::string_view pattern : {"\\bfoo\\b", "(?<![a-z])[a-z]{1,5000}(?![a-z])", "(^|,)a($|,)",
                                   "^(?:[a-z]|-(?!-))*$", "\\B\\w+\\B"}) {
    StatusOr<Grammar> grammar = Compile(pattern, "S");
    ASSERT_TRUE(grammar.ok()) << grammar.status().message();
    EXPECT_LE(grammar->node_count(), 40u) << grammar->ToString();
    for (uint32_t n = 0; n < grammar->node_count(); ++n) {
      NodeKind kind = grammar->node(NodeId(n)).kind;
      EXPECT_TRUE(kind != NodeKind::kAnd && kind != NodeKind::kNot) << grammar->ToString();
    }
  }
}

TEST(RegexSizeTest, LookaroundsStaySmall) {
  for (std::string_view pattern :
       {"^(?=.*[A-Z])(?=.*\\d)(?=.*[!@#]).{8,64}$", "^(?!.*--)[a-z-]+$", "(?<!\\.test)\\.js$",
        "^(?:(?!foo).)*$", "^(?!con$|aux$|nul$)[a-z0-9]{1,5000}$"}) {
    StatusOr<Grammar> grammar = Compile(pattern, "S");
    ASSERT_TRUE(grammar.ok()) << grammar.status().message();
    EXPECT_LE(grammar->node_count(), 30u) << grammar->ToString();
  }
}

TEST(RegexHostileTest, DeepNesting) {
  EXPECT_EQ(Compile(Times("(", 30'000) + Times(")", 30'000), "").status().code(),
            StatusCode::kResourceExhausted);
  Limits limits;
  limits.max_nesting = 100'000;
  for (std::string_view inner : {"a", "\\b", "(?=a)"}) {
    for (std::string_view close : {")", ")*", "|b)"}) {
      std::string pattern = Times("(", 30'000);
      pattern += inner;
      pattern += Times(close, 30'000);
      Status status = Compile(pattern, "S", limits).status();
      if (close == ")") {
        EXPECT_TRUE(status.ok()) << status.message();
      }
    }
  }
  EXPECT_FALSE(Compile(Times("(?=", 30'000), "").ok());
  EXPECT_FALSE(Compile(Times("[", 30'000), "").ok());
}

TEST(RegexHostileTest, WideAndLong) {
  EXPECT_TRUE(Compile(std::string(1 << 20, 'a'), "S").ok());
  EXPECT_TRUE(Compile(std::string(1 << 16, 'k'), "Si").ok());
  EXPECT_TRUE(Compile(Times("a|", 100'000), "S").ok());
  EXPECT_TRUE(Compile(Times("\\b", 2'000) + "a", "S").ok());
  EXPECT_TRUE(Compile("\\b(?:" + Times("ab|b", 20'000) + ")\\b", "S").ok());
}

// Beyond what is worked out exactly there must be an error at once, and never a wrong language.
TEST(RegexHostileTest, TooManyStatesIsUnsupported) {
  std::string lookbehinds;
  for (char c = 'a'; c <= 'z'; ++c) lookbehinds += std::string("|(?<=a") + c + "b)" + c;
  for (const std::string& pattern :
       {std::string("(?:(?!a)b){1000000}"), std::string("(?:(?:(?:a\\b|b){99}){99}){99}"),
        std::string("(?:(?<=a.{30})b|.)*"),
        Times("(?:", 12) + "a\\b|b" + Times("){2}", 12) + Times("(?:", 12) + "a\\b|b" +
            Times("){9}", 12),
        "(?:" + lookbehinds + ")*"}) {
    Status status = Compile(pattern, "S").status();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << pattern << status.message();
    EXPECT_NE(status.message().find("column"), std::string::npos);
  }
}

// Ways through the parts of what a lookbehind sees multiply: minutes, before each part was split
// once and counted.
TEST(RegexHostileTest, PartsOfWhatIsSplitAreCounted) {
  for (const char* pattern :
       {R"((?:b{5,6}2+-{5,25}-(?<=--)(?<=\d\d)|(?:ac|aa(?<=[a-c]x))c+(?<=.b))+$)",
        R"(b*b{0,60}|(?!a)a+é+(?:(?:[^a](?:\d{2,3}b{5,6}2+-{5,25}))-(?<=--)(?<=\d\d)|)"
        R"((?:(?:a)c|aa(?<=[a-c]x))c+(?<=.b))+$)"}) {
    EXPECT_EQ(Compile(pattern, "S").status().code(), StatusCode::kUnsupported) << pattern;
  }
}

TEST(RegexHostileTest, RandomSyntaxNeverFailsBadly) {
  const std::string_view kParts[] = {
      "(",   ")",   "[",           "]",      "{",     "}",        "*",    "+",      "?",    "|",
      "^",   "$",   "\\",          ".",      "-",     ",",        "a",    "b",      "1",    "2",
      ":",   "=",   "!",           "<",      ">",     "P",        "i",    "s",      "m",    "\\b",
      "\\B", "\\d", "\\w",         "\\p{L}", "\\u",   "\\x41",    "(?=",  "(?!",    "(?<=", "(?<!",
      "(?:", "[^",  "[[:alpha:]]", "{2}",    "{1,3}", "\xC3\xA9", "\xFF", "\\k<a>", "(?i)", "&&"};
  std::mt19937 random(1);
  Limits limits;
  limits.max_ast_nodes = 100'000;
  int good = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string pattern;
    for (size_t n = random() % 14; n > 0; --n) pattern += kParts[random() % std::size(kParts)];
    std::string flags;
    for (char c : std::string_view("ismSj")) {
      if (random() % 2 == 0) flags += c;
    }
    StatusOr<Grammar> grammar = Compile(pattern, flags, limits);
    good += grammar.ok();
    if (!grammar.ok()) {
      EXPECT_NE(grammar.status().code(), StatusCode::kInternal) << pattern;
      EXPECT_FALSE(grammar.status().message().empty()) << pattern;
    }
  }
  EXPECT_GT(good, 1'000);
}

// ---- RE2 ----

class RandomRe2Pattern {
 public:
  explicit RandomRe2Pattern(uint32_t seed) : random_(seed) {}

  std::string Make(int depth) {
    if (depth == 0) return Pick(kLeaves_);
    switch (random_() % 8) {
      case 0:
        return Pick(kLeaves_);
      case 1:
      case 2:
      case 3:
        return Make(depth - 1) + Make(depth - 1);
      case 4:
        return "(?:" + Make(depth - 1) + "|" + Make(depth - 1) + ")";
      case 5:
        return "(" + Make(depth - 1) + ")" + Pick(kQuantifiers_);
      case 6:
        return Make(depth - 1) + Pick(kAssertions_) + Make(depth - 1);
      default:
        return "(?" + Pick(kFlags_) + Make(depth - 1) + ")";
    }
  }
  std::string Pick(const std::vector<std::string>& list) { return list[random_() % list.size()]; }

 private:
  std::mt19937 random_;
  const std::vector<std::string> kLeaves_ = {
      "a",    "b",     "K",           "\xC3\xA9", "ab",      ".",      "\\w",        "\\W",
      "[^a]", "[a-z]", "[[:upper:]]", "\\pL",     "\\p{Lu}", "\\P{L}", "\\p{Greek}", "[^\\pL\\n]",
      "\\s",  "\\S",   "\\n",         "\\x{61}",  "-",       ""};
  const std::vector<std::string> kQuantifiers_ = {"*",    "+",  "?",  "{2}", "{1,2}", "{0,3}",
                                                  "{2,}", "*?", "+?", "??",  "{1,2}?"};
  const std::vector<std::string> kAssertions_ = {"^", "$", "\\b", "\\B", "\\A", "\\z"};
  const std::vector<std::string> kFlags_ = {":", "i:", "s:", "m:", "im:", "-i:", "ms:"};
};

TEST(RegexRe2Test, RandomPatternsAgree) {
  std::vector<std::string> texts = {""};
  const std::string_view kLetters[] = {"a", "b", "K", "\xC3\xA9", "\xCE\xA9", "-", "\n"};
  for (size_t from = 0, length = 0; length < 3; ++length) {
    size_t to = texts.size();
    for (; from < to; ++from) {
      for (std::string_view letter : kLetters) texts.push_back(texts[from] + std::string(letter));
    }
  }
  for (uint32_t seed = 1; seed <= 400; seed += OneIn(3)) {
    RandomRe2Pattern random(seed);
    std::string pattern = random.Make(4);
    re2::RE2 re2(pattern, re2::RE2::Quiet);
    // RE2 writes a character by its code as \x{61}; ECMA-262 as \u{61}.
    std::string ours = pattern;
    for (size_t at; (at = ours.find("\\x{")) != std::string::npos;) ours[at + 1] = 'u';
    SCOPED_TRACE(pattern);
    ASSERT_TRUE(re2.ok()) << re2.error();
    for (bool search : {false, true}) {
      StatusOr<Grammar> grammar = Compile(ours, search ? "S" : "");
      ASSERT_TRUE(grammar.ok()) << grammar.status().message();
      Recognizer recognizer(*grammar);
      for (const std::string& text : texts) {
        bool want = search ? re2::RE2::PartialMatch(text, re2) : re2::RE2::FullMatch(text, re2);
        ASSERT_EQ(recognizer.Matches(text), want)
            << ::testing::PrintToString(text) << (search ? " search\n" : " whole\n")
            << grammar->ToString();
      }
    }
  }
}

}  // namespace
}  // namespace grammask::internal
