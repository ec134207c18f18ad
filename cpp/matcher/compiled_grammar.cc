// What can be asked of a compiled grammar, and precomputing its masks.
//
// Precomputing is the lazy engine run ahead: states are found by following all edges and calls from
// the root, breadth first, and their level-1 masks are computed by the same code that a first need
// would run, on a pool. States that differ only in far counts are one, so
// those near the bound of a long count are not met and wait for first need. Tests:
// tests/matcher/precompute_test.cc: masks are equal with and without.
#include <absl/container/flat_hash_set.h>

#include <mutex>

#include "base/thread_pool.h"
#include "matcher/engine.h"

namespace grammask {
namespace {

constexpr size_t kBatch = 256;  // states between two reports of progress

// Level-1 states reachable from `root`, nearest first, at most `most`.
std::vector<internal::TermId> Reachable(internal::Engine& engine, internal::TermId root,
                                        size_t most) {
  std::vector<internal::TermId> found;
  absl::flat_hash_set<uint32_t> seen;
  auto add = [&](internal::TermId state) {
    state = engine.terms.FarTerm(state);
    if (found.size() < most && seen.insert(state.value).second) found.push_back(state);
  };
  add(root);
  for (size_t i = 0; i < found.size() && found.size() < most; ++i) {
    const internal::Expansion& e = engine.terms.Expand(found[i]);
    for (const auto& edge : e.bytes) add(edge.to);
    for (const auto& edge : e.tokens) add(edge.to);
    for (const auto& edge : e.calls) {
      add(edge.to);
      std::unique_lock lock(engine.terms.mutex());
      const internal::TermId body = engine.terms.BodyOf(edge.proc);
      lock.unlock();
      add(body);
    }
  }
  return found;
}

}  // namespace

Grammar CompiledGrammar::grammar() const { return impl_->grammar(); }
TokenizerInfo CompiledGrammar::tokenizer_info() const { return impl_->tokenizer; }
std::span<const SchemaWarning> CompiledGrammar::warnings() const { return impl_->warnings(); }
size_t CompiledGrammar::memory_size_bytes() const { return impl_->own_bytes; }

CompileStats CompiledGrammar::stats() const {
  CompileStats s;
  s.seconds = impl_->seconds;
  const Grammar grammar = impl_->grammar();
  s.rules = grammar.grammar()->rule_count();
  s.nodes = grammar.grammar()->node_count();
  auto placed = impl_->Place();
  if (!placed.ok()) return s;
  internal::Engine& engine = *placed->engine;
  s.memory_bytes = engine.memory_bytes();
  s.masks = engine.masks.count();
  s.shortest_bytes = engine.sets.ShortestCompletion(placed->start);
  std::lock_guard lock(engine.terms.mutex());
  s.states = engine.terms.size();
  s.sets = engine.sets.size();
  return s;
}

size_t CompiledGrammar::Precompute(int threads, size_t max_states,
                                   const std::function<void(size_t, size_t)>& progress) const {
  auto placed = impl_->Place();
  if (!placed.ok()) return 0;
  internal::Engine& engine = *placed->engine;
  const std::vector<internal::TermId> states = Reachable(engine, placed->root, max_states);
  internal::ThreadPool pool(threads);
  for (size_t first = 0; first < states.size(); first += kBatch) {
    const size_t n = std::min(kBatch, states.size() - first);
    pool.ForEach(n, [&](size_t i) { engine.masks.OfState(states[first + i]); });
    if (engine.overrun()) {
      impl_->hub->Replace(engine);
      return first;
    }
    {
      std::lock_guard lock(engine.terms.mutex());
      engine.terms.AllowGrowth();
    }
    if (progress) progress(first + n, states.size());
  }
  return states.size();
}

}  // namespace grammask
