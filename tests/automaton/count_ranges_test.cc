// Alternatives that differ only in how often they repeat something: which become one, that this
// changes no language, and that states stay few.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "automaton/term_store.h"
#include "base/sorted.h"

namespace grammask::internal {
namespace {

class CountRanges : public testing::Test {
 protected:
  TermId Class(uint8_t lo, uint8_t hi) { return s_.ByteClass(ByteSet::Range(lo, hi)); }
  TermId Text(std::string_view text) { return s_.Literal(text, false); }
  TermId Times(TermId of, int64_t least, int64_t most) { return s_.Repeat(of, least, most); }
  TermId Sequence(std::vector<TermId> parts) { return s_.Sequence(parts); }
  TermId Choice(std::vector<TermId> parts) { return s_.Choice(parts); }
  TermId After(TermId t, uint8_t byte) {
    const ByteEdge* edge = FindEdge(s_.Expand(t).bytes, byte);
    return edge == nullptr ? TermStore::Nothing() : edge->to;
  }
  bool Matches(TermId t, std::string_view text) {
    for (char c : text) t = After(t, static_cast<uint8_t>(c));
    return s_.term(t).nullable;
  }

  TermStore s_{{}, 16};
};

TEST_F(CountRanges, OfOneThingBeforeOneRest) {
  const TermId x = Class('a', 'f'), rest = Text("-z");
  auto times = [&](int64_t least, int64_t most) { return Sequence({Times(x, least, most), rest}); };
  EXPECT_EQ(Choice({times(3, 12), times(4, 13)}), times(3, 13));
  EXPECT_EQ(Choice({times(5, 14), times(3, 12), times(4, 13)}), times(3, 14));
  EXPECT_EQ(Choice({times(3, 12), times(5, 7)}), times(3, 12));
  EXPECT_EQ(Choice({times(2, 4), times(5, 7)}), times(2, 7));  // they touch
  EXPECT_EQ(Choice({times(5, 7), times(2, 4)}), times(2, 7));
  EXPECT_NE(Choice({times(2, 4), times(6, 7)}), times(2, 7));
  EXPECT_EQ(Choice({times(2, 4), times(6, 7), times(4, 6)}), times(2, 7));
  EXPECT_EQ(Choice({times(2, kUnbounded), times(0, 1)}), times(0, kUnbounded));
  EXPECT_EQ(Choice({times(0, kUnbounded), times(7, kUnbounded)}), times(0, kUnbounded));
  EXPECT_EQ(Choice({Sequence({x, rest}), times(2, 3)}), times(1, 3));
  EXPECT_EQ(Choice({Times(x, 2, 3), Times(x, 3, 9)}), Times(x, 2, 9));
  // Other things, or other rests.
  const TermId other = Sequence({Times(Class('a', 'e'), 3, 12), rest});
  EXPECT_EQ(s_.term(Choice({times(3, 12), other})).children().size(), 2u);
  const TermId elsewhere = Sequence({Times(x, 3, 12), Text("-y")});
  EXPECT_EQ(s_.term(Choice({times(3, 12), elsewhere})).children().size(), 2u);
  // Beside them others stay.
  const TermId some = Choice({times(1, 2), other, times(2, 3), elsewhere});
  EXPECT_EQ(some, Choice({other, elsewhere, times(1, 3)}));
}

// What joining would save no states is not gone through, unless something beside it is.
TEST_F(CountRanges, FewRoundsAreLeft) {
  const TermId x = Class('a', 'f'), rest = Text("-z");
  auto times = [&](int64_t least, int64_t most) { return Sequence({Times(x, least, most), rest}); };
  const TermId optional = times(0, 1), once = Sequence({x, rest}), more = times(1, kUnbounded);
  for (TermId part : {optional, once, more, times(4, 4)}) EXPECT_FALSE(s_.term(part).ranged);
  EXPECT_EQ(s_.term(Choice({once, optional})).children().size(), 2u);
  for (TermId part : {times(0, 2), times(2, kUnbounded), times(5, 5)}) {
    EXPECT_TRUE(s_.term(part).ranged);
    EXPECT_TRUE(s_.term(Sequence({Text("y"), part})).ranged);
    EXPECT_TRUE(s_.term(Choice({Text("y"), part})).ranged);
    // Not yet: behind what comes first there are alternatives, of which one is.
    EXPECT_FALSE(s_.term(Sequence({Text("x"), Choice({Text("y"), part})})).ranged);
  }
  EXPECT_EQ(Choice({optional, times(1, 2)}), times(0, 2));
}

TEST_F(CountRanges, OfSeveralRepeats) {
  const TermId x = Class('a', 'f'), y = Class('0', '9');
  auto times = [&](int64_t a, int64_t b, int64_t c, int64_t d) {
    return Sequence({Times(x, a, b), Text("-"), Times(y, c, d), Text("z")});
  };
  EXPECT_EQ(Choice({times(0, 9, 2, 5), times(3, 4, 3, 3)}), times(0, 9, 2, 5));
  EXPECT_EQ(Choice({times(0, 9, 2, 5), times(0, 9, 4, 8)}), times(0, 9, 2, 8));
  // Both ranges would grow: of 10 and 8 there is no text in either.
  EXPECT_EQ(s_.term(Choice({times(0, 9, 2, 5), times(3, 10, 4, 8)})).children().size(), 2u);
  // What has grown takes in others.
  EXPECT_EQ(Choice({times(2, 4, 1, 1), times(0, 4, 3, 9), times(0, 1, 1, 2), times(2, 5, 2, 2),
                    times(2, 4, 2, 2), times(5, 5, 1, 1)})
                .value,
            Choice({times(0, 1, 1, 2), times(2, 5, 1, 2), times(0, 4, 3, 9)}).value);
}

// All texts of up to kLongest letters, by the definition.
TEST_F(CountRanges, RandomChoices) {
  constexpr size_t kLongest = 7;
  using Language = std::set<std::string>;
  auto join = [&](const Language& a, const Language& b) {
    Language joined;
    for (const std::string& x : a) {
      for (const std::string& y : b) {
        if (x.size() + y.size() <= kLongest) joined.insert(x + y);
      }
    }
    return joined;
  };
  std::vector<std::string> texts = {""};
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() == kLongest) break;
    texts.push_back(texts[i] + "a");
    texts.push_back(texts[i] + "b");
  }
  const std::pair<TermId, Language> atoms[] = {
      {Text("a"), {"a"}},
      {Class('a', 'b'), {"a", "b"}},
      {Text("ab"), {"ab"}},
      {Choice({Text("b"), Text("ba")}), {"b", "ba"}},
  };
  std::mt19937 random(11);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  size_t fewer = 0;
  for (int round = 0; round < 1500; ++round) {
    // A common shape, so that there is something to join.
    std::vector<int> shape;
    for (int parts = 1 + below(3); parts > 0; --parts) shape.push_back(below(4));
    const int count = 2 + below(5);
    std::vector<TermId> alternatives;
    Language expected;
    for (int i = 0; i < count; ++i) {
      std::vector<TermId> parts;
      Language language = {""};
      for (int which : shape) {
        if (below(12) == 0) which = below(4);
        const auto& [term, texts_of] = atoms[which];
        const int least = below(4), most = below(6) == 0 ? 99 : least + below(4);
        parts.push_back(Times(term, least, most == 99 ? kUnbounded : most));
        Language times = {""}, of;
        for (int n = 0; n <= most && !times.empty(); ++n) {
          if (n >= least) of.insert(times.begin(), times.end());
          times = join(times, texts_of);
        }
        language = join(language, of);
      }
      alternatives.push_back(Sequence(parts));
      expected.insert(language.begin(), language.end());
    }
    const TermId all = Choice(alternatives);
    const Term& t = s_.term(all);
    SortUnique(&alternatives);
    fewer += (t.kind == TermKind::kChoice ? t.children().size() : 1) < alternatives.size();
    for (const std::string& text : texts) {
      ASSERT_EQ(Matches(all, text), expected.contains(text)) << s_.ToString(all) << " " << text;
    }
  }
  EXPECT_GT(fewer, 500u);
}

// Wherever a round may have begun: a range for each place, not a set of places.
TEST_F(CountRanges, StatesStayFew) {
  const TermId letter = Class('a', 'z');
  const TermId round = Sequence({Times(letter, 1, kUnbounded), Times(Class('a', '~'), 1, 20)});
  const TermId start = Sequence({Times(round, 4, 4), Text("!")});
  std::mt19937 random(3);
  std::set<TermId> states;
  for (int walk = 0; walk < 200; ++walk) {
    TermId at = start;
    for (int i = 0; i < 40 && at != TermStore::Nothing(); ++i) {
      states.insert(at);
      at = After(at, "a{~"[random() % 3]);
    }
  }
  EXPECT_GT(states.size(), 100u);
  EXPECT_LT(states.size(), 1500u);
}

}  // namespace
}  // namespace grammask::internal
