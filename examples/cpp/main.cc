// Compiles a schema, fills masks of two outputs from two threads, applies them to logits, advances,
// and rolls back. Build it against an installed grammask:
//
//   cmake -S examples/cpp -B build/example -DCMAKE_PREFIX_PATH=<where grammask was installed>
//   cmake --build build/example && build/example/grammask_example
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "grammask/grammask.h"

namespace {

constexpr char kSchema[] = R"({
  "type": "object",
  "properties": {"city": {"enum": ["Oslo", "Rome"]}, "sunny": {"type": "boolean"}},
  "required": ["city", "sunny"],
  "additionalProperties": false
})";

// The value of `result`; ends the program with the message where there is none.
template <class T>
T OrDie(grammask::StatusOr<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "error: %s\n", result.status().message().c_str());
    std::exit(1);
  }
  return std::move(result).value();
}

void OrDie(const grammask::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  std::exit(1);
}

// All single printable characters, some longer texts, and the stop token at the end. A real program
// would read its model's tokenizer.json: grammask::TokenizerInfo::FromTokenizerJson.
grammask::TokenizerInfo MakeTokenizer() {
  std::vector<std::string> tokens;
  for (char c = ' '; c <= '~'; ++c) tokens.emplace_back(1, c);
  for (const char* text :
       {"{\"", "city", "\":\"", "Oslo", "Rome", "\",\"", "sunny", "\":", "true", "false", "</s>"}) {
    tokens.emplace_back(text);
  }
  grammask::TokenizerOptions options;
  options.stop_token_ids = {{static_cast<int32_t>(tokens.size()) - 1}};
  return OrDie(grammask::TokenizerInfo::Create(std::move(tokens), options));
}

void Advance(grammask::GrammarMatcher* matcher, const grammask::TokenizerInfo& tokenizer,
             const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (!matcher->AcceptToken(*tokenizer.FindToken(text))) {
      std::fprintf(stderr, "error: %s may not come here\n", text.c_str());
      std::exit(1);
    }
  }
}

}  // namespace

int main() {
  const grammask::TokenizerInfo tokenizer = MakeTokenizer();
  grammask::GrammarCompiler compiler = OrDie(grammask::GrammarCompiler::Create(tokenizer));
  grammask::SchemaOptions schema_options;
  schema_options.any_whitespace = false;
  schema_options.separators = {{",", ":"}};
  const grammask::CompiledGrammar grammar =
      OrDie(compiler.CompileJsonSchema(kSchema, schema_options));

  // One matcher for each output. The grammar is shared; each matcher belongs to one thread at a
  // time, so the two may work at once.
  std::vector<grammask::GrammarMatcher> matchers;
  matchers.push_back(OrDie(grammask::GrammarMatcher::Create(grammar)));
  matchers.push_back(OrDie(grammask::GrammarMatcher::Create(grammar)));
  const auto words = static_cast<size_t>(matchers[0].mask_words());
  std::vector<int32_t> mask(2 * words);
  {
    std::thread first([&] {
      Advance(&matchers[0], tokenizer, {"{\"", "city", "\":\""});
      OrDie(matchers[0].FillNextTokenBitmask(&mask[0]));
    });
    std::thread second([&] {
      Advance(&matchers[1], tokenizer, {"{\"", "city", "\":\"", "Oslo", "\",\"", "sunny", "\":"});
      OrDie(matchers[1].FillNextTokenBitmask(&mask[words]));
    });
    first.join();
    second.join();
  }

  // Logits as a model would give them: two rows. What is refused becomes minus infinity.
  const int vocab_size = tokenizer.vocab_size();
  std::vector<float> logits(2 * static_cast<size_t>(vocab_size), 0.5f);
  grammask::ApplyArgs apply;
  apply.logits = logits.data();
  apply.logits_rows = 2;
  apply.logits_columns = apply.logits_stride = vocab_size;
  apply.mask = mask.data();
  apply.mask_rows = 2;
  apply.mask_words = apply.mask_stride = static_cast<int64_t>(words);
  apply.vocab_size = vocab_size;
  OrDie(grammask::ApplyTokenBitmaskInplaceCpu(apply));
  for (int row = 0; row < 2; ++row) {
    std::printf("row %d may go on with:", row);
    for (int id = 0; id < vocab_size; ++id) {
      if (std::isinf(logits[static_cast<size_t>(row * vocab_size + id)])) continue;
      std::printf(" [%s]", tokenizer.decoded_vocab()[static_cast<size_t>(id)].c_str());
    }
    std::printf("\n");
  }

  // A draft that did not hold is undone, and the mask is what it was.
  Advance(&matchers[0], tokenizer, {"R", "o"});
  OrDie(matchers[0].Rollback(2));
  std::vector<int32_t> again(words);
  OrDie(matchers[0].FillNextTokenBitmask(again.data()));
  if (!std::equal(again.begin(), again.end(), mask.begin())) {
    std::fprintf(stderr, "error: rolling back changed the mask\n");
    return 1;
  }
  Advance(&matchers[0], tokenizer, {"Rome", "\",\"", "sunny", "\":", "true", "}", "</s>"});
  std::printf("rolled back and finished: %s\n", matchers[0].IsTerminated() ? "yes" : "no");
  return matchers[0].IsTerminated() ? 0 : 1;
}
