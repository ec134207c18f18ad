// Tokens in, parser sets and masks out: the state of one output.
//
// A matcher is the set that its text led to and its history, which forks share. A mask is asked of
// the mask cache for the set, and the stop tokens are added where the text may end. When the
// compiler's tables move on to a new generation, the history is replayed there, and the ids of sets
// change while their meaning does not. Cost: accepting a known token some 10 ns and 5 ns a byte, a
// known mask a copy, a fork two counts. Tests: tests/matcher/matcher_test.cc, long_output_test.cc,
// tests/exhaustive.
#include <algorithm>
#include <atomic>

#include "base/sorted.h"
#include "base/utf8.h"
#include "matcher/engine.h"
#include "matcher/history.h"
#include "matcher/in_batch.h"

namespace grammask {

using internal::History;
using internal::OverrunError;
using internal::Placed;
using internal::SetId;

namespace {

constexpr size_t kBudgetInterval = 64;       // steps between looks at the memory budget
constexpr size_t kMaxJumpForward = 1 << 16;  // bytes

}  // namespace

struct GrammarMatcher::Impl {
  // What forks have in common. Never changed while shared.
  struct Common {
    Common(CompiledGrammar c, Placed p) : compiled(std::move(c)), placed(std::move(p)) {}

    std::atomic<uint32_t> refs = 1;
    CompiledGrammar compiled;
    Placed placed;
    std::vector<int32_t> own_stop_tokens;               // where they are not the tokenizer's
    const std::vector<int32_t>* stop_tokens = nullptr;  // sorted
    bool terminate_without_stop_token = false;
  };

  explicit Impl(Common* c) : common(c), engine(c->placed.engine.get()), set(c->placed.start) {}
  Impl(const Impl& other) = default;  // after which common has a reference more: see Fork
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (common->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete common;
  }

  Common* common;
  internal::Engine* engine;  // that of `common`
  SetId set;                 // after the history
  bool stopped = false;      // the last step was a stop token
  bool in_batch = false;     // stands in a batch call
  // Steps until the next look at the memory budget. The first step looks, so that short outputs do.
  uint32_t until_budget_check = 1;
  History history;

  bool accepting() const { return engine->sets.set(set).accepting; }
  bool is_stop(int32_t token) const {
    return std::ranges::binary_search(*common->stop_tokens, token);
  }
  bool may_stop() const { return accepting() && !common->terminate_without_stop_token; }

  SetId After(SetId from, int32_t token) const {
    const internal::Vocab& vocab = *engine->vocab;
    std::optional<std::string_view> text;
    if (vocab.is_text(token)) text = vocab.bytes(token);
    return engine->sets.StepToken(from, token, text, text.has_value());
  }
  // A step of the history once more. A stop token leads nowhere.
  SetId Again(SetId from, int32_t token, std::string_view text) const {
    if (token == History::kText) return engine->sets.Run(from, text);
    return is_stop(token) ? from : After(from, token);
  }
  void Truncate(size_t size) {
    set = history.Truncate(
        size, common->placed.start,
        [this](SetId from, int32_t token, std::string_view t) { return Again(from, token, t); });
    stopped = false;
  }

  // Moves to the current generation of tables when this one is to be left.
  void Follow() {
    if (engine->retired()) [[unlikely]]
      Replay();
    if (--until_budget_check == 0) [[unlikely]] {
      until_budget_check = kBudgetInterval;
      if (common->compiled.impl()->hub->CheckBudgetFor(*engine)) Replay();
    }
  }

  void Replay(bool alone = false) {
    CompiledGrammar::Impl& compiled = *common->compiled.impl();
    auto moved = alone ? compiled.PlaceAlone() : compiled.Place();
    if (!moved.ok()) return;  // it was placed before: only a bound can be in the way; stay
    auto* next = new Common(common->compiled, std::move(moved).value());
    next->own_stop_tokens = common->own_stop_tokens;
    next->stop_tokens =
        common->own_stop_tokens.empty() ? common->stop_tokens : &next->own_stop_tokens;
    next->terminate_without_stop_token = common->terminate_without_stop_token;
    if (common->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete common;
    common = next;
    engine = next->placed.engine.get();
    const size_t placed = next->placed.added, before = engine->memory_bytes();
    set = history.Replay(next->placed.start, [this](SetId from, int32_t token, std::string_view t) {
      return Again(from, token, t);
    });
    // Room for what is in use and as much again, so that matchers that alone are over the budget
    // do not move at every look, nor those of a grammar that is.
    const size_t added = placed + engine->GrownSince(before);
    if (added > 0) engine->budget += 2 * added;
  }

  // Calls f(), whose results are then those of whole tables. False where the text asks too much.
  template <class F>
  bool Whole(F&& f) {
    if (!engine->overrun()) [[likely]] {
      f();
      if (!engine->overrun()) [[likely]]
        return true;
    }
    return OnceMore(f);
  }
  // In new tables, as those at hand may be overrun by what others asked, or by all together.
  template <class F>
  [[gnu::noinline, gnu::cold]] bool OnceMore(F&& f) {
    int by_this = 0;
    for (int tries = 0; tries <= internal::kSharedTries; ++tries) {
      by_this += engine->terms.overrun_by_this_thread();
      if (by_this == 2) return false;
      common->compiled.impl()->hub->Replace(*engine);
      Replay(tries == internal::kSharedTries);
      if (!engine->overrun()) f();
      if (!engine->overrun()) return true;
    }
    return false;
  }
};

GrammarMatcher::GrammarMatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GrammarMatcher::GrammarMatcher(GrammarMatcher&&) noexcept = default;
GrammarMatcher& GrammarMatcher::operator=(GrammarMatcher&&) noexcept = default;
GrammarMatcher::~GrammarMatcher() = default;

StatusOr<GrammarMatcher> GrammarMatcher::Create(const CompiledGrammar& grammar,
                                                const MatcherOptions& options) {
  const TokenizerInfo& tokenizer = grammar.impl()->tokenizer;
  if (options.override_stop_tokens.has_value()) {
    if (options.override_stop_tokens->empty()) {
      return InvalidArgument("override_stop_tokens is empty; leave it out to use the tokenizer's");
    }
    for (int32_t t : *options.override_stop_tokens) {
      if (t < 0 || t >= tokenizer.vocab_size()) {
        return InvalidArgument("override_stop_tokens: token id " + std::to_string(t) +
                               " is outside the vocabulary of " +
                               std::to_string(tokenizer.vocab_size()) + " tokens");
      }
    }
  }
  GM_ASSIGN_OR_RETURN(Placed placed, grammar.impl()->Place());
  auto* common = new Impl::Common(grammar, std::move(placed));
  common->terminate_without_stop_token = options.terminate_without_stop_token;
  common->stop_tokens = &tokenizer.stop_token_ids();
  if (options.override_stop_tokens.has_value()) {
    std::vector<int32_t>& own = common->own_stop_tokens;
    own = *options.override_stop_tokens;
    internal::SortUnique(&own);
    common->stop_tokens = &own;
  }
  return GrammarMatcher(std::make_unique<Impl>(common));
}

bool GrammarMatcher::AcceptToken(int32_t token) {
  Impl& m = *impl_;
  if (m.stopped || token < 0 || token >= m.engine->vocab->size()) return false;
  m.Follow();
  if (m.is_stop(token)) {
    if (!m.may_stop()) return false;
    m.history.Push(token, m.set);
    m.stopped = true;
    return true;
  }
  SetId next;
  if (!m.Whole([&] { next = m.After(m.set, token); })) return false;
  if (next == internal::SetTable::Dead()) return false;
  m.history.Push(token, next);
  m.set = next;
  return true;
}

bool GrammarMatcher::AcceptString(std::string_view bytes) {
  Impl& m = *impl_;
  if (m.stopped) return false;
  m.Follow();
  SetId next;
  if (!m.Whole([&] { next = m.engine->sets.Run(m.set, bytes); })) return false;
  if (next == internal::SetTable::Dead()) return false;
  m.history.PushText(bytes, next);
  m.set = next;
  return true;
}

size_t GrammarMatcher::MatchingPrefix(std::string_view bytes) const {
  if (impl_->stopped) return 0;
  size_t matching = 0;
  const bool whole = impl_->Whole([&] {
    matching = 0;
    for (SetId set = impl_->set; matching < bytes.size(); ++matching) {
      set = impl_->engine->sets.Step(set, static_cast<uint8_t>(bytes[matching]));
      if (set == internal::SetTable::Dead()) return;
    }
  });
  return whole ? matching : 0;
}

StatusOr<bool> GrammarMatcher::FillNextTokenBitmask(int32_t* row) {
  Impl& m = *impl_;
  if (m.stopped) {
    return FailedPrecondition(
        "fill_next_token_bitmask after the matcher terminated: a stop token was accepted; check "
        "is_terminated() first, or roll back or reset");
  }
  m.Follow();
  auto* words = reinterpret_cast<uint32_t*>(row);
  if (!m.Whole([&] { m.engine->masks.Fill(m.set, words); })) [[unlikely]] {
    return OverrunError(m.engine->terms.overrun_by());
  }
  const bool may_stop = m.may_stop();
  for (int32_t t : *m.common->stop_tokens) {
    const uint32_t bit = uint32_t{1} << (static_cast<uint32_t>(t) & 31);
    uint32_t& word = words[static_cast<uint32_t>(t) >> 5];
    word = may_stop ? word | bit : word & ~bit;
  }
  // All tokens allowed? Almost never: the last words, which were just written, tell.
  const int size = m.engine->vocab->size();
  const int tail = size % 32;
  if (tail != 0 && words[size / 32] != (uint32_t{1} << tail) - 1) return true;
  for (int w = size / 32; w-- > 0;) {
    if (words[w] != UINT32_MAX) return true;
  }
  return false;
}

StatusOr<std::string> GrammarMatcher::FindJumpForwardString() {
  Impl& m = *impl_;
  if (m.stopped) {
    return FailedPrecondition(
        "find_jump_forward_string after the matcher terminated: check is_terminated() first");
  }
  m.Follow();
  std::string forced;
  const bool whole = m.Whole([&] {
    forced.clear();
    SetId set = m.set;
    while (forced.size() < kMaxJumpForward) {
      const std::optional<uint8_t> byte = m.engine->sets.ForcedByte(set);
      if (!byte.has_value()) break;
      forced.push_back(static_cast<char>(*byte));
      set = m.engine->sets.Step(set, *byte);
    }
  });
  if (!whole) return OverrunError(m.engine->terms.overrun_by());
  // Whole characters only: none when the text so far ends inside one.
  if (!forced.empty() && (static_cast<uint8_t>(forced[0]) & 0xC0) == 0x80) return std::string();
  forced.resize(internal::CompleteUtf8Prefix(forced));
  return forced;
}

Status GrammarMatcher::Rollback(int steps) {
  Impl& m = *impl_;
  const size_t size = m.history.size();
  if (steps < 0 || static_cast<size_t>(steps) > size) {
    return OutOfRange("cannot roll back " + std::to_string(steps) + " steps: the history has " +
                      std::to_string(size));
  }
  if (steps > 0) m.Truncate(size - static_cast<size_t>(steps));
  return {};
}

void GrammarMatcher::Reset() {
  impl_->Truncate(0);
  // An output that begins does so in the newest tables, as that of a new matcher.
  if (impl_->engine->generation != impl_->common->compiled.impl()->hub->generation()) {
    impl_->Replay();
  }
}

GrammarMatcher GrammarMatcher::Fork() const {
  impl_->common->refs.fetch_add(1, std::memory_order_relaxed);
  auto copy = std::make_unique<Impl>(*impl_);
  copy->until_budget_check = 1;
  return GrammarMatcher(std::move(copy));
}

bool GrammarMatcher::HasStopped() const { return impl_->stopped; }

bool GrammarMatcher::IsTerminated() const {
  return impl_->common->terminate_without_stop_token ? impl_->accepting() : impl_->stopped;
}

bool GrammarMatcher::IsCompleted() const { return impl_->stopped || impl_->accepting(); }

uint64_t GrammarMatcher::ShortestCompletionBytes() const {
  uint64_t bytes = 0;
  impl_->Whole([&] { bytes = impl_->engine->sets.ShortestCompletion(impl_->set); });
  return bytes;
}

std::optional<uint64_t> GrammarMatcher::ShortestCompletionAfter(int32_t token) const {
  Impl& m = *impl_;
  if (m.stopped || token < 0 || token >= m.engine->vocab->size()) return std::nullopt;
  if (m.is_stop(token)) {
    return m.may_stop() ? std::optional<uint64_t>(0) : std::nullopt;
  }
  std::optional<uint64_t> bytes;
  m.Whole([&] {
    const SetId next = m.After(m.set, token);
    const bool dead = next == internal::SetTable::Dead();
    bytes = dead ? std::nullopt : std::optional(m.engine->sets.ShortestCompletion(next));
  });
  return bytes;
}

int GrammarMatcher::vocab_size() const { return impl_->engine->vocab->size(); }
int GrammarMatcher::mask_words() const { return GetBitmaskSize(vocab_size()); }
int GrammarMatcher::history_size() const { return static_cast<int>(impl_->history.size()); }
const std::vector<int32_t>& GrammarMatcher::stop_token_ids() const {
  return *impl_->common->stop_tokens;
}
CompiledGrammar GrammarMatcher::compiled_grammar() const { return impl_->common->compiled; }

namespace internal {

bool BatchMarks::Next() {
  GrammarMatcher::Impl& m = *matchers_[marked_]->impl();
  if (m.in_batch) return false;
  m.in_batch = true;
  ++marked_;
  return true;
}

BatchMarks::~BatchMarks() {
  for (GrammarMatcher* m : matchers_.first(marked_)) m->impl()->in_batch = false;
}

void PrefetchAhead(std::span<GrammarMatcher* const> matchers, size_t i) {
  // Each distance reads what the one before has fetched.
  if (i + 4 < matchers.size()) {
    const GrammarMatcher::Impl& m = *matchers[i + 4]->impl();
    __builtin_prefetch(&m.engine->sets.set(m.set));
  }
  if (i + 3 < matchers.size()) {
    const GrammarMatcher::Impl& m = *matchers[i + 3]->impl();
    __builtin_prefetch(m.engine->sets.set(m.set).attachment.load(std::memory_order_relaxed));
  }
  if (i + 2 < matchers.size()) {
    const GrammarMatcher::Impl& m = *matchers[i + 2]->impl();
    const auto* mask = static_cast<const TokenMask*>(
        m.engine->sets.set(m.set).attachment.load(std::memory_order_acquire));
    if (mask != nullptr) {
      __builtin_prefetch(mask->bitmap);
      __builtin_prefetch(mask->list.data());
    }
  }
}

}  // namespace internal

int GetBitmaskSize(int vocab_size) { return vocab_size / 32 + (vocab_size % 32 > 0 ? 1 : 0); }

}  // namespace grammask
