// Whether values that are being written can still become others than some written before.
//
// Of values that must differ (captures.h) a set in which all are at risk is stepped into only if
// some text after it is none that a rival could have. That is searched for among the spellings of
// the rivals, and mostly found at the first byte tried.
//
// Cost: at most kMostViableSteps steps for a set, whose answer is kept; where it takes more, the
// answer is yes. Tests: tests/parser/set_table_test.cc, tests/exhaustive/members_test.cc.
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "base/json_bytes.h"
#include "parser/set_table.h"

namespace grammask::internal {
namespace {

// Steps after which values are taken to be able to become others.
constexpr size_t kMostViableSteps = 4096;

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
          value < 0x7F && !IsSpecialByte(value)) {
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

}  // namespace

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
  if (const bool* known = viable_.Find(start.value)) return *known;
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
      const bool* known = viable_.Find(to.value);
      const bool free = !sets_[to.value].all_at_risk || (known != nullptr && *known);
      if (free || ++steps > kMostViableSteps) {
        for (size_t i = next;; i = visits[i].from) {
          viable_[visits[i].set.value] = true;
          if (i == 0) return true;
        }
      }
      if (known != nullptr) continue;
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

}  // namespace grammask::internal
