// How short a text is one of P and of X{n,m}?
//
// A pattern that wants lines of 64 characters, beside at least 1,600 of them: the shortest text has
// 25 line feeds, of two bytes each, which neither part knows of, so a search goes through all ways
// to spend 25 bytes elsewhere. But P has few states at which a character ends. The shortest text of
// each that is k characters is that of k - 1 after the best first character: a row of numbers for
// each k, which is made once for all states and all bounds. It also tells that there is none.
//
// No text of X begins another, so that a text is rounds of X in one way only. Of n rounds or more
// the shortest has at most n and one for each state: between two visits of one state it could be
// cut.
//
// Cost: a visit of each pair of a state of P and one of X, then one of each move for each row.
// Tests: tests/automaton/count_lengths_test.cc.
#include "automaton/count_lengths.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace grammask::internal {
namespace {

constexpr size_t kMostStates = 4096;
constexpr size_t kMostPairs = size_t{1} << 17;
constexpr size_t kMostNumbers = size_t{1} << 20;  // in all rows
constexpr size_t kMostBytes = size_t{16} << 20;   // of all tables

}  // namespace

std::unique_ptr<CountLengths> CountLengths::Create(TermStore* store, TermId x, TermId start,
                                                   size_t* pairs) {
  std::unique_ptr<CountLengths> made(new CountLengths);
  made->NumberOf(start);
  for (uint32_t i = 0; i < made->states_.size(); ++i) {
    made->first_move_.push_back(static_cast<uint32_t>(made->moves_.size()));
    if (made->states_.size() > kMostStates || !made->Explore(store, x, i, pairs)) return nullptr;
  }
  made->first_move_.push_back(static_cast<uint32_t>(made->moves_.size()));
  for (TermId state : made->states_) {
    made->rows_.push_back(store->terms_[state.value].nullable ? 0 : kNone);
  }
  made->row_count_ = 1;
  made->dead_ = std::ranges::count(made->rows_, 0u) == 0;
  return made;
}

uint32_t CountLengths::NumberOf(TermId state) {
  const auto [it, added] = numbers_.try_emplace(state.value, static_cast<uint32_t>(states_.size()));
  if (added) states_.push_back(state);
  return it->second;
}

// Byte by byte, so that each state is first met by the shortest round.
bool CountLengths::Explore(TermStore* store, TermId x, uint32_t from, size_t* pairs) {
  struct Pair {
    TermId p, x;
    uint32_t bytes;
  };
  std::vector<Pair> todo = {{states_[from], x, 0}};
  absl::flat_hash_set<std::pair<uint32_t, uint32_t>> met;
  absl::flat_hash_set<uint32_t> reached;
  for (size_t i = 0; i < todo.size(); ++i) {
    const Pair at = todo[i];
    if (++*pairs > kMostPairs) return false;
    const std::span<const ByteEdge> p = store->UncheckedEdges(at.p);
    for (const ByteEdge& edge : store->UncheckedEdges(at.x)) {
      for (auto e = std::ranges::lower_bound(p, edge.lo, {}, &ByteEdge::hi);
           e != p.end() && e->lo <= edge.hi; ++e) {
        if (e->to == TermStore::Nothing()) continue;
        if (edge.to == TermStore::Empty()) {
          const uint32_t to = NumberOf(e->to);
          if (reached.insert(to).second) moves_.push_back({to, at.bytes + 1});
        } else if (store->terms_[edge.to.value].nullable) {
          return false;
        } else if (met.insert({e->to.value, edge.to.value}).second) {
          todo.push_back({e->to, edge.to, at.bytes + 1});
        }
      }
    }
  }
  return true;
}

std::optional<uint32_t> CountLengths::Find(TermId state) const {
  const auto it = numbers_.find(state.value);
  return it == numbers_.end() ? std::nullopt : std::optional(it->second);
}

void CountLengths::AddRow() {
  const size_t width = states_.size();
  rows_.resize(rows_.size() + width, kNone);
  const uint32_t* const before = &rows_[(row_count_ - 1) * width];
  uint32_t* const row = &rows_[row_count_ * width];
  ++row_count_;
  dead_ = true;
  for (size_t s = 0; s < width; ++s) {
    for (uint32_t m = first_move_[s]; m < first_move_[s + 1]; ++m) {
      const uint32_t rest = before[moves_[m].to];
      if (rest != kNone) row[s] = std::min(row[s], rest + moves_[m].bytes);
    }
    dead_ = dead_ && row[s] == kNone;
  }
}

std::optional<uint32_t> CountLengths::Shortest(uint32_t state, int64_t least, int64_t most) {
  const size_t width = states_.size();
  const auto first = static_cast<uint64_t>(least);
  const uint64_t last = std::min(static_cast<uint64_t>(most), first + width);
  uint32_t best = kNone;
  // A round takes a byte at least.
  for (uint64_t k = first; k <= last && (best == kNone || k < best); ++k) {
    while (row_count_ <= k && !dead_) {
      if ((row_count_ + 1) * width > kMostNumbers) return std::nullopt;
      AddRow();
    }
    if (row_count_ <= k) break;
    best = std::min(best, rows_[k * width + state]);
  }
  return best;
}

size_t CountLengths::memory_bytes() const {
  return sizeof(CountLengths) + states_.capacity() * sizeof(TermId) + numbers_.size() * 12 +
         first_move_.capacity() * 4 + moves_.capacity() * sizeof(Move) + rows_.capacity() * 4;
}

// `P & X{n,m}`, where a table of P's states is there, or one is made now (`make`). Nullopt where it
// does not tell.
std::optional<TermId> TermStore::CheckedByCount(TermId id, bool make) {
  const Term& t = terms_[id.value];
  if (t.kind != TermKind::kAnd || (!make && count_lengths_.empty())) return std::nullopt;
  TermId count = Nothing();  // of several the one with the greatest bounds
  for (TermId part : t.children()) {
    const Term& p = terms_[part.value];
    if (p.kind != TermKind::kRepeat || (p.a == 0 && p.b == kUnbounded)) continue;
    const Term& other = terms_[count.value];
    if (count == Nothing() || std::pair(other.a, other.b) < std::pair(p.a, p.b)) count = part;
  }
  if (count == Nothing()) return std::nullopt;
  absl::InlinedVector<TermId, 8> others;
  for (TermId part : t.children()) {
    if (part == count) continue;
    others.push_back(part);
    // What is inside of a part takes searches of its own.
    const Term& p = terms_[part.value];
    const bool plain =
        p.kind == TermKind::kNot ? !terms_[p.children()[0].value].boolean : !p.boolean;
    if (!plain) return std::nullopt;
  }
  const Term& loop = terms_[count.value];
  const TermId x = loop.children()[0];
  const TermId rest = others.size() == 1 ? others[0] : RawAnd(others);
  const auto tables = count_lengths_.find(x.value);
  CountLengths* table = nullptr;
  std::optional<uint32_t> state;
  if (tables != count_lengths_.end()) {
    for (const auto& known : tables->second) {
      state = known->Find(rest);
      if (state.has_value()) {
        table = known.get();
        break;
      }
    }
  }
  if (table == nullptr) {
    const std::pair key(x.value, rest.value);
    if (!make || count_length_bytes_ > kMostBytes || uncounted_.contains(key)) return std::nullopt;
    size_t pairs = 0;
    auto made = CountLengths::Create(this, x, rest, &pairs);
    if (put_off_) return std::nullopt;
    search_left_ -= std::min(search_left_, pairs);
    if (made == nullptr) {
      uncounted_.insert(key);
      return std::nullopt;
    }
    state = made->Find(rest);
    table = made.get();
    count_length_bytes_ += table->memory_bytes();
    count_lengths_[x.value].push_back(std::move(made));
  }
  const size_t before = table->memory_bytes();
  const std::optional<uint32_t> length = table->Shortest(*state, loop.a, loop.b);
  count_length_bytes_ += table->memory_bytes() - before;
  if (!length.has_value()) return std::nullopt;
  if (*length != CountLengths::kNone) return Vouched(id, *length);
  return MatchesNothing(id);
}

std::span<const ByteEdge> TermStore::UncheckedEdges(TermId id) {
  const TermKind kind = terms_[id.value].kind;
  const bool raw = kind == TermKind::kAnd || kind == TermKind::kNot;
  return raw ? RawExpansion(id)->bytes : ExpandLocked(id).bytes;
}

}  // namespace grammask::internal
