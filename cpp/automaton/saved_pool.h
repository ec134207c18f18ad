// The terms of a trusted file, each made when it is first asked for.
//
// A mask needs few of a grammar's states, so few records are read: the index says where each
// begins. What a record refers to is made first, but for the bodies of larger procedures and of
// recursive groups, which wait for a call; those of larger groups are read node by node. Such a
// procedure or group is found again by its name (saved_terms.h), so that files share what they have
// in common without reading it.
//
// Nothing but the names and the lengths of procedures is believed more than TermReader does: a file
// that is not what it should be makes wrong states, but sound ones. The numbers that records refer
// to are smaller than theirs, and a group's than that of any term that calls it, so that nothing
// goes round in circles. A list of members in a group asks for the bodies of its values, which may
// call other such groups: so all that is below such a group is made before it, also what waits for
// a call elsewhere, and depth is no recursion.
#ifndef GRAMMASK_AUTOMATON_SAVED_POOL_H_
#define GRAMMASK_AUTOMATON_SAVED_POOL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "automaton/saved_terms.h"
#include "automaton/term_reader.h"
#include "base/scratch.h"
#include "base/status.h"

namespace grammask::internal {

// One file within one store, whose lock must be held whenever this is used.
class SavedPool {
 public:
  SavedPool(uint32_t number, TermStore* store);

  // The pool of `file` in `store`, new or known. `checksum` is that of the bytes; `lists` are parts
  // of these, whose offsets count what is before them, `before`. Errors: as ReadTerms().
  static StatusOr<SavedPool*> Open(std::shared_ptr<const std::string> file, uint64_t checksum,
                                   uint64_t before, std::span<const SavedPart> lists,
                                   TermStore* store);

  // How many terms there are.
  size_t size() const { return reader_.known_.size(); }
  // The one with this number, below size(); not within a search. Errors: as ReadTerms().
  StatusOr<TermId> Get(uint32_t number);

  // For the store, and for the reader of this file. Terms are Nothing() where the file is damaged.
  TermId Make(uint32_t number);
  TermId Body(uint32_t number);  // of the larger procedure that the term calls
  size_t NodesOf(uint32_t group) const { return groups_[group].begins.size(); }
  uint64_t GroupBody(uint32_t group, uint32_t rule);  // a reference (recursive_group.h)
  // A node's words; of a damaged one those of a choice without alternatives.
  std::span<const uint64_t> Node(uint32_t group, uint32_t node);
  // Whether it is nested too deep; the nodes below it are known not to be.
  bool IsTooDeep(uint32_t group, uint32_t node);
  ScratchVector<uint64_t> GroupWords(uint32_t group);  // all of it; none of a damaged one

 private:
  struct Decoded {
    std::span<const uint64_t> words;
    TermNest nest;
  };
  struct Group {
    uint32_t begin, base;           // of its record; the number of the next term
    bool is_open = false;           // whether its head has been read
    bool is_large = false;          // is one that is read node by node
    bool has_members = false;       // has lists of members
    std::vector<uint32_t> terms{};  // numbers of those that it refers to
    std::vector<uint64_t> bodies{};
    std::vector<uint32_t> begins{};  // of its nodes, in the file
    std::vector<uint32_t> read{};    // by node: one more than its place in `nodes`, 0 for none
    std::vector<Decoded> nodes{};
  };

  // Goes on, at its end, with the record that was under way.
  class Detour;
  Status ReadIndexes(std::span<const SavedPart> lists);
  void GoTo(uint32_t begin, uint32_t next);
  // Reads the head of a group. False after a failure.
  bool OpenGroup(Group* group);
  // The group that the record of term `number` calls, as its kind has been read; null after a
  // failure.
  Group* ReadCalledGroup(uint32_t number);
  // Those that its calls are found by; none until it is read.
  std::span<const ProcId>& ProcsOf(const Group& group) {
    return reader_.groups_[static_cast<size_t>(&group - groups_.data())];
  }
  // A term to be made; `whole`: with what is in the bodies that wait for a call.
  struct Need {
    uint32_t number;
    bool whole;
  };
  // Adds the terms that the record refers to and that are to be made first.
  void AddNeeds(Need need, ScratchVector<Need>* needs);
  TermId MakeAll(uint32_t number);
  void ReadRecord(uint32_t number);
  bool ok() const { return reader_.in_.ok() && reader_.error_.ok(); }

  TermStore& s_;
  std::shared_ptr<const std::string> file_;
  uint64_t before_ = 0;
  TermReader reader_;
  bool is_damaged_ = false;       // nothing more is made
  std::vector<bool> whole_;       // by number: whether it was made, or found wanting, as a whole
  std::vector<uint32_t> begins_;  // of records, by number, but for the first three
  std::vector<Group> groups_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_SAVED_POOL_H_
