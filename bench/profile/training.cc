// What engines have the library do, for GCC to learn which of its code runs and how often
// (GRAMMASK_PGO, see profile.cmake). Under schemas of many kinds, grammars and regular expressions:
// compiles, then a mask before each token of documents that are right, that are wrong, and that are
// drawn from the masks; and what else the interface offers.
//
//   profile_training <the folder that holds tests/data and examples>
//
// Vocabulary and draws are made up, the same in each run. No schema that figures are given for is
// among those trained on.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../common.h"
#include "grammask/grammask.h"

namespace grammask::bench {
namespace {

using Json = nlohmann::ordered_json;

// Made-up tokens, without what real vocabularies hold little of: runs of many marks or digits.
std::vector<std::string> Tokens() {
  std::vector<std::string> tokens = MadeUpTokens(128'000);
  size_t seen = 0;
  std::erase_if(tokens, [&](const std::string& token) {
    size_t marks = 0, digits = 0;
    for (const char c : token) {
      marks += std::string_view("\"[]{},:").find(c) != std::string_view::npos;
      digits += c >= '0' && c <= '9';
    }
    return digits > 3 || (marks > 2 && ++seen % 16 != 0);
  });
  return tokens;
}

// ", " and ": " in place of "," and ":", as most programs print JSON for models.
std::string Spaced(std::string_view json) {
  std::string text;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    text += json[i];
    if (json[i] == '\\')
      text += json[++i];  // within strings only, and never last
    else if (json[i] == '"')
      in_string = !in_string;
    else if (!in_string && (json[i] == ',' || json[i] == ':'))
      text += ' ';
  }
  return text;
}

// Schemas drawn at random, in the manner of those that people write for files of settings.
class DrawnSchemas {
 public:
  DrawnSchemas(uint64_t seed, int definitions) : random_(seed), definitions_(definitions) {}

  Json Document() {
    Json document = Object(3);
    document["$schema"] = "http://json-schema.org/draft-07/schema#";
    for (int i = 0; i < definitions_; ++i) document["definitions"][Definition(i)] = Value(2);
    return document;
  }

 private:
  static std::string Definition(int i) { return "definition" + std::to_string(i); }

  uint64_t Below(uint64_t n) { return random_() % n; }
  bool Once(uint64_t in) { return Below(in) == 0; }

  std::string Words(size_t count, const char* between) {
    static const char* const kWords[] = {
        "name", "version", "id",   "type",  "path",  "target", "source", "options", "default",
        "file", "the",     "of",   "value", "which", "build",  "test",   "output",  "input",
        "host", "port",    "user", "time",  "size",  "enable", "config", "script",  "url"};
    std::string text;
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) text += between;
      text += kWords[Below(std::size(kWords))];
    }
    return text;
  }

  Json Value(int depth) {
    Json schema = Undescribed(depth);
    if (Once(2)) schema["description"] = Words(3 + Below(20), " ") + ".";
    return schema;
  }

  Json Undescribed(int depth) {
    const uint64_t kind = Below(depth > 0 ? 20 : 11);
    if (kind < 5) return String();
    if (kind < 6) return {{"type", "boolean"}, {"default", Once(2)}};
    if (kind < 8) return Number();
    if (kind < 9 && definitions_ > 0)
      return {{"$ref", "#/definitions/" + Definition(static_cast<int>(Below(definitions_)))}};
    if (kind < 10) return {{"enum", Names(1 + Below(30))}};
    if (kind < 11) return Once(2) ? Json{{"type", {"string", "null"}}} : Json::object();
    if (kind < 16) return Object(depth);
    if (kind < 18) {
      Json array = {{"type", "array"}, {"items", Value(depth - 1)}};
      if (Once(3)) array["minItems"] = Below(3);
      if (Once(4)) array["uniqueItems"] = true;
      return array;
    }
    Json several = Json::array();
    for (uint64_t i = 2 + Below(3); i > 0; --i) several.push_back(Value(depth - 1));
    static const char* const kKeywords[] = {"oneOf", "anyOf", "anyOf", "allOf"};
    return {{kKeywords[Below(4)], several}};
  }

  Json String() {
    static const char* const kFormats[] = {"uri", "date-time", "email", "uuid", "ipv4", "hostname"};
    static const char* const kPatterns[] = {
        "^[a-z][a-z0-9_-]*$", "^\\d+\\.\\d+(\\.\\d+)?$", "^\\S",
        "^[A-Z]{2,3}$",       "\\.(json|yaml)$",         "^#[0-9a-fA-F]{6}$"};
    Json schema = {{"type", "string"}};
    const uint64_t kind = Below(10);
    if (kind == 0) schema["format"] = kFormats[Below(std::size(kFormats))];
    if (kind == 1) schema["pattern"] = kPatterns[Below(std::size(kPatterns))];
    if (kind == 2) schema["enum"] = Names(2 + Below(10));
    if (kind == 3) schema["minLength"] = 1 + Below(3);
    if (kind == 3 || kind == 4) schema["maxLength"] = 10 + Below(300);
    return schema;
  }

  Json Number() {
    Json schema = {{"type", Once(2) ? "integer" : "number"}};
    if (Once(3)) schema["minimum"] = Below(3);
    if (Once(4)) schema["maximum"] = 10 + Below(100000);
    return schema;
  }

  Json Object(int depth) {
    Json schema = {{"type", "object"}}, required = Json::array();
    for (uint64_t i = 1 + Below(14); i > 0; --i) {
      const std::string key = Words(1 + Below(3), Once(2) ? "_" : "-");
      schema["properties"][key] = Value(depth - 1);
      if (Once(3)) required.push_back(key);
    }
    if (!required.empty()) schema["required"] = required;
    if (Once(2))
      schema["additionalProperties"] = false;
    else if (Once(4))
      schema["additionalProperties"] = Value(0);
    if (Once(8)) schema["patternProperties"]["^x-"] = Value(0);
    return schema;
  }

  Json Names(uint64_t count) {
    Json names = Json::array();
    for (uint64_t i = 0; i < count; ++i) {
      std::string name = Words(1 + Below(3), "-");
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(std::move(name));
    }
    return names;
  }

  std::mt19937_64 random_;
  const int definitions_;
};

class Trainer {
 public:
  explicit Trainer(std::filesystem::path root) : root_(std::move(root)), tokens_(Tokens()) {
    TokenizerOptions stops;
    stops.stop_token_ids = {static_cast<int32_t>(tokens_.size()) - 1};
    tokenizer_.push_back(OrDie(TokenizerInfo::Create(tokens_, stops)));
    CompilerOptions options;
    options.cache_enabled = false;
    compiler_.push_back(OrDie(GrammarCompiler::Create(tokenizer_[0], options)));
  }

  void Run() {
    for (const char* family : {"pydantic", "zod", "openapi", "fastapi", "schemars", "msgspec"})
      Generated(Read("tests/data/generated_schemas/" + std::string(family) + ".jsonl"));
    Cases(Read("tests/data/json_schema/cases.txt"));
    Applied();
    Large();
    Grammars();
    std::printf("trained: %zu grammars, %zu masks, %zu tokens, %zu saved grammars\n", grammars_,
                masks_, tokens_taken_, loaded_);
  }

 private:
  std::string Read(const std::string& path) const { return ReadFile((root_ / path).string()); }

  // A line each: a schema, with instances.
  void Generated(const std::string& lines) {
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) {
      const Json row = Json::parse(line);
      std::vector<std::string> texts;
      for (const char* key : {"valid", "invalid"}) {
        if (!row.contains(key)) continue;
        for (const Json& instance : row[key]) {
          texts.push_back(Spaced(instance.dump()));
          texts.push_back(instance.dump(2));
        }
      }
      Schema(row["schema"].dump(), texts);
      Json schema = row["schema"];
      if (!schema.is_object()) continue;
      schema.erase("$schema");  // a part of others: what it refers to is found from its own `$id`
      schema["$id"] = "https://example.org/" + std::to_string(parts_.size());
      parts_.push_back(std::move(schema));
    }
  }

  // The file says how it is written; options are left out.
  void Cases(const std::string& lines) {
    std::istringstream in(lines);
    std::string schema;
    std::vector<std::string> texts;
    const auto finish = [&] {
      if (!schema.empty()) Schema(schema, std::exchange(texts, {}));
    };
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("schema ")) {
        finish();
        schema = line.substr(7);
      } else if (line.starts_with("+ ") || line.starts_with("- ")) {
        texts.push_back(line.substr(2));
      }
    }
    finish();
  }

  // Several schemas applied to one value.
  void Applied() {
    for (size_t i = 0; i + 1 < parts_.size(); ++i) {
      for (const char* keyword : {"oneOf", "allOf", "anyOf"}) {
        const Json value = {{keyword, Json::array({parts_[i], parts_[i + 1]})}};
        Schema(Json{{"type", "object"}, {"properties", {{"value", value}}}}.dump());
      }
      const Json no = {{"not", parts_[i]}};
      Schema(Json{{"if", {{"required", {"id"}}}}, {"then", parts_[i]}, {"else", no}}.dump());
    }
  }

  // Schemas of tens of kilobytes: those above together, and drawn ones.
  void Large() {
    constexpr size_t kParts = 30;
    for (size_t begin = 0; begin + kParts < parts_.size(); begin += kParts / 2) {
      Json properties = Json::object(), alternatives = Json::array();
      for (size_t i = begin; i < begin + kParts; ++i) {
        properties["part_" + std::to_string(i)] = parts_[i];
        alternatives.push_back(parts_[i]);
      }
      Schema(Json{{"type", "object"}, {"properties", properties}}.dump());
      Schema(Json{{"type", "array"}, {"items", {{"anyOf", alternatives}}}}.dump());
    }
    for (int i = 0; i < 300; ++i) Schema(DrawnSchemas(random_(), i / 6).Document().dump(2));
  }

  void Grammars() {
    GrammarCompiler& compiler = compiler_[0];
    for (int round = 0; round < 3; ++round) {
      for (const auto& [grammar, sample] : {std::pair{"c_subset.ebnf", "c_subset.sample.c"},
                                            {"sql_select.ebnf", "sql_select.sample.sql"},
                                            {"python_expr.ebnf", "python_expr.sample.py"}})
        Documents(compiler.CompileEbnf(Read("examples/grammars/" + std::string(grammar))),
                  {Read("examples/grammars/" + std::string(sample))});
      Documents(compiler.CompileBuiltinJson(), {R"({"a": [1, true, null, "b\u00e9"], "c": {}})"});
      for (const char* regex : {"[a-z]+@[a-z]+\\.(com|org)", "(19|20)\\d\\d-[01]\\d-[0-3]\\d",
                                "(?i)yes|no|[^\\s\"]{2,30}", "\\p{Lu}\\w*( \\p{Lu}\\w*){0,4}",
                                ".*a.{8}", "\\+?[0-9 ()-]{7,15}"})
        Documents(compiler.CompileRegex(regex),
                  {"ab@cd.org", "2024-02-29", "Yes", "Ab Cd", "+49 30 1"});
    }
  }

  void Schema(const std::string& schema, const std::vector<std::string>& texts = {}) {
    SchemaOptions options;
    for (const bool strict : {false, true}) {
      options.strict_mode = options.any_order = strict;
      Documents(compiler_[0].CompileJsonSchema(schema, options), texts);
    }
  }

  void Documents(const StatusOr<CompiledGrammar>& grammar, const std::vector<std::string>& texts) {
    if (!grammar.ok()) return;
    ++grammars_;
    for (const std::string& text : texts) {
      GrammarMatcher matcher = OrDie(GrammarMatcher::Create(*grammar));
      for (const int32_t token : CutIntoTokens(tokenizer_[0], text)) {
        if (!Fill(&matcher) || !Accept(&matcher, token)) break;
      }
    }
    Draw(*grammar);
    if (grammars_ % 16 == 0) Others(*grammar);
  }

  // A document drawn token by token. Strings mostly end where they can, or few would see a key.
  void Draw(const CompiledGrammar& grammar) {
    constexpr int kMost = 60, kTries = 4;
    GrammarMatcher matcher = OrDie(GrammarMatcher::Create(grammar));
    for (int i = 0; i < kMost && !matcher.IsTerminated(); ++i) {
      if (!Fill(&matcher)) return;
      int32_t token = -1;
      for (int tries = 0; tries < kTries; ++tries) {
        const int32_t drawn = Allowed(random_() % tokens_.size());
        if (drawn >= 0 && (token < 0 || tokens_[static_cast<size_t>(drawn)][0] == '"'))
          token = drawn;
      }
      if (token < 0 || !Accept(&matcher, token)) return;
    }
  }

  // What is asked for less often.
  void Others(const CompiledGrammar& grammar) {
    GrammarMatcher matcher = OrDie(GrammarMatcher::Create(grammar)), other = matcher.Fork();
    for (int i = 0; i < 8 && !matcher.IsTerminated(); ++i) {
      const StatusOr<std::string> forced = matcher.FindJumpForwardString();
      if (forced.ok() && !forced->empty()) matcher.AcceptString(*forced);
      if (matcher.IsTerminated() || !Fill(&matcher)) break;
      const int32_t token = Allowed(random_() % tokens_.size());
      if (token < 0 || !Accept(&matcher, token)) break;
      matcher.ShortestCompletionBytes();
    }
    if (!matcher.Rollback(matcher.history_size() / 2).ok()) return;
    std::vector<int32_t> rows(2 * row_.size());
    BatchGrammarMatcher batch(1);
    GrammarMatcher* const both[] = {&matcher, &other};
    const auto words = static_cast<int64_t>(row_.size());
    if (!batch.FillNextTokenBitmask(both, rows.data(), 2, words, words).ok()) return;
    const StatusOr<std::string> saved = grammar.Serialize();
    if (saved.ok() && compiler_[0].Load(*saved).ok()) ++loaded_;
  }

  // The first allowed token from `token` on, around the end; -1 where there is none.
  int32_t Allowed(size_t token) const {
    const size_t words = row_.size(), first = token / 32;
    for (size_t i = 0; i <= words; ++i) {
      const size_t word = (first + i) % words;
      auto bits = static_cast<uint32_t>(row_[word]);
      if (i == 0) bits &= ~uint32_t{0} << (token % 32);
      if (bits != 0)
        return static_cast<int32_t>(word * 32 + static_cast<size_t>(std::countr_zero(bits)));
    }
    return -1;
  }

  // False where the mask is over a limit.
  bool Fill(GrammarMatcher* matcher) {
    ++masks_;
    row_.resize(static_cast<size_t>(matcher->mask_words()));
    return matcher->FillNextTokenBitmask(row_.data()).ok();
  }

  bool Accept(GrammarMatcher* matcher, int32_t token) {
    if (!matcher->AcceptToken(token)) return false;
    ++tokens_taken_;
    return true;
  }

  const std::filesystem::path root_;
  const std::vector<std::string> tokens_;
  std::vector<TokenizerInfo> tokenizer_;  // one, as of compilers: they have no empty state
  std::vector<GrammarCompiler> compiler_;
  std::vector<Json> parts_;
  std::vector<int32_t> row_;
  std::mt19937_64 random_{1};
  size_t grammars_ = 0, masks_ = 0, tokens_taken_ = 0, loaded_ = 0;
};

}  // namespace
}  // namespace grammask::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr,
                 "usage: profile_training <the folder that holds tests/data and examples>\n");
    return 2;
  }
  grammask::bench::Trainer(argv[1]).Run();
}
