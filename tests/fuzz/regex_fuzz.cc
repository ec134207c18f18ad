// Any bytes as a regular expression: an error with a message, or a grammar that prints and reads
// back. The first byte chooses the options.
#include <string>

#include "fuzz/fuzz.h"
#include "grammar/ast.h"
#include "grammar/ebnf.h"
#include "grammar/regex.h"

using namespace grammask;
using namespace grammask::internal;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::InputReader input(data, size);
  const uint8_t flags = input.Byte();
  const std::string pattern(input.Rest());
  RegexOptions options;
  options.encoding =
      (flags & 1) != 0 ? RegexOptions::Encoding::kJsonString : RegexOptions::Encoding::kUtf8;
  options.anchoring =
      (flags & 2) != 0 ? RegexOptions::Anchoring::kSearch : RegexOptions::Anchoring::kWhole;
  options.ignore_case = (flags & 4) != 0;
  options.dot_all = (flags & 8) != 0;
  options.multi_line = (flags & 16) != 0;
  const Limits limits = fuzz::SmallLimits();

  GrammarBuilder builder(limits);
  const StatusOr<NodeId> node = ParseRegex(pattern, options, limits, &builder);
  if (!node.ok()) {
    fuzz::CheckError(node.status());
    return 0;
  }
  FUZZ_CHECK(builder.node(*node).regular, "a regex must give a regular node");
  const RuleId root = builder.AddRule("root");
  builder.SetBody(root, *node);
  const auto grammar = builder.Finish(root);
  if (!grammar.ok()) {
    fuzz::CheckError(grammar.status());
    return 0;
  }
  const std::string printed = grammar->ToString();
  const auto again = ParseEbnf(printed);
  FUZZ_CHECK(again.ok(), printed + "\n" + again.status().message());
  return 0;
}
