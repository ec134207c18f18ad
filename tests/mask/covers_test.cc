// Items of which always one goes on while characters of a loop come: their mask at once.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "mask/mask_world.h"

namespace grammask::internal {
namespace {

std::shared_ptr<const Vocab> KeyVocab() {
  return MakeVocab(ManyTokens({"\xC3\xA9",
                               "a\xC3\xA9",
                               "a\xC3",
                               "\xE6\x97\xA5",
                               "\xE6\x97",
                               "\xA5"
                               "b",
                               "\\n",
                               "\\u0061",
                               "\\u006",
                               "1b",
                               "a\\",
                               "\\\"",
                               "\\\"b",
                               "qwx",
                               "\":",
                               "\":1",
                               "\":2",
                               "\":3",
                               "ab\":",
                               "ab\":1",
                               "ab\":2",
                               "ab\":3",
                               "cab\":2,",
                               "name\":1",
                               "name\":",
                               "name",
                               "me\":0",
                               "x\":4",
                               "\xF0\x9F\x99",
                               "u0061",
                               "0061\":2",
                               "\":0",
                               "\"",
                               "\xFF"
                               "a"},
                              5, "aabbcdxyz01 -", 4000, 12));
}

using Maker = ContentMaker;
using Make = NodeId (*)(Maker);

constexpr Make kPatterns[] = {
    [](Maker m) { return m.With("ab"); },
    [](Maker m) { return m.With("c"); },
    [](Maker m) { return m.b.Sequence({m.Text("b"), m.Any()}); },
    [](Maker m) { return m.b.Sequence({m.Any(), m.Text("x")}); },
    [](Maker m) { return m.b.Star(m.Of({{'a', 'z'}})); },
    [](Maker m) { return m.b.Sequence({m.b.Choice({m.Text("a"), m.Text("x-")}), m.Any()}); },
    [](Maker m) { return m.With(m.b.Repeat(m.Of({{'0', '9'}, {'a', 'd'}}), 6, 6)); },
    // Each that begins so is one of the third's.
    [](Maker m) { return m.b.Sequence({m.Text("bc"), m.Any()}); },
    [](Maker m) { return m.b.And({m.With("a"), m.With("x")}); },
    // No text of bytes that follow it is of whole characters only.
    [](Maker m) { return m.b.Sequence({m.Any(), m.Text("a"), m.b.AnyBytes()}); },
};

// A class of keys: of each pattern whether it matches, a bit each.
struct Class {
  std::vector<size_t> patterns;
  unsigned matched;
  bool names = false;   // other than two names
  bool longer = false;  // of three characters or more
};

NodeId KeyOf(Maker m, const Class& c) {
  std::vector<NodeId> parts;
  for (size_t i = 0; i < c.patterns.size(); ++i) {
    const NodeId pattern = kPatterns[c.patterns[i]](m);
    parts.push_back((c.matched >> i & 1) != 0 ? pattern : m.b.Not(pattern));
  }
  if (c.matched == 0 && !c.longer) parts.push_back(m.Any());
  if (c.longer) parts.push_back(m.b.Repeat(m.One(), 3, kUnbounded));
  if (c.names) parts.push_back(m.b.Not(m.b.Choice({m.Text("name"), m.Text("ab")})));
  return parts.size() == 1 ? parts[0] : m.b.And(parts);
}

// A key as a rule of its own, with its quote, then a colon and `after`.
NodeId Member(GrammarBuilder& b, NodeId key, const std::string& after) {
  const RuleId rule = b.AddRule("key" + after);
  b.SetBody(rule, b.Sequence({key, b.Bytes("\"")}));
  return b.Sequence({b.Rule(rule), b.Bytes(":" + after)});
}

// Keys of these classes, each followed by a text of its own; classes of no keys are left out.
SetId Keys(MaskWorld* world, const std::vector<Class>& classes, bool json) {
  return world->Start([&](GrammarBuilder& b) {
    std::vector<NodeId> members;
    for (size_t i = 0; i < classes.size(); ++i) {
      GrammarBuilder probe;
      const RuleId root = probe.AddRule("root");
      probe.SetBody(root, KeyOf({probe, json}, classes[i]));
      TermStore alone({}, 16);
      if (!BuildTerms(*probe.Finish(root), &alone).ok()) continue;  // no key is of this class
      members.push_back(Member(b, KeyOf({b, json}, classes[i]), std::to_string(i)));
    }
    return b.Choice(members);
  });
}

constexpr std::string_view kTexts[] = {"",   "a",  "ab",    "name", "b",    "x",        "x-",
                                       "c-", "\\", "\\u00", "-",    "\xC3", "012abcd0", "bca"};

void CheckAll(MaskWorld* world, SetId start, const std::string& what) {
  for (std::string_view text : kTexts) {
    const SetId set = world->sets().Run(start, text);
    if (set == SetTable::Dead()) continue;
    world->Check(set, what + " after \"" + std::string(text) + "\"");
    if (testing::Test::HasFatalFailure()) return;
  }
}

std::vector<Class> AllClasses(const std::vector<size_t>& patterns, bool names, bool longer) {
  std::vector<Class> classes;
  for (unsigned m = 0; m < 1U << patterns.size(); ++m) {
    classes.push_back({patterns, m, names, longer});
  }
  return classes;
}

TEST(Covers, EachKeyIsOfSomeClass) {
  const auto vocab = KeyVocab();
  for (bool json : {true, false}) {
    for (size_t p = 0; p < std::size(kPatterns); ++p) {
      for (size_t q = p; q < std::size(kPatterns); ++q) {
        for (int kind = 0; kind < 4; ++kind) {
          const std::vector<size_t> patterns =
              p == q ? std::vector<size_t>{p} : std::vector<size_t>{p, q};
          const auto classes = AllClasses(patterns, (kind & 1) != 0, (kind & 2) != 0);
          MaskWorld world(vocab);
          CheckAll(&world, Keys(&world, classes, json),
                   std::to_string(json) + " patterns " + std::to_string(p) + "," +
                       std::to_string(q) + " kind " + std::to_string(kind));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// What a class lacks its items refuse, and so does their mask.
TEST(Covers, WithoutOneOfTheClasses) {
  const auto vocab = KeyVocab();
  for (size_t p = 0; p < std::size(kPatterns); ++p) {
    for (size_t q = p + 1; q < std::size(kPatterns); ++q) {
      for (unsigned without = 0; without < 4; ++without) {
        auto classes = AllClasses({p, q}, false, false);
        classes.erase(classes.begin() + without);
        MaskWorld world(vocab);
        CheckAll(&world, Keys(&world, classes, true),
                 "patterns " + std::to_string(p) + "," + std::to_string(q) + " without " +
                     std::to_string(without));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Covers, ClassesOfSomeKeysOnly) {
  const auto vocab = KeyVocab();
  for (size_t p = 0; p < std::size(kPatterns); ++p) {
    MaskWorld world(vocab);
    // Those that match are of some length, or of fewer characters.
    for (int kind = 0; kind < 3; ++kind) {
      const SetId start = world.Start([&](GrammarBuilder& b) {
        Maker m{b, true};
        const NodeId pattern = kPatterns[p](m);
        const NodeId some = kind == 0   ? b.And({pattern, b.Repeat(m.One(), 0, 5)})
                            : kind == 1 ? b.And({pattern, b.Star(m.Of({{'a', 'c'}}))})
                                        : b.And({pattern, b.Not(m.With("d"))});
        const NodeId none = b.And({m.Any(), b.Not(pattern)});
        return b.Choice({Member(b, some, "1"), Member(b, none, "2")});
      });
      CheckAll(&world, start, "pattern " + std::to_string(p) + " kind " + std::to_string(kind));
      if (HasFatalFailure()) return;
    }
  }
}

// A text of a loop's rounds need not go on with whole ones after a part of it.
TEST(Covers, PatternsThatEndInsideARound) {
  MaskWorld world(KeyVocab());
  const auto check = [&](const std::string& what, auto&& cut_of, auto&& round_of) {
    const SetId start = world.Start([&](GrammarBuilder& b) {
      const NodeId cut = cut_of(b), rounds = b.Star(round_of(b));
      const NodeId others = b.And({rounds, b.Not(b.Sequence({cut, b.AnyBytes()}))});
      return b.Choice({Member(b, b.Sequence({cut, rounds}), "1"), Member(b, others, "2")});
    });
    CheckAll(&world, start, what);
  };
  check(
      "a backslash", [](GrammarBuilder& b) { return b.Bytes("\\"); },
      [](GrammarBuilder& b) { return b.JsonClass(CodePointSet::All()); });
  check(
      "of qw", [](GrammarBuilder& b) { return b.JsonText("q"); },
      [](GrammarBuilder& b) {
        return b.Choice(
            {b.JsonText("qw"), b.JsonClass(CodePointSet::All().Minus({{'q', 'q'}, {'w', 'w'}}))});
      });
}

// The masks of the items are not made, and where they are there they serve.
TEST(Covers, OneMaskForAllItems) {
  MaskWorld world(KeyVocab());
  const SetId one = Keys(&world, AllClasses({0}, true, false), true);
  world.Check(one, "one pattern");
  EXPECT_EQ(world.masks().count(), 0u);
  world.Check(Keys(&world, AllClasses({0, 1, 3}, false, false), true), "three patterns");
  EXPECT_EQ(world.masks().count(), 0u);
  world.Check(world.sets().Run(one, "a"), "one that has begun");
  EXPECT_EQ(world.masks().count(), 0u);
  world.Check(Keys(&world, AllClasses({2, 7}, true, false), true), "one within the other");
  EXPECT_EQ(world.masks().count(), 0u);
  world.Check(Keys(&world, AllClasses({8}, true, false), true), "two at once");
  EXPECT_EQ(world.masks().count(), 0u);
  // One of the classes is missing.
  auto classes = AllClasses({0, 1}, false, false);
  classes.pop_back();
  world.Check(Keys(&world, classes, true), "without those that match both");
  EXPECT_NE(world.masks().count(), 0u);
}

// Of patterns that no key matches two of there is no class for two.
TEST(Covers, ManyPatternsThatExcludeEachOther) {
  const std::string letters = "abcdxyz01-";
  for (size_t n : {3, 7, 10}) {
    for (bool missing : {false, true}) {
      MaskWorld world(KeyVocab());
      const SetId start = world.Start([&](GrammarBuilder& b) {
        Maker m{b, true};
        std::vector<NodeId> members, none = {m.Any()};
        for (size_t i = 0; i < n; ++i) {
          const NodeId pattern = b.Sequence({m.Text(letters.substr(i, 1)), m.Any()});
          none.push_back(b.Not(pattern));
          if (missing && i == 1) continue;
          members.push_back(Member(b, pattern, std::to_string(i)));
        }
        members.push_back(Member(b, b.And(none), "x"));
        return b.Choice(members);
      });
      const std::string what = std::to_string(n) + (missing ? " but for one" : "");
      world.Check(start, what);
      EXPECT_EQ(world.masks().count() == 0, !missing) << what;
      CheckAll(&world, start, what);
    }
  }
}

}  // namespace
}  // namespace grammask::internal
