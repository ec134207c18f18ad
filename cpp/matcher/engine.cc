// Generations of shared tables.
//
// The rule is RE2's: a cache over its budget is thrown away whole and refills with what is in use.
// A compiler's tables are one generation; over the budget the hub starts an empty one, into which
// grammars are built when they are next used. An output that has begun ends in the generation
// before: to move it must be read again, which takes milliseconds at once, and every output at hand
// would do so in the same step. Once both together are an eighth over the budget, matchers
// move as each comes to look, every 64 tokens; once they are a quarter over it, or there is another
// generation, all do, which they notice by one atomic read. A generation mostly ends where a
// grammar is compiled, and where an output adds to it only a sixteenth later. Memory is thus
// bounded by the budget and what running matchers hold, on any input, and no lookup pays for it.
// Tests: tests/matcher/budget_test.cc.
#include "matcher/engine.h"

#include <algorithm>

#include "automaton/build.h"
#include "base/block_reserve.h"
#include "base/huge_pages.h"
#include "base/own_code.h"
#include "grammar/regex_chars.h"
#include "grammar/rule_loops.h"
#include "matcher/saved_grammar.h"

namespace grammask::internal {
namespace {

// The sixteenths of a budget by which tables may be over it: those of the current generation before
// what an output adds ends it; those of two before outputs leave the older one one by one, or all.
constexpr size_t kOutput = 1, kLeave = 2, kLeaveAtOnce = 4;

}  // namespace

Status OverrunError(TermStore::Overrun what) {
  if (what == TermStore::Overrun::kSteps) {
    return ResourceExhausted(
        "the mask at this place of the text takes more than limits.max_mask_steps steps; use fewer "
        "or simpler patterns, with no counts inside one another such as (a{2,9}b){3,9}, and rules "
        "by which a text is read in few ways only, or raise the limit");
  }
  if (what == TermStore::Overrun::kStates) {
    return ResourceExhausted(
        "at this place of the text it takes more than limits.max_mask_states states to decide "
        "whether patterns, lengths and exclusions (pattern, maxLength, not, allOf) clash; use "
        "fewer or simpler ones, or raise the limit");
  }
  return ResourceExhausted(
      "the mask at this place of the text takes more than limits.max_mask_bytes of automaton "
      "states and sets of them; use patterns with fewer or smaller counts such as {2,63}, or raise "
      "the limit");
}

size_t Engine::memory_bytes() {
  std::lock_guard lock(terms.mutex());
  return terms.memory_bytes() + sets.memory_bytes() + masks.memory_bytes();
}

size_t Engine::GrownSince(size_t before) {
  const size_t bytes = memory_bytes();
  return bytes - std::min(bytes, before);
}

void Engine::MakeRoomFor(size_t bytes) {
  const size_t least = empty_bytes + bytes + bytes / 8;
  for (size_t known = budget; known < least;) {
    if (budget.compare_exchange_weak(known, least)) break;
  }
}

size_t Engine::term_count() {
  std::lock_guard lock(terms.mutex());
  return terms.size();
}

EngineHub::EngineHub(std::shared_ptr<const Vocab> vocab, const Limits& limits)
    : vocab_(std::move(vocab)),
      limits_(limits),
      slices_(SliceStore::Of(*vocab_), limits.arena_bytes / 4) {
  // No request waits for the memory of tables: what a generation has of them when it ends, with
  // some to grow, and the greater part of what its arenas have. First of all, so that what this
  // thread works in (base/scratch.h) is of it.
  ReserveTables(limits.arena_bytes / 16 * 9);
  ReserveBlocks(limits.arena_bytes / 2);
  MapOwnCode();
  current_ = NewEngine(0);
  // Nor for the slice of JSON strings, which nearly every grammar has, and that of `.`, which
  // patterns have more than any other class: they take milliseconds, and only the vocabulary's
  // first compiler makes them.
  slices_.store()->MakeJsonStrings(*vocab_, RegexLineEnds().Complement());
}

// Not make_shared: grammars hold weak pointers, which would keep the memory of the object.
std::shared_ptr<Engine> EngineHub::NewEngine(uint64_t generation) const {
  return std::shared_ptr<Engine>(new Engine(vocab_, limits_, slices_.store(), generation));
}

std::shared_ptr<Engine> EngineHub::Current() {
  std::lock_guard lock(mutex_);
  return current_;
}

bool EngineHub::CheckBudget(Engine& engine, bool output) {
  if (engine.generation == generation()) {
    size_t budget = engine.budget.load(std::memory_order_relaxed);
    if (output) budget += budget / 16 * kOutput;
    if (engine.overrun() || engine.memory_bytes() > budget) StartNext(engine, engine.overrun());
  }
  std::shared_ptr<Engine> before, current;
  {
    std::lock_guard lock(mutex_);
    before = before_.lock();
    current = current_;
  }
  bool leave = false;  // the one before
  if (before != nullptr) {
    const size_t budget = std::max(before->budget.load(std::memory_order_relaxed),
                                   current->budget.load(std::memory_order_relaxed));
    const size_t both = before->memory_bytes() + current->memory_bytes() - current->empty_bytes;
    leave = both > budget + budget / 16 * kLeave;
    if (both > budget + budget / 16 * kLeaveAtOnce) before->Retire();
  }
  {
    std::lock_guard lock(engine.terms.mutex());
    engine.terms.AllowGrowth();
  }
  return engine.retired() || (leave && &engine == before.get());
}

void EngineHub::Replace(Engine& engine) {
  if (engine.generation == generation()) {
    StartNext(engine, /*at_once=*/true);
  } else {
    engine.Retire();
  }
}

std::shared_ptr<Engine> EngineHub::Alone() const {
  auto engine = NewEngine(generation_.load(std::memory_order_acquire));
  engine->Retire();
  return engine;
}

void EngineHub::StartNext(Engine& engine, bool at_once) {
  std::lock_guard lock(mutex_);
  if (current_.get() != &engine) return;
  if (const auto before = before_.lock()) before->Retire();
  before_ = current_;
  if (at_once) engine.Retire();
  const uint64_t next = engine.generation + 1;
  current_ = NewEngine(next);
  generation_.store(next, std::memory_order_release);
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

Status CompiledGrammar::Impl::PlaceWithFirstMask() {
  GM_ASSIGN_OR_RETURN(const internal::Placed placed, Place());
  internal::Engine& engine = *placed.engine;
  const size_t before = engine.memory_bytes();
  engine.masks.OfSet(placed.start);
  if (engine.overrun()) [[unlikely]]
    hub->Replace(engine);
  // A mask over the budget would be thrown away when the first output comes, and made again.
  const size_t added = placed.added + engine.GrownSince(before);
  if (added >= internal::kLargeGrammar) engine.MakeRoomFor(added);
  return {};
}

StatusOr<internal::Placed> CompiledGrammar::Impl::PlaceAlone() {
  std::lock_guard lock(mutex_);
  return PlaceIn(hub->Alone());
}

StatusOr<internal::Placed> CompiledGrammar::Impl::PlaceIn(
    const std::shared_ptr<internal::Engine>& engine) {
  const size_t before = engine->term_count(), bytes_before = engine->memory_bytes();
  auto build = [&] {
    return internal::BuildTerms(internal::RulesToLoops(*grammar_->grammar(), hub->limits()),
                                &engine->terms);
  };
  auto root = saved_ != nullptr ? saved_->Place(engine.get()) : build();
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
  size_t added = engine->GrownSince(bytes_before);
  if (added < internal::kLargeGrammar) added = 0;
  engine->MakeRoomFor(added);
  return internal::Placed{engine, *root, start, added};
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
