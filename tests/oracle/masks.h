// The slow twin of the mask stage: a mask by trying every token.
//
// For tests only; never linked into the library.
#ifndef GRAMMASK_TESTS_ORACLE_MASKS_H_
#define GRAMMASK_TESTS_ORACLE_MASKS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "parser/set_table.h"
#include "vocab/vocab.h"

namespace grammask::internal {

// The tokens that may come next in `set`, ascending: each is stepped through byte by byte. Shares
// with the mask stage nothing but the parser.
std::vector<TokenId> AllowedByTrying(SetTable* sets, const Vocab& vocab, SetId set);

// The tokens whose bits are set in a row of ceil(size / 32) words, ascending. Bits beyond `size`
// count too, as tokens that do not exist.
std::vector<TokenId> TokensOf(std::span<const uint32_t> row);

}  // namespace grammask::internal

#endif  // GRAMMASK_TESTS_ORACLE_MASKS_H_
