// Sets of characters to terms over bytes.
//
// In UTF-8 a character of several bytes is a number whose digits are the bytes, of six bits each. A
// set of such numbers is a small trie of digit classes, in which digits with the same rest are one:
// U+0080..U+FFFF is C2-DF 80-BF, E0 A0-BF 80-BF, E1-EF 80-BF 80-BF. In a JSON string a character
// may also be written `\n`, `\u000A` or, over U+FFFF, as a pair of \u escapes: four hexadecimal
// digits are such numbers, too. Results are remembered for each set, as grammars use few of them.
//
// Cost: linear in the ranges; a first use of all characters in any JSON spelling takes some 3 us.
// Source: RFC 3629, RFC 8259 section 7. Tests: tests/automaton/characters_test.cc compares with
// encoding every character.
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <array>
#include <string>

#include "automaton/term_store.h"
#include "base/mix.h"
#include "base/scratch.h"
#include "base/utf8.h"

namespace grammask::internal {
namespace {

bool IsSimpleEscape(uint32_t c) {
  return c == '"' || c == '\\' || c == '/' || c == '\b' || c == '\f' || c == '\n' || c == '\r' ||
         c == '\t';
}

char SimpleEscape(uint32_t c) {
  switch (c) {
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return static_cast<char>(c);
  }
}

// The bytes that spell the hexadecimal digits with a bit in `digits`, in either case.
ByteSet HexDigits(uint64_t digits) {
  const uint64_t letters = digits >> 10;
  return ByteSet{{(digits & 0x3FF) << '0', letters << ('A' - 64) | letters << ('a' - 64)}};
}

// The bytes of UTF-8 that stand for six bits each, and those that begin a character of 2, 3 or 4
// bytes and stand for its first bits.
ByteSet TailBytes(uint64_t digits) { return ByteSet{{0, 0, digits, 0}}; }
ByteSet LeadOf2(uint64_t digits) { return ByteSet{{0, 0, 0, digits}}; }
ByteSet LeadOf3(uint64_t digits) { return ByteSet{{0, 0, 0, digits << 0x20}}; }
ByteSet LeadOf4(uint64_t digits) { return ByteSet{{0, 0, 0, digits << 0x30}}; }

// Bits lo..hi, of 0..63.
uint64_t DigitRange(uint32_t lo, uint32_t hi) { return (uint64_t{2} << hi) - (uint64_t{1} << lo); }

// Of a class with so many ranges it is noted what it is, which its parts would tell more slowly.
constexpr size_t kManyRanges = 16;

// The characters that a JSON string must escape.
const CodePointSet& MustEscape() {
  static const CodePointSet set{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
  return set;
}

}  // namespace

TermId TermStore::Utf8Term(const CodePointSet& characters) {
  struct Length {
    uint32_t first, last;  // code points of so many bytes
    ByteSet (*lead)(uint64_t);
  };
  constexpr Length kLengths[] = {{0, 0x7F, nullptr},
                                 {0x80, 0x7FF, LeadOf2},
                                 {0x800, 0xFFFF, LeadOf3},
                                 {0x10000, kMaxCodePoint, LeadOf4}};
  absl::InlinedVector<TermId, 4> alternatives;
  absl::InlinedVector<NumberRange, 16> within;
  int bytes = 0;
  for (const Length& length : kLengths) {
    ++bytes;
    if (characters.empty() || characters.ranges().back().hi < length.first) break;
    within.clear();
    for (CodePointRange r : characters.ranges()) {
      if (r.hi < length.first || r.lo > length.last) continue;
      within.push_back({std::max(r.lo, length.first), std::min(r.hi, length.last)});
    }
    if (within.empty()) continue;
    if (bytes == 1) {
      ByteSet ascii;
      for (auto [lo, hi] : within) {
        ascii.AddRange(static_cast<uint8_t>(lo), static_cast<uint8_t>(hi));
      }
      alternatives.push_back(ByteClass(ascii));
    } else {
      alternatives.push_back(NumberTerm(within, bytes, {6, length.lead, TailBytes}));
    }
  }
  return Choice(alternatives);
}

TermId TermStore::HexTerm(std::span<const NumberRange> ranges) {
  return NumberTerm(ranges, 4, {4, HexDigits, HexDigits});
}

// `digits` <= 4 bounds the recursion.
TermId TermStore::NumberTerm(std::span<const NumberRange> ranges, int digits,
                             const NumberSpelling& spelling) {
  if (ranges.empty()) return Nothing();
  const NumberSpelling after{spelling.bits, spelling.rest, spelling.rest};
  const uint64_t all_digits = DigitRange(0, (1u << spelling.bits) - 1);
  if (ranges.size() == 1 && ranges[0].first == 0 &&
      ranges[0].second + 1 == uint32_t{1} << (spelling.bits * digits)) {
    TermId all = Empty();
    const TermId digit = ByteClass(spelling.rest(all_digits));
    for (int i = 1; i < digits; ++i) all = Sequence(digit, all);
    return Sequence(ByteClass(spelling.first(all_digits)), all);
  }
  if (digits == 1) {
    uint64_t last = 0;
    for (auto [lo, hi] : ranges) last |= DigitRange(lo, hi);
    return ByteClass(spelling.first(last));
  }
  const int shift = spelling.bits * (digits - 1);
  const uint32_t below = (uint32_t{1} << shift) - 1;
  absl::InlinedVector<std::pair<TermId, uint64_t>, 8> by_rest;
  absl::InlinedVector<NumberRange, 16> within;
  size_t next = 0;  // the first range that reaches the digit
  for (uint32_t d = ranges[0].first >> shift; d <= ranges.back().second >> shift; ++d) {
    const uint32_t base = d << shift;
    within.clear();
    while (ranges[next].second < base) ++next;
    uint32_t last = d;  // of the digits after which the same may follow
    if (ranges[next].first <= base && ranges[next].second >= base + below) {
      within.push_back({0, below});
      last = ((ranges[next].second + 1) >> shift) - 1;
    } else {
      for (size_t i = next; i < ranges.size() && ranges[i].first <= base + below; ++i) {
        const auto [lo, hi] = ranges[i];
        within.push_back({lo <= base ? 0 : lo - base, std::min(hi - base, below)});
      }
    }
    if (within.empty()) continue;
    const TermId rest = NumberTerm(within, digits - 1, after);
    const uint64_t these = DigitRange(d, last);
    auto it = std::ranges::find(by_rest, rest, &std::pair<TermId, uint64_t>::first);
    if (it == by_rest.end()) {
      by_rest.push_back({rest, these});
    } else {
      it->second |= these;
    }
    d = last;
  }
  absl::InlinedVector<TermId, 8> alternatives;
  for (auto& [rest, set] : by_rest) {
    alternatives.push_back(Sequence(ByteClass(spelling.first(set)), rest));
  }
  return Choice(alternatives);
}

TermId TermStore::BuildCharacter(const CodePointSet& characters, bool json) {
  if (!json) return Utf8Term(characters);
  ByteSet simple;
  ScratchVector<NumberRange> basic;  // of the basic plane
  // Over U+FFFF: the second surrogates that may follow each of a range of first ones.
  struct Pairs {
    NumberRange first;
    ScratchVector<NumberRange> second;
  };
  ScratchVector<Pairs> pairs;  // ascending
  auto add_pairs = [&](NumberRange first, NumberRange second) {
    if (pairs.empty() || pairs.back().first != first) pairs.push_back({first, {}});
    pairs.back().second.push_back(second);
  };
  for (CodePointRange r : characters.ranges()) {
    if (r.lo <= 0x5C) {
      for (uint32_t c : {0x08u, 0x09u, 0x0Au, 0x0Cu, 0x0Du, 0x22u, 0x2Fu, 0x5Cu}) {
        if (IsSimpleEscape(c) && r.lo <= c && c <= r.hi) {
          simple.Add(static_cast<uint8_t>(SimpleEscape(c)));
        }
      }
    }
    if (r.lo <= 0xFFFF) basic.push_back({r.lo, std::min<uint32_t>(r.hi, 0xFFFF)});
    if (r.hi <= 0xFFFF) continue;
    uint32_t lo = std::max<uint32_t>(r.lo, 0x10000) - 0x10000;
    const uint32_t hi = r.hi - 0x10000;
    while (lo <= hi) {
      const uint32_t first = lo >> 10;
      if ((lo & 0x3FF) == 0 && (hi >> 10) > first) {  // whole rows of second surrogates
        const uint32_t last = (hi & 0x3FF) == 0x3FF ? hi >> 10 : (hi >> 10) - 1;
        add_pairs({0xD800 + first, 0xD800 + last}, {0xDC00, 0xDFFF});
        lo = (last + 1) << 10;
      } else {
        const uint32_t end = std::min(hi, lo | 0x3FF);
        add_pairs({0xD800 + first, 0xD800 + first},
                  {0xDC00 + (lo & 0x3FF), 0xDC00 + (end & 0x3FF)});
        lo = end + 1;
      }
    }
  }
  ScratchVector<TermId> digits = {HexTerm(basic)};
  for (const auto& [first, second] : pairs) {
    const TermId low = Sequence(Literal("\\u", false), HexTerm(second));
    digits.push_back(Sequence(HexTerm({&first, 1}), low));
  }
  const TermId escapes[] = {ByteClass(simple), Sequence(Literal("u", false), Choice(digits))};
  const TermId all[] = {Utf8Term(characters.Minus(MustEscape())),
                        Sequence(Literal("\\", false), Choice(escapes))};
  return Choice(all);
}

TermId TermStore::Character(const CodePointSet& characters, bool json) {
  ScratchVector<uint32_t> key;
  key.reserve(1 + 2 * characters.ranges().size());
  key.push_back(json ? 1 : 0);
  for (CodePointRange r : characters.ranges()) {
    key.push_back(r.lo);
    key.push_back(r.hi);
  }
  const std::span<const uint32_t> ranges(key);
  if (const TermId* known = characters_.Find(BytesOf(ranges))) return *known;
  const size_t before = terms_.size();
  const TermId id = BuildCharacter(characters, json);
  if (json) {
    MarkContent(id, before);
    MarkSpelling(id, before, characters.Intersect(MustEscape()).empty());
  }
  if (json && characters.ranges().size() >= kManyRanges) NoteOneCharacter(id);
  const auto [kept, value, added] = KeepIn(&memory_, ranges, &characters_);
  *value = id;
  classes_.try_emplace(id.value, kept);
  return id;
}

std::string TermStore::ClassKey(TermId id) const {
  std::lock_guard lock(mutex_);
  const auto it = classes_.find(id.value);
  if (it == classes_.end()) return {};
  const auto bytes = std::as_bytes(it->second);
  return '\0' + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::optional<bool> TermStore::IncludesClass(TermId whole, TermId part) const {
  const auto w = classes_.find(whole.value), p = classes_.find(part.value);
  if (w == classes_.end() || p == classes_.end()) return std::nullopt;
  const std::span<const uint32_t> all = w->second, some = p->second;
  if (all[0] != some[0]) return std::nullopt;
  size_t at = 1;
  for (size_t i = 1; i < some.size(); i += 2) {
    while (at < all.size() && all[at + 1] < some[i]) at += 2;
    if (at == all.size() || all[at] > some[i] || all[at + 1] < some[i + 1]) return false;
  }
  return true;
}

TermId TermStore::HexDigit(uint32_t digit) {
  TermId& known = hex_digits_[digit];
  if (known == Nothing()) {
    const char text = static_cast<char>('0' + digit);
    known = digit < 10 ? Literal({&text, 1}, false) : ByteClass(HexDigits(uint32_t{1} << digit));
  }
  return known;
}

// The four digits in front of all that follows them: characters by their first digits, and few
// terms for each. `characters`: ascending, each once.
TermId TermStore::JsonEscapes(std::span<const AsciiRead> characters) {
  auto digits = [](uint32_t c) {
    return std::array{'u', '0', '0', static_cast<char>('0' + (c >> 4)),
                      static_cast<char>('0' + (c & 15))};
  };
  const auto view = [](const std::array<char, 5>& text, size_t n) {
    return std::string_view(text.data(), n);
  };
  const uint32_t first = characters.front().code_point;
  if (characters.size() == 1 && !IsSimpleEscape(first)) {
    // Mostly so, in the middle of a text.
    TermId& known = json_escapes_[first];
    const bool plain = (first & 15) < 10;  // all digits are read in one spelling
    if (known == Nothing()) known = Literal(view(digits(first), plain ? 5 : 4), false);
    const TermId to = characters[0].to;
    return Sequence(known, plain ? to : Sequence(HexDigit(first & 15), to));
  }
  absl::InlinedVector<TermId, 16> all, rows, row;
  const bool one_row = first >> 4 == characters.back().code_point >> 4;
  for (size_t i = 0; i < characters.size(); ++i) {
    const auto [c, to] = characters[i];
    if (IsSimpleEscape(c)) {
      const char escape = SimpleEscape(c);
      all.push_back(Sequence(Literal({&escape, 1}, false), to));
    }
    row.push_back(Sequence(HexDigit(c & 15), to));
    if (i + 1 < characters.size() && characters[i + 1].code_point >> 4 == c >> 4) continue;
    const TermId head = one_row ? Literal(view(digits(c), 4), false) : HexDigit(c >> 4);
    rows.push_back(Sequence(head, Choice(row)));
    row.clear();
  }
  const TermId tree = Choice(rows);
  all.push_back(one_row ? tree : Sequence(Literal("u00", false), tree));
  return Choice(all);
}

TermId TermStore::JsonCharacter(uint32_t code_point) {
  if (code_point >= json_ascii_.size()) return Character(CodePointSet::Of(code_point), true);
  TermId& known = json_ascii_[code_point];
  if (known == Nothing()) known = Character(CodePointSet::Of(code_point), true);
  return known;
}

}  // namespace grammask::internal
