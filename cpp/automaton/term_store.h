// Automaton states as hash-consed expressions over bytes and calls.
//
// A *term* is an expression whose language is what a rule may still match: a rule's body at first,
// what is left of it after some bytes later. Terms are states: equal terms have one id, and the
// derivative of a term by a byte is again a term, made when it is first asked for. So an automaton
// is deterministic, exists only as far as a text has gone into it, and equal parts of different
// rules and grammars are one state with one set of cached results.
//
// Invariant: every term but Nothing() matches some text. Terms are immutable; what is derived from
// one (its edges) is added once and published atomically.
//
// Thread-safety: functions marked "lock" need mutex() held; the others may run at any time on ids
// that this thread got from a locked call or through an atomic.
#ifndef GRAMMASK_AUTOMATON_TERM_STORE_H_
#define GRAMMASK_AUTOMATON_TERM_STORE_H_

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "automaton/json_places.h"
#include "automaton/recursive_group.h"
#include "base/arena.h"
#include "base/byte_set.h"
#include "base/code_point_set.h"
#include "base/id_table.h"
#include "base/ids.h"
#include "base/mix.h"
#include "base/sharded_map.h"
#include "base/status.h"
#include "grammar/ast.h"

namespace grammask::internal {

enum class TermKind : uint8_t {
  kNothing,    // no text
  kEmpty,      // the empty text
  kAll,        // every byte string
  kBytes,      // a literal of 1..kMaxLiteral bytes
  kJsonText,   // the same for decoded text in any JSON spelling; valid UTF-8
  kByteClass,  // one byte of a set
  kSequence,   // two children: a head that is no sequence, save a very long one, and the rest
  kChoice,     // two or more children, ascending ids
  kRepeat,     // one child, min..max times; the child is not nullable unless min is 0
  kCall,       // a procedure
  kAnd,        // two or more children, ascending ids
  kNot,        // one child
  kMultiple,   // digits, dots skipped: (remainder, then digits) * 10^scale divisible by modulus
  kTokens,     // one token by id
  kMembers,    // members in any order: a state and a phase, see members.h
  kWords,      // a choice of many literals, see words.h
};

// Bytes lo..hi lead to the state `to`.
struct ByteEdge {
  uint8_t lo, hi;
  TermId to;
};
// A call of `proc` leads to the state `to`.
struct CallEdge {
  ProcId proc;
  TermId to;
};
// An ASCII character of a JSON string is read, in any spelling, and leads to the state `to`.
struct AsciiRead {
  uint8_t code_point;
  TermId to;
};
// One token of `tokens` (an index of token_set()) leads to the state `to`.
struct TokenEdge {
  uint32_t tokens;
  TermId to;
};

// All that can be read in a state.
struct Expansion {
  std::span<const ByteEdge> bytes;    // ascending, disjoint
  std::span<const CallEdge> calls;    // ascending, each procedure once
  std::span<const TokenEdge> tokens;  // each set once
  // Of `bytes`, the edge that only spells a character of a JSON string in another way (the
  // backslash where `a` may also be \u0061), or no byte. What it leads to is never forced.
  int16_t spelling_byte = -1;
  // Whether that is all that the backslash does, also where it is in an intersection's texts.
  bool respelled = false;
};

// The edge of `byte` among those of a state; null for none.
inline const ByteEdge* FindEdge(std::span<const ByteEdge> edges, uint8_t byte) {
  if (edges.size() > 8) {
    const auto it = std::ranges::lower_bound(edges, byte, {}, &ByteEdge::hi);
    return it != edges.end() && it->lo <= byte ? &*it : nullptr;
  }
  for (const ByteEdge& e : edges) {
    if (byte <= e.hi) return byte >= e.lo ? &e : nullptr;
  }
  return nullptr;
}

// One line of the cache (kTableAlign): a new mask looks at hundreds of them, here and there.
struct alignas(kTableAlign) Term {
  TermKind kind = TermKind::kNothing;
  bool nullable = false;
  bool boolean = false;  // kAnd or kNot in it
  bool counted = false;  // a repeat in it, outside kAnd and kNot, has a bound over kSmallCount
  bool regular = true;   // no kCall and no kTokens in it
  bool finite = true;    // its texts have a greatest length (false also where that is not seen)
  // The term, a part of its sequence or an alternative repeats within bounds that are worth joining
  // with others (count_ranges.cc).
  bool ranged : 1 = false;
  // Where it has a text that begins with a character of a JSON string, it has what comes of writing
  // that in any other way: it was made of such. Written before others see the term.
  bool any_spelling : 1 = false;
  // One character of a JSON string, in any spelling, that needs no escape. Likewise.
  bool plain_character : 1 = false;
  uint8_t text_size : 7 = 0;  // of text(): TermStore::kMaxLiteral at most
  // All its texts are whole characters as inside a JSON string, and it was made of such (see
  // json_content.cc: where not, they may be nevertheless). Written before others see the term.
  bool content : 1 = false;
  uint32_t parts = 0;             // of children()
  std::atomic<uint32_t> far = 0;  // FarTerm(), once known
  // kRepeat: bounds. kMultiple: remainder, and an index of multiple(). kCall: procedure.
  // kByteClass: an index of byte_class(). kTokens: an index of token_set(). kMembers: state, phase.
  // kWords: see WordTable.
  // kSequence: the children once more, as terms are compared by these first.
  // kBytes, kJsonText: b is TermStore::Tail(), once known.
  int64_t a = 0, b = 0;
  union {
    TermId few[2] = {};   // the children, when they are no more than two
    const TermId* many;   // else where they are
    const char* letters;  // where text() is
  };
  // Length of the shortest text, in bytes; saturates at kMaxLength. Exact for all terms that a
  // locked call returned, save where deciding it went over Limits::max_regular_states.
  uint64_t min_length = 0;
  std::atomic<const Expansion*> expansion = nullptr;
  std::atomic<const void*> attachment = nullptr;  // the mask stage's level-1 mask of this state

  // Of kSequence, kChoice, kRepeat, kAnd and kNot.
  std::span<const TermId> children() const { return {parts <= std::size(few) ? few : many, parts}; }
  // Of kBytes and kJsonText.
  std::string_view text() const { return {text_size == 0 ? nullptr : letters, text_size}; }
};
static_assert(sizeof(Term) == kTableAlign);

// A rule as states call it.
struct Proc {
  TermId body;
  bool nullable = false;
  bool captures = false;  // what it read matters to where it returns: TermStore::Received
  // Of one that captures: its texts are arrays and objects; whatever it reads, there are plainly
  // values left for what follows.
  bool compound = false, free = false;
  uint64_t min_length = 0;
  std::span<const uint32_t> program;  // of a lazy one
};

inline constexpr uint64_t kMaxLength = uint64_t{1} << 60;

class CountLengths;
class MemberTable;
class RecordTable;
class SavedPool;
class WordTable;
struct MemberSpec;
struct RecordPartPlace;

class TermStore {
 public:
  static constexpr size_t kMaxLiteral = 32;
  // A repeat bound over this makes a term "counted": far from the bound it shares masks with the
  // term of no bound. Set to the longest token's length, since no mask looks further.
  TermStore(const Limits& limits, int64_t small_count);
  ~TermStore();

  std::mutex& mutex() const { return mutex_; }

  static constexpr TermId Nothing() { return TermId(0); }
  static constexpr TermId Empty() { return TermId(1); }
  static constexpr TermId All() { return TermId(2); }

  // Constructors; lock. They simplify, and return the one id of the result.
  TermId Literal(std::string_view bytes, bool json);
  TermId ByteClass(const ByteSet& bytes);
  TermId Sequence(TermId head, TermId rest);
  TermId Sequence(std::span<const TermId> parts);  // of any number
  TermId Choice(std::span<const TermId> alternatives);
  // The choice of many literals, as Literal() has them: one term however many they are.
  TermId Words(std::vector<std::string_view> words, bool json);
  TermId Repeat(TermId body, int64_t min, int64_t max);
  TermId Call(ProcId proc);
  TermId And(std::span<const TermId> parts);  // Nothing() when it matches no text
  TermId Not(TermId part);                    // likewise
  // And() of what a grammar asks for, where bounds of the parts on how many characters of a JSON
  // string they have are one condition beside them: see counts_apart.cc.
  TermId AndApart(std::span<const TermId> parts);
  // The same of what is known to match some text, the shortest of `min_length`: no search.
  TermId AndOfLength(std::span<const TermId> parts, uint64_t min_length);
  TermId NotOfLength(TermId part, uint64_t min_length);
  TermId MultipleOf(const Multiple& multiple, uint64_t remainder);
  // The fewest digits that make a multiple of `remainder` when written behind it.
  static uint64_t ShortestMultiple(const Multiple& multiple, uint64_t remainder);
  TermId Tokens(const TokenSet& tokens);
  // Bytes of the shortest way to write `text`: as it is, or (`json`) in a JSON string.
  static uint64_t ShortestSpelling(std::string_view text, bool json);
  // All members in any order; Nothing() when no list of them is possible.
  TermId MembersOf(MemberSpec spec);
  // Takes the last member apart by the kinds of its values: MemberTable::PartLast.
  void PartLast(MemberSpec* spec);
  // Whether distinct members of these texts have `count` different values: see members.h.
  bool EnoughValues(TermId texts, int64_t count);
  // A state of the members that begin in `begin`: MemberTable::Restore. Lock.
  TermId RestoreMembers(TermId begin, int64_t phase, uint32_t met, int64_t written,
                        std::span<const uint64_t> seen);
  size_t MemberWords(TermId members) const;  // words of `seen` of such a state. Lock.
  // One character of the set, in UTF-8 or in any JSON spelling; remembered per set.
  TermId Character(const CodePointSet& characters, bool json);
  // An exact description of a class of characters that Character() made, no text that ToString()
  // gives; empty for other terms. Takes the lock.
  std::string ClassKey(TermId id) const;
  // One character of a JSON string, in any spelling.
  TermId JsonCharacter(uint32_t code_point);
  // What follows the backslash of another spelling of one of these, then what is after it.
  TermId JsonEscapes(std::span<const AsciiRead> characters);

  // A new procedure; its body may be set later, but before any state that calls it is expanded.
  ProcId AddProc(bool nullable, uint64_t min_length);
  void SetBody(ProcId proc, TermId body) { procs_[proc.value].body = body; }
  // The same as a program (see body_program.h), which makes the body once it is asked for.
  void SetProgram(ProcId proc, std::span<const uint32_t> program) {
    procs_[proc.value].program = memory_.Copy(program);
  }
  // The procedure with this body that is no part of a cycle; one for each body. Lock.
  ProcId ProcOf(TermId body);
  // The procedure with this body whose text is told to where it returns. Lock.
  ProcId CapturingProcOf(TermId body, bool compound, bool free);
  // The procedure whose body `program` makes (see body_program.h), once it is asked for: of a large
  // grammar most states are never met. One for each program. Lock.
  ProcId LazyProc(std::span<const uint32_t> program, uint64_t min_length);
  // The one with this name (saved_terms.h), of which a trusted file that is open has the body in
  // the record of term `number`. Lock.
  ProcId SavedProc(std::string_view name, uint32_t pool, uint32_t number, uint64_t min_length);
  // The body of any procedure, made now where it is a lazy one's. Lock.
  TermId BodyOf(ProcId proc) {
    const TermId body = procs_[proc.value].body;
    return body == Nothing() ? MakeBody(proc) : body;
  }
  // Whether a state is plainly left with more values than can be written, whichever few are
  // excluded besides: infinitely many, or those of `rounds` rounds of two characters. Lock.
  static constexpr int64_t kManyRounds = 64;
  bool Endless(TermId id, int64_t rounds = kManyRounds);
  // Where a finished call leads, `to`, once the text of the call is known; the others likewise: see
  // MemberTable. Lock.
  TermId Received(TermId to, std::string_view text);
  void AddRivals(TermId to, std::vector<uint32_t>* out) const;
  bool MayBecome(std::string_view text, uint32_t value) const;
  // Whether any procedure captures. Lock.
  bool has_captures() const { return !capturing_by_body_.empty(); }
  // Procedures of a recursive group, found again by the group's exact description, which is well
  // formed. Those that have no body make it of the description once it is asked for. Lock.
  std::optional<std::span<const ProcId>> FindGroup(const GroupName& name) const;
  // Those of the rules `at_once` are made now, as any must be that has lists of members.
  std::span<const ProcId> AddGroup(const GroupName& name, std::span<const ProcId> procs,
                                   std::span<const uint32_t> at_once = {});
  // The same for a group with this name, which is group `number` of a pool. Lock.
  std::span<const ProcId> SavedGroup(std::string_view name, std::span<const uint64_t> lengths,
                                     SavedPool* pool, uint32_t number);
  // The description of a group; empty of a damaged file's. Lock.
  std::span<const uint64_t> GroupWords(uint32_t group);

  // The edges of a state; takes the lock when they are not there yet.
  const Expansion& Expand(TermId id) {
    const Expansion* e = terms_[id.value].expansion.load(std::memory_order_acquire);
    if (e != nullptr) return *e;
    std::lock_guard lock(mutex_);
    return ExpandLocked(id);
  }
  const Expansion& ExpandLocked(TermId id);
  // Those with which the texts of a state begin, but for what it calls. Lock.
  ByteSet BeginningBytes(TermId id);
  bool IsExpanded(TermId id) const {
    return terms_[id.value].expansion.load(std::memory_order_acquire) != nullptr;
  }
  // Where `byte` leads, Nothing() for nowhere: the target of the edge, without making the others.
  // Lock.
  TermId AfterByte(TermId id, uint8_t byte);
  // Of a state `X Y` without edges, where X is a few texts or nothing and Y has many edges: Y, and
  // the bytes with which X begins. Any other byte leads where it leads from Y. Thread-safe.
  struct Beside {
    TermId rest;
    ByteSet first;
  };
  std::optional<Beside> FindBeside(TermId id) const;

  // The state with every count that no token can reach made unbounded: it has the same level-1
  // mask. Takes the lock when it is not known yet.
  TermId FarTerm(TermId id);

  // A state that begins with a regular loop of at most `bound` rounds more, alone or as one part of
  // an intersection, and the same state with no such bound. Takes the lock.
  struct Loosened {
    TermId state;
    int64_t bound;
    bool plain;  // of LoosenAll(): as much as `bound` bytes of any text can be read in both states
  };
  std::optional<Loosened> Loosen(TermId id);

  // The state with no upper bound on any loop at its beginning, alone or as part of intersections
  // and choices, that takes no text of up to `bound` bytes but those of the state itself. Bounds
  // that rule out texts of fewer than `least` bytes stay. Takes the lock.
  std::optional<Loosened> LoosenAll(TermId id, int64_t least);

  // The beginning of a state without bounds: what it may read of a head that is an intersection, or
  // else of the whole state, where no text is so long that an upper bound matters. Of a text of
  // `state` of up to `bound` bytes that has `more` rounds of `x` or more in it the beginning takes
  // it, too; `more` is 0 where there is no lower bound. Takes the lock.
  struct LooseHead {
    TermId state, x;
    int64_t bound = kUnbounded, more = 0;
  };
  LooseHead LoosenHead(TermId id, int64_t least);

  // Of a state that Loosen() can loosen, or one such as `X{0,9} Y` of which each Y is an X, or
  // `(X{0,9} Y)?`: it is one of `least` to `most` rounds of `x` more, Y among them, followed by
  // `rest` (Empty() for nothing). `loose`: the same state with any number of rounds; `open`: with
  // `least` rounds or more. See rounds.cc. Takes the lock.
  struct Counted {
    TermId x, rest, loose, open;
    int64_t least, most;
  };
  std::optional<Counted> FindCount(TermId id);
  // The same where X is a character of a JSON string, without bounds on loops that allow as many
  // characters as are left: of `[a-z]{0,55}` under twelve characters more that is `[a-z]*`. It says
  // what it said of up to `most` rounds. Takes the lock.
  Counted WithoutIdleBounds(const Counted& counted);
  // Whether each text of X is one character as inside a JSON string, in any spelling. Takes the
  // lock.
  bool IsJsonCharacter(TermId x);
  // A lower bound on the characters, as inside a JSON string, that a text of `id` has before it
  // comes to `rest`. Takes the lock.
  uint32_t FewestCharacters(TermId id, TermId rest);

  // The same state without the finitely many texts that its beginning excludes: of `(X* & !("ab"))
  // "\""` that is `X* "\""`; likewise behind a literal. Takes the lock.
  std::optional<TermId> WithoutExclusions(TermId id);
  // The same without all texts that its beginning excludes, where these are not finitely many only.
  // Takes the lock.
  std::optional<TermId> WithoutComplements(TermId id);

  // The same state with any character of a JSON string instead of its first one, where a loop of
  // any follows that has a bound: of `[a-z] X{0,9} R` that is `X{1,10} R`. Takes the lock.
  std::optional<TermId> WithAnyFirst(TermId id);

  // A state of one kind whose beginning excludes texts: `before`, then any number of x, maybe after
  // some texts of their own (`loop`), that are none of `texts`, decoded, in any JSON spelling, then
  // a quote, and what may follow.
  struct Exclusion {
    TermId wider;  // without the exclusion
    TermId x, loop;
    std::string before;
    bool ends;  // what follows is one literal
    std::vector<std::string> texts;
  };
  std::optional<Exclusion> FindExclusion(TermId id);

  // A part of a state's language that any number of X may be put in front of: what the state can
  // still match after any X's includes it. Of a search, `X* "abc" X*`, it is the search itself,
  // whatever has been read. None where X begins with fewer than `first_bytes` bytes, which may
  // spare a search. Takes the lock.
  struct Loop {
    TermId x;
    TermId part;     // matches some text; some of its texts the state may lack where `excluding`
    bool excluding;  // finitely many texts are excluded from `part`
  };
  std::optional<Loop> FindLoop(TermId id, uint32_t first_bytes = 0);

  // A string in which something is searched for, beside other conditions: `(S & C) " rest`, where S
  // is a search over JSON characters, as in FindLoop, and C is none. Takes the lock.
  struct Searched {
    TermId wider;  // without the search: `C " rest`
    TermId search, others, rest;
    Loop loop;  // of the search
  };
  std::optional<Searched> FindSearched(TermId id, uint32_t first_bytes);
  // A string in which something is searched for, beside other conditions, and some of it has come:
  // `(C & (S | P)) " rest`, where S is the search as it was in the beginning. S alone loops on
  // characters with as many first bytes. Each of the two is Nothing() where the other conditions
  // leave none. Takes the lock.
  struct Progress {
    TermId search;  // `(C & S) " rest`
    TermId begun;   // `(C & P) " rest`
  };
  std::optional<Progress> FindProgress(TermId id, uint32_t first_bytes);

  // A string of `least` characters or more and a pattern, `(ANY{a,b} & P) " rest`. That bound
  // refuses no token of up to `sure` bytes that does not end the string: after it P has longer and
  // longer texts still. UINT64_MAX for all of them. Null where that is less than `least_sure`,
  // unless `least` is 1. Takes the lock.
  struct LeastCount {
    TermId wider;             // without the bound
    TermId head, wider_head;  // what is before the quote, of each
    int64_t least;
    uint64_t sure;
  };
  std::optional<LeastCount> FindLeast(TermId id, uint64_t least_sure);
  // And(), and whether all texts of `part` are some of `whole`. Both take the lock.
  TermId Both(TermId x, TermId y);
  bool IsWithin(TermId part, TermId whole);

  // Whether two states are seen to be the same, as `(A | B) R` and `A R | B R` are: what a search
  // has begun is left in the one form beside other conditions, in the other where it stands alone.
  // Takes the lock.
  bool SameSpread(TermId x, TermId y);

  // X, where after any number of X's some of `states` can still be completed, whatever these X's
  // were: see cover.cc. Nothing where that is not seen. Takes the lock.
  std::optional<TermId> FindCover(std::span<const TermId> states);

  const Term& term(TermId id) const { return terms_[id.value]; }
  std::atomic<const void*>& attachment(TermId id) { return terms_[id.value].attachment; }
  // Of a lazy procedure `body` is Nothing() until BodyOf() made it.
  const Proc& proc(ProcId id) const { return procs_[id.value]; }
  const ByteSet& byte_class(int64_t index) const {
    return byte_classes_[static_cast<size_t>(index)];
  }
  const TokenSet& token_set(uint32_t index) const { return *token_sets_[index]; }
  const Multiple& multiple(int64_t index) const { return multiples_[static_cast<size_t>(index)]; }
  size_t size() const { return terms_.size(); }
  // How often it was searched for a text of a term, to know whether there is any.
  uint64_t text_searches() const { return text_searches_.load(std::memory_order_relaxed); }
  size_t memory_bytes() const;
  int64_t small_count() const { return small_count_; }
  const Limits& limits() const { return limits_; }
  // What a standard grammar (kStandard) has become, once it is built. Lock.
  struct StandardPart {
    TermId term;    // of a reference to it
    uint32_t size;  // what such a reference adds to the size of its user
    uint64_t length;
  };
  const StandardPart* FindStandard(const Grammar* grammar) const {
    const auto it = standard_.find(grammar);
    return it == standard_.end() ? nullptr : &it->second;
  }
  void AddStandard(const Grammar* grammar, const StandardPart& part) {
    standard_.try_emplace(grammar, part);
  }

  // What a text asked too much of while it was read. Masks are then cut short and terms taken for
  // not empty that may be, so from here on nothing is to be relied on: grammars go on in other
  // tables. Asked after the work whose result it is about.
  enum class Overrun : uint8_t {
    kNone,
    kStates,  // Limits::max_mask_states
    kBytes,   // Limits::max_mask_bytes
    kSteps,   // Limits::max_mask_steps
  };
  Overrun overrun_by() const { return overrun_.load(std::memory_order_acquire); }
  bool overrun() const { return overrun_by() != Overrun::kNone; }
  bool overrun_by_this_thread() const {
    return overrun() && overrun_thread_ == std::this_thread::get_id();
  }
  void NoteOverrun(Overrun what);  // the first counts; lock
  // So many steps of what is made of terms, which has so many bytes by now: they count as the
  // terms' own. Lock.
  void CountSteps(size_t steps, size_t bytes) {
    steps_ += steps;
    other_bytes_ = bytes;
    CheckGrowth();
  }
  // The bytes of max_mask_bytes and the steps of max_mask_steps are counted from here on. Lock.
  void AllowGrowth() {
    most_bytes_ = state_bytes() + limits_.max_mask_bytes;
    most_steps_ = steps_ + limits_.max_mask_steps;
  }

  // True once a question of emptiness went over Limits::max_regular_states; such a term is taken
  // for not empty. Lock.
  bool over_budget() const { return over_budget_; }
  // Between these, all questions share one budget. Lock.
  void BeginBuilding() {
    building_ = true;
    over_budget_ = false;
    search_left_ = limits_.max_regular_states;
  }
  void EndBuilding() {
    building_ = false;
    AllowGrowth();
  }

  // For debugging and tests: the term as an expression.
  std::string ToString(TermId id) const;

 private:
  struct Key;
  friend class CountLengths;
  friend class CoverFinder;
  friend class Deriver;
  friend class EmptinessSearch;
  friend class MemberTable;
  friend class SavedPool;
  friend class TermReader;
  friend class TermWriter;
  friend class WordTable;

  static constexpr size_t kMostAsked = 24;  // questions of emptiness one within another
  // While a grammar is built, a state that takes more steps counts as several.
  static constexpr uint64_t kStepsOfState = 16;

  size_t state_bytes() const { return memory_.bytes() + terms_.bytes() + other_bytes_; }
  void CheckGrowth() {
    if (building_) return;
    if (state_bytes() > most_bytes_) [[unlikely]]
      NoteOverrun(Overrun::kBytes);
    if (steps_ > most_steps_) [[unlikely]]
      NoteOverrun(Overrun::kSteps);
  }
  // States that one question may explore, with all that come up within it.
  size_t SearchBudget() const {
    return building_ ? limits_.max_regular_states : limits_.max_mask_states;
  }
  void GoOverBudget();
  // Takes from the budget for what the search has asked for since the last time.
  void ChargeSteps() {
    const auto states = static_cast<size_t>((steps_ - charged_steps_) / kStepsOfState);
    charged_steps_ += states * kStepsOfState;
    search_left_ -= std::min(search_left_, states);
  }
  TermId Intern(const Key& key);
  TermId MakeBody(ProcId proc);
  // The body of a rule of a group (recursive_groups.cc).
  TermId MakeGroupBody(uint32_t group, uint32_t rule);
  TermId MakeGroupBody(RecursiveGroup* group, uint32_t rule);
  TermId MakeGroupNode(const RecursiveGroup& group, const GroupNode& node);
  static std::vector<uint32_t> GroupRecord(const RecursiveGroup& group, const GroupNode& node);
  // What the program of `proc` makes: its body, or such a part of the record that it ends in.
  TermId RunProgram(std::span<const uint32_t> program, ProcId proc,
                    std::optional<RecordPartPlace> part);
  TermId MembersTerm(uint32_t state, int64_t phase);
  TermId WordsTerm(int64_t a, int64_t b);
  bool HasTwoCharacters(TermId id);
  bool IsFewTexts(TermId id) const;
  TermId Pair(TermId head, TermId rest);  // a kSequence as it stands
  using TermList = absl::InlinedVector<TermId, 16>;
  bool IsPlain(const Term& head) const;
  bool Flatten(std::span<const TermId> alternatives, TermList* out);
  void JoinRanges(TermList* alternatives);  // see count_ranges.cc; keeps them sorted
  TermId RawAnd(std::span<const TermId> parts);
  // Whether all texts of it are whole characters as inside a JSON string.
  bool IsJsonContent(TermId id);
  const JsonPlaces::Map& MovesOf(TermId id);
  // It is known to be made of whole characters; noted where it was made since there were `before`
  // terms, under the same lock.
  void MarkContent(TermId id, size_t before) {
    if (id.value >= before) terms_[id.value].content = true;
  }
  // Likewise that it is of any spelling, and a character that needs no escape.
  void MarkSpelling(TermId id, size_t before, bool plain_character = false) {
    if (id.value < before) return;
    terms_[id.value].any_spelling = true;
    terms_[id.value].plain_character = plain_character;
  }
  // How many characters its texts have; see character_counts.cc.
  const JsonPlaces::Counts& CharacterCounts(TermId id);
  // Of two classes of characters; nullopt where one is none.
  std::optional<bool> IncludesClass(TermId whole, TermId part) const;
  bool IsOneCharacter(TermId x);     // IsJsonCharacter, under the lock
  void NoteOneCharacter(TermId id);  // notes that it is one, which then is not found out
  uint32_t FewestCharactersFrom(uint8_t place, TermId id, TermId rest, int depth);
  // Whether parts of the kAnd want different numbers of characters, so that it matches no text.
  bool CountsClash(TermId boolean);
  bool MergeAnyContent(TermList* parts);
  TermId AnyJsonCharacter();
  // So many of any characters of a JSON string, whatever number.
  bool CountsAny(const Term& t) const {
    return t.kind == TermKind::kRepeat && t.children()[0] == json_any_;
  }
  bool KnowsAnyContent(const TermList& parts);
  // A part of an intersection that is `endless` of `least` to `most` characters.
  struct CountApart {
    TermId endless;
    int64_t least, most;
  };
  std::optional<CountApart> FindCountApart(TermId id);
  void DropContent(TermList* alternatives);
  bool IsContentBefore(TermId id, TermId rest);
  TermId Spread(TermId head, TermId rest);  // the sequence, as a choice where the head is one
  bool LeavesNoRounds(TermId excluded, std::span<const TermId> parts) const;
  TermId RawNot(TermId part);
  // Itself, or Nothing() when it matches no text. No text of it is shorter than `least`.
  TermId Checked(TermId boolean, uint64_t least = 0);
  TermId Ask(TermId boolean);  // the same by a search
  TermId AskOnce(TermId boolean);
  std::optional<TermId> Known(TermId boolean);    // what Checked says, where that is known
  void AtLeast(TermId boolean, uint64_t length);  // notes that no text is shorter
  TermId Vouched(TermId boolean, uint64_t min_length);
  bool NowMatches(TermId id);  // notes that; false where the answer was known
  std::optional<TermId> CheckedByLength(TermId id);
  std::optional<TermId> CheckedByWitness(TermId id);
  std::optional<TermId> CheckedWithoutBounds(TermId id);
  std::optional<TermId> CheckedByCount(TermId id, bool make);  // see count_lengths.cc
  // The edges of a state; of a boolean one with targets as they come, whatever these match.
  std::span<const ByteEdge> UncheckedEdges(TermId id);
  TermId MatchesNothing(TermId boolean);  // notes that; Nothing()
  uint8_t AskLoose(TermId loose);
  bool IsSeenEmpty(std::span<const TermId> parts);
  void AskWithoutCounts(TermId boolean);
  TermId Unbounded(TermId part, int64_t* bound);
  TermId AfterByte(TermId id, uint8_t byte, int depth);
  template <class Rest>
  std::optional<TermId> AfterText(TermId text, uint8_t byte, Rest&& rest);
  // What is left of a text after its first byte, which is a character of its own.
  TermId Tail(TermId text);
  const Expansion* Derive(TermId id, bool raw);
  const Expansion* RawExpansion(TermId id);
  // Whether with the backslash a kAnd's texts begin only where they write a character in another
  // way than others of its texts, which are shorter and go on alike. One part of which that is so
  // is enough: what the others read however it is written, they read so. Expands parts.
  bool OnlyRespelled(const Term& boolean);
  // The digits of a number in some ranges (ascending, disjoint). Digits are of so many bits;
  // `first` and `rest`: the bytes for those with a bit set, of the first digit and of the others.
  using NumberRange = std::pair<uint32_t, uint32_t>;
  struct NumberSpelling {
    int bits;
    ByteSet (*first)(uint64_t);
    ByteSet (*rest)(uint64_t);
  };
  TermId NumberTerm(std::span<const NumberRange> ranges, int digits,
                    const NumberSpelling& spelling);
  TermId HexTerm(std::span<const NumberRange> ranges);  // four digits
  TermId HexDigit(uint32_t digit);                      // in either case
  TermId BuildCharacter(const CodePointSet& characters, bool json);
  TermId Utf8Term(const CodePointSet& characters);
  TermId MakeFar(TermId id);
  std::optional<Loop> LoopOf(TermId id, uint32_t first_bytes, int depth);
  // That, where its characters have as many first bytes.
  std::optional<Loop> WideLoopOf(TermId id, uint32_t first_bytes);
  const Term* CountedPart(TermId id) const;
  // A state `loop last rest`, or `(loop last)? rest` if optional, whose last round is `last`.
  struct LastRound {
    const Term* loop = nullptr;
    TermId last, rest;
    bool optional = false;
  };
  std::optional<LastRound> FindLastRound(TermId id);
  std::optional<Counted> FindFixedEnd(TermId id);
  bool BeginsWithQuote(TermId id) const;
  TermId PartsBeforeQuote(TermId id, TermList* parts) const;
  bool ReadsOnly(TermId x, TermId part);
  std::optional<TermId> WithoutNots(TermId id, bool endless);
  TermId WithoutLeast(TermId id, LooseHead* head);
  TermId WithRepeat(TermId id, const Term& counted, int64_t min);
  // Which bounds WithoutBounds() leaves out, and what is known of those that it did.
  struct Loosening {
    int64_t least;  // of the bytes that they allow
    bool characters =
        false;  // they are measured in characters of a JSON string instead, all of them
    // As in `X{0,9} [0-9]{12}`: a number of rounds that has something in front says where the text
    // ends, and stays.
    bool keep_exact = false;

    int64_t bound = kUnbounded;  // what those left out allow at least, measured so
    bool plain = true;           // none was inside an intersection
    bool behind = false;         // under way: something is in front
    // How many terms are looked at; of parts that are shared there are far more ways than parts.
    uint32_t terms_left = 1 << 16;
  };
  TermId WithoutBounds(TermId id, bool rest, int levels, Loosening* out);
  std::optional<uint64_t> EndlessFor(TermId id, bool last, int depth, uint64_t* round);
  bool Includes(TermId whole, TermId part);
  bool AddTexts(TermId id, std::vector<std::string>* texts) const;
  // The text of a JSON string that `id` begins with, where its first character is ASCII.
  std::optional<TermId> AsciiHead(TermId id) const;
  // What comes after a text that is `id` or its head.
  TermId AfterHead(TermId text, TermId id) const;
  // What comes after one round of a repeat that `rest` follows, `both` together: of a loop without
  // bounds all is as it was, of others one round is done.
  TermId AfterRound(const Term& repeat, TermId rest, TermId both);

  // Read at the end of every call of a matcher: beside what does not change.
  std::atomic<Overrun> overrun_ = Overrun::kNone;
  const Limits limits_;
  const int64_t small_count_;
  mutable std::mutex mutex_;
  BumpArena memory_;
  StableVector<Term> terms_;
  StableVector<Proc> procs_;
  StableVector<ByteSet, 6> byte_classes_;
  StableVector<Multiple, 6> multiples_;
  std::vector<std::unique_ptr<TokenSet>> token_set_storage_;
  StableVector<TokenSet*, 6> token_sets_;
  size_t token_set_bytes_ = 0;
  IdTable table_;
  absl::flat_hash_map<ByteSet, uint32_t> byte_class_ids_;
  absl::flat_hash_map<std::pair<uint64_t, uint32_t>, uint32_t> multiple_ids_;
  absl::flat_hash_map<std::pair<bool, std::vector<TokenId>>, uint32_t> token_set_ids_;
  // Character() by whether it is JSON's and the ranges, and these by its term.
  ShardedMap<std::string_view, TermId, TextHash> characters_;
  absl::flat_hash_map<uint32_t, std::span<const uint32_t>> classes_;
  std::array<TermId, 128> json_ascii_{};  // JsonCharacter(), once asked for
  TermId json_any_;                       // any character, once asked for
  // What terms do to the automaton of one such character, see json_content.cc.
  ShardedMap<uint32_t, JsonPlaces::Map> json_moves_;
  ShardedMap<uint32_t, const JsonPlaces::Counts*> json_counts_;
  std::array<TermId, 128> json_escapes_{};  // the literal that JsonEscapes() of one begins with
  std::array<TermId, 16> hex_digits_{};
  absl::flat_hash_map<uint32_t, ProcId> procs_by_body_;
  absl::flat_hash_map<uint64_t, ProcId> capturing_by_body_;
  ShardedMap<std::string_view, ProcId, TextHash> lazy_;  // lazy procedures by their programs
  std::unique_ptr<MemberTable> members_;
  std::unique_ptr<WordTable> words_;
  std::unique_ptr<RecordTable> records_;
  std::deque<RecursiveGroup> groups_;
  absl::flat_hash_map<GroupName, uint32_t> group_ids_;             // the words are in memory_
  ShardedMap<std::string_view, uint32_t, TextHash> saved_groups_;  // by name, which is in memory_
  std::vector<std::unique_ptr<SavedPool>> pools_;
  absl::flat_hash_map<uint64_t, uint32_t> pool_ids_;  // by the checksums of their files
  size_t pool_bytes_ = 0;
  int pools_in_use_ = 0;  // makings of their terms, one within another
  // kAnd and kNot only: edges whose targets have not been checked; whether it matches any text, see
  // emptiness.cc.
  ShardedMap<uint32_t, const Expansion*> raw_;
  ShardedMap<uint32_t, uint8_t> known_;
  // By bytes left and the parts of an intersection: whether CheckedByWitness found a text of so
  // many bytes. The keys are in memory_.
  ShardedMap<std::string_view, bool, TextHash> witnesses_;
  // By X; and the pairs of an X and a state for which none could be made.
  absl::flat_hash_map<uint32_t, std::vector<std::unique_ptr<CountLengths>>> count_lengths_;
  absl::flat_hash_set<std::pair<uint32_t, uint32_t>> uncounted_;
  size_t count_length_bytes_ = 0;
  absl::flat_hash_map<const Grammar*, StandardPart> standard_;
  bool over_budget_ = false, building_ = false;
  size_t search_left_ = 0;               // states that the search for emptiness may still explore
  size_t most_bytes_ = 0;                // of state_bytes()
  size_t other_bytes_ = 0;               // of what is made of terms
  uint64_t steps_ = 0, most_steps_ = 0;  // terms asked for, and their parts; items of sets
  uint64_t charged_steps_ = 0;           // those of them that are taken from search_left_
  std::thread::id overrun_thread_;       // written before overrun_
  // Questions of emptiness under way, each within the one before it; those that can go unanswered
  // as Nothing(). Of those that are put off the first one, behind all that it is within, and
  // whether any was since the outermost question was last asked. See Ask().
  absl::InlinedVector<TermId, kMostAsked> asked_;
  std::vector<TermId> waiting_;
  bool put_off_ = false;
  std::atomic<uint64_t> text_searches_ = 0;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_TERM_STORE_H_
