// Ids by the hashes of what they stand for, near those of the same time.
#ifndef GRAMMASK_BASE_ID_TABLE_H_
#define GRAMMASK_BASE_ID_TABLE_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/arena.h"
#include "base/tables.h"

namespace grammask::internal {

// What an id stands for is the caller's matter, and so is its *time*: a number that depends on the
// content alone and grows from 0, such as the newest id among what the content is made of. Ids are
// above 0. Not thread-safe.
class IdTable {
 public:
  // Where an id that was not found goes.
  class Place {
   private:
    friend class IdTable;
    uint64_t* slot;
    uint32_t shard;  // kNear, or which one has a slot more in use
  };

  IdTable() = default;
  IdTable(const IdTable&) = delete;
  IdTable& operator=(const IdTable&) = delete;
  ~IdTable();

  // The id put with this time and hash for which same(id) holds; where there is none, `place` is
  // for Put(). A time that is kTimeless says nothing, as where the content is made of no ids.
  static constexpr uint32_t kTimeless = UINT32_MAX;
  template <class Same>
  std::optional<uint32_t> Find(uint32_t time, uint32_t hash, Same&& same, Place* place) {
    if (time != kTimeless) {
      // Through the line from where the hash says.
      uint64_t* const line = LineFor(time, hash);
      for (uint32_t i = hash >> 24, end = i + kLine; i != end; ++i) {
        uint64_t* const slot = line + i % kLine;
        if (*slot == 0) {
          place->slot = slot;
          place->shard = kNear;
          return std::nullopt;
        }
        if (*slot >> 32 == hash && same(static_cast<uint32_t>(*slot))) {
          return static_cast<uint32_t>(*slot);
        }
      }
    }
    place->shard = hash >> (32 - kShardBits);
    const Shard& shard = ShardWithRoom(place->shard);
    const size_t mask = shard.size - 1;
    size_t at = hash & mask;
    for (; shard.slots[at] != 0; at = (at + 1) & mask) {
      const uint64_t entry = shard.slots[at];
      if (entry >> 32 == hash && same(static_cast<uint32_t>(entry))) {
        return static_cast<uint32_t>(entry);
      }
    }
    place->slot = shard.slots + at;
    return std::nullopt;
  }
  // Nothing may have been looked for since Find() gave `place`.
  void Put(const Place& place, uint32_t hash, uint32_t id) {
    *place.slot = uint64_t{hash} << 32 | id;
    if (place.shard != kNear) ++shards_[place.shard].used;
  }

  size_t bytes() const {
    return bytes_ + lines_.bytes() + lines_of_.capacity() * sizeof(lines_of_[0]);
  }

 private:
  // A slot is hash << 32 | id, 0 is free.
  struct Shard {
    uint64_t* slots = nullptr;  // linear probing from hash & (size - 1)
    size_t size = 0;            // 0 or a power of two
    size_t used = 0;
  };
  static constexpr int kShardBits = 6;
  static constexpr size_t kShards = size_t{1} << kShardBits;
  static constexpr uint32_t kNear = kShards;
  static constexpr size_t kFirstSlots = 64;
  static constexpr int kLevels = 26;
  // What shards of one size share; nothing where each has memory of its own.
  struct Level {
    uint64_t* block = nullptr;
    size_t users = 0;
  };
  // The ids of so many times in a row are in so many lines of the cache, as long as these have
  // room.
  static constexpr uint32_t kTimes = 64, kLines = 16, kLine = kTableAlign / sizeof(uint64_t);
  struct alignas(kTableAlign) Line {
    uint64_t slots[kLine] = {};
  };

  uint64_t* LineFor(uint32_t time, uint32_t hash) {
    const size_t stretch = time / kTimes;
    if (stretch >= lines_of_.size()) lines_of_.resize(stretch + 1);
    uint32_t& first = lines_of_[stretch];
    if (first == 0) {
      first = static_cast<uint32_t>(lines_.size()) + 1;
      for (size_t i = 0; i < kLines; ++i) lines_.Append();
    }
    return lines_[first - 1 + (hash ^ hash >> 12) % kLines].slots;
  }
  Shard& ShardWithRoom(uint32_t index) {
    Shard& shard = shards_[index];
    // Each shard grows at a load of its own, from 0.3 to 0.6, so that they never do it all at once.
    if (64 * shard.used >= shard.size * (19 + (index * 19 >> kShardBits))) Grow(index);
    return shard;
  }
  static int LevelOf(size_t size) { return std::countr_zero(size / kFirstSlots); }
  uint64_t* Take(uint32_t index, size_t size);
  void Release(const Shard& shard);
  void Grow(uint32_t index);

  StableVector<Line, 6> lines_;
  std::vector<uint32_t> lines_of_;  // by stretch of kTimes: 1 + its first line, or 0
  std::array<Shard, kShards> shards_;
  std::array<Level, kLevels> levels_;
  size_t bytes_ = 0;  // of all shards
};

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_ID_TABLE_H_
