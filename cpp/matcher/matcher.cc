// Tokens in, parser sets and masks out: the state of one output.
//
// A matcher is its history: for every accepted step the set it led to and what was accepted. So
// rollback is a resize and fork a copy; a mask is asked of the mask cache for the last set, and the
// stop tokens are added where the text may end. When the compiler's tables move on to a new
// generation, the history is replayed there, and the ids of sets change while their meaning does
// not. Cost: accepting a known token some 3 ns a byte, a known mask a copy.
// Tests: tests/matcher/matcher_test.cc, tests/exhaustive.
#include <algorithm>

#include "base/utf8.h"
#include "matcher/engine.h"

namespace grammask {

using internal::Placed;
using internal::SetId;

namespace {

constexpr size_t kBudgetInterval = 64;       // steps between looks at the memory budget
constexpr size_t kMaxJumpForward = 1 << 16;  // bytes

}  // namespace

struct GrammarMatcher::Impl {
  // What was accepted: a token, or (kString) a byte string.
  struct Step {
    SetId set;      // afterwards
    int32_t token;  // kString: see strings
  };
  static constexpr int32_t kString = -1;

  CompiledGrammar compiled;
  Placed placed;
  std::vector<Step> steps;
  std::vector<std::string> strings;  // of the steps with kString, in order
  std::vector<int32_t> stop_tokens;  // sorted
  bool terminate_without_stop_token = false;
  bool stopped = false;           // the last step was a stop token
  size_t until_budget_check = 1;  // steps; the first step looks, so that short outputs do too

  explicit Impl(CompiledGrammar c) : compiled(std::move(c)) {}

  internal::Engine& engine() const { return *placed.engine; }
  SetId current() const { return steps.empty() ? placed.start : steps.back().set; }
  bool accepting() const { return engine().sets.set(current()).accepting; }
  bool is_stop(int32_t token) const { return std::ranges::binary_search(stop_tokens, token); }

  SetId After(SetId set, int32_t token) const {
    const internal::Vocab& vocab = *engine().vocab;
    std::optional<std::string_view> text;
    if (vocab.is_text(token)) text = vocab.bytes(token);
    return engine().sets.StepToken(set, token, text, text.has_value());
  }

  // Moves to the current generation of tables when there is a newer one.
  void Follow() {
    if (is_behind()) Replay();
    if (--until_budget_check == 0) {
      until_budget_check = kBudgetInterval;
      compiled.impl()->hub->CheckBudget(engine());
      if (is_behind()) Replay();
    }
  }
  bool is_behind() const { return placed.engine->generation != compiled.impl()->hub->generation(); }

  void Replay() {
    auto moved = compiled.impl()->Place();
    if (!moved.ok()) return;  // it was placed before: only a bound can be in the way; stay
    const Placed old = std::exchange(placed, std::move(moved).value());
    const size_t before = engine().memory_bytes();
    std::vector<Step> replayed;
    replayed.reserve(steps.capacity());
    size_t next_string = 0;
    SetId set = placed.start;
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      if (step.token == kString) {
        set = engine().sets.Run(set, strings[next_string++]);
      } else if (!(stopped && i + 1 == steps.size())) {
        set = After(set, step.token);
      }
      replayed.push_back({set, step.token});
    }
    steps = std::move(replayed);
    // Room for what is in use and as much again, so that matchers that alone are over the budget
    // do not move at every look.
    const size_t after = engine().memory_bytes();
    if (after > before) engine().budget += 2 * (after - before);
  }
};

GrammarMatcher::GrammarMatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GrammarMatcher::GrammarMatcher(GrammarMatcher&&) noexcept = default;
GrammarMatcher& GrammarMatcher::operator=(GrammarMatcher&&) noexcept = default;
GrammarMatcher::~GrammarMatcher() = default;

StatusOr<GrammarMatcher> GrammarMatcher::Create(const CompiledGrammar& grammar,
                                                const MatcherOptions& options) {
  auto impl = std::make_unique<Impl>(grammar);
  impl->terminate_without_stop_token = options.terminate_without_stop_token;
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
    impl->stop_tokens = *options.override_stop_tokens;
  } else {
    impl->stop_tokens = tokenizer.stop_token_ids();
  }
  std::ranges::sort(impl->stop_tokens);
  impl->stop_tokens.erase(std::unique(impl->stop_tokens.begin(), impl->stop_tokens.end()),
                          impl->stop_tokens.end());
  GM_ASSIGN_OR_RETURN(impl->placed, grammar.impl()->Place());
  return GrammarMatcher(std::move(impl));
}

bool GrammarMatcher::AcceptToken(int32_t token) {
  Impl& m = *impl_;
  if (m.stopped || token < 0 || token >= m.engine().vocab->size()) return false;
  m.Follow();
  if (m.is_stop(token)) {
    if (m.terminate_without_stop_token || !m.accepting()) return false;
    m.steps.push_back({m.current(), token});
    m.stopped = true;
    return true;
  }
  const SetId next = m.After(m.current(), token);
  if (next == internal::SetTable::Dead()) return false;
  m.steps.push_back({next, token});
  return true;
}

bool GrammarMatcher::AcceptString(std::string_view bytes) {
  Impl& m = *impl_;
  if (m.stopped) return false;
  m.Follow();
  const SetId next = m.engine().sets.Run(m.current(), bytes);
  if (next == internal::SetTable::Dead()) return false;
  m.steps.push_back({next, Impl::kString});
  m.strings.emplace_back(bytes);
  return true;
}

size_t GrammarMatcher::MatchingPrefix(std::string_view bytes) const {
  if (impl_->stopped) return 0;
  SetId set = impl_->current();
  for (size_t i = 0; i < bytes.size(); ++i) {
    set = impl_->engine().sets.Step(set, static_cast<uint8_t>(bytes[i]));
    if (set == internal::SetTable::Dead()) return i;
  }
  return bytes.size();
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
  m.engine().masks.Fill(m.current(), words);
  const bool may_stop = m.accepting() && !m.terminate_without_stop_token;
  for (int32_t t : m.stop_tokens) {
    const uint32_t bit = uint32_t{1} << (static_cast<uint32_t>(t) & 31);
    uint32_t& word = words[static_cast<uint32_t>(t) >> 5];
    word = may_stop ? word | bit : word & ~bit;
  }
  // All tokens allowed? Almost never: the first words tell.
  const int size = m.engine().vocab->size();
  for (int w = 0; w < size / 32; ++w) {
    if (words[w] != UINT32_MAX) return true;
  }
  const int tail = size % 32;
  return tail != 0 && words[size / 32] != (uint32_t{1} << tail) - 1;
}

StatusOr<std::string> GrammarMatcher::FindJumpForwardString() {
  Impl& m = *impl_;
  if (m.stopped) {
    return FailedPrecondition(
        "find_jump_forward_string after the matcher terminated: check is_terminated() first");
  }
  m.Follow();
  std::string forced;
  SetId set = m.current();
  while (forced.size() < kMaxJumpForward) {
    const std::optional<uint8_t> byte = m.engine().sets.ForcedByte(set);
    if (!byte.has_value()) break;
    forced.push_back(static_cast<char>(*byte));
    set = m.engine().sets.Step(set, *byte);
  }
  // Whole characters only: none when the text so far ends inside one.
  if (!forced.empty() && (static_cast<uint8_t>(forced[0]) & 0xC0) == 0x80) return std::string();
  forced.resize(internal::CompleteUtf8Prefix(forced));
  return forced;
}

Status GrammarMatcher::Rollback(int steps) {
  Impl& m = *impl_;
  if (steps < 0 || static_cast<size_t>(steps) > m.steps.size()) {
    return OutOfRange("cannot roll back " + std::to_string(steps) + " steps: the history has " +
                      std::to_string(m.steps.size()));
  }
  if (steps == 0) return {};
  m.stopped = false;
  for (int i = 0; i < steps; ++i) {
    if (m.steps.back().token == Impl::kString) m.strings.pop_back();
    m.steps.pop_back();
  }
  return {};
}

void GrammarMatcher::Reset() {
  impl_->steps.clear();
  impl_->strings.clear();
  impl_->stopped = false;
}

GrammarMatcher GrammarMatcher::Fork() const {
  auto copy = std::make_unique<Impl>(*impl_);
  copy->until_budget_check = 1;
  return GrammarMatcher(std::move(copy));
}

bool GrammarMatcher::HasStopped() const { return impl_->stopped; }

bool GrammarMatcher::IsTerminated() const {
  return impl_->terminate_without_stop_token ? impl_->accepting() : impl_->stopped;
}

bool GrammarMatcher::IsCompleted() const { return impl_->stopped || impl_->accepting(); }

uint64_t GrammarMatcher::ShortestCompletionBytes() const {
  return impl_->engine().sets.ShortestCompletion(impl_->current());
}

std::optional<uint64_t> GrammarMatcher::ShortestCompletionAfter(int32_t token) const {
  const Impl& m = *impl_;
  if (m.stopped || token < 0 || token >= m.engine().vocab->size()) return std::nullopt;
  if (m.is_stop(token)) {
    const bool may_stop = m.accepting() && !m.terminate_without_stop_token;
    return may_stop ? std::optional<uint64_t>(0) : std::nullopt;
  }
  const SetId next = m.After(m.current(), token);
  if (next == internal::SetTable::Dead()) return std::nullopt;
  return m.engine().sets.ShortestCompletion(next);
}

int GrammarMatcher::vocab_size() const { return impl_->engine().vocab->size(); }
int GrammarMatcher::mask_words() const { return GetBitmaskSize(vocab_size()); }
int GrammarMatcher::history_size() const { return static_cast<int>(impl_->steps.size()); }
const std::vector<int32_t>& GrammarMatcher::stop_token_ids() const { return impl_->stop_tokens; }
CompiledGrammar GrammarMatcher::compiled_grammar() const { return impl_->compiled; }

int GetBitmaskSize(int vocab_size) { return vocab_size / 32 + (vocab_size % 32 > 0 ? 1 : 0); }

}  // namespace grammask
