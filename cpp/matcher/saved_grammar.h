// A compiled grammar as bytes.
#ifndef GRAMMASK_MATCHER_SAVED_GRAMMAR_H_
#define GRAMMASK_MATCHER_SAVED_GRAMMAR_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "grammask/grammask.h"
#include "matcher/engine.h"

namespace grammask::internal {

// The bytes of a saved grammar, whose frame is sound. Kept as long as the grammar, which is placed
// from them in every generation of tables. Immutable, thread-safe.
class SavedGrammar {
 public:
  static StatusOr<std::shared_ptr<const SavedGrammar>> Read(std::string_view bytes, bool trusted,
                                                            const Vocab& vocab,
                                                            const Limits& limits);

  // Its states, and where it is trusted their masks, into the tables of `engine`; gives the root.
  StatusOr<TermId> Place(Engine* engine) const;
  // From its text; the grammar of no text where that is none, as only a forged file has it.
  grammask::Grammar grammar(const Limits& limits) const;
  std::span<const SchemaWarning> warnings() const { return warnings_; }
  size_t bytes() const { return bytes_->size(); }

 private:
  SavedGrammar() = default;

  std::shared_ptr<const std::string> bytes_;  // what is behind the header
  bool trusted_ = false;
  uint64_t checksum_ = 0;                         // of the whole file
  std::string_view packed_text_, terms_, masks_;  // parts of it
  std::vector<SchemaWarning> warnings_;
};

// The checksum of a file of at least 64 bytes: of all but the eight bytes that hold it.
inline constexpr size_t kSavedChecksumAt = 56;
uint64_t SavedChecksum(std::string_view bytes);

// Reads `bytes` and places the grammar in the tables of `hub`.
StatusOr<CompiledGrammar> LoadGrammar(std::string_view bytes, bool trusted,
                                      const TokenizerInfo& tokenizer,
                                      std::shared_ptr<EngineHub> hub);

}  // namespace grammask::internal

#endif  // GRAMMASK_MATCHER_SAVED_GRAMMAR_H_
