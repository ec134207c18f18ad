// The slices of one vocabulary, for all compilers, and beside them what else of masks depends on
// the vocabulary alone.
#ifndef GRAMMASK_MASK_SLICE_STORE_H_
#define GRAMMASK_MASK_SLICE_STORE_H_

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "automaton/term_store.h"
#include "base/code_point_set.h"
#include "mask/leaving_nodes.h"
#include "mask/slice.h"
#include "mask/trie_store.h"
#include "vocab/vocab.h"

namespace grammask::internal {

// Slices of one vocabulary by what X is, for all mask caches that come and go: those used last, up
// to a number of bytes (a mask cache keeps those that it uses). Thread-safe.
class SliceStore {
 public:
  // The one that all compilers of `vocab` share.
  static std::shared_ptr<SliceStore> Of(const Vocab& vocab) { return vocab.Beside<SliceStore>(); }

  explicit SliceStore(size_t most_bytes = size_t{16} << 20) { SetMost(most_bytes); }

  // The slice of `x`; null when x is not fit for one, or its slice has more others than
  // `most_others` nodes, which are the same in all calls for one x.
  std::shared_ptr<Slice> Get(const Vocab& vocab, TermStore* terms, TermId x,
                             size_t most_others = SIZE_MAX);
  // Whether Get would find it made.
  bool Has(TermStore* terms, TermId x);
  // Makes the slice of the characters of JSON strings, in all their spellings, and its bitmap of
  // all tokens, which stays; and, in JSON strings, that of the characters `often`, which does not
  // stay longer than others. Nothing to do after the first time.
  void MakeJsonStrings(const Vocab& vocab, const CodePointSet& often);
  // Each within a sixteenth of what slices may take.
  TrieStore& tries() { return tries_; }
  LeavingStore& leaving() { return leaving_; }
  size_t memory_bytes();
  size_t slice_bytes();  // of slices alone, which are what is bounded

 private:
  friend class SliceShare;
  struct Kept {
    std::shared_ptr<Slice> slice;
    uint64_t used;  // when, in calls of Get
  };

  std::shared_ptr<Slice> Found(const std::string& automaton);
  void SetMost(size_t bytes);
  void Evict();

  std::once_flag json_strings_;
  std::mutex mutex_;
  size_t most_bytes_ = 0;
  std::vector<size_t> shares_;
  // By the term's expression, the key into slices_; empty where it has no slice.
  absl::flat_hash_map<std::string, std::string> automata_;
  absl::flat_hash_map<std::string, Kept> slices_;
  std::shared_ptr<Slice> stays_;
  uint64_t calls_ = 0;
  TrieStore tries_{0};
  LeavingStore leaving_{0};
};

// What one compiler grants the store: while any lives, the store's bound is that of the most
// generous, so that it is never more than all compilers may take together.
class SliceShare {
 public:
  SliceShare(std::shared_ptr<SliceStore> store, size_t bytes);
  SliceShare(const SliceShare&) = delete;
  SliceShare& operator=(const SliceShare&) = delete;
  ~SliceShare();
  const std::shared_ptr<SliceStore>& store() const { return store_; }

 private:
  const std::shared_ptr<SliceStore> store_;
  const size_t bytes_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_SLICE_STORE_H_
