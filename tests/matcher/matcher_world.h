// Tokenizers, grammars and masks through the public interface, for tests of the matcher stage.
#ifndef GRAMMASK_TESTS_MATCHER_MATCHER_WORLD_H_
#define GRAMMASK_TESTS_MATCHER_MATCHER_WORLD_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grammar/ast.h"
#include "grammask/grammask.h"

namespace grammask {

using internal::GrammarBuilder;
using internal::NodeId;
using internal::RuleId;
using Ids = std::vector<int32_t>;

// The tokens given, and a stop token after them.
inline TokenizerInfo MakeTokenizer(std::vector<std::string> tokens, Ids special = {}) {
  TokenizerOptions options;
  tokens.emplace_back("</s>");
  options.stop_token_ids = {{static_cast<int32_t>(tokens.size()) - 1}};
  options.special_token_ids = std::move(special);
  StatusOr<TokenizerInfo> tokenizer = TokenizerInfo::Create(std::move(tokens), options);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return *tokenizer;
}

inline GrammarCompiler MakeCompiler(const TokenizerInfo& tokenizer,
                                    const CompilerOptions& options = {}) {
  StatusOr<GrammarCompiler> compiler = GrammarCompiler::Create(tokenizer, options);
  EXPECT_TRUE(compiler.ok()) << compiler.status().message();
  return *compiler;
}

inline Grammar Wrap(internal::Grammar grammar) {
  return Grammar(std::make_shared<const internal::Grammar>(std::move(grammar)));
}

// The grammar of one rule with the body that `fill` gives; it may refer to that rule.
inline Grammar MakeGrammar(const std::function<NodeId(GrammarBuilder&, NodeId self)>& fill) {
  GrammarBuilder b;
  const RuleId root = b.AddRule("root");
  b.SetBody(root, fill(b, b.Rule(root)));
  StatusOr<internal::Grammar> grammar = b.Finish(root);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  return Wrap(*grammar);
}

// `middle`, and on both sides the same letters a and b: every text is a state of its own.
inline Grammar Palindromes(const std::string& middle) {
  return MakeGrammar([&](GrammarBuilder& b, NodeId self) {
    return b.Choice({b.Bytes(middle), b.Sequence({b.Bytes("a"), self, b.Bytes("a")}),
                     b.Sequence({b.Bytes("b"), self, b.Bytes("b")})});
  });
}

inline CompiledGrammar Compile(GrammarCompiler* compiler, const Grammar& grammar) {
  StatusOr<CompiledGrammar> compiled = compiler->CompileGrammar(grammar);
  EXPECT_TRUE(compiled.ok()) << compiled.status().message();
  return *compiled;
}

inline GrammarMatcher MakeMatcher(const CompiledGrammar& compiled,
                                  const MatcherOptions& options = {}) {
  StatusOr<GrammarMatcher> matcher = GrammarMatcher::Create(compiled, options);
  EXPECT_TRUE(matcher.ok()) << matcher.status().message();
  return std::move(matcher).value();
}

inline GrammarMatcher MakeMatcher(GrammarCompiler* compiler, const Grammar& grammar,
                                  const MatcherOptions& options = {}) {
  return MakeMatcher(Compile(compiler, grammar), options);
}

// The ids that the mask allows, in order; bits beyond the vocabulary count as ids too.
inline Ids Allowed(GrammarMatcher* matcher) {
  std::vector<int32_t> words(static_cast<size_t>(matcher->mask_words()), 0x5A5A5A5A);
  const StatusOr<bool> filled = matcher->FillNextTokenBitmask(words.data());
  EXPECT_TRUE(filled.ok()) << filled.status().message();
  Ids allowed;
  for (size_t i = 0; i < words.size() * 32; ++i) {
    if (((static_cast<uint32_t>(words[i / 32]) >> (i % 32)) & 1) != 0) {
      allowed.push_back(static_cast<int32_t>(i));
    }
  }
  const bool all = allowed.size() == static_cast<size_t>(matcher->vocab_size());
  EXPECT_EQ(filled.ok() && *filled, !all) << "the return value says whether the mask refuses any";
  return allowed;
}

// The ids that a fork accepts, one by one.
inline Ids AcceptedOnForks(const GrammarMatcher& matcher) {
  Ids accepted;
  for (int32_t id = 0; id < matcher.vocab_size(); ++id) {
    GrammarMatcher fork = matcher.Fork();
    if (fork.AcceptToken(id)) accepted.push_back(id);
  }
  return accepted;
}

}  // namespace grammask

#endif  // GRAMMASK_TESTS_MATCHER_MATCHER_WORLD_H_
