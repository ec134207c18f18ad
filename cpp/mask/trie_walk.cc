// A parser set to the characters that it can read and be as it was.
//
// Bytes of one class lead to one set, so a set's loop is read off its classes. Beyond ASCII a
// character is several bytes: the sets on the way are stepped through, once for all first bytes of
// a class. Inside a JSON string the loop is every character but `"`, `\` and the controls.
//
// A counted repeat is a loop as long as its count lasts: [a-z]{0,40} takes any forty letters,
// whatever else. Beside a pattern the bound is left out (TermStore::Loosen); where the pattern
// loops on a character, so many are taken that what it needs to be complete still fits.
//
// Cost: 0.1 us; some 10 us for the first set that loops on all characters. Tests:
// tests/mask/mask_test.cc.
#include "mask/trie_walk.h"

#include <algorithm>

namespace grammask::internal {
namespace {

struct ByteRange {
  uint8_t lo, hi;
};

// Whether each text of bytes out of the ranges leads from `from` to `to`.
bool AllLead(SetTable& sets, SetId from, std::span<const ByteRange> ranges, SetId to) {
  if (ranges.empty()) return from == to;
  const SetBody& body = sets.Body(from);
  uint16_t last = 0;
  for (int b = ranges[0].lo; b <= ranges[0].hi; ++b) {
    const uint16_t c = body.classes->class_of[b];
    if (c == 0) return false;
    if (c == last) continue;
    last = c;
    const SetId next = sets.Step(from, static_cast<uint8_t>(b));
    // At most four bytes deep.
    if (next == SetTable::Dead() || !AllLead(sets, next, ranges.subspan(1), to)) return false;
  }
  return true;
}

// What may follow a first byte of UTF-8.
std::span<const ByteRange> After(uint8_t lead) {
  static constexpr ByteRange kPlain[] = {{0x80, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}};
  static constexpr ByteRange kE0[] = {{0xA0, 0xBF}, {0x80, 0xBF}};
  static constexpr ByteRange kED[] = {{0x80, 0x9F}, {0x80, 0xBF}};
  static constexpr ByteRange kF0[] = {{0x90, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}};
  static constexpr ByteRange kF4[] = {{0x80, 0x8F}, {0x80, 0xBF}, {0x80, 0xBF}};
  if (lead == 0xE0) return kE0;
  if (lead == 0xED) return kED;
  if (lead == 0xF0) return kF0;
  if (lead == 0xF4) return kF4;
  return std::span(kPlain).first(lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3);
}

void AddLeads(SetTable& sets, SetId set, Alphabet* loop) {
  const uint16_t* class_of = sets.Body(set).classes->class_of;
  uint16_t last = 0;
  std::span<const ByteRange> last_after;
  bool leads = false;
  for (int b = 0xC2; b <= 0xF4; ++b) {
    const uint16_t c = class_of[b];
    if (c == 0) continue;
    const auto after = After(static_cast<uint8_t>(b));
    if (c != last || after.data() != last_after.data() || after.size() != last_after.size()) {
      const SetId next = sets.Step(set, static_cast<uint8_t>(b));
      leads = next != SetTable::Dead() && AllLead(sets, next, after, set);
      last = c;
      last_after = after;
    }
    if (leads) loop->AddLead(static_cast<uint8_t>(b));
  }
}

// The loop of `set` where it has none, but for a count, as in [a-z]{0,40}.
WalkLoop CountedLoop(SetTable& sets, SetId set, LooseAlphabets* known) {
  TermStore& terms = sets.terms();
  const Set& s = sets.set(set);
  if (s.kernel.size() != 1 || s.captures) return {};
  const Term& t = terms.term(s.kernel[0].term);
  const bool sequence = t.kind == TermKind::kSequence;
  const Term& head = sequence ? terms.term(t.children[0]) : t;
  WalkLoop loop;
  if (head.kind == TermKind::kRepeat && head.b != kUnbounded) {
    for (const ByteEdge& e : terms.Expand(head.children[0]).bytes) {
      if (e.to != TermStore::Empty()) continue;
      for (int b = e.lo; b <= std::min<int>(e.hi, 127); ++b) {
        loop.alphabet.Add(static_cast<uint8_t>(b));
      }
    }
    loop.most = static_cast<uint64_t>(head.b);
  } else if (head.kind == TermKind::kAnd) {
    const auto loosened = terms.Loosen(s.kernel[0].term);
    if (!loosened.has_value()) return {};
    const uint64_t rest = terms.term(loosened->state).min_length;
    if (static_cast<uint64_t>(loosened->bound) <= rest) return {};
    const auto [it, added] = known->try_emplace(loosened->state.value);
    if (added) {
      for (const ByteEdge& e : terms.Expand(loosened->state).bytes) {
        if (e.to != loosened->state) continue;
        for (int b = e.lo; b <= std::min<int>(e.hi, 127); ++b) {
          it->second.Add(static_cast<uint8_t>(b));
        }
      }
      if (!it->second.empty()) {
        AddLeads(sets, sets.InUnknownContext(loosened->state), &it->second);
      }
    }
    loop.alphabet = it->second;
    loop.most = static_cast<uint64_t>(loosened->bound) - rest;
  }
  return loop;
}

}  // namespace

namespace {

bool SplitText(const TermStore& terms, TermId id, LiteralRun* run) {
  const Term& t = terms.term(id);
  const bool sequence = t.kind == TermKind::kSequence;
  const Term& head = sequence ? terms.term(t.children[0]) : t;
  if (head.kind != TermKind::kBytes && head.kind != TermKind::kJsonText) return false;
  run->text = head.text;
  run->json = head.kind == TermKind::kJsonText;
  run->read = 0;
  run->tail = sequence ? t.children[1] : TermStore::Empty();
  return true;
}

}  // namespace

bool LiteralRun::Begin(SetTable& sets, SetId set) {
  const Set& s = sets.set(set);
  if (!s.text) return false;
  const Item& item = s.kernel[0];
  ret = item.ret;
  completion = sets.terms().term(item.term).min_length;
  return SplitText(sets.terms(), item.term, this);
}

bool LiteralRun::Next(SetTable& sets) {
  ++read;
  --completion;
  return read < text.size() || SplitText(sets.terms(), tail, this);
}

SetId LiteralRun::Here(SetTable& sets) const {
  TermStore& terms = sets.terms();
  std::lock_guard lock(terms.mutex());
  TermId rest = tail;
  if (read < text.size()) {
    rest = terms.Sequence(terms.Literal(text.substr(read), json), tail);
  }
  return sets.OfItem({rest, ret});
}

void WalkScratch::Meet(SetTable& sets, SetId set, WalkSet* at) {
  *at = {};
  at->set = set;
  const Set& met = sets.set(set);
  at->text = met.text;
  at->escaping = met.escaping;
  for (const Item& item : met.kernel) {
    if (item.ret != kUnknown) continue;
    at->completion = std::max(at->completion, sets.terms().term(item.term).min_length);
  }
}

void WalkScratch::TakeBody(SetTable& sets, WalkSet* at) {
  const SetBody& body = sets.Body(at->set);
  at->class_of = body.classes->class_of;
  at->targets = body.targets;
  if (body.classes->few.empty()) return;
  at->few = body.classes->few.data();
  at->few_end = at->few + body.classes->few.size();
}

WalkLoop LoopOf(SetTable& sets, SetId set, bool loops, LooseAlphabets* known) {
  if (!loops) return CountedLoop(sets, set, known);
  const SetBody& body = sets.Body(set);
  WalkLoop loop;
  for (int b = 0; b < 128; ++b) {
    const uint16_t c = body.classes->class_of[b];
    if (c != 0 && body.targets[c - 1].load(std::memory_order_acquire) == set.value) {
      loop.alphabet.Add(static_cast<uint8_t>(b));
    }
  }
  AddLeads(sets, set, &loop.alphabet);
  loop.most = UINT64_MAX;
  return loop;
}

}  // namespace grammask::internal
