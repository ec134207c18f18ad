// Level-1 masks to bytes, and back.
//
// Bitmaps, what tokens leave over, and masks are each written once and numbered, as states share
// them; then come pairs of state and mask. Token ids, lengths, nodes and numbers are checked
// against the vocabulary; whether a mask is the right one cannot be seen, hence the caller must
// trust the file. Cost: copying. Tests: tests/matcher/saved_grammar_test.cc.
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <cstring>
#include <vector>

#include "mask/mask_cache.h"

namespace grammask::internal {
namespace {

TokenId ReadToken(ByteReader* in, int vocab_size) {
  if (vocab_size == 0) in->Fail();
  return static_cast<TokenId>(in->Number(static_cast<uint64_t>(vocab_size) - 1));
}

// The number of `key`, the next one when it is new.
template <class Key>
std::pair<size_t, bool> Numbered(absl::flat_hash_map<Key, size_t>* numbers, Key key) {
  const auto [it, added] = numbers->try_emplace(key, numbers->size());
  return {it->second, added};
}

}  // namespace

std::vector<TermId> MaskCache::StatesWithMasks(TermId root) const {
  std::vector<TermId> todo = {root}, found;
  absl::flat_hash_set<uint32_t> seen = {root.value};
  auto add = [&](TermId state) {
    if (seen.insert(state.value).second) todo.push_back(state);
  };
  while (!todo.empty()) {
    const TermId state = todo.back();
    todo.pop_back();
    const Term& t = terms_.term(state);
    if (t.attachment.load(std::memory_order_acquire) != nullptr) found.push_back(state);
    if (const uint32_t far = t.far.load(std::memory_order_acquire)) add(TermId(far));
    const Expansion* e = t.expansion.load(std::memory_order_acquire);
    if (e == nullptr) continue;
    for (const ByteEdge& edge : e->bytes) add(edge.to);
    for (const TokenEdge& edge : e->tokens) add(edge.to);
    for (const CallEdge& edge : e->calls) {
      add(edge.to);
      add(terms_.proc(edge.proc).body);
    }
  }
  return found;
}

void MaskCache::Save(std::span<const std::pair<TermId, uint32_t>> states, ByteWriter* out) {
  absl::flat_hash_map<const uint32_t*, size_t> bitmap_numbers;
  absl::flat_hash_map<const Residual*, size_t> residual_numbers;
  absl::flat_hash_map<const Level1*, size_t> mask_numbers;
  std::vector<const uint32_t*> bitmaps;
  std::vector<const Residual*> residuals;
  ByteWriter masks, pairs;
  size_t pair_count = 0;
  for (const auto& [state, number] : states) {
    const auto* mask =
        static_cast<const Level1*>(terms_.term(state).attachment.load(std::memory_order_acquire));
    // Those with tokens refused all the same are soon made anew.
    if (mask == nullptr || !mask->refused.empty()) continue;
    const auto [mask_number, is_new] = Numbered(&mask_numbers, mask);
    pairs.Number(number);
    pairs.Number(mask_number);
    ++pair_count;
    if (!is_new) continue;
    size_t bitmap = 0, residual = 0;  // one more than the number; 0 for none
    if (mask->accepted.bitmap != nullptr) {
      const auto [n, added] = Numbered(&bitmap_numbers, mask->accepted.bitmap);
      if (added) bitmaps.push_back(mask->accepted.bitmap);
      bitmap = n + 1;
    }
    if (mask->residual != nullptr) {
      const Residual* spelled = &Spelled(*mask->residual);
      if (!spelled->entries.empty()) {
        const auto [n, added] = Numbered(&residual_numbers, spelled);
        if (added) residuals.push_back(spelled);
        residual = n + 1;
      }
    }
    masks.Number(bitmap);
    masks.Number(residual);
    masks.Number(mask->reach + 1);  // 0 where it was not measured
    masks.Number(mask->accepted.list.size());
    for (TokenId t : mask->accepted.list) masks.Number(static_cast<uint32_t>(t));
    masks.Number(mask->references.size());
    for (uint32_t node : mask->references) masks.Number(node);
  }
  out->Number(bitmaps.size());
  for (const uint32_t* bitmap : bitmaps) {
    for (size_t w = 0; w < words_; ++w) out->Fixed(bitmap[w], 4);
  }
  out->Number(residuals.size());
  for (const Residual* residual : residuals) {
    out->Number(residual->entries.size());
    for (const uint64_t entry : residual->entries) {
      out->Number(static_cast<uint32_t>(Residual::Token(entry)));
      out->Number(Residual::Bytes(entry));
    }
  }
  out->Number(mask_numbers.size());
  out->Bytes(masks.bytes());
  out->Number(pair_count);
  out->Bytes(pairs.bytes());
}

bool MaskCache::Load(ByteReader* in, absl::FunctionRef<TermId(uint64_t)> state, size_t room) {
  const size_t first = bytes_;
  auto full = [&] { return bytes_ - first > room; };
  const auto tail = static_cast<uint32_t>(vocab_->size()) % 32;
  std::vector<const uint32_t*> bitmaps(in->Count(std::max<size_t>(words_ * 4, 1)));
  for (const uint32_t*& bitmap : bitmaps) {
    const std::string_view bytes = in->Bytes(words_ * 4);
    if (!in->ok() || full()) return in->ok();
    Bits words(words_);
    for (size_t w = 0; w < words_; ++w) {
      uint32_t word = 0;
      for (size_t b = 0; b < 4; ++b) {
        word |= uint32_t{static_cast<uint8_t>(bytes[w * 4 + b])} << (8 * b);
      }
      words[w] = word;
    }
    if (tail != 0 && words[words_ - 1] >> tail != 0) in->Fail();
    bitmap = bitmaps_.Intern(words);
  }
  std::vector<const Residual*> residuals(in->Count(1));
  std::vector<uint64_t> entries;
  for (const Residual*& residual : residuals) {
    entries.resize(in->Count(2));
    for (uint64_t& entry : entries) {
      const TokenId token = ReadToken(in, vocab_->size());
      const uint64_t left_over = in->ok() ? in->Number(vocab_->bytes(token).size()) : 0;
      if (left_over == 0) {
        in->Fail();
        return false;
      }
      const std::string_view text = vocab_->bytes(token);
      entry = Residual::Entry(token, static_cast<size_t>(left_over),
                              static_cast<uint8_t>(text[text.size() - left_over]));
    }
    if (entries.empty()) in->Fail();
    if (!in->ok() || full()) return in->ok();
    residual = ResidualOf(entries);
  }
  std::vector<const Level1*> masks(in->Count(5));
  std::vector<TokenId> list;
  std::vector<uint32_t> references;
  for (const Level1*& mask : masks) {
    const size_t bitmap = static_cast<size_t>(in->Number(bitmaps.size()));
    const size_t residual = static_cast<size_t>(in->Number(residuals.size()));
    Level1 made;
    made.reach = in->Number() - 1;
    list.resize(in->Count(1));
    for (TokenId& t : list) t = ReadToken(in, vocab_->size());
    references.resize(in->Count(1));
    for (uint32_t& node : references) {
      node = static_cast<uint32_t>(in->Number(vocab_->node_count() - 1));
    }
    if (!in->ok() || full()) return in->ok();
    if (bitmap > 0) made.accepted.bitmap = bitmaps[bitmap - 1];
    if (residual > 0) made.residual = residuals[residual - 1];
    std::lock_guard lock(mutex_);
    made.accepted.list = memory_.Copy(std::span<const TokenId>(list));
    made.references = memory_.Copy(std::span<const uint32_t>(references));
    bytes_ += sizeof(Level1) + (list.size() + references.size()) * 4;
    mask = new (memory_.Allocate<Level1>(1)) Level1(made);
    ++count_;
  }
  for (size_t left = in->Count(2); left > 0 && in->ok(); --left) {
    const uint64_t number = in->Number();
    const size_t mask = static_cast<size_t>(in->Number());
    if (!in->ok() || mask >= masks.size()) return false;
    const TermId of = state(number);
    if (of == TermStore::Nothing()) return false;
    const void* none = nullptr;
    terms_.attachment(of).compare_exchange_strong(none, masks[mask], std::memory_order_acq_rel);
  }
  return in->ok() && in->left() == 0;
}

}  // namespace grammask::internal
