// States of which always one can go on, as long as only characters of one loop come.
//
// The keys of an object with `patternProperties` fall into classes: those that match the pattern,
// those that do not. Each class is a state of its own, `X* "ab" X* R` and `(X* & !(X* "ab" X*)) R`,
// whose mask takes a walk of the vocabulary. But any key is of some class, so the tokens that lie
// inside a key are the same, whatever the patterns: those of X's. What the states exclude or want
// beside the loop are taken for atoms, true or false of each text. Where each assignment of them is
// what some state takes, or what no text is, no text of X's is refused by all states, but for
// finitely many (the names of properties), which are beginnings of others.
//
// Cost: some 0.2 us an atom and state, 2^atoms, and searches of few states where an assignment is
// what no state takes. Tests: tests/mask/covers_test.cc.
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <cstdint>

#include "automaton/term_store.h"

namespace grammask::internal {
namespace {

constexpr size_t kMostAtoms = 10;
constexpr size_t kMostQuestions = 64;    // whether a text can be
constexpr size_t kMostIntersected = 32;  // of an intersection
constexpr int kMostDepth = 8;            // choices inside one another

// What is true and what is false of some texts, a bit for each atom.
struct Case {
  uint32_t wants = 0, excludes = 0;
  bool Meets(uint32_t holds) const { return (wants & ~holds) == 0 && (excludes & holds) == 0; }
  friend bool operator==(const Case&, const Case&) = default;
};

}  // namespace

class CoverFinder {
 public:
  explicit CoverFinder(TermStore& store) : s_(store) {}

  std::optional<TermId> Find(std::span<const TermId> states) {
    const auto base = std::ranges::find_if(states, [&](TermId id) { return IsBase(id); });
    if (base == states.end()) return std::nullopt;
    std::lock_guard lock(s_.mutex());
    rest_ = s_.term(*base).children()[1];
    if (!FindAtoms(PartsOf(*base))) return std::nullopt;
    absl::InlinedVector<Case, 8> cases;
    for (TermId id : states) {
      if (const auto taken = CaseOf(id)) cases.push_back(*taken);
    }
    for (uint32_t holds = 0; holds < uint32_t{1} << atoms_.size(); ++holds) {
      const auto meets = [&](const Case& c) { return c.Meets(holds); };
      if (!std::ranges::any_of(cases, meets) && !NoTextIs(holds)) return std::nullopt;
    }
    return x_;
  }

 private:
  // What a state excludes, as it stands, and the texts of X's among it.
  struct Atom {
    TermId without, within;
  };

  bool IsLoop(TermId id) const {
    const Term& t = s_.term(id);
    return t.kind == TermKind::kRepeat && t.b == kUnbounded && t.regular;
  }
  bool IsFiniteNot(TermId id) const {
    const Term& t = s_.term(id);
    return t.kind == TermKind::kNot && s_.term(t.children()[0]).finite;
  }
  bool IsEndlessNot(TermId id) const {
    return s_.term(id).kind == TermKind::kNot && !IsFiniteNot(id);
  }
  // The parts of an intersection; what is none is the only part.
  std::span<const TermId> Split(const TermId& id) const {
    const Term& t = s_.term(id);
    return t.kind == TermKind::kAnd ? t.children() : std::span(&id, 1);
  }
  // The parts of the intersection that a state begins with; none where it begins with none.
  std::span<const TermId> PartsOf(TermId id) const {
    const Term& t = s_.term(id);
    if (t.kind != TermKind::kSequence) return {};
    const Term& head = s_.term(t.children()[0]);
    if (head.kind != TermKind::kAnd || head.children().size() > kMostIntersected) return {};
    return head.children();
  }
  // Whether a state takes what no pattern is of: a loop, less some texts.
  bool IsBase(TermId id) const {
    const auto parts = PartsOf(id);
    return std::ranges::count_if(parts, [&](TermId c) { return IsLoop(c); }) == 1 &&
           std::ranges::any_of(parts, [&](TermId c) { return IsEndlessNot(c); });
  }

  bool FindAtoms(std::span<const TermId> parts);
  std::optional<Case> CaseOf(TermId id);
  bool NoTextIs(uint32_t holds);
  bool Clashes(std::span<const TermId> parts, const Case& what);
  TermId WithinLoop(TermId part, int depth);

  TermStore& s_;
  TermId x_, loop_, rest_;
  absl::InlinedVector<Atom, kMostAtoms> atoms_;
  absl::InlinedVector<Case, 8> asked_, clashes_;
};

bool CoverFinder::FindAtoms(std::span<const TermId> parts) {
  x_ = s_.term(*std::ranges::find_if(parts, [&](TermId c) { return IsLoop(c); })).children()[0];
  loop_ = s_.Repeat(x_, 0, kUnbounded);
  for (TermId c : parts) {
    if (!IsEndlessNot(c)) continue;
    const TermId excluded = s_.term(c).children()[0], within = WithinLoop(excluded, 0);
    if (within != excluded && !(s_.IsOneCharacter(x_) && s_.IsJsonContent(within))) return false;
    if (atoms_.size() == kMostAtoms) return false;
    atoms_.push_back({c, within});
  }
  return true;
}

// What a state takes of X's, but for finitely many texts; none where it is something else.
std::optional<Case> CoverFinder::CaseOf(TermId id) {
  const auto parts = PartsOf(id);
  if (parts.empty()) {
    for (size_t i = 0; i < atoms_.size(); ++i) {
      if (s_.Spread(atoms_[i].within, rest_) == id) return Case{uint32_t{1} << i, 0};
    }
    return std::nullopt;
  }
  Case taken;
  auto is_part = [&](TermId c) { return std::ranges::find(parts, c) != parts.end(); };
  absl::InlinedVector<TermId, 8> said;
  for (size_t i = 0; i < atoms_.size(); ++i) {
    const Atom& atom = atoms_[i];
    const auto within = Split(atom.within);
    if (is_part(atom.without)) {
      taken.excludes |= uint32_t{1} << i;
      said.push_back(atom.without);
    } else if (std::ranges::all_of(within, is_part)) {
      taken.wants |= uint32_t{1} << i;
      said.insert(said.end(), within.begin(), within.end());
    }
  }
  const bool all = std::ranges::all_of(parts, [&](TermId c) {
    return IsFiniteNot(c) || (IsLoop(c) && s_.term(c).children()[0] == x_) ||
           std::ranges::find(said, c) != said.end();
  });
  return all ? std::optional(taken) : std::nullopt;
}

// Whether no text of X's is such that these atoms hold and the others do not, as far as few states
// tell. Mostly two of them say it: patterns that begin in different ways, or one within another.
bool CoverFinder::NoTextIs(uint32_t holds) {
  const auto meets = [&](const Case& c) { return c.Meets(holds); };
  if (std::ranges::any_of(clashes_, meets)) return true;
  const auto count = static_cast<uint32_t>(atoms_.size());
  for (uint32_t i = 0; i < count; ++i) {
    if ((holds >> i & 1) == 0) continue;
    for (uint32_t k = 0; k < count; ++k) {
      const bool both = (holds >> k & 1) != 0;
      if (k == i || (both && k < i)) continue;
      const TermId two[] = {atoms_[i].within, both ? atoms_[k].within : atoms_[k].without};
      const uint32_t wants = uint32_t{1} << i, other = uint32_t{1} << k;
      if (Clashes(two, both ? Case{wants | other, 0} : Case{wants, other})) return true;
    }
  }
  absl::InlinedVector<TermId, 8> parts = {loop_};
  for (uint32_t i = 0; i < count; ++i) {
    parts.push_back((holds >> i & 1) != 0 ? atoms_[i].within : atoms_[i].without);
  }
  return Clashes(parts, {holds, ~holds});
}

// Whether what these want and exclude is of no text; asked once.
bool CoverFinder::Clashes(std::span<const TermId> parts, const Case& what) {
  if (std::ranges::find(asked_, what) != asked_.end() || asked_.size() == kMostQuestions) {
    return false;
  }
  asked_.push_back(what);
  if (!s_.IsSeenEmpty(parts)) return false;
  clashes_.push_back(what);
  return true;
}

// The texts of `part` that are of X's: where all of those that begin with a text of X's are taken,
// any more X's.
TermId CoverFinder::WithinLoop(TermId part, int depth) {
  if (part == TermStore::All()) return loop_;
  const Term& t = s_.term(part);
  if (depth > kMostDepth) return part;
  absl::InlinedVector<TermId, 8> parts;
  if (t.kind == TermKind::kSequence) {
    TermId rest = part;
    for (; s_.term(rest).kind == TermKind::kSequence; rest = s_.term(rest).children()[1]) {
      if (parts.size() > kMostIntersected) return part;
      parts.push_back(s_.term(rest).children()[0]);
    }
    const TermId within = WithinLoop(rest, depth + 1);
    if (within == rest) return part;
    parts.push_back(within);
    return s_.Sequence(parts);
  }
  if (t.kind != TermKind::kChoice || t.children().size() > kMostIntersected) return part;
  for (TermId c : t.children()) parts.push_back(WithinLoop(c, depth + 1));
  return std::ranges::equal(parts, t.children()) ? part : s_.Choice(parts);
}

std::optional<TermId> TermStore::FindCover(std::span<const TermId> states) {
  return CoverFinder(*this).Find(states);
}

}  // namespace grammask::internal
