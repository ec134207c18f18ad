// A state of the automaton to its level-1 mask.
//
// The vocabulary's trie is walked from the state with an unknown context: every prefix that the
// state can read is followed, all others are skipped with their whole subtree. A token that ends in
// a live prefix is accepted. Where the procedure may be finished inside a token, the token's fate
// hangs on the callers; what is left of it goes into a small residual trie, in which thousands of
// tokens share a few hundred endings. In a JSON string `",` and `"},` leave `,` and `},`. Only
// bytes are walked at the state itself: what it calls has masks of its own.
//
// A state that loops on a class of characters takes the class's slice with one OR and walks only
// the tokens that are no such characters. States that differ only in counts no token can reach
// share one mask (TermStore::FarTerm); states near a bound or with a few texts excluded take theirs
// from the state without (near_masks.cc, excluded_texts.cc, complements.cc).
//
// Cost: about 4 ns a node walked: a state in a literal 0.1 us, a JSON string body 20 us once the
// slice exists, a loop on an unseen class up to 1 ms. Tests: tests/mask/mask_test.cc against trying
// every token; the exhaustive worlds.
#include <algorithm>
#include <cstring>

#include "automaton/lengths.h"
#include "base/byte_set.h"
#include "base/check.h"
#include "base/scratch.h"
#include "base/sorted.h"
#include "base/tables.h"
#include "mask/along.h"
#include "mask/draft.h"
#include "mask/mask_cache.h"
#include "vocab/texts.h"

namespace grammask::internal {
namespace {

constexpr size_t kMinRunTokens = 64;  // tokens of runs that are worth a bitmap
constexpr uint32_t kReference = 256;  // tokens below a node over which it is not spelled out
constexpr size_t kManyEscapes = 256;  // nodes over which what is left over there may wait
constexpr int kLoop = 8;              // bytes of a loop that may be leapt over
constexpr size_t kMostTargets = 8;    // of a state, of which one may be a loop
constexpr size_t kMostTries = 4;      // of what is left over, by first bytes, before one of all
constexpr size_t kTrieOverhead = 64;  // bytes that finding a residual trie again takes
constexpr uint32_t kFewOthers = 8;    // the share of the trie's nodes that others are at most
constexpr int kFewBytes = 4;          // with which what follows a loop begins as the loop goes on
constexpr size_t kMostOver = 8192;    // tokens over a loop's bound that are read
constexpr ByteSet kBeyondAscii = ByteSet::Range(0x80, 0xFF);

}  // namespace

MaskCache::DraftPool::~DraftPool() {
  for (auto& slot : slots) delete slot.load();
}

MaskCache::MaskCache(std::shared_ptr<const Vocab> vocab, SetTable* sets,
                     std::shared_ptr<SliceStore> slices)
    : vocab_(std::move(vocab)),
      sets_(*sets),
      terms_(sets->terms()),
      words_((static_cast<size_t>(vocab_->size()) + 31) / 32),
      bitmaps_(vocab_->trie_tokens(), vocab_->text_bits(), vocab_->token_blocks()),
      slice_store_(std::move(slices)) {
  drafts_.leaving = &slice_store_->leaving();
  // To make a draft takes as long as many a mask: none waits for one.
  for (auto& slot : drafts_.slots) {
    auto draft = std::make_unique<Draft>(drafts_.leaving);
    draft->MakeReady(words_);
    slot = draft.release();
  }
}

const Level1& MaskCache::OfState(TermId state) {
  std::atomic<const void*>& slot = terms_.attachment(state);
  if (const void* known = slot.load(std::memory_order_acquire)) {
    return *static_cast<const Level1*>(known);
  }
  const TermId far = terms_.FarTerm(state);
  const Level1* made = far == state ? Make(state) : &OfState(far);
  const void* expected = nullptr;
  if (!slot.compare_exchange_strong(expected, made, std::memory_order_acq_rel)) {
    return *static_cast<const Level1*>(expected);
  }
  return *made;
}

// The mask of a state that is its own far state.
const Level1* MaskCache::Make(TermId state) {
  if (const Level1* made = FromExclusion(state)) return made;
  if (const Level1* made = FromComplement(state)) return made;
  if (const auto wider = terms_.WithoutExclusions(state)) {
    if (const Level1* made = FromWider(state, *wider, 0, kMaxList)) return made;
  }
  if (const Level1* made = FromSlice(state)) return made;
  if (const Level1* made = FromSearched(state)) return made;
  if (const Level1* made = FromOtherBounds(state)) return made;
  if (const Level1* made = FromAnyNumber(state)) return made;
  if (const Level1* made = FromHead(state)) return made;
  const DraftLease draft(&drafts_);
  WalkState(state, &*draft);
  return Store(&*draft);
}

// Whether so many bytes lead from a state back to it that it may be a place to leap from.
bool MaskCache::Loops(TermId state) {
  const Expansion& e = terms_.Expand(state);
  int back = 0;
  for (const ByteEdge& edge : e.bytes) back += edge.to == state ? edge.hi - edge.lo + 1 : 0;
  return back >= kLoop && e.calls.empty();
}

// The state that `state` is in after most of its bytes, where that may be a place to leap from, as
// after the first character of `[a-z][a-z0-9]*`; or Nothing().
TermId MaskCache::LoopAfter(TermId state) {
  struct Target {
    TermId to;
    int bytes = 0;
  };
  Target targets[kMostTargets], most;
  for (const ByteEdge& edge : terms_.Expand(state).bytes) {
    if (edge.lo >= 0x80) break;
    auto* target = std::ranges::find_if(
        targets, [&](const Target& t) { return t.to == edge.to || t.bytes == 0; });
    if (target == std::end(targets)) break;
    *target = {edge.to, target->bytes + edge.hi - edge.lo + 1};
    if (target->bytes > most.bytes) most = *target;
  }
  // What a call of the loop's reads, `state` need not read.
  const bool loops = most.bytes >= kLoop && most.to != state && !terms_.term(most.to).nullable &&
                     terms_.Expand(most.to).calls.empty() && MayLeadBack(terms_, most.to);
  return loops ? most.to : TermStore::Nothing();
}

// Walks a trie from `state` with an unknown context: what it accepts, at which nodes it escapes,
// and how far it reaches.
template <class RootChild>
void MaskCache::Walk(TermId state, std::span<const TrieNode> nodes, const TrieAlphabets* alphabets,
                     std::span<const TokenId> tokens, RootChild&& root_child, Draft* draft) {
  Gatherer gatherer(nodes, tokens, alphabets, draft);
  // From the root on: a text, whose edges need not be known, and what may be leapt over.
  if (LiteralRun run; alphabets != nullptr && (run.Begin(terms_, state) || Loops(state))) {
    gatherer.WalkFrom(&sets_, 0, state, false);
  } else {
    const auto edges = terms_.Expand(state).bytes;
    const TermId loop = alphabets != nullptr ? LoopAfter(state) : TermStore::Nothing();
    int tried = -1, done = -1;  // bytes up to which it was tried to leap, all is walked
    // Walks the children of `byte` and of those after it that lead where they would lead from the
    // loop, too. False where they are not leapt over.
    auto leap = [&](int byte, uint32_t child) {
      uint32_t end = child;
      const auto loop_edges = terms_.Expand(loop).bytes;
      for (int b = byte; b < 256; ++b) {
        const auto next = static_cast<uint8_t>(b);
        const uint32_t node = root_child(next);
        if (node == 0) continue;
        if (TargetOf(edges, next) != TargetOf(loop_edges, next)) break;
        tried = b;
        end = nodes[node].end;
      }
      if (tried <= byte || !gatherer.LeapFrom(&sets_, child, end, loop)) return false;
      done = tried;
      return true;
    };
    for (const ByteEdge& edge : edges) {
      for (int b = std::max<int>(edge.lo, done + 1); b <= edge.hi; ++b) {
        const uint32_t child = root_child(static_cast<uint8_t>(b));
        if (child == 0) continue;
        if (loop != TermStore::Nothing() && b > tried && leap(b, child)) {
          b = done;
        } else {
          gatherer.WalkFrom(&sets_, child, edge.to);
        }
      }
    }
  }
  draft->reach = gatherer.met.reach;
  draft->completion = gatherer.met.completion;
  draft->deepest = gatherer.met.deepest;
}

void MaskCache::WalkState(TermId state, Draft* draft) {
  Walk(
      state, vocab_->nodes(), &vocab_->alphabets(), vocab_->trie_tokens(),
      [&](uint8_t byte) { return vocab_->root_child(byte); }, draft);
}

void MaskCache::WalkOthers(TermId state, const Slice& slice, Draft* draft) {
  const TokenTrie& others = slice.others();
  if (others.empty()) return;
  Walk(
      state, others.nodes, nullptr, others.tokens,
      [&](uint8_t byte) { return slice.root_child(byte); }, draft);
  for (uint32_t i : draft->escapes) {
    AddLeftOver(others.nodes, others.tokens, i, &draft->residues);
  }
  draft->escapes.clear();
}

// The slice of X, where it is worth having: X reads most bytes, and leaves few other tokens. Where
// not `make`, null as well where it is not there yet.
Slice* MaskCache::SliceFor(TermId x, bool make) {
  const ByteSet first = FirstByteSet(terms_.Expand(x).bytes);
  if (static_cast<uint32_t>(first.size()) < kWideClass) return nullptr;
  std::lock_guard lock(slice_mutex_);
  if (!make && !slices_.contains(x.value) && !slice_store_->Has(&terms_, x)) return nullptr;
  auto [it, added] = slices_.try_emplace(x.value);
  if (added) {
    uint32_t others = 0;  // at the least: nodes whose first byte no X begins with
    const auto nodes = vocab_->nodes();
    for (int b = 0; b < 256; ++b) {
      const uint32_t child = vocab_->root_child(static_cast<uint8_t>(b));
      if (child != 0 && !first.Has(static_cast<uint8_t>(b))) others += nodes[child].end - child;
    }
    const size_t most_others = vocab_->node_count() / kFewOthers;
    if (others > most_others) return nullptr;
    it->second = slice_store_->Get(*vocab_, &terms_, x, most_others);
    if (it->second != nullptr) bytes_ += it->second->memory_bytes();
  }
  return it->second.get();
}

// The mask of a loop with a slice of which there may be one by now: the loop's own mask may have
// been made before that. Where there is none, its own.
const Level1& MaskCache::WithSlice(TermId loop) {
  const Level1& own = OfState(loop);
  if (own.slice != nullptr) return own;
  const TermId far = terms_.FarTerm(loop);
  {
    std::lock_guard lock(slice_mutex_);
    if (const auto it = with_slices_.find(far.value); it != with_slices_.end()) return *it->second;
  }
  const Level1* const made = FromSlice(far);
  if (made == nullptr) return own;
  std::lock_guard lock(slice_mutex_);
  return *with_slices_.try_emplace(far.value, made).first->second;
}

// The mask of a loop of up to `most` X's, followed by `rest`, from that of the loop without end:
// other tokens mostly have fewer X's in them than are left, so that only those of X's alone differ;
// of the others those are taken out that have more. Null where it cannot be told so.
const Level1* MaskCache::FromLoop(TermId state, uint64_t most, TermId x, TermId rest,
                                  Slice* slice) {
  const auto loosened = terms_.Loosen(state);
  if (!loosened.has_value()) return nullptr;
  const Level1& loop = WithSlice(loosened->state);
  if (loop.slice != slice->UpTo(UINT64_MAX)) return nullptr;
  std::span<const TokenId> beyond;
  if (loop.others_reach > most) {
    if (loop.others_reach == UINT64_MAX || !loop.references.empty() || !EndsBefore(rest, x)) {
      return nullptr;
    }
    beyond = slice->OthersBeyond(most);
  }
  Level1 result = loop;
  result.slice = result.others = nullptr;
  result.others_reach = UINT64_MAX;  // what it takes needs no more than in the loop without a bound
  const uint32_t* bitmaps[] = {slice->UpTo(most), loop.others};
  if (beyond.empty()) {
    result.accepted.bitmap = loop.others == nullptr ? bitmaps[0] : bitmaps_.Union(bitmaps);
    return Keep(result);
  }
  Bits out(words_);
  for (TokenId t : beyond) SetBit(out.data(), t);
  auto is_out = [&](TokenId t) { return TestBit(out.data(), t); };
  if (loop.others != nullptr) {
    Bits bits(bitmaps[0], bitmaps[0] + words_);
    for (size_t w = 0; w < words_; ++w) bits[w] |= loop.others[w] & ~out[w];
    bitmaps[0] = bitmaps_.Intern(bits);
  }
  ScratchVector<TokenId> list;
  std::ranges::remove_copy_if(loop.accepted.list, std::back_inserter(list), is_out);
  result.accepted = Compact(list, std::span(bitmaps).first(1));
  if (loop.residual != nullptr) result.residual = Without(*loop.residual, is_out);
  return Keep(result);
}

// Whether tokens of more X's than a loop may have are refused: what follows the loop, `rest`,
// cannot begin with an X, and the procedure does not end there.
bool MaskCache::EndsBefore(TermId rest, TermId x) {
  const auto both = BytesInBoth(rest, x);
  return both.has_value() && both->empty();
}

// The bytes with which `rest`, which follows a loop of X, begins as an X does; nothing where they
// are more than a few of ASCII, or where it may be over before a byte of its own.
std::optional<ByteSet> MaskCache::BytesInBoth(TermId rest, TermId x) {
  if (terms_.term(rest).nullable || !terms_.Expand(rest).calls.empty()) return std::nullopt;
  ByteSet both;
  for (const ByteEdge& after : terms_.Expand(rest).bytes) {
    for (const ByteEdge& e : terms_.Expand(x).bytes) {
      if (after.lo <= e.hi && e.lo <= after.hi) {
        both.AddRange(std::max(after.lo, e.lo), std::min(after.hi, e.hi));
      }
    }
  }
  if (both.size() > kFewBytes || !(both & kBeyondAscii).empty()) return std::nullopt;
  return both;
}

// The tokens of more X's than the `most` of a loop, of which what follows the loop has some: it
// begins with one of the bytes `first`, and so do few tokens go on somewhere. False where they are
// too many, or where the procedure may end inside of them.
bool MaskCache::TakeOverBound(TermId state, uint64_t most, const ByteSet& first, Slice* slice,
                              Draft* draft) {
  const auto nodes = vocab_->nodes();
  const auto counts = slice->Counts();
  ScratchVector<uint32_t> places;
  for (int b = 0; b < 128; ++b) {
    if (!first.Has(static_cast<uint8_t>(b))) continue;
    uint32_t seen = 0;  // below nodes that add the byte are some that add it once more
    for (uint32_t i : vocab_->alphabets().adding(static_cast<uint8_t>(b))) {
      const uint32_t end = nodes[nodes[i].end].tokens;
      for (uint32_t p = std::max(seen, nodes[i].tokens); p < end; ++p) {
        if (counts[p] > most) places.push_back(p);
      }
      seen = std::max(seen, end);
      if (places.size() > kMostOver) return false;
    }
  }
  SortUnique(&places);
  Along along(&terms_, state);
  ScratchVector<TokenId> taken;
  uint64_t after = 0;
  auto token_at = [&](size_t k) -> const TokenId& { return vocab_->trie_tokens()[places[k]]; };
  ForEachText(*vocab_, places.size(), token_at, [&](size_t k, std::string_view text) {
    if (along.left()) return;
    const TermId then = along.Read(text);
    if (then == TermStore::Nothing()) return;
    taken.push_back(token_at(k));
    after = std::max(after, terms_.term(then).min_length);
  });
  if (along.left()) return false;
  draft->accepted.insert(draft->accepted.end(), taken.begin(), taken.end());
  AddReach(after, draft);
  return true;
}

// Takes note of tokens of a slice, after which as many bytes are enough at the most.
void MaskCache::AddReach(uint64_t after, Draft* draft) {
  // UINT64_MAX where there was nothing to walk.
  draft->completion = std::max(draft->completion == UINT64_MAX ? 0 : draft->completion, after);
  draft->reach = std::max(draft->reach == UINT64_MAX ? 0 : draft->reach,
                          static_cast<uint64_t>(vocab_->max_token_bytes()) + after);
}

bool MaskCache::TakeSlice(TermId state, Draft* draft) {
  const Term& t = terms_.term(state);
  const bool sequence = t.kind == TermKind::kSequence;
  const Term& head = sequence ? terms_.term(t.children()[0]) : t;
  Slice* slice = nullptr;
  const bool bounded = head.kind == TermKind::kRepeat && head.b != kUnbounded;
  if (bounded) slice = SliceFor(head.children()[0]);
  if (slice != nullptr) {
    const auto most = static_cast<uint64_t>(head.b);
    const TermId x = head.children()[0];
    const TermId rest = sequence ? t.children()[1] : TermStore::Empty();
    std::optional<ByteSet> both = ByteSet();
    if (head.b < slice->longest()) {
      both = BytesInBoth(rest, x);
      if (!both.has_value()) return false;
    }
    if (both->empty()) {
      draft->made = FromLoop(state, most, x, rest, slice);
      if (draft->made != nullptr) return true;
    } else if (!TakeOverBound(state, most, *both, slice, draft)) {
      return false;
    }
    draft->slice = slice->UpTo(most);
    WalkOthers(state, *slice, draft);
    AddReach(t.min_length, draft);
    return true;
  }
  if (bounded && head.b > 1) return false;
  const auto loop = terms_.FindLoop(state, kWideClass);
  if (!loop.has_value()) return false;
  // A walk that leaps takes a third longer than one of the slice's others, and half of what making
  // the slice does.
  slice = SliceFor(loop->x, !Loops(state) && LoopAfter(state) == TermStore::Nothing());
  if (slice == nullptr) return false;
  draft->slice = slice->UpTo(UINT64_MAX);
  if (loop->excluding || !FromSearch(state, loop->part, *slice, draft)) {
    WalkOthers(state, *slice, draft);
  }
  if (draft->made != nullptr) return true;
  draft->others_reach = draft->deepest;
  // After any token of X's, what the loop needs completes it.
  const uint64_t after = terms_.term(loop->part).min_length;
  if (loop->excluding) {
    draft->reach = draft->completion = UINT64_MAX;
    return true;
  }
  AddReach(after, draft);
  return true;
}

// The mask of a state that takes a slice; null where it takes none.
const Level1* MaskCache::FromSlice(TermId state) {
  const DraftLease draft(&drafts_);
  if (!TakeSlice(state, &*draft)) return nullptr;
  return draft->made != nullptr ? draft->made : Store(&*draft);
}

TokenMask MaskCache::Compact(std::span<const TokenId> list,
                             std::span<const uint32_t* const> bitmaps) {
  TokenMask mask;
  if (bitmaps.size() == 1) mask.bitmap = bitmaps[0];
  if (bitmaps.size() > 1) mask.bitmap = bitmaps_.Union(bitmaps);
  if (list.size() > kMaxList) {
    const Bits bits = BitsOf({mask.bitmap, list});
    mask.bitmap = bitmaps_.Intern(bits);
    return mask;
  }
  if (list.empty()) return mask;
  mask.list = bitmaps_.List(list);
  return mask;
}

Bits MaskCache::BitsOf(const TokenMask& mask) const {
  Bits bits(words_);
  if (mask.bitmap != nullptr) std::memcpy(bits.data(), mask.bitmap, words_ * 4);
  for (TokenId t : mask.list) SetBit(bits.data(), t);
  return bits;
}

// What escaping tokens leave over: short lists are spelled out into the residual trie, long ones
// kept as references into the vocabulary's trie. Tokens that the state accepts anyhow need neither.
void MaskCache::AddEscapes(Draft* draft, Level1* out) {
  const auto nodes = vocab_->nodes();
  ScratchVector<uint32_t> references;
  TableVector<uint32_t>& spelled = draft->escapes;  // those that are none
  std::erase_if(spelled, [&](uint32_t i) {
    if (nodes[nodes[i].end].tokens - nodes[i + 1].tokens <= kReference) return false;
    references.push_back(i);
    return true;
  });
  const bool waits = draft->residues.empty() && spelled.size() >= kManyEscapes;
  {
    std::lock_guard lock(mutex_);
    out->references = memory_.Copy(std::span<const uint32_t>(references));
    if (waits) {
      auto* residual = new (memory_.Allocate<Residual>(1)) Residual;
      residual->nodes = memory_.Copy(std::span<const uint32_t>(spelled));
      residual->taken = out->accepted.bitmap;
      residual->taken_list = out->accepted.list;
      bytes_ += sizeof(Residual) + residual->nodes.size_bytes();
      out->residual = residual;
    }
  }
  if (waits) return;
  SpellOut(spelled, out->accepted.bitmap, draft->accepted, draft);
  if (!draft->left_over.empty()) out->residual = ResidualOf(draft->left_over);
}

// To draft->left_over: the residues there, and what tokens below `escapes` leave over, but for
// those of a bitmap (null for none) and a list.
void MaskCache::SpellOut(std::span<const uint32_t> escapes, const uint32_t* taken,
                         std::span<const TokenId> taken_list, Draft* draft) {
  const auto nodes = vocab_->nodes();
  const auto tokens = vocab_->trie_tokens();
  const auto lengths = vocab_->alphabets().lengths();
  TableVector<uint32_t>& listed = draft->listed;  // what the bitmap lacks
  listed.resize(words_);
  for (TokenId t : taken_list) SetBit(listed.data(), t);
  const uint32_t* const accepted[] = {listed.data(), taken != nullptr ? taken : listed.data()};
  TableVector<uint64_t>& left_over = draft->left_over;
  left_over.resize(draft->residues.size());
  size_t count = 0;
  // Every entry is written and the next one written over it where it was not wanted: a jump that
  // depends on each token costs more than all else here.
  auto add = [&](uint64_t* entries, uint64_t entry) {
    const auto token = static_cast<uint32_t>(Residual::Token(entry));
    const uint32_t bits = accepted[0][token / 32] | accepted[1][token / 32];
    entries[count] = entry;
    count += ~(bits >> (token % 32)) & 1;
  };
  for (const uint64_t entry : draft->residues) add(left_over.data(), entry);
  for (uint32_t i : escapes) {
    const uint32_t from = nodes[i + 1].tokens, to = nodes[nodes[i].end].tokens;
    if (left_over.size() < count + (to - from)) {
      left_over.resize(2 * left_over.size() + (to - from));
    }
    uint64_t* const entries = left_over.data();
    for (uint32_t child = i + 1, t = from; child < nodes[i].end; child = nodes[child].end) {
      const uint32_t last = nodes[nodes[child].end].tokens;
      const uint8_t first = nodes[child].byte;
      for (; t < last; ++t) {
        add(entries, Residual::Entry(tokens[t], size_t{lengths[t]} - nodes[i].depth, first));
      }
    }
  }
  left_over.resize(count);
  for (TokenId t : taken_list) ClearBit(listed.data(), t);
}

const Residual& MaskCache::Spelled(const Residual& residual) {
  if (residual.nodes.empty()) return residual;
  if (const Residual* known = residual.spelled.load(std::memory_order_acquire)) return *known;
  const DraftLease draft(&drafts_);
  SpellOut(residual.nodes, residual.taken, residual.taken_list, &*draft);
  const Residual* made = ResidualOf(draft->left_over);
  residual.spelled.store(made, std::memory_order_release);  // the same from any thread
  return *made;
}

// Many states leave the same over: all numbers of one nesting, say. They share it, and its trie.
const Residual* MaskCache::ResidualOf(std::span<const uint64_t> entries) {
  std::lock_guard lock(mutex_);
  const auto [kept, known, added] = KeepIn(&memory_, entries, &residuals_);
  if (added) {
    auto* residual = new (memory_.Allocate<Residual>(1)) Residual;
    residual->entries = kept;
    bytes_ += kept.size_bytes() + sizeof(Residual) + kTrieOverhead;
    *known = residual;
  }
  return *known;
}

const TokenTrie& MaskCache::TrieOf(const Residual& any, ByteSet first) {
  const Residual& residual = Spelled(any);
  size_t tries = 0;
  auto find = [&]() -> const TokenTrie* {
    const ResidualTrie* known = residual.trie.load(std::memory_order_acquire);
    for (tries = 0; known != nullptr && !(first & ~known->first).empty(); ++tries) {
      known = known->next;
    }
    return known == nullptr ? nullptr : known->trie.get();
  };
  if (const TokenTrie* known = find()) return *known;
  if (tries == kMostTries) first = ByteSet::All();
  std::span<const uint64_t> entries = residual.entries;
  ScratchVector<uint64_t> some;
  if (first != ByteSet::All()) {
    std::ranges::copy_if(entries, std::back_inserter(some),
                         [&](uint64_t entry) { return first.Has(Residual::First(entry)); });
    if (2 * some.size() > entries.size()) {
      first = ByteSet::All();  // one trie for all that want most of it
    } else {
      entries = some;
    }
  }
  auto made = std::make_unique<ResidualTrie>(
      ResidualTrie{.trie = slice_store_->tries().Get(*vocab_, entries), .first = first});
  std::lock_guard lock(mutex_);
  if (const TokenTrie* known = find()) return *known;
  bytes_ += sizeof(ResidualTrie) + sizeof(TokenTrie) + made->trie->memory_bytes();
  made->next = residual.trie.load(std::memory_order_relaxed);
  residual.trie.store(made.get(), std::memory_order_release);
  tries_.push_back(std::move(made));
  return *tries_.back()->trie;
}

// What a draft's runs hold, as a bitmap more where that is worth it, else with the tokens accepted.
void MaskCache::TakeRuns(Draft* draft, ScratchVector<const uint32_t*>* bitmaps) {
  size_t run_tokens = 0;
  for (const TokenRun& run : draft->runs) run_tokens += run.last - run.first;
  if (run_tokens >= kMinRunTokens && bitmaps->empty() && draft->accepted.size() > kMaxList) {
    // All of it is one bitmap, and the runs alone are hardly met again.
    bitmaps->push_back(bitmaps_.OfRunsAnd(draft->runs, draft->accepted));
    draft->accepted.clear();
  } else if (run_tokens >= kMinRunTokens) {
    bitmaps->push_back(bitmaps_.OfRuns(draft->runs));
  } else {
    for (const TokenRun& run : draft->runs) {
      const auto tokens = vocab_->trie_tokens().subspan(run.first, run.last - run.first);
      draft->accepted.insert(draft->accepted.end(), tokens.begin(), tokens.end());
    }
  }
}

const Level1* MaskCache::Store(Draft* draft) {
  Level1 result;
  result.reach = draft->reach;
  result.completion = draft->completion;
  result.others_reach = draft->others_reach;
  ScratchVector<const uint32_t*> bitmaps;
  if (draft->slice != nullptr) bitmaps.push_back(draft->slice);
  if (draft->base != nullptr) bitmaps.push_back(draft->base);
  TakeRuns(draft, &bitmaps);
  if (draft->slice != nullptr && draft->accepted.size() > kMaxList) {
    result.others = bitmaps_.Intern(BitsOf({nullptr, draft->accepted}));
    bitmaps.push_back(result.others);
    draft->accepted.clear();
  }
  result.slice = draft->slice;
  result.accepted = Compact(draft->accepted, bitmaps);
  if (draft->accepted.size() > kMaxList) draft->accepted.clear();  // now in the bitmap
  if (!draft->escapes.empty() || !draft->residues.empty()) {
    AddEscapes(draft, &result);
  }
  return Keep(result);
}

const Level1* MaskCache::Keep(const Level1& made) {
  std::lock_guard lock(mutex_);
  bytes_ += sizeof(Level1);
  ++count_;
  return new (memory_.Allocate<Level1>(1)) Level1(made);
}

}  // namespace grammask::internal
