// A parser set to its exact mask.
//
// The union, over the set's items, of what their states accept, and of the tokens that leave the
// item's procedure with bytes which the returned-to set can go on with: a walk of the residual trie
// from there. In a JSON string of an array, the residues `,` and `]` are walked from the set after
// the element; the 123,000 plain tokens are a bitmap shared with every other string. Kept per set
// as that shared bitmap and a short list, or as a bitmap of its own where several large ones meet
// or where it was filled many times.
//
// Cost: made, 0.5 to 5 us once its level-1 masks exist; again, a copy. Tests:
// tests/mask/mask_test.cc.
#include <algorithm>
#include <cstring>

#include "mask/draft.h"
#include "mask/mask_cache.h"

namespace grammask::internal {
namespace {

// A set whose list is this long gets a bitmap of its own when it was filled this often; only so
// many sets, so that a generation spends a bounded part of its budget on it.
constexpr size_t kLongList = 64;
constexpr uint32_t kOften = 16;
constexpr size_t kMostPromoted = 256;

constexpr size_t kFewLeftOver = 48;    // tokens whose rests are one trie, whatever comes next
constexpr size_t kListed = 128;        // tokens of a set for which there is memory at once
constexpr size_t kFewKept = 16;        // tokens that follow with what is left over
constexpr size_t kLongResidual = 256;  // tokens that leave something over
constexpr size_t kLeftOverEntry = 48;  // bytes of an entry of left_over_

}  // namespace

void MaskCache::Fill(SetId set, uint32_t* row) {
  if (words_ == 0) return;  // an empty vocabulary: `row` may be null
  const TokenMask& mask = OfSet(set);
  if (mask.bitmap != nullptr) {
    std::memcpy(row, mask.bitmap, words_ * 4);
  } else {
    std::memset(row, 0, words_ * 4);
  }
  for (TokenId t : mask.list) SetBit(row, t);
  if (mask.list.size() > kLongList && mask.fills.Next() % kOften == 0) Promote(set, mask);
}

void MaskCache::Promote(SetId set, const TokenMask& mask) {
  if (promoted_.fetch_add(1, std::memory_order_relaxed) >= kMostPromoted) return;
  const TokenMask* made = KeepMask(Without(mask, {}));
  sets_.attachment(set).store(made, std::memory_order_release);
}

const TokenMask& MaskCache::OfSet(SetId set) {
  std::atomic<const void*>& slot = sets_.attachment(set);
  if (const void* known = slot.load(std::memory_order_acquire)) {
    return *static_cast<const TokenMask*>(known);
  }
  const TokenMask* made = MakeLevel2(set);
  const void* expected = nullptr;
  if (!slot.compare_exchange_strong(expected, made, std::memory_order_acq_rel)) {
    return *static_cast<const TokenMask*>(expected);
  }
  return *made;
}

// Calls visit(node, set, tokens, end of what begins with the node) for the nodes of a trie below
// node `top` that `from` can read: with the tokens of the node, or, where all that begins with the
// node can be read, with all of these once. The set is Dead() inside a text.
template <class Visit>
void MaskCache::WalkSets(std::span<const TrieNode> nodes, const TrieAlphabets* alphabets,
                         std::span<const TokenId> tokens, uint32_t top, SetId from, Visit&& visit) {
  const DraftLease lease(&drafts_);
  auto some = [&](uint32_t i, SetId set, uint32_t next) {
    visit(i, set, tokens.subspan(nodes[i].tokens, nodes[next].tokens - nodes[i].tokens),
          nodes[i].end);
  };
  WalkTrie(
      SetWalker(&sets_, &lease->scratch), nodes, alphabets, top + 1, nodes[top].end,
      nodes[top].depth, from,
      WalkCalls{[&](uint32_t i, const SetPlace& at) { some(i, at.id, i + 1); },
                [&](uint32_t i, const WholeFrom<SetId>& whole) { some(i, whole.id, nodes[i].end); },
                [&](uint32_t i, uint64_t) { some(i, SetTable::Dead(), i + 1); }, NoOpen()});
}

// Calls f(nodes, alphabets, tokens, node) for the tries of which what is left over consists, where
// it can follow in `returned`, and the node below which it lies.
template <class F>
void MaskCache::ForLeftOver(const Level1& level1, SetId returned, F&& f) {
  if (level1.residual != nullptr) {
    const Residual& residual = Spelled(*level1.residual);
    // Of many only what begins with a byte that can come next is looked at.
    ByteSet first;
    if (residual.entries.size() > kFewLeftOver) {
      for (uint8_t byte : sets_.Table(returned).classes->few) first.Add(byte);
    }
    const TokenTrie& left = TrieOf(residual, first.empty() ? ByteSet::All() : first);
    if (!left.empty()) f(std::span(left.nodes), nullptr, std::span(left.tokens), 0);
  }
  for (uint32_t top : level1.references) {
    f(vocab_->nodes(), &vocab_->alphabets(), vocab_->trie_tokens(), top);
  }
}

// Gathers in a draft the tokens of what is left over that can follow in `returned`.
void MaskCache::WalkReturned(const Level1& level1, SetId returned, Draft* draft) {
  ForLeftOver(level1, returned,
              [&](std::span<const TrieNode> nodes, const TrieAlphabets* alphabets,
                  std::span<const TokenId> tokens, uint32_t top) {
                Gatherer(nodes, tokens, alphabets, draft).WalkBelow(&sets_, top, returned);
              });
}

// The same as a mask, kept where the walk is long: sets that hold states which leave the same over,
// with the same return, are many, as in an operand of an expression.
const TokenMask* MaskCache::LongLeftOver(const Level1& level1, SetId returned) {
  const uint32_t* references = level1.references.empty() ? nullptr : level1.references.data();
  const Residual* residual = level1.residual != nullptr ? &Spelled(*level1.residual) : nullptr;
  const LeftOver key = {residual, references, returned};
  {
    std::lock_guard lock(mutex_);
    if (const auto* known = left_over_.Find(key)) return *known;
  }
  const DraftLease draft(&drafts_);
  WalkReturned(level1, returned, &*draft);
  // Below a node that leaves something over there may be others.
  JoinRuns(&draft->runs);
  ScratchVector<const uint32_t*> bitmaps;
  TakeRuns(&*draft, &bitmaps);
  // Few tokens cost less than to find out that the same are kept.
  const bool few = bitmaps.empty() && draft->accepted.size() <= kFewKept;
  TokenMask mask;
  if (!few) mask = Compact(draft->accepted, bitmaps);
  std::lock_guard lock(mutex_);
  const auto [known, added] = left_over_.TryEmplace(key);
  if (added) {
    if (few) {
      mask.list = memory_.Copy(std::span<const TokenId>(draft->accepted));
      bytes_ += mask.list.size_bytes();
    }
    *known = new (memory_.Allocate<TokenMask>(1)) TokenMask(mask);
    bytes_ += sizeof(TokenMask) + kLeftOverEntry;
  }
  return *known;
}

// The same for an item of `set` within a procedure that captures, `capturing` where it is known.
// What follows that procedure depends on the text it reads; the walk takes any text for granted,
// and tokens that go on into the next value (or anything at all, as values may run out) are tried
// in earnest: a few of them. One that begins the next value and leaves more of it open than can be
// excluded need not be.
void MaskCache::WalkCaptured(const Level1& level1, SetId set, RetId ret, const Proc* capturing,
                             ScratchVector<TokenId>* out) {
  const SetId returned = sets_.Returned(set, ret);
  if (returned == SetTable::Dead()) return;
  ScratchVector<TokenId> unsure;
  const bool all = (capturing != nullptr && !capturing->free) || sets_.Body(returned).captures;
  const int64_t rounds = TermStore::kManyRounds + vocab_->max_token_bytes();
  // Whether items of a set are inside a value, and whether these, or values that may begin, leave
  // as much open as that.
  struct Inside {
    bool value = false, open = false;
  };
  absl::flat_hash_map<uint32_t, Inside> known;
  const bool scalar =
      capturing != nullptr && !capturing->compound && sets_.Body(set).at_risk.empty();
  auto inside = [&](SetId at) {
    if (!scalar || at == SetTable::Dead()) return Inside();
    const auto [it, added] = known.try_emplace(at.value);
    if (!added) return it->second;
    const auto kernel = sets_.set(at).kernel, all_items = sets_.Body(at).items;
    // Not within arrays that must differ only.
    auto captured = [&](const Item& item) {
      const Proc* proc = sets_.Captures(item.ret);
      return proc != nullptr && !proc->compound;
    };
    std::lock_guard lock(terms_.mutex());
    it->second.value = std::ranges::any_of(kernel, captured);
    it->second.open = std::ranges::any_of(
        it->second.value ? kernel : all_items,
        [&](const Item& item) { return captured(item) && terms_.Endless(item.term, rounds); });
    return it->second;
  };
  // The nodes of a trie up to which the next value may begin, has begun, has ended.
  uint32_t next_end = 0, begun_end = 0, ended_end = 0;
  auto visit = [&](uint32_t i, SetId at, std::span<const TokenId> tokens, uint32_t end) {
    bool sure = !all;
    if (!all && i < next_end) {
      const Inside in = inside(at);
      if (i < begun_end && !in.value) ended_end = std::max(ended_end, end);
      if (in.value) begun_end = std::max(begun_end, end);
      sure = in.open && i >= ended_end;
    }
    auto* list = sure ? out : &unsure;
    list->insert(list->end(), tokens.begin(), tokens.end());
    if (at != SetTable::Dead() && sets_.Body(at).captures) next_end = std::max(next_end, end);
  };
  ForLeftOver(level1, returned,
              [&](std::span<const TrieNode> nodes, const TrieAlphabets* alphabets,
                  std::span<const TokenId> tokens, uint32_t top) {
                next_end = begun_end = ended_end = 0;
                WalkSets(nodes, alphabets, tokens, top, returned, visit);
              });
  for (TokenId t : unsure) {
    if (sets_.Run(set, vocab_->bytes(t)) != SetTable::Dead()) out->push_back(t);
  }
}

// The tokens after which a value could only become one that was written before. As long as its text
// agrees with such a value, tokens are followed byte by byte: a few, as most differ at once.
std::vector<TokenId> MaskCache::Refused(SetId set) {
  std::vector<TokenId> refused;
  const auto nodes = vocab_->nodes();
  const auto tokens = vocab_->trie_tokens();
  std::vector<SetId> path = {set};
  uint32_t exact_end = 0;
  for (uint32_t i = 1; i < vocab_->node_count();) {
    const TrieNode& node = nodes[i];
    const SetId from = path[node.depth - 1];
    const auto at_risk = sets_.Body(from).at_risk;
    bool stays = false;
    if (sets_.Table(from).classes->class_of[node.byte] != 0) {
      std::lock_guard lock(terms_.mutex());
      stays = std::ranges::any_of(
          at_risk, [&](uint32_t capture) { return sets_.StaysAtRisk(capture, node.byte); });
    }
    // Where a value equal to a rival has ended while other parses go on, all that follows is tried.
    const bool exact = i < exact_end;
    const SetId to = stays || exact ? sets_.Step(from, node.byte) : SetTable::Dead();
    if ((stays || exact) && to == SetTable::Dead()) {
      refused.insert(refused.end(), tokens.begin() + node.tokens,
                     tokens.begin() + nodes[node.end].tokens);
    }
    if (to == SetTable::Dead()) {
      i = node.end;
      continue;
    }
    if (sets_.Body(to).at_risk.empty()) exact_end = std::max(exact_end, node.end);
    path.resize(node.depth);
    path.push_back(to);
    ++i;
  }
  return refused;
}

TokenMask MaskCache::Without(const TokenMask& mask, const std::vector<TokenId>& refused) {
  Bits bits = BitsOf(mask);
  for (TokenId t : refused) ClearBit(bits.data(), t);
  return {bitmaps_.Intern(bits), {}};
}

const TokenMask* MaskCache::MakeLevel2(SetId set) {
  ScratchVector<TokenId> list;
  ScratchVector<const uint32_t*> bitmaps;
  const SetBody& body = sets_.Body(set);
  if (body.items.size() == 1 && body.tokens.empty()) {
    const Level1& only = OfState(body.items[0].term);
    if (only.residual == nullptr && only.references.empty() && body.at_risk.empty()) {
      return &only.accepted;
    }
  }
  if (const TokenMask* made = FromCover(set)) return made;
  const bool captures = sets_.set(set).captures;
  list.reserve(kListed);
  auto add = [&](const TokenMask& mask) {
    list.insert(list.end(), mask.list.begin(), mask.list.end());
    if (mask.bitmap != nullptr && std::ranges::find(bitmaps, mask.bitmap) == bitmaps.end()) {
      bitmaps.push_back(mask.bitmap);
    }
  };
  for (const Item& item : body.items) {
    const Level1& level1 = OfState(item.term);
    add(level1.accepted);
    if (level1.residual == nullptr && level1.references.empty()) continue;
    const size_t before = list.size();
    auto leave_out = [&] {  // what the state refuses all the same
      if (level1.refused.empty()) return;
      const auto kept =
          std::remove_if(list.begin() + static_cast<ptrdiff_t>(before), list.end(),
                         [&](TokenId t) { return std::ranges::binary_search(level1.refused, t); });
      list.erase(kept, list.end());
    };
    const Proc* capturing = sets_.Captures(item.ret);
    if (captures || capturing != nullptr) {
      WalkCaptured(level1, set, item.ret, capturing, &list);
      leave_out();
      continue;
    }
    const SetId returned = sets_.Returned(set, item.ret);
    if (returned == SetTable::Dead()) continue;
    if (!level1.references.empty() || Spelled(*level1.residual).entries.size() > kLongResidual) {
      const TokenMask& left_over = *LongLeftOver(level1, returned);
      const bool with =
          left_over.bitmap != nullptr && std::ranges::any_of(level1.refused, [&](TokenId t) {
            return TestBit(left_over.bitmap, t);
          });
      add(with ? Without(left_over, {level1.refused.begin(), level1.refused.end()}) : left_over);
    } else {
      const DraftLease draft(&drafts_);
      WalkReturned(level1, returned, &*draft);
      list.insert(list.end(), draft->accepted.begin(), draft->accepted.end());
    }
    leave_out();
  }
  for (const TokenItem& item : body.tokens) {
    const TokenSet& tokens = terms_.token_set(item.tokens);
    if (!tokens.excluded) {
      for (TokenId t : tokens.ids) {
        if (t >= 0 && t < vocab_->size()) list.push_back(t);
      }
    } else {
      for (TokenId t = 0; t < vocab_->size(); ++t) {
        if (vocab_->is_text(t) && !std::ranges::binary_search(tokens.ids, t)) list.push_back(t);
      }
    }
  }
  TokenMask mask = Compact(list, bitmaps);
  if (!body.at_risk.empty()) {
    if (const std::vector<TokenId> refused = Refused(set); !refused.empty()) {
      mask = Without(mask, refused);
    }
  }
  return KeepMask(mask);
}

const TokenMask* MaskCache::KeepMask(const TokenMask& made) {
  std::lock_guard lock(mutex_);
  bytes_ += sizeof(TokenMask);
  return new (memory_.Allocate<TokenMask>(1)) TokenMask(made);
}

}  // namespace grammask::internal
