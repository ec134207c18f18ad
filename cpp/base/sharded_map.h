// A hash map that never grows as a whole.
#ifndef GRAMMASK_BASE_SHARDED_MAP_H_
#define GRAMMASK_BASE_SHARDED_MAP_H_

#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/arena.h"
#include "base/mix.h"
#include "base/tables.h"

namespace grammask::internal {

// For tables that live as long as a compiler's states and are added to in the midst of a mask. When
// an ordinary hash map grows, it moves all that it holds in one go, and where keys are texts hashes
// each of them anew, which reads memory all over: of 14,000 lists of tokens that took over a
// millisecond. Here keys are in one of a few maps by their hash, each grows by itself, and the hash
// is kept beside the key. As long as there are few, they are in the first: in a new compiler whose
// tables are in no cache, sixteen begun maps would be as many places more to fetch. What Find() and
// others give is good until something is added. Not thread-safe.
template <class Key, class Value, class Hash = absl::Hash<Key>>
class ShardedMap {
 public:
  Value* Find(const Key& key) { return FindIn(*this, key); }
  const Value* Find(const Key& key) const { return FindIn(*this, key); }
  bool Contains(const Key& key) const { return Find(key) != nullptr; }

  // The value of a key, and whether it is new: then it is made of `args`.
  template <class... Args>
  std::pair<Value*, bool> TryEmplace(const Key& key, Args&&... args) {
    return TryEmplaceAs(key, [&]() -> const Key& { return key; }, std::forward<Args>(args)...);
  }
  // The same for a key that only refers to what it is: keep() gives an equal one that stays, and is
  // called where it is new.
  template <class Keep, class... Args>
  std::pair<Value*, bool> TryEmplaceAs(const Key& key, Keep&& keep, Args&&... args) {
    const Probe probe = {key, HashOf(key)};
    bool added = false;
    Shard& shard = shards_[ShardOf(probe.hash)];
    if (shard.empty()) shard.reserve(kBegun);
    const auto it = shard.lazy_emplace(probe, [&](const auto& make) {
      added = true;
      make(keep(), probe.hash, Value(std::forward<Args>(args)...));
    });
    if (added && ++size_ == kFew) {
      Split();
      return {&shards_[ShardOf(probe.hash)].find(probe)->value, true};
    }
    return {&it->value, added};
  }
  Value& operator[](const Key& key) { return *TryEmplace(key).first; }

  size_t size() const { return size_; }
  void Clear() {
    for (Shard& shard : shards_) shard.clear();
    size_ = 0;
    split_ = false;
  }

 private:
  struct Entry {
    Entry(const Key& k, uint32_t h, Value&& v) : key(k), hash(h), value(std::move(v)) {}
    Key key;
    uint32_t hash;
    mutable Value value;  // no part of what is hashed and compared
  };
  struct Probe {
    const Key& key;
    uint32_t hash;
  };
  struct StoredHash {
    using is_transparent = void;
    template <class T>
    size_t operator()(const T& entry) const {
      return entry.hash;
    }
  };
  struct Same {
    using is_transparent = void;
    template <class T, class U>
    bool operator()(const T& x, const U& y) const {
      return x.hash == y.hash && x.key == y.key;
    }
  };
  using Shard = absl::flat_hash_set<Entry, StoredHash, Same, TableAllocator<Entry>>;
  static constexpr int kShardBits = 4;
  static constexpr size_t kBegun = 14;  // entries that a map has room for from the first on
  static constexpr size_t kFew = 224;   // entries with which the first shard is left: moved in 2 us

  static uint32_t HashOf(const Key& key) {
    const uint64_t hash = Hash()(key);
    return static_cast<uint32_t>(hash ^ hash >> 32);
  }
  // By the bits that a shard uses last.
  size_t ShardOf(uint32_t hash) const { return split_ ? hash >> (32 - kShardBits) : 0; }
  void Split() {
    split_ = true;
    Shard few;
    few.swap(shards_[0]);
    for (Shard& shard : shards_) shard.reserve(2 * kFew >> kShardBits);
    for (auto next = few.begin(); next != few.end();) {
      auto entry = few.extract(next++);
      shards_[ShardOf(entry.value().hash)].insert(std::move(entry));
    }
  }
  template <class Self>
  static auto FindIn(Self& self, const Key& key) -> decltype(&self.shards_[0].begin()->value) {
    const Probe probe = {key, HashOf(key)};
    const auto& shard = self.shards_[self.ShardOf(probe.hash)];
    const auto it = shard.find(probe);
    return it == shard.end() ? nullptr : &it->value;
  }

  std::array<Shard, size_t{1} << kShardBits> shards_;
  size_t size_ = 0;
  bool split_ = false;  // whether entries are in other shards than the first
};

// In a map by the bytes of some values, the value of these, and whether they are new: then they are
// copied into `memory`, and `stored` is the copy.
template <class T, class Value>
struct KeptValues {
  std::span<const T> stored;
  Value* value;
  bool added;
};
template <class T, class Value>
KeptValues<T, Value> KeepIn(BumpArena* memory, std::span<const T> values,
                            ShardedMap<std::string_view, Value, TextHash>* map) {
  std::span<const T> stored;
  auto keep = [&] {
    stored = memory->Copy(values);
    return BytesOf(stored);
  };
  const auto [value, added] = map->TryEmplaceAs(BytesOf(values), keep);
  return {stored, value, added};
}

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_SHARDED_MAP_H_
