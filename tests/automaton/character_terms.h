// A store of terms over the characters of JSON strings, for tests.
#ifndef GRAMMASK_TESTS_AUTOMATON_CHARACTER_TERMS_H_
#define GRAMMASK_TESTS_AUTOMATON_CHARACTER_TERMS_H_

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "automaton/term_store.h"

namespace grammask::internal {

class CharacterTerms : public testing::Test {
 protected:
  TermId Chars(const CodePointSet& set) { return s_.Character(set, true); }
  TermId Text(std::string_view text) { return s_.Literal(text, true); }
  TermId Times(TermId of, int64_t least, int64_t most) { return s_.Repeat(of, least, most); }
  TermId Of(std::vector<TermId> parts) { return s_.Sequence(parts); }
  TermId Either(std::vector<TermId> parts) { return s_.Choice(parts); }

  TermStore s_{{}, 16};
  const TermId any_ = Chars(CodePointSet::All());
  const TermId letter_ = Chars({{'a', 'z'}}), digit_ = Chars({{'0', '9'}});
};

}  // namespace grammask::internal

#endif  // GRAMMASK_TESTS_AUTOMATON_CHARACTER_TERMS_H_
