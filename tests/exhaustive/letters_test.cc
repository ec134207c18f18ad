// Grammars over {a, b} with a vocabulary of all strings of up to three letters.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "checks.h"
#include "worlds.h"

namespace grammask::internal {
namespace {

constexpr size_t kMaxText = 3;

const SmallVocabulary& Vocabulary() {
  static const SmallVocabulary vocabulary(AllStrings("ab", 3), "ab");
  return vocabulary;
}

const Alphabet& Letters() {
  static const Alphabet alphabet = LetterAlphabet();
  return alphabet;
}

// One set of engines for all grammars of the program: what they share must not leak.
Engines& SharedEngines() {
  static Engines engines(Vocabulary());
  return engines;
}

// The lazy engine goes first; `rotation` picks one of the others to go with it.
bool CheckUnderTwo(const Grammar& grammar, size_t rotation) {
  auto& engines = SharedEngines().all();
  Judge judge(grammar);
  const size_t other = 1 + rotation % (engines.size() - 1);
  return CheckGrammar(grammar, Vocabulary(), &engines[0], kMaxText, &judge) &&
         CheckGrammar(grammar, Vocabulary(), &engines[other], kMaxText, &judge);
}

TEST(LetterWorlds, EveryRuleOfUpToThreeNodes) {
  ExpressionTable table(Letters(), 1);
  size_t count = 0;
  for (size_t nodes = 1; nodes <= 3; ++nodes) {
    for (const ExpressionPtr& body : table.OfSize(nodes)) {
      if (!CheckUnderTwo(BuildGrammar(Letters(), {&body, 1}), count++)) return;
    }
  }
  EXPECT_GT(count, 300u);
}

TEST(LetterWorlds, EveryRuleOfFourNodes) {
  ExpressionTable table(Letters(), 1);
  const auto bodies = table.OfSize(4);
  for (size_t i = 0; i < bodies.size(); ++i) {
    if (!CheckUnderTwo(BuildGrammar(Letters(), bodies.subspan(i, 1)), i)) return;
  }
}

TEST(LetterWorlds, PairsOfRules) {
  ExpressionTable table(Letters(), 2);
  std::vector<ExpressionPtr> bodies;
  for (size_t nodes = 1; nodes <= 3; ++nodes) {
    for (const ExpressionPtr& body : table.OfSize(nodes)) bodies.push_back(body);
  }
  // A step that shares no factor with the count goes through pairs of all kinds.
  const size_t pairs = bodies.size() * bodies.size();
  const size_t samples = std::min(pairs, 6000 * Effort());
  size_t at = 0;
  for (size_t i = 0; i < samples; ++i) {
    at = (at + 7'368'787) % pairs;
    const ExpressionPtr pair[] = {bodies[at / bodies.size()], bodies[at % bodies.size()]};
    if (!CheckUnderTwo(BuildGrammar(Letters(), pair), i)) return;
  }
}

TEST(LetterWorlds, RandomSystemsOfThreeRules) {
  ExpressionTable table(Letters(), 3);
  std::mt19937_64 random(20'240'611);
  for (size_t i = 0; i < 3000 * Effort(); ++i) {
    std::vector<ExpressionPtr> bodies;
    for (int rule = 0; rule < 3; ++rule) {
      bodies.push_back(table.Random(1 + random() % 7, &random));
    }
    if (!CheckUnderTwo(BuildGrammar(Letters(), bodies), i)) return;
  }
}

TEST(LetterWorlds, RandomWalks) {
  ExpressionTable table(Letters(), 2);
  std::mt19937_64 random(99);
  auto& engines = SharedEngines().all();
  for (size_t i = 0; i < 200 * Effort(); ++i) {
    std::vector<ExpressionPtr> bodies;
    for (int rule = 0; rule < 2; ++rule) {
      bodies.push_back(table.Random(2 + random() % 9, &random));
    }
    const Grammar grammar = BuildGrammar(Letters(), bodies);
    Judge judge(grammar);
    auto& engine = engines[i % engines.size()];
    if (!CheckWalk(grammar, Vocabulary(), &engine, 15, &random, &judge)) return;
  }
}

// Each grammar in a compiler of its own must give what it gives beside a thousand others.
TEST(LetterWorlds, FreshCompilers) {
  ExpressionTable table(Letters(), 2);
  std::mt19937_64 random(5);
  for (size_t i = 0; i < 200 * Effort(); ++i) {
    const ExpressionPtr pair[] = {table.Random(1 + random() % 8, &random),
                                  table.Random(1 + random() % 5, &random)};
    const Grammar grammar = BuildGrammar(Letters(), pair);
    Engines fresh(Vocabulary());
    Judge judge(grammar);
    for (auto& engine : fresh.all()) {
      if (!CheckGrammar(grammar, Vocabulary(), &engine, kMaxText, &judge)) return;
    }
  }
}

}  // namespace
}  // namespace grammask::internal
