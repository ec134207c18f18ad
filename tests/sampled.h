// How many of its cases a test that compares many of them runs.
#ifndef GRAMMASK_TESTS_SAMPLED_H_
#define GRAMMASK_TESTS_SAMPLED_H_

namespace grammask {

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
