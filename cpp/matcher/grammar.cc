// The public Grammar: front ends behind one handle, union and concatenation.
//
// Each From function runs one front end of the grammar stage and keeps its result, which is
// immutable; handles share it. Union and concatenation import the rules of all grammars into one
// and add a root: `root ::= a.root | b.root`. Tests: tests/matcher/grammar_test.cc.
#include <functional>
#include <vector>

#include "grammar/ast.h"
#include "grammar/ebnf.h"
#include "grammar/json_schema.h"
#include "grammar/regex.h"
#include "grammask/grammask.h"
#include "matcher/sources.h"

namespace grammask {
namespace {

StatusOr<Grammar> Wrap(StatusOr<internal::Grammar> grammar) {
  if (!grammar.ok()) return grammar.status();
  return Grammar(std::make_shared<const internal::Grammar>(std::move(grammar).value()));
}

enum class Combine { kSequence, kChoice };

StatusOr<Grammar> CombineAll(std::span<const Grammar> grammars, Combine how) {
  if (grammars.empty()) return InvalidArgument("at least one grammar is needed");
  internal::GrammarBuilder builder;
  const internal::RuleId root = builder.AddRule("root");
  std::vector<internal::NodeId> parts;
  for (const Grammar& g : grammars) parts.push_back(builder.Rule(builder.Import(*g.grammar())));
  builder.SetBody(root,
                  how == Combine::kSequence ? builder.Sequence(parts) : builder.Choice(parts));
  return Wrap(builder.Finish(root));
}

}  // namespace

namespace internal {

JsonSchemaOptions ToInternal(const SchemaOptions& options) {
  JsonSchemaOptions out;
  out.any_whitespace = options.any_whitespace;
  out.indent = options.indent;
  out.separators = options.separators;
  out.strict_mode = options.strict_mode;
  out.max_whitespace_cnt = options.max_whitespace_cnt;
  out.any_order = options.any_order;
  return out;
}

StatusOr<grammask::Grammar> EbnfFor(std::string_view ebnf, std::string_view root_rule,
                                    const TokenizerInfo* tokenizer, const Limits& limits) {
  EbnfOptions options;
  options.root_rule = root_rule;
  if (tokenizer != nullptr) {
    options.find_token = [tokenizer](std::string_view text) { return tokenizer->FindToken(text); };
  }
  return Wrap(ParseEbnf(ebnf, options, limits));
}

}  // namespace internal

StatusOr<Grammar> Grammar::FromEbnf(std::string_view ebnf, std::string_view root_rule,
                                    const Limits& limits) {
  return internal::EbnfFor(ebnf, root_rule, nullptr, limits);
}

StatusOr<Grammar> Grammar::FromRegex(std::string_view regex, const Limits& limits) {
  return Wrap(internal::GrammarFromRegex(regex, limits));
}

StatusOr<Grammar> Grammar::FromJsonSchema(std::string_view schema, const SchemaOptions& options,
                                          const Limits& limits) {
  return Wrap(internal::GrammarFromJsonSchema(schema, internal::ToInternal(options), limits));
}

Grammar Grammar::BuiltinJson() {
  return Grammar(std::make_shared<const internal::Grammar>(internal::BuiltinJsonGrammar()));
}

StatusOr<Grammar> Grammar::Concat(std::span<const Grammar> grammars) {
  return CombineAll(grammars, Combine::kSequence);
}

StatusOr<Grammar> Grammar::Union(std::span<const Grammar> grammars) {
  return CombineAll(grammars, Combine::kChoice);
}

std::string Grammar::ToString() const { return grammar_->ToString(); }

}  // namespace grammask
