// The shortest texts of P & X{n,m}: against a search over bytes and rounds, and where the states of
// the intersection are too many to go through.
#include "automaton/count_lengths.h"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace grammask::internal {
namespace {

constexpr int64_t kMostRounds = 12;

class CountLengthsTest : public testing::Test {
 protected:
  TermId Char(const CodePointSet& set) { return s_.Character(set, true); }
  TermId Any(int64_t least, int64_t most) {
    return s_.Repeat(Char(CodePointSet::All()), least, most);
  }
  TermId Lit(std::string_view text) { return s_.Literal(text, true); }
  TermId Seq(const std::vector<TermId>& parts) { return s_.Sequence(parts); }
  TermId Or(const std::vector<TermId>& parts) { return s_.Choice(parts); }
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  TermId Random(int depth) {
    if (depth == 0 || Below(4) == 0) {
      switch (Below(5)) {
        case 0:
          return Lit("a\n");
        case 1:
          return Lit("\xC3\xA9");
        case 2:
          return Char({{'a', 'c'}});
        case 3:
          return Char({{'\n', '\n'}, {'b', 'b'}});
        default:
          return Lit("bcb");
      }
    }
    switch (Below(4)) {
      case 0:
        return Or({Random(depth - 1), Random(depth - 1)});
      case 1: {
        const int least = Below(3);
        return s_.Repeat(Random(depth - 1), least, Below(2) == 0 ? kUnbounded : least + Below(3));
      }
      default:
        return Seq({Random(depth - 1), Random(depth - 1)});
    }
  }

  // By bytes first, over what is left of P, of a round of X, and rounds read.
  std::optional<uint32_t> Searched(TermId p, TermId x, int64_t least, int64_t most) {
    using Place = std::tuple<uint32_t, uint32_t, int64_t>;
    std::set<Place> met;
    std::vector<Place> level = {{p.value, x.value, 0}};
    for (uint32_t bytes = 0; !level.empty(); ++bytes) {
      std::vector<Place> next;
      for (const auto& [p_at, x_at, rounds] : level) {
        const bool between = x_at == x.value;
        if (between && s_.term(TermId(p_at)).nullable && least <= rounds && rounds <= most) {
          return bytes;
        }
        if (between && rounds == most) continue;
        for (int b = 0; b < 256; ++b) {
          const auto byte = static_cast<uint8_t>(b);
          const ByteEdge* in_p = FindEdge(s_.Expand(TermId(p_at)).bytes, byte);
          const ByteEdge* in_x = FindEdge(s_.Expand(TermId(x_at)).bytes, byte);
          if (in_p == nullptr || in_x == nullptr) continue;
          const bool ends = in_x->to == TermStore::Empty();
          const Place to = {in_p->to.value, ends ? x.value : in_x->to.value, rounds + ends};
          if (met.insert(to).second) next.push_back(to);
        }
      }
      level = std::move(next);
    }
    return std::nullopt;
  }

  TermStore s_{{}, 16};
  std::mt19937 random_{11};
};

TEST_F(CountLengthsTest, EqualASearch) {
  const TermId xs[] = {Char(CodePointSet::All()), Char({{'a', 'z'}, {'\n', '\n'}}),
                       s_.ByteClass(ByteSet::Range('a', '\\')), Lit("ab")};
  int none = 0, found = 0;
  for (int round = 0; round < 400; ++round) {
    const TermId p = Random(3), x = xs[round % 4];
    size_t pairs = 0;
    const auto table = [&] {
      std::lock_guard lock(s_.mutex());
      return CountLengths::Create(&s_, x, p, &pairs);
    }();
    ASSERT_NE(table, nullptr);
    const auto start = table->Find(p);
    ASSERT_TRUE(start.has_value());
    for (int i = 0; i < 6; ++i) {
      const int64_t least = Below(kMostRounds), most = least + Below(kMostRounds);
      const auto expected = Searched(p, x, least, most);
      const auto length = table->Shortest(*start, least, most);
      ASSERT_TRUE(length.has_value());
      EXPECT_EQ(*length, expected.value_or(CountLengths::kNone))
          << s_.ToString(p) << " of " << least << " to " << most << " " << s_.ToString(x);
      (expected.has_value() ? found : none) += 1;
    }
  }
  EXPECT_GT(found, 300);
  EXPECT_GT(none, 300);
}

TEST_F(CountLengthsTest, RoundsThatBeginOneAnother) {
  size_t pairs = 0;
  std::lock_guard lock(s_.mutex());
  const TermId x = Or({Lit("a"), Lit("aa")});
  EXPECT_EQ(CountLengths::Create(&s_, x, s_.Repeat(Lit("a"), 0, kUnbounded), &pairs), nullptr);
}

// Each line feed takes two bytes: 24 whole lines, and one of 39 characters.
TEST(CountedIntersection, LinesOfManyCharacters) {
  Limits limits;
  limits.max_mask_states = 2'000;
  TermStore s(limits, 16);
  const TermId base64 = s.Character({{'A', 'Z'}, {'a', 'z'}, {'0', '9'}}, true);
  const TermId feed[] = {s.Repeat(s.Literal("\r", true), 0, 1), s.Literal("\n", true)};
  const TermId end = s.Sequence(feed);
  const TermId line[] = {s.Repeat(base64, 64, 64), end};
  const TermId last[] = {s.Repeat(s.Sequence(line), 0, kUnbounded), s.Repeat(base64, 1, 64), end};
  const TermId lines = s.Sequence(last);
  auto of_length = [&](int64_t least, int64_t most) {
    const TermId both[] = {lines, s.Repeat(s.Character(CodePointSet::All(), true), least, most)};
    return s.And(both);
  };
  const TermId many = of_length(1600, 8000);
  ASSERT_FALSE(s.overrun());
  ASSERT_NE(many, TermStore::Nothing());
  EXPECT_EQ(s.term(many).min_length, 24u * 66 + 41);
  // On a shortest way each byte leaves one less; a byte elsewhere may not.
  TermId at = many;
  for (char c : std::string_view("abc0Z")) {
    const uint64_t before = s.term(at).min_length;
    at = FindEdge(s.Expand(at).bytes, static_cast<uint8_t>(c))->to;
    EXPECT_EQ(s.term(at).min_length, before - 1);
  }
  EXPECT_FALSE(s.overrun());
  EXPECT_EQ(of_length(1, 1), TermStore::Nothing());
}

// Two patterns that clash, each with loops, beside a bound: there is nothing to find in any length.
TEST(CountedIntersection, ClashInAnyLength) {
  Limits limits;
  limits.max_mask_states = 2'000;
  TermStore s(limits, 16);
  const TermId word = s.Repeat(s.Character({{'a', 'z'}, {'-', '-'}}, true), 1, kUnbounded);
  const TermId digits = s.Repeat(s.Character({{'0', '9'}}, true), 1, kUnbounded);
  auto pattern = [&](std::string_view kind) {
    const TermId parts[] = {word, digits, s.Literal(kind, true), word};
    return s.Sequence(parts);
  };
  const TermId three[] = {pattern(":function:"), pattern(":web/"),
                          s.Repeat(s.Character(CodePointSet::All(), true), 12, 1024)};
  EXPECT_EQ(s.And(three), TermStore::Nothing());
  EXPECT_FALSE(s.overrun());
}

}  // namespace
}  // namespace grammask::internal
