// Calls to node functions, to the simplest node of the same language.
//
// Every function puts its arguments into one canonical form before it hash-conses: literals are
// joined, choices are sorted sets without repeats, classes under one choice are one class. For
// example Choice(Bytes("bc"), Choice(Bytes("ad"), Empty(), Bytes("bc"))) is Repeat(Choice("ad",
// "bc"), 0, 1), whichever way it was built.
// Cost: linear in the arguments, plus a sort of integers for choices. A nested sequence or choice
// is spliced into its parent when it is short beside it, which keeps appending one by one linear.
// Tests: tests/grammar/ast_test.cc.
#include "grammar/simplify.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/scratch.h"
#include "base/sorted.h"
#include "base/utf8.h"

namespace grammask::internal {
namespace {

// A nested list longer than both of these (the second times the parent's own parts) is not spliced.
constexpr size_t kAlwaysSplice = 64;
constexpr size_t kSplicePerPart = 8;
// The same for a literal, in bytes, beside other literals.
constexpr size_t kAlwaysJoin = 256;
constexpr size_t kJoinPerPart = 64;

// So often one class after another becomes a count.
constexpr uint8_t kWrittenOut = 4;
// Parts of what is looked at for whether a loop takes it, each inside the last one at the most.
constexpr int kMostTakenUp = 64;
// Parts of an intersection that are compared with each other.
constexpr size_t kMostMerged = 16;

// What a node takes beside itself, for the budget: references to children, and the equivalent of
// those for text and ranges.
size_t References(const StoredNode& node, std::span<const NodeId> children) {
  switch (node.kind) {
    case NodeKind::kBytes:
    case NodeKind::kJsonText:
      return node.size / 16;
    case NodeKind::kClass:
    case NodeKind::kJsonClass:
      return static_cast<const CodePointSet*>(node.data)->ranges().size() / 2;
    case NodeKind::kRecord:
      return node.size;
    default:
      return children.size();
  }
}

bool IsClass(NodeKind kind) {
  return kind == NodeKind::kByteClass || kind == NodeKind::kClass || kind == NodeKind::kJsonClass;
}

bool IsLiteral(const StoredNode& node) {
  return node.kind == NodeKind::kBytes || node.kind == NodeKind::kJsonText;
}

// a * b and a + b of counts that may be kUnbounded; nullopt where the result passes `limit`.
std::optional<int64_t> MultiplyCounts(int64_t a, int64_t b, int64_t limit) {
  if (a == 0 || b == 0) return 0;
  if (a == kUnbounded || b == kUnbounded) return kUnbounded;
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product) || product > limit) return std::nullopt;
  return product;
}

std::optional<int64_t> AddCounts(int64_t a, int64_t b, int64_t limit) {
  if (a == kUnbounded || b == kUnbounded) return kUnbounded;
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum) || sum > limit) return std::nullopt;
  return sum;
}

// (y{a,b}){n,m} is y{na,mb} when no count between is missed: from every k repeats to k + 1 the
// reachable counts [ka,kb] and [ka+a,kb+b] leave no gap. The first k is the tightest.
bool RepeatsFold(int64_t a, int64_t b, int64_t n, int64_t m) {
  if (n == m || a <= 1) return true;
  if (b == kUnbounded) return n >= 1;
  if (b == a || n == 0) return false;
  return n >= (a - 1 + (b - a) - 1) / (b - a);  // n * (b - a) >= a - 1, rounded up
}

}  // namespace

Simplifier::Simplifier(const Limits& limits) : limits_(limits) {
  nothing_ = Intern({NodeKind::kNothing, true});
  empty_ = Intern({NodeKind::kEmpty, true});
  any_bytes_ = Intern({NodeKind::kNot, true, 1, &nothing_});
}

NodeId Simplifier::Intern(const StoredNode& node) {
  if (over_) return nothing_;
  size_t before = storage().size();
  NodeId id = store_.Intern(node);
  if (storage().size() == before) return id;
  used_ += 1 + References(at(id), children(id));
  over_ = used_ > limits_.max_ast_nodes;
  return over_ ? nothing_ : id;
}

NodeId Simplifier::InternList(NodeKind kind, std::span<const NodeId> list) {
  bool regular = true;
  for (NodeId id : list) regular = regular && at(id).regular;
  return Intern({kind, regular, static_cast<uint32_t>(list.size()), list.data()});
}

bool Simplifier::Splices(NodeId part, NodeKind kind, size_t parts) const {
  const StoredNode& n = at(part);
  return n.kind == kind && n.size <= std::max(kAlwaysSplice, kSplicePerPart * parts);
}

// ---- Leaves ----

NodeId Simplifier::Text(NodeKind kind, std::string_view text) {
  if (over_) return nothing_;
  if (text.empty()) return empty_;
  return Intern({kind, true, static_cast<uint32_t>(text.size()), text.data()});
}

NodeId Simplifier::ByteClass(const ByteSet& bytes) {
  int size = bytes.size();
  if (size == 0) return nothing_;
  if (size > 1) return Intern({NodeKind::kByteClass, true, 0, &bytes});
  char only = 0;
  bytes.ForEachRange([&](uint8_t lo, uint8_t) { only = static_cast<char>(lo); });
  return Text(NodeKind::kBytes, {&only, 1});
}

NodeId Simplifier::Characters(NodeKind kind, const CodePointSet& characters) {
  if (characters.empty()) return nothing_;
  auto ranges = characters.ranges();
  if (ranges.size() == 1 && ranges[0].lo == ranges[0].hi) {
    NodeKind literal = kind == NodeKind::kClass ? NodeKind::kBytes : NodeKind::kJsonText;
    return Text(literal, EncodeUtf8(ranges[0].lo));
  }
  return Intern({kind, true, 0, &characters});
}

// D * 10^scale is divisible by m exactly when D is divisible by m / gcd(m, 10^scale), so the scale
// goes away; one factor of ten at a time takes out all that 10^scale shares with m.
NodeId Simplifier::MultipleOf(const Multiple& multiple) {
  Multiple m{multiple.modulus, 0};
  for (uint32_t i = 0; i < multiple.scale; ++i) {
    uint64_t shared = std::gcd(m.modulus, uint64_t{10});
    if (shared == 1) break;
    m.modulus /= shared;
  }
  if (m.modulus == 1) {
    ByteSet digits = ByteSet::Range('0', '9');
    digits.Add('.');
    return Repeat(ByteClass(digits), 0, kUnbounded);
  }
  return Intern({NodeKind::kMultiple, true, 0, &m});
}

// Bounds are made as tight as the members allow, so that equal languages are rarely two nodes.
NodeId Simplifier::Members(const internal::Members& given) {
  if (over_ || given.end == nothing_) return nothing_;
  internal::Members m = given;
  int64_t required = 0;
  bool unlimited = false;
  uint32_t met = 0;
  const uint32_t all = (uint32_t{1} << m.conditions) - 1;
  auto is_nothing = [&](const auto& member) { return member.node == nothing_; };
  int64_t once = EndBeforeGap(&m.members, is_nothing);
  for (internal::Members::Member& member : m.members) {
    member.meets &= all;
    if (is_nothing(member) && member.use == MemberUse::kRequired) return nothing_;
    if (is_nothing(member)) continue;
    once += member.use == MemberUse::kOptional || member.use == MemberUse::kRequired;
    required += member.use == MemberUse::kRequired;
    unlimited |= !ComesOnce(member.use);
    met |= member.meets;
  }
  std::erase_if(m.members, is_nothing);
  if (!unlimited && m.max >= once) m.max = kUnbounded;
  m.min = std::max<int64_t>(m.min, 1);
  if (m.min <= required) m.min = 1;
  if (m.separator == nothing_) m.max = 1;
  if (m.members.empty() || (!unlimited && once < m.min) || m.min > m.max) return nothing_;
  if (met != all) return nothing_;
  // The fewest members that meet all conditions, beside those required.
  ScratchVector<int64_t> fewest(all + 1, 0);
  for (uint32_t unmet = 1; unmet <= all; ++unmet) {
    fewest[unmet] = INT64_MAX;
    for (const internal::Members::Member& member : m.members) {
      if ((member.meets & unmet) == 0) continue;
      fewest[unmet] = std::min(fewest[unmet], fewest[unmet & ~member.meets] + 1);
    }
  }
  if (required + fewest[all] > m.max) return nothing_;
  ScratchVector<uint32_t> words = EncodeMembers(m);
  return Intern({NodeKind::kMembers, false, static_cast<uint32_t>(words.size()), words.data()});
}

NodeId Simplifier::Record(const internal::Record& record) {
  if (over_) return nothing_;
  for (const internal::Record::Member& member : record.members) {
    if (member.required && member.value == nothing_) return nothing_;
  }
  const ScratchVector<uint32_t> words = EncodeRecord(record);
  return Intern({NodeKind::kRecord, false, static_cast<uint32_t>(words.size()), words.data()});
}

NodeId Simplifier::Tokens(TokenSet tokens) {
  SortUnique(&tokens.ids);
  if (tokens.ids.empty() && !tokens.excluded) return nothing_;
  return Intern({NodeKind::kTokens, false, static_cast<uint32_t>(tokens.ids.size()), &tokens});
}

// ---- Sequences ----

NodeId Simplifier::Sequence(std::span<const NodeId> parts) {
  return !over_ && AppendParts(parts) ? FinishSequence() : nothing_;
}

NodeId Simplifier::SequenceBefore(std::span<const NodeId> parts, NodeId tail) {
  if (over_ || tail == nothing_ || !AppendParts(parts)) return nothing_;
  if (tail != empty_) AppendToSequence(tail);
  return FinishSequence();
}

bool Simplifier::AppendParts(std::span<const NodeId> parts) {
  list_.clear();
  literal_parts_ = 0;
  longest_joined_ = std::max(kAlwaysJoin, kJoinPerPart * parts.size());
  for (NodeId part : parts) {
    if (part == nothing_) return false;
    if (part == empty_) continue;
    if (Splices(part, NodeKind::kSequence, parts.size())) {
      AppendSequence(part);
    } else {
      AppendToSequence(part);
    }
  }
  return true;
}

NodeId Simplifier::FinishSequence() {
  FlushLiteral();
  if (list_.empty()) return empty_;
  if (list_.size() == 1) return list_[0];
  return InternList(NodeKind::kSequence, list_);
}

// Whether a part of the sequence might join its neighbour once both stand in another one: a long
// literal, which may be short beside more parts, or a repeat beside what it repeats, as x x? came
// of x, which was there first, and x?.
bool Simplifier::MayJoin(NodeId sequence) {
  enum : uint8_t { kUnknown, kNo, kYes };
  if (sequence.value >= may_join_.size()) may_join_.resize(storage().size(), kUnknown);
  uint8_t& known = may_join_[sequence.value];
  if (known != kUnknown) return known == kYes;
  known = kNo;
  NodeId before = nothing_;
  for (NodeId id : children(sequence)) {
    const StoredNode& n = at(id);
    NodeId one = n.kind == NodeKind::kRepeat ? static_cast<const RepeatData*>(n.data)->child : id;
    if (one == before || (IsLiteral(n) && n.size > kAlwaysJoin)) known = kYes;
    before = one;
  }
  return known == kYes;
}

// What stands inside a sequence is joined already, so mostly only its ends have to be looked at.
void Simplifier::AppendSequence(NodeId sequence) {
  const std::span<const NodeId> inner = children(sequence);
  const bool each = MayJoin(sequence);
  const size_t last = inner.size() - 1;
  size_t i = 0;
  const bool first = list_.empty() && literal_parts_ == 0;
  for (bool joined = !first; i < last && (joined || each); ++i) {
    AppendToSequence(inner[i]);
    if (each) continue;
    FlushLiteral();
    joined = list_.back() != inner[i];
  }
  list_.insert(list_.end(), inner.begin() + static_cast<ptrdiff_t>(i),
               inner.begin() + static_cast<ptrdiff_t>(last));
  AppendToSequence(inner[last]);
}

void Simplifier::AppendToSequence(NodeId part) {
  const StoredNode n = at(part);  // a copy: joined literals are new nodes, for which nodes may move
  if (!IsLiteral(n) || n.size > longest_joined_) {
    if (literal_parts_ > 0) FlushLiteral();
    // What two repeats have become, and what stands before one that took up its neighbour, may join
    // the next; each time round leaves the list shorter.
    for (;;) {
      const bool repeats = kind(part) == NodeKind::kRepeat ||
                           (!list_.empty() && kind(list_.back()) == NodeKind::kRepeat);
      if (!repeats) break;
      if (JoinRepeats(part)) {
        part = list_.back();
        list_.pop_back();
        continue;
      }
      const size_t before = list_.size();
      if (const NodeId left = at(part).regular ? TakeUp(part) : part; left != part) {
        if (left == empty_) return;
        return Splices(left, NodeKind::kSequence, 1) ? AppendSequence(left)
                                                     : AppendToSequence(left);
      }
      if (list_.size() == before) break;
    }
    list_.push_back(part);
    if (IsClass(kind(part))) JoinWrittenOut();
    return;
  }
  if (literal_parts_ > 0 && literal_kind_ != n.kind) FlushLiteral();
  std::string_view text(static_cast<const char*>(n.data), n.size);
  if (literal_parts_ == 0) {
    literal_kind_ = n.kind;
    literal_node_ = part;
  } else {
    if (literal_parts_ == 1) literal_.assign(view(literal_node_).text);
    literal_ += text;
  }
  ++literal_parts_;
}

void Simplifier::FlushLiteral() {
  if (literal_parts_ == 0) return;
  NodeId node = literal_parts_ == 1 ? literal_node_ : Text(literal_kind_, literal_);
  literal_parts_ = 0;
  if (!JoinRepeats(node)) list_.push_back(node);
}

// x{a,b} x{c,d} is x{a+c,b+d}, and x counts as x{1,1} beside a repeat of it. True when `part` went
// into the last entry of `list_`.
bool Simplifier::JoinRepeats(NodeId part) {
  if (list_.empty()) return false;
  auto repeated = [&](NodeId id) {
    const RepeatData* repeat = RepeatOf(id);
    return repeat != nullptr ? repeat->child : id;
  };
  const NodeId last = list_.back(), child = repeated(part);
  if (repeated(last) != child) return false;
  if (kind(last) != NodeKind::kRepeat && kind(part) != NodeKind::kRepeat) return false;
  auto counts = [&](NodeId id) {
    const RepeatData* repeat = RepeatOf(id);
    return repeat != nullptr ? std::pair(repeat->min, repeat->max)
                             : std::pair<int64_t, int64_t>(1, 1);
  };
  const auto [min_before, max_before] = counts(last);
  const auto [min_more, max_more] = counts(part);
  std::optional<int64_t> min = AddCounts(min_before, min_more, limits_.max_repeat);
  std::optional<int64_t> max = AddCounts(max_before, max_more, limits_.max_repeat);
  if (!min.has_value() || !max.has_value()) return false;
  list_.back() = Repeat(child, *min, *max);
  return true;
}

// A class any number of times takes up what may come beside it or not: .* x{2,5} is .* x{2}, and
// x{2,5} .* is x{2} .*, as each x more is some dots, too. Gives what is left of `part` beside the
// last entry of `list_`, of which as much may go.
NodeId Simplifier::TakeUp(NodeId part) {
  // The class that a part of a sequence loops on; nothing_ for none.
  auto loop_of = [&](NodeId id) {
    const RepeatData* repeat = RepeatOf(id);
    const bool loops =
        repeat != nullptr && repeat->max == kUnbounded && IsClass(kind(repeat->child));
    return loops ? repeat->child : nothing_;
  };
  // What is left of a part beside a loop.
  auto least = [&](NodeId id, NodeId loop) {
    const RepeatData* repeat = RepeatOf(id);
    if (repeat == nullptr || repeat->min == repeat->max) return id;
    int most = kMostTakenUp;
    if (!LoopsTake(loop, repeat->child, &most)) return id;
    return Repeat(repeat->child, repeat->min, repeat->min);
  };
  if (list_.empty()) return part;
  if (const NodeId loop = loop_of(list_.back()); loop != nothing_) {
    if (const NodeId left = least(part, loop); left != part) return left;
  }
  if (const NodeId loop = loop_of(part); loop != nothing_) {
    while (!list_.empty()) {
      const NodeId left = least(list_.back(), loop);
      if (left == list_.back()) break;
      if (left == empty_) {
        list_.pop_back();
        continue;
      }
      // What would have to be joined to others stays as it is.
      if (kind(left) != NodeKind::kSequence && !IsLiteral(at(left))) list_.back() = left;
      break;
    }
  }
  return part;
}

// Whether each text of x is characters of the class `loop`, as far as `most` parts tell, which is
// then less by those looked at.
bool Simplifier::LoopsTake(NodeId loop, NodeId x, int* most) const {
  if (x == loop) return true;
  const StoredNode& all = at(loop);
  const StoredNode& n = at(x);
  if (--*most < 0) return false;
  switch (n.kind) {
    case NodeKind::kEmpty:
      return true;
    case NodeKind::kByteClass: {
      if (all.kind != n.kind) return false;
      const auto &bytes = *static_cast<const ByteSet*>(n.data),
                 &of = *static_cast<const ByteSet*>(all.data);
      return (bytes & ~of).empty();
    }
    case NodeKind::kClass:
    case NodeKind::kJsonClass:
      return all.kind == n.kind && static_cast<const CodePointSet*>(all.data)->Includes(
                                       *static_cast<const CodePointSet*>(n.data));
    case NodeKind::kBytes:
    case NodeKind::kJsonText: {
      const NodeKind one = n.kind == NodeKind::kBytes ? NodeKind::kClass : NodeKind::kJsonClass;
      if (all.kind != one || n.size > kAlwaysJoin) return false;
      const std::string_view text(static_cast<const char*>(n.data), n.size);
      for (size_t at = 0; at < text.size();) {
        const auto c = DecodeUtf8(text, at);
        if (!c.has_value()) return false;
        if (!static_cast<const CodePointSet*>(all.data)->Has(c->code_point)) return false;
        at += static_cast<size_t>(c->length);
      }
      return true;
    }
    case NodeKind::kSequence:
    case NodeKind::kChoice:
    case NodeKind::kRepeat:
      return std::ranges::all_of(children(x),
                                 [&](NodeId part) { return LoopsTake(loop, part, most); });
    case NodeKind::kAnd:
      return std::ranges::any_of(children(x),
                                 [&](NodeId part) { return LoopsTake(loop, part, most); });
    default:
      return false;
  }
}

// Of a class four times in a row, as the dots of ^....$, one x{4}: masks know how to deal with a
// count, be it of sixty, and not with sixty parts. Called whenever a class was appended.
void Simplifier::JoinWrittenOut() {
  if (list_.size() < kWrittenOut || limits_.max_repeat < int64_t{kWrittenOut}) return;
  const auto from = list_.end() - kWrittenOut;
  const NodeId one = *from;
  if (!std::all_of(from, list_.end(), [one](NodeId part) { return part == one; })) return;
  list_.erase(from, list_.end());
  list_.push_back(Repeat(one, kWrittenOut, kWrittenOut));
}

// ---- Choices ----

NodeId Simplifier::Choice(std::span<const NodeId> alternatives) {
  if (over_) return nothing_;
  list_.clear();
  has_empty_ = false;
  for (NodeId alternative : alternatives) AddAlternative(alternative, alternatives.size());
  MergeClasses();
  if (!std::is_sorted(list_.begin(), list_.end())) std::sort(list_.begin(), list_.end());
  list_.erase(std::unique(list_.begin(), list_.end()), list_.end());
  bool regular = std::all_of(list_.begin(), list_.end(), [&](NodeId id) { return at(id).regular; });
  if (regular && std::binary_search(list_.begin(), list_.end(), any_bytes_)) return any_bytes_;
  if (list_.empty()) return has_empty_ ? empty_ : nothing_;
  NodeId node = list_.size() == 1 ? list_[0] : InternList(NodeKind::kChoice, list_);
  return has_empty_ ? Repeat(node, 0, 1) : node;
}

void Simplifier::AddAlternative(NodeId alternative, size_t parts) {
  if (alternative == nothing_) return;
  if (alternative == empty_) {
    has_empty_ = true;
    return;
  }
  if (kind(alternative) == NodeKind::kRepeat) {
    NodeView v = view(alternative);
    if (v.min == 0 && v.max == 1) {
      has_empty_ = true;
      alternative = v.children[0];
    }
  }
  if (Splices(alternative, NodeKind::kChoice, parts)) {
    auto inner = children(alternative);
    list_.insert(list_.end(), inner.begin(), inner.end());
  } else {
    list_.push_back(alternative);
  }
}

// Replaces the classes of each kind in `list_` by their union.
void Simplifier::MergeClasses() {
  size_t counts[3] = {};
  auto index = [&](NodeId id) {
    switch (kind(id)) {
      case NodeKind::kByteClass:
        return 0;
      case NodeKind::kClass:
        return 1;
      case NodeKind::kJsonClass:
        return 2;
      default:
        return 3;
    }
  };
  for (NodeId id : list_) {
    if (int i = index(id); i < 3) ++counts[i];
  }
  if (counts[0] <= 1 && counts[1] <= 1 && counts[2] <= 1) return;
  ByteSet bytes;
  CodePointRanges ranges[2];
  size_t kept = 0;
  for (NodeId id : list_) {
    int i = index(id);
    if (i == 3 || counts[i] == 1) {
      list_[kept++] = id;
    } else if (i == 0) {
      bytes |= *view(id).bytes;
    } else {
      auto more = view(id).characters->ranges();
      ranges[i - 1].insert(ranges[i - 1].end(), more.begin(), more.end());
    }
  }
  list_.resize(kept);
  if (!bytes.empty()) list_.push_back(ByteClass(bytes));
  for (int i = 0; i < 2; ++i) {
    if (ranges[i].empty()) continue;
    NodeKind kind = i == 0 ? NodeKind::kClass : NodeKind::kJsonClass;
    list_.push_back(Characters(kind, CodePointSet(std::move(ranges[i]))));
  }
}

// ---- Repeats, intersections, complements ----

NodeId Simplifier::Repeat(NodeId child, int64_t min, int64_t max) {
  GM_DCHECK(0 <= min && min <= max);
  if (over_) return nothing_;
  if (max == 0 || child == empty_) return empty_;
  if (child == nothing_) return min == 0 ? empty_ : nothing_;
  if (min == 1 && max == 1) return child;
  if (child == any_bytes_) return any_bytes_;
  if (kind(child) == NodeKind::kRepeat) {
    NodeView v = view(child);
    if (RepeatsFold(v.min, v.max, min, max)) {
      std::optional<int64_t> low = MultiplyCounts(v.min, min, limits_.max_repeat);
      std::optional<int64_t> high = MultiplyCounts(v.max, max, limits_.max_repeat);
      if (low.has_value() && high.has_value()) return Repeat(v.children[0], *low, *high);
    }
  }
  RepeatData data{min, max, child};
  return Intern({NodeKind::kRepeat, at(child).regular, 0, &data});
}

NodeId Simplifier::And(std::span<const NodeId> parts) {
  if (over_) return nothing_;
  list_.clear();
  for (NodeId part : parts) {
    GM_DCHECK(at(part).regular);
    if (part == nothing_) return nothing_;
    if (part == any_bytes_) continue;
    if (Splices(part, NodeKind::kAnd, parts.size())) {
      auto inner = children(part);
      list_.insert(list_.end(), inner.begin(), inner.end());
    } else {
      list_.push_back(part);
    }
  }
  SortUnique(&list_);
  if (!MergeAnd() || !MergeLoops()) return nothing_;
  if (list_.empty()) return any_bytes_;
  if (list_.size() == 1) return list_[0];
  return InternList(NodeKind::kAnd, list_);
}

// Intersects the classes of each kind in the sorted `list_`. False where parts exclude each other.
bool Simplifier::MergeAnd() {
  std::optional<ByteSet> bytes;
  std::optional<CodePointSet> characters[2];
  bool has_literal = false;
  size_t kept = 0;
  for (NodeId id : list_) {
    NodeView v = view(id);
    // What a complement is of is older than it, so it is among the sorted ids kept before.
    auto kept_end = list_.begin() + static_cast<ptrdiff_t>(kept);
    if (v.kind == NodeKind::kNot && std::binary_search(list_.begin(), kept_end, v.children[0])) {
      return false;
    }
    if (v.kind == NodeKind::kByteClass) {
      bytes = bytes.has_value() ? *bytes & *v.bytes : *v.bytes;
    } else if (v.kind == NodeKind::kClass || v.kind == NodeKind::kJsonClass) {
      std::optional<CodePointSet>& set = characters[v.kind == NodeKind::kJsonClass];
      set = set.has_value() ? set->Intersect(*v.characters) : *v.characters;
    } else {
      if (v.kind == NodeKind::kBytes && has_literal) return false;  // two different ones
      has_literal = has_literal || v.kind == NodeKind::kBytes;
      list_[kept++] = id;
    }
  }
  if (kept == list_.size()) return true;
  list_.resize(kept);
  if (bytes.has_value()) list_.push_back(ByteClass(*bytes));
  if (characters[0].has_value()) list_.push_back(Characters(NodeKind::kClass, *characters[0]));
  if (characters[1].has_value()) list_.push_back(Characters(NodeKind::kJsonClass, *characters[1]));
  SortUnique(&list_);
  return list_[0] != nothing_;  // the oldest node of all
}

// x{a,b} beside texts of nothing but x's says how long they are: it is .{a,b}, and all such parts
// are one. False where that is nothing.
bool Simplifier::MergeLoops() {
  if (list_.size() > kMostMerged) return true;
  for (const NodeKind of : {NodeKind::kClass, NodeKind::kJsonClass}) {
    NodeId any = nothing_;
    int64_t min = 0, max = kUnbounded;
    bool told = true;  // that the others are of such characters, whatever else they are
    for (size_t i = 0; i < list_.size();) {
      const RepeatData* repeat = RepeatOf(list_[i]);
      if (repeat == nullptr || kind(repeat->child) != of) {
        ++i;
        continue;
      }
      const CodePointSet& set = *static_cast<const CodePointSet*>(at(repeat->child).data);
      bool within = false;
      for (size_t k = 0; k < list_.size() && !within; ++k) {
        int most = kMostTakenUp;
        within = k != i && LoopsTake(repeat->child, list_[k], &most);
      }
      if (!within && set != CodePointSet::All()) {
        ++i;
        continue;
      }
      told &= within;
      min = std::max(min, repeat->min);
      max = std::min(max, repeat->max);
      any = Characters(of, CodePointSet::All());
      list_.erase(list_.begin() + static_cast<ptrdiff_t>(i));
    }
    if (any == nothing_) continue;
    // One part that is a loop may have the bounds of all.
    const auto loop = std::ranges::find_if(list_, [&](NodeId part) {
      const RepeatData* repeat = RepeatOf(part);
      return repeat != nullptr && kind(repeat->child) == of;
    });
    const bool alone = loop == list_.end();
    if (!alone) {
      const RepeatData& repeat = *RepeatOf(*loop);
      any = repeat.child;
      min = std::max(min, repeat.min);
      max = std::min(max, repeat.max);
      list_.erase(loop);
    }
    if (min > max) return false;
    if (told && alone && min == 0 && max == kUnbounded) continue;
    list_.push_back(Repeat(any, min, max));
    SortUnique(&list_);
  }
  return true;
}

NodeId Simplifier::Not(NodeId child) {
  GM_DCHECK(at(child).regular);
  if (kind(child) == NodeKind::kNot) return children(child)[0];
  return Intern({NodeKind::kNot, at(child).regular, 1, &child});
}

}  // namespace grammask::internal
