// Slices by what X matches, beyond the life of one generation of tables.
//
// A slice depends on the vocabulary and on what X matches, not on the ids of one term store, and
// takes a millisecond to make: so it is kept when the tables are thrown away. Terms are looked up
// by their expression, written out in full; expressions that differ only in the order of their
// parts have one automaton, which is the slice's key. [a-z] leaves nearly all tokens outside and so
// takes 3 MB, [^"] 0.5 MB: what is kept is bounded by bytes, least recently used first to go.
// Tests: tests/mask/slice_test.cc.
#include <algorithm>
#include <cstring>

#include "mask/mask_cache.h"

namespace grammask::internal {
namespace {

constexpr size_t kMostEntries = 1024;

// A table in few bytes: for each byte at which the target changes, the byte and the target.
std::string TableKey(const std::vector<uint32_t>& table) {
  std::string key;
  for (size_t i = 0; i < table.size(); ++i) {
    if (i % 256 != 0 && table[i] == table[i - 1]) continue;
    char part[5] = {static_cast<char>(i % 256)};
    std::memcpy(part + 1, &table[i], 4);
    key.append(part, sizeof(part));
  }
  return key;
}

}  // namespace

std::shared_ptr<Slice> SliceStore::Get(const Vocab& vocab, TermStore* terms, TermId x) {
  std::string text = terms->ToString(x);
  std::lock_guard lock(mutex_);
  const auto known = automata_.find(text);
  if (known != automata_.end()) {
    if (known->second.empty()) return nullptr;
    if (auto it = slices_.find(known->second); it != slices_.end()) {
      it->second.used = ++calls_;
      return it->second.slice;
    }
  }
  if (automata_.size() >= kMostEntries) automata_.clear();
  std::string& automaton = automata_[std::move(text)];
  const auto table = Slice::Tabulate(terms, x);
  if (!table.has_value()) return nullptr;
  automaton = TableKey(*table);
  Kept& kept = slices_[automaton];
  if (kept.slice == nullptr) kept.slice = Slice::Create(vocab, *table);
  kept.used = ++calls_;
  std::shared_ptr<Slice> slice = kept.slice;
  Evict();
  return slice;
}

void SliceStore::Evict() {
  size_t bytes = 0;
  for (const auto& [key, kept] : slices_) bytes += kept.slice->memory_bytes();
  while (bytes > most_bytes_ && slices_.size() > 1) {
    const auto oldest =
        std::ranges::min_element(slices_, {}, [](const auto& entry) { return entry.second.used; });
    bytes -= oldest->second.slice->memory_bytes();
    slices_.erase(oldest);
  }
}

size_t SliceStore::memory_bytes() {
  std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& [key, kept] : slices_) bytes += key.size() + kept.slice->memory_bytes();
  for (const auto& [text, automaton] : automata_) bytes += text.size() + automaton.size() + 64;
  return bytes;
}

}  // namespace grammask::internal
