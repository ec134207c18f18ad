// Members in any order, by definition: what may come after what has been written.
//
// For tests only; never linked into the library.
#ifndef GRAMMASK_TESTS_ORACLE_MEMBER_LISTS_H_
#define GRAMMASK_TESTS_ORACLE_MEMBER_LISTS_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/ast.h"
#include "oracle/byte_dfa.h"

namespace grammask::internal {

// The value of a JSON scalar, spelled in one way only; anything else as it stands.
std::string CanonicalValue(std::string_view text);

// The lists of one kMembers node.
class MemberLists {
 public:
  // Values of a distinct member that are looked at: as if it had no more than these, shortest texts
  // first. So texts in which more of them are written are beyond this oracle.
  static constexpr size_t kMaxValues = 12;
  using Productive = std::function<bool(NodeId)>;

  // What has been written.
  struct State {
    std::vector<bool> used;  // by member, those that may come once
    uint32_t met = 0;
    int64_t written = 0;  // exact up to the bounds
    std::set<std::string> values;
    friend auto operator<=>(const State&, const State&) = default;
  };

  MemberLists(const Grammar& grammar, NodeId node);

  State Start() const { return {.used = std::vector<bool>(count()), .values = {}}; }
  size_t count() const { return view_.members.uses().size(); }
  NodeId separator() const { return view_.children[0]; }
  NodeId end() const { return view_.children[1]; }
  NodeId member(size_t i) const { return view_.children[i + 2]; }
  bool distinct(size_t i) const { return HasOwnValue(view_.members.use(i)); }

  // With one member more, whose text is `text`; nullopt where it may not come.
  std::optional<State> After(const State& state, size_t i, std::string_view text) const;
  bool MayEnd(const State& state) const;
  // Whether a list that goes on with a member, which begins with `begun`, can be completed. Of
  // members that are not distinct, `begun` is taken to begin one.
  bool CanGoOn(const State& state, size_t i, std::string_view begun, const Productive& productive);
  bool CanGoOn(const State& state, const Productive& productive);

 private:
  bool InItsPlace(const State& state, size_t i) const;
  bool CanEnd(const State& state, const Productive& productive);
  const std::vector<std::string>& Texts(size_t i, std::string_view begun);

  Grammar grammar_;
  NodeView view_;
  std::map<size_t, std::unique_ptr<ByteDfa>> dfas_;
  std::map<std::pair<size_t, std::string>, std::vector<std::string>, std::less<>> texts_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_TESTS_ORACLE_MEMBER_LISTS_H_
