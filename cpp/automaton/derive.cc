// A state to its edges: what can be read in it, and the state that each reading leads to.
//
// All derivatives of a term by all bytes are found at once, as a few byte ranges with targets. The
// edges of a choice are the edges of its alternatives laid over one another: where two ranges
// overlap, the target is the choice of both targets. Of `a[0-9]|[a-f]x` there come the edges
// a -> ([0-9]|x) and b-f -> x. Sequences, repeats, intersections and complements likewise follow
// their laws. A call is a reading of its own kind: the parser answers it.
//
// Cost: linear in the edges involved, about 100 ns for a literal and 1 us for a string body; paid
// once for a state. No recursion: a term's parts are expanded first, from an explicit stack; only a
// question of emptiness inside (of those at most kMostAsked) starts another.
//
// Source: Brzozowski 1964; the symbolic form after Varatalu et al., "RE#", POPL 2025. Tests:
// tests/automaton/term_test.cc against the slow recogniser.
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <array>

#include "automaton/members.h"
#include "automaton/term_store.h"
#include "automaton/words.h"
#include "base/byte_overlay.h"
#include "base/check.h"
#include "base/json_bytes.h"
#include "base/utf8.h"

namespace grammask::internal {
namespace {

using EdgeList = absl::InlinedVector<ByteEdge, 16>;
using CallList = absl::InlinedVector<CallEdge, 4>;
using TokenList = absl::InlinedVector<TokenEdge, 2>;

constexpr size_t kFewRuns = 4;     // of edges in order, that are gone through side by side
constexpr size_t kMorePieces = 8;  // that come of edges cut in two; more take a longer list
constexpr size_t kFewEdges = 24;   // up to which sorting is faster than laying over one another

// Joins neighbouring edges of one target.
void JoinNeighbours(EdgeList* edges) {
  auto joins = [](const ByteEdge& x, const ByteEdge& y) {
    return x.to == y.to && x.hi + 1 == y.lo;
  };
  ByteEdge* const end = edges->data() + edges->size();
  ByteEdge* last = std::adjacent_find(edges->data(), end, joins);
  if (last == end) return;
  for (const ByteEdge* e = last + 1; e != end; ++e) {
    if (joins(*last, *e)) {
      last->hi = e->hi;
    } else {
      *++last = *e;
    }
  }
  edges->resize(static_cast<size_t>(last + 1 - edges->data()));
}

// Of a state on which a question was put off (emptiness.cc): nobody looks at it.
constexpr Expansion kNotYet;

bool Disjoint(const EdgeList& sorted) {
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].lo <= sorted[i - 1].hi) return false;
  }
  return true;
}

}  // namespace

// Computes one expansion whose parts are already expanded. Lock held.
class Deriver {
 public:
  Deriver(TermStore& store, TermId id, bool raw)
      : s_(store), id_(id), t_(store.terms_[id.value]), raw_(raw) {}

  const Expansion* Run() {
    switch (t_.kind) {
      case TermKind::kNothing:
      case TermKind::kEmpty:
      case TermKind::kAll:
        break;
      case TermKind::kBytes:
        Add(t_.text()[0], s_.Tail(id_));
        break;
      case TermKind::kJsonText:
        JsonText(id_, s_.Empty());
        ReadAscii();
        Determinise();
        break;
      case TermKind::kByteClass:
        s_.byte_classes_[static_cast<size_t>(t_.a)].ForEachRange(
            [&](uint8_t lo, uint8_t hi) { bytes_.push_back({lo, hi, s_.Empty()}); });
        break;
      case TermKind::kSequence:
        if (const Term& head = s_.terms_[t_.children()[0].value]; head.kind == TermKind::kBytes) {
          Add(head.text()[0], s_.Sequence(s_.Tail(t_.children()[0]), t_.children()[1]));
          break;
        } else if (head.kind == TermKind::kJsonText) {
          JsonText(t_.children()[0], t_.children()[1]);
          ReadAscii();
          Determinise();
          break;
        }
        ReadHead(t_.children()[0], t_.children()[1]);
        if (s_.terms_[t_.children()[0].value].nullable) {
          Append(t_.children()[1], s_.Empty());
          MergeSpelling(t_.children()[1]);
        }
        Determinise();
        break;
      case TermKind::kChoice:
        for (TermId c : t_.children()) {
          if (const auto head = s_.AsciiHead(c)) {
            JsonText(*head, s_.AfterHead(*head, c));
            continue;
          }
          Append(c, s_.Empty());
          MergeSpelling(c);
        }
        ReadAscii();
        Determinise();
        break;
      case TermKind::kRepeat:
        ReadHead(id_, s_.Empty());
        Determinise();
        break;
      case TermKind::kCall:
        calls_.push_back({ProcId(static_cast<uint32_t>(t_.a)), s_.Empty()});
        break;
      case TermKind::kAnd:
        Intersection();
        break;
      case TermKind::kNot:
        Complement();
        break;
      case TermKind::kMultiple:
        Digits();
        break;
      case TermKind::kTokens:
        tokens_.push_back({static_cast<uint32_t>(t_.a), s_.Empty()});
        break;
      case TermKind::kMembers:
        s_.members_->Read(t_, {&bytes_, &calls_, &tokens_});
        Determinise();
        break;
      case TermKind::kWords: {
        bool spelled = false, escapes = false;
        s_.words_->Read(t_, &bytes_, &spelled, &escapes);
        NoteSpelling(spelled, escapes);
        Determinise();
        break;
      }
    }
    if (same_ != nullptr) return same_;
    JoinNeighbours(&bytes_);
    return Publish();
  }

 private:
  const Expansion& Part(TermId id) const {
    const Expansion* e = s_.terms_[id.value].expansion.load(std::memory_order_relaxed);
    GM_DCHECK(e != nullptr);
    return *e;
  }

  void Add(char byte, TermId to) {
    bytes_.push_back({static_cast<uint8_t>(byte), static_cast<uint8_t>(byte), to});
  }

  // The first character of a decoded text, raw or escaped, then the rest of it, then `after`. ASCII
  // is left to ReadAscii().
  void JsonText(TermId id, TermId after) {
    const std::string_view text = s_.terms_[id.value].text();
    const DecodedChar c = DecodeUtf8(text, 0).value_or(DecodedChar{0, 1});
    const auto length = static_cast<size_t>(c.length);
    after = s_.Sequence(length == 1 ? s_.Tail(id) : s_.Literal(text.substr(length), true), after);
    if (c.code_point < 0x80) {
      ascii_.push_back({static_cast<uint8_t>(c.code_point), after});
      return;
    }
    for (const ByteEdge& e : s_.ExpandLocked(s_.JsonCharacter(c.code_point)).bytes) {
      bytes_.push_back({e.lo, e.hi, s_.Sequence(e.to, after)});
    }
    NoteSpelling(true, false);
  }

  // The backslash spells what else may be read, or is read in its own right.
  void NoteSpelling(bool spelled, bool escapes) {
    for (Spelling* s : {&spelling_, &any_spelling_}) {
      s->spelled |= spelled;
      s->escapes |= escapes;
    }
  }

  // All characters of ascii_ at once, as their other spellings all begin with the same bytes.
  void ReadAscii() {
    if (ascii_.empty()) return;
    MergeEqual(&ascii_, &AsciiRead::code_point);
    for (const AsciiRead& c : ascii_) {
      const bool raw = !IsSpecialByte(c.code_point);
      if (raw) bytes_.push_back({c.code_point, c.code_point, c.to});
      NoteSpelling(raw, !raw);
    }
    bytes_.push_back({'\\', '\\', s_.JsonEscapes(ascii_)});
  }

  // The readings of `part`, each followed by `rest`.
  void Append(TermId part, TermId rest) {
    const Expansion& e = Part(part);
    // A loop of the head is one of the sequence.
    const bool head = t_.kind == TermKind::kSequence && part == t_.children()[0];
    if (rest == s_.Empty() && !head) {
      bytes_.insert(bytes_.end(), e.bytes.begin(), e.bytes.end());
      calls_.insert(calls_.end(), e.calls.begin(), e.calls.end());
      tokens_.insert(tokens_.end(), e.tokens.begin(), e.tokens.end());
      return;
    }
    for (const ByteEdge& edge : e.bytes) {
      const bool loop = head && edge.to == part;
      bytes_.push_back({edge.lo, edge.hi, loop ? id_ : s_.Sequence(edge.to, rest)});
    }
    for (const CallEdge& edge : e.calls) calls_.push_back({edge.proc, s_.Sequence(edge.to, rest)});
    for (const TokenEdge& edge : e.tokens) {
      tokens_.push_back({edge.tokens, s_.Sequence(edge.to, rest)});
    }
  }

  // The readings of the head of a sequence. Of a repeat they are those of what it repeats, so that
  // a count in front of something has states of its own only as a whole: half as many.
  void ReadHead(TermId id, TermId rest) {
    const Term& head = s_.terms_[id.value];
    if (head.kind == TermKind::kRepeat) {
      id = head.children()[0];
      rest = s_.AfterRound(head, rest, id_);
    }
    if (const auto text = s_.AsciiHead(id)) {
      JsonText(*text, s_.Sequence(s_.AfterHead(*text, id), rest));
      ReadAscii();
      return;
    }
    Append(id, rest);
    MergeSpelling(id);
  }

  // The backslash is only another spelling when it is so wherever it can be read.
  void MergeSpelling(TermId part) {
    const Expansion& e = Part(part);
    spelling_.spelled |= e.spelling_byte >= 0;
    any_spelling_.spelled |= e.respelled;
    if (e.spelling_byte >= 0) return;
    const bool escapes = FindEdge(e.bytes, '\\') != nullptr;
    spelling_.escapes |= escapes;
    any_spelling_.escapes |= escapes && !e.respelled;
  }

  void Determinise() {
    if (bytes_.size() <= kFewEdges) {
      std::sort(bytes_.begin(), bytes_.end(),
                [](const ByteEdge& x, const ByteEdge& y) { return x.lo < y.lo; });
    }
    if (!Disjoint(bytes_) && (bytes_.size() <= kFewEdges || !MergeRuns())) {
      ByteOverlay<TermId> overlay;
      for (const ByteEdge& e : bytes_) overlay.Add(e.lo, e.hi, e.to);
      bytes_.clear();
      ChoiceMemo memo;
      overlay.ForEach([&](uint8_t lo, uint8_t hi, std::span<const TermId> targets) {
        bytes_.push_back({lo, hi, targets.size() == 1 ? targets[0] : ChoiceOf(targets, &memo)});
      });
    }
    MergeEqual(&calls_, &CallEdge::proc);
    MergeEqual(&tokens_, &TokenEdge::tokens);
  }

  // Each part has brought its edges in order. Of few parts these are gone through side by side,
  // from one piece to the next. False, and nothing is done, where there are more.
  bool MergeRuns() {
    struct Run {
      const ByteEdge *edge, *end;
    };
    absl::InlinedVector<Run, kFewRuns> runs;
    const ByteEdge* const end_of_all = bytes_.data() + bytes_.size();
    for (const ByteEdge* begin = bytes_.data(); begin != end_of_all;) {
      if (runs.size() == kFewRuns) return false;
      const ByteEdge* end = begin + 1;
      while (end != end_of_all && end->lo > end[-1].hi) ++end;
      runs.push_back({begin, end});
      begin = end;
    }
    if (runs.size() == 2) {
      MergeTwo({runs[0].edge, runs[0].end}, {runs[1].edge, runs[1].end});
      return true;
    }
    EdgeList merged;
    merged.reserve(bytes_.size() + 2 * kFewRuns);
    std::array<TermId, kFewRuns> targets = {}, last = {};
    TermId last_choice;
    for (int at = 0; at < 256;) {
      size_t count = 0;
      int end = 256;
      for (Run& run : runs) {
        if (run.edge != run.end && run.edge->hi < at) ++run.edge;
        if (run.edge == run.end) continue;
        const bool reads = run.edge->lo <= at;
        end = std::min<int>(end, reads ? run.edge->hi + 1 : run.edge->lo);
        if (reads) targets[count++] = run.edge->to;
      }
      if (count > 1) {
        std::fill(targets.begin() + count, targets.end(), s_.Nothing());
        if (targets != last) last_choice = s_.Choice({targets.data(), count});
        last = targets;
      }
      if (count > 0) {
        merged.push_back({static_cast<uint8_t>(at), static_cast<uint8_t>(end - 1),
                          count == 1 ? targets[0] : last_choice});
      }
      at = end;
    }
    bytes_ = std::move(merged);
    return true;
  }

  // Two runs, of which one is mostly a few edges among the many of the other: after a character of
  // a class, say, the hyphen of a range beside all that may come next.
  void MergeTwo(std::span<const ByteEdge> x, std::span<const ByteEdge> y) {
    EdgeList merged;
    merged.reserve(x.size() + y.size() + kMorePieces);
    std::pair<TermId, TermId> last;
    TermId last_choice;
    int at = 0;  // the first byte that is not done
    auto add = [&](int end, TermId to) {
      merged.push_back({static_cast<uint8_t>(at), static_cast<uint8_t>(end), to});
      at = end + 1;
    };
    // Edges of `from` before `begin`, which the other run does not read.
    auto add_alone = [&](std::span<const ByteEdge>* from, int begin) {
      const ByteEdge* e = from->data();
      const ByteEdge* const end = e + from->size();
      if (e != end && e->hi < begin) {
        at = std::max<int>(at, e->lo);  // the first may have been read in part
        add(e->hi, e->to);
        ++e;
        const ByteEdge* const rest =
            std::partition_point(e, end, [&](const ByteEdge& edge) { return edge.hi < begin; });
        if (e != rest) {
          merged.insert(merged.end(), e, rest);
          at = rest[-1].hi + 1;
          e = rest;
        }
      }
      *from = {e, end};
      if (e != end && std::max<int>(at, e->lo) < begin) {
        at = std::max<int>(at, e->lo);
        add(begin - 1, e->to);
      }
    };
    while (!x.empty() && !y.empty()) {
      add_alone(&x, std::max<int>(at, y[0].lo));
      if (x.empty()) break;
      add_alone(&y, std::max<int>(at, x[0].lo));
      if (y.empty()) break;
      if (y[0].lo > std::max<int>(at, x[0].lo)) continue;
      at = std::max<int>(at, x[0].lo);
      if (const std::pair both = {x[0].to, y[0].to}; both != last) {
        last_choice = s_.Choice(std::array{x[0].to, y[0].to});
        last = both;
      }
      add(std::min(x[0].hi, y[0].hi), last_choice);
      if (x[0].hi < at) x = x.subspan(1);
      if (y[0].hi < at) y = y.subspan(1);
    }
    add_alone(&x, 256);
    add_alone(&y, 256);
    bytes_ = std::move(merged);
  }

  // The choice of targets that come in pieces: as a rule many pieces have the same ones, between
  // others.
  struct ChoiceMemo {
    static constexpr size_t kEntries = 8;
    struct Entry {
      std::span<const TermId> targets;
      TermId choice;
    };
    std::array<Entry, kEntries> entries;
  };
  TermId ChoiceOf(std::span<const TermId> targets, ChoiceMemo* memo) {
    uint32_t hash = 0;
    for (TermId t : targets) hash = (hash ^ t.value) * 0x9E3779B1u;
    ChoiceMemo::Entry& entry = memo->entries[hash >> 29];
    if (!std::ranges::equal(entry.targets, targets)) entry = {targets, s_.Choice(targets)};
    return entry.choice;
  }

  template <class List, class Label>
  void MergeEqual(List* list, Label label) {
    if (list->size() < 2) return;
    auto less = [&](const auto& x, const auto& y) { return x.*label < y.*label; };
    if (!std::is_sorted(list->begin(), list->end(), less)) {
      std::sort(list->begin(), list->end(), less);
    }
    size_t n = 0;
    for (size_t i = 0; i < list->size();) {
      size_t j = i + 1;
      if (j == list->size() || (*list)[j].*label != (*list)[i].*label) {
        (*list)[n++] = (*list)[i++];
        continue;
      }
      absl::InlinedVector<TermId, 4> targets = {(*list)[i].to};
      for (; j < list->size() && (*list)[j].*label == (*list)[i].*label; ++j) {
        targets.push_back((*list)[j].to);
      }
      auto merged = (*list)[i];
      merged.to = s_.Choice(targets);
      (*list)[n++] = merged;
      i = j;
    }
    list->resize(n);
  }

  // Goes through the edges of all parts side by side, from one run of bytes that all of them read
  // to the next. Most runs lead where another one does: each list of targets is met once.
  void Intersection() {
    if (TakeRaw()) return;
    any_spelling_.spelled = s_.OnlyRespelled(t_);
    const size_t parts = t_.children().size();
    struct Cursor {
      const ByteEdge* edge;
      const ByteEdge* end;
    };
    absl::InlinedVector<Cursor, 16> cursors;
    for (TermId c : t_.children()) {
      const std::span<const ByteEdge> edges = Part(c).bytes;
      cursors.push_back({edges.data(), edges.data() + edges.size()});
    }
    absl::InlinedVector<TermId, 128> met;  // targets of all parts and what they lead to
    absl::InlinedVector<TermId, 16> targets(parts);
    for (int at = 0; at < 256;) {
      int begin = at, end = 256;
      for (size_t i = 0; i < parts; ++i) {
        Cursor& c = cursors[i];
        while (c.edge != c.end && c.edge->hi < at) ++c.edge;
        if (c.edge == c.end) return;
        begin = std::max<int>(begin, c.edge->lo);
        end = std::min<int>(end, c.edge->hi + 1);
        targets[i] = c.edge->to;
      }
      if (begin > at) {
        at = begin;
        continue;
      }
      size_t k = 0;
      while (k < met.size() && !std::equal(targets.begin(), targets.end(), &met[k])) k += parts + 1;
      if (k == met.size()) {
        met.insert(met.end(), targets.begin(), targets.end());
        met.push_back(Met(targets));
      }
      if (const TermId to = met[k + parts]; to != s_.Nothing()) {
        bytes_.push_back({static_cast<uint8_t>(at), static_cast<uint8_t>(end - 1), to});
      }
      at = end;
    }
  }

  // The edges from those of RawExpansion, where a search has asked for these.
  bool TakeRaw() {
    if (raw_) return false;
    const Expansion* const* const known = s_.raw_.Find(id_.value);
    if (known == nullptr) return false;
    const Expansion* const raw = *known;  // a search may add others
    for (const ByteEdge& e : raw->bytes) {
      const TermId to = s_.Checked(e.to, Least());
      if (to != s_.Nothing()) bytes_.push_back({e.lo, e.hi, to});
    }
    if (bytes_.size() == raw->bytes.size()) same_ = raw;
    any_spelling_.spelled = raw->respelled;
    return true;
  }

  void Complement() {
    if (TakeRaw()) return;
    const Expansion& e = Part(t_.children()[0]);
    int next = 0;
    auto gap = [&](int end) {
      if (next < end) {
        bytes_.push_back({static_cast<uint8_t>(next), static_cast<uint8_t>(end - 1), s_.All()});
      }
    };
    for (const ByteEdge& edge : e.bytes) {
      gap(edge.lo);
      const TermId to = Boolean(s_.RawNot(edge.to));
      if (to != s_.Nothing()) bytes_.push_back({edge.lo, edge.hi, to});
      next = edge.hi + 1;
    }
    gap(256);
  }

  // The intersection of the states that a byte leads to. A literal that all of them begin with is
  // no part of it: its other bytes are read without a question each whether anything is left.
  TermId Met(std::span<const TermId> targets) {
    auto literal = [&](TermId target) {
      const Term& t = s_.terms_[target.value];
      if (t.kind != TermKind::kSequence) return s_.Nothing();
      const TermId head = t.children()[0];
      const TermKind kind = s_.terms_[head.value].kind;
      return kind == TermKind::kBytes || kind == TermKind::kJsonText ? head : s_.Nothing();
    };
    const TermId first = raw_ ? s_.Nothing() : literal(targets[0]);
    const bool alike = first != s_.Nothing() && std::ranges::all_of(targets, [&](TermId target) {
                         return literal(target) == first;
                       });
    if (!alike) return Boolean(s_.RawAnd(targets));
    absl::InlinedVector<TermId, 16> rests;
    for (const TermId target : targets) rests.push_back(s_.terms_[target.value].children()[1]);
    const uint64_t read = s_.terms_[first.value].min_length;
    return s_.Sequence(first, s_.Checked(s_.RawAnd(rests), Least() - std::min(Least(), read)));
  }

  TermId Boolean(TermId id) const { return raw_ ? id : s_.Checked(id, Least()); }

  // A text that is left after one byte is at most a byte shorter.
  uint64_t Least() const { return t_.min_length == 0 ? 0 : t_.min_length - 1; }

  void Digits() {
    const Multiple m = s_.multiples_[static_cast<size_t>(t_.b)];
    const auto remainder = static_cast<uint64_t>(t_.a);
    const TermId self = s_.MultipleOf(m, remainder);
    bytes_.push_back({'.', '.', self});
    for (uint64_t d = 0; d < 10; ++d) {
      Add(static_cast<char>('0' + d), s_.MultipleOf(m, (remainder * 10 + d) % m.modulus));
    }
  }

  const Expansion* Publish() {
    auto* e = s_.memory_.Allocate<Expansion>(1);
    *e = {};
    e->bytes = s_.memory_.Copy(std::span<const ByteEdge>(bytes_));
    e->calls = s_.memory_.Copy(std::span<const CallEdge>(calls_));
    e->tokens = s_.memory_.Copy(std::span<const TokenEdge>(tokens_));
    if (spelling_.spelled && !spelling_.escapes) e->spelling_byte = '\\';
    e->respelled = t_.plain_character || (any_spelling_.spelled && !any_spelling_.escapes);
    return e;
  }

  TermStore& s_;
  const TermId id_;
  const Term& t_;
  const bool raw_;
  EdgeList bytes_;
  absl::InlinedVector<AsciiRead, 8> ascii_;  // first characters of texts
  CallList calls_;
  TokenList tokens_;
  struct Spelling {
    bool spelled = false;  // some part reads a backslash as another spelling
    bool escapes = false;  // some part reads it in its own right
  };
  Spelling spelling_, any_spelling_;  // of spelling_byte and of respelled
  const Expansion* same_ = nullptr;   // the result, where there is such a one already
};

std::optional<TermId> TermStore::AsciiHead(TermId id) const {
  if (terms_[id.value].kind == TermKind::kSequence) id = terms_[id.value].children()[0];
  const Term& t = terms_[id.value];
  if (t.kind != TermKind::kJsonText || static_cast<uint8_t>(t.text()[0]) >= 0x80) {
    return std::nullopt;
  }
  return id;
}

TermId TermStore::AfterHead(TermId text, TermId id) const {
  return text == id ? Empty() : terms_[id.value].children()[1];
}

TermId TermStore::AfterRound(const Term& repeat, TermId rest, TermId both) {
  if (repeat.a == 0 && repeat.b == kUnbounded) return both;
  const int64_t most = repeat.b == kUnbounded ? kUnbounded : repeat.b - 1;
  return Sequence(Repeat(repeat.children()[0], std::max<int64_t>(repeat.a - 1, 0), most), rest);
}

const Expansion* TermStore::Derive(TermId id, bool raw) { return Deriver(*this, id, raw).Run(); }

const Expansion& TermStore::ExpandLocked(TermId id) {
  if (const Expansion* e = terms_[id.value].expansion.load(std::memory_order_relaxed)) return *e;
  absl::InlinedVector<TermId, 16> todo = {id};
  while (!todo.empty()) {
    const TermId top = todo.back();
    Term& t = terms_[top.value];
    if (t.expansion.load(std::memory_order_relaxed) != nullptr) {
      todo.pop_back();
      continue;
    }
    const size_t before = todo.size();
    // `by_text`: where the part begins with a text of ASCII, that is read without the part's edges.
    auto need = [&](TermId part, bool by_text) {
      if (by_text && AsciiHead(part).has_value()) return;
      if (terms_[part.value].expansion.load(std::memory_order_relaxed) == nullptr) {
        todo.push_back(part);
      }
    };
    if (t.kind == TermKind::kSequence) {
      const Term& head = terms_[t.children()[0].value];
      // A text is read in one go with the rest, a repeat round by round. The rest is read only
      // where the head may be empty.
      if (head.kind != TermKind::kBytes && head.kind != TermKind::kJsonText) {
        const bool repeat = head.kind == TermKind::kRepeat;
        need(repeat ? head.children()[0] : t.children()[0], repeat);
      }
      if (head.nullable) need(t.children()[1], false);
    } else {
      const bool by_text = t.kind == TermKind::kChoice || t.kind == TermKind::kRepeat;
      for (TermId part : t.children()) need(part, by_text);
    }
    if (todo.size() > before) continue;
    todo.pop_back();
    // Once a question is put off no other is answered until all are given up: nothing that is made
    // until then may stay.
    const Expansion* const made = put_off_ ? nullptr : Derive(top, false);
    if (put_off_) return kNotYet;
    t.expansion.store(made, std::memory_order_release);
  }
  return *terms_[id.value].expansion.load(std::memory_order_relaxed);
}

bool TermStore::OnlyRespelled(const Term& boolean) {
  return boolean.any_spelling && std::ranges::any_of(boolean.children(), [&](TermId part) {
           return ExpandLocked(part).respelled;
         });
}

// The edges of an intersection or complement with targets as they come, whether or not these match
// any text.
const Expansion* TermStore::RawExpansion(TermId id) {
  if (const auto* known = raw_.Find(id.value)) return *known;
  const Term& t = terms_[id.value];
  for (TermId c : t.children()) ExpandLocked(c);
  if (put_off_) return &kNotYet;
  const Expansion* e = Derive(id, true);
  raw_.TryEmplace(id.value, e);
  return e;
}

}  // namespace grammask::internal
