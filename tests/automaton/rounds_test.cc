// Which states are a loop with a bound on its rounds, and what the state without it is.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "automaton/character_terms.h"
#include "automaton/term_store.h"

namespace grammask::internal {
namespace {

class Rounds : public CharacterTerms {
 protected:
  TermId Before(TermId content) { return s_.Sequence(content, quote_); }

  void ExpectCount(TermId state, TermId x, TermId loose, int64_t least, int64_t most) {
    const auto found = s_.FindCount(state);
    ASSERT_TRUE(found.has_value()) << s_.ToString(state);
    EXPECT_EQ(found->x, x) << s_.ToString(state);
    EXPECT_EQ(found->rest, quote_) << s_.ToString(state);
    EXPECT_EQ(found->loose, loose) << s_.ToString(state) << s_.ToString(found->loose);
    EXPECT_EQ(found->least, least) << s_.ToString(state);
    EXPECT_EQ(found->most, most) << s_.ToString(state);
  }
  // No loop up to the quote, be it that there is one up to what comes before.
  void ExpectNone(TermId state) {
    const auto found = s_.FindCount(state);
    EXPECT_TRUE(!found.has_value() || found->rest != quote_) << s_.ToString(state);
  }

  const TermId quote_ = s_.Literal("\",", false);
};

TEST_F(Rounds, AnEndOfSoManyCharacters) {
  const TermId anys = Times(any_, 0, kUnbounded);
  ExpectCount(Before(Of({Times(any_, 0, 7), Text("a")})), any_, Before(Of({anys, Text("a")})), 0,
              8);
  ExpectCount(Before(Of({Times(any_, 0, 7), Text(".can")})), any_, Before(Of({anys, Text(".can")})),
              0, 11);
  ExpectCount(Before(Of({Times(any_, 3, 7), Text("a"), digit_, Times(letter_, 2, 2)})), any_,
              Before(Of({anys, Text("a"), digit_, Times(letter_, 2, 2)})), 7, 11);
  // Of which the first, too, may be one of the loop's.
  ExpectCount(Before(Of({Times(any_, 0, 7), digit_, letter_})), any_,
              Before(Of({anys, digit_, letter_})), 0, 9);
  ExpectCount(Before(Of({Times(any_, 2, 7), digit_, digit_, letter_})), any_,
              Before(Of({anys, digit_, digit_, letter_})), 5, 10);
  // Of several letters in any spelling each is one.
  ExpectCount(Before(Of({Times(any_, 0, 7), Either({Text("no"), Text("\xC3\xA9\xC3\xA9")})})), any_,
              Before(Of({anys, Either({Text("no"), Text("\xC3\xA9\xC3\xA9")})})), 0, 9);
  ExpectCount(Before(Of({Times(letter_, 0, 7), Text("ab")})), letter_,
              Before(Of({Times(letter_, 0, kUnbounded), Text("ab")})), 0, 9);
}

// Without the upper bound of the loop that is counted, be it that another one begins the state.
TEST_F(Rounds, OpenStates) {
  auto expect_open = [&](TermId state, TermId open) {
    const auto found = s_.FindCount(state);
    ASSERT_TRUE(found.has_value()) << s_.ToString(state);
    EXPECT_EQ(found->open, open) << s_.ToString(state) << s_.ToString(found->open);
  };
  auto from = [&](TermId of, int64_t least) { return Times(of, least, kUnbounded); };
  const TermId dash = Text("-");
  for (const int64_t least : {0, 3}) {
    expect_open(Before(Times(any_, least, 7)), Before(from(any_, least)));
    expect_open(Before(Of({Times(any_, least, 7), dash})), Before(Of({from(any_, least), dash})));
    expect_open(Before(Of({Times(letter_, 8, 8), dash, Times(any_, least, 7)})),
                Before(Of({Times(letter_, 8, 8), dash, from(any_, least)})));
    expect_open(Before(Of({Times(letter_, least, 7), letter_})),
                Before(Of({from(letter_, least), letter_})));
  }
  expect_open(Either({quote_, Before(Of({Times(any_, 0, 7), letter_}))}),
              Either({quote_, Before(Of({from(any_, 0), letter_}))}));
}

// A number of rounds behind other loops is no bound.
TEST_F(Rounds, NumbersOfRoundsAreNotLoosened) {
  const TermId digits = Times(digit_, 12, 12);
  const auto loosened = s_.LoosenAll(Before(Of({Times(any_, 0, 9), digits})), 8);
  ASSERT_TRUE(loosened.has_value());
  EXPECT_EQ(loosened->state, Before(Of({Times(any_, 0, kUnbounded), digits})));
  EXPECT_EQ(loosened->bound, 9);
  EXPECT_FALSE(s_.LoosenAll(Before(Of({Times(any_, 0, 9), digits})), 10).has_value());
  // In front it is one, and so is a range.
  const auto front = s_.LoosenAll(Before(digits), 8);
  ASSERT_TRUE(front.has_value());
  EXPECT_EQ(front->state, Before(Times(digit_, 12, kUnbounded)));
  const auto range = s_.LoosenAll(Before(Of({Times(any_, 0, 9), Times(digit_, 1, 12)})), 10);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->state, Before(Of({Times(any_, 0, 9), Times(digit_, 1, kUnbounded)})));
}

// Of loops that allow as many characters as are left the bound says nothing.
TEST_F(Rounds, BoundsThatSayNothing) {
  const TermId after = s_.Sequence(quote_, Times(digit_, 0, 50));
  const TermId dash = Text("-"), pair = Of({digit_, letter_}), wide = Text("\xC3\xA9");
  const TermId tail = Times(Of({dash, digit_}), 0, kUnbounded);  // no bound on all of it
  auto count = [&](TermId begin) {
    const TermId parts[] = {Times(any_, 0, 12), Of({begin, tail})};
    return s_.FindCount(s_.Sequence(s_.And(parts), after));
  };
  auto without = [&](TermId begin, TermId expected) {
    const auto found = count(begin), loose = count(expected);
    ASSERT_TRUE(found.has_value() && loose.has_value()) << s_.ToString(begin);
    ASSERT_EQ(found->most, 12);
    const TermStore::Counted idle = s_.WithoutIdleBounds(*found);
    EXPECT_EQ(idle.loose, loose->loose) << s_.ToString(idle.loose);
    EXPECT_EQ(idle.open, idle.loose);
    EXPECT_EQ(idle.rest, found->rest);
    EXPECT_EQ(idle.most, 12);
  };
  auto stays = [&](TermId begin) { without(begin, begin); };
  auto any_number = [&](TermId of) { return Times(of, 0, kUnbounded); };
  without(Times(letter_, 0, 12), any_number(letter_));
  stays(Times(letter_, 0, 11));
  without(Of({Times(letter_, 2, 12), dash, Times(digit_, 0, 3)}),
          Of({Times(letter_, 2, kUnbounded), dash, Times(digit_, 0, 3)}));
  // Rounds of two characters, and of one in two bytes.
  without(Times(pair, 0, 6), any_number(pair));
  stays(Times(pair, 0, 5));
  without(Times(wide, 0, 12), any_number(wide));
  stays(Times(wide, 0, 11));
  // One in another.
  without(Times(Of({dash, Times(letter_, 0, 20)}), 0, 3),
          Times(Of({dash, any_number(letter_)}), 0, 3));
}

TEST_F(Rounds, AlternativesOfOneBound) {
  const TermId anys = Times(any_, 0, kUnbounded);
  // `^\S.*\S$` after one character, as it may end there.
  ExpectCount(Either({quote_, Before(Of({Times(any_, 0, 7), letter_}))}), any_,
              Either({quote_, Before(Of({anys, letter_}))}), 0, 8);
  // One that has begun what it must end in, and may begin anew.
  ExpectCount(Either({Before(Text("an")), Before(Of({Times(any_, 0, 6), Text("can")}))}), any_,
              Either({Before(Text("an")), Before(Of({anys, Text("can")}))}), 0, 9);
  ExpectCount(Either({Before(Of({Times(any_, 0, 8), Text("n")})),
                      Before(Of({Times(any_, 0, 6), Text("can")}))}),
              any_, Either({Before(Of({anys, Text("n")})), Before(Of({anys, Text("can")}))}), 0, 9);
}

TEST_F(Rounds, WhatIsNoCount) {
  // Two bounds.
  ExpectNone(Either(
      {Before(Of({Times(any_, 0, 7), Text("n")})), Before(Of({Times(any_, 0, 6), Text("can")}))}));
  ExpectNone(Before(Of({Times(any_, 0, 7), digit_, Times(any_, 0, 2), digit_})));
  // One that is longer than the bound.
  ExpectNone(Either({Before(Text("more than that")), Before(Of({Times(any_, 0, 6), Text("a")}))}));
  // A least number, which one alternative does not have.
  ExpectNone(Either({Before(Text("an")), Before(Of({Times(any_, 2, 6), Text("can")}))}));
  // Loops of different characters.
  ExpectNone(Either({Before(Of({Times(letter_, 0, 6), Text("can")})),
                     Before(Of({Times(any_, 0, 6), Text("tan")}))}));
  // An end of one character or two.
  ExpectNone(Before(Of({Times(any_, 0, 7), Either({Text("a"), Text("bc")})})));
  // Rounds of two characters each, which the end is not measured in.
  const TermId pair = Of({digit_, digit_});
  ExpectNone(Before(Of({Times(digit_, 4, 4), Times(pair, 0, 1)})));
  ExpectNone(Before(Of({Times(pair, 0, 3), Times(digit_, 2, 2)})));
}

// Characters that the loop does not have leave it, so they are none of its rounds.
TEST_F(Rounds, AnEndOfOtherCharacters) {
  for (const char* end : {"1", "a1", "-"}) {
    const auto found = s_.FindCount(Before(Of({Times(letter_, 0, 7), Text(end)})));
    ASSERT_TRUE(found.has_value()) << end;
    EXPECT_EQ(found->most, 7) << end;
    EXPECT_NE(found->rest, quote_) << end;
  }
}

}  // namespace
}  // namespace grammask::internal
