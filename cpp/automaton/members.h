// Members in any order, as states: what a kMembers node may still match.
#ifndef GRAMMASK_AUTOMATON_MEMBERS_H_
#define GRAMMASK_AUTOMATON_MEMBERS_H_

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "automaton/captured_value.h"
#include "automaton/member_lengths.h"
#include "automaton/term_store.h"
#include "base/arena.h"
#include "base/byte_set.h"
#include "base/hash_slots.h"

namespace grammask::internal {

// With which arrays and objects begin.
inline constexpr ByteSet kBrackets = ByteSet::Of('[') | ByteSet::Of('{');

// One kMembers node whose parts have terms.
struct MemberSpec {
  struct Member {
    MemberUse use;
    uint32_t meets;      // conditions
    uint32_t place = 0;  // kPlaced
    ProcId proc;         // what is called for it, but for a distinct one
    TermId term;         // its texts
    uint32_t bit;        // its place in MemberState::seen, where it may come once
    uint64_t length;     // of its shortest text
    // Of those that HasOwnValue():
    bool compound = false;  // an array or object
    bool endless = false;   // plainly with infinitely many values
    bool lasting = false;   // has other values whatever is written
    bool free = false;      // and so, plainly, has what follows it
  };
  std::vector<Member> members;
  TermId separator, end;
  int64_t min = 1, max = kUnbounded;
  uint32_t conditions = 0;  // a bit each

  // Made by MemberTable.
  std::vector<uint32_t> by_proc;  // members, as ascending calls; distinct ones have none yet
  uint32_t once = 0;              // members that may come once, a place for all that are at it
  uint32_t places = 0;            // of those placed
  bool unlimited = false;         // some member may come any number of times
  ConditionCover cover;
};

// What has been written of the members of a spec, as far as it matters for what may follow.
struct MemberState {
  uint32_t spec = 0;
  uint32_t met = 0;                  // conditions
  int64_t written = 0;               // members; 0 where the spec has no bounds, else up to a cap
  int64_t required_left = 0;         // required members that are still to come
  uint64_t required_length = 0;      // and the length of their shortest texts
  std::span<const uint64_t> seen;    // members that may come once, a bit each
  std::span<const uint32_t> values;  // of distinct members, ascending: see MemberTable::ValueOf
};

// Where a kMembers term stands in its list: the `b` of the term; `a` is the state.
enum class MemberPhase : uint8_t {
  kDue,    // a member must come
  kAfter,  // a member is written: a separator or the end
  kRead,   // the same, but the value of the distinct member just written is not in the state
};

// The specs and states of one TermStore, whose lock all functions need. Ids are stable.
class MemberTable {
 public:
  explicit MemberTable(TermStore* store) : s_(*store) {}
  MemberTable(const MemberTable&) = delete;
  MemberTable& operator=(const MemberTable&) = delete;

  // The state in which nothing is written of the members of `spec`; equal specs are one. Nothing()
  // where no list of members is possible.
  TermId Begin(MemberSpec spec);
  // Appends the readings of a kMembers term.
  struct Readings {
    absl::InlinedVector<ByteEdge, 16>* bytes;
    absl::InlinedVector<CallEdge, 4>* calls;
    absl::InlinedVector<TokenEdge, 2>* tokens;
  };
  void Read(const Term& term, const Readings& out);
  // The length of the shortest text of the kMembers term (state, phase).
  uint64_t MinLength(int64_t state, MemberPhase phase) const;
  // Makes of the last member, one that HasOwnValue(), two where it has scalars, which are told
  // apart by their texts, and arrays or objects, also where rules stand for them. What is still
  // being made is taken for the latter.
  void PartLast(MemberSpec* spec);
  // Whether a distinct member with these texts has `count` values. Of more than kMaxTried that are
  // not plainly there, and of arrays and objects, this is taken for granted.
  bool EnoughValues(TermId texts, int64_t count);
  // What `to`, where a call of a distinct member's procedure leads, is once its text is known:
  // Nothing() where that value was written before.
  TermId Received(TermId to, std::string_view text);
  // The arrays and objects written before `to`, as values for MayBecome. Appends.
  void AddRivals(TermId to, std::vector<uint32_t>* out) const;
  bool MayBecome(std::string_view text, uint32_t value) const {
    return values_[value].compound->MayComeFrom(text);
  }

  // For saving: what the state of a kMembers term is made of, the term in which its spec begins,
  // and that state again. `seen` has a word for each 64 members that may come once. Restore gives
  // Nothing() for what is no state of the spec, or one that no text completes.
  const MemberSpec& spec(uint32_t id) const { return specs_[id]; }
  const MemberState& state(int64_t id) const { return states_[static_cast<size_t>(id)]; }
  TermId BeginOf(uint32_t spec);
  TermId Restore(TermId begin, MemberPhase phase, uint32_t met, int64_t written,
                 std::span<const uint64_t> seen);

  size_t memory_bytes() const;

 private:
  using Key = absl::InlinedVector<uint64_t, 8>;
  // A value that a distinct member must not have again.
  struct Value {
    std::string canonical, text;                    // of a scalar, and one of its texts
    std::optional<TermId> spellings;                // all its texts, once they were asked for
    std::unique_ptr<const CapturedValue> compound;  // an array or object
  };

  // The place at which the next member comes, where there are places; behind the last one after it.
  static uint32_t NextPlace(const MemberState& state);
  void Prepare(MemberSpec* spec) const;
  void CountRequired(MemberState* state) const;
  bool Compound(TermId texts);
  // Whether there are plainly `count` values. `guessed`: that there are more than tried is no
  // proof.
  bool PlainlyEnough(TermId texts, uint64_t count, bool* guessed = nullptr);
  TermId PlainNumbers();
  uint32_t StateOf(const MemberState& state);
  // Whether a list can be completed from here.
  bool Possible(const MemberState& state) const;
  bool MayEnd(const MemberState& state) const;
  // After one more member; nullopt where it may not come.
  std::optional<uint32_t> After(const MemberState& state, const MemberSpec::Member& member);
  // The texts of a distinct member that are none of the values written.
  TermId Others(TermId texts, std::span<const uint32_t> values);
  uint32_t ValueOf(std::string_view text);
  TermId SpellingsOf(uint32_t value);
  // Whether a member can come after those written.
  bool MoreFollow(uint32_t state);
  TermId TermOf(uint32_t state, MemberPhase phase);

  TermStore& s_;
  std::vector<MemberSpec> specs_;
  StableVector<MemberState, 6> states_;
  std::vector<Value> values_;
  BumpArena memory_;
  size_t value_bytes_ = 0;
  absl::flat_hash_map<Key, uint32_t> spec_ids_;
  HashSlots state_ids_{8};                                // of states_
  absl::flat_hash_map<std::string, uint32_t> value_ids_;  // by canonical text
};

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_MEMBERS_H_
