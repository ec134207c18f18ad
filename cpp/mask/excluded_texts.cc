// A state that reads anything but a few texts, to its mask, from that of the state that reads these
// as well.
//
// Keys of an object that are none of its properties: any characters, but not `name` or `id`, then a
// quote. Tokens that such a state must refuse are those with an excluded text and the quote in
// them: `id"`, `id":`. So each text is looked up in the trie of the vocabulary, with the byte
// behind it, and no state in between is made. Texts may be spelled with escapes, which few tokens
// do: these are listed once, by what they say (vocab/spelled_texts.h).
//
// What is left over of the tokens stays that of the wider state, which all keys of an object share,
// with the refused tokens beside it (Level1::refused).
//
// Cost: 2 to 5 us for twenty names. Tests: tests/mask/mask_test.cc, tests/exhaustive.
#include <algorithm>
#include <optional>

#include "base/json_bytes.h"
#include "base/sorted.h"
#include "base/tables.h"
#include "mask/along.h"
#include "mask/draft.h"
#include "mask/mask_cache.h"
#include "vocab/find_node.h"
#include "vocab/spelled_texts.h"

namespace grammask::internal {
namespace {

constexpr size_t kMostMoreBytes = 8;  // bytes that a text takes more at the most to be none of some

}  // namespace

const std::vector<SpelledText>& MaskCache::SpelledTexts(uint32_t from) {
  std::lock_guard lock(mutex_);
  auto [it, added] = spelled_.try_emplace(from);
  if (added) {
    it->second = std::make_unique<const std::vector<SpelledText>>(FindSpelledTexts(*vocab_, from));
    bytes_ += it->second->size() * sizeof(SpelledText);
  }
  return *it->second;
}

// The nodes below which every token has an excluded text and what ends it; nothing where the text
// is not all that decides.
std::optional<std::vector<uint32_t>> MaskCache::FindExcluded(
    const TermStore::Exclusion& exclusion) {
  const auto nodes = vocab_->nodes();
  std::vector<uint32_t> found;
  const uint32_t from = FindNode(*vocab_, 0, exclusion.before);
  if (from == 0 && !exclusion.before.empty()) return found;
  // Whether the loop may have read the text and cannot read what ends it: then, and only then, the
  // text is what the narrower state lacks.
  bool decides = true;
  auto add = [&](uint32_t node) {
    if (node == 0) return;
    const size_t length = nodes[node].depth - size_t{1};  // without the quote
    const std::string_view token = vocab_->bytes(vocab_->trie_tokens()[nodes[node].tokens]);
    TermId at = exclusion.loop;
    auto next = [&](char c) { return TargetOf(terms_.Expand(at).bytes, static_cast<uint8_t>(c)); };
    for (size_t i = nodes[from].depth; i < length && at != TermStore::Nothing(); ++i) {
      at = next(token[i]);
    }
    if (at == TermStore::Nothing()) return;
    decides &= next('"') == TermStore::Nothing();
    found.push_back(node);
  };
  const std::vector<SpelledText>& spelled = SpelledTexts(from);
  std::string plain;
  for (const std::string& text : exclusion.texts) {
    if (!HasSpecialByte(text)) {
      plain = text;
      plain += '"';
      add(FindNode(*vocab_, from, plain));
    }
    for (auto same = std::ranges::lower_bound(spelled, text, {}, &SpelledText::text);
         same != spelled.end() && same->text == text; ++same) {
      add(same->node);
    }
  }
  if (!decides) return std::nullopt;
  SortUnique(&found);
  return found;
}

// Null where the state is none such.
const Level1* MaskCache::FromExclusion(TermId state) {
  const auto exclusion = terms_.FindExclusion(state);
  if (!exclusion.has_value()) return nullptr;
  // A text of so many more characters is excluded by none of them.
  size_t single = 0;
  for (const ByteEdge& e : terms_.Expand(exclusion->x).bytes) {
    if (e.to == TermStore::Empty()) single += static_cast<size_t>(e.hi - e.lo) + 1;
  }
  uint64_t more = 0;
  for (size_t texts = 1; texts <= exclusion->texts.size(); texts *= single) {
    if (single < 2 || ++more > kMostMoreBytes) return nullptr;
  }
  const auto excluded = FindExcluded(*exclusion);
  if (!excluded.has_value()) return nullptr;
  const Level1& wide = OfState(exclusion->wider);
  Level1 result = wide;
  if (wide.reach != UINT64_MAX) result.reach += more;
  if (wide.completion != UINT64_MAX) result.completion += more;
  result.others_reach = UINT64_MAX;
  // References below which nothing is left, and the tokens there.
  const auto nodes = vocab_->nodes();
  std::vector<uint32_t> references;
  TableVector<TokenRun> gone;
  for (uint32_t i : wide.references) {
    const auto after = std::ranges::upper_bound(*excluded, i);
    if (after == excluded->begin() || nodes[*(after - 1)].end < nodes[i].end) {
      references.push_back(i);
    } else if (exclusion->ends) {  // so that its tokens leave over what follows it, and only that
      gone.push_back({nodes[i].tokens, nodes[nodes[i].end].tokens});
    }
  }
  std::vector<TokenId> inside;  // of those that `wide` accepts
  std::vector<TokenId> refused(wide.refused.begin(), wide.refused.end());
  Bits bits;
  if (!excluded->empty()) bits = BitsOf(wide.accepted);
  for (uint32_t i : *excluded) {
    const bool referred = std::ranges::any_of(
        references, [&](uint32_t r) { return i < nodes[r].end && r < nodes[i].end; });
    for (uint32_t t = nodes[i].tokens; t < nodes[nodes[i].end].tokens; ++t) {
      const TokenId token = vocab_->trie_tokens()[t];
      const bool accepted = TestBit(bits.data(), token);
      if (accepted) inside.push_back(token);
      if (!referred && (accepted || std::ranges::any_of(gone, [&](const TokenRun& run) {
                          return run.first <= t && t < run.last;
                        }))) {
        continue;
      }
      refused.push_back(token);
    }
  }
  if (!inside.empty()) result.accepted = Without(wide.accepted, inside);
  if (references.size() < wide.references.size()) {
    std::lock_guard lock(mutex_);
    result.references = memory_.Copy(std::span<const uint32_t>(references));
  }
  if (!refused.empty() && (result.residual != nullptr || !references.empty())) {
    std::ranges::sort(refused);
    result.refused = bitmaps_.List(refused);
  }
  return Keep(result);
}

}  // namespace grammask::internal
