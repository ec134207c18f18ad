// Regular grammar nodes as explicit automata over bytes: what the oracle asks for emptiness.
#ifndef GRAMMASK_TESTS_ORACLE_BYTE_DFA_H_
#define GRAMMASK_TESTS_ORACLE_BYTE_DFA_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "grammar/ast.h"

namespace grammask::internal {

// A complete deterministic automaton: every state has a successor for every byte. State 0 starts.
class ByteDfa {
 public:
  // States beyond this end the process with a message.
  static constexpr size_t kMaxStates = 100'000;

  // Of the language of a regular node of `grammar`.
  static ByteDfa Build(const Grammar& grammar, NodeId node);

  size_t size() const { return next_.size(); }
  uint32_t Step(uint32_t state, uint8_t byte) const { return next_[state][byte]; }
  bool Accepts(uint32_t state) const { return accepting_[state]; }
  // Whether some text leads from the state to an accepting one.
  bool Live(uint32_t state) const { return live_[state]; }
  // Whether some text of the language begins with `text`.
  bool IsPrefix(std::string_view text) const;

 private:
  void FindLive();

  std::vector<std::array<uint32_t, 256>> next_;
  std::vector<bool> accepting_, live_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_TESTS_ORACLE_BYTE_DFA_H_
