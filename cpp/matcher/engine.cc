// Generations of shared tables.
//
// The rule is RE2's: a cache over its budget is thrown away whole and refills with what is in use.
// A compiler's tables are one generation; over the budget the hub starts an empty one, grammars are
// built into it when they are next used, and matchers notice by one atomic read and replay their
// output there. That costs an output milliseconds at once, so a generation mostly ends where a
// grammar is compiled, and an output goes on in it up to an eighth over the budget. Memory is thus
// bounded by the budget and what running matchers hold, on any input, and no lookup pays for it.
// Tests: tests/matcher/budget_test.cc.
#include "matcher/engine.h"

#include <algorithm>

#include "automaton/build.h"
#include "base/huge_pages.h"
#include "base/own_code.h"
#include "matcher/saved_grammar.h"

namespace grammask::internal {
namespace {

constexpr size_t kSlack = 8;  // the part of a budget by which outputs may go over it

}  // namespace

Status OverrunError(TermStore::Overrun what) {
  if (what == TermStore::Overrun::kSteps) {
    return ResourceExhausted(
        "the mask at this place of the text takes more than limits.max_mask_steps steps; use fewer "
        "or simpler patterns, with no counts inside one another such as (a{2,9}b){3,9}, or raise "
        "the limit");
  }
  if (what == TermStore::Overrun::kStates) {
    return ResourceExhausted(
        "at this place of the text it takes more than limits.max_mask_states states to decide "
        "whether patterns, lengths and exclusions (pattern, maxLength, not, allOf) clash; use "
        "fewer or simpler ones, or raise the limit");
  }
  return ResourceExhausted(
      "the mask at this place of the text takes more than limits.max_mask_bytes of automaton "
      "states; use patterns with fewer or smaller counts such as {2,63}, or raise the limit");
}

size_t Engine::memory_bytes() {
  std::lock_guard lock(terms.mutex());
  return terms.memory_bytes() + sets.memory_bytes() + masks.memory_bytes();
}

size_t Engine::term_count() {
  std::lock_guard lock(terms.mutex());
  return terms.size();
}

EngineHub::EngineHub(std::shared_ptr<const Vocab> vocab, const Limits& limits)
    : vocab_(std::move(vocab)),
      limits_(limits),
      slices_(SliceStore::Of(*vocab_), limits.arena_bytes / 4),
      current_(NewEngine(0)) {
  // Nearly every grammar has JSON strings, and their slice takes milliseconds: so no request waits
  // for it, and only the vocabulary's first compiler makes it.
  slices_.store()->MakeJsonStrings(*vocab_);
  // Nor for the memory of tables: what a generation has of them when it ends, with some to grow.
  ReserveTables(limits.arena_bytes / 16 * 9);
  MapOwnCode();
}

// Not make_shared: grammars hold weak pointers, which would keep the memory of the object.
std::shared_ptr<Engine> EngineHub::NewEngine(uint64_t generation) const {
  return std::shared_ptr<Engine>(new Engine(vocab_, limits_, slices_.store(), generation));
}

std::shared_ptr<Engine> EngineHub::Current() {
  std::lock_guard lock(mutex_);
  return current_;
}

void EngineHub::CheckBudget(Engine& engine, bool outputs) {
  if (engine.generation != generation()) return;
  size_t budget = engine.budget.load(std::memory_order_relaxed);
  if (outputs) budget += budget / kSlack;
  if (engine.overrun() || engine.memory_bytes() > budget) return StartNext(engine);
  std::lock_guard lock(engine.terms.mutex());
  engine.terms.AllowGrowth();
}

void EngineHub::Replace(Engine& engine) {
  if (engine.generation == generation()) StartNext(engine);
}

std::shared_ptr<Engine> EngineHub::Alone() const {
  auto engine = NewEngine(generation_.load(std::memory_order_acquire));
  engine->Retire();
  return engine;
}

void EngineHub::StartNext(Engine& engine) {
  std::lock_guard lock(mutex_);
  if (current_.get() != &engine) return;
  const uint64_t next = engine.generation + 1;
  current_ = NewEngine(next);
  generation_.store(next, std::memory_order_release);
  engine.Retire();
}

}  // namespace grammask::internal

namespace grammask {

StatusOr<internal::Placed> CompiledGrammar::Impl::Place() {
  std::lock_guard lock(mutex_);
  if (last_.has_value()) {
    std::shared_ptr<internal::Engine> engine = last_->engine.lock();
    if (engine != nullptr && engine->generation == hub->generation() && !engine->overrun()) {
      return internal::Placed{std::move(engine), last_->root, last_->start};
    }
  }
  for (int tries = 0; tries < internal::kSharedTries; ++tries) {
    std::shared_ptr<internal::Engine> engine = hub->Current();
    const bool before = engine->overrun();
    auto placed = PlaceIn(engine);
    if (!engine->overrun()) return placed;
    const bool by_this = !before && engine->terms.overrun_by_this_thread();
    hub->Replace(*engine);
    if (by_this) return internal::OverrunError(engine->terms.overrun_by());
  }
  return PlaceIn(hub->Alone());
}

StatusOr<internal::Placed> CompiledGrammar::Impl::PlaceAlone() {
  std::lock_guard lock(mutex_);
  return PlaceIn(hub->Alone());
}

StatusOr<internal::Placed> CompiledGrammar::Impl::PlaceIn(
    const std::shared_ptr<internal::Engine>& engine) {
  const size_t before = engine->term_count();
  auto root = saved_ != nullptr ? saved_->Place(engine.get())
                                : internal::BuildTerms(*grammar_->grammar(), &engine->terms);
  if (!root.ok()) return root.status();
  if (own_bytes == 0) {
    constexpr size_t kBytesPerTerm = sizeof(internal::Term) + 64;
    own_bytes = sizeof(*this) +
                (saved_ != nullptr ? saved_->bytes() : grammar_->grammar()->memory_bytes()) +
                (engine->term_count() - before) * kBytesPerTerm;
    table_bytes = (engine->term_count() - before) * kBytesPerTerm;
  }
  const internal::SetId start = engine->sets.Start(*root);
  if (!engine->retired()) last_ = {engine, *root, start};
  return internal::Placed{engine, *root, start};
}

Grammar CompiledGrammar::Impl::grammar() {
  std::lock_guard lock(mutex_);
  if (!grammar_.has_value()) grammar_ = saved_->grammar(hub->limits());
  return *grammar_;
}

std::span<const SchemaWarning> CompiledGrammar::Impl::warnings() const {
  return saved_ != nullptr ? saved_->warnings() : grammar_->warnings();
}

}  // namespace grammask
