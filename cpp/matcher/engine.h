// What the grammars of one compiler share: automaton states, parser sets and masks; and how that is
// kept within its budget.
#ifndef GRAMMASK_MATCHER_ENGINE_H_
#define GRAMMASK_MATCHER_ENGINE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "automaton/term_store.h"
#include "grammar/ast.h"
#include "grammask/grammask.h"
#include "grammask/limits.h"
#include "mask/mask_cache.h"
#include "parser/set_table.h"
#include "vocab/vocab.h"

namespace grammask::internal {

// One generation of shared tables. Everything in it only grows; when it is over its budget the hub
// starts the next generation, and this one goes with its last matcher. Thread-safe.
struct Engine {
  Engine(std::shared_ptr<const Vocab> vocabulary, const Limits& limits,
         std::shared_ptr<SliceStore> slices, uint64_t generation_number)
      : vocab(std::move(vocabulary)),
        generation(generation_number),
        budget(limits.arena_bytes),
        terms(limits, vocab->max_token_bytes()),
        sets(&terms),
        masks(vocab, &sets, std::move(slices)),
        empty_bytes(memory_bytes()) {
    budget += empty_bytes;  // they are not the input's
  }

  size_t memory_bytes();
  // What memory_bytes() is over `before`.
  size_t GrownSince(size_t before);
  size_t term_count();
  // A grammar that takes so much more than the budget would take it in the next generation, too:
  // it alone is not too much, with an eighth for its masks.
  void MakeRoomFor(size_t bytes);
  // Whether what is read from the tables since is not to be relied on: see TermStore::Overrun.
  bool overrun() const { return terms.overrun(); }
  // Whether matchers are to leave it at once, for a newer generation: one atomic read.
  bool retired() const { return retired_.load(std::memory_order_acquire); }
  void Retire() { retired_.store(true, std::memory_order_release); }

  const std::shared_ptr<const Vocab> vocab;
  const uint64_t generation;
  std::atomic<size_t> budget;  // grows when what is in use alone needs more
  TermStore terms;
  SetTable sets;
  MaskCache masks;
  const size_t empty_bytes;  // memory_bytes() before anything was added

 private:
  std::atomic<bool> retired_ = false;
};

// A grammar that takes fewer bytes is built again in a few milliseconds.
inline constexpr size_t kLargeGrammar = size_t{1} << 20;

// Tables that others overran in the midst of one's work are left so many times for those that all
// share, then for some of one's own.
inline constexpr int kSharedTries = 3;

// What a text asked too much of, kResourceExhausted.
Status OverrunError(TermStore::Overrun what);

// The current generation, and the one before, in which outputs may end that have begun there.
// Thread-safe.
class EngineHub {
 public:
  EngineHub(std::shared_ptr<const Vocab> vocab, const Limits& limits);

  std::shared_ptr<Engine> Current();
  // The number of the current generation: one atomic read, to see whether to move on.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  // For what is compiled next: starts a new generation where the current one is over its budget.
  void CheckBudget() { CheckBudget(*Current(), false); }
  // For an output in `engine`: starts one where it is over the budget by some more. Whether that
  // output should move to the current one.
  bool CheckBudgetFor(Engine& engine) { return CheckBudget(engine, true); }
  // No matcher stays in `engine`, whose tables are overrun; nor does anything new go there.
  void Replace(Engine& engine);
  // Tables for one grammar or text alone, where others keep overrunning those that are shared. They
  // are retired, so that what is in them moves on when it is next used.
  std::shared_ptr<Engine> Alone() const;
  const Limits& limits() const { return limits_; }

 private:
  bool CheckBudget(Engine& engine, bool output);
  // Where `engine` is the current one. `at_once`: outputs must not end in it.
  void StartNext(Engine& engine, bool at_once);
  std::shared_ptr<Engine> NewEngine(uint64_t generation) const;

  const std::shared_ptr<const Vocab> vocab_;
  const Limits limits_;
  const SliceShare slices_;
  std::mutex mutex_;
  std::shared_ptr<Engine> current_;
  std::weak_ptr<Engine> before_;  // the one before
  std::atomic<uint64_t> generation_ = 0;
};

class SavedGrammar;

// A grammar within one generation, which lives as long as this.
struct Placed {
  std::shared_ptr<Engine> engine;
  TermId root;
  SetId start;
  size_t added = 0;  // bytes that placing it took, of a large one that was not there
};

}  // namespace grammask::internal

namespace grammask {

struct CompiledGrammar::Impl {
  Impl(Grammar g, TokenizerInfo t, std::shared_ptr<internal::EngineHub> h)
      : tokenizer(std::move(t)), hub(std::move(h)), grammar_(std::move(g)) {}
  Impl(std::shared_ptr<const internal::SavedGrammar> s, TokenizerInfo t,
       std::shared_ptr<internal::EngineHub> h)
      : tokenizer(std::move(t)), hub(std::move(h)), saved_(std::move(s)) {}

  // Places the grammar in the current generation, unless it is there already. Tables that are
  // overrun are replaced.
  StatusOr<internal::Placed> Place();
  // Also makes the mask that outputs begin with: engines compile beside their steps, and fill masks
  // within them. One that asks too much is an error only where it is asked for, as an output may
  // begin with a text that leads past it.
  Status PlaceWithFirstMask();
  // Places it in tables of its own (EngineHub::Alone).
  StatusOr<internal::Placed> PlaceAlone();
  // Read from its text when it is first asked for, where this was loaded.
  Grammar grammar();
  std::span<const SchemaWarning> warnings() const;

  const TokenizerInfo tokenizer;
  const std::shared_ptr<internal::EngineHub> hub;
  double seconds = 0;
  size_t own_bytes = 0;    // what placing it added to the tables, about, and the grammar itself
  size_t table_bytes = 0;  // the former alone
  // What this holds by itself, the tables aside.
  size_t kept_bytes() const { return own_bytes - table_bytes; }

 private:
  // Only matchers keep an old generation alive, not grammars that wait in a cache.
  struct LastPlace {
    std::weak_ptr<internal::Engine> engine;
    internal::TermId root;
    internal::SetId start;
  };
  StatusOr<internal::Placed> PlaceIn(const std::shared_ptr<internal::Engine>& engine);

  std::mutex mutex_;
  std::optional<LastPlace> last_;
  const std::shared_ptr<const internal::SavedGrammar> saved_;  // what it is placed from, or null
  std::optional<Grammar> grammar_;                             // always set where saved_ is null
};

}  // namespace grammask

#endif  // GRAMMASK_MATCHER_ENGINE_H_
