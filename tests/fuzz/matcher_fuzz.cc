// Any grammar with any vocabulary: masks must equal what accepting each token says, along a walk.
//
// An input is text in three parts, separated by lines "%%": the grammar, behind a letter that says
// what it is (e: EBNF, r: regex, j: JSON Schema); the tokens, one a line, where "\n" (backslash, n)
// stands for a line end; and bytes that direct the walk. The last token is the stop token.
#include <string>
#include <vector>

#include "fuzz/fuzz.h"
#include "fuzz/walk.h"

using namespace grammask;

namespace {

constexpr size_t kMaxTokens = 100;

std::vector<std::string> ReadTokens(std::string_view text) {
  std::vector<std::string> tokens;
  while (!text.empty() && tokens.size() < kMaxTokens) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    tokens.emplace_back(line == "\\n" ? "\n" : line);
  }
  tokens.emplace_back("<stop>");
  return tokens;
}

StatusOr<CompiledGrammar> Compile(GrammarCompiler* compiler, char kind, std::string_view source) {
  switch (kind) {
    case 'r':
      return compiler->CompileRegex(source);
    case 'j':
      return compiler->CompileJsonSchema(source);
    default:
      return compiler->CompileEbnf(source);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::InputReader input(data, size);
  const char kind = static_cast<char>(input.Byte());
  const std::string source(input.Until("\n%%\n"));
  std::vector<std::string> tokens = ReadTokens(input.Until("\n%%\n"));
  const auto stop = static_cast<int32_t>(tokens.size()) - 1;
  const TokenizerInfo tokenizer = fuzz::MakeTokenizer(std::move(tokens), stop);

  CompilerOptions options;
  options.limits = fuzz::SmallLimits();
  auto compiler = GrammarCompiler::Create(tokenizer, options);
  FUZZ_CHECK(compiler.ok(), compiler.status().message());
  const auto compiled = Compile(&*compiler, kind, source);
  if (!compiled.ok()) {
    fuzz::CheckError(compiled.status());
    return 0;
  }
  fuzz::CheckWalk(*compiled, &input, 40);
  return 0;
}
