// Linear equations between regular languages, to their least solution.
//
// Gaussian elimination: X = l X | r has the least solution l* r (Arden's rule), which takes X out
// of the other equations; at the end the solutions are put back in. For example X = a Y,
// Y = b X | c gives Y = (ba)* c when X goes first, and X = a (ba)* c. Rows with few neighbours go
// first and wanted rows last, so a chain of n rows takes n steps, and others at worst the cube.
// Source: D. Arden, "Delayed logic and finite state machines" (1961).
// Tests: tests/grammar/regex_test.cc.
#include "grammar/regex_equations.h"

#include <algorithm>
#include <utility>

namespace grammask::internal {

void LanguageEquations::AddLabel(uint32_t i, uint32_t j, NodeId label) {
  auto [it, is_new] = rows_[i].labels.try_emplace(j, label);
  if (is_new) {
    rows_[j].users.push_back(i);
  } else {
    it->second = builder_->Choice({it->second, label});
  }
}

void LanguageEquations::AddConstant(uint32_t i, NodeId constant) {
  std::optional<NodeId>& c = rows_[i].constant;
  c = c.has_value() ? builder_->Choice({*c, constant}) : constant;
}

uint32_t LanguageEquations::CheapestRow() const {
  size_t best_cost = SIZE_MAX;
  uint32_t best = 0;
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (row.eliminated) continue;
    size_t cost = (row.users.size() + 1) * (row.labels.size() + 1);
    if (row.wanted) cost += size_t{1} << 40;
    if (cost < best_cost) {
      best_cost = cost;
      best = i;
    }
  }
  return best;
}

bool LanguageEquations::Eliminate(uint32_t k, size_t* max_labels) {
  Row& row = rows_[k];
  auto loop = row.labels.find(k);
  row.star = loop == row.labels.end() ? builder_->Empty() : builder_->Star(loop->second);
  if (loop != row.labels.end()) row.labels.erase(loop);
  row.eliminated = true;
  for (uint32_t i : row.users) {
    auto use = rows_[i].labels.find(k);
    if (rows_[i].eliminated || use == rows_[i].labels.end()) continue;
    *max_labels -= std::min(*max_labels, row.labels.size() + 1);
    if (*max_labels == 0) return false;
    NodeId before = Join(use->second, row.star);
    rows_[i].labels.erase(use);
    for (auto [j, label] : row.labels) AddLabel(i, j, Join(before, label));
    if (row.constant.has_value()) AddConstant(i, Join(before, *row.constant));
  }
  return true;
}

std::optional<ScratchVector<NodeId>> LanguageEquations::Solve(std::span<const uint32_t> wanted,
                                                              size_t* max_labels) {
  for (uint32_t i : wanted) rows_[i].wanted = true;
  ScratchVector<uint32_t> order;
  order.reserve(rows_.size());
  for (size_t n = 0; n < rows_.size(); ++n) {
    order.push_back(CheapestRow());
    if (!Eliminate(order.back(), max_labels)) return std::nullopt;
  }
  // The labels left in a row lead to rows that went later: wanted ones, for a wanted row.
  ScratchVector<NodeId> solution(rows_.size(), builder_->Nothing());
  for (size_t n = order.size(); n-- > 0;) {
    const Row& row = rows_[order[n]];
    if (!row.wanted) break;
    NodeId rest = row.constant.value_or(builder_->Nothing());
    for (auto [j, label] : row.labels) {
      rest = builder_->Choice({rest, Join(label, solution[j])});
    }
    solution[order[n]] = Join(row.star, rest);
  }
  ScratchVector<NodeId> result;
  result.reserve(wanted.size());
  for (uint32_t i : wanted) result.push_back(solution[i]);
  return result;
}

}  // namespace grammask::internal
