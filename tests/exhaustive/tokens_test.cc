// Grammars that ask for tokens by their ids, beside text.
//
// The oracle knows bytes only. So it gets the same grammar with a byte of its own for each token
// named by id, and a sequence of tokens becomes the set of all its spellings: each token as its
// text, or as its marker. A token may come where it may in one of the spellings.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "checks.h"
#include "worlds.h"

namespace grammask::internal {
namespace {

const std::vector<std::string>& Texts() {
  static const std::vector<std::string> texts = {"a", "b", "ab", "ba", "abb", "a"};
  return texts;
}
constexpr int32_t kStop = kSpecialToken + 1;
constexpr int32_t kTokens = kStop + 1;

TokenizerInfo MakeTokenizer() {
  std::vector<std::string> tokens = Texts();
  EXPECT_EQ(tokens.size(), static_cast<size_t>(kTextTokens));
  tokens.emplace_back("a");  // special: never text
  tokens.emplace_back("b");  // stop
  TokenizerOptions options;
  options.stop_token_ids = {{kStop}};
  options.special_token_ids = {kSpecialToken};
  StatusOr<TokenizerInfo> info = TokenizerInfo::Create(std::move(tokens), options);
  EXPECT_TRUE(info.ok()) << info.status().message();
  return *info;
}

using Spellings = std::set<std::string>;

// The spellings that remain prefixes when `token` follows.
Spellings After(Judge* judge, const Spellings& before, int32_t token) {
  Spellings after;
  for (const std::string& spelling : before) {
    std::vector<std::string> longer = {spelling + static_cast<char>(TokenMarker(token))};
    if (token < kTextTokens) longer.push_back(spelling + Texts()[static_cast<size_t>(token)]);
    for (const std::string& text : longer) {
      if (judge->IsPrefix(text)) after.insert(text);
    }
  }
  return after;
}

bool Complete(Judge* judge, const Spellings& spellings) {
  for (const std::string& text : spellings) {
    if (judge->Matches(text)) return true;
  }
  return false;
}

// Checks all sequences of up to `depth` tokens from here on. False after the first failure.
bool CheckFrom(GrammarMatcher* matcher, Judge* judge, const Spellings& spellings, int depth,
               const std::string& path) {
  Mask mask(static_cast<size_t>(matcher->mask_words()));
  EXPECT_TRUE(matcher->FillNextTokenBitmask(mask.data()).ok()) << path;
  EXPECT_EQ(matcher->IsCompleted(), Complete(judge, spellings)) << path;
  for (int32_t token = 0; token < kTokens; ++token) {
    const Spellings after = token == kStop ? Spellings{} : After(judge, spellings, token);
    const bool want = token == kStop ? Complete(judge, spellings) : !after.empty();
    const std::string here = path + " " + std::to_string(token);
    EXPECT_EQ((mask[0] >> token) & 1, want ? 1 : 0) << "mask:" << here;
    GrammarMatcher fork = matcher->Fork();
    EXPECT_EQ(fork.AcceptToken(token), want) << "accept:" << here;
    if (testing::Test::HasFailure()) return false;
    if (want && token != kStop && depth > 0 && !CheckFrom(&fork, judge, after, depth - 1, here)) {
      return false;
    }
  }
  return true;
}

TEST(TokenWorlds, TokensByIdBesideText) {
  const Alphabet alphabet = TokenAlphabet(/*as_markers=*/false);
  const Alphabet markers = TokenAlphabet(/*as_markers=*/true);
  ExpressionTable table(alphabet, 2);
  std::vector<std::vector<ExpressionPtr>> systems;
  for (size_t nodes = 1; nodes <= 3; ++nodes) {
    for (const ExpressionPtr& body : table.OfSize(nodes)) {
      systems.push_back({body, table.OfSize(1)[systems.size() % table.OfSize(1).size()]});
    }
  }
  std::mt19937_64 random(17);
  for (size_t i = 0; i < 500 * Effort(); ++i) {
    systems.push_back(
        {table.Random(2 + random() % 6, &random), table.Random(1 + random() % 4, &random)});
  }
  CompilerOptions options;
  options.cache_enabled = false;
  StatusOr<GrammarCompiler> compiler = GrammarCompiler::Create(MakeTokenizer(), options);
  ASSERT_TRUE(compiler.ok());
  for (const auto& bodies : systems) {
    const Grammar grammar = BuildGrammar(alphabet, bodies);
    Judge judge(BuildGrammar(markers, bodies));
    const StatusOr<CompiledGrammar> compiled = compiler->CompileGrammar(
        grammask::Grammar(std::make_shared<const internal::Grammar>(grammar)));
    ASSERT_EQ(compiled.ok(), judge.IsPrefix("")) << grammar.ToString();
    if (!compiled.ok()) continue;
    StatusOr<GrammarMatcher> matcher = GrammarMatcher::Create(*compiled);
    ASSERT_TRUE(matcher.ok());
    if (!CheckFrom(&*matcher, &judge, {""}, 2, "after tokens")) {
      FAIL() << grammar.ToString();
    }
  }
}

}  // namespace
}  // namespace grammask::internal
