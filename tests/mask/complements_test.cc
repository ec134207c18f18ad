// Texts of patterns that are excluded: masks taken from those of the state without.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "mask/mask_world.h"
#include "sampled.h"

namespace grammask::internal {
namespace {

// Letters that the patterns below want, in runs of up to twelve; escapes, whole and cut; characters
// of two to four bytes, whole and in pieces; quotes and what may follow them.
std::vector<std::string> Tokens() {
  return ManyTokens({"\xC3\xA9",
                     "a\xC3\xA9",
                     "a\xC3",
                     "\xE6\x97\xA5",
                     "\xE6\x97",
                     "\x97\xA5"
                     "b",
                     "\xF0\x9F\x99\x82",
                     "\xF0\x9F",
                     "\\n",
                     "\\u0061",
                     "\\u006",
                     "61",
                     "u0061",
                     "\\u00",
                     "6a",
                     "a\\",
                     "\\\"",
                     "\",",
                     "\"}",
                     "a\",",
                     "ab\",\"ab",
                     "cab\"]",
                     "ab\",\n  ab",
                     "aaaaaaaaaaaaaaaa",
                     "0123456789abcdef",
                     "0123456789abcdef0123456789abcdef0123456789",
                     "--------",
                     "-10x",
                     "0101xy",
                     "0-1-01zz",
                     "1--0 ",
                     "\\ud83d\\ude42",
                     "\\ud83d",
                     "\x80",
                     "\xFF\xFF\x61",
                     "b\xFF\x61",
                     "b\x80\x61\xFF\x61",
                     "\xC3\x61\x61",
                     "b\xE6\x97\x61",
                     "\xFF\x63\x62",
                     "b\x80\x63\x62\x61",
                     "\xC3\x63\x62\x61",
                     "word word "},
                    12, "aabbcdxyz01 -\"\\\xC3\xA9", 4000, 12);
}

using Maker = ContentMaker;
using Make = NodeId (*)(Maker);

constexpr Make kIncluded[] = {
    [](Maker m) { return m.Any(); },
    [](Maker m) { return m.With("ab"); },
    // What completes a text is what some of the excluded want.
    [](Maker m) { return m.b.Sequence({m.Any(), m.Text("a")}); },
    [](Maker m) { return m.b.Sequence({m.Text("x"), m.Any()}); },
    [](Maker m) { return m.b.Repeat(m.Of(CodePointSet::All()), 0, 9); },
    [](Maker m) {
      return m.b.Repeat(m.Of({{'a', 'c'}, {'x', 'z'}, {0x80, 0x10FFFF}}), 2, kUnbounded);
    },
    [](Maker m) { return m.b.Star(m.b.Choice({m.Text("ab"), m.Text("x"), m.Of({{'0', '9'}})})); },
    [](Maker m) { return m.b.Sequence({m.Any(), m.Text("\\"), m.Any()}); },
    [](Maker m) { return m.b.And({m.With("a"), m.With("b")}); },
    // Bytes that are no UTF-8, too.
    [](Maker m) { return m.b.Star(m.b.Sequence({m.b.AnyBytes(), m.b.Bytes("a")})); },
    // Characters, and what begins as one does.
    [](Maker m) { return m.b.Star(m.b.Choice({m.Any(), m.b.Bytes("\xC3\x61")})); },
    [](Maker m) { return m.b.Sequence({m.Any(), m.b.Optional(m.b.Bytes("\xC3"))}); },
    // Only some of the characters of which one is wanted complete a text that has gone on so far.
    [](Maker m) {
      return m.b.Sequence(
          {m.b.Repeat(m.Of({{'0', '9'}, {'-', '-'}}), 0, 6),
           m.b.Choice({m.Text(" "), m.b.Sequence({m.b.Repeat(m.Of({{'x', 'z'}}), 1, kUnbounded),
                                                  m.Of({{'a', 'b'}})})})});
    },
    [](Maker m) {
      return m.b.Sequence({m.Any(), m.b.Repeat(m.Of({{'a', 'd'}, {'x', 'x'}}), 2, 2)});
    },
};

constexpr Make kExcluded[] = {
    [](Maker m) { return m.With("a"); },
    [](Maker m) { return m.With("abcd"); },
    // Dead before the text is whole, where only an `a` may end it.
    [](Maker m) { return m.b.Sequence({m.Any(), m.Text("c"), m.Any(), m.Text("a")}); },
    [](Maker m) { return m.b.Sequence({m.Any(), m.Text("b")}); },
    [](Maker m) { return m.b.Sequence({m.Text("b"), m.Any()}); },
    [](Maker m) {
      return m.b.Sequence({m.Any(), m.b.Repeat(m.Of({{'0', '9'}, {'a', 'f'}}), 20, 20), m.Any()});
    },
    [](Maker m) { return m.b.Sequence({m.Any(), m.Of({{0xE9, 0xE9}, {'y', 'y'}}), m.Any()}); },
    [](Maker m) { return m.b.Repeat(m.Of(CodePointSet::All()), 0, 5); },
    [](Maker m) { return m.b.Repeat(m.Of(CodePointSet::All()), 4, kUnbounded); },
    [](Maker m) { return m.b.Sequence({m.b.AnyBytes(), m.b.Bytes("a"), m.b.AnyBytes()}); },
    [](Maker m) { return m.b.Sequence({m.b.AnyBytes(), m.b.Bytes("cb"), m.b.AnyBytes()}); },
    [](Maker m) { return m.With("\\"); },
    [](Maker m) { return m.b.And({m.With("a"), m.With("x")}); },
    [](Maker m) { return m.b.Choice({m.With("abc"), m.With("xbc"), m.Text("b")}); },
    [](Maker m) { return m.b.Star(m.Of({{'a', 'z'}})); },
    // Only an escaped character leads out of these, or none.
    [](Maker m) { return m.b.Star(m.Of(CodePointSet::All().Minus({{'\n', '\n'}}))); },
    [](Maker m) {
      return m.b.Repeat(m.Of(CodePointSet::All().Minus({{0xE9, 0xE9}, {'d', 'd'}})), 0, 40);
    },
    [](Maker m) { return m.b.Star(m.b.Choice({m.Of({{'a', 'c'}}), m.Text("d"), m.Text("da")})); },
    // One of some characters is wanted.
    [](Maker m) { return m.b.Sequence({m.Any(), m.Of({{'a', 'd'}}), m.Any()}); },
    [](Maker m) { return m.b.Sequence({m.Any(), m.Of({{'a', 'z'}, {'0', '9'}}), m.Any()}); },
    [](Maker m) {
      return m.b.Sequence({m.Any(), m.Of({{'a', 'b'}}), m.Of({{'c', 'c'}, {'x', 'x'}}), m.Any()});
    },
    [](Maker m) { return m.b.Choice({m.With("ab"), m.With("x"), m.With("y1")}); },
};

constexpr Make kRests[] = {
    [](Maker m) { return m.b.Bytes("\""); },
    [](Maker m) { return m.b.Empty(); },
    [](Maker m) { return m.b.Bytes("\",\n  ab"); },
    // Begins as what is in front of it goes on.
    [](Maker m) { return m.b.Bytes("ab\""); },
    [](Maker m) { return m.b.Sequence({m.b.Star(m.b.Bytes("b")), m.b.Bytes("\"")}); },
};

constexpr std::string_view kTexts[] = {
    "",     "a",           "x",        "xab", "cb", "xabcab", "b\\", "x\\u00", "0123456789abcdef01",
    "\xC3", "x\xC3\xA9yb", "\xFFx\x80"};

void CheckAll(MaskWorld* world, const std::string& what,
              const std::function<NodeId(GrammarBuilder&)>& fill) {
  const SetId start = world->Start([&](GrammarBuilder& b) {
    const RuleId item = b.AddRule("item");
    b.SetBody(item, fill(b));
    return b.Sequence({b.Rule(item), b.Bytes("]")});
  });
  if (start == SetTable::Dead()) return;
  for (std::string_view text : kTexts) {
    SetId set = start;
    for (char c : text) {
      if (set != SetTable::Dead()) set = world->sets().Step(set, static_cast<uint8_t>(c));
    }
    if (set == SetTable::Dead()) continue;
    world->Check(set, what + " after \"" + std::string(text) + "\"");
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Complements, AnyPatternWithoutAnyOther) {
  const auto vocab = MakeVocab(Tokens());
  for (bool json : {true, false}) {
    MaskWorld world(vocab);
    for (size_t r = 0; r < std::size(kRests); ++r) {
      for (size_t i = 0; i < std::size(kIncluded); ++i) {
        // The masks without exclusions, from which the others are then taken whatever they are.
        CheckAll(&world, "included " + std::to_string(i), [&](GrammarBuilder& b) {
          Maker made{b, json};
          return b.Sequence({kIncluded[i](made), kRests[r](made)});
        });
        for (size_t e = (i + r) % OneIn(3); e < std::size(kExcluded); e += OneIn(3)) {
          const std::string what = std::string(json ? "json" : "raw") + " included " +
                                   std::to_string(i) + " excluded " + std::to_string(e) + " rest " +
                                   std::to_string(r);
          GrammarBuilder probe;
          Maker m{probe, json};
          const RuleId root = probe.AddRule("root");
          probe.SetBody(root, probe.And({kIncluded[i](m), probe.Not(kExcluded[e](m))}));
          const auto grammar = probe.Finish(root);
          ASSERT_TRUE(grammar.ok()) << what;
          MaskWorld alone(vocab);
          if (!BuildTerms(*grammar, &alone.terms()).ok()) continue;  // nothing is left
          CheckAll(&world, what, [&](GrammarBuilder& b) {
            Maker made{b, json};
            return b.Sequence(
                {b.And({kIncluded[i](made), b.Not(kExcluded[e](made))}), kRests[r](made)});
          });
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Most tokens begin inside a character, and are no UTF-8.
TEST(Complements, TokensThatBeginInsideACharacter) {
  std::vector<std::string> tokens = ManyTokens({"a", "ab\""}, 19, "aabbcdxyz01 -", 6000, 11);
  for (std::string& token : tokens) {
    if (token.size() > 1) token.insert(0, "\xA9");
  }
  const auto vocab = MakeVocab(std::move(tokens));
  for (bool json : {true, false}) {
    MaskWorld world(vocab);
    for (size_t e = 0; e < std::size(kExcluded); ++e) {
      const SetId start = world.Start([&](GrammarBuilder& b) {
        Maker m{b, json};
        const NodeId none = b.And({m.Any(), b.Not(kExcluded[e](m)), b.Not(m.Text("xa"))});
        return b.Sequence({b.Choice({none, m.Text("0")}), b.Bytes("\"")});
      });
      for (std::string_view text : {"", "\xC3", "x\xC3", "x\xC3\xA9", "\xE6\x97"}) {
        const SetId set = world.sets().Run(start, text);
        if (set == SetTable::Dead()) continue;
        world.Check(set, std::string(json ? "json" : "raw") + " excluded " + std::to_string(e) +
                             " after \"" + std::string(text) + "\"");
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Complements, SeveralAtOnceAndBehindAQuote) {
  const auto vocab = MakeVocab(Tokens());
  MaskWorld world(vocab);
  for (size_t e = 0; e < std::size(kExcluded); ++e) {
    for (size_t f = 0; f < e; ++f) {
      const std::string what = "excluded " + std::to_string(e) + " and " + std::to_string(f);
      CheckAll(&world, what, [&](GrammarBuilder& b) {
        Maker m{b, true};
        // The last alternative is there lest nothing be left.
        const NodeId none = b.And({m.Any(), b.Not(kExcluded[e](m)), b.Not(kExcluded[f](m)),
                                   b.Not(b.Choice({m.Text("xa"), m.Text("zz")}))});
        const NodeId string = b.Choice({none, m.Text("0")});
        return b.Choice({b.Sequence({b.Bytes("\""), string, b.Bytes("\"")}),
                         b.Sequence({none, b.Bytes("\"")}), b.Bytes("0")});
      });
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace grammask::internal
