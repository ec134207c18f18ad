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
// bounded by Earley's, quadratic in the length for ambiguous grammars.
//
// Source: Earley, CACM 1970; Leo, "A general context-free parsing algorithm running in linear time
// on every LR(k) grammar", 1991 (right recursion). Tests: tests/parser/set_table_test.cc, and the
// exhaustive worlds.
#include "parser/set_table.h"

#include <absl/container/flat_hash_set.h>
#include <absl/container/inlined_vector.h>
#include <absl/types/span.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/byte_overlay.h"
#include "base/check.h"

namespace grammask::internal {
namespace {

// Steps after which values are taken to be able to become others.
constexpr size_t kMostViableSteps = 4096;
constexpr size_t kLinearSearch = 16;  // items up to which a linear search beats a hash set
constexpr size_t kFewItems = 4;  // of a set whose edges are gone through side by side; see Moves

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

// Appends to a vector what is not in it yet.
class UniqueItems {
 public:
  explicit UniqueItems(ItemList* items) : items_(*items) {
    if (items_.size() < 2) return;
    ItemList given;
    given.swap(items_);
    for (const Item& i : given) Add(i);
  }

  bool Add(const Item& item) {
    if (items_.size() < kLinearSearch) {
      if (std::ranges::find(items_, item) != items_.end()) return false;
    } else {
      if (set_.empty()) {
        for (const Item& i : items_) set_.insert(PackItem(i));
      }
      if (!set_.insert(PackItem(item)).second) return false;
    }
    items_.push_back(item);
    return true;
  }

 private:
  ItemList& items_;
  absl::flat_hash_set<uint64_t> set_;
};

// The beginning of a JSON text without what does not matter for how it may go on: whitespace, which
// spelling a character has, how many zeros a number ends in, which exponent it has.
void AppendSignificant(std::string_view text, std::string* out) {
  bool quoted = false, exponent = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      *out += c;
      if (c == '"') quoted = false;
      if (c != '\\' || i + 1 == text.size()) continue;
      // Of a whole \u escape of ASCII the character; of others the letters in lower case.
      const std::string_view escape = text.substr(i, 6);
      uint32_t value = 0;
      if (escape.size() == 6 && escape[1] == 'u' &&
          std::from_chars(escape.data() + 2, escape.data() + 6, value, 16).ptr ==
              escape.data() + 6 &&
          value >= 0x20 && value < 0x7F && value != '"' && value != '\\') {
        out->back() = static_cast<char>(value);
        i += 5;
        continue;
      }
      const size_t length = escape[1] == 'u' ? escape.size() : 2;
      for (char e : escape.substr(1, length - 1)) *out += static_cast<char>(e | 0x20);
      i += length - 1;
      continue;
    }
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') continue;
    if (c == '0' && text.substr(i, 3) == "000") continue;
    if (exponent && c >= '0' && c <= '9') continue;
    exponent = c == 'e' || c == 'E' || (exponent && (c == '+' || c == '-'));
    quoted = c == '"';
    *out += c;
  }
}

// Where each of a few items moves.
struct Moves {
  uint64_t first = 0, last = 0;  // two each

  void Set(size_t item, uint32_t to) {
    (item < 2 ? first : last) |= uint64_t{to} << (item % 2 * 32);
  }
  friend bool operator==(const Moves&, const Moves&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Moves& m) {
    return H::combine(std::move(h), m.first, m.last);
  }
};

// Numbers keys 1, 2, ... as they first come up: by search while there are few, else by hash.
template <class Key>
class Numbering {
 public:
  size_t Of(const Key& key) {
    if (!by_hash_.empty()) return by_hash_.try_emplace(key, by_hash_.size() + 1).first->second;
    const auto known = std::ranges::find(keys_, key);
    const auto number = static_cast<size_t>(known - keys_.begin()) + 1;
    if (known != keys_.end()) return number;
    keys_.push_back(key);
    if (keys_.size() > kLinearSearch * 2) {
      for (size_t i = 0; i < keys_.size(); ++i) by_hash_.emplace(keys_[i], i + 1);
    }
    return number;
  }

 private:
  absl::InlinedVector<Key, 32> keys_;
  absl::flat_hash_map<Key, size_t> by_hash_;
};

}  // namespace

SetTable::SetTable(TermStore* terms) : terms_(*terms), captures_(terms), table_(1 << 11) {
  sets_.Append();  // 0: dead
  rets_.Append();  // kBottom
  rets_.Append();  // kUnknown
}

SetId SetTable::Intern(std::span<const Item> kernel, bool accepting, bool escaping) {
  const uint32_t hash = HashKernel(kernel);
  size_t place = 0;
  const auto known = table_.Find(
      hash, [&](uint32_t id) { return std::ranges::equal(sets_[id].kernel, kernel); }, &place);
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
    const Term& head = t.kind == TermKind::kSequence ? terms_.term(t.children[0]) : t;
    s.text = head.kind == TermKind::kBytes || head.kind == TermKind::kJsonText;
  }
  table_.Put(place, hash, id.value);
  return id;
}

RetId SetTable::Resolve(RetId ret, SetId self) {
  if ((ret.value & kSelf) == 0) return ret;
  const ProcId proc(ret.value & ~kSelf);
  const uint64_t key = uint64_t{self.value} << 32 | proc.value;
  if (auto it = ret_ids_.find(key); it != ret_ids_.end()) return it->second;
  if (!terms_.has_captures()) return NamePlace(self, proc);
  const RetId next(static_cast<uint32_t>(rets_.size()));
  rets_.Append() = {self, proc, 0, next};
  return ret_ids_[key] = next;
}

RetId SetTable::WithCapture(RetId plain, uint32_t capture) {
  if (capture == CaptureTable::kNone) return plain;
  auto [it, added] = captured_ids_.try_emplace(uint64_t{plain.value} << 32 | capture,
                                               RetId(static_cast<uint32_t>(rets_.size())));
  if (added) {
    const Ret entry = rets_[plain.value];
    rets_.Append() = {entry.set, entry.proc, capture, plain};
  }
  return it->second;
}

uint32_t SetTable::CaptureOf(RetId ret, SetId self) {
  if ((ret.value & kSelf) != 0) return ContextOf(Resolve(ret, self));
  return ret.value <= kUnknown.value ? CaptureTable::kNone : rets_[ret.value].capture;
}

uint32_t SetTable::ContextOf(RetId plain) {
  if (auto it = contexts_.find(plain.value); it != contexts_.end()) return it->second;
  uint32_t found = CaptureTable::kNone;
  // Through the predictions of one set, which may refer to one another.
  std::vector<RetId> todo = {plain};
  for (size_t i = 0; i < todo.size() && found == CaptureTable::kNone; ++i) {
    const Ret entry = rets_[todo[i].value];
    const Proc& proc = terms_.proc(entry.proc);
    std::vector<uint32_t> rivals;
    const auto waiters =
        entry.set == unfinished_.set ? unfinished_.waiters : MakeBodyLocked(entry.set).waiters;
    for (const Waiter& w : waiters) {
      if (w.proc != entry.proc) continue;
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
  UniqueItems unique(&kernel);
  bool accepting = false, escaping = false;
  for (size_t i = 0; i < kernel.size(); ++i) {
    const Item item = kernel[i];
    if (!terms_.term(item.term).nullable) continue;
    if (item.ret == kBottom) {
      accepting = true;
    } else if (item.ret == kUnknown) {
      escaping = true;
    } else {
      const Ret ret = rets_[item.ret.value];
      const SetBody& body = MakeBodyLocked(ret.set);
      const bool known = ret.capture > CaptureTable::kAnyText && terms_.proc(ret.proc).captures;
      const std::string text = known ? captures_.Text(ret.capture) : std::string();
      auto it = std::ranges::lower_bound(body.waiters, ret.proc, {}, &Waiter::proc);
      for (; it != body.waiters.end() && it->proc == ret.proc; ++it) {
        const TermId to = known ? terms_.Received(it->to, text) : it->to;
        if (to != TermStore::Nothing()) unique.Add({to, AfterCall(it->ret, ret)});
      }
    }
  }
  // A finished item whose return has been followed can do no more.
  kernel.erase(std::remove_if(kernel.begin(), kernel.end(),
                              [](const Item& item) {
                                return item.term == TermStore::Empty() &&
                                       item.ret.value > kUnknown.value;
                              }),
               kernel.end());
  if (kernel.empty()) return Dead();
  std::ranges::sort(kernel);
  return Intern(kernel, accepting, escaping);
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
  std::ranges::sort(waiters);
  waiters.erase(std::unique(waiters.begin(), waiters.end()), waiters.end());
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

// The map of runs of bytes of one class, ascending and disjoint: lo | hi << 8 | class << 16, where
// the classes are 1, 2, ... as they first come up. Few are different: most states read one
// character or another spelling of it.
const ClassMap* SetTable::InternClasses(std::span<const uint32_t> runs) {
  const absl::string_view key(reinterpret_cast<const char*>(runs.data()), runs.size_bytes());
  if (auto it = class_maps_.find(key); it != class_maps_.end()) return it->second;
  auto* map = memory_.Allocate<ClassMap>(1);
  *map = {};
  std::vector<uint8_t> example;
  for (uint32_t run : runs) {
    const auto lo = static_cast<uint8_t>(run), hi = static_cast<uint8_t>(run >> 8);
    const auto c = static_cast<uint16_t>(run >> 16);
    if (c > example.size()) example.push_back(lo);
    for (int b = lo; b <= hi; ++b) map->class_of[b] = c;
  }
  map->example = memory_.Copy(std::span<const uint8_t>(example));
  absl::InlinedVector<uint8_t, ClassMap::kFew + 1> few;
  for (int b = 0; b < 256 && few.size() <= ClassMap::kFew; ++b) {
    if (map->class_of[b] != 0) few.push_back(static_cast<uint8_t>(b));
  }
  if (few.size() <= ClassMap::kFew) map->few = memory_.Copy(std::span<const uint8_t>(few));
  class_maps_.emplace(key, map);
  return map;
}

const ClassMap* SetTable::Classes(std::span<const Item> items, bool each_byte) {
  absl::InlinedVector<uint32_t, 32> runs;
  auto add = [&](uint8_t lo, uint8_t hi, size_t c) {
    runs.push_back(lo | uint32_t{hi} << 8 | static_cast<uint32_t>(c) << 16);
  };
  if (each_byte) {
    // Only whether a byte can be read matters: each is a class of its own.
    bool read[256] = {};
    for (const Item& item : items) {
      for (const ByteEdge& e : terms_.ExpandLocked(item.term).bytes) {
        std::fill(read + e.lo, read + e.hi + 1, true);
      }
    }
    size_t count = 0;
    for (int b = 0; b < 256; ++b) {
      if (read[b]) add(static_cast<uint8_t>(b), static_cast<uint8_t>(b), ++count);
    }
    return InternClasses(runs);
  }
  if (items.size() == 1) {
    // Edges of one target are one class.
    Numbering<uint32_t> targets;
    for (const ByteEdge& e : terms_.ExpandLocked(items[0].term).bytes) {
      add(e.lo, e.hi, targets.Of(e.to.value));
    }
    return InternClasses(runs);
  }
  // Bytes between two neighbouring ends of edges behave alike; pieces with the same moves are one
  // class.
  if (items.size() <= kFewItems) {
    ClassesOfFew(items, add);
    return InternClasses(runs);
  }
  ByteOverlay<uint64_t> overlay;
  for (uint32_t i = 0; i < items.size(); ++i) {
    for (const ByteEdge& e : terms_.ExpandLocked(items[i].term).bytes) {
      overlay.Add(e.lo, e.hi, uint64_t{i} << 32 | e.to.value);
    }
  }
  Numbering<absl::Span<const uint64_t>> classes;  // by their moves
  overlay.ForEach([&](uint8_t lo, uint8_t hi, std::span<const uint64_t> moves) {
    add(lo, hi, classes.Of(moves));
  });
  return InternClasses(runs);
}

// Goes through the edges of all items side by side, from one piece to the next.
template <class Add>
void SetTable::ClassesOfFew(std::span<const Item> items, Add&& add) {
  struct Cursor {
    const ByteEdge *edge, *end;
  };
  Cursor cursors[kFewItems];
  for (size_t i = 0; i < items.size(); ++i) {
    const std::span<const ByteEdge> edges = terms_.ExpandLocked(items[i].term).bytes;
    cursors[i] = {edges.data(), edges.data() + edges.size()};
  }
  Numbering<Moves> classes;
  for (int at = 0; at < 256;) {
    Moves moves;
    bool read = false;
    int end = 256;
    for (size_t i = 0; i < items.size(); ++i) {
      Cursor& c = cursors[i];
      if (c.edge != c.end && c.edge->hi < at) ++c.edge;
      if (c.edge == c.end) continue;
      const bool reads = c.edge->lo <= at;
      end = std::min<int>(end, reads ? c.edge->hi + 1 : c.edge->lo);
      if (reads) moves.Set(i, c.edge->to.value);
      read |= reads;
    }
    if (read) add(static_cast<uint8_t>(at), static_cast<uint8_t>(end - 1), classes.Of(moves));
    at = end;
  }
}

SetId SetTable::StepUnchecked(SetId set, uint8_t byte) {
  const SetBody& body = MakeBodyLocked(set);
  if (body.items.size() == 1) {
    // One item moves, and is not finished: mostly so.
    const Item& item = body.items[0];
    const TermId to = terms_.AfterByte(item.term, byte);
    if (to == TermStore::Nothing()) return Dead();
    const Item moved = {to, Advance(item.ret, set, byte)};
    const bool nullable = terms_.term(to).nullable;
    if (!nullable || moved.ret.value <= kUnknown.value) {
      return Intern({&moved, 1}, nullable && moved.ret == kBottom,
                    nullable && moved.ret == kUnknown);
    }
    return Close({moved});
  }
  ItemList kernel;
  for (const Item& item : body.items) {
    const TermId to = terms_.AfterByte(item.term, byte);
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

// What matters of a set for whether its values can become others.
std::string SetTable::Fingerprint(SetId id) const {
  std::string out;
  auto put = [&](uint32_t v) { out.append(reinterpret_cast<const char*>(&v), sizeof v); };
  uint32_t last = CaptureTable::kNone;
  for (const Item& item : sets_[id.value].kernel) {
    const Ret& ret = rets_[item.ret.value];
    put(item.term.value);
    put(ret.plain.value);
    // Mostly all items read the same text.
    if (ret.capture != last) AppendSignificant(captures_.Text(ret.capture), &out);
    last = ret.capture;
  }
  return out;
}

// Whether a backslash only begins another spelling of what the items can read without it.
bool SetTable::OnlySpells(const SetBody& body) {
  return std::ranges::all_of(body.items, [&](const Item& item) {
    const Expansion& e = terms_.ExpandLocked(item.term);
    return e.spelling_byte == '\\' || FindEdge(e.bytes, '\\') == nullptr;
  });
}

// A search for a byte after which some text is none that a rival could have. It stays among the
// spellings of the rivals, and mostly ends at the first byte tried; where it takes more than
// kMostViableSteps the answer is yes. A set whose values can only be completed to rivals is never
// stepped into.
bool SetTable::Viable(SetId start) {
  if (auto it = viable_.find(start.value); it != viable_.end()) return it->second;
  struct Visit {
    SetId set;
    size_t from;
  };
  std::vector<Visit> visits = {{start, 0}};
  absl::flat_hash_set<std::string> seen = {Fingerprint(start)};
  size_t steps = 0;
  for (size_t next = 0; next < visits.size(); ++next) {
    const SetId at = visits[next].set;
    const SetBody& body = MakeBodyLocked(at);
    const bool plain = OnlySpells(body);
    for (uint8_t byte : MakeTableLocked(at).classes->example) {
      if (plain && byte == '\\') continue;  // it leads to the same values by a longer way
      const SetId to = StepUnchecked(at, byte);
      if (to == Dead()) continue;
      const auto known = viable_.find(to.value);
      const bool free = !sets_[to.value].all_at_risk || (known != viable_.end() && known->second);
      if (free || ++steps > kMostViableSteps) {
        for (size_t i = next;; i = visits[i].from) {
          viable_[visits[i].set.value] = true;
          if (i == 0) return true;
        }
      }
      if (known != viable_.end()) continue;
      if (seen.insert(Fingerprint(to)).second) visits.push_back({to, next});
    }
  }
  for (const Visit& v : visits) viable_[v.set.value] = false;
  return false;
}

SetId SetTable::StepToken(SetId set, TokenId id, std::optional<std::string_view> text,
                          bool is_plain) {
  const SetId by_bytes = text.has_value() && !text->empty() ? Run(set, *text) : Dead();
  const SetBody& body = Body(set);
  if (body.tokens.empty()) return by_bytes;
  std::lock_guard lock(terms_.mutex());
  ItemList kernel;
  for (const TokenItem& item : body.tokens) {
    const TokenSet& tokens = terms_.token_set(item.tokens);
    const bool named = std::ranges::binary_search(tokens.ids, id);
    if (tokens.excluded ? !named && is_plain : named) {
      kernel.push_back({item.to, Resolve(item.ret, set)});
    }
  }
  if (kernel.empty()) return by_bytes;
  const Set& other = sets_[by_bytes.value];
  kernel.insert(kernel.end(), other.kernel.begin(), other.kernel.end());
  return Close(std::move(kernel));
}

SetId SetTable::Returned(SetId at, RetId ret) {
  if (ret == kBottom || ret == kUnknown) return Dead();
  std::lock_guard lock(terms_.mutex());
  ret = rets_[Resolve(ret, at).value].plain;  // of any text
  auto [it, added] = returned_.try_emplace(ret.value);
  if (!added) return it->second;
  const Ret entry = rets_[ret.value];
  ItemList kernel;
  for (const Waiter& w : MakeBodyLocked(entry.set).waiters) {
    if (w.proc != entry.proc) continue;
    RetId outer = Resolve(w.ret, entry.set);
    if (terms_.has_captures() && CaptureOf(w.ret, entry.set) != CaptureTable::kNone) {
      outer = WithCapture(rets_[outer.value].plain, CaptureTable::kAnyText);
    }
    kernel.push_back({w.to, outer});
  }
  const SetId id = kernel.empty() ? Dead() : Close(std::move(kernel));
  returned_[ret.value] = id;
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
  auto key = [](SetId s, ProcId p) { return uint64_t{s.value} << 32 | p.value; };
  std::vector<SetId> todo = {set};
  while (!todo.empty()) {
    const SetId top = todo.back();
    const SetBody& body = MakeBodyLocked(top);
    const size_t before = todo.size();
    bool done = body.waiters.empty() || rests_.contains(key(top, body.waiters[0].proc));
    if (!done) {
      for (const Waiter& w : body.waiters) {
        if ((w.ret.value & kSelf) != 0 || w.ret.value <= kUnknown.value) continue;
        const Ret ret = rets_[w.ret.value];
        if (!rests_.contains(key(ret.set, ret.proc))) todo.push_back(ret.set);
      }
      if (todo.size() > before) continue;
      for (const Waiter& w : body.waiters) rests_[key(top, w.proc)] = kMaxLength;
      for (bool changed = true; changed;) {
        changed = false;
        for (const Waiter& w : body.waiters) {
          uint64_t after = 0;
          if ((w.ret.value & kSelf) != 0) {
            after = rests_[key(top, ProcId(w.ret.value & ~kSelf))];
          } else if (w.ret.value > kUnknown.value) {
            const Ret ret = rets_[w.ret.value];
            after = rests_[key(ret.set, ret.proc)];
          }
          const uint64_t length = std::min(kMaxLength, terms_.term(w.to).min_length + after);
          uint64_t& known = rests_[key(top, w.proc)];
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
      const Ret ret = rets_[item.ret.value];
      RestOfWaiters(ret.set);
      after = rests_[uint64_t{ret.set.value} << 32 | ret.proc.value];
    }
    least = std::min(least, std::min(kMaxLength, terms_.term(item.term).min_length + after));
  }
  return least;
}

size_t SetTable::memory_bytes() const {
  return memory_.bytes() + sets_.bytes() + rets_.bytes() + table_.memory_bytes() +
         captures_.memory_bytes() +
         (captured_ids_.size() + contexts_.size() + viable_.size()) * 24 +
         (ret_ids_.size() + returned_.size() + rests_.size() + single_place_ids_.size()) * 24 +
         place_bytes_ + class_maps_.size() * 64;
}

}  // namespace grammask::internal
