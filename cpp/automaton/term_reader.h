// Bytes that may be anything to terms: the reader of the records of saved_terms.h.
#ifndef GRAMMASK_AUTOMATON_TERM_READER_H_
#define GRAMMASK_AUTOMATON_TERM_READER_H_

#include <algorithm>
#include <cstdint>
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

// One reading of one list of records, whose parts share their numbers. After a failure nothing is
// made any more; Read() tells the first.
class TermReader {
 public:
  // `store`'s lock must be held for as long as this lives.
  TermReader(bool trusted, TermStore* store);

  Status Read(std::string_view bytes, uint64_t offset);
  std::vector<TermId> Take() const;

 private:
  using Nest = TermNest;
  struct Group {
    ScratchVector<uint64_t> words;
    ScratchVector<GroupNode> nodes;
    ScratchVector<uint64_t> lengths;       // by node, then of terms
    ScratchVector<uint64_t> rule_lengths;  // of their shortest texts, as the file has them
    uint64_t body(size_t rule) const { return words[2 + rule]; }
  };

  // Any record (saved_terms_reader.cc).
  Status Damaged(std::string_view what) const;
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
    if (back >= 1 && back <= known_.size()) return known_.size() - static_cast<size_t>(back);
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
  uint64_t GroupReference(uint64_t nodes, std::span<const Nest> nests, Nest* nest);
  void ReadGroupWords(uint64_t rules, ScratchVector<uint64_t>* words, ScratchVector<Nest>* nests);
  void ReadGroupRecord(uint64_t children, ScratchVector<uint64_t>* words,
                       ScratchVector<Nest>* nests);
  uint64_t LengthOf(const Group& group, uint64_t reference) const;
  bool RecordsAreSound(const Group& group) const;
  uint64_t LengthOfMembers(const Group& group, const GroupNode& node) const;
  bool CheckLengths(Group* group);
  static ScratchVector<uint32_t> RulesWithMembers(const Group& group);
  void ReadGroup();

  ByteReader in_{""};
  uint64_t offset_ = 0;
  const bool trusted_;
  TermStore& s_;
  const Nest most_;
  uint64_t place_ = 0;  // of the record at hand
  struct Known {
    TermId term;
    Nest nest;
  };
  std::vector<Known> known_;  // by number
  std::vector<std::span<const ProcId>> groups_;
  std::vector<uint32_t> program_;  // of the body at hand
  bool has_members_ = false;       // whether any group so far has lists of members
  size_t steps_ = 0;
  Status error_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_TERM_READER_H_
