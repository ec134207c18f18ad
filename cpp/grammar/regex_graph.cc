// A regex tree with assertions, to a graph whose edges are assertion-free languages or assertions.
//
// Parts without assertions stay whole, as one label; only what holds an assertion is unfolded, by
// Thompson's construction. `[a-z]{1,99}(\d|-(?!-))*` is one edge for `[a-z]{1,99}`, then a vertex
// with a loop edge for `\d` and a loop of two edges for `-` and the assertion.
// Cost: linear in the tree, times the counts of repeats that hold assertions.
// Source: K. Thompson, "Regular expression search algorithm" (1968); R. Tarjan, "Depth-first search
// and linear graph algorithms" (1972). Tests: tests/grammar/regex_test.cc.
#include "grammar/regex_graph.h"

#include <algorithm>

namespace grammask::internal {
namespace {

constexpr size_t kMaxVertices = 20'000;

class Unfolder {
 public:
  Unfolder(const RegexTree& tree, std::span<const NodeId> plain, GrammarBuilder* builder)
      : tree_(tree), plain_(plain), builder_(builder) {
    graph_.out.resize(2);
  }

  std::optional<RegexGraph> Run(std::span<const uint32_t> parts, NodeId before, NodeId after);

 private:
  struct Task {
    uint32_t node, from, to;
  };

  uint32_t NewVertex() {
    graph_.out.emplace_back();
    return static_cast<uint32_t>(graph_.out.size() - 1);
  }
  void AddLabel(uint32_t from, uint32_t to, NodeId label) {
    if (label != builder_->Nothing()) graph_.out[from].push_back({to, false, label, 0});
  }
  void AddEmpty(uint32_t from, uint32_t to) { AddLabel(from, to, builder_->Empty()); }
  void Unfold(Task task);
  // With the labels `before` and `after` around the parts.
  void UnfoldSequence(std::span<const uint32_t> parts, NodeId before, NodeId after, uint32_t from,
                      uint32_t to);
  void UnfoldChoice(const RegexNode& n, uint32_t from, uint32_t to);
  void UnfoldRepeat(const RegexNode& n, uint32_t from, uint32_t to);

  const RegexTree& tree_;
  std::span<const NodeId> plain_;
  GrammarBuilder* builder_;
  RegexGraph graph_;
  ScratchVector<Task> tasks_;
};

void Unfolder::UnfoldSequence(std::span<const uint32_t> parts, NodeId before, NodeId after,
                              uint32_t from, uint32_t to) {
  ScratchVector<NodeId> run = {before};  // neighbours without assertions
  uint32_t at = from;
  for (uint32_t part : parts) {
    if (!tree_.nodes[part].has_look) {
      run.push_back(plain_[part]);
      continue;
    }
    if (NodeId label = builder_->Sequence(run); label != builder_->Empty()) {
      uint32_t next = NewVertex();
      AddLabel(at, next, label);
      at = next;
    }
    run.clear();
    uint32_t next = NewVertex();
    tasks_.push_back({part, at, next});
    at = next;
  }
  run.push_back(after);
  AddLabel(at, to, builder_->Sequence(run));
}

void Unfolder::UnfoldChoice(const RegexNode& n, uint32_t from, uint32_t to) {
  ScratchVector<NodeId> plain;
  for (uint32_t child : tree_.ChildrenOf(n)) {
    if (tree_.nodes[child].has_look) {
      tasks_.push_back({child, from, to});
    } else {
      plain.push_back(plain_[child]);
    }
  }
  if (!plain.empty()) AddLabel(from, to, builder_->Choice(plain));
}

void Unfolder::UnfoldRepeat(const RegexNode& n, uint32_t from, uint32_t to) {
  uint32_t child = tree_.ChildrenOf(n)[0];
  uint32_t at = NewVertex();
  AddEmpty(from, at);
  auto again = [&] {
    uint32_t next = NewVertex();
    tasks_.push_back({child, at, next});
    at = next;
  };
  for (int64_t i = 0; i < n.min && graph_.out.size() <= kMaxVertices; ++i) again();
  AddEmpty(at, to);
  if (n.max == kUnbounded) {
    tasks_.push_back({child, at, at});
    return;
  }
  for (int64_t i = n.min; i < n.max && graph_.out.size() <= kMaxVertices; ++i) {
    again();
    AddEmpty(at, to);
  }
}

void Unfolder::Unfold(Task task) {
  const RegexNode& n = tree_.nodes[task.node];
  if (!n.has_look) return AddLabel(task.from, task.to, plain_[task.node]);
  switch (n.kind) {
    case RegexKind::kSequence:
      return UnfoldSequence(tree_.ChildrenOf(n), builder_->Empty(), builder_->Empty(), task.from,
                            task.to);
    case RegexKind::kChoice:
      return UnfoldChoice(n, task.from, task.to);
    case RegexKind::kRepeat:
      return UnfoldRepeat(n, task.from, task.to);
    default:
      graph_.out[task.from].push_back({task.to, true, NodeId(), task.node});
      return;
  }
}

// Tarjan's algorithm with its own stack: a component is numbered when all it leads to are.
void FindComponents(RegexGraph* graph) {
  constexpr uint32_t kNone = UINT32_MAX;
  size_t n = graph->out.size();
  graph->component.assign(n, kNone);
  ScratchVector<uint32_t> order(n, kNone), low(n), open;
  struct Frame {
    uint32_t vertex;
    size_t edge;
  };
  ScratchVector<Frame> stack;
  uint32_t visited = 0;
  auto enter = [&](uint32_t v) {
    order[v] = low[v] = visited++;
    open.push_back(v);
    stack.push_back({v, 0});
  };
  for (uint32_t root = 0; root < n; ++root) {
    if (order[root] == kNone) enter(root);
    while (!stack.empty()) {
      uint32_t v = stack.back().vertex;
      if (stack.back().edge < graph->out[v].size()) {
        uint32_t to = graph->out[v][stack.back().edge++].to;
        if (order[to] == kNone) {
          enter(to);
        } else if (graph->component[to] == kNone) {
          low[v] = std::min(low[v], order[to]);
        }
        continue;
      }
      stack.pop_back();
      if (!stack.empty()) low[stack.back().vertex] = std::min(low[stack.back().vertex], low[v]);
      if (low[v] != order[v]) continue;
      uint32_t member;
      do {
        member = open.back();
        open.pop_back();
        graph->component[member] = graph->components;
      } while (member != v);
      ++graph->components;
    }
  }
}

std::optional<RegexGraph> Unfolder::Run(std::span<const uint32_t> parts, NodeId before,
                                        NodeId after) {
  UnfoldSequence(parts, before, after, RegexGraph::kStart, RegexGraph::kFinal);
  while (!tasks_.empty()) {
    if (graph_.out.size() > kMaxVertices) return std::nullopt;
    Task task = tasks_.back();
    tasks_.pop_back();
    Unfold(task);
  }
  FindComponents(&graph_);
  return std::move(graph_);
}

}  // namespace

std::optional<RegexGraph> BuildRegexGraph(const RegexTree& tree, std::span<const NodeId> plain,
                                          std::span<const uint32_t> parts, NodeId before,
                                          NodeId after, GrammarBuilder* builder) {
  return Unfolder(tree, plain, builder).Run(parts, before, after);
}

}  // namespace grammask::internal
