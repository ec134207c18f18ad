// Text to grammar: a realistic schema, a regular expression, EBNF.
#include <benchmark/benchmark.h>

#include <string>

#include "common.h"
#include "grammar/ebnf.h"
#include "grammar/json_schema.h"
#include "grammar/regex.h"

namespace grammask::internal {
namespace {

void ReadSchema(benchmark::State& state) {
  const std::string schema = bench::ReadFile(GRAMMASK_EXAMPLES "/schemas/order.json");
  for (auto _ : state) benchmark::DoNotOptimize(bench::OrDie(GrammarFromJsonSchema(schema)));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(schema.size()));
}
BENCHMARK(ReadSchema);

void ReadRegex(benchmark::State& state) {
  constexpr char kPattern[] = "^(\\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T[^\\s]{1,80}$";
  for (auto _ : state) benchmark::DoNotOptimize(bench::OrDie(GrammarFromRegex(kPattern)));
}
BENCHMARK(ReadRegex);

void ReadEbnf(benchmark::State& state) {
  constexpr char kGrammar[] =
      "root ::= expr\n"
      "expr ::= expr (\"+\" | \"-\") term | term\n"
      "term ::= term (\"*\" | \"/\") factor | factor\n"
      "factor ::= number | name | \"(\" expr \")\"\n"
      "number ::= [0-9]+ (\".\" [0-9]+)?\n"
      "name ::= [a-zA-Z_] [a-zA-Z0-9_]*\n";
  for (auto _ : state) benchmark::DoNotOptimize(bench::OrDie(ParseEbnf(kGrammar)));
}
BENCHMARK(ReadEbnf);

}  // namespace
}  // namespace grammask::internal
