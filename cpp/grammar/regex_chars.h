// The parts of a regular expression that stand for characters: escapes and bracketed classes.
#ifndef GRAMMASK_GRAMMAR_REGEX_CHARS_H_
#define GRAMMASK_GRAMMAR_REGEX_CHARS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/code_point_set.h"
#include "base/status.h"

namespace grammask::internal {

// A set of characters, or a single one (then `set` is empty). The single one may be a surrogate,
// which no text holds.
struct RegexAtom {
  std::optional<uint32_t> code_point;
  CodePointSet set;
};

// Reads characters of a pattern, which is valid UTF-8 and outlives the reader.
class RegexCharReader {
 public:
  explicit RegexCharReader(std::string_view pattern) : pattern_(pattern) {}

  size_t pos = 0;

  bool AtEnd() const { return pos >= pattern_.size(); }
  // The byte `ahead` of the position; 0 past the end (a pattern may hold NUL too: see AtEnd).
  char Peek(size_t ahead = 0) const {
    return pos + ahead < pattern_.size() ? pattern_[pos + ahead] : '\0';
  }
  bool LookingAt(std::string_view text) const { return pattern_.substr(pos).starts_with(text); }
  bool Consume(std::string_view text);
  uint32_t TakeCharacter();  // not at the end

  // After a backslash: an escape that stands for characters. In ignore_case, \w grows by what
  // folds to its members; otherwise the caller closes sets under case folding.
  StatusOr<RegexAtom> ReadEscape(bool in_class, bool ignore_case);
  // After `[`, through the closing bracket. Closed under case folding where `ignore_case`.
  StatusOr<CodePointSet> ReadClass(bool ignore_case);

  [[gnu::cold]] Status Error(size_t offset, std::string_view what,
                             StatusCode code = StatusCode::kInvalidArgument) const {
    return SourceError(pattern_, offset, what, code);
  }

 private:
  StatusOr<uint32_t> ReadHex(size_t start, int digits, std::string_view what);
  StatusOr<uint32_t> ReadUnicodeEscape(size_t start);
  StatusOr<CodePointSet> ReadProperty(size_t start, bool negated);
  StatusOr<CodePointSet> FindProperty(size_t name_offset, std::string_view expression);
  std::optional<uint32_t> ReadOctal();
  StatusOr<RegexAtom> ReadClassAtom(bool ignore_case);
  StatusOr<std::optional<CodePointSet>> ReadPosixClass();

  std::string_view pattern_;
};

CodePointSet RegexWordChars(bool ignore_case);  // \w
CodePointSet RegexLineEnds();                   // what `.` leaves out

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_REGEX_CHARS_H_
