// A state to its mask, from that of a state which differs in bounds or exclusions only.
//
// A text of a state with bounds is one of the state without them, and a text short enough is one of
// both. So where the state without bounds has a mask, that is the mask where no token comes near a
// bound; where few do, only those are walked, in both states at once, and what the narrower refuses
// is taken out. Where many do, as with ten characters left of a `maxLength`, what each token needs
// of the count is found once for all bounds (counted.h). Of several bounds the widest is left out
// first, and a bound from below where no token comes to an end that is too short. Excluded texts
// are dealt with likewise: the two states differ only where a token agrees with an excluded text.
// So is a loop that must have one round: it differs from that of any number in what ends the loop
// before the first.
//
// Cost: 10 to 50 us where few tokens are near, once some milliseconds where many are. Tests:
// tests/mask/counted_test.cc, near_bounds_test.cc, mask_test.cc.
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <bit>

#include "automaton/lengths.h"
#include "base/scratch.h"
#include "base/sorted.h"
#include "base/tables.h"
#include "mask/along.h"
#include "mask/draft.h"
#include "mask/mask_cache.h"
#include "vocab/texts.h"

namespace grammask::internal {
namespace {

constexpr int64_t kNear = 16;          // a bound that many tokens come near
constexpr int64_t kFewMore = 4;        // characters more than a text needs
constexpr uint64_t kLeastSame = 8;     // bytes below which most tokens are not
constexpr size_t kWideRound = 16;      // bytes that a round begins with
constexpr int64_t kInStep = 160;       // a bound on loops that may count in step
constexpr size_t kMostBounds = 4;      // of different width, and alternatives of a choice
constexpr size_t kMostLooked = 16384;  // nodes at which tokens of a least length are looked for
constexpr size_t kMostRefused = 8192;  // tokens near a bound over which a mask is made by itself
constexpr size_t kMostCounted = size_t{4} << 20;  // bytes of counted tokens that are kept
constexpr size_t kUncounted = 64;                 // bytes that knowing of none takes

}  // namespace

// The mask of a state from that of `wider`, which takes whatever it takes; null where more tells
// them apart than tokens that stay inside (see FindRefused).
const Level1* MaskCache::FromWider(TermId state, TermId wider, uint64_t same, size_t most,
                                   uint64_t wider_completion) {
  TableVector<TokenRun> runs;
  uint64_t reach = 0, completion = 0;
  std::optional<bool> found = FindOver(state, wider, same, most, &runs, &reach, &completion);
  if (!found.has_value()) {
    runs.clear();
    reach = completion = 0;
    found = FindRefused(state, wider, same, most, wider_completion, &runs, &reach, &completion);
  }
  if (!*found) return nullptr;
  return Narrowed(OfState(wider), runs, reach, completion);
}

// The mask `wide` without some tokens, which leave the state they are refused in by nothing else;
// `reach` and `completion`: of the state where it was walked. What was not walked is complete where
// it is in the wider state: so short is all of it. Null where such tokens are some of a reference.
const Level1* MaskCache::Narrowed(const Level1& wide, std::span<const TokenRun> refused,
                                  uint64_t reach, uint64_t completion) {
  Level1 result = wide;
  result.slice = result.others = nullptr;
  result.reach = std::max(wide.reach, reach);
  result.completion = std::max(wide.completion, completion);
  result.others_reach = UINT64_MAX;
  if (refused.empty()) return Keep(result);
  const auto nodes = vocab_->nodes();
  ScratchVector<uint32_t> references;
  for (uint32_t i : wide.references) {
    const uint32_t first = nodes[i].tokens, last = nodes[nodes[i].end].tokens;
    bool all = false;
    for (const TokenRun& run : refused) {
      if (run.last <= first || last <= run.first) continue;
      if (first < run.first || run.last < last) return nullptr;
      all = true;
    }
    if (!all) references.push_back(i);
  }
  if (references.size() < wide.references.size()) {
    std::lock_guard lock(mutex_);
    result.references = memory_.Copy(std::span<const uint32_t>(references));
  }
  Bits out(words_);
  for (const TokenRun& run : refused) {
    for (TokenId t : vocab_->trie_tokens().subspan(run.first, run.last - run.first)) {
      SetBit(out.data(), t);
    }
  }
  if (wide.residual != nullptr) {
    result.residual =
        Without(*wide.residual, [&](TokenId token) { return TestBit(out.data(), token); });
  }
  // Mostly the bitmap has none of them in it: it stays the one that others share.
  const uint32_t* const bitmap = wide.accepted.bitmap;
  uint32_t met = 0;
  for (size_t w = 0; bitmap != nullptr && w < words_; ++w) met |= bitmap[w] & out[w];
  if (met == 0) {
    ScratchVector<TokenId> list;
    for (TokenId t : wide.accepted.list) {
      if (!TestBit(out.data(), t)) list.push_back(t);
    }
    result.accepted = Compact(list, std::span(&bitmap, bitmap != nullptr ? 1 : 0));
    return Keep(result);
  }
  Bits bits = BitsOf(wide.accepted);
  for (size_t w = 0; w < words_; ++w) bits[w] &= ~out[w];
  result.accepted = {bitmaps_.Intern(bits), {}};
  return Keep(result);
}

// The mask of a loop of one round or more from that of the same loop of any number: after a byte of
// a round the two are in one state, so what is refused begins as the rest does. Null where the loop
// is none such, or so narrow that a walk of its own is short.
const Level1* MaskCache::FromAnyNumber(TermId state) {
  const Term& t = terms_.term(state);
  const bool sequence = t.kind == TermKind::kSequence;
  const Term& head = sequence ? terms_.term(t.children()[0]) : t;
  if (head.kind != TermKind::kRepeat || head.a != 1 || head.b != kUnbounded || !head.regular) {
    return nullptr;
  }
  if (FirstBytes(terms_.Expand(state).bytes) < kWideRound) return nullptr;
  TermId wider;
  {
    std::lock_guard lock(terms_.mutex());
    wider = terms_.Repeat(head.children()[0], 0, kUnbounded);
    if (sequence) wider = terms_.Sequence(wider, t.children()[1]);
  }
  return FromWider(state, wider, 0, kMostRefused);
}

// The mask of a state from that of the same state without its bounds: the same where no token comes
// near them, else but for tokens that do. Null where it is not so.
const Level1* MaskCache::FromLoose(TermId state, const TermStore::Loosened& loosened) {
  const Level1& loose = OfState(loosened.state);
  const auto bound = static_cast<uint64_t>(loosened.bound);
  if (loose.reach <= bound) return &loose;
  // Where no other condition stands beside the loop, what is left of it need not be looked at.
  const auto longest = static_cast<uint64_t>(vocab_->max_token_bytes());
  if (loosened.plain && longest <= bound) return &loose;
  const uint64_t completion = loosened.plain ? 0 : loose.completion;
  if (completion >= bound || bound - completion < kLeastSame) return nullptr;
  return FromWider(state, loosened.state, bound - completion, kMostRefused, loose.completion);
}

// The same for a state with one bound on characters more than `wider`, of which the tokens are
// counted: no states of the bounded one are made. Null where it cannot be told so.
std::optional<bool> MaskCache::FindOver(TermId state, TermId wider, uint64_t same, size_t most,
                                        TableVector<TokenRun>* over, uint64_t* reach,
                                        uint64_t* completion) {
  const auto counted = terms_.FindCount(state);
  if (!counted.has_value() || counted->open != wider) return std::nullopt;
  const auto table = TableOf(counted->x);
  if (table == nullptr) return std::nullopt;
  const DraftLease draft(&drafts_);
  return CountedTokens::FindOver(*vocab_, &sets_, wider, {counted->x, counted->rest, *table},
                                 counted->most, same, most, &draft->scratch, over, reach,
                                 completion);
}

// The automaton of X; null where no X is plain.
std::shared_ptr<const RoundTable> MaskCache::TableOf(TermId x) {
  std::lock_guard lock(counted_mutex_);
  auto [it, added] = tables_.try_emplace(x.value);
  if (added) {
    if (auto made = Slice::Tabulate(&terms_, x)) {
      it->second = std::make_shared<const RoundTable>(*std::move(made));
      bytes_ += it->second->capacity() * sizeof(RoundTable::value_type);
    }
  }
  return it->second;
}

// What tokens need of a count; null where it cannot be told.
std::shared_ptr<const CountedTokens> MaskCache::TokensOf(const TermStore::Counted& counted) {
  const auto table = TableOf(counted.x);
  if (table == nullptr) return nullptr;
  const std::array key = {counted.loose.value, counted.x.value, counted.rest.value};
  bool any_number = counted.least > 0;
  int64_t most = counted.most;
  bool known = false;  // for fewer rounds
  {
    std::lock_guard lock(counted_mutex_);
    if (const auto it = counted_.find(key); it != counted_.end()) {
      if (it->second == nullptr) return nullptr;
      const bool enough = counted.most <= it->second->most();
      if (enough && (it->second->asked() || !any_number)) return it->second;
      any_number |= it->second->asked();
      most = std::max(most, it->second->most());
      known = !enough;
    }
  }
  // What leaves hardly any choice, as the rest of a UUID, is walked by few tokens each time.
  const bool few =
      most > kNear && most - terms_.FewestCharacters(counted.loose, counted.rest) <= kFewMore;
  if (!few && (known || most > kNear)) most = kUnbounded;
  std::shared_ptr<const CountedTokens> made;
  {
    const DraftLease draft(&drafts_);
    made = CountedTokens::Create(*vocab_, &sets_, counted.loose, {counted.x, counted.rest, *table},
                                 most, any_number, &draft->scratch);
  }
  std::lock_guard lock(counted_mutex_);
  if (counted_bytes_ > kMostCounted) {
    counted_.clear();
    bytes_ -= counted_bytes_;
    counted_bytes_ = 0;
  }
  auto bytes_of = [](const std::shared_ptr<const CountedTokens>& tokens) {
    return tokens == nullptr ? kUncounted : tokens->memory_bytes();
  };
  const auto [it, added] = counted_.try_emplace(key, made);
  size_t before = 0;
  if (!added) {
    before = bytes_of(it->second);
    it->second = made;
  }
  counted_bytes_ += bytes_of(made) - before;
  bytes_ += bytes_of(made) - before;
  return made;
}

// The mask of a state near the bounds of its count.
const Level1* MaskCache::FromCount(const TermStore::Counted& found) {
  const TermStore::Counted counted = terms_.WithoutIdleBounds(found);
  const auto tokens = TokensOf(counted);
  if (tokens == nullptr || !tokens->Knows(counted.least)) return nullptr;
  const DraftLease draft(&drafts_);
  Level1 result;
  if (tokens->AddList(counted.least, counted.most, kMaxList, &draft->accepted)) {
    draft->SortAccepted(words_);
    result.accepted = Compact(draft->accepted, {});
  } else {
    const Bits bits = tokens->Bitmap(counted.least, counted.most);
    size_t count = 0;
    for (size_t w = 0; w < bits.size() && count <= kMaxList; ++w) {
      count += static_cast<size_t>(std::popcount(bits[w]));
    }
    if (count > kMaxList) {
      result.accepted.bitmap = bitmaps_.Intern(bits);
    } else {
      for (size_t w = 0; w < bits.size(); ++w) {
        for (uint32_t left = bits[w]; left != 0; left &= left - 1) {
          draft->accepted.push_back(static_cast<TokenId>(w * 32 + std::countr_zero(left)));
        }
      }
      result.accepted = Compact(draft->accepted, {});
    }
  }
  // So many more rounds can be put in where nothing stands beside the loop.
  const Term& loose = terms_.term(counted.loose);
  const bool sequence = loose.kind == TermKind::kSequence;
  const Term& head = sequence ? terms_.term(loose.children()[0]) : loose;
  const bool alone = head.kind == TermKind::kRepeat;
  if (counted.least == 0 || (alone && counted.least < kInStep)) {
    const auto more = static_cast<uint64_t>(counted.least) * terms_.term(counted.x).min_length;
    result.reach = tokens->reach() + more;
    result.completion = tokens->completion() + more;
  }
  tokens->AddEscapes(counted.least, counted.most, &draft->escapes);
  if (!draft->escapes.empty()) AddEscapes(&*draft, &result);
  return Keep(result);
}

// The mask of a state near the bounds of its count in which any characters leave everything
// possible, as in a search. What is searched for takes a few characters at the most, whatever has
// come: so of the tokens of such characters only those are read by which as few are left. Null
// where it is not so.
const Level1* MaskCache::FromNearSearch(TermId state, const TermStore::Counted& counted) {
  const auto loop = terms_.FindLoop(counted.loose, kWideClass);
  if (!loop.has_value() || loop->excluding) return nullptr;
  const uint64_t whole = terms_.term(loop->part).min_length;
  const uint64_t rest = terms_.term(counted.rest).min_length;
  const auto most = static_cast<uint64_t>(counted.most);
  // A character takes a byte at least.
  if (whole < rest || whole - rest >= most) return nullptr;
  const uint64_t sure = most - (whole - rest);
  // A round that is more than a character may take many, and none of a token's characters be one.
  if (!terms_.IsJsonCharacter(counted.x)) return nullptr;
  if (!EndsBefore(counted.rest, counted.x) || !terms_.IsWithin(loop->x, counted.x)) return nullptr;
  Slice* const slice = SliceFor(loop->x);
  if (slice == nullptr) return nullptr;
  const auto near = slice->Between(sure + 1, most, kMostRefused);
  if (!near.has_value()) return nullptr;
  const DraftLease draft(&drafts_);
  draft->slice = slice->UpTo(sure);
  WalkOthers(state, *slice, &*draft);
  Along along(&terms_, state);
  auto token_at = [&](size_t k) -> const TokenId& { return vocab_->trie_tokens()[(*near)[k]]; };
  ForEachText(*vocab_, near->size(), token_at, [&](size_t k, std::string_view text) {
    if (along.Read(text) != TermStore::Nothing()) draft->accepted.push_back(token_at(k));
  });
  draft->reach = draft->completion = UINT64_MAX;
  return Store(&*draft);
}

// The mask of a string of at least so many characters from that of one of any number. Mostly a loop
// without end is still ahead, or gone on with, whatever token comes: then any number is left. So
// only tokens that get past that loop are read, and those that end the string. Null for others.
const Level1* MaskCache::FromLeast(TermId state) {
  const auto found = terms_.FindLeast(state, kLeastSame);
  if (!found.has_value()) return nullptr;
  // After the first character the two are in one state.
  if (found->least == 1) return FromWider(state, found->wider, 0, kMostRefused);
  const auto nodes = vocab_->nodes();
  const TrieAlphabets& alphabets = vocab_->alphabets();
  TableVector<TokenRun> refused;
  if (found->sure != UINT64_MAX) {
    struct Pair {
      TermId own, wide;
    };
    std::vector<Pair> path = {{found->head, found->wider_head}};
    size_t looked = 0;
    for (uint32_t i = 1; i < nodes.size() - 1;) {
      const TrieNode& node = nodes[i];
      if (alphabets.deepest(i) <= found->sure) {
        i = node.end;
        continue;
      }
      if (++looked > kMostLooked) return nullptr;
      path.resize(node.depth);
      const Pair from = path.back();
      auto after = [&](TermId at) { return TargetOf(terms_.Expand(at).bytes, node.byte); };
      const TermId own = after(from.own), wide = after(from.wide);
      // The string ends here, or is none.
      const bool ends = node.byte == '"' && terms_.term(from.wide).nullable;
      const bool is_refused = ends ? !terms_.term(from.own).nullable
                                   : own == TermStore::Nothing() && wide != TermStore::Nothing();
      if (is_refused) refused.push_back({node.tokens, nodes[node.end].tokens});
      if (own == TermStore::Nothing()) {
        i = node.end;
        continue;
      }
      path.push_back({own, wide});
      ++i;
    }
  } else {
    const uint64_t fewest = terms_.term(found->wider_head).min_length;
    Along own(&terms_, found->head), wide(&terms_, found->wider_head);
    ForEachTextAbove(*vocab_, alphabets.adding('"'), [&](uint32_t i, std::string_view text) {
      const TrieNode& node = nodes[i];
      if (node.depth <= fewest) return;
      if (!terms_.term(wide.Read(text)).nullable || terms_.term(own.Read(text)).nullable) return;
      refused.push_back({node.tokens, nodes[node.end].tokens});
    });
  }
  return Narrowed(OfState(found->wider), refused, UINT64_MAX, UINT64_MAX);
}

// The mask of a state with bounds from one with others; null where it is as well made by itself.
const Level1* MaskCache::FromOtherBounds(TermId state) {
  // After the first character the two are in one state.
  if (const auto wider = terms_.WithAnyFirst(state)) {
    const size_t most = vocab_->trie_tokens().size() / 2;
    if (const Level1* made = FromWider(state, *wider, 0, most)) return made;
  }
  auto counted = terms_.FindCount(state);
  // Such as the sign of a number.
  if (counted.has_value() && counted->most <= 1) counted = std::nullopt;
  const bool near = counted.has_value() && counted->most <= kNear;
  if (near) {
    if (const Level1* made = FromNearSearch(state, *counted)) return made;
    if (const Level1* made = FromProgress(state)) return made;
    if (const Level1* made = FromCount(*counted)) return made;
  }
  if (const Level1* made = FromLeast(state)) return made;
  // Bounds that no token or few come near, such as maxLength beside a pattern.
  const auto far = terms_.LoosenAll(state, vocab_->max_token_bytes() + 1);
  if (far.has_value()) {
    if (const Level1* made = FromLoose(state, *far)) return made;
  }
  if (!near) {
    if (const Level1* made = FromProgress(state)) return made;
  }
  // Of those that are nearer the widest first: what is near another one is then found once for all
  // values of it, as nine words left, of however many characters.
  absl::InlinedVector<TermStore::Loosened, kMostBounds> loosened;
  for (auto least = static_cast<int64_t>(kLeastSame); loosened.size() < kMostBounds;) {
    const auto next = terms_.LoosenAll(state, least);
    if (!next.has_value() || (far.has_value() && far->state == next->state)) break;
    loosened.push_back(*next);
    least = next->bound + 1;
  }
  // Of loops that count in step neither is left out without the other, and `X{9,9} | X{9,9} Y` is
  // another state for each number, as is `X{9,9}` without its upper bound.
  if (loosened.empty() || loosened.front().bound < kInStep) {
    if (const Level1* made = FromAlternatives(state)) return made;
    if (!near && counted.has_value() && counted->least > 0) {
      if (const Level1* made = FromCount(*counted)) return made;
    }
  }
  for (size_t i = loosened.size(); i-- > 0;) {
    if (const Level1* made = FromLoose(state, loosened[i])) return made;
  }
  if (counted.has_value() && !near) {
    if (const Level1* made = FromCount(*counted)) return made;
  }
  return nullptr;
}

// The mask of a choice from those of its alternatives, of which each may be a loop that is counted,
// which both together are not. Null where it is none, or of many.
const Level1* MaskCache::FromAlternatives(TermId state) {
  const Term& t = terms_.term(state);
  const bool sequence = t.kind == TermKind::kSequence;
  const Term& head = sequence ? terms_.term(t.children()[0]) : t;
  if (head.kind != TermKind::kChoice || !head.regular || head.children().size() > kMostBounds) {
    return nullptr;
  }
  absl::InlinedVector<TermId, kMostBounds> alternatives(head.children().begin(),
                                                        head.children().end());
  if (sequence) {
    std::lock_guard lock(terms_.mutex());
    for (TermId& a : alternatives) a = terms_.Sequence(a, t.children()[1]);
  }
  bool some_counted = false;
  for (TermId a : alternatives) {
    const auto counted = terms_.FindCount(a);
    some_counted |= counted.has_value() && counted->most > 1;
    if (counted.has_value()) {
      const auto both = BytesInBoth(counted->rest, counted->x);
      if (!both.has_value() || (!both->empty() && SliceFor(counted->x) == nullptr)) return nullptr;
    } else if (terms_.LoosenAll(a, kLeastSame).has_value()) {
      return nullptr;
    }
  }
  if (!some_counted) return nullptr;
  return UnionOf(alternatives);
}

// The mask of a string between bounds in which something is searched for of which some has come:
// that of the search as it is in the beginning, which is counted once whatever has come, and that
// of going on with what has begun, which few tokens do. Null where it is not so.
const Level1* MaskCache::FromProgress(TermId state) {
  const auto found = terms_.FindProgress(state, kWideClass);
  if (!found.has_value()) return nullptr;
  if (found->search == TermStore::Nothing()) return &OfState(found->begun);
  if (found->begun == TermStore::Nothing()) return &OfState(found->search);
  const auto counted = terms_.FindCount(found->search);
  if (!counted.has_value() || !EndsBefore(counted->rest, counted->x)) return nullptr;
  const TermId both[] = {found->search, found->begun};
  return UnionOf(both);
}

// The mask of all of the alternatives; null where one of them refuses tokens inside a reference.
const Level1* MaskCache::UnionOf(std::span<const TermId> alternatives) {
  const DraftLease draft(&drafts_);
  absl::InlinedVector<const uint32_t*, kMostBounds> bitmaps;
  draft->reach = draft->completion = 0;
  for (TermId a : alternatives) {
    const Level1& mask = OfState(a);
    if (!mask.refused.empty()) return nullptr;
    if (mask.accepted.bitmap != nullptr) bitmaps.push_back(mask.accepted.bitmap);
    const auto list = mask.accepted.list;
    draft->accepted.insert(draft->accepted.end(), list.begin(), list.end());
    draft->escapes.insert(draft->escapes.end(), mask.references.begin(), mask.references.end());
    if (mask.residual != nullptr) {
      const auto entries = Spelled(*mask.residual).entries;
      draft->residues.insert(draft->residues.end(), entries.begin(), entries.end());
    }
    draft->reach = std::max(draft->reach, mask.reach);
    draft->completion = std::max(draft->completion, mask.completion);
  }
  draft->SortAccepted(words_);
  SortUnique(&draft->escapes);
  SortUnique(&draft->residues);
  if (!bitmaps.empty()) draft->base = bitmaps.size() == 1 ? bitmaps[0] : bitmaps_.Union(bitmaps);
  return Store(&*draft);
}

}  // namespace grammask::internal
