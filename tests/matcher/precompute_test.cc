// Masks computed ahead of need are those that come on need.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/code_point_set.h"
#include "matcher_world.h"
#include "parser/random_grammar.h"

namespace grammask {
namespace {

using internal::CodePointSet;
using internal::RandomGrammar;

TEST(Precompute, RandomGrammarsHaveTheSameMasks) {
  const TokenizerInfo tokenizer =
      MakeTokenizer({"a", "b", "ab", "ba", "aa", "bb", "aab", "bab", "c"});
  int done = 0;
  for (uint64_t seed = 9000; done < 150; ++seed) {
    const RandomGrammar source(seed);
    if (!source.language().productive) continue;
    ++done;
    const Grammar grammar = Wrap(source.Build());
    GrammarCompiler lazy = MakeCompiler(tokenizer), ahead = MakeCompiler(tokenizer);
    const CompiledGrammar compiled = Compile(&ahead, grammar);
    const int threads = 1 + done % 3;
    const size_t states = compiled.Precompute(threads, 10'000);
    EXPECT_GT(states, 0u);
    const size_t masks = compiled.stats().masks;
    GrammarMatcher x = MakeMatcher(&lazy, grammar), y = MakeMatcher(compiled);
    for (const std::string& text : internal::TextSets::Texts()) {
      if (text.size() > 4) break;
      const bool accepted = x.AcceptString(text);
      ASSERT_EQ(y.AcceptString(text), accepted);
      if (!accepted) continue;
      ASSERT_EQ(Allowed(&x), Allowed(&y)) << grammar.ToString() << text;
      ASSERT_TRUE(x.Rollback(1).ok() && y.Rollback(1).ok());
    }
    // All states were found ahead: none was left to compute, but those near the bound of a count,
    // which are not looked for.
    if (grammar.ToString().find('{') == std::string::npos) {
      EXPECT_EQ(compiled.stats().masks, masks) << grammar.ToString();
    }
  }
}

Grammar Records() {
  return MakeGrammar([](GrammarBuilder& b, NodeId self) {
    const NodeId text = b.Sequence(
        {b.Bytes("\""), b.Repeat(b.JsonClass(CodePointSet::All()), 0, 300), b.Bytes("\"")});
    const NodeId number = b.Repeat(b.ByteClass(internal::ByteSet::Range('0', '9')), 1, 5);
    return b.Choice(
        {text, number,
         b.Sequence({b.Bytes("{\""), b.JsonText("key"), b.Bytes("\":"), self, b.Bytes("}")})});
  });
}

TEST(Precompute, StopsAtTheGivenNumberAndReportsProgress) {
  GrammarCompiler compiler =
      MakeCompiler(MakeTokenizer({"a", "\"", "{\"", "1", "12", "}", "key", "\\u"}));
  const CompiledGrammar compiled = Compile(&compiler, Records());
  const size_t first = compiled.stats().masks;
  EXPECT_EQ(compiled.Precompute(2, 0), 0u);
  EXPECT_EQ(compiled.stats().masks, first);
  EXPECT_EQ(compiled.Precompute(1, 5), 5u);
  size_t last = 0, total = 0;
  const size_t all = compiled.Precompute(2, 100'000, [&](size_t done, size_t found) {
    EXPECT_GT(done, last);
    EXPECT_LE(done, found);
    last = done;
    total = found;
  });
  EXPECT_EQ(last, all);
  EXPECT_EQ(total, all);
  EXPECT_GT(all, 20u);
  EXPECT_LT(all, 1000u) << "states that differ only in far counts are one";
  const size_t masks = compiled.stats().masks;
  EXPECT_EQ(compiled.Precompute(2, 100'000), all);
  EXPECT_EQ(compiled.stats().masks, masks) << "nothing is computed twice";
}

}  // namespace
}  // namespace grammask
