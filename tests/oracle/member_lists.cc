// What has been written of a list to what may come.
//
// Whether a list can be completed is found by trying: members are added, each that is of any use,
// until the list may end. Values of a distinct member are read off its automaton, shortest first.
// For example of {a required, b} with at least 2 members, after b a list can be completed by a;
// after a second b it could not, but b may come only once. Cost: exponential in the members.
#include "oracle/member_lists.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/utf8.h"

namespace grammask::internal {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A JSON number as its digits without zeros at either end, and a power of ten.
std::optional<std::string> CanonicalNumber(std::string_view text) {
  size_t at = 0;
  auto more = [&] { return at < text.size(); };
  const bool minus = more() && text[at] == '-';
  at += minus;
  std::string digits;
  int64_t power = 0;
  const size_t integer = at;
  for (; more() && IsDigit(text[at]); ++at) digits += text[at];
  if (digits.empty() || (digits.size() > 1 && text[integer] == '0')) return std::nullopt;
  if (more() && text[at] == '.') {
    const size_t point = ++at;
    for (; more() && IsDigit(text[at]); ++at) digits += text[at], --power;
    if (at == point) return std::nullopt;
  }
  if (more() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    const bool negative = more() && text[at] == '-';
    if (more() && (text[at] == '-' || text[at] == '+')) ++at;
    int64_t exponent = 0;
    const size_t first = at;
    for (; more() && IsDigit(text[at]); ++at) exponent = exponent * 10 + (text[at] - '0');
    if (at == first) return std::nullopt;
    power += negative ? -exponent : exponent;
  }
  if (more()) return std::nullopt;
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return "0";
  for (; digits.back() == '0'; digits.pop_back()) ++power;
  return (minus ? "-" : "") + digits + "e" + std::to_string(power);
}

// A JSON string as the numbers of its characters.
std::optional<std::string> CanonicalString(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<uint32_t> characters;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"') return std::nullopt;
    if (text[at] != '\\') {
      const std::optional<DecodedChar> c = DecodeUtf8(text, at);
      if (!c.has_value()) return std::nullopt;
      characters.push_back(c->code_point);
      at += static_cast<size_t>(c->length);
      continue;
    }
    if (at + 1 == text.size()) return std::nullopt;
    const size_t i = std::string_view("\"\\/bfnrt").find(text[at + 1]);
    if (i != std::string_view::npos) {
      characters.push_back(static_cast<uint8_t>("\"\\/\b\f\n\r\t"[i]));
      at += 2;
      continue;
    }
    if (text[at + 1] != 'u' || text.size() < at + 6) return std::nullopt;
    const std::string hex(text.substr(at + 2, 4));
    if (hex.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) return std::nullopt;
    const auto unit = static_cast<uint32_t>(std::stoul(hex, nullptr, 16));
    at += 6;
    const bool low = unit >= 0xDC00 && unit <= 0xDFFF;
    const uint32_t before = characters.empty() ? 0 : characters.back();
    if (low && before >= 0xD800 && before <= 0xDBFF) {
      characters.back() = 0x10000 + ((before - 0xD800) << 10) + (unit - 0xDC00);
    } else {
      characters.push_back(unit);
    }
  }
  std::string out;
  for (uint32_t c : characters) out += " " + std::to_string(c);
  return out;
}

}  // namespace

std::string CanonicalValue(std::string_view text) {
  if (auto number = CanonicalNumber(text)) return "number " + *number;
  if (auto string = CanonicalString(text)) return "string " + *string;
  return "text " + std::string(text);
}

MemberLists::MemberLists(const Grammar& grammar, NodeId node)
    : grammar_(grammar), view_(grammar_.node(node)) {}

// Members with places come one after another, before all that have none.
bool MemberLists::InItsPlace(const State& state, size_t i) const {
  const MembersView& m = view_.members;
  uint32_t written = 0, places = 0;
  for (size_t k = 0; k < count(); ++k) {
    if (m.use(k) != MemberUse::kPlaced) continue;
    written += state.used[k];
    places = std::max(places, m.place(k) + 1);
  }
  return written == (m.use(i) == MemberUse::kPlaced ? m.place(i) : places);
}

std::optional<MemberLists::State> MemberLists::After(const State& state, size_t i,
                                                     std::string_view text) const {
  const MembersView& m = view_.members;
  if (m.max() != kUnbounded && state.written == m.max()) return std::nullopt;
  if (!InItsPlace(state, i)) return std::nullopt;
  State next = state;
  switch (m.use(i)) {
    case MemberUse::kOptional:
    case MemberUse::kRequired:
      if (state.used[i]) return std::nullopt;
      next.used[i] = true;
      break;
    case MemberUse::kRepeated:
      next.met |= m.meets(i);
      break;
    case MemberUse::kDistinct:
      next.met |= m.meets(i);
      if (!next.values.insert(CanonicalValue(text)).second) return std::nullopt;
      break;
    case MemberUse::kPlaced:
      next.used[i] = true;
      if (!next.values.insert(CanonicalValue(text)).second) return std::nullopt;
      break;
  }
  const int64_t cap = m.max() != kUnbounded ? m.max() : std::max<int64_t>(m.min(), 1);
  next.written = std::min(state.written + 1, cap);
  return next;
}

bool MemberLists::MayEnd(const State& state) const {
  const MembersView& m = view_.members;
  for (size_t i = 0; i < count(); ++i) {
    if (m.use(i) == MemberUse::kRequired && !state.used[i]) return false;
  }
  return state.written >= std::max<int64_t>(m.min(), 1) && state.met + 1 == 1u << m.conditions();
}

bool MemberLists::CanEnd(const State& state, const Productive& productive) {
  if (!productive(end())) return false;
  const MembersView& m = view_.members;
  std::set<State> seen = {state};
  std::deque<State> todo = {state};
  while (!todo.empty()) {
    const State now = std::move(todo.back());
    todo.pop_back();
    if (MayEnd(now)) return true;
    if (!productive(separator())) continue;
    auto add = [&](std::optional<State> next) {
      if (next && seen.insert(*next).second) todo.push_back(std::move(*next));
    };
    const bool too_few = now.written < m.min();
    for (size_t i = 0; i < count(); ++i) {
      if (!productive(member(i))) continue;
      const bool useful = m.use(i) == MemberUse::kRequired || (m.meets(i) & ~now.met) != 0;
      if (!too_few && !useful) continue;
      if (!distinct(i)) {
        add(After(now, i, ""));
      } else {
        for (const std::string& text : Texts(i, "")) add(After(now, i, text));
      }
    }
  }
  return false;
}

bool MemberLists::CanGoOn(const State& state, size_t i, std::string_view begun,
                          const Productive& productive) {
  if (!productive(member(i))) return false;
  auto possible = [&](std::string_view text) {
    const std::optional<State> next = After(state, i, text);
    return next.has_value() && CanEnd(*next, productive);
  };
  if (!distinct(i)) return possible("");
  return std::ranges::any_of(Texts(i, begun), possible);
}

bool MemberLists::CanGoOn(const State& state, const Productive& productive) {
  for (size_t i = 0; i < count(); ++i) {
    if (CanGoOn(state, i, "", productive)) return true;
  }
  return false;
}

// Texts of a distinct member that begin with `begun` and have different values.
const std::vector<std::string>& MemberLists::Texts(size_t i, std::string_view begun) {
  auto [it, added] = texts_.try_emplace({i, std::string(begun)});
  if (!added) return it->second;
  std::unique_ptr<ByteDfa>& dfa = dfas_[i];
  if (dfa == nullptr) dfa = std::make_unique<ByteDfa>(ByteDfa::Build(grammar_, member(i)));
  constexpr size_t kMaxTried = 3000;
  std::set<std::string> values;
  std::deque<std::pair<std::string, uint32_t>> todo;
  uint32_t first = 0;
  for (char c : begun) first = dfa->Step(first, static_cast<uint8_t>(c));
  todo.emplace_back(begun, first);
  for (size_t tried = 0; !todo.empty() && tried < kMaxTried; ++tried) {
    const auto [text, state] = std::move(todo.front());
    todo.pop_front();
    if (dfa->Accepts(state) && values.insert(CanonicalValue(text)).second) {
      it->second.push_back(text);
      if (values.size() == kMaxValues) break;
    }
    for (int byte = 0; byte < 256; ++byte) {
      const uint32_t next = dfa->Step(state, static_cast<uint8_t>(byte));
      if (dfa->Live(next)) todo.emplace_back(text + static_cast<char>(byte), next);
    }
  }
  return it->second;
}

}  // namespace grammask::internal
