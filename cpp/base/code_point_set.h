// A set of Unicode scalar values, as sorted ranges.
#ifndef GRAMMASK_BASE_CODE_POINT_SET_H_
#define GRAMMASK_BASE_CODE_POINT_SET_H_

#include <absl/container/inlined_vector.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

namespace grammask::internal {

struct CodePointRange {
  uint32_t lo;
  uint32_t hi;  // included
  friend constexpr bool operator==(CodePointRange, CodePointRange) = default;
  template <class H>
  friend H AbslHashValue(H h, CodePointRange r) {
    return H::combine(std::move(h), r.lo, r.hi);
  }
};

// Most sets that regular expressions write are of so few ranges, such as [a-zA-Z0-9_-], which then
// lie in the set itself.
using CodePointRanges = absl::InlinedVector<CodePointRange, 6>;

// Canonical: ranges ascending, disjoint, not adjacent, within U+0000..U+10FFFF and outside the
// surrogates U+D800..U+DFFF, so two equal sets have equal ranges. Union, intersection and
// complement are linear in the ranges.
class CodePointSet {
 public:
  CodePointSet() = default;
  // Any ranges in any order, overlapping or not; surrogates and values over U+10FFFF are dropped.
  CodePointSet(std::initializer_list<CodePointRange> ranges);
  explicit CodePointSet(CodePointRanges ranges);
  explicit CodePointSet(std::span<const CodePointRange> ranges);

  static CodePointSet All();
  static CodePointSet Of(uint32_t code_point) { return CodePointSet{{code_point, code_point}}; }

  bool empty() const { return ranges_.empty(); }
  size_t size() const;  // number of scalar values
  bool Has(uint32_t code_point) const;
  bool Includes(const CodePointSet& other) const;
  std::span<const CodePointRange> ranges() const { return ranges_; }

  CodePointSet Union(const CodePointSet& other) const;
  CodePointSet Intersect(const CodePointSet& other) const;
  CodePointSet Complement() const;
  CodePointSet Minus(const CodePointSet& other) const { return Intersect(other.Complement()); }

  friend bool operator==(const CodePointSet&, const CodePointSet&) = default;

 private:
  CodePointRanges ranges_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_CODE_POINT_SET_H_
