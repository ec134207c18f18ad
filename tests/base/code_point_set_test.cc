#include "base/code_point_set.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace grammask::internal {
namespace {

constexpr uint32_t kMax = 0x10FFFF;

bool IsScalar(uint32_t c) { return c <= kMax && (c < 0xD800 || c > 0xDFFF); }

// Around every place where something changes.
std::vector<uint32_t> Probes(std::span<const CodePointRange> ranges) {
  std::vector<uint32_t> probes = {0, 1, 0xD7FE, 0xD7FF, 0xE000, 0xE001, kMax - 1, kMax};
  for (auto [lo, hi] : ranges) {
    for (uint32_t c : {lo - 1, lo, lo + 1, hi - 1, hi, hi + 1}) {
      if (IsScalar(c)) probes.push_back(c);
    }
  }
  return probes;
}

void ExpectCanonical(const CodePointSet& set) {
  auto ranges = set.ranges();
  for (size_t i = 0; i < ranges.size(); ++i) {
    ASSERT_LE(ranges[i].lo, ranges[i].hi);
    ASSERT_TRUE(IsScalar(ranges[i].lo) && IsScalar(ranges[i].hi));
    ASSERT_FALSE(ranges[i].lo < 0xD800 && ranges[i].hi > 0xDFFF);
    if (i > 0) {
      ASSERT_GT(ranges[i].lo, ranges[i - 1].hi + 1);
    }
  }
}

TEST(CodePointSet, DropsWhatIsNoCharacter) {
  EXPECT_TRUE((CodePointSet{{0xD800, 0xDFFF}}).empty());
  EXPECT_TRUE((CodePointSet{{0x110000, 0xFFFFFFFF}}).empty());
  EXPECT_EQ((CodePointSet{{0, 0xFFFFFFFF}}), CodePointSet::All());
  EXPECT_EQ(CodePointSet::All().size(), 0x110000u - 0x800u);
  EXPECT_EQ(CodePointSet::All().ranges().size(), 2u);
  EXPECT_TRUE(CodePointSet::All().Complement().empty());
  EXPECT_EQ(CodePointSet().Complement(), CodePointSet::All());
}

TEST(CodePointSet, JoinsNeighbours) {
  CodePointSet set{{'b', 'd'}, {'a', 'b'}, {'e', 'e'}};
  ASSERT_EQ(set.ranges().size(), 1u);
  EXPECT_EQ(set.ranges()[0], (CodePointRange{'a', 'e'}));
  EXPECT_EQ(CodePointSet::Of('x').size(), 1u);
  // An inverted range holds nothing.
  EXPECT_TRUE((CodePointSet{{5, 4}}).empty());
}

TEST(CodePointSet, AlgebraAgreesWithMembership) {
  std::mt19937 random(7);
  auto random_ranges = [&] {
    std::vector<CodePointRange> ranges(random() % 6);
    for (CodePointRange& r : ranges) {
      // Small values make neighbours and overlaps; the others are near the surrogates and the end.
      uint32_t base = std::vector<uint32_t>{0, 0xD7F0, 0xDFF0, 0x10FFF0}[random() % 4];
      r.lo = base + random() % 20;
      r.hi = r.lo + random() % 8 + (random() % 8 == 0 ? 0x2000 : 0);
    }
    return ranges;
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<CodePointRange> ra = random_ranges(), rb = random_ranges();
    CodePointSet a(ra), b(rb);
    CodePointSet both = a.Intersect(b), either = a.Union(b), not_a = a.Complement(),
                 minus = a.Minus(b);
    for (const CodePointSet* s : {&a, &b, &both, &either, &not_a, &minus}) ExpectCanonical(*s);
    ASSERT_EQ(a.Includes(b), b.Minus(a).empty());
    ASSERT_TRUE(a.Includes(both) && either.Includes(a) && a.Includes(minus));
    auto in = [](const std::vector<CodePointRange>& ranges, uint32_t c) {
      for (auto [lo, hi] : ranges) {
        if (lo <= c && c <= hi) return true;
      }
      return false;
    };
    std::vector<uint32_t> probes = Probes(ra), more = Probes(rb);
    probes.insert(probes.end(), more.begin(), more.end());
    for (uint32_t c : probes) {
      bool x = in(ra, c), y = in(rb, c);
      ASSERT_EQ(a.Has(c), x) << c;
      ASSERT_EQ(both.Has(c), x && y) << c;
      ASSERT_EQ(either.Has(c), x || y) << c;
      ASSERT_EQ(not_a.Has(c), !x) << c;
      ASSERT_EQ(minus.Has(c), x && !y) << c;
    }
    ASSERT_EQ(a.size() + not_a.size(), CodePointSet::All().size());
  }
}

}  // namespace
}  // namespace grammask::internal
