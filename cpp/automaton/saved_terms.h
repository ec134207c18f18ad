// Terms as bytes: what a saved grammar's states are, for another store and another process.
//
// A list of records, children first, behind an index of where each begins. The body of a larger
// procedure is a list within the list, which is read only when the procedure is called. Term 0, 1
// and 2 are Nothing(), Empty() and All(); every record but that of a recursive group is one more.
// The bytes are no store's memory image: reading goes through the store's constructors, so that
// equal terms are found again, whoever made them.
//
// A larger procedure and a recursive group have names: what they are, in 16 bytes that follow from
// their contents. Where the file is trusted they are found again by these, and records are read
// when they are asked for (saved_pool.h); else all are read, and names are not looked at.
#ifndef GRAMMASK_AUTOMATON_SAVED_TERMS_H_
#define GRAMMASK_AUTOMATON_SAVED_TERMS_H_

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "automaton/term_store.h"
#include "base/byte_codec.h"
#include "base/status.h"

namespace grammask::internal {

// What a record makes. The numbers are the format's.
enum class SavedTerm : uint8_t {
  kBytes = 1,
  kJsonText = 2,
  kByteClass = 3,
  kSequence = 4,
  kChoice = 5,
  kRepeat = 6,
  kCall = 7,  // of the procedure with a body
  kAnd = 8,
  kNot = 9,
  kMultiple = 10,
  kTokens = 11,
  kMembers = 12,      // the state in which a list of members begins
  kMemberState = 13,  // a later one
  kGroup = 14,        // no term: a recursive group, see recursive_group.h
  kGroupCall = 15,    // of a procedure of a group
  kLazyCall = 16,     // of the procedure whose body is here, as records of its own
  kWords = 17,        // a long list of words, none of which has begun
  kBody = 18,         // the body of the procedure that a term calls; nothing refers to it
};

// The first bytes of a SHA-256 digest: schemas come from anyone, and nobody must be able to write
// one whose parts pass for those of another.
inline constexpr size_t kSavedNameBytes = 16;
using SavedName = std::array<char, kSavedNameBytes>;

// Writes terms of `store`, whose lock must be held for as long as this lives.
class TermWriter {
 public:
  explicit TermWriter(TermStore* store);
  // The number of `term` among the terms written; it and what it is made of are added where they
  // are missing. nullopt for the few that a file cannot hold: states in lists of distinct values
  // and in words.
  std::optional<uint32_t> Add(TermId term);
  // The same for one that no other is made of: where it is the body of a procedure that is called,
  // it is written as that, and need not be read beside it.
  std::optional<uint32_t> AddState(TermId term);
  uint32_t count() const { return count_; }
  // The list of what was added since the last one, which it goes on from.
  std::string TakeList();

 private:
  static constexpr uint32_t kCannot = UINT32_MAX;
  struct Group {
    std::span<const ProcId> procs;
    std::optional<uint32_t> saved;
    SavedName name;  // once it is saved
  };
  // A record as the file has it, and what is its name made of: the same with names for references.
  struct Record {
    ByteWriter bytes, named;
    void Byte(uint8_t value) {
      bytes.Byte(value);
      named.Byte(value);
    }
    void Number(uint64_t value) {
      bytes.Number(value);
      named.Number(value);
    }
    void Fixed(uint64_t value, int size) {
      bytes.Fixed(value, size);
      named.Fixed(value, size);
    }
    void Text(std::string_view text) {
      bytes.Text(text);
      named.Text(text);
    }
    void Kind(SavedTerm kind) { Byte(static_cast<uint8_t>(kind)); }
  };
  struct Place {
    uint32_t group, position;
  };

  struct Body {
    std::vector<TermId> parts;             // all that it is made of, children first
    absl::flat_hash_set<uint32_t> joined;  // sequences that only end another one: written with it
  };

  // The body of a procedure that is large enough to be a lazy one; null for others.
  const Body* LazyBody(ProcId proc);
  void WriteLazyCall(uint64_t min_length, const Body& body, Record* record);
  // Of the lazy body at hand: the numbers of its steps and of what else it refers to, by term.
  struct LocalNumbers {
    absl::flat_hash_map<uint32_t, uint32_t> steps, by_term;
    std::vector<TermId> others;
  };
  void WritePlain(TermId term, const Body* body, LocalNumbers* numbers, Record* record);
  // The terms that the record of `term` refers to, in the order in which it does.
  void Needs(TermId term, std::vector<TermId>* out);
  // The procedure of a group that a kCall term calls.
  std::optional<Place> GroupOf(const Term& term);
  uint32_t Write(TermId term, const std::vector<TermId>& needs);
  void WriteGroup(uint32_t number);
  static void WriteKeys(const RecordView& record, ByteWriter* out);
  void WriteMembers(const Term& term, Record* record);
  void Reference(TermId term, Record* record);
  void References(std::span<const TermId> terms, Record* record);
  // Adds a record to the list, its name in it where it has one.
  SavedName Finish(const Record& record);
  void NoteCall(TermId call);  // of a procedure whose body is written with it

  TermStore& s_;
  ByteWriter out_;                                 // the records of the list at hand
  std::vector<uint64_t> lengths_;                  // of these; twice, and one more of a group
  absl::flat_hash_map<uint32_t, uint32_t> index_;  // by term; kCannot
  absl::flat_hash_map<uint32_t, TermId> calls_;    // written ones, by the bodies of what they call
  std::vector<SavedName> names_;                   // by number
  uint32_t count_ = 3, groups_saved_ = 0;
  std::deque<Group> groups_;
  absl::flat_hash_map<uint32_t, Place> group_by_proc_;
  absl::flat_hash_map<uint32_t, std::unique_ptr<Body>> lazy_bodies_;  // by procedure
};

// A list that begins at byte `offset` of its file.
struct SavedPart {
  std::string_view bytes;
  uint64_t offset;
};

// Reads lists that go on from one another, which may be anything, into `store`, whose lock must be
// held; gives the terms by number. All that decides what a term is, is found out anew. Errors:
// kInvalidArgument where the bytes are no terms, with the place ("damaged at byte 17");
// kResourceExhausted over a bound.
StatusOr<std::vector<TermId>> ReadTerms(std::span<const SavedPart> lists, TermStore* store);

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_SAVED_TERMS_H_
