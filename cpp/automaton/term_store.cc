// Expressions to interned terms: the constructors.
//
// Each constructor simplifies by laws that keep the language (a choice is a set, a sequence leans
// to the right, nothing swallows, the empty text vanishes) and then interns, so that the many
// derivatives of one expression fall together into few states. For example the derivative of
// `[0-9]*"}"` by "7" is `[0-9]*"}"` again: the same id, hence a loop of the automaton.
//
// Cost: one hash and one table probe a term, 30 to 60 ns. Literals are cut into pieces of
// kMaxLiteral bytes, so that the derivatives of a long literal cost its length, not its square.
//
// Source: Brzozowski, "Derivatives of regular expressions", JACM 1964; Owens, Reppy, Turon,
// "Regular-expression derivatives re-examined", JFP 2009. Tests: tests/automaton/term_test.cc.
#include "automaton/term_store.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <numeric>

#include "automaton/count_lengths.h"
#include "automaton/lengths.h"
#include "automaton/members.h"
#include "automaton/records.h"
#include "automaton/saved_pool.h"
#include "automaton/words.h"
#include "base/check.h"
#include "base/json_bytes.h"
#include "base/mix.h"
#include "base/sorted.h"

namespace grammask::internal {
namespace {

// A choice with more alternatives than this is kept as one alternative of another choice, so that
// long chains of choices stay linear.
constexpr size_t kMaxFlattened = 64;

// Alternatives that are looked at for a common beginning.
constexpr size_t kFactored = 16;

// Whether joining such a range with others saves states. A range of one place does not: what may
// come or not, once or more, and as many rounds as the digits of `\u0041`.
bool WorthJoining(int64_t least, int64_t most) {
  constexpr int64_t kFewDigits = 4;
  if (least == most) return least > kFewDigits;
  return most == kUnbounded ? least > 1 : most > 1;
}

// A head of more parts than this and twice those behind it stays one part: else groups nested on
// the left would be copied once for every level around them. Neighbours of like length are joined,
// so that a few bytes later the whole leans to the right.
constexpr size_t kMaxRelinked = 16;

uint64_t Saturate(uint64_t n) { return std::min(n, kMaxLength); }

// One byte of a term as text. Distinct terms are to have distinct texts: slices go by them.
void AppendShown(uint8_t byte, std::string_view special, std::string* out) {
  constexpr char kHex[] = "0123456789ABCDEF";
  if (special.find(static_cast<char>(byte)) != std::string_view::npos) {
    *out += {'\\', static_cast<char>(byte)};
  } else if (byte < 0x20 || byte >= 0x7F) {
    *out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
  } else {
    *out += static_cast<char>(byte);
  }
}

}  // namespace

uint64_t TermStore::ShortestSpelling(std::string_view text, bool json) {
  // What a JSON string needs beside a byte itself: nothing, a backslash, or that and four digits.
  static constexpr std::array<uint8_t, 256> kMore = [] {
    std::array<uint8_t, 256> more{};
    for (size_t b = 0; b < 0x20; ++b) more[b] = 5;
    for (uint8_t b : {'"', '\\', '\b', '\f', '\n', '\r', '\t'}) more[b] = 1;
    return more;
  }();
  uint64_t length = text.size();
  if (!json || !HasSpecialByte(text)) return length;
  for (char c : text) length += kMore[static_cast<uint8_t>(c)];
  return length;
}

struct TermStore::Key {
  static constexpr uint32_t kNeighbours = 16;

  TermKind kind;
  std::span<const TermId> children = {};
  std::string_view text = {};
  int64_t a = 0, b = 0;

  uint64_t Begin() const { return MixSeed() + static_cast<uint64_t>(kind); }
  // Sequences with the same rest and heads made one after another are neighbours in the table, as
  // the edges of a state ask for all of them at once: two cache lines instead of one for each.
  uint32_t Hash() const {
    if (kind == TermKind::kSequence) {
      const uint64_t h =
          Mix(Mix(Begin(), static_cast<uint64_t>(b)), static_cast<uint64_t>(a) / kNeighbours);
      return (static_cast<uint32_t>(h ^ (h >> 32)) & ~(kNeighbours - 1)) |
             (static_cast<uint32_t>(a) & (kNeighbours - 1));
    }
    uint64_t h = Mix(Begin(), static_cast<uint64_t>(a) * 31 + static_cast<uint64_t>(b));
    for (TermId c : children) h = Mix(h, c.value);
    if (!text.empty()) h = MixBytes(Mix(h, text.size()), text);
    return static_cast<uint32_t>(h ^ (h >> 32));
  }
  // The newest of the children: when the term can have been made at the earliest.
  uint32_t Newest() const {
    if (kind == TermKind::kSequence) return static_cast<uint32_t>(std::max(a, b));
    if (kind == TermKind::kMembers) return static_cast<uint32_t>(a);  // the state, of its own time
    if (children.empty()) return IdTable::kTimeless;
    return std::ranges::max(children).value;
  }
  bool Equals(const Term& t) const {
    if (t.kind != kind) return false;
    if (!text.empty()) return t.text() == text;
    if (t.a != a || t.b != b) return false;
    if (kind == TermKind::kSequence) return true;  // a and b are its children
    return std::ranges::equal(t.children(), children);
  }
};

TermStore::TermStore(const Limits& limits, int64_t small_count)
    : limits_(limits),
      small_count_(std::max<int64_t>(small_count, 1)),
      members_(std::make_unique<MemberTable>(this)),
      words_(std::make_unique<WordTable>(this)),
      records_(std::make_unique<RecordTable>(this)) {
  for (TermKind kind : {TermKind::kNothing, TermKind::kEmpty, TermKind::kAll}) {
    Term& t = terms_.Append();
    t.kind = kind;
    t.nullable = kind != TermKind::kNothing;
    t.finite = kind != TermKind::kAll;
    t.content = kind == TermKind::kEmpty;
    t.any_spelling = true;
    t.min_length = kind == TermKind::kNothing ? kMaxLength : 0;
  }
  Expansion* none = memory_.Allocate<Expansion>(1);
  *none = {};
  terms_[0].expansion = none;
  terms_[1].expansion = none;
  ByteEdge* any = memory_.Allocate<ByteEdge>(1);
  *any = {0, 255, All()};
  Expansion* all = memory_.Allocate<Expansion>(1);
  *all = {};
  all->bytes = {any, 1};
  terms_[2].expansion = all;
  for (uint32_t i = 0; i < 3; ++i) terms_[i].far = i;
  procs_.Append();  // procedure 0 is none
  AllowGrowth();
}

TermStore::~TermStore() = default;

TermId TermStore::Intern(const Key& key) {
  steps_ += 1 + key.children.size();
  const uint32_t hash = key.Hash();
  IdTable::Place place;
  const auto known =
      table_.Find(key.Newest(), hash, [&](uint32_t id) { return key.Equals(terms_[id]); }, &place);
  if (known.has_value()) return TermId(*known);
  CheckGrowth();
  const auto id = static_cast<uint32_t>(terms_.size());
  Term& t = terms_.Append();
  t.kind = key.kind;
  t.parts = static_cast<uint32_t>(key.children.size());
  t.a = key.a;
  t.b = key.b;
  auto take = [&t](const Term& part) {
    t.boolean |= part.boolean;
    t.counted |= part.counted;
    t.finite &= part.finite;
    t.regular &= part.regular;
  };
  if (t.kind == TermKind::kSequence) {  // most terms: each part is looked up once
    t.few[0] = key.children[0];
    t.few[1] = key.children[1];
    table_.Put(place, hash, id);
    const Term& head = terms_[t.few[0].value];
    const Term& rest = terms_[t.few[1].value];
    take(head);
    take(rest);
    t.ranged = (head.kind == TermKind::kRepeat && head.ranged) ||
               (rest.kind != TermKind::kChoice && rest.ranged);
    t.content = head.content && rest.content;
    // Else a character may begin in the head and end in the rest.
    t.any_spelling = head.any_spelling && head.content && rest.any_spelling;
    t.nullable = head.nullable && rest.nullable;
    t.min_length = t.nullable ? 0 : Saturate(head.min_length + rest.min_length);
    return TermId(id);
  }
  if (!key.text.empty()) {
    t.text_size = static_cast<uint8_t>(key.text.size());
    t.letters = memory_.Copy(std::span<const char>(key.text)).data();
  } else if (key.children.size() <= std::size(t.few)) {
    std::ranges::copy(key.children, t.few);
  } else {
    t.many = memory_.Copy(key.children).data();
  }
  table_.Put(place, hash, id);
  const std::span<const TermId> children = t.children();
  auto child = [&](size_t i) -> const Term& { return terms_[children[i].value]; };
  for (TermId c : children) take(terms_[c.value]);
  switch (t.kind) {
    case TermKind::kNothing:
    case TermKind::kEmpty:
    case TermKind::kSequence:  // see above
      break;
    case TermKind::kAll:
      t.finite = false;
      break;
    case TermKind::kBytes:
    case TermKind::kJsonText:
      t.min_length = ShortestSpelling(t.text(), t.kind == TermKind::kJsonText);
      t.content = t.any_spelling = t.kind == TermKind::kJsonText;
      break;
    case TermKind::kWords:
      t.min_length = words_->MinLength(t);
      t.nullable = words_->Nullable(t);
      t.content = t.any_spelling = words_->json(t) && !words_->escaped(t);
      break;
    case TermKind::kByteClass:
    case TermKind::kTokens:
      t.regular = t.kind == TermKind::kByteClass;
      // A token counts as one byte: it takes at least one step to write.
      t.min_length = 1;
      break;
    case TermKind::kChoice:
      t.min_length = kMaxLength;
      t.content = t.any_spelling = true;
      for (size_t i = 0; i < children.size(); ++i) {
        t.content = t.content && child(i).content;
        t.any_spelling = t.any_spelling && child(i).any_spelling;
        t.ranged |= child(i).ranged;
        t.nullable |= child(i).nullable;
        t.min_length = std::min(t.min_length, child(i).min_length);
      }
      break;
    case TermKind::kRepeat:
      t.ranged = WorthJoining(t.a, t.b);
      t.content = child(0).content;
      t.any_spelling = child(0).any_spelling && child(0).content;
      t.nullable = t.a == 0;
      t.finite &= t.b != kUnbounded;
      t.min_length = TimesSaturated(child(0).min_length, static_cast<uint64_t>(t.a));
      t.counted |= t.a > small_count_ || (t.b != kUnbounded && t.b > small_count_);
      break;
    case TermKind::kCall: {
      const Proc& p = procs_[static_cast<size_t>(t.a)];
      t.finite = false;
      t.regular = false;
      t.nullable = p.nullable;
      t.min_length = p.min_length;
      break;
    }
    case TermKind::kAnd:
      t.boolean = true;
      t.counted = false;
      t.nullable = true;
      t.any_spelling = true;
      t.finite = false;
      for (size_t i = 0; i < children.size(); ++i) {
        t.finite |= child(i).finite;
        t.content = t.content || child(i).content;
        t.any_spelling = t.any_spelling && child(i).any_spelling;
        t.nullable &= child(i).nullable;
        t.min_length = std::max(t.min_length, child(i).min_length);  // a lower bound, until checked
      }
      break;
    case TermKind::kNot:
      t.boolean = true;
      t.counted = false;
      t.finite = false;
      t.nullable = !child(0).nullable;
      t.any_spelling = child(0).any_spelling;
      t.min_length = t.nullable ? 0 : 1;
      break;
    case TermKind::kMultiple: {
      t.finite = false;
      t.min_length =
          ShortestMultiple(multiples_[static_cast<size_t>(t.b)], static_cast<uint64_t>(t.a));
      t.nullable = t.min_length == 0;
      break;
    }
    case TermKind::kMembers:
      t.finite = false;
      t.regular = false;
      t.min_length = members_->MinLength(t.a, static_cast<MemberPhase>(t.b));
      t.nullable = t.min_length == 0;
      break;
  }
  if (t.nullable) t.min_length = 0;
  return TermId(id);
}

TermId TermStore::Literal(std::string_view bytes, bool json) {
  if (bytes.empty()) return Empty();
  const TermKind kind = json ? TermKind::kJsonText : TermKind::kBytes;
  if (bytes.size() <= kMaxLiteral) return Intern({.kind = kind, .text = bytes});
  // Cut from the left, at character boundaries for decoded text; join from the right.
  std::vector<std::string_view> pieces;
  while (!bytes.empty()) {
    size_t n = std::min(bytes.size(), kMaxLiteral);
    while (json && n < bytes.size() && (static_cast<uint8_t>(bytes[n]) & 0xC0) == 0x80) --n;
    pieces.push_back(bytes.substr(0, n));
    bytes.remove_prefix(n);
  }
  TermId result = Intern({.kind = kind, .text = pieces.back()});
  for (size_t i = pieces.size() - 1; i-- > 0;) {
    result = Pair(Intern({.kind = kind, .text = pieces[i]}), result);
  }
  return result;
}

TermId TermStore::Tail(TermId text) {
  Term& t = terms_[text.value];
  if (t.b == 0) t.b = Literal(t.text().substr(1), t.kind == TermKind::kJsonText).value;
  return TermId(static_cast<uint32_t>(t.b));
}

TermId TermStore::ByteClass(const ByteSet& bytes) {
  if (bytes.empty()) return Nothing();
  auto [it, added] =
      byte_class_ids_.try_emplace(bytes, static_cast<uint32_t>(byte_classes_.size()));
  if (added) byte_classes_.Append() = bytes;
  return Intern({.kind = TermKind::kByteClass, .a = it->second});
}

TermId TermStore::Sequence(std::span<const TermId> parts) {
  if (parts.empty()) return Empty();
  TermId result = parts.back();
  for (size_t i = parts.size() - 1; i-- > 0;) result = Sequence(parts[i], result);
  return result;
}

TermId TermStore::Pair(TermId head, TermId rest) {
  const TermId children[] = {head, rest};
  return Intern(
      {.kind = TermKind::kSequence, .children = children, .a = head.value, .b = rest.value});
}

TermId TermStore::Sequence(TermId head, TermId rest) {
  if (head == Nothing() || rest == Nothing()) return Nothing();
  if (head == Empty()) return rest;
  if (rest == Empty()) return head;
  if (terms_[head.value].kind != TermKind::kSequence) return Pair(head, rest);
  // (a b) c = a (b c): walk down the left spine, then build up from its end.
  absl::InlinedVector<TermId, 8> heads;
  TermId last = head, behind = rest;
  size_t room = kMaxRelinked;
  while (terms_[last.value].kind == TermKind::kSequence) {
    if (room == 0) {
      if (terms_[behind.value].kind != TermKind::kSequence) return Pair(head, rest);
      behind = terms_[behind.value].children()[1];
      room = 2;
    }
    --room;
    heads.push_back(terms_[last.value].children()[0]);
    last = terms_[last.value].children()[1];
  }
  const size_t before = terms_.size();
  const Term &h = terms_[head.value], &r = terms_[rest.value];
  const bool content = h.content && r.content;
  const bool any_spelling = h.any_spelling && h.content && r.any_spelling;
  rest = Pair(last, rest);
  for (size_t i = heads.size(); i-- > 0;) rest = Pair(heads[i], rest);
  if (content) MarkContent(rest, before);
  if (any_spelling) MarkSpelling(rest, before);
  return rest;
}

// A text, a byte, or any number of bytes as whitespace is: what a common beginning may be. With
// others, taken out here and spread again by their derivatives, equal states would have many forms.
bool TermStore::IsPlain(const Term& head) const {
  switch (head.kind) {
    case TermKind::kBytes:
    case TermKind::kJsonText:
    case TermKind::kByteClass:
      return true;
    case TermKind::kRepeat:
      return head.a == 0 && head.b == kUnbounded &&
             terms_[head.few[0].value].kind == TermKind::kByteClass;
    default:
      return false;
  }
}

// Many alternatives that begin alike, `a b c | a b d | ...`, are `a b (c | d | ...)`: of a thousand
// objects that begin with the same key there is one state for each place in the key, and not a
// thousand parts of one.
TermId TermStore::Choice(std::span<const TermId> alternatives) {
  if (alternatives.size() == 1) return alternatives[0];
  const size_t before = terms_.size();
  TermList flat;
  if (!Flatten(alternatives, &flat)) return All();
  absl::InlinedVector<TermId, 4> heads;
  while (flat.size() >= kFactored) {
    const Term& first = terms_[flat[0].value];
    if (first.kind != TermKind::kSequence) break;
    const TermId head = first.few[0];
    if (!IsPlain(terms_[head.value])) break;
    const bool common = std::ranges::all_of(flat, [&](TermId id) {
      const Term& t = terms_[id.value];
      return t.kind == TermKind::kSequence && t.few[0] == head && !t.boolean;
    });
    if (!common) break;
    heads.push_back(head);
    TermList rests;
    for (TermId id : flat) rests.push_back(terms_[id.value].few[1]);
    flat.clear();
    if (!Flatten(rests, &flat)) flat = {All()};
  }
  TermId result = Nothing();
  if (flat.size() == 1) result = flat[0];
  if (flat.size() > 1) result = Intern({.kind = TermKind::kChoice, .children = flat});
  for (size_t i = heads.size(); i-- > 0;) result = Sequence(heads[i], result);
  // A class of characters is now the alternatives that it was made of.
  auto all = [&](auto&& holds) {
    return std::ranges::all_of(alternatives, [&](TermId id) { return holds(terms_[id.value]); });
  };
  if (all([](const Term& t) { return t.content; })) MarkContent(result, before);
  if (all([](const Term& t) { return t.any_spelling; })) MarkSpelling(result, before);
  return result;
}

// The alternatives of a choice in their one form; false where they are everything.
bool TermStore::Flatten(std::span<const TermId> alternatives, TermList* out) {
  TermList& flat = *out;
  bool ranged = false;
  for (TermId id : alternatives) {
    const Term& t = terms_[id.value];
    if (t.kind == TermKind::kNothing) continue;
    if (id == All()) return false;
    ranged |= t.ranged;
    if (t.kind == TermKind::kChoice && t.children().size() <= kMaxFlattened) {
      flat.insert(flat.end(), t.children().begin(), t.children().end());
    } else {
      flat.push_back(id);
    }
  }
  SortUnique(&flat);
  // The empty text beside another nullable alternative adds nothing.
  if (flat.size() > 1 && flat[0] == Empty()) {
    for (size_t i = 1; i < flat.size(); ++i) {
      if (terms_[flat[i].value].nullable) {
        flat.erase(flat.begin());
        break;
      }
    }
  }
  if (ranged) JoinRanges(&flat);
  if (flat.size() > 1) DropContent(&flat);
  return true;
}

TermId TermStore::Spread(TermId head, TermId rest) {
  const Term& t = terms_[head.value];
  if (t.kind != TermKind::kChoice || t.children().size() > kMaxFlattened) {
    return Sequence(head, rest);
  }
  TermList alternatives;
  for (TermId c : t.children()) alternatives.push_back(Sequence(c, rest));
  return Choice(alternatives);
}

bool TermStore::SameSpread(TermId x, TermId y) {
  std::lock_guard lock(mutex_);
  auto spread = [&](TermId id) {
    const Term& t = terms_[id.value];
    return t.kind == TermKind::kSequence ? Spread(t.few[0], t.few[1]) : id;
  };
  return spread(x) == spread(y);
}

TermId TermStore::Repeat(TermId body, int64_t min, int64_t max) {
  GM_DCHECK(0 <= min && min <= max);
  if (max == 0 || body == Empty()) return Empty();
  if (body == Nothing()) return min == 0 ? Empty() : Nothing();
  if (body == All()) return All();
  if (min == 1 && max == 1) return body;
  const Term& t = terms_[body.value];
  if (t.nullable) min = 0;
  if (t.kind == TermKind::kRepeat && t.a == 0 && t.b == kUnbounded) return body;  // (x*){..} = x*
  const TermId children[] = {body};
  return Intern({.kind = TermKind::kRepeat, .children = children, .a = min, .b = max});
}

TermId TermStore::Words(std::vector<std::string_view> words, bool json) {
  return words_->Choice(std::move(words), json);
}

TermId TermStore::WordsTerm(int64_t a, int64_t b) {
  return Intern({.kind = TermKind::kWords, .a = a, .b = b});
}

TermId TermStore::Call(ProcId proc) { return Intern({.kind = TermKind::kCall, .a = proc.value}); }

TermId TermStore::RawAnd(std::span<const TermId> parts) {
  TermList flat;
  for (TermId id : parts) {
    const Term& t = terms_[id.value];
    if (id == Nothing()) return Nothing();
    if (id == All()) continue;
    if (t.kind == TermKind::kAnd) {
      flat.insert(flat.end(), t.children().begin(), t.children().end());
    } else {
      flat.push_back(id);
    }
  }
  SortUnique(&flat);
  if (flat.size() > 1 && !MergeAnyContent(&flat)) return Nothing();
  if (flat.empty()) return All();
  if (flat.size() == 1) return flat[0];
  if (flat[0] == Empty()) {
    for (TermId id : flat) {
      if (!terms_[id.value].nullable) return Nothing();
    }
    return Empty();
  }
  for (TermId id : flat) {
    const Term& t = terms_[id.value];
    if (t.kind == TermKind::kNot && std::ranges::binary_search(flat, t.children()[0])) {
      return Nothing();
    }
    if (t.kind == TermKind::kNot && LeavesNoRounds(t.children()[0], flat)) return Nothing();
  }
  return Intern({.kind = TermKind::kAnd, .children = flat});
}

// Whether some part is rounds of a class of characters, of which `excluded` has any number.
bool TermStore::LeavesNoRounds(TermId excluded, std::span<const TermId> parts) const {
  const Term& e = terms_[excluded.value];
  if (e.kind != TermKind::kRepeat || e.a != 0 || e.b != kUnbounded) return false;
  return std::ranges::any_of(parts, [&](TermId part) {
    const Term& t = terms_[part.value];
    return t.kind == TermKind::kRepeat &&
           IncludesClass(e.children()[0], t.children()[0]).value_or(false);
  });
}

TermId TermStore::RawNot(TermId part) {
  if (part == Nothing()) return All();
  if (part == All()) return Nothing();
  const Term& t = terms_[part.value];
  if (t.kind == TermKind::kNot) return t.children()[0];
  const TermId children[] = {part};
  return Intern({.kind = TermKind::kNot, .children = children});
}

TermId TermStore::And(std::span<const TermId> parts) { return Checked(RawAnd(parts)); }
TermId TermStore::Not(TermId part) { return Checked(RawNot(part)); }

TermId TermStore::AndOfLength(std::span<const TermId> parts, uint64_t min_length) {
  return Vouched(RawAnd(parts), min_length);
}
TermId TermStore::NotOfLength(TermId part, uint64_t min_length) {
  return Vouched(RawNot(part), min_length);
}

TermId TermStore::MultipleOf(const Multiple& multiple, uint64_t remainder) {
  if (multiple.modulus == 1) {
    ByteSet digits = ByteSet::Range('0', '9');
    digits.Add('.');
    return Repeat(ByteClass(digits), 0, kUnbounded);
  }
  const auto next = static_cast<uint32_t>(multiples_.size());
  auto [it, added] = multiple_ids_.try_emplace({multiple.modulus, multiple.scale}, next);
  if (added) multiples_.Append() = multiple;
  return Intern({.kind = TermKind::kMultiple,
                 .a = static_cast<int64_t>(remainder),
                 .b = static_cast<int64_t>(it->second)});
}

uint64_t TermStore::ShortestMultiple(const Multiple& multiple, uint64_t remainder) {
  unsigned __int128 scale = 1 % multiple.modulus;
  for (uint32_t i = 0; i < multiple.scale; ++i) scale = scale * 10 % multiple.modulus;
  // D * scale divisible by the modulus <=> D divisible by modulus / gcd(modulus, scale).
  const uint64_t modulus =
      multiple.modulus / std::gcd(multiple.modulus, static_cast<uint64_t>(scale));
  unsigned __int128 reached = remainder % modulus, power = 1;
  // k digits add any number below 10^k.
  for (uint64_t k = 0;; ++k) {
    if ((modulus - reached) % modulus < power) return k;
    reached = reached * 10 % modulus;
    power *= 10;
  }
}

TermId TermStore::Tokens(const TokenSet& tokens) {
  if (tokens.ids.empty() && !tokens.excluded) return Nothing();
  const auto next = static_cast<uint32_t>(token_sets_.size());
  auto [it, added] = token_set_ids_.try_emplace({tokens.excluded, tokens.ids}, next);
  if (added) {
    token_set_storage_.push_back(std::make_unique<TokenSet>(tokens));
    token_sets_.Append() = token_set_storage_.back().get();
    token_set_bytes_ += sizeof(TokenSet) + 2 * sizeof(TokenId) * tokens.ids.size() + 64;
  }
  return Intern({.kind = TermKind::kTokens, .a = static_cast<int64_t>(it->second)});
}

void TermStore::PartLast(MemberSpec* spec) { members_->PartLast(spec); }
TermId TermStore::MembersOf(MemberSpec spec) { return members_->Begin(std::move(spec)); }

bool TermStore::EnoughValues(TermId texts, int64_t count) {
  return members_->EnoughValues(texts, count);
}

TermId TermStore::RestoreMembers(TermId begin, int64_t phase, uint32_t met, int64_t written,
                                 std::span<const uint64_t> seen) {
  return members_->Restore(begin, static_cast<MemberPhase>(phase), met, written, seen);
}

size_t TermStore::MemberWords(TermId members) const {
  const MemberState& state = members_->state(terms_[members.value].a);
  return (members_->spec(state.spec).once + 63) / 64;
}

TermId TermStore::MembersTerm(uint32_t state, int64_t phase) {
  return Intern({.kind = TermKind::kMembers, .a = state, .b = phase});
}

TermId TermStore::Received(TermId to, std::string_view text) {
  return members_->Received(to, text);
}

void TermStore::AddRivals(TermId to, std::vector<uint32_t>* out) const {
  members_->AddRivals(to, out);
}
bool TermStore::MayBecome(std::string_view text, uint32_t value) const {
  return members_->MayBecome(text, value);
}

ProcId TermStore::AddProc(bool nullable, uint64_t min_length) {
  const ProcId id(static_cast<uint32_t>(procs_.size()));
  Proc& p = procs_.Append();
  p.nullable = nullable;
  p.min_length = min_length;
  return id;
}

ProcId TermStore::ProcOf(TermId body) {
  auto [it, added] = procs_by_body_.try_emplace(body.value);
  if (added) {
    const Term& t = terms_[body.value];
    it->second = AddProc(t.nullable, t.min_length);
    procs_[it->second.value].body = body;
  }
  return it->second;
}

ProcId TermStore::CapturingProcOf(TermId body, bool compound, bool free) {
  auto [it, added] = capturing_by_body_.try_emplace(uint64_t{body.value} << 1 | free);
  if (added) {
    const Term& t = terms_[body.value];
    it->second = AddProc(t.nullable, t.min_length);
    Proc& p = procs_[it->second.value];
    p.body = body;
    p.captures = true;
    p.compound = compound;
    p.free = free;
  }
  return it->second;
}

// A loop without bound outside of exclusions, of which nothing but finitely many texts are taken
// away; or one of that many rounds of two characters, which may be within a bound on all of the
// text, of which few are.
bool TermStore::Endless(TermId id, int64_t rounds) {
  struct Part {
    TermId id;
    bool whole;    // few texts are taken away, or none
    int64_t most;  // characters over those of the shortest text
  };
  std::vector<Part> todo = {{id, true, kUnbounded}};
  while (!todo.empty()) {
    const auto [part, whole, most] = todo.back();
    const Term& t = terms_[part.value];
    todo.pop_back();
    if (t.kind == TermKind::kRepeat) {
      if (t.b == kUnbounded && most == kUnbounded) return true;
      const TermId x = t.children()[0];
      if (whole && std::min(t.b, most) >= rounds && IsOneCharacter(x) && HasTwoCharacters(x)) {
        return true;
      }
    }
    if (t.kind == TermKind::kSequence) {
      for (TermId c : t.children()) todo.push_back({c, whole, most});
    } else if (t.kind == TermKind::kChoice) {
      for (TermId c : t.children()) {
        const auto more = static_cast<int64_t>(terms_[c.value].min_length - t.min_length);
        if (most > more) todo.push_back({c, whole, most == kUnbounded ? most : most - more});
      }
    } else if (t.kind == TermKind::kAnd) {
      TermId only = Nothing(), counted = Nothing();
      int64_t bound = kUnbounded;
      bool exclusions = true, few = whole;
      for (TermId c : t.children()) {
        const Term& other = terms_[c.value];
        if (other.kind == TermKind::kNot && terms_[other.children()[0].value].finite) {
          few = few && IsFewTexts(other.children()[0]);
        } else if (CountsAny(other) && other.b != kUnbounded && bound == kUnbounded) {
          bound = other.b;
          counted = c;
        } else {
          exclusions = exclusions && only == Nothing();
          only = c;
        }
      }
      if (!exclusions) continue;
      if (only == Nothing()) {
        if (counted != Nothing()) todo.push_back({counted, few, most});
      } else if (bound == kUnbounded) {
        todo.push_back({only, few, most});
      } else if (const uint64_t shortest = terms_[only.value].min_length;
                 IsJsonContent(only) && shortest < static_cast<uint64_t>(bound)) {
        // The shortest text has no more characters than bytes.
        todo.push_back({only, few, std::min(most, bound - static_cast<int64_t>(shortest))});
      }
    }
  }
  return false;
}

// Whether it is seen that a term has no more values than it has parts: texts, maybe one after
// another, or a choice of these.
bool TermStore::IsFewTexts(TermId id) const {
  auto is_text = [&](TermId part) {
    const TermKind kind = terms_[part.value].kind;
    return kind == TermKind::kBytes || kind == TermKind::kJsonText || kind == TermKind::kEmpty;
  };
  auto is_sequence = [&](TermId part) {
    for (; terms_[part.value].kind == TermKind::kSequence;
         part = terms_[part.value].children()[1]) {
      if (!is_text(terms_[part.value].children()[0])) return false;
    }
    return is_text(part) || terms_[part.value].kind == TermKind::kWords;
  };
  const Term& t = terms_[id.value];
  return t.kind == TermKind::kChoice ? std::ranges::all_of(t.children(), is_sequence)
                                     : is_sequence(id);
}

// Whether two texts of one byte each are seen, which are characters of JSON strings as they stand.
bool TermStore::HasTwoCharacters(TermId id) {
  int count = 0;
  for (const ByteEdge& e : ExpandLocked(id).bytes) {
    if (!terms_[e.to.value].nullable) continue;
    for (int b = e.lo; b <= e.hi; ++b) count += b < 0x7F && !IsSpecialByte(static_cast<uint8_t>(b));
  }
  return count >= 2;
}

ByteSet TermStore::BeginningBytes(TermId id) {
  ByteSet bytes;
  for (const ByteEdge& e : ExpandLocked(id).bytes) bytes.AddRange(e.lo, e.hi);
  return bytes;
}

void TermStore::NoteOverrun(Overrun what) {
  if (overrun()) return;
  search_left_ = 0;  // a search under way ends
  overrun_thread_ = std::this_thread::get_id();
  overrun_.store(what, std::memory_order_release);
}

size_t TermStore::memory_bytes() const {
  return memory_.bytes() + terms_.bytes() + procs_.bytes() + table_.bytes() +
         characters_.size() * 40 + classes_.size() * 28 + byte_class_ids_.size() * 96 +
         multiple_ids_.size() * 48 + token_set_bytes_ + lazy_.size() * 40 + raw_.size() * 24 +
         known_.size() * 16 + witnesses_.size() * 36 + json_moves_.size() * 28 +
         json_counts_.size() * 20 + count_length_bytes_ + uncounted_.size() * 9 +
         saved_groups_.size() * 40 + pool_bytes_ + members_->memory_bytes() +
         words_->memory_bytes();
}

std::string TermStore::ToString(TermId id) const {
  // Parts of the text and terms still to print, last first.
  struct Piece {
    TermId term;
    std::string text;
    bool is_text;
  };
  std::vector<Piece> todo = {{id, "", false}};
  std::string out;
  auto text = [&](std::string s) { todo.push_back({TermId(), std::move(s), true}); };
  auto list = [&](const Term& t, std::string_view separator) {
    text(")");
    for (size_t i = t.children().size(); i-- > 0;) {
      todo.push_back({t.children()[i], "", false});
      if (i > 0) text(std::string(separator));
    }
    text("(");
  };
  while (!todo.empty()) {
    Piece piece = std::move(todo.back());
    todo.pop_back();
    if (piece.is_text) {
      out += piece.text;
      continue;
    }
    const Term& t = terms_[piece.term.value];
    switch (t.kind) {
      case TermKind::kNothing:
        out += "nothing";
        break;
      case TermKind::kEmpty:
        out += "\"\"";
        break;
      case TermKind::kAll:
        out += "all";
        break;
      case TermKind::kBytes:
      case TermKind::kJsonText:
        out += t.kind == TermKind::kBytes ? "\"" : "json\"";
        for (char c : t.text()) AppendShown(static_cast<uint8_t>(c), "\"\\", &out);
        out += "\"";
        break;
      case TermKind::kByteClass: {
        out += "[";
        byte_classes_[static_cast<size_t>(t.a)].ForEachRange([&](uint8_t lo, uint8_t hi) {
          AppendShown(lo, "\\-]", &out);
          if (hi > lo) out += "-";
          if (hi > lo) AppendShown(hi, "\\-]", &out);
        });
        out += "]";
        break;
      }
      case TermKind::kSequence:
        list(t, " ");
        break;
      case TermKind::kChoice:
        list(t, " | ");
        break;
      case TermKind::kRepeat:
        text("{" + std::to_string(t.a) + "," + (t.b == kUnbounded ? "" : std::to_string(t.b)) +
             "}");
        todo.push_back({t.children()[0], "", false});
        break;
      case TermKind::kCall:
        out += "call" + std::to_string(t.a);
        break;
      case TermKind::kAnd:
        list(t, " & ");
        break;
      case TermKind::kNot:
        list(t, "");
        text("!");
        break;
      case TermKind::kMultiple: {
        const Multiple& m = multiples_[static_cast<size_t>(t.b)];
        out += "multiple(" + std::to_string(t.a) + "," + std::to_string(m.modulus) + "," +
               std::to_string(m.scale) + ")";
        break;
      }
      case TermKind::kTokens:
        out += "tokens" + std::to_string(t.a);
        break;
      case TermKind::kWords: {
        const std::vector<std::string_view> words = words_->Rest(t);
        out += words_->escaped(t) ? "escaped(" : "(";
        for (std::string_view word : words) {
          if (out.back() != '(') out += " | ";
          out += words_->json(t) ? "json\"" : "\"";
          for (char c : word) AppendShown(static_cast<uint8_t>(c), "\"\\", &out);
          out += "\"";
        }
        out += ")";
        break;
      }
      case TermKind::kMembers:
        out += "members" + std::to_string(t.a) + "." + std::to_string(t.b);
        break;
    }
  }
  return out;
}

}  // namespace grammask::internal
