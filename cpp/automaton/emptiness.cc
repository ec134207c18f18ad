// Does an intersection or complement match any text, and how short a one?
//
// Without intersection and complement a term is empty only when it is Nothing(). With them the
// question is a search through the derivatives for a nullable one: A*, with the longest of the
// parts' own shortest texts as a lower bound, so that it walks straight to the answer where the
// parts do not clash. `.*a.*` & `.{5}` finds "xxxxa" in five steps. All states on the way found
// learn their exact shortest length; when the search runs out, all states seen match nothing. So no
// state that matches nothing is ever a target of an edge, and no mask leads into a dead end.
//
// Cost: a few states in practice; at most Limits::max_regular_states for all questions of one
// grammar while it is built, and for one question later, after which the term is taken for not
// empty and over_budget() says so (building then fails).
//
// Tests: tests/automaton/term_test.cc.
#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <optional>
#include <queue>

#include "automaton/term_store.h"

namespace grammask::internal {
namespace {

// kTooFar: kLooseStates did not tell; more might.
constexpr uint8_t kMatches = 1, kEmptyLanguage = 2, kUndecided = 3, kTooFar = 4;

// States for which the question without bounds may be asked first, and bounds it may leave out.
constexpr size_t kLooseStates = 64;
constexpr int kMostBounds = 4;

}  // namespace

class EmptinessSearch {
 public:
  explicit EmptinessSearch(TermStore& store) : s_(store) {}

  // Whether the kAnd or kNot matches any text; nullopt where `most` states do not tell.
  std::optional<bool> Within(TermId start, size_t most) {
    most_ = most;
    const bool matches = Run(start).has_value();
    if (gave_up_) return std::nullopt;
    return matches;
  }

  // The length of the shortest text of `start`, a kAnd or kNot; nullopt when it matches nothing.
  std::optional<uint64_t> Run(TermId start) {
    const bool whole_budget = s_.search_left_ == s_.limits_.max_regular_states;
    seen_.emplace(start.value, Visit{0, start, false});
    open_.push({s_.terms_[start.value].min_length, Wanting(start), 0, start});
    while (!open_.empty()) {
      const Entry top = open_.top();
      open_.pop();
      Visit& visit = seen_[top.id.value];
      if (visit.closed || top.cost > visit.cost) continue;
      visit.closed = true;
      if (const auto rest = KnownLength(top.id)) {
        Settle(top.id, top.cost + *rest);
        return top.cost + *rest;
      }
      if (most_-- == 0) {
        gave_up_ = true;
        return std::nullopt;
      }
      if (s_.search_left_ == 0) {
        gave_up_ = true;
        s_.over_budget_ = true;
        // With a budget of its own the question may still be decided another time.
        if (whole_budget) s_.known_[start.value] = kUndecided;
        return s_.terms_[start.value].min_length;
      }
      --s_.search_left_;
      Extend(top);
    }
    for (const auto& [id, visit] : seen_) s_.known_[id] = kEmptyLanguage;
    return std::nullopt;
  }

 private:
  struct Entry {
    uint64_t estimate;
    uint64_t wanting;
    uint64_t cost;
    TermId id;
    // For a min-heap. Among equals first the one whose parts want least all together, so that a
    // text of a given length has what every part looks for at once; then the deeper one.
    bool operator<(const Entry& o) const {
      if (estimate != o.estimate) return estimate > o.estimate;
      return wanting != o.wanting ? wanting > o.wanting : cost < o.cost;
    }
  };
  struct Visit {
    uint64_t cost;
    TermId from;
    bool closed;
  };

  // The sum of the parts' own shortest texts.
  uint64_t Wanting(TermId id) const {
    const Term& t = s_.terms_[id.value];
    if (t.kind != TermKind::kAnd) return 0;
    uint64_t sum = 0;
    for (TermId part : t.children) sum += s_.terms_[part.value].min_length;
    return sum;
  }

  // The exact shortest length of a state, where it needs no search.
  std::optional<uint64_t> KnownLength(TermId id) const {
    const Term& t = s_.terms_[id.value];
    if (t.nullable) return 0;
    if (t.kind != TermKind::kAnd && t.kind != TermKind::kNot) return t.min_length;
    if (auto it = s_.known_.find(id.value); it != s_.known_.end() && it->second == kMatches) {
      return t.min_length;
    }
    return MultipleOfAnyLength(t);
  }

  // [0-9]* & multiple(r, m, scale): the least k for which some k digits lead to a multiple. Found
  // by arithmetic, since a search would try up to m states.
  std::optional<uint64_t> MultipleOfAnyLength(const Term& t) const {
    if (t.kind != TermKind::kAnd || t.children.size() != 2) return std::nullopt;
    const Term* multiple = nullptr;
    const Term* digits = nullptr;
    for (TermId c : t.children) {
      const Term& part = s_.terms_[c.value];
      if (part.kind == TermKind::kMultiple) multiple = &part;
      if (part.kind == TermKind::kRepeat) digits = &part;
    }
    if (multiple == nullptr || digits == nullptr || digits->a != 0 || digits->b != kUnbounded) {
      return std::nullopt;
    }
    const Term& digit = s_.terms_[digits->children[0].value];
    if (digit.kind != TermKind::kByteClass ||
        !(s_.byte_class(digit.a) == ByteSet::Range('0', '9'))) {
      return std::nullopt;
    }
    return TermStore::ShortestMultiple(s_.multiple(multiple->b),
                                       static_cast<uint64_t>(multiple->a));
  }

  void Extend(const Entry& entry) {
    for (const ByteEdge& edge : s_.RawExpansion(entry.id)->bytes) {
      const TermId to = edge.to;
      if (to == TermStore::Nothing()) continue;
      if (auto it = s_.known_.find(to.value);
          it != s_.known_.end() && it->second == kEmptyLanguage) {
        continue;
      }
      const uint64_t cost = entry.cost + 1;
      auto [it, added] = seen_.try_emplace(to.value, Visit{cost, entry.id, false});
      if (!added) {
        if (it->second.closed || it->second.cost <= cost) continue;
        it->second = {cost, entry.id, false};
      }
      open_.push({cost + s_.terms_[to.value].min_length, Wanting(to), cost, to});
    }
  }

  // The states on the way to `last` match, and `length` less their distance is their shortest.
  void Settle(TermId last, uint64_t length) {
    for (TermId id = last;;) {
      const Visit& visit = seen_[id.value];
      Term& t = s_.terms_[id.value];
      // A nullable state knows its length, and other threads may be reading it.
      if ((t.kind == TermKind::kAnd || t.kind == TermKind::kNot) && !t.nullable) {
        if (s_.NowMatches(id)) t.min_length = length - visit.cost;
      }
      if (visit.from == id) return;
      id = visit.from;
    }
  }

  TermStore& s_;
  absl::flat_hash_map<uint32_t, Visit> seen_;
  std::priority_queue<Entry> open_;
  size_t most_ = SIZE_MAX;
  bool gave_up_ = false;
};

// A part of an intersection without the bound of the repeat that it is or ends with, and that
// bound; the part itself where there is none such.
TermId TermStore::Unbounded(TermId part, int64_t* bound) {
  const Term& t = terms_[part.value];
  const TermId last = t.kind == TermKind::kSequence ? t.children[1] : part;
  const Term& loop = terms_[last.value];
  if (loop.kind != TermKind::kRepeat || loop.b == kUnbounded || loop.b == loop.a) return part;
  *bound = std::min(*bound, loop.b);
  const TermId loose = Repeat(loop.children[0], loop.a, kUnbounded);
  return t.kind == TermKind::kSequence ? Sequence(t.children[0], loose) : loose;
}

// `X{0,40} & P` from `X* & P`, which is one state for all that is left of the 40: where that
// matches nothing, so does this, and where its shortest text is no longer than the bound, which
// counts rounds of a byte at least, that is a text of this, too. Nullopt where it is not so.
std::optional<TermId> TermStore::CheckedWithoutBounds(TermId id) {
  const Term& t = terms_[id.value];
  if (t.kind != TermKind::kAnd) return std::nullopt;
  absl::InlinedVector<TermId, 8> parts;
  int64_t bound = INT64_MAX;
  int bounds = 0;
  for (TermId part : t.children) {
    parts.push_back(Unbounded(part, &bound));
    bounds += parts.back() != part;
  }
  if (bounds == 0 || bounds > kMostBounds) return std::nullopt;
  const TermId loose = RawAnd(parts);
  const Term& l = terms_[loose.value];
  if ((l.kind == TermKind::kAnd || l.kind == TermKind::kNot) && !l.nullable) {
    if (!known_.contains(loose.value)) {
      const auto matches = EmptinessSearch(*this).Within(loose, kLooseStates);
      if (!matches.has_value()) known_.try_emplace(loose.value, kTooFar);
    }
    const uint8_t known = known_[loose.value];
    if (known == kEmptyLanguage) return Nothing();
    if (known != kMatches) return std::nullopt;
  }
  if (loose == Nothing()) return loose;
  if (terms_[loose.value].min_length > static_cast<uint64_t>(bound)) return std::nullopt;
  return Vouched(id, terms_[loose.value].min_length);
}

bool TermStore::NowMatches(TermId id) {
  uint8_t& known = known_[id.value];
  if (known != 0 && known != kTooFar) return false;
  known = kMatches;
  return true;
}

TermId TermStore::Checked(TermId id) {
  const Term& t = terms_[id.value];
  if ((t.kind != TermKind::kAnd && t.kind != TermKind::kNot) || t.nullable) return id;
  if (auto it = known_.find(id.value); it != known_.end() && it->second != kTooFar) {
    over_budget_ |= it->second == kUndecided;  // asked in vain before
    return it->second == kEmptyLanguage ? Nothing() : id;
  }
  // A question that comes up within another shares its budget.
  if (!building_ && searches_ == 0) search_left_ = limits_.max_regular_states;
  ++searches_;
  std::optional<TermId> checked = CheckedWithoutBounds(id);
  if (!checked.has_value()) checked = EmptinessSearch(*this).Run(id) ? id : Nothing();
  --searches_;
  return *checked;
}

TermId TermStore::Vouched(TermId id, uint64_t min_length) {
  Term& t = terms_[id.value];
  if ((t.kind != TermKind::kAnd && t.kind != TermKind::kNot) || t.nullable) return id;
  if (NowMatches(id)) t.min_length = std::clamp(min_length, t.min_length, kMaxLength);
  return known_[id.value] == kEmptyLanguage ? Nothing() : id;
}

}  // namespace grammask::internal
