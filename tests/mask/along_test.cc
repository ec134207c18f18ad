// States along texts, against one step after another.
#include "mask/along.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace grammask::internal {
namespace {

// `[ab]{0,400}(cd)?`: more states than are kept, some of which may end, and some texts that lead
// nowhere.
TermId CountedLetters(TermStore* s) {
  std::lock_guard lock(s->mutex());
  const TermId letters = s->Repeat(s->ByteClass(ByteSet::Range('a', 'b')), 0, 400);
  return s->Sequence(letters, s->Choice(std::vector{s->Literal("cd", false), s->Empty()}));
}

std::vector<std::string> SortedTexts(std::mt19937* random, size_t count, size_t longest) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) {
    std::string text((*random)() % longest, 'a');
    for (char& c : text) c = (*random)() % 40 == 0 ? 'c' : static_cast<char>('a' + (*random)() % 2);
    // Some share a long beginning, and some are the same.
    if (i > 0 && (*random)() % 2 == 0) {
      text = texts.back().substr(0, (*random)() % (texts.back().size() + 1)) + text;
    }
    if ((*random)() % 3 == 0) text += "cd";
    texts.push_back(text);
  }
  std::ranges::sort(texts);
  return texts;
}

TEST(Along, AsOneStepAfterAnother) {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    TermStore terms({}, 16);
    const TermId start = CountedLetters(&terms);
    Along along(&terms, start);
    for (const std::string& text : SortedTexts(&random, 200, 1 + random() % 450)) {
      TermId at = start;
      for (char c : text) {
        if (at == TermStore::Nothing()) break;
        at = TargetOf(terms.Expand(at).bytes, static_cast<uint8_t>(c));
      }
      ASSERT_EQ(along.Read(text), at) << text;
    }
  }
}

TEST(Along, TellsWhetherAProcedureMightHaveEnded) {
  TermStore terms({}, 16);
  TermId word;
  {
    std::lock_guard lock(terms.mutex());
    word = terms.Choice(std::vector{terms.Literal("ab", false), terms.Literal("abcd", false)});
  }
  Along along(&terms, word);
  along.Read("aa");
  along.Read("ab");
  EXPECT_FALSE(along.left());  // at the end of the text, not before
  EXPECT_NE(along.Read("abc"), TermStore::Nothing());
  EXPECT_TRUE(along.left());
}

TEST(Along, MakesNoEdgesWhereTextsEnd) {
  TermStore terms({}, 16);
  TermId word;
  {
    std::lock_guard lock(terms.mutex());
    word = terms.Literal("abcd", false);
  }
  Along along(&terms, word);
  const TermId at = along.Read("abc");
  EXPECT_FALSE(terms.term(at).nullable);
  EXPECT_EQ(terms.term(at).expansion.load(), nullptr);
}

}  // namespace
}  // namespace grammask::internal
