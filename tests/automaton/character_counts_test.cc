// How many characters the texts of terms have, by what intersections with bounds on them match.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "automaton/term_store.h"

namespace grammask::internal {
namespace {

constexpr int kMostCounted = 60;

// A term of whole characters, and all numbers of them that its texts have, up to kMostCounted.
struct Counted {
  TermId term;
  std::set<int> counts;
};

class CharacterCounts : public testing::Test {
 protected:
  TermId Chars(const CodePointSet& set) { return s_.Character(set, true); }
  TermId Any(int64_t least, int64_t most) {
    return s_.Repeat(Chars(CodePointSet::All()), least, most);
  }
  TermId And(std::vector<TermId> parts) { return s_.And(parts); }
  TermId Sequence(TermId a, TermId b) { return s_.Sequence(a, b); }

  static std::set<int> Sums(const std::set<int>& a, const std::set<int>& b) {
    std::set<int> sums;
    for (int x : a) {
      for (int y : b) {
        if (x + y <= kMostCounted) sums.insert(x + y);
      }
    }
    return sums;
  }
  Counted Random(int depth) {
    auto below = [&](int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); };
    if (depth == 0 || below(4) == 0) {
      switch (below(4)) {
        case 0:
          return {s_.Literal("a\n\xC3\xA9\xF0\x9F\x99\x82", true), {4}};
        case 1:
          return {s_.Literal("b\\u00e9", false), {2}};
        case 2:
          return {Chars({{'a', 'z'}}), {1}};
        default:
          return {Chars({{0x41, 0x1FFFF}}), {1}};
      }
    }
    const Counted first = Random(depth - 1);
    if (below(3) == 0) {
      const int least = below(4), most = least + below(5);
      Counted result = {s_.Repeat(first.term, least, most), {}};
      std::set<int> sums = {0};
      for (int round = 0; round <= most; ++round) {
        if (round >= least) result.counts.insert(sums.begin(), sums.end());
        sums = Sums(sums, first.counts);
      }
      return result;
    }
    const Counted second = Random(depth - 1);
    if (below(2) == 0) {
      return {Sequence(first.term, second.term), Sums(first.counts, second.counts)};
    }
    Counted result = {s_.Choice(std::vector{first.term, second.term}), first.counts};
    result.counts.insert(second.counts.begin(), second.counts.end());
    return result;
  }

  TermStore s_{{}, 16};
  std::mt19937 random_{7};
};

TEST_F(CharacterCounts, RandomTermsOfBoundedLength) {
  int empty = 0, matching = 0;
  for (int round = 0; round < 600; ++round) {
    const Counted part = Random(4);
    const int least = static_cast<int>(random_() % 20);
    const int most = least + static_cast<int>(random_() % 6);
    const bool matches = std::ranges::any_of(
        part.counts, [&](int count) { return least <= count && count <= most; });
    EXPECT_EQ(And({Any(least, most), part.term}) != TermStore::Nothing(), matches)
        << s_.ToString(part.term) << " of " << least << " to " << most;
    (matches ? matching : empty) += 1;
  }
  EXPECT_GT(empty, 100);
  EXPECT_GT(matching, 100);
  EXPECT_FALSE(s_.overrun());
}

// A lower bound on the characters before the rest, mostly the least number itself: of parts of an
// intersection each is looked at by itself.
TEST_F(CharacterCounts, FewestBeforeTheRest) {
  const TermId rest = s_.Literal("\",a", false);
  int exact = 0, compared = 0;
  for (int round = 0; round < 1000; ++round) {
    const Counted part = Random(4);
    const Counted other = Random(2);
    if (part.counts.empty() || other.counts.empty()) continue;  // more than are counted
    TermId state = Sequence(part.term, rest);
    int least = *part.counts.begin();
    if (round % 3 == 0) {
      state = s_.Choice(std::vector{state, Sequence(other.term, rest)});
      least = std::min(least, *other.counts.begin());
    } else if (round % 3 == 1) {
      const TermId both = And({part.term, Any(0, kUnbounded)});
      state = Sequence(both, rest);
    }
    const auto fewest = static_cast<int>(s_.FewestCharacters(state, rest));
    EXPECT_LE(fewest, least) << s_.ToString(state);
    ++compared;
    exact += fewest == least ? 1 : 0;
  }
  EXPECT_GT(compared, 900);
  EXPECT_GT(exact, compared * 9 / 10);
}

TEST_F(CharacterCounts, OneCharacter) {
  EXPECT_TRUE(s_.IsJsonCharacter(Chars(CodePointSet::All())));
  EXPECT_TRUE(s_.IsJsonCharacter(Chars({{'a', 'a'}})));
  EXPECT_TRUE(s_.IsJsonCharacter(s_.Choice(std::vector{Chars({{'a', 'b'}}), Chars({{'0', '9'}})})));
  EXPECT_FALSE(s_.IsJsonCharacter(Sequence(Chars({{'a', 'a'}}), Chars({{'a', 'a'}}))));
  EXPECT_FALSE(s_.IsJsonCharacter(Any(0, 1)));
  EXPECT_FALSE(s_.IsJsonCharacter(s_.Character({{'!', '~'}}, false)));  // quotes, backslashes
  EXPECT_FALSE(s_.IsJsonCharacter(s_.Literal("\"", false)));
}

// Each character may be spelled in more bytes than the pattern wants.
TEST_F(CharacterCounts, MoreCharactersThanThereMayBe) {
  Limits limits;
  limits.max_mask_states = 300;
  TermStore s(limits, 16);
  auto chars = [&](uint32_t lo, uint32_t hi, int64_t least, int64_t most) {
    return s.Repeat(s.Character({{lo, hi}}, true), least, most);
  };
  const TermId parts[] = {chars(' ', '~', 5, 7), chars('a', 'z', 1, kUnbounded),
                          chars('0', 'z', 12, 14)};
  const TermId five = s.Repeat(s.Sequence(parts), 5, 5);
  for (int64_t most : {40, 63, 89, 90, 100}) {
    const TermId both[] = {s.Repeat(s.Character(CodePointSet::All(), true), 0, most), five};
    EXPECT_EQ(s.And(both) == TermStore::Nothing(), most < 90) << most;
    EXPECT_FALSE(s.overrun()) << most;
  }
}

// In the middle of a character what is left of it reads like characters of its own.
TEST_F(CharacterCounts, WithinAnEscape) {
  for (const std::string_view begun : {"", "\\", "\\u", "\\u0", "\\u00", "\\u006", "\\ud83d\\u"}) {
    const TermId three = Sequence(Chars(CodePointSet::All()), Any(2, 2));
    TermId at = And({Any(0, 3), Sequence(three, s_.Repeat(Chars({{'a', 'c'}}), 0, 2))});
    for (char c : begun) at = s_.AfterByte(at, static_cast<uint8_t>(c));
    ASSERT_NE(at, TermStore::Nothing()) << begun;
    TermId four = And({Any(0, 4), Sequence(three, Chars({{'a', 'c'}}))});
    for (char c : begun) four = s_.AfterByte(four, static_cast<uint8_t>(c));
    EXPECT_NE(four, TermStore::Nothing()) << begun;
    EXPECT_EQ(And({Any(0, 3), Sequence(three, Chars({{'a', 'c'}}))}), TermStore::Nothing());
  }
}

}  // namespace
}  // namespace grammask::internal
