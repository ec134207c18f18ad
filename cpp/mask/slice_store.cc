// Slices by what X matches, beyond the life of one generation of tables and of one compiler.
//
// A slice depends on the vocabulary and on what X matches, not on the ids of one term store, and
// takes a fraction of a millisecond to make: so it is kept beside the vocabulary. Terms are looked
// up by their expression, written out in full; expressions that differ only in the order of their
// parts have one automaton, which is the slice's key. [a-z] leaves nearly all tokens outside and so
// takes 3 MB, [^"] 0.5 MB: what is kept is bounded by bytes, least recently used first to go.
// Tests: tests/mask/slice_test.cc.
#include "mask/slice_store.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace grammask::internal {
namespace {

constexpr size_t kMostEntries = 1024;
constexpr size_t kMostParts = size_t{1} << 15;  // of a term that may be a class of characters,
constexpr size_t kMostDifferent = 2048;         // and different ones

// A table in few bytes: for each byte at which the target changes, the byte and the target.
std::string TableKey(const RoundTable& table) {
  constexpr size_t kTargets = 256, kAtOnce = 4;
  std::string key;
  for (size_t state = 0; state < table.size(); state += kTargets) {
    const uint16_t* const row = table.data() + state;
    uint64_t last = 0;  // the target, as often as there are looked at together
    for (size_t i = 0; i < kTargets;) {
      if (i > 0 && i % kAtOnce == 0) {
        uint64_t next = 0;
        std::memcpy(&next, row + i, sizeof next);
        if (next == last) {
          i += kAtOnce;
          continue;
        }
      }
      const uint64_t target = row[i] * uint64_t{0x0001'0001'0001'0001};
      if (i == 0 || target != last) {
        char part[3] = {static_cast<char>(i)};
        std::memcpy(part + 1, row + i, 2);
        key.append(part, sizeof(part));
        last = target;
      }
      ++i;
    }
  }
  return key;
}

// Whether a term written out has more parts than a class of characters can have. Terms share their
// parts: of what is no class, as the body of a loop in a loop, the text may have no end. So each is
// counted once; parts are older than what they are parts of.
bool IsLarge(const TermStore& terms, TermId id) {
  std::vector<TermId> parts = {id};
  absl::flat_hash_map<uint32_t, size_t> size = {{id.value, 0}};  // written out
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts.size() > kMostDifferent) return true;
    for (TermId part : terms.term(parts[i]).children()) {
      if (size.try_emplace(part.value, 0).second) parts.push_back(part);
    }
  }
  std::ranges::sort(parts);
  for (TermId part : parts) {
    size_t all = 1;
    for (TermId c : terms.term(part).children()) all += size[c.value];
    if (all > kMostParts) return true;
    size[part.value] = all;
  }
  return false;
}

// The expression of a term, by which its automaton is known; empty where it has no slice.
std::string KeyOf(TermStore* terms, TermId x) {
  std::string text = terms->ClassKey(x);
  if (!text.empty()) return text;
  // What loops inside is no class of characters, as a rule; where it were, walks do without.
  return terms->term(x).finite && !IsLarge(*terms, x) ? terms->ToString(x) : std::string();
}

}  // namespace

// That of an automaton; null where it is not there. Locked.
std::shared_ptr<Slice> SliceStore::Found(const std::string& automaton) {
  const auto it = slices_.find(automaton);
  if (it == slices_.end()) return nullptr;
  it->second.used = ++calls_;
  return it->second.slice;
}

bool SliceStore::Has(TermStore* terms, TermId x) {
  const std::string text = KeyOf(terms, x);
  std::lock_guard lock(mutex_);
  const auto known = automata_.find(text);
  return known != automata_.end() && slices_.contains(known->second);
}

// Slices are made outside of the lock: where two threads make the same one, the first is kept.
std::shared_ptr<Slice> SliceStore::Get(const Vocab& vocab, TermStore* terms, TermId x,
                                       size_t most_others) {
  const std::string text = KeyOf(terms, x);
  if (text.empty()) return nullptr;
  {
    std::lock_guard lock(mutex_);
    const auto known = automata_.find(text);
    if (known != automata_.end()) {
      if (known->second.empty()) return nullptr;
      if (auto slice = Found(known->second)) return slice;
    }
  }
  auto table = Slice::Tabulate(terms, x);
  const std::string automaton = table.has_value() ? TableKey(*table) : std::string();
  {
    std::lock_guard lock(mutex_);
    if (automata_.size() >= kMostEntries) automata_.clear();
    automata_[text] = automaton;
    if (!table.has_value()) return nullptr;
    if (auto slice = Found(automaton)) return slice;
  }
  std::shared_ptr<Slice> made = Slice::Create(vocab, *std::move(table), most_others);
  std::lock_guard lock(mutex_);
  if (made == nullptr) {
    automata_[text].clear();
    return nullptr;
  }
  if (auto slice = Found(automaton)) return slice;
  slices_[automaton] = {made, ++calls_};
  Evict();
  return made;
}

void SliceStore::MakeJsonStrings(const Vocab& vocab, const CodePointSet& often) {
  std::call_once(json_strings_, [&] {
    TermStore terms({}, vocab.max_token_bytes());
    auto make = [&](const CodePointSet& characters) {
      TermId x;
      {
        std::lock_guard lock(terms.mutex());
        x = terms.Character(characters, true);
      }
      std::shared_ptr<Slice> slice = Get(vocab, &terms, x);
      slice->UpTo(UINT64_MAX);
      return slice;
    };
    make(often);
    std::shared_ptr<Slice> slice = make(CodePointSet::All());
    slice->UpTo(1);  // counted as well, and ready for the bitmaps of few characters
    std::lock_guard lock(mutex_);
    stays_ = std::move(slice);
  });
}

// Locked, where others know of the store.
void SliceStore::SetMost(size_t bytes) {
  constexpr size_t kShareBeside = 16;
  most_bytes_ = bytes;
  tries_.SetMost(bytes / kShareBeside);
  leaving_.SetMost(bytes / kShareBeside);
  Evict();
}

// Locked.
void SliceStore::Evict() {
  size_t bytes = 0;
  for (const auto& [key, kept] : slices_) bytes += kept.slice->memory_bytes();
  while (bytes > most_bytes_ && slices_.size() > 1) {
    const auto oldest = std::ranges::min_element(slices_, {}, [&](const auto& entry) {
      return entry.second.slice == stays_ ? UINT64_MAX : entry.second.used;
    });
    bytes -= oldest->second.slice->memory_bytes();
    slices_.erase(oldest);
  }
}

SliceShare::SliceShare(std::shared_ptr<SliceStore> store, size_t bytes)
    : store_(std::move(store)), bytes_(bytes) {
  std::lock_guard lock(store_->mutex_);
  store_->shares_.push_back(bytes_);
  store_->SetMost(std::ranges::max(store_->shares_));
}

// The last one leaves its bound behind for whoever comes next.
SliceShare::~SliceShare() {
  std::lock_guard lock(store_->mutex_);
  store_->shares_.erase(std::ranges::find(store_->shares_, bytes_));
  if (store_->shares_.empty()) return;
  store_->SetMost(std::ranges::max(store_->shares_));
}

size_t SliceStore::slice_bytes() {
  std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& [key, kept] : slices_) bytes += kept.slice->memory_bytes();
  return bytes;
}

size_t SliceStore::memory_bytes() {
  size_t bytes = slice_bytes() + tries_.memory_bytes() + leaving_.memory_bytes();
  std::lock_guard lock(mutex_);
  for (const auto& [key, kept] : slices_) bytes += key.size();
  for (const auto& [text, automaton] : automata_) bytes += text.size() + automaton.size() + 64;
  return bytes;
}

}  // namespace grammask::internal
