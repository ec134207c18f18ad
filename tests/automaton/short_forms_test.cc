// Short forms, records and standard grammars, against what they stand for: the same bytes may come
// after every text of random walks.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "automaton/build.h"
#include "base/cpu_seconds.h"
#include "grammar/json_schema.h"
#include "grammar/member_trie.h"
#include "grammar/record.h"
#include "parser/set_table.h"

namespace grammask::internal {
namespace {

class Walker {
 public:
  explicit Walker(const Grammar& grammar) : store_(Limits(), 64), sets_(&store_) {
    StatusOr<TermId> root = BuildTerms(grammar, &store_);
    status_ = root.status();
    if (root.ok()) start_ = sets_.Start(*root);
  }
  const Status& status() const { return status_; }
  SetId start() const { return start_; }
  SetTable& sets() { return sets_; }
  size_t memory_bytes() const { return store_.memory_bytes() + sets_.memory_bytes(); }

 private:
  TermStore store_;
  SetTable sets_;
  SetId start_;
  Status status_;
};

std::vector<uint8_t> Allowed(Walker* walker, SetId set) {
  std::vector<uint8_t> bytes;
  for (int b = 0; b < 256; ++b) {
    const SetId next = walker->sets().Step(set, static_cast<uint8_t>(b));
    if (next != SetTable::Dead()) bytes.push_back(static_cast<uint8_t>(b));
  }
  return bytes;
}

// Walks both grammars along random texts, mostly towards an end.
void ExpectSame(const Grammar& short_form, const Grammar& long_form, uint64_t seed, int walks) {
  Walker a(short_form), b(long_form);
  ASSERT_EQ(a.status().code(), b.status().code()) << b.status().message();
  if (!a.status().ok()) return;
  std::mt19937_64 random(seed);
  for (int walk = 0; walk < walks; ++walk) {
    SetId x = a.start(), y = b.start();
    std::string text;
    while (text.size() < 400) {
      ASSERT_EQ(a.sets().set(x).accepting, b.sets().set(y).accepting) << text;
      ASSERT_EQ(a.sets().ShortestCompletion(x), b.sets().ShortestCompletion(y)) << text;
      std::vector<uint8_t> bytes = Allowed(&a, x);
      ASSERT_EQ(bytes, Allowed(&b, y)) << text;
      std::erase_if(bytes, [&](uint8_t c) {
        return c == ' ' || c == '\t' || c == '\n' || c == '\r' || (c == '\\' && random() % 8 != 0);
      });
      if (bytes.empty()) break;
      // Letters of names and ends of what is open rather than any text at all.
      uint8_t byte = bytes[random() % bytes.size()];
      for (uint8_t c : bytes) {
        if ((c == '"' || c == '}') && random() % 4 == 0) byte = c;
      }
      text += static_cast<char>(byte);
      x = a.sets().Step(x, byte);
      y = b.sets().Step(y, byte);
    }
  }
}

struct Parts {
  explicit Parts(GrammarBuilder* builder) : b(*builder) {
    space = b.Star(b.Bytes(" "));
    quote = b.Bytes("\"");
    any = b.Star(b.JsonClass(CodePointSet::All()));
  }
  Record Empty() {
    return {.open = b.Sequence({b.Bytes("{"), space}),
            .end = b.Bytes("}"),
            .quote = quote,
            .comma = b.Sequence({b.Bytes(","), space}),
            .comma_quote = b.Sequence({b.Bytes(","), space, quote}),
            .quote_colon = b.Sequence({quote, b.Bytes(":"), space}),
            .colon = b.Sequence({b.Bytes(":"), space}),
            .after = space,
            .any_key = b.Nothing(),
            .other = b.Nothing(),
            .may_be_empty = true,
            .members = {}};
  }
  GrammarBuilder& b;
  NodeId space, quote, any;
};

// What the i-th key begins with: one of a few letters; the same word, longer than one literal or
// not; one of two letters that share a byte.
std::string Beginning(uint64_t seed, size_t i) {
  switch (seed % 4) {
    case 0:
      return std::string(1, static_cast<char>('a' + i % 7));
    case 1:
      return "field_";
    case 2:
      return i % 2 == 0 ? "\u00e9" : "\u00e8";
    default:
      return std::string(40, 'x');
  }
}

TEST(Records, RandomOnesAreWhatTheyStandFor) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    std::mt19937_64 random(seed);
    GrammarBuilder b;
    Parts parts(&b);
    Record record = parts.Empty();
    const RuleId text = b.AddRule("text");
    b.SetBody(text, b.Sequence({parts.quote, parts.any, parts.quote}));
    // No text matches it, which shows only when the automaton is built.
    const NodeId none = b.And({b.Bytes("a"), b.JsonText("b")});
    const NodeId values[] = {b.Rule(text),
                             b.Bytes("true"),
                             b.Choice({b.Bytes("1"), b.Bytes("23")}),
                             b.Choice({b.Rule(text), b.Bytes("null")}),
                             none,
                             b.Nothing()};
    const size_t kinds = seed % 3 == 0 ? 6 : 4;
    const size_t most = seed % 5 == 0 ? 50 : seed % 11 == 0 ? 200 : 6;
    const size_t required_in = 1 + random() % 6;
    std::vector<std::string> keys;
    for (size_t i = 0, n = random() % most; i < n; ++i) {
      keys.push_back(Beginning(seed, i) + (i == n / 2 ? "" : std::to_string(i)));
    }
    for (const std::string& key : keys) {
      const size_t kind = random() % kinds;
      record.members.push_back({key, values[kind], kind < 5 && random() % required_in == 0});
    }
    if (random() % 2 == 0) {
      record.any_key = parts.any;
      record.other = values[random() % kinds];
    }
    // As the front end has it: what must come cannot be missing.
    record.may_be_empty = random() % 2 == 0;
    for (const Record::Member& m : record.members) record.may_be_empty &= !m.required;
    const RuleId inner = b.AddRule("record"), root = b.AddRule("root");
    b.SetBody(inner, b.Record(record));
    b.SetBody(root, b.Sequence({b.Bytes("["), b.Rule(inner), b.Bytes("]")}));
    const StatusOr<Grammar> grammar = b.Finish(seed % 4 == 0 ? inner : root);
    ASSERT_TRUE(grammar.ok()) << grammar.status().message();
    const Grammar plain = WithoutShortForms(*grammar);
    EXPECT_FALSE(plain.has_short_forms());
    ExpectSame(*grammar, plain, seed, 12);
    if (HasFatalFailure()) {
      ADD_FAILURE() << "seed " << seed << "\n" << plain.ToString();
      return;
    }
  }
}

// Seconds until a parse of an object of so many optional members has read its brace: the least of a
// few times.
double TimeToFirstMember(int members) {
  GrammarBuilder b;
  Parts parts(&b);
  Record record = parts.Empty();
  std::vector<std::string> keys;
  for (int i = 0; i < members; ++i) keys.push_back("name" + std::to_string(i));
  for (const std::string& key : keys) record.members.push_back({key, b.Bytes("1"), false});
  record.any_key = parts.any;
  record.other = b.Bytes("2");
  const RuleId root = b.AddRule("root");
  b.SetBody(root, b.Record(record));
  const StatusOr<Grammar> grammar = b.Finish(root);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    Walker walker(*grammar);
    const double began = CpuSeconds();
    const SetId inside = walker.sets().Run(walker.start(), "{");
    EXPECT_NE(walker.sets().Step(inside, '"'), SetTable::Dead());
    least = std::min(least, CpuSeconds() - began);
  }
  return least;
}

// Members come sixteen a procedure, and any of them may be the first: what a procedure needs of all
// members is not gone through for each.
TEST(Records, TakeTimeInProportionToTheirMembers) {
  EXPECT_LT(TimeToFirstMember(40'000), 9 * TimeToFirstMember(10'000));  // sixteen times if squared
}

// Keys that begin alike are read up to where they differ in one state for each procedure.
TEST(Records, KeysThatBeginAlikeShareStates) {
  constexpr int kMembers = 8'000;
  auto bytes = [](const std::string& beginning) {
    GrammarBuilder b;
    Parts parts(&b);
    Record record = parts.Empty();
    std::vector<std::string> keys;
    for (int i = 0; i < kMembers; ++i) keys.push_back(beginning + std::to_string(100'000 + i));
    for (const std::string& key : keys) record.members.push_back({key, b.Bytes("1"), false});
    const RuleId root = b.AddRule("root");
    b.SetBody(root, b.Record(record));
    Walker walker(*b.Finish(root));
    EXPECT_NE(walker.sets().Run(walker.start(), "{\"" + beginning), SetTable::Dead());
    return static_cast<double>(walker.memory_bytes());
  };
  // With a state for each letter and member it is 3.7 times as much.
  EXPECT_LT(bytes("abcdefghijklmnopqrst"), 1.3 * bytes(""));
}

// Cases that share what they begin with, against a choice between all of them.
TEST(Records, TriesOfCasesAreChoices) {
  for (uint64_t seed = 0; seed < 80; ++seed) {
    auto make = [&](bool shared) {
      std::mt19937_64 random(seed);
      GrammarBuilder b;
      Parts parts(&b);
      const Record around = parts.Empty();
      const RuleId text = b.AddRule("text");
      b.SetBody(text, b.Sequence({parts.quote, parts.any, parts.quote}));
      const NodeId values[] = {b.Rule(text), b.Bytes("1"), b.Choice({b.Rule(text), b.Bytes("2")})};
      auto as_rule = [&](NodeId node) {
        const RuleId rule = b.AddRule("members");
        b.SetBody(rule, node);
        return b.Rule(rule);
      };
      const NodeId other = b.Rule(text);
      const NodeId more = b.Sequence({b.Star(b.Sequence({around.comma, other})), around.end});
      MemberTrie trie;
      std::vector<NodeId> choice;
      const size_t keys = seed % 5 == 0 ? 40 : 5, left_out = 2 + random() % 3;
      for (size_t i = 0, n = 1 + random() % 9; i < n; ++i) {
        std::vector<OrderedMembers::Member> members;
        bool required = false;
        for (size_t k = 0; k < keys; ++k) {
          if (random() % left_out == 0) continue;
          const bool must = random() % 4 == 0;
          required |= must;
          members.push_back({b.JsonText("k" + std::to_string(k)),
                             values[random() % 4 == 0 ? random() % 3 : k % 3], must});
        }
        const bool open = random() % 2 == 0, may_be_empty = !required && random() % 2 == 0;
        NodeId first = b.Nothing();
        if (open && !required) first = b.Sequence({other, more});
        const OrderedMembers all{.members = members,
                                 .quote = around.quote,
                                 .comma_quote = around.comma_quote,
                                 .quote_colon = around.quote_colon,
                                 .after = around.after,
                                 .others_first = first,
                                 .rest = open ? more : around.end};
        if (shared) {
          trie.Add(all, may_be_empty);
        } else {
          choice.push_back(MembersInOrder(&b, all, as_rule));
          if (may_be_empty) choice.push_back(around.end);
        }
      }
      if (shared) {
        choice.push_back(trie.Content(&b, as_rule));
        if (trie.may_be_empty()) choice.push_back(around.end);
      }
      const RuleId root = b.AddRule("root");
      b.SetBody(root, b.Sequence({b.Bytes("{"), b.Choice(choice)}));
      return b.Finish(root).value();
    };
    ExpectSame(make(true), make(false), seed, 12);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
  }
}

// What many cases begin with is written once: they are few nodes.
TEST(Records, CasesOfASchemaShareTheirMembers) {
  std::string schema = R"({"type":"object","properties":{)";
  for (int i = 0; i < 12; ++i) schema += "\"p" + std::to_string(i) + R"(":{"type":"null"},)";
  schema += R"("a":{}},"required":["p0"],"not":{"anyOf":[)";
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    schema += std::string(i > 0 ? "," : "") + R"({"properties":{"x)" + n +
              R"(":{"type":"string"},"y)" + n + R"(":{"type":"integer"}}})";
  }
  schema += "]}}";
  const Grammar grammar = GrammarFromJsonSchema(schema).value();
  size_t members = 0;
  for (uint32_t n = 0; n < grammar.node_count(); ++n) {
    const NodeView node = grammar.node(NodeId(n));
    for (NodeId c : node.children) {
      const NodeView child = grammar.node(c);
      members += child.kind == NodeKind::kJsonText && child.text == "p0";
    }
  }
  EXPECT_LE(members, 4u);  // of sixteen cases
}

TEST(Records, SchemasHaveTheSameTexts) {
  std::string many = R"({"type":"object","properties":{)";
  for (int i = 0; i < 60; ++i) {
    many += (i > 0 ? ",\"p" : "\"p") + std::to_string(i) + R"(":{"type":"integer"})";
  }
  many += R"(},"required":["p7","p40"]})";
  const std::string schemas[] = {
      many,
      R"({"type":"object","properties":{"a":{"type":"null"},"b":{"enum":["x","y"]},"c":{}}})",
      R"({"type":"object","properties":{"a":{"type":"null"},"b":false,"c":{},"d":{"minimum":3}},
          "required":["c"]})",
      // Itself, at once and over others, and a part that is in no cycle.
      R"({"type":"object","properties":{"a":{"$ref":"#"},"b":{"type":"null"},"c":{"const":1}}})",
      R"({"$ref":"#/$defs/x","$defs":{
          "x":{"type":"object","properties":{"y":{"$ref":"#/$defs/y"},"z":{"$ref":"#/$defs/z"},
               "w":{"$ref":"#/$defs/w"}},"additionalProperties":false},
          "y":{"type":"object","properties":{"x":{"$ref":"#/$defs/x"},"b":{},"c":{}}},
          "z":{"type":"object","properties":{"y":{"$ref":"#/$defs/y"},"b":{},"c":{}}},
          "w":{"type":"object","properties":{"k":{"type":"null"},"l":{"type":"null"},
               "m":{"type":"null"}}}}})",
      R"({"type":"object","properties":{"a":{"$ref":"#/$defs/t"},"b":{"$ref":"#/$defs/t"},"c":{}},
          "required":["a"],"$defs":{"t":{"type":"object","properties":{
          "next":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/t"}]},"v":{"type":"null"},"w":{}}}}})",
      R"({"type":"object","properties":{"":{"type":"null"},"b":{"type":"null"},"c":{}}})",
      R"({"type":"object","properties":{"a":{},"b":{},"c":{}},"minProperties":1})",
      R"({"type":"object","properties":{"a":{},"b":{},"c":{}},"maxProperties":2})",
      R"({"type":["object","null"],"properties":{"a":{},"b":{},"c":{}}})",
      // Unions of objects, beside other types, with members that differ in their values, with one
      // that is no record, and in a cycle.
      R"({"anyOf":[{"type":"object","properties":{"a":{"const":1},"b":{"type":"null"}},
          "required":["a"],"additionalProperties":false},
          {"type":"object","properties":{"a":{"const":2},"c":{"type":"null"}},"required":["a"]}]})",
      R"({"anyOf":[{"type":"object","properties":{"a":{"type":"null"}},"required":["a"]},
          {"type":"array","maxItems":1},{"type":"object","patternProperties":{"^b":{}},
          "additionalProperties":false},{"type":"object","properties":{"b":{"type":"null"}},
          "required":["b"],"maxProperties":2},{"type":"null"}]})",
      R"({"type":"array","items":{"oneOf":[
          {"type":"object","properties":{"k":{"const":"x"},"v":{"$ref":"#"}},"required":["k"]},
          {"type":"object","properties":{"k":{"const":"y"}},"required":["k","w"]}]}})",
      // Standard ones: alone, in unions, elements and further members, and beside what is not.
      R"({"type":"object","properties":{"i":{"type":"integer"},"n":{"type":"number"},
          "s":{"type":"string"},"u":{"type":["string","integer","null"]},
          "l":{"type":"array","items":{"type":"number"}},"m":{"minimum":3},
          "k":{"minLength":2}},"additionalProperties":{"type":"integer"}})",
      R"({"$schema":"http://json-schema.org/draft-04/schema#","type":"array",
          "items":{"type":"integer"}})",
      R"({"type":"array","items":{"format":"ipv4"},"uniqueItems":true})",
      R"({"type":"object","properties":{"t":{"type":"string","format":"time"},
          "u":{"type":"string","format":"uuid"},"r":{"type":"string","format":"regex"},
          "d":{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]},
          "e":{"type":"string","format":"date","minLength":3},"x":{"type":"string","format":"x"}}})",
      R"({"type":"string"})",
      R"({"type":["integer","string"],"format":"date"})",
      R"({"type":"object","additionalProperties":{"anyOf":[{"$ref":"#"},{"type":"string"}]}})",
  };
  for (const std::string& schema : schemas) {
    for (bool strict : {false, true}) {
      for (bool whitespace : {false, true}) {
        JsonSchemaOptions options;
        options.strict_mode = strict;
        options.any_whitespace = whitespace;
        const StatusOr<Grammar> plain = GrammarFromJsonSchema(schema, options);
        options.short_forms = true;
        const StatusOr<Grammar> grammar = GrammarFromJsonSchema(schema, options);
        ASSERT_TRUE(plain.ok() && grammar.ok()) << schema;
        EXPECT_FALSE(plain->has_short_forms());
        ExpectSame(*grammar, *plain, 5, 15);
        ASSERT_FALSE(HasFatalFailure()) << schema;
      }
    }
  }
}

// Grammars that never go away.
const std::vector<const Grammar*>& Standards() {
  static const auto& standards = *[] {
    auto* made = new std::vector<const Grammar*>;
    auto add = [&](auto&& body) {
      GrammarBuilder b;
      const RuleId rule = b.AddRule("standard");
      b.SetBody(rule, body(b, rule));
      made->push_back(new Grammar(b.Finish(rule).value()));
    };
    using B = GrammarBuilder;
    add([](B& b, RuleId) { return b.Choice({b.Bytes("a"), b.Bytes("b")}); });  // written into users
    add([](B& b, RuleId) {
      return b.Sequence({b.Bytes("\""), b.Star(b.JsonClass(CodePointSet::All())), b.Bytes("\"")});
    });
    add([](B& b, RuleId) { return b.Star(b.Bytes("ab")); });  // may be empty
    add([](B& b, RuleId rule) {
      return b.Choice({b.Bytes("0"), b.Sequence({b.Bytes("["), b.Rule(rule), b.Bytes("]")})});
    });
    add([](B& b,
           RuleId) {  // an intersection, which is searched for a text: none is of three letters
      const NodeId letter = b.Class(CodePointSet({{'a', 'z'}}));
      const NodeId two = b.Sequence({letter, letter});
      return b.And({b.Repeat(letter, 3, 9), b.Sequence({b.Star(two), b.Bytes("xy")})});
    });
    return made;
  }();
  return standards;
}

// A grammar with standard ones in all kinds of places.
Grammar WithStandards(uint64_t seed) {
  std::mt19937_64 random(seed);
  GrammarBuilder b;
  const RuleId root = b.AddRule("root"), other = b.AddRule("other");
  std::vector<NodeId> nodes = {b.Bytes("q"), b.Rule(other), b.Bytes("\"")};
  for (const Grammar* standard : Standards()) nodes.push_back(b.Standard(*standard));
  auto any = [&] { return nodes[random() % nodes.size()]; };
  for (int i = 0; i < 12; ++i) {
    switch (random() % 4) {
      case 0:
        nodes.push_back(b.Sequence({any(), any(), any()}));
        break;
      case 1:
        nodes.push_back(b.Choice({any(), any()}));
        break;
      case 2:
        nodes.push_back(b.Repeat(any(), static_cast<int64_t>(random() % 2), 3));
        break;
      default: {
        const RuleId rule = b.AddRule("rule");
        b.SetBody(rule, any());
        nodes.push_back(b.Rule(rule));
        break;
      }
    }
  }
  b.SetBody(other, b.Choice({b.Sequence({b.Bytes("("), nodes.back(), b.Bytes(")")}),
                             b.Standard(*Standards()[random() % Standards().size()])}));
  b.SetBody(root, b.Sequence({nodes.back(), b.Bytes(";"), any()}));
  return b.Finish(root).value();
}

TEST(Standards, AreWhatTheyStandFor) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Grammar grammar = WithStandards(seed);
    const Grammar plain = WithoutShortForms(grammar);
    EXPECT_FALSE(plain.has_short_forms());
    ExpectSame(grammar, plain, seed, 8);
    if (HasFatalFailure()) {
      ADD_FAILURE() << "seed " << seed << "\n" << plain.ToString();
      return;
    }
    EXPECT_EQ(grammar.ToString(), plain.ToString());
  }
}

// Built once for all grammars of a store, whichever comes first.
TEST(Standards, AreSharedByGrammars) {
  TermStore store(Limits(), 64);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    ASSERT_TRUE(BuildTerms(WithStandards(seed), &store).ok());
  }
  for (const Grammar* standard : Standards()) {
    const TermStore::StandardPart* part = store.FindStandard(standard);
    ASSERT_NE(part, nullptr);
    EXPECT_EQ(part->length, store.term(part->term).min_length);
    GrammarBuilder b;
    const RuleId root = b.AddRule("root");
    b.SetBody(root, b.Sequence({b.Bytes("<"), b.Standard(*standard), b.Bytes(">")}));
    const Grammar grammar = b.Finish(root).value();
    const TermId built = BuildTerms(grammar, &store).value();
    EXPECT_EQ(built, BuildTerms(WithoutShortForms(grammar), &store).value());
  }
}

// An intersection that takes too many states is an error for every grammar that holds it.
TEST(Standards, MayTakeTooManyStates) {
  Limits limits;
  limits.max_regular_states = 2;
  TermStore store(limits, 64);
  GrammarBuilder b;
  const RuleId root = b.AddRule("root");
  b.SetBody(root, b.Sequence({b.Bytes("<"), b.Standard(*Standards().back())}));
  const Grammar grammar = b.Finish(root).value();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(BuildTerms(grammar, &store).status().code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(store.FindStandard(Standards().back()), nullptr);
  }
}

// A copy into another builder keeps short forms unless it is asked to write them out.
TEST(Standards, AreImported) {
  const Grammar grammar = WithStandards(1);
  for (bool expand : {false, true}) {
    GrammarBuilder b;
    const RuleId root = b.Import(grammar, expand);
    EXPECT_EQ(b.Finish(root).value().has_short_forms(), !expand);
  }
}

// A group of rules is known by all that its records say.
TEST(Records, OfCyclesAreToldApart) {
  TermStore store(Limits{}, 16);
  auto build = [&](const char* members, const char* more) {
    JsonSchemaOptions options;
    options.short_forms = true;
    options.strict_mode = true;
    const std::string schema = std::string(R"({"type":"object","properties":{"a":{"$ref":"#"},)") +
                               members + "}" + more + "}";
    return BuildTerms(GrammarFromJsonSchema(schema, options).value(), &store).value();
  };
  const char* const variants[][2] = {
      {R"("b":{"type":"null"})", ""},
      {R"("c":{"type":"null"})", ""},
      {R"("b":{"const":1})", ""},
      {R"("b":{"type":"null"})", R"(,"required":["b"])"},
      {R"("b":{"type":"null"})", R"(,"minProperties":1)"},
      {R"("b":{"type":"null"})", R"(,"additionalProperties":{})"},
      {R"("b":{"type":"null"},"bb":false)", R"(,"additionalProperties":{})"}};
  std::set<uint32_t> roots;
  for (const auto& [members, more] : variants) {
    const TermId root = build(members, more);
    EXPECT_TRUE(roots.insert(root.value).second) << members << more;
    EXPECT_EQ(build(members, more), root);
  }
}

TEST(Records, StandForObjectsOfUnionsAndCycles) {
  auto records = [](const char* schema) {
    JsonSchemaOptions options;
    options.short_forms = true;
    const Grammar grammar = GrammarFromJsonSchema(schema, options).value();
    int count = 0;
    for (uint32_t n = 0; n < grammar.node_count(); ++n) {
      count += grammar.node(NodeId(n)).kind == NodeKind::kRecord;
    }
    return count;
  };
  EXPECT_EQ(records(R"({"type":"object","properties":{"a":{},"b":{},"c":{}}})"), 1);
  EXPECT_EQ(records(R"({"type":"object","additionalProperties":{"type":"null"}})"), 0);
  EXPECT_EQ(records(R"({"type":"object","properties":{"a":{"$ref":"#"},"b":{},"c":{}}})"), 1);
  EXPECT_EQ(records(R"({"type":"object","properties":{"a":{"$ref":"#/$defs/t"},
      "b":{"type":"object","properties":{"x":{},"y":{},"z":{"type":"null"}}},"c":{}},"$defs":{
      "t":{"type":"object","properties":{"x":{"$ref":"#/$defs/t"},"y":{},"z":{}}}}})"),
            3);
  EXPECT_EQ(records(R"({"anyOf":[{"type":"object","properties":{"a":{"const":1},"b":{}},
      "required":["a"]},{"type":"object","properties":{"a":{"const":2}},"required":["a"]},
      {"type":"null"}]})"),
            2);
  EXPECT_EQ(records(R"({"anyOf":[{"type":"object","properties":{"a":{"const":1},"b":{"$ref":"#"}},
      "required":["a"]},{"type":"object","properties":{"a":{"const":2}},"required":["a"]}]})"),
            2);
}

}  // namespace
}  // namespace grammask::internal
