// Walks a matcher by bytes of the input and checks, at each state, that the mask is what accepting
// each token says.
#ifndef GRAMMASK_TESTS_FUZZ_WALK_H_
#define GRAMMASK_TESTS_FUZZ_WALK_H_

#include <cstdint>
#include <vector>

#include "fuzz/fuzz.h"

namespace grammask::fuzz {

// The tokens whose bits a mask has.
std::vector<int32_t> AllowedTokens(const std::vector<int32_t>& mask, int vocab_size);

// At most `max_steps` states are visited.
void CheckWalk(const CompiledGrammar& grammar, InputReader* input, int max_steps);

}  // namespace grammask::fuzz

#endif  // GRAMMASK_TESTS_FUZZ_WALK_H_
