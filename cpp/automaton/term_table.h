// Ids of terms by the hashes of their contents.
#ifndef GRAMMASK_AUTOMATON_TERM_TABLE_H_
#define GRAMMASK_AUTOMATON_TERM_TABLE_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace grammask::internal {

// Open addressing, in shards by a hash's highest bits, as one table of a million terms takes
// milliseconds to grow. The caller probes: see TermStore::Intern. Not thread-safe.
class TermTable {
 public:
  struct Shard {
    uint64_t* slots = nullptr;  // hash << 32 | id, 0 is free; linear probing from hash & (size - 1)
    size_t size = 0;            // 0 or a power of two
    size_t used = 0;
  };

  TermTable() = default;
  TermTable(const TermTable&) = delete;
  TermTable& operator=(const TermTable&) = delete;
  ~TermTable();

  // The shard of a hash, with room for one entry more.
  Shard& ShardFor(uint32_t hash) {
    const uint32_t index = hash >> (32 - kShardBits);
    Shard& shard = shards_[index];
    // Each shard grows at a load of its own, from 0.3 to 0.6, so that they never do it all at once.
    if (64 * shard.used >= shard.size * (19 + (index * 19 >> kShardBits))) Grow(index);
    return shard;
  }
  // Asks for the memory in which a search for `hash` begins.
  void Prefetch(uint32_t hash) const {
    const Shard& shard = shards_[hash >> (32 - kShardBits)];
    if (shard.size > 0) __builtin_prefetch(shard.slots + (hash & (shard.size - 1)));
  }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr int kShardBits = 6;
  static constexpr size_t kShards = size_t{1} << kShardBits;
  static constexpr size_t kFirstSlots = 64;
  static constexpr int kLevels = 26;
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  // What shards of one size share; nothing where each has memory of its own.
  struct Level {
    std::unique_ptr<uint64_t, Free> block;
    size_t users = 0;
  };

  static int LevelOf(size_t size) { return std::countr_zero(size / kFirstSlots); }
  uint64_t* Take(uint32_t index, size_t size);
  void Release(const Shard& shard);
  void Grow(uint32_t index);

  std::array<Shard, kShards> shards_;
  std::array<Level, kLevels> levels_;
  size_t bytes_ = 0;  // of all shards
};

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_TERM_TABLE_H_
