// Statuses; and from a place in a source text to an error message that shows it.
//
// The line is found by counting line ends up to the offset, then cut to a window around the caret
// so that a schema written on one line of megabytes still gives a short message. For example
// offset 5 of "ab\ncd)" gives "... at line 2, column 3", then "cd)", then two spaces and "^".
// Cost: one pass over the source, on errors only. Tests: tests/base/status_test.cc.
#include "base/status.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace grammask {

Status::Status(StatusCode code, std::string message)
    : error_(code == StatusCode::kOk ? nullptr : new Error{code, std::move(message)}) {}

const Status::Error* Status::Copy(const Error& error) { return new Error(error); }

void Status::Delete(const Error* error) { delete error; }

const std::string& Status::NoMessage() {
  static const std::string none;
  return none;
}

Status InvalidArgument(std::string m) { return {StatusCode::kInvalidArgument, std::move(m)}; }
Status Unsupported(std::string m) { return {StatusCode::kUnsupported, std::move(m)}; }
Status Unsatisfiable(std::string m) { return {StatusCode::kUnsatisfiable, std::move(m)}; }
Status ResourceExhausted(std::string m) { return {StatusCode::kResourceExhausted, std::move(m)}; }
Status OutOfRange(std::string m) { return {StatusCode::kOutOfRange, std::move(m)}; }
Status FailedPrecondition(std::string m) { return {StatusCode::kFailedPrecondition, std::move(m)}; }

}  // namespace grammask

namespace grammask::internal {
namespace {

// Characters shown before and after the place.
constexpr size_t kShownBefore = 60;
constexpr size_t kShownAfter = 40;
constexpr std::string_view kCut = "...";

// The length in bytes of the character at `pos`; 1 for a byte that is no part of one.
size_t CharLength(std::string_view text, size_t pos) {
  std::optional<DecodedChar> c = DecodeUtf8(text, pos);
  return c.has_value() ? static_cast<size_t>(c->length) : 1;
}

// Appends the character at `pos`, one column wide: what is not UTF-8 or not printable becomes
// U+FFFD, a tab a space.
void AppendShown(std::string_view text, size_t pos, std::string* out) {
  std::optional<DecodedChar> c = DecodeUtf8(text, pos);
  if (c.has_value() && c->code_point == '\t') {
    *out += ' ';
  } else if (!c.has_value() || c->code_point < 0x20 || c->code_point == 0x7F) {
    *out += "\xEF\xBF\xBD";
  } else {
    out->append(text, pos, static_cast<size_t>(c->length));
  }
}

}  // namespace

Status SourceError(std::string_view source, size_t offset, std::string_view what, StatusCode code) {
  offset = std::min(offset, source.size());
  std::string_view before = source.substr(0, offset);
  ptrdiff_t line_number = 1 + std::count(before.begin(), before.end(), '\n');
  size_t begin = offset == 0 ? std::string_view::npos : source.rfind('\n', offset - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  size_t end = std::min(source.find('\n', offset), source.size());
  if (end > offset && source[end - 1] == '\r') --end;

  // The starts of the last characters before the caret, as a ring: the line may be very long.
  std::array<size_t, kShownBefore + 1> starts{};
  size_t column = 0;
  size_t pos = begin;
  for (;; ++column) {
    starts[column % starts.size()] = pos;
    if (pos >= end || pos + CharLength(source, pos) > offset) break;
    pos += CharLength(source, pos);
  }
  size_t shown_before = std::min(column, kShownBefore);
  bool cut = shown_before < column;

  std::string message(what);
  message += " at line " + std::to_string(line_number);
  message += ", column " + std::to_string(column + 1) + "\n";
  if (cut) message += kCut;
  pos = starts[(column - shown_before) % starts.size()];
  size_t shown = 0;
  for (; pos < end && shown < shown_before + kShownAfter; ++shown) {
    AppendShown(source, pos, &message);
    pos += CharLength(source, pos);
  }
  if (pos < end) message += kCut;
  message += '\n';
  message.append(shown_before + (cut ? kCut.size() : 0), ' ');
  message += '^';
  return Status(code, std::move(message));
}

}  // namespace grammask::internal
