// Alternatives that differ only in how often they repeat something, as one.
//
// In `(X{8,17}Y)*` where Y may be an X, too, a text may have begun a new round at each character,
// and of each such reading another number of X's is left: `X{3,12}R | X{4,13}R | X{5,14}R | ...`.
// Kept as they are, states are sets of such places, of which there are exponentially many. But
// repeats of one thing before the same rest whose ranges overlap or touch are the repeat of the
// joint range: here `X{3,14}R`. So a state has one range for each place of the expression, mostly.
//
// An alternative is taken for a box: a range for each part of its sequence, {1,1} for what is not
// repeated. Of two alternatives with the same parts the one within the other goes, and two that
// differ in a single range become one.
//
// Cost: nothing where no alternative is ranged; else some 20 ns an alternative, and 10 ns for each
// pair of those with the same parts. Source: Turonova et al., "Regex matching with counting-set
// automata", OOPSLA 2020, where such sets are kept at run time. Tests:
// tests/automaton/count_ranges_test.cc.
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "automaton/term_store.h"
#include "base/mix.h"

namespace grammask::internal {
namespace {

constexpr size_t kMostAlternatives = 64;   // that are compared with one another
constexpr size_t kMostSequenceParts = 12;  // of a sequence; what is behind them is one part

struct Part {
  TermId of;
  int64_t least, most;
};

struct Box {
  absl::InlinedVector<Part, 8> parts;
  TermId id;
  bool changed = false;
};

bool SameShape(const Box& x, const Box& y) {
  return std::ranges::equal(x.parts, y.parts,
                            [](const Part& p, const Part& q) { return p.of == q.of; });
}

// Whether `x` could take in the texts of `y`, of the same shape.
bool Join(Box* x, const Box& y) {
  bool within = true, around = true;  // y in x, x in y
  size_t different = 0, where = 0;
  for (size_t i = 0; i < x->parts.size(); ++i) {
    const Part &p = x->parts[i], &q = y.parts[i];
    if (p.least == q.least && p.most == q.most) continue;
    ++different;
    where = i;
    within &= p.least <= q.least && q.most <= p.most;
    around &= q.least <= p.least && p.most <= q.most;
  }
  if (within) return true;
  if (around) {
    *x = y;
    return true;
  }
  Part& p = x->parts[where];
  const Part& q = y.parts[where];
  if (different > 1 || p.least - 1 > q.most || q.least - 1 > p.most) return false;
  p.least = std::min(p.least, q.least);
  p.most = std::max(p.most, q.most);
  return x->changed = true;
}

}  // namespace

void TermStore::JoinRanges(TermList* alternatives) {
  const size_t count = alternatives->size();
  if (count < 2 || count > kMostAlternatives) return;
  auto for_each_part = [&](TermId rest, auto&& visit) {
    for (size_t n = 1;; ++n) {
      const Term& t = terms_[rest.value];
      const bool sequence = t.kind == TermKind::kSequence && n < kMostSequenceParts;
      const TermId head = sequence ? t.few[0] : rest;
      const Term& h = terms_[head.value];
      visit(h.kind == TermKind::kRepeat ? Part{h.few[0], h.a, h.b} : Part{head, 1, 1});
      if (!sequence) return;
      rest = t.few[1];
    }
  };
  // By a hash of what the parts repeat: mostly there are no two alike.
  absl::InlinedVector<std::pair<uint64_t, TermId>, 16> shapes;
  for (TermId id : *alternatives) {
    uint64_t shape = 0;
    for_each_part(id, [&](const Part& part) { shape = Mix(shape, part.of.value); });
    shapes.push_back({shape, id});
  }
  std::ranges::sort(shapes);
  auto alike = [](const auto& x, const auto& y) { return x.first == y.first; };
  if (std::ranges::adjacent_find(shapes, alike) == shapes.end()) return;

  alternatives->clear();
  absl::InlinedVector<Box, 8> boxes;
  for (auto begin = shapes.begin(); begin != shapes.end();) {
    const auto end =
        std::find_if(begin, shapes.end(), [&](const auto& shape) { return !alike(shape, *begin); });
    boxes.clear();
    for (; begin != end; ++begin) {
      Box next;
      next.id = begin->second;
      for_each_part(next.id, [&](const Part& part) { next.parts.push_back(part); });
      for (size_t i = boxes.size(); i-- > 0;) {
        if (!SameShape(boxes[i], next) || !Join(&boxes[i], next)) continue;
        // What has grown may take in others.
        next = std::move(boxes[i]);
        if (i + 1 < boxes.size()) boxes[i] = std::move(boxes.back());
        boxes.pop_back();
        i = boxes.size();
      }
      boxes.push_back(std::move(next));
    }
    for (const Box& box : boxes) {
      TermId id = box.id;
      if (box.changed) {
        id = Empty();
        for (size_t i = box.parts.size(); i-- > 0;) {
          const Part& part = box.parts[i];
          id = Sequence(Repeat(part.of, part.least, part.most), id);
        }
      }
      alternatives->push_back(id);
    }
  }
  std::sort(alternatives->begin(), alternatives->end());
}

}  // namespace grammask::internal
