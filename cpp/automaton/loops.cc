// States to what matters of their loops and counts for masks.
//
// Four questions let many states share one mask. FarTerm: which bounds can no token reach? In
// `[a-z]{5,4000}"` after three letters and after thirty, none. Loosen: what is a bounded loop
// without its bound, beside a pattern? The mask stage then measures whether the bound can matter,
// and where it does, what each token needs of it (FindCount, WithoutCount).
// FindLeast: for how many bytes is a bound from below sure to be reached still?
// FindLoop: which characters leave everything possible? In `X*"abc"X*` any X does, whatever part of
// "abc" has been read, so all tokens of X's are taken at once.
//
// Cost: linear in the term, once for a state. Tests: tests/automaton/term_test.cc, tests/mask.
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <utility>

#include "automaton/json_places.h"
#include "automaton/lengths.h"
#include "automaton/term_store.h"
#include "automaton/words.h"

namespace grammask::internal {
namespace {

// Parts of an intersection over which it is not loosened: each bound costs a state and, for its
// mask, a level of recursion.
constexpr size_t kMaxLoosened = 8;
constexpr uint32_t kWideCharacter = 16;  // first bytes of one that many tokens begin with
constexpr size_t kMaxTexts = 4096;       // excluded texts that are told one by one
constexpr int kMaxLoopDepth = 6;  // choices and intersections inside one another that are looked at

}  // namespace

TermId TermStore::FarTerm(TermId id) {
  const Term& t = terms_[id.value];
  if (!t.counted) return id;
  const uint32_t far = t.far.load(std::memory_order_acquire);
  if (far != 0) return TermId(far);
  std::lock_guard lock(mutex_);
  return MakeFar(id);
}

// Children before parents, on an explicit stack; each term's result is remembered in it.
TermId TermStore::MakeFar(TermId id) {
  std::vector<TermId> todo = {id};
  auto far_of = [&](TermId t) {
    const Term& term = terms_[t.value];
    return term.counted ? TermId(term.far.load(std::memory_order_relaxed)) : t;
  };
  while (!todo.empty()) {
    const TermId top = todo.back();
    Term& t = terms_[top.value];
    if (far_of(top).value != 0) {
      todo.pop_back();
      continue;
    }
    const size_t before = todo.size();
    for (TermId c : t.children()) {
      if (far_of(c).value == 0) todo.push_back(c);
    }
    if (todo.size() > before) continue;
    todo.pop_back();
    absl::InlinedVector<TermId, 8> children;
    for (TermId c : t.children()) children.push_back(far_of(c));
    TermId result = top;
    switch (t.kind) {
      case TermKind::kSequence:
        result = Sequence(children[0], children[1]);
        break;
      case TermKind::kChoice:
        result = Choice(children);
        break;
      case TermKind::kRepeat: {
        // Within a token's length neither a lower bound of small_count + 1 nor an upper one over
        // small_count can be reached, since each round takes a byte.
        const bool far = t.b != kUnbounded && t.b > small_count_;
        result = Repeat(children[0], std::min(t.a, small_count_ + 1), far ? kUnbounded : t.b);
        break;
      }
      default:
        break;
    }
    terms_[top.value].far.store(result.value, std::memory_order_release);
  }
  return far_of(id);
}

// The counted loop that a state begins with, alone or as part of an intersection; null for none.
const Term* TermStore::CountedPart(TermId id) const {
  const Term& t = terms_[id.value];
  const Term& h = t.kind == TermKind::kSequence ? terms_[t.children()[0].value] : t;
  auto counted = [](const Term& part) {
    return part.kind == TermKind::kRepeat && part.b != kUnbounded;
  };
  if (!h.regular || h.children().size() > kMaxLoosened) return nullptr;
  if (counted(h)) return &h;
  if (h.kind != TermKind::kAnd) return nullptr;
  for (TermId c : h.children()) {
    if (counted(terms_[c.value])) return &terms_[c.value];
  }
  return nullptr;
}

// The state with `min` or more rounds instead of its counted part.
TermId TermStore::WithRepeat(TermId id, const Term& counted, int64_t min) {
  std::lock_guard lock(mutex_);
  const Term& t = terms_[id.value];
  const bool sequence = t.kind == TermKind::kSequence;
  const Term& h = sequence ? terms_[t.children()[0].value] : t;
  TermId loose = Repeat(counted.children()[0], min, kUnbounded);
  if (h.kind == TermKind::kAnd) {
    absl::InlinedVector<TermId, 4> parts = {loose};
    for (TermId c : h.children()) {
      if (&terms_[c.value] != &counted) parts.push_back(c);
    }
    loose = And(parts);
  }
  return sequence ? Sequence(loose, t.children()[1]) : loose;
}

std::optional<TermStore::Loosened> TermStore::Loosen(TermId id) {
  const Term* counted = CountedPart(id);
  if (counted == nullptr) return std::nullopt;
  return Loosened{WithRepeat(id, *counted, counted->a), counted->b, false};
}

// Leaves out bounds. `rest`: in what follows the beginning of a sequence, too. `levels`: of terms
// inside of terms that are looked at.
TermId TermStore::WithoutBounds(TermId id, bool rest, int levels, Loosening* out) {
  const Term& t = terms_[id.value];
  if (levels < 0 || out->terms_left == 0 || t.children().size() > kMaxLoosened) return id;
  --out->terms_left;
  switch (t.kind) {
    case TermKind::kRepeat: {
      if (!t.regular) return id;
      const TermId body = WithoutBounds(t.children()[0], true, levels - 1, out);
      // Each round takes some bytes, but for those that may take none and need not be.
      uint64_t fewest = terms_[body.value].min_length;
      // What has a fixed number of rounds may be the digits of one character.
      const bool measured = !out->characters || (t.a != t.b && IsJsonContent(body));
      if (measured && out->characters) fewest = CharacterCounts(body).least[JsonPlaces::kBetween];
      const auto round = static_cast<int64_t>(std::max<uint64_t>(fewest, 1));
      int64_t most = t.b;
      const bool stays = out->keep_exact && out->behind && t.a == t.b;
      if (measured && !stays && most > 1 && most != kUnbounded &&
          most >= (out->least + round - 1) / round) {
        const int64_t allowed = most > kUnbounded / round ? kUnbounded : most * round;
        out->bound = std::min(out->bound, allowed);
        most = kUnbounded;
      }
      return body == t.children()[0] && most == t.b ? id : Repeat(body, t.a, most);
    }
    case TermKind::kSequence: {
      const TermId first = WithoutBounds(t.children()[0], rest, levels - 1, out);
      // Loops one after another begin a state together: `\s+(\S+\s+){0,8}\S+`.
      const Term& head = terms_[t.children()[0].value];
      const bool on = rest || (head.kind == TermKind::kRepeat && head.regular);
      const bool behind = std::exchange(out->behind, true);
      const TermId second =
          on ? WithoutBounds(t.children()[1], rest, levels - 1, out) : t.children()[1];
      out->behind = behind;
      return first == t.children()[0] && second == t.children()[1] ? id : Sequence(first, second);
    }
    case TermKind::kChoice:
    case TermKind::kAnd: {
      absl::InlinedVector<TermId, 8> parts;
      bool changed = false;
      for (TermId c : t.children()) {
        parts.push_back(WithoutBounds(c, rest || t.kind == TermKind::kAnd, levels - 1, out));
        changed |= parts.back() != c;
      }
      if (!changed) return id;
      if (t.kind == TermKind::kChoice) return Choice(parts);
      out->plain = false;
      return And(parts);
    }
    default:
      return id;
  }
}

TermStore::Counted TermStore::WithoutIdleBounds(const Counted& counted) {
  std::lock_guard lock(mutex_);
  if (!IsOneCharacter(counted.x)) return counted;
  // What follows the loop is no part of the count.
  auto without = [&](TermId id) {
    absl::InlinedVector<TermId, 8> parts;
    for (TermId at = id; at != counted.rest || parts.empty();) {
      const Term& t = terms_[at.value];
      const bool sequence = t.kind == TermKind::kSequence;
      if (!sequence && counted.rest != Empty()) return id;
      parts.push_back(sequence ? t.children()[0] : at);
      at = sequence ? t.children()[1] : Empty();
    }
    Loosening out{.least = counted.most, .characters = true};
    bool changed = false;
    for (TermId& part : parts) {
      const TermId loose = WithoutBounds(part, true, kMaxLoopDepth, &out);
      changed |= loose != part;
      part = loose;
    }
    if (!changed) return id;
    TermId all = counted.rest;
    for (size_t i = parts.size(); i-- > 0;) all = Sequence(parts[i], all);
    return all;
  };
  Counted result = counted;
  result.loose = without(counted.loose);
  result.open = counted.open == counted.loose ? result.loose : without(counted.open);
  return result;
}

std::optional<TermStore::Loosened> TermStore::LoosenAll(TermId id, int64_t least) {
  std::lock_guard lock(mutex_);
  Loosening out{.least = least, .keep_exact = true};
  const TermId state = WithoutBounds(id, false, kMaxLoopDepth, &out);
  if (state == id) return std::nullopt;
  return Loosened{state, out.bound, out.plain};
}

// An intersection without the lower bound of its one part that has such.
TermId TermStore::WithoutLeast(TermId id, LooseHead* head) {
  const Term& t = terms_[id.value];
  absl::InlinedVector<TermId, 8> parts;
  for (TermId c : t.children()) {
    const Term& part = terms_[c.value];
    if (part.kind != TermKind::kRepeat || part.a == 0) {
      parts.push_back(c);
      continue;
    }
    if (head->more != 0) return id;  // two of them
    head->x = part.children()[0];
    head->more = part.a;
    parts.push_back(Repeat(part.children()[0], 0, part.b));
  }
  return And(parts);
}

TermStore::LooseHead TermStore::LoosenHead(TermId id, int64_t least) {
  std::lock_guard lock(mutex_);
  const Term& t = terms_[id.value];
  LooseHead head;
  head.state = id;
  const TermId first = t.kind == TermKind::kSequence ? t.children()[0] : id;
  if (terms_[first.value].kind == TermKind::kAnd) {
    LooseHead without = head;
    without.state = WithoutLeast(first, &without);
    if (without.state == first) without.more = 0;
    head = without;
  }
  Loosening out{.least = least};
  head.state = WithoutBounds(head.state, true, kMaxLoopDepth, &out);
  head.bound = out.bound;
  return head;
}

std::optional<TermId> TermStore::WithoutExclusions(TermId id) { return WithoutNots(id, false); }
std::optional<TermId> TermStore::WithoutComplements(TermId id) { return WithoutNots(id, true); }

// The state without the complements in its beginning, those of finitely many texts or, where
// `endless` and there are others, all.
std::optional<TermId> TermStore::WithoutNots(TermId id, bool endless) {
  const Term& whole = terms_[id.value];
  // What is excluded may come after the quote that begins a string.
  const bool quoted = whole.kind == TermKind::kSequence &&
                      terms_[whole.children()[0].value].kind == TermKind::kBytes;
  const Term& t = quoted ? terms_[whole.children()[1].value] : whole;
  const bool sequence = t.kind == TermKind::kSequence;
  const Term& head = sequence ? terms_[t.children()[0].value] : t;
  if (head.kind != TermKind::kAnd) return std::nullopt;
  absl::InlinedVector<TermId, 4> parts;
  bool others = false;
  for (TermId c : head.children()) {
    const Term& part = terms_[c.value];
    const bool complement = part.kind == TermKind::kNot;
    const bool finite = complement && terms_[part.children()[0].value].finite;
    // Of a loop that is counted there are finitely many texts, and yet too many to look at.
    const bool loop = complement && terms_[part.children()[0].value].kind == TermKind::kRepeat;
    others |= complement && (!finite || loop);
    if (!finite && !(complement && endless)) parts.push_back(c);
  }
  if (parts.empty() || parts.size() == head.children().size() || (endless && !others)) {
    return std::nullopt;
  }
  std::lock_guard lock(mutex_);
  TermId wider = And(parts);
  if (sequence) wider = Sequence(wider, t.children()[1]);
  return quoted ? Sequence(whole.children()[0], wider) : wider;
}

std::optional<TermId> TermStore::WithAnyFirst(TermId id) {
  const Term& t = terms_[id.value];
  if (t.kind != TermKind::kSequence) return std::nullopt;
  const Term& after = terms_[t.children()[1].value];
  if (after.kind != TermKind::kSequence) return std::nullopt;
  const Term& loop = terms_[after.children()[0].value];
  if (loop.kind != TermKind::kRepeat || (loop.a == 0 && loop.b == kUnbounded)) return std::nullopt;
  std::lock_guard lock(mutex_);
  const TermId any = AnyJsonCharacter();
  if (loop.children()[0] != any || !IsOneCharacter(t.few[0])) return std::nullopt;
  const int64_t most = loop.b == kUnbounded ? kUnbounded : loop.b + 1;
  return Sequence(Repeat(any, loop.a + 1, most), after.few[1]);
}

// Appends the decoded texts of a term; false where these are too many, or no texts of JSON strings.
bool TermStore::AddTexts(TermId id, std::vector<std::string>* texts) const {
  struct Begun {
    std::string text;
    absl::InlinedVector<TermId, 4> rest;  // the last first
  };
  std::vector<Begun> todo = {{{}, {id}}};
  while (!todo.empty()) {
    Begun begun = std::move(todo.back());
    todo.pop_back();
    if (texts->size() + todo.size() > kMaxTexts) return false;
    if (begun.rest.empty()) {
      texts->push_back(std::move(begun.text));
      continue;
    }
    const Term& t = terms_[begun.rest.back().value];
    begun.rest.pop_back();
    switch (t.kind) {
      case TermKind::kEmpty:
        todo.push_back(std::move(begun));
        break;
      case TermKind::kJsonText:
        begun.text += t.text();
        todo.push_back(std::move(begun));
        break;
      case TermKind::kSequence:
        begun.rest.push_back(t.children()[1]);
        begun.rest.push_back(t.children()[0]);
        todo.push_back(std::move(begun));
        break;
      case TermKind::kChoice:
        for (TermId c : t.children()) {
          todo.push_back(begun);
          todo.back().rest.push_back(c);
        }
        break;
      case TermKind::kWords:
        if (!words_->json(t) || words_->escaped(t)) return false;
        for (std::string_view word : words_->Rest(t)) {
          todo.push_back(begun);
          todo.back().text += word;
        }
        break;
      default:
        return false;
    }
  }
  return true;
}

std::optional<TermStore::Exclusion> TermStore::FindExclusion(TermId id) {
  const Term* t = &terms_[id.value];
  if (t->kind != TermKind::kSequence) return std::nullopt;
  Exclusion found;
  const Term* head = &terms_[t->children()[0].value];
  if (head->kind == TermKind::kBytes) {
    found.before = head->text();
    t = &terms_[t->children()[1].value];
    if (t->kind != TermKind::kSequence) return std::nullopt;
    head = &terms_[t->children()[0].value];
  }
  if (head->kind != TermKind::kAnd) return std::nullopt;
  const Term& rest = terms_[t->children()[1].value];
  found.ends = rest.kind == TermKind::kBytes;
  if (!BeginsWithQuote(t->children()[1])) return std::nullopt;
  auto is_class = [](const Term& first) {
    return first.kind == TermKind::kByteClass || (first.kind == TermKind::kChoice && first.regular);
  };
  for (TermId c : head->children()) {
    const Term* part = &terms_[c.value];
    if (part->kind == TermKind::kNot) continue;
    if (part->kind == TermKind::kSequence && is_class(terms_[part->children()[0].value])) {
      part = &terms_[part->children()[1].value];
    }
    if (part->kind != TermKind::kRepeat || part->a > 1 || part->b != kUnbounded) {
      return std::nullopt;
    }
    if (found.loop != TermId()) return std::nullopt;
    found.loop = c;
    found.x = part->children()[0];
  }
  if (found.loop == TermId()) return std::nullopt;
  std::lock_guard lock(mutex_);
  for (TermId c : head->children()) {
    if (c != found.loop && !AddTexts(terms_[c.value].children()[0], &found.texts)) {
      return std::nullopt;
    }
  }
  found.wider = Sequence(found.loop, t->children()[1]);
  if (!found.before.empty()) found.wider = Sequence(Literal(found.before, false), found.wider);
  return found;
}

bool TermStore::Includes(TermId whole, TermId part) {
  if (const auto known = IncludesClass(whole, part)) return *known;
  const TermId parts[] = {part, Not(whole)};
  return And(parts) == Nothing();
}

std::optional<TermStore::Loop> TermStore::LoopOf(TermId id, uint32_t first_bytes, int depth) {
  const Term& t = terms_[id.value];
  if (!t.regular && t.kind != TermKind::kSequence) return std::nullopt;
  if (depth > kMaxLoopDepth) return std::nullopt;
  switch (t.kind) {
    case TermKind::kRepeat:
      if (t.b == 1) return LoopOf(t.children()[0], first_bytes, depth + 1);  // with no text as well
      if (t.b != kUnbounded) return std::nullopt;
      return Loop{t.children()[0], id, false};
    case TermKind::kSequence: {
      auto head = LoopOf(t.children()[0], first_bytes, depth + 1);
      if (head.has_value()) head->part = Sequence(head->part, t.children()[1]);
      return head;
    }
    case TermKind::kChoice: {
      // The alternative that loops on most. Of `(\w+\.)*` and `.*` neither includes the other.
      std::optional<Loop> best;
      uint32_t most = 0;
      for (TermId c : t.children()) {
        auto loop = LoopOf(c, first_bytes, depth + 1);
        if (!loop.has_value()) continue;
        const uint32_t first = FirstBytes(ExpandLocked(loop->x).bytes);
        if (first < most) continue;
        if (first > most || (loop->x != best->x && Includes(loop->x, best->x))) best = loop;
        most = first;
      }
      return best;
    }
    case TermKind::kAnd: {
      // All parts must loop; the characters are those of the narrowest. Excluding finitely many
      // texts leaves a loop some text always.
      absl::InlinedVector<TermId, 4> parts;
      std::optional<TermId> x;
      bool excluding = false;
      for (TermId c : t.children()) {
        const Term& part = terms_[c.value];
        if (part.kind == TermKind::kNot && terms_[part.children()[0].value].finite) {
          excluding = true;
          continue;
        }
        const auto loop = LoopOf(c, first_bytes, depth + 1);
        if (!loop.has_value()) return std::nullopt;
        excluding |= loop->excluding;
        parts.push_back(loop->part);
        if (!x.has_value() || (*x != loop->x && Includes(*x, loop->x))) {
          x = loop->x;
        } else if (*x != loop->x && !Includes(loop->x, *x)) {
          return std::nullopt;
        }
      }
      if (!x.has_value() || FirstBytes(ExpandLocked(*x).bytes) < first_bytes) return std::nullopt;
      const TermId both = And(parts);
      if (both == Nothing()) return std::nullopt;
      return Loop{*x, both, excluding};
    }
    default:
      return std::nullopt;
  }
}

std::optional<TermStore::Loop> TermStore::WideLoopOf(TermId id, uint32_t first_bytes) {
  auto loop = LoopOf(id, first_bytes, 0);
  const bool wide = loop.has_value() && FirstBytes(ExpandLocked(loop->x).bytes) >= first_bytes;
  return wide ? loop : std::nullopt;
}

std::optional<TermStore::Loop> TermStore::FindLoop(TermId id, uint32_t first_bytes) {
  std::lock_guard lock(mutex_);
  return LoopOf(id, first_bytes, 0);
}

std::optional<TermStore::Searched> TermStore::FindSearched(TermId id, uint32_t first_bytes) {
  const Term& t = terms_[id.value];
  if (t.kind != TermKind::kSequence || CountedPart(id) != nullptr) return std::nullopt;
  const Term& head = terms_[t.children()[0].value];
  const TermId rest = t.children()[1];
  if (head.kind != TermKind::kAnd || !head.regular || !BeginsWithQuote(rest)) return std::nullopt;
  std::lock_guard lock(mutex_);
  absl::InlinedVector<TermId, 4> searches, others;
  for (TermId c : head.children()) {
    // What an exclusion leaves has more states than are worth looking at.
    if (terms_[c.value].kind == TermKind::kNot) return std::nullopt;
    const auto loop = WideLoopOf(c, first_bytes);
    (loop.has_value() && !loop->excluding ? searches : others).push_back(c);
  }
  if (searches.empty() || others.empty()) return std::nullopt;
  Searched found;
  found.rest = rest;
  found.search = And(searches);
  found.others = And(others);
  const auto loop = LoopOf(found.search, first_bytes, 0);
  if (!loop.has_value() || loop->excluding || !IsOneCharacter(loop->x)) return std::nullopt;
  found.loop = *loop;
  found.wider = Sequence(found.others, rest);
  return found;
}

std::optional<TermStore::Progress> TermStore::FindProgress(TermId id, uint32_t first_bytes) {
  const Term& t = terms_[id.value];
  if (t.kind != TermKind::kSequence || !BeginsWithQuote(t.children()[1])) return std::nullopt;
  const Term& head = terms_[t.children()[0].value];
  if (head.kind != TermKind::kAnd) return std::nullopt;
  std::lock_guard lock(mutex_);
  for (TermId c : head.children()) {
    const Term& part = terms_[c.value];
    if (part.kind != TermKind::kChoice || !part.regular) continue;
    const auto loop = WideLoopOf(c, first_bytes);
    if (!loop.has_value() || loop->excluding || !IsOneCharacter(loop->x)) continue;
    absl::InlinedVector<TermId, 8> begun(part.children().begin(), part.children().end());
    const auto search = std::ranges::find(begun, loop->part);
    if (search == begun.end()) continue;
    begun.erase(search);
    // With others that loop so, one after another would be taken out.
    auto loops = [&](TermId a) { return WideLoopOf(a, first_bytes).has_value(); };
    if (std::ranges::any_of(begun, loops)) continue;
    auto with = [&](TermId instead) {
      absl::InlinedVector<TermId, 8> parts(head.children().begin(), head.children().end());
      std::ranges::replace(parts, c, instead);
      return Sequence(And(parts), t.children()[1]);
    };
    return Progress{with(loop->part), with(Choice(begun))};
  }
  return std::nullopt;
}

// As many bytes of any text of `id` leave so much of it that a loop without end is still to come,
// or is gone on with. `last`: nothing follows. Nothing where there is no such loop; UINT64_MAX
// where it is never left. `round`: raised to the bytes of a round of such loops.
std::optional<uint64_t> TermStore::EndlessFor(TermId id, bool last, int depth, uint64_t* round) {
  if (depth > kMaxLoopDepth) return std::nullopt;
  const Term* t = &terms_[id.value];
  if (t->kind == TermKind::kRepeat) {
    const TermId body = t->children()[0];
    if (t->b != kUnbounded || !IsJsonContent(body)) return std::nullopt;
    *round = std::max(*round, terms_[body.value].min_length);
    return last ? UINT64_MAX : t->min_length;
  }
  if (t->kind == TermKind::kChoice) {
    uint64_t least = UINT64_MAX;
    for (TermId c : t->children()) {
      const auto found = EndlessFor(c, last, depth + 1, round);
      if (!found.has_value()) return std::nullopt;
      least = std::min(least, *found);
    }
    return least;
  }
  if (t->kind != TermKind::kSequence) return std::nullopt;
  // The last of its loops counts.
  std::optional<uint64_t> best;
  for (uint64_t before = 0;; t = &terms_[id.value]) {
    const bool sequence = t->kind == TermKind::kSequence;
    const TermId head = sequence ? t->children()[0] : id;
    if (const auto found = EndlessFor(head, last && !sequence, depth + 1, round)) {
      best = *found == UINT64_MAX ? *found : before + *found;
    }
    if (!sequence) return best;
    before += terms_[head.value].min_length;
    id = t->children()[1];
  }
}

std::optional<TermStore::LeastCount> TermStore::FindLeast(TermId id, uint64_t least_sure) {
  const Term& t = terms_[id.value];
  if (t.kind != TermKind::kSequence || !BeginsWithQuote(t.children()[1])) return std::nullopt;
  const Term& head = terms_[t.children()[0].value];
  if (head.kind == TermKind::kRepeat && head.a > 1 && head.b == kUnbounded && head.regular) {
    const TermId x = head.children()[0];
    if (FirstBytes(Expand(x).bytes) < kWideCharacter) return std::nullopt;
    std::lock_guard lock(mutex_);
    if (!IsOneCharacter(x)) return std::nullopt;
    const TermId any = Repeat(x, 0, kUnbounded);
    return LeastCount{Sequence(any, t.children()[1]), t.children()[0], any, head.a, UINT64_MAX};
  }
  if (head.kind != TermKind::kAnd || head.children().size() != 2) return std::nullopt;
  std::lock_guard lock(mutex_);
  auto is_bound = [&](TermId part) {
    const Term& p = terms_[part.value];
    return CountsAny(p) && p.a > 0;
  };
  const bool first = is_bound(head.children()[0]);
  const Term& bound = terms_[head.children()[first ? 0 : 1].value];
  const TermId other = head.children()[first ? 1 : 0];
  if ((!first && !is_bound(head.children()[1])) || !terms_[other.value].regular ||
      !IsJsonContent(other)) {
    return std::nullopt;
  }
  LeastCount found;
  uint64_t round = 0;
  found.sure = EndlessFor(other, true, 0, &round).value_or(0);
  // A number of rounds must come to be between the bounds.
  if (bound.b != kUnbounded && round > static_cast<uint64_t>(bound.b - bound.a) + 1) found.sure = 0;
  if (found.sure < least_sure && bound.a != 1) return std::nullopt;
  found.least = bound.a;
  found.head = t.children()[0];
  const TermId parts[] = {Repeat(json_any_, 0, bound.b), other};
  found.wider_head = And(parts);
  found.wider = Sequence(found.wider_head, t.children()[1]);
  return found;
}

TermId TermStore::Both(TermId x, TermId y) {
  std::lock_guard lock(mutex_);
  const TermId parts[] = {x, y};
  return And(parts);
}

bool TermStore::IsWithin(TermId part, TermId whole) {
  std::lock_guard lock(mutex_);
  return part == whole || Includes(whole, part);
}

}  // namespace grammask::internal
