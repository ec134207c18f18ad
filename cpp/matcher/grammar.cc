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

StatusOr<Grammar> Wrap(StatusOr<internal::Grammar> grammar,
                       std::vector<SchemaWarning> warnings = {}) {
  if (!grammar.ok()) return grammar.status();
  return Grammar(std::make_shared<const internal::Grammar>(std::move(grammar).value()),
                 std::move(warnings));
}

StatusOr<Grammar> FromSchema(std::string_view schema, const internal::JsonSchemaOptions& options,
                             const Limits& limits) {
  std::vector<SchemaWarning> warnings;
  auto grammar = internal::GrammarFromJsonSchema(schema, options, limits, &warnings);
  return Wrap(std::move(grammar), std::move(warnings));
}

enum class Combine { kSequence, kChoice };

StatusOr<Grammar> CombineAll(std::span<const Grammar> grammars, Combine how) {
  if (grammars.empty()) return InvalidArgument("at least one grammar is needed");
  internal::GrammarBuilder builder;
  const internal::RuleId root = builder.AddRule("root");
  std::vector<internal::NodeId> parts;
  std::vector<SchemaWarning> warnings;
  for (const Grammar& g : grammars) {
    parts.push_back(builder.Rule(builder.Import(*g.grammar())));
    warnings.insert(warnings.end(), g.warnings().begin(), g.warnings().end());
  }
  builder.SetBody(root,
                  how == Combine::kSequence ? builder.Sequence(parts) : builder.Choice(parts));
  return Wrap(builder.Finish(root), std::move(warnings));
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
  out.root_whitespace = options.root_whitespace;
  out.widen = options.widen;
  out.registry = options.registry;
  out.formats = options.formats;
  return out;
}

StatusOr<grammask::Grammar> JsonSchemaFor(std::string_view schema, const SchemaOptions& options,
                                          const Limits& limits) {
  JsonSchemaOptions internal_options = ToInternal(options);
  internal_options.short_forms = true;
  return FromSchema(schema, internal_options, limits);
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
  return FromSchema(schema, internal::ToInternal(options), limits);
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

Grammar::Grammar(std::shared_ptr<const internal::Grammar> g, std::vector<SchemaWarning> warnings)
    : grammar_(std::move(g)) {
  if (warnings.empty()) return;
  warnings_ = std::make_shared<const std::vector<SchemaWarning>>(std::move(warnings));
}

std::span<const SchemaWarning> Grammar::warnings() const {
  if (warnings_ == nullptr) return {};
  return *warnings_;
}

std::string Grammar::ToString() const { return grammar_->ToString(); }

}  // namespace grammask
