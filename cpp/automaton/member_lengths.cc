// What is left of a list of members to the length of its shortest text.
//
// All required members come, then a few that meet the conditions, and the shortest of the others
// fill up to the lower bound. One long member may meet two conditions that two short ones meet for
// less, and the upper bound may forbid the latter: so the least length is kept for each number of
// members. Cost: conditions * 2^conditions * members for the cover, once; a sort for each question.
// Tests: tests/automaton/members_test.cc, which finds the shortest text by search.
#include "automaton/member_lengths.h"

#include <algorithm>
#include <bit>

#include "automaton/lengths.h"

namespace grammask::internal {
ConditionCover::ConditionCover(uint32_t conditions, std::span<const Member> members)
    : size_(size_t{conditions} + 1),
      lengths_(size_ * (static_cast<size_t>(std::popcount(conditions)) + 1), kMaxLength) {
  lengths_[0] = 0;
  for (int64_t n = 1; n <= most(); ++n) {
    for (uint32_t unmet = 1; unmet <= conditions; ++unmet) {
      uint64_t& best = lengths_[static_cast<size_t>(n) * size_ + unmet];
      for (const Member& m : members) {
        if ((m.meets & unmet) == 0) continue;
        best = std::min(best, AddLengths(Length(n - 1, unmet & ~m.meets), m.length));
      }
    }
  }
}

int64_t ConditionCover::Fewest(uint32_t unmet) const {
  int64_t n = 0;
  while (n <= most() && Length(n, unmet) == kMaxLength) ++n;
  return n <= most() ? n : INT64_MAX;
}

void MembersLeft::AddPlaced(size_t at, uint64_t length) {
  if (at >= placed.size()) placed.resize(at + 1, kMaxLength);
  placed[at] = std::min(placed[at], length);
}

uint64_t ShortestList(MembersLeft left, const ConditionCover& cover) {
  std::ranges::sort(left.optional);
  uint64_t best = kMaxLength;
  for (int64_t n = 0; n <= cover.most(); ++n) {
    uint64_t length = AddLengths(left.required_length, cover.Length(n, left.unmet));
    if (length == kMaxLength || left.required + n > left.most) continue;
    int64_t missing = std::max<int64_t>(0, left.least - left.required - n);
    if (left.required + n + missing > left.most) continue;
    for (uint64_t placed : left.placed) {
      if (missing == 0) break;
      length = AddLengths(length, placed);
      --missing;
    }
    for (uint64_t optional : left.optional) {
      if (missing == 0 || optional >= left.repeated) break;
      length = AddLengths(length, optional);
      --missing;
    }
    length = AddLengths(length, TimesSaturated(left.repeated, static_cast<uint64_t>(missing)));
    best = std::min(best, length);
  }
  return best;
}

uint64_t ListLength(std::span<const ListMember> members, uint64_t separator, uint64_t end,
                    int64_t min, int64_t max, uint32_t conditions) {
  MembersLeft left = {.least = std::max<int64_t>(min, 1), .most = max, .repeated = kMaxLength};
  if (separator == kMaxLength) {  // then there is no second member
    left.most = 1;
    separator = 0;
  }
  left.unmet = (uint32_t{1} << conditions) - 1;
  std::vector<ConditionCover::Member> meeting;
  for (const ListMember& m : members) {
    const uint64_t length = AddLengths(m.length, separator);
    switch (m.use) {
      case MemberUse::kRequired:
        ++left.required;
        left.required_length = AddLengths(left.required_length, length);
        break;
      case MemberUse::kOptional:
        left.optional.push_back(length);
        break;
      case MemberUse::kPlaced:
        left.AddPlaced(m.place, length);
        break;
      default:
        left.repeated = std::min(left.repeated, length);
        if (m.meets != 0) meeting.push_back({m.meets, length});
        break;
    }
  }
  const ConditionCover cover(left.unmet, meeting);
  const uint64_t list = ShortestList(std::move(left), cover);
  return list == kMaxLength ? kMaxLength : AddLengths(list - separator, end);
}

}  // namespace grammask::internal
