// Grammars as terms: what becomes a procedure, what is shared, what is dropped.
#include "automaton/build.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "parser/set_table.h"

namespace grammask::internal {
namespace {

// A grammar from a function that fills a builder and names the root.
Grammar Make(const std::function<RuleId(GrammarBuilder&)>& fill) {
  GrammarBuilder b;
  const RuleId root = fill(b);
  StatusOr<Grammar> g = b.Finish(root);
  EXPECT_TRUE(g.ok()) << g.status().message();
  return *g;
}

TermId Build(const Grammar& grammar, TermStore* store) {
  StatusOr<TermId> root = BuildTerms(grammar, store);
  EXPECT_TRUE(root.ok()) << root.status().message();
  return root.ok() ? *root : TermStore::Nothing();
}

bool Accepts(TermStore* store, TermId root, std::string_view text) {
  SetTable sets(store);
  return sets.set(sets.Run(sets.Start(root), text)).accepting;
}

RuleId AddRule(GrammarBuilder& b, std::string_view name, NodeId body) {
  const RuleId r = b.AddRule(name);
  b.SetBody(r, body);
  return r;
}

NodeId Wide(GrammarBuilder& b) { return b.Star(b.Class(CodePointSet{{'a', 'z'}})); }

// ---- dump tables ----

TEST(Build, RulesAsTerms) {
  struct Case {
    std::function<RuleId(GrammarBuilder&)> fill;
    const char* term;
  };
  const Case cases[] = {
      {[](GrammarBuilder& b) { return AddRule(b, "root", b.Bytes("ab")); }, "\"ab\""},
      {[](GrammarBuilder& b) { return AddRule(b, "root", b.Empty()); }, "\"\""},
      // A small rule is written into its caller.
      {[](GrammarBuilder& b) {
         const RuleId ws =
             AddRule(b, "ws", b.Star(b.ByteClass(ByteSet::Of(' ') | ByteSet::Of('\n'))));
         return AddRule(b, "root", b.Sequence({b.Bytes("["), b.Rule(ws), b.Bytes("]")}));
       },
       "(\"[\" ([\\x0A ]{0,} \"]\"))"},
      // A loop over many characters is a procedure.
      {[](GrammarBuilder& b) {
         const RuleId word = AddRule(b, "word", Wide(b));
         return AddRule(b, "root", b.Sequence({b.Bytes("["), b.Rule(word), b.Bytes("]")}));
       },
       "(\"[\" (call1 \"]\"))"},
      // What a rule passes on is called directly.
      {[](GrammarBuilder& b) {
         const RuleId word = AddRule(b, "word", Wide(b)), alias = AddRule(b, "alias", b.Rule(word));
         return AddRule(b, "root", b.Sequence({b.Rule(alias), b.Bytes("!"), b.Rule(word)}));
       },
       "(call1 (\"!\" call1))"},
      // Unproductive alternatives and repeats are gone.
      {[](GrammarBuilder& b) {
         const RuleId bad = b.AddRule("bad");
         b.SetBody(bad, b.Sequence({b.Bytes("x"), b.Rule(bad)}));
         return AddRule(b, "root",
                        b.Choice({b.Bytes("a"), b.Rule(bad),
                                  b.Sequence({b.Bytes("c"), b.Star(b.Rule(bad))})}));
       },
       "(\"a\" | \"c\")"},
      {[](GrammarBuilder& b) {
         const NodeId letters = Wide(b);
         return AddRule(b, "root", b.And({letters, b.Not(b.Bytes("if"))}));
       },
       "(!(\"if\") & [a-z]{0,})"},
      {[](GrammarBuilder& b) { return AddRule(b, "root", b.Tokens({{5, 9}, false})); }, "tokens0"},
  };
  for (const Case& c : cases) {
    TermStore store({}, 16);
    EXPECT_EQ(store.ToString(Build(Make(c.fill), &store)), c.term);
  }
}

TEST(Build, RecursiveRules) {
  TermStore store({}, 16);
  const Grammar g = Make([](GrammarBuilder& b) {
    const RuleId r = b.AddRule("r");
    b.SetBody(r, b.Choice({b.Bytes("x"), b.Sequence({b.Bytes("("), b.Rule(r), b.Bytes(")")})}));
    return r;
  });
  EXPECT_EQ(store.ToString(Build(g, &store)), "(\"x\" | (\"(\" (call1 \")\")))");
}

// ---- sharing ----

TEST(Build, EqualRulesOfTwoGrammarsAreOne) {
  TermStore store({}, 16);
  auto with = [](std::string open) {
    return Make([open](GrammarBuilder& b) {
      const RuleId word = AddRule(b, open == "[" ? "word" : "other_name", Wide(b));
      const RuleId value = b.AddRule("value");
      b.SetBody(value,
                b.Choice({b.Rule(word), b.Sequence({b.Bytes("{"), b.Rule(value), b.Bytes("}")})}));
      return AddRule(b, "root",
                     b.Sequence({b.Bytes(open), b.Rule(value), b.Bytes("."), b.Rule(word)}));
    });
  };
  const TermId one = Build(with("["), &store);
  const size_t size = store.size();
  const TermId two = Build(with("<"), &store);
  EXPECT_NE(one, two);
  EXPECT_LE(store.size(), size + 3);
  const auto rest = [&](TermId t) { return store.Expand(t).bytes[0].to; };
  EXPECT_EQ(rest(one), rest(two));
  EXPECT_EQ(Build(with("["), &store), one);
}

// ---- bodies that wait ----

// Rules "k<i>:" word ("," word | "," sep*40)? ";", each of which the root calls behind a digit
// text.
Grammar ManyRules(int from, int rules) {
  return Make([=](GrammarBuilder& b) {
    const RuleId word = AddRule(b, "word", Wide(b));
    std::vector<NodeId> calls;
    for (int i = from; i < from + rules; ++i) {
      const std::string key = "k" + std::to_string(i);
      const NodeId part = b.Sequence({b.Bytes(","), b.JsonText(key), b.Rule(word)});
      const NodeId more = b.Choice({part, b.Sequence({b.Bytes(", " + std::string(40, '-')), part}),
                                    b.Repeat(b.Bytes("<" + key + ">"), 2, 3)});
      const RuleId r = AddRule(
          b, key,
          b.Sequence({b.Bytes(key + ":"), b.Rule(word), b.Optional(more), b.Bytes(";"), Wide(b)}));
      calls.push_back(b.Sequence({b.Bytes(std::to_string(i) + "="), b.Rule(r)}));
    }
    return AddRule(b, "root", b.Choice(calls));
  });
}

TEST(Build, BodiesOfRulesWaitForACall) {
  TermStore store({}, 16);
  const TermId root = Build(ManyRules(0, 500), &store);
  EXPECT_LT(store.size(), 5000u);  // the body of each has a dozen
  for (int i : {0, 7, 499}) {
    const std::string n = std::to_string(i), key = "k" + n, begin = n + "=" + key + ":";
    EXPECT_TRUE(Accepts(&store, root, begin + "abc;"));
    EXPECT_TRUE(Accepts(&store, root, begin + "abc," + key + "x;yz"));
    EXPECT_TRUE(Accepts(&store, root, begin + ", " + std::string(40, '-') + "," + key + ";"));
    EXPECT_TRUE(Accepts(&store, root, begin + "<" + key + "><" + key + ">;"));
    EXPECT_FALSE(Accepts(&store, root, begin + "<" + key + ">;"));
    EXPECT_FALSE(Accepts(&store, root, begin + "abc,k" + std::to_string(i + 1) + "x;"));
    EXPECT_FALSE(Accepts(&store, root, begin + "abc"));
    EXPECT_FALSE(Accepts(&store, root, n + "=k" + std::to_string(i + 1) + ":abc;"));
  }
  EXPECT_LT(store.size(), 5600u);
  // Equal rules of another grammar are the same, whether made by now or not.
  const size_t size = store.size();
  EXPECT_EQ(Build(ManyRules(0, 500), &store), root);
  Build(ManyRules(5, 400), &store);
  EXPECT_LT(store.size(), size + 5);
}

// A rule of many alternatives waits like any other, unless some are words for a list.
TEST(Build, LargeChoicesWaitForACall) {
  for (bool words : {false, true}) {
    TermStore store({}, 16);
    const TermId root =
        Build(Make([&](GrammarBuilder& b) {
                std::vector<NodeId> alternatives;
                for (int i = 0; i < 300; ++i) {
                  const std::string n = std::to_string(i);
                  alternatives.push_back(b.Sequence({Wide(b), b.Bytes("-" + n + "-"), Wide(b)}));
                  if (words) alternatives.push_back(b.Bytes("w" + n));
                }
                const RuleId any = AddRule(b, "any", b.Choice(alternatives));
                return AddRule(b, "root", b.Sequence({b.Bytes("="), b.Rule(any)}));
              }),
              &store);
    if (!words) {
      EXPECT_LT(store.size(), 1000u);  // each alternative has five and more
    }
    EXPECT_TRUE(Accepts(&store, root, "=abc-7-x"));
    EXPECT_TRUE(Accepts(&store, root, "=-299-"));
    EXPECT_FALSE(Accepts(&store, root, "=-300-"));
    EXPECT_FALSE(Accepts(&store, root, "=abc-7"));
    EXPECT_EQ(Accepts(&store, root, "=w12"), words);
    EXPECT_EQ(store.term(root).min_length, std::string_view(words ? "=w1" : "=-1-").size());
  }
}

TEST(Build, TheShortestTextIsKnownWithoutTheBody) {
  TermStore store({}, 16);
  const TermId root = Build(ManyRules(10, 1), &store);
  EXPECT_EQ(store.term(root).min_length, std::string_view("10=k10:;").size());
}

TEST(Build, BodiesThatArePartsOfOthersToo) {
  TermStore store({}, 16);
  const std::string text(400, 'x');
  const TermId root = Build(Make([&](GrammarBuilder& b) {
                              const RuleId word = AddRule(b, "word", Wide(b));
                              const RuleId line = AddRule(b, "line", b.Bytes(text));
                              const NodeId both = b.Sequence({b.Rule(word), b.Bytes("."), Wide(b)});
                              return AddRule(b, "root", b.Sequence({b.Rule(line), both}));
                            }),
                            &store);
  EXPECT_TRUE(Accepts(&store, root, text + "ab.c"));
  EXPECT_FALSE(Accepts(&store, root, text + "ab"));
}

// What many rules have in common is not written down for each of them.
TEST(Build, NodesThatManyRulesShareStayLinear) {
  constexpr int kRules = 300;
  TermStore store({}, 16);
  const Grammar g = Make([](GrammarBuilder& b) {
    const RuleId word = AddRule(b, "word", Wide(b));
    std::vector<NodeId> shared, calls;
    for (int i = 0; i < kRules; ++i) {
      shared.push_back(b.Sequence({b.Bytes("s" + std::to_string(i) + "s"), b.Rule(word)}));
    }
    const NodeId all = b.Repeat(b.Choice(shared), 2, 5);
    for (int i = 0; i < kRules; ++i) {
      const std::string name = "r" + std::to_string(i);
      calls.push_back(b.Rule(AddRule(b, name, b.Sequence({b.Bytes(name + "r"), all}))));
    }
    return AddRule(b, "root", b.Choice(calls));
  });
  const TermId root = Build(g, &store);
  EXPECT_LT(store.memory_bytes(), size_t{2} << 20);
  EXPECT_TRUE(Accepts(&store, root, "r7rs12sabs250s"));
  EXPECT_FALSE(Accepts(&store, root, "r7rs12sab"));
}

// Two cycles of the same shape that differ only in which other cycle they call.
TEST(Build, CyclesThatCallDifferentCyclesAreNotConfused) {
  TermStore store({}, 16);
  auto with = [](std::string open, std::string close, std::string leaf) {
    return Make([=](GrammarBuilder& b) {
      const RuleId inner = b.AddRule("inner"), outer = b.AddRule("outer");
      b.SetBody(inner, b.Choice({b.Bytes(leaf),
                                 b.Sequence({b.Bytes(open), b.Rule(inner), b.Bytes(close)})}));
      b.SetBody(outer, b.Choice({b.Bytes("."), b.Sequence({b.Rule(inner), b.Rule(outer)})}));
      return outer;
    });
  };
  const TermId round = Build(with("(", ")", "x"), &store);
  const TermId square = Build(with("[", "]", "y"), &store);
  EXPECT_NE(round, square);
  EXPECT_TRUE(Accepts(&store, round, "x(x)((x))."));
  EXPECT_FALSE(Accepts(&store, round, "x[y]."));
  EXPECT_TRUE(Accepts(&store, square, "y[y][[y]]."));
  EXPECT_FALSE(Accepts(&store, square, "y(x)."));
  EXPECT_EQ(Build(with("(", ")", "x"), &store), round);
}

TEST(Build, CyclesOfTheSameShapeAreNotConfused) {
  TermStore store({}, 16);
  auto with = [](std::string a, std::string z, int64_t max, bool swap) {
    return Make([=](GrammarBuilder& b) {
      const RuleId p = b.AddRule("p"), q = b.AddRule("q");
      const NodeId calls = b.Repeat(b.Rule(swap ? p : q), 0, max);
      b.SetBody(p, b.Choice({b.Bytes(a), b.Sequence({b.Bytes("p"), calls, b.Bytes(z)})}));
      b.SetBody(q, b.Choice({b.Bytes(z), b.Sequence({b.Bytes("q"), b.Rule(p), b.Bytes(a)})}));
      return AddRule(b, "root", b.Sequence({b.Rule(p), b.Rule(q)}));
    });
  };
  struct Variant {
    std::string a, z;
    int64_t max;
    bool swap;
  };
  const std::vector<Variant> variants = {{"1", "2", 2, false},
                                         {"1", "2", 3, false},
                                         {"1", "2", 2, true},
                                         {"2", "1", 2, false},
                                         {"1", "3", 2, false}};
  std::vector<TermId> roots;
  for (const Variant& v : variants) roots.push_back(Build(with(v.a, v.z, v.max, v.swap), &store));
  for (size_t i = 0; i < variants.size(); ++i) {
    const Variant& v = variants[i];
    const std::string inner = v.swap ? v.a : v.z;
    const std::string two = "p" + inner + inner + v.z + v.z,
                      three = "p" + inner + inner + inner + v.z + v.z;
    EXPECT_TRUE(Accepts(&store, roots[i], two)) << i;
    EXPECT_EQ(Accepts(&store, roots[i], three), v.max == 3) << i;
    for (size_t j = 0; j < i; ++j) EXPECT_NE(roots[i], roots[j]) << i << " " << j;
    EXPECT_EQ(Build(with(v.a, v.z, v.max, v.swap), &store), roots[i]);
  }
}

// ---- what no text satisfies ----

TEST(Build, UnproductiveRootsAreUnsatisfiable) {
  const std::function<RuleId(GrammarBuilder&)> fills[] = {
      [](GrammarBuilder& b) { return AddRule(b, "root", b.Nothing()); },
      [](GrammarBuilder& b) {
        const RuleId r = b.AddRule("endless");
        b.SetBody(r, b.Sequence({b.Bytes("a"), b.Rule(r)}));
        return r;
      },
      [](GrammarBuilder& b) {
        const RuleId r = b.AddRule("r"), q = b.AddRule("q");
        b.SetBody(r, b.Choice({b.Sequence({b.Rule(q), b.Bytes("a")}), b.Repeat(b.Rule(r), 1, 3)}));
        b.SetBody(q, b.Rule(r));
        return r;
      },
      [](GrammarBuilder& b) {
        return AddRule(b, "root",
                       b.And({b.Star(b.Bytes("a")), b.Star(b.Bytes("b")), b.Not(b.Empty())}));
      },
  };
  for (const auto& fill : fills) {
    TermStore store({}, 16);
    const Grammar g = Make(fill);
    const StatusOr<TermId> root = BuildTerms(g, &store);
    ASSERT_FALSE(root.ok());
    EXPECT_EQ(root.status().code(), StatusCode::kUnsatisfiable);
    EXPECT_NE(root.status().message().find(g.rule_name(g.root())), std::string::npos)
        << root.status().message();
  }
}

TEST(Build, AnIntersectionTooLargeToDecideIsAnErrorEachTime) {
  Limits limits;
  limits.max_regular_states = 50;
  TermStore store(limits, 16);
  const Grammar g = Make([](GrammarBuilder& b) {
    auto loop = [&](size_t n) { return b.Repeat(b.Bytes(std::string(n, 'a')), 1, kUnbounded); };
    return AddRule(b, "root", b.And({loop(31), loop(37)}));
  });
  for (int round = 0; round < 2; ++round) {
    const StatusOr<TermId> root = BuildTerms(g, &store);
    ASSERT_FALSE(root.ok());
    EXPECT_EQ(root.status().code(), StatusCode::kResourceExhausted);
    EXPECT_NE(root.status().message().find("max_regular_states"), std::string::npos);
  }
  const Grammar small = Make([](GrammarBuilder& b) { return AddRule(b, "root", b.Bytes("a")); });
  EXPECT_TRUE(BuildTerms(small, &store).ok());
}

// ---- size ----

// r0 ::= "a" r1, r1 ::= "a" r2, ...; rules added from the last to the first or the other way.
Grammar Chain(int length, bool backwards, bool recursive) {
  return Make([&](GrammarBuilder& b) {
    std::vector<RuleId> rules;
    std::vector<NodeId> bodies;
    for (int i = 0; i < length; ++i) rules.push_back(b.AddRule("r" + std::to_string(i)));
    bodies.resize(rules.size());
    auto set = [&](int i) {
      NodeId body = b.Bytes("z");
      if (i + 1 < length) {
        body = b.Sequence(
            {b.Bytes(i % 2 == 0 ? "a" : "b"), b.Rule(rules[static_cast<size_t>(i) + 1])});
      } else if (recursive) {
        body = b.Choice({body, b.Rule(rules[0])});
      }
      b.SetBody(rules[static_cast<size_t>(i)], body);
    };
    for (int i = 0; i < length; ++i) set(backwards ? length - 1 - i : i);
    return rules[0];
  });
}

TEST(Build, LongChainsOfRulesInEitherOrder) {
  constexpr int kLength = 10'000;
  std::string text;
  for (int i = 0; i + 1 < kLength; ++i) text += i % 2 == 0 ? 'a' : 'b';
  text += 'z';
  for (bool backwards : {false, true}) {
    for (bool recursive : {false, true}) {
      TermStore store({}, 16);
      const Grammar g = Chain(kLength, backwards, recursive);
      const auto start = std::chrono::steady_clock::now();
      const TermId root = Build(g, &store);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      EXPECT_LT(took.count(), 1.0);
      EXPECT_EQ(store.term(root).min_length, text.size());
      EXPECT_TRUE(Accepts(&store, root, text));
      EXPECT_FALSE(Accepts(&store, root, text.substr(2)));
    }
  }
}

// A node that another rule shares must learn a length that its rule found late.
TEST(Build, LengthsReachEveryUserOfALongChain) {
  for (int length : {5, 8, 9, 10, 11, 17, 40}) {
    TermStore store({}, 16);
    const Grammar g = Make([&](GrammarBuilder& b) {
      std::vector<RuleId> rules;
      for (int i = 0; i < length; ++i) rules.push_back(b.AddRule("r" + std::to_string(i)));
      for (int i = 0; i < length; ++i) {
        const NodeId next =
            i + 1 < length ? b.Rule(rules[static_cast<size_t>(i) + 1]) : b.Bytes("z");
        b.SetBody(
            rules[static_cast<size_t>(i)],
            b.Choice({b.Sequence({b.Bytes("a"), next}), b.Sequence({b.Bytes("b"), next, next})}));
      }
      return rules[0];
    });
    const TermId root = Build(g, &store);
    EXPECT_EQ(store.term(root).min_length, static_cast<uint64_t>(length) + 1);
    EXPECT_TRUE(Accepts(&store, root, std::string(static_cast<size_t>(length), 'a') + "z"));
    EXPECT_TRUE(Accepts(&store, root, std::string(static_cast<size_t>(length) - 1, 'a') + "bzz"));
  }
}

// Rules that call each other in any way, against passes over all of them until nothing changes.
TEST(Build, LengthsInRandomCycles) {
  constexpr uint64_t kNone = 1'000'000;
  std::mt19937_64 random(7);
  int known = 0;
  for (int i = 0; i < 600; ++i) {
    const size_t count = 1 + random() % 7;
    struct Symbol {
      size_t rule, text;  // the rule, or a text of this length
      bool optional;
    };
    std::vector<std::vector<std::vector<Symbol>>> rules(count);
    for (auto& alternatives : rules) {
      alternatives.resize(1 + random() % 3);
      for (auto& symbols : alternatives) {
        symbols.resize(1 + random() % 3);
        for (Symbol& s : symbols) {
          s = {random() % count, random() % 3 == 0 ? 1 + random() % 3 : 0, random() % 8 == 0};
        }
      }
    }
    std::vector<uint64_t> lengths(count, kNone);
    for (size_t pass = 0; pass <= count; ++pass) {
      for (size_t r = 0; r < count; ++r) {
        for (const auto& symbols : rules[r]) {
          uint64_t sum = 0;
          for (const Symbol& s : symbols) {
            sum += s.optional ? 0 : s.text > 0 ? s.text : lengths[s.rule];
          }
          lengths[r] = std::min(lengths[r], sum);
        }
      }
    }
    GrammarBuilder b;
    std::vector<RuleId> ids;
    for (size_t r = 0; r < count; ++r) ids.push_back(b.AddRule("r"));
    for (size_t r = 0; r < count; ++r) {
      std::vector<NodeId> choice;
      for (const auto& symbols : rules[r]) {
        std::vector<NodeId> parts;
        for (const Symbol& s : symbols) {
          const NodeId part = s.text > 0 ? b.Bytes(std::string(s.text, 'a')) : b.Rule(ids[s.rule]);
          parts.push_back(s.optional ? b.Optional(part) : part);
        }
        choice.push_back(b.Sequence(parts));
      }
      b.SetBody(ids[r], b.Choice(choice));
    }
    TermStore store({}, 16);
    const StatusOr<TermId> root = BuildTerms(*b.Finish(ids[0]), &store);
    ASSERT_EQ(root.ok(), lengths[0] < kNone) << i;
    if (!root.ok()) continue;
    ++known;
    ASSERT_EQ(store.term(*root).min_length, lengths[0]) << i;
    ASSERT_TRUE(Accepts(&store, *root, std::string(lengths[0], 'a'))) << i;
    if (lengths[0] > 0) {
      ASSERT_FALSE(Accepts(&store, *root, std::string(lengths[0] - 1, 'a'))) << i;
    }
  }
  EXPECT_GT(known, 200);
}

TEST(Build, ALargeCycleOfRules) {
  constexpr int kRules = 3000;
  TermStore store({}, 16);
  const Grammar g = Make([&](GrammarBuilder& b) {
    std::vector<RuleId> rules;
    for (int i = 0; i < kRules; ++i) rules.push_back(b.AddRule("r" + std::to_string(i)));
    for (int i = 0; i < kRules; ++i) {
      const auto n = static_cast<size_t>(i);
      b.SetBody(rules[n],
                b.Choice({b.Bytes("z"), b.Sequence({b.Bytes("<"), b.Rule(rules[(n + 1) % kRules]),
                                                    b.Rule(rules[(n * 7 + 3) % kRules])})}));
    }
    return rules[0];
  });
  const auto start = std::chrono::steady_clock::now();
  const TermId root = Build(g, &store);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 1.0);
  EXPECT_TRUE(Accepts(&store, root, "<<zzz"));
  EXPECT_FALSE(Accepts(&store, root, "<zzz"));
}

}  // namespace
}  // namespace grammask::internal
