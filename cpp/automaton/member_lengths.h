// The shortest list of members in any order.
#ifndef GRAMMASK_AUTOMATON_MEMBER_LENGTHS_H_
#define GRAMMASK_AUTOMATON_MEMBER_LENGTHS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "grammar/ast.h"

namespace grammask::internal {

// The least that members which may come again and again add to a list so that it meets conditions,
// by their number. All lengths here include a separator for each member.
class ConditionCover {
 public:
  struct Member {
    uint32_t meets;
    uint64_t length;
  };
  ConditionCover() : ConditionCover(0, {}) {}
  // `conditions`: a bit each, the lowest ones.
  ConditionCover(uint32_t conditions, std::span<const Member> members);

  // The most members that are of any use: one for each condition.
  int64_t most() const { return static_cast<int64_t>(lengths_.size() / size_) - 1; }
  // Of just so many members that meet `unmet`; kMaxLength where they can not.
  uint64_t Length(int64_t members, uint32_t unmet) const {
    return lengths_[static_cast<size_t>(members) * size_ + unmet];
  }
  // The fewest members that meet `unmet`; kUnbounded where none do.
  int64_t Fewest(uint32_t unmet) const;
  size_t memory_bytes() const { return lengths_.capacity() * 8; }

 private:
  size_t size_;                    // sets of conditions
  std::vector<uint64_t> lengths_;  // by number of members, then by the set not met
};

// What is left to write of a list.
struct MembersLeft {
  int64_t required = 0;
  uint64_t required_length = 0;
  uint32_t unmet = 0;                   // conditions
  int64_t least = 0, most = 0;          // members in all
  std::vector<uint64_t> placed = {};    // lengths of the shortest at the next places
  std::vector<uint64_t> optional = {};  // lengths of those that may come once
  uint64_t repeated = 0;                // of the shortest that may come again and again
  void AddPlaced(size_t at, uint64_t length);
};
// The length of the shortest list; kMaxLength where there is none.
uint64_t ShortestList(MembersLeft left, const ConditionCover& cover);

// The same for a whole kMembers node of a grammar, with its separators and its end; lengths of
// kMaxLength are of parts without any text.
struct ListMember {
  MemberUse use;
  uint32_t meets;
  uint32_t place;
  uint64_t length;
};
uint64_t ListLength(std::span<const ListMember> members, uint64_t separator, uint64_t end,
                    int64_t min, int64_t max, uint32_t conditions);

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_MEMBER_LENGTHS_H_
