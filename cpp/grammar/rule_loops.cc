// Grammar to the same language on fewer levels of rules.
//
// Grammars of programming languages write their operators as a ladder: a sum is products with signs
// between them, a product is factors, and so on for a dozen levels. What a text may go on with
// after a name then depends on a dozen returns, of which each set of the parser holds an item. But
// without the levels' meaning, which only says how to read a text, all operators are alike.
//
//   1. Direct recursion.  X ::= X A | B X | X M X | P  is  H (A | M H)*  with  H = B* P. Where
//      neither A nor M occurs and all of B and P begin alike, with p, so that B is p A' and P is
//      p C, it is  p (A' p)* C:  sum ::= product "+" sum | product  is  product ("+" product)*.
//      The parts may hold X again: parentheses do.
//   2. Ladders.  Y ::= H B*  and  X ::= Y (A Y)*  make  X ::= H (B | A H)*,  as
//      (x* y)* x* is (x | y)*. H may end a rule that ends another: not ::= "not"* comparison.
//
// Each step replaces an equation between languages by one with the same least solution, where the
// other rules are whatever they are. (1: with the right side's X at hand, both sides are closed
// under the other's equation.)
//
// Cost: linear in the nodes but for the heads H, which are written out on each level; heads of more
// than kMostCopied nodes stay where they are. Tests: tests/grammar/rule_loops_test.cc.
#include "grammar/rule_loops.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/scratch.h"
#include "grammar/node_store.h"

namespace grammask::internal {
namespace {

constexpr size_t kMostCopied = 48;         // nodes of what is written out again
constexpr size_t kMostAlternatives = 256;  // of a rule or a loop that is looked at
constexpr int kMostTails = 32;             // rules that end one another

using Parts = ScratchVector<NodeId>;

// Nodes of a grammar, or of one that is being built, as what they are made of.
class Reader {
 public:
  explicit Reader(const NodeStorage& nodes) : nodes_(nodes) {}

  std::optional<RuleId> AsRule(NodeId id) const {
    const StoredNode& n = nodes_.stored(id);
    return n.kind == NodeKind::kRule ? std::optional(RuleId(n.size)) : std::nullopt;
  }
  // The child of a loop over rules.
  std::optional<NodeId> AsLoop(NodeId id) const { return AsRepeat(id, kUnbounded); }
  // What may be left out, where it holds rules.
  std::optional<NodeId> AsOptional(NodeId id) const { return AsRepeat(id, 1); }
  std::span<const NodeId> AlternativesOf(const NodeId& id) const {
    if (nodes_.stored(id).kind != NodeKind::kChoice) return std::span(&id, 1);
    return nodes_.Children(id);
  }
  std::span<const NodeId> PartsOf(const NodeId& id) const {
    const NodeKind kind = nodes_.stored(id).kind;
    if (kind == NodeKind::kEmpty) return {};
    return kind == NodeKind::kSequence ? nodes_.Children(id) : std::span(&id, 1);
  }
  // The sequences, choices and repeats that a ladder may be in; nothing of other nodes.
  std::span<const NodeId> Within(NodeId id) const {
    const StoredNode& n = nodes_.stored(id);
    const bool within =
        n.kind == NodeKind::kSequence || n.kind == NodeKind::kChoice || n.kind == NodeKind::kRepeat;
    return within && !n.regular ? nodes_.Children(id) : std::span<const NodeId>();
  }

  // Whether an alternative of a rule's body begins with a rule, which may be left out.
  bool BeginsWithRule(NodeId node) const {
    const NodeId inner = AsOptional(node).value_or(node);
    return std::ranges::any_of(AlternativesOf(inner), [&](const NodeId& alternative) {
      const auto parts = PartsOf(alternative);
      return !parts.empty() &&
             (AsRule(parts.front()).has_value() || AsOptional(parts.front()).has_value());
    });
  }
  // Whether an alternative of a rule's body begins or ends with that rule, as `is_rule` tells.
  template <class Function>
  bool Recurs(NodeId node, const Function& is_rule) const {
    return RecursIn(AsOptional(node).value_or(node), true, is_rule);
  }

 private:
  std::optional<NodeId> AsRepeat(NodeId id, int64_t max) const {
    const StoredNode& n = nodes_.stored(id);
    if (n.kind != NodeKind::kRepeat || n.regular) return std::nullopt;
    const auto& repeat = *static_cast<const RepeatData*>(n.data);
    return repeat.min == 0 && repeat.max == max ? std::optional(repeat.child) : std::nullopt;
  }
  template <class Function>
  bool RecursIn(NodeId node, bool outermost, const Function& is_rule) const {
    for (const NodeId& alternative : AlternativesOf(node)) {
      const auto parts = PartsOf(alternative);
      if (parts.empty()) continue;
      for (const NodeId end : {parts.front(), parts.back()}) {
        if (is_rule(end)) return true;
        const auto optional = outermost ? AsOptional(end) : std::nullopt;
        if (optional.has_value() && RecursIn(*optional, false, is_rule)) return true;
      }
    }
    return false;
  }

  const NodeStorage& nodes_;
};

// Whether there is something to do, told without a copy: most grammars have nothing. Recursion at
// the end costs nothing in itself, as in lists of members: only rules of operands are looked for.
bool HasAny(const Grammar& g) {
  const Reader read(g.nodes());
  const auto recurs = [&](RuleId rule) {
    return read.Recurs(g.rule_body(rule), [&](NodeId id) { return read.AsRule(id) == rule; });
  };
  ScratchVector<bool> loops;  // by rule
  for (uint32_t r = 0; r < g.rule_count(); ++r) {
    const NodeId body = g.rule_body(RuleId(r));
    const bool recurring = recurs(RuleId(r));
    if (recurring && read.BeginsWithRule(body)) return true;
    loops.push_back(read.AsLoop(body).has_value() ||
                    (recurring && read.AsOptional(body).has_value()));
  }
  const auto is_loop = [&](NodeId id) {
    const auto rule = read.AsRule(id);
    return rule.has_value() ? loops[rule->value] : read.AsLoop(id).has_value();
  };
  const auto is_ladder = [&](RuleId rule) {
    size_t heads = 0;
    for (int i = 0; i < kMostTails; ++i) {
      const NodeId body = g.rule_body(rule);
      const auto parts = read.PartsOf(body);
      if (parts.empty()) return false;
      heads += parts.size() - 1;
      if (is_loop(parts.back())) return heads > 0;
      const auto tail = read.AsRule(parts.back());
      if (!tail.has_value()) return false;
      rule = *tail;
    }
    return false;
  };
  bool any_loop = false;  // that a rule ends in
  for (uint32_t r = 0; r < g.rule_count(); ++r) {
    const NodeId body = g.rule_body(RuleId(r));
    const auto parts = read.PartsOf(body);
    any_loop |= !parts.empty() && is_loop(parts.back());
  }
  if (!any_loop) return false;
  for (uint32_t n = 0; n < g.node_count(); ++n) {
    if (g.nodes().stored(NodeId(n)).kind != NodeKind::kSequence) continue;
    const auto parts = read.Within(NodeId(n));
    for (size_t i = 1; i < parts.size(); ++i) {
      const auto rule = read.AsRule(parts[i - 1]);
      if (rule.has_value() && is_loop(parts[i]) && is_ladder(*rule)) return true;
    }
  }
  return false;
}

class Straightener {
 public:
  Straightener(const Grammar& grammar, const Limits& limits)
      : g_(grammar), b_(limits), read_(b_.nodes()) {}

  StatusOr<Grammar> Run() {
    ScratchVector<RuleId> rules;
    for (uint32_t r = 0; r < g_.rule_count(); ++r) {
      rules.push_back(b_.AddRule(g_.rule_name(RuleId(r))));
    }
    const ScratchVector<NodeId> nodes = b_.ImportNodes(g_, rules);
    for (const RuleId rule : rules) bodies_.push_back(nodes[g_.rule_body(rule).value]);
    // Twice: factor ::= "-" factor | power, power ::= atom ("^" factor)? recurs in power once that
    // factor ends in it.
    for (int pass = 0; pass < 2; ++pass) {
      for (const RuleId rule : rules) TakeRecursion(rule);
    }
    OrderByLadders();
    for (const RuleId rule : order_) bodies_[rule.value] = TakeLadders(bodies_[rule.value]);
    for (const RuleId rule : rules) b_.SetBody(rule, bodies_[rule.value]);
    return b_.Finish(rules[g_.root().value]);
  }

 private:
  NodeId& body(RuleId rule) { return bodies_[rule.value]; }
  bool IsRule(NodeId id, RuleId rule) const { return read_.AsRule(id) == rule; }

  // Whether all of `parts` are at most kMostCopied nodes, rules counted as one.
  bool IsSmall(std::span<const NodeId> parts) const {
    Parts todo(parts.begin(), parts.end());
    for (size_t seen = 0; !todo.empty();) {
      const auto children = b_.nodes().Children(todo.back());
      todo.pop_back();
      if (++seen + todo.size() + children.size() > kMostCopied) return false;
      todo.insert(todo.end(), children.begin(), children.end());
    }
    return true;
  }

  NodeId Join(std::span<const NodeId> before, std::span<const NodeId> after) {
    Parts parts(before.begin(), before.end());
    parts.insert(parts.end(), after.begin(), after.end());
    return b_.Sequence(parts);
  }

  // ---- Direct recursion ----

  // Adds the alternatives of a rule's body to `out`. What may be left out at an end counts as two
  // alternatives where `rule` stands there. False where there are too many.
  bool Alternatives(NodeId node, RuleId rule, ScratchVector<Parts>* out) {
    ScratchVector<Parts> found;
    if (const auto optional = read_.AsOptional(node)) {
      found.emplace_back();
      node = *optional;
    }
    for (const NodeId& alternative : read_.AlternativesOf(node)) {
      const auto parts = read_.PartsOf(alternative);
      found.emplace_back(parts.begin(), parts.end());
      if (found.size() > kMostAlternatives) return false;
    }
    for (Parts& parts : found) {
      if (parts.empty()) {
        out->push_back({});
        continue;
      }
      const bool at_end = OptionalWith(parts.back(), rule, true);
      if (!at_end && !OptionalWith(parts.front(), rule, false)) {
        out->push_back(std::move(parts));
        continue;
      }
      const NodeId optional = at_end ? parts.back() : parts.front();
      parts.erase(at_end ? parts.end() - 1 : parts.begin());
      const NodeId inside = *read_.AsOptional(optional);
      const auto alternatives = read_.AlternativesOf(inside);
      if (out->size() + alternatives.size() > kMostAlternatives) return false;
      for (const NodeId& alternative : alternatives) {
        const auto more = read_.PartsOf(alternative);
        Parts with = parts;
        with.insert(at_end ? with.end() : with.begin(), more.begin(), more.end());
        out->push_back(std::move(with));
      }
      out->push_back(std::move(parts));
    }
    return true;
  }

  // Whether `node` may be left out, and has `rule` at its end or beginning otherwise.
  bool OptionalWith(NodeId node, RuleId rule, bool at_end) {
    const auto optional = read_.AsOptional(node);
    if (!optional.has_value()) return false;
    return std::ranges::any_of(read_.AlternativesOf(*optional), [&](const NodeId& alternative) {
      const auto parts = read_.PartsOf(alternative);
      if (at_end) return Before(parts, rule).has_value();
      return !parts.empty() && IsRule(parts.front(), rule);
    });
  }

  // What comes before `rule` where that is the last of `parts`, or where the rule is which is the
  // last and small, once written out.
  std::optional<Parts> Before(std::span<const NodeId> parts, RuleId rule) {
    if (parts.empty()) return std::nullopt;
    const NodeId last = parts.back();
    const bool itself = IsRule(last, rule);
    if (!itself && !EndsIn(last, rule)) return std::nullopt;
    Parts before(parts.begin(), parts.end() - 1);
    if (itself) return before;
    const auto inner = read_.PartsOf(body(*read_.AsRule(last)));
    if (!IsSmall(inner)) return std::nullopt;
    before.insert(before.end(), inner.begin(), inner.end() - 1);
    return before;
  }

  // Whether `node` is a rule that ends in `rule`.
  bool EndsIn(NodeId node, RuleId rule) {
    const auto inner = read_.AsRule(node);
    if (!inner.has_value()) return false;
    const auto parts = read_.PartsOf(body(*inner));
    return !parts.empty() && IsRule(parts.back(), rule);
  }

  void TakeRecursion(RuleId rule) {
    const auto is_rule = [&](NodeId id) { return IsRule(id, rule) || EndsIn(id, rule); };
    if (!read_.Recurs(body(rule), is_rule)) return;
    ScratchVector<Parts> all, others;
    if (!Alternatives(body(rule), rule, &all)) return;
    Parts after, before, between;  // A, B and M above
    ScratchVector<Parts> right;    // B again, as lists
    for (Parts& parts : all) {
      const bool starts = !parts.empty() && IsRule(parts.front(), rule);
      if (starts && parts.size() == 1) continue;  // says nothing
      const auto before_end = Before(parts, rule);
      const bool ends = before_end.has_value();
      const auto inside =
          std::span<const NodeId>(ends ? *before_end : parts).subspan(starts ? 1 : 0);
      if (starts && ends) {
        between.push_back(b_.Sequence(inside));
      } else if (starts) {
        after.push_back(b_.Sequence(inside));
      } else if (ends) {
        before.push_back(b_.Sequence(inside));
        right.emplace_back(inside.begin(), inside.end());
      } else {
        others.push_back(std::move(parts));
      }
    }
    if (others.empty() || (after.empty() && before.empty() && between.empty())) return;
    if (after.empty() && between.empty()) {
      body(rule) = RightRecursion(right, others);
      return;
    }
    Parts ends;
    for (const Parts& parts : others) ends.push_back(b_.Sequence(parts));
    const NodeId head = b_.Sequence({b_.Star(b_.Choice(before)), b_.Choice(ends)});
    for (const NodeId middle : between) after.push_back(b_.Sequence({middle, head}));
    body(rule) = b_.Sequence({head, b_.Star(b_.Choice(after))});
  }

  // X ::= B X | P.
  NodeId RightRecursion(const ScratchVector<Parts>& before, const ScratchVector<Parts>& others) {
    const Parts& first = others[0];
    size_t common = first.size();
    for (const auto* lists : {&before, &others}) {
      for (const Parts& parts : *lists) {
        const auto differ = std::ranges::mismatch(first, parts).in1;
        common = std::min(common, static_cast<size_t>(differ - first.begin()));
      }
    }
    const std::span<const NodeId> head(first.data(), common);
    Parts loop, ends;
    for (const Parts& parts : before) {
      loop.push_back(Join(std::span(parts).subspan(common), head));
    }
    for (const Parts& parts : others) ends.push_back(b_.Sequence(std::span(parts).subspan(common)));
    return b_.Sequence({b_.Sequence(head), b_.Star(b_.Choice(loop)), b_.Choice(ends)});
  }

  // ---- Ladders ----

  // Y ::= H B*.
  struct Ladder {
    Parts head;
    NodeId loop;
  };
  std::optional<Ladder> LadderOf(RuleId rule) {
    Ladder ladder;
    for (int i = 0; i < kMostTails; ++i) {
      const auto parts = read_.PartsOf(body(rule));
      if (parts.empty() || parts.size() > kMostCopied) return std::nullopt;
      ladder.head.insert(ladder.head.end(), parts.begin(), parts.end() - 1);
      if (const auto loop = read_.AsLoop(parts.back())) {
        ladder.loop = *loop;
        if (ladder.head.empty() || !IsSmall(ladder.head)) return std::nullopt;
        return ladder;
      }
      const auto tail = read_.AsRule(parts.back());
      if (!tail.has_value() || ladder.head.size() > kMostCopied) return std::nullopt;
      rule = *tail;
    }
    return std::nullopt;
  }

  // The loop that `node` is, by itself or as a rule.
  std::optional<NodeId> LoopOf(NodeId node) {
    const auto rule = read_.AsRule(node);
    return read_.AsLoop(rule.has_value() ? body(*rule) : node);
  }

  // Nodes of a body that may hold ladders and have not been looked at, children first.
  Parts NodesOf(NodeId node) {
    Parts found, todo = {node};
    while (!todo.empty()) {
      const NodeId id = todo.back();
      todo.pop_back();
      if (id.value < straight_.size() && straight_[id.value].has_value()) continue;
      const auto children = read_.Within(id);
      if (children.empty()) continue;
      if (id.value >= straight_.size()) straight_.resize(id.value + 1);
      straight_[id.value] = id;
      found.push_back(id);
      todo.insert(todo.end(), children.begin(), children.end());
    }
    std::ranges::sort(found);  // children are older
    return found;
  }

  // The rules in an order in which those come first whose ladders others take over.
  void OrderByLadders() {
    struct Visit {
      RuleId rule;
      Parts next;  // rules, as nodes
    };
    ScratchVector<bool> seen(bodies_.size());
    ScratchVector<Visit> stack;
    const auto visit = [&](RuleId rule) {
      if (seen[rule.value]) return;
      seen[rule.value] = true;
      stack.push_back({rule, {}});
      const auto parts = read_.PartsOf(body(rule));
      if (!parts.empty()) stack.back().next.push_back(parts.back());
      for (const NodeId id : NodesOf(body(rule))) {
        if (b_.nodes().stored(id).kind != NodeKind::kSequence) continue;
        const auto parts = b_.nodes().Children(id);
        for (size_t i = 1; i < parts.size(); ++i) {
          if (LoopOf(parts[i]).has_value()) stack.back().next.push_back(parts[i - 1]);
        }
      }
    };
    for (uint32_t r = 0; r < bodies_.size(); ++r) {
      visit(RuleId(r));
      while (!stack.empty()) {
        Visit& top = stack.back();
        if (top.next.empty()) {
          order_.push_back(top.rule);
          stack.pop_back();
          continue;
        }
        const auto rule = read_.AsRule(top.next.back());
        top.next.pop_back();
        if (rule.has_value()) visit(*rule);
      }
    }
    straight_.clear();
  }

  // `node` with all ladders in it taken over.
  NodeId TakeLadders(NodeId node) {
    for (const NodeId id : NodesOf(node)) {
      const StoredNode n = b_.nodes().stored(id);
      const auto before = b_.nodes().Children(id);
      Parts now;
      for (const NodeId child : before) now.push_back(Straight(child));
      if (n.kind == NodeKind::kSequence) now = TakeLoops(now);
      if (std::ranges::equal(now, before)) continue;
      straight_[id.value] = Remade(n, now);
    }
    return Straight(node);
  }

  NodeId Straight(NodeId id) const {
    return id.value < straight_.size() ? straight_[id.value].value_or(id) : id;
  }

  // `node` with these children.
  NodeId Remade(const StoredNode& node, const Parts& children) {
    if (node.kind == NodeKind::kSequence) return b_.Sequence(children);
    if (node.kind == NodeKind::kChoice) return b_.Choice(children);
    const auto& repeat = *static_cast<const RepeatData*>(node.data);
    return b_.Repeat(children[0], repeat.min, repeat.max);
  }

  // The parts of a sequence with each Y (A Y)* in it joined.
  Parts TakeLoops(const Parts& parts) {
    Parts now;
    for (const NodeId part : parts) {
      const auto rule = now.empty() ? std::nullopt : read_.AsRule(now.back());
      const auto loop = rule.has_value() ? LoopOf(part) : std::nullopt;
      const auto joined = loop.has_value() ? JoinedOnce(*rule, *loop) : std::nullopt;
      if (joined.has_value()) {
        now.pop_back();
        const auto joined_parts = read_.PartsOf(*joined);
        now.insert(now.end(), joined_parts.begin(), joined_parts.end());
      } else {
        now.push_back(part);
      }
    }
    return now;
  }

  // Joined(), which may be asked for the same rule again and again.
  std::optional<NodeId> JoinedOnce(RuleId rule, NodeId loop) {
    const auto [known, added] = joined_.try_emplace({rule.value, loop.value});
    if (added) known->second = Joined(rule, loop);
    return known->second;
  }

  // Y (A Y)* as H (B | A H)*, where `loop` is A Y.
  std::optional<NodeId> Joined(RuleId rule, NodeId loop) {
    const auto ladder = LadderOf(rule);
    if (!ladder.has_value()) return std::nullopt;
    const auto own = read_.AlternativesOf(ladder->loop), more = read_.AlternativesOf(loop);
    if (own.size() + more.size() > kMostAlternatives) return std::nullopt;
    Parts all(own.begin(), own.end());
    for (const NodeId& alternative : more) {
      const auto before = Before(read_.PartsOf(alternative), rule);
      if (!before.has_value()) return std::nullopt;
      all.push_back(Join(*before, ladder->head));
    }
    const NodeId star = b_.Star(b_.Choice(all));
    return Join(ladder->head, std::span(&star, 1));
  }

  const Grammar& g_;
  GrammarBuilder b_;
  const Reader read_;
  ScratchVector<NodeId> bodies_;
  ScratchVector<RuleId> order_;
  // By rule and loop: Joined().
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, std::optional<NodeId>> joined_;
  ScratchVector<std::optional<NodeId>> straight_;  // by node: what TakeLadders made of it
};

}  // namespace

Grammar RulesToLoops(const Grammar& grammar, const Limits& limits) {
  // Short forms are those of schemas, which have no operators.
  if (grammar.has_short_forms() || !HasAny(grammar)) return grammar;
  StatusOr<Grammar> straight = Straightener(grammar, limits).Run();
  return straight.ok() ? *std::move(straight) : grammar;
}

}  // namespace grammask::internal
