// Grammar to automaton: the terms of its rules.
//
// Regular nodes become terms at once, children first. Then the shortest text of every rule is
// found; a rule without any is unproductive and dropped from its callers. Rules are taken in the
// order of their strongly connected components, callees first: a rule that is no part of a cycle is
// a procedure named by its body's term, so an equal rule of another grammar is the same procedure;
// a cycle of rules is named by an exact description of its bodies (compared in full). A small rule
// without loops over many characters is written into its callers instead: `ws ::= [ \t\n]*` costs
// no call. Of `value ::= string | "[" value "]"` the rule value is a cycle, string a procedure.
//
// Cost: linear in the nodes, about 50 ns each. Tests: tests/automaton/build_test.cc.
#include "automaton/build.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <queue>
#include <string>
#include <vector>

#include "automaton/members.h"
#include "automaton/words.h"
#include "base/check.h"

namespace grammask::internal {
namespace {

constexpr uint32_t kUnset = UINT32_MAX;
constexpr uint32_t kMaxInlineSize = 32;  // nodes of a rule that is written into its callers
constexpr size_t kWideClass = 8;         // members of a class that makes a loop worth sharing
constexpr int kMaxPasses = 8;            // over all nodes, before a queue takes over

uint64_t Add(uint64_t a, uint64_t b) { return std::min(kMaxLength, a + b); }

uint64_t Times(uint64_t a, uint64_t n) {
  if (a == 0 || n == 0) return 0;
  return a > kMaxLength / n ? kMaxLength : std::min(kMaxLength, a * n);
}

class TermBuilder {
 public:
  TermBuilder(const Grammar& grammar, TermStore* store)
      : g_(grammar), s_(*store), nodes_(grammar.node_count()), rules_(grammar.rule_count()) {}

  StatusOr<TermId> Run() {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      BuildRegular(NodeId(i));
      if (s_.over_budget()) return TooManyStates(NodeId(i));
    }
    FindLengths();
    const RuleId root = g_.root();
    if (rules_[root.value].length >= kMaxLength) {
      return Unsatisfiable("the grammar is unsatisfiable: no finite text matches rule \"" +
                           g_.rule_name(root) + "\"");
    }
    VisitComponents(root);
    if (!failed_.ok()) return failed_;
    if (s_.over_budget()) {
      return TooManyStates(g_.rule_body(root));
    }
    const Rule& r = rules_[root.value];
    const TermId term = r.proc.value != 0 ? s_.proc(r.proc).body : r.term;
    if (term == TermStore::Nothing()) {
      return Unsatisfiable("the grammar is unsatisfiable: no text has enough different members");
    }
    return term;
  }

  // The body of the root, which is regular.
  TermId RunRegular() {
    for (uint32_t i = 0; i < nodes_.size(); ++i) BuildRegular(NodeId(i));
    return ChildTerm(g_.rule_body(g_.root()));
  }

 private:
  struct Node {
    uint32_t term = kUnset;
    uint32_t size = 1;
    bool wide_class = false;  // a class of many characters in it
    bool wide_loop = false;   // a repeat of such, or an intersection
    bool in_cycle = false;    // reaches a rule of the component at work
    uint64_t length = kMaxLength;
  };
  struct Rule {
    uint64_t length = kMaxLength;
    TermId term;        // what a reference to it becomes
    ProcId proc;        // 0 when written into its callers
    uint32_t size = 1;  // what a reference to it adds to the size of its user
    bool wide_loop = false;
    uint32_t position = 0;  // within its component
    // Tarjan's algorithm.
    uint32_t index = kUnset, low = 0;
    bool on_stack = false;
  };

  Node& at(NodeId id) { return nodes_[id.value]; }

  // Names the first rule that holds `node`.
  Status TooManyStates(NodeId node) {
    for (uint32_t r = 0; r < rules_.size(); ++r) {
      std::vector<NodeId> todo = {g_.rule_body(RuleId(r))};
      std::vector<bool> seen(nodes_.size());
      while (!todo.empty()) {
        const NodeId id = todo.back();
        todo.pop_back();
        if (seen[id.value]) continue;
        seen[id.value] = true;
        if (id == node) {
          return ResourceExhausted("rule \"" + g_.rule_name(RuleId(r)) +
                                   "\": whether its patterns, lengths and exclusions (pattern, "
                                   "not, allOf) clash takes more "
                                   "than limits.max_regular_states states to decide; use fewer or "
                                   "simpler ones, or raise "
                                   "the limit");
        }
        for (NodeId c : g_.node(id).children) todo.push_back(c);
      }
    }
    return ResourceExhausted("an intersection takes more than limits.max_regular_states states");
  }

  void Measure(NodeId id, const NodeView& v) {
    Node& n = at(id);
    for (NodeId c : v.children) {
      n.size = std::min(n.size + at(c).size, kUnset / 2);
      n.wide_class |= at(c).wide_class;
      n.wide_loop |= at(c).wide_loop;
    }
    switch (v.kind) {
      case NodeKind::kBytes:
      case NodeKind::kJsonText:
        n.size = static_cast<uint32_t>(1 + v.text.size() / 8);
        break;
      case NodeKind::kByteClass:
        n.wide_class = v.bytes->size() >= static_cast<int>(kWideClass);
        break;
      case NodeKind::kClass:
      case NodeKind::kJsonClass:
        n.wide_class = v.characters->size() >= kWideClass;
        break;
      case NodeKind::kRepeat:
        n.wide_loop |= n.wide_class && v.max > static_cast<int64_t>(kWideClass);
        break;
      case NodeKind::kAnd:
      case NodeKind::kNot:
      case NodeKind::kMultiple:
      case NodeKind::kMembers:
        n.wide_loop = true;
        break;
      case NodeKind::kRule:
        n.size = rules_[v.rule.value].size;
        n.wide_loop = rules_[v.rule.value].wide_loop;
        break;
      default:
        break;
    }
  }

  TermId ChildTerm(NodeId id) {
    const Node& n = at(id);
    return n.term == kUnset ? TermStore::Nothing() : TermId(n.term);
  }

  // The term of a node whose children have theirs.
  TermId Make(const NodeView& v) {
    switch (v.kind) {
      case NodeKind::kNothing:
        return TermStore::Nothing();
      case NodeKind::kEmpty:
        return TermStore::Empty();
      case NodeKind::kBytes:
        return s_.Literal(v.text, false);
      case NodeKind::kJsonText:
        return s_.Literal(v.text, true);
      case NodeKind::kByteClass:
        return s_.ByteClass(*v.bytes);
      case NodeKind::kClass:
        return s_.Character(*v.characters, false);
      case NodeKind::kJsonClass:
        return s_.Character(*v.characters, true);
      case NodeKind::kSequence: {
        TermId t = TermStore::Empty();
        for (size_t i = v.children.size(); i-- > 0;) t = s_.Sequence(ChildTerm(v.children[i]), t);
        return t;
      }
      case NodeKind::kRepeat:
        return s_.Repeat(ChildTerm(v.children[0]), v.min, v.max);
      case NodeKind::kRule:
        return rules_[v.rule.value].term;
      case NodeKind::kNot:
        return s_.Not(ChildTerm(v.children[0]));
      case NodeKind::kMultiple:
        return s_.MultipleOf(v.multiple, 0);
      case NodeKind::kTokens:
        return s_.Tokens(*v.tokens);
      case NodeKind::kMembers:
        return MakeMembers(v);
      case NodeKind::kChoice:
      case NodeKind::kAnd: {
        absl::InlinedVector<TermId, 16> parts;
        if (v.kind == NodeKind::kChoice && v.children.size() >= WordTable::kFewest) {
          MakeChoice(v, &parts);
          return s_.Choice(parts);
        }
        for (NodeId c : v.children) parts.push_back(ChildTerm(c));
        return v.kind == NodeKind::kChoice ? s_.Choice(parts) : s_.And(parts);
      }
    }
    return TermStore::Nothing();
  }

  // The alternatives of a large choice; many literals are one.
  void MakeChoice(const NodeView& v, absl::InlinedVector<TermId, 16>* parts) {
    std::vector<std::string_view> words[2];
    for (NodeId c : v.children) {
      const NodeView child = g_.node(c);
      if (child.kind == NodeKind::kBytes || child.kind == NodeKind::kJsonText) {
        words[child.kind == NodeKind::kJsonText].push_back(child.text);
      } else {
        parts->push_back(ChildTerm(c));
      }
    }
    for (bool json : {false, true}) {
      if (!words[json].empty()) parts->push_back(s_.Words(std::move(words[json]), json));
    }
  }

  TermId MakeMembers(const NodeView& v) {
    MemberSpec spec;
    spec.separator = ChildTerm(v.children[0]);
    spec.end = ChildTerm(v.children[1]);
    spec.min = v.members.min();
    spec.max = v.members.max();
    spec.conditions = (uint32_t{1} << v.members.conditions()) - 1;
    for (size_t i = 0; i < v.members.uses().size(); ++i) {
      const TermId term = ChildTerm(v.children[i + 2]);
      const MemberUse use = v.members.use(i);
      if (s_.term(term).nullable) {
        failed_ =
            InvalidArgument("a member of Members matches the empty text; each must be longer");
        return TermStore::Nothing();
      }
      spec.members.push_back({.use = use, .meets = v.members.meets(i), .term = term});
    }
    if (MayRunOut(spec)) {
      failed_ = InvalidArgument(
          "the distinct members of a Members that asks for " + std::to_string(spec.min) +
          " have too few values to fill it alone; then no other members may stand beside them");
      return TermStore::Nothing();
    }
    return s_.MembersOf(std::move(spec));
  }

  // Whether a list might come to lack members for its lower bound, as values were written before.
  bool MayRunOut(const MemberSpec& spec) {
    if (spec.min <= 1 || spec.members.size() == 1) return false;
    bool distinct = false;
    for (const MemberSpec::Member& m : spec.members) {
      if (m.use == MemberUse::kRepeated) return false;
      if (m.use != MemberUse::kDistinct) continue;
      if (s_.EnoughValues(m.term, spec.min)) return false;
      distinct = true;
    }
    return distinct;
  }

  void BuildRegular(NodeId id) {
    const NodeView v = g_.node(id);
    if (v.kind == NodeKind::kMembers && TooFewValues(v)) at(id).term = TermStore::Nothing().value;
    if (!v.regular && v.kind != NodeKind::kTokens) return;
    Measure(id, v);
    Node& n = at(id);
    n.term = Make(v).value;
    n.length = s_.term(TermId(n.term)).min_length;
  }

  // Whether a list of distinct members has no text, as they have too few values.
  bool TooFewValues(const NodeView& v) {
    if (v.children.size() != 3 || v.members.use(0) != MemberUse::kDistinct) return false;
    const uint32_t texts = at(v.children[2]).term;
    return texts != kUnset && !s_.EnoughValues(TermId(texts), v.members.min());
  }

  uint64_t LengthOf(const NodeView& v) {
    switch (v.kind) {
      case NodeKind::kRule:
        return rules_[v.rule.value].length;
      case NodeKind::kSequence: {
        uint64_t sum = 0;
        for (NodeId c : v.children) sum = Add(sum, at(c).length);
        return sum;
      }
      case NodeKind::kChoice: {
        uint64_t least = kMaxLength;
        for (NodeId c : v.children) least = std::min(least, at(c).length);
        return least;
      }
      case NodeKind::kRepeat:
        return Times(at(v.children[0]).length, static_cast<uint64_t>(v.min));
      case NodeKind::kMembers:
        return MembersLength(v);
      default:
        return kMaxLength;  // regular ones have theirs already
    }
  }

  uint64_t MembersLength(const NodeView& v) {
    uint64_t separator = at(v.children[0]).length;
    MembersLeft left = {.least = std::max<int64_t>(v.members.min(), 1),
                        .most = v.members.max(),
                        .repeated = kMaxLength};
    if (separator == kMaxLength) {  // then there is no second member
      left.most = 1;
      separator = 0;
    }
    left.unmet = (uint32_t{1} << v.members.conditions()) - 1;
    std::vector<ConditionCover::Member> meeting;
    for (size_t i = 0; i < v.members.uses().size(); ++i) {
      const uint64_t length = Add(at(v.children[i + 2]).length, separator);
      switch (v.members.use(i)) {
        case MemberUse::kRequired:
          ++left.required;
          left.required_length = Add(left.required_length, length);
          break;
        case MemberUse::kOptional:
          left.optional.push_back(length);
          break;
        default:
          left.repeated = std::min(left.repeated, length);
          if (v.members.meets(i) != 0) meeting.push_back({v.members.meets(i), length});
          break;
      }
    }
    const ConditionCover cover(left.unmet, meeting);
    const uint64_t members = ShortestList(std::move(left), cover);
    if (members == kMaxLength) return kMaxLength;
    return Add(members - separator, at(v.children[1]).length);
  }

  // Least shortest texts: passes over all nodes until nothing changes, which takes two or three
  // where rules follow their callees; chains the other way go through a queue.
  void FindLengths() {
    for (int pass = 0; pass < kMaxPasses; ++pass) {
      bool changed = false;
      for (uint32_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].term != kUnset) continue;
        const uint64_t length = LengthOf(g_.node(NodeId(i)));
        if (length < nodes_[i].length) {
          nodes_[i].length = length;
          changed = true;
        }
      }
      for (uint32_t r = 0; r < rules_.size(); ++r) {
        const uint64_t length = at(g_.rule_body(RuleId(r))).length;
        if (length < rules_[r].length) {
          rules_[r].length = length;
          changed = true;
        }
      }
      if (!changed) return;
    }
    FindLengthsByQueue();
  }

  // The same by order of length, each node settled once (Knuth, "A generalization of Dijkstra's
  // algorithm", 1977).
  void FindLengthsByQueue() {
    std::vector<std::vector<uint32_t>> users(nodes_.size()), rule_users(rules_.size()),
        bodies(nodes_.size());
    using Entry = std::pair<uint64_t, uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    std::vector<bool> settled(nodes_.size());
    for (uint32_t r = 0; r < rules_.size(); ++r) bodies[g_.rule_body(RuleId(r)).value].push_back(r);
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      const NodeView v = g_.node(NodeId(i));
      if (nodes_[i].term == kUnset) {
        if (v.kind == NodeKind::kRule) rule_users[v.rule.value].push_back(i);
        for (NodeId c : v.children) users[c.value].push_back(i);
      }
      if (nodes_[i].length < kMaxLength) queue.push({nodes_[i].length, i});
    }
    auto improve = [&](uint32_t i) {
      const uint64_t length = LengthOf(g_.node(NodeId(i)));
      if (length < nodes_[i].length) {
        nodes_[i].length = length;
        queue.push({length, i});
      }
    };
    while (!queue.empty()) {
      const auto [length, i] = queue.top();
      queue.pop();
      if (settled[i] || length > nodes_[i].length) continue;
      settled[i] = true;
      for (uint32_t user : users[i]) improve(user);
      for (uint32_t r : bodies[i]) {
        // Perhaps the last pass found this length, but too late for the rule's users.
        rules_[r].length = length;
        for (uint32_t user : rule_users[r]) improve(user);
      }
    }
  }

  // The nodes below `body` that have no term yet, children first. Unproductive ones are left out:
  // they become Nothing().
  void Collect(NodeId body, std::vector<uint32_t>* out) {
    std::vector<NodeId> todo = {body};
    const size_t first = out->size();
    if (seen_.size() < nodes_.size()) seen_.resize(nodes_.size());
    while (!todo.empty()) {
      const NodeId id = todo.back();
      todo.pop_back();
      if (at(id).term != kUnset || at(id).length >= kMaxLength || seen_[id.value]) continue;
      seen_[id.value] = true;
      out->push_back(id.value);
      for (NodeId c : g_.node(id).children) todo.push_back(c);
    }
    for (size_t i = first; i < out->size(); ++i) seen_[(*out)[i]] = false;
    std::sort(out->begin() + static_cast<std::ptrdiff_t>(first), out->end());
  }

  // Tarjan's strongly connected components of the rules that `root` reaches, callees first, with
  // the calls on an explicit stack.
  void VisitComponents(RuleId root) {
    struct Frame {
      uint32_t rule;
      std::vector<uint32_t> callees;
      size_t next = 0;
    };
    std::vector<Frame> frames;
    std::vector<uint32_t> stack;
    uint32_t index = 0;
    auto enter = [&](uint32_t r) {
      rules_[r].index = rules_[r].low = index++;
      rules_[r].on_stack = true;
      stack.push_back(r);
      frames.push_back({r, Callees(RuleId(r))});
    };
    enter(root.value);
    while (!frames.empty()) {
      Frame& f = frames.back();
      if (f.next < f.callees.size()) {
        const uint32_t c = f.callees[f.next++];
        if (rules_[c].index == kUnset) {
          enter(c);
        } else if (rules_[c].on_stack) {
          rules_[f.rule].low = std::min(rules_[f.rule].low, rules_[c].index);
        }
        continue;
      }
      const uint32_t r = f.rule;
      const bool self = std::ranges::find(f.callees, r) != f.callees.end();
      frames.pop_back();
      if (!frames.empty()) {
        uint32_t& low = rules_[frames.back().rule].low;
        low = std::min(low, rules_[r].low);
      }
      if (rules_[r].low != rules_[r].index) continue;
      std::vector<uint32_t> component;
      for (uint32_t member = kUnset; member != r;) {
        member = stack.back();
        stack.pop_back();
        rules_[member].on_stack = false;
        component.push_back(member);
      }
      std::ranges::reverse(component);
      if (component.size() == 1 && !self) {
        BuildRule(RuleId(r));
      } else {
        BuildCycle(component);
      }
    }
  }

  std::vector<uint32_t> Callees(RuleId rule) {
    std::vector<uint32_t> below, callees;
    Collect(g_.rule_body(rule), &below);
    for (uint32_t i : below) {
      const NodeView v = g_.node(NodeId(i));
      if (v.kind == NodeKind::kRule) callees.push_back(v.rule.value);
    }
    return callees;
  }

  void Build(NodeId id) {
    const NodeView v = g_.node(id);
    Measure(id, v);
    at(id).term = Make(v).value;
  }

  void BuildRule(RuleId rule) {
    std::vector<uint32_t> below;
    const NodeId body = g_.rule_body(rule);
    Collect(body, &below);
    for (uint32_t i : below) Build(NodeId(i));
    Rule& r = rules_[rule.value];
    const TermId term = ChildTerm(body);
    if (term == TermStore::Nothing() || (!at(body).wide_loop && at(body).size <= kMaxInlineSize)) {
      r.term = term;
      r.size = at(body).size;
    } else if (s_.term(term).kind == TermKind::kCall) {
      r.term = term;
    } else {
      r.proc = s_.ProcOf(term);
      r.term = s_.Call(r.proc);
    }
  }

  void BuildCycle(const std::vector<uint32_t>& component) {
    // Nodes that do not reach the cycle first; the others only once its procedures are known.
    std::vector<uint32_t> below;
    for (uint32_t r : component) {
      rules_[r].on_stack = true;  // marks the members
      Collect(g_.rule_body(RuleId(r)), &below);
    }
    std::ranges::sort(below);
    below.erase(std::unique(below.begin(), below.end()), below.end());
    std::vector<uint32_t> cyclic;
    for (uint32_t i : below) {
      const NodeView v = g_.node(NodeId(i));
      bool& in_cycle = nodes_[i].in_cycle;
      in_cycle = v.kind == NodeKind::kRule && rules_[v.rule.value].on_stack;
      for (NodeId c : v.children) in_cycle |= at(c).in_cycle;
      if (in_cycle) {
        cyclic.push_back(i);
      } else {
        Build(NodeId(i));
      }
    }
    const std::string description = Describe(component, cyclic);
    std::vector<ProcId>* known = s_.FindGroup(description);
    std::vector<ProcId> procs;
    for (size_t i = 0; i < component.size(); ++i) {
      Rule& r = rules_[component[i]];
      r.proc = known != nullptr ? (*known)[i] : s_.AddProc(r.length == 0, r.length);
      r.term = s_.Call(r.proc);
      r.on_stack = false;
      procs.push_back(r.proc);
    }
    // From here on the nodes have terms like any other: a later cycle may use them.
    for (uint32_t i : cyclic) nodes_[i].in_cycle = false;
    if (known != nullptr) return;
    for (uint32_t i : cyclic) Build(NodeId(i));
    for (uint32_t r : component) s_.SetBody(rules_[r].proc, ChildTerm(g_.rule_body(RuleId(r))));
    s_.AddGroup(description, procs);
  }

  // The bodies of a cycle, exactly: terms by id, members of the cycle by position.
  std::string Describe(const std::vector<uint32_t>& component,
                       const std::vector<uint32_t>& cyclic) {
    std::string out;
    auto put = [&](uint64_t v) { out.append(reinterpret_cast<const char*>(&v), sizeof v); };
    auto reference = [&](NodeId id) {
      if (at(id).in_cycle) {
        const auto it = std::ranges::lower_bound(cyclic, id.value);
        put(static_cast<uint64_t>(it - cyclic.begin()) << 1);
      } else {
        put(uint64_t{ChildTerm(id).value} << 1 | 1);
      }
    };
    put(component.size());
    for (size_t i = 0; i < component.size(); ++i) {
      rules_[component[i]].position = static_cast<uint32_t>(i);
    }
    for (uint32_t r : component) reference(g_.rule_body(RuleId(r)));
    for (uint32_t i : cyclic) {
      const NodeView v = g_.node(NodeId(i));
      put(static_cast<uint64_t>(v.kind));
      put(static_cast<uint64_t>(v.kind == NodeKind::kRepeat ? v.min : 0));
      put(static_cast<uint64_t>(v.kind == NodeKind::kRepeat ? v.max : 0));
      if (v.kind == NodeKind::kMembers) {
        put(static_cast<uint64_t>(v.members.min()));
        put(static_cast<uint64_t>(v.members.max()));
        put(v.members.conditions());
        for (uint32_t use : v.members.uses()) put(use);
      }
      if (v.kind == NodeKind::kRule) {
        const Rule& r = rules_[v.rule.value];
        put(r.on_stack ? uint64_t{r.position} << 1 : uint64_t{r.term.value} << 1 | 1);
      }
      put(v.children.size());
      for (NodeId c : v.children) reference(c);
    }
    return out;
  }

  const Grammar& g_;
  TermStore& s_;
  std::vector<Node> nodes_;
  std::vector<Rule> rules_;
  std::vector<bool> seen_;
  Status failed_;
};

}  // namespace

TermId BuildRegularTerm(const Grammar& grammar, TermStore* store) {
  return TermBuilder(grammar, store).RunRegular();
}

StatusOr<TermId> BuildTerms(const Grammar& grammar, TermStore* store) {
  std::lock_guard lock(store->mutex());
  store->BeginBuilding();
  auto root = TermBuilder(grammar, store).Run();
  store->EndBuilding();
  return root;
}

}  // namespace grammask::internal
