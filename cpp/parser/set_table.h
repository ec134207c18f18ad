// Parser states: interned sets of items.
//
// An *item* is a state of the automaton (a term) and where to go on once that term is finished: a
// return, which names the set in which the item's procedure was called, and the procedure. Several
// items in one set are the threads of a nondeterministic parse. Equal sets have one id, so a set is
// an Earley set whose origins are ids instead of positions, and at the same time a persistent stack
// that all threads, forks and rollbacks share.
//
// Thread-safety: functions marked "lock" need TermStore::mutex(); the others may run at any time on
// ids that this thread got from this table. Reads of what exists take no lock.
#ifndef GRAMMASK_PARSER_SET_TABLE_H_
#define GRAMMASK_PARSER_SET_TABLE_H_

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "automaton/term_store.h"
#include "base/arena.h"
#include "base/id_table.h"
#include "base/ids.h"
#include "base/mix.h"
#include "base/sharded_map.h"
#include "parser/captures.h"

namespace grammask::internal {

// Where a finished term goes on.
//   kBottom   nowhere: the text is complete.
//   kUnknown  in a context that is not known (the mask stage asks what a state alone can take).
//   kSelf|p   within items of a set: the set itself waits for procedure p.
//   others    an entry of the table of returns: (set, procedure), one of those that wait alike,
//             and, for a procedure that captures, what it has read so far.
inline constexpr RetId kBottom{0};
inline constexpr RetId kUnknown{1};
inline constexpr uint32_t kSelf = uint32_t{1} << 31;

struct Item {
  TermId term;
  RetId ret;
  friend constexpr auto operator<=>(const Item&, const Item&) = default;
};

using ItemList = absl::InlinedVector<Item, 8>;

// An item that waits for `proc`, as it will be once that is finished.
struct Waiter {
  ProcId proc;
  TermId to;
  RetId ret;
  friend constexpr auto operator<=>(const Waiter&, const Waiter&) = default;
};

// Those of ascending waiters that wait for `proc`.
inline std::span<const Waiter> WaitersFor(std::span<const Waiter> waiters, ProcId proc) {
  const auto first = std::ranges::lower_bound(waiters, proc, {}, &Waiter::proc);
  const auto last = std::ranges::upper_bound(first, waiters.end(), proc, {}, &Waiter::proc);
  return {first, last};
}

// An item that waits for one token of a token set.
struct TokenItem {
  uint32_t tokens;
  TermId to;
  RetId ret;
};

// A byte's class: bytes of one class lead to one set. Shared by all sets whose bytes fall into the
// same classes.
struct ClassMap {
  uint16_t class_of[256];            // 0: no set; else 1..count, up to 256
  std::span<const uint8_t> example;  // by class - 1: some byte of it
  std::span<const uint8_t> few;      // the bytes that have a class, where they are at most kFew
  static constexpr size_t kFew = 32;
};

// What a set can do; made when it is first asked for.
struct SetBody {
  std::span<const Item> items;      // the kernel, then predictions
  std::span<const Waiter> waiters;  // ascending
  std::span<const TokenItem> tokens;
  // Captures of items, those that begin here too, whose text must not become that of some values.
  std::span<const uint32_t> at_risk;
  bool captures = false;  // what is read next is captured
};

// Where the bytes lead; made when a second one is asked for.
struct StepTable {
  const ClassMap* classes;
  std::atomic<uint32_t>* targets;  // by class - 1; kNotYet until stepped
};

struct Set {
  std::span<const Item> kernel;  // ascending, unique; finished items of known returns are left out
  Item only = {};                // where the kernel is, when it is one item
  bool accepting = false;        // the text may end here
  bool escaping = false;         // an item of unknown context is finished here
  bool text = false;             // one item, which reads a text byte by byte; not captured
  // Of items within procedures that capture: there are such; all have rivals (see CaptureTable).
  bool captures = false, all_at_risk = false;
  std::atomic<const SetBody*> body = nullptr;
  std::atomic<const StepTable*> table = nullptr;
  // The byte asked for first and where it leads: kStepped, byte << 32, set. 0 for none.
  std::atomic<uint64_t> first_step = 0;
  static constexpr uint64_t kStepped = uint64_t{1} << 40;
  std::atomic<const void*> attachment = nullptr;  // the mask stage's level-2 mask of this set
};

class SetTable {
 public:
  static constexpr uint32_t kNotYet = UINT32_MAX;
  static constexpr SetId Dead() { return SetId(0); }

  explicit SetTable(TermStore* terms);

  // The set in which parsing begins at `root`.
  SetId Start(TermId root);
  // The set of the one item (term, unknown context); escaping when the term is nullable.
  SetId InUnknownContext(TermId term);

  // The set of an item of a known set, moved on by other means than Step. Lock.
  SetId OfItem(const Item& item);
  // The set of a finished item that returns to `ret`, where it is known. No lock.
  std::optional<SetId> OfFinished(RetId ret) const {
    const Ret& entry = rets_[ret.value];
    const std::optional<SetId> known = entry.Known();
    return known.has_value() && entry.exact ? known : std::nullopt;  // in this order
  }

  // Whether Table() would not have to make one.
  bool HasTable(SetId set) const {
    return sets_[set.value].table.load(std::memory_order_acquire) != nullptr;
  }
  // The set after one more byte; Dead() when it cannot come.
  SetId Step(SetId set, uint8_t byte) {
    const StepTable* table = sets_[set.value].table.load(std::memory_order_acquire);
    if (table == nullptr) return StepFirst(set, byte);
    const uint16_t c = table->classes->class_of[byte];
    if (c == 0) return Dead();
    const uint32_t to = table->targets[c - 1].load(std::memory_order_acquire);
    return to != kNotYet ? SetId(to) : StepSlow(set, byte);
  }
  // The set after all of `bytes`; Dead() when they cannot come.
  SetId Run(SetId set, std::string_view bytes) {
    for (char b : bytes) {
      set = Step(set, static_cast<uint8_t>(b));
      if (set == Dead()) break;
    }
    return set;
  }
  // The set after the token `id`: by its bytes where `text` holds them, by token items, or both.
  // `is_plain`: the token is neither special nor a stop token (what excluding sets admit).
  SetId StepToken(SetId set, TokenId id, std::optional<std::string_view> text, bool is_plain);

  // The set of all that may go on where `ret` (of an item of set `at`) is returned to. Dead() for
  // kBottom and kUnknown. Where the procedure captures, the set takes whatever it takes for some
  // text captured: more than is true for the one at hand where members must be distinct.
  SetId Returned(SetId at, RetId ret);
  // The procedure that `ret` of an item is of, where it captures; else null.
  const Proc* Captures(RetId ret) const;

  const Set& set(SetId id) const { return sets_[id.value]; }
  std::atomic<const void*>& attachment(SetId id) { return sets_[id.value].attachment; }
  const SetBody& Body(SetId id) {
    const SetBody* body = sets_[id.value].body.load(std::memory_order_acquire);
    return body != nullptr ? *body : MakeBody(id);
  }
  const StepTable& Table(SetId id) {
    const StepTable* table = sets_[id.value].table.load(std::memory_order_acquire);
    return table != nullptr ? *table : MakeTable(id);
  }

  // The one byte that must come next, where there is one: the text may not end here, no token item
  // waits, and all else that can be read only spells it differently.
  std::optional<uint8_t> ForcedByte(SetId set);

  // Length of the shortest text that completes a parse in `set`. Of a set without unknown context.
  uint64_t ShortestCompletion(SetId set);

  // Whether the text of a capture may still become that of a rival after one more byte. Lock.
  bool StaysAtRisk(uint32_t capture, uint8_t byte) const {
    return captures_.StaysAtRisk(capture, byte);
  }

  TermStore& terms() { return terms_; }
  size_t size() const { return sets_.size(); }
  size_t memory_bytes() const;

 private:
  struct Ret {
    SetId set;
    ProcId proc;
    uint32_t capture = CaptureTable::kNone;  // that the item is in
    RetId plain;                             // the same without a capture
    uint32_t time = 0;                       // how many terms there were when it was made
    // Where it leads: what Returned() finds of it, of a plain one; kNotYet until asked for.
    std::atomic<uint32_t> returned = kNotYet;
    bool exact = false;  // and the set of a finished item that returns so: nothing is captured
    std::optional<SetId> Known() const {
      const uint32_t to = returned.load(std::memory_order_acquire);
      return to != kNotYet ? std::optional(SetId(to)) : std::nullopt;
    }
  };

  // An entry at the end of the table of returns, made now.
  void AddRet(SetId set, ProcId proc, uint32_t capture, RetId plain) {
    Ret& made = rets_.Append();
    made.set = set;
    made.proc = proc;
    made.capture = capture;
    made.plain = plain;
    made.time = static_cast<uint32_t>(terms_.size());
  }
  SetId StepFirst(SetId set, uint8_t byte);
  SetId StepSlow(SetId set, uint8_t byte);
  SetId StepSlowLocked(SetId set, uint8_t byte);
  const SetBody& MakeBody(SetId id);
  const SetBody& MakeBodyLocked(SetId id);
  const StepTable& MakeTable(SetId id);
  const StepTable& MakeTableLocked(SetId id);
  // Adds what follows finished items, and interns. Lock.
  SetId Close(ItemList kernel);
  SetId Intern(std::span<const Item> kernel, bool accepting, bool escaping);
  // Returned() of a plain entry of the table of returns. Lock.
  SetId ReturnedLocked(RetId ret);
  RetId Resolve(RetId ret, SetId self);  // kSelf|p in `self` to an entry of the table. Lock.
  // The key of the place where `set` waits for `proc`.
  static uint64_t WaitKey(SetId set, ProcId proc) { return uint64_t{set.value} << 32 | proc.value; }
  // The return to where `set` waits for `proc`; one for all that wait alike (returns.cc). Lock.
  using PlaceKey = absl::InlinedVector<uint64_t, 16>;
  RetId NamePlace(SetId set, ProcId proc);
  void NamePlaces(SetId set, std::span<const ProcId> component, bool cyclic);
  RetId NameSingle(SetId set, ProcId proc, uint64_t pair);
  bool SamePlaces(SetId set, SetId other, std::span<const ProcId> cycle);
  template <class Own>
  void AppendPlace(SetId set, ProcId proc, Own&& own, PlaceKey* out);
  std::span<const Waiter> WaitersOf(SetId set, ProcId proc);
  // The same after one more byte is read. Lock, as for the others about captures.
  RetId Advance(RetId ret, SetId self, uint8_t byte);
  RetId WithCapture(RetId plain, uint32_t capture);
  // The capture that an item is in which was predicted and returns to `plain`: the one that it
  // begins, or that of an item which waits for it.
  uint32_t ContextOf(RetId plain);
  uint32_t CaptureOf(RetId ret, SetId self);
  // What an item that waits with `waiting` in the set of `finished` returns to afterwards.
  RetId AfterCall(RetId waiting, const Ret& finished);
  SetId StepUnchecked(SetId set, uint8_t byte);
  SetId StepViable(SetId set, uint8_t byte);
  // Whether the values at risk in a set can still become others.
  bool Viable(SetId set);
  bool OnlySpells(const SetBody& body);
  std::string Fingerprint(SetId set) const;
  const ClassMap* Classes(std::span<const Item> items, bool each_byte);
  const ClassMap* ClassesOfOne(TermId state);
  const ClassMap* ClassesBeside(TermId state);
  template <class Add>
  void ClassesOfFew(std::span<const TermId> states, Add&& add);
  const ClassMap* InternClasses(std::span<const uint32_t> runs);
  void RestOfWaiters(SetId set);

  // Of what grows with each set and item.
  size_t item_bytes() const { return memory_.bytes() + sets_.bytes() + rets_.bytes(); }

  TermStore& terms_;
  BumpArena memory_;
  StableVector<Set> sets_;
  StableVector<Ret> rets_;
  CaptureTable captures_;
  // The set whose body is being made.
  struct Unfinished {
    SetId set;
    std::span<const Waiter> waiters;
  };
  Unfinished unfinished_;
  ShardedMap<uint64_t, RetId> captured_ids_;  // by (plain return, capture)
  ShardedMap<uint32_t, uint32_t> contexts_;   // captures by plain return
  ShardedMap<uint32_t, bool> viable_;         // by set, where it was in question
  IdTable table_;                             // sets
  // The set of a few items that moved and of what is completed by them; by these, ascending.
  using ClosedKey = absl::InlinedVector<uint64_t, 4>;
  ShardedMap<ClosedKey, SetId> closed_;
  ShardedMap<uint64_t, RetId> ret_ids_;  // by (set, procedure)
  ShardedMap<PlaceKey, RetId> place_ids_;
  ShardedMap<uint64_t, RetId> single_place_ids_;  // of one waiting item
  size_t place_bytes_ = 0;
  // By the classes of the runs of bytes: see InternClasses.
  ShardedMap<std::string_view, const ClassMap*, TextHash> class_maps_;
  ShardedMap<std::string_view, const ClassMap*, TextHash> classes_of_;  // by states
  // By (set, procedure): shortest completion from where the set waits for the procedure.
  ShardedMap<uint64_t, uint64_t> rests_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_PARSER_SET_TABLE_H_
