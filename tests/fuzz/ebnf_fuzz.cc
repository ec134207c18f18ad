// Any bytes as EBNF: an error with a message, or a grammar whose printed form reads back and prints
// the same. Not so where a long part that is used more than once got a rule of its own ("part_1"):
// read back, it is a rule where it stands by itself and a part where it stands within And or Not,
// so that it may be printed as both.
#include <string>

#include "fuzz/fuzz.h"
#include "grammar/ast.h"
#include "grammar/ebnf.h"

using namespace grammask;
using namespace grammask::internal;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::InputReader input(data, size);
  EbnfOptions options;
  options.find_token = [](std::string_view text) -> std::optional<TokenId> {
    if (text == "<think>") return 7;
    return std::nullopt;
  };
  const std::string source(input.Rest());
  const auto grammar = ParseEbnf(source, options, fuzz::SmallLimits());
  if (!grammar.ok()) {
    fuzz::CheckError(grammar.status());
    return 0;
  }
  const std::string printed = grammar->ToString();
  const auto again = ParseEbnf(printed);
  FUZZ_CHECK(again.ok(), printed + "\n" + again.status().message());
  const std::string printed_again = again->ToString();
  FUZZ_CHECK(ParseEbnf(printed_again).ok(), printed + "\nprints again as\n" + printed_again);
  const bool has_parts = printed.find("\npart_") != std::string::npos;
  FUZZ_CHECK(has_parts || printed_again == printed,
             printed + "\nprints again as\n" + printed_again);
  return 0;
}
