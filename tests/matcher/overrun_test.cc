// A text that asks too much of the tables: its requests end in errors, and no others.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "matcher/engine.h"
#include "matcher_world.h"
#include "sampled.h"

namespace grammask {
namespace {

// All texts of a and b of up to ten letters.
TokenizerInfo Letters() {
  std::vector<std::string> tokens;
  std::vector<std::string> longest = {""};
  for (int length = 1; length <= 10; ++length) {
    std::vector<std::string> longer;
    for (const std::string& text : longest) {
      for (char c : {'a', 'b'}) longer.push_back(text + c);
    }
    tokens.insert(tokens.end(), longer.begin(), longer.end());
    longest = std::move(longer);
  }
  tokens.emplace_back("c");
  return MakeTokenizer(tokens);
}

NodeId Loop(GrammarBuilder& b, size_t letters) {
  return b.Repeat(b.Bytes(std::string(letters, 'a')), 1, internal::kUnbounded);
}

// By "c" or "b", texts of a's of two lengths at once; by "b", whether there is one takes long to
// find out, and the shortest text is another.
Grammar Clash() {
  return MakeGrammar([](GrammarBuilder& b, NodeId) {
    const NodeId first =
        b.Choice({b.Sequence({b.Bytes("c"), Loop(b, 2)}), b.Sequence({b.Bytes("b"), Loop(b, 13)})});
    const NodeId second =
        b.Choice({b.Sequence({b.Bytes("c"), Loop(b, 3)}), b.Sequence({b.Bytes("b"), Loop(b, 17)})});
    return b.And({first, second});
  });
}

// Of rounds of `a` or `bb` the eleventh from the end is an a: each text of ten rounds leads to a
// state of its own. (Of single letters a loop that is counted is among the alternatives, by which
// all is taken without these states.)
Grammar EleventhRoundFromTheEnd() {
  return MakeGrammar([](GrammarBuilder& b, NodeId) {
    const NodeId any = b.Choice({b.Bytes("a"), b.Bytes("bb")});
    return b.Sequence({b.Star(any), b.Bytes("a"), b.Repeat(any, 10, 10)});
  });
}

// Read in the more ways the longer a text is.
constexpr char kManyReadings[] = R"(root ::= any+
any ::= "a" any* some | some any "b" | some some
some ::= any "a" | "b" some* | "a")";

// Texts as palindromes around a c are, in few sets.
Grammar AroundC() {
  return MakeGrammar([](GrammarBuilder& b, NodeId) {
    const NodeId letters = b.Star(b.Choice({b.Bytes("a"), b.Bytes("b")}));
    return b.Sequence({letters, b.Bytes("c"), letters});
  });
}

CompilerOptions FewStates() {
  CompilerOptions options;
  options.limits.max_mask_states = 50;
  return options;
}

CompilerOptions FewBytes() {
  CompilerOptions options;
  options.limits.max_mask_bytes = 15'000;
  return options;
}

CompilerOptions FewSteps() {
  CompilerOptions options;
  options.limits.max_mask_steps = 300;
  return options;
}

Status Fill(GrammarMatcher* matcher) {
  std::vector<int32_t> row(static_cast<size_t>(matcher->mask_words()));
  return matcher->FillNextTokenBitmask(row.data()).status();
}

void ExpectLimit(const Status& status, std::string_view limit) {
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find(limit), std::string::npos) << status.message();
}

// Beside a bound on the characters a state for each number of these would have to be gone through.
TEST(BoundedPatternsTest, AreDecidedWithoutTheirCounts) {
  CompilerOptions options;
  options.limits.max_regular_states = options.limits.max_mask_states = 5'000;
  GrammarCompiler compiler = *GrammarCompiler::Create(Letters(), options);
  const std::string any_function = R"({"type":"string","minLength":12,"maxLength":1024,"pattern":
      "^arn:(aws[a-zA-Z-]*)?:lambda:(eusc-)?[a-z]{2}((-gov)|(-iso([a-z]?)))?-[a-z]+-\\d{1}:\\d{12}:(runtime/|function:)[a-zA-Z0-9-_]+(:(\\$LATEST(\\.PUBLISHED)?|[a-zA-Z0-9-_])+)?$",
      "allOf":[{"pattern":"^(?:arn:(?:aws[a-zA-Z-]*)?:lambda:)?(?:[a-z]{2}(?:(?:-gov)|(?:-iso(?:[a-z]?)))?-[a-z]+-\\d{1}:)?(?:\\d{12}:)?)";
  EXPECT_TRUE(compiler.CompileJsonSchema(any_function + R"(function:[a-zA-Z0-9-_]+$"}]})").ok());
  const Status clash =
      compiler.CompileJsonSchema(any_function + R"(web-function/[a-zA-Z0-9-_]+$"}]})").status();
  EXPECT_EQ(clash.code(), StatusCode::kUnsatisfiable) << clash.message();

  // The bound is inside of a part, four conditions deep.
  GrammarCompiler usual = *GrammarCompiler::Create(Letters(), {});
  const StatusOr<CompiledGrammar> conditions = usual.CompileJsonSchema(
      R"({"type":"string","pattern":"^arn:(?=[^:]+:fsx:[^:]+:\\d{12}:)((|(?=[a-z0-9-.]{1,63})(?!\\d{1,3}(\\.\\d{1,3}){3})(?![^:]*-{2})(?![^:]*-\\.)(?![^:]*\\.-)[a-z0-9].*(?<!-)):){4}(?!/).{0,1024}$"})");
  ASSERT_TRUE(conditions.ok()) << conditions.status().message();
  GrammarMatcher arn = *GrammarMatcher::Create(*conditions);
  ASSERT_TRUE(arn.AcceptString("\"arn:a"));
  EXPECT_TRUE(Fill(&arn).ok());
  EXPECT_TRUE(arn.AcceptString("ws:fsx:us-east-1:123456789012:file-system/fs-0\""));

  // Lines of 64 characters and a line feed, which is written in two bytes.
  const StatusOr<CompiledGrammar> lines = compiler.CompileJsonSchema(
      R"({"type":"string","minLength":1600,"maxLength":8000,"pattern":
          "^([A-Za-z0-9/+]{64}\\r?\\n)*[A-Za-z0-9/+]{1,64}={0,2}\\r?\\n$"})");
  ASSERT_TRUE(lines.ok()) << lines.status().message();
  GrammarMatcher matcher = *GrammarMatcher::Create(*lines);
  ASSERT_TRUE(matcher.AcceptString("\"abba"));
  EXPECT_TRUE(Fill(&matcher).ok());
  std::string text(64 - 4, 'a');
  text += "\\n";
  for (int line = 1; line < 24; ++line) text += std::string(64, 'b') + "\\n";
  EXPECT_TRUE(matcher.AcceptString(text));
  EXPECT_TRUE(Fill(&matcher).ok());
  EXPECT_FALSE(matcher.AcceptString("\""));  // of 1560 characters
  EXPECT_FALSE(matcher.AcceptString(std::string(36, 'a') + "==\\n\""));
  EXPECT_TRUE(matcher.AcceptString(std::string(37, 'a') + "==\\n\""));
  EXPECT_TRUE(matcher.IsCompleted());
}

// Runs `work` on a stack that holds a few dozen questions of emptiness inside one another.
void OnSmallStack(std::function<void()> work) {
  constexpr size_t kBytes = OneIn(8) * (size_t{512} << 10);
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kBytes), 0);
  pthread_t thread;
  auto run = [](void* argument) -> void* {
    (*static_cast<std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &work), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

// Of a state of such a pattern thousands of questions come up, each within another.
TEST(Overrun, QuestionsWithinOthersNeedNoStack) {
  const TokenizerInfo tokenizer = Letters();
  OnSmallStack([&] {
    for (const char* times : {"30", "1000", "3000"}) {
      GrammarCompiler compiler = MakeCompiler(tokenizer);
      const auto compiled = compiler.CompileRegex("(?:(?!.{3}x.{17}y)[a-z]|(?=.*b.{5}c)d){" +
                                                  std::string(times) + "}");
      ASSERT_TRUE(compiled.ok()) << compiled.status().message();
      GrammarMatcher m = MakeMatcher(*compiled);
      if (times == std::string("30")) {
        EXPECT_EQ(Allowed(&m).size(), size_t{2 * 1023 + 1});
      } else {
        ExpectLimit(Fill(&m), "limits.max_mask_states");
      }
    }
  });
}

// One that had to be put off has its answer all the same.
TEST(Overrun, QuestionsThatWerePutOffAreAnswered) {
  const TokenizerInfo tokenizer = MakeTokenizer({"a", "-", "--", "a-", "-a"});
  OnSmallStack([&] {
    GrammarCompiler compiler = MakeCompiler(tokenizer);
    const auto compiled = compiler.CompileRegex("(?:(?!--)[a-z-]){1,200}");
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    GrammarMatcher m = MakeMatcher(*compiled);
    for (int length = 0; length <= 200; ++length) {
      const bool dash = length > 0 && length % 3 == 0;
      Ids expected;
      if (length < 200) expected.push_back(0);
      if (length < 200 && !dash) expected.push_back(1);
      if (length < 199) expected.push_back(3);
      if (length < 199 && !dash) expected.push_back(4);
      if (length > 0) expected.push_back(5);
      ASSERT_EQ(Allowed(&m), expected) << length;
      ASSERT_EQ(m.AcceptString(length % 3 == 2 ? "-" : "a"), length < 200);
    }
  });
}

// Nor does anything stay that was made while one was put off: a state that looks ahead again at
// each character is that which looks ahead once. Some of the former took two dots for a way to go
// on.
TEST(Overrun, NothingThatIsMadeWhileAQuestionIsPutOffStays) {
  const TokenizerInfo tokenizer = MakeTokenizer({"a", ".", "..", "a.", "...", "\\u002", "e"});
  OnSmallStack([&] {
    GrammarCompiler compiler = MakeCompiler(tokenizer);
    auto compile = [&](const std::string& pattern) {
      auto compiled =
          compiler.CompileJsonSchema(R"({"type": "string", "pattern": ")" + pattern + "\"}");
      EXPECT_TRUE(compiled.ok()) << compiled.status().message();
      return MakeMatcher(*compiled);
    };
    GrammarMatcher often = compile("^(?:(?!.*\\\\.\\\\.)[a-zA-Z0-9._-]){3,63}$");
    GrammarMatcher once = compile("^(?!.*\\\\.\\\\.)[a-zA-Z0-9._-]{3,63}$");
    const std::string text = "\"Himstplib.x.Him.s-tplib.e\\u002ex";
    for (size_t i = 0; i < text.size(); ++i) {
      ASSERT_EQ(Allowed(&often), Allowed(&once)) << text.substr(0, i);
      for (const char* next : {"..", ".a", "a..", "\\u002e."}) {
        GrammarMatcher x = often.Fork(), y = once.Fork();
        EXPECT_EQ(x.AcceptString(next), y.AcceptString(next)) << text.substr(0, i) << next;
      }
      ASSERT_TRUE(often.AcceptString(text.substr(i, 1))) << i;
      ASSERT_TRUE(once.AcceptString(text.substr(i, 1))) << i;
    }
  });
}

// What the bounds of a state's parts hide is looked for within a number of terms: by the ways to
// parts that are shared it took most of a minute to find that this mask takes too long.
TEST(Overrun, PartsThatAreSharedAreNotCountedByTheWaysToThem) {
  GrammarCompiler compiler = MakeCompiler(Letters());
  const auto compiled = compiler.CompileJsonSchema(
      R"json({"type": "string", "pattern":
          "^2+(?:(?:[a-z0-9-]{2,2}|(?!.*--)[^a]?-{4,4}){1,21}(?<=--)\\wb.{2,22})-(?=.b)"})json");
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  GrammarMatcher m = MakeMatcher(*compiled);
  ASSERT_TRUE(m.AcceptString("\"2"));
  ExpectLimit(Fill(&m), "limits.max_mask_states");
}

// While a grammar is built, a state of many alternatives counts as several: by number alone 3,000
// are enough here.
TEST(Overrun, LargeStatesCountAsSeveral) {
  const std::string pattern = "(?:(?!(?:ab|cd){2,9}e)[a-e]{1,3}|f(?=.*g)){10}";
  CompilerOptions options;
  options.limits.max_regular_states = 3'000;
  ExpectLimit(MakeCompiler(Letters(), options).CompileRegex(pattern).status(),
              "limits.max_regular_states");
  options.limits.max_regular_states = 30'000;
  EXPECT_TRUE(MakeCompiler(Letters(), options).CompileRegex(pattern).ok());
}

TEST(Overrun, AQuestionOfTooManyStates) {
  const TokenizerInfo tokenizer = Letters();
  GrammarCompiler compiler = MakeCompiler(tokenizer, FewStates());
  GrammarMatcher m = MakeMatcher(&compiler, Clash());
  for (int round = 0; round < 2; ++round) ExpectLimit(Fill(&m), "limits.max_mask_states");
  EXPECT_FALSE(m.AcceptString("b"));
  ExpectLimit(m.FindJumpForwardString().status(), "limits.max_mask_states");
  EXPECT_EQ(m.MatchingPrefix(std::string(200, 'b')), 0u);
  EXPECT_EQ(m.history_size(), 0);
  m.Reset();
  ExpectLimit(Fill(&m), "limits.max_mask_states");
  // Beyond where it takes long, all goes on.
  ASSERT_TRUE(m.AcceptString("c"));
  EXPECT_TRUE(Fill(&m).ok());
  EXPECT_TRUE(m.AcceptString("aaaaaa"));
  EXPECT_TRUE(m.IsCompleted());
  EXPECT_TRUE(m.Rollback(2).ok());
  ExpectLimit(Fill(&m), "limits.max_mask_states");
}

TEST(Overrun, WithTheLimitRaisedTheMaskIsThere) {
  const TokenizerInfo tokenizer = Letters();
  GrammarCompiler compiler = MakeCompiler(tokenizer);
  GrammarMatcher m = MakeMatcher(&compiler, Clash());
  for (int32_t id : Allowed(&m)) EXPECT_TRUE(m.Fork().AcceptToken(id)) << id;
  ASSERT_TRUE(m.AcceptString("b" + std::string(size_t{13} * 17, 'a')));
  EXPECT_TRUE(m.IsCompleted());
}

TEST(Overrun, AMaskOfTooManyStates) {
  const TokenizerInfo tokenizer = Letters();
  GrammarCompiler few = MakeCompiler(tokenizer, FewBytes()), many = MakeCompiler(tokenizer);
  GrammarMatcher m = MakeMatcher(&few, EleventhRoundFromTheEnd());
  GrammarMatcher whole = MakeMatcher(&many, EleventhRoundFromTheEnd());
  ExpectLimit(Fill(&m), "limits.max_mask_bytes");
  EXPECT_EQ(Allowed(&whole).size(), 374u);  // those with a b alone at the end at the most
  EXPECT_TRUE(m.AcceptString("abb"));
  ExpectLimit(Fill(&m), "limits.max_mask_bytes");
}

TEST(Overrun, AMaskOfTooManySteps) {
  const TokenizerInfo tokenizer = Letters();
  GrammarCompiler few = MakeCompiler(tokenizer, FewSteps());
  for (const Grammar& grammar : {EleventhRoundFromTheEnd(), Clash()}) {
    GrammarMatcher m = MakeMatcher(&few, grammar);
    for (int round = 0; round < 2; ++round) ExpectLimit(Fill(&m), "limits.max_mask_steps");
  }
  // What takes few steps a mask goes on for as many masks as there are.
  GrammarMatcher m = MakeMatcher(&few, Palindromes("c"));
  for (int i = 0; i < 2'000; ++i) {
    ASSERT_TRUE(Fill(&m).ok()) << i;
    ASSERT_TRUE(m.AcceptString(i % 3 == 0 ? "a" : "b")) << i;
  }
}

// Each of few rules may be read at each letter of a text, with another one still to come from each
// letter before.
TEST(Overrun, AMaskOfTooManyItems) {
  const TokenizerInfo tokenizer = Letters();
  CompilerOptions options;
  options.limits.max_mask_steps = 5'000;
  GrammarCompiler few = MakeCompiler(tokenizer, options), many = MakeCompiler(tokenizer);
  GrammarMatcher m = *GrammarMatcher::Create(*few.CompileEbnf(kManyReadings));
  GrammarMatcher whole = *GrammarMatcher::Create(*many.CompileEbnf(kManyReadings));
  for (int round = 0; round < 3; ++round) {
    ExpectLimit(Fill(&m), "limits.max_mask_steps");
    ASSERT_TRUE(m.AcceptString("ab"));
    ASSERT_TRUE(whole.AcceptString("ab"));
    EXPECT_TRUE(Fill(&whole).ok());
  }
  // Another grammar does not have to do with what is left.
  GrammarMatcher other = MakeMatcher(&few, AroundC());
  EXPECT_TRUE(Fill(&other).ok());
  // Nor may what sets take go over the bound on bytes.
  GrammarCompiler small = MakeCompiler(tokenizer, FewBytes());
  GrammarMatcher palindrome = MakeMatcher(&small, Palindromes("c"));
  ExpectLimit(Fill(&palindrome), "limits.max_mask_bytes");
}

// What others have of the tables is the same before, after, and while one of them asks too much.
TEST(Overrun, OthersGoOn) {
  const TokenizerInfo tokenizer = Letters();
  GrammarCompiler reference = MakeCompiler(tokenizer);
  for (const CompilerOptions& options : {FewStates(), FewBytes(), FewSteps()}) {
    const bool states = options.limits.max_mask_states == FewStates().limits.max_mask_states;
    const bool bytes = options.limits.max_mask_bytes == FewBytes().limits.max_mask_bytes;
    const Grammar grammar = bytes ? AroundC() : Palindromes("c");
    GrammarCompiler compiler = MakeCompiler(tokenizer, options);
    GrammarMatcher bad = MakeMatcher(&compiler, states ? Clash() : EleventhRoundFromTheEnd());
    GrammarMatcher good = MakeMatcher(&compiler, grammar);
    GrammarMatcher expected = MakeMatcher(&reference, grammar);
    const std::string text = "abbabaababbcbbabaababba";
    for (char c : text) {
      EXPECT_EQ(Fill(&bad).code(), StatusCode::kResourceExhausted);
      ASSERT_EQ(Allowed(&good), Allowed(&expected)) << "before " << c;
      ASSERT_TRUE(good.AcceptString(std::string(1, c)));
      ASSERT_TRUE(expected.AcceptString(std::string(1, c)));
    }
    EXPECT_TRUE(good.IsCompleted());
    // A grammar that is compiled behind it is whole, too.
    GrammarMatcher late = MakeMatcher(&compiler, grammar);
    GrammarMatcher first = MakeMatcher(&reference, grammar);
    EXPECT_EQ(Allowed(&late), Allowed(&first));
  }
}

TEST(Overrun, OthersGoOnInOtherThreads) {
  const TokenizerInfo tokenizer = Letters();
  GrammarCompiler compiler = MakeCompiler(tokenizer, FewStates()), other = MakeCompiler(tokenizer);
  const std::string text = "abbabaababbcbbabaababba";
  std::vector<Ids> expected;
  GrammarMatcher reference = MakeMatcher(&other, Palindromes("c"));
  for (char c : text) {
    expected.push_back(Allowed(&reference));
    ASSERT_TRUE(reference.AcceptString(std::string(1, c)));
  }
  std::atomic<bool> done = false;
  std::thread asks_too_much([&] {
    GrammarMatcher bad = MakeMatcher(&compiler, Clash());
    while (!done) EXPECT_EQ(Fill(&bad).code(), StatusCode::kResourceExhausted);
  });
  const CompiledGrammar compiled = Compile(&compiler, Palindromes("c"));
  for (int round = 0; round < 30; round += OneIn(10)) {
    GrammarMatcher m = MakeMatcher(compiled);
    for (size_t i = 0; i < text.size(); ++i) {
      EXPECT_EQ(Allowed(&m), expected[i]);
      EXPECT_TRUE(m.AcceptString(text.substr(i, 1)));
    }
  }
  done = true;
  asks_too_much.join();
}

}  // namespace
}  // namespace grammask
