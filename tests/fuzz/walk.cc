// A walk through a compiled grammar that an input's bytes direct: accept, roll back, fork, reset.
//
// At each state every token is tried on a fork, and the mask must have exactly the bits of those
// that were accepted; the text that must come next must be acceptable; undoing a step must bring
// back the mask from before it.
#include "fuzz/walk.h"

#include <optional>
#include <string>
#include <vector>

namespace grammask::fuzz {
namespace {

using Mask = std::vector<int32_t>;

bool Bit(const Mask& mask, int32_t token) {
  const auto word = static_cast<uint32_t>(mask[static_cast<size_t>(token >> 5)]);
  return ((word >> (token & 31)) & 1) != 0;
}

// The mask of a matcher that has not terminated, checked token by token; nullopt where it takes too
// much.
std::optional<Mask> CheckedMask(GrammarMatcher* matcher) {
  Mask mask(static_cast<size_t>(matcher->mask_words()), 0x5A5A5A5A);
  const StatusOr<bool> restricts = matcher->FillNextTokenBitmask(mask.data());
  if (restricts.status().code() == StatusCode::kResourceExhausted) return std::nullopt;
  FUZZ_CHECK(restricts.ok(), restricts.status().message());
  bool all = true;
  for (int32_t token = 0; token < matcher->vocab_size(); ++token) {
    GrammarMatcher fork = matcher->Fork();
    const bool accepted = fork.AcceptToken(token);
    FUZZ_CHECK(accepted == Bit(mask, token),
               "token " + std::to_string(token) + ": accept says " + std::to_string(accepted));
    all = all && accepted;
  }
  FUZZ_CHECK(*restricts == !all, "the result must say if the mask refuses anything");
  for (int32_t id = matcher->vocab_size(); id < matcher->mask_words() * 32; ++id) {
    FUZZ_CHECK(!Bit(mask, id), "a bit past the vocabulary is set");
  }
  return mask;
}

void CheckJumpForward(GrammarMatcher* matcher) {
  const StatusOr<std::string> jump = matcher->FindJumpForwardString();
  if (jump.status().code() == StatusCode::kResourceExhausted) return;
  FUZZ_CHECK(jump.ok(), jump.status().message());
  if (jump->empty()) return;
  FUZZ_CHECK(matcher->MatchingPrefix(*jump) == jump->size(), *jump);
  GrammarMatcher fork = matcher->Fork();
  FUZZ_CHECK(fork.AcceptString(*jump), *jump);
}

}  // namespace

std::vector<int32_t> AllowedTokens(const std::vector<int32_t>& mask, int vocab_size) {
  std::vector<int32_t> allowed;
  for (int32_t token = 0; token < vocab_size; ++token) {
    if (Bit(mask, token)) allowed.push_back(token);
  }
  return allowed;
}

void CheckWalk(const CompiledGrammar& grammar, InputReader* input, int max_steps) {
  StatusOr<GrammarMatcher> created = GrammarMatcher::Create(grammar);
  FUZZ_CHECK(created.ok(), created.status().message());
  GrammarMatcher matcher = std::move(created).value();
  std::vector<Mask> masks;  // before each step of the history, for rolling back
  for (int step = 0; step < max_steps; ++step) {
    const uint8_t op = input->Byte();
    if (matcher.IsTerminated()) {
      Mask mask(static_cast<size_t>(matcher.mask_words()));
      FUZZ_CHECK(!matcher.FillNextTokenBitmask(mask.data()).ok(), "a mask after termination");
      FUZZ_CHECK(matcher.Rollback(1).ok(), "undoing the stop token");
      masks.pop_back();
      continue;
    }
    const std::optional<Mask> mask = CheckedMask(&matcher);
    if (!mask.has_value()) return;
    CheckJumpForward(&matcher);
    if (op >= 0xF0 && !masks.empty()) {  // roll back
      const size_t steps = 1 + input->Byte() % masks.size();
      FUZZ_CHECK(matcher.Rollback(static_cast<int>(steps)).ok(), "rolling back");
      const std::optional<Mask> again = CheckedMask(&matcher);
      if (!again.has_value()) return;
      FUZZ_CHECK(*again == masks[masks.size() - steps], "rolling back must bring back the mask");
      masks.resize(masks.size() - steps);
      continue;
    }
    const std::vector<int32_t> allowed = AllowedTokens(*mask, matcher.vocab_size());
    if (allowed.empty()) {
      if (masks.empty()) return;
      matcher.Reset();
      masks.clear();
      continue;
    }
    GrammarMatcher fork = matcher.Fork();
    FUZZ_CHECK(fork.AcceptToken(allowed[0]), "an allowed token on a fork");
    FUZZ_CHECK(matcher.AcceptToken(allowed[op % allowed.size()]), "an allowed token");
    masks.push_back(*mask);
    if (input->done() && step > 8) return;
  }
}

}  // namespace grammask::fuzz
