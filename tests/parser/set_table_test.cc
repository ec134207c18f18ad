// Parser sets: acceptance, viability, sharing, shortest completions, forced bytes, token items.
#include "parser/set_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "automaton/build.h"
#include "parser/random_grammar.h"

namespace grammask::internal {
namespace {

// A grammar in tables of its own.
class World {
 public:
  explicit World(const Grammar& grammar, int64_t small_count = 16)
      : terms_({}, small_count), sets_(&terms_) {
    StatusOr<TermId> root = BuildTerms(grammar, &terms_);
    EXPECT_TRUE(root.ok()) << root.status().message();
    if (root.ok()) start_ = sets_.Start(*root);
  }
  explicit World(const std::function<RuleId(GrammarBuilder&)>& fill) : World(Make(fill)) {}

  SetTable& sets() { return sets_; }
  SetId start() const { return start_; }
  SetId After(std::string_view text) { return sets_.Run(start_, text); }
  bool Accepts(std::string_view text) { return sets_.set(After(text)).accepting; }
  bool Viable(std::string_view text) { return After(text) != SetTable::Dead(); }

 private:
  static Grammar Make(const std::function<RuleId(GrammarBuilder&)>& fill) {
    GrammarBuilder b;
    const RuleId root = fill(b);
    return *b.Finish(root);
  }
  TermStore terms_;
  SetTable sets_;
  SetId start_;
};

// S ::= body(S)
World Rule(const std::function<NodeId(GrammarBuilder&, NodeId)>& body) {
  GrammarBuilder b;
  const RuleId s = b.AddRule("S");
  b.SetBody(s, body(b, b.Rule(s)));
  return World(*b.Finish(s));
}

std::string Times(std::string_view text, size_t n) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += text;
  return out;
}

// ---- kinds of recursion ----

TEST(SetTable, LeftRecursion) {
  World w = Rule(
      [](auto& b, NodeId s) { return b.Choice({b.Bytes("n"), b.Sequence({s, b.Bytes("+n")})}); });
  EXPECT_TRUE(w.Accepts("n+n+n"));
  EXPECT_FALSE(w.Accepts("n+"));
  EXPECT_TRUE(w.Viable("n+"));
  EXPECT_FALSE(w.Viable("nn"));
  EXPECT_TRUE(w.Accepts("n" + Times("+n", 5000)));
}

TEST(SetTable, MiddleRecursion) {
  World w = Rule([](auto& b, NodeId s) {
    return b.Choice({b.Bytes("x"), b.Sequence({b.Bytes("("), s, b.Bytes(")")})});
  });
  for (size_t n : {0, 1, 2, 50, 3000}) {
    EXPECT_TRUE(w.Accepts(Times("(", n) + "x" + Times(")", n)));
    EXPECT_FALSE(w.Viable(Times("(", n) + "x" + Times(")", n + 1)));
    EXPECT_EQ(w.sets().ShortestCompletion(w.After(Times("(", n))), n + 1);
  }
}

// Where a return leads is kept beside it, and is where a finished item of that return leads.
TEST(SetTable, ReturnsAreKept) {
  World w = Rule([](auto& b, NodeId s) {
    return b.Choice({b.Bytes("x"), b.Sequence({b.Bytes("("), s, b.Bytes(")")})});
  });
  SetTable& sets = w.sets();
  EXPECT_EQ(sets.OfFinished(kBottom), std::nullopt);
  EXPECT_EQ(sets.OfFinished(kUnknown), std::nullopt);
  // After a second bracket each item waits for `s` within the first.
  const SetId inner = w.After("((");
  const auto kernel = sets.set(inner).kernel;
  ASSERT_EQ(kernel.size(), 1u);
  const RetId ret = kernel[0].ret;
  EXPECT_EQ(sets.OfFinished(ret), std::nullopt);
  const SetId returned = sets.Returned(inner, ret);
  EXPECT_EQ(sets.OfFinished(ret), returned);
  EXPECT_EQ(sets.Returned(inner, ret), returned);
  EXPECT_EQ(w.After("((x)"), returned);
  EXPECT_TRUE(sets.set(sets.Step(returned, ')')).accepting);
  EXPECT_EQ(sets.Step(returned, 'x'), SetTable::Dead());
}

TEST(SetTable, Palindromes) {
  World w = Rule([](auto& b, NodeId s) {
    return b.Choice({b.Empty(), b.Bytes("a"), b.Bytes("b"),
                     b.Sequence({b.Bytes("a"), s, b.Bytes("a")}),
                     b.Sequence({b.Bytes("b"), s, b.Bytes("b")})});
  });
  for (const std::string& text : TextSets::Texts()) {
    EXPECT_EQ(w.Accepts(text), text == std::string(text.rbegin(), text.rend())) << text;
    EXPECT_TRUE(w.Viable(text));
  }
}

TEST(SetTable, AmbiguousSums) {
  World w = Rule([](auto& b, NodeId s) {
    return b.Choice({b.Bytes("n"), b.Sequence({s, b.Bytes("+"), s}),
                     b.Sequence({s, b.Bytes("*"), s}),
                     b.Sequence({b.Bytes("("), s, b.Bytes(")")})});
  });
  EXPECT_TRUE(w.Accepts("n+n*(n+n)*n"));
  EXPECT_FALSE(w.Accepts("n+n*(n+n*n"));
  EXPECT_TRUE(w.Accepts("n" + Times("+n", 200)));
}

TEST(SetTable, NullableAndHiddenLeftRecursion) {
  // S ::= N S "x" | "y", N ::= "" | "n": N hides that S is left recursive.
  World w([](GrammarBuilder& b) {
    const RuleId s = b.AddRule("S"), n = b.AddRule("N");
    b.SetBody(n, b.Choice({b.Empty(), b.Bytes("n")}));
    b.SetBody(s, b.Choice({b.Sequence({b.Rule(n), b.Rule(s), b.Bytes("x")}), b.Bytes("y")}));
    return s;
  });
  EXPECT_TRUE(w.Accepts("y"));
  EXPECT_TRUE(w.Accepts("yxxx"));
  EXPECT_TRUE(w.Accepts("nnyxxx"));
  EXPECT_FALSE(w.Accepts("nnnyxx"));
  EXPECT_TRUE(w.Viable("nnnyxx"));
  EXPECT_EQ(w.sets().ShortestCompletion(w.After("nnnyx")), 2u);
}

TEST(SetTable, CyclesOfRules) {
  World same = Rule([](auto& b, NodeId s) { return b.Choice({s, b.Bytes("a")}); });
  EXPECT_TRUE(same.Accepts("a"));
  EXPECT_FALSE(same.Viable("aa"));
  World twice = Rule(
      [](auto& b, NodeId s) { return b.Choice({b.Sequence({s, s}), b.Bytes("a"), b.Empty()}); });
  for (size_t n : {0, 1, 2, 7, 40}) EXPECT_TRUE(twice.Accepts(Times("a", n)));
  EXPECT_FALSE(twice.Viable("ab"));
  World mutual([](GrammarBuilder& b) {
    const RuleId p = b.AddRule("p"), q = b.AddRule("q");
    b.SetBody(p, b.Choice({b.Rule(q), b.Sequence({b.Rule(q), b.Rule(p)}), b.Empty()}));
    b.SetBody(
        q, b.Choice({b.Rule(p), b.Bytes("a"), b.Sequence({b.Rule(q), b.Bytes("b"), b.Rule(p)})}));
    return p;
  });
  EXPECT_TRUE(mutual.Accepts(""));
  EXPECT_TRUE(mutual.Accepts("abaab"));
  EXPECT_FALSE(mutual.Viable("abc"));
}

// Right recursion returns straight to the outermost caller: a long list adds no sets.
TEST(SetTable, ALongListOfRightRecursionTakesFewSets) {
  World w([](GrammarBuilder& b) {
    const RuleId list = b.AddRule("list"), item = b.AddRule("item");
    b.SetBody(item,
              b.Choice({b.Bytes("x"), b.Sequence({b.Bytes("["), b.Rule(list), b.Bytes("]")})}));
    b.SetBody(list,
              b.Choice({b.Rule(item), b.Sequence({b.Rule(item), b.Bytes(","), b.Rule(list)})}));
    return list;
  });
  SetId set = w.start();
  for (int i = 0; i < 100'000; ++i) {
    set = w.sets().Run(set, i % 3 == 0 ? "[x]," : "x,");
    ASSERT_NE(set, SetTable::Dead());
  }
  EXPECT_TRUE(w.sets().set(w.sets().Step(set, 'x')).accepting);
  EXPECT_LT(w.sets().size(), 40u);
}

TEST(SetTable, EqualSituationsAreOneSet) {
  World w = Rule([](auto& b, NodeId s) {
    return b.Choice({b.Bytes("x"), b.Sequence({b.Bytes("("), s, b.Bytes(")")}),
                     b.Sequence({b.Bytes("[]"), s})});
  });
  EXPECT_EQ(w.After("(x"), w.After("([]x"));
  EXPECT_EQ(w.After("(("), w.After("([][]("));
  EXPECT_NE(w.After("(("), w.After("((("));
  EXPECT_EQ(w.After("(x)"), w.After("((x))"));
}

// Every letter may begin an alias, but all of these return to the same.
TEST(SetTable, WhereACallBeganDoesNotMatterWhereTheSameWaits) {
  World w([](GrammarBuilder& b) {
    const RuleId list = b.AddRule("list"), column = b.AddRule("column"), name = b.AddRule("name");
    b.SetBody(name, b.Repeat(b.ByteClass(ByteSet::Range('a', 'z')), 1, kUnbounded));
    b.SetBody(column, b.Sequence({b.Rule(name), b.Repeat(b.Rule(name), 0, 1)}));
    b.SetBody(list,
              b.Choice({b.Rule(column), b.Sequence({b.Rule(list), b.Bytes(","), b.Rule(column)})}));
    return list;
  });
  EXPECT_EQ(w.After("abc"), w.After("abcdefgh"));
  EXPECT_EQ(w.After("abc,de"), w.After("abc,def,gh"));
  EXPECT_EQ(w.After("abc"), w.After("abc,def"));
  EXPECT_TRUE(w.Accepts("abc,de,f"));
  EXPECT_FALSE(w.Viable("abc,,"));
  w.After(Times("abc,", 10'000));
  EXPECT_LT(w.sets().size(), 30u);
}

// `level ::= below (op below)*` twelve times; operands are names, parenthesised, or after "not ".
World Operators() {
  return World([](GrammarBuilder& b) {
    constexpr char kOperators[] = "0123456789+-";
    const RuleId top = b.AddRule("top"), operand = b.AddRule("operand"), name = b.AddRule("name");
    b.SetBody(name, b.Repeat(b.ByteClass(ByteSet::Range('a', 'z')), 1, kUnbounded));
    b.SetBody(operand, b.Choice({b.Rule(name), b.Sequence({b.Bytes("not "), b.Rule(operand)}),
                                 b.Sequence({b.Bytes("("), b.Rule(top), b.Bytes(")")})}));
    RuleId below = operand;
    for (const char c : std::string_view(kOperators)) {
      const RuleId level = c == '-' ? top : b.AddRule("level");
      const NodeId more = b.Sequence({b.Bytes(std::string(1, c)), b.Rule(below)});
      b.SetBody(level, b.Sequence({b.Rule(below), b.Repeat(more, 0, kUnbounded)}));
      below = level;
    }
    return top;
  });
}

// Whether these accept, and whether something may follow.
std::pair<bool, bool> ReadOperators(std::string_view text) {
  int depth = 0;
  std::string name;    // the operand so far, if it is one
  bool after = false;  // a closing parenthesis
  for (const char c : text) {
    if (c >= 'a' && c <= 'z' && !after) {
      name += c;
    } else if (c == ' ' && name == "not") {
      name.clear();
    } else if (c == '(' && name.empty() && !after) {
      ++depth;
    } else if (c == ')' && (after || !name.empty()) && depth > 0) {
      --depth;
      after = true;
      name.clear();
    } else if ((c == '+' || c == '-' || (c >= '0' && c <= '9')) && (after || !name.empty())) {
      after = false;
      name.clear();
    } else {
      return {false, false};
    }
  }
  return {depth == 0 && (after || !name.empty()), true};
}

// What letters of names and of keywords complete is looked up; sets that know much and sets that
// know nothing agree.
TEST(SetTable, OperandsUnderManyLevels) {
  World all = Operators();
  std::mt19937_64 random(5);
  size_t accepted = 0, refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text;
    World one = Operators();
    while (text.size() < 12) {
      text += "notabn ()(+-059"[random() % 15];
      const auto [accepts, viable] = ReadOperators(text);
      ASSERT_EQ(all.Accepts(text), accepts) << text;
      ASSERT_EQ(one.Accepts(text), accepts) << text;
      ASSERT_EQ(all.Viable(text), viable) << text;
      ASSERT_EQ(one.Viable(text), viable) << text;
      accepted += accepts;
      if (viable) continue;
      ++refused;
      text.pop_back();
    }
  }
  EXPECT_GT(accepted, 200u);
  EXPECT_GT(refused, 200u);
  // Names of any letters at one depth lead to few sets.
  const size_t before = all.sets().size();
  for (const char* name : {"a", "nota", "no", "onto", "tattoo"}) all.After(std::string("(") + name);
  EXPECT_LT(all.sets().size(), before + 20);
}

TEST(SetTable, AmbiguousConcatenationsTakeFewSets) {
  // S ::= S S | "a"; and the same through two rules that call one another first.
  World w = Rule([](auto& b, NodeId s) { return b.Choice({b.Sequence({s, s}), b.Bytes("a")}); });
  EXPECT_TRUE(w.Accepts(Times("a", 10'000)));
  EXPECT_LT(w.sets().size(), 10u);
  World two([](GrammarBuilder& b) {
    const RuleId s = b.AddRule("S"), t = b.AddRule("T");
    b.SetBody(s, b.Choice({b.Sequence({b.Rule(t), b.Rule(s)}), b.Bytes("a")}));
    b.SetBody(t, b.Choice({b.Sequence({b.Rule(s), b.Rule(t)}), b.Bytes("b")}));
    return s;
  });
  EXPECT_TRUE(two.Accepts("ba"));
  EXPECT_TRUE(two.Accepts("aba"));
  EXPECT_FALSE(two.Accepts("ab"));
  EXPECT_TRUE(two.Viable(Times("ab", 100)));
  EXPECT_TRUE(two.Accepts(Times("ab", 100) + "a"));
}

// ---- against the languages of random grammars ----

TEST(SetTable, RandomGrammarsAcceptTheirLanguage) {
  size_t checked = 0;
  for (uint64_t seed = 0; seed < 2500; ++seed) {
    const RandomGrammar random(seed);
    const Grammar grammar = random.Build();
    const Language& language = random.language();
    if (!language.productive) {
      TermStore terms({}, 16);
      EXPECT_EQ(BuildTerms(grammar, &terms).status().code(), StatusCode::kUnsatisfiable)
          << grammar.ToString();
      continue;
    }
    World w(grammar);
    std::vector<SetId> sets;
    for (size_t i = 0; i < TextSets::kCount; ++i) {
      const std::string& text = TextSets::Texts()[i];
      sets.push_back(i == 0 ? w.start()
                            : w.sets().Step(sets[(i - 1) / 2], static_cast<uint8_t>(text.back())));
      ASSERT_EQ(w.sets().set(sets[i]).accepting, language.words[i]) << grammar.ToString() << text;
      ASSERT_EQ(sets[i] != SetTable::Dead(), language.prefixes[i]) << grammar.ToString() << text;
    }
    // Letters to a word, where the texts are long enough to tell.
    std::vector<size_t> missing(TextSets::kCount, TextSets::kMaxText + 1);
    for (size_t i = TextSets::kCount; i-- > 0;) {
      if (language.words[i]) missing[i] = 0;
      if (i > 0) missing[(i - 1) / 2] = std::min(missing[(i - 1) / 2], missing[i] + 1);
    }
    for (size_t i = 0; i < TextSets::kCount; ++i) {
      if (!language.prefixes[i]) continue;
      const uint64_t shortest = w.sets().ShortestCompletion(sets[i]);
      const size_t room = TextSets::kMaxText - TextSets::Texts()[i].size();
      if (missing[i] <= room) {
        ASSERT_EQ(shortest, missing[i]) << grammar.ToString() << TextSets::Texts()[i];
      } else {
        ASSERT_GT(shortest, room) << grammar.ToString() << TextSets::Texts()[i];
      }
      // The byte that must come next, by definition.
      std::optional<uint8_t> forced;
      if (!language.words[i] && 2 * i + 2 < TextSets::kCount) {
        const bool a = language.prefixes[2 * i + 1], b = language.prefixes[2 * i + 2];
        if (a != b) forced = a ? 'a' : 'b';
        ASSERT_EQ(w.sets().ForcedByte(sets[i]), forced)
            << grammar.ToString() << TextSets::Texts()[i];
      }
    }
    ++checked;
  }
  EXPECT_GT(checked, 1500u);
}

// Many grammars in one table share what they can and must not disturb one another.
TEST(SetTable, GrammarsInOneTable) {
  TermStore terms({}, 16);
  SetTable sets(&terms);
  std::vector<RandomGrammar> grammars;
  std::vector<SetId> starts;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    RandomGrammar random(seed);
    if (!random.language().productive) continue;
    starts.push_back(sets.Start(*BuildTerms(random.Build(), &terms)));
    grammars.push_back(std::move(random));
  }
  for (size_t g = 0; g < grammars.size(); ++g) {
    for (size_t i = 0; i < TextSets::kCount; ++i) {
      const SetId set = sets.Run(starts[g], TextSets::Texts()[i]);
      ASSERT_EQ(sets.set(set).accepting, grammars[g].language().words[i])
          << grammars[g].Build().ToString() << TextSets::Texts()[i];
      ASSERT_EQ(set != SetTable::Dead(), grammars[g].language().prefixes[i])
          << grammars[g].Build().ToString() << TextSets::Texts()[i];
    }
  }
}

// ---- bytes ----

// Each byte leads elsewhere: as many classes as there are bytes.
TEST(SetTable, AllBytesInClassesOfTheirOwn) {
  for (const bool all : {false, true}) {
    World w([&](GrammarBuilder& b) {
      std::vector<NodeId> alternatives;
      for (int i = all ? 0 : 1; i < 256; ++i) {
        const std::string byte(1, static_cast<char>(i));
        alternatives.push_back(b.Bytes(byte + std::to_string(i) + "."));
      }
      const RuleId root = b.AddRule("root");
      b.SetBody(root, b.Choice(alternatives));
      return root;
    });
    for (int i = 0; i < 256; ++i) {
      const std::string byte(1, static_cast<char>(i));
      const bool listed = all || i > 0;
      EXPECT_EQ(w.Accepts(byte + std::to_string(i) + "."), listed) << i;
      EXPECT_FALSE(w.Viable(byte + std::to_string((i + 1) % 256) + ".")) << i;
    }
  }
}

// Ranges that overlap in many ways, read by few states and by many.
TEST(SetTable, ClassesOfManyStates) {
  std::mt19937_64 random(7);
  for (const size_t count : {2, 4, 5, 6, 17, 40, 90}) {
    std::vector<std::pair<int, int>> ranges;
    World w([&](GrammarBuilder& b) {
      std::vector<NodeId> alternatives;
      for (size_t i = 0; i < count; ++i) {
        const int x = static_cast<int>(random() % 256), y = static_cast<int>(random() % 256);
        ranges.push_back(i == 0 ? std::pair(0, 255) : std::minmax({x, y}));
        const RuleId rule = b.AddRule("rule");
        const auto [lo, hi] = ranges.back();
        b.SetBody(rule, b.Sequence({b.ByteClass(ByteSet::Range(static_cast<uint8_t>(lo),
                                                               static_cast<uint8_t>(hi))),
                                    b.Choice({b.Sequence({b.Bytes("("), b.Rule(rule)}),
                                              b.Bytes(std::to_string(i) + ".")})}));
        alternatives.push_back(b.Rule(rule));
      }
      const RuleId root = b.AddRule("root");
      b.SetBody(root, b.Choice(alternatives));
      return root;
    });
    for (int byte = 0; byte < 256; ++byte) {
      for (size_t i = 0; i < count; ++i) {
        const std::string text = std::string(1, static_cast<char>(byte)) + std::to_string(i) + ".";
        ASSERT_EQ(w.Accepts(text), ranges[i].first <= byte && byte <= ranges[i].second)
            << count << " states, byte " << byte << ", range " << i;
      }
    }
  }
}

TEST(SetTable, ForcedBytes) {
  World w([](GrammarBuilder& b) {
    const RuleId root = b.AddRule("root");
    b.SetBody(root, b.Sequence({b.Bytes("{\""), b.JsonText("a/\n"), b.Bytes("\":"),
                                b.Choice({b.Bytes("true"), b.Bytes("tree"), b.Empty()}),
                                b.Optional(b.Bytes("!"))}));
    return root;
  });
  auto forced = [&](std::string_view text) { return w.sets().ForcedByte(w.After(text)); };
  EXPECT_EQ(forced(""), '{');
  EXPECT_EQ(forced("{\""), 'a');  // \u0061 only spells it otherwise
  EXPECT_EQ(forced("{\"a"), '/');
  EXPECT_EQ(forced("{\"a/"), '\\');            // a line feed has no plain spelling
  EXPECT_EQ(forced("{\"a/\\"), std::nullopt);  // \n or \u000a
  EXPECT_EQ(forced("{\"a/\\n"), '"');
  EXPECT_EQ(forced("{\"a/\\n\":"), std::nullopt);  // may end here
  EXPECT_EQ(forced("{\"a/\\n\":t"), 'r');
  EXPECT_EQ(forced("{\"a/\\n\":tr"), std::nullopt);
  EXPECT_EQ(forced("{\"a/\\n\":tru"), 'e');
  EXPECT_EQ(forced("{\"\\"), 'u');  // no other escape stands for an a
  EXPECT_EQ(forced("{\"\\u006"), '1');
}

// ---- tokens ----

TEST(SetTable, TokensByIdByBytesAndBoth) {
  World w([](GrammarBuilder& b) {
    const RuleId root = b.AddRule("root");
    b.SetBody(root, b.Sequence({b.Choice({b.Sequence({b.Tokens({{7}, false}), b.Bytes("x")}),
                                          b.Sequence({b.Bytes("ab"), b.Bytes("y")}),
                                          b.Sequence({b.Tokens({{3, 4}, true}), b.Bytes("z")})}),
                                b.Bytes(".")}));
    return root;
  });
  SetTable& s = w.sets();
  auto after = [&](TokenId id, std::optional<std::string_view> text, bool plain) {
    return s.StepToken(w.start(), id, text, plain);
  };
  // By name only: a special token.
  EXPECT_EQ(s.Run(after(7, std::nullopt, false), "y."), SetTable::Dead());
  EXPECT_TRUE(s.set(s.Run(after(7, std::nullopt, false), "x.")).accepting);
  // By name, and as any token but 3 and 4.
  EXPECT_TRUE(s.set(s.Run(after(7, "q", true), "x.")).accepting);
  EXPECT_TRUE(s.set(s.Run(after(7, "q", true), "z.")).accepting);
  EXPECT_EQ(s.Run(after(7, "q", true), "y."), SetTable::Dead());
  // By its bytes, and as any token but 3 and 4.
  EXPECT_TRUE(s.set(s.Run(after(9, "ab", true), "y.")).accepting);
  EXPECT_TRUE(s.set(s.Run(after(9, "ab", true), "z.")).accepting);
  EXPECT_EQ(s.Run(after(9, "ab", true), "x."), SetTable::Dead());
  // By its bytes only.
  EXPECT_TRUE(s.set(s.Run(after(3, "ab", true), "y.")).accepting);
  EXPECT_EQ(s.Run(after(3, "ab", true), "z."), SetTable::Dead());
  EXPECT_TRUE(s.set(s.Run(after(3, "a", true), "by.")).accepting);
  // Not at all.
  EXPECT_EQ(after(3, "q", true), SetTable::Dead());
  EXPECT_EQ(after(8, std::nullopt, false), SetTable::Dead());
  EXPECT_EQ(after(8, "", false), SetTable::Dead());
  // A token may still come, so no byte is forced.
  EXPECT_EQ(s.ForcedByte(w.start()), std::nullopt);
  EXPECT_EQ(s.ShortestCompletion(w.start()), 3u);
}

TEST(SetTable, TokensInsideRecursion) {
  World w = Rule([](auto& b, NodeId s) {
    return b.Choice(
        {b.Bytes("x"), b.Sequence({b.Tokens({{1}, false}), s, b.Tokens({{2}, false})})});
  });
  SetTable& s = w.sets();
  SetId set = w.start();
  for (int i = 0; i < 50; ++i) set = s.StepToken(set, 1, std::nullopt, false);
  set = s.Step(set, 'x');
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(s.set(set).accepting);
    EXPECT_EQ(s.ShortestCompletion(set), static_cast<uint64_t>(50 - i));
    EXPECT_EQ(s.StepToken(set, 1, std::nullopt, false), SetTable::Dead());
    set = s.StepToken(set, 2, std::nullopt, false);
  }
  EXPECT_TRUE(s.set(set).accepting);
  EXPECT_EQ(s.StepToken(set, 2, std::nullopt, false), SetTable::Dead());
}

// ---- returns ----

TEST(SetTable, ReturnedIsWhatFollowsTheCall) {
  World w = Rule([](auto& b, NodeId s) {
    return b.Choice({b.Bytes("x"), b.Sequence({b.Bytes("("), s, b.Bytes(")")})});
  });
  SetTable& s = w.sets();
  const SetId inside = w.After("((");
  bool found = false;
  for (const Item& item : s.Body(inside).items) {
    const SetId returned = s.Returned(inside, item.ret);
    if (returned == SetTable::Dead()) continue;
    found = true;
    EXPECT_EQ(returned == w.After("((x"), s.Run(returned, "))") == w.After("((x))"));
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(s.Returned(inside, kBottom), SetTable::Dead());
  EXPECT_EQ(s.Returned(inside, kUnknown), SetTable::Dead());
}

TEST(SetTable, UnknownContextEscapesWhereTheTermMayEnd) {
  TermStore terms({}, 16);
  SetTable sets(&terms);
  const TermId digits = terms.Repeat(terms.ByteClass(ByteSet::Range('0', '9')), 1, 3);
  const SetId set = sets.InUnknownContext(digits);
  EXPECT_FALSE(sets.set(set).escaping);
  EXPECT_TRUE(sets.set(sets.Run(set, "1")).escaping);
  EXPECT_TRUE(sets.set(sets.Run(set, "123")).escaping);
  EXPECT_FALSE(sets.set(sets.Run(set, "123")).accepting);
  EXPECT_EQ(sets.Run(set, "1234"), SetTable::Dead());
}

// Deep stacks are followed without recursion.
TEST(SetTable, ShortestCompletionOfADeepStack) {
  constexpr size_t kDepth = 100'000;
  World w = Rule([](auto& b, NodeId s) {
    return b.Choice({b.Bytes("x"), b.Sequence({b.Bytes("("), s, b.Bytes(")")}),
                     b.Sequence({b.Bytes("["), s, b.Bytes("]]")})});
  });
  const SetId deep = w.After(Times("([", kDepth / 2));
  EXPECT_EQ(w.sets().ShortestCompletion(deep), kDepth / 2 * 3 + 1);
  EXPECT_TRUE(w.sets().set(w.sets().Run(deep, "x" + Times("]])", kDepth / 2))).accepting);
}

// A class of characters, each of which may begin a range up to one that is no smaller: the states
// after them differ in a byte or two from the one before. Their tables are made without their
// edges; where these are there already, from them: both lead the same way. `alone`: no other byte
// leads where the hyphen does.
void CompareClasses(bool alone) {
  auto fill = [alone](GrammarBuilder& b) {
    std::vector<NodeId> members;
    for (uint32_t c = 'a'; c <= 'z'; ++c) {
      const NodeId range = b.Sequence({b.JsonText("-"), b.JsonClass({{c, 'z'}})});
      members.push_back(b.Sequence({b.JsonClass(CodePointSet::Of(c)), b.Optional(range)}));
    }
    const RuleId root = b.AddRule("root");
    const NodeId dash = b.JsonClass({{alone ? uint32_t{'-'} : uint32_t{'+'}, '-'}});
    b.SetBody(root, b.Sequence(
                        {b.Bytes("["), b.Star(b.Choice(members)), b.Optional(dash), b.Bytes("]")}));
    return root;
  };
  World by_bytes(fill), by_edges(fill);
  auto expand = [&](SetId id) {
    for (const Item& item : by_edges.sets().set(id).kernel) {
      by_edges.sets().terms().Expand(item.term);
    }
  };
  std::mt19937 random(3);
  for (const std::string prefix : {"[", "[a", "[q", "[a-", "[a-d", "[mm", "[m-", "[xyz-", "[z-z"}) {
    SetId x = by_bytes.After(prefix), y = by_edges.start();
    for (char c : prefix) {
      expand(y);
      y = by_edges.sets().Step(y, static_cast<uint8_t>(c));
    }
    expand(y);
    // Of all bytes twice, in any order: the first one is found by itself, the others by the table.
    std::vector<int> bytes(512);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<int>(i % 256);
    std::shuffle(bytes.begin(), bytes.end(), random);
    for (int b : bytes) {
      const SetId to = by_bytes.sets().Step(x, static_cast<uint8_t>(b));
      const SetId expected = by_edges.sets().Step(y, static_cast<uint8_t>(b));
      ASSERT_EQ(to == SetTable::Dead(), expected == SetTable::Dead()) << prefix << " and " << b;
      if (to == SetTable::Dead()) continue;
      const TermId state = by_bytes.sets().set(to).kernel[0].term;
      const TermId other = by_edges.sets().set(expected).kernel[0].term;
      ASSERT_EQ(by_bytes.sets().terms().ToString(state), by_edges.sets().terms().ToString(other))
          << prefix << " and " << b;
    }
  }
  // After a letter, where the loop has edges, the state has none of its own.
  const SetId after = by_bytes.After("[k");
  by_bytes.sets().Table(after);
  const TermId state = by_bytes.sets().set(after).kernel[0].term;
  EXPECT_EQ(by_bytes.sets().terms().FindBeside(state).has_value(), alone);
}

TEST(SetTable, StatesThatDifferInFewBytes) {
  for (bool alone : {true, false}) CompareClasses(alone);
}

}  // namespace
}  // namespace grammask::internal
