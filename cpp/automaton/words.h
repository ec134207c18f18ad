// Long lists of words as states: an ordered list is its own trie.
#ifndef GRAMMASK_AUTOMATON_WORDS_H_
#define GRAMMASK_AUTOMATON_WORDS_H_

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "automaton/term_store.h"
#include "base/arena.h"

namespace grammask::internal {

// A kWords term is some words of one list, neighbours that begin alike, without that beginning.
// All functions need the lock of the TermStore. Ids are stable.
class WordTable {
 public:
  // Choices of fewer literals are choices of terms.
  static constexpr size_t kFewest = 32;
  // Words of which the characters are counted.
  static constexpr size_t kMostCounted = 4096;

  explicit WordTable(TermStore* store) : s_(*store) {}

  // The choice of `words`; `json`: decoded text (valid UTF-8) in any JSON spelling.
  TermId Choice(std::vector<std::string_view> words, bool json);
  // Appends the edges of a kWords term; they may overlap. `spelled`, `escapes`: whether a backslash
  // is read as another spelling somewhere, and in its own right.
  void Read(const Term& term, absl::InlinedVector<ByteEdge, 16>* edges, bool* spelled,
            bool* escapes);
  bool Nullable(const Term& term) const;
  uint64_t MinLength(const Term& term) const;
  // How many characters the words left have, at least and at most; nothing where these are many,
  // begin inside a character or are no JSON strings.
  struct Range {
    uint64_t least, most;
  };
  std::optional<Range> Characters(const Term& term) const;
  // The words left, each as a literal.
  std::vector<std::string_view> Rest(const Term& term) const;
  bool json(const Term& term) const { return lists_[Of(term).list].json; }
  // All words of a list, none of them begun.
  bool whole(const Term& term) const {
    const State s = Of(term);
    return !s.escaped && s.offset == 0 && s.first == 0 && s.last == lists_[s.list].words.size();
  }
  bool escaped(const Term& term) const { return Of(term).escaped; }

  size_t memory_bytes() const { return memory_.bytes() + list_bytes_; }

 private:
  struct List {
    std::span<const std::string_view> words;  // ascending, unique
    std::span<const uint32_t> lengths;        // of the words as they are spelled
    bool json;
  };
  // Words [first, last) of a list, of which `offset` bytes have been read; and of the next
  // character, where `escaped`, the backslash.
  struct State {
    uint32_t list, offset, first, last;
    bool escaped = false;
  };
  // Words that begin with one character.
  struct Group {
    uint32_t code_point, bytes, first, last;
  };

  static State Of(const Term& t) {
    return {static_cast<uint32_t>(t.a >> 32) & ~kEscaped, static_cast<uint32_t>(t.a),
            static_cast<uint32_t>(t.b >> 32), static_cast<uint32_t>(t.b),
            (t.a >> 32 & kEscaped) != 0};
  }
  TermId At(const State& state);
  TermId StateTerm(const State& state);
  // Calls f(group) for what may come next.
  template <class F>
  void ForEachGroup(const State& state, F&& f) const;
  void ReadEscaped(const State& state, absl::InlinedVector<ByteEdge, 16>* edges);
  uint64_t Shortest(const List& list, const State& state) const;

  static constexpr uint32_t kEscaped = uint32_t{1} << 30;

  TermStore& s_;
  BumpArena memory_;
  std::vector<List> lists_;
  size_t list_bytes_ = 0;
  absl::flat_hash_map<uint64_t, std::vector<uint32_t>> by_hash_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_WORDS_H_
