// Any bytes as EBNF: an error with a message, or a grammar whose printed form reads back as the
// same language. Mostly it prints the same, too. Where not, as alternatives are in the order in
// which they were first met, and long texts and parts that are used more than once are put together
// in another way, masks along a walk that the input directs must agree.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/fuzz.h"
#include "fuzz/walk.h"
#include "grammar/ast.h"
#include "grammar/ebnf.h"

using namespace grammask;
using namespace grammask::internal;

namespace {

constexpr TokenId kThink = 7;
constexpr int kSteps = 16;

const TokenizerInfo& Tokenizer() {
  static const TokenizerInfo tokenizer = [] {
    std::vector<std::string> tokens;
    for (int c = 0; c < 256; ++c) tokens.emplace_back(1, static_cast<char>(c));
    for (const char* token : {"aa", "oot", "::= ", "]]]", "\xC3\xA9", "</s>"}) {
      tokens.emplace_back(token);
    }
    return fuzz::MakeTokenizer(std::move(tokens), 261);
  }();
  return tokenizer;
}

// Ends where a bound does.
void CheckSameMasks(internal::Grammar grammar, internal::Grammar again, fuzz::InputReader* input) {
  CompilerOptions options;
  options.limits = fuzz::SmallLimits();
  std::vector<GrammarMatcher> matchers;
  for (internal::Grammar* g : {&grammar, &again}) {
    auto compiler = GrammarCompiler::Create(Tokenizer(), options);
    FUZZ_CHECK(compiler.ok(), compiler.status().message());
    auto compiled = compiler->CompileGrammar(
        grammask::Grammar(std::make_shared<const internal::Grammar>(std::move(*g))));
    if (!compiled.ok()) return fuzz::CheckError(compiled.status());
    auto matcher = GrammarMatcher::Create(*compiled);
    FUZZ_CHECK(matcher.ok(), matcher.status().message());
    matchers.push_back(*std::move(matcher));
  }
  const auto words = static_cast<size_t>(matchers[0].mask_words());
  for (int step = 0; step < kSteps; ++step) {
    std::vector<int32_t> masks[2];
    for (size_t i = 0; i < 2; ++i) {
      masks[i].resize(words);
      const auto filled = matchers[i].FillNextTokenBitmask(masks[i].data());
      if (!filled.ok()) return fuzz::CheckError(filled.status());
    }
    FUZZ_CHECK(masks[0] == masks[1], "masks of step " + std::to_string(step));
    const auto allowed = fuzz::AllowedTokens(masks[0], matchers[0].vocab_size());
    if (allowed.empty()) return;
    const int32_t token = allowed[input->Byte() % allowed.size()];
    for (GrammarMatcher& matcher : matchers) {
      if (!matcher.AcceptToken(token)) return;  // over a bound
    }
    if (matchers[0].IsTerminated()) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::InputReader input(data, size);
  EbnfOptions options;
  options.find_token = [](std::string_view text) -> std::optional<TokenId> {
    if (text == "<think>") return kThink;
    return std::nullopt;
  };
  const std::string source(input.Rest());
  auto grammar = ParseEbnf(source, options, fuzz::SmallLimits());
  if (!grammar.ok()) {
    fuzz::CheckError(grammar.status());
    return 0;
  }
  const std::string printed = grammar->ToString();
  auto again = ParseEbnf(printed);
  FUZZ_CHECK(again.ok(), printed + "\n" + again.status().message());
  if (again->ToString() != printed) {
    fuzz::InputReader walk(data, size);
    CheckSameMasks(*std::move(grammar), *std::move(again), &walk);
  }
  return 0;
}
