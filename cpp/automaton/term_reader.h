// Bytes that may be anything to terms: the reader of the records of saved_terms.h.
#ifndef GRAMMASK_AUTOMATON_TERM_READER_H_
#define GRAMMASK_AUTOMATON_TERM_READER_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "automaton/members.h"
#include "automaton/recursive_group.h"
#include "automaton/saved_terms.h"
#include "automaton/term_store.h"
#include "base/byte_codec.h"
#include "base/byte_set.h"
#include "base/status.h"

namespace grammask::internal {

// How deep recursive work on a term may go.
struct TermNest {
  uint32_t heads = 0;  // choices and heads of sequences inside one another
  uint32_t lists = 0;  // lists of members
  void Cover(const TermNest& o) {
    heads = std::max(heads, o.heads);
    lists = std::max(lists, o.lists);
  }
  bool IsOver(const TermNest& most) const { return heads > most.heads || lists > most.lists; }
};

inline TermNest MostNested(const Limits& limits) {
  return {static_cast<uint32_t>(limits.max_nesting),
          2 * static_cast<uint32_t>(limits.max_boolean_nesting) + 16};
}

// Parts of records, also of those of bodies that are read later. What is out of range fails `in`.
std::string_view ReadSavedLiteral(ByteReader* in);
bool IsJsonText(std::string_view text);  // whether it is UTF-8
ByteSet ReadSavedRanges(ByteReader* in);
void ReadSavedCounts(const Limits& limits, ByteReader* in, int64_t* min, int64_t* max);

// The body of a larger procedure as a file has it.
struct SavedBody {
  std::span<const uint32_t> terms;  // ids of those that it refers to
  TermNest nest;                    // theirs
  uint64_t length;                  // of its shortest text, as the file promises
  bool trusted;
  std::string_view steps;  // records of its own
};

// The term that it makes, or, where that is not what the file promises, one that is. The store's
// lock must be held.
TermId ReadSavedBody(const SavedBody& body, TermStore* store);
// So many bytes of any kind.
TermId AnyBytes(uint64_t count, TermStore* store);

// Reads records: lists of them, whose numbers go on from one another, or for a SavedPool single
// ones. After a failure nothing is made any more; Read() tells the first.
class TermReader {
 public:
  // `pool`: the number of that which it reads for. `store`'s lock must be held whenever this is
  // used.
  TermReader(std::optional<uint32_t> pool, TermStore* store);

  Status Read(const SavedPart& list);
  std::vector<TermId> Take() const;

 private:
  friend class SavedPool;
  static constexpr size_t kStepBytes = 4;  // of a record, about
  using Nest = TermNest;
  struct Group {
    ScratchVector<uint64_t> words;
    ScratchVector<GroupNode> nodes;
    ScratchVector<uint64_t> lengths;  // by node, then of terms
    ScratchVector<uint64_t> rule_lengths;
    uint64_t body(size_t rule) const { return words[2 + rule]; }
  };

  // Lengths of intersections, complements and rules are believed; else they are found out anew.
  bool trusted() const { return pool_.has_value(); }

  // Any record (saved_terms_reader.cc).
  Status Damaged(std::string_view what) const;
  static Status OverBudget();
  void Refuse(std::string_view what);
  bool TooDeep(const Nest& nest) {
    const bool deep = nest.IsOver(most_);
    if (deep) [[unlikely]]
      RefuseDepth();
    return deep;
  }
  void RefuseDepth();
  void Push(TermId term, Nest nest);
  void Push(TermId term) { Push(term, Nest{}); }
  // The number of a term that stands before; 0 in vain.
  size_t Reference() { return At(in_.Number()); }
  size_t At(uint64_t back) {
    if (back >= 1 && back <= next_) return next_ - static_cast<size_t>(back);
    in_.Fail();
    return 0;
  }
  const Term& term(size_t number) const { return s_.term(known_[number].term); }
  void ReadRecord();
  std::vector<TermId> References(Nest* nest);
  bool Regular(std::span<const TermId> parts);
  std::string_view Literal(bool json);
  void ReadText(bool json);
  void ReadWords();
  void ReadByteClass();
  void ReadTokens();
  uint32_t Use(uint32_t conditions);
  void ReadMembers();
  void ReadMemberState();

  // Bodies that wait for a call (saved_bodies_reader.cc).
  void ReadLazyCall();

  // Recursive groups (saved_groups_reader.cc).
  struct GroupHead {
    std::string_view name;
    bool has_members = false;  // as the file says
    uint64_t rules = 0, nodes = 0;
    ScratchVector<uint64_t> bodies;        // as the file refers to them
    ScratchVector<uint64_t> rule_lengths;  // of their shortest texts, as the file has them
    std::string_view node_lengths;         // of what follows
  };
  void ReadTerms(std::vector<uint32_t>* numbers);
  bool ReadGroupHead(GroupHead* head);
  uint64_t SavedReference(uint64_t nodes);
  uint64_t InStore(uint64_t reference, Nest* nest);
  uint64_t GroupReference(uint64_t nodes, std::span<const Nest> nests, Nest* nest);
  Nest ReadGroupWords(uint64_t rules, uint64_t before, std::span<const Nest> nests,
                      ScratchVector<uint64_t>* words);
  Nest ReadGroupRecord(uint64_t children, uint64_t before, std::span<const Nest> nests,
                       ScratchVector<uint64_t>* words);
  static Nest NestInGroup(NodeKind kind, size_t child, size_t children, Nest nest);
  uint64_t LengthOf(const Group& group, uint64_t reference) const;
  bool RecordsAreSound(const Group& group) const;
  uint64_t LengthOfMembers(const Group& group, const GroupNode& node) const;
  bool CheckLengths(Group* group);
  static ScratchVector<uint32_t> RulesWithMembers(const Group& group);
  std::span<const ProcId> ReadGroup();

  ByteReader in_{""};
  uint64_t offset_ = 0;
  TermStore& s_;
  const std::optional<uint32_t> pool_;
  const Nest most_;
  uint64_t place_ = 0;  // of the record at hand
  struct Known {
    TermId term;
    Nest nest;
  };
  std::vector<Known> known_;  // by number; of a pool Nothing() until it is made
  size_t next_;               // the number of the next record's term
  std::vector<std::span<const ProcId>> groups_;
  std::vector<uint32_t> group_terms_;  // numbers of those that the group at hand refers to
  std::vector<uint32_t> program_;      // of the body at hand
  bool has_members_ = false;           // whether any group so far has lists of members
  size_t steps_ = 0;
  Status error_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_TERM_READER_H_
