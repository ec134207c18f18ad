// Where in a character of a JSON string a text may be.
//
// The automaton of one character, in UTF-8 or any JSON spelling. What a term does to it is a map:
// from each place the one where all texts of the term end, or none where they differ or are
// refused. See json_content.cc, which makes the maps, and character_counts.cc.
//
// Source: RFC 8259 section 7.
#ifndef GRAMMASK_AUTOMATON_JSON_PLACES_H_
#define GRAMMASK_AUTOMATON_JSON_PLACES_H_

#include <array>
#include <cstdint>
#include <span>

#include "base/byte_set.h"

namespace grammask::internal {

struct JsonPlaces {
  enum Place : uint8_t {
    kBetween,  // two characters
    kBackslash,
    kFour,  // digits of `\u` to come
    kThree,
    kTwo,
    kOne,
    kAfterD,    // the number begins with D: 0-7 is a character by itself, 8-B begins a pair
    kFirstTwo,  // digits of a pair's first number
    kFirstOne,
    kSecondBackslash,
    kSecondU,
    kSecondD,
    kSecondC,  // C-F
    kTail1,    // bytes of UTF-8 to come
    kTail2,
    kTail3,
    kAfterE0,
    kAfterED,
    kAfterF0,
    kAfterF4,
    kPlaces,
    kNowhere = kPlaces,
  };
  struct Move {
    Place from, to;
    ByteSet bytes;
  };
  static std::span<const Move> Moves();  // safe for concurrent use

  // Where each place is left, by place.
  using Map = std::array<uint8_t, kPlaces>;
  static Map Identity();
  // Of one byte of the set.
  static Map OfBytes(const ByteSet& bytes);
  static Map Then(const Map& first, const Map& second);

  // Bounds on the number of characters that end in a text from each place on, where the place is
  // left for one; kMany: no bound.
  static constexpr uint32_t kMany = UINT32_MAX;
  struct Counts {
    std::array<uint32_t, kPlaces> least, most;
  };
};

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_JSON_PLACES_H_
