// Texts that procedures read and tell to where they return.
#ifndef GRAMMASK_PARSER_CAPTURES_H_
#define GRAMMASK_PARSER_CAPTURES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "automaton/term_store.h"
#include "base/arena.h"
#include "base/ids.h"
#include "base/sharded_map.h"

namespace grammask::internal {

// A call of a procedure that captures, and what it has read so far; interned, so equal captures
// have one id. Functions need TermStore::mutex(), but for those that say otherwise.
class CaptureTable {
 public:
  static constexpr uint32_t kNone = 0;
  // Some text of a call that captures, not known which.
  static constexpr uint32_t kAnyText = 1;

  explicit CaptureTable(TermStore* terms) : terms_(*terms) {
    captures_.Append();  // kNone
    captures_.Append();  // kAnyText
  }

  // The call that returns to `element`, with nothing read. `compound`: it reads an array or object,
  // of whose text blanks outside of strings are not kept; `rivals`: those that it must not be.
  uint32_t Begin(RetId element, bool compound, std::span<const uint32_t> rivals);
  // After one more byte.
  uint32_t Next(uint32_t capture, uint8_t byte);
  // After all of `bytes`.
  uint32_t Next(uint32_t capture, std::string_view bytes);
  // Whether the text may still become a rival after one more byte.
  bool StaysAtRisk(uint32_t capture, uint8_t byte) const;

  std::string Text(uint32_t capture) const;
  size_t length(uint32_t capture) const { return captures_[capture].length; }
  RetId element(uint32_t capture) const { return captures_[capture].element; }
  // The rivals that the text may still become.
  std::span<const uint32_t> rivals(uint32_t capture) const { return captures_[capture].rivals; }

  size_t memory_bytes() const {
    return captures_.bytes() + memory_.bytes() + (begin_.size() + next_.size()) * 24;
  }

 private:
  struct Capture {
    RetId element;
    uint32_t before = kNone;  // the capture that this one is a byte longer than
    uint8_t byte = 0;
    bool compound = false, quoted = false, escaped = false;  // at the end of the text
    uint32_t length = 0;
    std::span<const uint32_t> rivals;
  };

  static bool Skips(const Capture& capture, uint8_t byte) {
    return capture.compound && !capture.quoted &&
           (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r');
  }

  TermStore& terms_;
  BumpArena memory_;  // of lists of rivals
  StableVector<Capture> captures_;
  ShardedMap<uint32_t, uint32_t> begin_;  // by element
  ShardedMap<uint64_t, uint32_t> next_;   // by (capture, byte)
};

}  // namespace grammask::internal

#endif  // GRAMMASK_PARSER_CAPTURES_H_
