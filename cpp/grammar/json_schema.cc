// JSON Schema text to a Grammar of the JSON texts that it admits.
//
// Three steps, each with a form of its own that can be printed: the text is read to schemas with
// their references found, every schema becomes a union of typed cases closed under intersection,
// union and complement, and the cases become rules. {"type":["null","boolean"],"const":true} is one
// schema with two keywords, then the set {true}, then root ::= "true". Time and size are linear in
// the schema but for combinations, which limits.max_schema_steps bounds.
//
// docs/json_schema.md says what is supported. The steps: json_schema/schema_tree.h, normalise.h,
// emit.h. Tests: tests/grammar/json_schema_test.cc.
#include "grammar/json_schema.h"

#include <string>

#include "grammar/json_schema/emit.h"
#include "grammar/json_schema/formats.h"
#include "grammar/json_schema/json_document.h"
#include "grammar/json_schema/key_patterns.h"
#include "grammar/json_schema/normalise.h"
#include "grammar/json_schema/schema_tree.h"

namespace grammask::internal {

namespace {

Status CheckOptions(const JsonSchemaOptions& options) {
  if (options.indent.has_value() && *options.indent < 0) {
    return InvalidArgument("indent is " + std::to_string(*options.indent) +
                           "; a number of spaces from 0 on is needed");
  }
  if (options.max_whitespace_cnt.has_value() && *options.max_whitespace_cnt <= 0) {
    return InvalidArgument("max_whitespace_cnt is " + std::to_string(*options.max_whitespace_cnt) +
                           "; a number from 1 on is needed (any_whitespace=False for none)");
  }
  return {};
}

// With `widen`, without what has no exact form.
StatusOr<Grammar> Build(std::string_view schema, const JsonSchemaOptions& options,
                        const Limits& limits, bool widen, std::vector<SchemaWarning>* warnings) {
  GM_ASSIGN_OR_RETURN(JsonDocument document, JsonDocument::Parse(schema, limits));
  SchemaTree tree(&document, limits, options.registry.empty() ? nullptr : &options.registry);
  if (widen) tree.AdmitDraft3();
  GrammarBuilder builder(limits);
  KeyPatterns patterns(&builder, limits);
  Normaliser normaliser(
      &tree, &patterns, limits,
      {.strict = options.strict_mode, .widen = widen, .formats = &options.formats});
  GM_ASSIGN_OR_RETURN(ExprId root, normaliser.SchemaExpr(document.root(), kNoScope));
  GM_RETURN_IF_ERROR(normaliser.Evaluate(root).status());
  StatusOr<bool> empty = normaliser.ProvablyEmpty(root);
  if (!normaliser.MayLeaveOut(empty.status())) GM_RETURN_IF_ERROR(empty.status());
  if (empty.ok() && *empty) {
    return Unsatisfiable("the schema is unsatisfiable: " + normaliser.ExplainEmpty(root));
  }
  SchemaEmitter emitter(&normaliser, &builder, options, limits);
  GM_ASSIGN_OR_RETURN(RuleId rule, emitter.EmitRoot(root));
  if (warnings != nullptr) *warnings = normaliser.Warnings();
  return builder.Finish(rule);
}

}  // namespace

StatusOr<Grammar> GrammarFromJsonSchema(std::string_view schema, const JsonSchemaOptions& options,
                                        const Limits& limits,
                                        std::vector<SchemaWarning>* warnings) {
  if (warnings != nullptr) warnings->clear();
  GM_RETURN_IF_ERROR(CheckOptions(options));
  GM_RETURN_IF_ERROR(CheckFormats(options.formats, limits));
  // What has an exact form is never widened.
  StatusOr<Grammar> exact = Build(schema, options, limits, false, nullptr);
  StatusCode code = exact.status().code();
  if (code != StatusCode::kUnsupported && code != StatusCode::kResourceExhausted) return exact;
  return options.widen ? Build(schema, options, limits, true, warnings) : exact;
}

Grammar BuiltinJsonGrammar() {
  JsonSchemaOptions options;
  options.strict_mode = false;
  return GrammarFromJsonSchema(R"({"type":["object","array"]})", options).value();
}

}  // namespace grammask::internal
