// Ranges of code points to canonical sets, and set algebra on those.
//
// Any list of ranges becomes canonical by sorting, cutting out the surrogates, and joining
// neighbours: {b-d, a-b, e-e} is {a-e}. U+D7FF and U+E000 are neighbours in no sense: a set that
// holds both keeps two ranges, since what lies between is no character.
// Cost: construction sorts where it must; union, intersection and complement are one merge.
// Tests: tests/base/code_point_set_test.cc.
#include "base/code_point_set.h"

#include <algorithm>

#include "base/utf8.h"

namespace grammask::internal {
namespace {

constexpr uint32_t kSurrogateLo = 0xD800;
constexpr uint32_t kSurrogateHi = 0xDFFF;

// Appends lo..hi to sorted `out`, joined to its last range where they touch.
void Join(uint32_t lo, uint32_t hi, CodePointRanges* out) {
  if (!out->empty() && lo <= out->back().hi + 1) {
    out->back().hi = std::max(out->back().hi, hi);
  } else {
    out->push_back({lo, hi});
  }
}

bool IsCanonical(std::span<const CodePointRange> ranges) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    auto [lo, hi] = ranges[i];
    if (lo > hi || hi > kMaxCodePoint) return false;
    if (lo <= kSurrogateHi && hi >= kSurrogateLo) return false;
    if (i > 0 && lo <= ranges[i - 1].hi + 1) return false;
  }
  return true;
}

void Canonicalise(CodePointRanges* ranges) {
  if (IsCanonical(*ranges)) return;
  std::sort(ranges->begin(), ranges->end(),
            [](CodePointRange a, CodePointRange b) { return a.lo < b.lo; });
  CodePointRanges out;
  out.reserve(ranges->size() + 1);
  for (auto [lo, hi] : *ranges) {
    hi = std::min(hi, kMaxCodePoint);
    if (lo > hi) continue;
    if (lo < kSurrogateLo) Join(lo, std::min(hi, kSurrogateLo - 1), &out);
    if (hi > kSurrogateHi) Join(std::max(lo, kSurrogateHi + 1), hi, &out);
  }
  *ranges = std::move(out);
}

}  // namespace

CodePointSet::CodePointSet(std::initializer_list<CodePointRange> ranges) : ranges_(ranges) {
  Canonicalise(&ranges_);
}

CodePointSet::CodePointSet(CodePointRanges ranges) : ranges_(std::move(ranges)) {
  Canonicalise(&ranges_);
}

CodePointSet::CodePointSet(std::span<const CodePointRange> ranges)
    : CodePointSet(CodePointRanges(ranges.begin(), ranges.end())) {}

CodePointSet CodePointSet::All() {
  return CodePointSet{{0, kSurrogateLo - 1}, {kSurrogateHi + 1, kMaxCodePoint}};
}

size_t CodePointSet::size() const {
  size_t n = 0;
  for (auto [lo, hi] : ranges_) n += hi - lo + 1;
  return n;
}

bool CodePointSet::Has(uint32_t code_point) const {
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), code_point,
                                [](uint32_t c, CodePointRange r) { return c < r.lo; });
  return after != ranges_.begin() && code_point <= std::prev(after)->hi;
}

bool CodePointSet::Includes(const CodePointSet& other) const {
  auto of = ranges_.begin();
  for (const CodePointRange& r : other.ranges_) {
    while (of != ranges_.end() && of->hi < r.lo) ++of;
    if (of == ranges_.end() || r.lo < of->lo || of->hi < r.hi) return false;
  }
  return true;
}

CodePointSet CodePointSet::Union(const CodePointSet& other) const {
  CodePointSet out;
  out.ranges_.reserve(ranges_.size() + other.ranges_.size());
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() || b != other.ranges_.end()) {
    bool from_a = b == other.ranges_.end() || (a != ranges_.end() && a->lo < b->lo);
    CodePointRange next = from_a ? *a++ : *b++;
    Join(next.lo, next.hi, &out.ranges_);
  }
  return out;
}

CodePointSet CodePointSet::Intersect(const CodePointSet& other) const {
  CodePointSet out;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    uint32_t lo = std::max(a->lo, b->lo);
    uint32_t hi = std::min(a->hi, b->hi);
    // Two canonical operands leave at least one absent character between any two results.
    if (lo <= hi) out.ranges_.push_back({lo, hi});
    if (a->hi < b->hi) {
      ++a;
    } else {
      ++b;
    }
  }
  return out;
}

CodePointSet CodePointSet::Complement() const {
  CodePointSet out;
  out.ranges_.reserve(ranges_.size() + 2);
  uint32_t next = 0;                          // the first code point not yet decided
  auto add = [&](uint32_t lo, uint32_t hi) {  // an absent stretch, lo <= hi, may hold surrogates
    if (lo < kSurrogateLo) out.ranges_.push_back({lo, std::min(hi, kSurrogateLo - 1)});
    if (hi > kSurrogateHi) out.ranges_.push_back({std::max(lo, kSurrogateHi + 1), hi});
  };
  for (auto [lo, hi] : ranges_) {
    if (next < lo) add(next, lo - 1);
    next = hi + 1;
  }
  if (next <= kMaxCodePoint) add(next, kMaxCodePoint);
  return out;
}

}  // namespace grammask::internal
