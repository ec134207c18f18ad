// The items of a set to classes of bytes.
//
// Bytes that move all items alike are one class, so that a set's table has an entry for each class:
// where one item reads `a` to `f` and another `d` to `z`, the classes are a-c, d-f and g-z. Equal
// maps from bytes to classes are one, as most states read one character or another spelling of it.
//
// Where items return to does not matter, so of many items each state is looked at once.
//
// Cost: linear in the edges; those of up to four states are gone through side by side, those of
// more are summed up by byte, once for the same states. Tests: tests/parser/set_table_test.cc.
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <array>
#include <bitset>

#include "base/mix.h"
#include "base/numbering.h"
#include "base/sorted.h"
#include "parser/set_table.h"

namespace grammask::internal {
namespace {

constexpr size_t kFewStates = 4;  // whose edges are gone through side by side; see Moves

// Where each of a few states moves.
struct Moves {
  uint64_t first = 0, last = 0;  // two each

  void Set(size_t state, uint32_t to) {
    (state < 2 ? first : last) |= uint64_t{to} << (state % 2 * 32);
  }
  friend bool operator==(const Moves&, const Moves&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Moves& m) {
    return H::combine(std::move(h), m.first, m.last);
  }
};

// Numbers keys as Numbering does, at most 256 of them; `slot`: where one is looked for first.
template <class Key>
class FewNumbering {
 public:
  static constexpr size_t kSlots = 512;
  size_t Of(Key key, size_t slot) {
    for (slot %= kSlots; slots_[slot] != 0; slot = (slot + 1) % kSlots) {
      if (keys_[slots_[slot] - 1u] == key) return slots_[slot];
    }
    keys_[used_] = key;
    return slots_[slot] = static_cast<uint16_t>(++used_);
  }

 private:
  uint16_t slots_[kSlots] = {};  // numbers
  Key keys_[256];                // by number - 1
  size_t used_ = 0;
};

// A run of bytes of one class.
uint32_t PackRun(uint8_t lo, uint8_t hi, size_t c) {
  return lo | uint32_t{hi} << 8 | static_cast<uint32_t>(c) << 16;
}

}  // namespace

// The map of runs of bytes of one class, ascending and disjoint: lo | hi << 8 | class << 16, where
// the classes are 1, 2, ... as they first come up. Few are different: most states read one
// character or another spelling of it.
const ClassMap* SetTable::InternClasses(std::span<const uint32_t> runs) {
  if (const auto* known = class_maps_.Find(BytesOf(runs))) return *known;
  auto* map = memory_.Allocate<ClassMap>(1);
  *map = {};
  absl::InlinedVector<uint8_t, 32> example;
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
  class_maps_[BytesOf(memory_.Copy(runs))] = map;
  return map;
}

const ClassMap* SetTable::Classes(std::span<const Item> items, bool each_byte) {
  std::array<uint32_t, 256> all_runs;
  size_t run_count = 0;
  auto add = [&](uint8_t lo, uint8_t hi, size_t c) { all_runs[run_count++] = PackRun(lo, hi, c); };
  auto runs = [&] { return std::span<const uint32_t>(all_runs.data(), run_count); };
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
    return InternClasses(runs());
  }
  if (items.size() == 1) {
    const ClassMap* const beside = ClassesBeside(items[0].term);
    return beside != nullptr ? beside : ClassesOfOne(items[0].term);
  }
  absl::InlinedVector<TermId, 16> states;
  for (const Item& item : items) states.push_back(item.term);
  if (states.size() > kFewStates) {
    SortUnique(&states);
  }
  // Bytes between two neighbouring ends of edges behave alike; pieces with the same moves are one
  // class.
  if (states.size() <= kFewStates) {
    ClassesOfFew(states, add);
    return InternClasses(runs());
  }
  const std::span<const TermId> key(states.data(), states.size());
  if (const auto* known = classes_of_.Find(BytesOf(key))) return *known;
  // What moves at a byte is told by the sum of all moves there, added where an edge begins and
  // taken away where it ends: of numbers of 128 bits, others in each process, that sum up to the
  // same, or to nothing, by no chance that matters.
  unsigned __int128 changes[257] = {};
  std::bitset<257> marks;
  const uint64_t seed = MixSeed();
  for (uint32_t i = 0; i < states.size(); ++i) {
    for (const ByteEdge& e : terms_.ExpandLocked(states[i]).bytes) {
      const uint64_t low = Mix(seed, uint64_t{i} << 32 | e.to.value);
      const auto move = static_cast<unsigned __int128>(Mix(low, ~seed)) << 64 | low;
      changes[e.lo] += move;
      changes[e.hi + 1] -= move;
      marks.set(e.lo);
      marks.set(e.hi + 1u);
    }
  }
  FewNumbering<unsigned __int128> classes;  // sums are random: each tells its own slot
  unsigned __int128 sum = 0;
  int begun = 0;
  size_t number = 0;  // of the bytes from there; 0: none
  for (int b = 0; b <= 256; ++b) {
    if (!marks[static_cast<size_t>(b)]) continue;
    if (number != 0) add(static_cast<uint8_t>(begun), static_cast<uint8_t>(b - 1), number);
    sum += changes[b];
    begun = b;
    number = sum != 0 ? classes.Of(sum, static_cast<size_t>(sum)) : 0;
  }
  const ClassMap* const map = InternClasses(runs());
  classes_of_[BytesOf(memory_.Copy(key))] = map;
  return map;
}

// Edges of one target are one class.
const ClassMap* SetTable::ClassesOfOne(TermId state) {
  std::array<uint32_t, 256> runs;
  size_t count = 0;
  FewNumbering<uint32_t> targets;
  for (const ByteEdge& e : terms_.ExpandLocked(state).bytes) {
    const size_t c = targets.Of(e.to.value, e.to.value * size_t{0x9E3779B97F4A7C15} >> 55);
    runs[count++] = PackRun(e.lo, e.hi, c);
  }
  return InternClasses({runs.data(), count});
}

// The classes of a state that adds a few bytes to what another one reads, where these are classes
// by themselves there: the classes of that one, and the state's own edges are not made. After a
// character of a class in a regular expression, for instance, a hyphen may come or any other
// character. Null where it is none such.
const ClassMap* SetTable::ClassesBeside(TermId state) {
  const auto beside = terms_.FindBeside(state);
  if (!beside.has_value()) return nullptr;
  const std::array key = {beside->rest};
  const ClassMap* map = nullptr;
  if (const auto* known = classes_of_.Find(BytesOf(std::span<const TermId>(key)))) {
    map = *known;
  } else {
    map = ClassesOfOne(beside->rest);
    classes_of_[BytesOf(memory_.Copy(std::span<const TermId>(key)))] = map;
  }
  bool alone = true;
  beside->first.ForEachRange([&](uint8_t lo, uint8_t hi) {
    for (int b = lo; b <= hi; ++b) {
      const uint16_t c = map->class_of[b];
      alone &= c != 0 && std::ranges::count(map->class_of, c) == 1;
    }
  });
  return alone ? map : nullptr;
}

// Goes through the edges of all states side by side, from one piece to the next.
template <class Add>
void SetTable::ClassesOfFew(std::span<const TermId> states, Add&& add) {
  struct Cursor {
    const ByteEdge *edge = nullptr, *end = nullptr;
  };
  Cursor cursors[kFewStates];
  for (size_t i = 0; i < states.size(); ++i) {
    const std::span<const ByteEdge> edges = terms_.ExpandLocked(states[i]).bytes;
    cursors[i] = {edges.data(), edges.data() + edges.size()};
  }
  Numbering<Moves> classes;
  for (int at = 0; at < 256;) {
    Moves moves;
    bool read = false;
    int end = 256;
    for (size_t i = 0; i < states.size(); ++i) {
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

}  // namespace grammask::internal
