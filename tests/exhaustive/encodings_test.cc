// Worlds in which tokens cut things apart: UTF-8 and JSON escapes split anywhere, digits of numbers
// that must be multiples.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "checks.h"
#include "worlds.h"

namespace grammask::internal {
namespace {

// Checks all expressions of up to two nodes and `samples` random larger ones, each under the lazy
// engine and one of the others.
void CheckAlphabet(const Alphabet& alphabet, const SmallVocabulary& vocabulary, size_t max_text,
                   size_t samples) {
  Engines engines(vocabulary);
  ExpressionTable table(alphabet, 1);
  std::vector<ExpressionPtr> bodies;
  for (size_t nodes = 1; nodes <= 2; ++nodes) {
    for (const ExpressionPtr& body : table.OfSize(nodes)) bodies.push_back(body);
  }
  std::mt19937_64 random(3);
  for (size_t i = 0; i < samples; ++i) bodies.push_back(table.Random(3 + random() % 4, &random));
  for (size_t i = 0; i < bodies.size(); ++i) {
    const Grammar grammar = BuildGrammar(alphabet, {&bodies[i], 1});
    Judge judge(grammar);
    for (const size_t engine : {size_t{0}, 1 + i % (engines.all().size() - 1)}) {
      if (!CheckGrammar(grammar, vocabulary, &engines.all()[engine], max_text, &judge)) return;
    }
  }
}

TEST(EncodingWorlds, SplitUtf8) {
  // The bytes of a, U+00E9 and U+20AC, and one that no UTF-8 text holds.
  const std::string letters = "a\xC3\xA9\xE2\x82\xAC\xFF";
  const SmallVocabulary vocabulary(AllStrings(letters, 2), letters);
  CheckAlphabet(Utf8Alphabet(), vocabulary, 2, 150 * Effort());
}

TEST(EncodingWorlds, JsonSpellings) {
  // Enough for a, \n, \u0061, \u000a and quotes, in pieces.
  std::vector<std::string> texts = AllStrings("a\\u061n\"", 2);
  for (const char* text : {"\\u0", "u00", "0061", "\\u0061", "\\u0061a", "000", "\\n\"", "aa\""}) {
    texts.emplace_back(text);
  }
  const SmallVocabulary vocabulary(texts, "a\\u061n\"");
  CheckAlphabet(JsonAlphabet(), vocabulary, 2, 150 * Effort());
}

TEST(EncodingWorlds, MultiplesInDecimal) {
  const SmallVocabulary vocabulary(AllStrings("0125.", 2), "0125.", "346789z");
  CheckAlphabet(DigitAlphabet(), vocabulary, 2, 150 * Effort());
}

}  // namespace
}  // namespace grammask::internal
