// A state that reads a value and then goes on, to its mask from that of the reading alone.
//
// After the name of a property comes `":`, then its value, then what the object has left. Tokens
// that get past the value are few, but what follows it makes each such state one of its own. So the
// mask is put together: of `"` `:` value as a state by itself, met at each string or number of all
// schemas, there is a mask already, and what its tokens leave over is walked from what follows.
//
// That pays where a value is met again. So the first time it is only noted, and the state walked as
// a whole.
//
// Cost: 2 us instead of 10. Tests: tests/mask/mask_test.cc, tests/exhaustive.
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <optional>

#include "automaton/lengths.h"
#include "mask/draft.h"
#include "mask/mask_cache.h"

namespace grammask::internal {
namespace {

constexpr size_t kMostBefore = 6;     // elements in front of the value
constexpr size_t kLongBefore = 4;     // bytes of a text that is one
constexpr uint32_t kMostFirst = 120;  // bytes that begin a value
constexpr size_t kMostSorted = 4096;  // tokens

// A state as some short elements, then a value, then the rest.
struct ValueState {
  absl::InlinedVector<TermId, kMostBefore> before;
  TermId value, tail;
};

std::optional<ValueState> Split(const TermStore& terms, TermId state) {
  ValueState split;
  bool nullable = true;  // what was read so far
  for (const Term* t = &terms.term(state); t->kind == TermKind::kSequence;
       t = &terms.term(t->children()[1])) {
    const TermId element = t->children()[0];
    const Term& head = terms.term(element);
    if (head.kind == TermKind::kCall || head.kind == TermKind::kChoice ||
        head.kind == TermKind::kWords) {
      // What a text was decides what may follow it.
      if (head.kind == TermKind::kCall &&
          terms.proc(ProcId(static_cast<uint32_t>(head.a))).captures) {
        return std::nullopt;
      }
      // A text of nothing leaves everything over, at which no mask of the value alone looks.
      if (nullable && head.nullable) return std::nullopt;
      split.value = element;
      split.tail = t->children()[1];
      return split;
    }
    const bool text = head.kind == TermKind::kBytes && head.text().size() <= kLongBefore;
    const bool loop = head.kind == TermKind::kRepeat && head.b == kUnbounded &&
                      terms.term(head.children()[0]).kind == TermKind::kByteClass;
    if ((!text && !loop) || split.before.size() == kMostBefore) return std::nullopt;
    split.before.push_back(element);
    nullable &= head.nullable;
  }
  return std::nullopt;
}

uint64_t Plus(uint64_t measured, uint64_t length) {
  return measured == UINT64_MAX ? UINT64_MAX : measured + length;
}

}  // namespace

// Null where the value is not met again, or there is none.
const Level1* MaskCache::FromHead(TermId state) {
  const auto split = Split(terms_, state);
  if (!split.has_value()) return nullptr;
  if (split->before.empty()) {
    // Any character: nearly all tokens are left over after it, of which the rest reads few.
    if (FirstBytes(terms_.Expand(split->value).bytes) > kMostFirst) return nullptr;
  }
  {
    std::lock_guard lock(mutex_);
    if (heads_.insert(uint64_t{split->value.value} << 4 | split->before.size()).second) {
      bytes_ += 2 * sizeof(uint64_t);
      return nullptr;
    }
  }
  TermId head = split->value;
  {
    std::lock_guard lock(terms_.mutex());
    for (size_t i = split->before.size(); i-- > 0;) head = terms_.Sequence(split->before[i], head);
  }
  const Level1& of_head = OfState(head);
  return of_head.refused.empty() ? Joined(of_head, split->tail) : nullptr;
}

// The mask of a state with the mask `head` and then `tail`.
const Level1* MaskCache::Joined(const Level1& head, TermId tail) {
  const uint64_t rest = terms_.term(tail).min_length;
  const DraftLease draft(&drafts_);
  draft->base = head.accepted.bitmap;
  draft->accepted.assign(head.accepted.list.begin(), head.accepted.list.end());
  draft->reach = Plus(head.reach, rest);
  draft->completion = Plus(head.completion, rest);
  const auto measure = [&](const Gatherer& walked, uint64_t before) {
    draft->reach = std::max(draft->reach, before + walked.met.reach);
    draft->completion = std::max(draft->completion, walked.met.completion);
  };
  if (head.residual != nullptr) {
    // What begins with a byte that the tail does not read is refused, where it cannot be left
    // before it has read any.
    const Expansion& e = terms_.Expand(tail);
    const bool read = !terms_.term(tail).nullable && e.calls.empty();
    const TokenTrie& trie = TrieOf(*head.residual, read ? FirstByteSet(e.bytes) : ByteSet::All());
    Gatherer gatherer(trie.nodes, trie.tokens, nullptr, &*draft);
    if (!trie.empty()) gatherer.WalkFrom(&sets_, 0, tail);
    measure(gatherer, trie.before);
    for (uint32_t from : draft->escapes) {
      AddLeftOver(trie.nodes, trie.tokens, from, &draft->residues);
    }
    draft->escapes.clear();
  }
  Gatherer gatherer(vocab_->nodes(), vocab_->trie_tokens(), &vocab_->alphabets(), &*draft);
  for (uint32_t node : head.references) gatherer.WalkFrom(&sets_, node, tail);
  measure(gatherer, 0);
  // Some of these nodes may be below others: what they add comes after what those did.
  JoinRuns(&draft->runs);
  // Tokens of these nodes, and of those below that the head takes as well, are there twice. Of very
  // many a bitmap is made, to which that is nothing.
  if (!head.references.empty() && draft->accepted.size() <= kMostSorted) {
    draft->SortAccepted(words_);
  }
  return Store(&*draft);
}

}  // namespace grammask::internal
