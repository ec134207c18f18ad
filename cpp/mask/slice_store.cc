// Slices by the expression of X, beyond the life of one generation of tables.
//
// A slice depends on the vocabulary and on what X matches, not on the ids of one term store, and
// takes milliseconds to make: so it is kept when the tables are thrown away. The key is the term
// written out in full. Tests: tests/mask/slice_test.cc.
#include "mask/mask_cache.h"

namespace grammask::internal {

std::shared_ptr<Slice> SliceStore::Get(const Vocab& vocab, TermStore* terms, TermId x) {
  std::string key = terms->ToString(x);
  std::lock_guard lock(mutex_);
  if (auto it = entries_.find(key); it != entries_.end()) return it->second;
  if (entries_.size() >= kMost) entries_.clear();
  return entries_[std::move(key)] = Slice::Create(vocab, terms, x);
}

}  // namespace grammask::internal
