// States of which always one can go on, as long as only characters of one loop come.
//
// The keys of an object with `patternProperties` fall into classes: those that match the pattern,
// those that do not. Each class is a state of its own, `X* "ab" X* R` and `(X* & !(X* "ab" X*)) R`,
// whose mask takes a walk of the vocabulary. But any key is of some class, so the tokens that lie
// inside a key are the same, whatever the patterns: those of X's. What the states exclude or want
// beside the loop are taken for atoms, true or false of each text. Where each assignment of them is
// what some state takes, no text of X's is refused by all states, but for finitely many (the names
// of properties), which are beginnings of others.
//
// Cost: some 0.2 us an atom and state, and 2^atoms. Tests: tests/mask/covers_test.cc.
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <cstdint>

#include "automaton/term_store.h"

namespace grammask::internal {
namespace {

constexpr size_t kMostAtoms = 8;
constexpr size_t kMostParts = 32;  // of an intersection
constexpr int kMostDepth = 8;      // choices inside one another

// What is true and what is false of a state's texts, a bit for each atom.
struct Case {
  uint32_t wants = 0, excludes = 0;
};

}  // namespace

// The texts of `part` that are of `loop`, any number of X's: where all of those that begin with a
// text of X's are taken, any more X's.
TermId TermStore::WithinLoop(TermId part, TermId loop, int depth) {
  if (part == All()) return loop;
  const Term& t = terms_[part.value];
  if (depth > kMostDepth) return part;
  if (t.kind == TermKind::kSequence) {
    absl::InlinedVector<TermId, 8> parts;
    TermId rest = part;
    for (; terms_[rest.value].kind == TermKind::kSequence;
         rest = terms_[rest.value].children()[1]) {
      if (parts.size() > kMostParts) return part;
      parts.push_back(terms_[rest.value].children()[0]);
    }
    const TermId within = WithinLoop(rest, loop, depth + 1);
    if (within == rest) return part;
    parts.push_back(within);
    return Sequence(parts);
  }
  if (t.kind != TermKind::kChoice || t.children().size() > kMostParts) return part;
  absl::InlinedVector<TermId, 8> parts;
  for (TermId c : t.children()) parts.push_back(WithinLoop(c, loop, depth + 1));
  return std::ranges::equal(parts, t.children()) ? part : Choice(parts);
}

// `part`, then `rest`, as it is left of a state that began so: a choice with the rest in each.
TermId TermStore::Before(TermId part, TermId rest) {
  const Term& t = terms_[part.value];
  if (t.kind != TermKind::kChoice) return Sequence(part, rest);
  TermList alternatives;
  for (TermId c : t.children()) alternatives.push_back(Sequence(c, rest));
  return Choice(alternatives);
}

std::optional<TermId> TermStore::FindCover(std::span<const TermId> states) {
  auto is_loop = [&](const Term& t) {
    return t.kind == TermKind::kRepeat && t.b == kUnbounded && t.regular;
  };
  // The part of the intersection that a state begins with; none where it begins with something
  // else.
  auto parts_of = [&](TermId id) -> std::span<const TermId> {
    const Term& t = terms_[id.value];
    if (t.kind != TermKind::kSequence) return {};
    const Term& head = terms_[t.children()[0].value];
    if (head.kind != TermKind::kAnd || head.children().size() > kMostParts) return {};
    return head.children();
  };
  // The state that takes what no pattern is of: a loop, less some texts.
  TermId base, loop;
  for (TermId id : states) {
    size_t loops = 0;
    bool endless = false;
    for (TermId c : parts_of(id)) {
      const Term& part = terms_[c.value];
      if (is_loop(part)) {
        ++loops;
        loop = c;
      }
      endless |= part.kind == TermKind::kNot && !terms_[part.children()[0].value].finite;
    }
    if (endless && loops == 1) {
      base = id;
      break;
    }
  }
  if (base == Nothing()) return std::nullopt;
  std::lock_guard lock(mutex_);
  const TermId x = terms_[loop.value].children()[0];
  const TermId rest = terms_[base.value].children()[1];
  const TermId any = Repeat(x, 0, kUnbounded);
  struct Atom {
    TermId without, within;
  };
  absl::InlinedVector<Atom, kMostAtoms> atoms;
  for (TermId c : parts_of(base)) {
    const Term& part = terms_[c.value];
    if (part.kind != TermKind::kNot || terms_[part.children()[0].value].finite) continue;
    const TermId excluded = part.children()[0], within = WithinLoop(excluded, any, 0);
    if (within != excluded && !(IsOneCharacter(x) && IsJsonContent(within))) return std::nullopt;
    if (atoms.size() == kMostAtoms) return std::nullopt;
    atoms.push_back({c, within});
  }
  absl::InlinedVector<Case, 8> cases;
  for (TermId id : states) {
    Case taken;
    bool known = true;
    if (const auto parts = parts_of(id); !parts.empty()) {
      for (TermId c : parts) {
        const Term& part = terms_[c.value];
        if (part.kind == TermKind::kNot && terms_[part.children()[0].value].finite) continue;
        if (is_loop(part) && part.children()[0] == x) continue;
        bool found = false;
        for (size_t i = 0; i < atoms.size(); ++i) {
          if (c == atoms[i].without) taken.excludes |= uint32_t{1} << i;
          if (c == atoms[i].within) taken.wants |= uint32_t{1} << i;
          found |= c == atoms[i].without || c == atoms[i].within;
        }
        known &= found;
      }
    } else {
      known = false;
      for (size_t i = 0; i < atoms.size() && !known; ++i) {
        known = Before(atoms[i].within, rest) == id;
        taken.wants = uint32_t{1} << i;
      }
    }
    if (known) cases.push_back(taken);
  }
  for (uint32_t holds = 0; holds < uint32_t{1} << atoms.size(); ++holds) {
    const bool covered = std::ranges::any_of(
        cases, [&](const Case& c) { return (c.wants & ~holds) == 0 && (c.excludes & holds) == 0; });
    if (!covered) return std::nullopt;
  }
  return x;
}

}  // namespace grammask::internal
