// Any bytes as a JSON Schema: an error with a message, or a grammar that prints, reads back and
// compiles, and whose masks are right along a short walk. The first byte chooses the options; the
// schema ends at a line "%%"; where the options say so, two documents that it may refer to come
// next, ended likewise. What follows directs the walk.
#include <string>
#include <vector>

#include "fuzz/fuzz.h"
#include "fuzz/walk.h"

using namespace grammask;

namespace {

const TokenizerInfo& Tokenizer() {
  static const TokenizerInfo tokenizer = [] {
    std::vector<std::string> tokens;
    for (int c = 0x20; c < 0x7F; ++c) tokens.emplace_back(1, static_cast<char>(c));
    for (const char* token : {"\n",   "</s>",     "{\"",      "\":", ", \"", "\"}", "true", "null",
                              "[]",   "},",       "\\u",      "00",  "1.5",  "-1",  "e+",   "\xC3",
                              "\xA9", "\xC3\xA9", "\xF0\x9F", "abc", "  ",   "\",", "]}"}) {
      tokens.emplace_back(token);
    }
    return fuzz::MakeTokenizer(std::move(tokens), 96);
  }();
  return tokenizer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::InputReader input(data, size);
  const uint8_t flags = input.Byte();
  SchemaOptions options;
  options.any_whitespace = (flags & 1) == 0;
  options.strict_mode = (flags & 2) == 0;
  if ((flags & 4) != 0) options.indent = flags >> 6;
  if ((flags & 8) != 0) options.max_whitespace_cnt = flags >> 6;
  if ((flags & 16) != 0) options.separators = {",", ":"};
  const std::string schema(input.Until("\n%%\n"));
  if ((flags & 32) != 0) {
    options.registry["x:a"] = input.Until("\n%%\n");
    options.registry["http://e.x/b"] = input.Until("\n%%\n");
  }
  const Limits limits = fuzz::SmallLimits();

  const auto grammar = Grammar::FromJsonSchema(schema, options, limits);
  if (!grammar.ok()) {
    fuzz::CheckError(grammar.status());
    return 0;
  }
  const std::string printed = grammar->ToString();
  const auto again = Grammar::FromEbnf(printed);
  FUZZ_CHECK(again.ok(), printed + "\n" + again.status().message());

  CompilerOptions compiler_options;
  compiler_options.limits = limits;
  compiler_options.cache_enabled = false;
  auto compiler = GrammarCompiler::Create(Tokenizer(), compiler_options);
  FUZZ_CHECK(compiler.ok(), compiler.status().message());
  const auto compiled = compiler->CompileGrammar(*grammar);
  if (!compiled.ok()) {
    fuzz::CheckError(compiled.status());
    return 0;
  }
  // Straight to a compiler, objects are in their short form.
  const auto direct = compiler->CompileJsonSchema(schema, options);
  if (direct.ok()) {
    fuzz::CheckWalk(*direct, &input, 12);
    FUZZ_CHECK(Grammar::FromEbnf(direct->grammar().ToString()).ok(), schema);
  } else {
    FUZZ_CHECK(direct.status().code() == StatusCode::kResourceExhausted, schema);
  }
  fuzz::CheckWalk(*compiled, &input, 12);
  return 0;
}
