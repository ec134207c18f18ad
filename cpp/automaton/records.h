// Makes the terms of records, and keeps what is known of large ones.
#ifndef GRAMMASK_AUTOMATON_RECORDS_H_
#define GRAMMASK_AUTOMATON_RECORDS_H_

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "automaton/body_program.h"
#include "automaton/term_store.h"

namespace grammask::internal {

class RecordMaker;

// The records of one store, whose lock must be held.
class RecordTable {
 public:
  explicit RecordTable(TermStore* store);
  ~RecordTable();
  RecordTable(const RecordTable&) = delete;
  RecordTable& operator=(const RecordTable&) = delete;

  // The term of a record as it stands in `words`, behind the step's first word (body_program.h),
  // with its terms, local ones too, in `terms`; or that of a part of it. `proc` is the procedure
  // whose body the record is. `words` must live as long as the store.
  TermId Make(std::span<const TermId> terms, std::span<const uint32_t> words, ProcId proc,
              std::optional<RecordPartPlace> part);
  // The term of a part of the record that `proc` is; nullopt where that has to be made first.
  std::optional<TermId> MakePart(ProcId proc, const RecordPartPlace& part);

 private:
  TermStore& s_;
  // Of records of many parts: each would go through all members anew, for what they need at least.
  absl::flat_hash_map<uint32_t, std::unique_ptr<RecordMaker>> large_;  // by procedure
};

}  // namespace grammask::internal

#endif  // GRAMMASK_AUTOMATON_RECORDS_H_
