// Masks of strings in which something is searched for beside other conditions, which are taken from
// those of the conditions.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "mask/mask_world.h"

namespace grammask::internal {
namespace {

// Tokens of what the texts below are of, with quotes and escapes, whole and cut.
std::vector<std::string> Tokens() {
  return ManyTokens(
      {"\\u0061",   "\\u006",    "b\\u0061b\",", "\\n",       "ab\\",    "\xC3\xA9\"", "1-2\"]",
       "ab\\\"b\"", "12-\"]",    "-\"]",         "\",\n  ab", "\"]",     "abab\"",     "ab\"x",
       "\\u00e9",   "#ab\"",     "#1\"]",        "\"],",      "a/ab\":", "%4",         "%41ab\"",
       "\xC3",      "a\xC3\xA9", "\xF0\x9F",     "\xA9\"",    "\\\"",    "ab\\\"]"},
      11, "aabb12/#%4\"\\-u0", 700, 6);
}

using Maker = ContentMaker;
using Make = NodeId (*)(Maker);

NodeId Letters(Maker m) { return m.Of({{'a', 'c'}}); }

// Conditions that are no searches. Each takes the text "ab/12ab#1ab", less what it does not know.
constexpr Make kConditions[] = {
    // Parts, then one more part that is told apart from them: as a URI's.
    [](Maker m) {
      const NodeId part = m.b.Star(m.Of({{'a', 'c'}, {'1', '2'}, {'/', '/'}, {'-', '-'}}));
      return m.b.Sequence({part, m.b.Optional(m.b.Sequence({m.Text("#"), part}))});
    },
    // With what stands for a character: two digits.
    [](Maker m) {
      const NodeId digit = m.Of({{'0', '9'}, {'a', 'f'}});
      const NodeId coded = m.b.Sequence({m.Text("%"), digit, digit});
      return m.b.Star(m.b.Choice({coded, m.Of({{'a', 'c'}, {'#', '#'}, {'/', '/'}, {'1', '2'}})}));
    },
    // Words, of which none is empty.
    [](Maker m) {
      const NodeId word = m.b.Repeat(m.Of({{'a', 'c'}, {'1', '2'}}), 1, kUnbounded);
      const NodeId stop = m.Of({{'/', '/'}, {'#', '#'}});
      return m.b.Sequence({word, m.b.Star(m.b.Sequence({stop, word}))});
    },
    // Behind "#" nothing that is searched for can be found.
    [](Maker m) {
      const NodeId digits = m.b.Star(m.Of({{'0', '9'}}));
      return m.b.Sequence({m.b.Star(m.Of({{'a', 'c'}, {'1', '2'}, {'/', '/'}})),
                           m.b.Optional(m.b.Sequence({m.Text("#"), digits}))});
    },
    // No letters at all behind so many of them.
    [](Maker m) {
      const NodeId others = m.Of({{'1', '2'}, {'/', '/'}, {'#', '#'}});
      return m.b.Sequence(
          {m.b.Star(others), m.b.Repeat(m.b.Sequence({Letters(m), m.b.Star(others)}), 0, 9)});
    },
    // A character beyond ASCII, and one that is written with a backslash.
    [](Maker m) { return m.b.Star(m.Of({{'a', 'c'}, {'"', '"'}, {0xE9, 0xE9}, {'/', '2'}})); },
};

constexpr Make kSearches[] = {
    [](Maker m) { return m.With("ab"); },
    [](Maker m) { return m.With("abab"); },
    // Must end so, and may so end at many places.
    [](Maker m) { return m.b.Sequence({m.Any(), m.Text("ab")}); },
    [](Maker m) { return m.b.Sequence({m.Any(), m.Text("a"), m.b.Optional(m.Text("b"))}); },
    // Nothing ends a match that has begun.
    [](Maker m) { return m.b.Sequence({m.Any(), m.Text("a"), m.Any(), m.Text("b"), m.Any()}); },
    [](Maker m) { return m.b.And({m.With("ab"), m.With("ba")}); },
    [](Maker m) { return m.b.Choice({m.With("ab1"), m.With("1a")}); },
    [](Maker m) { return m.b.Choice({m.With(m.Of({{0xE9, 0xE9}})), m.With("ba")}); },
    // Some character must not occur at all, which the conditions know and do not know.
    [](Maker m) {
      const NodeId plain = m.b.Star(m.Of(CodePointSet::All().Minus({{'z', 'z'}})));
      return m.b.Sequence({plain, m.Text("ab"), plain});
    },
    [](Maker m) {
      const NodeId plain = m.b.Star(m.Of(CodePointSet::All().Minus({{'c', 'c'}})));
      return m.b.Sequence({plain, m.Text("ab"), plain});
    },
    // Or nothing at all.
    [](Maker m) { return m.b.Optional(m.b.Sequence({m.Any(), m.Text("ab")})); },
    // Long, so that bounds are near all the time.
    [](Maker m) { return m.With("1a1b1a1b"); },
    [](Maker m) { return m.With("1a1b1a1b1a1b1a1b"); },
    // Behind a beginning, and of any number of characters more.
    [](Maker m) {
      return m.b.Sequence({m.b.Repeat(m.One(), 2, kUnbounded), m.Text("b"), m.Any()});
    },
};

constexpr Make kRests[] = {
    [](Maker m) { return m.b.Bytes("\""); },
    [](Maker m) { return m.b.Sequence({m.b.Bytes("\""), m.b.Optional(m.b.Bytes(","))}); },
    // The end is the callers'.
    [](Maker m) { return m.b.Empty(); },
    // More than the quote may come.
    [](Maker m) { return m.b.Sequence({m.b.Star(m.b.Bytes("b")), m.b.Bytes("\"")}); },
};

TEST(BesideSearch, AtEveryPlace) {
  const auto vocab = MakeVocab(Tokens());
  MaskWorld world(vocab);
  size_t texts = 0;
  for (size_t r = 0; r < std::size(kRests); ++r) {
    for (size_t c = 0; c < std::size(kConditions); ++c) {
      for (size_t i = 0; i < std::size(kSearches); ++i) {
        // Some with a bound on the characters.
        const int64_t most =
            (c + i) % 3 == 0 ? 8 + 12 * static_cast<int64_t>((i + 1) % 4) : kUnbounded;
        const SetId start = world.StartItem(r == 2 ? "\"]" : "]", [&](GrammarBuilder& b) {
          Maker m{b, true};
          const NodeId all =
              b.And({kConditions[c](m), kSearches[i](m), b.Repeat(m.One(), 0, most)});
          return b.Sequence({all, kRests[r](m)});
        });
        const std::string what = "condition " + std::to_string(c) + " search " + std::to_string(i) +
                                 " rest " + std::to_string(r);
        for (const char* text :
             {"ab/12ab#1ab", "a1-ab", "%41\\u0061b", "#12", "c/ab", "\\u00e9ab\\\"", "aaabb"}) {
          // As far as the state goes on.
          SetId set = start;
          for (const char* p = text; set != SetTable::Dead(); ++p) {
            world.Check(set, what + " after \"" + std::string(text, p) + "\"");
            if (HasFatalFailure()) return;
            ++texts;
            if (*p == '\0') break;
            set = world.sets().Step(set, static_cast<uint8_t>(*p));
          }
        }
      }
    }
  }
  EXPECT_GT(texts, 2000u);
}

// The states in which the search has begun are not made where the conditions alone tell the mask.
TEST(BesideSearch, WithoutTheSearchsStates) {
  const auto vocab = MakeVocab(Tokens());
  // States of a string in which both have to hold that were looked at.
  auto looked_at = [](MaskWorld& world) {
    int count = 0;
    for (size_t i = 0; i < world.terms().size(); ++i) {
      const Term& t = world.terms().term(TermId(static_cast<uint32_t>(i)));
      count += t.kind == TermKind::kSequence && t.expansion.load() != nullptr &&
               world.terms().term(t.children()[0]).kind == TermKind::kAnd;
    }
    return count;
  };
  // The second condition has a place from which nothing is found.
  for (const auto& [condition, walked] :
       {std::pair(size_t{0}, false), std::pair(size_t{3}, true)}) {
    MaskWorld world(vocab);
    const SetId start = world.StartItem("]", [&, condition = condition](GrammarBuilder& b) {
      Maker m{b, true};
      const NodeId search = b.Choice({m.With("b"), m.With("ac2a")});
      return b.Sequence({b.And({kConditions[condition](m), search}), b.Bytes("\"")});
    });
    const SetId at = world.sets().Step(start, '1');
    const int before = looked_at(world);
    world.Filled(at);
    const int after = looked_at(world);
    EXPECT_EQ(after > before, walked) << "condition " << condition << ": " << after - before;
  }
}

}  // namespace
}  // namespace grammask::internal
