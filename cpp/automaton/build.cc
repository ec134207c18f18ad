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
// Most texts need few of a grammar's rules. So the terms of a procedure wait until it is called:
// outside a cycle it is named by what makes its body (body_program.h). Nothing that may fail waits:
// intersections, complements and lists of members have their terms at once.
//
// Cost: linear in the nodes, about 20 ns each. Tests: tests/automaton/build_test.cc.
#include "automaton/build.h"

#include <absl/container/flat_hash_set.h>
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <cstring>
#include <queue>
#include <string>
#include <vector>

#include "automaton/body_program.h"
#include "automaton/lengths.h"
#include "automaton/members.h"
#include "automaton/recursive_group.h"
#include "automaton/words.h"
#include "base/check.h"
#include "base/scratch.h"
#include "base/sorted.h"
#include "grammar/node_store.h"

namespace grammask::internal {
namespace {

constexpr uint32_t kUnset = UINT32_MAX;
constexpr uint32_t kMaxInlineSize = 32;  // nodes of a rule that is written into its callers
constexpr size_t kWideClass = 8;         // members of a class that makes a loop worth sharing
constexpr int kMaxPasses = 8;            // over all nodes, before a queue takes over

class TermBuilder {
 public:
  TermBuilder(const Grammar& grammar, TermStore* store)
      : g_(grammar),
        stored_(grammar.nodes()),
        s_(*store),
        nodes_(grammar.node_count()),
        rules_(grammar.rule_count()),
        may_wait_(4 * nodes_.size()) {}

  StatusOr<TermId> Run() {
    open_.reserve(nodes_.size());
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      BuildRegular(NodeId(i));
      if (s_.over_budget()) return TooManyStates(NodeId(i));
      if (!failed_.ok()) return failed_;
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
    if (is_part_) return r.term;
    const TermId term = r.proc.value != 0 ? s_.BodyOf(r.proc) : r.term;
    if (term == TermStore::Nothing()) {
      return Unsatisfiable("the grammar is unsatisfiable: no text has enough different members");
    }
    return term;
  }

  // As a part of other grammars.
  StatusOr<TermStore::StandardPart> RunPart() {
    is_part_ = true;
    GM_RETURN_IF_ERROR(Run().status());
    const Rule& r = rules_[g_.root().value];
    return TermStore::StandardPart{r.term, r.size, r.length};
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
    bool seen = false;        // by Collect, while it runs
    bool measured = false;
    bool deferred = false;  // regular, its term made when it is first asked for
    uint8_t uses = 0;       // as a child; 2 stands for more
    // Where it is in the body program of rule `program` - 1; or among the nodes of a cycle.
    uint32_t step = 0, program = 0;
    uint64_t length = kMaxLength;
  };
  struct Rule {
    uint64_t length = kMaxLength;
    TermId term;        // what a reference to it becomes
    ProcId proc;        // 0 when written into its callers
    uint32_t size = 1;  // what a reference to it adds to the size of its user
    bool wide_loop = false;
    uint32_t position = 0;       // within its component
    size_t first = 0, last = 0;  // where its nodes are in the list of VisitComponents
    // Tarjan's algorithm.
    uint32_t index = kUnset, low = 0;
    bool on_stack = false;
  };

  Node& at(NodeId id) { return nodes_[id.value]; }

  // Names the first rule that holds `node`.
  [[gnu::cold]] Status TooManyStates(NodeId node) {
    for (uint32_t r = 0; r < rules_.size(); ++r) {
      ScratchVector<NodeId> todo = {g_.rule_body(RuleId(r))};
      ScratchVector<bool> seen(nodes_.size());
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
        for (NodeId c : stored_.View(id).children) todo.push_back(c);
      }
    }
    return ResourceExhausted("an intersection takes more than limits.max_regular_states states");
  }

  void Measure(NodeId id) {
    Node& n = at(id);
    if (std::exchange(n.measured, true)) return;
    const StoredNode& stored = stored_.stored(id);
    for (NodeId c : stored_.Children(id)) {
      const Node& child = at(c);
      n.size = std::min(n.size + child.size, kUnset / 2);
      n.wide_class |= child.wide_class;
      n.wide_loop |= child.wide_loop;
    }
    switch (stored.kind) {
      case NodeKind::kBytes:
      case NodeKind::kJsonText:
        n.size = 1 + stored.size / 8;
        break;
      case NodeKind::kByteClass:
        n.wide_class =
            static_cast<const ByteSet*>(stored.data)->size() >= static_cast<int>(kWideClass);
        break;
      case NodeKind::kClass:
      case NodeKind::kJsonClass:
        n.wide_class = static_cast<const CodePointSet*>(stored.data)->size() >= kWideClass;
        break;
      case NodeKind::kRepeat:
        n.wide_loop |= n.wide_class && static_cast<const RepeatData*>(stored.data)->max >
                                           static_cast<int64_t>(kWideClass);
        break;
      case NodeKind::kAnd:
      case NodeKind::kNot:
      case NodeKind::kMultiple:
      case NodeKind::kMembers:
        n.wide_loop = true;
        break;
      case NodeKind::kRecord:
        n.size = kMaxInlineSize + 1;
        break;
      case NodeKind::kRule:
        n.size = rules_[stored.size].size;
        n.wide_loop = rules_[stored.size].wide_loop;
        break;
      default:
        break;
    }
  }

  TermId ChildTerm(NodeId id) {
    const Node& n = at(id);
    if (n.term == kUnset && n.deferred) MakeDeferred(id);
    return n.term == kUnset ? TermStore::Nothing() : TermId(n.term);
  }

  void MakeDeferred(NodeId id) {
    absl::InlinedVector<NodeId, 16> todo = {id};
    while (!todo.empty()) {
      const NodeId top = todo.back();
      const size_t before = todo.size();
      for (NodeId c : stored_.Children(top)) {
        if (at(c).term == kUnset && at(c).deferred) todo.push_back(c);
      }
      if (todo.size() > before) continue;
      todo.pop_back();
      if (at(top).term == kUnset) at(top).term = Make(stored_.View(top)).value;
    }
  }

  // The term of a node whose children have theirs, or wait for it.
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
        absl::InlinedVector<TermId, 16> parts;
        for (NodeId c : v.children) parts.push_back(ChildTerm(c));
        return s_.Sequence(parts);
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
      case NodeKind::kRecord: {
        program_.clear();
        const uint64_t length = RecordLength(v);
        if (length >= kMaxLength) return TermStore::Nothing();
        WriteRecord(v, [&](NodeId child) { return ChildTerm(child).value; });
        return s_.Call(s_.LazyProc(program_, length));
      }
      case NodeKind::kStandard:
        break;  // has its term already
      case NodeKind::kChoice:
      case NodeKind::kAnd: {
        absl::InlinedVector<TermId, 16> parts;
        if (v.kind == NodeKind::kChoice && v.children.size() >= WordTable::kFewest) {
          MakeChoice(v, &parts);
          return s_.Choice(parts);
        }
        for (NodeId c : v.children) parts.push_back(ChildTerm(c));
        return v.kind == NodeKind::kChoice ? s_.Choice(parts) : s_.AndApart(parts);
      }
    }
    return TermStore::Nothing();
  }

  // The alternatives of a large choice; many literals are one.
  void MakeChoice(const NodeView& v, absl::InlinedVector<TermId, 16>* parts) {
    std::vector<std::string_view> words[2];
    for (NodeId c : v.children) {
      const NodeView child = stored_.View(c);
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

  // Whether all texts of a node begin with a bracket, as its first literals tell.
  bool PlainlyCompound(NodeId id) const {
    absl::InlinedVector<NodeId, 8> todo = {id};
    absl::flat_hash_set<NodeId> seen;
    while (!todo.empty()) {
      const NodeId top = todo.back();
      todo.pop_back();
      if (!seen.insert(top).second) continue;
      const StoredNode& node = stored_.stored(top);
      const std::span<const NodeId> children = stored_.Children(top);
      switch (node.kind) {
        case NodeKind::kBytes:
          if (!kBrackets.Has(static_cast<uint8_t>(Text(node)[0]))) return false;
          break;
        case NodeKind::kSequence:
          todo.push_back(children[0]);
          break;
        case NodeKind::kRecord:
          todo.push_back(children[RecordView::kOpen]);
          break;
        case NodeKind::kChoice:
          todo.insert(todo.end(), children.begin(), children.end());
          break;
        case NodeKind::kRule:
          todo.push_back(g_.rule_body(RuleId(node.size)));
          break;
        default:
          return false;
      }
    }
    return true;
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
      spec.members.push_back(
          {.use = use, .meets = v.members.meets(i), .place = v.members.place(i), .term = term});
      if (HasOwnValue(use) && !PlainlyCompound(v.children[i + 2])) s_.PartLast(&spec);
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
    // For each place that must be filled some member has more values than can be written before.
    int64_t places = 0;
    uint64_t filled = 0, enough = 0;
    for (const MemberSpec::Member& m : spec.members) {
      if (m.use != MemberUse::kPlaced) continue;
      places = std::max<int64_t>(places, m.place + 1);
      if (m.place >= spec.min) continue;
      filled |= uint64_t{1} << m.place;
      if (s_.EnoughValues(m.term, PlacesAlike(spec, m, m.place) + 1)) {
        enough |= uint64_t{1} << m.place;
      }
    }
    if (filled != enough) return true;
    if (places >= spec.min) return false;
    bool distinct = false;
    for (const MemberSpec::Member& m : spec.members) {
      if (m.use == MemberUse::kRepeated) return false;
      if (m.use != MemberUse::kDistinct) continue;
      const int64_t alike = places > 0 ? PlacesAlike(spec, m, places) : 0;
      if (s_.EnoughValues(m.term, alike + spec.min - places)) return false;
      distinct = true;
    }
    return distinct;
  }

  // Before place `before`, those at which values may be that `member` has, too.
  int64_t PlacesAlike(const MemberSpec& spec, const MemberSpec::Member& member, int64_t before) {
    const ByteSet first = BytesAlike(member.term);
    uint64_t alike = 0;
    for (const MemberSpec::Member& m : spec.members) {
      if (m.use != MemberUse::kPlaced || m.place >= before) continue;
      if (!(BytesAlike(m.term) & first).empty()) alike |= uint64_t{1} << m.place;
    }
    return std::popcount(alike);
  }

  // What texts with other first bytes cannot be equal to: numbers have several spellings, and what
  // has whitespace around it may be anything. Rules of their own are for arrays and objects.
  ByteSet BytesAlike(TermId member) {
    const ByteSet numbers = ByteSet::Range('0', '9') | ByteSet::Of('-');
    ByteSet bytes = s_.BeginningBytes(member), space;
    for (uint8_t b : {' ', '\t', '\n', '\r'}) space.Add(b);
    if (!(bytes & numbers).empty()) bytes |= numbers;
    if (!s_.ExpandLocked(member).calls.empty() || !(bytes & kBrackets).empty()) bytes |= kBrackets;
    return (bytes & space).empty() ? bytes : ByteSet::All();
  }

  void BuildRegular(NodeId id) {
    const StoredNode& stored = stored_.stored(id);
    if (stored.kind == NodeKind::kStandard) return BuildStandard(id);
    const bool list = stored.kind == NodeKind::kSequence || stored.kind == NodeKind::kChoice;
    if (list && stored.regular) return BuildList(id, stored);
    for (NodeId c : stored_.Children(id)) at(c).uses = at(c).uses == 0 ? 1 : 2;
    if (!stored.regular && stored.kind != NodeKind::kTokens) {
      if (stored.kind == NodeKind::kMembers && TooFewValues(stored_.View(id))) {
        at(id).term = TermStore::Nothing().value;
      } else {
        open_.push_back(id);
      }
      return;
    }
    Measure(id);
    Node& n = at(id);
    n.deferred = stored.regular && MayWait(id);
    if (n.deferred) {
      const bool json = stored.kind == NodeKind::kJsonText;
      n.length = json || stored.kind == NodeKind::kBytes
                     ? TermStore::ShortestSpelling(Text(stored), json)
                     : LengthOf(id);
      return;
    }
    n.term = Make(stored_.View(id)).value;
    n.length = s_.term(TermId(n.term)).min_length;
  }

  // The same for a regular sequence or choice, with one look at each child.
  void BuildList(NodeId id, const StoredNode& stored) {
    Node& n = at(id);
    uint64_t sum = 0, least = kMaxLength;
    bool finite = true;
    for (NodeId c : std::span(static_cast<const NodeId*>(stored.data), stored.size)) {
      Node& child = at(c);
      child.uses = child.uses == 0 ? 1 : 2;
      n.size = std::min(n.size + child.size, kUnset / 2);
      n.wide_class |= child.wide_class;
      n.wide_loop |= child.wide_loop;
      finite &= child.length < kMaxLength;
      sum = AddLengths(sum, child.length);
      least = std::min(least, child.length);
    }
    n.measured = true;
    const bool choice = stored.kind == NodeKind::kChoice;
    n.deferred = finite && (!choice || stored.size < WordTable::kFewest);
    if (n.deferred) {
      n.length = choice ? least : sum;
      return;
    }
    n.term = Make(stored_.View(id)).value;
    n.length = s_.term(TermId(n.term)).min_length;
  }

  void BuildStandard(NodeId id) {
    const auto* grammar = static_cast<const Grammar*>(stored_.stored(id).data);
    const TermStore::StandardPart* part = s_.FindStandard(grammar);
    if (part == nullptr) {
      const StatusOr<TermStore::StandardPart> made = TermBuilder(*grammar, &s_).RunPart();
      if (!made.ok()) {
        failed_ = made.status();
        return;
      }
      s_.AddStandard(grammar, *made);
      part = s_.FindStandard(grammar);
    }
    Node& n = at(id);
    n.term = part->term.value;
    n.size = part->size;
    n.length = part->length;
    n.measured = true;
  }

  static std::string_view Text(const StoredNode& node) {
    return {static_cast<const char*>(node.data), node.size};
  }

  // Whether the term of a regular node is nothing to search for, and may be one of many.
  bool MayWait(NodeId id) {
    const StoredNode& node = stored_.stored(id);
    switch (node.kind) {
      case NodeKind::kBytes:
      case NodeKind::kJsonText:
        return node.size > 1;
      case NodeKind::kRepeat:
        return at(static_cast<const RepeatData*>(node.data)->child).length < kMaxLength;
      default:  // sequences and choices: BuildList
        return false;
    }
  }

  // Whether a list of distinct members has no text, as they have too few values.
  bool TooFewValues(const NodeView& v) {
    if (v.children.size() != 3 || v.members.use(0) != MemberUse::kDistinct) return false;
    if (!stored_.stored(v.children[2]).regular) return false;
    return !s_.EnoughValues(ChildTerm(v.children[2]), v.members.min());
  }

  uint64_t LengthOf(NodeId id) {
    const StoredNode& node = stored_.stored(id);
    switch (node.kind) {
      case NodeKind::kRule:
        return at(g_.rule_body(RuleId(node.size))).length;
      case NodeKind::kSequence: {
        uint64_t sum = 0;
        for (NodeId c : stored_.Children(id)) sum = AddLengths(sum, at(c).length);
        return sum;
      }
      case NodeKind::kChoice: {
        uint64_t least = kMaxLength;
        for (NodeId c : stored_.Children(id)) least = std::min(least, at(c).length);
        return least;
      }
      case NodeKind::kRepeat: {
        const auto& repeat = *static_cast<const RepeatData*>(node.data);
        return TimesSaturated(at(repeat.child).length, static_cast<uint64_t>(repeat.min));
      }
      case NodeKind::kMembers:
        return MembersLength(stored_.View(id));
      case NodeKind::kRecord:
        return RecordLength(stored_.View(id));
      default:
        return kMaxLength;  // regular ones have theirs already
    }
  }

  uint64_t MembersLength(const NodeView& v) {
    ScratchVector<ListMember> members;
    for (size_t i = 0; i < v.members.uses().size(); ++i) {
      members.push_back(
          {v.members.use(i), v.members.meets(i), v.members.place(i), at(v.children[i + 2]).length});
    }
    return ListLength(members, at(v.children[0]).length, at(v.children[1]).length, v.members.min(),
                      v.members.max(), v.members.conditions());
  }

  uint64_t RecordLength(const NodeView& v) {
    return ShortestRecord(v.record, [&](size_t child) { return at(v.children[child]).length; });
  }

  // Least shortest texts: one visit to every node without a term, callees first, and passes over
  // those that came to be measured before something that they are made of, until nothing changes.
  void FindLengths() {
    const ScratchVector<uint32_t> early = VisitOpen();
    if (!FindLengthsByPasses(early)) FindLengthsByQueue();
    for (uint32_t r = 0; r < rules_.size(); ++r) {
      rules_[r].length = at(g_.rule_body(RuleId(r))).length;
    }
  }

  // Measures the nodes without a term that the root reaches, those that they are made of first.
  // Returns those of which this is not the last word: they are made of something that was visited
  // already but not measured, as it is made of them.
  ScratchVector<uint32_t> VisitOpen() {
    enum : uint8_t { kNew, kEntered, kLeftEarly, kLeft };
    struct Frame {
      NodeId id;
      bool early;
      std::span<const NodeId> below;
    };
    ScratchVector<uint32_t> early;
    ScratchVector<uint8_t> state(nodes_.size(), kLeft);
    ScratchVector<Frame> frames;
    frames.reserve(64);
    for (NodeId id : open_) state[id.value] = kNew;
    auto enter = [&](NodeId id) {
      for (;;) {
        uint8_t& was = state[id.value];
        if (was != kNew) {
          frames.back().early |= was != kLeft;
          return;
        }
        was = kEntered;
        frames.push_back({id, false, stored_.Children(id)});
        const StoredNode& node = stored_.stored(id);
        if (node.kind != NodeKind::kRule) return;
        id = g_.rule_body(RuleId(node.size));
      }
    };
    const NodeId root = g_.rule_body(g_.root());
    if (state[root.value] == kNew) enter(root);
    while (!frames.empty()) {
      Frame& f = frames.back();
      if (!f.below.empty()) {
        const NodeId next = f.below.front();
        f.below = f.below.subspan(1);
        enter(next);
        continue;
      }
      const NodeId id = f.id;
      at(id).length = LengthOf(id);
      // What may be left out has length 0 whatever it is.
      const bool is_early = f.early && at(id).length > 0;
      frames.pop_back();
      state[id.value] = is_early ? kLeftEarly : kLeft;
      if (!is_early) continue;
      early.push_back(id.value);
      if (!frames.empty()) frames.back().early = true;
    }
    return early;
  }

  bool FindLengthsByPasses(std::span<const uint32_t> order) {
    for (int pass = 0; pass < kMaxPasses; ++pass) {
      bool changed = false;
      for (uint32_t i : order) {
        const uint64_t length = LengthOf(NodeId(i));
        if (length < nodes_[i].length) {
          nodes_[i].length = length;
          changed = true;
        }
      }
      if (!changed) return true;
    }
    return false;
  }

  // The same by order of length, each node settled once (Knuth, "A generalization of Dijkstra's
  // algorithm", 1977).
  void FindLengthsByQueue() {
    ScratchVector<ScratchVector<uint32_t>> users(nodes_.size()), rule_users(rules_.size()),
        bodies(nodes_.size());
    using Entry = std::pair<uint64_t, uint32_t>;
    std::priority_queue<Entry, ScratchVector<Entry>, std::greater<>> queue;
    ScratchVector<bool> settled(nodes_.size());
    for (uint32_t r = 0; r < rules_.size(); ++r) bodies[g_.rule_body(RuleId(r)).value].push_back(r);
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      const NodeView v = stored_.View(NodeId(i));
      if (nodes_[i].term == kUnset) {
        if (v.kind == NodeKind::kRule) rule_users[v.rule.value].push_back(i);
        for (NodeId c : v.children) users[c.value].push_back(i);
      }
      if (nodes_[i].length < kMaxLength) queue.push({nodes_[i].length, i});
    }
    auto improve = [&](uint32_t i) {
      const uint64_t length = LengthOf(NodeId(i));
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
        for (uint32_t user : rule_users[r]) improve(user);
      }
    }
  }

  // The nodes below `body` that have no term yet, children first. Unproductive ones are left out:
  // they become Nothing(). So are shared ones whose terms are made when asked for.
  void Collect(NodeId body, ScratchVector<uint32_t>* out) {
    const size_t first = out->size();
    auto find = [&](NodeId id) {
      Node& n = at(id);
      if (n.term != kUnset || n.length >= kMaxLength || n.seen) return;
      if (n.deferred && n.uses > 1 && !stored_.Children(id).empty()) return;
      n.seen = true;
      out->push_back(id.value);
    };
    find(body);
    for (size_t i = first; i < out->size(); ++i) {
      for (NodeId c : stored_.Children(NodeId((*out)[i]))) find(c);
    }
    for (size_t i = first; i < out->size(); ++i) nodes_[(*out)[i]].seen = false;
    std::sort(out->begin() + static_cast<std::ptrdiff_t>(first), out->end());
  }

  // Tarjan's strongly connected components of the rules that `root` reaches, callees first, with
  // the calls on an explicit stack.
  void VisitComponents(RuleId root) {
    struct Frame {
      uint32_t rule;
      bool self;    // calls itself
      size_t next;  // of its nodes, the one to look at
    };
    ScratchVector<Frame> frames;
    ScratchVector<uint32_t> stack, below, component;
    frames.reserve(16);
    stack.reserve(16);
    below.reserve(open_.size() + 64);
    component.reserve(16);
    program_.reserve(256);
    uint32_t index = 0;
    auto enter = [&](uint32_t r) {
      rules_[r].index = rules_[r].low = index++;
      rules_[r].on_stack = true;
      stack.push_back(r);
      frames.push_back({r, false, below.size()});
      rules_[r].first = below.size();
      Collect(g_.rule_body(RuleId(r)), &below);
      rules_[r].last = below.size();
    };
    enter(root.value);
    while (!frames.empty()) {
      Frame& f = frames.back();
      if (f.next < rules_[f.rule].last) {
        const StoredNode& node = stored_.stored(NodeId(below[f.next++]));
        if (node.kind != NodeKind::kRule) continue;
        const uint32_t c = node.size;
        f.self |= c == f.rule;
        if (rules_[c].index == kUnset) {
          enter(c);
        } else if (rules_[c].on_stack) {
          rules_[f.rule].low = std::min(rules_[f.rule].low, rules_[c].index);
        }
        continue;
      }
      const auto [r, self, next] = f;
      frames.pop_back();
      if (!frames.empty()) {
        uint32_t& low = rules_[frames.back().rule].low;
        low = std::min(low, rules_[r].low);
      }
      if (rules_[r].low != rules_[r].index) continue;
      component.clear();
      for (uint32_t member = kUnset; member != r;) {
        member = stack.back();
        stack.pop_back();
        rules_[member].on_stack = false;
        component.push_back(member);
      }
      std::ranges::reverse(component);
      if (component.size() == 1 && !self) {
        BuildRule(RuleId(r), std::span(below).subspan(rules_[r].first));
      } else {
        BuildCycle(component, below);
      }
      below.resize(rules_[r].first);
    }
  }

  void Build(NodeId id) {
    Measure(id);
    at(id).term = Make(stored_.View(id)).value;
  }

  // `below`: the nodes of its body, children first, that had no term when it was entered.
  void BuildRule(RuleId rule, std::span<const uint32_t> below) {
    const NodeId body = g_.rule_body(rule);
    Rule& r = rules_[rule.value];
    for (uint32_t i : below) {
      if (nodes_[i].term != kUnset) continue;
      if (stored_.stored(NodeId(i)).kind == NodeKind::kRule) {
        Build(NodeId(i));
      } else {
        Measure(NodeId(i));
      }
    }
    const bool small = !at(body).wide_loop && at(body).size <= kMaxInlineSize;
    const bool may_wait =
        rule != g_.root() || is_part_ || stored_.stored(body).kind == NodeKind::kRecord;
    if (!small && may_wait && at(body).term == kUnset && WriteProgram(rule, below)) {
      r.proc = s_.LazyProc(program_, r.length);
      r.term = s_.Call(r.proc);
      return;
    }
    for (uint32_t i : below) {
      if (nodes_[i].term == kUnset) Build(NodeId(i));
    }
    const TermId term = ChildTerm(body);
    if (term == TermStore::Nothing() || small) {
      r.term = term;
      r.size = at(body).size;
    } else if (s_.term(term).kind == TermKind::kCall) {
      r.term = term;
    } else {
      r.proc = s_.ProcOf(term);
      r.term = s_.Call(r.proc);
    }
  }

  // Whether some alternatives of a choice are literals that may be a list of words.
  bool HasWords(NodeId choice) const {
    const std::span<const NodeId> list = stored_.Children(choice);
    if (list.size() < WordTable::kFewest) return false;
    return std::ranges::any_of(list, [&](NodeId c) {
      const NodeKind kind = stored_.stored(c).kind;
      return kind == NodeKind::kBytes || kind == NodeKind::kJsonText;
    });
  }

  // Whether a node of a cycle becomes by its description what Make() makes of it, and never fails.
  bool FollowsDescription(NodeId id) const {
    const NodeKind kind = stored_.stored(id).kind;
    return kind != NodeKind::kMembers && (kind != NodeKind::kChoice || !HasWords(id));
  }

  // Whether a node is part of one other alone, and a description may hold it, which it would not
  // where its term is there.
  bool IsOwnPart(NodeId id) const {
    const Node& n = nodes_[id.value];
    if (n.uses != 1 || n.term != kUnset || n.length >= kMaxLength) return false;
    const NodeKind kind = stored_.stored(id).kind;
    const bool list = kind == NodeKind::kSequence || kind == NodeKind::kChoice;
    return (list || kind == NodeKind::kRepeat) && FollowsDescription(id);
  }

  // What makes the term of the body, if that may wait. False where it may not, and where many rules
  // share nodes, which would be written for each of them.
  bool WriteProgram(RuleId rule, std::span<const uint32_t> below) {
    if (below.size() > may_wait_) return false;
    may_wait_ -= below.size();
    program_.clear();
    uint32_t steps = 0;
    for (uint32_t i : below) {
      Node& n = nodes_[i];
      if (n.term != kUnset) continue;
      const StoredNode& node = stored_.stored(NodeId(i));
      switch (node.kind) {
        case NodeKind::kBytes:
        case NodeKind::kJsonText: {
          if (node.size > TermStore::kMaxLiteral) continue;  // a term when it is referred to
          const bool json = node.kind == NodeKind::kJsonText;
          const size_t at = program_.size() + 1;
          program_.resize(at + (node.size + 3) / 4);
          program_[at - 1] = StepWord(json ? TermKind::kJsonText : TermKind::kBytes, node.size);
          std::memcpy(program_.data() + at, node.data, node.size);
          break;
        }
        case NodeKind::kSequence:
        case NodeKind::kChoice: {
          const bool choice = node.kind == NodeKind::kChoice;
          if (choice && HasWords(NodeId(i))) return false;
          program_.push_back(StepWord(choice ? TermKind::kChoice : TermKind::kSequence, node.size));
          if (!WriteReferences(stored_.Children(NodeId(i)), rule)) return false;
          break;
        }
        case NodeKind::kRepeat: {
          const auto& repeat = *static_cast<const RepeatData*>(node.data);
          program_.push_back(StepWord(TermKind::kRepeat, 0));
          if (!WriteReferences({&repeat.child, 1}, rule)) return false;
          for (int64_t bound : {repeat.min, repeat.max}) {
            program_.push_back(static_cast<uint32_t>(bound));
            program_.push_back(static_cast<uint32_t>(static_cast<uint64_t>(bound) >> 32));
          }
          break;
        }
        case NodeKind::kRecord:
          if (NodeId(i) != g_.rule_body(rule)) return false;  // the last step
          WriteRecord(stored_.View(NodeId(i)), [&](NodeId child) {
            const Node& c = at(child);
            const bool local = c.term == kUnset && c.program == rule.value + 1;
            return local ? c.step | kLocalTerm : ChildTerm(child).value;
          });
          break;
        default:
          return false;
      }
      n.program = rule.value + 1;
      n.step = steps++;
    }
    // A long literal, or what is part of other bodies too, has a term of its own.
    return at(g_.rule_body(rule)).program == rule.value + 1;
  }

  // The step of a record; `reference` gives the word of a child.
  template <class Reference>
  void WriteRecord(const NodeView& v, const Reference& reference) {
    const RecordView& record = v.record;
    program_.push_back(StepWord(TermKind::kMembers, record.size()));
    for (NodeId child : v.children) program_.push_back(reference(child));
    const std::span<const uint32_t> words = record.words();
    program_.insert(program_.end(), words.begin(), words.end());
  }

  bool WriteReferences(std::span<const NodeId> children, RuleId rule) {
    const size_t first = program_.size();
    program_.resize(first + children.size());
    uint32_t* word = program_.data() + first;
    for (NodeId child : children) {
      const Node& n = at(child);
      if (n.term == kUnset && n.program == rule.value + 1) {
        *word++ = n.step | kLocalTerm;
        continue;
      }
      const TermId term = ChildTerm(child);
      if (term == TermStore::Nothing() || term.value >= kLocalTerm) return false;
      *word++ = term.value;
    }
    return true;
  }

  // `collected`: among others the nodes of each rule that had no term when it was entered.
  void BuildCycle(const ScratchVector<uint32_t>& component, std::span<const uint32_t> collected) {
    // Nodes that do not reach the cycle first; the others only once its procedures are known.
    ScratchVector<uint32_t> by_rule;
    ScratchVector<size_t> ends = {0};  // where in it the nodes of each rule end
    for (uint32_t r : component) {
      rules_[r].on_stack = true;  // marks the members
      for (size_t i = rules_[r].first; i < rules_[r].last; ++i) {
        if (nodes_[collected[i]].term == kUnset) by_rule.push_back(collected[i]);
      }
      ends.push_back(by_rule.size());
    }
    ScratchVector<uint32_t> below = by_rule;
    SortUnique(&below);
    for (uint32_t i : below) {
      const StoredNode& node = stored_.stored(NodeId(i));
      bool& in_cycle = nodes_[i].in_cycle;
      in_cycle = node.kind == NodeKind::kRule && rules_[node.size].on_stack;
      for (NodeId c : stored_.Children(NodeId(i))) in_cycle |= at(c).in_cycle;
    }
    // What is part of one node of the cycle alone counts as one: its term is made with the bodies.
    for (size_t k = below.size(); k-- > 0;) {
      const NodeId id(below[k]);
      const NodeKind kind = stored_.stored(id).kind;
      const bool looks = kind == NodeKind::kMembers || kind == NodeKind::kRecord;  // at terms
      if (looks || !at(id).in_cycle) continue;
      for (NodeId c : stored_.Children(id)) at(c).in_cycle |= IsOwnPart(c);
    }
    ScratchVector<uint32_t> cyclic;
    for (uint32_t i : below) {
      if (nodes_[i].in_cycle) {
        nodes_[i].step = static_cast<uint32_t>(cyclic.size());
        cyclic.push_back(i);
      } else {
        Build(NodeId(i));
      }
    }
    const ScratchVector<uint64_t> description = Describe(component, cyclic);
    const GroupName name(description);
    const auto known = s_.FindGroup(name);
    ScratchVector<ProcId> procs;
    for (size_t i = 0; i < component.size(); ++i) {
      Rule& r = rules_[component[i]];
      r.proc = known.has_value() ? (*known)[i] : s_.AddProc(r.length == 0, r.length);
      r.term = s_.Call(r.proc);
      r.on_stack = false;
      procs.push_back(r.proc);
    }
    // From here on the nodes have terms like any other: a later cycle may use them.
    for (uint32_t i : cyclic) nodes_[i].in_cycle = false;
    if (known.has_value()) return;
    for (uint32_t i : cyclic) {
      if (stored_.stored(NodeId(i)).kind == NodeKind::kRule) Build(NodeId(i));
    }
    for (size_t k = 0; k < component.size(); ++k) {
      const uint32_t r = component[k];
      const std::span nodes = std::span(by_rule).subspan(ends[k], ends[k + 1] - ends[k]);
      if (std::ranges::all_of(nodes, [&](uint32_t i) { return FollowsDescription(NodeId(i)); })) {
        continue;
      }
      for (uint32_t i : nodes) {
        if (nodes_[i].term == kUnset) Build(NodeId(i));
      }
      s_.SetBody(rules_[r].proc, ChildTerm(g_.rule_body(RuleId(r))));
    }
    s_.AddGroup(name, procs);
  }

  // The bodies of a cycle, exactly: terms by id, members of the cycle by position. Its words are
  // those of recursive_group.h.
  ScratchVector<uint64_t> Describe(const ScratchVector<uint32_t>& component,
                                   const ScratchVector<uint32_t>& cyclic) {
    // As many words as there can be; where there are members, uses come on top.
    size_t words = 2 + component.size();
    for (uint32_t i : cyclic) {
      const StoredNode& node = stored_.stored(NodeId(i));
      const bool more = node.kind == NodeKind::kMembers || node.kind == NodeKind::kRecord;
      words += 5 + (more ? node.size : 0) + stored_.Children(NodeId(i)).size();
    }
    ScratchVector<uint64_t> out(words);
    uint64_t* end = out.data();
    auto put = [&](uint64_t v) { *end++ = v; };
    auto reference = [&](NodeId id) {
      if (at(id).in_cycle) {
        put(uint64_t{at(id).step} << 1);
      } else {
        put(uint64_t{ChildTerm(id).value} << 1 | 1);
      }
    };
    ScratchVector<uint64_t> packed;
    put(component.size());
    put(cyclic.size());
    for (size_t i = 0; i < component.size(); ++i) {
      rules_[component[i]].position = static_cast<uint32_t>(i);
    }
    for (uint32_t r : component) reference(g_.rule_body(RuleId(r)));
    for (uint32_t i : cyclic) {
      const StoredNode& node = stored_.stored(NodeId(i));
      const std::span<const NodeId> children = stored_.Children(NodeId(i));
      put(static_cast<uint64_t>(node.kind));
      put(children.size());
      if (node.kind == NodeKind::kRepeat) {
        const auto& repeat = *static_cast<const RepeatData*>(node.data);
        put(static_cast<uint64_t>(repeat.min));
        put(static_cast<uint64_t>(repeat.max));
      } else if (node.kind == NodeKind::kMembers) {
        const MembersView members = stored_.View(NodeId(i)).members;
        put(static_cast<uint64_t>(members.min()));
        put(static_cast<uint64_t>(members.max()));
        put(members.conditions());
        for (uint32_t use : members.uses()) put(use);
      } else if (node.kind == NodeKind::kRecord) {
        packed.clear();
        PackRecord(stored_.View(NodeId(i)).record.words(), &packed);
        for (uint64_t word : packed) put(word);
      } else if (node.kind == NodeKind::kRule) {
        put(rules_[node.size].position);
      }
      for (NodeId c : children) reference(c);
    }
    out.resize(static_cast<size_t>(end - out.data()));
    return out;
  }

  const Grammar& g_;
  const NodeStorage& stored_;
  TermStore& s_;
  ScratchVector<Node> nodes_;
  ScratchVector<Rule> rules_;
  ScratchVector<NodeId> open_;       // nodes that reach rules: without a term at first
  ScratchVector<uint32_t> program_;  // the one being written
  size_t may_wait_;                  // nodes that may still be written into programs
  bool is_part_ = false;             // of other grammars, see RunPart
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
