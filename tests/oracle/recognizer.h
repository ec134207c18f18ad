// The slow twin of the parser: decides by definition whether a grammar matches a text.
//
// For tests only; never linked into the library, and built on nothing of it but the grammar itself.
#ifndef GRAMMASK_TESTS_ORACLE_RECOGNIZER_H_
#define GRAMMASK_TESTS_ORACLE_RECOGNIZER_H_

#include <memory>
#include <string_view>
#include <vector>

#include "grammar/ast.h"
#include "oracle/byte_dfa.h"
#include "oracle/member_lists.h"

namespace grammask::internal {

// Any grammar: left recursion, ambiguity and nullable rules included. A kTokens node matches no
// text. Of distinct members the first values are known only: see MemberLists::kMaxValues. Time
// grows with the cube of the text for ambiguous grammars: meant for texts of up to a few hundred
// bytes. Not thread-safe.
class Recognizer {
 public:
  explicit Recognizer(const Grammar& grammar);

  // Whether `text` is in the grammar's language.
  bool Matches(std::string_view text);
  // Whether some text of the language begins with `text`, `text` itself included. Intersections and
  // complements are decided on automata of up to ByteDfa::kMaxStates states; beyond that the
  // process ends with a message, rather than give a wrong answer.
  bool IsPrefix(std::string_view text);

 private:
  bool Productive(NodeId id) const { return productive_[id.value]; }
  void FindProductive();
  // The automaton of an intersection or complement, built on first need.
  const ByteDfa& DfaOf(NodeId id);
  MemberLists& ListsOf(NodeId id);

  friend class RecognizerRun;
  Grammar grammar_;
  std::vector<bool> productive_;  // by node: some text matches; found on first need
  bool know_productive_ = false;
  std::vector<std::unique_ptr<ByteDfa>> dfas_;
  std::vector<std::unique_ptr<MemberLists>> lists_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_TESTS_ORACLE_RECOGNIZER_H_
