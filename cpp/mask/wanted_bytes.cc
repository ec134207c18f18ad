// A term to bytes that its texts must have, cannot have, or can do without.
//
// One pass over the term's parts, as deep and as long as two bounds allow; where these end it, less
// is known. `.*[ab]x.*` wants an x and one of a and b; what completes a text of `.*` wants nothing,
// as any character does. A character may also be spelled with a backslash: such texts are left
// out of what is said.
//
// Cost: some 10 ns a part. Tests: tests/mask/complements_test.cc.
#include "mask/wanted_bytes.h"

#include <string_view>

namespace grammask::internal {
namespace {

constexpr int kMostTermParts = 512;           // of a term that are looked at
constexpr int kMostDepth = 24;                // of these
constexpr uint64_t kLongestEscape = 12;       // bytes
constexpr uint64_t kFar = uint64_t{1} << 32;  // a length that nothing comes near

// Whether a literal has to be written with a backslash.
bool WantsBackslash(const Term& t) {
  return std::ranges::any_of(t.text(), [&](char c) {
    const auto b = static_cast<uint8_t>(c);
    return b == '\\' || (t.kind == TermKind::kJsonText && (b < 0x20 || b == '"'));
  });
}

WantedBytes Wanted(const TermStore& terms, TermId id, int depth, int* parts) {
  WantedBytes wanted;
  while (depth <= kMostDepth && --*parts > 0) {
    const Term& t = terms.term(id);
    switch (t.kind) {
      case TermKind::kSequence:
        wanted.Join(Wanted(terms, t.children()[0], depth + 1, parts));
        id = t.children()[1];
        continue;
      case TermKind::kBytes:
      case TermKind::kJsonText:
        if (WantsBackslash(t)) return WantedBytes::OnlyBackslash();
        for (char c : t.text()) {
          if (static_cast<uint8_t>(c) < 0x80) wanted.all.Add(static_cast<uint8_t>(c));
        }
        return wanted;
      case TermKind::kByteClass: {
        const ByteSet& bytes = terms.byte_class(t.a);
        if (bytes == ByteSet::Of('\\')) return WantedBytes::OnlyBackslash();
        AsciiSet ascii;
        bool beyond = false;
        bytes.ForEachRange([&](uint8_t lo, uint8_t hi) {
          for (int b = lo; b <= hi && b < 0x80; ++b) ascii.Add(static_cast<uint8_t>(b));
          beyond |= hi >= 0x80;
        });
        if (beyond) return wanted;
        if (bytes.size() == 1) {
          wanted.all |= ascii;
        } else {
          wanted.AddOneOf(ascii);
        }
        return wanted;
      }
      case TermKind::kChoice: {
        AsciiSet common = AsciiSet::All(), some;
        bool each = true;  // of the alternatives is known to want some of `some`
        bool backslash = true;
        for (TermId c : t.children()) {
          const WantedBytes one = Wanted(terms, c, depth + 1, parts);
          if (one.only_backslash) continue;
          backslash = false;
          common &= one.all;
          if (!one.all.empty()) {
            some |= one.all;
          } else if (!one.one_of.empty()) {
            some |= one.one_of[0];
          } else {
            each = false;
          }
        }
        if (backslash) return WantedBytes::OnlyBackslash();
        wanted.all |= common;
        if (each && common.empty()) wanted.AddOneOf(some);
        return wanted;
      }
      case TermKind::kAnd:
        for (TermId c : t.children()) wanted.Join(Wanted(terms, c, depth + 1, parts));
        return wanted;
      case TermKind::kRepeat:
        if (t.a == 0) return wanted;
        id = t.children()[0];
        ++depth;
        continue;
      default:
        return wanted;
    }
  }
  return wanted;
}

// Removes from `bytes`, ASCII ones, those that texts of `id` may have in them.
void RemoveRead(const TermStore& terms, TermId id, int depth, int* parts, AsciiSet* bytes) {
  auto remove = [&](int lo, int hi) {
    for (int b = lo; b <= std::min(hi, 0x7F); ++b) {
      (b < 64 ? bytes->low : bytes->high) &= ~(uint64_t{1} << (b & 63));
    }
  };
  while (depth <= kMostDepth && --*parts > 0) {
    const Term& t = terms.term(id);
    switch (t.kind) {
      case TermKind::kEmpty:
        return;
      case TermKind::kJsonText:
        for (char c : std::string_view("\\u0123456789abcdefABCDEFnrt/\"")) remove(c, c);
        [[fallthrough]];
      case TermKind::kBytes:
        for (char c : t.text()) remove(static_cast<uint8_t>(c), static_cast<uint8_t>(c));
        return;
      case TermKind::kByteClass:
        terms.byte_class(t.a).ForEachRange(remove);
        return;
      case TermKind::kSequence:
      case TermKind::kChoice:
        for (TermId c : t.children().first(t.children().size() - 1)) {
          RemoveRead(terms, c, depth + 1, parts, bytes);
        }
        id = t.children().back();
        continue;
      case TermKind::kRepeat:
        id = t.children()[0];
        ++depth;
        continue;
      default:
        *bytes = {};
        return;
    }
  }
  *bytes = {};
}

// The greatest length of a text; kFar where that is not seen at once.
uint64_t Longest(const TermStore& terms, TermId id, int depth, int* parts) {
  if (depth > kMostDepth || --*parts <= 0) return kFar;
  const Term& t = terms.term(id);
  uint64_t longest = 0;
  switch (t.kind) {
    case TermKind::kEmpty:
      return 0;
    case TermKind::kBytes:
      return t.text().size();
    case TermKind::kByteClass:
      return 1;
    case TermKind::kSequence:
      for (TermId c : t.children()) longest += Longest(terms, c, depth + 1, parts);
      return std::min(longest, kFar);
    case TermKind::kChoice:
      for (TermId c : t.children())
        longest = std::max(longest, Longest(terms, c, depth + 1, parts));
      return longest;
    default:
      return kFar;
  }
}

bool BeginsWithBackslash(const TermStore& terms, TermId id) {
  const Term& t = terms.term(id);
  const Term& head = t.kind == TermKind::kSequence ? terms.term(t.children()[0]) : t;
  return head.kind == TermKind::kBytes && head.text()[0] == '\\';
}

bool Complete(const TermStore& terms, TermId id, int avoided, int depth, int* parts,
              Completion* out) {
  while (depth <= kMostDepth && --*parts > 0) {
    const Term& t = terms.term(id);
    switch (t.kind) {
      case TermKind::kEmpty:
      case TermKind::kAll:
        return true;
      case TermKind::kBytes:
      case TermKind::kJsonText:
        if (WantsBackslash(t)) return false;
        for (char c : t.text()) {
          if (static_cast<uint8_t>(c) < 0x80) out->bytes.Add(static_cast<uint8_t>(c));
        }
        // Of a JSON text the character that was begun may have any spelling.
        out->length += t.text().size() + (t.kind == TermKind::kJsonText ? kLongestEscape : 0);
        return true;
      case TermKind::kByteClass: {
        const ByteSet& bytes = terms.byte_class(t.a);
        if (bytes.size() - (bytes.Has('\\') ? 1 : 0) <= avoided) {
          if (bytes.Has('\\')) return false;
          bytes.ForEachRange([&](uint8_t lo, uint8_t hi) {
            for (int b = lo; b <= hi && b < 0x80; ++b) out->bytes.Add(static_cast<uint8_t>(b));
          });
        }
        ++out->length;
        return true;
      }
      case TermKind::kSequence:
        if (!Complete(terms, t.children()[0], avoided, depth + 1, parts, out)) return false;
        id = t.children()[1];
        continue;
      case TermKind::kChoice: {
        uint64_t longest = 0;
        bool any = false;
        for (TermId c : t.children()) {
          if (BeginsWithBackslash(terms, c)) {
            longest = std::max(longest, Longest(terms, c, depth + 1, parts));
            continue;
          }
          Completion one;
          if (!Complete(terms, c, avoided, depth + 1, parts, &one)) return false;
          any = true;
          out->bytes |= one.bytes;
          longest = std::max(longest, one.length);
        }
        if (!any) return false;
        out->length = std::min(out->length + longest, kFar);
        return true;
      }
      case TermKind::kRepeat: {
        Completion one;
        if (!Complete(terms, t.children()[0], avoided, depth + 1, parts, &one)) return false;
        out->bytes |= one.bytes;
        const auto rounds = static_cast<uint64_t>(std::max<int64_t>(t.a, 1));
        out->length += one.length > kFar / rounds ? kFar : one.length * rounds;
        return true;
      }
      default:
        return false;
    }
  }
  return false;
}

}  // namespace

WantedBytes Wanted(const TermStore& terms, TermId id) {
  int parts = kMostTermParts;
  return Wanted(terms, id, 0, &parts);
}

AsciiSet NotRead(const TermStore& terms, TermId id) {
  int parts = kMostTermParts;
  AsciiSet bytes = AsciiSet::All();
  RemoveRead(terms, id, 0, &parts, &bytes);
  return bytes;
}

bool Complete(const TermStore& terms, TermId id, int avoided, Completion* out) {
  int parts = kMostTermParts;
  return Complete(terms, id, avoided, 0, &parts, out);
}

}  // namespace grammask::internal
