// The grammar: rules over hash-consed expression nodes. What every front end produces and the
// automaton consumes.
//
// A Grammar is immutable once built and may be read from many threads. Nodes are stored children
// first, so a pass over all of them is a loop from 0 to node_count(), never a recursion.
#ifndef GRAMMASK_GRAMMAR_AST_H_
#define GRAMMASK_GRAMMAR_AST_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_set.h"
#include "base/code_point_set.h"
#include "base/ids.h"
#include "base/scratch.h"
#include "base/status.h"
#include "grammask/limits.h"

namespace grammask::internal {

enum class NodeKind : uint8_t {
  kNothing,    // matches no text
  kEmpty,      // matches the empty text
  kBytes,      // a literal byte string, not empty; may be any bytes
  kJsonText,   // a literal UTF-8 text, not empty, in any spelling JSON allows inside quotes
               // (`a`, `\u0061`, `\n`, surrogate pairs...); the quotes are not part of it
  kByteClass,  // one byte of a ByteSet
  kClass,      // one character of a CodePointSet, in UTF-8
  kJsonClass,  // one character of a CodePointSet, in any spelling JSON allows inside quotes
  kSequence,   // children one after another, two or more
  kChoice,     // one of the children, two or more; order has no meaning
  kRepeat,     // the child, between min and max times
  kRule,       // whatever the rule matches
  kAnd,        // texts that every child matches; children regular; two or more
  kNot,        // byte strings that the child does not match; child regular
  kMultiple,   // digits (dots among them are skipped) that read as a multiple: see Multiple
  kTokens,     // one token by its id, special tokens included: see TokenSet
  kMembers,    // members in any order, separated, with conditions on all of them: see Members
  kRecord,     // members of a JSON object in one order, and others after them: see Record
  kStandard,   // whatever the root of another grammar matches, which is there for good
};

// kMultiple: let D be the number that all the digits spell together (0 for none); matches when
// D * 10^scale is divisible by modulus. modulus >= 1, and modulus * 10 < 2^63; scale <= 400.
struct Multiple {
  uint64_t modulus;
  uint32_t scale;
  friend bool operator==(const Multiple&, const Multiple&) = default;
};

// kTokens: sorted, unique ids; when `excluded`, every token but these (special and stop tokens are
// then out too).
struct TokenSet {
  std::vector<TokenId> ids;
  bool excluded = false;
  friend bool operator==(const TokenSet&, const TokenSet&) = default;
};

// "no upper bound" of a repeat.
inline constexpr int64_t kUnbounded = INT64_MAX;

// kMembers: one or more members in any order with a separator between two, and `end` after the
// last. So are the members of a JSON object whose keys may come in any order, and the elements of
// an array that must all be different.
enum class MemberUse : uint8_t {
  kOptional,  // at most once
  kRequired,  // exactly once
  kRepeated,  // any number of times
  kDistinct,  // any number of times, each time with another value: the member's texts are JSON
              // strings, numbers, true, false and null, and compared as such (1 and 1.0 are equal)
  kPlaced,    // one of those at a place of the list, with a value that no other such or distinct
              // member has. Where there are such, they are at the first places, and beside them are
              // only repeated and distinct members, and no conditions
};
// Whether such a member comes once at most; the others may meet conditions.
constexpr bool ComesOnce(MemberUse use) {
  return use == MemberUse::kOptional || use == MemberUse::kRequired || use == MemberUse::kPlaced;
}
// Whether no two such members may have the same value.
constexpr bool HasOwnValue(MemberUse use) {
  return use == MemberUse::kDistinct || use == MemberUse::kPlaced;
}
// "optional", "required", "repeated", "distinct", "placed".
std::string_view MemberUseName(MemberUse use);
inline constexpr size_t kMaxMemberConditions = 8, kMaxMemberPlaces = 64;
// A member's use and conditions, or place, in a word.
constexpr uint32_t MemberWord(MemberUse use, uint32_t meets, uint32_t place) {
  return static_cast<uint32_t>(use) | (use == MemberUse::kPlaced ? place : meets) << 8;
}
constexpr MemberUse UseOfWord(uint64_t word) { return static_cast<MemberUse>(word & 0xFF); }
constexpr uint32_t MeetsOfWord(uint64_t word) {
  return UseOfWord(word) == MemberUse::kPlaced ? 0 : static_cast<uint32_t>(word >> 8);
}
constexpr uint32_t PlaceOfWord(uint64_t word) {
  return UseOfWord(word) == MemberUse::kPlaced ? static_cast<uint32_t>(word >> 8) : 0;
}
// Whether members placed are as MemberUse says, with some at each place up to the last.
bool PlacesAreSound(std::span<const uint32_t> words, uint32_t conditions);
// Takes away what is behind a place at which nothing can be, as is_nothing(member) tells; returns
// how many places there are before it.
template <class List, class IsNothing>
uint32_t EndBeforeGap(List* members, const IsNothing& is_nothing) {
  uint32_t places = 0;
  uint64_t filled = 0;
  for (const auto& member : *members) {
    if (member.use != MemberUse::kPlaced) continue;
    places = std::max(places, member.place + 1);
    if (!is_nothing(member)) filled |= uint64_t{1} << member.place;
  }
  const auto reached = static_cast<uint32_t>(std::countr_one(filled));
  if (reached < places) {
    std::erase_if(*members, [&](const auto& member) {
      return member.use != MemberUse::kPlaced || member.place >= reached;
    });
  }
  return reached;
}
struct Members {
  struct Member {
    NodeId node;  // must not match the empty text
    MemberUse use = MemberUse::kOptional;
    uint32_t meets = 0;  // which conditions this member meets, a bit each; none where it comes once
    uint32_t place = 0;  // kPlaced: of those before it in the list, their number
  };
  NodeId separator, end;
  ScratchVector<Member> members;
  int64_t min = 1, max = kUnbounded;  // members in all
  uint32_t conditions = 0;            // so many; some member must meet each
};
// The same as stored: member i is children[i + 2] of the node. Of other kinds: nothing.
class MembersView {
 public:
  MembersView() = default;
  // `words`: after the children, the uses, then bounds and conditions (EncodeMembers).
  MembersView(const uint32_t* words, uint32_t count) : words_(words), count_(count) {}

  int64_t min() const { return Bound(0); }
  int64_t max() const { return Bound(2); }
  uint32_t conditions() const { return words_[count_ + 4]; }
  std::span<const uint32_t> uses() const { return {words_, count_}; }  // MemberWord()
  MemberUse use(size_t i) const { return UseOfWord(words_[i]); }
  uint32_t meets(size_t i) const { return MeetsOfWord(words_[i]); }
  uint32_t place(size_t i) const { return PlaceOfWord(words_[i]); }

 private:
  int64_t Bound(size_t at) const {
    const uint32_t* words = words_ + count_ + at;
    return static_cast<int64_t>(uint64_t{words[1]} << 32 | words[0]);
  }
  const uint32_t* words_ = nullptr;
  uint32_t count_ = 0;
};

// kRecord: a JSON object whose named members stand in their order, each that is not required may be
// left out, and others may follow. The short form of what ExpandRecord (record.h) writes out:
//   open (end | member (comma member)* end)    with member ::= quote key quote_colon value after
// so that an object takes one node, and its states are made when a text gets there.
struct Record {
  NodeId open, end, quote, comma, comma_quote, quote_colon, colon, after;
  // The text of a key that is none of the named ones, without its quotes, if it were not for
  // these, and the value of such a member; Nothing where there are none.
  NodeId any_key, other;
  bool may_be_empty = true;
  struct Member {
    std::string_view key;  // UTF-8, not empty
    NodeId value;          // Nothing: no such member, but others must not have its name either
    bool required = false;
  };
  ScratchVector<Member> members;
};
// The same as stored: the nodes above are children[0..9], the values follow. Of other kinds:
// nothing.
class RecordView {
 public:
  // The children of the node; kFixed of them, and then the values.
  enum Child : size_t {
    kOpen,
    kEnd,
    kQuote,
    kComma,
    kCommaQuote,
    kQuoteColon,
    kColon,
    kAfter,
    kAnyKey,
    kOther,
    kFixed
  };
  RecordView() = default;
  // `words`: after the children, whether each member is required, where its key ends, the keys, and
  // whether there may be no member (EncodeRecord).
  RecordView(const uint32_t* words, size_t members) : words_(words), members_(members) {}

  size_t size() const { return members_; }
  bool required(size_t i) const { return words_[i] != 0; }
  std::string_view key(size_t i) const {
    const uint32_t begin = i == 0 ? 0 : words_[members_ + i - 1];
    return keys().substr(begin, words_[members_ + i] - begin);
  }
  // All keys, one after another.
  std::string_view keys() const {
    return {reinterpret_cast<const char*>(words_ + 2 * members_),
            members_ == 0 ? 0 : words_[2 * members_ - 1]};
  }
  bool may_be_empty() const { return words_[2 * members_ + (keys().size() + 3) / 4] != 0; }
  // All that it is read from.
  std::span<const uint32_t> words() const {
    return {words_, 2 * members_ + (keys().size() + 3) / 4 + 1};
  }

 private:
  const uint32_t* words_ = nullptr;
  size_t members_ = 0;
};

class Grammar;

// One node, as a view into its Grammar. Only the fields of its kind have a meaning.
struct NodeView {
  NodeKind kind;
  bool regular;                      // no kRule and no kTokens below
  std::span<const NodeId> children;  // kSequence kChoice kRepeat(1) kAnd kNot(1)
                                     // kMembers: separator, end, members; kRecord: see there
  std::string_view text;             // kBytes kJsonText
  const ByteSet* bytes;              // kByteClass
  const CodePointSet* characters;    // kClass kJsonClass
  int64_t min, max;                  // kRepeat; max may be kUnbounded
  RuleId rule;                       // kRule
  Multiple multiple;                 // kMultiple
  const TokenSet* tokens;            // kTokens
  MembersView members;               // kMembers
  RecordView record;                 // kRecord
  const Grammar* standard;           // kStandard
};

class NodeStorage;

class Grammar {
 public:
  RuleId root() const;
  size_t rule_count() const;
  size_t node_count() const;
  const std::string& rule_name(RuleId rule) const;  // [A-Za-z_][A-Za-z0-9_]*, unique
  NodeId rule_body(RuleId rule) const;
  NodeView node(NodeId id) const;
  const NodeStorage& nodes() const;  // node_store.h: the same, for passes over all of them
  size_t memory_bytes() const;
  bool has_short_forms() const;  // whether a node is a kRecord or kStandard

  // The grammar as EBNF that ParseEbnf reads back as an equal grammar: one line a rule, the root
  // rule first and named "root".
  std::string ToString() const;

 private:
  friend class GrammarBuilder;
  struct Data;
  std::shared_ptr<const Data> data_;
};

// Builds one Grammar. Node functions never fail: they simplify (a sequence with kNothing is
// kNothing, nested sequences and choices are flattened, neighbouring literals merge, a repeat of 1
// is its child ...), hash-cons, and return an existing id where an equal node exists. Long nested
// lists and literals may stay as they are, so that building one by one is linear. Not thread-safe.
// Once over limits.max_ast_nodes all functions return Nothing() and Finish fails; references to
// children and long texts and classes count too.
class GrammarBuilder {
 public:
  explicit GrammarBuilder(const Limits& limits = {});
  ~GrammarBuilder();
  GrammarBuilder(GrammarBuilder&&) noexcept;
  GrammarBuilder& operator=(GrammarBuilder&&) noexcept;

  NodeId Nothing();
  NodeId Empty();
  NodeId Bytes(std::string_view bytes);    // "" gives Empty()
  NodeId JsonText(std::string_view text);  // valid UTF-8; "" gives Empty()
  NodeId ByteClass(const ByteSet& bytes);  // {} gives Nothing()
  NodeId Class(const CodePointSet& characters);
  NodeId JsonClass(const CodePointSet& characters);
  NodeId Sequence(std::span<const NodeId> parts);
  NodeId Sequence(std::initializer_list<NodeId> parts);
  // The same with `tail` as the last part, which stays one node where it is a sequence: what
  // several sequences end in costs each of them one reference.
  NodeId SequenceBefore(std::span<const NodeId> parts, NodeId tail);
  NodeId Choice(std::span<const NodeId> alternatives);
  NodeId Choice(std::initializer_list<NodeId> alternatives);
  NodeId Repeat(NodeId node, int64_t min, int64_t max);  // 0 <= min <= max, max maybe kUnbounded
  NodeId Optional(NodeId node) { return Repeat(node, 0, 1); }
  NodeId Star(NodeId node) { return Repeat(node, 0, kUnbounded); }
  NodeId Rule(RuleId rule);
  NodeId And(std::span<const NodeId> parts);  // parts must be regular; {} gives AnyBytes()
  NodeId And(std::initializer_list<NodeId> parts);
  NodeId Not(NodeId node);  // must be regular
  NodeId AnyBytes();        // every byte string: Not(Nothing())
  NodeId MultipleOf(const Multiple& multiple);
  NodeId Tokens(TokenSet tokens);
  // Members that match nothing are left out; Nothing() when a required one does, or when the
  // counts cannot be met.
  NodeId Members(const internal::Members& members);
  // Nothing() when a required member matches nothing. For grammars that go to the automaton.
  NodeId Record(const internal::Record& record);
  // What many grammars have in common: the root of `grammar`, which never goes away and has no
  // short forms itself. The short form of importing it: the automaton makes its states once.
  NodeId Standard(const Grammar& grammar);

  // Reads back what was built so far.
  NodeView node(NodeId id) const;
  const NodeStorage& nodes() const;  // node_store.h: the same, for passes over all of them

  // A new rule without a body. `name` is made unique and fit ([A-Za-z0-9_]) when it is not.
  RuleId AddRule(std::string_view name);
  void SetBody(RuleId rule, NodeId body);  // once for each rule
  bool HasBody(RuleId rule) const;
  NodeId body(RuleId rule) const;  // of a rule that has one
  size_t rule_count() const;

  // Everything of `grammar`, copied into this builder as new rules; returns its root. Short forms
  // are written out where `expand` says so.
  RuleId Import(const Grammar& grammar, bool expand = false);
  // The body of the only rule of `grammar`, which must be regular, copied into this builder.
  NodeId ImportBody(const Grammar& grammar);

  // The nodes of `grammar`, children first, with its rules replaced; their ids here, by node.
  ScratchVector<NodeId> ImportNodes(const Grammar& grammar, std::span<const RuleId> rule_map,
                                    bool expand = false);

  // Drops what `root` does not reach. kInternal when a reached rule has no body;
  // kResourceExhausted over max_ast_nodes. The builder is empty afterwards.
  StatusOr<Grammar> Finish(RuleId root);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_AST_H_
