#include "grammar/ebnf.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/small_language.h"
#include "oracle/recognizer.h"

namespace grammask::internal {
namespace {

Grammar Parse(const std::string& source, const EbnfOptions& options = {}) {
  StatusOr<Grammar> grammar = ParseEbnf(source, options);
  EXPECT_TRUE(grammar.ok()) << source << "\n" << grammar.status().message();
  if (!grammar.ok()) return *ParseEbnf("root ::= \"parse error\"");
  return *grammar;
}

// What a grammar becomes, as its own printout.
struct Reading {
  const char* source;
  const char* printed;
};

const Reading kReadings[] = {
    // Literals and their escapes.
    {R"(root ::= "abc")", R"(root ::= "abc")"},
    {R"(root ::= "a" "b" "" "c")", R"(root ::= "abc")"},
    {R"(root ::= "\"\\\/\'\?\n\r\t\b\f\a\v\0\e")",
     R"(root ::= "\"\\/'?\n\r\t\x08\x0c\x07\x0b\x00\x1b")"},
    {R"(root ::= "\x41\x4\x4a4\u0042\U00000043")", "root ::= \"A\\x04J4BC\""},
    {R"(root ::= "\xff")", "root ::= \"\xC3\xBF\""},
    {R"(root ::= "\ud83d\ude00")", "root ::= \"\xF0\x9F\x98\x80\""},
    {R"(root ::= "\[\]\-\^")", R"(root ::= "[]-^")"},
    {R"(root ::= "# no comment" # a comment "x")", R"(root ::= "# no comment")"},
    // Classes.
    {R"(root ::= [a-z0-9_])", R"(root ::= [0-9_a-z])"},
    {R"(root ::= [^"\\\x00-\x1f])", R"(root ::= [^\x00-\x1f"\\])"},
    {R"(root ::= [^\n])", R"(root ::= [^\n])"},
    {R"(root ::= [^])", R"(root ::= [^])"},
    {R"(root ::= [])", R"(root ::= [])"},
    {R"(root ::= [a-])", R"(root ::= [\-a])"},
    {R"(root ::= [-a])", R"(root ::= [\-a])"},
    {R"(root ::= [a\-c])", R"(root ::= [\-ac])"},
    {R"(root ::= [\]\[\^])", R"(root ::= [\[\]\^])"},
    {R"(root ::= [ab^])", R"(root ::= [\^ab])"},
    {R"(root ::= ["'#(|])", R"(root ::= ["#'(|])"},
    {"root ::= [\xC3\xA0-\xC3\xBF\\u4e00-\\u9fff]",
     "root ::= [\xC3\xA0-\xC3\xBF\xE4\xB8\x80-\xE9\xBF\xBF]"},
    {R"(root ::= [\U0001F600-\U0001F64F])", "root ::= [\xF0\x9F\x98\x80-\xF0\x9F\x99\x8F]"},
    {R"(root ::= [x])", R"(root ::= "x")"},
    {R"(root ::= [!"#$%&'()*+,-./:;<=>?@[\\\]^_`{|}~])", R"(root ::= [!-/:-@\[-`{-~])"},
    {R"(root ::= [^\r\n\x0b\x0c\x85\u2028\u2029])", R"(root ::= [^\n-\r\u0085\u2028\u2029])"},
    // Sequences, alternatives, groups; empty ones too.
    {R"(root ::= "a" | "b" "c" | [0-9])", R"(root ::= "a" | "bc" | [0-9])"},
    {R"(root ::= ("ab" | "cd") "e")", R"(root ::= ("ab" | "cd") "e")"},
    {R"(root ::= (("ab")))", R"(root ::= "ab")"},
    {R"(root ::= ())", R"(root ::= "")"},
    {R"(root ::=)", R"(root ::= "")"},
    {R"(root ::= "ab" | )", R"(root ::= "ab"?)"},
    {R"(root ::= | "ab")", R"(root ::= "ab"?)"},
    {R"(root ::= ("ab" || "cd") "e")", R"(root ::= ("ab" | "cd")? "e")"},
    // Repetitions.
    {R"(root ::= "a"? "b"* "c"+ "d"{3} "e"{1,2} "f"{2,} "g"{2,-1} "h"{,3})",
     R"(root ::= "a"? "b"* "c"+ "d"{3} "e"{1,2} "f"{2,} "g"{2,} "h"{0,3})"},
    {R"(root ::= "ab"* [x-z] {1, 2} ("q" "r") +)", R"(root ::= "ab"* [x-z]{1,2} "qr"+)"},
    {R"(root ::= "a"{0} "b"{1})", R"(root ::= "b")"},
    {R"(root ::= "a"{1000000000000})", R"(root ::= "a"{1000000000000})"},
    {R"(root ::= "a"+? "b"{2}{3})", R"(root ::= "a"* "b"{6})"},
    {R"(root ::= (root "a")?)", R"(root ::= (root "a")?)"},
    // Rules.
    {"root ::= a-b.c _d 9e\n_d ::= \"1\"\na-b.c ::= \"2\"\n9e ::= \"3\"",
     "root ::= a_b_c _d _9e\n_d ::= \"1\"\na_b_c ::= \"2\"\n_9e ::= \"3\""},
    {"root ::= a\n  | b\n\na ::= \"x\"\nb ::= \n  \"y\"",
     "root ::= a | b\na ::= \"x\"\nb ::= \"y\""},
    {"root ::= \"x\" | # comment\n \"yz\"\r\n# end", "root ::= \"x\" | \"yz\""},
    {"unused ::= \"z\" root\nroot ::= \"x\"", "root ::= \"x\""},
    {"root ::= root \"a\" | \"b\"", "root ::= root \"a\" | \"b\""},
    // A rule hides a macro of its name, and gets another one when printed.
    {"root ::= Not (\"a\") And\nNot ::= \"n\"\nAnd ::= \"m\"",
     "root ::= Not_ \"a\" And_\nNot_ ::= \"n\"\nAnd_ ::= \"m\""},
    // Macros.
    {R"ebnf(root ::= Bytes("a\xff\u00e9"))ebnf", R"ebnf(root ::= Bytes("a\xff\xc3\xa9"))ebnf"},
    {R"ebnf(root ::= Bytes("\xc3\xa9"))ebnf", "root ::= \"\xC3\xA9\""},
    {R"(root ::= ByteClass([\x80-\xbf]) ByteClass([^\x00-\xfe]) ByteClass([a-c]))",
     R"(root ::= ByteClass([\x80-\xbf]) Bytes("\xff") [a-c])"},
    {R"ebnf(root ::= JsonText("a\"b\u00e9") JsonClass([^a]))ebnf",
     "root ::= JsonText(\"a\\\"b\xC3\xA9\") JsonClass([^a])"},
    {R"(root ::= And([a-z]+, Not("if" | "do")) Not([]))",
     R"(root ::= And([a-z]+, Not("if" | "do")) Not([]))"},
    {R"(root ::= Multiple(12, 1) Multiple(7))", R"(root ::= Multiple(6) Multiple(7))"},
    {R"(root ::= Token(3, 1) ExcludeToken(2) ExcludeToken())",
     R"(root ::= Token(1, 3) ExcludeToken(2) ExcludeToken())"},
    {R"(root ::= <[1000]> !<[7]>+)", R"(root ::= Token(1000) ExcludeToken(7)+)"},
    // Members: the first argument has the bounds and a word for each member.
    {R"(root ::= Members("1..9 placed:0 placed:1 repeated distinct", ",", ";", "a", "b", "c", [0-9]+))",
     R"(root ::= Members("1..9 placed:0 placed:1 repeated distinct", ",", ";", "a", "b", "c", [0-9]+))"},
    {R"(root ::= Members("1..3 required optional repeated:0 distinct", ",", ";", "a", "b", "c", [0-9]+))",
     R"(root ::= Members("1..3 required optional repeated:0 distinct", ",", ";", "a", "b", "c", [0-9]+))"},
    {R"(root ::= Members("2.. repeated:1:0 repeated:1", ", " | "/", "", "a" "b" | "c", root))",
     R"(root ::= Members("2.. repeated:0:1 repeated:1", ", " | "/", "", "ab" | "c", root))"},
    {R"(root ::= Members("0.. optional", ",", "", "a") "z" Members("1.. optional",",","","a")?)",
     R"(root ::= Members("1.. optional", ",", "", "a") "z" Members("1.. optional", ",", "", "a")?)"},
    {R"(root ::= Members("1.. required", Token(7), Token(8), Token(9)))",
     R"(root ::= Members("1.. required", Token(7), Token(8), Token(9)))"},
    {"root ::= Members(\"1.. required\", \",\", \"\", m)\nm ::= \"[\" Members(\"1.. required\", "
     "\",\", "
     "\"]\", m | \"x\")",
     "root ::= Members(\"1.. required\", \",\", \"\", m)\nm ::= \"[\" Members(\"1.. required\", "
     "\",\", "
     "\"]\", m | \"x\")"},
    {"root ::= Members \"m\"\nMembers ::= \"n\" | \"ab\"",
     "root ::= Members_ \"m\"\nMembers_ ::= \"n\" | \"ab\""},
    // Rules inside And and Not take their places there.
    {"root ::= And(word, Not(keyword)) word\nword ::= [a-z]+\nkeyword ::= other | \"do\"\nother "
     "::= \"if\"",
     "root ::= And([a-z]+, Not(\"if\" | \"do\")) word\nword ::= [a-z]+"},
};

class EbnfReads : public testing::TestWithParam<Reading> {};

TEST_P(EbnfReads, AndPrints) {
  Grammar grammar = Parse(GetParam().source);
  EXPECT_EQ(grammar.ToString(), std::string(GetParam().printed) + "\n");
  EXPECT_EQ(Parse(grammar.ToString()).ToString(), grammar.ToString());
}
INSTANTIATE_TEST_SUITE_P(Table, EbnfReads, testing::ValuesIn(kReadings));

// What is refused, with the code, and what the message must say.
struct Refusal {
  const char* source;
  StatusCode code;
  const char* message;
};

constexpr StatusCode kInvalid = StatusCode::kInvalidArgument;
const Refusal kRefusals[] = {
    {"", kInvalid, "no rules"},
    {"# only a comment", kInvalid, "no rules"},
    {"\"a\" root ::= \"b\"", kInvalid,
     "begins with a rule: name ::= expression at line 1, column 1"},
    {"rot ::= \"a\"", kInvalid, "no rule named root; did you mean rot?"},
    {"x ::= \"a\"", kInvalid,
     "no rule named root; define it, or name another root_rule, such as x"},
    {"root ::= \"a\"\nroot ::= \"b\"", kInvalid, "rule root is defined twice"},
    {"root ::= \"a\" digits\ndigit ::= [0-9]", kInvalid,
     "rule digits is not defined; did you mean digit? at line 1, column 14\n"
     "root ::= \"a\" digits\n             ^"},
    {"root ::= hello", kInvalid, "rule hello is not defined; define it"},
    {"root ::= .* \"a\"", kInvalid, "a dot is no wildcard in a grammar; write [^\\n]"},
    {". ::= \"a\"", kInvalid, "needs a character other than a dot"},
    {"root ::= \"abc", kInvalid, "no closing quote"},
    {"root ::= \"abc\ndef\"", kInvalid, "no closing quote"},
    {"root ::= \"abc\\", kInvalid, "no closing quote"},
    {"root ::= [abc", kInvalid, "no closing ]"},
    {"root ::= [z-a]", kInvalid, "ends before it begins"},
    {"root ::= [\\d]", kInvalid, "unknown escape \\d; write [0-9]"},
    {"root ::= \"\\q\"", kInvalid, "unknown escape \\q"},
    {"root ::= \"\\xg\"", kInvalid, "\\x needs one or two hexadecimal digits"},
    {"root ::= \"\\u12\"", kInvalid, "\\u needs four"},
    {"root ::= \"\\ud800\"", kInvalid, "half a surrogate pair"},
    {"root ::= \"\\U00110000\"", kInvalid, "no character over"},
    {"root ::= \"\xFF\"", kInvalid, "not UTF-8; write raw bytes as Bytes(\"\\xFF\")"},
    {"root ::= (\"a\"", kInvalid, "this ( has no closing ) at line 1, column 10"},
    {"root ::= \"a\")", kInvalid, "unexpected )"},
    {"root ::= \"a\"\n  (\"b\"\nother ::= \")\"", kInvalid,
     "this ( has no closing ) at line 2, column 3"},
    {"root ::= * \"a\"", kInvalid, "nothing to repeat before *"},
    {"root ::= \"a\" | + ", kInvalid, "nothing to repeat before +"},
    {"root ::= {2}", kInvalid, "nothing to repeat before {2}"},
    {"root ::= \"a\"{3,2}", kInvalid, "lower bound of this repetition is over its upper bound"},
    {"root ::= \"a\"{x}", kInvalid, "a repetition is written"},
    {"root ::= \"a\"{,}", kInvalid, "has no bounds"},
    {"root ::= \"a\"{-1}", kInvalid, "a repetition is written"},
    {"root ::= \"a\"{2", kInvalid, "this { has no closing }"},
    {"root ::= \"a\"{99999999999999999999}", StatusCode::kResourceExhausted, "max_repeat"},
    {"root ::= \"a\"{2,1099511627777}", StatusCode::kResourceExhausted, "max_repeat"},
    {"root ::= 'a'", kInvalid, "double quotes"},
    {"root ::= /a+/", kInvalid, "Regex(\"...\")"},
    {"root ::= \"a\";", kInvalid, "a rule ends where the next one begins"},
    {"root : \"a\"", kInvalid, "a rule is defined with ::="},
    {"root = \"a\"", kInvalid, "no rules; write root ::="},
    {"root ::= a = b", kInvalid, "not defined"},
    {"root ::= \"a\" = \"b\"", kInvalid, "a rule is defined with ::="},
    {"root ::= \"a\", \"b\"", kInvalid, "separated by |"},
    {"root ::= \"a\" ::= \"b\"", kInvalid, "needs the name of a rule"},
    {"root ::= \xE2\x82\xAC", kInvalid, "unexpected \"\xE2\x82\xAC\""},
    {"root ::= ! \"a\"", kInvalid, "only stand before a token"},
    {"root[max_tokens=5] ::= \"a\"", StatusCode::kUnsupported, "options of a rule"},
    {"root ::= \"a\" (= \"b\")", StatusCode::kUnsupported, "lookahead"},
    {"root ::= TagDispatch((\"<a>\", root))", StatusCode::kUnsupported, "TagDispatch"},
    {"root ::= TokenTagDispatch((1, root))", StatusCode::kUnsupported, "TokenTagDispatch"},
    {"root ::= Substring(\"a\")", StatusCode::kUnsupported, "Substring"},
    {"root ::= Bytes", kInvalid, "needs its arguments in parentheses"},
    {"root ::= Bytes(\"a\" \"b\")", kInvalid, "separated by single commas"},
    {"root ::= Bytes(\"a\", \"b\")", kInvalid, "Bytes takes one literal"},
    {"root ::= Bytes(\"a\"\nb ::= \"x\"", kInvalid, "this ( has no closing )"},
    {"root ::= ByteClass([\xC3\xA9])", kInvalid, "ASCII characters and \\xHH only"},
    {"root ::= JsonText([a])", kInvalid, "JsonText takes one literal"},
    {"root ::= JsonClass(\"a\")", kInvalid, "JsonClass takes one class"},
    {"root ::= Multiple(0)", kInvalid, "Multiple takes a modulus"},
    {"root ::= Multiple(3, 401)", kInvalid, "Multiple takes a modulus"},
    {"root ::= Multiple(999999999999999999)", kInvalid, "Multiple takes a modulus"},
    {"root ::= Multiple(-3)", kInvalid, "Multiple takes a modulus"},
    {"root ::= Not(\"a\", \"b\")", kInvalid, "Not takes one argument"},
    {"root ::= And(\"a\", )", kInvalid, "an argument is missing"},
    {"root ::= Not()", kInvalid, "an argument is missing"},
    {"root ::= Not(Token(1))", kInvalid, "tokens cannot stand there"},
    {"root ::= Not(x)\nx ::= <[3]>", kInvalid, "it names tokens"},
    {"root ::= Not(x)\nx ::= \"a\" | \"b\" x", kInvalid,
     "rule x calls itself and is used inside And"},
    {"root ::= Not(root)", kInvalid, "rule root calls itself"},
    {"root ::= Token(a)", kInvalid, "a token is named by its id"},
    {"root ::= Token(-1)", kInvalid, "a token is named by its id"},
    {"root ::= Token(2147483648)", kInvalid, "a token is named by its id"},
    {"root ::= <think>", kInvalid, "needs a tokenizer"},
    {"root ::= <[12x]>", kInvalid, "a token is named by its id"},
    {"root ::= <think", kInvalid, "this < has no closing >"},
    {R"(root ::= Members())", kInvalid, ""},
    {R"(root ::= Members("1.. required", ",", ""))", kInvalid, "Members takes a literal"},
    {R"(root ::= Members([0-9]+, ",", "", "a"))", kInvalid, "Members takes a literal"},
    {R"(root ::= Members("", ",", "", "a"))", kInvalid, ""},
    {R"(root ::= Members("1 required", ",", "", "a"))", kInvalid, "Members takes a literal"},
    {R"(root ::= Members("1.. ", ",", "", "a"))", kInvalid, "Members takes a literal"},
    {R"(root ::= Members("1..x required", ",", "", "a"))", kInvalid, "Members takes a literal"},
    {R"(root ::= Members("-1.. required", ",", "", "a"))", kInvalid, "Members takes a literal"},
    {R"(root ::= Members("1..-1 required", ",", "", "a"))", kInvalid, "Members takes a literal"},
    {R"(root ::= Members("99999999999999999999.. required", ",", "", "a"))", kInvalid,
     "Members takes a literal"},
    {R"(root ::= Members("1..  required", ",", "", "a"))", kInvalid, "Members takes a literal"},
    {R"(root ::= Members("1.. needed", ",", "", "a"))", kInvalid, "Members takes a literal"},
    {R"(root ::= Members("1.. required", ",", "", "a", "b"))", kInvalid, "Members takes a literal"},
    {R"(root ::= Members("1.. required required", ",", "", "a"))", kInvalid,
     "Members takes a literal"},
    {R"(root ::= Members("1.. required:0", ",", "", "a"))", kInvalid, "Members takes a literal"},
    {R"(root ::= Members("1.. optional:0", ",", "", "a"))", kInvalid, "Members takes a literal"},
    {R"(root ::= Members("1.. repeated:", ",", "", "a"))", kInvalid, "Members takes a literal"},
    {R"(root ::= Members("1.. repeated:8", ",", "", "a"))", kInvalid, "Members takes a literal"},
    {R"(root ::= Members("1.. required", ",", "", ))", kInvalid, "an argument is missing"},
    {R"(root ::= And([a-z], Members("1.. required", ",", "", "a")))", kInvalid, "must be regular"},
};

class EbnfRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(EbnfRefuses, Clearly) {
  StatusOr<Grammar> grammar = ParseEbnf(GetParam().source);
  ASSERT_FALSE(grammar.ok()) << GetParam().source << "\n" << grammar->ToString();
  EXPECT_EQ(grammar.status().code(), GetParam().code) << grammar.status().message();
  EXPECT_NE(grammar.status().message().find(GetParam().message), std::string::npos)
      << GetParam().source << "\n"
      << grammar.status().message();
}
INSTANTIATE_TEST_SUITE_P(Table, EbnfRefuses, testing::ValuesIn(kRefusals));

TEST(Ebnf, RootRuleCanHaveAnotherName) {
  EbnfOptions options;
  options.root_rule = "start-here";
  Grammar g = Parse("root ::= \"r\" start-here?\nstart-here ::= \"s\" root", options);
  EXPECT_EQ(g.ToString(), "root ::= \"s\" root_\nroot_ ::= \"r\" root?\n");
}

TEST(Ebnf, TokensByTheirText) {
  EbnfOptions options;
  options.find_token = [](std::string_view text) -> std::optional<TokenId> {
    if (text == "<think>") return 7;
    if (text == "<|eot|>") return 9;
    return std::nullopt;
  };
  EXPECT_EQ(Parse("root ::= <think> !<|eot|>* Token(\"<|eot|>\", 3)", options).ToString(),
            "root ::= Token(7) ExcludeToken(9)* Token(3, 9)\n");
  StatusOr<Grammar> unknown = ParseEbnf("root ::= <thinking>", options);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().message().find("no token <thinking>"), std::string::npos);
}

TEST(Ebnf, RegexMacro) {
  Recognizer plain(Parse(R"ebnf(root ::= Regex("\\d{2}(?:a|b.)") "!")ebnf"));
  EXPECT_TRUE(plain.Matches("12a!"));
  EXPECT_TRUE(plain.Matches("12b\"!"));
  EXPECT_FALSE(plain.Matches("12b\n!"));
  EXPECT_FALSE(plain.Matches("1a!"));
  Recognizer flags(Parse(R"ebnf(root ::= Regex("ab.", flags="is"))ebnf"));
  EXPECT_TRUE(flags.Matches("aB\n"));
  Recognizer json(Parse(R"ebnf(root ::= "\"" Regex("a.", json_string=true) "\"")ebnf"));
  EXPECT_TRUE(json.Matches("\"\\u0061\\\"\""));
  EXPECT_FALSE(json.Matches("\"a\"\""));
  StatusOr<Grammar> bad = ParseEbnf("root ::= \"x\" Regex(\"(a\")");
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.status().message().find("this regular expression is refused at line 1, column 20"),
            std::string::npos)
      << bad.status().message();
  EXPECT_FALSE(ParseEbnf("root ::= Regex(\"a\", flags=\"q\")").ok());
  EXPECT_FALSE(ParseEbnf("root ::= Regex(\"a\", json_string)").ok());
  EXPECT_FALSE(ParseEbnf("root ::= Regex()").ok());
}

// Grammars in the style of llama.cpp's files: dashes in names, classes with escapes, bodies that
// go on after a bar, empty alternatives.
TEST(Ebnf, GbnfJson) {
  Grammar g = Parse(R"(
# JSON values, white space after each token
root   ::= object
value  ::= object | array | json-string | number | ("true" | "false" | "null") ws

object ::=
  "{" ws (
            json-string ":" ws value
    ("," ws json-string ":" ws value)*
  )? "}" ws

array  ::= "[" ws ( value ("," ws value)* )? "]" ws
json-string ::=
  "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4})
  )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}
)");
  for (const Grammar& one : {g, Parse(g.ToString())}) {
    Recognizer r(one);
    EXPECT_TRUE(r.Matches("{}"));
    EXPECT_TRUE(r.Matches("{\"a\": [1, -2.5e+3, \"x\\u00e9\\n\"],\n  \"b\":{\"c\":null}}\n"));
    EXPECT_FALSE(r.Matches("{\"a\": 01}"));
    EXPECT_FALSE(r.Matches("[1]"));
    EXPECT_TRUE(r.IsPrefix("{\"a\": [1, -2.5e"));
    EXPECT_FALSE(r.IsPrefix("{\"a\": [1, -2.5e}"));
  }
}

TEST(Ebnf, RandomGrammarsPrintAndReadBackAsTheSameLanguage) {
  Universe u("ab", 5);
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    RandomWorld::Options options;
    options.rules = 1 + static_cast<int>(seed % 3);
    options.booleans = seed % 2 == 0;
    options.json = seed % 5 == 0;
    options.depth = 5;
    Grammar grammar = *RandomWorld(seed, options).Finish();
    std::string printed = grammar.ToString();
    StatusOr<Grammar> back = ParseEbnf(printed);
    ASSERT_TRUE(back.ok()) << printed << back.status().message();
    Recognizer before(grammar), after(*back);
    for (const std::string& text : u.texts()) {
      ASSERT_EQ(before.Matches(text), after.Matches(text)) << seed << " '" << text << "'\n"
                                                           << printed;
    }
  }
}

// A node that stands in many places is printed once: 2^60 otherwise.
TEST(Printer, SharedNodesArePrintedOnce) {
  for (bool boolean : {false, true}) {
    GrammarBuilder b;
    NodeId node = b.Choice({b.Bytes("ab"), b.Bytes("cd"), b.Class(CodePointSet{{'0', '9'}})});
    for (int i = 0; i < 60; ++i) {
      node = b.Sequence(
          {b.Choice({node, b.Bytes("x" + std::to_string(i))}), b.Bytes(","), b.Repeat(node, 0, 2)});
    }
    if (boolean) node = b.And({node, b.Not(b.Bytes("q"))});
    RuleId root = b.AddRule("part_1");
    RuleId other = b.AddRule("part_2");
    b.SetBody(other, b.Bytes("end"));
    b.SetBody(root, b.Sequence({node, b.Rule(other)}));
    Grammar grammar = *b.Finish(root);
    std::string printed = grammar.ToString();
    EXPECT_LT(printed.size(), 20'000u);
    Grammar back = Parse(printed);
    NodeView body = back.node(back.rule_body(back.root()));
    EXPECT_EQ(back.node(body.children[0]).regular, boolean) << printed;
    Recognizer before(grammar), after(back);
    for (std::string text : {"x59,end", "x58,x59,end", "x59,x58,end", "q", "end"}) {
      EXPECT_EQ(before.Matches(text), after.Matches(text)) << text;
    }
    EXPECT_TRUE(after.Matches("x59,end"));
  }
}

TEST(Printer, EveryByteAndManyCharactersSurvive) {
  for (int byte = 0; byte < 256; ++byte) {
    for (const std::string& text : {std::string(1, static_cast<char>(byte)),
                                    std::string("a") + static_cast<char>(byte) + "f0"}) {
      GrammarBuilder b;
      RuleId root = b.AddRule("root");
      b.SetBody(root, b.Bytes(text));
      Grammar back = Parse(b.Finish(root)->ToString());
      ASSERT_EQ(back.node(back.rule_body(back.root())).text, text);
    }
  }
  for (uint32_t c = 0; c <= 0x10FFFF; c += c < 0x500 ? 1 : 379) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    for (const CodePointSet& set :
         {CodePointSet{{c, c}, {'b', 'y'}}, CodePointSet{{c, c}}.Complement(),
          CodePointSet{{c, c + 1}, {0x3000, 0x3005}}}) {
      GrammarBuilder b;
      RuleId root = b.AddRule("root");
      b.SetBody(root, b.JsonClass(set));
      Grammar back = Parse(b.Finish(root)->ToString());
      ASSERT_EQ(*back.node(back.rule_body(back.root())).characters, set) << c;
    }
  }
}

TEST(Hostile, DeepParenthesesEndInAnError) {
  for (size_t depth : {9'000u, 30'000u, 3'000'000u}) {
    std::string source = "root ::= " + std::string(depth, '(') + "\"a\"" + std::string(depth, ')');
    StatusOr<Grammar> grammar = ParseEbnf(source);
    ASSERT_EQ(grammar.ok(), depth < 10'000);
    if (grammar.ok()) continue;
    EXPECT_EQ(grammar.status().code(), StatusCode::kResourceExhausted);
    EXPECT_NE(grammar.status().message().find("max_nesting = 10000"), std::string::npos);
  }
  Limits limits;
  limits.max_nesting = 4'000'000;
  std::string deep = "root ::= ";
  for (int i = 0; i < 200'000; ++i) deep += "(\"x\" ";
  deep += "\"a\"";
  for (int i = 0; i < 200'000; ++i) deep += "){2}";
  StatusOr<Grammar> grammar = ParseEbnf(deep, {}, limits);
  ASSERT_TRUE(grammar.ok());
  EXPECT_TRUE(ParseEbnf(grammar->ToString(), {}, limits).ok());
}

// As parentheses are, directly and through rules. What is within the bound is printed and read.
TEST(Hostile, BooleansInsideOneAnotherAreBounded) {
  for (int depth : {2'000, 6'000}) {
    std::string direct = "root ::= ", by_rules = "root ::= Not(r0)\n";
    for (int i = 0; i < depth; ++i) direct += "And([a-z]*, Not(\"a\" ";
    direct += "\"b\"";
    for (int i = 0; i < depth; ++i) direct += "))";
    for (int i = 0; i < 2 * depth; ++i) {
      by_rules += "r" + std::to_string(i) + " ::= \"a\" Not(r" + std::to_string(i + 1) + ")\n";
    }
    by_rules += "r" + std::to_string(2 * depth) + " ::= \"b\"\n";
    for (const std::string& source : {direct, by_rules}) {
      StatusOr<Grammar> grammar = ParseEbnf(source);
      ASSERT_EQ(grammar.ok(), depth == 2'000) << grammar.status().message();
      if (grammar.ok()) {
        EXPECT_TRUE(ParseEbnf(grammar->ToString()).ok());
        continue;
      }
      EXPECT_EQ(grammar.status().code(), StatusCode::kResourceExhausted);
      EXPECT_NE(grammar.status().message().find("max_nesting = 10000"), std::string::npos);
    }
  }
}

TEST(Hostile, LongChainsOfInlinedRulesTakeNoStack) {
  for (std::string element : {"[x-z]", "\"a\"", "\"a\" |", "[a] |"}) {
    std::string source = "root ::= Not(r0)\n";
    for (int i = 0; i < 50'000; ++i) {
      source += "r" + std::to_string(i) + " ::= " + element + " r" + std::to_string(i + 1) + "\n";
    }
    source += "r50000 ::= \"b\"\n";
    EXPECT_TRUE(ParseEbnf(source).ok()) << element;
  }
}

TEST(Hostile, SizesAreBounded) {
  Limits limits;
  limits.max_source_bytes = 20;
  StatusOr<Grammar> grammar = ParseEbnf("root ::= \"aaaaaaaaaaaaaaaaaaaaaaaa\"", {}, limits);
  ASSERT_FALSE(grammar.ok());
  EXPECT_NE(grammar.status().message().find("max_source_bytes is 20"), std::string::npos);
  limits = Limits();
  limits.max_ast_nodes = 100;
  std::string source = "root ::= \"\"";
  for (int i = 0; i < 60; ++i) source += " | \"w" + std::to_string(i) + "\"";
  grammar = ParseEbnf(source, {}, limits);
  ASSERT_FALSE(grammar.ok());
  EXPECT_EQ(grammar.status().code(), StatusCode::kResourceExhausted);
}

TEST(Hostile, EveryPrefixAndEveryByteOfAGrammarIsReadOrRefused) {
  const std::string source =
      "root ::= \"a\\x41\\u0042\" [^a-z\\n]{2,3} (b | ) And(Not(\"c\"), [d]*) # e\n"
      "b ::= <[12]> !<[3]> Token(1, 2) Bytes(\"\\xff\") Multiple(3, 1) JsonText(\"x\")\n"
      "  Members(\"1..2 required repeated:0\", \",\", \"\", \"a\", b)\n";
  ASSERT_TRUE(ParseEbnf(source).ok());
  for (size_t n = 0; n < source.size(); ++n) {
    StatusOr<Grammar> cut = ParseEbnf(source.substr(0, n));
    EXPECT_EQ(cut.ok(), cut.status().message().empty());
    for (char c : std::string("\0\"\\[]{}()<>|*=:,.-^\xFF\n#a", 24)) {
      std::string changed = source;
      changed[n] = c;
      StatusOr<Grammar> other = ParseEbnf(changed);
      EXPECT_EQ(other.ok(), other.status().message().empty());
      if (other.ok()) {
        EXPECT_TRUE(ParseEbnf(other->ToString()).ok()) << changed;
      }
    }
  }
}

}  // namespace
}  // namespace grammask::internal
