// Items to interned sets: closing, predicting, stepping.
//
// A step moves every item over the byte, completes those that are finished (the items that wait in
// the set they return to go on), sorts, and looks the result up; the answer is kept in the set it
// started from, so the second time a step is one table read. When a set is first read from, the
// procedures that its items call are predicted into it. A call in tail position keeps its caller's
// return, so right recursion needs no stack: in `list ::= item "," list | item` every element ends
// in the same set. Left recursion and ambiguity are Earley's: `sum ::= sum "+" n | n` predicts sum
// once, and both waiting items go on when it is finished. Texts of no bytes need no completion:
// terms read past nullable calls.
//
// Most sets are left by one byte only, in the middle of a name or a value: that step is found by
// the byte alone (TermStore::AfterByte) and kept beside the set. The table is made when a second
// byte is asked for.
//
// Cost: a step taken before, 2 ns; a new one, 200 to 500 ns and about 200 bytes. Work per byte is
// bounded by Earley's, quadratic in the length for ambiguous grammars. Where a few items moved and
// finishing them adds many, as after a letter of an operand under fifteen levels of operators, the
// set is kept by those that moved: the letters of names and of keywords then lead to it at once.
//
// Source: Earley, CACM 1970; Leo, "A general context-free parsing algorithm running in linear time
// on every LR(k) grammar", 1991 (right recursion). Tests: tests/parser/set_table_test.cc, and the
// exhaustive worlds.
#include "parser/set_table.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <utility>

#include "base/index_slots.h"
#include "base/mix.h"
#include "base/sorted.h"

namespace grammask::internal {
namespace {

constexpr size_t kLinearSearch = 16;  // items up to which a linear search beats a hash set
constexpr size_t kMostMoved = 4;      // items by which the set that they complete is kept,
constexpr size_t kWorthKeeping = 8;   // where that has so many
constexpr size_t kItemsInAStep = 16;  // of those that Limits::max_mask_steps counts

uint64_t PackItem(const Item& i) { return uint64_t{i.term.value} << 32 | i.ret.value; }

uint32_t HashKernel(std::span<const Item> kernel) {
  uint64_t h = 0x243F6A8885A308D3u;
  for (const Item& i : kernel) {
    h = (h ^ PackItem(i)) * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
  }
  return static_cast<uint32_t>(h);
}

// Whether a call or a token may be the first thing that a state reads.
bool MayCall(const TermStore& terms, TermId state) {
  const Term* t = &terms.term(state);
  for (; t->kind == TermKind::kSequence; t = &terms.term(t->few[1])) {
    const Term& head = terms.term(t->few[0]);
    if (!head.regular) return true;
    if (!head.nullable) return false;
  }
  return !t->regular;
}

// Appends to a vector what is not in it yet. What it has already comes in ascending order, once
// each.
class UniqueItems {
 public:
  explicit UniqueItems(ItemList* items) : items_(*items) {
    if (!std::ranges::is_sorted(items_)) std::ranges::sort(items_);
    items_.erase(std::unique(items_.begin(), items_.end()), items_.end());
  }

  bool Add(const Item& item) {
    if (items_.size() < kLinearSearch) {
      if (std::ranges::find(items_, item) != items_.end()) return false;
    } else {
      uint32_t& slot = slots_.Find(
          HashOf(item), items_.size(), [&](size_t i) { return HashOf(items_[i]); },
          [&](size_t i) { return items_[i] == item; });
      if (slot != 0) return false;
      slot = static_cast<uint32_t>(items_.size() + 1);
    }
    items_.push_back(item);
    return true;
  }

 private:
  uint64_t HashOf(const Item& item) const { return Mix(seed_, PackItem(item)); }

  ItemList& items_;
  const uint64_t seed_ = MixSeed();
  IndexSlots slots_;
};

}  // namespace

SetTable::SetTable(TermStore* terms) : terms_(*terms), captures_(terms) {
  sets_.Append();  // 0: dead
  rets_.Append();  // kBottom
  rets_.Append();  // kUnknown
}

SetId SetTable::Intern(std::span<const Item> kernel, bool accepting, bool escaping) {
  const uint32_t hash = HashKernel(kernel);
  uint32_t time = 0;
  for (const Item& i : kernel) time = std::max({time, i.term.value, rets_[i.ret.value].time});
  IdTable::Place place;
  const auto known = table_.Find(
      time, hash, [&](uint32_t id) { return std::ranges::equal(sets_[id].kernel, kernel); },
      &place);
  if (known.has_value()) return SetId(*known);
  const SetId id(static_cast<uint32_t>(sets_.size()));
  Set& s = sets_.Append();
  if (kernel.size() == 1) {
    s.only = kernel[0];
    s.kernel = {&s.only, 1};
  } else {
    s.kernel = memory_.Copy(kernel);
  }
  s.accepting = accepting;
  s.escaping = escaping;
  if (terms_.has_captures()) {
    s.all_at_risk = true;
    for (const Item& item : kernel) {
      const uint32_t capture =
          item.ret.value > kUnknown.value ? rets_[item.ret.value].capture : CaptureTable::kNone;
      s.captures |= capture != CaptureTable::kNone;
      s.all_at_risk &= !captures_.rivals(capture).empty();
    }
  }
  if (kernel.size() == 1 && !s.captures) {
    const Term& t = terms_.term(kernel[0].term);
    const Term& head = t.kind == TermKind::kSequence ? terms_.term(t.children()[0]) : t;
    s.text = head.kind == TermKind::kBytes || head.kind == TermKind::kJsonText;
  }
  table_.Put(place, hash, id.value);
  return id;
}

RetId SetTable::Resolve(RetId ret, SetId self) {
  if ((ret.value & kSelf) == 0) return ret;
  const ProcId proc(ret.value & ~kSelf);
  const uint64_t key = WaitKey(self, proc);
  if (const RetId* known = ret_ids_.Find(key)) return *known;
  if (!terms_.has_captures()) return NamePlace(self, proc);
  const RetId next(static_cast<uint32_t>(rets_.size()));
  AddRet(self, proc, 0, next);
  return ret_ids_[key] = next;
}

RetId SetTable::WithCapture(RetId plain, uint32_t capture) {
  if (capture == CaptureTable::kNone) return plain;
  const auto [ret, added] = captured_ids_.TryEmplace(uint64_t{plain.value} << 32 | capture,
                                                     RetId(static_cast<uint32_t>(rets_.size())));
  if (added) {
    const Ret& entry = rets_[plain.value];
    AddRet(entry.set, entry.proc, capture, plain);
  }
  return *ret;
}

uint32_t SetTable::CaptureOf(RetId ret, SetId self) {
  if ((ret.value & kSelf) != 0) return ContextOf(Resolve(ret, self));
  return ret.value <= kUnknown.value ? CaptureTable::kNone : rets_[ret.value].capture;
}

uint32_t SetTable::ContextOf(RetId plain) {
  if (const uint32_t* known = contexts_.Find(plain.value)) return *known;
  uint32_t found = CaptureTable::kNone;
  // Through the predictions of one set, which may refer to one another.
  std::vector<RetId> todo = {plain};
  for (size_t i = 0; i < todo.size() && found == CaptureTable::kNone; ++i) {
    const Ret& entry = rets_[todo[i].value];
    const Proc& proc = terms_.proc(entry.proc);
    std::vector<uint32_t> rivals;
    const auto waiters =
        entry.set == unfinished_.set ? unfinished_.waiters : MakeBodyLocked(entry.set).waiters;
    for (const Waiter& w : WaitersFor(waiters, entry.proc)) {
      if (proc.captures) {
        if (proc.compound) terms_.AddRivals(w.to, &rivals);
      } else if ((w.ret.value & kSelf) != 0) {
        const RetId outer = Resolve(w.ret, entry.set);
        if (std::ranges::find(todo, outer) == todo.end()) todo.push_back(outer);
      } else if (w.ret.value > kUnknown.value && found == CaptureTable::kNone) {
        found = rets_[w.ret.value].capture;
      }
    }
    if (proc.captures) found = captures_.Begin(todo[i], proc.compound, rivals);
  }
  contexts_[plain.value] = found;
  return found;
}

RetId SetTable::Advance(RetId ret, SetId self, uint8_t byte) {
  if (!terms_.has_captures()) return Resolve(ret, self);
  const uint32_t capture = CaptureOf(ret, self);
  ret = Resolve(ret, self);
  if (capture == CaptureTable::kNone) return ret;
  return WithCapture(rets_[ret.value].plain, captures_.Next(capture, byte));
}

RetId SetTable::AfterCall(RetId waiting, const Ret& finished) {
  const uint32_t before = terms_.has_captures() ? CaptureOf(waiting, finished.set) : 0;
  waiting = Resolve(waiting, finished.set);
  if (before == CaptureTable::kNone) return waiting;
  const RetId plain = rets_[waiting.value].plain;
  const uint32_t inner = finished.capture;
  if (before == CaptureTable::kAnyText || inner <= CaptureTable::kAnyText) {
    return WithCapture(plain, CaptureTable::kAnyText);
  }
  if (captures_.element(before) == captures_.element(inner)) return WithCapture(plain, inner);
  // Another call that captures waits for the same bytes.
  const bool begins = terms_.proc(finished.proc).captures;
  const std::string read =
      captures_.Text(inner).substr(begins ? 0 : captures_.length(ContextOf(finished.plain)));
  return WithCapture(plain, captures_.Next(before, read));
}

const Proc* SetTable::Captures(RetId ret) const {
  if (ret == kBottom || ret == kUnknown) return nullptr;
  const ProcId id = (ret.value & kSelf) != 0 ? ProcId(ret.value & ~kSelf) : rets_[ret.value].proc;
  const Proc& proc = terms_.proc(id);
  return proc.captures ? &proc : nullptr;
}

SetId SetTable::Close(ItemList kernel) {
  if (kernel.size() == 1) {
    const Item item = kernel[0];
    const bool nullable = terms_.term(item.term).nullable;
    // Mostly nothing that waits for it can go on.
    if (!nullable || item.ret.value <= kUnknown.value) {
      return Intern(kernel, nullable && item.ret == kBottom, nullable && item.ret == kUnknown);
    }
  }
  UniqueItems unique(&kernel);
  const size_t moved = kernel.size();
  bool accepting = false, escaping = false;
  size_t waiting = 0;  // items that were looked at
  ClosedKey key;       // once something is completed, where these are few
  for (size_t i = 0; i < kernel.size(); ++i) {
    const Item item = kernel[i];
    if (!terms_.term(item.term).nullable) continue;
    if (item.ret == kBottom) {
      accepting = true;
    } else if (item.ret == kUnknown) {
      escaping = true;
    } else {
      if (key.empty() && moved <= kMostMoved && !terms_.has_captures()) {
        for (const Item& before : kernel) key.push_back(PackItem(before));
        if (const SetId* known = closed_.Find(key)) return *known;
      }
      const Ret& ret = rets_[item.ret.value];
      const SetBody& body = MakeBodyLocked(ret.set);
      const bool known = ret.capture > CaptureTable::kAnyText && terms_.proc(ret.proc).captures;
      const std::string text = known ? captures_.Text(ret.capture) : std::string();
      auto it = std::ranges::lower_bound(body.waiters, ret.proc, {}, &Waiter::proc);
      for (; it != body.waiters.end() && it->proc == ret.proc; ++it) {
        ++waiting;
        const TermId to = known ? terms_.Received(it->to, text) : it->to;
        if (to != TermStore::Nothing()) unique.Add({to, AfterCall(it->ret, ret)});
      }
    }
  }
  terms_.CountSteps((waiting + kernel.size()) / kItemsInAStep, item_bytes());
  // A finished item whose return has been followed can do no more.
  kernel.erase(std::remove_if(kernel.begin(), kernel.end(),
                              [](const Item& item) {
                                return item.term == TermStore::Empty() &&
                                       item.ret.value > kUnknown.value;
                              }),
               kernel.end());
  if (kernel.empty()) return Dead();
  std::ranges::sort(kernel);
  const SetId set = Intern(kernel, accepting, escaping);
  if (!key.empty() && kernel.size() >= kWorthKeeping) closed_.TryEmplace(key, set);
  return set;
}

SetId SetTable::OfItem(const Item& item) {
  const bool finished =
      item.term == TermStore::Empty() && item.ret.value > kUnknown.value && !terms_.has_captures();
  return finished ? ReturnedLocked(item.ret) : Close({item});
}

SetId SetTable::Start(TermId root) {
  std::lock_guard lock(terms_.mutex());
  return Close({{root, kBottom}});
}

SetId SetTable::InUnknownContext(TermId term) {
  std::lock_guard lock(terms_.mutex());
  return Close({{term, kUnknown}});
}

const SetBody& SetTable::MakeBody(SetId id) {
  std::lock_guard lock(terms_.mutex());
  return MakeBodyLocked(id);
}

const SetBody& SetTable::MakeBodyLocked(SetId id) {
  Set& s = sets_[id.value];
  if (const SetBody* body = s.body.load(std::memory_order_relaxed)) return *body;
  if (s.kernel.size() == 1 && !terms_.has_captures() && !MayCall(terms_, s.kernel[0].term)) {
    auto* body = new (memory_.Allocate<SetBody>(1)) SetBody;  // most sets: all there is
    body->items = s.kernel;
    s.body.store(body, std::memory_order_release);
    return *body;
  }
  ItemList items(s.kernel.begin(), s.kernel.end());
  absl::InlinedVector<Waiter, 8> waiters;
  absl::InlinedVector<TokenItem, 2> tokens;
  UniqueItems unique(&items);
  for (size_t i = 0; i < items.size(); ++i) {
    const Item item = items[i];
    if (!MayCall(terms_, item.term)) continue;
    const Expansion& e = terms_.ExpandLocked(item.term);
    for (const CallEdge& call : e.calls) {
      const TermId body = terms_.BodyOf(call.proc);
      if (call.to == TermStore::Empty()) {
        unique.Add({body, item.ret});
      } else {
        waiters.push_back({call.proc, call.to, item.ret});
        unique.Add({body, RetId(kSelf | call.proc.value)});
      }
    }
    for (const TokenEdge& edge : e.tokens) tokens.push_back({edge.tokens, edge.to, item.ret});
  }
  SortUnique(&waiters);
  terms_.CountSteps((items.size() + waiters.size()) / kItemsInAStep, item_bytes());
  auto* body = new (memory_.Allocate<SetBody>(1)) SetBody;
  body->items =
      items.size() == s.kernel.size() ? s.kernel : memory_.Copy(std::span<const Item>(items));
  body->waiters = memory_.Copy(std::span<const Waiter>(waiters));
  body->tokens = memory_.Copy(std::span<const TokenItem>(tokens));
  if (terms_.has_captures()) {
    std::vector<uint32_t> at_risk;
    const auto outer = std::exchange(unfinished_, {id, body->waiters});
    for (const Item& item : body->items) {
      const uint32_t capture = CaptureOf(item.ret, id);
      body->captures |= capture > CaptureTable::kAnyText;
      if (captures_.rivals(capture).empty()) continue;
      if (std::ranges::find(at_risk, capture) == at_risk.end()) at_risk.push_back(capture);
    }
    body->at_risk = memory_.Copy(std::span<const uint32_t>(at_risk));
    unfinished_ = outer;
  }
  s.body.store(body, std::memory_order_release);
  return *body;
}

const StepTable& SetTable::MakeTable(SetId id) {
  std::lock_guard lock(terms_.mutex());
  return MakeTableLocked(id);
}

const StepTable& SetTable::MakeTableLocked(SetId id) {
  Set& s = sets_[id.value];
  if (const StepTable* table = s.table.load(std::memory_order_relaxed)) return *table;
  const SetBody& body = MakeBodyLocked(id);
  auto* table = memory_.Allocate<StepTable>(1);
  // Of what is captured, bytes that are read alike are told apart.
  table->classes = Classes(body.items, body.captures);
  const size_t count = table->classes->example.size();
  table->targets = memory_.Allocate<std::atomic<uint32_t>>(count);
  for (size_t i = 0; i < count; ++i) new (&table->targets[i]) std::atomic<uint32_t>(kNotYet);
  if (const uint64_t first = s.first_step.load(std::memory_order_relaxed); first != 0) {
    const uint16_t c = table->classes->class_of[first >> 32 & 0xFF];
    if (c != 0) table->targets[c - 1].store(static_cast<uint32_t>(first));
  }
  s.table.store(table, std::memory_order_release);
  return *table;
}

SetId SetTable::StepUnchecked(SetId set, uint8_t byte) {
  const SetBody& body = MakeBodyLocked(set);
  if (body.items.size() == 1) {
    // One item moves, and is not finished: mostly so.
    const Item& item = body.items[0];
    const TermId to = terms_.AfterByte(item.term, byte);
    if (to == TermStore::Nothing()) return Dead();
    return OfItem({to, Advance(item.ret, set, byte)});
  }
  ItemList kernel;
  TermId last, to;  // neighbours often differ in where they return to only
  for (const Item& item : body.items) {
    if (item.term != last) to = terms_.AfterByte(last = item.term, byte);
    if (to != TermStore::Nothing()) kernel.push_back({to, Advance(item.ret, set, byte)});
  }
  return Close(std::move(kernel));
}

SetId SetTable::StepViable(SetId set, uint8_t byte) {
  const SetId to = StepUnchecked(set, byte);
  return sets_[to.value].all_at_risk && !Viable(to) ? Dead() : to;
}

// In a set without a table: most are left by one byte only, for which none is made.
SetId SetTable::StepFirst(SetId set, uint8_t byte) {
  Set& s = sets_[set.value];
  auto by_first = [&](uint64_t first) { return (first >> 32 & 0xFF) == byte; };
  uint64_t first = s.first_step.load(std::memory_order_acquire);
  if (first != 0 && by_first(first)) return SetId(static_cast<uint32_t>(first));
  std::lock_guard lock(terms_.mutex());
  first = s.first_step.load(std::memory_order_relaxed);
  if (first != 0 && by_first(first)) return SetId(static_cast<uint32_t>(first));
  if (first != 0) return StepSlowLocked(set, byte);
  const SetId to = StepViable(set, byte);
  s.first_step.store(Set::kStepped | uint64_t{byte} << 32 | to.value, std::memory_order_release);
  return to;
}

SetId SetTable::StepSlow(SetId set, uint8_t byte) {
  std::lock_guard lock(terms_.mutex());
  return StepSlowLocked(set, byte);
}

SetId SetTable::StepSlowLocked(SetId set, uint8_t byte) {
  const StepTable& table = MakeTableLocked(set);
  const uint16_t c = table.classes->class_of[byte];
  if (c == 0) return Dead();
  std::atomic<uint32_t>& target = table.targets[c - 1];
  if (target.load(std::memory_order_relaxed) != kNotYet) {
    return SetId(target.load(std::memory_order_relaxed));
  }
  const SetId to = StepViable(set, byte);
  target.store(to.value, std::memory_order_release);
  return to;
}

SetId SetTable::Returned(SetId at, RetId ret) {
  if (ret == kBottom || ret == kUnknown) return Dead();
  if ((ret.value & kSelf) == 0) {
    const Ret& plain = rets_[rets_[ret.value].plain.value];  // of any text
    if (const auto known = plain.Known()) return *known;
  }
  std::lock_guard lock(terms_.mutex());
  return ReturnedLocked(rets_[Resolve(ret, at).value].plain);
}

SetId SetTable::ReturnedLocked(RetId ret) {
  Ret& entry = rets_[ret.value];
  if (const auto known = entry.Known()) return *known;
  ItemList kernel;
  for (const Waiter& w : WaitersOf(entry.set, entry.proc)) {
    RetId outer = Resolve(w.ret, entry.set);
    if (terms_.has_captures() && CaptureOf(w.ret, entry.set) != CaptureTable::kNone) {
      outer = WithCapture(rets_[outer.value].plain, CaptureTable::kAnyText);
    }
    kernel.push_back({w.to, outer});
  }
  const SetId id = kernel.empty() ? Dead() : Close(std::move(kernel));
  entry.exact = !terms_.has_captures();
  entry.returned.store(id.value, std::memory_order_release);
  return id;
}

std::optional<uint8_t> SetTable::ForcedByte(SetId id) {
  if (sets_[id.value].accepting) return std::nullopt;
  const SetBody& body = Body(id);
  if (!body.tokens.empty()) return std::nullopt;
  std::optional<uint8_t> forced;
  for (const Item& item : body.items) {
    const Expansion& e = terms_.Expand(item.term);
    for (const ByteEdge& edge : e.bytes) {
      if (edge.lo == e.spelling_byte && edge.hi == e.spelling_byte) continue;
      if (edge.lo != edge.hi || (forced.has_value() && *forced != edge.lo)) return std::nullopt;
      forced = edge.lo;
    }
  }
  return forced;
}

// Shortest completions from the places where `set` waits for procedures. The returns of a set's
// kernel name older sets only, so sets are taken oldest first from an explicit stack; within one
// set the places refer to one another (left recursion) and are relaxed until nothing changes.
void SetTable::RestOfWaiters(SetId set) {
  std::vector<SetId> todo = {set};
  while (!todo.empty()) {
    const SetId top = todo.back();
    const SetBody& body = MakeBodyLocked(top);
    const size_t before = todo.size();
    bool done = body.waiters.empty() || rests_.Contains(WaitKey(top, body.waiters[0].proc));
    if (!done) {
      for (const Waiter& w : body.waiters) {
        if ((w.ret.value & kSelf) != 0 || w.ret.value <= kUnknown.value) continue;
        const Ret& ret = rets_[w.ret.value];
        if (!rests_.Contains(WaitKey(ret.set, ret.proc))) todo.push_back(ret.set);
      }
      if (todo.size() > before) continue;
      for (const Waiter& w : body.waiters) rests_[WaitKey(top, w.proc)] = kMaxLength;
      for (bool changed = true; changed;) {
        changed = false;
        for (const Waiter& w : body.waiters) {
          uint64_t after = 0;
          if ((w.ret.value & kSelf) != 0) {
            after = rests_[WaitKey(top, ProcId(w.ret.value & ~kSelf))];
          } else if (w.ret.value > kUnknown.value) {
            const Ret& ret = rets_[w.ret.value];
            after = rests_[WaitKey(ret.set, ret.proc)];
          }
          const uint64_t length = std::min(kMaxLength, terms_.term(w.to).min_length + after);
          uint64_t& known = rests_[WaitKey(top, w.proc)];
          if (length < known) {
            known = length;
            changed = true;
          }
        }
      }
    }
    todo.pop_back();
  }
}

uint64_t SetTable::ShortestCompletion(SetId id) {
  std::lock_guard lock(terms_.mutex());
  uint64_t least = kMaxLength;
  for (const Item& item : sets_[id.value].kernel) {
    uint64_t after = 0;
    if (item.ret.value > kUnknown.value) {
      const Ret& ret = rets_[item.ret.value];
      RestOfWaiters(ret.set);
      after = rests_[WaitKey(ret.set, ret.proc)];
    }
    least = std::min(least, std::min(kMaxLength, terms_.term(item.term).min_length + after));
  }
  return least;
}

size_t SetTable::memory_bytes() const {
  return memory_.bytes() + sets_.bytes() + rets_.bytes() + table_.bytes() +
         captures_.memory_bytes() +
         (captured_ids_.size() + contexts_.size() + viable_.size()) * 24 +
         (ret_ids_.size() + rests_.size() + single_place_ids_.size()) * 24 + place_bytes_ +
         (class_maps_.size() + classes_of_.size()) * 32 + closed_.size() * (sizeof(ClosedKey) + 16);
}

}  // namespace grammask::internal
