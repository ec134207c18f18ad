// Intersections whose bounds are a condition of their own.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "automaton/character_terms.h"
#include "automaton/term_store.h"

namespace grammask::internal {
namespace {

class CountsApart : public CharacterTerms {
 protected:
  TermId And(std::vector<TermId> parts) { return s_.And(parts); }
  TermId Apart(std::vector<TermId> parts) { return s_.AndApart(parts); }
  TermId Any(int64_t least, int64_t most) { return Times(any_, least, most); }

  void ExpectSame(TermId x, TermId y) {
    EXPECT_EQ(And({x, s_.Not(y)}), TermStore::Nothing()) << s_.ToString(x) << s_.ToString(y);
    EXPECT_EQ(And({y, s_.Not(x)}), TermStore::Nothing()) << s_.ToString(x) << s_.ToString(y);
  }

  const TermId word_ = Chars({{'a', 'z'}, {'-', '-'}});
  // No two hyphens side by side.
  const TermId single_ = s_.Not(Of({Any(0, kUnbounded), Text("--"), Any(0, kUnbounded)}));
};

TEST_F(CountsApart, ALoopAmongSoManyCharacters) {
  const TermId words = Times(word_, 0, kUnbounded);
  EXPECT_EQ(Apart({single_, Of({Times(word_, 7, 19), letter_})}),
            And({single_, Of({words, letter_}), Any(8, 20)}));
  EXPECT_EQ(Apart({single_, Of({letter_, Times(word_, 0, 61), letter_})}),
            And({single_, Of({letter_, words, letter_}), Any(2, 63)}));
  EXPECT_EQ(Apart({single_, Of({Text("id-"), Times(word_, 1, 10), Times(digit_, 4, 4)})}),
            And({single_, Of({Text("id-"), words, Times(digit_, 4, 4)}), Any(8, 17)}));
  // As the patterns of names end that must not end in a hyphen.
  EXPECT_EQ(Apart({single_, Either({TermStore::Empty(), Of({Times(word_, 0, 62), letter_})})}),
            And({single_, Either({TermStore::Empty(), Of({words, letter_})}), Any(0, 63)}));
}

TEST_F(CountsApart, OneConditionOfSeveral) {
  const TermId words = Times(word_, 0, kUnbounded);
  const TermId name = Of({letter_, Times(word_, 2, 61), letter_});
  EXPECT_EQ(Apart({single_, name, Any(0, 40)}),
            And({single_, Of({letter_, words, letter_}), Any(4, 40)}));
  // A loop alone is counted as it stands, but not beside another count.
  EXPECT_EQ(Apart({single_, Times(word_, 3, 60)}), And({single_, Times(word_, 3, 60)}));
  EXPECT_EQ(Apart({single_, Times(word_, 3, 60), Any(1, 40)}), And({single_, words, Any(3, 40)}));
  // Inside of an intersection that was made before.
  EXPECT_EQ(Apart({And({single_, Times(word_, 3, 60)}), Any(1, 40)}),
            And({single_, words, Any(3, 40)}));
}

// What is no such sequence stays, and so do intersections with nothing but a number of characters,
// which are narrowed by themselves.
TEST_F(CountsApart, OthersStay) {
  const TermId many[] = {
      Of({Times(word_, 0, 20), Times(letter_, 0, 20)}),          // two loops
      Of({Times(word_, 0, 20), Times(letter_, 0, kUnbounded)}),  // no number of the others
      Of({Times(word_, 0, 20), Either({letter_, Text("ab")})}),  // several
      Of({Times(word_, 0, 3), letter_}),                         // few states
      Times(Of({word_, digit_}), 0, 20),                         // no characters
      Of({Times(s_.ByteClass(ByteSet::Range('a', '\\')), 0, 20), letter_}),
      Either({Text("much-too-long"), Of({Times(word_, 0, 8), letter_})}),
      Either({Of({Times(word_, 0, 8), letter_}), Of({Times(word_, 0, 9), digit_})}),
  };
  for (TermId part : many) {
    EXPECT_EQ(Apart({single_, part}), And({single_, part})) << s_.ToString(part);
  }
  const TermId name = Of({letter_, Times(word_, 2, 61), letter_});
  EXPECT_EQ(Apart({name, Any(0, 40)}), And({name, Any(0, 40)}));
  EXPECT_EQ(Apart({name}), name);
}

TEST_F(CountsApart, TheSameTexts) {
  std::mt19937 random(5);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const TermId classes[] = {letter_, digit_, word_, any_, Chars({{0xE0, 0xFF}, {'a', 'a'}})};
  auto character = [&] { return classes[below(std::size(classes))]; };
  auto loop = [&] {
    const int least = below(4);
    return Times(character(), least, least + 6 + below(4));
  };
  auto piece = [&] {
    switch (below(5)) {
      case 0:
        return Times(character(), 2, 2);
      case 1:
        return Text("a-");
      case 2:
        return Times(character(), 0, 1);
      default:
        return character();
    }
  };
  auto sequence = [&] {
    std::vector<TermId> parts;
    for (int i = below(3); i > 0; --i) parts.push_back(piece());
    parts.push_back(loop());
    for (int i = below(2); i > 0; --i) parts.push_back(piece());
    return Of(parts);
  };
  size_t taken = 0;
  for (int i = 0; i < 150; ++i) {
    TermId part = sequence();
    if (below(4) == 0) part = Either({part, below(2) == 0 ? TermStore::Empty() : sequence()});
    if (below(6) == 0) part = Either({part, piece()});
    std::vector<TermId> parts = {single_, part};
    if (below(3) == 0) parts.push_back(Any(below(3), 4 + below(9)));
    if (below(5) == 0) parts.push_back(sequence());
    const TermId apart = Apart(parts), as_written = And(parts);
    taken += apart != as_written ? 1 : 0;
    ExpectSame(apart, as_written);
  }
  EXPECT_GT(taken, 40u);
}

}  // namespace
}  // namespace grammask::internal
