#include "grammar/ast.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/utf8.h"
#include "grammar/ebnf.h"
#include "grammar/small_language.h"
#include "oracle/recognizer.h"
#include "sampled.h"

namespace grammask::internal {
namespace {

using Build = std::function<NodeId(GrammarBuilder&)>;

Grammar Finish(const Build& build, const Limits& limits = {}) {
  GrammarBuilder builder(limits);
  RuleId root = builder.AddRule("root");
  builder.SetBody(root, build(builder));
  StatusOr<Grammar> grammar = builder.Finish(root);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  return *grammar;
}

CodePointSet Chars(uint32_t lo, uint32_t hi) { return CodePointSet{{lo, hi}}; }

// Parents after children, no two equal nodes, `regular` as defined, everything reachable.
void ExpectWellFormed(const Grammar& g) {
  using Contents = std::tuple<NodeKind, std::vector<uint32_t>, std::string, std::vector<uint32_t>>;
  std::set<Contents> seen;
  std::vector<bool> used(g.node_count());
  for (uint32_t r = 0; r < g.rule_count(); ++r) used[g.rule_body(RuleId(r)).value] = true;
  for (uint32_t n = 0; n < g.node_count(); ++n) {
    NodeView v = g.node(NodeId(n));
    bool regular =
        v.kind != NodeKind::kRule && v.kind != NodeKind::kTokens && v.kind != NodeKind::kMembers;
    Contents contents(v.kind, {}, std::string(v.text), {});
    for (NodeId child : v.children) {
      ASSERT_LT(child.value, n);
      regular = regular && g.node(child).regular;
      used[child.value] = true;
      std::get<1>(contents).push_back(child.value);
    }
    ASSERT_EQ(v.regular, regular);
    auto& numbers = std::get<3>(contents);
    if (v.kind == NodeKind::kRepeat) {
      for (int64_t count : {v.min, v.max}) {
        numbers.push_back(static_cast<uint32_t>(count >> 32));
        numbers.push_back(static_cast<uint32_t>(count));
      }
    }
    if (v.kind == NodeKind::kRule) numbers.push_back(v.rule.value);
    if (v.kind == NodeKind::kByteClass) {
      v.bytes->ForEachRange([&](uint8_t lo, uint8_t hi) { numbers.push_back(lo << 8 | hi); });
    }
    if (v.characters != nullptr) {
      for (auto [lo, hi] : v.characters->ranges()) numbers.insert(numbers.end(), {lo, hi});
    }
    if (v.kind == NodeKind::kMultiple) {
      numbers = {static_cast<uint32_t>(v.multiple.modulus), v.multiple.scale};
    }
    if (v.kind == NodeKind::kMembers) {
      ASSERT_EQ(v.members.uses().size() + 2, v.children.size());
      numbers.assign(v.members.uses().begin(), v.members.uses().end());
      for (int64_t n : {v.members.min(), v.members.max(), int64_t{v.members.conditions()}}) {
        numbers.push_back(static_cast<uint32_t>(n >> 32));
        numbers.push_back(static_cast<uint32_t>(n));
      }
    }
    if (v.tokens != nullptr) {
      numbers.push_back(v.tokens->excluded);
      for (TokenId id : v.tokens->ids) numbers.push_back(static_cast<uint32_t>(id));
    }
    ASSERT_TRUE(seen.insert(contents).second) << "equal nodes at " << n;
    bool list =
        v.kind == NodeKind::kSequence || v.kind == NodeKind::kChoice || v.kind == NodeKind::kAnd;
    if (list) {
      ASSERT_GE(v.children.size(), 2u);
    }
  }
  for (uint32_t n = 0; n < g.node_count(); ++n) ASSERT_TRUE(used[n]) << n;
}

struct Simplification {
  const char* expected;  // the body of the root, as EBNF
  Build build;
};

class Simplify : public testing::TestWithParam<Simplification> {};

TEST_P(Simplify, Gives) {
  Grammar g = Finish(GetParam().build);
  EXPECT_EQ(g.ToString(), std::string("root ::= ") + GetParam().expected + "\n");
  ExpectWellFormed(g);
}

using B = GrammarBuilder;
const Simplification kSequences[] = {
    {R"("")", [](B& b) { return b.Sequence({}); }},
    {R"("")", [](B& b) { return b.Bytes(""); }},
    {R"("a")", [](B& b) { return b.Sequence({b.Bytes("a")}); }},
    {R"("a")", [](B& b) { return b.Sequence({b.Empty(), b.Bytes("a"), b.Empty()}); }},
    {R"([])", [](B& b) { return b.Sequence({b.Bytes("a"), b.Nothing()}); }},
    {R"("abcd")",
     [](B& b) { return b.Sequence({b.Bytes("a"), b.Sequence({b.Bytes("b"), b.Bytes("cd")})}); }},
    {R"(JsonText("ab") "cd")",
     [](B& b) {
       return b.Sequence({b.JsonText("a"), b.JsonText("b"), b.Bytes("c"), b.Bytes("d")});
     }},
    {R"("a" [0-9] "bc")",
     [](B& b) {
       NodeId inner = b.Sequence({b.Class(Chars('0', '9')), b.Bytes("b")});
       return b.Sequence({b.Bytes("a"), inner, b.Bytes("c")});
     }},
    // Sequences inside one join at both their ends, however much of them is taken up.
    {R"("ab" [0-9] "x" [0-9] "cd" [0-9] "ef")",
     [](B& b) {
       NodeId d = b.Class(Chars('0', '9'));
       NodeId one = b.Sequence({b.Bytes("b"), d, b.Bytes("x"), d, b.Bytes("c")});
       NodeId two = b.Sequence({b.Bytes("d"), d, b.Bytes("e")});
       return b.Sequence({b.Bytes("a"), one, two, b.Bytes("f")});
     }},
    {R"([0-9]{2,} "x" [0-9]{3,})",
     [](B& b) {
       NodeId d = b.Class(Chars('0', '9'));
       NodeId inner = b.Sequence({d, d, b.Bytes("x"), b.Repeat(d, 2, 2)});
       return b.Sequence({b.Star(d), inner, b.Repeat(d, 1, kUnbounded)});
     }},
    {R"([0-9]{1,4})",
     [](B& b) {
       NodeId d = b.Class(Chars('0', '9'));
       return b.Sequence({d, b.Repeat(d, 0, 3)});
     }},
    {R"([0-9]{3,})",
     [](B& b) {
       NodeId d = b.Class(Chars('0', '9'));
       return b.Sequence({b.Star(d), b.Repeat(d, 2, 5), d});
     }},
    // A class any number of times takes up what may come beside it or not.
    {R"([a-z]* [b-d]{2})",
     [](B& b) {
       return b.Sequence(
           {b.Star(b.Class(Chars('a', 'z'))), b.Repeat(b.Class(Chars('b', 'd')), 2, 5)});
     }},
    {R"([b-d] [a-z]{3,})",
     [](B& b) {
       NodeId x = b.Class(Chars('b', 'd')),
              loop = b.Repeat(b.Class(Chars('a', 'z')), 3, kUnbounded);
       return b.Sequence({b.Repeat(x, 1, kUnbounded), loop});
     }},
    {R"("0" [a-z]* "1")",
     [](B& b) {
       NodeId x = b.Class(Chars('b', 'd')), y = b.Bytes("foo"),
              loop = b.Star(b.Class(Chars('a', 'z')));
       NodeId either = b.Optional(b.Choice({b.Sequence({y, x}), b.Repeat(y, 3, 4)}));
       NodeId inner = b.Sequence({b.Optional(x), loop, b.Optional(y), either});
       return b.Sequence({b.Bytes("0"), b.Optional(y), b.Star(x), inner, b.Bytes("1")});
     }},
    {R"([a-z]* "foobar" JsonClass([a-z])*)",
     [](B& b) {
       NodeId loop = b.Star(b.Class(Chars('a', 'z'))), json = b.Star(b.JsonClass(Chars('a', 'z')));
       return b.Sequence({loop, b.Repeat(b.Bytes("foo"), 1, 3), b.Bytes("bar"), json,
                          b.Optional(b.JsonText("x"))});
     }},
    // What it then stands beside joins it, and the loop that this makes takes up more.
    {R"([a-z]{5,})",
     [](B& b) {
       NodeId x = b.Class(Chars('a', 'z')), a = b.Optional(b.Bytes("a"));
       return b.Sequence({a, x, x, a, b.Repeat(x, 3, kUnbounded)});
     }},
    {R"("0" [a-z]{31,})",
     [](B& b) {
       NodeId x = b.Class(Chars('a', 'z')), a = b.Optional(b.Bytes("a"));
       return b.Sequence({b.Bytes("0"), a, x, x, x, x, b.Repeat(x, 27, kUnbounded)});
     }},
    // Not what it does not read, nor what is spelled in other ways.
    {R"([a-z]* [0-9a-z]? ("a" JsonText("a"))* "A"?)",
     [](B& b) {
       NodeId loop = b.Star(b.Class(Chars('a', 'z')));
       NodeId mixed = b.Sequence({b.Bytes("a"), b.JsonText("a")});
       return b.Sequence({loop, b.Optional(b.Class(Chars('a', 'z').Union(Chars('0', '9')))),
                          b.Star(mixed), b.Optional(b.Bytes("A"))});
     }},
    {R"([a-z]* Bytes("\xc3")? JsonClass([a-z])* [a-z]?)",
     [](B& b) {
       return b.Sequence({b.Star(b.Class(Chars('a', 'z'))), b.Optional(b.Bytes("\xC3")),
                          b.Star(b.JsonClass(Chars('a', 'z'))),
                          b.Optional(b.Class(Chars('a', 'z')))});
     }},
    // A class written out often is a count, however it came together.
    {R"([0-9] [0-9] [0-9])",
     [](B& b) {
       NodeId d = b.Class(Chars('0', '9'));
       return b.Sequence({d, d, d});
     }},
    {R"("-" [0-9]{6} "-" [0-9]{4})",
     [](B& b) {
       NodeId d = b.Class(Chars('0', '9'));
       NodeId inner = b.Sequence({b.Bytes("-"), d, d, d});
       return b.Sequence({inner, d, b.Sequence({d, d, b.Bytes("-"), d}), d, d, d});
     }},
    {R"([0-9] [0-9])",
     [](B& b) {
       NodeId d = b.Class(Chars('0', '9'));
       return b.Sequence({d, d});
     }},
    // A half of a character beside its other half is a whole literal again.
    {"\"\xC3\xA9\"", [](B& b) { return b.Sequence({b.Bytes("\xC3"), b.Bytes("\xA9")}); }},
};
INSTANTIATE_TEST_SUITE_P(Sequences, Simplify, testing::ValuesIn(kSequences));

const Simplification kChoices[] = {
    {R"([])", [](B& b) { return b.Choice({}); }},
    {R"("a")", [](B& b) { return b.Choice({b.Bytes("a"), b.Nothing(), b.Bytes("a")}); }},
    {R"("")", [](B& b) { return b.Choice({b.Empty(), b.Empty()}); }},
    {R"("ab"?)", [](B& b) { return b.Choice({b.Empty(), b.Bytes("ab")}); }},
    {R"(("ab" | "cd")?)",
     [](B& b) {
       NodeId ab = b.Bytes("ab"), cd = b.Bytes("cd");
       return b.Choice({b.Optional(cd), b.Choice({ab, b.Empty()}), cd});
     }},
    {R"([a-fx])",
     [](B& b) {
       return b.Choice({b.Class(Chars('a', 'c')), b.Class(CodePointSet{{'x', 'x'}, {'d', 'f'}})});
     }},
    {R"("ab" | JsonClass([a-c]) | [0-9])",
     [](B& b) {
       NodeId ab = b.Bytes("ab");
       NodeId json = b.Choice({b.JsonClass(Chars('a', 'b')), b.JsonClass(Chars('b', 'c'))});
       ByteSet low = ByteSet::Range('0', '4'), high = ByteSet::Range('5', '9');
       return b.Choice({b.ByteClass(high), json, ab, b.ByteClass(low)});
     }},
    {R"(Not([]))", [](B& b) { return b.Choice({b.Bytes("a"), b.AnyBytes()}); }},
};
INSTANTIATE_TEST_SUITE_P(Choices, Simplify, testing::ValuesIn(kChoices));

NodeId Nested(B& b, int64_t a, int64_t c, int64_t n, int64_t m) {
  return b.Repeat(b.Repeat(b.Bytes("a"), a, c), n, m);
}
const Simplification kRepeats[] = {
    {R"("")", [](B& b) { return b.Repeat(b.Bytes("a"), 0, 0); }},
    {R"("a")", [](B& b) { return b.Repeat(b.Bytes("a"), 1, 1); }},
    {R"("")", [](B& b) { return b.Star(b.Empty()); }},
    {R"("")", [](B& b) { return b.Star(b.Nothing()); }},
    {R"([])", [](B& b) { return b.Repeat(b.Nothing(), 2, 3); }},
    {R"("a"*)", [](B& b) { return Nested(b, 0, kUnbounded, 0, kUnbounded); }},
    {R"("a"*)", [](B& b) { return Nested(b, 1, kUnbounded, 0, 1); }},
    {R"("a"{0,6})", [](B& b) { return Nested(b, 0, 2, 0, 3); }},
    {R"("a"{6})", [](B& b) { return Nested(b, 2, 2, 3, 3); }},
    {R"(("a"{2}){1,3})", [](B& b) { return Nested(b, 2, 2, 1, 3); }},
    {R"("a"{2,})", [](B& b) { return Nested(b, 2, kUnbounded, 1, 3); }},
    {R"(("a"{2,}){0,3})", [](B& b) { return Nested(b, 2, kUnbounded, 0, 3); }},
    {R"("a"{4,9})", [](B& b) { return Nested(b, 2, 3, 2, 3); }},
    {R"(("a"{3,4}){1,3})", [](B& b) { return Nested(b, 3, 4, 1, 3); }},
    {R"("a"{6,12})", [](B& b) { return Nested(b, 3, 4, 2, 3); }},
    // Counts that would go beyond the limit stay as they are.
    {R"(("a"{1099511627776}){1099511627776})",
     [](B& b) {
       int64_t big = int64_t{1} << 40;
       return Nested(b, big, big, big, big);
     }},
};
INSTANTIATE_TEST_SUITE_P(Repeats, Simplify, testing::ValuesIn(kRepeats));

const Simplification kBooleans[] = {
    {R"(Not([]))", [](B& b) { return b.And({}); }},
    {R"("a")", [](B& b) { return b.And({b.Bytes("a"), b.AnyBytes(), b.Bytes("a")}); }},
    {R"([])", [](B& b) { return b.And({b.Bytes("a"), b.Nothing()}); }},
    {R"([])", [](B& b) { return b.And({b.Bytes("a"), b.Bytes("b")}); }},
    {R"([])", [](B& b) { return b.And({b.Star(b.Bytes("a")), b.Not(b.Star(b.Bytes("a")))}); }},
    {R"([bc])", [](B& b) { return b.And({b.Class(Chars('a', 'c')), b.Class(Chars('b', 'z'))}); }},
    {R"("b")",
     [](B& b) {
       NodeId all[] = {b.Class(Chars('a', 'c')), b.Class(Chars('b', 'z')), b.Class(Chars('b', 'b')),
                       b.Class(Chars('a', 'b'))};
       return b.And(all);
     }},
    {R"([])",
     [](B& b) {
       return b.And({b.JsonClass(Chars('a', 'c')), b.JsonClass(Chars('d', 'f')),
                     b.JsonClass(Chars('a', 'f'))});
     }},
    // A loop on a class beside texts of such characters says how long they are.
    {R"("foo" [b-d]*)",
     [](B& b) {
       return b.And({b.Star(b.Class(Chars('a', 'z'))),
                     b.Sequence({b.Bytes("foo"), b.Star(b.Class(Chars('b', 'd')))})});
     }},
    {R"([b-d]{3,7})",
     [](B& b) {
       return b.And({b.Repeat(b.Class(Chars('a', 'z')), 3, 9),
                     b.Repeat(b.Class(Chars('b', 'd')), 1, 8),
                     b.Repeat(b.Class(CodePointSet::All()), 0, 7)});
     }},
    {R"([])",
     [](B& b) {
       return b.And(
           {b.Repeat(b.Class(Chars('a', 'z')), 3, 4), b.Repeat(b.Class(Chars('a', 'z')), 5, 6)});
     }},
    {R"(And("foo" [b-d]*, [^]{2,9}))",
     [](B& b) {
       return b.And({b.Repeat(b.Class(Chars('a', 'z')), 2, kUnbounded),
                     b.Sequence({b.Bytes("foo"), b.Star(b.Class(Chars('b', 'd')))}),
                     b.Repeat(b.Class(Chars('a', 'x')), 0, 9)});
     }},
    // Not where there may be others, nor of other spellings.
    {R"(And([a-z]{2,}, "foo" [0-9]*))",
     [](B& b) {
       return b.And({b.Repeat(b.Class(Chars('a', 'z')), 2, kUnbounded),
                     b.Sequence({b.Bytes("foo"), b.Star(b.Class(Chars('0', '9')))})});
     }},
    {R"(And(JsonClass([a-z])*, "foo" [b-d]*))",
     [](B& b) {
       return b.And({b.Star(b.JsonClass(Chars('a', 'z'))),
                     b.Sequence({b.Bytes("foo"), b.Star(b.Class(Chars('b', 'd')))})});
     }},
    // A class of one character becomes a literal on the way, and the others still count.
    {R"("b")",
     [](B& b) {
       NodeId all[] = {b.Class(Chars('a', 'b')), b.Class(Chars('b', 'c')),
                       b.Class(Chars('a', 'd'))};
       return b.And(all);
     }},
    {R"([])",
     [](B& b) {
       NodeId all[] = {b.Class(Chars('a', 'b')), b.Class(Chars('b', 'c')),
                       b.Class(Chars('c', 'd'))};
       return b.And(all);
     }},
    {R"([])",
     [](B& b) {
       NodeId all[] = {b.ByteClass(ByteSet::Range(1, 2)), b.ByteClass(ByteSet::Range(2, 3)),
                       b.ByteClass(ByteSet::Range(3, 4))};
       return b.And(all);
     }},
    {R"("a"*)", [](B& b) { return b.Not(b.Not(b.Star(b.Bytes("a")))); }},
    {R"([])", [](B& b) { return b.Not(b.AnyBytes()); }},
    {R"(And("a"*, "b"*, "c"*))",
     [](B& b) {
       NodeId x = b.Star(b.Bytes("a")), y = b.Star(b.Bytes("b")), z = b.Star(b.Bytes("c"));
       return b.And({z, b.And({y, x})});
     }},
};
INSTANTIATE_TEST_SUITE_P(Booleans, Simplify, testing::ValuesIn(kBooleans));

const Simplification kLeaves[] = {
    {R"([])", [](B& b) { return b.ByteClass(ByteSet()); }},
    {R"([])", [](B& b) { return b.Class(CodePointSet()); }},
    {R"("a")", [](B& b) { return b.ByteClass(ByteSet::Of('a')); }},
    {R"(Bytes("\xff"))", [](B& b) { return b.ByteClass(ByteSet::Of(0xFF)); }},
    {R"(JsonText("a"))", [](B& b) { return b.JsonClass(Chars('a', 'a')); }},
    {R"([.0-9]*)", [](B& b) { return b.MultipleOf({8, 3}); }},
    {R"(Multiple(3))", [](B& b) { return b.MultipleOf({12, 2}); }},
    {R"(Multiple(7))", [](B& b) { return b.MultipleOf({7, 400}); }},
    {R"(Token(1, 3))", [](B& b) { return b.Tokens({{3, 1, 3}, false}); }},
    {R"([])", [](B& b) { return b.Tokens({{}, false}); }},
    {R"(ExcludeToken())", [](B& b) { return b.Tokens({{}, true}); }},
};
INSTANTIATE_TEST_SUITE_P(Leaves, Simplify, testing::ValuesIn(kLeaves));

// Members of one byte each, named by their letters, between commas and up to a dot.
struct List {
  ScratchVector<Members::Member> members;
  int64_t min = 1, max = kUnbounded;
  uint32_t conditions = 0;
};
NodeId MembersOf(B& b, const List& list) {
  return b.Members({.separator = b.Bytes(","),
                    .end = b.Bytes("."),
                    .members = list.members,
                    .min = list.min,
                    .max = list.max,
                    .conditions = list.conditions});
}
constexpr MemberUse kOptional = MemberUse::kOptional, kRequired = MemberUse::kRequired,
                    kRepeated = MemberUse::kRepeated, kDistinct = MemberUse::kDistinct;

const Simplification kMemberLists[] = {
    {R"(Members("1.. optional required", ",", ".", "a", "b"))",
     [](B& b) { return MembersOf(b, {{{b.Bytes("a")}, {b.Bytes("b"), kRequired}}}); }},
    // Members that match nothing.
    {R"(Members("1.. required", ",", ".", "b"))",
     [](B& b) {
       return MembersOf(b, {{{b.Nothing()}, {b.Bytes("b"), kRequired}, {b.Nothing(), kRepeated}}});
     }},
    {"[]", [](B& b) { return MembersOf(b, {{{b.Bytes("a")}, {b.Nothing(), kRequired}}}); }},
    {"[]", [](B& b) { return MembersOf(b, {{{b.Nothing(), kRepeated}}}); }},
    {"[]", [](B& b) { return MembersOf(b, {}); }},
    // Bounds that say no more than the members do.
    {R"(Members("1.. optional required required", ",", ".", "a", "b", "c"))",
     [](B& b) {
       return MembersOf(
           b, {{{b.Bytes("a")}, {b.Bytes("b"), kRequired}, {b.Bytes("c"), kRequired}}, 2, 3});
     }},
    {R"(Members("3..3 optional required repeated", ",", ".", "a", "b", "c"))",
     [](B& b) {
       return MembersOf(
           b, {{{b.Bytes("a")}, {b.Bytes("b"), kRequired}, {b.Bytes("c"), kRepeated}}, 3, 3});
     }},
    // Bounds that can not be met.
    {"[]", [](B& b) { return MembersOf(b, {{{b.Bytes("a")}, {b.Bytes("b")}}, 3}); }},
    {"[]", [](B& b) { return MembersOf(b, {{{b.Bytes("a"), kRepeated}}, 3, 2}); }},
    {"[]", [](B& b) { return MembersOf(b, {{{b.Bytes("a")}}, 0, 0}); }},
    {"[]",
     [](B& b) {
       return MembersOf(b, {{{b.Bytes("a"), kRequired}, {b.Bytes("b"), kRequired}}, 1, 1});
     }},
    // Conditions: some member must meet each, within the upper bound.
    {R"(Members("1.. repeated:0 repeated", ",", ".", "a", "b"))",
     [](B& b) {
       return MembersOf(
           b, {{{b.Bytes("a"), kRepeated, 0x5}, {b.Bytes("b"), kRepeated, 0x2}}, 1, kUnbounded, 1});
     }},
    {"[]", [](B& b) { return MembersOf(b, {{{b.Bytes("a"), kRepeated, 0x1}}, 1, kUnbounded, 2}); }},
    {"[]",
     [](B& b) {
       return MembersOf(
           b, {{{b.Bytes("a"), kRepeated, 0x1}, {b.Bytes("b"), kRepeated, 0x2}}, 1, 1, 2});
     }},
    {R"(Members("1..1 repeated:0 repeated:1 repeated:0:1", ",", ".", "a", "b", "c"))",
     [](B& b) {
       return MembersOf(b, {{{b.Bytes("a"), kRepeated, 0x1},
                             {b.Bytes("b"), kRepeated, 0x2},
                             {b.Bytes("c"), kRepeated, 0x3}},
                            1,
                            1,
                            2});
     }},
    {"[]",
     [](B& b) {
       return MembersOf(b, {{{b.Bytes("a"), kRequired}, {b.Bytes("b"), kRepeated, 0x1}}, 1, 1, 1});
     }},
    // A separator or an end that matches nothing.
    {R"(Members("1..1 optional distinct", [], ".", "a", [0-9]+))",
     [](B& b) {
       const NodeId digits = b.Repeat(b.Class(Chars('0', '9')), 1, kUnbounded);
       return b.Members({.separator = b.Nothing(),
                         .end = b.Bytes("."),
                         .members = {{b.Bytes("a")}, {digits, kDistinct}}});
     }},
    {"[]",
     [](B& b) {
       return b.Members(
           {.separator = b.Bytes(","), .end = b.Nothing(), .members = {{b.Bytes("a")}}});
     }},
};
INSTANTIATE_TEST_SUITE_P(MemberLists, Simplify, testing::ValuesIn(kMemberLists));

TEST(Builder, EqualNodesHaveEqualIds) {
  GrammarBuilder b;
  EXPECT_EQ(b.Bytes("abc"), b.Sequence({b.Bytes("a"), b.Bytes("bc")}));
  EXPECT_EQ(b.Choice({b.Bytes("x"), b.Bytes("y")}), b.Choice({b.Bytes("y"), b.Bytes("x")}));
  EXPECT_NE(b.Bytes("abc"), b.JsonText("abc"));
  EXPECT_NE(b.Class(Chars('a', 'c')), b.JsonClass(Chars('a', 'c')));
  EXPECT_NE(b.Tokens({{1}, false}), b.Tokens({{1}, true}));
  EXPECT_NE(b.Repeat(b.Bytes("a"), 2, 3), b.Repeat(b.Bytes("a"), 2, 4));
  EXPECT_NE(b.Sequence({b.Star(b.Bytes("a")), b.Bytes("b")}),
            b.Choice({b.Star(b.Bytes("a")), b.Bytes("b")}));
  RuleId r = b.AddRule("r"), s = b.AddRule("s");
  EXPECT_EQ(b.Rule(r), b.Rule(r));
  EXPECT_NE(b.Rule(r), b.Rule(s));
}

TEST(Builder, SequencesMayShareATail) {
  GrammarBuilder b;
  const NodeId x = b.Star(b.Bytes("x")), y = b.Star(b.Bytes("y"));
  const NodeId tail = b.Sequence({x, y});
  const NodeId head[] = {b.Bytes("a"), b.Bytes("b")};
  const NodeId shared = b.SequenceBefore(head, tail);
  ASSERT_EQ(b.node(shared).children.size(), 2);
  EXPECT_EQ(b.node(shared).children[0], b.Bytes("ab"));
  EXPECT_EQ(b.node(shared).children[1], tail);
  // Whatever is no sequence is a part like any other.
  EXPECT_EQ(b.SequenceBefore(head, b.Bytes("c")), b.Bytes("abc"));
  EXPECT_EQ(b.SequenceBefore(head, b.Empty()), b.Bytes("ab"));
  EXPECT_EQ(b.SequenceBefore(head, b.Nothing()), b.Nothing());
  EXPECT_EQ(b.SequenceBefore({}, tail), tail);
  EXPECT_EQ(b.SequenceBefore({&x, 1}, x), b.Repeat(b.Bytes("x"), 0, kUnbounded));
  const NodeId nothing = b.Nothing();
  EXPECT_EQ(b.SequenceBefore({&nothing, 1}, tail), nothing);
  const RuleId root = b.AddRule("root");
  b.SetBody(root, shared);
  const Grammar g = *b.Finish(root);
  EXPECT_EQ(g.ToString(), "root ::= \"ab\" \"x\"* \"y\"*\n");
  EXPECT_EQ(ParseEbnf(g.ToString())->ToString(), g.ToString());
}

// A sequence that goes into another one joins its repeats there as well, whoever asks first.
TEST(Builder, RepeatsInsideSequencesJoin) {
  GrammarBuilder b;
  const NodeId x = b.Rule(b.AddRule("x")), y = b.Rule(b.AddRule("y"));
  const NodeId inner = b.Sequence({x, b.Sequence({b.Optional(x), y})});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(b.Sequence({x, inner}), b.Sequence({b.Repeat(x, 2, 3), y}));
    EXPECT_EQ(b.Sequence({y, inner, b.Optional(y)}),
              b.Sequence({y, b.Repeat(x, 1, 2), b.Repeat(y, 1, 2)}));
  }
}

TEST(Builder, ViewsStayValidWhileItGrows) {
  GrammarBuilder b;
  NodeId text = b.Bytes("first");
  NodeId list = b.Sequence({b.Star(text), b.Bytes("x")});
  NodeId set = b.Class(Chars('a', 'q'));
  NodeView text_view = b.node(text), list_view = b.node(list), set_view = b.node(set);
  for (int i = 0; i < 50'000; ++i) b.Bytes("word" + std::to_string(i));
  EXPECT_EQ(text_view.text, "first");
  EXPECT_EQ(list_view.children[1], b.Bytes("x"));
  EXPECT_EQ(*set_view.characters, Chars('a', 'q'));
}

// Nodes move where there are more of them: a part that is looked at while literals before it are
// joined, which adds a node, is still what it was.
TEST(Builder, PartsStayWhatTheyAreWhileNodesAreAdded) {
  for (int offset = 0; offset < 3; ++offset) {
    GrammarBuilder b;
    const RuleId rule = b.AddRule("rule");
    b.SetBody(rule, b.Bytes("z"));
    for (int i = 0; i < offset; ++i) b.Bytes("other " + std::to_string(i));
    for (int i = 0; i < 20'000; ++i) {
      const NodeId sequence =
          b.Sequence({b.Bytes("x" + std::to_string(i)), b.Bytes("y"), b.Rule(rule)});
      const NodeView view = b.node(sequence);
      ASSERT_EQ(view.kind, NodeKind::kSequence);
      ASSERT_EQ(view.children.size(), 2u);
      ASSERT_EQ(view.children[1], b.Rule(rule));
    }
  }
}

TEST(Builder, RuleNamesAreUniqueAndFit) {
  GrammarBuilder b;
  std::vector<std::string> names = {"a", "a", "a_1", "9-lives", "", "na\xC3\xAFve", "a", "root"};
  std::vector<NodeId> calls;
  for (const std::string& name : names) {
    RuleId rule = b.AddRule(name);
    b.SetBody(rule, b.Bytes(name + "!"));
    calls.push_back(b.Rule(rule));
  }
  RuleId root = b.AddRule("root");
  b.SetBody(root, b.Sequence(calls));
  Grammar g = *b.Finish(root);
  std::set<std::string> seen;
  for (uint32_t r = 0; r < g.rule_count(); ++r) {
    const std::string& name = g.rule_name(RuleId(r));
    EXPECT_TRUE(seen.insert(name).second) << name;
    EXPECT_EQ(
        name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789"),
        std::string::npos)
        << name;
    EXPECT_FALSE(name.empty() || (name[0] >= '0' && name[0] <= '9')) << name;
  }
  EXPECT_EQ(g.rule_name(RuleId(0)), "a");
  EXPECT_EQ(g.rule_name(RuleId(3)), "_9_lives");
}

TEST(Finish, DropsWhatTheRootDoesNotReach) {
  GrammarBuilder b;
  RuleId unused = b.AddRule("unused"), root = b.AddRule("root"), used = b.AddRule("used");
  b.SetBody(unused, b.Sequence({b.Bytes("zzz"), b.Rule(root)}));
  b.Bytes("never");
  b.SetBody(used, b.Choice({b.Bytes("x"), b.Rule(used)}));
  b.SetBody(root, b.Sequence({b.Bytes("y"), b.Rule(used)}));
  Grammar g = *b.Finish(root);
  EXPECT_EQ(g.rule_count(), 2u);
  EXPECT_EQ(g.rule_name(g.root()), "root");
  EXPECT_EQ(g.node_count(), 5u);
  EXPECT_EQ(g.ToString(), "root ::= \"y\" used\nused ::= \"x\" | used\n");
  ExpectWellFormed(g);
}

TEST(Finish, EmptiesTheBuilder) {
  GrammarBuilder b;
  RuleId root = b.AddRule("first");
  b.SetBody(root, b.Bytes("a"));
  ASSERT_TRUE(b.Finish(root).ok());
  RuleId again = b.AddRule("first");
  EXPECT_EQ(again, RuleId(0));
  EXPECT_FALSE(b.HasBody(again));
  b.SetBody(again, b.Bytes("b"));
  EXPECT_TRUE(b.HasBody(again));
  Grammar g = *b.Finish(again);
  EXPECT_EQ(g.rule_name(g.root()), "first");
  EXPECT_EQ(g.ToString(), "root ::= \"b\"\n");
}

TEST(Finish, RefusesARuleWithoutBody) {
  GrammarBuilder b;
  RuleId root = b.AddRule("root"), missing = b.AddRule("missing");
  b.SetBody(root, b.Optional(b.Rule(missing)));
  StatusOr<Grammar> g = b.Finish(root);
  ASSERT_FALSE(g.ok());
  EXPECT_EQ(g.status().code(), StatusCode::kInternal);
  EXPECT_NE(g.status().message().find("missing"), std::string::npos);
  EXPECT_FALSE(b.Finish(b.AddRule("bare")).ok());
}

TEST(Finish, RefusesMoreNodesThanTheLimit) {
  Limits limits;
  limits.max_ast_nodes = 1000;
  GrammarBuilder b(limits);
  RuleId root = b.AddRule("root");
  std::vector<NodeId> words;
  for (int i = 0; i < 2000; ++i) words.push_back(b.Bytes("w" + std::to_string(i)));
  EXPECT_EQ(b.Bytes("one more"), b.Nothing());
  EXPECT_EQ(b.Empty(), b.Nothing());
  EXPECT_EQ(b.Star(words[0]), b.Nothing());
  b.SetBody(root, b.Choice(words));
  StatusOr<Grammar> g = b.Finish(root);
  ASSERT_FALSE(g.ok());
  EXPECT_EQ(g.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(g.status().message().find("max_ast_nodes"), std::string::npos);
  // The next grammar is not affected.
  root = b.AddRule("root");
  b.SetBody(root, b.Bytes("fine"));
  EXPECT_TRUE(b.Finish(root).ok());
}

TEST(Import, CopiesEverythingAsNewRules) {
  GrammarBuilder b;
  RuleId root = b.AddRule("root"), list = b.AddRule("list");
  NodeId digits = b.Repeat(b.Class(Chars('0', '9')), 1, 3);
  b.SetBody(list, b.Choice({digits, b.Sequence({digits, b.Bytes(","), b.Rule(list)})}));
  b.SetBody(root, b.Sequence({b.Bytes("["), b.Rule(list), b.Bytes("]"),
                              b.And({b.Star(b.Bytes("a")), b.Not(b.Bytes("aa"))}),
                              b.Optional(b.Tokens({{5, 7}, true})), b.MultipleOf({3, 0})}));
  Grammar g = *b.Finish(root);

  GrammarBuilder both;
  both.Bytes("shifts");
  both.Star(both.Bytes("ids"));
  RuleId first = both.Import(g), second = both.Import(g);
  EXPECT_NE(first, second);
  RuleId top = both.AddRule("top");
  both.SetBody(top, both.Sequence({both.Rule(first), both.Bytes("/"), both.Rule(second)}));
  Grammar twice = *both.Finish(top);
  ExpectWellFormed(twice);
  EXPECT_EQ(twice.rule_count(), 5u);
  Recognizer one(g), two(twice);
  for (std::string text : {"[1]3", "[12,345,6]aaa3.6", "[12,,3]", "[1]aa9", "[1]"}) {
    EXPECT_EQ(one.Matches(text), two.Matches(text + "/" + "[1]3")) << text;
  }
  EXPECT_TRUE(two.Matches("[12,345,6]aaa3.6/[1]3"));

  GrammarBuilder alone;
  Grammar same = *alone.Finish(alone.Import(g));
  EXPECT_EQ(same.ToString(), g.ToString());
  EXPECT_EQ(same.node_count(), g.node_count());
}

TEST(Import, ABodyIsCopiedAsANode) {
  GrammarBuilder b;
  auto body = [](GrammarBuilder& b) {
    return b.Choice({b.And({b.Star(b.Bytes("a")), b.Not(b.Bytes("aa"))}),
                     b.Sequence({b.Repeat(b.Class(Chars('0', '9')), 1, 3), b.MultipleOf({3, 0})}),
                     b.JsonText("x")});
  };
  RuleId only = b.AddRule("only");
  b.SetBody(only, body(b));
  Grammar g = *b.Finish(only);
  GrammarBuilder other;
  other.JsonText("shifts");
  NodeId copy = other.ImportBody(g);
  EXPECT_EQ(other.ImportBody(g), copy);
  EXPECT_EQ(body(other), copy);
  RuleId root = other.AddRule("root");
  other.SetBody(root, copy);
  Grammar same = *other.Finish(root);
  ExpectWellFormed(same);
  EXPECT_EQ(same.ToString(), "root" + g.ToString().substr(4));
}

TEST(Import, CopiesListsOfMembers) {
  GrammarBuilder b;
  const RuleId root = b.AddRule("root"), nested = b.AddRule("nested");
  b.SetBody(nested, b.Sequence({b.Bytes("("), b.Rule(root)}));
  b.SetBody(root, MembersOf(b, {{{b.Bytes("z")},
                                 {b.Bytes("a"), kRequired},
                                 {b.Rule(nested)},
                                 {b.Repeat(b.Bytes("y"), 1, 2), kRepeated, 1},
                                 {b.Class(Chars('0', '9')), kDistinct}},
                                2,
                                4,
                                1}));
  const Grammar g = *b.Finish(root);
  GrammarBuilder both;
  for (const char* text : {"a", "y", "shifts", ",", "ids"}) both.Bytes(text);
  const RuleId copy = both.Import(g);
  const Grammar same = *both.Finish(copy);
  ExpectWellFormed(same);
  EXPECT_EQ(same.ToString(), g.ToString());
  EXPECT_EQ(ParseEbnf(same.ToString())->ToString(), g.ToString());
  Recognizer one(g), two(same);
  for (std::string text : {"a,yy.", "yy,a.", "a.", "y,y.", "a,1,y,2.", "a,1,y,1.", "a,y,(y,a..",
                           "a,y,(a..", "z,a,z,y.", "a,1,y,2,3."}) {
    EXPECT_EQ(one.Matches(text), two.Matches(text)) << text;
  }
  EXPECT_TRUE(two.Matches("a,y,(y,a.."));
  EXPECT_TRUE(two.Matches("a,1,y,2."));
  EXPECT_FALSE(two.Matches("a,1,y,1."));
}

TEST(Sizes, AHundredThousandWords) {
  GrammarBuilder b;
  std::vector<NodeId> words;
  for (int i = 0; i < 100'000; ++i) words.push_back(b.Bytes("word" + std::to_string(i)));
  NodeId at_once = b.Choice(words);
  EXPECT_EQ(b.node(at_once).children.size(), words.size());
  // One by one is linear too, though the result may be nested.
  NodeId choice = b.Nothing(), sequence = b.Empty();
  for (NodeId word : words) {
    choice = b.Choice({choice, word});
    sequence = b.Sequence({sequence, b.Star(word)});
  }
  NodeId text = b.Empty();
  std::string whole;
  for (int i = 0; i < 200'000; ++i) {
    whole += static_cast<char>('a' + i % 23);
    text = b.Sequence({text, b.Bytes(whole.substr(whole.size() - 1))});
  }
  RuleId root = b.AddRule("root");
  b.SetBody(root, b.Sequence({at_once, b.Bytes("!"), choice, sequence, b.Star(text)}));
  StatusOr<Grammar> g = b.Finish(root);
  ASSERT_TRUE(g.ok()) << g.status().message();
  // The bytes of the long text are all there, in order.
  std::string joined;
  std::vector<NodeId> pending = {g->node(g->rule_body(g->root())).children.back()};
  pending = {g->node(pending[0]).children[0]};
  while (!pending.empty()) {
    NodeView v = g->node(pending.back());
    pending.pop_back();
    joined += v.text;
    pending.insert(pending.end(), v.children.rbegin(), v.children.rend());
  }
  EXPECT_EQ(joined, whole);
  EXPECT_LT(g->memory_bytes(), 40'000'000u);
}

TEST(Sizes, DeepNestingTakesNoStack) {
  Grammar g = Finish([](B& b) {
    NodeId node = b.Bytes("a");
    for (int i = 0; i < 300'000; ++i) {
      node = b.Repeat(b.Sequence({b.Bytes("("), node, b.Bytes(")")}), 2, 3);
    }
    return node;
  });
  EXPECT_GT(g.ToString().size(), 1'000'000u);
  GrammarBuilder again;
  EXPECT_TRUE(again.Finish(again.Import(g)).ok());
}

TEST(Multiple, DividingByTheScaleKeepsTheLanguage) {
  for (uint64_t modulus = 1; modulus <= 60; ++modulus) {
    for (uint32_t scale = 0; scale <= 4; ++scale) {
      Grammar g = Finish([&](B& b) { return b.MultipleOf({modulus, scale}); });
      Recognizer r(g);
      uint64_t power = 1;
      for (uint32_t i = 0; i < scale; ++i) power *= 10;
      for (uint64_t d = 0; d <= 130; ++d) {
        ASSERT_EQ(r.Matches(std::to_string(d)), d * power % modulus == 0) << modulus << " " << d;
      }
    }
  }
}

// The nodes that come out have the language of the calls that went in.
TEST(RandomGrammars, KeepTheirLanguage) {
  Universe u("ab", 5);
  for (uint32_t seed = 0; seed < 3000; seed += OneIn(7)) {
    RandomWorld::Options options;
    options.rules = 1 + static_cast<int>(seed % 3);
    options.booleans = seed % 2 == 1;
    options.json = seed % 5 == 0;
    RandomWorld world(seed, options);
    Language want = world.RootLanguage(u);
    StatusOr<Grammar> grammar = world.Finish();
    ASSERT_TRUE(grammar.ok());
    ExpectWellFormed(*grammar);
    Recognizer recognizer(*grammar);
    for (size_t i = 0; i < u.size(); ++i) {
      ASSERT_EQ(recognizer.Matches(u.texts()[i]), want[i])
          << "seed " << seed << " text '" << u.texts()[i] << "'\n"
          << grammar->ToString();
    }
  }
}

}  // namespace
}  // namespace grammask::internal
