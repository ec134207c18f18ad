// How many of its cases a test that compares many of them runs.
#ifndef GRAMMASK_TESTS_SAMPLED_H_
#define GRAMMASK_TESTS_SAMPLED_H_

#include <cstddef>
#include <cstdlib>

namespace grammask {

// How many times more than by default to do: the environment variable GRAMMASK_EXHAUSTIVE, or 1.
inline size_t Effort() {
  const char* const text = std::getenv("GRAMMASK_EXHAUSTIVE");
  const long effort = text == nullptr ? 1 : std::strtol(text, nullptr, 10);
  return effort < 1 ? 1 : static_cast<size_t>(effort);
}

// The step from one case to the next: 1, and `n` under sanitizers, where a case takes ten times as
// long and where what is looked for is not a wrong answer. `n` should have no divisor in common
// with what the test makes of a case's number.
constexpr int OneIn([[maybe_unused]] int n) {
#ifdef GRAMMASK_SANITIZED
  return n;
#else
  return 1;
#endif
}

}  // namespace grammask

#endif  // GRAMMASK_TESTS_SAMPLED_H_
