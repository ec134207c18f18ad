// Saved grammars: the same masks after loading, in every way to load; damaged files are refused.
#include "matcher/saved_grammar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "matcher/engine.h"
#include "matcher_world.h"

namespace grammask {
namespace {

TokenizerInfo Tokenizer() {
  std::vector<std::string> tokens;
  for (int c = 0; c < 256; ++c) tokens.emplace_back(1, static_cast<char>(c));
  for (const char* token :
       {"{\"", "\":", ", \"",     "\"}", "true", "null", "[]", "},", "\\u", "00",
        "1.5", "e+",  "\xC3\xA9", "abc", "  ",   "\",",  "]}", "-1", "20",  "name"}) {
    tokens.emplace_back(token);
  }
  return MakeTokenizer(tokens);
}

std::string ManyMembers() {
  nlohmann::json schema = {{"type", "object"}, {"additionalProperties", {{"$ref", "#"}}}};
  for (int i = 0; i < 40; ++i) {
    schema["properties"]["m" + std::to_string(i)] = {{"$ref", "#"}};
  }
  return schema.dump();
}

// Thirty types that refer to one another: a group of some hundred nodes.
std::string ManyTypes() {
  nlohmann::json schema = {{"$ref", "#/$defs/t0"}};
  for (int i = 0; i < 30; ++i) {
    auto type = [&](int step) {
      return nlohmann::json{{"$ref", "#/$defs/t" + std::to_string((i + step) % 30)}};
    };
    schema["$defs"]["t" + std::to_string(i)] = {
        {"anyOf",
         {{{"type", "object"},
           {"properties", {{"kind", {{"const", "k" + std::to_string(i)}}}, {"next", type(1)}}},
           {"required", {"kind"}},
           {"additionalProperties", i % 3 == 0 ? type(2) : nlohmann::json(false)}},
          {{"type", "array"}, {"items", type(7)}, {"maxItems", i % 4 + 1}},
          {{"type", "string"}, {"pattern", "^(?=.*a)[a-" + std::string(1, 'b' + i % 20) + "]+$"}},
          {{"const", i}}}}};
  }
  return schema.dump();
}

// Recursive rules with lists of different values, which call more of them: sixty within another.
std::string DeepLists() {
  constexpr int kDepth = 60;
  std::string text = "root ::= l0\n";
  for (int i = 0; i < kDepth; ++i) {
    const std::string n = std::to_string(i);
    text += "l" + n + " ::= \"[\" Members(\"1.. distinct distinct\", \",\", \"]\", m" + n +
            ", \"[\" l" + n + " \"]\")\n";
    text += "m" + n + " ::= \"{\" [^}]* \"}\" \"1.5\" [^a]{2,} \":\" l" + std::to_string(i + 1) +
            "? \"}\" [a-z]{2,}\n";
  }
  return text + "l" + std::to_string(kDepth) + " ::= \"true\"\n";
}

// Sources of all kinds, each behind what it is.
std::vector<std::pair<char, std::string>> Sources() {
  std::vector<std::pair<char, std::string>> sources = {
      {'e', "root ::= \"a\" | \"b\" root \"c\""},
      {'e', "root ::= a*\na ::= b*\nb ::= \"x\" | \"\""},
      {'e', "root ::= root root | \"a\""},
      {'e', "root ::= \"x\" | \"a\" root \"a\" | \"b\" root \"b\""},
      {'e',
       "root ::= value\nvalue ::= [a-z]{9,} | list | \"<\" pair \">\"\nlist ::= \"[\" value "
       "(\",\" value)* \"]\"\npair ::= value \"=\" list"},
      {'e', "root ::= Token(3) \"x\" | ExcludeToken(1, 2) root"},
      {'r', "[a-z]{1,5000}"},
      {'r', "(?=.*[0-9])(?!.*abc).{3,300}"},
      {'r', "([0-9]{4}-){2,}|\\p{Lu}+\\d*"},
      // Intersections deep inside one another, also in rules that are read when they are called.
      {'r', "(?:(?=.*a)(?=.*b)c|d(?!e*f)){150}"},
      {'s', R"({"type": "object", "properties": {
               "k": {"type": "string", "pattern": "^(?:(?=.*a)(?=.*b)c|d(?!e*f)){150}x$"},
               "l": {"type": "string", "pattern": "^(?:(?=.*a)(?=.*b)c|d(?!e*f)){150}xx$"}},
               "required": ["k", "l"], "additionalProperties": false})"},
      {'j', R"({"type": "number", "multipleOf": 0.25})"},
      {'j', R"({"type": "array", "uniqueItems": true, "items": {"enum": [1, "a", true, null]}})"},
      {'j', R"({"type": "array", "uniqueItems": true, "items": {"type": "object"}})"},
      {'j', R"({"not": {"type": "string", "pattern": "^ab"}})"},
      // Straight: objects that refer to themselves, closed and open, in unions, with many members.
      {'s', R"({"type": "object", "properties": {"a": {"$ref": "#"}, "name": {"type": "null"}},
               "additionalProperties": false})"},
      {'s', R"({"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"const": 1}},
               "required": ["b"], "additionalProperties": {"$ref": "#"}})"},
      {'s', R"({"$ref": "#/$defs/t", "$defs": {"t": {"anyOf": [
               {"type": "object", "properties": {"k": {"const": "x"}, "v": {"$ref": "#/$defs/t"}},
                "required": ["k"], "additionalProperties": false},
               {"type": "object", "properties": {"l": {"$ref": "#/$defs/t"}}, "required": ["l"]},
               {"type": "array", "items": {"$ref": "#/$defs/t"}}]}}})"},
      {'s', ManyMembers()},
      {'s', ManyTypes()},
      {'e', DeepLists()},
  };
  for (const auto& file :
       std::filesystem::directory_iterator(GRAMMASK_TEST_DATA "/generated_schemas")) {
    if (file.path().extension() != ".jsonl") continue;
    std::ifstream lines(file.path());
    int number = 0;
    for (std::string line; std::getline(lines, line); ++number) {
      if (number % 4 == 0) sources.push_back({'j', nlohmann::json::parse(line)["schema"].dump()});
    }
  }
  return sources;
}

StatusOr<CompiledGrammar> CompileSource(GrammarCompiler* compiler, char kind,
                                        const std::string& source, bool any_order = false) {
  if (kind == 'e') return compiler->CompileEbnf(source);
  if (kind == 'r') return compiler->CompileRegex(source);
  SchemaOptions options;
  options.any_order = any_order && kind != 's';
  options.widen = kind != 's';
  return compiler->CompileJsonSchema(source, options);
}

// The same masks, completions and forced texts along a random walk.
void ExpectAlike(const CompiledGrammar& x, const CompiledGrammar& y, uint32_t seed) {
  GrammarMatcher a = MakeMatcher(x), b = MakeMatcher(y);
  std::mt19937 random(seed);
  for (int step = 0; step < 40; ++step) {
    const Ids allowed = Allowed(&a);
    ASSERT_EQ(Allowed(&b), allowed) << "step " << step;
    ASSERT_EQ(a.ShortestCompletionBytes(), b.ShortestCompletionBytes()) << "step " << step;
    ASSERT_EQ(*a.FindJumpForwardString(), *b.FindJumpForwardString()) << "step " << step;
    if (allowed.empty()) return;
    const int32_t token = allowed[random() % allowed.size()];
    ASSERT_TRUE(a.AcceptToken(token) && b.AcceptToken(token));
    if (a.HasStopped()) return;
  }
}

std::string Saved(const CompiledGrammar& compiled, bool masks = true) {
  const auto saved = compiled.Serialize({.masks = masks});
  EXPECT_TRUE(saved.ok()) << saved.status().message();
  return *saved;
}

CompiledGrammar Loaded(StatusOr<CompiledGrammar> loaded) {
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return *loaded;
}

TEST(SavedGrammar, SameMasksInEveryWayToLoad) {
  const TokenizerInfo tokenizer = Tokenizer();
  CompilerOptions tiny_options;
  tiny_options.limits.arena_bytes = 1;  // tables are thrown away at every look
  GrammarCompiler source = MakeCompiler(tokenizer), shared = MakeCompiler(tokenizer),
                  trusting = MakeCompiler(tokenizer), tiny = MakeCompiler(tokenizer, tiny_options);
  uint32_t seed = 0;
  for (const auto& [kind, text] : Sources()) {
    SCOPED_TRACE(text);
    const auto compiled = CompileSource(&source, kind, text, seed % 2 == 1);
    if (!compiled.ok()) continue;
    ExpectAlike(*compiled, *compiled, ++seed);  // makes some masks
    const std::string saved = Saved(*compiled);
    const CompiledGrammar loads[] = {
        Loaded(CompiledGrammar::Deserialize(saved, tokenizer)),
        Loaded(CompiledGrammar::Deserialize(saved, tokenizer, {.trusted = true})),
        Loaded(shared.Load(saved)),
        Loaded(trusting.Load(saved, true)),
        Loaded(tiny.Load(saved)),
        Loaded(tiny.Load(saved, true)),
        Loaded(source.Load(saved)),
        Loaded(source.Load(saved, true)),
    };
    for (const CompiledGrammar& loaded : loads) {
      for (uint32_t walk = 0; walk < 3; ++walk) ExpectAlike(*compiled, loaded, seed * 8 + walk);
      EXPECT_TRUE(std::ranges::equal(loaded.warnings(), compiled->warnings()));
      EXPECT_TRUE(std::ranges::equal(loaded.grammar().warnings(), compiled->warnings()));
    }
    // Its text is that of the grammar.
    ExpectAlike(*compiled, Compile(&shared, loads[0].grammar()), seed);
    // What was loaded can be saved again, by itself.
    const CompiledGrammar again =
        Loaded(CompiledGrammar::Deserialize(Saved(loads[3]), tokenizer, {.trusted = true}));
    ExpectAlike(*compiled, again, seed);
  }
  EXPECT_GT(seed, 40u);
}

TEST(SavedGrammar, MasksAreTakenFromTrustedFilesOnly) {
  const TokenizerInfo tokenizer = Tokenizer();
  GrammarCompiler compiler = MakeCompiler(tokenizer);
  const CompiledGrammar compiled = *compiler.CompileJsonSchema(
      R"({"properties": {"a": {"type": "string"}, "b": {"type": "array"}}})");
  const size_t first = compiled.stats().masks;
  ASSERT_GT(compiled.Precompute(1, 1000), 10u);
  const size_t masks = compiled.stats().masks;
  ASSERT_GT(masks, first);
  const std::string with = Saved(compiled), without = Saved(compiled, false);
  EXPECT_GT(with.size(), without.size());
  EXPECT_EQ(CompiledGrammar::Deserialize(with, tokenizer)->stats().masks, first);
  EXPECT_EQ(CompiledGrammar::Deserialize(without, tokenizer, {.trusted = true})->stats().masks,
            first);
  const CompiledGrammar trusted = *CompiledGrammar::Deserialize(with, tokenizer, {.trusted = true});
  const size_t taken = trusted.stats().masks;
  EXPECT_GT(taken, 10u);
  EXPECT_LE(taken, masks);
  GrammarMatcher matcher = MakeMatcher(trusted);
  for (const char* text : {"{", "\"", "a", "\"", ":", " ", "\"", "x"}) {
    ASSERT_TRUE(matcher.AcceptString(text));
    Allowed(&matcher);
    EXPECT_EQ(trusted.stats().masks, taken) << "the mask after " << text << " was in the file";
  }
}

TEST(SavedGrammar, EveryPrefixAndEveryFlippedByteIsRefused) {
  const TokenizerInfo tokenizer = Tokenizer();
  GrammarCompiler compiler = MakeCompiler(tokenizer);
  const CompiledGrammar compiled =
      *compiler.CompileJsonSchema(R"({"properties": {"a": {"type": "array"}}})");
  compiled.Precompute(1, 30);
  const std::string saved = Saved(compiled);
  for (size_t n = 0; n < saved.size(); ++n) {
    const auto loaded = CompiledGrammar::Deserialize(saved.substr(0, n), tokenizer);
    ASSERT_FALSE(loaded.ok()) << n;
    ASSERT_NE(loaded.status().code(), StatusCode::kInternal);
    std::string flipped = saved;
    flipped[n] = static_cast<char>(flipped[n] ^ (1 << n % 8));
    ASSERT_FALSE(CompiledGrammar::Deserialize(flipped, tokenizer).ok()) << n;
  }
  EXPECT_FALSE(CompiledGrammar::Deserialize(saved + "x", tokenizer).ok());
}

TEST(SavedGrammar, ErrorsSayWhatIsWrong) {
  const TokenizerInfo tokenizer = Tokenizer(), other = MakeTokenizer({"a", "b"});
  GrammarCompiler compiler = MakeCompiler(tokenizer);
  const std::string saved = Saved(*compiler.CompileRegex("a+"));
  auto error = [&](const std::string& bytes, const TokenizerInfo& t, StatusCode code) {
    const auto loaded = CompiledGrammar::Deserialize(bytes, t);
    EXPECT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.status().code(), code);
    return loaded.status().message();
  };
  const auto bad = StatusCode::kInvalidArgument;
  EXPECT_TRUE(error("root ::= \"a\"", tokenizer, bad).find("no saved grammar") !=
              std::string::npos);
  EXPECT_TRUE(error(saved, other, bad).find("another vocabulary") != std::string::npos);
  EXPECT_TRUE(error(saved.substr(0, 70), tokenizer, bad).find("damaged at byte 70") !=
              std::string::npos);
  std::string newer = saved;
  newer[8] = 9;
  EXPECT_TRUE(error(newer, tokenizer, StatusCode::kUnsupported).find("version 9") !=
              std::string::npos);
  LoadOptions small;
  small.limits.max_ast_nodes = 1;
  const auto loaded = CompiledGrammar::Deserialize(saved, tokenizer, small);
  EXPECT_EQ(loaded.status().code(), StatusCode::kResourceExhausted);
}

// The text is kept packed; what counts is how long it is.
TEST(SavedGrammar, LengthOfThePackedText) {
  const TokenizerInfo tokenizer = Tokenizer();
  GrammarCompiler compiler = MakeCompiler(tokenizer);
  std::string text = "root ::= ";
  for (int i = 0; i < 1000; ++i) text += "\"aaaa\" ";
  text += "\n";
  const CompiledGrammar compiled = *compiler.CompileEbnf(text);
  const std::string saved = *compiled.Serialize({.masks = false});
  const std::string printed = compiled.grammar().ToString();
  ASSERT_GT(printed.size(), 2 * saved.size());
  LoadOptions options;
  options.limits.max_source_bytes = printed.size() / 2;
  const auto refused = CompiledGrammar::Deserialize(saved, tokenizer, options);
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  options.limits.max_source_bytes = 2 * printed.size();
  const auto loaded = CompiledGrammar::Deserialize(saved, tokenizer, options);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->grammar().ToString(), printed);
}

// Files with a right checksum and anything behind it: refused or a sound grammar.
TEST(SavedGrammar, ForgedFiles) {
  const TokenizerInfo tokenizer = Tokenizer();
  GrammarCompiler compiler = MakeCompiler(tokenizer);
  std::mt19937 random(5);
  int sound = 0;
  for (
      const std::string& schema :
      {std::string(
           R"({"properties": {"a": {"type": "array", "uniqueItems": true, "items": {"enum": [1, 2]}}}})"),
       std::string(R"({"items": {"pattern": "^a.*b", "maxLength": 9}})"), ManyTypes(),
       DeepLists()}) {
    const bool any_order = schema.size() < 200;
    const CompiledGrammar compiled = *CompileSource(&compiler,
                                                    schema[0] == 'r' ? 'e'
                                                    : any_order      ? 'j'
                                                                     : 's',
                                                    schema, any_order);
    compiled.Precompute(1, 50);
    const std::string saved = Saved(compiled);
    for (int i = 0; i < 2000; ++i) {
      std::string forged = saved;
      for (unsigned n = 1 + random() % 2; n > 0; --n) {
        forged[64 + random() % (forged.size() - 64)] ^= static_cast<char>(1 << random() % 8);
      }
      if (random() % 2 == 0) {  // a name that something else has, or another piece
        const size_t size = random() % 2 == 0 ? 16 : 1 + random() % 40, room = forged.size() - 64;
        if (size < room) {
          const std::string piece = forged.substr(64 + random() % (room - size), size);
          forged.replace(64 + random() % (room - size), size, piece);
        }
      }
      const uint64_t checksum = internal::SavedChecksum(forged);
      for (size_t b = 0; b < 8; ++b) forged[56 + b] = static_cast<char>(checksum >> (8 * b));
      LoadOptions options;
      options.limits.max_regular_states = 10'000;
      options.trusted = i % 2 == 1;
      const auto loaded = CompiledGrammar::Deserialize(forged, tokenizer, options);
      if (!loaded.ok()) {
        ASSERT_FALSE(loaded.status().message().empty());
        continue;
      }
      ++sound;
      GrammarMatcher matcher = MakeMatcher(*loaded);
      for (int step = 0; step < 5; ++step) {
        const Ids accepted = AcceptedOnForks(matcher);
        const Ids allowed = Allowed(&matcher);
        if (!options.trusted) {
          ASSERT_EQ(allowed, accepted);
        }
        if (accepted.empty()) break;
        ASSERT_TRUE(matcher.AcceptToken(accepted[random() % accepted.size()]));
        if (matcher.HasStopped()) break;
      }
      loaded->grammar();
    }
  }
  EXPECT_GT(sound, 100);
}

}  // namespace
}  // namespace grammask
