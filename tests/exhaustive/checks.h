// The checks that every small world goes through: masks and acceptance against the oracle, and the
// laws that masks obey among themselves.
#ifndef GRAMMASK_TESTS_EXHAUSTIVE_CHECKS_H_
#define GRAMMASK_TESTS_EXHAUSTIVE_CHECKS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/ast.h"
#include "grammask/grammask.h"
#include "oracle/recognizer.h"
#include "sampled.h"

namespace grammask::internal {

using Mask = std::vector<int32_t>;

// A vocabulary with, after the texts given: two copies of the first text, an empty token, a special
// token and the stop token.
struct SmallVocabulary {
  // `others`: bytes that are no tokens, one of each kind that expressions tell apart, for the
  // shortest way to complete a text.
  SmallVocabulary(std::vector<std::string> texts, std::string letters, std::string others = "z");

  std::vector<std::string> texts;  // by token
  std::string letters;             // each a token of one byte
  std::string others;
  int32_t empty, special, stop;
  std::optional<TokenizerInfo> info;
  int size() const { return static_cast<int>(texts.size()); }
  bool IsText(int32_t token) const { return token < empty; }
};

// The oracle with its answers remembered.
class Judge {
 public:
  explicit Judge(const internal::Grammar& grammar) : recognizer_(grammar) {}
  bool Matches(const std::string& text);
  bool IsPrefix(const std::string& text);
  // Whether `token` may follow `text`, which is a prefix.
  bool MayFollow(const SmallVocabulary& vocabulary, const std::string& text, int32_t token);
  // The fewest bytes that complete `text`, nullopt when it takes more than `limit`.
  std::optional<uint64_t> ShortestCompletion(const std::string& letters, const std::string& text,
                                             uint64_t limit);
  // What must come next, whatever byte a model would like: at most `limit` bytes. For grammars to
  // which all bytes but the letters are alike.
  std::string Forced(const std::string& letters, const std::string& text, size_t limit);

 private:
  Recognizer recognizer_;
  std::unordered_map<std::string, bool> matches_, prefixes_;
};

// Compilers that differ in nothing that may change a result.
class Engines {
 public:
  explicit Engines(const SmallVocabulary& vocabulary);
  struct Configuration {
    std::string name;
    GrammarCompiler compiler;
    int precompute_threads;  // 0: masks come into being on need
  };
  std::vector<Configuration>& all() { return all_; }

 private:
  std::vector<Configuration> all_;
};

// Checks everything about `grammar` under one configuration, for all texts of up to `max_length`
// letters. Records a failure with the grammar, the text and the token, and returns false then.
bool CheckGrammar(const internal::Grammar& grammar, const SmallVocabulary& vocabulary,
                  Engines::Configuration* configuration, size_t max_length, Judge* judge);

// A random walk of `steps` steps: accept, roll back, fork, restart; masks against the oracle.
bool CheckWalk(const internal::Grammar& grammar, const SmallVocabulary& vocabulary,
               Engines::Configuration* configuration, int steps, std::mt19937_64* random,
               Judge* judge);

}  // namespace grammask::internal

#endif  // GRAMMASK_TESTS_EXHAUSTIVE_CHECKS_H_
