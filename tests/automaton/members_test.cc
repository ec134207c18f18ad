// Members in any order as states: what they are, how many, and how long the rest must be.
#include "automaton/members.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "automaton/build.h"
#include "automaton/member_lengths.h"
#include "grammar/ebnf.h"
#include "grammar/json_schema.h"
#include "oracle/recognizer.h"
#include "parser/set_table.h"

namespace grammask::internal {
namespace {

class World {
 public:
  explicit World(const std::string& ebnf) : World(*ParseEbnf(ebnf)) {}
  explicit World(Grammar grammar) : grammar_(std::move(grammar)), store_({}, 32), sets_(&store_) {
    const StatusOr<TermId> root = BuildTerms(grammar_, &store_);
    status_ = root.status();
    if (root.ok()) root_ = *root;
  }

  const Status& status() const { return status_; }
  const Grammar& grammar() const { return grammar_; }
  TermStore& store() { return store_; }
  SetTable& sets() { return sets_; }
  SetId Start() { return sets_.Start(root_); }
  SetId After(std::string_view text) { return sets_.Run(Start(), text); }
  bool Accepts(std::string_view text) { return sets_.set(After(text)).accepting; }
  // What each item of the set is, sorted.
  std::string States(std::string_view text) {
    std::string out;
    for (const Item& item : sets_.set(After(text)).kernel) {
      out += (out.empty() ? "" : " ") + store_.ToString(item.term);
    }
    return out;
  }

 private:
  Grammar grammar_;
  TermStore store_;
  SetTable sets_;
  Status status_;
  TermId root_;
};

TEST(Members, StatesAreWhatHasBeenWritten) {
  World w(R"(root ::= Members("1.. required optional repeated", ",", ";", "a", "b", "c"))");
  // The order has no meaning, nor has how often c came.
  EXPECT_EQ(w.States("a,b"), w.States("b,a"));
  EXPECT_EQ(w.States("a,c,b"), w.States("c,b,c,a"));
  EXPECT_EQ(w.After("a,b,"), w.After("b,a,"));
  EXPECT_EQ(w.After("a"), w.After("c,a"));
  EXPECT_NE(w.States("a"), w.States("b"));
  EXPECT_NE(w.States("a,"), w.States("a"));
  EXPECT_EQ(w.States("a;"), w.States("b,a;"));
}

TEST(Members, CountsMatterUpToTheirBounds) {
  World w(R"(root ::= Members("2.. repeated repeated", ",", ";", "a", "b"))");
  EXPECT_NE(w.After("a"), w.After("a,b"));
  EXPECT_EQ(w.After("a,b"), w.After("b,b,b"));
  World upper(R"(root ::= Members("1..3 repeated repeated", ",", ";", "a", "b"))");
  EXPECT_NE(upper.After("a"), upper.After("a,b"));
  EXPECT_EQ(upper.After("a,b"), upper.After("b,b"));
  EXPECT_EQ(upper.After("a,b,a,"), SetTable::Dead());
}

TEST(Members, ConditionsAreKept) {
  World w(R"(root ::= Members("1..2 repeated:0 repeated:1 repeated", ",", ";", "a", "b", "c"))");
  EXPECT_TRUE(w.Accepts("a,b;"));
  EXPECT_TRUE(w.Accepts("b,a;"));
  EXPECT_EQ(w.After("a;"), SetTable::Dead());
  EXPECT_EQ(w.After("c"), SetTable::Dead());  // then there is no room for both
  EXPECT_EQ(w.After("a,a"), SetTable::Dead());
  EXPECT_EQ(w.After("a,b,"), SetTable::Dead());
}

// A separator, an end or a member without any finite text.
TEST(Members, PartsThatMatchNothing) {
  const std::string endless = "\nx ::= \"x\" x\n";
  World one("root ::= Members(\"1.. optional repeated\", x, \";\", \"a\", \"b\")" + endless);
  EXPECT_TRUE(one.Accepts("a;"));
  EXPECT_TRUE(one.Accepts("b;"));
  EXPECT_EQ(one.After("ax"), SetTable::Dead());
  World both("root ::= Members(\"1.. repeated:0:1\", x, \";\", \"a\")" + endless);
  EXPECT_TRUE(both.Accepts("a;"));
  World left("root ::= Members(\"1.. optional repeated\", \",\", \";\", x, \"b\")" + endless);
  EXPECT_TRUE(left.Accepts("b,b;"));
  EXPECT_EQ(left.After("x"), SetTable::Dead());
  for (const char* list : {"Members(\"2.. optional repeated\", x, \";\", \"a\", \"b\")",
                           "Members(\"1.. optional repeated\", \",\", x, \"a\", \"b\")",
                           "Members(\"1.. required repeated\", \",\", \";\", x, \"b\")",
                           "Members(\"1.. repeated:0 repeated\", \",\", \";\", x, \"b\")",
                           "Members(\"2.. optional optional\", \",\", \";\", x, \"b\")",
                           "Members(\"1..1 repeated:0 repeated:1 repeated:0:1\", \",\", \";\", "
                           "\"a\", \"b\", x)"}) {
    World none(std::string("root ::= ") + list + endless);
    EXPECT_EQ(none.status().code(), StatusCode::kUnsatisfiable) << list;
    // Within a cycle of rules too: nothing leads there.
    World cycle(std::string("root ::= \"y\" r | \"z\"\nr ::= ") + list + " (\"q\" | r \"w\")" +
                endless);
    EXPECT_TRUE(cycle.Accepts("z")) << list;
    EXPECT_EQ(cycle.After("y"), SetTable::Dead()) << list;
  }
  World itself(
      "root ::= \"y\" r | \"z\"\n"
      "r ::= Members(\"1..1 repeated:0 repeated:1 repeated:0:1\", \",\", \";\", \"a\", \"b\", r "
      "\"w\")\n");
  EXPECT_TRUE(itself.Accepts("z"));
  EXPECT_EQ(itself.After("y"), SetTable::Dead());
}

TEST(Members, RefusesMembersOfNoText) {
  for (const char* list : {"Members(\"1.. required\", \",\", \";\", \"a\"?)",
                           "Members(\"1.. repeated\", \",\", \";\", x)\nx ::= \"a\"*"}) {
    World w(std::string("root ::= ") + list);
    EXPECT_EQ(w.status().code(), StatusCode::kInvalidArgument) << list;
    EXPECT_NE(w.status().message().find("empty text"), std::string::npos) << w.status().message();
  }
}

TEST(Members, RefusesDistinctMembersThatMayRunOutBesideOthers) {
  for (const char* list :
       {R"(Members("3.. distinct optional optional", ",", ";", "1" | "2", "a", "b"))",
        R"(Members("3.. distinct distinct", ",", ";", "1" | "2", "2" | "3"))"}) {
    World w(std::string("root ::= ") + list);
    EXPECT_EQ(w.status().code(), StatusCode::kInvalidArgument) << list;
    EXPECT_NE(w.status().message().find("too few values"), std::string::npos);
  }
  World two(R"(root ::= Members("1.. distinct optional", ",", ";", "1" | "2", "a"))");
  EXPECT_TRUE(two.Accepts("2,a,1;"));
  EXPECT_EQ(two.After("2,a,1,"), SetTable::Dead());
  World repeated(R"(root ::= Members("3.. distinct repeated", ",", ";", "1" | "2", "a"))");
  EXPECT_TRUE(repeated.Accepts("2,a,1;"));
  EXPECT_TRUE(repeated.Accepts("a,a,a,2;"));
  EXPECT_EQ(repeated.After("a,1;"), SetTable::Dead());
  World enough(R"(root ::= Members("3.. distinct optional", ",", ";", [1-3], "a"))");
  EXPECT_TRUE(enough.Accepts("3,1,2;"));
  EXPECT_TRUE(enough.Accepts("3,a,2,1;"));
  EXPECT_EQ(enough.After("3,1,2,a,"), SetTable::Dead());
}

TEST(Members, DistinctValues) {
  World w(R"(root ::= Members("1.. distinct", ",", ";", [0-9] | "1.0" | "10" | "\"" [a-b]* "\""))");
  EXPECT_TRUE(w.Accepts("1,2,10;"));
  EXPECT_TRUE(w.Accepts("\"a\",\"b\",\"ab\",\"\";"));
  EXPECT_EQ(w.After("1,2,1,"), SetTable::Dead());
  EXPECT_EQ(w.After("1,1.0"), SetTable::Dead());
  EXPECT_EQ(w.After("1.0,1;"), SetTable::Dead());
  EXPECT_EQ(w.After("\"a\",\"b\",\"a\""), SetTable::Dead());
  // Sets of values, whatever the order and the spelling.
  EXPECT_EQ(w.States("1,2,"), w.States("2,1.0,"));
  EXPECT_NE(w.States("1,2,"), w.States("1,3,"));
}

TEST(Members, DistinctValuesThatRunOut) {
  World w(R"(root ::= Members("1.. distinct", ",", ";", "a" | "ab" | "b"))");
  EXPECT_TRUE(w.Accepts("ab,a,b;"));
  EXPECT_EQ(w.After("ab,a,b,"), SetTable::Dead());
  World enough(R"(root ::= Members("3.. distinct", ",", ";", "a" | "ab" | "b"))");
  EXPECT_TRUE(enough.status().ok());
  EXPECT_EQ(enough.After("ab,a;"), SetTable::Dead());
  World few(R"(root ::= Members("4.. distinct", ",", ";", "a" | "ab" | "b"))");
  EXPECT_EQ(few.status().code(), StatusCode::kUnsatisfiable);
  World spellings(R"(root ::= Members("1.. distinct", ",", ";", "1" ("." "0"+)? | "2"))");
  EXPECT_TRUE(spellings.Accepts("1.000,2;"));
  EXPECT_EQ(spellings.After("2,1.000,"), SetTable::Dead());
  World more(R"(root ::= Members("3.. distinct", ",", ";", "1" ("." "0"+)? | "2"))");
  EXPECT_EQ(more.status().code(), StatusCode::kUnsatisfiable);
  // Many numbers in few states, and more than are tried out one by one.
  for (const int most : {99, 999, 99'999}) {
    for (const int min : {2, 64, most, most + 1}) {
      World numbers("root ::= Members(\"" + std::to_string(min) +
                    ".. distinct\", \",\", \";\", \"0\" | [1-9] [0-9]{0," +
                    std::to_string(std::to_string(most).size() - 1) + "})");
      EXPECT_TRUE(numbers.status().ok()) << min << " of " << most;
    }
  }
  World lacking("root ::= Members(\"101.. distinct\", \",\", \";\", \"0\" | [1-9] [0-9]?)");
  EXPECT_EQ(lacking.status().code(), StatusCode::kUnsatisfiable);
}

TEST(Members, PlacesComeFirst) {
  World w(R"(root ::= Members("1.. placed:0 placed:1 placed:1 distinct", ",", ";", [0-9], "a", "1",
      [0-9] | "b"))");
  for (const char* list : {"1;", "1,a;", "2,1;", "1,a,b;", "2,1,b,3;", "1,a,2,b,0;"}) {
    EXPECT_TRUE(w.Accepts(list)) << list;
  }
  for (const char* list : {"a", "b", "1,b", "1,1,", "1,2", "1,a,1;", "2,1,2,", "2,1,a"}) {
    EXPECT_EQ(w.After(list), SetTable::Dead()) << list;
  }
  // Of a value at a place the text does not matter afterwards, nor whose it was.
  EXPECT_EQ(w.States("1,a,2,"), w.States("2,a,1,"));
  EXPECT_NE(w.States("1,a,"), w.States("2,a,"));
}

TEST(Members, PlacesAtWhichNothingIsLeft) {
  // The value of the first may be that of the second, which may be left out.
  World w(R"(root ::= Members("1.. placed:0 placed:1 repeated", ",", ";", [1-2], "1.0", "x"))");
  EXPECT_TRUE(w.Accepts("2,1.0,x,x;"));
  EXPECT_TRUE(w.Accepts("1;"));
  EXPECT_EQ(w.After("1,"), SetTable::Dead());
  World must(R"(root ::= Members("2.. placed:0 placed:1", ",", ";", [1-2], "1"))");
  EXPECT_EQ(must.status().code(), StatusCode::kInvalidArgument);
  World two(R"(root ::= Members("2.. placed:0 placed:1", ",", ";", [1-2], [1-2]))");
  EXPECT_TRUE(two.Accepts("2,1;"));
  EXPECT_EQ(two.After("2;"), SetTable::Dead());
  EXPECT_EQ(two.After("1,1"), SetTable::Dead());
  // What is behind a place without any text is not there.
  World gap(R"(root ::= Members("1.. placed:0 placed:1 repeated", ",", ";", "a", [], "x"))");
  EXPECT_TRUE(gap.Accepts("a;"));
  EXPECT_EQ(gap.After("a,"), SetTable::Dead());
  World none(R"(root ::= Members("2.. placed:0 placed:1 repeated", ",", ";", "a", [], "x"))");
  EXPECT_EQ(none.status().code(), StatusCode::kUnsatisfiable);
}

// ---- The shortest text ----

// A random list over a and b; no two members need to differ.
std::string RandomList(std::mt19937_64* random) {
  const auto below = [&](size_t n) { return (*random)() % n; };
  const std::vector<std::string> texts = {"\"a\"",    "\"b\"",        "\"ab\"",   "\"aab\"",
                                          "\"bbbb\"", "\"a\" \"b\"?", "[ab] [ab]"};
  std::string uses, members;
  const size_t count = 1 + below(5);
  for (size_t i = 0; i < count; ++i) {
    switch (below(4)) {
      case 0:
        uses += " required";
        break;
      case 1:
        uses += " optional";
        break;
      default:
        uses += " repeated";
        for (int c = 0; c < 3; ++c) {
          if (below(4) == 0) uses += ":" + std::to_string(c);
        }
    }
    members += ", " + texts[below(texts.size())];
  }
  const size_t min = below(4);
  std::string bounds = std::to_string(min) + "..";
  if (below(2) == 0) bounds += std::to_string(min + below(4));
  const std::string separator = below(4) == 0 ? "\"\"" : below(2) == 0 ? "\",\"" : "\"ba\"";
  const std::string end = below(2) == 0 ? "\"\"" : "\"b\"";
  return "Members(\"" + bounds + uses + "\", " + separator + ", " + end + members + ")";
}

// The length of the shortest text from here on, by search over sets of the parser.
std::optional<uint64_t> Search(SetTable* sets, SetId from, uint64_t limit) {
  std::set<SetId> seen = {from};
  std::deque<std::pair<SetId, uint64_t>> todo = {{from, 0}};
  while (!todo.empty()) {
    const auto [at, length] = todo.front();
    todo.pop_front();
    if (sets->set(at).accepting) return length;
    if (length == limit) continue;
    for (uint8_t byte : {'a', 'b', ','}) {
      const SetId to = sets->Step(at, byte);
      if (to != SetTable::Dead() && seen.insert(to).second) todo.emplace_back(to, length + 1);
    }
  }
  return std::nullopt;
}

TEST(Members, ShortestTextsAreExact) {
  std::mt19937_64 random(7);
  size_t possible = 0, impossible = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string ebnf = "root ::= " + RandomList(&random);
    SCOPED_TRACE(ebnf);
    const Grammar grammar = *ParseEbnf(ebnf);
    World w(grammar);
    if (!w.status().ok()) {
      ++impossible;
      EXPECT_EQ(w.status().code(), StatusCode::kUnsatisfiable);
      ASSERT_FALSE(Recognizer(grammar).IsPrefix(""));
      continue;
    }
    ++possible;
    SetId at = w.Start();
    for (int step = 0; step < 8; ++step) {
      const std::optional<uint64_t> found = Search(&w.sets(), at, 60);
      ASSERT_TRUE(found.has_value());
      ASSERT_EQ(w.sets().ShortestCompletion(at), *found) << "after " << step << " bytes";
      std::vector<SetId> next;
      for (uint8_t byte : {'a', 'b', ','}) {
        const SetId to = w.sets().Step(at, byte);
        if (to != SetTable::Dead()) next.push_back(to);
      }
      if (next.empty()) break;
      at = next[random() % next.size()];
    }
  }
  EXPECT_GT(possible, 1000u);
  EXPECT_GT(impossible, 100u);
}

// One long member for both conditions, two short ones, or what an upper bound leaves.
TEST(Members, ShortestCovers) {
  const auto shortest = [](const std::string& bounds) {
    World w("root ::= Members(\"" + bounds +
            " repeated:0:1 repeated:0 repeated:1 repeated\", \",\", \"\", \"aaaaaaaa\", \"bb\", "
            "\"bbb\", \"c\")");
    EXPECT_TRUE(w.status().ok());
    return w.sets().ShortestCompletion(w.Start());
  };
  EXPECT_EQ(shortest("1.."), 6u);   // bb,bbb
  EXPECT_EQ(shortest("1..1"), 8u);  // aaaaaaaa
  EXPECT_EQ(shortest("3.."), 8u);   // bb,bbb,c
  EXPECT_EQ(shortest("3..3"), 8u);
}

TEST(ConditionCover, FewestAndShortestAreKeptApart) {
  const ConditionCover::Member members[] = {{0x3, 9}, {0x1, 2}, {0x2, 3}, {0x4, 1}};
  const ConditionCover cover(0x7, members);
  EXPECT_EQ(cover.most(), 3);
  EXPECT_EQ(cover.Fewest(0), 0);
  EXPECT_EQ(cover.Fewest(0x7), 2);
  EXPECT_EQ(cover.Length(2, 0x7), 10u);
  EXPECT_EQ(cover.Length(3, 0x7), 6u);
  EXPECT_EQ(cover.Length(1, 0x7), kMaxLength);
  const ConditionCover none(0x3, std::span(members).subspan(1, 1));
  EXPECT_EQ(none.Fewest(0x2), kUnbounded);
  EXPECT_EQ(none.Fewest(0x1), 1);
}

// ---- How much there is ----

std::string ManyMembers(int count) {
  std::string uses = "1..", members;
  for (int i = 0; i < count; ++i) {
    uses += " optional";
    members += ", \"k" + std::to_string(i) + ":\" v";
  }
  return "root ::= \"{\" Members(\"" + uses + "\", \",\", \"}\"" + members + ")\nv ::= [0-9]+\n";
}

TEST(Members, StatesExistOnlyForOrdersThatWereWritten) {
  World w(ManyMembers(200));
  ASSERT_TRUE(w.status().ok());
  const size_t before = w.store().size(), bytes = w.store().memory_bytes();
  std::string text = "{";
  for (int i = 0; i < 50; ++i) {
    text += (i > 0 ? ",k" : "k") + std::to_string(i * 37 % 200) + ":" + std::to_string(i);
  }
  text += "}";
  ASSERT_TRUE(w.Accepts(text));
  // After each member a state, and before the next one the states that its members lead to.
  EXPECT_LT(w.store().size() - before, 50u * 2 * 200);
  EXPECT_LT(w.store().memory_bytes() - bytes, 20u << 20);
  const size_t once = w.store().size();
  ASSERT_TRUE(w.Accepts(text));
  EXPECT_EQ(w.store().size(), once) << "the second time nothing is new";
  // Equal members in another order meet again.
  World two(ManyMembers(3));
  ASSERT_TRUE(two.Accepts("{k0:1,k1:1,k2:1}"));
  const size_t some = two.store().size();
  ASSERT_TRUE(two.Accepts("{k1:1,k0:1,k2:1}"));
  EXPECT_LE(two.store().size(), some + 4);
  EXPECT_GT(two.store().memory_bytes(), 0u);
}

// `oneOf` of open objects that each have names of their own: a union of dozens of cases, as for
// each other branch one of its names must be missing or have another value.
constexpr int kBranches = 5;
std::string OneOfBranches() {
  std::string branches;
  for (int i = 0; i < kBranches; ++i) {
    const std::string n = std::to_string(i), string = R"(":{"type":"string"})";
    branches += std::string(i > 0 ? "," : "") + R"({"properties":{"p)" + string + R"(,"r)" + n +
                string + R"(,"s)" + n + string + R"(},"required":["r)" + n + R"("]})";
  }
  return R"({"type":"object","oneOf":[)" + branches + "]}";
}

World AnyOrder(const std::string& schema) {
  JsonSchemaOptions options;
  options.strict_mode = false;
  options.any_order = true;
  return World(*GrammarFromJsonSchema(schema, options));
}

TEST(Members, UnionsOfOpenObjectsAreExact) {
  World w = AnyOrder(OneOfBranches());
  ASSERT_TRUE(w.status().ok());
  std::mt19937 random(3);
  int valid = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<std::string> names = {"p", "x", "r"};
    for (int i = 0; i < kBranches; ++i) {
      names.push_back("r" + std::to_string(i));
      names.push_back("s" + std::to_string(i));
    }
    std::ranges::shuffle(names, random);
    names.resize(random() % 6);
    std::set<std::string> strings, others;  // by what their values are
    std::string text = "{";
    for (const std::string& name : names) {
      const bool is_string = random() % 4 != 0;
      (is_string ? strings : others).insert(name);
      text += (text.size() > 1 ? ",\"" : "\"") + name + (is_string ? "\":\"s\"" : "\":7");
    }
    text += "}";
    int branches = 0;
    for (int i = 0; i < kBranches; ++i) {
      const std::string n = std::to_string(i);
      branches += static_cast<int>(strings.contains("r" + n) && !others.contains("p") &&
                                   !others.contains("s" + n));
    }
    valid += static_cast<int>(branches == 1);
    ASSERT_EQ(w.Accepts(text), branches == 1) << text;
  }
  EXPECT_GT(valid, 300);
}

// Members that a case does not name are the same for all cases: where a key begins, each name and
// they are an item, not each case.
TEST(Members, CasesOfAUnionShareWhatTheyDoNotName) {
  World w = AnyOrder(OneOfBranches());
  ASSERT_TRUE(w.status().ok());
  const auto& kernel = w.sets().set(w.After("{\"")).kernel;
  constexpr size_t kNames = 2 * kBranches + 1;
  EXPECT_LE(kernel.size(), 3 * kNames + 1);  // a string, no string, anything
  const auto& later = w.sets().set(w.After("{\"r1\":\"s\",\"x\":1,\"")).kernel;
  EXPECT_LE(later.size(), 3 * kNames + 1);
}

TEST(Members, EqualListsOfTwoGrammarsAreOne) {
  TermStore store({}, 32);
  const std::string list = R"(Members("1.. required optional", ",", ";", "a", "b"))";
  const TermId one = *BuildTerms(*ParseEbnf("root ::= " + list), &store);
  const size_t size = store.size();
  EXPECT_EQ(*BuildTerms(*ParseEbnf("root ::= " + list), &store), one);
  EXPECT_EQ(store.size(), size);
  const std::string other = R"(Members("1.. optional required", ",", ";", "a", "b"))";
  EXPECT_NE(*BuildTerms(*ParseEbnf("root ::= " + other), &store), one);
}

}  // namespace
}  // namespace grammask::internal
