// JSON values that were read: which value a text is, and whether a text can still become one.
#ifndef GRAMMASK_AUTOMATON_CAPTURED_VALUE_H_
#define GRAMMASK_AUTOMATON_CAPTURED_VALUE_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "grammar/json_schema/json_document.h"
#include "grammask/limits.h"

namespace grammask::internal {

// One array or object, parsed. Immutable.
class CapturedValue {
 public:
  // `document` was parsed from `text`.
  CapturedValue(std::unique_ptr<const std::string> text, JsonDocument document);

  const JsonDocument& document() const { return document_; }
  // Whether `text`, the beginning of a JSON text, may go on to a text of this value: false only
  // where it cannot, whatever follows. Members in any order, any spelling and whitespace; no key
  // twice.
  bool MayComeFrom(std::string_view text) const;

 private:
  std::unique_ptr<const std::string> text_;
  JsonDocument document_;
};

// Whether some object of `text`, which `document` was parsed from, has a key more than once.
bool RepeatsKey(std::string_view text, const JsonDocument& document);

// A text that is equal for equal values: members sorted by key, numbers by value.
std::string CanonicalJson(const JsonDocument& document);

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_CAPTURED_VALUE_H_
