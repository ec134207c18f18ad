// A place of the parser to the characters that it can read and be as it was.
//
// Bytes of one class lead to one set, so a set's loop is read off its classes, and a state's off
// its edges. Beyond ASCII a character is several bytes: the sets on the way are stepped through,
// once for all first bytes of a class. Inside a JSON string the loop is every character but `"`,
// `\` and the controls.
//
// A counted repeat is a loop as long as its count lasts: [a-z]{0,40} takes any forty letters,
// whatever else. It is never in the same place twice, which is seen without its edges. Beside a
// pattern the bound is left out (TermStore::Loosen); where the pattern loops on a character, so
// many are taken that what it needs to be complete still fits.
//
// Of a set one item that loops is enough: whatever the others do, after any text of the loop that
// item is where it was. In `name alias?` where each letter may begin the alias, or a keyword, the
// sets after the letters of a name differ, but all of them hold the name.
//
// A walk may leap over whatever stays in the very same place (FindStays): of ASCII that is told by
// the loop or by single steps; of a character beyond it all its texts must lead back, and nothing
// else may be read inside it, as the walk then sees neither.
//
// Cost: 0.1 us; some 10 us for the first set that loops on all characters. Tests:
// tests/mask/mask_test.cc, tests/mask/leaving_nodes_test.cc.
#include "mask/walkers.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "automaton/lengths.h"

namespace grammask::internal {
namespace {

constexpr size_t kMostItems = 32;   // of a set that are asked for their loops
constexpr size_t kMostRoaming = 4;  // of a set that are asked for their regions
constexpr int64_t kLongCount = 8;   // rounds of an alternative that are worth a look
constexpr size_t kMostRanges = 3;   // of a state that is walked as it is

// Whether each text of bytes out of the ranges leads from `from` to `to`.
bool AllLead(SetTable& sets, SetId from, std::span<const ByteRange> ranges, SetId to) {
  if (ranges.empty()) return from == to;
  const StepTable& table = sets.Table(from);
  uint16_t last = 0;
  for (int b = ranges[0].lo; b <= ranges[0].hi; ++b) {
    const uint16_t c = table.classes->class_of[b];
    if (c == 0) return false;
    if (c == last) continue;
    last = c;
    const SetId next = sets.Step(from, static_cast<uint8_t>(b));
    // At most four bytes deep.
    if (next == SetTable::Dead() || !AllLead(sets, next, ranges.subspan(1), to)) return false;
  }
  return true;
}

// The first part of a sequence; any other term itself.
const Term& HeadOf(const TermStore& terms, TermId id) {
  const Term& t = terms.term(id);
  return t.kind == TermKind::kSequence ? terms.term(t.few[0]) : t;
}

// Whether `holds` for the head of a state, or for that of some part where that is an intersection.
template <class F>
bool AnyHead(const TermStore& terms, TermId state, F&& holds) {
  const Term& head = HeadOf(terms, state);
  if (head.kind != TermKind::kAnd) return holds(head);
  return std::ranges::any_of(head.children(), [&](TermId c) { return holds(HeadOf(terms, c)); });
}

// Whether a state begins with texts, single characters or calls, and so leads on by whatever it
// reads, also where that is so of one part of an intersection: its edges need not be made. `depth`:
// of alternatives and parts within one another that are looked at.
bool LeadsOn(const TermStore& terms, TermId state, int depth = 3) {
  const Term& head = HeadOf(terms, state);
  auto leads_on = [&](TermId c) { return LeadsOn(terms, c, depth - 1); };
  switch (head.kind) {
    case TermKind::kEmpty:
    case TermKind::kBytes:
    case TermKind::kJsonText:
    case TermKind::kByteClass:
    case TermKind::kCall:
    case TermKind::kTokens:
      return true;
    case TermKind::kChoice:
      return depth > 0 && std::ranges::all_of(head.children(), leads_on);
    case TermKind::kAnd:
      return depth > 0 && std::ranges::any_of(head.children(), leads_on);
    default:
      return false;
  }
}

// Whether a state counts what it reads, and so is another one after each byte.
bool Counts(const TermStore& terms, TermId state) {
  return AnyHead(terms, state, [](const Term& t) {
    return t.kind == TermKind::kRepeat && (t.a > 0 || t.b != kUnbounded);
  });
}

// Whether it begins with a part that may be left out, after which it may be where it was.
bool BeginsOptionally(const TermStore& terms, TermId state) {
  const Term& head = HeadOf(terms, state);
  return head.kind == TermKind::kRepeat && head.a == 0 && head.b == 1;
}

// The ASCII characters by which `state` leads to itself.
void AddAscii(TermStore& terms, TermId state, Alphabet* loop) {
  for (const ByteEdge& e : terms.Expand(state).bytes) {
    if (e.to == state) AddAscii(e, loop);
  }
}

// Whether all characters that begin with `lead` lead from `state` to itself.
bool LeadLoops(TermStore& terms, TermId state, uint8_t lead) {
  const ByteEdge* e = FindEdge(terms.Expand(state).bytes, lead);
  return e != nullptr && AllLead(terms, e->to, BytesAfter(lead), {&state, 1});
}
bool LeadLoops(SetTable& sets, SetId set, uint8_t lead) {
  const SetId next = sets.Step(set, lead);
  return next != SetTable::Dead() && AllLead(sets, next, BytesAfter(lead), set);
}

// Calls f for the first bytes of `leads` until one does not loop.
template <class F>
void ForLeads(uint64_t leads, WalkLoop* loop, F&& f) {
  for (; leads != 0; leads &= leads - 1) {
    const auto lead = static_cast<uint8_t>(Alphabet::kFirstLead + std::countr_zero(leads));
    const uint64_t bit = leads & ~(leads - 1);
    loop->looked |= bit;
    if (lead < 0xC2 || lead > 0xF4 || !f(lead)) return;
    loop->alphabet.leads |= bit;
  }
}

void LookAtLooseLeads(TermStore& terms, WalkScratch* scratch, uint64_t leads, WalkLoop* loop) {
  LooseLeads& known = scratch->loose[loop->loose.value];
  loop->looked |= known.looked;
  loop->alphabet.leads |= known.loop;
  leads &= ~loop->alphabet.leads;
  if ((leads & known.looked) != 0) return;
  ForLeads(leads, loop, [&](uint8_t lead) { return LeadLoops(terms, loop->loose, lead); });
  known = {loop->looked, loop->alphabet.leads};
}

// The edges of a state inside a character; nullopt where it may end there or reads anything but
// bytes of the range.
std::optional<std::span<const ByteEdge>> EdgesInside(TermStore& terms, TermId state,
                                                     ByteRange range) {
  if (terms.term(state).nullable) return std::nullopt;
  const Expansion& e = terms.Expand(state);
  if (e.bytes.empty() || !e.calls.empty() || !e.tokens.empty()) return std::nullopt;
  if (e.bytes.front().lo < range.lo || e.bytes.back().hi > range.hi) return std::nullopt;
  return e.bytes;
}

// Whether each text of bytes out of the ranges, one at least, leads from `from` to `to`, and no
// other text anywhere; nothing ends on the way.
bool OnlyLead(SetTable& sets, SetId from, std::span<const ByteRange> ranges, SetId to) {
  if (ranges.empty()) return from == to;
  if (from == to || sets.set(from).escaping) return false;
  const StepTable& table = sets.Table(from);
  uint16_t last = 0;
  for (int b = 0; b < 256; ++b) {
    const uint16_t c = table.classes->class_of[b];
    const bool within = ranges[0].lo <= b && b <= ranges[0].hi;
    if (within != (c != 0)) return false;
    if (!within || c == last) continue;
    last = c;
    const SetId next = sets.Step(from, static_cast<uint8_t>(b));
    if (next == SetTable::Dead() || !OnlyLead(sets, next, ranges.subspan(1), to)) return false;
  }
  return true;
}
bool OnlyLead(TermStore& terms, TermId from, std::span<const ByteRange> ranges, TermId to) {
  if (ranges.empty()) return from == to;
  if (from == to) return false;
  const auto edges = EdgesInside(terms, from, ranges[0]);
  if (!edges.has_value()) return false;
  int next = ranges[0].lo;
  for (const ByteEdge& edge : *edges) {
    if (edge.lo != next || !OnlyLead(terms, edge.to, ranges.subspan(1), to)) return false;
    next = edge.hi + 1;
  }
  return next == ranges[0].hi + 1;
}

// Calls f for the first bytes of characters that lead from `at` to itself, where nothing else
// beyond ASCII is read; `step(byte)`: where a byte leads.
template <class Store, class Id, class Step>
void AddOnlyLeads(Store& store, Id at, Step&& step, Alphabet* stays) {
  for (int b = 0x80; b < 256; ++b) {
    if ((b < 0xC2 || b > 0xF4) && step(static_cast<uint8_t>(b)) != Id()) return;
  }
  Id last;
  std::span<const ByteRange> last_after;
  bool last_leads = false;
  for (int b = 0xC2; b <= 0xF4; ++b) {
    const auto byte = static_cast<uint8_t>(b);
    const Id to = step(byte);
    if (to == Id()) continue;
    const auto after = BytesAfter(byte);
    if (to != last || after.data() != last_after.data() || after.size() != last_after.size()) {
      last_leads = OnlyLead(store, to, after, at);
      last = to;
      last_after = after;
    }
    if (last_leads) stays->AddLead(byte);
  }
}

// AddOnlyLeads for a state. Of a set of one item it tells the same, and the sets inside of
// characters, of which each has a table, are not made.
void AddOnlyLeadsOf(TermStore& terms, TermId state, Alphabet* stays) {
  const Expansion& e = terms.Expand(state);
  auto step = [&](uint8_t byte) {
    const ByteEdge* edge = FindEdge(e.bytes, byte);
    return edge == nullptr ? TermStore::Nothing() : edge->to;
  };
  AddOnlyLeads(terms, state, step, stays);
}

// Of the edges of a state inside a character, the bytes that lead to `at`, less 0x80. False where
// EdgesInside gives none.
bool LastBytes(TermStore& terms, TermId state, ByteRange range, TermId at, uint64_t* bits) {
  const auto edges = EdgesInside(terms, state, range);
  if (!edges.has_value()) return false;
  for (const ByteEdge& edge : *edges) {
    if (edge.to != at) continue;
    *bits |= (~uint64_t{0} >> (63 - (edge.hi - edge.lo))) << (edge.lo - 0x80);
  }
  return true;
}

// The characters that lead from `at` to itself whose first bytes are none of `leads`, as far as
// they are of two or three bytes and nothing that is no UTF-8 begins like them.
SomeCharacters SomeThatStay(TermStore& terms, TermId at, uint64_t leads) {
  SomeCharacters some;
  for (int b = 0xC2; b < 0xF0; ++b) {
    const uint64_t bit = uint64_t{1} << (b - Alphabet::kFirstLead);
    if ((leads & bit) != 0) continue;
    const ByteEdge* e = FindEdge(terms.Expand(at).bytes, static_cast<uint8_t>(b));
    if (e == nullptr || e->to == at) continue;
    const auto after = BytesAfter(static_cast<uint8_t>(b));
    uint64_t last[64] = {};
    bool fits = false, any = false;
    if (after.size() == 1) {
      fits = LastBytes(terms, e->to, after[0], at, last);
      any = last[0] != 0;
    } else {
      const auto second = EdgesInside(terms, e->to, after[0]);
      fits = second.has_value();
      for (const ByteEdge& s : second.value_or(std::span<const ByteEdge>())) {
        uint64_t bits = 0;
        fits = s.to != at && LastBytes(terms, s.to, after[1], at, &bits);
        if (!fits) break;
        any |= bits != 0;
        std::fill(last + (s.lo - 0x80), last + (s.hi - 0x80) + 1, bits);
      }
    }
    if (!fits || !any) continue;
    some.leads |= bit;
    some.last.insert(some.last.end(), last, last + (after.size() == 1 ? 1 : 64));
  }
  return some;
}

// The loop of a repeat that is counted: the characters that are rounds of their own, as many times
// as there may be rounds.
WalkLoop CountedRepeat(TermStore& terms, const Term& repeat) {
  WalkLoop loop;
  for (const ByteEdge& e : terms.Expand(repeat.children()[0]).bytes) {
    if (e.to == TermStore::Empty()) AddAscii(e, &loop.alphabet);
  }
  loop.looked = ~uint64_t{0};
  loop.most = static_cast<uint64_t>(repeat.b);
  return loop;
}

// The loop of a choice of which alternatives are loops that are counted, as in ([a-z]{0,40}[0-9])?:
// after any text of one it needs what that does. `rest`: what follows all of them needs.
WalkLoop CountedAlternative(TermStore& terms, const Term& choice, uint64_t rest) {
  WalkLoop best;
  const auto alternatives = choice.children();
  for (TermId c : alternatives.first(std::min(alternatives.size(), kMostItems))) {
    const Term& head = HeadOf(terms, c);
    if (head.kind != TermKind::kRepeat || head.b == kUnbounded || head.b < kLongCount) continue;
    WalkLoop loop = CountedRepeat(terms, head);
    if (loop.alphabet.AsciiSize() <= best.alphabet.AsciiSize()) continue;
    best = loop;
    best.completion = terms.term(c).min_length + rest;
  }
  return best;
}

// The loop of `state` where it has none, but for a count, as in [a-z]{0,40}.
WalkLoop CountedLoop(TermStore& terms, TermId state) {
  const Term& t = terms.term(state);
  const bool sequence = t.kind == TermKind::kSequence;
  const Term& head = sequence ? terms.term(t.children()[0]) : t;
  WalkLoop loop;
  if (head.kind == TermKind::kRepeat && head.b != kUnbounded) {
    return CountedRepeat(terms, head);
  }
  if (head.kind == TermKind::kAnd) {
    const auto loosened = terms.Loosen(state);
    if (!loosened.has_value()) return {};
    const uint64_t rest = terms.term(loosened->state).min_length;
    if (static_cast<uint64_t>(loosened->bound) <= rest) return {};
    AddAscii(terms, loosened->state, &loop.alphabet);
    loop.most = static_cast<uint64_t>(loosened->bound) - rest;
    loop.loose = loosened->state;
  } else if (head.kind == TermKind::kChoice) {
    return CountedAlternative(terms, head, sequence ? terms.term(t.children()[1]).min_length : 0);
  }
  return loop;
}

// The loop of the item that takes most.
WalkLoop LoopOfItems(TermStore& terms, std::span<const Item> items) {
  WalkLoop best;
  for (const Item& item : items.first(std::min(items.size(), kMostItems))) {
    WalkLoop loop = LoopOf(terms, item.term);
    if (loop.most < best.most || loop.alphabet.AsciiSize() <= best.alphabet.AsciiSize()) continue;
    if (loop.loose == TermStore::Nothing()) loop.loose = item.term;
    best = loop;
  }
  return best;
}

}  // namespace

std::span<const ByteRange> BytesAfter(uint8_t lead) {
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

bool LiteralRun::Split(const TermStore& terms, TermId state) {
  const Term& t = terms.term(state);
  const bool sequence = t.kind == TermKind::kSequence;
  const Term& head = sequence ? terms.term(t.children()[0]) : t;
  if (head.kind != TermKind::kBytes && head.kind != TermKind::kJsonText) return false;
  text = head.text();
  json = head.kind == TermKind::kJsonText;
  read = 0;
  tail = sequence ? t.children()[1] : TermStore::Empty();
  return true;
}

bool LiteralRun::Begin(const TermStore& terms, TermId state) {
  completion = terms.term(state).min_length;
  return Split(terms, state);
}

bool LiteralRun::Next(const TermStore& terms) {
  ++read;
  --completion;
  return read < text.size() || (tail != TermStore::Empty() && Split(terms, tail));
}

TermId LiteralRun::Rest(TermStore& terms) const {
  if (read == text.size()) return tail;
  return terms.Sequence(terms.Literal(text.substr(read), json), tail);
}

SetId SetWalker::After(const LiteralRun& run, SetId from) {
  const RetId ret = sets_.set(from).kernel[0].ret;
  if (run.read == run.text.size() && run.tail == TermStore::Empty()) {
    if (const auto known = sets_.OfFinished(ret)) return *known;
  }
  std::lock_guard lock(sets_.terms().mutex());
  return sets_.OfItem({run.Rest(sets_.terms()), ret});
}

TermId StateWalker::After(const LiteralRun& run, TermId) {
  if (run.read == run.text.size()) return run.tail;
  std::lock_guard lock(terms_.mutex());
  return run.Rest(terms_);
}

constinit const std::array<uint16_t, 256> SetWalker::kOneClass = [] {
  std::array<uint16_t, 256> classes{};
  classes.fill(1);
  return classes;
}();
constinit std::atomic<uint32_t> SetWalker::no_target = SetTable::kNotYet;

void SetWalker::Meet(SetId id, SetPlace* at) {
  *at = {};
  at->id = id;
  const Set& met = sets_.set(id);
  at->text = met.text;
  if (met.text) at->run.Begin(sets_.terms(), met.kernel[0].term);
  at->escaping = met.escaping;
  for (const Item& item : met.kernel) {
    if (item.ret != kUnknown) continue;
    at->completion = std::max(at->completion, sets_.terms().term(item.term).min_length);
  }
}

void SetWalker::TakeTable(SetPlace* at, uint32_t below) {
  if (below <= kWorthATable && !sets_.HasTable(at->id)) {
    at->class_of = kOneClass.data();
    at->targets = &no_target;
    return;
  }
  const StepTable& table = sets_.Table(at->id);
  at->class_of = table.classes->class_of;
  at->targets = table.targets;
  if (table.classes->few.empty()) return;
  at->few = table.classes->few.data();
  at->few_end = at->few + table.classes->few.size();
}

void StateWalker::Meet(TermId id, StatePlace* at) {
  *at = {};
  at->id = id;
  const Term& t = terms_.term(id);
  at->escaping = t.nullable;
  at->completion = t.min_length;
  at->text = at->run.Begin(terms_, id);
}

void StateWalker::TakeEdges(StatePlace* at) {
  if (terms_.FindBeside(at->id).has_value()) {  // a set needs no edges of it
    at->expanded = at->open = true;
    return;
  }
  const Expansion& e = terms_.Expand(at->id);
  at->expanded = true;
  at->open = !e.calls.empty() || e.bytes.size() > kMostRanges;
  at->edges = e.bytes.data();
  at->edges_end = at->edges + e.bytes.size();
  at->few = FirstBytes(e.bytes) <= ClassMap::kFew;
}

void SetWalker::LookAtLeads(SetPlace* at, uint64_t leads) {
  if (at->loop.loose != TermStore::Nothing()) {
    LookAtLooseLeads(sets_.terms(), &scratch_, leads, &at->loop);
  } else {
    ForLeads(leads, &at->loop, [&](uint8_t lead) { return LeadLoops(sets_, at->id, lead); });
  }
}

void StateWalker::LookAtLeads(StatePlace* at, uint64_t leads) {
  if (at->loop.loose != TermStore::Nothing()) {
    LookAtLooseLeads(terms_, &scratch_, leads, &at->loop);
  } else {
    ForLeads(leads, &at->loop, [&](uint8_t lead) { return LeadLoops(terms_, at->id, lead); });
  }
}

void SetWalker::FindStays(SetPlace* at, bool leads) {
  const SetId id = at->id;
  const SetBody& body = sets_.Body(id);
  if (sets_.set(id).captures || body.captures) {  // a set for each text
    at->asked = at->asked_leads = true;
    return;
  }
  auto step = [&](uint8_t byte) { return sets_.Step(id, byte); };
  const bool alone = body.items.size() == 1;
  if (!at->asked) {
    at->asked = true;
    if (alone) {
      at->stays.low = at->loop.alphabet.low;
      at->stays.high = at->loop.alphabet.high;
    } else {
      // Where no item stays, few bytes lead back, and to sets that the walk may never meet.
      Alphabet some = at->loop.alphabet;
      for (const Item& item : body.items) AddAscii(sets_.terms(), item.term, &some);
      for (uint8_t b = 0; b < 0x80; ++b) {
        if (some.Contains(b) && step(b) == id) at->stays.Add(b);
      }
    }
  }
  if (!leads || at->asked_leads) return;
  at->asked_leads = true;
  if (at->stays.empty()) return;
  if (alone) {
    AddOnlyLeadsOf(sets_.terms(), body.items[0].term, &at->stays);
  } else {
    AddOnlyLeads(sets_, id, step, &at->stays);
  }
}

void StateWalker::FindStays(StatePlace* at, bool leads) {
  if (!at->asked) {
    at->asked = true;
    AddAscii(terms_, at->id, &at->stays);
  }
  if (!leads || at->asked_leads) return;
  at->asked_leads = true;
  if (!at->stays.empty()) AddOnlyLeadsOf(terms_, at->id, &at->stays);
}

void SetWalker::FindSome(SetPlace* at) {
  at->asked_some = true;
  const auto items = sets_.Body(at->id).items;
  if (items.size() != 1) return;
  at->some = leaving().Keep(SomeThatStay(sets_.terms(), items[0].term, at->stays.leads));
}

void StateWalker::FindSome(StatePlace* at) {
  at->asked_some = true;
  at->some = leaving().Keep(SomeThatStay(terms_, at->id, at->stays.leads));
}

bool MayLeadBack(const TermStore& terms, TermId state) {
  return !LeadsOn(terms, state) && (!Counts(terms, state) || BeginsOptionally(terms, state));
}

WalkLoop LoopOf(TermStore& terms, TermId state) {
  WalkLoop loop;
  if (LeadsOn(terms, state)) return loop;
  const bool counts =
      Counts(terms, state) && !(BeginsOptionally(terms, state) && terms.IsExpanded(state));
  if (!counts) AddAscii(terms, state, &loop.alphabet);
  if (loop.alphabet.empty()) return CountedLoop(terms, state);
  loop.most = UINT64_MAX;
  return loop;
}

WalkLoop RegionOf(TermStore& terms, Regions* regions, TermId state) {
  return regions->Of(terms, state);
}

WalkLoop RegionOf(SetTable& sets, Regions* regions, SetId set) {
  const SetBody& body = sets.Body(set);
  WalkLoop best;
  if (sets.set(set).captures || body.captures || body.items.size() > kMostRoaming) return best;
  for (const Item& item : body.items) {
    const WalkLoop region = regions->Of(sets.terms(), item.term);
    if (region.alphabet.AsciiSize() > best.alphabet.AsciiSize()) best = region;
  }
  return best;
}

WalkLoop LoopOf(SetTable& sets, SetId set, bool loops) {
  const SetBody& body = sets.Body(set);
  WalkLoop loop;
  if (!sets.set(set).captures && !body.captures) loop = LoopOfItems(sets.terms(), body.items);
  if (!loops) return loop;
  Alphabet own;
  const StepTable& table = sets.Table(set);
  for (int b = 0; b < 128; ++b) {
    const uint16_t c = table.classes->class_of[b];
    if (c != 0 && table.targets[c - 1].load(std::memory_order_acquire) == set.value) {
      own.Add(static_cast<uint8_t>(b));
    }
  }
  if (loop.most == UINT64_MAX && loop.alphabet.AsciiSize() >= own.AsciiSize()) return loop;
  loop = {};
  loop.alphabet = own;
  loop.most = UINT64_MAX;
  return loop;
}

}  // namespace grammask::internal
