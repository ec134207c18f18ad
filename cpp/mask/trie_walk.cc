// A parser set to the bytes and characters on which it loops.
//
// Bytes of one class lead to one set, so a set's loop is read off its classes. Beyond ASCII a
// character is several bytes: the sets on the way are stepped through, a few for all first bytes,
// since bytes of one class lead to one set here too. Inside a JSON string the loop is every
// character but `"`, `\` and the controls.
//
// Cost: 0.1 us; some 10 us for the first set that loops on all characters. Tests:
// tests/mask/mask_test.cc.
#include "mask/trie_walk.h"

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

bool LoopsOnCharacters(SetTable& sets, SetId set) {
  constexpr ByteRange kRest = {0x80, 0xBF};
  constexpr ByteRange kTwo[] = {{0xC2, 0xDF}, kRest};
  constexpr ByteRange kThree[][3] = {{{0xE0, 0xE0}, {0xA0, 0xBF}, kRest},
                                     {{0xE1, 0xEC}, kRest, kRest},
                                     {{0xED, 0xED}, {0x80, 0x9F}, kRest},
                                     {{0xEE, 0xEF}, kRest, kRest}};
  constexpr ByteRange kFour[][4] = {{{0xF0, 0xF0}, {0x90, 0xBF}, kRest, kRest},
                                    {{0xF1, 0xF3}, kRest, kRest, kRest},
                                    {{0xF4, 0xF4}, {0x80, 0x8F}, kRest, kRest}};
  const uint16_t* class_of = sets.Body(set).classes->class_of;
  for (int b = 0xC2; b <= 0xF4; ++b) {
    if (class_of[b] == 0) return false;
  }
  if (!AllLead(sets, set, kTwo, set)) return false;
  for (const auto& ranges : kThree) {
    if (!AllLead(sets, set, ranges, set)) return false;
  }
  for (const auto& ranges : kFour) {
    if (!AllLead(sets, set, ranges, set)) return false;
  }
  return true;
}

}  // namespace

Alphabet LoopAlphabet(SetTable& sets, SetId set) {
  const SetBody& body = sets.Body(set);
  Alphabet loop;
  for (int b = 0; b < 128; ++b) {
    const uint16_t c = body.classes->class_of[b];
    if (c != 0 && body.targets[c - 1].load(std::memory_order_acquire) == set.value) {
      loop.Add(static_cast<uint8_t>(b));
    }
  }
  loop.characters = LoopsOnCharacters(sets, set);
  return loop;
}

}  // namespace grammask::internal
