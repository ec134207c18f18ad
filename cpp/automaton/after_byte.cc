// A state and one byte to the next state, without the state's other edges.
//
// A text is mostly read once, one byte in each state, and then all edges of all those states are
// for nothing: of the name of a property the other spellings of each of its letters, of a key that
// is none of some names the intersections that every other character leads to. So the derivative is
// taken by the byte alone, part by part, as Expand() would for all bytes; where it has been there,
// the edge is looked up. Both lead to the same term: the laws of derive.cc, in the same order.
//
// Cost: 50 ns for a letter of a text, where its edges take 600. Tests:
// tests/automaton/after_byte_test.cc compares with the edges.
#include <absl/container/inlined_vector.h>

#include "automaton/lengths.h"
#include "automaton/term_store.h"
#include "base/json_bytes.h"
#include "base/sorted.h"
#include "base/utf8.h"

namespace grammask::internal {
namespace {

constexpr int kMostInside = 8;     // parts within parts; deeper ones are read off their edges
constexpr size_t kManyEdges = 24;  // beside which a few bytes are no reason to make all anew
constexpr uint32_t kFewBytes = 4;  // such a few

}  // namespace

TermId TermStore::AfterByte(TermId id, uint8_t byte) { return AfterByte(id, byte, kMostInside); }

// Where `byte` is the first character of the text as it is, and that has no shorter spelling; or
// nullopt where the edges tell. `rest()`: what comes after the text.
template <class Rest>
std::optional<TermId> TermStore::AfterText(TermId text, uint8_t byte, Rest&& rest) {
  const Term& t = terms_[text.value];
  const auto first = static_cast<uint8_t>(t.text()[0]);
  if (t.kind == TermKind::kJsonText) {
    if (first >= 0x80 || byte == '\\' || IsSpecialByte(first)) return std::nullopt;
  }
  if (byte != first) return Nothing();
  return Sequence(Tail(text), rest());
}

TermId TermStore::AfterByte(TermId id, uint8_t byte, int depth) {
  const Term& t = terms_[id.value];
  const bool known = t.expansion.load(std::memory_order_relaxed) != nullptr;
  auto by_edges = [&] {
    const ByteEdge* e = FindEdge(ExpandLocked(id).bytes, byte);
    return e != nullptr ? e->to : Nothing();
  };
  if (known || depth == 0) return by_edges();
  // Where there are several ways, as Choice() has them.
  auto join = [&](absl::InlinedVector<TermId, 8>* targets) {
    SortUnique(targets);
    if (targets->empty()) return Nothing();
    return targets->size() == 1 ? (*targets)[0] : Choice(*targets);
  };
  auto add = [](TermId to, absl::InlinedVector<TermId, 8>* targets) {
    if (to != Nothing()) targets->push_back(to);
  };
  const uint64_t least = t.min_length == 0 ? 0 : t.min_length - 1;
  switch (t.kind) {
    case TermKind::kBytes:
    case TermKind::kJsonText:
      if (const auto to = AfterText(id, byte, Empty)) return *to;
      return by_edges();
    case TermKind::kSequence: {
      const TermId rest = t.few[1];
      const Term& head = terms_[t.few[0].value];
      if (head.kind == TermKind::kBytes || head.kind == TermKind::kJsonText) {
        if (const auto to = AfterText(t.few[0], byte, [&] { return rest; })) return *to;
        return by_edges();
      }
      absl::InlinedVector<TermId, 8> targets;
      if (head.kind == TermKind::kRepeat) {
        const TermId round = head.few[0];
        if (const auto text = AsciiHead(round)) {
          const auto to = AfterText(*text, byte, [&] {
            return Sequence(AfterHead(*text, round), AfterRound(head, rest, id));
          });
          if (!to.has_value()) return by_edges();
          add(*to, &targets);
        } else if (const ByteEdge* e = FindEdge(ExpandLocked(round).bytes, byte)) {
          add(Sequence(e->to, AfterRound(head, rest, id)), &targets);
        }
      } else {
        const TermId to = AfterByte(t.few[0], byte, depth - 1);
        add(to == t.few[0] ? id : Sequence(to, rest), &targets);
      }
      if (head.nullable) add(AfterByte(rest, byte, depth - 1), &targets);
      return join(&targets);
    }
    case TermKind::kChoice: {
      absl::InlinedVector<TermId, 8> texts, targets;  // of those that begin with ASCII texts
      for (TermId c : t.children()) {
        if (const auto text = AsciiHead(c)) {
          const auto to = AfterText(*text, byte, [&] { return AfterHead(*text, c); });
          if (!to.has_value()) return by_edges();
          add(*to, &texts);
        } else {
          add(AfterByte(c, byte, depth - 1), &targets);
        }
      }
      if (!texts.empty()) targets.push_back(join(&texts));
      return join(&targets);
    }
    case TermKind::kAnd: {
      absl::InlinedVector<TermId, 8> targets;
      for (TermId c : t.children()) {
        const TermId to = AfterByte(c, byte, depth - 1);
        if (to == Nothing()) return to;
        targets.push_back(to);
      }
      return Checked(RawAnd(targets), least);
    }
    case TermKind::kNot: {
      const TermId to = AfterByte(t.few[0], byte, depth - 1);
      return to == Nothing() ? All() : Checked(RawNot(to), least);
    }
    default:
      return by_edges();
  }
}

std::optional<TermStore::Beside> TermStore::FindBeside(TermId id) const {
  const Term& t = terms_[id.value];
  if (t.kind != TermKind::kSequence) return std::nullopt;
  const Term& head = terms_[t.few[0].value];
  if (!head.nullable || !head.regular) return std::nullopt;
  auto edges = [](const Term& state) { return state.expansion.load(std::memory_order_acquire); };
  const Expansion* const rest = edges(terms_[t.few[1].value]);
  if (rest == nullptr || rest->bytes.size() < kManyEdges || edges(t) != nullptr) {
    return std::nullopt;
  }
  if (!rest->calls.empty() || !rest->tokens.empty()) return std::nullopt;
  const TermId round = head.kind == TermKind::kRepeat ? head.few[0] : t.few[0];
  Beside beside = {t.few[1], {}};
  if (const auto text = AsciiHead(round)) {
    const auto first = static_cast<uint8_t>(terms_[text->value].text()[0]);
    if (!IsSpecialByte(first)) beside.first.Add(first);
    beside.first.Add('\\');
  } else if (const Expansion* const first = edges(terms_[round.value])) {
    if (FirstBytes(first->bytes) > kFewBytes) return std::nullopt;
    beside.first = FirstByteSet(first->bytes);
  } else {
    return std::nullopt;
  }
  return beside;
}

}  // namespace grammask::internal
