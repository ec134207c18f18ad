// Small grammars, enumerated: the expressions of a few nodes over a few atoms, and systems of up to
// three rules that refer to one another.
#ifndef GRAMMASK_TESTS_EXHAUSTIVE_WORLDS_H_
#define GRAMMASK_TESTS_EXHAUSTIVE_WORLDS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "grammar/ast.h"

namespace grammask::internal {

// An expression, as a tree. Immutable and shared: large enumerations share their parts.
struct Expression {
  enum class Kind : uint8_t {
    kAtom,    // atoms[index]
    kRule,    // rule number `index`
    kRepeat,  // repeats[index] of left
    kSequence,
    kChoice,
    kAnd,      // regular children only, as the next two
    kWithout,  // left and not right
    kNot,      // not left
  };
  Kind kind;
  int index = 0;
  bool regular = true;
  std::shared_ptr<const Expression> left, right;
};
using ExpressionPtr = std::shared_ptr<const Expression>;

// What the expressions are made of.
struct Alphabet {
  std::vector<std::function<NodeId(GrammarBuilder*)>> atoms;
  std::vector<std::pair<int64_t, int64_t>> repeats;
  bool boolean = true;  // whether to use kAnd, kWithout and kNot
};

// Literals and classes over a and b; repeats up to {2,4}.
Alphabet LetterAlphabet();
// Characters of one to three bytes, classes over them, and single bytes of them.
Alphabet Utf8Alphabet();
// Literals and classes in every spelling that JSON allows inside quotes.
Alphabet JsonAlphabet();

// Digits, dots and multiples of 3, 4 and (with one more zero) 25.
Alphabet DigitAlphabet();

// Letters and single tokens by id, for a vocabulary of kTextTokens texts and then one special
// token. `as_markers`: the same expressions for the oracle, which knows no tokens: each token by
// its id is one byte of its own there, TokenMarker.
inline constexpr int32_t kTextTokens = 6;
inline constexpr int32_t kSpecialToken = kTextTokens;
constexpr uint8_t TokenMarker(int32_t token) { return static_cast<uint8_t>(0x80 + token); }
Alphabet TokenAlphabet(bool as_markers);

// All expressions of exactly `nodes` nodes that may refer to rules 0 .. rules - 1, in a fixed
// order. Choices and intersections come in one order of their parts only.
class ExpressionTable {
 public:
  ExpressionTable(const Alphabet& alphabet, int rules);
  std::span<const ExpressionPtr> OfSize(size_t nodes);
  // A random expression of exactly `nodes` nodes; much larger ones than can be listed.
  ExpressionPtr Random(size_t nodes, std::mt19937_64* random);

 private:
  void AddUnary(const ExpressionPtr& part, std::vector<ExpressionPtr>* out) const;
  void AddBinary(const ExpressionPtr& left, const ExpressionPtr& right, bool ordered,
                 std::vector<ExpressionPtr>* out) const;
  const Alphabet& alphabet_;
  int rules_;
  std::vector<std::vector<ExpressionPtr>> by_size_;  // [n]: those of n + 1 nodes
};

// The grammar whose rule i has the body bodies[i]; rule 0 is the root.
Grammar BuildGrammar(const Alphabet& alphabet, std::span<const ExpressionPtr> bodies);

// All strings of 1 .. max_length letters.
std::vector<std::string> AllStrings(std::string_view letters, size_t max_length);

}  // namespace grammask::internal

#endif  // GRAMMASK_TESTS_EXHAUSTIVE_WORLDS_H_
