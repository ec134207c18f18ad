// Masks in the midst of searches, which are taken from those of the searches themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/sorted.h"
#include "mask/mask_world.h"

namespace grammask::internal {
namespace {

// Tokens of letters that the patterns below want, and so few others that a slice is worth it: with
// quotes and escapes, whole and cut, after what a match may end or begin with.
std::vector<std::string> Tokens() {
  std::vector<std::string> tokens =
      ManyTokens({"\xC3\xA9", "a\xC3", "b\xC3\xA9\x61", "\xE6\x97\xA5", "\xF0\x9F", "\x97\xA5"}, 7,
                 "aaabbc12-", 6000, 9);
  std::vector<std::string> others =
      ManyTokens({"\\u0061", "\\u006", "b\\u0061b\",", "\\n", "ab\\", "\xC3\xA9\"", "1-2\"]",
                  "aab\\\"b\"", "12-\"]", "-\"]", "\",\n  ab", "\"]", "abab\"", "ab\"x", "\\u00e9"},
                 8, "aab1\"\\-u0", 120, 7);
  tokens.insert(tokens.end(), others.begin(), others.end());
  SortUnique(&tokens);
  return tokens;
}

using Maker = ContentMaker;
using Make = NodeId (*)(Maker);

// Holds "-", any number of words of letters, each ended by "1", and a word ended by "2".
NodeId WithWords(Maker m) {
  auto word = [&] { return m.b.Repeat(m.Of({{'a', 'c'}}), 1, kUnbounded); };
  return m.With(m.b.Sequence(
      {m.Text("-"), m.b.Star(m.b.Sequence({word(), m.Text("1")})), word(), m.Text("2")}));
}

constexpr Make kSearches[] = {
    [](Maker m) { return m.With("ab"); },
    [](Maker m) { return m.With("abab"); },
    // Must end so, and may so end at many places.
    [](Maker m) { return m.b.Sequence({m.Any(), m.Text("ab")}); },
    [](Maker m) { return m.b.Sequence({m.Any(), m.Text("a"), m.b.Optional(m.Text("b"))}); },
    [](Maker m) {
      return m.With(m.b.Sequence({m.Of({{'0', '9'}}), m.Of({{'0', '9'}}), m.Text("-"),
                                  m.b.Repeat(m.Of({{'0', '9'}}), 1, kUnbounded)}));
    },
    // Nothing ends a match that has begun.
    [](Maker m) { return m.b.Sequence({m.Any(), m.Text("a"), m.Any(), m.Text("b"), m.Any()}); },
    [](Maker m) { return m.b.And({m.With("ab"), m.With("ba")}); },
    [](Maker m) { return m.b.Choice({m.With("ab1"), m.With("1-")}); },
    [](Maker m) { return m.b.Choice({m.With("ab"), m.Text("1")}); },
    [](Maker m) { return m.With(m.Of({{0xE9, 0xE9}})); },
    // Some character must not occur at all.
    [](Maker m) {
      const NodeId plain = m.b.Star(m.Of(CodePointSet::All().Minus({{'"', '"'}, {'c', 'c'}})));
      return m.b.Sequence({plain, m.Text("ab"), plain});
    },
    [](Maker m) { return m.With(m.b.Repeat(m.Of({{'a', 'b'}}), 5, 5)); },
    [](Maker m) { return WithWords(m); },
    // Or nothing at all: ^$|ab$
    [](Maker m) { return m.b.Optional(m.b.Sequence({m.Any(), m.Text("ab")})); },
    [](Maker m) { return m.b.Optional(m.With("ab")); },
};

constexpr Make kRests[] = {
    [](Maker m) { return m.b.Bytes("\""); },
    [](Maker m) { return m.b.Empty(); },
    // Begins as what is in front of it goes on.
    [](Maker m) { return m.b.Sequence({m.b.Star(m.b.Bytes("b")), m.b.Bytes("\"")}); },
};

TEST(SearchMasks, AtEveryPlace) {
  const auto vocab = MakeVocab(Tokens());
  for (bool json : {true, false}) {
    MaskWorld world(vocab);
    for (size_t r = 0; r < std::size(kRests); ++r) {
      for (size_t i = 0; i < std::size(kSearches); ++i) {
        const SetId start = world.StartItem("]", [&](GrammarBuilder& b) {
          Maker m{b, json};
          return b.Sequence({kSearches[i](m), kRests[r](m)});
        });
        const std::string what = std::string(json ? "json" : "raw") + " search " +
                                 std::to_string(i) + " rest " + std::to_string(r);
        world.CheckAlong(start, "xa1-ab 12-1aab-b", what);
        if (HasFatalFailure()) return;
        world.CheckAlong(start, json ? "a\\u0061\\\\b\\u00e9" : "a\\b\xC3\xA9", what);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// A search for what takes a few characters, of as many characters as may be near.
TEST(SearchMasks, NearABound) {
  const auto vocab = MakeVocab(Tokens());
  constexpr std::pair<int64_t, int64_t> kBounds[] = {{6, 6}, {0, 7}, {3, 9}, {12, 12}, {0, 16}};
  for (bool json : {true, false}) {
    MaskWorld world(vocab);
    for (size_t r = 0; r < std::size(kRests); ++r) {
      for (size_t i = 0; i < std::size(kSearches); ++i) {
        const auto [least, most] = kBounds[(i + r) % std::size(kBounds)];
        const SetId start =
            world.StartItem("]", [&, least = least, most = most](GrammarBuilder& b) {
              Maker m{b, json};
              const NodeId both = b.And({kSearches[i](m), b.Repeat(m.One(), least, most)});
              return b.Sequence({both, kRests[r](m)});
            });
        const std::string what = std::string(json ? "json" : "raw") + " search " +
                                 std::to_string(i) + " rest " + std::to_string(r);
        SetId set = start;
        std::string read;
        for (char c : std::string("xa1-ab 12-1aab-b\"]")) {
          world.Check(set, what + " after \"" + read + "\"");
          if (HasFatalFailure()) return;
          set = world.sets().Step(set, static_cast<uint8_t>(c));
          if (set == SetTable::Dead()) break;
          read += c;
        }
      }
    }
  }
}

// Then the tokens of the search's characters are a slice, less the longest.
TEST(SearchMasks, NearABoundWithASlice) {
  const auto vocab = MakeVocab(Tokens());
  MaskWorld world(vocab);
  const SetId start = world.StartItem("]", [&](GrammarBuilder& b) {
    Maker m{b, true};
    const NodeId both = b.And({m.With(m.Of({{'1', '9'}})), b.Repeat(m.One(), 6, 6)});
    return b.Sequence({both, b.Bytes("\"")});
  });
  world.Check(start, "six characters with a digit");
  const auto items = world.sets().Body(start).items;
  ASSERT_FALSE(items.empty());
  EXPECT_NE(world.masks().OfState(items.back().term).slice, nullptr);
}

// The mask is the same object's where nothing may end, and has more where something may.
TEST(SearchMasks, OnlyWhatMayEndIsAdded) {
  const auto vocab = MakeVocab(Tokens());
  MaskWorld world(vocab);
  const SetId start = world.StartItem("]", [&](GrammarBuilder& b) {
    Maker m{b, true};
    return b.Sequence({m.b.Sequence({m.Any(), m.Text("12-")}), b.Bytes("\"")});
  });
  auto mask_after = [&](std::string_view text) {
    SetId set = start;
    for (char c : text) set = world.sets().Step(set, static_cast<uint8_t>(c));
    const auto items = world.sets().Body(set).items;
    EXPECT_EQ(items.size(), 1u);
    return world.masks().OfState(items[0].term);
  };
  const Level1 search = mask_after("x"), begun = mask_after("1"), nearly = mask_after("12");
  ASSERT_NE(search.slice, nullptr) << "the vocabulary has too many other tokens for a slice";
  EXPECT_EQ(begun.slice, search.slice);
  EXPECT_EQ(begun.accepted.bitmap, search.accepted.bitmap);
  ASSERT_NE(search.residual, nullptr);
  EXPECT_EQ(begun.residual, search.residual);
  ASSERT_NE(nearly.residual, nullptr);
  const auto& entries = nearly.residual->entries;
  EXPECT_GT(entries.size(), search.residual->entries.size());
  for (const uint64_t entry : search.residual->entries) {
    EXPECT_TRUE(std::ranges::count(entries, entry) == 1);
  }
}

// A match that has begun may itself be a loop, of less than the search is.
TEST(SearchMasks, TheLoopIsTheSearch) {
  const auto vocab = MakeVocab(Tokens());
  MaskWorld world(vocab);
  const SetId start = world.StartItem("]", [&](GrammarBuilder& b) {
    return b.Sequence({WithWords(Maker{b, true}), b.Bytes("\"")});
  });
  auto slice_after = [&](std::string_view text) {
    SetId set = start;
    for (char c : text) set = world.sets().Step(set, static_cast<uint8_t>(c));
    return world.masks().OfState(world.sets().Body(set).items[0].term).slice;
  };
  ASSERT_NE(slice_after("x"), nullptr) << "the vocabulary has too many other tokens for a slice";
  for (const char* text : {"-", "-a", "-a1", "-a1bb1"})
    EXPECT_EQ(slice_after(text), slice_after("x"));
}

// A slice that is there is taken; none is made for a loop that a walk leaps over.
TEST(SearchMasks, ALoopIsLeaptOverWhereThereIsNoSlice) {
  const auto vocab = MakeVocab(Tokens());
  for (bool ready : {false, true}) {
    MaskWorld world(vocab, ready ? ReadySlices(*vocab) : std::make_shared<SliceStore>());
    for (int64_t least : {0, 1}) {
      const SetId start = world.StartItem("]", [&](GrammarBuilder& b) {
        return b.Sequence({b.Repeat(Maker{b, true}.One(), least, kUnbounded), b.Bytes("\"")});
      });
      const std::string what = std::string(ready ? "slice" : "none") + std::to_string(least);
      world.CheckAlong(start, "xa1-ab\"", what);
      const auto items = world.sets().Body(start).items;
      EXPECT_EQ(world.masks().OfState(items.back().term).slice != nullptr, ready) << what;
    }
  }
}

// A loop whose mask was made when there was no slice serves as well once there is one: the mask in
// the midst of a search is the search's own, and those of its counts differ in long tokens alone.
TEST(SearchMasks, ASliceThatComesLater) {
  const auto vocab = MakeVocab(Tokens());
  MaskWorld world(vocab, std::make_shared<SliceStore>());
  const SetId search = world.StartItem("]", [&](GrammarBuilder& b) {
    Maker m{b, true};
    return b.Sequence({m.Any(), m.Text("12-"), b.Bytes("\"")});
  });
  auto mask_after = [&](SetId set, std::string_view text) {
    for (char c : text) set = world.sets().Step(set, static_cast<uint8_t>(c));
    return world.masks().OfState(world.sets().Body(set).items.back().term);
  };
  EXPECT_EQ(mask_after(search, "x").slice, nullptr);
  for (int64_t most : {20, 19, 3}) {
    const SetId counted = world.StartItem("]", [&](GrammarBuilder& b) {
      return b.Sequence({b.Repeat(Maker{b, true}.One(), 0, most), b.Bytes("\"")});
    });
    world.CheckAlong(counted, "xa1", "at most " + std::to_string(most));
  }
  const Level1 begun = mask_after(search, "x1");
  EXPECT_NE(begun.slice, nullptr);
  world.CheckAlong(search, "xa1-12-1aab-b", "search");
}

// A text in which something is found, or none at all.
TEST(SearchMasks, OrNothing) {
  const auto vocab = MakeVocab(Tokens());
  MaskWorld world(vocab);
  const SetId start = world.StartItem("]", [&](GrammarBuilder& b) {
    Maker m{b, true};
    const NodeId found = b.Optional(b.Sequence({m.Any(), m.Text("12-")}));
    return b.Sequence({found, b.Bytes("\"")});
  });
  const Level1& mask = world.masks().OfState(world.sets().Body(start).items.back().term);
  EXPECT_NE(mask.slice, nullptr);
}

}  // namespace
}  // namespace grammask::internal
