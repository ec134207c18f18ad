// Generations of shared tables.
//
// The rule is RE2's: a cache over its budget is thrown away whole and refills with what is in use.
// A compiler's tables are one generation; over the budget the hub starts an empty one, grammars are
// built into it when they are next used, and matchers notice by one atomic read and replay their
// output there. So memory is bounded by the budget and what running matchers hold, on any input,
// and no lookup pays for it. Tests: tests/matcher/budget_test.cc.
#include "matcher/engine.h"

#include <algorithm>

#include "automaton/build.h"

namespace grammask::internal {

size_t Engine::memory_bytes() {
  std::lock_guard lock(terms.mutex());
  return terms.memory_bytes() + sets.memory_bytes() + masks.memory_bytes();
}

EngineHub::EngineHub(std::shared_ptr<const Vocab> vocab, const Limits& limits)
    : vocab_(std::move(vocab)),
      limits_(limits),
      slices_(std::make_shared<SliceStore>()),
      current_(std::make_shared<Engine>(vocab_, limits, slices_, 0)) {}

std::shared_ptr<Engine> EngineHub::Current() {
  std::lock_guard lock(mutex_);
  return current_;
}

void EngineHub::CheckBudget(Engine& engine) {
  if (engine.generation != generation()) return;
  if (engine.memory_bytes() <= engine.budget.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(mutex_);
  if (current_.get() != &engine) return;
  const uint64_t next = engine.generation + 1;
  current_ = std::make_shared<Engine>(vocab_, limits_, slices_, next);
  generation_.store(next, std::memory_order_release);
}

}  // namespace grammask::internal

namespace grammask {

StatusOr<std::shared_ptr<const internal::Placed>> CompiledGrammar::Impl::Place() {
  std::lock_guard lock(mutex_);
  if (placed_ != nullptr && placed_->engine->generation == hub->generation()) return placed_;
  std::shared_ptr<internal::Engine> engine = hub->Current();
  const size_t before = engine->terms.size();
  auto root = internal::BuildTerms(*grammar.grammar(), &engine->terms);
  if (!root.ok()) return root.status();
  if (own_bytes == 0) {
    constexpr size_t kBytesPerTerm = sizeof(internal::Term) + 64;
    own_bytes = sizeof(*this) + grammar.grammar()->memory_bytes() +
                (engine->terms.size() - before) * kBytesPerTerm;
  }
  auto placed = std::make_shared<internal::Placed>();
  placed->root = *root;
  placed->start = engine->sets.Start(*root);
  placed->engine = std::move(engine);
  placed_ = std::move(placed);
  return placed_;
}

}  // namespace grammask
