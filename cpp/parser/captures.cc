// Bytes read in a call to what must be known of them where the call returns.
//
// A capture is a call and a text, kept as a tree of texts that grow by a byte, so that forks and
// rollbacks share what they have in common. Beside the text stand its rivals: the values written
// before that it may still turn out to equal. They only become fewer, mostly none after the first
// scalar. Cost: a byte more, one look-up and what following the rivals takes. Tests:
// tests/parser/set_table_test.cc, tests/automaton/members_test.cc.
#include "parser/captures.h"

#include <algorithm>

namespace grammask::internal {

uint32_t CaptureTable::Begin(RetId element, bool compound, std::span<const uint32_t> rivals) {
  const auto [capture, added] =
      begin_.TryEmplace(element.value, static_cast<uint32_t>(captures_.size()));
  if (added) {
    captures_.Append() = {.element = element, .compound = compound, .rivals = memory_.Copy(rivals)};
  }
  return *capture;
}

uint32_t CaptureTable::Next(uint32_t capture, uint8_t byte) {
  if (capture <= kAnyText || Skips(captures_[capture], byte)) return capture;
  const auto [known, added] =
      next_.TryEmplace(uint64_t{capture} << 8 | byte, static_cast<uint32_t>(captures_.size()));
  if (!added) return *known;
  Capture next = {
      .element = captures_[capture].element,
      .before = capture,
      .byte = byte,
      .compound = captures_[capture].compound,
      .quoted = captures_[capture].quoted,
      .escaped = captures_[capture].quoted && !captures_[capture].escaped && byte == '\\',
      .length = captures_[capture].length + 1,
      .rivals = {}};
  if (byte == '"' && !captures_[capture].escaped) next.quoted = !next.quoted;
  if (!captures_[capture].rivals.empty()) {
    const std::string text = Text(capture) + static_cast<char>(byte);
    std::vector<uint32_t> rivals;
    for (uint32_t rival : captures_[capture].rivals) {
      if (terms_.MayBecome(text, rival)) rivals.push_back(rival);
    }
    next.rivals = memory_.Copy(std::span<const uint32_t>(rivals));
  }
  captures_.Append() = next;
  return *known;
}

uint32_t CaptureTable::Next(uint32_t capture, std::string_view bytes) {
  for (char b : bytes) capture = Next(capture, static_cast<uint8_t>(b));
  return capture;
}

bool CaptureTable::StaysAtRisk(uint32_t capture, uint8_t byte) const {
  if (captures_[capture].rivals.empty()) return false;
  if (Skips(captures_[capture], byte)) return true;
  const std::string text = Text(capture) + static_cast<char>(byte);
  return std::ranges::any_of(captures_[capture].rivals,
                             [&](uint32_t rival) { return terms_.MayBecome(text, rival); });
}

std::string CaptureTable::Text(uint32_t capture) const {
  std::string out(captures_[capture].length, '\0');
  for (size_t i = out.size(); i-- > 0; capture = captures_[capture].before) {
    out[i] = static_cast<char>(captures_[capture].byte);
  }
  return out;
}

}  // namespace grammask::internal
